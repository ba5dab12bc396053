"""Code on edges that is emitted apart from both blocks, close to its target."""

from collections.abc import Set

from hovis.backend.assembler.encode import END_FOR_POPS_ONE, OP, POP_ITER, POP_TOP, Assembly, Label
from hovis.backend.assembler.layout.edge_moves import Moves
from hovis.backend.assembler.layout.unwinding import Unwinding
from hovis.ir.model import Block, Caught, Edge, Operand, Value


class Stub:
    """Code on an edge that is emitted apart from both of its blocks."""

    __slots__ = ("carries", "edge", "handlers", "label", "live", "mend", "prefix", "quiet", "top")

    def __init__(
        self, label: Label, edge: Edge, live: set[Value], handlers: int, top: Operand | None = None, mend: bool = False, prefix: str = "", carries: bool = False
    ) -> None:
        self.label, self.edge, self.live, self.handlers = label, edge, live, handlers
        #: is it a back edge on which no check for signals is made?
        self.quiet = False
        self.top, self.mend, self.prefix, self.carries = top, mend, prefix, carries


class Stubs:
    """The stubs that have not been emitted yet, by target block."""

    def __init__(self, asm: Assembly, moves: Moves, unwinding: Unwinding, labels: dict[Block, Label], takers: Set[Block]) -> None:
        self.asm, self.moves, self.unwinding, self.labels, self.takers = asm, moves, unwinding, labels, takers
        self.waiting: dict[Block, list[Stub]] = {}

    def add(self, stub: Stub) -> None:
        """Add a stub to be emitted later."""
        self.waiting.setdefault(stub.edge.block, []).append(stub)

    def write(self, block: Block, falls: bool) -> None:
        """Emit the stubs that lead to block; falls: the last one stands right before it and falls through."""
        stubs = self.waiting.pop(block, [])
        for k, stub in enumerate(stubs):
            self._write_stub(stub)
            if not falls or k < len(stubs) - 1:
                self.asm.jump(self.labels[block], stub.quiet)

    def write_detours(self, following: Block) -> None:
        """Emit the stubs on back edges (except those to following) that no exception leads to: close to their source, to keep jumps short."""
        for block, stubs in list(self.waiting.items()):
            if block is not following and self.labels[block].at >= 0:
                found = [stub for stub in stubs if not isinstance(stub.top, Caught)]
                if found:
                    self.waiting[block] = found
                    raised = [stub for stub in stubs if isinstance(stub.top, Caught)]
                    self.write(block, falls=False)
                    if raised:
                        self.waiting[block] = raised

    def _write_stub(self, stub: Stub) -> None:
        asm = self.asm
        asm.bind(stub.label)
        asm.region = self.unwinding.region(stub.handlers)
        asm.depth = stub.handlers + stub.carries
        if stub.carries and stub.edge.block not in self.takers:
            asm.do(POP_TOP, 0, -1)
        if stub.prefix in OP:
            # FOR_ITER skips this instruction, except when the iterator is a generator that returns
            asm.do(OP[stub.prefix])
            if END_FOR_POPS_ONE:
                asm.do(POP_ITER)
        if isinstance(stub.top, Caught):
            asm.grow(1)
            if stub.mend:
                self.unwinding.mend()
        self.moves.write(self.moves.plan(stub.edge, stub.live, stub.top), stub.top)
