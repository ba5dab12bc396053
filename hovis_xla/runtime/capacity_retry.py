"""Growing tapes: a call that overflows a tape is done again by a program with a longer one.

A reverse sweep needs the values that the iterations of a loop have saved, and XLA has no arrays whose length is determined later.
If the trip count is unknown, a program is made with tapes of some length.  The forward loop continues past the end of a tape, and
counts; then the program bails out, reports how many slots it would have needed, and the call is repeated by a program that has
them: twice as many, or four times …  That program is kept, and does the calls from then on, until one needs no more slots than
the first program has.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from hovis.base.once import COMPILER
from hovis_xla.abi.signature import Tape
from hovis_xla.emit.values import NotLowerable
from hovis_xla.jaxlib.adapter import XlaError

if TYPE_CHECKING:
    from hovis_xla.runtime.executable import Executable

#: Maximum size in bytes of all tapes together that have been made longer.
MOST: Final = 1 << 30


class Growing:
    """The executables of one Function, by the lengths of their tapes.

    longer   the entry of the executable that does the calls at present; empty if this is the first one
    """

    def __init__(self, first: "Executable", make: "Callable[[dict[int, int]], Executable]") -> None:
        self.first, self.make = first, make
        self.longer: list[Callable[..., Any]] = []
        self.made: dict[tuple[tuple[int, int], ...], Executable] = {}

    def told(self, executable: "Executable", gave_up: bool, counts: Sequence[int]) -> Callable[..., Any] | None:
        """Take the number of slots that a run has filled of each tape. Returns the entry that is to do the call again if it gave up because a
        tape was too short, else None.
        """
        tapes = executable.lowered.tapes
        if not gave_up:
            if executable is not self.first and all(n <= tape.slots for n, tape in zip(counts, self.first.lowered.tapes, strict=True)):
                self.longer.clear()
            return None
        lengths = _lengths(tapes, counts)
        if lengths is None:
            return None
        key = tuple(lengths.items())
        try:
            with COMPILER:
                if key not in self.made:
                    self.made[key] = self.make(lengths)
            enter = self.made[key].enter
        except (XlaError, NotLowerable):
            return None
        self.longer[:] = [enter]
        # observable effects must not be repeated
        return None if executable.lowered.record else enter

    def __str__(self) -> str:
        longest = max((slots for lengths in self.made for _, slots in lengths), default=0)
        return f"Its tapes have grown to {longest} slots." if longest else ""


def _lengths(tapes: Sequence[Tape], counts: Sequence[int]) -> dict[int, int] | None:
    """Compute the new lengths of the tapes, by number; None if no tape was too short, or if they would exceed ``MOST``."""
    if all(n <= tape.slots for n, tape in zip(counts, tapes, strict=True)):
        return None
    for enough in (_doubled, max):
        found = {tape.number: enough(n, tape.slots) for n, tape in zip(counts, tapes, strict=True)}
        if sum(found[tape.number] * tape.bytes for tape in tapes) <= MOST:
            return found
    return None


def _doubled(wanted: int, slots: int) -> int:
    """Return ``slots``, doubled until it is at least ``wanted``."""
    while slots < wanted:
        slots *= 2
    return slots
