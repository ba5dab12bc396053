"""The abstract machine: one chain of instructions at a time, emitting what cannot be done now.

Everything that instruction handlers need: the stack, emitting calls, escapes, raising, writes to what is static.
Where paths meet is the business of :mod:`hovis.engine.merge.merging`.
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
from hovis.engine.environment.folded_branches import Folded, begins
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
from hovis.ir.model import VALUES, Block, Branch, Edge, Effect, Function, Jump, Location, Op, Operand, Param, Raise
from hovis.ir.operations import END, enter_handler, raised, unchanged
from hovis.lattice import ANY, RAISED, AbstractValue, Const, Type
from hovis.lattice import Any as AnyType
from hovis.library.core import Library

#: What is written to is no object of the heap (see Machine.forget).
NOWHERE: Final = -1

#: An op with one of these in an active handler ends its block with two edges.
MAY_RAISE: Final = Effect.RAISES | Effect.OPAQUE
MAY_WRITE: Final = Effect.WRITES | Effect.OPAQUE


#: What a call may do at whose end a handler of signals may raise.
_INTERRUPTED: Final = Effect.RAISES | Effect.INTERRUPTED
_MAY_RAISE: Final = MAY_RAISE.value
_MAY_WRITE: Final = MAY_WRITE.value
_OPAQUE: Final = Effect.OPAQUE.value


#: What gives something that its first operand holds.
_TAKING: Final = (next, iter, getattr, operator.getitem, dict.get, dict.setdefault)


class Machine(abc.ABC):
    """State and output of the chain that is being evaluated."""

    def __init__(self, library: Library, tables: Tables, package: str, frozen: bool) -> None:
        self.library = library
        self.tables = tables
        self.environment = Environment(self, tables, frozen)
        self.effort = Effort(tables)
        self.keys = Keys(tables, self.effort)
        self.state = State([], {})
        #: is the residual to be compiled for something else than Python?
        self.known_sizes = False
        self.package = package
        self.block = Block()
        self.entry: Entry
        #: the instruction from which the frame on top has jumped back, where the chain has been in another frame since
        self.came: int | None = None
        self.emitted = 0
        self.next_aid = 0
        self.locations = Locations(package)
        self.endings = False
        #: the classes of instances that the trace has made, and code of which nothing is known has seen
        self.doubted: set[type] = set()
        #: is something told of items that nobody has looked at?
        self.untested = False
        #: codes that are active again and again, without a decision: how often, and what they have been given (see inline_python)
        self.repeated: dict[types.CodeType, tuple[int, Any]] = {}
        #: the op emitted last
        self.latest: Op | None = None
        #: what something has held that is another now, until the instruction at hand has been interpreted
        self.let_go: list[V] = []
        self.looks: list[Look] = []
        self.homes: dict[int, Entry] = {}
        self.lent: dict[int, Copy] = {}
        #: the arguments of the call that the instruction at hand is, if it leaves the result on the stack
        self.given: list[V] | None = None
        #: is it only to be found out what something will probably give?  Calls give what is expected of them then (see predicted_results)
        self.guesses = False
        #: operands of the op that is being emitted (what escapes with it may be held by one of them)
        self.pinned: Sequence[V] | None = None
        #: generators of which the real ones are being made
        self.building: set[int] = set()
        #: has a generator been suspended whose end would run something?
        self.watching = False
        #: the numbers of generators that may be suspended, in some state of the chain
        self.suspended: set[int] = set()
        #: is the trace done, and are edges being resolved?
        self.resolving = False
        #: objects of which it is asked whether anything is stored into them, by number; and those of which it was said that nothing is
        self.watched: dict[int, int] = {}
        self.trusted: set[int] = set()
        #: the entries that go past the head of a loop with a test, by the context and the head
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
        """The count top values, the deepest first."""
        stack = self.state.frames[-1].stack
        if not count:
            return []
        found = stack[-count:]
        del stack[-count:]
        return found

    def here(self) -> tuple[int, int]:
        """The site of the instruction that is being executed."""
        frame = self.state.frames[-1]
        return frame.ctx, frame.pc

    def named(self, value: V, name: object) -> None:
        """The user keeps value under this name: a variable, an attribute, a key."""
        if type(value) is Dyn and type(value.value) in VALUES and value.value.name is None and type(name) is str and name.isidentifier():  # type: ignore[union-attr]
            if not self.state.frames[-1].code.filename.startswith(self.package):
                value.value.name = name  # type: ignore[union-attr]

    def interprets(self, code: Code) -> bool:
        """Is it the code of an interpreter of hovis's own?"""
        return own_code.interprets(code.filename)

    def is_model(self, code: Code) -> bool:
        """Is it the library's own code, that does what a builtin does?"""
        return code.filename.startswith(self.package) and not self.interprets(code)

    def user_site(self) -> tuple[int, int]:
        """The site in the user's own code that led here (models of builtins are none of it)."""
        for frame in reversed(self.state.frames):
            if not frame.code.filename.startswith(self.package):
                return frame.ctx, frame.pc
        return self.here()

    def location(self) -> Location | None:
        """Where the current instruction stands, with the calls that inlined it."""
        frames = self.state.frames
        return self.locations.of(frames, len(frames) - 1)

    # --------------------------------------------------------------------------------------------- the heap

    def new(self, obj: VObj, labels: Labels = NO_LABELS) -> Ref:
        """Put a new object into the heap."""
        aid = self.number()
        self.state.heap[aid] = obj
        return Ref(aid, labels)

    def number(self) -> int:
        """The number of a new object."""
        self.next_aid += 1
        return self.next_aid

    def obj(self, value: V, *kinds: str) -> VObj | None:
        """The object behind value, if its contents are known (and it is of one of these kinds)."""
        if isinstance(value, Ref):
            found = self.state.heap[value.aid]
            if not found.forgotten and (not kinds or found.kind in kinds):
                return found
        return None

    def put(self, ref: Ref, obj: VObj) -> None:
        """A strong update."""
        old = self.state.heap[ref.aid]
        if old.lent is not None:
            raise NotMaterializable(materialize.lent_to(old.lent))
        if self.endings:
            lifetimes.replaced(self, obj.kind, old.cells, obj.cells)
        if self.watched and ref.aid in self.watched:
            self._rewritten(self.watched[ref.aid])
        self.state.heap[ref.aid] = obj

    def _rewritten(self, which: int) -> None:
        """What was watched is stored into: nothing that was said before without knowing it stands."""
        self.tables.rewritten.add(which)
        if which in self.trusted:
            raise Restart("rewritten")

    def resolve(self, value: V) -> V:
        """value; an SSA value, if it is a real object whose contents are not to be trusted (any more)."""
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
        """The type of an object of the trace; node: where it is a real one, which something else may have made."""
        if cls is not list or not self.known_sizes:
            return self.library.of_class(cls)
        return node.type if isinstance(node, Op | Param) else OWN_LIST

    def is_own_list(self, value: V) -> bool:
        """Is it a list of the trace that is gone through by positions (for it may get longer), and not by an iterator?"""
        return isinstance(value, Dyn) and value.type == OWN_LIST

    def look(self) -> None:
        """An opaque call may have changed the environment: the residual looks, and goes on as before if it has not.

        At the beginning of an instruction: where something has changed that is done as it stands (see Engine.plainly).
        """
        look = Look()
        ctx, pc = self.here()
        self.tables.looks.setdefault(ctx, set()).add(pc)
        self.environment.reads = look.keys
        same = self.emit(unchanged, [Known(look)], type=Type(bool), effect=Effect.READS)
        self.looks.append(look)
        changed = self.state.fork()
        changed.world = 2
        self.state.world = 0
        self.split(same, changed)

    def forget(self, opaque: bool = True, within: "int | type | None" = None) -> None:
        """Somebody else may have written: the contents of escaped objects are not known any more.

        An exception that only the interpreter holds can be had by opaque code alone.  within: it was this object that
        was written to, and whoever did it knows what it holds now; or one of exactly this class.  NOWHERE: it was none of them.
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
        """What is known of value, as library rules ask it."""
        if isinstance(value, Dyn):
            return value.type
        if isinstance(value, Known):
            if id(value.value) in self.tables.thawed:
                return Type(self._class_of(value.value))
            return Const(value.value)
        return self.kind_of(self.state.heap[value.aid].cls)

    def type_of_in(self, state: State, value: V) -> AbstractValue:
        """The type of value in another state than that of the chain."""
        if isinstance(value, Dyn):
            return value.type
        if isinstance(value, Known):
            return self.library.of_value(value.value)
        obj = state.heap[value.aid]
        return self.kind_of(obj.extra[2] if obj.inner else obj.cls, obj.node)

    def class_of(self, value: V) -> type | None:
        """The exact class of value, if it is known."""
        if isinstance(value, Known):
            return self._class_of(value.value)
        if isinstance(value, Ref):
            return self.state.heap[value.aid].cls
        return value.type.cls if isinstance(value.type, Type) else None

    def _class_of(self, held: object) -> type:
        """The class of a known object; somebody may assign to its ``__class__``."""
        cls = type(held)
        if not self.environment.frozen and can_change(cls) and not issubclass(type(held), type):
            self.environment.guard("type", held, None, cls)
        return cls

    # --------------------------------------------------------------------------------------------- emitting

    def operand(self, value: V) -> Operand:
        """The IR operand of value; a virtual object escapes."""
        if class_templates.ALL and isinstance(value, Known):
            value = materialize.real(self, value)
        if isinstance(value, Ref):
            obj = self.state.heap[value.aid]
            if obj.extra == exceptions.HANDLED and obj.kind == "exception":
                self.state.heap[value.aid] = obj.replace(extra=None)
            return materialize.materialize(self, value.aid)
        return operand_of(value)

    def known(self, value: object) -> Known:
        """A value that is known, for rules of libraries."""
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
        """Leave a call in the residual.  land: what is to become of an exception out of it, instead of unwinding.

        within: it writes to this object of the heap alone, to one of this class, or to NOWHERE in it (see forget).
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
        ended = callee is next and len(args) == 2 and isinstance(args[1], Known) and args[1].value is END
        # what is taken out of something that may end may end with it
        ends = ENDS if self.endings and holds(type) else 0
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
            elif finalizers.lets_go(op, within):
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
        """Close block with a jump to wherever state is."""
        edge = Edge(block)
        block.terminator = Jump(edge, self.location())
        self.edge(edge, state)

    def folded(self, other: int, labels: Labels) -> None:
        """The branch at hand was decided by what is known, and does not lead to other."""
        frame = self.frame
        if frame.code.filename.startswith(self.package):
            return
        told: tuple[Any, ...] = ()
        if self.environment.recent:
            first = begins(frame.code, frame.pc)
            told = tuple(key for key, stood in self.environment.recent if any(ctx == frame.ctx and first <= pc <= frame.pc for ctx, pc in stood))
        self.entry.folded[frame.ctx, frame.pc, other] = Folded(frame.code, frame.pc, other, labels, told)

    @abc.abstractmethod
    def acts(self, effect: Effect) -> None:
        """The current function may do this (see worklist)."""

    @abc.abstractmethod
    def call(self, callee: V, args: list[V], kwargs: dict[str, V], mode: str = "value") -> int | None:
        """Call any callee (see call): protocols call methods, and calls go by protocols."""

    @abc.abstractmethod
    def residual(self, aid: int) -> Operand:
        """The real generator for a virtual one (see residual_generators)."""

    @abc.abstractmethod
    def get_iter(self, value: V, mode: str = "value") -> int | None:
        """``iter(value)`` (see iteration)."""

    @abc.abstractmethod
    def step(self, iterator: V, mode: str, exit: int = -1) -> int | None:
        """One step of an iterator (see iteration)."""

    @abc.abstractmethod
    def edge(self, edge: Edge, state: State) -> None:
        """Arrive with state at a place where paths meet (see worklist)."""

    @abc.abstractmethod
    def arrive(self, site: Any, state: State, function: Function) -> Entry:
        """The entry for state where a residual function begins (see worklist)."""

    @abc.abstractmethod
    def push_work(self, entry: Entry) -> None:
        """An entry has to be evaluated (again)."""

    def meet(self, depth: int, a: int, b: int) -> None:
        """The paths that leave for a and b in the frame at depth will meet where both have to pass: remember it."""
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
                # both leave the callee: they meet behind its call
                self.tables.merge.setdefault(frames[depth].ctx, set()).add(frames[depth].pc + 1)
                return

    def branch(self, cond: Dyn, true: State, false: State, location: Location | None, at: int | None = None) -> int:
        """An unknown decision at location, by the instruction ``at``: both ways are followed, the true one first.

        But where one of them is a detour to the other, the direct one goes first: so what the rest of the program
        asks for is known when the detour arrives there with other values.
        """
        block = self.block
        yes, no = Edge(block), Edge(block)
        block.terminator = Branch(cond.value, yes, no, location)
        ways = [(no, false), (yes, true)]
        if self._is_detour(true, false):
            ways.reverse()
        for edge, state in ways:
            self._go_on(edge, state, at)
        return STOP

    def _is_detour(self, way: State, direct: State) -> bool:
        """Does ``way`` lead, forwards and without a loop, to where ``direct`` stands already?"""
        frame, other = way.frames[-1], direct.frames[-1]
        code, pc, at = frame.code, frame.pc, other.pc
        if frame.ctx != other.ctx or pc >= at or code.meet(pc, at) != at:
            return False
        return not any(pc <= head < at for head in code.loop_heads)

    def split(self, cond: Dyn, false: State) -> None:
        """An unknown decision within an instruction: the chain goes on where cond is true, false is followed later."""
        yes, no = Edge(Block()), Edge(self.block)
        self.block.terminator = Branch(cond.value, yes, no, self.location())
        self.block = yes.block
        (ctx, at), frame = self.here(), false.frames[-1]
        self._go_on(no, false, at if frame.ctx == ctx else None)

    def _go_on(self, edge: Edge, state: State, at: int | None) -> None:
        """An edge of a branch leads to where state is, perhaps by a jump back from the instruction ``at``."""
        if at is not None and state.frames[-1].pc < at and unwinding.polls(self, state, at):
            edge.block = Block()
            self.leave(unwinding.poll(self, edge.block, state, at), state)
        else:
            self.edge(edge, state)

    def header(self) -> bool:
        """Make this instruction a place where paths meet.  False: the chain came from elsewhere, and ends here."""
        ctx, pc = self.here()
        self.tables.merge.setdefault(ctx, set()).add(pc)
        if self.entry.site == self.state.site() and self.block is self.entry.block and not self.block.ops:
            return True
        self.leave(self.block, self.state)
        return False

    # --------------------------------------------------------------------------------------------- exceptions

    def raise_(self, exception: V, again: bool = False, thrown: bool = False) -> int:
        """A raise that is certain: a jump, if the handler is known, else the end of the residual.

        again: it has been raised before, its context is what it is; thrown: that was here, its traceback begins with all calls.
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
        """The op emitted last always raises: nothing comes behind it."""
        self.block.terminator = Raise(Const(None), False, self.location())
        return STOP

    def handle(self, exception: V) -> None:
        """Begin to handle exception (PUSH_EXC_INFO)."""
        self.emit(enter_handler, [exceptions.node_of(self, exception) if isinstance(exception, Ref) else exception], effect=Effect.IO)
        self.state.handled = exception

    # --------------------------------------------------------------------------------------------- uses

    def mark(self, labels: Labels | None, strength: int = STRONG) -> None:
        """Constants with these labels have decided something."""
        if labels:
            self.keys.mark(labels, strength)

    def use(self, value: V, strength: int = STRONG) -> None:
        """value chooses: an index, a key, a name, a callee, a class, an equality."""
        labels = value.lost if isinstance(value, Dyn) else value.labels
        if labels:
            self.keys.mark(labels, strength)

    def reason(self, what: str, hint: str = "") -> None:
        """Remember, for ``explain``, why something was left here, and what would help."""
        self.tables.reasons.setdefault((self.here(), what), (what, self.location(), hint))


Handler = Callable[[Machine, Any], "int | None"]

#: What becomes of an exception: a control code, as a handler gives it.
Landing = Callable[[Machine, V], "int | None"]
