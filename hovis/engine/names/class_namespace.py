"""Names in a class body: they are looked up in the namespace of the class, then in globals and builtins.

The namespace is a dict of the trace.  It is on top of the stack of the frame that runs the class statement, which is the
caller of the frame of the body (see class_statement).
"""

from hovis.engine.machine.handler_table import handles
from hovis.engine.machine.machine import Machine
from hovis.engine.names import variables
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Type


def namespace(m: Machine) -> V:
    """Return the dict of the class whose body is running."""
    return m.state.frames[-2].stack[-1]


def _cell(m: Machine, name: str) -> V | None:
    """Return the value of a name in the namespace, or None if there is none. (The namespace must be known.)"""
    obj = m.obj(namespace(m), "dict")
    assert obj is not None
    index = obj.find(name)
    return obj.cells[index] if index >= 0 else None


def _known(m: Machine) -> bool:
    return m.obj(namespace(m), "dict") is not None


@handles("GetName")
def get_name(m: Machine, name: str) -> int | None:
    if not _known(m):
        m.push(m.emit(ops.load_name, [namespace(m), Known(m.frame.namespace), Known(name)], effect=Effect.READS | Effect.RAISES))
        return None
    found = _cell(m, name)
    if found is None:
        return variables.get_global(m, name)
    m.push(found)
    return None


@handles("SetName")
def set_name(m: Machine, name: str) -> int | None:
    place, value = namespace(m), m.pop()
    obj = m.obj(place, "dict")
    if obj is not None and obj.node is None:
        assert isinstance(place, Ref)
        m.put(place, obj.with_named(name, value))
        return None
    m.emit(dict.__setitem__, [place, Known(name), value], type=Type(type(None)), effect=Effect.WRITES)
    return None


@handles("DelName")
def del_name(m: Machine, name: str) -> int | None:
    place = namespace(m)
    obj = m.obj(place, "dict")
    if obj is None or obj.node is not None:
        m.emit(ops.delete_name, [place, Known(name)], type=Type(type(None)), effect=Effect.WRITES | Effect.RAISES)
        return None
    index = obj.find(name)
    if index < 0:
        return m.raise_new(NameError, f"name {name!r} is not defined", name=Known(name))
    assert isinstance(place, Ref)
    m.put(place, obj.without(index))
    return None


@handles("Locals")
def locals_(m: Machine, _: object) -> None:
    m.push(namespace(m))


@handles("GetNameOr")
def get_name_or(m: Machine, arg: tuple[str, str, int | None]) -> int | None:
    """LOAD_CLASSDEREF, LOAD_FROM_DICT_OR_DEREF, LOAD_FROM_DICT_OR_GLOBALS."""
    name, where, slot = arg
    mapping = m.pop()
    obj = m.obj(mapping, "dict")
    if obj is not None:
        index = obj.find(name)
        if index >= 0:
            m.push(obj.cells[index])
            return None
        if where == "cell":
            assert slot is not None
            return variables.get_cell(m, slot)
        return variables.get_global(m, name)
    if where == "global":
        m.push(m.emit(ops.load_name, [mapping, Known(m.frame.namespace), Known(name)], effect=Effect.READS | Effect.RAISES))
        return None
    assert slot is not None
    cell = m.frame.locals[slot]
    assert cell is not None
    m.push(m.emit(ops.load_name_or_cell, [mapping, cell, Known(name)], effect=Effect.READS | Effect.RAISES))
    return None


def setup_annotations(m: Machine) -> int | None:
    """SETUP_ANNOTATIONS: make ``__annotations__``, a new dict, unless it exists."""
    if not _known(m):
        m.emit(dict.setdefault, [namespace(m), Known("__annotations__"), m.new(VObj("dict", dict))])
        return None
    if _cell(m, "__annotations__") is None:
        m.push(m.new(VObj("dict", dict)))
        return set_name(m, "__annotations__")
    return None


