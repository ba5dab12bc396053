"""Hints that a program may give to hovis. None is required, and outside of a trace none has an effect.

    static(x)        x should be known here: paths with different constants in it are not merged
    dynamic(x)       x is treated as unknown from here on, even if it is known
    unroll(items)    the loop over items is unrolled: each iteration is a program point of its own
    @boundary        calls of the function stay calls

They change the form of a residual and the time that it takes to make it, never its meaning.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hovis.errors import SpecError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def static(value: T) -> T:
    """Return value; while tracing, hovis does whatever it can to know it here.

    value   anything; it is returned unchanged, also outside of a trace

    Paths on which it has different constants are not merged, both values of a bool are followed separately, and under ``hovis.jit`` a number among
    the arguments becomes part of the key.  A value that can't be known stays unknown, and ``hovis.explain`` reports it; under
    ``options(strict=True)`` it raises TraceError.

    >>> def scaled(x, steps):
    ...     scale = static(steps) * 10
    ...     return x * scale
    >>> scaled(2, 3)
    60
    """
    return value


def dynamic(value: T) -> T:
    """Return value; from here on hovis treats it as unknown, and specializes nothing for it.

    value   anything; it is returned unchanged, also outside of a trace.  Raises nothing.

    >>> def total(x, n):
    ...     for k in range(dynamic(n)):
    ...         x += k
    ...     return x
    >>> total(1, 4)
    7
    """
    return value


def unroll(items: Iterable[T]) -> Iterable[T]:
    """Return items; a ``for`` over it is unrolled, however long it is, if what it iterates over is known.

    items   an iterable; it is returned unchanged, also outside of a trace.  Raises nothing.

    >>> [k * k for k in unroll(range(4))]
    [0, 1, 4, 9]
    """
    return items


def boundary(function: F) -> F:
    """Decorator: hovis does not look into this function; a call of it stays a call.

    function   a Python function; SpecError for anything else

    >>> @boundary
    ... def audit(x):
    ...     return x
    >>> audit(3)
    3
    """
    marked: Any = getattr(function, "__func__", function)
    try:
        marked.__hovis_boundary__ = True
    except (AttributeError, TypeError):
        raise SpecError(f"hovis.boundary is for Python functions, not a {type(function).__name__}") from None
    return function
