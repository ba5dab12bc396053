"""Derivatives of elementwise functions from their partial derivatives: both push and pull, with broadcasting undone.

    elementwise(np.sin, lambda y, x: np.cos(x))          a function of the result and the operands
    elementwise((operator.sub, np.subtract), 1.0, -1.0)  or a number, one an operand
"""

from typing import Any

from hovis.library.numpy.adjoints.tangents import conjugate, fitted, spread
from hovis.library.tables.derivatives import Rule, pull, push


def elementwise(fns: object, *partials: Rule | float | None, parameters: str = "") -> None:
    """Add rows made of partial derivatives, one for each operand: a function of the result and the operands, or a number. ``fns`` is one
    callable, or a tuple of equivalent ones.
    """
    for fn in fns if isinstance(fns, tuple) else (fns,):
        pull(fn, *[_pulled(k, partial) for k, partial in enumerate(partials)], parameters=parameters)
        push(fn, *[_pushed(partial) for partial in partials])


def _pulled(k: int, partial: Rule | float | None) -> Rule | None:
    if partial is None:
        return None
    if not callable(partial):
        return lambda g, y, *args, **kwargs: fitted(_times(g, partial), args[k])

    def rule(g: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return fitted(g * conjugate(partial(y, *args, **kwargs)), args[k])

    return rule


def _pushed(partial: Rule | float | None) -> Rule | None:
    if partial is None:
        return None
    if not callable(partial):
        return lambda t, y, *args, **kwargs: spread(_times(t, partial), y)

    def rule(t: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return spread(t * partial(y, *args, **kwargs), y)

    return rule


def _times(g: Any, factor: float) -> Any:
    return g if factor == 1 else -g if factor == -1 else g * factor
