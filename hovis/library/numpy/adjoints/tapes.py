"""The rows of the operations that a derived function calls: on tapes, and on cotangents of parts of arrays."""

from typing import Any, Final

from hovis.ir.model import Effect
from hovis.ir.operations import filled, get, make_tape, missing, put, revise, slot_of, tape_of
from hovis.lattice import ANY, AbstractValue, Array, Const, Type
from hovis.library.core import Primitive
from hovis.library.numpy.adjoints.cotangents import apart, cotangent_type, scatter, updated, zero_tape
from hovis.library.numpy.types.shapes import Facts, Shape, for_engine


def _made(slot: AbstractValue) -> AbstractValue | None:
    return tape_of(slot.value) if isinstance(slot, Const) else None  # type: ignore[arg-type]


def _missing(slot: AbstractValue) -> AbstractValue | None:
    return slot.value.type if isinstance(slot, Const) else None  # type: ignore[attr-defined]


def _missing_dims(slot: Facts) -> Shape | None:
    found: Any = slot.value
    return None if found is None or found.shape is None else tuple(found.shape)


def _same(tape: AbstractValue, *rest: AbstractValue) -> AbstractValue | None:
    return tape if slot_of(tape) is not None else None


def _got(tape: AbstractValue, slot: AbstractValue) -> AbstractValue | None:
    found = slot_of(tape)
    return None if found is None else found.type


def _got_dims(tape: Facts, slot: Facts) -> Shape | None:
    found = slot_of(tape.type)
    return None if found is None or found.shape is None else tuple(found.shape)


def _filled(tape: AbstractValue, slots: AbstractValue) -> AbstractValue:
    return Type(type(None))


def _zeros(tape: AbstractValue, slot: AbstractValue) -> AbstractValue | None:
    return cotangent_type(tape) if slot_of(tape) is not None else ANY


def _scattered(shadow: AbstractValue, index: AbstractValue, g: AbstractValue) -> AbstractValue:
    return Type(type(None))


def _updated(x: AbstractValue, index: AbstractValue, value: AbstractValue) -> AbstractValue | None:
    return Array(x.cls, x.dtype, x.rank) if isinstance(x, Array) else None


def _updated_dims(x: Facts, index: Facts, value: Facts) -> Shape | None:
    return x.dims


def _apart(a: AbstractValue, b: AbstractValue) -> AbstractValue:
    return Type(type(None))


ROWS: Final[list[Primitive]] = [
    Primitive(make_tape, _made, Effect.PURE, fold=False),
    Primitive(missing, _missing, Effect.PURE, False, for_engine(_missing_dims)),
    Primitive(put, _same, Effect.WRITES, fold=False),
    Primitive(revise, _same, Effect.WRITES, fold=False),
    Primitive(filled, _filled, Effect.RAISES, fold=False),
    Primitive(get, _got, Effect.READS, False, for_engine(_got_dims)),
    Primitive(zero_tape, _zeros, Effect.READS, fold=False),
    Primitive(apart, _apart, Effect.RAISES, fold=False),
    Primitive(updated, _updated, Effect.RAISES, False, for_engine(_updated_dims)),
    Primitive(scatter, _scattered, Effect.WRITES | Effect.RAISES, fold=False),
]
