"""Objects of C classes as objects of the trace: a class of Python code stands for one of C code.

A Library may say that a class written in Python *stands for* a C class (:class:`hovis.library.core.Stand`).  A call of
the C class then makes a virtual object of kind "model": to the user it is of the C class, its methods are those of the
stand-in, entered and traced through, and its cells are their attributes, which only they can see.  When it escapes,
the real object is built from these (:mod:`hovis.engine.machine.materialize`); where that cannot be done, it is real from the beginning.
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

#: The stand-in has nothing to say of a call.
NOT_MINE: Final = object()


def virtual(m: Machine, value: V) -> VObj | None:
    """The object behind value, if a stand-in acts for it."""
    if type(value) is Ref:
        obj = m.state.heap[value.aid]
        if obj.kind == "model" and (obj.node is None or (stand_of(obj).frozen and not obj.forgotten)):
            return obj
    return None


def behind(m: Machine, value: V) -> V:
    """What a call of value is a call of, where a stand-in says so; else value itself."""
    obj = virtual(m, value)
    return obj.cells[obj.find(stand_of(obj).through)] if obj is not None and stand_of(obj).through else value


def acting_class(m: Machine, value: V) -> type | None:
    """The class whose special methods are entered: the exact class of value, or what stands for it."""
    obj = virtual(m, value)
    return m.class_of(value) if obj is None else stand_of(obj).cls


def written_class(m: Machine, value: V) -> type | None:
    """The same, where it is written in Python."""
    cls = acting_class(m, value)
    return cls if cls is not None and is_python_class(cls) else None


def special(m: Machine, value: V, name: str) -> Any:
    """A special method of value: a Python function, ABSENT, or NOT_MODELLED."""
    cls = written_class(m, value)
    found = NOT_MODELLED if cls is None else method(cls, name)
    # what stands for a class of C need not have all that it has
    return NOT_MODELLED if found is ABSENT and virtual(m, value) is not None else found


def stand_of(obj: VObj) -> Stand:
    stand: Stand = obj.extra[0]
    return stand


def inside(m: Machine) -> bool:
    """Is it the code of a stand-in that is running?"""
    return m.frame.code.filename.startswith(m.package)


def site(m: Machine) -> int:
    """The place in the user's code that makes an object, as a number; for what another such object makes, that of it."""
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
    """A call of a class that has a stand-in, or of the stand-in itself."""
    where = site(m)
    if where in m.tables.not_virtual:
        m.reason(f"the {stand.real.__name__} leaves the traced code, or its state is not known there")
        return NOT_MINE
    init = lookup(stand.cls, "__init__")
    made = VObj("model", stand.real, extra=(stand, where))
    if type(init) is not FUNCTION:
        return NOT_MINE if args or kwargs else finish(m, m.new(made), mode)
    if not fits(m, init, [Known(None), *args], kwargs):
        return NOT_MINE
    return call_function(m, Known(construction.construct), construction.construct, [m.new(made), Known(init), *args], kwargs, mode)


def call_method(m: Machine, fn: Any, obj: VObj, args: list[V], kwargs: dict[str, V], mode: str) -> Any:
    """A method of a C class, called on an object that a stand-in acts for."""
    method = _method(m, obj, fn)
    if method is None or not fits(m, method, args, kwargs):
        if obj.node is not None and getattr(fn, "__name__", "") in _CHANGING:
            distrust(m, args[0])
        return NOT_MINE
    return call_function(m, Known(method), method, args, kwargs, mode)


def call_special(m: Machine, name: str, obj: VObj, args: list[V], kwargs: dict[str, V], mode: str) -> Any:
    """A special method of a stand-in, if it has one that takes these arguments."""
    method = lookup(stand_of(obj).cls, name)
    if type(method) is not FUNCTION or not fits(m, method, args, kwargs):
        return NOT_MINE
    return call_function(m, Known(method), method, args, kwargs, mode)


#: Methods that change what is else frozen.
_CHANGING: Final = frozenset({"__setstate__", "__setattr__"})


def _method(m: Machine, obj: VObj, fn: Any) -> Any:
    """What the stand-in has in place of fn."""
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
    """A real object that nobody can change, as one that a stand-in acts for."""
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
    """An argument of a class of ``BOUND``, made of these."""
    if cls is METHOD:
        return m.new(VObj("method", cls, cells, node=node))
    stand = _opening(m, cls)
    if stand is None:
        return Dyn(node, node.type)
    return m.new(VObj("model", cls, cells, tuple(part.attribute for part in stand.parts), (stand, 0), node))


def _opening(m: Machine, cls: type) -> Stand | None:
    """What stands for the real objects of a class (a call of the class may be something else's)."""
    key = "opening", cls
    if key not in m.tables.answers:
        stands = (s for s in m.library.models.values() if isinstance(s, Stand) and s.real is cls and s.opened is not None)
        m.tables.answers[key] = next(stands, None)
    found: Stand | None = m.tables.answers[key]
    return found


# ------------------------------------------------------------------------------------------------- attributes


def get_attribute(m: Machine, value: V, obj: VObj, name: str, mode: str) -> int | None:
    """``value.name``: what the C class shows, or to the stand-in's own code its attributes."""
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
    """The attributes that the user gives it, made when they are asked for; None: only the real object has them."""
    if not stand_of(obj).dictionary or obj.node is not None:
        return None
    index = obj.find(DICT)
    if index >= 0:
        return obj.cells[index]
    made = m.new(VObj("dict", dict))
    m.put(value, obj.with_new(DICT, made))
    return made


def _attribute(m: Machine, value: Ref, obj: VObj, name: str) -> V | None:
    """What is among these by a name."""
    if name == DICT:
        return _dictionary(m, value, obj)
    held = m.obj(obj.cells[obj.find(DICT)], "dict") if obj.node is None and DICT in obj.keys else None
    index = held.find(name) if held is not None else -1
    return relabel(held.cells[index], value.labels) if held is not None and index >= 0 else None


def _store_attribute(m: Machine, value: Ref, obj: VObj, name: str, new: V) -> bool:
    """Put something there; False: the real object has to be told."""
    inside = _dictionary(m, value, obj) if name != DICT else None
    held = m.obj(inside, "dict") if inside is not None else None
    if held is None or held.node is not None:
        return False
    assert isinstance(inside, Ref)
    m.put(inside, held.with_named(name, new))
    return True


DICT: Final = "__dict__"


def distrust(m: Machine, value: V) -> None:
    """Somebody has had hold of the real object: of what was called frozen nothing is known any more."""
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        if obj.node is not None and not obj.forgotten:
            m.put(value, obj.replace(forgotten=True, cells=(), keys=()))


METHOD: Final = type(Stand.of)
C_CLASS_METHOD: Final = type(dict.__dict__["fromkeys"])


def set_attribute(m: Machine, target: V, obj: VObj, name: str, value: V) -> bool:
    """``target.name = value`` in the code of a stand-in, or into its dictionary; False: anywhere else."""
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
    """Like virtual; if the code of a stand-in finds that its object has been built, it has to be real from the beginning."""
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
    """What happens when every candidate of an operator answered NotImplemented: the real objects complain."""
    found = _FAILING.get(fn)
    if found is None:

        def fail(a: Any, b: Any) -> Any:
            return fn(real(a), real(b))

        found = _FAILING[fn] = fail
    return found


_FAILING: dict[Any, Callable[[Any, Any], Any]] = {}


