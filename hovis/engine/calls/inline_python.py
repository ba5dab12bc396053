"""Entering Python functions: argument binding, recursion, residual functions (CPython: Python/ceval.c)."""

import inspect
import types
import typing
from collections.abc import Iterable
from typing import Any, Final

from hovis.base import own_code
from hovis.bytecode.normalize import normalize
from hovis.engine.machine import materialize as materialization
from hovis.engine.machine.call_results import finish, opaque
from hovis.engine.machine.frame_inspection import need_callers_again
from hovis.engine.machine.machine import SWITCH, Machine
from hovis.engine.machine.materialize import materialize
from hovis.engine.merge.function_sharing import shared
from hovis.engine.state import class_templates, finalizers
from hovis.engine.state.frames_and_heap import Frame
from hovis.engine.state.heap import IMMUTABLE, VObj, form_in, reachable
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.values import ENDS, UNBOUND_VALUE, Dyn, Known, Ref, V
from hovis.lattice import Const, Type
from hovis.lattice.constants import constant_key
from hovis.lattice.inspection import is_a

#: Frames of one call string; beyond, calls stay calls.
MAX_DEPTH: Final = 120
#: The same as long as nothing was unknown (CPython's own limit is 1000).
MAX_KNOWN_DEPTH: Final = 900
#: Activations of one code, below unknown decisions, before it becomes a residual function.
MAX_ACTIVE: Final = 64
#: Cells of what is lent in one call.
MOST_LENT: Final = 64
#: Containers within containers that a residual function takes apart.
MAX_NESTING: Final = 2
#: The same where only numbers differ between the activations; and where none of them has been more than counted with.
MAX_CHOOSING: Final = 8
MAX_COUNTING: Final = 4

#: Places that are compared of what the functions in the arguments close over.
MOST_KNOWN: Final = 200
#: Parts of arguments that are compared with those of an activation before.
LOOKED_AT: Final = 32

#: Stands in the frame of a generator function whose generator has to be real at once.
REAL: Final = object()


def call_function(m: Machine, callee: V, fn: Any, args: list[V], kwargs: dict[str, V], mode: str = "value") -> int | None:
    """Enter a Python function, or leave the call where that is not wise."""
    known = Callee.of(m, callee, fn)
    why = why_not(m, known) or _drives(m, known, args, kwargs)
    if why is None:
        bound = bind(m, known, args, kwargs)
        if bound is not None:
            return _enter(m, callee, known, bound, args, kwargs, mode)
        known.asks_defaults(m)
        complaint = misfit(known, len(args), kwargs) if not known.unsure else None
        if complaint is not None:
            return m.raise_new(TypeError, complaint)
        why = "its defaults are not known any more" if known.unsure else "its arguments do not fit"
    if why:
        m.reason(f"the call of {known.qualname} was left as it is: {why}")
    made = opaque(m, callee.value if isinstance(callee, Known) else callee, args, kwargs)
    if known.code.is_coroutine or known.code.is_async_generator:
        made = Dyn(made.value, Type(types.CoroutineType if known.code.is_coroutine else types.AsyncGeneratorType), ends=ENDS)
        made.value.type = made.type  # type: ignore[union-attr]
    return finish(m, made, mode)


def _drives(m: Machine, known: "Callee", args: list[V], kwargs: dict[str, V]) -> str | None:
    """Is it given a coroutine?  That is opaque, and so would be whatever drives it (all of asyncio)."""
    if known.code.filename.startswith(m.package) or not any(m.class_of(v) in _AWAITED for v in (*args, *kwargs.values())):
        return None
    return "it is given a coroutine"


_AWAITED: Final = (types.CoroutineType, types.AsyncGeneratorType)


class Callee:
    """What entering a Python function needs, whether it exists already or is an object of this trace."""

    __slots__ = ("annotations", "cells", "code", "defaults", "fn", "kwdefaults", "labels", "namespace", "qualname", "unsure")

    fn: Any
    code: Any
    namespace: dict[str, Any]
    qualname: str
    defaults: list[V]
    kwdefaults: dict[str, V]
    cells: list[V]
    #: defaults that were joined, or that somebody else has seen: what they are now is not known
    unsure: bool

    @staticmethod
    def of(m: Machine, callee: V, fn: Any) -> "Callee":
        self = Callee()
        self.fn = fn
        self.unsure = False
        if fn is not None:
            self.code = normalize(fn.__code__)
            if not fn.__code__.co_filename.startswith(m.package):
                m.environment.guard("function", fn, None, fn.__code__)
            self.namespace = fn.__globals__
            self.qualname = fn.__qualname__
            self.defaults = [Known(v) for v in fn.__defaults__ or ()]
            self.kwdefaults = {k: Known(v) for k, v in (fn.__kwdefaults__ or {}).items()}
            self.cells = [Known(c) for c in fn.__closure__ or ()]
            return self
        assert isinstance(callee, Ref)
        obj = m.state.heap[callee.aid]
        self.code, self.namespace, _, self.qualname = obj.extra
        defaults, kwdefaults = obj.cells[:2]
        self.defaults = _items(m, defaults)
        named = m.obj(kwdefaults, "dict")
        self.kwdefaults = dict(zip(named.keys, named.cells, strict=True)) if named else {}
        if isinstance(kwdefaults, Known) and is_a(kwdefaults.value, dict):
            self.kwdefaults = {k: Known(v) for k, v in kwdefaults.value.items()}
        self.unsure = (not self.defaults and not _nothing(defaults)) or (not self.kwdefaults and not _nothing(kwdefaults))
        self.cells = list(obj.closure)
        return self

    def asks_defaults(self, m: Machine) -> None:
        """A call depends on what the defaults of the parameters are."""
        if self.fn is not None and not self.code.filename.startswith(m.package):
            m.environment.guard("defaults", self.fn, None, (self.fn.__defaults__, self.fn.__kwdefaults__))
            if self.fn.__kwdefaults__:
                m.environment.static(Known(self.fn.__kwdefaults__))


def _nothing(value: V) -> bool:
    return isinstance(value, Known) and value.value is None


def _items(m: Machine, value: V) -> list[V]:
    obj = m.obj(value, "tuple")
    if obj is not None:
        return list(obj.cells)
    return [Known(v) for v in value.value] if isinstance(value, Known) and is_a(value.value, tuple) else []


#: Long programs about objects that are better real.
_LEFT: Final = frozenset({inspect.signature, inspect.getfullargspec, inspect.getmembers, inspect.getsource, inspect.getdoc, typing.get_type_hints})


def why_not(m: Machine, known: Callee) -> str | None:
    """The reason not to enter a function; "" for reasons that nobody needs to hear."""
    code = known.code
    if code.is_coroutine or code.is_async_generator:
        return "it is a coroutine"
    if code.unsupported:
        return str(code.unsupported)
    if code.code in m.tables.not_entered:
        need_callers_again(m, code.code)
        return m.tables.not_entered[code.code]
    if own_code.is_left(code.filename) and code.code not in own_code.ENTERED:
        return "hovis does not trace itself"
    if len(m.state.frames) >= (MAX_DEPTH if m.frame.decided else MAX_KNOWN_DEPTH):
        return "calls are nested too deep"
    if known.fn is not None and id(known.fn.__kwdefaults__) in m.tables.thawed:
        return "its defaults are written to"
    if known.fn in _LEFT:
        return "it takes functions and classes apart"
    if known.fn is not None and getattr(known.fn, "__hovis_boundary__", False) and code.code is not m.tables.wanted:
        return "it is marked as a boundary"
    return None


def _enter(m: Machine, callee: V, known: Callee, bound: list[V | None], args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    code = known.code
    now = known_arguments(m, bound)
    if _recurses(m, code, now, bound) or (not code.is_generator and not code.filename.startswith(m.package) and shared(m, code, now)):
        if not code.is_generator:
            return _call_residual(m, known, bound, mode)
        now = REAL
    caller = m.frame
    ctx = m.tables.contexts[caller.ctx, caller.pc, code]
    home = m.homes[m.state.frames[0].ctx]
    m.homes.setdefault(ctx, home)
    frame = Frame(code, ctx, bound, known.namespace, mode, known.fn or callee)
    frame.extra = now
    frame.given = given(m, bound)
    m.state.frames.append(frame)
    for name, value in zip(code.names, bound, strict=False):
        if type(value) is Dyn:
            m.named(value, name)
    return SWITCH


def _recurses(m: Machine, code: Any, now: Any, bound: list[V | None]) -> bool:
    """Is the same code active, with an unknown decision in between, and nothing new known of the arguments?

    Without such a decision it is recursion if nothing at all that it has been given has changed: then nothing will end it.

    Of the library's own code there is no end to be feared: it is the user's that recurses through it.  But an
    interpreter of hovis's recurses with its program, whose functions are functions of the residual.
    """
    if m.is_model(code) or code.code.co_name in _COMPREHENSIONS:
        return False
    active = [frame for frame in m.state.frames if frame.code is code]
    if m.interprets(code):
        return any(_same_constants(bound, frame.given) for frame in active)
    if not active:
        return False
    if not any(frame.decided for frame in active):
        return _never_ends(m, code, now, bound, active)
    if code.code in m.tables.recursive:
        return True
    if code.code in m.tables.counting and any(_alike(now, frame.extra) or _but_for_numbers(now) == _but_for_numbers(frame.extra) for frame in active):
        return True
    # where only numbers differ they may well be counters: less patience
    counting = _alike(now, active[-1].extra)
    if len(active) >= (_patience(m, bound, now, active[-1].extra) if counting else MAX_ACTIVE):
        (m.tables.counting if counting and code.code not in m.tables.counting else m.tables.recursive).add(code.code)
        raise Restart("recursive")
    if not now:
        return True
    # where constants have met in an argument they may be told apart when it is looked at
    joined = any(type(value) is Dyn and value.lost for value in bound)
    for frame in active:
        same = frame.extra == now if joined or type(frame.extra) is not tuple else _nothing_new(now, frame.extra)
        if same and not _differ_inside(m, bound, frame.given):
            return True
    return False


def _never_ends(m: Machine, code: Any, now: Any, bound: list[V | None], active: list[Frame]) -> bool:
    """Does a function call itself with all that it has been given, and nothing in that has changed?"""
    if code.code in m.tables.endless:
        return True
    if len(active) < MAX_CHOOSING or active[-1].extra != now:
        return False
    before, inside = m.repeated.get(code.code), _everything(m, bound)
    m.repeated[code.code] = len(active), inside
    if inside is None or before != (len(active) - 1, inside):
        return False
    m.tables.endless.add(code.code)
    raise Restart("recursive")


def _everything(m: Machine, bound: list[V | None]) -> Any:
    """All that is known of the arguments, however deep inside; None if that is too much."""
    found: list[Any] = []
    numbers: dict[int, int] = {}
    todo = list(bound)
    for value in todo:  # it grows meanwhile
        if isinstance(value, Known):
            found.append(constant_key(value.value))
        elif isinstance(value, Ref):
            if value.aid not in numbers:
                numbers[value.aid] = len(numbers)
                obj = m.state.heap[value.aid]
                found.append(obj.form())
                todo += obj.cells
            found.append(numbers[value.aid])
        else:
            found.append(None)
        if len(todo) > MOST_KNOWN:
            return None
    return tuple(found)


#: What recurses through these recurses through the function that they stand in, too (of which they are part since Python 3.12).
_COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>")


def _same_constants(now: list[V | None], before: list[tuple[V | None, VObj | None]] | None) -> bool:
    """Are the known arguments those of another activation?"""
    constants = [(a, b) for a, (b, _) in zip(now, before or (), strict=False) if isinstance(a, Known)]
    return all(isinstance(b, Known) and constant_key(a.value) == constant_key(b.value) for a, b in constants)


def given(m: Machine, bound: list[V | None]) -> list[tuple[V | None, VObj | None]]:
    """The arguments with the objects that they are now: later these may be others, or gone."""
    heap = m.state.heap
    return [(value, heap[value.aid] if type(value) is Ref else None) for value in bound]


def _differ_inside(m: Machine, now: list[V | None], before: list[tuple[V | None, VObj | None]] | None) -> bool:
    """Is something known inside the arguments (of closures, nodes, tuples) that was not before?  Numbers may count, they do not matter."""
    heap, seen = m.state.heap, set()
    pairs = [(a, b, old) for a, (b, old) in zip(now, before or (), strict=False)]
    for a, b, old in pairs:  # it grows meanwhile
        if isinstance(a, Known):
            counts = type(a.value) in _COUNTS and (not isinstance(b, Known) or type(b.value) in _COUNTS)
            if not counts and not (isinstance(b, Known) and constant_key(a.value) == constant_key(b.value)):
                return True
        elif isinstance(a, Ref):
            if not isinstance(b, Ref):
                return True
            new, old = heap[a.aid], old or heap.get(b.aid)
            if new is old or old is None or a.aid in seen or new.bulk:
                continue
            seen.add(a.aid)
            if new.form() != old.form() and not _has_grown(new.form(), old.form()):
                return True
            if b.aid in reachable(heap, [a.aid]):
                continue      # what was there is in it: that is how it grows from call to call
            if a.aid != b.aid and len(pairs) < LOOKED_AT:
                pairs += ((c, d, None) for c, d in zip(new.cells, old.cells, strict=False))
    return False


#: Known values that may be different each time around.
_COUNTS: Final = frozenset({int, float})


def _patience(m: Machine, bound: list[V | None], now: Any, before: Any) -> int:
    """So many activations of one code, between which only numbers differ, or how much has been collected."""
    known = dict(before)
    numbers = [place for place, what in now if what != known.get(place) and _is_number(what)]
    return MAX_COUNTING if len(now) == len(before) and all(m.only_counts(_at(m, bound, place)) for place in numbers) else MAX_CHOOSING


def _at(m: Machine, bound: list[V | None], place: Any) -> V | None:
    """What known_arguments has found at a place."""
    if type(place) is int:
        return bound[place]
    holder = _at(m, bound, place[0])
    return m.state.heap[holder.aid].cells[place[1]] if isinstance(holder, Ref) else None


def _nothing_new(now: Any, before: Any) -> bool:
    """Is nothing known of the arguments that was not known before, but that more is collected in one of them?"""
    known = dict(before)
    return all(slot in known and (what == known[slot] or _has_grown(what, known[slot])) for slot, what in now)


def _has_grown(shape: Any, other: Any) -> bool:
    """A list, dict or set with more in it than before (see VObj.shape)?"""
    if type(shape) is not tuple or type(other) is not tuple or len(shape) != len(other):
        return False
    return shape[0] in ("list", "dict", "set") and shape[:2] == other[:2] and shape[2] > other[2]


def _alike(now: Any, before: Any) -> bool:
    """Is what is known the same but for numbers and for what is being collected: items in a container, functions around a function?"""
    if type(now) is not tuple or type(before) is not tuple or len(now) < len(before):
        return False
    if now == before:
        return False
    known = dict(before)
    higher = len(now) > len(before)
    loose: set[Any] = set()
    for place, what in now:
        nested = type(place) is tuple
        if nested and place[0] in loose:
            loose.add(place)
        elif place not in known or not (what == known[place] or (_is_number(what) and _is_number(known[place])) or _has_grown(what, known[place])):
            if not (higher and nested and what[0] == "function"):
                return False
            loose.add(place)
    return True


def _is_number(what: Any) -> bool:
    return type(what) is tuple and what[0] in (int, float)


def _but_for_numbers(known: Any) -> Any:
    return [x for x in known if not _is_number(x[1])] if type(known) is tuple else None


def known_arguments(m: Machine, bound: list[V | None]) -> Any:
    """What is known of the arguments of an activation, to be compared with others: pairs of a place and what is there.

    A function among them is what it closes over, too: continuations have the same code, and do other things.
    """
    found: list[Any] = []
    heap = m.state.heap
    seen: set[int] = set()
    todo: list[tuple[Any, V | None]] = list(enumerate(bound))
    for place, value in todo:  # it grows meanwhile
        if isinstance(value, Known):
            if value.value is not UNBOUND_VALUE.value and type(value.value) is not types.CellType:
                found.append((place, constant_key(value.value)))
        elif isinstance(value, Ref):
            found.append((place, form_in(heap, value.aid)))
            obj = heap[value.aid]
            if obj.kind in _CODE and value.aid not in seen and len(todo) < MOST_KNOWN:
                seen.add(value.aid)
                todo += [((place, k), cell) for k, cell in enumerate(obj.cells)]
    return tuple(found)


def _call_residual(m: Machine, known: Callee, bound: list[V | None], mode: str) -> int | None:
    """Call a specialised residual function instead of entering once more.

    Immutable objects cross as their parts, and mutable ones that only the arguments hold; others are lent, as long as
    nobody writes to them there or gives them away.  What is left (and what is nested too deep) is real.
    """
    heap: dict[int, VObj] = {}
    # a variable that nobody reads any more is no other holder
    if m.state.drop_dead(m.tables.weakly):
        finalizers.run(m)
    refs = [v for v in bound if isinstance(v, Ref)]
    if m.state.classes:
        refs += classes_in(m, bound)
    # what comes from several places is one there; if it has to be real, it is for all of them
    site = m.tables.contexts["given", known.code.code]
    crossing = _crossing(m, refs, site in m.tables.not_virtual)
    if m.tables.weakly:
        for aid in crossing:
            if m.state.heap[aid].kind in _TOLD_APART:
                m.operand(Ref(aid))  # it is one object, here and there
    lent = _lent(m, known.code.code, bound, crossing)
    crossing |= lent
    bound = [_across(m, v, crossing) if v is not None else None for v in bound]
    for aid in crossing:
        cells = tuple(_across(m, c, crossing) for c in m.state.heap[aid].cells)
        obj = m.state.heap[aid]      # by now it may be real, with another
        heap[aid] = obj.made_at(site).replace(cells=cells, lent=known.code.code if aid in lent and obj.node is None and not obj.immutable else None)
    frame = Frame(known.code, -1, bound, known.namespace, "value", known.fn)
    frame.extra = known_arguments(m, bound)
    frame.given = given(m, bound)
    name = known.qualname.rsplit(".", 1)[-1]
    result = m.call_function(frame, heap, f"{name}.1" if frame.extra or known.cells else name)  # type: ignore[attr-defined]
    if result is None:
        return m.unreachable()
    return finish(m, result, mode)


def classes_in(m: Machine, bound: list[V | None]) -> list[Ref]:
    """The classes that the traced code has defined and the arguments mention: they are real there."""
    found = reachable(m.state.heap, [v.aid for v in bound if isinstance(v, Ref)])
    for value in bound:
        if isinstance(value, Dyn):
            found |= class_templates.mentioned(value.type) & set(m.state.classes)
        elif isinstance(value, Known) and (token := class_templates.of(value.value)) is not None:
            found |= reachable(m.state.heap, [token.template.aid])
    classes = [aid for aid in m.state.classes if aid in found]
    for aid in classes:
        materialize(m, aid)
    return [Ref(aid) for aid in classes]


def _crossing(m: Machine, refs: list[Ref], real: bool) -> set[int]:
    """The objects that a residual function may take apart; real: not those that say where they were made."""
    found: set[int] = set()
    heap = m.state.heap
    shared: set[int] | None = None
    todo = [(ref.aid, 0) for ref in refs]
    while todo:
        aid, depth = todo.pop(0)
        obj = heap[aid]
        # functions and cells are code more than data: how deep they go is a matter of the program, not of its input
        deeper = depth if obj.kind in _CODE or obj.inner else depth + 1
        if aid in found or obj.kind == "generator" or deeper > MAX_NESTING or (real and (obj.sited or obj.content is not None)):
            continue
        if not (obj.immutable or obj.kind == "class"):
            if shared is None:
                held = [v.aid for _, v in m.state.roots() if isinstance(v, Ref)]
                shared = reachable(heap, [*held, *(at for at, other in heap.items() if other.node is not None)])
            if obj.lent is not None or obj.kind not in _PASSED or aid in shared:
                continue
        found.add(aid)
        todo += [(c.aid, deeper) for c in obj.cells if isinstance(c, Ref)]
    return found


def _lent(m: Machine, code: Any, bound: list[V | None], crossing: set[int]) -> set[int]:
    """What else of the arguments stays virtual, as long as the function does no more than look at it."""
    if materialization.lent_to(code) in m.tables.not_virtual:
        return set()
    heap = m.state.heap
    found: set[int] = set()
    held: set[int] = set()
    count = 0
    seen: set[int] = set()
    todo = [value.aid for value in bound if type(value) is Ref]
    while todo:
        aid = todo.pop(0)
        if aid in seen:
            continue
        seen.add(aid)
        obj = heap[aid]
        if aid not in crossing:
            content = obj.content
            # what an instance of a builtin class's subclass holds goes with it
            inside = [content.aid] if type(content) is Ref else []
            count += sum(len(heap[each].cells) for each in (aid, *inside)) if not obj.inner else 0
            if obj.kind not in _LENT or obj.node is not None or obj.forgotten or count > MOST_LENT:
                continue
            if (obj.inner and aid not in held) or (content is not None and not inside):
                continue
            held.update(inside)
            found.add(aid)
        todo += [cell.aid for cell in obj.cells if type(cell) is Ref]
    return found


#: What may be given away as its parts by the only one who holds it, and what may be lent.
_PASSED: Final = frozenset({"list", "dict", "set", "instance"})
#: What nobody can change is taken apart for a residual function, and is an object for all that, which may be told from others.
_TOLD_APART: Final = IMMUTABLE - {"tuple"}
_LENT: Final = _PASSED | {"cell", "tuple", "function", "method"}

_CODE: Final = frozenset({"function", "cell", "method", "class", "property", "staticmethod", "classmethod"})


def _across(m: Machine, value: V, crossing: set[int]) -> V:
    """value as a residual function may see it."""
    if isinstance(value, Ref) and value.aid not in crossing:
        node = m.operand(value)
        return Dyn(node, Type(m.state.heap[value.aid].cls)) if not isinstance(node, Const) else Known(node.value)
    return value


# ------------------------------------------------------------------------------------------------- arguments


def bind(m: Machine, known: Callee, args: list[V], kwargs: dict[str, V]) -> list[V | None] | None:
    """The locals of a new frame (CPython: initialize_locals, Python/ceval.c); None if the arguments do not fit."""
    code = known.code
    slots: list[V | None] = [None] * len(code.names)
    count, total = code.argcount, code.argcount + code.kwonlyargcount
    extra = args[count:]
    if extra and not code.has_varargs:
        return None
    slots[: min(len(args), count)] = args[:count]
    names = code.names
    more: dict[str, V] = {}
    for name, value in kwargs.items():
        where = next((k for k in range(code.posonlyargcount, total) if names[k] == name), -1)
        if where < 0:
            if not code.has_varkwargs:
                return None
            more[name] = value
        elif slots[where] is not None:
            return None
        else:
            slots[where] = value
    if None in slots[:total]:
        known.asks_defaults(m)
        if not _defaults(known, slots):
            return None
    at = total
    if code.has_varargs:
        slots[at] = m.new(VObj("tuple", tuple, tuple(extra)))
        at += 1
    if code.has_varkwargs:
        slots[at] = m.new(VObj("dict", dict, tuple(more.values()), tuple(more)))
        at += 1
    free = len(names) - code.n_free
    for k in range(at, free):
        slots[k] = UNBOUND_VALUE
    slots[free:] = known.cells
    return slots


def misfit(known: Callee, count: int, names: Iterable[str]) -> str | None:
    """What CPython says of a call that does not bind: asked of a function with the same parameters that does nothing."""
    code = known.code.code
    kept = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    quiet = _NOTHING.replace(
        co_argcount=code.co_argcount,
        co_posonlyargcount=code.co_posonlyargcount,
        co_kwonlyargcount=code.co_kwonlyargcount,
        co_varnames=code.co_varnames[: known.code.n_params],
        co_nlocals=known.code.n_params,
        co_flags=_NOTHING.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) | kept,
        co_name=code.co_name,
        co_qualname=known.qualname,
    )
    asked = types.FunctionType(quiet, {}, code.co_name, (None,) * len(known.defaults))
    asked.__kwdefaults__ = dict.fromkeys(known.kwdefaults)
    asked.__qualname__ = known.qualname
    try:
        asked(*[None] * count, **dict.fromkeys(names))
    except TypeError as error:
        return str(error)
    return None


_NOTHING: Final = (lambda: None).__code__


def _defaults(known: Callee, slots: list[V | None]) -> bool:
    code = known.code
    first = code.argcount - len(known.defaults)
    for k in range(code.argcount):
        if slots[k] is None:
            if k < first:
                return False
            slots[k] = known.defaults[k - first]
    for k in range(code.argcount, code.argcount + code.kwonlyargcount):
        if slots[k] is None:
            name = code.names[k]
            if name not in known.kwdefaults:
                return False
            slots[k] = known.kwdefaults[name]
    return True
