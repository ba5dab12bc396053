"""The definition of a kernel: a function as a NumPy user writes it, and arguments for it."""
from collections.abc import Callable
from typing import Any, NamedTuple


class Kernel(NamedTuple):
    """``initialize(rng, size)`` returns a tuple of arguments; ``small`` is the size for tests, ``big`` the size for benchmarks."""

    fn: Callable[..., Any]
    initialize: Callable[..., tuple]
    small: int
    big: int


#: All kernels, by the name of the function.
KERNELS: dict[str, Kernel] = {}


def kernel(initialize: Callable[..., tuple], small: int, big: int) -> Callable:
    """Register the decorated function as a kernel; the function itself is unchanged."""

    def keep(fn: Callable) -> Callable:
        KERNELS[fn.__name__] = Kernel(fn, initialize, small, big)
        return fn

    return keep
