"""What a primitive of the user's own does besides giving its result: what becomes of the arrays that it is given, and what it may reach else.

Tracing it tells.  Arrays that it only reads may be copies; what it stores into them, it stores into copies, which come back.  One that it
may keep, or hands on, has to be the very array, and the program has none.  What it calls that nothing is known of may reach whatever
arrays the caller has: these are put in order before it is called, and read again behind (``ordered_effects``).
"""

import builtins
import functools
import io
import logging
import operator
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from hovis.engine.state.finalizers import lets_go
from hovis.front.kernels.primitives import Kept
from hovis.ir import operations
from hovis.ir.analysis.live_ranges import may_end_visibly
from hovis.ir.model import Block, Branch, Effect, Function, Location, Op, Operand, Param, Raise, Return, Value, callees, edges
from hovis.lattice import Const
from hovis.lattice.inspection import is_a
from hovis.library.numpy.adjoints.cotangents import scatter
from hovis.library.numpy.rules.aliasing import IN_PLACE, holds_nothing, is_array, is_flat, is_in, is_sharing
from hovis.library.numpy.rules.manipulation import in_shape
from hovis.library.standard import STANDARD
from hovis.transforms.rule_tracing import described, is_code, watched

_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
_STREAMS: Final = (io.TextIOWrapper, io.StringIO, io.BufferedWriter, io.BytesIO, io.FileIO)

#: Calls that can be seen from outside, and that write to no array: the host does them when their turn comes.
ACTS: Final[frozenset[Any]] = frozenset({
    builtins.print, time.sleep, operations.warn_at,
    *(getattr(owner, name) for owner in (logging, logging.Logger) for name in _LEVELS), logging.Logger.log, logging.log,
    *(cls.__dict__[name] for owner in _STREAMS for name in ("write", "flush", "writelines") for cls in owner.__mro__ if name in cls.__dict__),
})  # fmt: skip

#: Reads of the environment that are made again after an act that may have changed it.
AGAIN: Final = frozenset({operations.unchanged, operations.lacks, operations.is_method_of, operations.keeps})

#: Reads of what may have changed.
ENVIRONMENT: Final = frozenset({operations.load_global, operations.cell_get, *AGAIN})

#: Calls that write to their first argument.
STORES: Final = frozenset({
    operator.setitem, scatter, np.ndarray.fill, np.ndarray.sort, np.ndarray.put, np.ndarray.partition,
    np.ndarray.itemset if hasattr(np.ndarray, "itemset") else np.put,
    np.copyto, np.put, np.place, in_shape, np.putmask, np.fill_diagonal, np.put_along_axis, *IN_PLACE,
})  # fmt: skip

_MAKERS: Final = frozenset({operations.make_tuple, operations.make_list, operations.make_dict, operations.make_set, operations.make_object})

#: In place of the number of an argument: an array that others have.
OTHERS: Final = -1

_NOTHING: Final[frozenset[int]] = frozenset()
_OUTSIDE: Final = Effect.IO | Effect.RANDOM | Effect.CLOCK


def targets(op: Op) -> list[Operand]:
    """The arrays that a call of anything but a residual function writes to."""
    found = [v for name, v in op.kwargs if name == "out" and is_array(v)]
    found += [v for name, v in op.kwargs if name == "copy" and isinstance(v, Const) and v.value is False for v in op.args[:1] if op.callee is np.nan_to_num]
    if is_in(op.callee, STORES) and op.args and is_array(op.args[0]):
        found.append(op.args[0])
    if op.callee is np.ufunc.at:
        found.append(op.args[1])
    if op.callee is setattr and is_array(op.args[0]):
        found.append(op.args[0])
    if op.callee is operator.setitem and is_flat(op.args[0]):
        found.append(op.args[0].args[0])  # type: ignore[union-attr]
    return found


@dataclass(slots=True)
class Conduct:
    """What a call of a primitive may do besides giving its result."""

    #: the arguments (by number) that are arrays which it stores into
    written: set[int] = field(default_factory=set)
    #: the arguments that it may keep, or hand on, and the place where it does
    kept: dict[int, Location | None] = field(default_factory=dict)
    #: the arguments that are, or are shown by, what it gives
    given_back: set[int] = field(default_factory=set)
    #: the argument that it gives, whatever way it goes
    itself: int | None = None
    #: where it may reach what others have: arrays, and whatever unknown code may change
    reaches: Op | None = None
    #: where it shows what others have to what writes texts
    shows: Op | None = None
    #: does nothing that it does depend on others, or is seen by them?
    alone: bool = True


def conduct_of(op: Op) -> Conduct | None:
    """What is known of the primitive that an op calls, for arguments like its own; None: it depends on its arguments alone, as it was said to."""
    callee = op.callee
    assert isinstance(callee, Kept)
    rule = STANDARD.rule(callee)
    if rule is not None and rule.effect is not Effect.OPAQUE:
        return None
    places = tuple([k for k, arg in enumerate(op.args) for _ in described(arg)[2]])
    body = watched(callee.fn, list(op.args))
    return _of_body(body.function, places, not body.looks_around())


@functools.lru_cache(maxsize=256)
def _of_body(function: Function, places: tuple[int, ...], alone: bool) -> Conduct:
    return _Follower(function, places, alone).followed()


def is_alone(op: Op) -> bool:
    """Does a primitive look at nothing but its arguments, and write to nothing else than what it makes?"""
    found = conduct_of(op)
    return found is None or (found.alone and not found.written and not found.kept)


def reaches(op: Op) -> bool:
    """Is it the call of a primitive that may reach what others have?"""
    if not isinstance(op.callee, Kept) or not op.effect & Effect.OPAQUE:
        return False
    found = conduct_of(op)
    return found is not None and found.reaches is not None


def keeps(op: Op) -> bool:
    """Is it the call of a primitive that may keep what it is given?"""
    found = conduct_of(op) if isinstance(op.callee, Kept) else None
    return found is not None and bool(found.kept)


def sees(op: Op) -> Op | None:
    """Where the primitive that an op calls may see what the caller has besides its arguments, and numbers of the environment."""
    found = conduct_of(op)
    return None if found is None else found.reaches or found.shows


def looked_at(op: Op) -> set[tuple[int, object]]:
    """What of the environment a primitive reads or stores: by the holder and the name; without a name, all that the holder has."""
    callee = op.callee
    assert isinstance(callee, Kept)
    body = watched(callee.fn, list(op.args))
    found: set[tuple[int, object]] = {(0 if guard.kind == "class" else id(guard.holder), guard.name) for guard in body.guards}
    for one in (one for function in callees(body.function) for one in function.ops()):
        holder, name = ([*one.args, Const(None), Const(None)][:2]) if not isinstance(one.callee, Function) else (Const(None), Const(None))
        if is_in(one.callee, _OF_HOLDERS) and isinstance(holder, Const) and holder.value is not None:
            by_name = isinstance(name, Const) and type(name.value) is str and one.callee not in (operations.cell_get, operations.cell_set)
            found.add((0 if is_a(holder.value, type) else id(holder.value), name.value if by_name and isinstance(name, Const) else None))
    return found


class _Follower:
    """Finds what becomes of the arguments of a Function: which of them a value is, shows or holds."""

    def __init__(self, function: Function, places: tuple[int, ...], alone: bool) -> None:
        self.function = function
        self.places: dict[Any, int] = dict(zip(function.params, places, strict=True))
        self.shows: dict[Value, frozenset[int]] = {param: frozenset((k,)) for param, k in self.places.items() if not holds_nothing(param)}
        self.found = Conduct(alone=alone)
        self.blocks = list(as_is(function))

    def followed(self) -> Conduct:
        before = -1
        while before != (before := self._known()):
            for block in self.blocks:
                for op in block.all_ops():
                    self._follow(op)
                for edge in _ways(block):
                    for param, arg in zip(edge.block.params, edge.args, strict=True):
                        self._add(param, self._of(arg))
        given = {end.value if isinstance(end.value, Param) else None for end in (block.terminator for block in self.blocks) if isinstance(end, Return)}
        self.found.itself = self.places.get(given.pop()) if len(given) == 1 else None
        for block in self.blocks:
            end = block.terminator
            if isinstance(end, Return):
                self.found.given_back |= self._of(end.value) - {OTHERS}
            if isinstance(end, Raise):
                self._keep(self._of(end.value), end.location)
        return self.found

    def _known(self) -> int:
        return sum(map(len, self.shows.values()))

    def _of(self, value: Operand | Any) -> frozenset[int]:
        if isinstance(value, Const):
            return _NOTHING if holds_nothing(value) or is_code(value.value) else frozenset((OTHERS,))
        return self.shows.get(value, _NOTHING) if isinstance(value, Op | Param) else _NOTHING

    def _add(self, value: Value, more: frozenset[int]) -> None:
        if more and not holds_nothing(value):
            self.shows[value] = self.shows.get(value, _NOTHING) | more

    def _keep(self, which: frozenset[int], where: Location | None) -> None:
        for k in which - {OTHERS}:
            self.found.kept.setdefault(k, where)

    def _reach(self, op: Op) -> None:
        self.found.alone = False
        self.found.reaches = self.found.reaches or op

    def _follow(self, op: Op) -> None:
        operands = list(op.operands())
        given = frozenset[int]().union(*map(self._of, operands)) if operands else _NOTHING
        stored = [] if isinstance(op.callee, Op | Param | Function) else targets(op)
        acts = is_in(op.callee, ACTS)
        if op.effect & _OUTSIDE or OTHERS in given or is_in(op.callee, AGAIN):
            self.found.alone = False
        if any(OTHERS in self._of(value) and not _is_holder(op, k, value) for k, value in enumerate(operands)):
            self._reach(op)
        if acts and ((op.effect & Effect.OPAQUE and op.callee is not print) or any(OTHERS in self._of(v) for v in operands[op.callee is not print :])):
            self.found.shows = self.found.shows or op
        if stored:
            for target in stored:
                self.found.written |= self._of(target) - {OTHERS}
            if any(is_array(value) and getattr(value.type, "dtype", None) == np.dtype(object) for value in operands if isinstance(value, Op | Param)):
                self._keep(given, op.location)
        elif isinstance(op.callee, Function) or (op.effect & Effect.OPAQUE and not acts):
            self._keep(given, op.location)
            self._reach(op)
        elif op.effect & Effect.WRITES:
            self._write(op, operands, given)
        if not acts and is_sharing(op):
            self._add(op, given)

    def _write(self, op: Op, operands: list[Operand], given: frozenset[int]) -> None:
        """A store into a container, or the end of a value."""
        into = operands[0] if operands else None
        if isinstance(into, Op | Param) and OTHERS not in self._of(into):
            if isinstance(into, Param) or not is_in(into.callee, _MAKERS):
                self._keep(self._of(into), op.location)
            self._add(into, given)
            if is_in(op.callee, (operations.drop, operations.keep)) and may_end_visibly(into.type) and not self._of(into):
                self._reach(op)
            return
        self.found.alone = False
        self._keep(given, op.location)
        if lets_go(op, None):
            self._reach(op)


def as_is(function: Function) -> Iterator[Block]:
    """The blocks that are gone through while nothing has changed of what was found in the environment."""
    seen, todo = set[int](), [function.blocks[0]]
    while todo:
        block = todo.pop()
        if id(block) not in seen:
            seen.add(id(block))
            yield block
            todo += [edge.block for edge in _ways(block)]


def _ways(block: Block) -> list[Any]:
    end = block.terminator
    if isinstance(end, Branch) and isinstance(end.cond, Op) and is_in(end.cond.callee, AGAIN):
        return [end.true]
    return list(edges(end))


def _is_holder(op: Op, k: int, value: Operand | Any) -> bool:
    """Is an operand, which is known, or is a part of what is, there for what is found in it by a name, or is put there?"""
    if k or not isinstance(value, Const) or is_a(value.value, np.ndarray):
        return False
    return is_in(op.callee, _OF_HOLDERS) or is_in(op.callee, ACTS) or getattr(op.callee, "__objclass__", None) in type(value.value).__mro__


#: What finds or puts a single thing.
_OF_HOLDERS: Final = frozenset({
    operator.getitem, operator.setitem, operator.contains, len, getattr, setattr, *AGAIN,
    operations.load_global, operations.store_global, operations.cell_get, operations.cell_set,
})  # fmt: skip
