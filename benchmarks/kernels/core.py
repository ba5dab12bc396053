"""What a kernel is: a function as a NumPy user writes it, and arguments for it."""
from collections.abc import Callable
from typing import Any, NamedTuple


class Kernel(NamedTuple):
    """``initialize(rng, size)`` gives a tuple of arguments; ``small`` is a size for tests, ``big`` one for measuring."""

    fn: Callable[..., Any]
    initialize: Callable[..., tuple]
    small: int
    big: int


#: All of them, by the name of the function.
KERNELS: dict[str, Kernel] = {}


def kernel(initialize: Callable[..., tuple], small: int, big: int) -> Callable:
    """Keep a function as a kernel; the function stays what it is."""

    def keep(fn: Callable) -> Callable:
        KERNELS[fn.__name__] = Kernel(fn, initialize, small, big)
        return fn

    return keep
