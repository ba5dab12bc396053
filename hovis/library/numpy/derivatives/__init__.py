"""How the functions of NumPy change with their arguments: a module a subject, each fills :data:`hovis.library.tables.derivatives.TABLE`."""

# The last, of functions whose derivative is none or unknown, is of what is in no other.
# isort: off
from hovis.library.numpy.derivatives import arithmetic, indexing, manipulation, calculus, linear_algebra, math_module, padding, ir_operations, reductions
from hovis.library.numpy.derivatives import none_or_unknown
# isort: on

__all__ = [
    "arithmetic", "calculus", "indexing", "ir_operations", "linear_algebra", "manipulation", "math_module", "none_or_unknown", "padding", "reductions",
]
