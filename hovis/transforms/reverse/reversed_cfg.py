"""The control flow of a reverse sweep: the blocks of a function that matter, and the edges between them, reversed.

The sweep enters a loop that is left from several blocks through a *dispatch* block, which branches to the block from which the loop was left.
"""

from collections.abc import Iterator

from hovis.ir.analysis.control_flow import Loop, reverse_postorder
from hovis.ir.builder import INT
from hovis.ir.model import Block, Edge
from hovis.transforms.activity import Activity
from hovis.transforms.normal_form import Normal
from hovis.transforms.ssa_variables import Variable, absent


class Way:
    """A step of the sweep from the beginning of a block (in the reverse sweep: its end) to the end of an earlier block, ``source``; ``edge`` is
    the edge that it reverses, or None if it skips a region in which nothing matters.
    """

    __slots__ = ("edge", "source")

    def __init__(self, source: Block, edge: Edge | None) -> None:
        self.source, self.edge = source, edge


class Route:
    """The blocks of a reverse sweep, and the ways between them.

    ways      for each block of the function that is reversed, the ways from it to earlier blocks
    back      for each of these blocks, the corresponding block of the sweep
    rounds    the loops that are run backwards
    ends      for each loop, the blocks from which it is left; dispatch: its dispatch block, if there are several; chosen: the variable
              for the index of the end
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
        """Find the blocks that are reversed, and the ways that lead from each."""
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
        """Return the blocks on the paths from top to block, without top."""
        found: set[Block] = set()
        todo = [source for source, _ in self.normal.incoming[block]]
        while todo:
            at = todo.pop()
            if at is not top and at not in found:
                found.add(at)
                todo += [source for source, _ in self.normal.incoming[at]]
        return found

    def _outside(self, block: Block, source: Block) -> Block:
        """Return source, or the preheader of a loop around it that does not contain block, if nothing in that loop matters."""
        for loop in self.normal.around(source):
            if loop not in self.busy_loops and block not in loop.blocks:
                return self.normal.front[loop]
        return source

    def _entered(self, block: Block, source: Block) -> list[Loop]:
        """Return the loops, outermost first, that the sweep enters on the way from block to source."""
        return [loop for loop in self.normal.around(source) if block not in loop.blocks]

    def is_header(self, block: Block) -> bool:
        loop = self.normal.loops.innermost.get(block)
        return loop is not None and loop in self.rounds and loop.header is block

    def targets(self, block: Block, way: Way) -> tuple[Block, list[tuple[Loop, int]]]:
        """Return the block at which the sweep continues, and the choices to make in the dispatch blocks behind it: pairs of a loop and the index
        of one of its ends.
        """
        entered = self._entered(block, way.source)
        chosen = [(loop, self.ends[loop].index(way.source)) for loop in entered if loop in self.dispatch]
        return (self.dispatch[chosen[0][0]] if chosen else self.back[way.source]), chosen

    def behind(self, loop: Loop, end: Block) -> Block:
        """Return the block to which the dispatch block of loop goes if end was chosen."""
        inner = [one for one in self.normal.around(end) if one is not loop and one.blocks < loop.blocks and one in self.dispatch]
        return self.dispatch[inner[0]] if inner else self.back[end]

    def again(self, loop: Loop) -> tuple[Block, list[tuple[Loop, int]]]:
        """Return the block at which the sweep begins the previous iteration of loop, and the choices to make in dispatch blocks."""
        latch = self.normal.latch[loop]
        if loop in self.dispatch:
            return self.dispatch[loop], [(loop, self.ends[loop].index(latch))]
        return self.back[latch], []

    def leads(self) -> Iterator[Block]:
        """Yield the target block of each way of the sweep."""
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
        """Return the loop whose back edge this way reverses, or None."""
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
    """Return the block that the edge of a way leaves; ``way.source`` if the way has no edge."""
    return next((source for source, edge in normal.incoming[block] if edge is way.edge), way.source)
