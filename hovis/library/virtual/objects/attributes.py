"""Actions for getattr, setattr, hasattr, and the methods of ``object``."""

from typing import Any

from hovis.engine.machine.machine import Machine
from hovis.engine.objects import attribute_get, attribute_presence, attribute_set, class_call, instances
from hovis.engine.objects.descriptors import Access
from hovis.engine.state import class_templates
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import has_plain_layout, is_abstract, is_python_class, lookup
from hovis.engine.state.values import NONE, Known, Ref
from hovis.ir.model import Effect
from hovis.library.virtual.base import Args, Named, action, pushed


def _names(args: Args, named: Named, *counts: int) -> bool:
    """Is this a call with a known attribute name?"""
    return not named and len(args) in counts and isinstance(args[1], Known) and type(args[1].value) is str


@action(getattr)
def get_attribute(m: Machine, args: Args, named: Named) -> Any:
    if not _names(args, named, 2, 3):
        return None
    m.use(args[1])
    name: Any = args[1].value  # type: ignore[union-attr]
    if len(args) == 3:
        return pushed(m, lambda: attribute_presence.get_or(m, args[0], name, args[2], "value"))
    return pushed(m, lambda: attribute_get.get(m, args[0], name))


@action(hasattr, counts=(2, 2))
def has_attribute(m: Machine, args: Args, named: Named) -> Any:
    if not _names(args, named, 2):
        return None
    m.use(args[1])
    return pushed(m, lambda: attribute_presence.has(m, args[0], args[1].value, "value"))  # type: ignore[union-attr, arg-type]


@action(setattr, counts=(3, 3))
def set_attribute(m: Machine, args: Args, named: Named) -> Any:
    if not _names(args, named, 3):
        return None
    m.use(args[1])
    return pushed(m, lambda: attribute_set.set(m, args[0], args[1].value, args[2], "value"))  # type: ignore[union-attr, arg-type]


@action(delattr)
def delete_attribute(m: Machine, args: Args, named: Named) -> Any:
    if not _names(args, named, 2):
        return None
    m.use(args[1])
    return pushed(m, lambda: attribute_set.delete(m, args[0], args[1].value, "value"))  # type: ignore[union-attr, arg-type]


@action(object.__getattribute__)
def object_getattribute(m: Machine, args: Args, named: Named) -> Any:
    cls = m.class_of(args[0]) if _names(args, named, 2) else None
    if cls is None or not isinstance(args[0], Ref) or m.obj(args[0], "instance") is None:
        return None
    name: Any = args[1].value  # type: ignore[union-attr]
    access = Access(name, args[0], Known(cls), "value")
    return pushed(m, lambda: attribute_get.generic(m, access, cls))


@action(object.__setattr__, counts=(3, 3))
def object_setattr(m: Machine, args: Args, named: Named) -> Any:
    cls = m.class_of(args[0]) if _names(args, named, 3) else None
    if cls is None or isinstance(args[0], Known) or not (has_plain_layout(cls) or m.obj(args[0], "exception")):
        return None
    name: Any = args[1].value  # type: ignore[union-attr]
    status = pushed(m, lambda: attribute_set.generic_set(m, args[0], cls, name, args[2], "value"))
    return NONE if status is attribute_set.DONE else status


@action(object.__delattr__, counts=(2, 2))
def object_delattr(m: Machine, args: Args, named: Named) -> Any:
    cls = m.class_of(args[0]) if _names(args, named, 2) else None
    if cls is None or isinstance(args[0], Known) or not (has_plain_layout(cls) or m.obj(args[0], "exception")):
        return None
    name: Any = args[1].value  # type: ignore[union-attr]
    status = pushed(m, lambda: attribute_set.generic_delete(m, args[0], cls, name, "value"))
    return NONE if status is attribute_set.DONE else status


@action(vars)
def variables(m: Machine, args: Args, named: Named) -> Any:
    """``vars(x)``: ``x.__dict__``, with its own error message."""
    cls = m.class_of(args[0]) if len(args) == 1 and not named else None
    if cls is None or not (m.obj(args[0], "instance", "function") or isinstance(args[0], Known)) or not instances.dict_descriptor(cls):
        return None
    return pushed(m, lambda: attribute_get.get(m, args[0], "__dict__"))


@action(object.__new__)
def object_new(m: Machine, args: Args, named: Named) -> Any:
    """``object.__new__`` (object_new): arguments besides the class are for ``__init__``."""
    cls = args[0].value if args and isinstance(args[0], Known) else None
    if not isinstance(cls, type) or not (has_plain_layout(cls) or is_abstract(cls)):
        return None
    if len(args) > 1 or named:
        if lookup(cls, "__new__") is not object.__dict__["__new__"]:
            return m.raise_new(TypeError, "object.__new__() takes exactly one argument (the type to instantiate)")
        if lookup(cls, "__init__") is object.__dict__["__init__"]:
            return m.raise_new(TypeError, f"{cls.__name__}() takes no arguments")
    if is_abstract(cls):
        m.emit(object.__new__, args, effect=Effect.RAISES | Effect.READS)
        return m.unreachable()
    return m.new(VObj("instance", cls))


@action(type.__call__)
def call_of_class(m: Machine, args: Args, named: Named) -> Any:
    """``type.__call__``, as the ``__call__`` of a metaclass calls it."""
    cls = args[0].value if args and isinstance(args[0], Known) else None
    if not isinstance(cls, type) or not is_python_class(cls) or issubclass(cls, type | BaseException) or class_templates.template_of(cls) is not None:
        return None
    return pushed(m, lambda: class_call.type_call(m, cls, args[1:], named, "value"))
