"""getattr, setattr, hasattr, and what ``object`` does for its instances."""

import types
from typing import Any

from hovis.engine import attributes as object_attributes
from hovis.engine.heap import VObj
from hovis.engine.lookups import is_data_descriptor, is_plain, is_python_class, lookup, special
from hovis.engine.machine import Machine
from hovis.engine.values import NONE, Dyn, Known, Ref, V, labels_of
from hovis.library.virtual.base import Args, Named, action


@action(getattr, counts=(2, 3))
def get_attribute(m: Machine, args: Args, named: Named) -> Any:
    if len(args) not in (2, 3) or not isinstance(args[1], Known) or type(args[1].value) is not str:
        return None
    m.use(args[1])
    if len(args) == 3:
        if (isinstance(args[0], Known | Ref) and m.obj(args[0], "instance", "exception")) or isinstance(args[0], Known):
            present = _has(m, args[0], args[1].value)
            if present is None:
                return None
            if not present:
                return args[2]
        else:
            return None
    return _pushed_here(m, lambda: object_attributes.get(m, args[0], args[1].value))


def _pushed_here(m: Machine, run: Any) -> Any:
    depth = len(m.state.frames)
    status = run()
    if status is None and len(m.state.frames) == depth:
        return m.pop()
    return status


def _has(m: Machine, value: V, name: object) -> bool | None:
    """Does value have the attribute?  None: only asking it tells."""
    assert isinstance(name, str)
    cls = m.class_of(value)
    if cls is None or special(cls, "__getattr__") or special(cls, "__getattribute__") or lookup(cls, "__getattr__"):
        return None
    obj = m.obj(value, "instance", "exception")
    raw = lookup(cls, name)
    if obj is not None:
        if obj.find(name) >= 0:
            return True
        if raw is None or isinstance(raw, types.MemberDescriptorType):
            return False
        return True if not is_data_descriptor(raw) else None
    if isinstance(value, Known) and isinstance(value.value, types.ModuleType | type) and m.static(value):
        if isinstance(value.value, type):
            return any(name in b.__dict__ for b in value.value.__mro__) or (None if lookup(type(value.value), name) is not None else False)
        return name in value.value.__dict__ if type(value.value) is types.ModuleType and "__getattr__" not in value.value.__dict__ else None
    if isinstance(value, Known) and m.static(value):
        own_dict = getattr(value.value, "__dict__", None) if cls.__dictoffset__ else None
        if own_dict is not None and name in own_dict:
            return True
        if raw is None:
            return False
        return True if not is_data_descriptor(raw) else None
    if isinstance(value, Ref) and raw is None and not cls.__dictoffset__:
        return False
    return None


@action(hasattr, counts=(2, 2))
def has_attribute(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 2 or not isinstance(args[1], Known) or type(args[1].value) is not str:
        return None
    value = args[0]
    if isinstance(value, Dyn):
        cls = m.class_of(value)
        if cls is not None and not is_python_class(cls) and not cls.__dictoffset__:
            return Known(lookup(cls, args[1].value) is not None)
        return None
    present = _has(m, value, args[1].value)
    return None if present is None else Known(present, labels_of(*args))


@action(setattr, counts=(3, 3))
def set_attribute(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 3 or not isinstance(args[1], Known) or type(args[1].value) is not str or not isinstance(args[0], Ref):
        return None
    m.use(args[1])
    name = args[1].value
    cls = m.class_of(args[0])
    if cls is not None and not special(cls, "__setattr__") and object_attributes.store(m, args[0], name, args[2]):
        return NONE
    return None


@action(object.__setattr__, counts=(3, 3))
def object_setattr(m: Machine, args: Args, named: Named) -> Any:
    if len(args) == 3 and isinstance(args[0], Ref) and isinstance(args[1], Known) and type(args[1].value) is str:
        return NONE if object_attributes.store(m, args[0], args[1].value, args[2]) else None
    return None


@action(object.__delattr__, counts=(2, 2))
def object_delattr(m: Machine, args: Args, named: Named) -> Any:
    if len(args) == 2 and isinstance(args[0], Ref) and isinstance(args[1], Known) and type(args[1].value) is str:
        return NONE if object_attributes.remove(m, args[0], args[1].value) else None
    return None


@action(object.__new__)
def object_new(m: Machine, args: Args, named: Named) -> Any:
    if args and isinstance(args[0], Known) and isinstance(args[0].value, type) and is_plain_for_new(args[0].value) and (len(args) == 1 and not named):
        return m.new(VObj("instance", args[0].value))
    return None


def is_plain_for_new(cls: type) -> bool:
    """Like is_plain, for a class whose own ``__new__`` calls that of object."""
    if is_plain(cls):
        return True
    if type(cls) is not type or lookup(cls, "__del__") is not None or not is_python_class(cls):
        return False
    return all(base is object or (is_python_class(base) and base.__basicsize__ <= 64 and base.__itemsize__ == 0) for base in cls.__mro__) and _python_only(cls)


def _python_only(cls: type) -> bool:
    return not any(issubclass(cls, b) for b in (BaseException, int, float, str, bytes, list, tuple, dict, set, frozenset, type, complex))
