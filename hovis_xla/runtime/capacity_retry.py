"""Tapes that grow.

A reverse sweep needs what the rounds of a loop have left, and XLA has no array of which the length is found out later.  Where
nobody knows how many rounds there will be, a program is made with tapes of some length.  The forward loop goes on behind the end
of one, and counts; then the call gives up, says how many slots there should have been, and is done again by a program that has
them: twice as many, or four times …  That one is kept, and does the calls from then on, until one needs no more than the first
program has.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from hovis.base.once import COMPILER
from hovis_xla.abi.signature import Tape
from hovis_xla.emit.values import NotLowerable
from hovis_xla.jaxlib.adapter import XlaError

if TYPE_CHECKING:
    from hovis_xla.runtime.executable import Executable

#: So many bytes all tapes may have together that have grown.
MOST: Final = 1 << 30


class Growing:
    """The executables of one Function, by the lengths of its tapes.

    longer   how the one is entered that does the calls at present, if it is not the first
    """

    def __init__(self, first: "Executable", make: "Callable[[dict[int, int]], Executable]") -> None:
        self.first, self.make = first, make
        self.longer: list[Callable[..., Any]] = []
        self.made: dict[tuple[tuple[int, int], ...], Executable] = {}

    def told(self, executable: "Executable", gave_up: bool, counts: Sequence[int]) -> Callable[..., Any] | None:
        """A run has filled so many slots of each tape: what is to do the call again, if it has given up for that."""
        tapes = executable.lowered.tapes
        if not gave_up:
            if executable is not self.first and all(n <= tape.slots for n, tape in zip(counts, self.first.lowered.tapes, strict=True)):
                self.longer.clear()
            return None
        lengths = _lengths(tapes, counts)
        if lengths is None:
            return None
        try:
            enter = self._with(lengths).enter
        except (XlaError, NotLowerable):
            return None
        self.longer[:] = [enter]
        # what can be seen from outside is not done twice
        return None if executable.lowered.record else enter

    def _with(self, lengths: dict[int, int]) -> "Executable":
        key = tuple(lengths.items())
        with COMPILER:
            if key not in self.made:
                self.made[key] = self.make(lengths)
            return self.made[key]

    def __str__(self) -> str:
        longest = max((slots for lengths in self.made for _, slots in lengths), default=0)
        return f"Its tapes have grown to {longest} slots." if longest else ""


def _lengths(tapes: Sequence[Tape], counts: Sequence[int]) -> dict[int, int] | None:
    """How long the tapes are to be, by number; None if none was too short, or that is too much."""
    if all(n <= tape.slots for n, tape in zip(counts, tapes, strict=True)):
        return None
    for enough in (_doubled, max):
        found = {tape.number: enough(n, tape.slots) for n, tape in zip(counts, tapes, strict=True)}
        if sum(found[tape.number] * tape.bytes for tape in tapes) <= MOST:
            return found
    return None


def _doubled(wanted: int, slots: int) -> int:
    """slots, doubled until that is enough."""
    while slots < wanted:
        slots *= 2
    return slots
