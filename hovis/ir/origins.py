"""Origins of the instructions of a residual, for the case that it is traced again: the user's calls around each instruction."""

import bisect
from collections.abc import Callable, Sequence
from types import CodeType

from hovis.ir.model import Location


class Origins:
    """A table of the origins of instructions, stored as the last constant of a code object made by hovis."""

    __slots__ = ("chains", "starts")

    def __init__(self) -> None:
        #: the byte offsets at which the chain of calls changes, and the chain from each of them on, outermost call first
        self.starts: list[int] = []
        self.chains: list[tuple[Location, ...]] = []

    def fill(self, offsets: Sequence[int], places: Sequence[object], chain: Callable[[object], tuple[Location, ...]]) -> None:
        """Record the origin of each instruction."""
        last: object = self
        for offset, place in zip(offsets, places, strict=False):
            if place is not last:
                last = place
                self.starts.append(2 * offset)
                self.chains.append(chain(place))

    def at(self, offset: int) -> tuple[Location, ...]:
        """Return the calls around the instruction at this offset, outermost first."""
        found = bisect.bisect_right(self.starts, offset) - 1
        return self.chains[found] if found >= 0 else ()


def origins_of(code: CodeType) -> Origins | None:
    """Return the Origins of a code object, or None if it has none."""
    last = code.co_consts[-1] if code.co_consts else None
    return last if isinstance(last, Origins) else None
