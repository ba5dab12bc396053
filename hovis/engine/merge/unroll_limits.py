"""The loops that a chain of instructions goes through round by round, and which of them runs so long that it stays a loop."""

from collections.abc import Collection
from itertools import chain
from typing import Final

from hovis.engine.state.frames_and_heap import Frame, State
from hovis.engine.state.specialization_tables import Unrolling
from hovis.engine.state.values import Ref

Head = tuple[int, int]

#: Of so many items lists are collected one by one.  A longer one is gone through by loops, and those have it made by a loop as well.
ITEMS: Final = 16


class Loop:
    """One loop: its rounds since it was entered.

    count        how often the chain has come to its head
    ops, steps   of the chain before the first round
    collected    how many items were in the lists that the frame holds, before the first round
    is_long      did the rounds come to too much when the chain last came to the head?
    """

    __slots__ = ("collected", "count", "is_long", "ops", "steps")

    def __init__(self, ops: int, steps: int, collected: int) -> None:
        self.ops, self.steps, self.collected = ops, steps, collected
        self.count = 0
        self.is_long = False


class Rounds:
    """By head, and generator whose own loop it is: the loops of a chain.

    Where a few items are collected in lists, more is followed: of a list that a loop fills it is not known how long it is.
    """

    def __init__(self, most: Unrolling, collecting: Unrolling) -> None:
        self.most = most
        self.collecting = collecting
        self._loops: dict[tuple[int, int, int | None], Loop] = {}

    def clear(self) -> None:
        self._loops.clear()

    def has(self, frame: Frame) -> bool:
        """Has the chain been at the loop head where the frame stands?"""
        return (frame.ctx, frame.pc, frame.owner) in self._loops

    def visit(self, frame: Frame, state: State, back: bool, ops: int, steps: int) -> bool:
        """The chain, of so many ops and instructions, has come to a loop head, by a jump back or from outside; is that loop too long?"""
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
        """Of the loops that are too long the one that was visited most; kept: those that it must not be."""
        found = [(loop.count, head[:2]) for head, loop in self._loops.items() if loop.count > 1 and loop.is_long and head[:2] not in kept]
        return max(found)[1] if found else None


def _counts(state: State) -> bool:
    """Is this the head of a loop over a range?  Other loops have as many rounds as there are data: where one is entered anew, those are all."""
    iterator = state.goes_over()
    return iterator is not None and iterator.kind == "range_iter"


def _collected(frame: Frame, state: State) -> int:
    held = (state.heap[value.aid] for value in chain(frame.locals, frame.stack) if type(value) is Ref)
    return sum(len(obj.cells) for obj in held if obj.kind == "list")
