"""Exception groups and ``except*`` (CPython: Objects/exceptions.c, _PyEval_ExceptionGroupMatch in Python/ceval.c).

A group of exceptions of known classes is an object of the trace, as are the exceptions.  A clause splits it while tracing; the
real split stays in the residual only if one of the resulting groups is used as a whole.
"""

import operator
from typing import Any, Final

from hovis.engine.control.raising import known_classes
from hovis.engine.machine import branches, exceptions
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Type

GROUPS: Final = (ExceptionGroup, BaseExceptionGroup)
_NONE_TYPE: Final = Type(type(None))


def new(m: Machine, cls: Any, args: list[V]) -> Ref | None:
    """Make ``ExceptionGroup(message, exceptions)`` as an object of the trace (BaseExceptionGroup_new); None if it has to be a real one."""
    if len(args) != 2 or m.class_of(args[0]) is not str:
        return None
    given = m.obj(args[1], "list", "tuple")
    leaves = _classes(m, given.cells) if given is not None else None
    if given is None or not leaves:
        return None
    plain = all(issubclass(leaf, Exception) for leaf in leaves)
    if cls is ExceptionGroup and not plain:
        return None
    made = ExceptionGroup if plain else BaseExceptionGroup
    held = m.new(VObj("tuple", tuple, given.cells))
    return m.new(VObj("exception", made, (m.new(VObj("tuple", tuple, tuple(args))), args[0], held), ("args", "message", "exceptions")))


def _classes(m: Machine, cells: tuple[V, ...]) -> list[type] | None:
    """Return the classes of cells; None unless all are known to be exception classes."""
    found = [m.class_of(cell) for cell in cells]
    return found if all(cls is not None and issubclass(cls, BaseException) for cls in found) else None  # type: ignore[return-value]


def match(m: Machine) -> None:
    """``except* classes`` (stack: exc classes → rest match): split exc. The part that matches becomes the handled exception."""
    classes = m.resolve(m.pop())
    exception = m.resolve(m.pop())
    known = known_classes(m, classes)
    flat = known if isinstance(known, tuple) else (known,)
    cls = m.class_of(exception)
    if known is None or cls is None or any(issubclass(c, BaseExceptionGroup) for c in flat):
        _left(m, exception, classes, Effect.OPAQUE)
    elif cls is type(None):
        _both(m, NONE, NONE)
    elif not issubclass(cls, BaseExceptionGroup):
        if issubclass(cls, known):
            _naked(m, exception, classes)
        else:
            _both(m, exception, NONE)
    elif issubclass(cls, known):
        _both(m, NONE, exception)
    elif not _divided(m, exception, classes, known):
        _left(m, exception, classes, Effect.RAISES | Effect.IO if cls in GROUPS else Effect.OPAQUE)


def _both(m: Machine, rest: V, matched: V) -> None:
    m.push(rest)
    m.push(matched)


def _handled(m: Machine, rest: V, matched: V) -> None:
    m.emit(ops.leave_handler, [], type=_NONE_TYPE, effect=Effect.IO)
    m.handle(matched)
    _both(m, rest, matched)


def _naked(m: Machine, exception: V, classes: V) -> None:
    """Match an exception that is not a group: it is wrapped in a group."""
    real = exceptions.node_of(m, exception) if isinstance(exception, Ref) else exception
    pair = m.emit(ops.group_matches, [real, classes], type=Type(tuple), effect=Effect.READS)
    cls = m.class_of(exception)
    assert cls is not None
    wrapped = ExceptionGroup if issubclass(cls, Exception) else BaseExceptionGroup
    _handled(m, NONE, _part(m, pair, 1, wrapped, Known(""), [exception]))


def _part(m: Machine, pair: Dyn, at: int, cls: type, message: V, held: list[V], notes: bool = False) -> Ref:
    """Make one side of a split as an object of the trace with known contents. notes: it has the notes of the whole group."""
    node = m.emit(operator.getitem, [pair, Known(at)], type=Type(cls), effect=Effect.PURE).value
    args = exceptions.read(m, node, "args")
    cells = (args, message, m.new(VObj("tuple", tuple, tuple(held))))
    made = VObj("exception", cls, cells, ("args", "message", "exceptions"), extra=exceptions.HANDLED, node=node)
    return m.new(made.with_new("__notes__", exceptions.read(m, node, "__notes__")) if notes else made)


def _divided(m: Machine, exception: V, classes: V, known: Any) -> bool:
    """Split a group of this trace that is flat, and whose exceptions are of known classes; False if exception is no such group."""
    obj = m.obj(exception, "exception")
    held = m.obj(obj.cells[obj.find("exceptions")], "tuple") if obj is not None and obj.cls in GROUPS else None
    leaves = _classes(m, held.cells) if held is not None else None
    if obj is None or held is None or leaves is None or any(issubclass(leaf, BaseExceptionGroup) for leaf in leaves):
        return False
    assert isinstance(exception, Ref)
    message = obj.cells[obj.find("message")]
    pair = m.emit(ops.group_matches, [exceptions.node_of(m, exception), classes], type=Type(tuple), effect=Effect.READS)
    sides: list[V] = []
    for at, wanted in ((0, False), (1, True)):
        side = [(cell, leaf) for cell, leaf in zip(held.cells, leaves, strict=True) if issubclass(leaf, known) is wanted]
        cls = ExceptionGroup if all(issubclass(leaf, Exception) for _, leaf in side) else BaseExceptionGroup
        sides.append(_part(m, pair, at, cls, message, [cell for cell, _ in side], obj.find("__notes__") >= 0) if side else NONE)
    rest, matched = sides
    if matched is NONE:
        _both(m, rest, NONE)
    else:
        _handled(m, rest, matched)
    return True


def _left(m: Machine, exception: V, classes: V, effect: Effect) -> None:
    """Emit the split, and a test whether anything matches."""
    pair = m.emit(ops.group_matches, [exception, classes], type=Type(tuple), effect=effect)
    rest = m.emit(operator.getitem, [pair, Known(0)], effect=Effect.PURE)
    matched = m.emit(operator.getitem, [pair, Known(1)], effect=Effect.PURE)
    none = m.emit(operator.is_, [matched, NONE], type=Type(bool), effect=Effect.PURE)
    other = m.state.fork()
    other.frames[-1].stack += [rest, NONE]
    other.frames[-1].pc += 1
    some = m.emit(operator.not_, [none], type=Type(bool), effect=Effect.PURE)
    m.meet(len(m.state.frames) - 1, m.frame.pc + 1, m.frame.pc + 1)
    branches.split(m, some, other)
    _handled(m, rest, matched)


def prepare_reraise(m: Machine) -> None:
    """Find the exception to raise after the clauses of an ``except*`` (stack: original excs → exc; _PyExc_PrepReraiseStar)."""
    raised, original = m.pop(), m.pop()
    listed = m.obj(raised, "list")
    cls = m.class_of(original)
    if listed is not None and all(isinstance(c, Known) and c.value is None for c in listed.cells):
        m.push(NONE)
    elif listed is not None and cls is not None and not issubclass(cls, BaseExceptionGroup):
        m.push(listed.cells[0])
    else:
        m.push(m.emit(ops.prepare_reraise, [original, raised]))
