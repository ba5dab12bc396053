"""What a reverse sweep needs of the rounds of a loop: a tape has one slot a round, and each is written once."""

from dataclasses import dataclass
from typing import Any

from hovis.lattice import AbstractValue, Refined


@dataclass(frozen=True, slots=True)
class Slot:
    """What is in each slot of a tape: a type, and for arrays a shape (None: a dimension is not known)."""

    type: AbstractValue
    shape: tuple[int | None, ...] | None = None

    def __repr__(self) -> str:
        return repr(self.type)


def tape_of(slot: Slot) -> Refined:
    """The type of a tape, a list of which only these operations know."""
    return Refined(list, slot)


def slot_of(kind: AbstractValue) -> Slot | None:
    """What is in the slots, if it is a tape."""
    return kind.facts if isinstance(kind, Refined) and isinstance(kind.facts, Slot) else None


def make_tape(slot: Slot) -> list[Any]:
    """A tape without slots, for what is in one."""
    return []


def put(tape: list[Any], slot: int, value: Any) -> list[Any]:
    """The tape with one slot more, the next one: that is ``slot``.  The tape that it was is used no longer."""
    tape.append(value)
    return tape


def filled(tape: list[Any], slots: int) -> None:
    """All has been put: so many slots.  A tape of fixed length may have been too short."""


def get(tape: list[Any], slot: int) -> Any:
    """What was put into a slot."""
    return tape[slot]


def revise(tape: list[Any], slot: int, value: Any) -> list[Any]:
    """The tape with another value in a slot.  The tape that it was is used no longer."""
    tape[slot] = value
    return tape


def missing(slot: Slot) -> Any:
    """Stands for a value of this kind on ways on which there is none, and nobody asks for it."""
    return None
