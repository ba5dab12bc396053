"""The match statement (CPython: Python/ceval.c, match_class, match_keys)."""

from typing import Any, Final

from hovis.engine.machine.call_results import finish
from hovis.engine.machine.machine import Machine
from hovis.engine.state import class_templates
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import ABSENT, find, is_python_class
from hovis.engine.state.values import NONE, Dyn, Known, V, labels_of, relabel
from hovis.engine.traced import slot_protocols
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Type
from hovis.lattice.inspection import is_a

#: Flags of classes that decide whether a pattern matches (CPython: Py_TPFLAGS_SEQUENCE, Py_TPFLAGS_MAPPING, _Py_TPFLAGS_MATCH_SELF).
_SEQUENCE: Final = 1 << 5
_MAPPING: Final = 1 << 6
_MATCH_SELF: Final = 1 << 22


def match(m: Machine, kind: str, count: int) -> int | None:
    if kind in ("sequence", "mapping"):
        return _collection(m, kind)
    if kind == "class":
        names, cls, subject = m.pop(), m.pop(), m.pop()
        return _class(m, m.resolve(subject), cls, count, names)
    keys, subject = m.frame.stack[-1], m.frame.stack[-2]
    return _keys(m, m.resolve(subject), keys)


def _collection(m: Machine, kind: str) -> int | None:
    subject: V = m.resolve(m.frame.stack[-1])
    cls = m.class_of(subject)
    if cls is not None:
        flag = _SEQUENCE if kind == "sequence" else _MAPPING
        m.push(Known(bool(cls.__flags__ & flag), labels_of(subject) if not hasattr(subject, "lost") else frozenset()))
        return None
    fn: Any = ops.match_sequence if kind == "sequence" else ops.match_mapping
    m.push(m.emit(fn, [subject], type=Type(bool), effect=Effect.PURE))
    return None


# ------------------------------------------------------------------------------------------------- class patterns


def _class(m: Machine, subject: V, cls: V, count: int, names: V) -> int | None:
    """Match ``case C(a, b, x=c)``: get the attributes by name, in order. An error in the pattern is raised where CPython raises it."""
    wanted = _attributes(cls, count, names)
    if wanted is None:
        return finish(m, m.emit(ops.match_class, [subject, cls, Known(count), names]), "value")
    itself, read, complaint = wanted
    return m.call(Known(slot_protocols.match_class), [subject, cls, Known(itself), Known(read), Known(complaint)], {})


def _attributes(cls: V, count: int, names: V) -> tuple[bool, tuple[str, ...], str | None] | None:
    """Return whether the first sub-pattern takes the subject itself, which attributes are read, and the error message behind them; None if not
    known.
    """
    if not isinstance(cls, Known) or not is_a(cls.value, type) or not isinstance(names, Known):
        return None
    kind, named = cls.value, names.value
    if not count:
        return False, *_distinct(kind, (), named)
    raw = find(kind, "__match_args__")
    if class_templates.template_of(kind) is not None or find(type(kind), "__match_args__") is not ABSENT or find(type(kind), "__getattr__") is not ABSENT:
        return None
    if raw is not ABSENT and find(type(raw), "__get__") is not ABSENT:
        return None
    itself = raw is ABSENT and bool(kind.__flags__ & _MATCH_SELF)
    if raw is not ABSENT and type(raw) is not tuple:
        return False, (), f"{ops.name_of_class(kind)}.__match_args__ must be a tuple (got {ops.type_name(raw)})"
    args: tuple[Any, ...] = () if raw is ABSENT else raw
    allowed = 1 if itself else len(args)
    if allowed < count:
        return False, (), f"{ops.name_of_class(kind)}() accepts {allowed} positional sub-pattern{'' if allowed == 1 else 's'} ({count} given)"
    return itself, *_distinct(kind, () if itself else args[:count], named)


def _distinct(kind: type, positional: tuple[Any, ...], named: Any) -> tuple[tuple[str, ...], str | None]:
    """Return the names before the first one that is not a string or is a duplicate, and the error message for this one."""
    read: list[str] = []
    for k, name in enumerate((*positional, *named)):
        if k < len(positional) and type(name) is not str:
            return tuple(read), f"__match_args__ elements must be strings (got {ops.type_name(name)})"
        if name in read:
            return tuple(read), f"{ops.name_of_class(kind)}() got multiple sub-patterns for attribute {name!r}"
        read.append(name)
    return tuple(read), None


# ------------------------------------------------------------------------------------------------- mapping patterns


def _keys(m: Machine, subject: V, keys: V) -> int | None:
    """Match ``case {k: v}``: push the values, or None if a key is missing."""
    cls = m.class_of(subject)
    if cls is dict and not isinstance(subject, Dyn) and isinstance(keys, Known):
        found = _in_dict(m, subject, keys)
        if found is not None:
            m.push(found)
            return None
    if cls is not None and is_python_class(cls):
        return m.call(Known(slot_protocols.match_keys), [subject, keys], {})
    return finish(m, m.emit(ops.match_keys, [subject, keys]), "value")


def _in_dict(m: Machine, subject: V, keys: Known) -> V | None:
    wanted: Any = keys.value
    labels = labels_of(subject)
    obj = m.obj(subject, "dict")
    if obj is None:
        held: Any = subject.value if isinstance(subject, Known) and m.environment.static(subject) else None
        if held is None:
            return None
        obj = VObj("dict", dict, tuple(map(Known, held.values())), tuple(held))
    if len(set(map(repr, wanted))) < len(wanted):
        return None
    m.use(subject)
    found = [obj.find(key) for key in wanted]
    if any(index < 0 for index in found):
        return Known(None, labels) if labels else NONE
    return m.new(VObj("tuple", tuple, tuple(relabel(obj.cells[index], labels) for index in found)), labels)
