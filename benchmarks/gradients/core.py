"""The definition of a program: a function that is differentiable in its first argument, and its version written by hand in jax."""
from collections.abc import Callable
from typing import Any, NamedTuple


class Program(NamedTuple):
    """``arguments(rng)`` returns a tuple; ``by_hand()`` imports jax and returns the jax function of the same arguments.

    static   the positions of the arguments that jax must know while tracing
    value    whether the value is computed as well as the gradient
    """

    fn: Callable[..., Any]
    arguments: Callable[..., tuple]
    by_hand: Callable[[], Callable[..., Any]]
    static: tuple[int, ...]
    value: bool
    group: str


#: All programs, by the name of the function.
PROGRAMS: dict[str, Program] = {}


def program(arguments: Callable[..., tuple], by_hand: Callable[[], Callable[..., Any]], static: tuple[int, ...] = (), value: bool = False) -> Callable:
    """Register the decorated function as a program; the function itself is unchanged."""

    def keep(fn: Callable) -> Callable:
        PROGRAMS[fn.__name__] = Program(fn, arguments, by_hand, static, value, fn.__module__.rpartition(".")[2])
        return fn

    return keep
