"""Derivative rules, by callable: each is an ordinary Python function that the engine traces through.

A row contains, for each operand, how the tangent t of the operand determines that of the result (``push``), and how the
*cotangent* g of the result determines that of the operand (``pull``); y is the result, followed by the arguments of the call.

    linear(np.sum, lambda g, y, x, …: …)                 the push is the callable itself, given the tangent
    multilinear(np.matmul, pull_a, pull_b)               the same in each of its operands
    pull(np.linalg.inv, lambda g, y, a: …)               one function an operand, None where there is nothing to pull
    push(np.linalg.inv, lambda t, y, a: …)
    defined(np.var, variance)                            as the function says, which is differentiated itself
    constant(np.argmax, …)                               no derivative: the result does not change, or is no number

The cotangent has the structure of the value: a number for a number, an array of the same shape and dtype for an array, a
tuple for a tuple or list.  None stands for a zero cotangent.  A rule for all operands (of which there may be any number) gets
the position of the operand first: ``pull(np.einsum, every=lambda k, g, y, *args: …)``.  For elementwise functions, both
rules are made from partial derivatives (:mod:`hovis.library.numpy.derivatives.elementwise`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

Rule = Callable[..., Any]


@dataclass(slots=True, eq=False)
class Derivative:
    """The derivative rules of one callable.

    pulls, pushes   one rule for each operand; None for an operand without a derivative
    every_pull, every_push   one rule for all operands, which gets the position first
    definition      an equivalent function, which is differentiated instead
    again           whether a pull recomputes the definition from the operands, so that no intermediate value is kept
    transposed      a push that is linear in the tangent; the pull is derived by differentiating it
    constant        whether there is no derivative
    parameters      the names of the parameters, for operands that are passed by name
    """

    pulls: tuple[Rule | None, ...] = ()
    pushes: tuple[Rule | None, ...] = ()
    every_pull: Rule | None = None
    every_push: Rule | None = None
    definition: Rule | None = None
    again: bool = False
    transposed: Rule | None = None
    constant: bool = False
    parameters: tuple[str, ...] = ()


class Own:
    """A callable that stores its own derivative rules, so that they are freed together with it."""

    __slots__ = ("derivative",)

    def __init__(self) -> None:
        self.derivative: Derivative | None = None


class Derivatives:
    """A table of derivative rules by callable."""

    def __init__(self) -> None:
        self.rows: dict[Any, Derivative] = {}
        #: callable that has a derivative, but no row -> the reason
        self.absent: dict[Any, str] = {}

    def of(self, callee: object) -> Derivative | None:
        """Return the `Derivative` of a callable, or None if it has none or is not hashable."""
        if isinstance(callee, Own):
            return callee.derivative
        try:
            return self.rows.get(callee)
        except TypeError:
            return None

    def row(self, fn: object) -> Derivative:
        """Return the `Derivative` of fn, to be filled in; make an empty one if there is none."""
        if isinstance(fn, Own):
            fn.derivative = fn.derivative or Derivative()
            return fn.derivative
        return self.rows.setdefault(fn, Derivative())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)


TABLE: Final = Derivatives()


# ------------------------------------------------------------------------------------------------- functions that fill the table


def pull(fn: object, *rules: Rule | None, every: Rule | None = None, parameters: str = "") -> None:
    """Set the reverse-mode rules of fn, from the cotangent of the result to those of the operands: one function per operand, or one for all
    (every).
    """
    row = TABLE.row(fn)
    row.pulls, row.every_pull = rules, every
    row.parameters = tuple(parameters.split()) or row.parameters


def push(fn: object, *rules: Rule | None, every: Rule | None = None, parameters: str = "") -> None:
    """Set the forward-mode rules of fn, from the tangent of an operand to that of the result: one function per operand, or one for all (every)."""
    row = TABLE.row(fn)
    row.pushes, row.every_push = rules, every
    row.parameters = tuple(parameters.split()) or row.parameters


def linear(fns: object, *pulls: Rule, parameters: str = "") -> None:
    """Register functions that are linear in their first operand: the tangent of the result is the function applied to the tangent."""
    for fn in fns if isinstance(fns, tuple) else (fns,):
        pull(fn, *pulls, parameters=parameters)
        push(fn, _itself(fn, 0))


def multilinear(fns: object, *pulls: Rule, parameters: str = "") -> None:
    """Register functions that are linear in each of their first operands, one for each of pulls."""
    for fn in fns if isinstance(fns, tuple) else (fns,):
        pull(fn, *pulls, parameters=parameters)
        push(fn, *[_itself(fn, k) for k in range(len(pulls))])


def _itself(fn: Any, k: int) -> Rule:
    def rule(t: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return fn(*args[:k], t, *args[k + 1 :], **kwargs)

    return rule


def defined(fns: object, definition: Rule, parameters: str = "") -> None:
    """Register functions that are differentiated through a definition: an equivalent function of callables that have derivative rules."""
    for fn in fns if isinstance(fns, tuple) else (fns,):
        row = TABLE.row(fn)
        row.definition = definition
        row.parameters = tuple(parameters.split())


def constant(*fns: object) -> None:
    """Register functions without a derivative: the result is piecewise constant, or no number."""
    for fn in fns:
        TABLE.row(fn).constant = True


def absent(why: str, *fns: object) -> None:
    """Register functions that have a derivative which hovis does not know; why is the reason that an error gives."""
    for fn in fns:
        TABLE.absent[fn] = why
