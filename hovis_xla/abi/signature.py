"""Interface of a lowered Function, as the host needs it: inputs, outputs, and how the result is built."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hovis.ir.model import Location
from hovis_xla.abi.run_record import Record
from hovis_xla.analysis.persistent_scalars import Variable
from hovis_xla.choice.cost_model import Work
from hovis_xla.emit.values import Num


@dataclass(frozen=True, slots=True)
class Template:
    """How a result is built: a ``tree`` of leaves (numbers of outputs), constants, arguments and constructors.

    ``owners``: for each leaf, the arguments (by number) and constants that it may be identical to. ``sources``: where each leaf comes from:
    ("out", output), or ("view", ("out", output) or ("caller", argument or constant), place, outputs with its starts).
    """

    tree: Any
    nums: tuple[Num, ...]
    location: Location | None = field(default=None, compare=False)
    owners: tuple[tuple[Any, ...], ...] = field(default=(), compare=False)
    sources: tuple[Any, ...] = field(default=(), compare=False)


@dataclass(slots=True)
class Tape:
    """A tape whose required number of slots is unknown: the number of its slots, their size, and the output that says how many slots it would
    take.
    """

    number: int
    slots: int
    bytes: int
    output: int


@dataclass(slots=True)
class Lowered:
    """A lowered module, with the information that the host needs to call it."""

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
    #: calls that the host does: the callee, and the location
    hosted: list[str] = field(default_factory=list)
    #: is it for small ints only (``integer_ranges.SMALL``)?
    narrow: bool = False
    #: outputs with the new contents of arguments (by number) and constants; below, the arguments that have to be in C order
    written: list[tuple[int, Any]] = field(default_factory=list)
    contiguous: list[int] = field(default_factory=list)
    #: arguments and constants that have to be writeable, because there are stores into them, even if these change nothing
    into: list[Any] = field(default_factory=list)
    #: pairs of arrays (as in ``written``) that are assumed to be different objects
    apart: list[tuple[Any, Any]] = field(default_factory=list)
    #: variables that outlive the call (``persistent_scalars``): inputs after the leaves; below, the outputs with their new values
    variables: list[Variable] = field(default_factory=list)
    kept: list[tuple[int, Variable]] = field(default_factory=list)
    #: the estimated cost of its ops
    work: Work = field(default_factory=Work)
    #: does it give up when it takes too long (``compile_budget``)?
    bounded: bool = False
    #: the record of the side effects of a run; None: there are none
    record: Record | None = None
    #: may building the result raise?
    texts: bool = False
    #: tapes that may turn out to be too short (``capacity_retry``)
    tapes: list[Tape] = field(default_factory=list)
