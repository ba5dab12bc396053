"""The abstract machine: evaluates one chain of instructions at a time, and emits the operations that cannot be done while tracing.

It offers everything that instruction handlers need: the stack, emitting calls, escapes, raising, writes to static objects.
Merges of control flow are handled by :mod:`hovis.engine.merge.merging`.
"""

import abc
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any, Final

from hovis.base import own_code
from hovis.bytecode.instructions import Code
from hovis.engine.entries.entry import Entry
from hovis.engine.entries.keys import Keys
from hovis.engine.environment.guards import Look, can_change
from hovis.engine.environment.reads import Environment
from hovis.engine.machine import exceptions, materialize, unwinding
from hovis.engine.machine.locations import Locations
from hovis.engine.state import class_templates, finalizers, lifetimes
from hovis.engine.state.borrowed_copies import Copy
from hovis.engine.state.budget import Effort
from hovis.engine.state.frames_and_heap import STOP, SWITCH, Frame, State
from hovis.engine.state.heap import VObj, holds, may_be_one
from hovis.engine.state.specialization_tables import Restart, Tables
from hovis.engine.state.standins import NotMaterializable
from hovis.engine.state.values import ENDS, ENDS_READ, ENDS_TAKEN, NO_LABELS, OWN_LIST, STRONG, Dyn, Known, Labels, Ref, V, operand_of
from hovis.ir.model import VALUES, Block, Edge, Effect, Function, Jump, Location, Op, Operand, Param, Raise
from hovis.ir.operations import END, enter_handler, raised
from hovis.lattice import ANY, RAISED, AbstractValue, Const, Type
from hovis.lattice import Any as AnyType
from hovis.library.core import Library

#: ``within`` of a write to an object that is not in the heap (see Machine.forget).
NOWHERE: Final = -1

#: An op with one of these in an active handler ends its block with two edges.
MAY_RAISE: Final = Effect.RAISES | Effect.OPAQUE
MAY_WRITE: Final = Effect.WRITES | Effect.OPAQUE


#: Effects of a call at whose end a signal handler may raise.
_INTERRUPTED: Final = Effect.RAISES | Effect.INTERRUPTED
_MAY_RAISE: Final = MAY_RAISE.value
_MAY_WRITE: Final = MAY_WRITE.value
_OPAQUE: Final = Effect.OPAQUE.value


#: Functions that return something that their first operand holds.
_TAKING: Final = (next, iter, getattr, operator.getitem, dict.get, dict.setdefault)


class Machine(abc.ABC):
    """The state and the output of the chain that is being evaluated."""

    def __init__(self, library: Library, tables: Tables, package: str, frozen: bool) -> None:
        self.library = library
        self.tables = tables
        self.environment = Environment(self, tables, frozen)
        self.effort = Effort(tables)
        self.keys = Keys(tables, self.effort)
        self.state = State([], {})
        #: what is assumed, if the residual may be left for the original code where it does not hold (see hovis.engine.speculation)
        self.assumptions: Any = None
        #: is it known that the current instruction, a store, does not end the life of what was stored there before (see class_tests)?
        self.ends_nothing = False
        #: is the residual to be compiled by a back end other than Python, for known sizes?
        self.known_sizes = False
        self.package = package
        self.block = Block()
        self.entry: Entry
        #: the instruction from which the top frame has jumped back, if the chain has been in another frame since
        self.came: int | None = None
        self.emitted = 0
        #: number of instructions that the chain has executed, the present one included
        self.steps = 0
        self.next_aid = 0
        self.locations = Locations(package)
        #: has unknown code run in any state? Then a container must not be dropped before its variable ends, as it may hold the last references.
        self.endings_anywhere = False
        #: the classes of instances that the trace has made, and that have been passed to unknown code
        self.doubted: set[type] = set()
        #: does the trace assume something of items that has not been tested?
        self.untested = False
        #: codes that call themselves recursively, without a decision in between: how often, and with which arguments (see recursion)
        self.repeated: dict[types.CodeType, tuple[int, Any]] = {}
        #: the op emitted last
        self.latest: Op | None = None
        #: values that variables or objects have released, until the current instruction has been interpreted
        self.let_go: list[V] = []
        self.looks: list[Look] = []
        self.homes: dict[int, Entry] = {}
        self.lent: dict[int, Copy] = {}
        #: the arguments of the current instruction, if it is a call that leaves its result on the stack
        self.given: list[V] | None = None
        #: is the machine only predicting a probable result?  Calls give their predicted results then (see predicted_results)
        self.guesses = False
        #: operands of the op that is being emitted (one of them may hold an object that escapes with it)
        self.pinned: Sequence[V] | None = None
        #: virtual generators whose real ones are being built
        self.building: set[int] = set()
        #: has a generator been suspended that would run code when it is closed?
        self.watching = False
        #: the numbers of generators that may be suspended, in some state of the chain
        self.suspended: set[int] = set()
        #: is a side exit being emitted (see side_exits)?
        self.leaving = False
        #: is the trace done, and are edges being resolved?
        self.resolving = False
        #: the objects that are watched for stores into them: maps the number in the heap to the number of the question
        self.watched: dict[int, int] = {}
        #: the numbers of the questions on whose answer, that nothing is stored, the trace has relied
        self.trusted: set[int] = set()
        #: the entries whose chains go past a loop header that has a test, by call string and header
        self.went_past: dict[tuple[int, int], set[Entry]] = {}

    # --------------------------------------------------------------------------------------------- the frame

    @property
    def frame(self) -> Frame:
        return self.state.frames[-1]

    def push(self, value: V) -> None:
        self.state.frames[-1].stack.append(value)

    def pop(self) -> V:
        return self.state.frames[-1].stack.pop()

    def popn(self, count: int) -> list[V]:
        """Pop the count top values; the deepest comes first."""
        stack = self.state.frames[-1].stack
        if not count:
            return []
        found = stack[-count:]
        del stack[-count:]
        return found

    def here(self) -> tuple[int, int]:
        """Return the site of the instruction that is being executed."""
        frame = self.state.frames[-1]
        return frame.ctx, frame.pc

    def named(self, value: V, name: object) -> None:
        """Name an SSA value after the variable, attribute or key under which the user keeps it."""
        if type(value) is Dyn and type(value.value) in VALUES and value.value.name is None and type(name) is str and name.isidentifier():  # type: ignore[union-attr]
            if not self.state.frames[-1].code.filename.startswith(self.package):
                value.value.name = name  # type: ignore[union-attr]

    def interprets(self, code: Code) -> bool:
        """Is code part of an interpreter that belongs to hovis itself?"""
        return own_code.interprets(code.filename)

    def is_model(self, code: Code) -> bool:
        """Is code a model of the library, which is traced in place of a builtin?"""
        return code.filename.startswith(self.package) and not self.interprets(code)

    def user_site(self) -> tuple[int, int]:
        """Return the site in user code that led here (models of builtins do not count)."""
        for frame in reversed(self.state.frames):
            if not frame.code.filename.startswith(self.package):
                return frame.ctx, frame.pc
        return self.here()

    def location(self) -> Location | None:
        """Return the location of the current instruction, with the calls that inlined it."""
        frames = self.state.frames
        return self.locations.of(frames, len(frames) - 1)

    # --------------------------------------------------------------------------------------------- the heap

    def new(self, obj: VObj, labels: Labels = NO_LABELS) -> Ref:
        """Put a new object into the heap, and return a reference to it."""
        aid = self.number()
        self.state.heap[aid] = obj
        return Ref(aid, labels)

    def number(self) -> int:
        """Return the number for a new object."""
        self.next_aid += 1
        return self.next_aid

    def obj(self, value: V, *kinds: str) -> VObj | None:
        """Return the object behind value if its contents are known (and it is of one of these kinds), else None."""
        if isinstance(value, Ref):
            found = self.state.heap[value.aid]
            if not found.forgotten and (not kinds or found.kind in kinds):
                return found
        return None

    def put(self, ref: Ref, obj: VObj) -> None:
        """Replace an object in the heap (a strong update)."""
        old = self.state.heap[ref.aid]
        if old.lent is not None:
            raise NotMaterializable(materialize.lent_to(old.lent))
        if self.endings:
            lifetimes.replaced(self, obj.kind, old.cells, obj.cells)
        if self.watched and ref.aid in self.watched:
            self._rewritten(self.watched[ref.aid])
        self.state.heap[ref.aid] = obj

    def _rewritten(self, which: int) -> None:
        """Record a store into a watched object; restart if the trace has relied on there being none."""
        self.tables.rewritten.add(which)
        if which in self.trusted:
            raise Restart("rewritten")

    def resolve(self, value: V) -> V:
        """Return value, or an SSA value if it is a real object whose contents are not to be trusted (any more)."""
        if isinstance(value, Ref):
            obj = self.state.heap[value.aid]
            if obj.forgotten:
                assert obj.node is not None
                return Dyn(obj.node, self.kind_of(obj.cls, obj.node))
        elif isinstance(value, Known):
            if id(value.value) in self.tables.thawed:
                return Dyn(Const(value.value), Type(self._class_of(value.value)))
            if class_templates.ALL:
                return class_templates.actual(self.state.heap, value)
        return value

    def kind_of(self, cls: type, node: Operand | None = None) -> AbstractValue:
        """Return the type of an object of the trace; node: the SSA value of a real one, which something else may have made."""
        if cls is not list or not self.known_sizes:
            return self.library.of_class(cls)
        return node.type if isinstance(node, Op | Param) else OWN_LIST

    def is_own_list(self, value: V) -> bool:
        """Is value a list of the trace that is iterated over by positions (as it may grow), and not by an iterator?"""
        return isinstance(value, Dyn) and value.type == OWN_LIST

    @property
    def endings(self) -> bool:
        """May ends of lives show in the present state (see ``State``)?"""
        return self.state.endings

    @endings.setter
    def endings(self, value: bool) -> None:
        self.state.endings = value
        self.endings_anywhere |= value

    def forget(self, opaque: bool = True, within: "int | type | None" = None) -> None:
        """Forget the contents of escaped objects, because other code may have written to them.

        An exception that only the interpreter holds can be reached by opaque code alone.  within: only this object was written to, and
        the caller knows its new contents; or an object of exactly this class.  NOWHERE: no object of the heap was written to.
        """
        heap = self.state.heap
        if not heap or within == NOWHERE:
            return
        for aid, obj in heap.items():
            if isinstance(within, type):
                if obj.cls is not within:
                    continue
            elif within is not None and (aid == within or not may_be_one(obj, heap[within])):
                continue
            if obj.node is not None and not obj.forgotten and not obj.immutable and (opaque or obj.extra != exceptions.HANDLED):
                if obj.kind == "class":
                    heap[aid] = class_templates.forgotten(obj, opaque)
                    continue
                heap[aid] = obj.replace(forgotten="suspect") if obj.argument else obj.replace(forgotten=True, cells=(), keys=())
                if opaque and obj.kind == "instance" and can_change(obj.cls):
                    self.doubted.add(obj.cls)

    def type_of(self, value: V) -> AbstractValue:
        """Return the type of value, for rules of libraries."""
        if isinstance(value, Dyn):
            return value.type
        if isinstance(value, Known):
            if id(value.value) in self.tables.thawed:
                return Type(self._class_of(value.value))
            return Const(value.value)
        return self.kind_of(self.state.heap[value.aid].cls)

    def type_of_in(self, state: State, value: V) -> AbstractValue:
        """Return the type of value in a state other than that of the chain."""
        if isinstance(value, Dyn):
            return value.type
        if isinstance(value, Known):
            return self.library.of_value(value.value)
        obj = state.heap[value.aid]
        return self.kind_of(obj.extra[2] if obj.inner else obj.cls, obj.node)

    def class_of(self, value: V) -> type | None:
        """Return the exact class of value, or None if it is unknown."""
        if isinstance(value, Known):
            return self._class_of(value.value)
        if isinstance(value, Ref):
            return self.state.heap[value.aid].cls
        return value.type.cls if isinstance(value.type, Type) else None

    def _class_of(self, held: object) -> type:
        """Return the class of a known object, guarded where ``__class__`` can be assigned."""
        cls = type(held)
        if not self.environment.frozen and can_change(cls) and not issubclass(type(held), type):
            self.environment.guard("type", held, None, cls)
        return cls

    # --------------------------------------------------------------------------------------------- emitting

    def operand(self, value: V) -> Operand:
        """Return the IR operand of value; a virtual object is materialized."""
        if class_templates.ALL and isinstance(value, Known):
            value = materialize.real(self, value)
        if isinstance(value, Ref):
            obj = self.state.heap[value.aid]
            if obj.extra == exceptions.HANDLED and obj.kind == "exception":
                self.state.heap[value.aid] = obj.replace(extra=None)
            return materialize.materialize(self, value.aid)
        return operand_of(value)

    def known(self, value: object) -> Known:
        """Return a constant as an engine value, for rules of libraries."""
        return Known(value)

    def emit(
        self,
        callee: object,
        args: Sequence[V] = (),
        kwargs: dict[str, V] | None = None,
        type: AbstractValue = ANY,
        effect: Effect = Effect.OPAQUE,
        dims: tuple[V | None, ...] | None = None,
        lost: Labels | None = None,
        land: "Landing | None" = None,
        within: "int | type | None" = None,
    ) -> Dyn:
        """Emit a call. land: handles an exception out of it, instead of unwinding.

        within: the call writes only to this object of the heap, or to one of this class, or (NOWHERE) to none in the heap (see forget).
        """
        self.pinned = (*args, *kwargs.values()) if kwargs else args
        block, before = self.block, len(self.block.ops)
        operands = tuple([self.operand(a) for a in args])
        named = tuple((name, self.operand(v)) for name, v in kwargs.items()) if kwargs else ()
        self.pinned = None
        if class_templates.ALL and class_templates.of(callee) is not None:
            callee = Known(callee)
        if isinstance(callee, (Known, Ref, Dyn)):
            at = self.operand(callee)
            callee = at.value if isinstance(at, Const) else at
        if not callable(callee) and not isinstance(callee, Op | Param | Function):
            callee, operands = operator.call, (Const(callee), *operands)
        op = Op(callee, operands, named, type, None, effect, self.location())
        if dims is not None:
            op.dims = tuple(Const(None) if d is None else self.operand(d) for d in dims)
        made = block.ops[before:]
        self.add(op, land, within)
        if made:
            unwinding.cover(block, made)
        ended = callee is next and len(operands) == 2 and isinstance(operands[1], Const) and operands[1].value is END
        # a value that is taken out of a container whose end may show may end with it
        ends = ENDS if self.endings_anywhere and holds(type) else 0
        if not ends and isinstance(type, AnyType) and any(callee is one for one in _TAKING):
            ends = max((arg.ends or 0 for arg in args if isinstance(arg, Dyn)), default=0)
        if not ends and finalizers.gives_last(op):
            ends, self.endings = ENDS_READ if callee is next else ENDS_TAKEN, True
        return Dyn(op, type, dims, lost, ends=ends, maybe_end=ended)

    def add(self, op: Op, land: "Landing | None" = None, within: "int | type | None" = None) -> None:
        """Append op to the block, or end the block with it if an exception out of it is caught here."""
        self.emitted += 1
        self.effort.emitted += 1
        effect = op.effect._value_  # plain ints: operators of enums cost microseconds, and this runs for every op
        if effect & _MAY_WRITE:
            if effect & _OPAQUE:
                self.effort.opaque += 1
                finalizers.run(self)
            elif finalizers.lets_go(op, within) and not self.ends_nothing:
                finalizers.run(self)
            else:
                self.forget(False, within)
        if (effect & _MAY_RAISE or unwinding.interrupted(self, op)) and (land is not None or self.catching()):
            op.effect = op.effect if effect & _MAY_RAISE else op.effect | _INTERRUPTED
            unwinding.invoke(self, op, land)
        else:
            self.block.ops.append(op)
        self.latest = op

    def catching(self) -> bool:
        """Is an exception handler of the traced program active, or a generator that an exception would end?"""
        for frame in self.state.frames:
            handler = frame.handler if frame.polls else frame.code.instructions[frame.pc].handler
            if frame.owner is not None or handler is not None:
                return True
        return self.watching and lifetimes.any_must_close(self)

    def leave(self, block: Block, state: State) -> None:
        """Close block with a jump to the entry to which state belongs."""
        edge = Edge(block)
        block.terminator = Jump(edge, self.location())
        self.edge(edge, state)

    @abc.abstractmethod
    def assume_unreached(self, state: State) -> None:
        """Assume that this state is not reached: leave the residual there, if that is possible."""

    @abc.abstractmethod
    def acts(self, effect: Effect) -> None:
        """Record that the current function may have this effect (see worklist)."""

    @abc.abstractmethod
    def call(self, callee: V, args: list[V], kwargs: dict[str, V], mode: str = "value") -> int | None:
        """Call any callee (see call); abstract here, as protocols call methods, and calls use protocols."""

    @abc.abstractmethod
    def residual(self, aid: int) -> Operand:
        """Return the real generator for a virtual one (see residual_generators)."""

    @abc.abstractmethod
    def get_iter(self, value: V, mode: str = "value") -> int | None:
        """``iter(value)`` (see iteration)."""

    @abc.abstractmethod
    def step(self, iterator: V, mode: str, exit: int = -1) -> int | None:
        """Do one step of an iterator (see iteration)."""

    @abc.abstractmethod
    def edge(self, edge: Edge, state: State) -> None:
        """Lead an edge to the entry to which state belongs, where paths meet (see worklist)."""

    @abc.abstractmethod
    def arrive(self, site: Any, state: State, function: Function) -> Entry:
        """Return the entry for state where a residual function begins (see worklist)."""

    @abc.abstractmethod
    def push_work(self, entry: Entry) -> None:
        """Put an entry on the worklist, to be evaluated (again)."""

    def meet(self, depth: int, a: int, b: int) -> None:
        """Record as a merge point the place that the paths for a and b in the frame at depth both have to pass."""
        frames = self.state.frames
        for frame in frames:
            frame.decided = True
        while depth >= 0:
            frame = frames[depth]
            at = frame.code.meet(a, b)
            if at is not None:
                self.tables.merge.setdefault(frame.ctx, set()).add(at)
                return
            depth -= 1
            if depth >= 0:
                # both paths leave the callee: they meet after its call
                self.tables.merge.setdefault(frames[depth].ctx, set()).add(frames[depth].pc + 1)
                return

    # --------------------------------------------------------------------------------------------- exceptions

    def raise_(self, exception: V, again: bool = False, thrown: bool = False) -> int:
        """Do a raise that is certain: jump to the handler if it is known, else end the residual.

        again: it has been raised before and keeps its context; thrown: it was raised here, so its traceback begins with all calls.
        """
        location = self.location()
        exception = self.resolve(exception)
        exceptions.told(self, exception)
        if not self.catching():
            stacks = [value for frame in reversed(self.state.frames) for value in reversed(frame.stack)] if self.endings else []
            unwinding.leave_with(self, exception, again, location, unwinding.held(self), stacks)
            return STOP
        if isinstance(exception, Ref) and self.obj(exception, "exception"):
            if not again:
                exceptions.raised(self, exception)
        elif not again:
            exception = self.emit(raised, [exception], type=self._raised_type(exception), effect=Effect.READS)
        elif isinstance(exception, Ref):
            exception = Dyn(self.operand(exception), self.type_of(exception))
        exception = exceptions.traced(self, exception, again and not thrown)
        before = unwinding.held(self)
        start = exceptions.depth_of_handler(self) or (exceptions.depth_of(location) if again and not thrown else 1)
        caught, left, location = unwinding.unwind(self, exception, location, start)
        if caught:
            return SWITCH
        gone, self.let_go = self.let_go, []
        if self.watching and lifetimes.close_leaving(self, left, gone):
            return SWITCH
        unwinding.leave_with(self, left, True, location, before, gone)
        return STOP

    def _raised_type(self, exception: V) -> AbstractValue:
        cls = self.class_of(exception)
        if cls is not None and issubclass(cls, BaseException):
            return Type(cls)
        return RAISED

    def raise_new(self, cls: type[BaseException], *args: object, **kwargs: V) -> int:
        """Raise a new exception of a builtin class."""
        values = [a if isinstance(a, Known | Ref | Dyn) else Known(a) for a in args]
        if cls in exceptions.MODELLED and exceptions.takes(cls, kwargs):
            return self.raise_(exceptions.new(self, cls, values, kwargs))
        made = self.emit(cls, values, kwargs, type=Type(cls), effect=Effect.PURE)
        return self.raise_(made)

    def unreachable(self) -> int:
        """Close the block: the op emitted last always raises, and nothing follows it."""
        self.block.terminator = Raise(Const(None), False, self.location())
        return STOP

    def handle(self, exception: V) -> None:
        """Begin to handle exception (PUSH_EXC_INFO)."""
        self.emit(enter_handler, [exceptions.node_of(self, exception) if isinstance(exception, Ref) else exception], effect=Effect.IO)
        self.state.handled = exception

    # --------------------------------------------------------------------------------------------- uses

    def mark(self, labels: Labels | None, strength: int = STRONG) -> None:
        """Record that constants with these labels have decided something."""
        if labels:
            self.keys.mark(labels, strength)

    def use(self, value: V, strength: int = STRONG) -> None:
        """Record that value decides: it is an index, a key, a name, a callee, a class, or compared for equality."""
        labels = value.lost if isinstance(value, Dyn) else value.labels
        if labels:
            self.keys.mark(labels, strength)

    def reason(self, what: str, hint: str = "") -> None:
        """Record for ``explain`` why an operation was left in the residual here, and what would help."""
        self.tables.reasons.setdefault((self.here(), what), (what, self.location(), hint))


Handler = Callable[[Machine, Any], "int | None"]

#: Handles an exception; returns a control code, as an instruction handler does.
Landing = Callable[[Machine, V], "int | None"]
