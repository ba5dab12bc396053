"""How the functions of NumPy change with their arguments: a module a subject, each fills :data:`hovis.library.derivatives.TABLE`."""

from hovis.library.numpy.derivatives import arithmetic, arranging, calculus, contractions, linear_algebra, mathematics, padding, python, reducing, others  # isort: skip

__all__ = ["arithmetic", "arranging", "calculus", "contractions", "linear_algebra", "mathematics", "others", "padding", "python", "reducing"]
