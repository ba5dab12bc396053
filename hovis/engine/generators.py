"""Generators: suspended frames in the heap, resumed inline by a traced consumer (CPython: Objects/genobject.c).

The object's cells are the frame's locals and then its stack; ``extra`` is ("new" | "suspended" | "running" |
"finished", code, namespace, pc, number of locals, site).  A generator that escapes before it began is made by
calling its function; one that escapes later cannot be built in mid-flight, so that its call stays a call.
"""

from typing import Any

from hovis.engine.heap import VObj
from hovis.engine.machine import SWITCH, Machine, Restart
from hovis.engine.results import finish, opaque
from hovis.engine.state import Frame
from hovis.engine.values import NONE, UNBOUND_VALUE, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.ir.operations import END

GENERATOR = type(_ for _ in ())


def create(m: Machine, known: Any, bound: list[V | None], callee: V, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    """A call of a generator function: its frame, not yet begun."""
    site = m.user_site()
    if site in m.tables.not_virtual:
        target: Any = callee.value if isinstance(callee, Known) else callee
        m.reason(f"the generator {known.qualname} leaves the traced code when it has begun")
        return finish(m, opaque(m, target, args, kwargs), mode)
    cells = tuple(UNBOUND_VALUE if v is None else v for v in bound)
    extra = ("new", known.code, known.namespace, 0, len(cells), site)
    return finish(m, m.new(VObj("generator", GENERATOR, cells, extra=extra)), mode)


def refuse(m: Machine, obj: VObj) -> None:
    """This generator has to be a real one."""
    m.tables.not_virtual.add(obj.extra[5])
    raise Restart("generator")


def resume(m: Machine, ref: Ref, sent: V, mode: str) -> int | None:
    """Go on in the generator; what it yields goes to the consumer as mode says."""
    obj = m.state.heap[ref.aid]
    status, code, namespace, pc, count, site = obj.extra
    if status == "finished":
        return exhausted(m, NONE, mode)
    if status == "running" or (status == "new" and not (isinstance(sent, Known) and sent.value is None)):
        refuse(m, obj)
    caller = m.frame
    ctx = m.tables.contexts[caller.ctx, caller.pc, code, pc]
    m.homes.setdefault(ctx, m.homes[m.state.frames[0].ctx])
    frame = Frame(code, ctx, list(obj.cells[:count]), namespace, mode)
    frame.stack = list(obj.cells[count:])
    frame.pc = pc
    frame.owner = ref.aid
    if status == "suspended":
        frame.stack.append(sent)
    m.put(ref, obj.replace(cells=(), extra=("running", code, namespace, pc, count, site)))
    m.state.frames.append(frame)
    return SWITCH


def yielded(m: Machine) -> int | None:
    """The body yields: back to the consumer."""
    frame = m.frame
    if frame.owner is None:
        raise AssertionError("a generator function is not traced as a function")
    value = m.pop()
    obj = m.state.heap[frame.owner]
    if any(i.op == "PushExc" for i in frame.code.instructions) and _handling(m, frame):
        # what is being handled would have to be set aside while the consumer runs
        refuse(m, obj)
    cells = tuple(UNBOUND_VALUE if v is None else v for v in frame.locals)
    extra = ("suspended", frame.code, frame.namespace, frame.pc + 1, len(cells), obj.extra[5])
    m.state.heap[frame.owner] = obj.replace(cells=cells + tuple(frame.stack), extra=extra)
    m.state.frames.pop()
    return _deliver(m, value, frame.mode)


def _handling(m: Machine, frame: Frame) -> bool:
    handler = frame.code.instructions[frame.pc].handler
    return handler is not None and handler.depth < len(frame.stack) and bool(handler.lasti) and _is_handled(m, frame)


def _is_handled(m: Machine, frame: Frame) -> bool:
    return any(v is m.state.handled for v in frame.stack) or not (isinstance(m.state.handled, Known) and m.state.handled.value is None)


def finished_extra(obj: VObj) -> Any:
    """What stays of a generator that has ended."""
    return "finished", None, None, 0, 0, obj.extra[5]


def finished(m: Machine, value: V) -> int | None:
    """The body returns: StopIteration for the consumer."""
    frame = m.frame
    assert frame.owner is not None
    m.state.heap[frame.owner] = m.state.heap[frame.owner].replace(cells=(), extra=finished_extra(m.state.heap[frame.owner]))
    m.state.frames.pop()
    mode = frame.mode
    status = exhausted(m, value, mode)
    if status is None:
        m.frame.pc += 1
        return SWITCH
    if status >= 0:
        m.frame.pc = status
        return SWITCH
    return status


def _deliver(m: Machine, value: V, mode: str) -> int | None:
    """A yielded value for the consumer."""
    m.push(value)
    m.frame.pc += 1
    return SWITCH


def exhausted(m: Machine, value: V, mode: str) -> int | None:
    """The iterator of a consumer has come to its end (the consumer's frame is on top)."""
    frame = m.frame
    if mode == "for":
        frame.stack.pop()
        return int(frame.code.instructions[frame.pc].arg)
    if mode == "send":
        m.push(value)
        return int(frame.code.instructions[frame.pc].arg)
    if mode == "end":
        m.push(Known(END))
        return None
    return m.raise_new(StopIteration, *([] if isinstance(value, Known) and value.value is None else [value]))


def send(m: Machine, done: int) -> int | None:
    """SEND: receiver and value on the stack."""
    value = m.pop()
    receiver = m.resolve(m.frame.stack[-1])
    if isinstance(receiver, Ref) and m.state.heap[receiver.aid].kind == "generator":
        return resume(m, receiver, value, "send")
    if isinstance(value, Known) and value.value is None and isinstance(receiver, Ref):
        return m.step(receiver, "send", done)
    frame = m.frame
    if frame.owner is not None:
        refuse(m, m.state.heap[frame.owner])
    raise AssertionError("yield from outside a generator")


def leave_by_exception(m: Machine) -> int | None:
    """INTRINSIC_STOPITERATION_ERROR: a StopIteration that leaves a generator becomes a RuntimeError (PEP 479)."""
    exception = m.pop()
    cls = m.class_of(exception)
    if cls is not None and issubclass(cls, BaseException) and not issubclass(cls, StopIteration):
        m.push(exception)
        return None
    m.push(m.emit(ops.stop_iteration_error, [exception], effect=Effect.WRITES))
    return None


def cleanup_throw(m: Machine) -> int | None:
    """CLEANUP_THROW: an exception came out of the sub-iterator of a ``yield from``: its StopIteration is its result."""
    exception = m.pop()
    m.popn(2)
    cls = m.class_of(exception)
    if cls is StopIteration:
        m.push(Known(None))
        m.push(m.emit(getattr, [exception, Known("value")], effect=Effect.READS))
        return None
    if cls is not None and issubclass(cls, BaseException) and not issubclass(cls, StopIteration):
        return m.raise_(exception, again=True)
    frame = m.frame
    assert frame.owner is not None
    refuse(m, m.state.heap[frame.owner])
    return None


def yield_from_iter(m: Machine, value: V) -> int | None:
    """GET_YIELD_FROM_ITER."""
    resolved = m.resolve(value)
    if isinstance(resolved, Ref) and m.state.heap[resolved.aid].kind == "generator":
        m.push(resolved)
        return None
    return m.get_iter(value)
