"""Limits of unrolling: the loops that a chain follows iteration by iteration, and which of them is too long and stays a loop."""

from collections.abc import Collection
from itertools import chain
from typing import Final

from hovis.engine.state.frames_and_heap import Frame, State
from hovis.engine.state.specialization_tables import Unrolling
from hovis.engine.state.values import Ref

Head = tuple[int, int]

#: Lists of up to this many items are built one item at a time.  A longer list is read by loops, so a loop may build it as well.
ITEMS: Final = 16


class Loop:
    """One loop, and its iterations since it was entered.

    count        how often the chain has reached the loop header
    ops, steps   ops and steps of the chain before the first iteration
    collected    number of items in the lists that the frame holds, before the first iteration
    is_long      had the iterations exceeded the limits when the chain last reached the header?
    """

    __slots__ = ("collected", "count", "is_long", "ops", "steps")

    def __init__(self, ops: int, steps: int, collected: int) -> None:
        self.ops, self.steps, self.collected = ops, steps, collected
        self.count = 0
        self.is_long = False


class Rounds:
    """The loops of a chain, by loop header and, in a generator, by its number.

    The limits are higher for a loop that adds a few items to lists: if a loop stays in the residual and fills a list, its length is unknown.
    """

    def __init__(self, most: Unrolling, collecting: Unrolling) -> None:
        self.most = most
        self.collecting = collecting
        self._loops: dict[tuple[int, int, int | None], Loop] = {}

    def clear(self) -> None:
        self._loops.clear()

    def has(self, frame: Frame) -> bool:
        """Has the chain already been at the loop header where the frame stands?"""
        return (frame.ctx, frame.pc, frame.owner) in self._loops

    def visit(self, frame: Frame, state: State, back: bool, ops: int, steps: int) -> bool:
        """Record that the chain, with this number of ops and steps, reaches a loop header, by a back edge or from outside; return whether the
        loop is too long.
        """
        head = frame.ctx, frame.pc, frame.owner
        loop = self._loops.get(head)
        if loop is None or (not back and not _counts(state)):
            loop = self._loops[head] = Loop(ops, steps, _collected(frame, state))
        loop.count += 1
        ops, steps, most = ops - loop.ops, steps - loop.steps, self.most
        if ops > most.ops or steps > most.steps:
            if 0 < _collected(frame, state) - loop.collected <= ITEMS:
                most = self.collecting
            loop.is_long = ops > most.ops or steps > most.steps
        return loop.is_long

    def longest(self, kept: Collection[Head]) -> Head | None:
        """Return the header of the most visited loop that is too long, or None; kept: headers that are left out."""
        found = [(loop.count, head[:2]) for head, loop in self._loops.items() if loop.count > 1 and loop.is_long and head[:2] not in kept]
        return max(found)[1] if found else None


def _counts(state: State) -> bool:
    """Is this the header of a loop over a range? Any other loop has as many iterations as there are data, and is counted from zero when it is
    entered again.
    """
    iterator = state.goes_over()
    return iterator is not None and iterator.kind == "range_iter"


def _collected(frame: Frame, state: State) -> int:
    held = (state.heap[value.aid] for value in chain(frame.locals, frame.stack) if type(value) is Ref)
    return sum(len(obj.cells) for obj in held if obj.kind == "list")
