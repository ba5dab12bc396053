"""Tapes: the values that a reverse sweep needs from the iterations of a loop. A tape has one slot for each iteration, and each slot is written
once.
"""

from dataclasses import dataclass
from typing import Any

from hovis.lattice import AbstractValue, Refined


@dataclass(frozen=True, slots=True)
class Slot:
    """The type of the slots of a tape, and for arrays the shape (None: an unknown dimension)."""

    type: AbstractValue
    shape: tuple[int | None, ...] | None = None

    def __repr__(self) -> str:
        return repr(self.type)


def tape_of(slot: Slot) -> Refined:
    """The type of a tape, a list that only these operations access."""
    return Refined(list, slot)


def slot_of(kind: AbstractValue) -> Slot | None:
    """The Slot of a tape type; None if the type is not that of a tape."""
    return kind.facts if isinstance(kind, Refined) and isinstance(kind.facts, Slot) else None


def make_tape(slot: Slot) -> list[Any]:
    """A tape without slots, for values of this type."""
    return []


def put(tape: list[Any], slot: int, value: Any) -> list[Any]:
    """The tape with the value appended as the next slot, whose number is ``slot``. The old tape is not used any more."""
    tape.append(value)
    return tape


def filled(tape: list[Any], slots: int) -> None:
    """Mark that all slots have been written, and how many there are. A tape of fixed length may have been too short."""


def get(tape: list[Any], slot: int) -> Any:
    """The value in a slot."""
    return tape[slot]


def revise(tape: list[Any], slot: int, value: Any) -> list[Any]:
    """The tape with another value in a slot. The old tape is not used any more."""
    tape[slot] = value
    return tape


def missing(slot: Slot) -> Any:
    """A placeholder for a value of this type on paths where there is none, and none is used."""
    return None
