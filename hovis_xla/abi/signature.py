"""What the host has to know of a lowered Function: what goes in, what comes out, and how the result is put together."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hovis.ir.model import Location
from hovis.lattice.constants import constant_key
from hovis_xla.abi.run_record import Record
from hovis_xla.analysis.persistent_scalars import Variable
from hovis_xla.choice.cost_model import Work
from hovis_xla.emit.values import Num, Owned


@dataclass(frozen=True, slots=True)
class Template:
    """How a result is put together: ``tree`` of leaves (numbers of outputs), constants, arguments and builders.

    ``owners`` says of which inputs each leaf may be the very object; ``sources`` where each comes from: ("out", output), or
    ("view", ("out", output) or ("caller", argument or constant), place, outputs with its starts).
    """

    tree: Any
    nums: tuple[Num, ...]
    location: Location | None = field(default=None, compare=False)
    owners: tuple[frozenset[Owned], ...] = field(default=(), compare=False)
    sources: tuple[Any, ...] = field(default=(), compare=False)


@dataclass(slots=True)
class Tape:
    """A tape of which nobody knows how many slots it takes: how many it has, their size, and the output that says how many it would take."""

    number: int
    slots: int
    bytes: int
    output: int


@dataclass(slots=True)
class Lowered:
    """A module and what the host has to know of it."""

    module: Any
    inputs: list[Num]
    outputs: list[Num]
    templates: list[Template]
    starts: list[int]
    bail: int | None
    choice: int | None
    constants: list[np.ndarray[Any, Any]]
    callbacks: list[Callable[..., Any]]
    failures: list[BaseException] = field(default_factory=list)
    environment: list[tuple[Callable[..., Any], tuple[Any, ...], object]] = field(default_factory=list)
    #: calls that the host does: what is called, and where
    hosted: list[str] = field(default_factory=list)
    #: is it for small ints only (``integer_ranges.SMALL``)?
    narrow: bool = False
    #: outputs that are what arguments (by number) and constants have become; arguments that have to be in C order
    written: list[tuple[int, Any]] = field(default_factory=list)
    contiguous: list[int] = field(default_factory=list)
    #: arguments and constants that something is stored into, if only what is there already, or nothing: they have to be writeable
    into: list[Any] = field(default_factory=list)
    #: pairs of arrays (as in ``written``) that are taken to be different objects
    apart: list[tuple[Any, Any]] = field(default_factory=list)
    #: variables that outlive the call (``persistent_scalars``): inputs behind the leaves; outputs that are what they hold then
    variables: list[Variable] = field(default_factory=list)
    kept: list[tuple[int, Variable]] = field(default_factory=list)
    #: what its ops take
    work: Work = field(default_factory=Work)
    #: does it give up where it takes long (``compile_budget``)?
    bounded: bool = False
    #: what a run has done that can be seen from outside; None: it does no such thing
    record: Record | None = None
    #: may putting the result together raise?
    texts: bool = False
    #: tapes that may turn out to be too short (``capacity_retry``)
    tapes: list[Tape] = field(default_factory=list)


class Keyed:
    """A constant in a template: equal to another if it is the same constant."""

    __slots__ = ("key", "value")

    def __init__(self, value: object) -> None:
        self.value = value
        self.key = constant_key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keyed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)
