"""A Function to a Python function.

The way of an op: ``flow`` says what is live, ``linear`` which instructions it becomes, ``slots`` where its result lives,
the ``Emitter`` here puts the blocks in a row with their jumps, moves and handlers, and ``encode`` makes the code object.
"""

from collections.abc import Mapping, Sequence, Set
from types import CellType, CodeType, FunctionType
from typing import Any, Final

from hovis.backend.carrying import carry
from hovis.backend.encode import (
    COPY,
    DELETE_FAST,
    END_FOR_POPS_ONE,
    LOAD_FAST,
    NOWHERE,
    NULL_FIRST,
    OP,
    OPPOSITE,
    POP_EXCEPT,
    POP_TOP,
    PRECALL,
    RERAISE,
    STOPITERATION_ERROR,
    STORE_FAST,
    SWAP,
    TAKE_FAST,
    Assembly,
    Label,
    Position,
    Region,
    make_code,
    unique,
)
from hovis.backend.flow import Flow, Sightings, may_finalize
from hovis.backend.linear import AT, CELL, COVER, DO, DROP, GUARD, HANDLERS, KEEP, LOAD, MOVE, STORE, UNGUARD, Item, Linear, Pool
from hovis.backend.load import Tracebacks, outline
from hovis.backend.making import make_function
from hovis.backend.rules import Rule
from hovis.backend.slots import Slots
from hovis.ir.model import CAUGHT, Block, Branch, Caught, Edge, Function, Invoke, Jump, Location, Op, Operand, Param, Raise, Return, Value, callees
from hovis.ir.operations import PACKAGE, bind, current_exception, drop, keep, make_exception, with_attribute
from hovis.lattice import Const

#: Helpers that are never called.
_SILENT: Final = (drop, keep, current_exception, bind, make_exception, with_attribute)


def assemble(
    function: Function,
    namespace: dict[str, Any],
    *,
    parameters: Sequence[str] | None = None,
    defaults: tuple[object, ...] | None = None,
    kwdefaults: Mapping[str, object] | None = None,
    name: str | None = None,
    qualname: str | None = None,
    module: str | None = None,
    doc: str | None = None,
    positional_only: int = 0,
    keyword_only: int = 0,
    star: bool = False,
    double_star: bool = False,
    lasting: Set[str] = frozenset(),
) -> FunctionType:
    """The Python function that function is.

    ``parameters`` are the names of its params; of these the last ``keyword_only`` are keyword-only, and behind them
    come ``*args`` if ``star`` and ``**kwargs`` if ``double_star``.  Those in ``lasting`` keep what they are given until the end.
    """
    assembler = _Assembler(namespace, set(map(id, callees(function))))
    made = assembler.compile(function, parameters, (positional_only, keyword_only, star, double_star), name, qualname, lasting, (defaults, kwdefaults))
    plain = not (keyword_only or star or double_star)
    if plain and id(function) in assembler.cells:
        assembler.cells[id(function)].cell_contents = made
    assembler.finish()
    if module is not None:
        made.__module__ = module
    made.__doc__ = doc
    return made


class _Assembler:
    """The closure cells of one call of ``assemble``; residual functions are compiled once each."""

    def __init__(self, namespace: dict[str, Any], called: Set[int]) -> None:
        self.namespace = namespace
        #: the Functions that are called, by id: others are constants like any
        self.called = called
        self.cells: dict[int, CellType] = {}
        self.functions: list[Function] = []

    def cell_of(self, value: object) -> CellType:
        """The cell that holds value; for a Function, what it is compiled to."""
        cell = self.cells.get(id(value))
        if cell is None:
            if isinstance(value, Function) and id(value) in self.called:
                cell = CellType()
                self.functions.append(value)
            else:
                cell = CellType(value)
            self.cells[id(value)] = cell
        return cell

    def finish(self) -> None:
        """Compile the Functions that are called."""
        for function in self.functions:  # grows on the way
            cell = self.cells[id(function)]
            try:
                cell.cell_contents  # noqa: B018
            except ValueError:
                cell.cell_contents = self.compile(function)

    def compile(
        self,
        function: Function,
        parameters: Sequence[str] | None = None,
        shape: tuple[int, int, bool, bool] = (0, 0, False, False),
        name: str | None = None,
        qualname: str | None = None,
        lasting: Set[str] = frozenset(),
        defaults: tuple[tuple[object, ...] | None, Mapping[str, object] | None] = (None, None),
    ) -> FunctionType:
        """One Function, by itself."""
        if parameters is None:
            parameters = [param.name or f"p{k}" for k, param in enumerate(function.params)]
        assert len(parameters) == len(function.params), "one name for each parameter"
        taken: set[str] = set()
        variables = [unique(given, taken) for given in parameters]
        flow = Flow(function)
        pool = Pool(self.cell_of, taken)
        marks = _Marks(flow)
        linear = Linear(flow, pool, self.namespace, marks.watched)
        marks.ruled = linear.rules
        code = {block: linear.block(block) for block in flow.order}
        stay = {param for param, given in zip(function.params, parameters, strict=True) if given in lasting and may_finalize(param.type)}
        carried = carry(flow, linear, code)
        slots = Slots(flow, code, variables, taken, stay)
        emitter = Emitter(flow, linear, code, slots, marks, carried)
        emitter.clears = dict.fromkeys(stay, False)
        emitter.run()
        made = _code(function, emitter, shape, name, qualname)
        return make_function(made, self.namespace, tuple(pool.cells), *defaults)


def _code(function: Function, emitter: "Emitter", shape: tuple[int, int, bool, bool], name: str | None, qualname: str | None) -> CodeType:
    positional_only, keyword_only, star, double_star = shape
    at = function.location
    qualname = qualname or (at.function if at is not None else function.name)
    first_line = at.first_line if at is not None else 1
    fallback: Position = (first_line, first_line, None, None)

    def position(place: object) -> Position:
        if place is NOWHERE:
            return NOWHERE
        chain = emitter.marks.outline(place)
        return (chain[0].line, chain[0].end_line, chain[0].col, chain[0].end_col) if chain else fallback

    count = len(function.params) - keyword_only - star - double_star
    # OPTIMIZED, NEWLOCALS, VARARGS, VARKEYWORDS, NESTED, GENERATOR (Include/cpython/code.h)
    flags = 3 | star << 2 | double_star << 3 | bool(emitter.pool.cells) << 4 | function.is_generator << 5
    code, starts = make_code(
        emitter.asm,
        emitter.pool.constants,
        emitter.pool.names,
        emitter.slots.names,
        emitter.pool.cell_names,
        (count, positional_only, keyword_only),
        flags,
        at.file if at is not None else "<hovis>",
        name or qualname.rpartition(".")[2],
        qualname,
        first_line,
        position,
    )
    if emitter.mending is not None:
        emitter.mending.fill(starts, emitter.asm.places, emitter.marks.inner)
    return code


class _Marks:
    """Which ops stand in inlined code, or call a helper of hovis: there tracebacks have to be mended."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._outlines: dict[int, tuple[Location, ...]] = {}
        self._sightings: Sightings | None = None
        #: ops that became instructions: their callee is not called
        self.ruled: dict[Op, Rule | None] = {}

    def outline(self, place: object) -> tuple[Location, ...]:
        """The user's calls around a place, outermost first."""
        if not isinstance(place, Location):
            return ()
        found = self._outlines.get(id(place))
        if found is None:
            found = self._outlines[id(place)] = outline(place)
        return found

    def inner(self, place: object) -> tuple[Location, ...] | None:
        """The inlined calls around a place, outermost first; None: it is in front of all that is the user's."""
        return None if self.foremost(place) else self.outline(place)[1:]

    def foremost(self, place: object) -> bool:
        """Is it a place in hovis itself alone: the call of an original?"""
        return isinstance(place, Location) and not self.outline(place)

    def inlined(self, location: Location | None) -> bool:
        """Does it stand in a function that was inlined?"""
        return location is not None and location.caller is not None and len(self.outline(location)) > 1

    def marked(self, op: Op) -> bool:
        """Would a traceback that begins here be wrong?"""
        if self.inlined(op.location) or self.foremost(op.location):
            return True
        callee = op.callee
        return type(callee) is FunctionType and callee.__code__.co_filename.startswith(PACKAGE) and self.ruled.get(op) is None and callee not in _SILENT

    def any(self) -> bool:
        """Is there such an op at all?"""
        return any(
            any(map(self.marked, block.all_ops())) or (isinstance(block.terminator, Raise) and self.inlined(block.terminator.location))
            for block in self._flow.order
        )

    def watched(self, op: Op, exception: Value | None = None) -> bool:
        """Is somebody going to look at the traceback of the exception that comes out of op?"""
        if not self.marked(op):
            return False
        if self._sightings is None:
            self._sightings = Sightings(self._flow)
        return self._sightings.of(op if exception is None else exception)


class _Stub:
    """Code on an edge that stands apart from both its blocks."""

    __slots__ = ("carries", "edge", "handlers", "label", "live", "mend", "prefix", "top")

    def __init__(
        self, label: Label, edge: Edge, live: set[Value], handlers: int, top: Operand | None = None, mend: bool = False, prefix: str = "", carries: bool = False
    ) -> None:
        self.label, self.edge, self.live, self.handlers = label, edge, live, handlers
        self.top, self.mend, self.prefix, self.carries = top, mend, prefix, carries


class _Plan:
    """What happens on an edge: loads (and which of them take), stores in reverse, locals to clear."""

    __slots__ = ("clears", "moves", "takes")

    def __init__(self, moves: list[tuple[Param, Operand]], takes: set[int], clears: list[int]) -> None:
        self.moves, self.takes, self.clears = moves, takes, clears

    def __bool__(self) -> bool:
        return bool(self.moves or self.clears)


class Emitter:
    """Puts the stack code of the blocks in a row."""

    def __init__(self, flow: Flow, linear: Linear, code: dict[Block, list[Item]], slots: Slots, marks: _Marks, carried: dict[Block, set[Block]]) -> None:
        self.flow, self.linear, self.code, self.slots, self.marks = flow, linear, code, slots, marks
        self.is_generator = flow.is_generator
        self.pool = linear.pool
        self.asm = Assembly()
        self.of = slots.of
        #: what takes a value from the stack that the block before has left there
        self.carried = carried
        self.takers = {taker for takers in carried.values() for taker in takers}
        self.labels = {block: Label() for block in flow.order}
        self.stubs: dict[Block, list[_Stub]] = {}
        self.mending = Tracebacks() if marks.any() else None
        self.regions: list[Region] = []
        self.handlers = 0
        self._pads: dict[object, Region] = {}
        #: is a value's local to be cleared where it dies?
        self.clears: dict[Value, bool] = {}

    def run(self) -> None:
        """The whole function."""
        asm, order = self.asm, self.flow.order
        self.linear.items = []
        for block in order:
            # what edges load needs its cells now: their number comes first in the code
            for edge in self.flow.leaving(block):
                for _, value in self.flow.moves(edge):
                    if isinstance(value, Const):
                        self.linear.constant(value.value)
        count = len(self.pool.cells)
        if count:
            asm.do(OP["COPY_FREE_VARS"], count)
        if self.is_generator:
            asm.do(OP["RETURN_GENERATOR"], 0, 1)
            asm.do(POP_TOP, 0, -1)
        asm.do(OP["RESUME"])
        falling = True
        for k, block in enumerate(order):
            if not falling:
                self._write_detours(block)
                self._write_stubs(block, falls=True)
            following = order[k + 1] if k + 1 < len(order) else None
            falling = self.block(block, following)
        for block in order:
            self._write_stubs(block, falls=False)
        self._cleanups()
        assert len(self.pool.cells) == count

    # --------------------------------------------------------------------------------------------- blocks

    def block(self, block: Block, following: Block | None) -> bool:
        """One block; does it fall through into the one that follows?"""
        asm = self.asm
        asm.bind(self.labels[block])
        self.handlers = self.flow.handlers[block]
        asm.depth = self.handlers + (block in self.takers)
        asm.region = self._region(self.handlers)
        # loads in front belong to the first op
        asm.place = next((item[1] for item in self.code[block] if item[0] == AT), None)
        pad = Label()
        last, tail = self.slots.last[block], self.linear.tails.get(block, 1 << 60)
        stored, arguments = self._overwritten(block), self.linear.arguments.get(block, 1 << 60)
        do, deref = asm.do, asm.deref
        for k, item in enumerate(self.code[block]):
            kind = item[0]
            if kind == DO:
                do(item[1], item[2], item[3])
            elif kind == LOAD:
                # among a Jump's arguments, what a param of the target holds already stays where it is
                self._load(item[1], k in last and k < tail and (k < arguments or self.of[item[1]] not in stored))
            elif kind == CELL:
                deref(item[1], item[2], item[3])
            elif kind == STORE:
                do(STORE_FAST, self.of[item[1]], -1)
            elif kind == AT:
                asm.place = item[1]
            elif kind == MOVE:
                self._move(item[1], item[2], k in last, stored)
            elif kind == DROP:
                if k in last and k < tail and self._matters(item[1]):
                    do(DELETE_FAST, self.of[item[1]])
            elif kind == COVER:
                asm.cover(Region(pad, self.handlers))
            elif kind == GUARD:
                asm.cover(self._covering(item[1]))
            elif kind == UNGUARD:
                asm.region = self._region(self.handlers)
                if k < tail:
                    self._clear(self.slots.spared[item[1]])
            elif kind == HANDLERS:
                self.handlers += item[1]
                asm.region = self._region(self.handlers)
            elif kind != KEEP:
                item[1](self)
        return self._terminator(block, following, pad)

    def _overwritten(self, block: Block) -> set[int]:
        """The locals that hold the target's params behind a closing Jump."""
        if not isinstance(block.terminator, Jump):
            return set()
        return {self.of[param] for param, _ in self.flow.moves(block.terminator.edge)}

    def _load(self, value: Operand, takes: bool) -> None:
        """A local onto the stack; takes: and nothing stays behind."""
        local = self.of[value]
        if not takes or not self._matters(value):
            self.asm.do(LOAD_FAST, local, 1)
        elif TAKE_FAST is not None:
            self.asm.do(TAKE_FAST, local, 1)
        else:
            self.asm.do(LOAD_FAST, local, 1)
            self.asm.do(DELETE_FAST, local)

    def _matters(self, value: Operand) -> bool:
        """Is it to be cleared where it dies?"""
        assert isinstance(value, Param | Op)
        found = self.clears.get(value)
        if found is None:
            found = self.clears[value] = may_finalize(value.type)
        return found

    def _constant(self, value: object) -> None:
        """Load a known value."""
        items: list[Item] = []
        self.linear.items = items
        self.linear.constant(value)
        for kind, opcode, arg, effect in items:
            if kind == DO:
                self.asm.do(opcode, arg, effect)
            else:
                self.asm.deref(opcode, arg, effect)

    def _move(self, value: Operand, param: Param, last: bool, stored: set[int]) -> None:
        """A load for a Jump's edge."""
        if isinstance(value, Const):
            self._constant(value.value)
        elif self.of[value] != self.of[param]:
            self._load(value, last and self.of[value] not in stored)

    # --------------------------------------------------------------------------------------------- terminators

    def _terminator(self, block: Block, following: Block | None, pad: Label) -> bool:
        asm, terminator = self.asm, block.terminator
        if isinstance(terminator, Return):
            asm.region = None
            for _ in range(self.handlers):
                asm.do(SWAP, 2)
                asm.do(POP_EXCEPT, 0, -1)
            asm.do(OP["RETURN_VALUE"], 0, -1)
            return False
        if isinstance(terminator, Raise):
            if terminator.again:
                asm.do(RERAISE, 0, -1)
            else:
                asm.do(OP["RAISE_VARARGS"], 1, -1)
            return False
        if isinstance(terminator, Jump):
            for param, value in reversed(self.flow.moves(terminator.edge)):
                if value in self.linear.inline or self.of.get(value) != self.of[param]:
                    asm.do(STORE_FAST, self.of[param], -1)
            return self._go(terminator.edge.block, following)
        if isinstance(terminator, Invoke):
            return self._invoke(block, terminator, following, pad)
        return self._branch(block, terminator, following)

    def _go(self, target: Block, following: Block | None) -> bool:
        """Go on at target; True if nothing is needed for that."""
        if target is following:
            return True
        self.asm.jump(self.labels[target])
        return False

    def _invoke(self, block: Block, invoke: Invoke, following: Block | None, pad: Label) -> bool:
        asm, op = self.asm, invoke.op
        asm.region = self._region(self.handlers)
        live = self.slots.live_out[block] - {op}
        caught = [param for param, value in zip(invoke.error.block.params, invoke.error.args, strict=True) if value is CAUGHT]
        mend = bool(caught) and self.marks.watched(op, caught[0])
        self._later(_Stub(pad, invoke.error, live, self.handlers, CAUGHT, mend))
        top: Operand | None = op
        if op in self.flow.live_in[self.flow.index[invoke.ok.block]]:
            asm.do(STORE_FAST, self.of[op], -1)
            live = {value for value in live if self.of[value] != self.of[op]} | {op}
            top = None
        self._write_plan(self._plan(invoke.ok, live, top), top)
        return self._go(invoke.ok.block, following)

    def _branch(self, block: Block, branch: Branch, following: Block | None) -> bool:
        test, live = self.linear.tests[block], self.slots.live_out[block]
        if test == "FOR_ITER":
            return self._step(block, branch, following)
        if test is None:
            assert isinstance(branch.cond, Const)
            taken = branch.true if branch.cond.value else branch.false
            self._write_plan(self._plan(taken, live, None), None)
            return self._go(taken.block, following)
        jumped, fallen = branch.true, branch.false
        carried = self.carried.get(block)
        if jumped.block is following and fallen.block is not following:
            jumped, fallen, test = fallen, jumped, OPPOSITE[test]
        label = self.labels[jumped.block]
        apart = bool(self._plan(jumped, live, None)) or (carried is not None and jumped.block not in carried)
        if apart:
            label = Label()
            self._later(_Stub(label, jumped, live, self.handlers, carries=carried is not None))
        self.asm.jump_if(test, label)
        self.asm.region = self._region(self.handlers)
        if carried is not None and fallen.block not in carried:
            self.asm.do(POP_TOP, 0, -1)
        self._write_plan(self._plan(fallen, live, None), None)
        # a stub for the next block stands right before it: step over
        return self._go(fallen.block, None if apart and jumped.block is following else following)

    def _step(self, block: Block, branch: Branch, following: Block | None) -> bool:
        """FOR_ITER, the iterator on top: the item stays, the iterator goes."""
        asm, item = self.asm, block.ops[-2]
        more, done = (branch.true, branch.false) if self.linear.more_edge(branch) else (branch.false, branch.true)
        exhausted = Label()
        live = self.slots.live_out[block] - {item}
        asm.for_iter(exhausted)
        asm.region = self._region(self.handlers)
        self._later(_Stub(exhausted, done, live, self.handlers, prefix="END_FOR"))
        if item in self.of:
            asm.do(STORE_FAST, self.of[item], -1)
            live = {value for value in live if self.of[value] != self.of[item]} | {item}
        else:
            asm.do(POP_TOP, 0, -1)
        asm.do(POP_TOP, 0, -1)
        self._write_plan(self._plan(more, live, None), None)
        return self._go(more.block, following)

    # --------------------------------------------------------------------------------------------- edges

    def _plan(self, edge: Edge, live: set[Value], top: Operand | None) -> _Plan:
        """What has to be done on edge if these are live before it, and top is on the stack."""
        of = self.of
        moves, kept = [], set()
        for param, value in self.flow.moves(edge):
            if value is not top and of.get(value) == of[param]:
                kept.add(of[param])
            else:
                moves.append((param, value))
        if self.flow.ends_at_once(edge.block):
            return _Plan(moves, set(), [])
        stored = {of[param] for param, _ in moves} | kept
        staying = self.flow.live_in[self.flow.index[edge.block]]
        dying = {value: of[value] for value in live if value not in staying and of[value] not in stored and self._matters(value)}
        takes = set()
        for k in range(len(moves) - 1, -1, -1):
            value = moves[k][1]
            if isinstance(value, Param | Op) and dying.pop(value, None) is not None:
                takes.add(k)
        return _Plan(moves, takes, sorted(dying.values()))

    def _write_plan(self, plan: _Plan, top: Operand | None) -> None:
        """Parallel moves, by way of the stack; top is there already."""
        asm = self.asm
        for local in plan.clears:
            asm.do(DELETE_FAST, local)
        moves = list(enumerate(plan.moves))
        if top is not None:
            first = next((m for m in moves if m[1][1] is top), None)
            if first is None:
                asm.do(POP_TOP, 0, -1)
            else:
                moves.remove(first)
                moves.insert(0, first)
        for pushed, (k, (_, value)) in enumerate(moves):
            if value is top:
                if pushed:
                    asm.do(COPY, pushed, 1)
            elif isinstance(value, Const):
                self._constant(value.value)
            else:
                self._load(value, k in plan.takes)
        for _, (param, _) in reversed(moves):
            asm.do(STORE_FAST, self.of[param], -1)

    def _later(self, stub: _Stub) -> None:
        self.stubs.setdefault(stub.edge.block, []).append(stub)

    def _write_stubs(self, block: Block, falls: bool) -> None:
        """The stubs that lead to block; falls: the last one does so by tokeng right before it."""
        stubs = self.stubs.pop(block, [])
        for k, stub in enumerate(stubs):
            self._write_stub(stub)
            if not falls or k < len(stubs) - 1:
                self.asm.jump(self.labels[block])

    def _write_detours(self, following: Block) -> None:
        """The stubs on the ways back that nothing raised leads to: near to where they begin, so that jumps are short."""
        for block, stubs in list(self.stubs.items()):
            if block is not following and self.labels[block].at >= 0:
                found = [stub for stub in stubs if not isinstance(stub.top, Caught)]
                if found:
                    self.stubs[block] = found
                    raised = [stub for stub in stubs if isinstance(stub.top, Caught)]
                    self._write_stubs(block, falls=False)
                    if raised:
                        self.stubs[block] = raised

    def _write_stub(self, stub: _Stub) -> None:
        asm = self.asm
        asm.bind(stub.label)
        asm.region = self._region(stub.handlers)
        asm.depth = stub.handlers + stub.carries
        if stub.carries and stub.edge.block not in self.takers:
            asm.do(POP_TOP, 0, -1)
        if stub.prefix in OP:
            # skipped by FOR_ITER, but for a generator that returns
            asm.do(OP[stub.prefix])
            if END_FOR_POPS_ONE:
                asm.do(POP_TOP)
        if isinstance(stub.top, Caught):
            asm.grow(1)
            if stub.mend:
                self.mend()
        self._write_plan(self._plan(stub.edge, stub.live, stub.top), stub.top)

    # --------------------------------------------------------------------------------------------- exceptions

    def _covering(self, op: Op) -> Region:
        """Where an exception out of op goes, which is covered in the midst of its block; from the same locals the same way."""
        edge, live = self.flow.covered[op], frozenset(self.slots.raising[op])
        caught = [param for param, value in zip(edge.block.params, edge.args, strict=True) if value is CAUGHT]
        mend = bool(caught) and self.marks.watched(op, caught[0])
        key = edge.block, tuple(map(id, edge.args)), live, self.handlers, mend
        found = self._pads.get(key)
        if found is None:
            found = self._pads[key] = Region(Label(), self.handlers)
            self._later(_Stub(found.label, edge, set(live), self.handlers, CAUGHT, mend))
        return found

    def _clear(self, values: list[Value]) -> None:
        for local in sorted(self.of[value] for value in values if self._matters(value)):
            self.asm.do(DELETE_FAST, local)

    def _region(self, handlers: int) -> Region | None:
        """What an exception that nobody catches does under so many open handlers."""
        if not handlers and self.mending is None and not (self.is_generator and STOPITERATION_ERROR):
            return None
        while len(self.regions) <= handlers:
            self.regions.append(Region(Label(), len(self.regions), lasti=True))
        return self.regions[handlers]

    def mend(self) -> None:
        """Repair the traceback of the exception on top of the stack."""
        if self.mending is None:
            return
        asm = self.asm
        if NULL_FIRST:
            asm.do(OP["PUSH_NULL"], 0, 1)
        self._constant(self.mending)
        if not NULL_FIRST:
            asm.do(OP["PUSH_NULL"], 0, 1)
        asm.do(COPY, 3, 1)
        if PRECALL is not None:
            asm.do(PRECALL, 1)
        asm.do(OP["CALL"], 1, -2)
        asm.do(POP_TOP, 0, -1)

    def _cleanups(self) -> None:
        """The exception goes on to the caller: what was being handled before the call is so again (POP_EXCEPT of the outermost)."""
        asm = self.asm
        used = set(map(id, asm.regions))
        asm.region, asm.place = None, NOWHERE
        for handlers, region in enumerate(self.regions):
            if id(region) not in used:
                continue
            asm.bind(region.label)
            asm.depth = handlers
            asm.grow(2)
            if handlers:
                asm.do(COPY, handlers + 2, 1)
                asm.do(POP_EXCEPT, 0, -1)
            self.mend()
            if self.is_generator and STOPITERATION_ERROR:
                asm.do(*STOPITERATION_ERROR)
            asm.do(RERAISE, 1, -1)
