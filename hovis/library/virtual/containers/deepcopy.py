"""The action for copy.deepcopy of trees of builtin containers and plain objects (CPython: Lib/copy.py).

If an object of the trace is reachable more than once in the value, or a class customizes copying, ``copy.deepcopy`` itself is traced.
"""

import copy
import copyreg
import enum
from typing import Any, Final

from hovis.engine.machine.machine import Machine
from hovis.engine.objects.instances import dict_descriptor
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import ABSENT, find, has_dict, is_plain, is_python_class
from hovis.engine.state.values import Dyn, Known, V, labels_of
from hovis.ir.operations import UNBOUND
from hovis.lattice import Type, Union
from hovis.lattice.constants import is_immutable
from hovis.library.virtual.base import Args, Named, action, use

_DISPATCH: Final[Any] = getattr(copy, "_deepcopy_dispatch", {})
_ATOMIC: Final = getattr(copy, "_deepcopy_atomic", None)
#: The classes whose objects are their own copies (3.14); before, these are those with _ATOMIC.
_ATOMIC_CLASSES: Final[frozenset[type]] = getattr(copy, "_atomic_types", frozenset())
#: The original contents of copy's dispatch table, which user code may change.
_USUAL: Final = dict(_DISPATCH)
#: Methods that customize how objects of a class are copied, unless they are those of ``object``.
_HOOKS: Final = (
    "__deepcopy__", "__reduce_ex__", "__reduce__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__", "__new__",
    "__getattribute__", "__getattr__", "__class__",
)  # fmt: skip
#: The most containers and objects of a tree that is copied while tracing; a larger one is copied at run time.
MOST: Final = 256


class _Shared(Exception):
    """Raised where the value is not a tree, or contains an object that may not be copied in the default way."""


@action(copy.deepcopy, counts=(1, 1))
def deepcopy(m: Machine, args: Args, named: Named) -> Any:
    try:
        found = _copied(m, args[0], set())
    except _Shared:
        return None
    return found


def _check_usual(m: Machine, *classes: type) -> None:
    """Guard that copy uses its original copiers for objects of these classes; raise _Shared if it does not."""
    if _ATOMIC_CLASSES and not m.environment.static(Known(_ATOMIC_CLASSES), ("item", vars(copy), "_atomic_types", _ATOMIC_CLASSES)):
        raise _Shared
    for cls in classes:
        copier = _DISPATCH.get(cls, UNBOUND)
        if copier is not _USUAL.get(cls, UNBOUND) or not m.environment.static(Known(_DISPATCH), ("item", _DISPATCH, cls, copier)):
            raise _Shared


def _copied(m: Machine, value: V, met: set[int]) -> V:
    if isinstance(value, Known):
        _check_usual(m, type(value.value))
        if type(value.value) in (list, dict):
            return _copied_known(m, value, met)
        if not (is_immutable(value.value) and type(value.value) is not frozenset) and not issubclass(type(value.value), type) and not _is_member(value.value):
            raise _Shared
        return value
    if isinstance(value, Dyn):
        members = value.type.members if isinstance(value.type, Union) else (value.type,)
        if not all(isinstance(t, Type) and _is_atomic(t.cls) for t in members):
            raise _Shared
        _check_usual(m, *(t.cls for t in members if isinstance(t, Type)))
        return value
    obj = m.obj(value, "list", "tuple", "dict", "instance")
    if obj is None or obj.node is not None or value.aid in met or len(met) >= MOST:
        raise _Shared
    met.add(value.aid)
    _check_usual(m, obj.cls, *map(type, obj.keys if obj.kind == "dict" else ()))
    _check(m, obj)
    use(m, value)
    cells = tuple(_copied(m, cell, met) for cell in obj.cells)
    if obj.kind == "tuple" and all(a is b for a, b in zip(cells, obj.cells, strict=True)):
        return value
    return m.new(VObj(obj.kind, obj.cls, cells, obj.keys), labels_of(value))


def _copied_known(m: Machine, value: Known, met: set[int]) -> V:
    """Copy a known list or dict, which exists outside of the trace."""
    held: Any = value.value
    keys = tuple(held) if type(held) is dict else ()
    if ~id(held) in met or len(met) + len(held) >= MOST or not all(map(_is_atomic, map(type, keys))) or not m.environment.static(value):
        raise _Shared
    _check_usual(m, *map(type, keys))
    met.add(~id(held))  # negative, so it differs from the ids of objects of the trace
    cells = tuple(_copied(m, Known(x, value.labels), met) for x in (held.values() if keys else held))
    return m.new(VObj(type(held).__name__, type(held), cells, keys), value.labels)


def _is_member(held: object) -> bool:
    """Is held a member of an enumeration, which is its own copy?"""
    return isinstance(held, enum.Enum) and find(type(held), "__deepcopy__") is enum.Enum.__dict__.get("__deepcopy__")


def _is_atomic(cls: type) -> bool:
    return cls in _ATOMIC_CLASSES or (_ATOMIC is not None and _DISPATCH.get(cls) is _ATOMIC)


def _check(m: Machine, obj: VObj) -> None:
    """Raise _Shared if the object is not copied in the default way."""
    if obj.kind != "instance":
        if obj.cls not in (list, tuple, dict) or (obj.kind == "dict" and not all(map(is_immutable, obj.keys))):
            raise _Shared
        return
    if not is_python_class(obj.cls) or not is_plain(obj.cls) or not has_dict(obj.cls) or "__dict__" in obj.keys or obj.cls in _DISPATCH:
        raise _Shared
    if not dict_descriptor(obj.cls) or any(find(obj.cls, name) not in (ABSENT, object.__dict__.get(name, ABSENT)) for name in _HOOKS) or _slots(obj.cls):
        raise _Shared
    table = copyreg.dispatch_table
    if obj.cls in table or not m.environment.static(Known(table)):
        raise _Shared


def _slots(cls: type) -> bool:
    return any(base.__dict__.get("__slots__") for base in cls.__mro__)
