"""Iteration: one step of an iterator (CPython: Objects/iterobject.c, listobject.c, rangeobject.c)."""

import operator
import sys
from typing import Any, Final

from hovis.engine.calls import models
from hovis.engine.calls.builtins import call_builtin
from hovis.engine.calls.inline_python import call_function
from hovis.engine.control import generators
from hovis.engine.control.iterators import ITERATOR_OF, RANGE_ITERATOR, VIEW_ITERATORS, is_open
from hovis.engine.machine import branches
from hovis.engine.machine.call_results import AFTER, finish
from hovis.engine.machine.machine import Machine
from hovis.engine.state import lifetimes
from hovis.engine.state.frames_and_heap import STOP, State
from hovis.engine.state.heap import VObj, shape_in
from hovis.engine.state.type_lookup import ABSENT, FUNCTION, NOT_MODELLED, find, lookup
from hovis.engine.state.values import STRONG, WEAK, Dyn, Known, Labels, Ref, V, labels_of, relabel
from hovis.engine.traced import slot_protocols
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.ir.operations import END
from hovis.lattice import ANY, AbstractValue, Items, Partial, Type, Untested
from hovis.lattice.inspection import is_a

#: The position of an iterator that has reached its end: it stays there even if its source grows.
EXHAUSTED: Final = sys.maxsize


def for_iter(m: Machine, exit: int) -> int | None:
    """FOR_ITER: push the next item above the iterator; at the end pop the iterator, and jump to exit."""
    iterator = m.resolve(m.frame.stack[-1])
    if m.tables.unrolled and m.here() in m.tables.unrolled and isinstance(iterator, Ref):
        for position in m.state.heap[iterator.aid].cells:
            m.use(position)
    return step(m, iterator, "for", exit)


def step(m: Machine, iterator: V, mode: str, exit: int = -1) -> int | None:
    """Advance an iterator by one item. mode: "for", "send", "value" (next: StopIteration at the end), "end" (END at the end)."""
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
    if isinstance(iterator, Dyn) and mode == "for" and not branches.header(m):
        return STOP
    if mode == "value":
        return m.call(Known(found), [iterator], {}, mode)
    return call_function(m, Known(slot_protocols.step), slot_protocols.step, [Known(found), iterator, Known(END)], {}, "step_" + mode)


def _step_model(m: Machine, iterator: Ref, mode: str) -> int | None:
    """Advance an iterator of a C class that a stand-in acts for: its ``step`` returns END where ``__next__`` raises StopIteration."""
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
    """Branch on whether an unknown item is END. told: what is known of the items (for a tuple, of its parts)."""
    if item.lost:
        m.mark(item.lost, STRONG)
    more = m.emit(operator.is_not, [item, Known(END)], type=Type(bool), effect=Effect.PURE)
    _stop_unless(m, more, mode)
    kind = told if isinstance(told, Partial | Items | Untested) else branches.without(item.type, Type(type(END)))
    m.push(Dyn(item.value, kind, item.dims, item.lost, item.maybe_unbound, item.ends, among=item.among))
    frame = m.frame
    if mode == "for" and m.assumptions is not None:
        if m.assumptions.decides(more, frame.code, frame.pc + 1, _exit_of(m, mode)) is False:
            frame.pc += 1
            m.assume_unreached(m.state)
        elif m.assumptions.is_cold(m.state.frames, frame.pc + 1):
            frame.pc += 1
        else:
            return None
        m.leave(m.block, m.state)
        return STOP
    return None


def _stop_unless(m: Machine, more: Dyn, mode: str, ended: "Ref | None" = None) -> None:
    """Branch on more: the chain continues with one more item. On the other side the consumer is told of the end, and the iterator ``ended`` is
    exhausted.
    """
    state = m.state
    frame = m.frame
    m.meet(len(state.frames) - 1, frame.pc + 1, _exit_of(m, mode))
    done = state.fork()
    if ended is not None:
        over = Known(()) if m.endings and lifetimes.is_named(m, ended) else done.heap[ended.aid].cells[0]
        done.heap[ended.aid] = done.heap[ended.aid].replace(cells=(over, Known(EXHAUSTED)))
    _finish_in(m, done, mode)
    branches.split(m, more, done)


def _exit_of(m: Machine, mode: str) -> int:
    frame = m.frame
    return int(frame.code.instructions[frame.pc].arg) if mode in ("for", "send") else frame.pc + 1


def _finish_in(m: Machine, state: State, mode: str) -> None:
    """Tell the consumer in a forked state that the iterator has ended (no op may be emitted for it)."""
    frame = state.frames[-1]
    if mode == "for":
        frame.stack.pop()
    elif mode == "send":
        frame.stack.append(Known(None))
    else:
        frame.stack.append(Known(END))
    frame.pc = _exit_of(m, mode)


def _step_unknown(m: Machine, iterator: V, mode: str) -> int | None:
    """Advance a real iterator of which nothing is known."""
    if mode == "value":
        return call_builtin(m, next, [iterator], {}, mode)
    if mode == "end":
        if m.class_of(iterator) in _QUIET or isinstance(iterator, Ref):
            return finish(m, _next(m, iterator), "value")
        return call_builtin(m, next, [iterator, Known(END)], {}, "value")
    if mode == "for" and not branches.header(m):
        return STOP
    return _test_end(m, _next(m, iterator), mode, _told(iterator))


def _told(iterator: V) -> AbstractValue:
    """Return what the type of an iterator says about its items."""
    return iterator.type.items if isinstance(iterator, Dyn) and isinstance(iterator.type, Items) else ANY


def _next(m: Machine, iterator: V) -> Dyn:
    cls, told = m.class_of(iterator), _told(iterator)
    if cls in _QUIET or told is not ANY:
        kind = Type(str) if cls in _TEXT else Type(int) if cls is RANGE_ITERATOR else told
        effect = Effect.IO if cls in _NEVER_RAISES else Effect.RAISES | Effect.IO
        return m.emit(next, [iterator, Known(END)], type=kind if kind is ANY else kind | Type(type(END)), effect=effect)
    return m.emit(next, [iterator, Known(END)])


_TEXT: Final = frozenset({type(iter("")), type(iter("é"))})
#: Other iterators raise an exception if the container that they iterate over has changed.
_NEVER_RAISES: Final = frozenset({*map(type, map(iter, ([], (), b"", bytearray()))), type(reversed([])), RANGE_ITERATOR, *_TEXT})
_EMPTY: Final[dict[str, str]] = {}
_BACKWARDS: Final = frozenset({type(reversed([])), *map(type, (reversed(_EMPTY), reversed(_EMPTY.values()), reversed(_EMPTY.items())))})
_QUIET: Final = frozenset({*ITERATOR_OF.values(), *VIEW_ITERATORS.values(), RANGE_ITERATOR, *_TEXT, *_BACKWARDS})


def _open_step(m: Machine, ref: Ref, obj: VObj, source: Dyn, position: V, mode: str) -> int | None:
    """Advance over a source of unknown length: an array keeps its length, a list may get longer or shorter (listiter_next)."""
    if mode == "for" and not branches.header(m):
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
    length = length_of(m, source)
    if length is None and isinstance(source, Dyn) and is_open(m, source):
        return _open_step(m, ref, obj, source, position, mode)
    if length is None:
        # the source is not known any more: continue with the real iterator, unless the positions can be kept apart
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
        item = item_at(m, source, at, position, labels_of(source, position) if not isinstance(source, Dyn) else position.labels)
        m.put(ref, obj.with_cell(1, Known(at + 1, position.labels)))
        m.push(item)
        return None
    assert isinstance(position, Dyn)
    if position.lost and not alike(m, source):
        m.mark(position.lost, STRONG)
    if mode == "for" and not branches.header(m):
        return STOP
    more = m.emit(operator.lt, [position, Known(length)], type=Type(bool), effect=Effect.PURE, lost=position.lost)
    _stop_unless(m, more, mode)
    m.put(ref, obj.with_cell(1, m.emit(operator.add, [position, Known(1)], type=Type(int), effect=Effect.PURE, lost=position.lost)))
    return call_builtin(m, operator.getitem, [source, position], {})


def _let_go(m: Machine, source: V) -> V:
    """Return what an iterator holds after its end: an empty source, where it is observable that it releases the real one (listiter_next)."""
    if not m.endings or not isinstance(source, Ref):
        return source
    kind = m.state.heap[source.aid].kind
    return m.new(VObj(kind, tuple if kind == "tuple" else list))


def length_of(m: Machine, source: V) -> int | None:
    if isinstance(source, Known):
        return len(source.value) if m.environment.static(source) else None  # type: ignore[arg-type]
    if isinstance(source, Ref):
        obj = m.obj(source, "list", "tuple")
        return None if obj is None else len(obj.cells)
    if source.dims and isinstance(source.dims[0], Known):
        size: Any = source.dims[0].value
        return int(size)
    return None


def item_at(m: Machine, source: V, at: int, position: V, labels: Labels) -> V:
    if isinstance(source, Known):
        return Known(source.value[at], labels)  # type: ignore[index]
    if isinstance(source, Ref):
        return relabel(m.state.heap[source.aid].cells[at], labels)
    status = call_builtin(m, operator.getitem, [source, Known(at)], {})
    assert status is None
    return m.pop()


def alike(m: Machine, source: V) -> bool:
    """Are all elements unknown values of one type, or constants of one plain type, which means that no decision depends on which one it is?"""
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
        if not branches.header(m):
            return STOP
        if isinstance(current, Known) and isinstance(stop, Dyn) and stop.lost is None:
            m.keys.counts(m.entry, current)
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
            # other code may have changed the dict: the real iterator would raise an exception now
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
    """``next(iterator[, default])`` of an object of the trace, or ``next(iterator, END)`` of an iterator that runs no code."""
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
    return _step_unknown(m, iterator, "end") if is_quiet(m, iterator) and len(args) == 2 else None


def is_quiet(m: Machine, iterator: V) -> bool:
    """Is the iterator, which is none of the trace, of a builtin class that runs no code?"""
    return isinstance(iterator, Dyn) and m.class_of(iterator) in _QUIET


def _may_be_unsure(m: Machine, iterator: Ref) -> bool:
    """Would a step have to branch, and therefore be unable to raise StopIteration itself?"""
    obj = m.state.heap[iterator.aid]
    if obj.kind == "range_iter":
        return not all(isinstance(c, Known) for c in obj.cells[:2])
    return obj.kind == "sequence_iter" and (not isinstance(obj.cells[1], Known) or length_of(m, m.resolve(obj.cells[0])) is None)


def _next_default(iterator: Any, default: Any, end: Any) -> Any:
    item = next(iterator, end)
    return default if item is end else item


for _mode in ("for", "send", "end"):
    AFTER["step_" + _mode] = _after_step(_mode)
