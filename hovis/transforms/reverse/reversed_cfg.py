"""Where a reverse sweep goes: the blocks of a function that matter, and the ways between them, the edges turned around.

A loop that is left from several places is entered backwards by way of a block that *dispatches* to the one it was.
"""

from collections.abc import Iterator

from hovis.ir.analysis.control_flow import Loop, reverse_postorder
from hovis.ir.builder import INT
from hovis.ir.model import Block, Edge
from hovis.transforms.activity import Activity
from hovis.transforms.normal_form import Normal
from hovis.transforms.ssa_variables import Variable, absent


class Way:
    """From the beginning of a block (in the reverse sweep: its end) to the end of one before it, along an edge, if it is one edge."""

    __slots__ = ("edge", "source")

    def __init__(self, source: Block, edge: Edge | None) -> None:
        self.source, self.edge = source, edge


class Route:
    """The blocks of a reverse sweep.

    ways      of each block of the function that is reversed, those that lead to it
    back      the block of the sweep for it
    rounds    the loops that are run backwards
    ends      of each loop the blocks from which it is left; dispatch the block that goes to one of several, chosen which one
    """

    def __init__(self, normal: Normal, activity: Activity) -> None:
        self.normal, self.activity = normal, activity
        self.busy = {block for block in normal.function.blocks if activity.is_busy(block)}
        self.busy_loops = {loop for loop in normal.loops.loops if loop.blocks & self.busy}
        self.ways: dict[Block, list[Way]] = {}
        self.back: dict[Block, Block] = {}
        self.ends: dict[Loop, list[Block]] = {}
        self.dispatch: dict[Loop, Block] = {}
        self.chosen: dict[Loop, Variable] = {}
        self._plan()
        self.rounds = [loop for loop in normal.loops.loops if loop.header in self.ways and loop in self.busy_loops]

    def _plan(self) -> None:
        """Which blocks are reversed, and which ways lead from each."""
        todo = [self.normal.end]
        while todo:
            block = todo.pop()
            if block in self.ways:
                continue
            self.ways[block] = self._ways(block)
            for way in self.ways[block]:
                way.source = self._outside(block, way.source)
                todo.append(way.source)
        for block, ways in self.ways.items():
            self.back[block] = Block()
            for way in ways:
                for loop in self._entered(block, way.source):
                    ends = self.ends.setdefault(loop, [])
                    if way.source not in ends:
                        ends.append(way.source)
        for loop, ends in self.ends.items():
            if len(ends) > 1:
                latch = self.normal.latch[loop]
                if latch not in ends:
                    ends.append(latch)
                self.dispatch[loop] = Block()
                self.chosen[loop] = Variable(INT, absent)

    def _ways(self, block: Block) -> list[Way]:
        incoming = self.normal.incoming[block]
        if len(incoming) < 2:
            return [Way(source, edge) for source, edge in incoming]
        loop = self.normal.loops.innermost.get(block)
        if loop is not None and loop.header is block and loop in self.busy_loops:
            front, latch = self.normal.front[loop], self.normal.latch[loop]
            return [Way(at, next(e for s, e in incoming if s is at)) for at in (front, latch)]
        if not any(param in self.activity.active for param in block.params):
            top = self.normal.dominators.order[self.normal.dominators.parent[self.normal.dominators.number[block]]]
            if not self._between(top, block) & self.busy:
                return [Way(top, None)]
        return [Way(source, edge) for source, edge in incoming]

    def _between(self, top: Block, block: Block) -> set[Block]:
        """The blocks on the ways from top to block."""
        found: set[Block] = set()
        todo = [source for source, _ in self.normal.incoming[block]]
        while todo:
            at = todo.pop()
            if at is not top and at not in found:
                found.add(at)
                todo += [source for source, _ in self.normal.incoming[at]]
        return found

    def _outside(self, block: Block, source: Block) -> Block:
        """source, or where a loop that it is in begins, if nothing in that matters."""
        for loop in self.normal.around(source):
            if loop not in self.busy_loops and block not in loop.blocks:
                return self.normal.front[loop]
        return source

    def _entered(self, block: Block, source: Block) -> list[Loop]:
        """The loops, outermost first, that are entered backwards on the way from block to source."""
        return [loop for loop in self.normal.around(source) if block not in loop.blocks]

    def is_header(self, block: Block) -> bool:
        loop = self.normal.loops.innermost.get(block)
        return loop is not None and loop in self.rounds and loop.header is block

    def targets(self, block: Block, way: Way) -> tuple[Block, list[tuple[Loop, int]]]:
        """Where the sweep goes on, and what is to be chosen behind that."""
        entered = self._entered(block, way.source)
        chosen = [(loop, self.ends[loop].index(way.source)) for loop in entered if loop in self.dispatch]
        return (self.dispatch[chosen[0][0]] if chosen else self.back[way.source]), chosen

    def behind(self, loop: Loop, end: Block) -> Block:
        """Where the choice of end leads from loop's dispatch."""
        inner = [one for one in self.normal.around(end) if one is not loop and one.blocks < loop.blocks and one in self.dispatch]
        return self.dispatch[inner[0]] if inner else self.back[end]

    def again(self, loop: Loop) -> tuple[Block, list[tuple[Loop, int]]]:
        """Where a further round begins."""
        latch = self.normal.latch[loop]
        if loop in self.dispatch:
            return self.dispatch[loop], [(loop, self.ends[loop].index(latch))]
        return self.back[latch], []

    def leads(self) -> Iterator[Block]:
        """The block that each way of the sweep leads to."""
        for block in self.ways:
            yield from self._successors(block)
        for loop in self.dispatch:
            for end in self.ends[loop]:
                yield self.behind(loop, end)

    def _successors(self, block: Block) -> list[Block]:
        found = []
        for way in self.ways[block]:
            loop = self.loop_between(block, way)
            found.append(self.again(loop)[0] if loop is not None else self.targets(block, way)[0])
        return found

    def loop_between(self, block: Block, way: Way) -> Loop | None:
        """The loop whose round before begins with this way."""
        loop = self.normal.loops.innermost.get(block)
        return loop if self.is_header(block) and loop is not None and way.source is self.normal.latch[loop] else None

    def order(self, first: Block) -> list[tuple[Block, Block | Loop]]:
        forward: dict[Block, Block | Loop] = {at: block for block, at in self.back.items()}
        forward |= {at: loop for loop, at in self.dispatch.items()}

        def follow(at: Block) -> list[Block]:
            block = forward[at]
            return [self.behind(block, end) for end in self.ends[block]] if isinstance(block, Loop) else self._successors(block)

        return [(at, forward[at]) for at in reverse_postorder(first, follow)]


def way_source(normal: Normal, block: Block, way: Way) -> Block:
    """The block that the edge of a way leaves."""
    return next((source for source, edge in normal.incoming[block] if edge is way.edge), way.source)
