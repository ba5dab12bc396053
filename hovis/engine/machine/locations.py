"""Source locations of instructions, with the calls that inlined them."""

from collections.abc import Sequence

from hovis.engine.state.frames_and_heap import Frame
from hovis.ir.model import Location
from hovis.ir.origins import origins_of


class Locations:
    """The locations of sites (a call string and an instruction), each computed once."""

    __slots__ = ("found", "package")

    def __init__(self, package: str) -> None:
        self.package = package
        self.found: dict[tuple[int, int], Location | None] = {}

    def of(self, frames: Sequence[Frame], depth: int) -> Location | None:
        """Return the location of the frame at depth; hovis's own code has the location of its caller."""
        first = depth
        while first and (frames[first].ctx, frames[first].pc) not in self.found:
            first -= 1
        at: Location | None = None
        for frame in frames[first : depth + 1]:
            at = self._of_frame(frame, at)
        return at

    def _of_frame(self, frame: Frame, caller: Location | None) -> Location | None:
        """Return the location of a frame, given that of its caller."""
        key = (frame.ctx, frame.pc)
        if key in self.found:
            return self.found[key]
        code = frame.code
        found: Location | None
        origins = origins_of(code.code)
        if origins is not None:
            found = caller
            for at in origins.at(code.instructions[frame.pc].offset):
                found = at._replace(caller=found)
        elif code.filename.startswith(self.package) or (code.is_generator and _is_incomplete(frame)):
            found = caller
        else:
            line, end_line, col, end_col = code.instructions[frame.pc].position
            # as the constructor of a NamedTuple does, but without a Python call
            found = tuple.__new__(Location, (code.filename, line, end_line, col, end_col, code.qualname, code.first_line, caller))
        self.found[key] = found
        return found


def _is_incomplete(frame: Frame) -> bool:
    """Has the frame of a generator not become a generator yet? Neither tracebacks nor stacks show it then (_PyFrame_IsIncomplete); since 3.15, a
    generator expression makes its iterator in such a frame.
    """
    return any(later.op == "MakeGenerator" for later in frame.code.instructions[frame.pc + 1 :])
