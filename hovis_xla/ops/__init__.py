"""The table of lowerings of callables to XLA: rows ``callable: lowering``.

A row is a function of the Lowering and the operands; it emits code and returns the result, or None if it does not apply to these operands.
Operators and some builtins work differently on NumPy's values and on Python's numbers; their rows try one table after the other.
"""

import builtins
import operator
from typing import Any, Final

import numpy as np

from hovis_xla.emit.values import Operand
from hovis_xla.ops import standin
from hovis_xla.ops.array import attributes, casts, creation, errstate, fft, ranges, reductions, sorting, ufuncs
from hovis_xla.ops.array import manipulation as array_manipulation
from hovis_xla.ops.array.manipulation import VIEWS
from hovis_xla.ops.indexing import attribute_stores, indexing, stores, storing_functions
from hovis_xla.ops.linear_algebra import contractions, linalg
from hovis_xla.ops.memory import tapes
from hovis_xla.ops.models import calculus, diagonals, histograms, padding, searching, statistics, traced_rows, ufunc_methods
from hovis_xla.ops.models import elementwise as elementwise_models
from hovis_xla.ops.models import manipulation as manipulation_models
from hovis_xla.ops.scalar import comparisons, conversions, exceptions, math_module, number_attributes, ordering, python_numbers, sequences
from hovis_xla.ops.scalar.python_numbers import L, Row

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


#: The rows for Python's own numbers.
_OF_PYTHON: Final = {**python_numbers.ROWS, **comparisons.ROWS, **conversions.ROWS}


def _numpy_first() -> dict[Any, Row]:
    rows: dict[Any, Row] = {}
    for fn, row in ufuncs.MIXED.items():
        rows[fn] = _first_of(row, _OF_PYTHON[fn]) if fn in _OF_PYTHON else row
    for fn, row in casts.TRUTHS.items():
        rows[fn] = _first_of(row, _OF_PYTHON[fn])
    for cls in (int, float, complex):
        rows[cls] = _first_of(_OF_PYTHON[cls], casts.to_python(cls, _OF_PYTHON[cls]))
    rows[float.__float__] = rows[float]
    for fn, row in math_module.ROWS.items():
        rows[fn] = _first_of(row, _as_floats(row)) if fn in math_module.MATH else row
    for fn, plain in ufuncs.IN_PLACE.items():
        rows[fn] = stores.in_place(plain, rows.get(plain) or _OF_PYTHON[plain])
    rows[operator.imatmul] = stores.in_place(operator.matmul, contractions.ROWS[operator.matmul])
    return rows


def _as_floats(row: Row) -> Row:
    """Return a row of ``math`` that converts NumPy scalars to floats first: for ``math.sqrt`` of a NumPy scalar."""
    convert = casts.to_python(float, _OF_PYTHON[float])

    def of_scalars(low: L, *xs: Operand) -> Operand | None:
        converted = [(python_numbers.class_of(x) and x) or convert(low, x) for x in xs]
        return None if any(c is None for c in converted) else row(low, *converted)

    return of_scalars


#: Modules of models, which register themselves in the table when they are imported.
WRITTEN: Final = (manipulation_models, diagonals, padding, calculus, elementwise_models, statistics, searching, histograms)

def _combined() -> dict[Any, Row]:
    """Return all rows; where there are several for one callable, the first that gives a result counts."""
    rows = {**standin.MODELS, **_OF_PYTHON, **_numpy_first()}
    for module in (
        ufuncs, casts, ufunc_methods, reductions, sorting, array_manipulation, creation, attributes, ranges, indexing, contractions, fft, linalg, errstate,
        stores, storing_functions, sequences, number_attributes, ordering, tapes, traced_rows,
    ):  # fmt: skip
        assert rows.keys().isdisjoint(module.ROWS), f"rows of {module.__name__} would hide others; LATER or SOONER says which comes first"
        rows.update(module.ROWS)
    for table in (math_module.LATER, sequences.LATER, number_attributes.LATER, ordering.LATER, traced_rows.LATER):
        rows.update({fn: _first_of(rows[fn], row) if fn in rows else row for fn, row in table.items()})
    for table in (traced_rows.SOONER, exceptions.SOONER, indexing.SOONER, attribute_stores.SOONER):
        rows.update({fn: _first_of(row, rows[fn]) if fn in rows else row for fn, row in table.items()})
    return rows


ROWS: Final[dict[Any, Row]] = _combined()

#: Callables that may be evaluated while lowering if all arguments are known: they are pure, and cheap on small constants.
FOLDABLE: Final = frozenset({
    *(f for f in vars(operator).values() if callable(f) and f not in {operator.pow, operator.lshift, operator.mul, operator.concat, operator.imul}),
    builtins.len, builtins.abs, builtins.min, builtins.max, builtins.round, builtins.divmod, int, float, bool, complex, isinstance, issubclass, type, slice,
    operator.mul, *(fn for fn in math_module.MATH), np.prod, np.dtype,
})  # fmt: skip
