"""Where the instructions of a residual come from, if that is traced again: the user's calls around each."""

import bisect
from collections.abc import Callable, Sequence
from types import CodeType

from hovis.ir.model import Location


class Origins:
    """Stands behind the other constants of a code object that is hovis's own."""

    __slots__ = ("chains", "starts")

    def __init__(self) -> None:
        #: offsets in bytes where the calls change, and what they are from there on, outermost first
        self.starts: list[int] = []
        self.chains: list[tuple[Location, ...]] = []

    def fill(self, offsets: Sequence[int], places: Sequence[object], chain: Callable[[object], tuple[Location, ...]]) -> None:
        """Remember which instruction comes from where."""
        last: object = self
        for offset, place in zip(offsets, places, strict=False):
            if place is not last:
                last = place
                self.starts.append(2 * offset)
                self.chains.append(chain(place))

    def at(self, offset: int) -> tuple[Location, ...]:
        """The calls around the instruction there."""
        found = bisect.bisect_right(self.starts, offset) - 1
        return self.chains[found] if found >= 0 else ()


def origins_of(code: CodeType) -> Origins | None:
    """Those of a code object, if it has any."""
    last = code.co_consts[-1] if code.co_consts else None
    return last if isinstance(last, Origins) else None
