"""Iteration, unpacking, and the literals of containers (CPython: Objects/iterobject.c, listobject.c, rangeobject.c)."""

import operator
import sys
from typing import Any, Final

from hovis.engine.calls import builtin_payload, enums, models
from hovis.engine.calls.builtins import call_builtin
from hovis.engine.calls.inline_python import call_function
from hovis.engine.control import generators, identity_sets
from hovis.engine.machine.branches import without
from hovis.engine.machine.call_results import AFTER, finish, opaque
from hovis.engine.machine.machine import STOP, Machine
from hovis.engine.state import lifetimes
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.heap import VObj, shape_in
from hovis.engine.state.type_lookup import ABSENT, FUNCTION, NOT_MODELLED, find, is_python_class, lookup, special
from hovis.engine.state.values import STRONG, WEAK, Dyn, Known, Labels, Ref, V, labels_of, relabel
from hovis.engine.traced import slot_protocols
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.ir.operations import END
from hovis.lattice import ANY, AbstractValue, Array, Const, Items, Partial, Type, Untested
from hovis.lattice.inspection import is_a

#: The position of an iterator that has come to its end: it stays there even if its source grows.
EXHAUSTED: Final = sys.maxsize

#: An iterator that is unpacked into more names is not followed.
MOST_NAMES: Final = 16
#: An array of more rows is not unpacked one by one.
MOST_ROWS: Final = 64

NO_ITERABLES: Final = frozenset({type(None), bool, int, float, complex})

ITERATOR_OF: Final[dict[type, type]] = {
    kind: type(iter(kind())) for kind in (list, tuple, str, bytes, dict, set, frozenset)
}  # fmt: skip
RANGE_ITERATOR: Final = type(iter(range(0)))
VIEW_ITERATORS: Final[dict[str, type]] = {"keys": type(iter({}.keys())), "values": type(iter({}.values())), "items": type(iter({}.items()))}


# ------------------------------------------------------------------------------------------------- iter()


def get_iter(m: Machine, value: V, mode: str = "value") -> int | None:
    """``iter(value)``."""
    value = m.resolve(value)
    value = builtin_payload.plain(m, value, ("__iter__",)) or value
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        if obj.kind in ("sequence_iter", "range_iter", "dict_iter", "generator"):
            return finish(m, value, mode)
        own = lookup(obj.cls, "__iter__")
        if obj.kind in ("list", "tuple") and own in (list.__iter__, tuple.__iter__):
            return finish(m, sequence_iterator(m, value, ITERATOR_OF[list if obj.kind == "list" else tuple]), mode)
        if obj.kind == "dict" and own is dict.__iter__:
            return finish(m, dict_iterator(m, value, "keys"), mode)
        if obj.kind in ("objects", "set") and (over := identity_sets.iterator(m, value, ITERATOR_OF[set])) is not None:
            return finish(m, over, mode)
        if obj.kind == "view":
            return finish(m, _view_iterator(m, value, obj), mode)
        if obj.kind == "range" and _steps(obj.cells[2]):
            return finish(m, m.new(VObj("range_iter", RANGE_ITERATOR, obj.cells), value.labels), mode)
    elif isinstance(value, Known):
        made = _iter_known(m, value)
        if made is not None:
            return finish(m, made, mode)
    elif _is_open(m, value):
        return finish(m, sequence_iterator(m, value, ITERATOR_OF[list]), mode)
    if m.class_of(value) is generators.GENERATOR:
        return finish(m, value, mode)
    cls = models.acting_class(m, value)
    if cls is not None and cls in NO_ITERABLES:
        return m.raise_new(TypeError, f"'{ops.name_of_class(cls)}' object is not iterable")
    walk = m.library.actions.get(lookup(cls, "__iter__")) if isinstance(value, Dyn) and cls is not None else None
    if walk is not None and (stepped := walk(m, [value], {})) is not None:
        return m.call(stepped[0], stepped[1], {}, mode)
    if cls is not None and is_python_class(cls):
        made = iter_instance(m, value, mode)
        if made is not NOT_MODELLED:
            return made  # type: ignore[no-any-return]
    if cls in ITERATOR_OF and isinstance(value, Dyn):
        kind, known = Type(ITERATOR_OF[cls]), value.type
        if isinstance(known, Items):
            kind = Items(kind.cls, known.keys or known.items)
        return finish(m, m.emit(iter, [value], type=kind, effect=Effect.READS), mode)
    if isinstance(value, Known | Ref) or cls is not None:
        return call_builtin(m, iter, [value], {}, mode)
    return finish(m, m.emit(iter, [value]), mode)


def _is_open(m: Machine, value: Dyn) -> bool:
    """Is it gone through by positions, however long it is?"""
    return bool(isinstance(value.type, Array) and value.type.rank) or m.is_own_list(value)


def iter_instance(m: Machine, value: V, mode: str) -> Any:
    """By ``__iter__``, else by ``__getitem__`` (PyObject_GetIter)."""
    found = models.special(m, value, "__iter__")
    cls = models.written_class(m, value)
    if cls is None:
        return NOT_MODELLED
    if found is ABSENT and type(find(cls, "__getitem__")) is FUNCTION:
        if m.user_site() in m.tables.not_virtual:
            return NOT_MODELLED
        return m.call(Known(slot_protocols.by_position), [value], {}, mode)
    if (found is ABSENT and find(cls, "__getitem__") is ABSENT) or (found is NOT_MODELLED and find(cls, "__iter__") is None):
        return m.raise_new(TypeError, f"'{ops.name_of_class(cls)}' object is not iterable")
    if found is ABSENT or found is NOT_MODELLED:
        return NOT_MODELLED
    return m.call(Known(slot_protocols.iterator_of), [Known(found), value], {}, mode)


def _steps(step: V) -> bool:
    return (type(step.value) is int and step.value != 0) if isinstance(step, Known) else isinstance(step, Dyn) and step.type == Type(int)


def sequence_iterator(m: Machine, source: V, cls: type) -> Ref:
    """An iterator by position over what can be indexed."""
    return m.new(VObj("sequence_iter", cls, (source, Known(0))))


def dict_iterator(m: Machine, source: Ref, view: str) -> Ref:
    """An iterator over the keys, values or items of a dict of this trace."""
    size = len(m.state.heap[source.aid].cells)
    return m.new(VObj("dict_iter", VIEW_ITERATORS[view], (source, Known(0), Known(size)), extra=view))


def _view_iterator(m: Machine, value: Ref, obj: VObj) -> V:
    source = obj.cells[0]
    if obj.node is None and isinstance(source, Ref) and m.obj(source, "dict") is not None:
        return dict_iterator(m, source, obj.extra)
    if obj.node is None and isinstance(source, Known) and type(source.value) is dict and m.environment.static(source):
        items = tuple(getattr(source.value, obj.extra)())
        return sequence_iterator(m, Known(items, source.labels), VIEW_ITERATORS[obj.extra])
    return m.emit(iter, [value], type=Type(VIEW_ITERATORS[obj.extra]), effect=Effect.READS)


def _iter_known(m: Machine, value: Known) -> V | None:
    held: Any = value.value
    kind = type(held)
    if kind in (list, tuple, str, bytes) and m.environment.static(value):
        return sequence_iterator(m, value, ITERATOR_OF[kind])
    if isinstance(held, range):
        return m.new(VObj("range_iter", RANGE_ITERATOR, tuple(Known(x, value.labels) for x in (held.start, held.stop, held.step))))
    if kind in (dict, set, frozenset) and m.environment.static(value):
        # what escapes is an iterator over the container itself
        return m.new(VObj("sequence_iter", ITERATOR_OF[kind], (Known(tuple(held), value.labels), Known(0)), extra=held))
    return None


# ------------------------------------------------------------------------------------------------- next()


def for_iter(m: Machine, exit: int) -> int | None:
    """FOR_ITER: the iterator on the stack, the item above it; at the end, neither."""
    iterator = m.resolve(m.frame.stack[-1])
    if m.tables.unrolled and m.here() in m.tables.unrolled and isinstance(iterator, Ref):
        for position in m.state.heap[iterator.aid].cells:
            m.use(position)
    return step(m, iterator, "for", exit)


def step(m: Machine, iterator: V, mode: str, exit: int = -1) -> int | None:
    """One step.  mode: "for", "send", "value" (next: StopIteration at the end), "end" (END at the end)."""
    obj = m.obj(iterator)
    if obj is not None and isinstance(iterator, Ref):
        if obj.kind == "generator":
            return generators.resume(m, iterator, Known(None), mode)
        rule = _STEPS.get(obj.kind)
        if rule is not None and obj.node is None:
            return rule(m, iterator, obj, mode)
        if obj.kind == "model":
            return _step_model(m, iterator, mode)
    cls = m.class_of(iterator)
    found = models.special(m, iterator, "__next__")
    if cls is not None and (found is ABSENT or (found is NOT_MODELLED and find(cls, "__next__") is ABSENT)):
        return m.raise_new(TypeError, f"'{ops.name_of_class(cls)}' object is not an iterator")
    if found is NOT_MODELLED or (isinstance(iterator, Dyn) and mode == "send"):
        return _step_unknown(m, iterator, mode)
    if isinstance(iterator, Dyn) and mode == "for" and not m.header():
        return STOP
    if mode == "value":
        return m.call(Known(found), [iterator], {}, mode)
    return call_function(m, Known(slot_protocols.step), slot_protocols.step, [Known(found), iterator, Known(END)], {}, "step_" + mode)


def _step_model(m: Machine, iterator: Ref, mode: str) -> int | None:
    """A step of an iterator of C code that a stand-in acts for: ``step`` gives END where ``__next__`` raises."""
    acted = models.virtual(m, iterator)
    if acted is None:
        return _step_unknown(m, iterator, mode)
    stand = models.stand_of(acted)
    found = lookup(stand.cls, "__next__" if mode == "value" else "step")
    if type(found) is not FUNCTION:
        return _step_unknown(m, Dyn(m.operand(iterator), Type(acted.cls)), mode)
    method = Known(found)
    if mode == "value":
        return m.call(method, [iterator], {}, mode)
    if stand.quiet:
        return m.call(method, [iterator], {}, "step_" + mode)
    return call_function(m, Known(slot_protocols.step), slot_protocols.step, [method, iterator, Known(END)], {}, "step_" + mode)


def _after_step(mode: str) -> Any:
    def after(m: Machine) -> int | None:
        item = m.pop()
        if isinstance(item, Known):
            if item.labels:
                m.mark(item.labels, STRONG)
            if item.value is END:
                return generators.exhausted(m, Known(None), mode)
            m.push(item)
            return None
        if isinstance(item, Ref) or not item.maybe_end:
            m.push(item)
            return None
        return _test_end(m, item, mode)

    return after


def _test_end(m: Machine, item: Dyn, mode: str, told: AbstractValue = ANY) -> int | None:
    """An unknown item, or END: a branch; told: what an item is (of a tuple, of its parts)."""
    if item.lost:
        m.mark(item.lost, STRONG)
    more = m.emit(operator.is_not, [item, Known(END)], type=Type(bool), effect=Effect.PURE)
    _stop_unless(m, more, mode)
    kind = told if isinstance(told, Partial | Items | Untested) else without(item.type, Type(type(END)))
    m.push(Dyn(item.value, kind, item.dims, item.lost, item.maybe_unbound, item.ends, among=item.among))
    return None


def _stop_unless(m: Machine, more: Dyn, mode: str, ended: "Ref | None" = None) -> None:
    """The chain goes on where there is one more item; where there is none the consumer is told, and ``ended`` is over."""
    state = m.state
    frame = m.frame
    m.meet(len(state.frames) - 1, frame.pc + 1, _exit_of(m, mode))
    done = state.fork()
    if ended is not None:
        over = Known(()) if m.endings and lifetimes.is_named(m, ended) else done.heap[ended.aid].cells[0]
        done.heap[ended.aid] = done.heap[ended.aid].replace(cells=(over, Known(EXHAUSTED)))
    _finish_in(m, done, mode)
    m.split(more, done)


def _exit_of(m: Machine, mode: str) -> int:
    frame = m.frame
    return int(frame.code.instructions[frame.pc].arg) if mode in ("for", "send") else frame.pc + 1


def _finish_in(m: Machine, state: State, mode: str) -> None:
    """In a forked state: the iterator has come to its end (no op may be emitted for it)."""
    frame = state.frames[-1]
    if mode == "for":
        frame.stack.pop()
    elif mode == "send":
        frame.stack.append(Known(None))
    else:
        frame.stack.append(Known(END))
    frame.pc = _exit_of(m, mode)


def _step_unknown(m: Machine, iterator: V, mode: str) -> int | None:
    """A real iterator of which nothing is known."""
    if mode == "value":
        return call_builtin(m, next, [iterator], {}, mode)
    if mode == "end":
        return call_builtin(m, next, [iterator, Known(END)], {}, "value")
    if mode == "for" and not m.header():
        return STOP
    return _test_end(m, _next(m, iterator), mode, _told(iterator))


def _told(iterator: V) -> AbstractValue:
    """What the type of an iterator tells of its items."""
    return iterator.type.items if isinstance(iterator, Dyn) and isinstance(iterator.type, Items) else ANY


def _next(m: Machine, iterator: V) -> Dyn:
    cls, told = m.class_of(iterator), _told(iterator)
    if cls in _QUIET or told is not ANY:
        kind = Type(str) if cls in _TEXT else Type(int) if cls is RANGE_ITERATOR else told
        effect = Effect.IO if cls in _NEVER_RAISES else Effect.RAISES | Effect.IO
        return m.emit(next, [iterator, Known(END)], type=kind if kind is ANY else kind | Type(type(END)), effect=effect)
    return m.emit(next, [iterator, Known(END)])


_TEXT: Final = frozenset({type(iter("")), type(iter("é"))})
#: Others say that what they step through has changed.
_NEVER_RAISES: Final = frozenset({*map(type, map(iter, ([], (), b"", bytearray()))), RANGE_ITERATOR, *_TEXT})
_QUIET: Final = frozenset({*ITERATOR_OF.values(), *VIEW_ITERATORS.values(), RANGE_ITERATOR, *_TEXT})


def _open_step(m: Machine, ref: Ref, obj: VObj, source: Dyn, position: V, mode: str) -> int | None:
    """Of what is of unknown length: an array stays as long as it is, a list may get longer, or shorter (listiter_next)."""
    if mode == "for" and not m.header():
        return STOP
    grows = m.is_own_list(source)
    lost = position.lost if isinstance(position, Dyn) else frozenset()
    length = m.emit(len, [source], type=Type(int), effect=Effect.READS if grows else Effect.PURE)
    more = m.emit(operator.lt, [position, length], type=Type(bool), effect=Effect.PURE, lost=lost)
    _stop_unless(m, more, mode, ref if grows else None)
    beyond = Known(position.value + 1, position.labels) if isinstance(position, Known) else None  # type: ignore[operator]
    m.put(ref, obj.with_cell(1, beyond or m.emit(operator.add, [position, Known(1)], type=Type(int), effect=Effect.PURE, lost=lost)))
    if not grows:
        return call_builtin(m, operator.getitem, [source, position], {})
    m.push(m.emit(operator.getitem, [source, position], effect=Effect.READS))
    return None


def _sequence_step(m: Machine, ref: Ref, obj: VObj, mode: str) -> int | None:
    source, position = m.resolve(obj.cells[0]), obj.cells[1]
    length = _length(m, source)
    if length is None and isinstance(source, Dyn) and _is_open(m, source):
        return _open_step(m, ref, obj, source, position, mode)
    if length is None:
        # the source is not known any more: go on with the real iterator, unless that can be told apart
        m.use(position)
        node = m.operand(ref)
        return _step_unknown(m, Dyn(node, Type(obj.cls)), mode)
    if isinstance(position, Known):
        at: Any = position.value
        labels = labels_of(position, ref, source)
        if labels:
            m.mark(labels, WEAK)
        if at >= length:
            m.put(ref, obj.replace(cells=(_let_go(m, source), Known(EXHAUSTED))))
            return generators.exhausted(m, Known(None), mode)
        m.effort.covers(source.value if isinstance(source, Known) else None, at if isinstance(source, Known) else None, length)
        if position.labels and not alike(m, source):
            m.mark(position.labels, STRONG)
        item = _item(m, source, at, position, labels_of(source, position) if not isinstance(source, Dyn) else position.labels)
        m.put(ref, obj.with_cell(1, Known(at + 1, position.labels)))
        m.push(item)
        return None
    assert isinstance(position, Dyn)
    if position.lost and not alike(m, source):
        m.mark(position.lost, STRONG)
    if mode == "for" and not m.header():
        return STOP
    more = m.emit(operator.lt, [position, Known(length)], type=Type(bool), effect=Effect.PURE, lost=position.lost)
    _stop_unless(m, more, mode)
    m.put(ref, obj.with_cell(1, m.emit(operator.add, [position, Known(1)], type=Type(int), effect=Effect.PURE, lost=position.lost)))
    return call_builtin(m, operator.getitem, [source, position], {})


def _let_go(m: Machine, source: V) -> V:
    """At its end an iterator lets go of what it was over (listiter_next)."""
    if not m.endings or not isinstance(source, Ref):
        return source
    kind = m.state.heap[source.aid].kind
    return m.new(VObj(kind, tuple if kind == "tuple" else list))


def _length(m: Machine, source: V) -> int | None:
    if isinstance(source, Known):
        return len(source.value) if m.environment.static(source) else None  # type: ignore[arg-type]
    if isinstance(source, Ref):
        obj = m.obj(source, "list", "tuple")
        return None if obj is None else len(obj.cells)
    if source.dims and isinstance(source.dims[0], Known):
        size: Any = source.dims[0].value
        return int(size)
    return None


def _item(m: Machine, source: V, at: int, position: V, labels: Labels) -> V:
    if isinstance(source, Known):
        return Known(source.value[at], labels)  # type: ignore[index]
    if isinstance(source, Ref):
        return relabel(m.state.heap[source.aid].cells[at], labels)
    status = call_builtin(m, operator.getitem, [source, Known(at)], {})
    assert status is None
    return m.pop()


def alike(m: Machine, source: V) -> bool:
    """Are all elements unknown values of one type, or constants of one plain type (so that none of them can choose)?"""
    if isinstance(source, Dyn):
        return True
    if isinstance(source, Known):
        kinds = {type(x) for x in source.value[:100]} if not is_a(source.value, str | bytes) else {str, int}  # type: ignore[index]
        return len(kinds) == 1 and kinds <= {int, float, bool, complex}
    cells = m.state.heap[source.aid].cells
    if any(isinstance(c, Ref) for c in cells):
        shapes = {shape_in(m.state.heap, c.aid) for c in cells if isinstance(c, Ref)}
        return len(shapes) == 1 and all(isinstance(c, Ref) for c in cells)
    return len({m.class_of(c) for c in cells}) == 1


def _range_step(m: Machine, ref: Ref, obj: VObj, mode: str) -> int | None:
    current, stop, stride = obj.cells
    up = isinstance(stride, Known) and stride.value > 0  # type: ignore[operator]
    if isinstance(current, Known) and isinstance(stop, Known) and isinstance(stride, Known):
        labels = labels_of(current, stop)
        if labels:
            m.mark(labels, WEAK)
        if not (current.value < stop.value if up else current.value > stop.value):  # type: ignore[operator]
            return generators.exhausted(m, Known(None), mode)
        m.put(ref, obj.with_cell(0, Known(current.value + stride.value, current.labels)))  # type: ignore[operator]
        m.push(current)
        return None
    if mode == "for":
        if not m.header():
            return STOP
        if isinstance(current, Known) and isinstance(stop, Dyn) and stop.lost is None:
            m.counts(current)
    lost = current.lost if isinstance(current, Dyn) and isinstance(stop, Known) else None
    if isinstance(stride, Known):
        more = m.emit(operator.lt if up else operator.gt, [current, stop], type=Type(bool), effect=Effect.PURE, lost=lost)
    else:
        more = m.emit(ops.range_goes_on, [current, stop, stride], type=Type(bool), effect=Effect.PURE)
    _stop_unless(m, more, mode)
    if isinstance(current, Known) and isinstance(stride, Known):
        beyond: V = Known(current.value + stride.value, current.labels)  # type: ignore[operator]
    else:
        beyond = m.emit(operator.add, [current, stride], type=Type(int), effect=Effect.PURE, lost=current.lost if isinstance(current, Dyn) else None)
    m.put(ref, obj.with_cell(0, beyond))
    m.push(current)
    return None


def _dict_step(m: Machine, ref: Ref, obj: VObj, mode: str) -> int | None:
    source, position, size = obj.cells
    real = m.obj(source, "dict")
    if real is None or not isinstance(position, Known) or not isinstance(size, Known):
        if obj.node is None:
            # somebody may have changed the dict: the real iterator would say so now
            real_one = m.emit(ops.resume_dict_iterator, [source, position, size, Known(obj.extra)], type=Type(obj.cls), effect=Effect.RAISES)
            m.put(ref, m.state.heap[ref.aid].replace(node=real_one.value))
        return _step_unknown(m, Dyn(m.operand(ref), Type(obj.cls)), mode)
    at: Any = position.value
    labels = labels_of(position, source, ref)
    if at < EXHAUSTED and len(real.cells) != size.value:
        m.put(ref, obj.with_cell(1, Known(EXHAUSTED)))
        return m.raise_new(RuntimeError, "dictionary changed size during iteration")
    if labels:
        m.mark(labels, STRONG)
    if at >= len(real.cells):
        m.put(ref, obj.with_cell(1, Known(EXHAUSTED)))
        return generators.exhausted(m, Known(None), mode)
    m.put(ref, obj.with_cell(1, Known(at + 1, position.labels)))
    key, value = Known(real.keys[at], labels), relabel(real.cells[at], labels)
    m.push({"keys": key, "values": value}.get(obj.extra) or m.new(VObj("tuple", tuple, (key, value))))
    return None


_STEPS: Final = {"sequence_iter": _sequence_step, "range_iter": _range_step, "dict_iter": _dict_step}


def next_(m: Machine, args: list[V], mode: str = "value") -> int | None:
    """``next(iterator[, default])``."""
    iterator = m.resolve(args[0])
    if isinstance(iterator, Ref):
        if len(args) == 1:
            if _may_be_unsure(m, iterator):
                m.operand(iterator)
                return call_builtin(m, next, [Dyn(m.operand(iterator), m.type_of(iterator))], {}, mode)
            return step(m, iterator, "value")
        if mode == "value" and isinstance(args[1], Known) and args[1].value is END:
            return step(m, iterator, "end")
        return call_function(m, Known(_next_default), _next_default, [*args, Known(END)], {}, mode)
    return None


def _may_be_unsure(m: Machine, iterator: Ref) -> bool:
    """Would a step have to branch (and so could not raise StopIteration by itself)?"""
    obj = m.state.heap[iterator.aid]
    if obj.kind == "range_iter":
        return not all(isinstance(c, Known) for c in obj.cells[:2])
    return obj.kind == "sequence_iter" and (not isinstance(obj.cells[1], Known) or _length(m, m.resolve(obj.cells[0])) is None)


def _next_default(iterator: Any, default: Any, end: Any) -> Any:
    item = next(iterator, end)
    return default if item is end else item


# ------------------------------------------------------------------------------------------------- unpacking, literals


def known_items(m: Machine, value: V) -> list[V] | None:
    """The items of an iterable whose items are known, one by one."""
    value = m.resolve(value)
    value = builtin_payload.plain(m, value, ("__iter__",)) or value
    if isinstance(value, Ref):
        held = identity_sets.elements(m, value)
        if held is not None:
            return list(held)
        obj = m.obj(value, "list", "tuple", "dict", "view")
        if obj is not None and obj.kind == "view":
            return _viewed(m, obj, value.labels)
        if obj is None or (is_python_class(obj.cls) and special(obj.cls, "__iter__") is not None):
            return None
        labels = value.labels
        if labels:
            m.mark(labels, STRONG)
        if obj.kind == "dict":
            return [Known(k, labels) for k in obj.keys]
        return [relabel(c, labels) for c in obj.cells]
    if isinstance(value, Known) and type(value.value) in (tuple, list, str, bytes, dict, range) and m.environment.static(value):
        if len(value.value) > 5_000:  # type: ignore[arg-type]
            return None
        if value.labels:
            m.mark(value.labels, STRONG)
        m.effort.covers(value.value, ..., 0)
        return [Known(x, value.labels) for x in value.value]  # type: ignore[attr-defined]
    if isinstance(value, Dyn) and isinstance(value.type, Partial) and value.type.cls is tuple:
        return [m.emit(operator.getitem, [value, Known(k)], type=part, effect=Effect.PURE) for k, part in enumerate(value.type.parts)]
    if isinstance(value, Known) and is_a(value.value, type) and enums.is_enum(value.value):
        return enums.members(m, value.value, value.labels)
    return None


def items_in_sight(m: Machine, value: V) -> list[V] | None:
    """The same, or for back ends that compile the rows of an array, if there are few."""
    items = known_items(m, value)
    return _rows(m, m.resolve(value), None) if items is None and m.known_sizes else items


def _viewed(m: Machine, obj: VObj, labels: Labels) -> list[V] | None:
    source = m.resolve(obj.cells[0])
    if isinstance(source, Known) and type(source.value) is dict:
        if not m.environment.static(source) or len(source.value) > 5_000:
            return None
        if source.labels:
            m.mark(source.labels, STRONG)
        return [Known(x, source.labels) for x in getattr(source.value, obj.extra)()]
    keys = known_items(m, relabel(source, labels)) if m.obj(source, "dict") is not None else None
    if keys is None or obj.extra == "keys":
        return keys
    values = [relabel(c, labels) for c in m.state.heap[source.aid].cells]  # type: ignore[union-attr]
    return values if obj.extra == "values" else [m.new(VObj("tuple", tuple, pair)) for pair in zip(keys, values, strict=True)]


def unpack(m: Machine, value: V, before: int, after: int) -> int | None:
    """UNPACK_SEQUENCE (after < 0) and UNPACK_EX."""
    items = known_items(m, value)
    if items is None:
        items = _rows(m, m.resolve(value), before if after < 0 else None)
    if items is not None:
        if after < 0 and len(items) == before:
            m.frame.stack.extend(reversed(items))
            return None
        if after >= 0 and len(items) >= before + after:
            middle = m.new(VObj("list", list, tuple(items[before : len(items) - after])))
            whole = [*items[:before], middle, *items[len(items) - after :]]
            m.frame.stack.extend(reversed(whole))
            return None
    value = m.resolve(value)
    if after < 0 and before < MOST_NAMES and m.obj(value, "generator", "model") is not None:
        return call_builtin(m, ops.unpack, [value, Known(before)], {}, f"unpack_{before}")
    count = before if after < 0 else before + 1 + after
    cls = m.class_of(value)
    row = _kind_of_rows(m, value)
    effect = Effect.RAISES | Effect.READS if cls in (list, tuple, str, dict) or row is not None else Effect.OPAQUE
    fn: Any = ops.unpack if after < 0 else ops.unpack_star
    args = [value, Known(before)] if after < 0 else [value, Known(before), Known(after)]
    if effect is Effect.OPAQUE:
        whole_tuple = opaque(m, fn, args)
        # what is taken out of something that may end may end with it
        whole_tuple = Dyn(whole_tuple.value, Type(tuple), ends=value.ends if isinstance(value, Dyn) else 0)
        whole_tuple.value.type = Type(tuple)  # type: ignore[union-attr]
    else:
        whole_tuple = m.emit(fn, args, type=Type(tuple), effect=effect)
    kinds = [row or (Type(str) if cls is str else ANY)] * count
    if after >= 0:
        kinds[before] = Type(list)
    dims = value.dims[1:] if isinstance(row, Array) and isinstance(value, Dyn) and value.dims else None
    parts = [
        m.emit(operator.getitem, [whole_tuple, Known(k)], type=kind, effect=Effect.PURE, dims=dims if kind is row else None) for k, kind in enumerate(kinds)
    ]
    m.frame.stack.extend(reversed(parts))
    return None


def _kind_of_rows(m: Machine, value: V) -> Any:
    """The type of each row of an array, of which it is not known how many there are."""
    if not isinstance(value, Dyn) or not isinstance(value.type, Array):
        return None
    rule = m.library.rule(operator.getitem)
    return rule.result(value.type, Const(0)) if rule is not None else None


def _after_unpacking(count: int) -> Any:
    def after(m: Machine) -> int | None:
        made = m.pop()
        parts = known_items(m, made)
        if parts is None:
            parts = [m.emit(operator.getitem, [made, Known(k)], type=ANY, effect=Effect.PURE) for k in range(count)]
        m.frame.stack.extend(reversed(parts))
        return None

    return after


def _rows(m: Machine, value: V, wanted: int | None) -> list[V] | None:
    """The rows of an array that is unpacked, if there are just so many, and few."""
    count = _length(m, value) if isinstance(value, Dyn) and isinstance(value.type, Array) else None
    return None if count is None or count > MOST_ROWS or wanted not in (None, count) else [_item(m, value, k, Known(k), 0) for k in range(count)]


for _count in range(MOST_NAMES):
    AFTER[f"unpack_{_count}"] = _after_unpacking(_count)
for _mode in ("for", "send", "end"):
    AFTER["step_" + _mode] = _after_step(_mode)
