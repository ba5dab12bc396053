"""Keep objects alive whose identity the program observes: by ``id``, by a text with their address, or by a weak reference.

Such an object has to be real, and to live as long as in CPython: if it ended earlier, its place in memory
could be reused for another object, which would have the same ``id``.
"""

import operator
import weakref
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from hovis.engine.state.frames_and_heap import substitute
from hovis.engine.state.heap import VObj, holds, reachable
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.values import ENDS, Dyn, Ref, V
from hovis.ir import operations
from hovis.lattice import AbstractValue, Array, Const, Type

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine

#: Functions whose result depends on the identity of their argument.
_IDENTIFYING: Final = frozenset(map(id, (id, hash, object.__repr__, object.__hash__, object.__str__, object.__format__)))

#: Functions that make a text of their arguments and of the contents of these.
_SHOWING: Final = frozenset(
    map(
        id,
        (
            *(repr, str, ascii, format, print, str.__new__, str.format, str.format_map, str.__mod__),
            *(operator.mod, operator.imod, operations.format_value),
        ),
    )
)

#: Classes whose texts show the contents of an object, and not its address.
_BY_CONTENTS: Final = frozenset({list, tuple, dict, set, frozenset, deque, range, slice, bytearray})
#: Kinds for which this holds whatever the class; the text of a class shows its name.
_KINDS_BY_CONTENTS: Final = frozenset({"view", "exception", "class"})

#: Classes of values, whose objects are not told apart by identity.
_VALUES: Final = frozenset({int, bool, float, complex, str, bytes, tuple, type(None)})


def kept(m: "Machine", callee: object, args: list[V], kwargs: dict[str, V] | None) -> list[V]:
    """Return the arguments of a call that stays in the residual, after making those whose identity it observes real and marking them."""
    if (at := _refers_weakly(callee)) is not None:
        return [_held_by_others(m, value) if k == at else value for k, value in enumerate(args)]
    if callee is id:
        return [_held_by_others(m, value) for value in args]
    if id(callee) in _IDENTIFYING:
        return [_held(m, args[0]), *args[1:]] if args else args
    if id(callee) in _SHOWING:
        values = [_held(m, value) if type(value) is Dyn and _is_shown(value.type) else value for value in args]
        more = list((kwargs or {}).values())
        for shown in (*(value for value in more if type(value) is Dyn and _is_shown(value.type)), *_shown(m, (*values, *more))):
            _held(m, shown)
        return values
    return args


def _refers_weakly(callee: object) -> int | None:
    """Return the index of the argument to which callee makes a weak reference, or None if it makes none."""
    if callee is weakref.proxy or (type(callee) is type and issubclass(callee, weakref.ref)):
        return 0
    return 1 if callee is weakref.ref.__new__ else None


def _shown(m: "Machine", values: Iterable[V]) -> list[V]:
    """Return the objects of the trace, and those in them, whose texts contain their address, as far as the texts of values contain theirs."""
    heap = m.state.heap
    held = [value.aid for value in values if type(value) is Ref]
    reached = sorted(reachable(heap, held)) if held else []
    inside = [cell for aid in reached if not _tells_place(heap[aid]) for cell in heap[aid].cells if type(cell) is Dyn and _is_shown(cell.type)]
    return [*(Ref(aid) for aid in reached if _tells_place(heap[aid])), *inside]


def _tells_place(obj: VObj) -> bool:
    return obj.kind not in _KINDS_BY_CONTENTS and obj.cls not in _BY_CONTENTS and not _lasts(obj)


def _is_shown(kind: AbstractValue) -> bool:
    """Does the text of a value of this type contain its address?"""
    return type(kind) is Type and kind.cls not in _BY_CONTENTS and kind.cls not in _VALUES


def _lasts(obj: VObj) -> bool:
    """Does an object last as long as it has to in any case, once it is real?"""
    return obj.argument or (obj.kind == "instance" and obj.cls.__weakrefoffset__ != 0)


def _held_by_others(m: "Machine", value: V) -> V:
    """Mark value as observed, and also the real containers that may hold it, on which its life depends."""
    if isinstance(value, Dyn) and not isinstance(value.value, Const) and not _is_value(value.type):
        _weakly(m)
        for aid, obj in m.state.heap.items():
            if obj.node is not None and not obj.seen and not obj.argument and holds(Type(obj.cls)):
                m.endings = True
                m.state.heap[aid] = obj.replace(seen=True)
    return _held(m, value)


def _weakly(m: "Machine") -> None:
    if not m.tables.weakly:
        m.tables.weakly = True
        raise Restart("weak")


def _held(m: "Machine", value: V) -> V:
    """Mark value as an object whose identity is observed, and return it."""
    if isinstance(value, Dyn):
        if value.ends is None or value.ends == ENDS or isinstance(value.value, Const) or _is_value(value.type):
            return value
        value = Dyn(value.value, value.type, value.dims, value.lost, value.maybe_unbound, ENDS, value.maybe_end, value.among)
        m.endings = True
        substitute(m.state, value.value, value)
    elif isinstance(value, Ref):
        _weakly(m)
        m.operand(value)
        obj = m.state.heap[value.aid]
        if not _lasts(obj) and not obj.seen:
            m.endings = True
            m.state.heap[value.aid] = obj.replace(seen=True)
    return value


def _is_value(kind: AbstractValue) -> bool:
    return type(kind) is Type and not isinstance(kind, Array) and kind.cls in _VALUES
