"""Generators: suspended frames in the heap, resumed inline by a traced consumer (CPython: Objects/genobject.c).

The cells of the object are the locals of the frame, followed by its stack; ``extra`` is ("new" | "suspended" | "running" |
"finished", code, namespace, pc, number of locals, site, decided).  A generator that escapes becomes a call of a
residual generator function (see residual_generators); if that is not possible, it is such a call from the beginning.

The mode of a resumed frame says how its consumer takes the item: "for" and "send" are the instructions, "end" gets END after
the last item, "delegated" is the ``yield from`` of a generator into which an exception was thrown; for all other modes the
item is the result of a call, and the end is a StopIteration.
"""

import types
from typing import Any, Final

from hovis.bytecode.instructions import Code
from hovis.engine.calls.inline_python import REAL, call_function
from hovis.engine.calls.recursion import known_arguments
from hovis.engine.control import residual_generators
from hovis.engine.machine import branches, exceptions
from hovis.engine.machine.call_results import AFTER, finish
from hovis.engine.machine.handler_table import HANDLERS
from hovis.engine.machine.machine import Machine
from hovis.engine.state import lifetimes
from hovis.engine.state.frames_and_heap import STOP, SWITCH, Frame
from hovis.engine.state.heap import VObj
from hovis.engine.state.lifetimes import GENERATOR
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.type_lookup import is_python_class, lookup
from hovis.engine.state.values import ENDS, NONE, STRONG, UNBOUND_VALUE, Dyn, Known, Ref, V
from hovis.engine.traced import generator_protocol
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.ir.operations import END
from hovis.lattice import Type

#: Classes of iterators that end without a value.
_PLAIN: Final = frozenset(type(iter(kind())) for kind in (list, tuple, str, bytes, dict, set)) | {type(iter(range(0)))}


def make(m: Machine) -> int | None:
    """RETURN_GENERATOR: turn the frame into a generator, which is the result of the call."""
    frame = m.frame
    whole = len(m.state.frames) == 1
    cells = tuple(UNBOUND_VALUE if v is None else v for v in frame.locals)
    if not whole:
        m.state.frames.pop()
    site = None if whole else m.user_site()
    code = _as_named(m, frame)
    made: V = m.new(VObj("generator", GENERATOR, cells, extra=("new", code, frame.namespace, frame.pc + 1, len(cells), site, False)))
    if whole:
        frame.locals = []
        m.push(made)
        return HANDLERS["Return"](m, None)
    if frame.extra is REAL or site in m.tables.not_virtual or m.tables.generators == "real":
        made = Dyn(m.operand(made), Type(GENERATOR), ends=ENDS)
        m.endings = True
    else:
        m.tables.generators = "virtual"
    return to_caller(m, finish(m, made, frame.mode))


def to_caller(m: Machine, status: int | None) -> int:
    """Continue in the top frame after the instruction at which it was left. status: what this instruction's handler would return."""
    if status is None:
        m.frame.pc += 1
        return SWITCH
    if status >= 0:
        if status <= m.frame.pc:
            m.came = m.frame.pc
        m.frame.pc = status
        return SWITCH
    return status


def refuse(m: Machine, obj: VObj) -> None:
    """Raise Restart: this generator has to be real from the beginning."""
    m.tables.not_virtual.add(obj.extra[5])
    raise Restart("generator")


def _as_named(m: Machine, frame: Frame) -> Code:
    """Return the code of a generator function, with the names that the function has now (gen_new_with_qualname)."""
    fn = frame.fn
    if m.is_model(frame.code):
        return frame.code
    if type(fn) is VObj:
        return _renamed(m, frame.code, *fn.extra[2:])
    if type(fn) is not types.FunctionType:
        return frame.code
    m.environment.guard("names", fn, None, (fn.__name__, fn.__qualname__))
    return _renamed(m, frame.code, fn.__name__, fn.__qualname__)


def _renamed(m: Machine, code: Code, *names: str) -> Code:
    if names == (code.given_name, code.given_qualname):
        return code
    key = ("renamed", code.code, names)
    if key not in m.tables.answers:
        m.tables.answers[key] = code.renamed(*names)
    found: Code = m.tables.answers[key]
    return found


def rename(m: Machine, ref: Ref, obj: VObj, name: str, value: V) -> bool:
    """``generator.__name__ = value`` for a generator whose frame is in the heap (gen_set_name, gen_set_qualname); False if the real one has to
    be changed.
    """
    if name not in ("__name__", "__qualname__") or obj.node is not None or obj.extra[0] == "running":
        return False
    if not isinstance(value, Known) or type(value.value) is not str:
        return False
    status, code, *rest = obj.extra
    names = (value.value, code.given_qualname) if name == "__name__" else (code.given_name, value.value)
    m.use(value)
    m.put(ref, obj.replace(extra=(status, _renamed(m, code, *names), *rest)))
    return True


def virtual(m: Machine, value: V) -> VObj | None:
    """Return the generator that value is, if its frame is in the heap; else None."""
    return m.obj(value, "generator")


# ------------------------------------------------------------------------------------------------- resuming


def resume(m: Machine, ref: Ref, sent: V, mode: str) -> int | None:
    """Resume the generator with the value sent. mode says what becomes of the item that it yields (gen_send_ex2)."""
    obj = m.state.heap[ref.aid]
    status = obj.extra[0]
    if status == "finished":
        return exhausted(m, NONE, mode)
    if status == "running":
        return m.raise_new(ValueError, "generator already executing")
    if status == "new" and not (isinstance(sent, Known) and sent.value is None):
        if isinstance(sent, Dyn):
            return call_function(m, Known(generator_protocol.first_send), generator_protocol.first_send, [ref, sent], {}, mode)
        return m.raise_new(TypeError, "can't send non-None value to a just-started generator")
    _enter(m, ref, mode)
    m.push(sent)
    return SWITCH


def _enter(m: Machine, ref: Ref, mode: str) -> None:
    """Push the frame of a generator; the exceptions that it was handling are handled again."""
    obj = m.state.heap[ref.aid]
    status, code, namespace, pc, count, site, decided = obj.extra
    caller = m.frame
    ctx = m.tables.contexts[caller.ctx, caller.pc, code, "resumed"]
    m.homes.setdefault(ctx, m.homes[m.state.frames[0].ctx])
    frame = Frame(code, ctx, list(obj.cells[:count]), namespace, mode)
    frame.stack = list(obj.cells[count:])
    frame.pc = pc
    frame.owner = ref.aid
    frame.decided = decided
    frame.extra = known_arguments(m, frame.locals[: code.n_params])
    m.put(ref, obj.replace(cells=(), extra=("running", code, namespace, 0, count, site, False)))
    m.state.frames.append(frame)
    if status == "suspended":
        residual_generators.handle_again(m, code.handling[pc - 1])


def yielded(m: Machine) -> int | None:
    """Yield in the body: suspend the frame, and return to the consumer and to the exception that the consumer was handling."""
    frame = m.frame
    if frame.owner is None:
        if frame.mode == residual_generators.BEGUN and delegating(frame):
            return _end_delegation(m, residual_generators.yield_rest(m))
        return residual_generators.yielded(m)
    value = m.pop()
    positions = frame.code.handling[frame.pc]
    if positions:
        for _ in positions:
            m.emit(ops.leave_handler, [], type=Type(type(None)), effect=Effect.IO)
        # the position of the consumer's exception is free until the generator is resumed: it keeps the one that the body handles
        frame.stack[positions[0]], m.state.handled = m.state.handled, frame.stack[positions[0]]
    live = frame.code.live[frame.pc + 1] | _handler_live(frame)
    kept = [v if live >> k & 1 or _lasts(m, v) else None for k, v in enumerate(frame.locals)]
    cells = (*(UNBOUND_VALUE if v is None else v for v in kept), *frame.stack)
    old = m.state.heap[frame.owner]
    extra = ("suspended", frame.code, frame.namespace, frame.pc + 1, len(kept), old.extra[5], frame.decided)
    obj = m.state.heap[frame.owner] = old.replace(cells=cells, extra=extra)
    m.suspended.add(frame.owner)
    m.watching |= lifetimes.must_close(m.state, obj)
    m.state.frames.pop()
    if m.endings:
        # this item may have been the only reason for which the consumer held the generator
        lifetimes.end_cells(m, kept, value)
    return deliver(m, value, frame.mode)


def _handler_live(frame: Frame) -> int:
    handler = frame.code.instructions[frame.pc].handler
    return frame.code.live[handler.target] if handler else 0


def _lasts(m: Machine, value: V | None) -> bool:
    """May it be observable when the value of a dead variable ends?"""
    return isinstance(value, Ref) or (isinstance(value, Dyn) and bool(value.ends))


def deliver(m: Machine, value: V, mode: str) -> int:
    """Give a yielded value to the consumer."""
    if mode == "delegated":
        m.push(value)
        return SWITCH  # the Yield of the consumer is executed again
    return to_caller(m, finish(m, value, "value" if mode in ("for", "send", "end") else mode))


def finished(m: Machine, value: V) -> int | None:
    """Return from the body: the consumer gets a StopIteration."""
    frame = m.frame
    assert frame.owner is not None
    m.state.heap[frame.owner] = m.state.heap[frame.owner].ended()
    m.state.frames.pop()
    if m.endings:
        lifetimes.end_cells(m, frame.locals, value)
    return to_caller(m, exhausted(m, value, frame.mode))


def exhausted(m: Machine, value: V, mode: str) -> int | None:
    """Tell the consumer, whose frame is on top, that its iterator has ended; mode says how."""
    frame = m.frame
    if mode == "for":
        frame.stack.pop()
        return int(frame.code.instructions[frame.pc].arg)
    if mode == "send":
        m.push(value)
        return int(frame.code.instructions[frame.pc].arg)
    if mode == "delegated":
        return _end_delegation(m, value)
    if mode == "end":
        m.push(Known(END))
        return None
    if isinstance(value, Dyn) and m.class_of(value) in (None, type(None)):
        return m.call(Known(generator_protocol.end_with), [value], {}, "value")
    return m.raise_new(StopIteration, *([] if isinstance(value, Known) and value.value is None else [value]))


# ------------------------------------------------------------------------------------------------- throwing


def throw(m: Machine, ref: Ref, exception: V, mode: str) -> int | None:
    """Raise exception in the generator, where it stands (gen_throw)."""
    obj = m.state.heap[ref.aid]
    status = obj.extra[0]
    if status == "running":
        return m.raise_new(ValueError, "generator already executing")
    if status == "finished":
        return raise_thrown(m, exception)
    _enter(m, ref, mode)
    frame = m.frame
    if status == "suspended":
        frame.pc -= 1
        if delegating(frame):
            return delegate(m, exception)
    return raise_thrown(m, exception)


def throw_exit(m: Machine, ref: Ref, mode: str) -> int | None:
    """Throw a new GeneratorExit, whose context is the exception that is being handled (gen_close)."""
    exception = exceptions.new(m, GeneratorExit, [], {})
    handled = m.state.handled
    if not (isinstance(handled, Known) and handled.value is None):
        exceptions.changed(m, exception, ops.in_context, [_real(m, handled)], Effect.WRITES)
    return throw(m, ref, exception, mode)


def _real(m: Machine, handled: V) -> V:
    return exceptions.node_of(m, handled) if isinstance(handled, Ref) else handled


def raise_thrown(m: Machine, exception: V) -> int:
    """Raise a thrown exception: only an exception that the generator itself handles becomes its context (gen_send_ex2)."""
    frame = m.frame
    if frame.owner is not None and frame.code.handling[frame.pc]:
        return m.raise_(exception)
    exception = m.resolve(exception)
    if isinstance(exception, Ref) and m.obj(exception, "exception") is not None:
        context = exceptions.get(m, exception, "__context__") or NONE
        exceptions.changed(m, exception, ops.raised, [], Effect.READS)
        exceptions.changed(m, exception, ops.in_context, [context], Effect.WRITES)
        return m.raise_(exception, again=True, thrown=True)
    kind = m.type_of(exception) if isinstance(exception, Dyn) else Type(m.class_of(exception) or BaseException)
    context = m.emit(getattr, [exception, Known("__context__")], effect=Effect.READS)
    raised = m.emit(ops.raised, [exception], type=kind, effect=Effect.READS)
    return m.raise_(m.emit(ops.in_context, [raised, context], type=kind, effect=Effect.WRITES), again=True, thrown=True)


# ------------------------------------------------------------------------------------------------- yield from


def delegating(frame: Frame) -> bool:
    """Does frame stand at the Yield of a ``yield from``? If it does, the receiver is on the stack."""
    return frame.pc > 0 and frame.code.instructions[frame.pc - 1].op == "Send"


def delegate(m: Machine, exception: V) -> int | None:
    """Throw exception into the receiver of the ``yield from`` at which the top frame stands."""
    receiver = m.resolve(m.frame.stack[-1])
    cls = m.class_of(exception)
    if isinstance(receiver, Ref) and virtual(m, receiver) is not None and cls is not None and not issubclass(cls, GeneratorExit):
        return throw(m, receiver, exception, "delegated")
    kind = m.class_of(receiver)
    if kind is not None and not is_python_class(kind) and lookup(kind, "throw") is None and lookup(kind, "close") is None:
        return raise_thrown(m, exception)
    m.push(exception)
    return call_function(m, Known(generator_protocol.throw_into), generator_protocol.throw_into, [receiver, exception], {}, "throw_into")


def _outcome(m: Machine) -> tuple[object, V]:
    """Pop the result of a traced model of delegation, and return its two parts: which outcome it is, and the value."""
    result = m.pop()
    obj = m.obj(result, "tuple")
    if obj is None:
        assert isinstance(result, Known)
        pair: Any = result.value
        return pair[0], Known(pair[1])
    which, value = obj.cells
    assert isinstance(which, Known)
    if which.labels:
        m.mark(which.labels, STRONG)
    return which.value, value


def _after_throw(m: Machine) -> int | None:
    which, value = _outcome(m)
    exception = m.pop()
    if which is None:
        return raise_thrown(m, exception)
    if which is True:
        return _end_delegation(m, value)
    m.push(value)
    return m.frame.pc


def _end_delegation(m: Machine, value: V) -> int:
    """End a ``yield from`` whose receiver has ended while the frame stood at its Yield. Return the jump target."""
    m.push(value)
    return int(m.frame.code.instructions[m.frame.pc - 1].arg)


def send(m: Machine, done: int) -> int | None:
    """SEND: send the value on the stack to the receiver below it. done: the jump target if the receiver ends."""
    value = m.pop()
    receiver = m.resolve(m.frame.stack[-1])
    if m.frame.owner is None:
        # a real generator delegates to a real one: its gi_yieldfrom shows which
        m.push(residual_generators.yield_from(m, receiver))
        return done
    if isinstance(receiver, Ref) and virtual(m, receiver) is not None:
        return resume(m, receiver, value, "send")
    fresh = isinstance(value, Known) and value.value is None
    if fresh and m.class_of(receiver) in _PLAIN and isinstance(receiver, Ref):
        return m.step(receiver, "send", done)
    if fresh and isinstance(receiver, Dyn) and _is_forgotten(m, done):
        m.push(value)
        if not branches.header(m):
            return STOP
        m.pop()
        return m.step(receiver, "send", done)
    return call_function(m, Known(generator_protocol.send_on), generator_protocol.send_on, [receiver, value], {}, "send_on")


def _is_forgotten(m: Machine, done: int) -> bool:
    """Is the result of the ``yield from`` discarded?"""
    following = m.frame.code.instructions[done : done + 2]
    return [at.op for at in following] == ["EndSend", "Pop"]


def _after_send(m: Machine) -> int | None:
    ended, value = _outcome(m)
    m.push(value)
    return int(m.frame.code.instructions[m.frame.pc].arg) if ended else None


def yield_from_iter(m: Machine, value: V) -> int | None:
    """GET_YIELD_FROM_ITER."""
    resolved = m.resolve(value)
    if isinstance(resolved, Ref) and virtual(m, resolved) is not None:
        m.push(resolved)
        return None
    if m.class_of(resolved) in (None, types.CoroutineType):
        m.push(m.emit(ops.yield_from_iter, [resolved]))
        return None
    return m.get_iter(value)


AFTER["throw_into"] = _after_throw
AFTER["send_on"] = _after_send


def _after_closing(m: Machine) -> int:
    """Continue the frame where it stood, after a generator that nobody held any more has been closed."""
    m.pop()
    return m.frame.pc


AFTER["closed"] = _after_closing
