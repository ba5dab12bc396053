"""Derivatives of NumPy's functions: each module covers one subject and fills :data:`hovis.library.tables.derivatives.TABLE`."""

# none_or_unknown, which covers the functions that are in no other module, is imported last, because it uses their rows.
# isort: off
from hovis.library.numpy.derivatives import arithmetic, indexing, manipulation, calculus, linear_algebra, math_module, padding, ir_operations, reductions
from hovis.library.numpy.derivatives import none_or_unknown
# isort: on

__all__ = [
    "arithmetic", "calculus", "indexing", "ir_operations", "linear_algebra", "manipulation", "math_module", "none_or_unknown", "padding", "reductions",
]
