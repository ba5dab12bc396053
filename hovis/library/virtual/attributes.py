"""getattr, setattr, hasattr, and what ``object`` does for its instances."""

from typing import Any

from hovis.engine import attributes, storing
from hovis.engine.descriptors import Access
from hovis.engine.heap import VObj
from hovis.engine.lookups import has_dict, is_plain, is_python_class, lookup
from hovis.engine.machine import Machine
from hovis.engine.values import NONE, Known, Ref
from hovis.library.virtual.base import Args, Named, action, pushed


def _names(args: Args, named: Named, *counts: int) -> bool:
    """Is this a call with a known name?"""
    return not named and len(args) in counts and isinstance(args[1], Known) and type(args[1].value) is str


@action(getattr)
def get_attribute(m: Machine, args: Args, named: Named) -> Any:
    if not _names(args, named, 2, 3):
        return None
    m.use(args[1])
    name: Any = args[1].value  # type: ignore[union-attr]
    if len(args) == 3:
        return pushed(m, lambda: attributes.get_or(m, args[0], name, args[2], "value"))
    return pushed(m, lambda: attributes.get(m, args[0], name))


@action(hasattr, counts=(2, 2))
def has_attribute(m: Machine, args: Args, named: Named) -> Any:
    if not _names(args, named, 2):
        return None
    m.use(args[1])
    return pushed(m, lambda: attributes.has(m, args[0], args[1].value, "value"))  # type: ignore[union-attr, arg-type]


@action(setattr, counts=(3, 3))
def set_attribute(m: Machine, args: Args, named: Named) -> Any:
    if not _names(args, named, 3):
        return None
    m.use(args[1])
    return pushed(m, lambda: storing.set(m, args[0], args[1].value, args[2], "value"))  # type: ignore[union-attr, arg-type]


@action(delattr)
def delete_attribute(m: Machine, args: Args, named: Named) -> Any:
    if not _names(args, named, 2):
        return None
    m.use(args[1])
    return pushed(m, lambda: storing.delete(m, args[0], args[1].value, "value"))  # type: ignore[union-attr, arg-type]


@action(object.__getattribute__)
def object_getattribute(m: Machine, args: Args, named: Named) -> Any:
    cls = m.class_of(args[0]) if _names(args, named, 2) else None
    if cls is None or not isinstance(args[0], Ref) or m.obj(args[0], "instance") is None:
        return None
    name: Any = args[1].value  # type: ignore[union-attr]
    access = Access(name, args[0], Known(cls), "value")
    return pushed(m, lambda: attributes.generic(m, access, cls))


@action(object.__setattr__, counts=(3, 3))
def object_setattr(m: Machine, args: Args, named: Named) -> Any:
    cls = m.class_of(args[0]) if _names(args, named, 3) else None
    if cls is None or isinstance(args[0], Known) or not is_plain_for_new(cls):
        return None
    name: Any = args[1].value  # type: ignore[union-attr]
    status = pushed(m, lambda: storing.generic_set(m, args[0], cls, name, args[2], "value"))
    return NONE if status is storing.DONE else status


@action(object.__delattr__, counts=(2, 2))
def object_delattr(m: Machine, args: Args, named: Named) -> Any:
    cls = m.class_of(args[0]) if _names(args, named, 2) else None
    if cls is None or isinstance(args[0], Known) or not is_plain_for_new(cls):
        return None
    name: Any = args[1].value  # type: ignore[union-attr]
    status = pushed(m, lambda: storing.generic_delete(m, args[0], cls, name, "value"))
    return NONE if status is storing.DONE else status


@action(vars)
def variables(m: Machine, args: Args, named: Named) -> Any:
    """``vars(x)`` is ``x.__dict__``, with a complaint of its own."""
    if len(args) != 1 or named or m.class_of(args[0]) is None:
        return None
    obj = m.obj(args[0], "instance")
    return None if obj is None or not has_dict(obj.cls) else pushed(m, lambda: attributes.get(m, args[0], "__dict__"))


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
