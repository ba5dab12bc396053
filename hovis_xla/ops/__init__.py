"""What each callable is in XLA: rows ``callable: lowering``.

A row is a function of the Lowering and the operands; it emits, and gives the result, or None: "not for these".
Operators and some builtins mean one thing for NumPy's values and another for Python's numbers; their rows ask in turn.
"""

import builtins
import operator
from typing import Any, Final

import numpy as np

from hovis_xla.ops import (
    arranging,
    calculus,
    contractions,
    exceptions,
    fft,
    flats,
    indexing,
    linalg,
    methods,
    ordering,
    pymath,
    python,
    ranges,
    reductions,
    sequences,
    shaping,
    standin,
    statistics,
    status,
    storing,
    tapes,
    ufuncs,
    written,
)
from hovis_xla.ops.python import L, Row
from hovis_xla.ops.shaping import VIEWS
from hovis_xla.types import Operand

__all__ = ["FOLDABLE", "ROWS", "VIEWS"]


def _first_of(*rows: Row) -> Row:
    def row(low: L, *args: Operand, **named: Operand) -> Operand | None:
        for one in rows:
            try:
                found = one(low, *args, **named)
            except TypeError as error:
                if "positional argument" not in str(error) and "keyword argument" not in str(error):
                    raise
                continue
            if found is not None:
                return found
        return None

    return row


def _numpy_first() -> dict[Any, Row]:
    rows: dict[Any, Row] = {}
    for fn, row in ufuncs.MIXED.items():
        rows[fn] = _first_of(row, python.ROWS[fn]) if fn in python.ROWS else row
    for fn, row in ufuncs.TRUTHS.items():
        rows[fn] = _first_of(row, python.ROWS[fn])
    for cls in (int, float, complex):
        rows[cls] = _first_of(python.ROWS[cls], ufuncs.CONVERSIONS(cls, python.ROWS[cls]))
    for fn, row in pymath.ROWS.items():
        rows[fn] = _first_of(row, _as_floats(row)) if fn in pymath.MATH else row
    for fn, plain in ufuncs.IN_PLACE.items():
        rows[fn] = storing.in_place(plain, rows.get(plain) or python.ROWS[plain])
    rows[operator.imatmul] = storing.in_place(operator.matmul, contractions.ROWS[operator.matmul])
    return rows


def _as_floats(row: Row) -> Row:
    """``math.sqrt`` of a NumPy scalar: as of the float."""
    convert = ufuncs.CONVERSIONS(float, python.ROWS[float])

    def of_scalars(low: L, *xs: Operand) -> Operand | None:
        converted = [(python.class_of(x) and x) or convert(low, x) for x in xs]
        return None if any(c is None for c in converted) else row(low, *converted)

    return of_scalars


#: Their models are in the table as soon as they are imported.
WRITTEN: Final = (arranging, calculus, statistics)

def _combined() -> dict[Any, Row]:
    """All rows; of several for one callable the first that has an answer."""
    rows = {**standin.MODELS, **python.ROWS, **_numpy_first()}
    for module in (ufuncs, methods, reductions, shaping, ranges, indexing, contractions, fft, linalg, status, storing, sequences, ordering, tapes, written):
        rows.update(module.ROWS)
    for table in (pymath.LATER, sequences.LATER, ordering.LATER, written.LATER):
        rows.update({fn: _first_of(rows[fn], row) if fn in rows else row for fn, row in table.items()})
    for table in (written.SOONER, exceptions.SOONER, indexing.SOONER, flats.SOONER):
        rows.update({fn: _first_of(row, rows[fn]) if fn in rows else row for fn, row in table.items()})
    return rows


ROWS: Final[dict[Any, Row]] = _combined()

#: What may be done while lowering, if all arguments are known: pure, and cheap on small constants.
FOLDABLE: Final = frozenset({
    *(f for f in vars(operator).values() if callable(f) and f not in {operator.pow, operator.lshift, operator.mul, operator.concat, operator.imul}),
    builtins.len, builtins.abs, builtins.min, builtins.max, builtins.round, builtins.divmod, int, float, bool, complex, isinstance, issubclass, type, slice,
    operator.mul, *(fn for fn in pymath.MATH), np.prod, np.dtype,
})  # fmt: skip
