"""Side effects of user-defined primitives: what becomes of the arrays that are passed to them, and what else they may reach.

They are found by tracing the primitive.  Arrays that it only reads may be passed as copies; if it stores into arrays, these are copies whose
contents are passed back.  An array that it may keep, or pass on, has to be the original object, which the program does not have.  Unknown
code that it calls may reach all arrays of the caller: these are updated before the call, and read again after it (``ordered_effects``).
"""

import builtins
import functools
import io
import logging
import operator
import time
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
from hovis_xla.analysis.reachability import reached

_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
_STREAMS: Final = (io.TextIOWrapper, io.StringIO, io.BufferedWriter, io.BytesIO, io.FileIO)

#: Calls with visible side effects that write to no array: the host does them in program order.
ACTS: Final[frozenset[Any]] = frozenset({
    builtins.print, time.sleep, operations.warn_at,
    *(getattr(owner, name) for owner in (logging, logging.Logger) for name in _LEVELS), logging.Logger.log, logging.log,
    *(cls.__dict__[name] for owner in _STREAMS for name in ("write", "flush", "writelines") for cls in owner.__mro__ if name in cls.__dict__),
})  # fmt: skip

#: Reads of the environment that are made again after an act that may have changed it.
AGAIN: Final = frozenset({operations.unchanged, operations.lacks, operations.is_method_of, operations.keeps})

#: Reads of the environment, which may have changed.
ENVIRONMENT: Final = frozenset({operations.load_global, operations.cell_get, *AGAIN})

#: Calls that write to their first argument.
STORES: Final = frozenset({
    operator.setitem, scatter, np.ndarray.fill, np.ndarray.sort, np.ndarray.put, np.ndarray.partition,
    np.ndarray.itemset if hasattr(np.ndarray, "itemset") else np.put,
    np.copyto, np.put, np.place, in_shape, np.putmask, np.fill_diagonal, np.put_along_axis, *IN_PLACE,
})  # fmt: skip

_MAKERS: Final = frozenset({operations.make_tuple, operations.make_list, operations.make_dict, operations.make_set, operations.make_object})

#: In place of the number of an argument: an object that other code holds.
OTHERS: Final = -1

_NOTHING: Final[frozenset[int]] = frozenset()
_OUTSIDE: Final = Effect.IO | Effect.RANDOM | Effect.CLOCK


def targets(op: Op) -> list[Operand]:
    """Return the arrays that a call writes to, where the callee is not a residual function."""
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
    """The effects that a call of a primitive may have besides giving its result."""

    #: the arguments (by number) that are arrays into which it stores
    written: set[int] = field(default_factory=set)
    #: the arguments that it may keep, or pass on, and the place where it does
    kept: dict[int, Location | None] = field(default_factory=dict)
    #: the arguments that the result may be, hold, or be a view of
    given_back: set[int] = field(default_factory=set)
    #: the argument that it returns on every path, or None
    itself: int | None = None
    #: the op that may reach objects that other code holds: arrays, and whatever unknown code may change
    reaches: Op | None = None
    #: the op that passes objects that other code holds to a call that writes text
    shows: Op | None = None
    #: is it independent of all other code, and invisible to it?
    alone: bool = True


def conduct_of(op: Op) -> Conduct | None:
    """Return the effects of the primitive that an op calls, for arguments like the op's; None if it calls none, or if the primitive was declared
    to depend on its arguments alone.
    """
    callee = op.callee
    if not isinstance(callee, Kept):
        return None
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
    """Does the primitive that an op calls read nothing but its arguments, and write to nothing but what it makes?"""
    found = conduct_of(op)
    return found is None or (found.alone and not found.written and not found.kept)


def reaches(op: Op) -> bool:
    """Is the op a call of a primitive that may reach objects that other code holds?"""
    found = conduct_of(op) if op.effect & Effect.OPAQUE else None
    return found is not None and found.reaches is not None


def keeps(op: Op) -> bool:
    """Is the op a call of a primitive that may keep one of its arguments?"""
    found = conduct_of(op)
    return found is not None and bool(found.kept)


def sees(op: Op) -> Op | None:
    """Return the op where the primitive that ``op`` calls may see objects of the caller other than its arguments and numbers of the environment,
    or None.
    """
    found = conduct_of(op)
    return None if found is None else found.reaches or found.shows


def looked_at(op: Op) -> set[tuple[int, object]]:
    """Collect what a primitive reads or stores in the environment, by holder and name; the name None stands for everything that the holder has."""
    callee = op.callee
    assert isinstance(callee, Kept)
    body = watched(callee.fn, list(op.args))
    found: set[tuple[int, object]] = {(0 if guard.kind == "class" else id(guard.holder), guard.name) for guard in body.guards}
    for one in (one for function in callees(body.function) for one in function.ops()):
        holder, name = [*one.args, Const(None), Const(None)][:2]
        if is_in(one.callee, _OF_HOLDERS) and isinstance(holder, Const) and holder.value is not None:
            by_name = isinstance(name, Const) and type(name.value) is str and one.callee not in (operations.cell_get, operations.cell_set)
            found.add((0 if is_a(holder.value, type) else id(holder.value), name.value if by_name and isinstance(name, Const) else None))
    return found


class _Follower:
    """Finds what becomes of the arguments of a Function, by the arguments that each value may be, be a view of, or hold."""

    def __init__(self, function: Function, places: tuple[int, ...], alone: bool) -> None:
        self.function = function
        self.places: dict[Any, int] = dict(zip(function.params, places, strict=True))
        self.shows: dict[Value, frozenset[int]] = {param: frozenset((k,)) for param, k in self.places.items() if not holds_nothing(param)}
        self.found = Conduct(alone=alone)
        self.blocks = as_is(function)

    def followed(self) -> Conduct:
        before = -1
        while before != (before := sum(map(len, self.shows.values()))):
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
        """Follow a store into a container, or the end of the lifetime of a value."""
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


def as_is(function: Function) -> list[Block]:
    """Return the blocks that are reached as long as nothing has changed in the environment."""
    return list(reached(function.blocks[:1], lambda block: [edge.block for edge in _ways(block)]))


def _ways(block: Block) -> list[Any]:
    end = block.terminator
    if isinstance(end, Branch) and isinstance(end.cond, Op) and is_in(end.cond.callee, AGAIN):
        return [end.true]
    return list(edges(end))


def _is_holder(op: Op, k: int, value: Operand | Any) -> bool:
    """Is the operand a known object that the op only looks something up in, stores something into, or calls a method of?"""
    if k or not isinstance(value, Const) or is_a(value.value, np.ndarray):
        return False
    return is_in(op.callee, _OF_HOLDERS) or is_in(op.callee, ACTS) or getattr(op.callee, "__objclass__", None) in type(value.value).__mro__


#: Calls that look up or store a single item of their first operand.
_OF_HOLDERS: Final = frozenset({
    operator.getitem, operator.setitem, operator.contains, len, getattr, setattr, *AGAIN,
    operations.load_global, operations.store_global, operations.cell_get, operations.cell_set,
})  # fmt: skip
