"""How results change with arguments: one row a callable, ordinary Python that the engine traces through.

A row says, operand by operand, what a change of the operand makes of the result (``push``), and what the result's
*cotangent* g makes of the operand's (``pull``); y is the result, and the arguments come as they were.

    linear(np.sum, lambda g, y, x, …: …)                 the push is the callable itself, given the tangent
    multilinear(np.matmul, pull_a, pull_b)               the same in each of its operands
    pull(np.linalg.inv, lambda g, y, a: …)               one function an operand, None where there is nothing to pull
    push(np.linalg.inv, lambda t, y, a: …)
    defined(np.var, variance)                            as the function says, which is differentiated itself
    constant(np.argmax, …)                               no derivative: the result does not change, or is no number

The cotangent of a value is of its kind: a number for a number, an array of its shape and dtype for an array, a tuple
for a tuple or list.  Where it is nothing, it is None.  Rows of one function for all operands (of which there may be any
number) get the position first: ``pull(np.einsum, every=lambda k, g, y, *args: …)``.  Elementwise functions have partial
derivatives, which give both at once (:mod:`hovis.library.numpy.derivatives.elementwise`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

Rule = Callable[..., Any]


@dataclass(slots=True, eq=False)
class Derivative:
    """The row of one callable.

    pulls, pushes   by operand; None where there is nothing
    every_pull, every_push   for all operands, given the position first
    definition      what is differentiated instead
    again           a pull computes the definition again, from the operands: nothing in it is kept
    transposed      a push that is linear in the tangent, of which the pull is made by differentiating it
    constant        it has no derivative
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
    """A callable that holds its row itself: one that is no longer used takes it along."""

    __slots__ = ("derivative",)

    def __init__(self) -> None:
        self.derivative: Derivative | None = None


class Derivatives:
    """Rows by callable."""

    def __init__(self) -> None:
        self.rows: dict[Any, Derivative] = {}
        #: callables that have a derivative, and no row: why not
        self.absent: dict[Any, str] = {}

    def of(self, callee: object) -> Derivative | None:
        """The row of a callable, if it has one (and can be looked up at all)."""
        if isinstance(callee, Own):
            return callee.derivative
        try:
            return self.rows.get(callee)
        except TypeError:
            return None

    def row(self, fn: object) -> Derivative:
        """The row of fn, to be filled."""
        if isinstance(fn, Own):
            fn.derivative = fn.derivative or Derivative()
            return fn.derivative
        return self.rows.setdefault(fn, Derivative())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)


TABLE: Final = Derivatives()


# ------------------------------------------------------------------------------------------------- how rows are written


def pull(fn: object, *rules: Rule | None, every: Rule | None = None, parameters: str = "") -> None:
    """What a cotangent of the result makes of the operands: a function each, or one for all."""
    row = TABLE.row(fn)
    row.pulls, row.every_pull = rules, every
    row.parameters = tuple(parameters.split()) or row.parameters


def push(fn: object, *rules: Rule | None, every: Rule | None = None, parameters: str = "") -> None:
    """What a tangent of an operand makes of the result: a function each, or one for all."""
    row = TABLE.row(fn)
    row.pushes, row.every_push = rules, every
    row.parameters = tuple(parameters.split()) or row.parameters


def linear(fns: object, *pulls: Rule, parameters: str = "") -> None:
    """A function that is linear in its first operand: the tangent of the result is that of the tangent."""
    for fn in fns if isinstance(fns, tuple) else (fns,):
        pull(fn, *pulls, parameters=parameters)
        push(fn, _itself(fn, 0))


def multilinear(fns: object, *pulls: Rule, parameters: str = "") -> None:
    """A function that is linear in each of its first operands."""
    for fn in fns if isinstance(fns, tuple) else (fns,):
        pull(fn, *pulls, parameters=parameters)
        push(fn, *[_itself(fn, k) for k in range(len(pulls))])


def _itself(fn: Any, k: int) -> Rule:
    def rule(t: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return fn(*args[:k], t, *args[k + 1 :], **kwargs)

    return rule


def defined(fns: object, definition: Rule, parameters: str = "") -> None:
    """A function whose derivative is that of another, which says the same in terms of what has rows."""
    for fn in fns if isinstance(fns, tuple) else (fns,):
        row = TABLE.row(fn)
        row.definition = definition
        row.parameters = tuple(parameters.split())


def constant(*fns: object) -> None:
    """Results that do not change as the arguments do, or are no numbers."""
    for fn in fns:
        TABLE.row(fn).constant = True


def absent(why: str, *fns: object) -> None:
    """What has a derivative that is not known here."""
    for fn in fns:
        TABLE.absent[fn] = why
