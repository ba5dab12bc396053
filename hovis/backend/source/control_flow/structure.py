"""Structuring of control flow: the blocks of a Function become a tree of ``if``, ``while`` and ``try``.

The dominator tree determines the nesting (Ramsey: Beyond Relooper, 2022): a block with one incoming edge
is placed where that edge leaves; a block where several paths merge is placed behind all of them, and a jump to it leaves the statements around.
*Regions* are blocks that have to be in one statement: the blocks of a loop, the blocks whose exceptions one handler
catches, the blocks where an exception is being handled.  The blocks that they lead to are placed behind them.
"""

from dataclasses import dataclass
from typing import Final

from hovis.backend.source.control_flow.region_conflicts import Apart, Cut, landings_apart, reducible
from hovis.backend.source.control_flow.statement_tree import Body, End, If, Labeled, Leave, Moves, Tree, Try, While
from hovis.backend.source.legalize import cut, is_error, prepare
from hovis.backend.source.polled_loops import give_to_handlers, homes
from hovis.ir.analysis.control_flow import Dominators, liveness, natural_loops, predecessors, reverse_postorder
from hovis.ir.model import Block, Branch, Edge, Function, Invoke, Jump, Raise, Return, edges
from hovis.ir.operations import enter_handler, leave_handler
from hovis.passes.cfg.signal_polls import is_poll
from hovis.passes.rewriting import MAY_RAISE, effect_of, sees_handled

#: Maximal number of ops of a block that returns or raises, to be placed inside of a loop that it is not part of.
SMALL: Final = 4
#: From this number on, consecutive early returns and raises are written one after another instead of nested, which would be too deep.
LONG: Final = 32


# ------------------------------------------------------------------------------------------------- regions


@dataclass(slots=True, eq=False)
class Region:
    """Blocks that have to stand in one statement: a loop, the body of a try, a handler."""

    kind: str
    header: Block
    blocks: set[Block]
    landing: Block | None = None
    #: is this a try around the loop that begins with its header?
    wide: bool = False


def structured(function: Function) -> "Tree":
    """Build the tree of statements of function, which is a private copy and is changed."""
    prepare(function)
    narrow: set[Block] = set()
    while True:
        try:
            reducible(function)
            give_to_handlers(function)
            return Structurer(function, narrow).tree()
        except Wide as found:
            narrow.add(found.args[0])
        except Cut as found:
            block = found.args[0]
            block.terminator = Jump(Edge(cut(function, block, len(block.ops))))
        except Apart as apart:
            landings_apart(function, apart.args[0])
        function.blocks[:] = reverse_postorder(function.blocks[0])


class Wide(Exception):
    """Raised if the try of this landing can't stand around the loop whose back edge it covers."""


class Structurer:
    """Builds the tree of a prepared Function; raises Cut, Apart or Wide where its regions can't be nested.

    narrow: landings whose tries are inside the loops whose back edges they cover
    """

    def __init__(self, function: Function, narrow: set[Block]) -> None:
        self.function = function
        self.narrow = narrow
        self.dom = Dominators(function)
        self.number = self.dom.number
        self.incoming = predecessors(function)
        loops = natural_loops(function, self.dom)
        assert loops.reducible
        self.headers = {loop.header for loop in loops.loops}
        self.live = liveness(function)
        self.home = homes(function)
        self.regions = [Region("loop", loop.header, set(loop.blocks)) for loop in loops.loops]
        self.depth = self._depths()
        self.tries: dict[Block, Region] = {}
        for block in self.dom.order:
            errors = [source for source, edge in self.incoming[block] if source in self.dom and is_error(source, edge)]
            if errors:
                self._watch(block, errors)
        self._check_nesting()
        self.follows: dict[Block, list[Block]] = {}
        self.inline: set[Block] = set()
        self._place()

    def _depths(self) -> dict[Block, int]:
        """Return the number of open handlers at the start of each block."""
        found = {self.function.blocks[0]: 0}
        for block in self.dom.order:
            depth = found[block] + sum((op.callee is enter_handler) - (op.callee is leave_handler) for op in block.ops)
            for edge in edges(block.terminator):
                found.setdefault(edge.block, depth)
        return found

    def _parent(self, block: Block) -> Block:
        return self.dom.order[self.dom.parent[self.number[block]]]

    # --------------------------------------------------------------------------------------------- the regions of handlers

    def _watch(self, landing: Block, sources: list[Block]) -> None:
        """Find the blocks of the try statement whose handler begins with landing, and those of the handler; raise Cut or Apart if that is
        impossible.
        """
        if any(self.dom.dominates(landing, source) for source in sources):
            raise Apart(landing)  # the handler goes on with one of the calls whose exceptions it catches
        first = self._parent(landing)
        header, loops = self._polled(landing, first, {source for source in sources if is_poll(source)})
        body = self._between(header, set(sources)) | loops
        calls = set(sources)
        if any(effect_of(op) & MAY_RAISE for op in header.ops):
            raise Cut(header)
        for block in body:
            if any(effect_of(op) & MAY_RAISE for op in block.ops):
                raise Apart(landing)
            if isinstance(block.terminator, Invoke) and block not in calls and not self.dom.dominates(header, block.terminator.error.block):
                raise Apart(landing)
        self.tries[landing] = Region("try", header, body, landing, bool(loops))
        self.regions.append(self.tries[landing])
        handler = {landing}
        if landing.ops and landing.ops[0].callee is enter_handler:
            handler = self._handling(landing)
        elif not self._sees(landing):
            handler |= {b for b in self.dom.order if self.dom.dominates(landing, b)}
        self.regions.append(Region("handler", landing, handler))

    def _polled(self, landing: Block, header: Block, polls: set[Block]) -> tuple[Block, set[Block]]:
        """Return the header and the blocks of the outermost loop whose back edges a handler covers (else header and no blocks): the try stands
        around the loop, as the text checks for signals at back edges.
        """
        found: set[Block] = set()
        for loop in () if landing in self.narrow else sorted((r for r in self.regions if r.kind == "loop" and polls & r.blocks), key=lambda r: len(r.blocks)):
            if header not in loop.blocks or landing in loop.blocks or self._goes_round(loop, polls) or not self._is_calm(loop, landing):
                break
            header, found = loop.header, loop.blocks
        return header, found

    def _goes_round(self, loop: Region, polls: set[Block]) -> bool:
        """Is there a path around the loop, back to its header, that passes through none of polls?"""
        seen, todo = set[Block](), [loop.header]
        while todo:
            block = todo.pop()
            for edge in edges(block.terminator) if block not in polls else ():
                if edge.block is loop.header:
                    return True
                if edge.block in loop.blocks and edge.block not in seen:
                    seen.add(edge.block)
                    todo.append(edge.block)
        return False

    def _is_calm(self, loop: Region, landing: Block) -> bool:
        """Is every exception that the loop raises caught by this handler, or by one within, and does the handler read nothing that the loop
        binds again?
        """
        if any(self.home.get(value) in loop.blocks for value in self.live[landing]):
            return False  # it reads a value that is rebound in each iteration
        for block in loop.blocks:
            end = block.terminator
            if any(effect_of(op) & MAY_RAISE for op in block.ops) or isinstance(end, Raise):
                return False
            if isinstance(end, Invoke) and end.error.block is not landing and not self.dom.dominates(loop.header, end.error.block):
                return False
        return True

    def _handling(self, landing: Block) -> set[Block]:
        """Return the blocks that begin while the exception caught at landing is being handled."""
        found, todo = {landing}, [landing]
        while todo:
            for edge in edges(todo.pop().terminator):
                if edge.block not in found and self.depth[edge.block] > self.depth[landing]:
                    found.add(edge.block)
                    todo.append(edge.block)
        return found

    def _between(self, header: Block, sources: set[Block]) -> set[Block]:
        """Return the blocks on the paths from header to sources (which header dominates)."""
        found = {header}
        todo = list(sources)
        while todo:
            block = todo.pop()
            if block not in found:
                found.add(block)
                todo += [source for source, _ in self.incoming[block] if source in self.dom]
        return found

    def _sees(self, landing: Block) -> bool:
        """Could code dominated by landing observe that it stands in an except clause?"""
        inside = [b for b in self.dom.order if self.dom.dominates(landing, b)]
        return any(sees_handled(op) for b in inside for op in b.all_ops()) or any(isinstance(b.terminator, Raise) and not b.terminator.again for b in inside)

    def _check_nesting(self) -> None:
        """Check that regions are disjoint or nested, and collect the regions around each block; raise Wide or Apart if they overlap."""
        for handler in (r for r in self.regions if r.kind == "handler"):
            for loop in self.regions:
                if loop.kind == "loop" and handler.header in loop.blocks:
                    # a block that returns or raises is in no natural loop, but may be placed in one
                    loop.blocks |= handler.blocks
        self.regions.sort(key=lambda r: (len(r.blocks), 2 if r.wide else r.kind != "try"))
        innermost: dict[Block, list[Region]] = {}
        for region in self.regions:
            for block in region.blocks:
                for other in innermost.get(block, ()):
                    if not other.blocks <= region.blocks:
                        raise self._to_part(region, other)
                innermost.setdefault(block, []).append(region)
        #: the regions around each block, the innermost first
        self.around = innermost
        for block in self.dom.order:
            end = block.terminator
            if isinstance(end, Invoke):
                inner = next(region for region in innermost[block] if region.kind == "try")
                if inner.landing is not end.error.block:
                    # the inner handler would catch exceptions that belong to the outer one
                    raise self._to_part(inner, self.tries[end.error.block])

    def _to_part(self, *overlapping: Region) -> Exception:
        """Return the exception to raise for overlapping regions: Wide for a try around a loop, Apart for the handler of several calls."""
        for region in overlapping:
            if region.wide:
                return Wide(region.landing)
        for region in overlapping:
            if region.landing is not None and len(self.incoming[region.landing]) > 1:
                return Apart(region.landing)
        raise AssertionError("statements overlap")

    # --------------------------------------------------------------------------------------------- placement

    def _place(self) -> None:
        for block in self.dom.order[1:]:
            if block in self.tries:
                continue
            owner = self._owner(block)
            forward = [s for s, _ in self.incoming[block] if s in self.dom and self.number[s] < self.number[block]]
            beside = owner is self._parent(block) and self._beside(owner, block)
            if len(forward) == 1 and (beside or self._ends(forward[0], block)):
                self.inline.add(block)
            else:
                self.follows.setdefault(owner, []).append(block)

    def _beside(self, owner: Block, block: Block) -> bool:
        """Is block in all statements that owner is in?"""
        return all(region in self.around.get(block, ()) for region in self.around.get(owner, ()))

    def _owner(self, block: Block) -> Block:
        """Return the block behind which this one is placed: its dominator, or the header of a region that contains the dominator and not block."""
        owner, mine = self._parent(block), self.around.get(block, [])
        moved = True
        while moved:
            moved = False
            for region in self.around.get(owner, ()):
                if region not in mine:
                    head = region.header
                    if region.kind == "handler":
                        head = self.tries[head].header
                    if head is not owner:
                        owner, moved = head, True
                        break
        return owner

    def _ends(self, source: Block, block: Block) -> bool:
        """Is block short, and does it return or raise? Then it may stand inside of a loop, if the loop is left for other blocks as well."""
        if not isinstance(block.terminator, Return | Raise) or len(block.ops) > SMALL:
            return False
        left = [region for region in self.around.get(source, ()) if region not in self.around.get(block, ())]
        return all(region.kind == "loop" and self._main_exit(region) is not block for region in left)

    def _main_exit(self, loop: Region) -> Block | None:
        """Return the block that stands behind a loop: the exit of its header, else the last of all its exits, or None."""
        for edge in edges(loop.header.terminator):
            if edge.block not in loop.blocks:
                return edge.block
        found = [edge.block for block in loop.blocks for edge in edges(block.terminator) if edge.block not in loop.blocks]
        return max(found, key=self.number.__getitem__, default=None)

    # --------------------------------------------------------------------------------------------- the tree

    def tree(self) -> Tree:
        return self._at(self.function.blocks[0])

    def _at(self, block: Block) -> Tree:
        """Build the tree of block, of the blocks nested in it, and of those that stand behind it; iterates along long rows of blocks instead of
        recursing.
        """
        done: Tree = []
        while True:
            code = self._node(block)
            follows = sorted(self.follows.get(block, ()), key=self.number.__getitem__)
            for region in self._begun(block):
                code = self._behind(code, [f for f in follows if f in region.blocks])
                follows = [f for f in follows if f not in region.blocks]
                if region.kind == "loop":
                    code = [While(block, code)]
                else:
                    assert region.landing is not None
                    code = [Try(region.landing, code, self._at(region.landing))]
            if not follows:
                return done + code
            block = follows.pop()
            done.append(Labeled(block, self._behind(code, follows)))

    def _begun(self, block: Block) -> list[Region]:
        """Return the regions that begin at block as statements, the innermost first."""
        return [region for region in self.around.get(block, ()) if region.header is block and region.kind != "handler"]

    def _behind(self, code: Tree, follows: list[Block]) -> Tree:
        for block in follows:
            code = [Labeled(block, code), *self._at(block)]
        return code

    def _node(self, block: Block) -> Tree:
        """Build the tree of block, and of the code after it in the same statements; iterates along long chains of calls and of early ends
        instead of recursing.
        """
        code: Tree = []
        while True:
            code.append(Body(block))
            match block.terminator:
                case Jump():
                    edge = block.terminator.edge
                case Invoke():
                    edge = block.terminator.ok
                case Branch():
                    edge = block.terminator.false
                    one = self._go(block, block.terminator.true)
                    if not isinstance(one[-1], End) or _early_ends(block) < LONG:
                        return [*code, If(block, one, self._go(block, edge))]
                    code.append(If(block, one, []))
                case _:
                    return [*code, End(block)]
            if edge.block not in self.inline or not self._alone(edge.block) or self._again(block, edge):
                return code + self._go(block, edge)
            code += [Moves(edge)] if edge.args else []
            block = edge.block

    def _alone(self, block: Block) -> bool:
        """Does no statement begin at block, and no other block stand behind it?"""
        return not self.follows.get(block) and not self._begun(block)

    def _again(self, source: Block, edge: Edge) -> bool:
        return edge.block in self.headers and self.number[edge.block] <= self.number[source]

    def _go(self, source: Block, edge: Edge) -> Tree:
        target = edge.block
        moves: Tree = [Moves(edge)] if edge.args else []
        if self._again(source, edge):
            return [*moves, Leave(target, True)]
        if target in self.inline:
            return moves + self._at(target)
        return [*moves, Leave(target)]


def _early_ends(block: Block) -> int:
    """Count the branches from block on, one behind the other, that return or raise on one side; up to LONG."""
    count = 0
    while count < LONG and isinstance(block.terminator, Branch) and isinstance(block.terminator.true.block.terminator, Return | Raise):
        block, count = block.terminator.false.block, count + 1
    return count
