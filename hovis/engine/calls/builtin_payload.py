"""Instances of subclasses of builtin classes: ``class Stack(list)``, ``class Row(dict)``, ``class Name(str)``.

Such an instance is an object of kind "instance" that has, besides its attributes, one cell under the key STORED: the data
that C code keeps in it.  This is a value of the builtin class itself; a list or dict among them has no other holder.  An
operation that uses only slots which the class of the instance does not override may use this value in place of the
instance (``plain``), and so may the methods of the builtin class (``by_method``).  (CPython: inherit_slots in
Objects/typeobject.c.)
"""

import operator
import types
from typing import Any, Final

from hovis.engine.calls.models import site
from hovis.engine.machine.building.objects import leaves_alone
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import STORED, VObj
from hovis.engine.state.type_lookup import ABSENT, FUNCTION, find, is_python_class, lookup
from hovis.engine.state.values import Known, Ref, V, relabel
from hovis.engine.traced import construction, slot_protocols
from hovis.lattice.inspection import is_a

#: Builtin classes whose subclasses' instances hold one value: the kind of its object if it is mutable, else "".
BASES: Final[dict[type, str]] = {list: "list", dict: "dict", tuple: "", str: "", int: "", float: ""}

#: Builtins that use their argument only by special methods: the names of these. A class that overrides none of them is treated as its builtin base.
LOOKS: Final[dict[Any, tuple[str, ...]]] = {
    len: ("__len__",), iter: ("__iter__",), reversed: ("__reversed__", "__len__", "__getitem__"), repr: ("__repr__",),
    str: ("__str__", "__repr__"), bool: ("__bool__", "__len__"), int: ("__int__", "__index__", "__trunc__"), float: ("__float__", "__index__"),
    abs: ("__abs__",), round: ("__round__",), operator.index: ("__index__",), format: ("__format__", "__str__", "__repr__"),
    operator.truth: ("__bool__", "__len__"), hash: ("__hash__", "__eq__"), print: ("__str__", "__repr__"),
}  # fmt: skip

#: Builtins that convert their arguments by PyNumber_Index, which calls no method of an int.
INDEXERS: Final = frozenset({range, chr, bin, hex, oct})
_BY_INDEX: Final = frozenset({list, tuple, str, bytes, range})

#: Builtins that iterate over their first argument.
STEPPERS: Final = frozenset({list, tuple, set, frozenset, sorted, sum, any, all, enumerate})


def base_of(cls: type) -> type | None:
    """Return the builtin class that cls derives from; None if instances of cls cannot be objects of the trace."""
    found = next((base for base in cls.__mro__ if base in BASES), None)
    if found is None or not is_python_class(cls) or lookup(cls, "__del__") is not None or cls.__flags__ & _ABSTRACT:
        return None
    return found if all(base in (found, object) or _is_plain(base) for base in cls.__mro__) else None


#: Flag of abstract classes (CPython: Py_TPFLAGS_IS_ABSTRACT).
_ABSTRACT: Final = 1 << 20


def _is_plain(base: type) -> bool:
    new = base.__dict__.get("__new__")
    return is_python_class(base) and (new is None or (isinstance(new, staticmethod) and type(new.__func__) is FUNCTION))


def make(m: Machine, cls: type, value: V) -> Ref:
    """Make an instance that holds value; of a mutable value it holds a copy of the present contents."""
    base = base_of(cls)
    assert base is not None
    if BASES[base]:
        held = m.obj(value, BASES[base])
        value = m.new(VObj(BASES[base], base, held.cells if held else (), held.keys if held else (), extra=("content", site(m), cls)))
    return m.new(VObj("instance", cls, (value,), (STORED,)))


def held(m: Machine, value: V) -> V | None:
    """Return the builtin value that an instance holds, or None if it is not known."""
    if type(value) is not Ref:
        if type(value) is Known and is_a(value.value, tuple) and type(value.value) is not tuple and is_python_class(type(value.value)):
            return Known(tuple.__getitem__(value.value, slice(None)), value.labels)
        return None
    obj = m.state.heap[value.aid]
    if obj.kind == "tuple" and obj.cls is not tuple:
        # the value that a named tuple holds is the tuple of its items
        return m.new(VObj("tuple", tuple, obj.cells), value.labels)
    if obj.kind != "instance" or STORED not in obj.keys:
        return None
    if obj.node is not None and (base := base_of(obj.cls)) is not None and BASES[base] and not leaves_alone(obj.cls, base):
        return None
    return relabel(obj.cells[obj.keys.index(STORED)], value.labels)


def _class(m: Machine, value: V) -> type:
    """Return the class of an instance that holds a builtin value."""
    return m.state.heap[value.aid].cls if isinstance(value, Ref) else type(value.value)


def _leaves(m: Machine, value: V, names: tuple[str, ...]) -> bool:
    """Does the class of an instance inherit all these slots unchanged from the builtin class, which has at least one of them?"""
    cls = _class(m, value)
    base = base_of(cls)
    slots = [find(base, name) for name in names] if base is not None else []
    if all(slot is ABSENT or slot is None for slot in slots):
        return False
    return all(find(cls, name) is slot for name, slot in zip(names, slots, strict=True))


def plain(m: Machine, value: V, names: tuple[str, ...]) -> V | None:
    """Return the builtin value that can replace an instance where the special methods names are used; None if value is not an instance, or its
    class overrides one of them.
    """
    inside = held(m, value)
    return inside if inside is not None and _leaves(m, value, names) else None


def operands(m: Machine, fn: Any, args: list[V], names: tuple[str, ...], two: bool) -> list[V] | None:
    """Replace the instances among the operands by their builtin values. None if there are no instances, or the class of one overrides a special
    method in names. two: the operator is binary.
    """
    if not two:
        inside = plain(m, args[0], names)
        return None if inside is None or (fn is operator.invert and m.class_of(inside) is float) else [inside, *args[1:]]
    if fn in (operator.iadd, operator.or_, operator.ior):
        # these may iterate over their operands
        names = (*names, "__iter__")
    found = [plain(m, a, names) for a in args]
    if found[0] is None and found[1] is None:
        return None
    given = [a if x is None else x for a, x in zip(args, found, strict=True)]
    if found[1] is not None and fn in (operator.mod, operator.imod) and m.class_of(given[0]) is str:
        return None      # string formatting, which converts the instance itself to a string
    return given if _agree(fn, *map(m.class_of, given)) else None


def _agree(fn: Any, a: type | None, b: type | None) -> bool:
    """Is it certain that the operator raises no TypeError for these classes (whose message would name other classes)?"""
    if a is None or b is None or a not in _PLAIN or b not in _PLAIN:
        return False
    numbers = a in _NUMBERS and b in _NUMBERS
    if fn in (operator.eq, operator.ne) or (fn in (operator.mod, operator.imod) and a is str):
        return True
    if fn in (operator.mul, operator.imul):
        return numbers or (a in _SEQUENCES and b in (int, bool)) or (b in _SEQUENCES and a in (int, bool))
    if fn in _BITS:
        return a is b and a is not float and a not in _SEQUENCES
    if a is dict:
        return False
    return numbers or (a is b and (fn in _ORDERS or fn in (operator.add, operator.iadd)))


_NUMBERS: Final = frozenset({int, bool, float})
_SEQUENCES: Final = frozenset({list, tuple, str})
_PLAIN: Final = _NUMBERS | _SEQUENCES | {dict, type(None)}
_ORDERS: Final = frozenset({operator.lt, operator.le, operator.gt, operator.ge})
_BITS: Final = frozenset(
    {
        *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift),
        *(operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift),
    }
)


def looked_at(m: Machine, fn: Any, args: list[V]) -> list[V] | None:
    """Replace the instances among the arguments of a builtin that uses them by special methods alone. None if nothing is replaced."""
    if fn is print:
        found = [plain(m, a, LOOKS[fn]) for a in args]
        return [a if x is None else x for a, x in zip(args, found, strict=True)] if any(found) else None
    if fn is format and len(args) == 2 and isinstance(args[1], Known) and args[1].value:
        # with a format specification, ``__str__`` and ``__repr__`` are not called
        inside = plain(m, args[0], ("__format__",))
        return None if inside is None else [inside, args[1]]
    if fn in INDEXERS:
        given = [_int(m, a) for a in args]
        return given if any(a is not x for a, x in zip(args, given, strict=True)) else None
    names = LOOKS.get(fn) or (("__iter__",) if fn in STEPPERS else None)
    if names is None and (fn is min or fn is max) and len(args) == 1:
        names = ("__iter__",)
    inside = plain(m, args[0], names) if names is not None else None
    return None if inside is None else [inside, *args[1:]]


def _int(m: Machine, value: V) -> V:
    """Return the int in an instance of a subclass of int, whose own ``__index__`` is not called (PyNumber_Index); any other value as it is."""
    if type(value) is Known and is_a(value.value, int) and type(value.value) is not bool:
        return value if type(value.value) is int else Known(int.__pos__(value.value), value.labels)
    inside = held(m, value)
    return value if inside is None or m.class_of(inside) is not int else inside


def by_index(m: Machine, args: list[V]) -> list[V]:
    """Replace the index of an access to a builtin sequence by a plain int, if it is an instance of a subclass of int."""
    return [args[0], _int(m, args[1]), *args[2:]] if m.class_of(args[0]) in _BY_INDEX else args


def seen(m: Machine, fn: Any, args: list[V]) -> "tuple[Any, list[V]] | None":
    """Rewrite a call of a builtin on an instance to a callable and its arguments, with the builtin value in place of the instance; None if that
    is not possible.
    """
    if type(args[0]) is Ref and m.state.heap[args[0].aid].kind not in ("instance", "tuple"):
        return None
    if held(m, args[0]) is None:
        return None
    found = looked_at(m, fn, args)
    return (fn, found) if found is not None else by_method(m, fn, args)


# ------------------------------------------------------------------------------------------------- methods of the builtin class

#: Methods that are operators on the held value, whatever the class of the instance defines under their names.
_OPERATORS: Final[dict[str, Any]] = {
    "__len__": len, "__iter__": iter, "__repr__": repr, "__str__": str, "__hash__": hash, "__bool__": bool, "__int__": int,
    "__float__": float, "__neg__": operator.neg, "__pos__": operator.pos, "__abs__": abs, "__invert__": operator.invert,
    "__getitem__": operator.getitem, "__setitem__": operator.setitem, "__delitem__": operator.delitem, "__contains__": operator.contains,
}  # fmt: skip

#: Methods that are binary operators on two values of one class.
_OF_TWO: Final = {
    f"__{name}__": getattr(operator, name + "_" if name in ("and", "or") else name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift", "lt", "le", "gt", "ge", "eq", "ne")
}

#: In-place operators, whose result is the instance itself.
_IN_PLACE: Final = {"__iadd__": operator.iadd, "__imul__": operator.imul, "__ior__": operator.ior}


def by_method(m: Machine, fn: Any, args: list[V]) -> "tuple[Any, list[V]] | None":
    """Rewrite a call of a C method of the builtin class on an instance to a callable and its arguments, with the builtin value in place of the
    instance; None if that is not possible.
    """
    if type(fn) not in (types.MethodDescriptorType, types.WrapperDescriptorType) or fn.__objclass__ not in BASES:
        return None
    base: Any = fn.__objclass__
    inside = held(m, args[0])
    if inside is None or base_of(_class(m, args[0])) is not base:
        return None
    name, rest = fn.__name__, args[1:]
    if base is dict and name in ("copy", "__or__", "__ror__", "__ior__") and not _leaves(m, args[0], ("__iter__",)):
        return None      # PyDict_Copy calls its ``keys``
    if name in _OF_TWO or name in _IN_PLACE or name == "extend":
        rest = [_of_like(m, a, base) for a in rest]
    if name == "__getitem__" and base is dict:
        return of_dict(m, inside, args[0], rest[0]) if len(rest) == 1 else None
    if name == "__init__" and base is list:
        return construction.fill_list, [Known(lookup(_class(m, args[0]), "__new__") is list.__new__), inside, *rest]
    if name == "__init__" and base is dict:
        return construction.fill_dict, [inside, *rest]
    if name in _OPERATORS:
        return _OPERATORS[name], [inside, *rest]
    if name in _OF_TWO and len(rest) == 1:
        alike = m.class_of(rest[0])
        if alike is base or (base in (int, float) and alike in (int, float) and not (base is int and alike is float)):
            return _OF_TWO[name], [inside, *rest]
    if name in _IN_PLACE and len(rest) == 1:
        return slot_protocols.in_place, [Known(_IN_PLACE[name]), args[0], inside, *rest]
    return fn, [inside, *rest]


def of_dict(m: Machine, inside: V, instance: V, key: V) -> "tuple[Any, list[V]] | None":
    """Rewrite ``instance[key]`` to a callable and its arguments, on the dict that the instance holds (dict_subscript); None if its
    ``__missing__`` is not a Python function.
    """
    missing = find(_class(m, instance), "__missing__")
    if missing is ABSENT:
        return operator.getitem, [inside, key]
    return (slot_protocols.subscript, [inside, Known(missing), instance, key]) if type(missing) is FUNCTION else None


def _of_like(m: Machine, value: V, base: Any) -> V:
    """Return the builtin value in another instance with the same builtin base, as the methods of this base look into it; any other value as it
    is.
    """
    inside = held(m, value)
    if inside is None or base is dict or base_of(_class(m, value)) is not base:
        return value
    return inside if _leaves(m, value, ("__iter__",)) else value

