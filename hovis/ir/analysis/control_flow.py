"""Control flow and data flow of a Function: predecessors, dominators, loops, uses, liveness.

Every result is recomputed in (near) linear time; nothing is cached on the Function.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hovis.ir.model import Block, Branch, Edge, Function, Op, Operand, Param, Raise, Return, Terminator, Value, edges

Incoming = dict[Block, list[tuple[Block, Edge]]]


def predecessors(function: Function) -> Incoming:
    """Return for each block the edges that lead to it, each with the block that it leaves."""
    found: Incoming = {block: [] for block in function.blocks}
    for block in function.blocks:
        for edge in edges(block.terminator):
            found.setdefault(edge.block, []).append((block, edge))
    return found


def successors(block: Block) -> list[Block]:
    """Return the successors of a block, the likely one first."""
    return [edge.block for edge in edges(block.terminator)]


def reverse_postorder(entry: Block, follow: Callable[[Block], list[Block]] = successors) -> list[Block]:
    """Return the reachable blocks, each before its successors (except along back edges).

    Of two successors of a block, the one that ``follow`` lists first comes first, if neither can reach the other.
    """
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, follow(entry)[:])]
    while stack:
        block, rest = stack[-1]
        if rest:
            to = rest.pop()
            if to not in seen:
                seen.add(to)
                stack.append((to, follow(to)[:]))
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    return order


# ------------------------------------------------------------------------------------------------- dominators


class Dominators:
    """The dominator tree of a Function (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm)."""

    def __init__(self, function: Function) -> None:
        self.order = reverse_postorder(function.blocks[0])
        self.number = {block: k for k, block in enumerate(self.order)}
        self.parent = self._parents(predecessors(function))
        self.children: list[list[int]] = [[] for _ in self.order]
        for k in range(1, len(self.order)):
            self.children[self.parent[k]].append(k)
        self._first, self._last = self._intervals()

    def _parents(self, incoming: Incoming) -> list[int]:
        number = self.number
        before = [[number[source] for source, _ in incoming[block] if source in number] for block in self.order]
        parent = [-1] * len(self.order)
        parent[0] = 0
        changed = True
        while changed:
            changed = False
            for k in range(1, len(parent)):
                new = -1
                for p in before[k]:
                    if parent[p] >= 0:
                        new = p if new < 0 else self._meet(parent, p, new)
                if parent[k] != new:
                    parent[k] = new
                    changed = True
        return parent

    @staticmethod
    def _meet(parent: list[int], a: int, b: int) -> int:
        while a != b:
            while a > b:
                a = parent[a]
            while b > a:
                b = parent[b]
        return a

    def _intervals(self) -> tuple[list[int], list[int]]:
        """Return the times at which a walk of the dominator tree enters and leaves each block."""
        first, last = [0] * len(self.order), [0] * len(self.order)
        clock = 0
        stack = [(0, False)]
        while stack:
            k, done = stack.pop()
            clock += 1
            if done:
                last[k] = clock
            else:
                first[k] = clock
                stack.append((k, True))
                stack += [(child, False) for child in self.children[k]]
        return first, last

    def __contains__(self, block: Block) -> bool:
        """Is block reachable?"""
        return block in self.number

    def dominates(self, a: Block, b: Block) -> bool:
        """Does every path to b pass through a? (Every block dominates itself.)"""
        i, j = self.number[a], self.number[b]
        return self._first[i] <= self._first[j] and self._last[j] <= self._last[i]

    def entered(self, block: Block) -> int:
        """Return the time at which a walk of the dominator tree enters a block; it enters the blocks that this one dominates later."""
        return self._first[self.number[block]]

    def tree(self) -> Iterator[tuple[Block, bool]]:
        """Walk the dominator tree: yield each block when it is entered (True) and when it is left (False)."""
        stack = [(0, False)]
        while stack:
            k, done = stack.pop()
            yield self.order[k], not done
            if not done:
                stack.append((k, True))
                stack += [(child, False) for child in reversed(self.children[k])]


# ------------------------------------------------------------------------------------------------- loops


@dataclass(slots=True, eq=False)
class Loop:
    """A natural loop: its header dominates its blocks, its latches jump back to the header."""

    header: Block
    latches: list[Block]
    blocks: set[Block]
    parent: "Loop | None" = None
    children: "list[Loop]" = field(default_factory=list)


@dataclass(slots=True)
class Loops:
    """The loops of a Function, inner ones first."""

    loops: list[Loop]
    innermost: dict[Block, Loop]
    reducible: bool


def natural_loops(function: Function, dominators: Dominators | None = None) -> Loops:
    """Find all natural loops; ``reducible`` is False if there is another kind of cycle as well."""
    dom = dominators or Dominators(function)
    incoming = predecessors(function)
    innermost: dict[Block, Loop] = {}
    loops: list[Loop] = []
    reducible = True
    for header in reversed(dom.order):
        back = [source for source, _ in incoming[header] if source in dom and dom.number[source] >= dom.number[header]]
        latches = [source for source in dict.fromkeys(back) if dom.dominates(header, source)]
        reducible &= len(latches) == len(set(back))
        if latches:
            loop = Loop(header, latches, {header})
            _collect(loop, incoming, innermost, dom)
            loops.append(loop)
    for loop in loops:
        for outer in _around(loop):
            outer.blocks |= loop.blocks
    return Loops(loops, innermost, reducible)


def _around(loop: Loop) -> Iterator[Loop]:
    at = loop.parent
    while at is not None:
        yield at
        at = at.parent


def _collect(loop: Loop, incoming: Incoming, innermost: dict[Block, Loop], dom: Dominators) -> None:
    """Collect the blocks of a loop by walking backwards from its latches to its header; loops found earlier are nested in it and are stepped
    over.
    """
    todo = [*loop.latches]
    innermost.setdefault(loop.header, loop)
    while todo:
        block = todo.pop()
        inner = innermost.get(block)
        if inner is loop:
            continue
        if inner is None:
            innermost[block] = loop
            loop.blocks.add(block)
            todo += [source for source, _ in incoming[block] if source in dom]
            continue
        while inner.parent is not None and inner.parent is not loop:
            inner = inner.parent
        if inner.parent is None and inner is not loop:
            inner.parent = loop
            loop.children.append(inner)
            todo += [source for source, _ in incoming[inner.header] if source in dom and source not in inner.blocks]


# ------------------------------------------------------------------------------------------------- uses


def terminator_operands(terminator: Terminator) -> Iterator[Operand]:
    """Yield the operands of a terminator: its own, and the arguments of its edges (but not the operands of the op of an Invoke)."""
    match terminator:
        case Branch():
            yield terminator.cond
        case Return() | Raise():
            yield terminator.value
    for edge in edges(terminator):
        yield from iter(edge.args)


def operands(block: Block) -> Iterator[Operand]:
    """Yield all operands in a block, in the order of the text; dimensions are not included."""
    for op in block.all_ops():
        yield from iter(op.operands())
    yield from terminator_operands(block.terminator)


def uses(function: Function) -> dict[Value, int]:
    """Count the uses of each value (dimensions do not count); unused values are left out."""
    found: dict[Value, int] = {}
    for block in function.blocks:
        for operand in operands(block):
            if isinstance(operand, Param | Op):
                found[operand] = found.get(operand, 0) + 1
    return found


def liveness(function: Function) -> dict[Block, set[Value]]:
    """Return the live-in values of each block: values from outside that it, or a block after it, still uses. Its own params are not included."""
    needs: dict[Block, set[Value]] = {}
    gives: dict[Block, set[Value]] = {}
    for block in function.blocks:
        gives[block] = {*block.params, *block.all_ops()}
        needs[block] = {v for v in operands(block) if isinstance(v, Param | Op)} - gives[block]
    incoming = predecessors(function)
    todo = list(function.blocks)
    while todo:
        block = todo.pop()
        for source, _ in incoming[block]:
            fresh = needs[block] - gives[source] - needs[source]
            if fresh:
                needs[source] |= fresh
                todo.append(source)
    return needs
