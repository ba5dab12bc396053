"""Where instructions stand in the user's source, with the calls that inlined them."""

from collections.abc import Sequence

from hovis.engine.state.frames_and_heap import Frame
from hovis.ir.model import Location
from hovis.ir.origins import origins_of


class Locations:
    """The locations of sites (a call string and an instruction), each made once."""

    __slots__ = ("found", "package")

    def __init__(self, package: str) -> None:
        self.package = package
        self.found: dict[tuple[int, int], Location | None] = {}

    def of(self, frames: Sequence[Frame], depth: int) -> Location | None:
        """Where the frame at depth stands; code of hovis's own counts as its caller's."""
        first = depth
        while first and (frames[first].ctx, frames[first].pc) not in self.found:
            first -= 1
        at: Location | None = None
        for frame in frames[first : depth + 1]:
            at = self._of_frame(frame, at)
        return at

    def _of_frame(self, frame: Frame, caller: Location | None) -> Location | None:
        """The location of a frame whose caller's is known."""
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
        elif code.filename.startswith(self.package):
            found = caller
        else:
            line, end_line, col, end_col = code.instructions[frame.pc].position
            # what the constructor of a NamedTuple does, without the call in between
            found = tuple.__new__(Location, (code.filename, line, end_line, col, end_col, code.qualname, code.first_line, caller))
        self.found[key] = found
        return found
