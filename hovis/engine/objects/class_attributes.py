"""Attributes of classes of the trace: look-up in their dictionaries, and stores (type_setattro).

Most names of a template keep their meaning for as long as the class exists: a function, a descriptor, or plain data whose value
is in the heap.  A name that is assigned in any other way after the class was made is *open*: its meaning depends on the current value
of its cell.  Which names are open is learned: the first such assignment causes the class to be traced again.
"""

import types
from typing import Any, Final

from hovis.engine.environment.guards import can_change
from hovis.engine.machine.call_results import leave_class
from hovis.engine.machine.machine import Machine
from hovis.engine.objects import functions
from hovis.engine.state.class_templates import ALL, CHANGED, MISSING, Datum, Template, Token
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.type_lookup import ABSENT, find
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import ANY, AbstractValue, Type, Union, inline_attributes

WRAPPERS: Final = {"property": property, "staticmethod": staticmethod, "classmethod": classmethod}

#: The attribute is not known: it has to be read from the real class.
UNSURE: Final = object()

_SLOTS: Final = ("__get__", "__set__", "__delete__", "__set_name__")
_QUIET: Final = Effect.WRITES | Effect.RAISES


def is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def plain_class(cls: type) -> bool:
    """Are instances of cls no descriptors, in whatever class they are found? (Binding a bound method returns the method itself.)"""
    return cls is types.MethodType or all(find(cls, slot) is ABSENT for slot in _SLOTS)


def plain(m: Machine, value: V) -> bool:
    """Is value known not to be a descriptor?"""
    value = m.resolve(value)
    if isinstance(value, Dyn):
        members = value.type.members if isinstance(value.type, Union) else (value.type,)
        return all(isinstance(t, Type) and plain_class(t.cls) for t in members)
    cls = m.class_of(value)
    return cls is not None and plain_class(cls)


# ------------------------------------------------------------------------------------------------- reading


def in_mro(m: Machine, cls: type, name: str) -> Any:
    """Return the attribute in the dictionaries of the MRO: an object or a token, ABSENT, or UNSURE."""
    m.environment.trust(cls)
    for base in cls.__mro__:
        found = in_class(m, base, name)
        if found is not ABSENT:
            return found
    return ABSENT


def in_class(m: Machine, base: type, name: str) -> Any:
    """Return the attribute in the dictionary of one class: an object or a token, ABSENT, or UNSURE."""
    m.environment.trust(base)
    raw = base.__dict__.get(name, ABSENT)
    if type(raw) is not Datum:
        return raw
    template = ALL[id(raw)].template
    obj = m.state.heap[template.aid]
    cell = obj.cells[obj.find(name)]
    if isinstance(cell, Known):
        if cell.value is MISSING:
            return ABSENT
        if cell.value is CHANGED:
            return UNSURE if name in template.open or name in template.checked else raw
    return _token(m, template, name, raw, cell) if name in template.open else raw


def _token(m: Machine, template: Template, name: str, datum: Datum, value: V) -> Any:
    """Return the object or token that represents the current value of an open name, or UNSURE."""
    value = m.resolve(value)
    if isinstance(value, Known):
        return datum if plain_class(type(value.value)) else value.value
    if isinstance(value, Dyn):
        return datum if plain(m, value) else UNSURE
    obj = m.state.heap[value.aid]
    if obj.kind != "function" and obj.kind not in WRAPPERS and not (obj.kind == "instance" and not plain_class(obj.cls)):
        return datum if plain_class(obj.cls) else UNSURE
    parts = _functions(m, obj)
    if parts is None:
        return UNSURE
    key = name, obj.kind, id(obj.cls), *(id(part.extra[0]) for part in parts if part is not None)
    if key not in template.tokens:
        template.tokens[key] = make_token(m, template, name, obj, parts)
    return template.tokens[key]


def _functions(m: Machine, obj: VObj) -> list[VObj | None] | None:
    """Return the functions that a descriptor consists of, or None if they are not known."""
    if obj.kind not in WRAPPERS:
        return []
    found: list[VObj | None] = []
    for cell in obj.cells:
        part = m.obj(m.resolve(cell), "function")
        if part is None and not isinstance(cell, Known):
            return None
        found.append(part)
    return found


def make_token(m: Machine, template: Template, name: str, obj: VObj, parts: list[VObj | None]) -> Any:
    """Make a function or descriptor that represents the one in the cell of a name."""

    def keep(held: Any, *path: int) -> Any:
        template.kept.append(held)
        ALL[id(held)] = Token(template, name, path)
        return held

    if obj.kind == "function":
        return keep(functions.twin(m, obj))
    if obj.kind not in WRAPPERS:
        return keep(object.__new__(obj.cls))
    made = []
    for k, (part, cell) in enumerate(zip(parts, obj.cells, strict=True)):
        made.append(keep(functions.twin(m, part), k) if part is not None else cell.value)  # type: ignore[union-attr]
    return keep(WRAPPERS[obj.kind](*made))


class Thawed:
    """An attribute of a class that the traced code stores into, with its type as far as that is known."""

    __slots__ = ("certain", "kind")

    def __init__(self, kind: AbstractValue, certain: bool) -> None:
        self.kind = kind
        #: the attribute certainly exists, whatever was stored
        self.certain = certain

    @property
    def plain(self) -> bool:
        """Does reading the attribute run nothing, for all values that it may have?"""
        members = getattr(self.kind, "members", (self.kind,))
        return all(isinstance(t, Type) and find(t.cls, "__get__") is ABSENT for t in members)


def class_attribute(m: Machine, cls: type, name: str) -> Any:
    """Look up name in the dictionaries of the MRO; return the object, ABSENT, or a Thawed."""
    if m.tables.thawed_attributes:
        for base in cls.__mro__:
            thawed = m.tables.thawed_attributes.get((id(base), name))
            if thawed is not None:
                return thawed if m.environment.frozen or thawed.kind is ANY else _checked(m, cls, base, name, thawed)
            if name in base.__dict__:
                break
    raw = find(cls, name)
    if type(raw) is Datum:
        raw = in_mro(m, cls, name)
        return Thawed(ANY, False) if raw is UNSURE else raw
    return raw


def _checked(m: Machine, cls: type, base: type, name: str, thawed: Thawed) -> Thawed:
    """Guard the types of an attribute that other code may also store into; return it, with unknown type if no guard is possible."""
    held = inline_attributes.dictionary_of(base)
    members = getattr(thawed.kind, "members", (thawed.kind,))
    classes = tuple(member.cls for member in members if type(member) is Type)
    if len(classes) < len(members) or ("kinds", id(held), name) in m.environment.volatile or m.state.world == 2:
        return Thawed(ANY, False)
    for before in cls.__mro__[: cls.__mro__.index(base)]:
        if can_change(before):
            m.environment.guard("item", inline_attributes.dictionary_of(before), name, ops.UNBOUND)
    m.environment.guard("kinds", held, name, classes)
    return thawed


# ------------------------------------------------------------------------------------------------- stores


def set_attribute(m: Machine, template: Template, name: str, value: V) -> None:
    """``A.name = value``."""
    if not (name in template.data and plain(m, value)):
        _open(m, template, name, "written to")
    if not plain(m, value) and isinstance(m.resolve(value), Dyn):
        m.operand(Known(template.cls))
    obj = m.state.heap[template.aid]
    index = obj.find(name)
    if _bound(obj.cells[index]) is False and any(_bound(cell) for cell in obj.cells[index + 1 :]):
        # the order of the real dictionary would differ from that of the cells: make the class real
        m.operand(Known(template.cls))
    if m.state.heap[template.aid].node is not None:
        m.emit(setattr, [Known(template.cls), Known(name), value], type=Type(type(None)), effect=_QUIET)
    known = plain(m, value) or not isinstance(m.resolve(value), Dyn)
    m.state.heap[template.aid] = m.state.heap[template.aid].with_cell(index, value if known else Known(CHANGED))


def _bound(cell: V) -> bool:
    return not (isinstance(cell, Known) and cell.value is MISSING)


def _open(m: Machine, template: Template, name: str, what: str) -> None:
    """Require that the name is open: if it is not, raise Restart to trace again with it open."""
    if name in template.open:
        return
    if is_special(name):
        leave_class(m, template, f"its attribute {name} is {what}")
    m.tables.open_names[template.body] = (*m.tables.open_names.get(template.body, ()), name)
    raise Restart("class")


def delete_attribute(m: Machine, template: Template, name: str) -> int | None:
    """``del A.name``; return a control code if there is no such attribute."""
    _open(m, template, name, "deleted")
    m.operand(Known(template.cls))
    m.emit(delattr, [Known(template.cls), Known(name)], type=Type(type(None)), effect=_QUIET)
    obj = m.state.heap[template.aid]
    cell = obj.cells[obj.find(name)]
    if not _bound(cell):
        return m.unreachable()
    sure = not (isinstance(cell, Known) and cell.value is CHANGED)
    m.state.heap[template.aid] = obj.with_cell(obj.find(name), Known(MISSING if sure else CHANGED))
    return None

