"""Which back edges of loops are covered by handlers, because they check for signals, and which do not check."""

from hovis.backend.assembler.liveness import Flow
from hovis.ir.model import Block, Invoke
from hovis.ir.operations import poll


class Polls:
    """The back edges that are covered by handlers (``returning``), and the jumps that do not check for signals (``quiet``)."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        #: by loop header, the latches whose back edges catch exceptions of signal handlers
        self.returning: dict[Block, list[Block]] = {}
        #: (source, target) of other back edges, in loops that check for signals elsewhere in each iteration
        self.quiet: set[tuple[Block, Block]] = set()
        polls = [block for block in flow.order if isinstance(block.terminator, Invoke) and block.terminator.op.callee is poll]
        for block in polls:
            assert isinstance(block.terminator, Invoke)
            self.quiet.add((block, block.terminator.error.block))
            head = block.terminator.ok.block
            if flow.index[head] <= flow.index[block]:
                self.returning.setdefault(head, []).append(block)
        apart = set(polls)
        for block in flow.order if polls or flow.catches else ():
            for edge in flow.leaving(block) if block not in apart else ():
                # a forward edge may be laid out as a backward jump: where the original does not jump backward, it does not check for signals
                if flow.index[edge.block] > flow.index[block] or not self._leads(edge.block, block, apart):
                    self.quiet.add((block, edge.block))

    def _leads(self, first: Block, to: Block, apart: set[Block]) -> bool:
        """Is the block ``to`` reachable from the block ``first`` without passing through a block in ``apart``?"""
        seen, todo = {first}, [first]
        while todo:
            block = todo.pop()
            if block is to:
                return True
            for edge in self.flow.leaving(block) if block not in apart else ():
                if edge.block not in seen:
                    seen.add(edge.block)
                    todo.append(edge.block)
        return False
