"""Virtual objects of C classes: a class written in Python stands in for one written in C.

A Library may say that a class written in Python *stands for* a C class (:class:`hovis.library.core.Stand`).  A call of
the C class then makes a virtual object of kind "model".  To user code it is an instance of the C class.  Its methods are those of
the stand-in, entered and traced through, and its cells are the attributes that these methods use, which user code cannot see.
When it escapes, the real object is built from its cells (:mod:`hovis.engine.machine.materialize`); where that cannot be done, it is
real from the beginning.
"""

from collections.abc import Callable
from typing import Any, Final

from hovis.engine.calls.argument_binding import Callee, bind
from hovis.engine.calls.inline_python import call_function, why_not
from hovis.engine.machine.call_results import finish
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.standins import NotMaterializable
from hovis.engine.state.type_lookup import ABSENT, C_METHODS, FUNCTION, NOT_MODELLED, bound_class, is_python_class, lookup, method
from hovis.engine.state.values import Dyn, Known, Ref, V, labels_of, relabel
from hovis.engine.traced import construction
from hovis.ir.model import Effect, Param
from hovis.lattice import Const
from hovis.lattice.inspection import is_a
from hovis.library.core import Stand, real

#: Returned for a call that a stand-in or the library does not handle.
NOT_MINE: Final = object()


def virtual(m: Machine, value: V) -> VObj | None:
    """Return the object behind value if a stand-in acts for it; else None."""
    if type(value) is Ref:
        obj = m.state.heap[value.aid]
        if obj.kind == "model" and (obj.node is None or (stand_of(obj).frozen and not obj.forgotten)):
            return obj
    return None


def behind(m: Machine, value: V) -> V:
    """Return the callable that a call of value really calls, if its stand-in has one (``Stand.through``); else value."""
    obj = virtual(m, value)
    return obj.cells[obj.find(stand_of(obj).through)] if obj is not None and stand_of(obj).through else value


def acting_class(m: Machine, value: V) -> type | None:
    """Return the class whose special methods are entered: the stand-in for the class of value, or this class itself; None if it is not known."""
    obj = virtual(m, value)
    return m.class_of(value) if obj is None else stand_of(obj).cls


def written_class(m: Machine, value: V) -> type | None:
    """Return the `acting_class` of value if it is written in Python; else None."""
    cls = acting_class(m, value)
    return cls if cls is not None and is_python_class(cls) else None


def special(m: Machine, value: V, name: str) -> Any:
    """Look up a special method of value: a Python function, ABSENT, or NOT_MODELLED."""
    cls = written_class(m, value)
    found = NOT_MODELLED if cls is None else method(cls, name)
    # a stand-in need not have all methods of the C class
    return NOT_MODELLED if found is ABSENT and virtual(m, value) is not None else found


def stand_of(obj: VObj) -> Stand:
    stand: Stand = obj.extra[0]
    return stand


def inside(m: Machine) -> bool:
    """Is the current frame running the code of a stand-in?"""
    return m.frame.code.filename.startswith(m.package)


def site(m: Machine) -> int:
    """Return the number of the place in the user's code that creates an object; if another object with a stand-in creates it, the number of that
    one's place.
    """
    if inside(m) and m.frame.locals:
        maker = m.frame.locals[0]
        if type(maker) is Ref and m.state.heap[maker.aid].kind == "model":
            found: int = m.state.heap[maker.aid].extra[1]
            return found
    return m.tables.contexts["model", *m.user_site()]


def fits(m: Machine, fn: Any, args: list[V], kwargs: dict[str, V]) -> bool:
    """Can fn be entered with these arguments?"""
    known = Callee.of(m, Known(fn), fn)
    return why_not(m, known) is None and bind(m, known, args, kwargs) is not None


# ------------------------------------------------------------------------------------------------- calls


def create(m: Machine, stand: Stand, args: list[V], kwargs: dict[str, V], mode: str) -> Any:
    """Call a class that has a stand-in, or the stand-in itself, to create a virtual object; NOT_MINE if it has to be real."""
    where = site(m)
    if where in m.tables.not_virtual:
        m.reason(f"the {stand.real.__name__} escapes from the traced code, or its state is not known there")
        return NOT_MINE
    init = lookup(stand.cls, "__init__")
    made = VObj("model", stand.real, extra=(stand, where))
    if type(init) is not FUNCTION:
        return NOT_MINE if args or kwargs else finish(m, m.new(made), mode)
    if not fits(m, init, [Known(None), *args], kwargs):
        return NOT_MINE
    return call_function(m, Known(construction.construct), construction.construct, [m.new(made), Known(init), *args], kwargs, mode)


def call_method(m: Machine, fn: Any, obj: VObj, args: list[V], kwargs: dict[str, V], mode: str) -> Any:
    """Call a method of a C class on an object that a stand-in acts for; NOT_MINE if the stand-in has no method for this call."""
    method = _method(m, obj, fn)
    if method is None or not fits(m, method, args, kwargs):
        if obj.node is not None and getattr(fn, "__name__", "") in _CHANGING:
            distrust(m, args[0])
        return NOT_MINE
    return call_function(m, Known(method), method, args, kwargs, mode)


def call_special(m: Machine, name: str, obj: VObj, args: list[V], kwargs: dict[str, V], mode: str) -> Any:
    """Call a special method of a stand-in, if it has one that takes these arguments; else NOT_MINE."""
    method = lookup(stand_of(obj).cls, name)
    if type(method) is not FUNCTION or not fits(m, method, args, kwargs):
        return NOT_MINE
    return call_function(m, Known(method), method, args, kwargs, mode)


#: Methods that change an object that is otherwise immutable.
_CHANGING: Final = frozenset({"__setstate__", "__setattr__"})


def _method(m: Machine, obj: VObj, fn: Any) -> Any:
    """Return the method of the stand-in that replaces fn, or None (cached)."""
    key = ("method", id(obj.extra[0]), fn)
    try:
        return m.tables.answers[key]
    except KeyError:
        found = m.tables.answers[key] = _find_method(m, obj, fn)
        return found
    except TypeError:
        return None


def _find_method(m: Machine, obj: VObj, fn: Any) -> Any:
    name, stand = getattr(fn, "__name__", ""), stand_of(obj)
    if lookup(stand.real, name) is not fn:
        return None
    found = lookup(stand.cls, name)
    return found if type(found) is FUNCTION and found is not fn else None


def opened(m: Machine, value: Known) -> Ref | None:
    """Turn a known immutable object into an object of the trace that a stand-in acts for; None if that is not possible."""
    stand = _opening(m, type(value.value))
    if stand is None or stand.opened is None:
        return None
    fields = stand.opened(value.value)
    if any(isinstance(x, dict) and not m.environment.static(Known(x)) for x in fields):
        return None
    names = tuple(part.attribute for part in stand.parts)
    cells: list[V] = [m.new(VObj("dict", dict, tuple(map(Known, x.values())), tuple(x))) if type(x) is dict else Known(x) for x in fields]
    return m.new(VObj("model", stand.real, tuple(cells), names, (stand, 0), Const(value.value)), value.labels)


def bound(m: Machine, cls: type, cells: tuple[V, ...], node: Param) -> V:
    """Make the value of an argument whose class is in ``BOUND`` from its cells; node is its parameter."""
    if cls is METHOD:
        return m.new(VObj("method", cls, cells, node=node))
    stand = _opening(m, cls)
    if stand is None:
        return Dyn(node, node.type)
    return m.new(VObj("model", cls, cells, tuple(part.attribute for part in stand.parts), (stand, 0), node))


def _opening(m: Machine, cls: type) -> Stand | None:
    """Return the stand-in for real objects of cls, or None. (A call of cls may be handled by another one.)"""
    key = "opening", cls
    if key not in m.tables.answers:
        stands = (s for s in m.library.models.values() if isinstance(s, Stand) and s.real is cls and s.opened is not None)
        m.tables.answers[key] = next(stands, None)
    found: Stand | None = m.tables.answers[key]
    return found


# ------------------------------------------------------------------------------------------------- attributes


def get_attribute(m: Machine, value: V, obj: VObj, name: str, mode: str) -> int | None:
    """Get ``value.name``: user code sees the attributes of the C class, the stand-in's own code those of the stand-in."""
    assert isinstance(value, Ref)
    own = lookup(stand_of(obj).cls, name)
    if inside(m):
        index = obj.find(name)
        if index >= 0:
            return finish(m, relabel(obj.cells[index], value.labels), mode)
        if isinstance(own, property):
            return m.call(Known(own.fget), [value], {}, mode)
        if type(own) is FUNCTION:
            return finish(m, m.new(VObj("method", METHOD, (Known(own), value)), labels_of(value)), mode)
        if own is not None:
            return finish(m, Known(own, value.labels), mode)
    if name == "__class__":
        return finish(m, Known(obj.cls, value.labels), mode)
    held = _attribute(m, value, obj, name)
    if held is not None:
        return finish(m, held, mode)
    raw = lookup(obj.cls, name)
    if isinstance(own, property) and type(own.fget) is FUNCTION:
        return m.call(Known(own.fget), [value], {}, mode)
    if is_a(raw, (FUNCTION, *C_METHODS)) and not is_a(raw, C_CLASS_METHOD):
        return finish(m, m.new(VObj("method", bound_class(raw), (Known(raw), value)), labels_of(value)), mode)
    found = m.emit(getattr, [value, Known(name)], effect=Effect.OPAQUE)
    distrust(m, value)
    return finish(m, found, mode)


def _dictionary(m: Machine, value: Ref, obj: VObj) -> V | None:
    """Return the dict of attributes set by the user, which is made on first use; None if only the real object has one."""
    if not stand_of(obj).dictionary or obj.node is not None:
        return None
    index = obj.find(DICT)
    if index >= 0:
        return obj.cells[index]
    made = m.new(VObj("dict", dict))
    m.put(value, obj.with_new(DICT, made))
    return made


def _attribute(m: Machine, value: Ref, obj: VObj, name: str) -> V | None:
    """Return an attribute set by the user, or None if there is none of this name."""
    if name == DICT:
        return _dictionary(m, value, obj)
    held = m.obj(obj.cells[obj.find(DICT)], "dict") if obj.node is None and DICT in obj.keys else None
    index = held.find(name) if held is not None else -1
    return relabel(held.cells[index], value.labels) if held is not None and index >= 0 else None


def _store_attribute(m: Machine, value: Ref, obj: VObj, name: str, new: V) -> bool:
    """Store an attribute in the dict of the user's attributes; False if it has to be stored in the real object."""
    inside = _dictionary(m, value, obj) if name != DICT else None
    held = m.obj(inside, "dict") if inside is not None else None
    if held is None or held.node is not None:
        return False
    assert isinstance(inside, Ref)
    m.put(inside, held.with_named(name, new))
    return True


DICT: Final = "__dict__"


def distrust(m: Machine, value: V) -> None:
    """Forget what is known of an object of a frozen class, because other code has had access to the real object."""
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        if obj.node is not None and not obj.forgotten:
            m.put(value, obj.replace(forgotten=True, cells=(), keys=()))


METHOD: Final = type(Stand.of)
C_CLASS_METHOD: Final = type(dict.__dict__["fromkeys"])


def set_attribute(m: Machine, target: V, obj: VObj, name: str, value: V) -> bool:
    """Do ``target.name = value`` in the code of a stand-in, or in the dict of the user's attributes; False for any other store."""
    if not inside(m):
        if isinstance(target, Ref) and _store_attribute(m, target, obj, name, value):
            return True
        m.operand(target)
        distrust(m, target)
        return False
    assert isinstance(target, Ref)
    if name == stand_of(obj).content:
        held = m.obj(value, "list", "dict")
        if held is None or held.node is not None:
            raise NotMaterializable(obj.extra[1])
        m.put(value, held.replace(extra=("content", obj.extra[1], obj.cls)))  # type: ignore[arg-type]
    m.put(target, obj.with_named(name, value))
    return True


def acting(m: Machine, value: V) -> VObj | None:
    """Return what `virtual` returns. Raise NotMaterializable if the code of a stand-in finds its object materialized: then it has to be real
    from the beginning.
    """
    if type(value) is not Ref:
        return None
    obj = m.state.heap[value.aid]
    if obj.kind != "model":
        return None
    if obj.node is None:
        return obj
    if stand_of(obj).frozen and not obj.forgotten:
        return obj
    if inside(m):
        raise NotMaterializable(obj.extra[1])
    return None


# ------------------------------------------------------------------------------------------------- operators


def failing(fn: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Return the function to call when every candidate of an operator returned NotImplemented: it applies fn to the real objects, which raises
    the error.
    """
    found = _FAILING.get(fn)
    if found is None:

        def fail(a: Any, b: Any) -> Any:
            return fn(real(a), real(b))

        found = _FAILING[fn] = fail
    return found


_FAILING: dict[Any, Callable[[Any, Any], Any]] = {}


