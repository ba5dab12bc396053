"""Analyses of a whole Function for the assembler: block order, uses, liveness, open handlers, and who inspects exceptions."""

import operator
from collections.abc import Callable
from typing import Any, Final

from hovis.backend.assembler.covered_calls import joined
from hovis.ir.model import Block, Branch, Caught, Edge, Effect, Function, Invoke, Op, Operand, Param, Raise, Return, Terminator, Value, edges
from hovis.ir.operations import UNBOUND, caught_at, drop, enter_handler, exception_matches, keep, leave_handler, passed, raised, resume
from hovis.lattice import AbstractValue, Array, Bottom, Const, Partial, Type, Union
from hovis.passes.rewriting import ByIdentity

#: Exact classes whose values are released without observable effect.
_QUIET: Final = frozenset({int, float, bool, complex, str, bytes, type(None), range, type(...), type(NotImplemented), type(UNBOUND)})


def may_finalize(kind: AbstractValue) -> bool:
    """Does it matter when a value of this type is released? A finalizer may run, or (arrays) much memory may be freed."""
    if isinstance(kind, Const):
        return type(kind.value) not in _QUIET
    if isinstance(kind, Array):
        return True
    if isinstance(kind, Type):
        return kind.cls not in _QUIET
    if isinstance(kind, Union):
        return any(map(may_finalize, kind.members))
    if isinstance(kind, Partial):
        return kind.cls is not tuple or any(map(may_finalize, kind.parts))
    return not isinstance(kind, Bottom)


class Flow:
    """The reachable blocks of a Function in reverse postorder, with the liveness of values."""

    def __init__(self, function: Function) -> None:
        self.is_generator = function.is_generator
        first, self.covered = joined(function)
        # blocks that are reached by exceptions only are placed at the end
        self.order = _reverse_postorder(first, _without_errors)
        likely = set(self.order)
        self.order += [block for block in _reverse_postorder(first, self._ways) if block not in likely]
        self.index = {block: k for k, block in enumerate(self.order)}
        #: does the function catch any exception?
        self.catches = bool(self.covered) or any(isinstance(block.terminator, Invoke) for block in self.order)
        #: number of uses of each value, by ops and by edges to params that are needed
        self.uses: dict[Operand, int] = {}
        #: block params that anything uses
        self.needed: set[Param] = set()
        self.home: dict[Operand, int] = {}
        self.incoming: dict[Block, list[tuple[int, Edge]]] = {block: [] for block in self.order}
        #: number of exceptions that are being handled at the start of each block
        self.handlers: dict[Block, int] = {self.order[0]: 0}
        for k, block in enumerate(self.order):
            self._scan(k, block)
        self._need()
        self.live_in = self._liveness()

    def _scan(self, k: int, block: Block) -> None:
        home, uses = self.home, self.uses
        for param in block.params:
            home[param] = k
        handlers = self.handlers[block]
        for op in block.all_ops():
            home[op] = k
            if op.callee is enter_handler:
                handlers += 1
            elif op.callee is leave_handler:
                handlers -= 1
                assert handlers >= 0, "leave_handler without an open handler"
            for value in op.operands():
                if not isinstance(value, Const):
                    uses[value] = uses.get(value, 0) + 1
            if op in self.covered:
                self._leave(k, self.covered[op], handlers)
        terminator = block.terminator
        last = _operand(terminator)
        if isinstance(last, Param | Op):
            uses[last] = uses.get(last, 0) + 1
        for edge in edges(terminator):
            self._leave(k, edge, handlers)

    def _leave(self, k: int, edge: Edge, handlers: int) -> None:
        assert len(edge.args) == len(edge.block.params), "an edge's arguments do not fit its block"
        assert self.handlers.setdefault(edge.block, handlers) == handlers, "paths with different open handlers meet"
        self.incoming[edge.block].append((k, edge))

    def leaving(self, block: Block) -> list[Edge]:
        """Return all edges out of block: the error edges of covered calls in it, then those of its terminator."""
        covered = self.covered
        found = [covered[op] for op in block.ops if op in covered] if covered else []
        return found + list(edges(block.terminator))

    def _need(self) -> None:
        """Find the params that are needed, then count the uses by edges that pass values to these."""
        todo = [value for value in self.uses if isinstance(value, Param)]
        self.needed.update(todo)
        sources: dict[Param, list[Operand]] = {}
        for entering in self.incoming.values():
            for _, edge in entering:
                for param, value in zip(edge.block.params, edge.args, strict=True):
                    if not isinstance(value, Const):
                        sources.setdefault(param, []).append(value)
        while todo:
            for value in sources.get(todo.pop(), ()):
                if isinstance(value, Param) and value not in self.needed:
                    self.needed.add(value)
                    todo.append(value)
        for param in self.needed:
            for value in sources.get(param, ()):
                self.uses[value] = self.uses.get(value, 0) + 1

    def _ways(self, block: Block) -> list[Edge]:
        """Return the edges out of block, the most likely one first."""
        covered = self.covered
        raising = [covered[op] for op in block.ops if op in covered] if covered else []
        return [*edges(block.terminator), *raising]

    def moves(self, edge: Edge) -> list[tuple[Param, Operand]]:
        """Return the params of the edge's target that are needed, with their arguments."""
        needed = self.needed
        return [(param, value) for param, value in zip(edge.block.params, edge.args, strict=True) if param in needed]

    def _liveness(self) -> list[set[Value]]:
        """Compute the values that are live at the start of each block, without its own params, using bit sets over the values that cross blocks."""
        bits: dict[Operand, int] = {}
        exposed = [0] * len(self.order)
        defined = [0] * len(self.order)
        home = self.home
        for k, block in enumerate(self.order):
            for value in self._used_in(block):
                if isinstance(value, Const | Caught) or home[value] == k:
                    continue
                bit = bits.get(value)
                if bit is None:
                    bit = bits[value] = 1 << len(bits)
                    defined[home[value]] |= bit
                exposed[k] |= bit
        live = exposed[:]
        successors = [[self.index[edge.block] for edge in self.leaving(block)] for block in self.order]
        changed = True
        while changed:
            changed = False
            for k in range(len(live) - 1, -1, -1):
                out = 0
                for s in successors[k]:
                    out |= live[s]
                now = exposed[k] | out & ~defined[k]
                if now != live[k]:
                    live[k] = now
                    changed = True
        values: list[Value] = list(bits)  # type: ignore[arg-type]  # only Params and Ops got a bit
        return [members(values, bit) for bit in live]

    def _used_in(self, block: Block) -> list[Operand]:
        found = [value for op in block.all_ops() for value in op.operands()]
        last = _operand(block.terminator)
        if last is not None:
            found.append(last)
        for edge in self.leaving(block):
            found += [value for _, value in self.moves(edge)]
        return found

    def live_on(self, edge: Edge) -> set[Value]:
        """Return the values that have to be available when edge is taken."""
        found = set(self.live_in[self.index[edge.block]])
        found.update(value for _, value in self.moves(edge) if isinstance(value, Param | Op))
        return found

    def ends_at_once(self, block: Block) -> bool:
        """Does block consist of nothing but a Return or Raise?"""
        return not block.ops and isinstance(block.terminator, Return | Raise)

class Sightings:
    """Analysis of whether the traceback of an exception that was caught here may be inspected before it leaves the function again."""

    def __init__(self, flow: Flow) -> None:
        self.next: dict[Operand, list[Param]] = {}
        self.users: dict[Operand, list[tuple[Block, int, Op]]] = {}
        self.shown: set[Operand] = set()
        self.leaving = flow.leaving
        self._sources: dict[Param, set[Operand]] = {}
        self._exits: dict[tuple[Op, Operand], int] | None = None
        self._caught: list[Param] = []
        for block in flow.order:
            for k, op in enumerate(block.all_ops()):
                for value in op.operands():
                    if not isinstance(value, Const):
                        self.users.setdefault(value, []).append((block, k, op))
            for edge in flow.leaving(block):
                for param, value in zip(edge.block.params, edge.args, strict=True):
                    self._sources.setdefault(param, set()).add(value)
                    if isinstance(value, Param | Op):
                        self.next.setdefault(value, []).append(param)
                    elif isinstance(value, Caught):
                        self._caught.append(param)
            if isinstance(block.terminator, Return) or (isinstance(block.terminator, Raise) and not block.terminator.again):
                self.shown.add(block.terminator.value)

    def of(self, exception: Value) -> bool:
        """May the traceback of exception be inspected: by its own uses, or, while it is being handled, by opaque calls (``traceback.print_exc``
        asks for it)? Where the residual is left by a side exit, it is repaired then.
        """
        return self._follow(exception) is None

    def _follow(self, exception: Value) -> dict[tuple[Op, Operand], int] | None:
        """Return the side exits that take exception, by op and operand, each with the number of entries to be removed; None if its traceback may be
        inspected.
        """
        exits: dict[tuple[Op, Operand], int] = {}
        seen: set[Value] = {exception}
        todo: list[tuple[Value, int | None]] = [(exception, 0)]
        while todo:
            value, depth = todo.pop()
            if value in self.shown:
                return None
            for block, k, op in self.users.get(value, ()):
                if op.callee is resume and depth is not None:
                    exits[op, value] = depth
                elif op.callee in _TRACES:
                    if op not in seen:
                        seen.add(op)
                        frames: Any = op.args[1].value  # type: ignore[union-attr]
                        todo.append((op, frames - 1 if op.callee is caught_at else None))
                elif op.callee not in _BLIND or (op.callee is enter_handler and _asked_for(block, k + 1, self.leaving)):
                    return None
            for param in self.next.get(value, ()):
                if param not in seen:
                    seen.add(param)
                    todo.append((param, depth if len(self._sources[param]) == 1 else None))
        return exits

    def trimmed(self, exit: Op, value: Operand) -> int | None:
        """Return how many entries are to be removed from the traceback of an exception that a side exit takes, once it is repaired there; None: it
        has been repaired where it was caught.
        """
        if self._exits is None:
            self._exits = {}
            for param in self._caught:
                self._exits |= self._follow(param) or {}
        return self._exits.get((exit, value))


def _asked_for(block: Block, start: int, leaving: Callable[[Block], list[Edge]]) -> bool:
    """Is there, before the handler that has just begun ends, an opaque call, or another exception that has this one as its context?"""
    seen = {block}
    todo = [(block, start, 1)]
    while todo:
        at, first, depth = todo.pop()
        for op in list(at.all_ops())[first:]:
            depth += (op.callee is enter_handler) - (op.callee is leave_handler)
            if depth == 0:
                break
            if op.callee is raised or (_runs_code(op) and op.callee not in _BLIND):
                return True
        else:
            if isinstance(at.terminator, Raise) and not at.terminator.again:
                return True
            for edge in leaving(at):
                if edge.block not in seen:
                    seen.add(edge.block)
                    todo.append((edge.block, 0, depth))
    return False


def _runs_code(op: Op) -> bool:
    """Whether op may run code that inspects the exception being handled, or raise an exception itself (except for a signal that arrives).

    Storing or finding an item of a dict by a number or text does not count, though a finalizer, or ``__eq__`` of a key with the same hash, may run.
    """
    if op.callee in _ITEMS:
        kinds = [Type(type(arg.value)) if isinstance(arg, Const) else arg.type for arg in op.args[:2] if not isinstance(arg, Caught)]
        if kinds in ([Type(dict), Type(int)], [Type(dict), Type(str)]):
            return False
    return bool(op.effect & (Effect.OPAQUE | Effect.IO)) or op.effect & (Effect.RAISES | Effect.INTERRUPTED) == Effect.RAISES


def _operand(terminator: Terminator) -> Operand | None:
    """Return the operand of the terminator itself, not counting its edges and an Invoke's op, or None."""
    if isinstance(terminator, Branch):
        return terminator.cond
    if isinstance(terminator, Return | Raise):
        return terminator.value
    return None


#: Ops that return the exception that they are given.
_TRACES: Final = ByIdentity((caught_at, passed))
#: Accesses of items that raise nothing for a key of a dict that is a number or text.
_ITEMS: Final = ByIdentity((operator.setitem, operator.contains))
#: Ops that take an exception without inspecting its traceback.
_BLIND: Final = ByIdentity((enter_handler, leave_handler, exception_matches, drop, keep))


def members(values: list[Value], bits: int) -> set[Value]:
    """Return the values whose bits are set."""
    found = set()
    while bits:
        low = bits & -bits
        found.add(values[low.bit_length() - 1])
        bits ^= low
    return found


def _without_errors(block: Block) -> list[Edge]:
    """Return the edges out of block that are taken without an exception."""
    end = block.terminator
    return [end.ok] if isinstance(end, Invoke) else list(edges(end))


def _reverse_postorder(entry: Block, ways: Callable[[Block], list[Edge]]) -> list[Block]:
    """Return the blocks that are reachable over the edges given by ways, each before those it dominates, followed by its likely successor where
    possible.
    """
    seen = {entry}
    order: list[Block] = []
    path = [(entry, ways(entry))]
    while path:
        block, left = path[-1]
        if not left:
            order.append(block)
            path.pop()
            continue
        target = left.pop().block
        if target not in seen:
            seen.add(target)
            path.append((target, ways(target)))
    return order[::-1]
