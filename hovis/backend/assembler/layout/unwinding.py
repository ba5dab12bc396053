"""Unwinding of exceptions that nothing in the function catches: handlers that clean up and reraise."""

from hovis.backend.assembler.encode import (
    COPY,
    NOWHERE,
    NULL_FIRST,
    OP,
    POP_EXCEPT,
    POP_TOP,
    PRECALL,
    RERAISE,
    STOPITERATION_ERROR,
    STORE_FAST,
    Assembly,
    Label,
    Region,
)
from hovis.backend.assembler.layout.edge_moves import Moves
from hovis.backend.tracebacks import Tracebacks


class Unwinding:
    """The regions of code that no handler of the function itself covers, by the number of exceptions that are being handled."""

    def __init__(self, asm: Assembly, moves: Moves, is_generator: bool, mending: Tracebacks | None) -> None:
        self.asm, self.moves, self.is_generator, self.mending = asm, moves, is_generator, mending
        self.slots = moves.slots
        self.regions: list[Region] = []

    def region(self, handlers: int) -> Region | None:
        """Return the region for uncaught exceptions where this many handlers are open, or None if nothing has to be cleaned up."""
        if not handlers and self.mending is None and not self.slots.ending and not (self.is_generator and STOPITERATION_ERROR):
            return None
        while len(self.regions) <= handlers:
            self.regions.append(Region(Label(), len(self.regions), lasti=True))
        return self.regions[handlers]

    def mend(self) -> None:
        """Emit the repair of the traceback of the exception on top of the stack."""
        if self.mending is None:
            return
        asm = self.asm
        if NULL_FIRST:
            asm.do(OP["PUSH_NULL"], 0, 1)
        self.moves.constant(self.mending)
        if not NULL_FIRST:
            asm.do(OP["PUSH_NULL"], 0, 1)
        asm.do(COPY, 3, 1)
        if PRECALL is not None:
            asm.do(PRECALL, 1)
        asm.do(OP["CALL"], 1, -2)
        asm.do(POP_TOP, 0, -1)

    def write(self) -> None:
        """Emit the cleanup handlers: the exception propagates to the caller, and the exception that was being handled before the call is
        restored (POP_EXCEPT of the outermost).
        """
        asm = self.asm
        used = set(map(id, asm.regions))
        asm.region, asm.place = None, NOWHERE
        for handlers, region in enumerate(self.regions):
            if id(region) not in used:
                continue
            asm.bind(region.label)
            asm.depth = handlers
            asm.grow(2)
            if handlers:
                asm.do(COPY, handlers + 2, 1)
                asm.do(POP_EXCEPT, 0, -1)
            for local in self.slots.ending:
                self.moves.constant(None)
                asm.do(STORE_FAST, local, -1)
            self.mend()
            if self.is_generator and STOPITERATION_ERROR:
                asm.do(*STOPITERATION_ERROR)
            asm.do(RERAISE, 1, -1)
