"""Exception objects of the trace, known by their arguments and attributes (CPython: Objects/exceptions.c).

The cells of such an object are ``args``, the fields that its class has in C, and the instance's attributes.  Raising it
where a handler is known materializes it, with the traceback and the context that it has in CPython; its contents stay
known, so if the handler reads only these, the exception is removed from the residual (see passes/scalar/dce.py).
"""

import builtins
import functools
import operator
import types
from typing import TYPE_CHECKING, Any, Final

from hovis.engine.state.heap import FIELDS, VObj, fields_of
from hovis.engine.state.type_lookup import lookup
from hovis.engine.state.values import FALSE, NONE, TRUE, Dyn, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect, Location, Op, Operand, Param
from hovis.lattice import ANY, RAISED, AbstractValue, Const, Type, join

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine
    from hovis.engine.state.frames_and_heap import Frame

#: Classes whose instances consist of their arguments, their attributes and perhaps one of the fields in FIELDS.
MODELLED: Final = frozenset(
    cls
    for cls in vars(builtins).values()
    if isinstance(cls, type) and any(issubclass(cls, base) and cls.__basicsize__ == base.__basicsize__ for base in (BaseException, *FIELDS))
)

#: ``extra`` of an exception that only the interpreter holds, which is handling it: only opaque code can get it.
HANDLED: Final = "handled"

#: The attributes that a raise and its handler set.
MARKS: Final = frozenset({"__cause__", "__context__", "__suppress_context__", "__traceback__"})


def modelled(cls: type) -> bool:
    """Can instances of cls be objects of the trace? (They are made by ``BaseException.__new__``, and have no fields that are unknown here.)"""
    if cls in MODELLED:
        return True
    if type(cls) is not type or not issubclass(cls, BaseException) or lookup(cls, "__del__") is not None:
        return False
    if not isinstance(lookup(cls, "__new__"), types.BuiltinFunctionType):
        return False
    return all(base in MODELLED or base is object or "__slots__" not in base.__dict__ for base in cls.__mro__) and _own_layout(cls)


def _own_layout(cls: type) -> bool:
    return all(base in MODELLED or base is object or base.__flags__ & _HEAP_TYPE for base in cls.__mro__)


#: Flag of classes that Python code has made (CPython: Py_TPFLAGS_HEAPTYPE).
_HEAP_TYPE: Final = 1 << 9


def make(m: "Machine", cls: type, args: V) -> Ref:
    """Make the object that ``cls.__new__`` gives for a tuple of arguments."""
    fields = fields_of(cls)
    return m.new(VObj("exception", cls, (args, *(NONE for _ in fields)), ("args", *fields)))


def initialize(m: "Machine", exception: Ref, args: list[V], named: dict[str, V], fields: tuple[str, ...]) -> None:
    """``BaseException.__init__``, or that of a class with these fields of its own."""
    obj = m.state.heap[exception.aid]
    obj = obj.with_cell(0, m.new(VObj("tuple", tuple, tuple(args))))
    for name in fields:
        if name == "value":
            value = args[0] if args else NONE
        elif name == "code":
            value = NONE if not args else args[0] if len(args) == 1 else obj.cells[0]
        else:
            value = named.get(name, NONE)
        obj = obj.with_cell(obj.find(name), value)
    m.put(exception, obj)


def new(m: "Machine", cls: type, args: list[V], named: dict[str, V]) -> Ref:
    """Do ``cls(*args, **named)`` for a class without an ``__init__`` in Python."""
    exception = make(m, cls, NONE)
    initialize(m, exception, args, named, fields_of(cls))
    return exception


def takes(cls: type, named: dict[str, V]) -> bool:
    """Does the C initializer of cls accept these keyword arguments?"""
    return all(name in fields_of(cls) and name not in ("value", "code") for name in named)


def node_of(m: "Machine", exception: Ref) -> Dyn:
    """Return the real exception, for use by the interpreter alone: the program does not get hold of it."""
    held = m.state.heap[exception.aid].extra
    virtual = m.state.heap[exception.aid].node is None
    node = m.operand(exception)
    if virtual or held == HANDLED:
        m.put(exception, m.state.heap[exception.aid].replace(extra=HANDLED))
    return Dyn(node, Type(m.state.heap[exception.aid].cls))


def changed(m: "Machine", exception: Ref, callee: Any, args: list[V], effect: Effect) -> None:
    """Emit an op that returns the exception with a change that only handlers see; its result stands for the exception from now on."""
    node = node_of(m, exception)
    operands = (node.value, *(m.operand(arg) for arg in args))
    op = Op(callee, operands, (), node.type, None, effect, m.location())
    m.emitted += 1
    m.block.ops.append(op)
    m.put(exception, m.state.heap[exception.aid].replace(node=op))


def depth_of_handler(m: "Machine") -> int:
    """Return the number of user calls that lead to the frame that catches an exception raised here; 0 if no frame does."""
    frames = m.state.frames
    for at in range(len(frames) - 1, -1, -1):
        if frames[at].handler is not None:
            return depth_of(m.locations.of(m.state.frames, at))
    return 0


def depth_of(location: Location | None) -> int:
    """Return the number of user calls that a location is in; 0 for None."""
    return 0 if location is None else sum(1 for _ in location.chain())


def traced(m: "Machine", exception: V, again: bool) -> V:
    """Emit the op (if one is needed) that makes the traceback of an exception contain the calls from its handler on; return the exception."""
    depth = depth_of_handler(m)
    if again and not 0 < depth < depth_of(m.location()):
        return exception
    if not again and depth < 2:
        return exception
    callee: Any = ops.passed if again else ops.caught_at
    args: list[V] = [Known(depth)]
    if isinstance(exception, Ref) and m.obj(exception, "exception"):
        changed(m, exception, callee, args, Effect.READS)
        return exception
    return m.emit(callee, [exception, *args], type=m.type_of(exception) if isinstance(exception, Dyn) else RAISED, effect=Effect.READS)


def out_of(m: "Machine", op: Op, param: Param) -> V:
    """Return the exception that comes out of an op that raised: a known one, if only one is possible."""
    depth = depth_of_handler(m)
    caught: Param | Op = param
    if depth > 1:
        caught = Op(ops.caught_at, (param, Const(depth)), (), RAISED, None, Effect.READS, m.location())
        m.block.ops.append(caught)
    try:
        rule = m.library.raises.get(op.callee) if not op.kwargs and not op.effect & Effect.OPAQUE else None
    except TypeError:
        rule = None
    found = rule(*(arg if isinstance(arg, Const) else getattr(arg, "type", ANY) for arg in op.args)) if rule is not None else None
    if found is None:
        return Dyn(caught, RAISED)
    cls, args = found
    if type(cls) is tuple:
        kinds: list[AbstractValue] = [Type(one) for one in cls]
        caught.type = param.type = functools.reduce(join, kinds)
        return Dyn(caught, caught.type)
    caught.type = param.type = Type(cls)
    if args is None or cls not in MODELLED:
        return Dyn(caught, caught.type)
    cells = tuple(_argument(m, op, caught, arg) for arg in args)
    fields = fields_of(cls)
    told = tuple(read(m, caught, name) for name in fields)
    made = m.new(VObj("exception", cls, (m.new(VObj("tuple", tuple, cells)), *told), ("args", *fields), extra=HANDLED, node=caught))
    marked(m, made, m.state.handled)
    return made


def _argument(m: "Machine", op: Op, caught: Param | Op, arg: Any) -> V:
    """Return an argument of an exception: a constant, an operand of op, or a value of a known type."""
    if isinstance(arg, AbstractValue):
        args = Op(getattr, (caught, Const("args")), (), Type(tuple), None, Effect.READS, m.location())
        item = Op(operator.getitem, (args, Const(0)), (), arg, None, Effect.READS, m.location())
        m.block.ops += [args, item]
        return Dyn(item, arg)
    if type(arg).__name__ == "Index":
        operand = op.args[arg.at]
        return Known(operand.value) if isinstance(operand, Const) else Dyn(operand, getattr(operand, "type", ANY))
    return Known(arg)


def raised(m: "Machine", exception: Ref) -> None:
    """Mark the exception as raised here: it has a traceback, and the exception that is being handled as its context."""
    changed(m, exception, ops.raised, [], Effect.READS)
    handled = m.state.handled
    if isinstance(handled, Ref) and handled.aid == exception.aid:
        return
    for aid, other in m.state.heap.items():
        # a chain of contexts that leads back to this exception is cut there, as in CPython: read that context at run time
        at = other.find("__context__") if other.kind == "exception" and other.node is not None else -1
        cell = other.cells[at] if at >= 0 else None
        if isinstance(cell, Ref) and cell.aid == exception.aid:
            assert other.node is not None
            m.state.heap[aid] = other.with_cell(at, read(m, other.node, "__context__"))
    marked(m, exception, handled)


def told(m: "Machine", exception: V) -> None:
    """Set ``name`` and ``obj`` of an AttributeError that has neither when it leaves a call that reads an attribute."""
    cls = m.class_of(exception)
    if cls is None or not issubclass(cls, AttributeError) or not isinstance(exception, Ref) or m.obj(exception, "exception") is None:
        return
    for frame in reversed(m.state.frames):
        if frame.handler is not None:
            return
        if frame.asked is not None:
            break
    else:
        return
    obj = m.state.heap[exception.aid]
    cells = [obj.cells[obj.find(name)] for name in ("name", "obj")]
    if all(isinstance(cell, Known) and cell.value is None for cell in cells):
        store(m, exception, "name", Known(frame.asked_name))
        store(m, exception, "obj", frame.asked)


def marked(m: "Machine", exception: Ref, handled: V) -> None:
    """Record the attributes that a raise sets; at the beginning of the traced function it is unknown which exception is being handled."""
    obj = m.state.heap[exception.aid]
    assert obj.node is not None
    unknown = isinstance(handled, Known) and handled.value is None
    context = read(m, obj.node, "__context__") if unknown or _deep(m, handled) else handled
    marks = {"__cause__": NONE, "__suppress_context__": FALSE, "__context__": context}
    for name, value in marks.items():
        index = obj.find(name)
        if index < 0:
            obj = obj.with_new(name, value)
        elif name == "__context__":
            obj = obj.with_cell(index, value)
    m.put(exception, obj)


#: The most exceptions of a chain of contexts and causes that stay known: a loop may chain ever more of them.
CHAIN: Final = 4


def _deep(m: "Machine", exception: V) -> bool:
    """Are at least CHAIN exceptions known in the chain that begins with this one?"""
    todo, seen = [(exception, 1)], set()
    while todo:
        value, depth = todo.pop()
        if isinstance(value, Ref) and value.aid not in seen and m.state.heap[value.aid].kind == "exception":
            if depth >= CHAIN:
                return True
            seen.add(value.aid)
            obj = m.state.heap[value.aid]
            todo += [(cell, depth + 1) for name, cell in zip(obj.keys, obj.cells, strict=False) if name in MARKS]
    return False


#: The values that the frames hold which an exception has left, as an attribute whose name no program can use.
_FRAMES: Final = " frames"


def hold(m: "Machine", frame: "Frame", exception: V, left: "list[V]") -> None:
    """Record that an exception has left frames for this one: its traceback keeps alive what they hold, at least until it is handled."""
    clean: set[int] = set()
    kept = [value for value in left if m.state.ends_visibly(value, clean)]
    if not kept:
        return
    # the innermost frame is released first (tb_dealloc), and a tuple releases its last item first
    held = m.new(VObj("tuple", tuple, tuple(reversed(kept))))
    slot = len(frame.code.names)
    before = frame.locals[slot]
    frame.locals[slot] = held if before is None else m.new(VObj("tuple", tuple, (before, held)))
    obj = m.obj(exception, "exception")
    if obj is not None and isinstance(exception, Ref):
        m.state.heap[exception.aid] = obj.with_named(_FRAMES, held)


def let_frames_go(m: "Machine") -> None:
    """Release the exception that the top frame has handled, and what the frames held that it left."""
    frame = m.frame
    slot = len(frame.code.names)
    m.let_go.append(m.state.handled)
    held = frame.locals[slot]
    if held is not None:
        m.let_go.append(held)
        frame.locals[slot] = None


def caused(m: "Machine", exception: Ref, cause: V) -> None:
    """Set the cause for ``raise exception from cause``, before the raise."""
    changed(m, exception, ops.with_cause, [cause], Effect.WRITES)
    obj = m.state.heap[exception.aid]
    assert obj.node is not None
    known = read(m, obj.node, "__cause__") if _deep(m, cause) else cause
    for name, value in (("__cause__", known), ("__suppress_context__", TRUE)):
        obj = obj.with_named(name, value)
    m.put(exception, obj)


def noted(m: "Machine", exception: Ref, note: V) -> None:
    """Do ``exception.add_note(note)`` for a real exception."""
    changed(m, exception, ops.with_note, [note], Effect.WRITES)
    obj = m.state.heap[exception.aid]
    assert obj.node is not None
    m.put(exception, obj.with_named("__notes__", read(m, obj.node, "__notes__")))


def read(m: "Machine", node: Operand, name: str) -> Dyn:
    """Emit a read of an attribute of the real exception."""
    op = Op(getattr, (node, Const(name)), (), ANY, None, Effect.READS, m.location())
    m.block.ops.append(op)
    return Dyn(op, ANY)


def get(m: "Machine", value: Ref, name: str) -> "V | None":
    """Return an attribute that the exception object itself has; None if it has none by that name."""
    obj = m.state.heap[value.aid]
    index = obj.find(name)
    if index >= 0:
        return obj.cells[index]
    if name not in MARKS:
        return None
    if obj.node is None:
        return Known(False) if name == "__suppress_context__" else NONE
    node = node_of(m, value)
    return m.emit(getattr, [node, Known(name)], type=Type(bool) if name == "__suppress_context__" else ANY, effect=Effect.READS)


def store(m: "Machine", target: Ref, name: str, value: V) -> bool:
    """Do ``target.name = value`` if only the exception object itself is involved; False if not."""
    obj = m.obj(target, "exception")
    if obj is None or name in MARKS or name == "__dict__" or (name == "args" and m.class_of(value) is not tuple):
        return False
    if obj.node is not None:
        changed(m, target, ops.with_attribute, [Known(name), value], Effect.WRITES)
        obj = m.state.heap[target.aid]
    m.put(target, obj.with_named(name, value))
    return True
