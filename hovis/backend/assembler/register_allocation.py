"""Allocation of locals to values: a scan in dominance order over stack code, sharing locals like registers."""

import itertools
from collections.abc import Iterable, Sequence, Set
from typing import Any, Final

from hovis.backend.assembler.encode import unique
from hovis.backend.assembler.liveness import Flow
from hovis.backend.assembler.selection.stack_code import DROP, GUARD, KEEP, LOAD, MOVE, STORE, UNGUARD, Item
from hovis.bytecode.normalize import LAST_FIRST
from hovis.engine.state.lifetimes import UNCLOSED
from hovis.ir.model import Block, Branch, Edge, Invoke, Jump, Op, Operand, Param, Raise, Return, Value, edges
from hovis.ir.operations import drop
from hovis.lattice import Type

#: Meaning (see ``Slots.meant``) of locals of iterators, which are shared among iterators only.
_ITERATOR: Final = ".iterator"
#: Meaning of a local for a nameless value that is released in a fixed order with other values.
_OWN: Final = ".own"
_NONE: Final = frozenset[int]()


class Slots:
    """The local of every value that has one, and the names of the locals.

    ``ending``: the locals of iterators, those of inner loops first.  When an exception leaves the function, they are released at once,
    like values on the stack; values of the user's variables live as long as the traceback.
    """

    def __init__(self, flow: Flow, code: dict[Block, list[Item]], parameters: Sequence[str], taken: set[str], lasting: Set[Operand]) -> None:
        self.flow = flow
        self.code = code
        self.of: dict[Operand, int] = {}
        self.names: list[str] = list(parameters)
        #: the user's name for a local, while it has one
        self.meant: list[str | None] = list(parameters)
        self.taken = taken
        #: per block, the indices of the items that use a value for the last time
        self.last: dict[Block, set[int]] = {}
        #: the values that are live at the end of a block, on any edge
        self.live_out: dict[Block, set[Value]] = {}
        #: the values in locals where a covered call in the middle of a block raises; ``spared``: those of them that die if it does not raise
        self.raising: dict[Op, set[Value]] = {}
        self.spared: dict[Op, list[Value]] = {}
        entry = flow.order[0]
        self.fixed = set(range(len(entry.params)))
        for k, param in enumerate(entry.params):
            self.of[param] = k
        # a parameter that nothing uses, or that the user never rebinds, keeps its local as long as the function runs
        self.kept = {k for k, param in enumerate(entry.params) if param not in flow.needed or param in lasting}
        #: for each block in which the function ends, the values that are released then, in order
        self.ends = [ends for block in flow.order if len(ends := _ends(block, code[block])) > 1]
        self.ordered = set(itertools.chain.from_iterable(self.ends))
        for block in flow.order:
            self._find_last(block)
            self._assign(block)
        self.ending = [local for local in range(len(self.meant) - 1, -1, -1) if self.meant[local] == _ITERATOR]
        self._rearrange()

    def _rearrange(self) -> None:
        """Number the locals to make a frame release its values in the same order as the user's frame, as far as there is an order."""
        before: dict[int, set[int]] = {}
        for ends in self.ends:
            for first, second in itertools.pairwise(self.of[value] for value in ends):
                if first != second:
                    before.setdefault(second, set()).add(first)
        if not before:
            return
        todo, order = list(range(len(self.meant))), list[int]()
        while todo:
            follows = (local for local in todo if local in self.fixed or before.get(local, _NONE).issubset(order))
            order.append(next(follows, todo[0]))
            todo.remove(order[-1])
        place = {local: k for k, local in enumerate(order)}
        self.of = {value: place[local] for value, local in self.of.items()}
        self.names, self.meant = [self.names[local] for local in order], [self.meant[local] for local in order]
        self.ending = [place[local] for local in self.ending]

    def in_turn(self, locals_: Iterable[int]) -> list[int]:
        """Return the locals in the order in which they are to be cleared at one place: those of iterators first."""
        found = set(locals_)
        return [*(local for local in self.ending if local in found), *sorted(found.difference(self.ending), reverse=LAST_FIRST)]

    # --------------------------------------------------------------------------------------------- last uses

    def _find_last(self, block: Block) -> None:
        terminator = block.terminator
        live: set[Value] = set()
        if isinstance(terminator, Jump):
            live = set(self.flow.live_in[self.flow.index[terminator.edge.block]])
        else:
            for edge in edges(terminator):
                live |= self.flow.live_on(edge)
        items = self.code[block]
        guards = [item for item in items if item[0] == GUARD or item[0] == UNGUARD] if self.flow.covered else ()
        if guards and guards[-1][0] == GUARD:
            # the call that may raise is at the end of the block
            live |= self.flow.live_on(self.flow.covered[guards[-1][1]])
        self.live_out[block] = set(live)
        if guards:
            # a result that the end of the block stores is in no local yet
            live -= set(block.all_ops()) - {item[1] for item in items if item[0] == STORE}
        last = set()
        for k in range(len(items) - 1, -1, -1):
            item = items[k]
            kind = item[0]
            if kind in (LOAD, MOVE, DROP, KEEP):
                value = item[1]
                if value not in live and isinstance(value, Param | Op):
                    live.add(value)
                    last.add(k)
            elif kind == STORE:
                live.discard(item[1])
            elif kind == UNGUARD:
                raising = self.flow.live_on(self.flow.covered[item[1]])
                self.spared[item[1]] = [value for value in raising if value not in live]
                live |= raising
            elif kind == GUARD:
                self.raising[item[1]] = set(live)
        self.last[block] = last

    # --------------------------------------------------------------------------------------------- locals

    def _assign(self, block: Block) -> None:
        flow, of = self.flow, self.of
        busy = {of[value] for value in flow.live_in[flow.index[block]]} | self.kept
        if block is flow.order[0]:
            busy |= self.fixed
        else:
            for param in block.params:
                if param in flow.needed:
                    of[param] = self._choose(param, busy, self._arriving(block, param), param.name)
                    busy.add(of[param])
        hints = self._leaving(block)
        last = self.last[block]
        for k, item in enumerate(self.code[block]):
            kind = item[0]
            if kind == STORE:
                of[item[1]] = self._choose(item[1], busy, hints.get(item[1], ()), _meaning(item[1]))
                busy.add(of[item[1]])
            elif kind == UNGUARD:
                busy -= {of[value] for value in self.spared[item[1]]} - self.kept
            elif k in last:
                busy.discard(of[item[1]])
        self._assign_result(block, hints)

    def _assign_result(self, block: Block, hints: dict[Operand, list[int]]) -> None:
        """Assign a local to the result of an Invoke or of a FOR_ITER, which exists on one edge only."""
        terminator = block.terminator
        result: Op | None = None
        edge: Edge | None = None
        if isinstance(terminator, Invoke):
            result, edge = terminator.op, terminator.ok
        elif isinstance(terminator, Branch) and terminator.cond not in self.of and block.ops[-2:-1]:
            result = block.ops[-2]
            edge = next((e for e in edges(terminator) if result in self.flow.live_on(e)), None)
        if result is None or edge is None or result in self.of or not self.flow.uses.get(result):
            return
        busy = {self.of[value] for value in self.flow.live_on(edge) if value is not result} | self.kept
        self.of[result] = self._choose(result, busy, hints.get(result, ()), _meaning(result))

    def _arriving(self, block: Block, param: Param) -> list[int]:
        """Return the locals that already hold an argument for param on an incoming edge."""
        at = block.params.index(param)
        found = []
        for _, edge in self.flow.incoming[block]:
            local = self.of.get(edge.args[at])
            if local is not None:
                found.append(local)
        return found

    def _leaving(self, block: Block) -> dict[Operand, list[int]]:
        """Return, for values of this block, the locals of the params that receive them on its outgoing edges."""
        found: dict[Operand, list[int]] = {}
        for edge in edges(block.terminator):
            for param, value in self.flow.moves(edge):
                local = self.of.get(param)
                if local is not None and isinstance(value, Op):
                    found.setdefault(value, []).append(local)
        return found

    def _choose(self, value: Value, busy: set[int], hints: Sequence[int], name: str | None) -> int:
        """Return a local that is not busy: a hint, one with that name, a nameless one, or a new one."""
        meant = self.meant
        for local in hints:
            fits = name is None or meant[local] == name or (meant[local] is None and name != _ITERATOR)
            if local not in busy and (fits or (meant[local] == _OWN and value in self.ordered)):
                return self._call_it(local, name)
        free = [local for local in range(len(meant)) if local not in busy and (name == _ITERATOR or meant[local] != _ITERATOR)]
        if value in self.ordered:
            # the local has its place in the order of release, which is not that of a parameter
            name = name or _OWN
            free = [local for local in free if local not in self.fixed and meant[local] == name != _OWN]
        for local in free:
            if meant[local] == name:
                return local
        if name is None and free:
            return free[0]
        for local in free if name != _ITERATOR else ():
            if meant[local] is None:
                return self._call_it(local, name)
        meant.append(name)
        self.names.append(unique("iterator" if name == _ITERATOR else name if name and name != _OWN else "value", self.taken))
        return len(meant) - 1

    def _call_it(self, local: int, name: str | None) -> int:
        if name is not None and self.meant[local] in (None, _OWN):
            self.meant[local] = name
            self.names[local] = unique(name, self.taken)
        return local


def _ends(block: Block, items: list[Item]) -> list[Value]:
    """Return the values that die where block ends the function, in the order of the locals that let the frame release them in order."""
    if isinstance(block.terminator, Raise):
        return [item[1] for item in items if item[0] == KEEP]
    # values that die earlier are released when their variable is rebound
    last = list(itertools.takewhile(lambda op: op.callee is drop, reversed(block.ops))) if isinstance(block.terminator, Return) else []
    dropped = {item[1] for item in items if item[0] == DROP}
    found: Any = [op.args[0] for op in reversed(last) if op.args[0] in dropped]
    return found[::-1] if LAST_FIRST else found  # type: ignore[no-any-return]


def _meaning(value: Op) -> str | None:
    """Return _ITERATOR for an iterator whose release may be observable, else None."""
    return _ITERATOR if value.callee is iter and not (type(value.type) is Type and value.type.cls in UNCLOSED) else None
