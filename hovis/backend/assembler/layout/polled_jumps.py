"""Which jumps back of loops are covered by handlers, as signals are looked for there, and which do not look."""

from hovis.backend.assembler.liveness import Flow
from hovis.ir.model import Block, Invoke
from hovis.ir.operations import poll


class Polls:
    """Where signals are looked for, and where it is left: a jump back is covered by handlers, or does not look."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        #: the ways back of loops on which exceptions of signal handlers are caught, by the head
        self.returning: dict[Block, list[Block]] = {}
        #: other jumps back, of loops where somebody looks for signals in each round: from which block to which
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
                # a way on may be written as a jump back, too: what the original does not jump back for, no signal interrupts
                if flow.index[edge.block] > flow.index[block] or not self._leads(edge.block, block, apart):
                    self.quiet.add((block, edge.block))

    def _leads(self, first: Block, to: Block, apart: set[Block]) -> bool:
        """Does a way lead from one block to another that goes through none of those apart?"""
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
