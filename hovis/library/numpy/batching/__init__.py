"""Rows of the table of batching (:mod:`hovis.library.tables.batching`), for NumPy's functions and for Python's numbers."""

from hovis.library.numpy.batching import contractions, elementwise, indexing, manipulation, reductions

__all__ = ["contractions", "elementwise", "indexing", "reductions", "manipulation"]
