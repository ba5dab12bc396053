"""What a program is: a function with a gradient in its first argument, and where jax is there, the same by hand."""
from collections.abc import Callable
from typing import Any, NamedTuple


class Program(NamedTuple):
    """``arguments(rng)`` gives a tuple; ``by_hand()`` imports jax, and gives its function of the same arguments.

    static   the positions of what jax must know while it traces
    value    the value is asked for as well
    """

    fn: Callable[..., Any]
    arguments: Callable[..., tuple]
    by_hand: Callable[[], Callable[..., Any]]
    static: tuple[int, ...]
    value: bool
    group: str


#: All of them, by the name of the function.
PROGRAMS: dict[str, Program] = {}


def program(arguments: Callable[..., tuple], by_hand: Callable[[], Callable[..., Any]], static: tuple[int, ...] = (), value: bool = False) -> Callable:
    """Keep a function as a program; the function stays what it is."""

    def keep(fn: Callable) -> Callable:
        PROGRAMS[fn.__name__] = Program(fn, arguments, by_hand, static, value, fn.__module__.rpartition(".")[2])
        return fn

    return keep
