"""Hoisting of bounds checks out of counting loops, to be made once in front of the loop.

Whether ``a[i + 3]`` is out of range in some iteration is known before the first one if the step of ``i`` and the trip count are
known.  A flag that the loop carries costs more than all the checks whose result it is: XLA keeps it in memory, and computes its
operands once more for it alone.  If an iteration is going to fail, none is executed.

Differences are computed in unsigned 64-bit arithmetic, where those of signed 64-bit integers are exact.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hovis.ir.analysis import affine
from hovis_xla.analysis.reachability import reached
from hovis_xla.emit import builder
from hovis_xla.emit.affine import form
from hovis_xla.emit.block_slots import block_of
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import BOOL, INT, INT64, SCALAR, UINT64, Num
from hovis_xla.hlo.licm import costs_little
from hovis_xla.hlo.module import is_pure, made_by
from hovis_xla.jaxlib.adapter import ir

#: A check is left in the loop if its index depends on more loop-invariant operations of the body, or changes by more in an iteration.
MOST_OPS: Final = 12
MOST_STEP: Final = 2**20

#: The test before each iteration has at most this many operations.
MOST_GUARDS: Final = 24

#: Types of counters and of their bounds.
INTEGERS: Final = (INT, Num(SCALAR, INT64))


@dataclass(frozen=True, slots=True)
class Counting:
    """A loop that iterates while its counter is less than the bound (greater than it, if the step is negative), or also equal to it, if
    ``included``.
    """

    start: T
    bound: T
    step: int
    included: bool

    def goes_round(self) -> T:
        return builder.compare(("L" if self.step > 0 else "G") + ("E" if self.included else "T"), self.start, self.bound)

    def last(self) -> T:
        """Emit the number of the last iteration, the first being 0; the loop must have at least one iteration."""
        low, high = (self.start, self.bound) if self.step > 0 else (self.bound, self.start)
        room = builder.sub(builder.unsigned(high), builder.unsigned(low))
        return _divided(room if self.included else builder.sub(room, builder.like(1, room)), abs(self.step))


@dataclass(frozen=True, slots=True)
class Check:
    """A check that fails if the index is less than the limit (``low``), or if it is not less (else)."""

    index: affine.Form
    low: bool
    limit: int


class Rounds:
    """The bounds checks in the body of one loop, and their evaluation before the loop begins."""

    def __init__(self, body: Any, inits: Sequence[Any], ends: Sequence[Any]) -> None:
        self.body = body
        self.inits = dict(zip(body.arguments, inits, strict=False))
        self.ends = dict(zip(body.arguments, ends, strict=False))
        self.steps: dict[Any, int | None] = {}
        self.first = Copies(body, self.inits)

    def foresee(self, flag: T, counting: Counting, outside: Callable[[Callable[[], Any]], Any]) -> tuple[T | None, T | None]:
        """Split a flag into checks: return the remaining flag, emitted here, and the flag of the checks that are evaluated before the loop,
        emitted there. Either may be None.
        """
        checks: dict[Any, list[tuple[int, Check]]] = {}
        left = []
        for term in _terms(flag.ir, self.body):
            check = self._check(term)
            step = None if check is None else self._step_of(check.index)
            if check is None or step is None or abs(step) > MOST_STEP:
                left.append(term)
            else:
                key = frozenset(check.index[0].items()), check.low, check.limit
                checks.setdefault(key, []).append((step, check))
        if not checks:
            return flag, None
        # among checks that differ in a constant, as of a[i], a[i + 1] and a[i + 2], only the smallest and the greatest index matter
        found = [min(same, key=lambda c: c[1].index[1] if c[1].low else -c[1].index[1]) for same in checks.values()]
        rest = functools.reduce(builder.or_, (T(t, BOOL, ()) for t in left)) if left else None
        return rest, outside(lambda: self._known_before(found, counting))

    # --------------------------------------------------------------------------------------------- recognizing checks

    def _check(self, term: Any) -> Check | None:
        """Interpret a boolean of the body as a check of an index; None if it is no such check."""
        made = _made_in(term, self.body)
        if made is None or made.name != "stablehlo.compare":
            return None
        x, limit = made.operands[0], form(made.operands[1])
        if limit[0] or not _is_int64(x):
            return None
        how, bound = str(made.attributes["comparison_direction"]), limit[1]
        low = "LT" in how
        if not low and "GE" not in how:
            return None
        wrapped = _counted_from_the_end(x, self.body)
        if wrapped is not None:
            x, size = wrapped
            if bound != (0 if low else size):
                return None
            bound = -size if low else size
        return Check(form(x), low, bound)

    def _step_of(self, index: affine.Form) -> int | None:
        """Return by how much an index changes per iteration, or None if that is unknown."""
        steps = [(times, self._step(atom)) for atom, times in index[0].items()]
        known = [times * step for times, step in steps if step is not None]
        return sum(known) if len(known) == len(steps) else None

    def _step(self, value: Any) -> int | None:
        if value not in self.steps:
            if block_of(value) != self.body:
                self.steps[value] = 0
            elif value in self.ends:
                (before, _), (after, change) = form(value), form(self.ends[value])
                self.steps[value] = change if before == after and (change == 0 or _is_int64(value)) else None
            else:
                self.steps[value] = 0 if self._is_invariant(value) else None
        return self.steps[value]

    def _is_invariant(self, value: Any) -> bool:
        """Is the value computed in the body from loop-invariant values, with few operations?"""
        for count, (at, made) in enumerate(_operands_within(value, self.body), 1):
            changes = at not in self.ends or self.ends[at] != at if made is None else not is_pure(made) or count > MOST_OPS
            if changes:
                return False
        return True

    # --------------------------------------------------------------------------------------------- emitting tests in front of the loop

    def _known_before(self, checks: Sequence[tuple[int, Check]], counting: Counting) -> T:
        """Emit the test of whether one of the checks fails in some iteration."""
        last = counting.last()
        failing = [self._fails(step, check, last) for step, check in checks]
        return builder.and_(counting.goes_round(), functools.reduce(builder.or_, failing))

    def _fails(self, step: int, check: Check, last: T) -> T:
        first = builder.constant(check.index[1], INT64)
        for atom, times in check.index[0].items():
            value = T(self.first.of(atom), INT64, ())
            first = builder.add(first, value if times == 1 else builder.mul(value, builder.constant(times, INT64)))
        limit = builder.constant(check.limit, INT64)
        if check.low:
            outside, room = builder.compare("LT", first, limit), (first, limit)
        else:
            outside, room = builder.compare("GE", first, limit), (builder.sub(limit, builder.like(1, limit)), first)
        if step == 0 or (step > 0) is check.low:
            return outside
        rounds = _divided(builder.sub(*map(builder.unsigned, room)), abs(step))
        return builder.or_(outside, builder.compare("LT", rounds, last))


class Copies:
    """Copies of operations of a loop body at another place, with other values substituted for the carried ones."""

    def __init__(self, body: Any, values: dict[Any, Any]) -> None:
        self.body = body
        self.values = dict(values)

    def of(self, value: Any) -> Any:
        if block_of(value) != self.body:
            return value
        if value not in self.values:
            made = value.owner.operation
            operands = [self.of(operand) for operand in made.operands]
            copy = made.clone(ir.InsertionPoint.current).operation
            for k, operand in enumerate(operands):
                copy.operands[k] = operand
            self.values.update(zip(made.results, copy.results, strict=True))
        return self.values[value]


def is_light(flag: T, body: Any) -> bool:
    """Is the flag computed in the body from carried values, by few operations that cost next to nothing?"""
    counted = enumerate(_operands_within(flag.ir, body), 1)
    return all(made is None or (is_pure(made) and costs_little(made) and count <= MOST_GUARDS) for count, (_, made) in counted)


def _operands_within(value: Any, body: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the values of the body that a value depends on, itself included, each with the operation that defines it (None for an argument)."""
    seen: set[Any] = set()
    todo = [value]
    while todo:
        at = todo.pop()
        if block_of(at) == body and at not in seen:
            seen.add(at)
            made = made_by(at)
            yield at, made
            todo += () if made is None else made.operands


def _terms(flag: Any, body: Any) -> list[Any]:
    """Collect the booleans whose disjunction is the flag."""

    def parts(value: Any) -> Any:
        made = _made_in(value, body)
        return made.operands if made is not None and made.name == "stablehlo.or" else ()

    return [value for value in reached([flag], parts) if not parts(value)]


def _made_in(value: Any, body: Any) -> Any:
    """Return the operation of the body that defines a value, or None if it is defined elsewhere or is an argument."""
    return made_by(value) if block_of(value) == body else None


def _counted_from_the_end(x: Any, body: Any) -> tuple[Any, int] | None:
    """Match ``i + n if i < 0 else i`` and return (i, n); None if x is something else."""
    made = _made_in(x, body)
    if made is None or made.name != "stablehlo.select":
        return None
    test, wrapped, plain = made.operands
    asked = _made_in(test, body)
    if asked is None or asked.name != "stablehlo.compare" or "LT" not in str(asked.attributes["comparison_direction"]):
        return None
    (inside, size), (index, offset) = form(wrapped), form(plain)
    if asked.operands[0] != plain or form(asked.operands[1]) != ({}, 0) or inside != index:
        return None
    return plain, size - offset


def _is_int64(value: Any) -> bool:
    return str(value.type) == "tensor<i64>"


def _divided(x: T, by: int) -> T:
    return x if by == 1 else builder.op("divide", x, builder.constant(by, UINT64))
