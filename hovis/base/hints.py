"""Hints: what a program may tell hovis.  None is needed; outside of a trace each is nothing at all.

    static(x)        x is to be known here: what constants meet in it are told apart
    dynamic(x)       x is not to be known from here on, even if it is
    unroll(items)    each round of the loop over items is a place of its own
    @boundary        calls of the function stay calls

They change how a residual looks and how long it takes to make, never what it does.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hovis.errors import SpecError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def static(value: T) -> T:
    """value; while tracing hovis does whatever it can that it is known here.

    value   anything; it is given back as it is, also where nothing is traced

    Constants that would meet in it are told apart, a bool is decided, and under ``hovis.jit`` a number of the arguments is part
    of the key.  What is not known and can't be is left as it is, and ``hovis.explain`` says so; under
    ``options(strict=True)`` it raises TraceError.

    >>> def scaled(x, steps):
    ...     scale = static(steps) * 10
    ...     return x * scale
    >>> scaled(2, 3)
    60
    """
    return value


def dynamic(value: T) -> T:
    """value; from here on hovis takes it for unknown, so that nothing is specialized for it.

    value   anything; it is given back as it is, also where nothing is traced.  Raises nothing.

    >>> def total(x, n):
    ...     for k in range(dynamic(n)):
    ...         x += k
    ...     return x
    >>> total(1, 4)
    7
    """
    return value


def unroll(items: Iterable[T]) -> Iterable[T]:
    """items; a ``for`` over it is unrolled, however long it is, if what it goes over is known.

    items   an iterable; it is given back as it is, also where nothing is traced.  Raises nothing.

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
