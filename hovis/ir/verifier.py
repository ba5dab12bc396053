"""Verifier: checks that a Function is well formed. A complaint is printed under the offending line.

Invariants of every Function: each value is defined once, and on every path to each of its uses; the arguments of an edge have the
types of the target's parameters, or types that a test on the path may have narrowed to these; the result of an Invoke exists only
after its ok edge, the exception only as the first argument of its error edge; entering and leaving of handlers is
balanced.
"""

from collections.abc import Iterator
from typing import Any, Protocol

from hovis.errors import VerifierError
from hovis.ir.analysis.control_flow import Dominators, predecessors
from hovis.ir.model import VALUES, Block, Branch, Caught, Edge, Effect, Function, Invoke, Jump, Op, Operand, Param, Raise, Return, Value, callees, edges
from hovis.ir.operations import enter_handler, leave_handler
from hovis.ir.printer import Printer
from hovis.lattice import ANY, AbstractValue, Array, Const, Type, Union, contains, forget, leq


class Effects(Protocol):
    """The part of a Library that the verifier uses."""

    primitives: dict[Any, Any]


def verify(function: Function, library: Effects | None = None) -> None:
    """Raise VerifierError if function, or a residual function that it reaches, is broken.

    With a library, also check that each op has at least the effects that the library lists for its callee.
    """
    for one in callees(function):
        check = _Check(one, library)
        check.run()
        if check.complaints:
            raise VerifierError(_message(one, check.complaints))


def _message(function: Function, complaints: list[tuple[object, str]]) -> str:
    lines: list[str] = []
    shown: set[int] = set()
    printed = list(Printer([function]).lines())
    last = {id(anchor): k for k, (anchor, _) in enumerate(printed)}
    for k, (anchor, text) in enumerate(printed):
        lines.append(text)
        for n, (about, complaint) in enumerate(complaints):
            if about is anchor and last[id(anchor)] == k:
                shown.add(n)
                lines.append(f"{' ' * (len(text) - len(text.lstrip()))}^ {complaint}")
    rest = [complaint for n, (_, complaint) in enumerate(complaints) if n not in shown]
    return "\n".join([f"{function.name} is broken:", *lines, *rest])


class _Check:
    def __init__(self, function: Function, library: Effects | None) -> None:
        self.function = function
        self.library = library
        self.complaints: list[tuple[object, str]] = []
        self.home: dict[Value, tuple[Block, int]] = {}
        self.invoked: dict[Value, Invoke] = {}

    def complain(self, about: object, text: str) -> None:
        self.complaints.append((about, text))

    def run(self) -> None:
        """Run all checks; later checks rely on earlier ones having passed."""
        self._structure()
        if self.complaints:
            return
        self.dom = Dominators(self.function)
        self.incoming = predecessors(self.function)
        self._reachable()
        self._definitions()
        if self.complaints:
            return
        for block in self.function.blocks:
            self._block(block)
        self._handlers()

    # --------------------------------------------------------------------------------------------- the graph

    def _structure(self) -> None:
        if not self.function.blocks:
            self.complain(None, "it has no blocks")
        known = set(self.function.blocks)
        if len(known) < len(self.function.blocks):
            self.complain(None, "a block is listed twice")
        for block in self.function.blocks:
            closed: object = block.terminator
            if not isinstance(closed, Jump | Branch | Invoke | Return | Raise):
                self.complain(closed, "a block has to end with a terminator")
                continue
            for edge in edges(block.terminator):
                if edge.block not in known:
                    self.complain(block.terminator, "an edge leads to a block that is not in the list")
                elif edge.block is self.function.blocks[0]:
                    self.complain(block.terminator, "an edge leads to the entry")

    def _reachable(self) -> None:
        for block in self.function.blocks:
            if block not in self.dom:
                self.complain(block, "the block cannot be reached")

    def _definitions(self) -> None:
        for block in self.function.blocks:
            for param in block.params:
                self._define(param, block, -1, block)
            for k, op in enumerate(block.ops):
                self._define(op, block, k, op)
            if isinstance(block.terminator, Invoke):
                op = block.terminator.op
                self._define(op, block, len(block.ops), block.terminator)
                self.invoked[op] = block.terminator

    def _define(self, value: Value, block: Block, at: int, about: object) -> None:
        if value in self.home:
            self.complain(about, "the value is defined twice")
        self.home[value] = block, at
        known: object = value.type
        if not isinstance(known, AbstractValue):
            self.complain(about, f"its type is {known!r}, which is not an element of the lattice")

    # --------------------------------------------------------------------------------------------- blocks

    def _block(self, block: Block) -> None:
        for param in block.params:
            if param.dims is not None:
                self._dims(param, param.dims, block, 0, block)
        for k, op in enumerate(block.ops):
            self._op(op, block, k, op)
        end = len(block.ops)
        terminator = block.terminator
        match terminator:
            case Branch():
                self._use(terminator.cond, block, end, terminator)
                self._condition(terminator, block)
            case Return() | Raise():
                self._use(terminator.value, block, end, terminator)
            case Invoke():
                self._op(terminator.op, block, end, terminator)
        for edge in edges(terminator):
            self._edge(edge, block, end)

    def _op(self, op: Op, block: Block, at: int, about: object) -> None:
        for operand in op.operands():
            self._use(operand, block, at, about)
        if op.kwargs and len(dict(op.kwargs)) < len(op.kwargs):
            self.complain(about, "a keyword is given twice")
        if isinstance(op.callee, Const | Caught):
            self.complain(about, "a known callee must be the object itself, not a Const")
        elif isinstance(op.callee, Function):
            if len(op.args) != len(op.callee.params) or op.kwargs:
                self.complain(about, f"{op.callee.name} takes {len(op.callee.params)} arguments, not {len(op.args) + len(op.kwargs)}")
        elif not isinstance(op.callee, VALUES) and not callable(op.callee):
            self.complain(about, "the callee is not callable")
        if op.dims is not None:
            self._dims(op, op.dims, block, at, about)
        if self.library is not None and not isinstance(op.callee, (*VALUES, Function)):
            self._effect(op, about)

    def _effect(self, op: Op, about: object) -> None:
        try:
            row = self.library.primitives.get(op.callee)  # type: ignore[union-attr]
        except TypeError:
            return
        effect = getattr(row, "effect", None)
        if isinstance(effect, Effect) and effect & ~op.effect and not op.effect & Effect.OPAQUE:
            self.complain(about, f"according to the library it has more effects: {effect & ~op.effect!r}")

    def _dims(self, value: Value, dims: tuple[Operand, ...], block: Block, at: int, about: object) -> None:
        if isinstance(value.type, Array) and len(dims) != value.type.rank:
            self.complain(about, f"it has {len(dims)} dimensions, its type has {value.type.rank}")
        for dim in dims:
            self._use(dim, block, at, about)

    def _condition(self, branch: Branch, block: Block) -> None:
        found = self._type(branch.cond)
        if not leq(found, Type(bool)) and not (_overlap(found, Type(bool)) and self._is_tested(branch.cond, block, True)):
            self.complain(branch, f"the condition is a {found!r}; it has to be a Bool")

    def _edge(self, edge: Edge, block: Block, at: int) -> None:
        terminator = block.terminator
        catching = isinstance(terminator, Invoke) and edge is terminator.error
        params = edge.block.params
        number = self.function.blocks.index(edge.block) + 1 if len(edge.args) != len(params) else 0
        if number:
            self.complain(terminator, f"block {number} takes {len(params)} arguments, not {len(edge.args)}")
        for k, arg in enumerate(edge.args):
            if isinstance(arg, Caught):
                if not catching or k:
                    self.complain(terminator, "%err may only be the first argument of an error edge")
                continue
            own = isinstance(terminator, Invoke) and edge is terminator.ok and arg is terminator.op
            if not own:
                self._use(arg, block, at, terminator)
            found, expected = self._type(arg), params[k].type if not number else ANY
            if not _fits(found, expected) and not (_overlap(found, expected) and self._is_tested(arg, block)) and not _decides_on_constants(terminator):
                self.complain(terminator, f"argument {k + 1} is {found!r}; the parameter is {expected!r}")

    def _is_tested(self, value: Operand, block: Block, before: bool = False) -> bool:
        """Is there a test of value that every path to the end of block passes, so that more may be known of it than its type?

        before: apart from the test at the end of block.
        """
        home = self.home[value][0] if isinstance(value, VALUES) and value in self.home else None
        todo, seen = [block], {block}
        while todo:
            at = todo.pop()
            if isinstance(at.terminator, Branch) and _depends(at.terminator.cond, value) and not (before and at is block):
                continue
            sources = [source for source, _ in self.incoming[at]]
            if not sources or at is home:
                return False
            todo += [source for source in sources if source not in seen]
            seen.update(sources)
        return True

    # --------------------------------------------------------------------------------------------- values

    def _type(self, operand: Operand) -> AbstractValue:
        if isinstance(operand, Const):
            return operand
        return operand.type if isinstance(operand, VALUES) else ANY

    def _use(self, operand: object, block: Block, at: int, about: object) -> None:
        """Check that operand is defined on every path to this use."""
        if not isinstance(operand, VALUES):
            if isinstance(operand, Caught):
                self.complain(about, "%err may only be the first argument of an error edge")
            elif not isinstance(operand, Const):
                self.complain(about, f"{operand!r} is not an operand")
            return
        found = self.home.get(operand)
        if found is None:
            self.complain(about, "it uses a value that no block defines")
            return
        home, position = found
        if operand in self.invoked:
            ok = self.invoked[operand].ok
            others = [source for source, edge in self.incoming[ok.block] if edge is not ok]
            if not all(self.dom.dominates(ok.block, at) for at in (block, *others)):
                self.complain(about, "the result of an invoke is used where the call may have raised")
        elif home is block:
            if position >= at and not isinstance(operand, Param):
                self.complain(about, "it uses a value before its definition")
        elif not self.dom.dominates(home, block):
            self.complain(about, "it uses a value that is not defined on every path to it")

    # --------------------------------------------------------------------------------------------- handlers

    def _handlers(self) -> None:
        """Check that the number of open handlers is the same on every path to a block, and never negative."""
        open_at = {self.function.blocks[0]: 0}
        for block in self.dom.order:
            depth = open_at[block]
            for op, change in _changes(block):
                depth += change
                if depth < 0:
                    self.complain(op, "no handler is open")
                    return
            if isinstance(block.terminator, Return) and depth:
                self.complain(block.terminator, "a handler is still open")
            for edge in edges(block.terminator):
                if open_at.setdefault(edge.block, depth) != depth:
                    self.complain(block.terminator, f"{depth} handlers are open here, {open_at[edge.block]} on another path to the target")


def _changes(block: Block) -> Iterator[tuple[Op, int]]:
    for op in block.ops:
        if op.callee is enter_handler:
            yield op, 1
        elif op.callee is leave_handler:
            yield op, -1


def _depends(operand: Operand, value: Operand) -> bool:
    """Is operand computed from value, in a few steps?"""
    todo, seen = [operand], 0
    while todo and seen < 64:
        at = todo.pop()
        seen += 1
        if at is value:
            return True
        if isinstance(at, Op):
            todo += at.operands()
    return False


def _decides_on_constants(terminator: object) -> bool:
    """Is this a branch on a constant, or on an op whose arguments have become constants, so that one of its edges will be removed?"""
    if not isinstance(terminator, Branch):
        return False
    cond = terminator.cond
    return isinstance(cond, Const) or (isinstance(cond, Op) and all(isinstance(arg, Const) for arg in cond.args))


def _overlap(a: AbstractValue, b: AbstractValue) -> bool:
    """May a value of type a be narrowed by a test to type b?"""
    if leq(b, a):
        return True
    return isinstance(a, Union) and any(leq(forget(member), forget(b)) for member in a.members)


def _fits(found: AbstractValue, expected: AbstractValue) -> bool:
    return leq(found, expected) or (isinstance(found, Const) and contains(expected, found.value))
