"""Rows of the batching table (:mod:`hovis.library.tables.batching`), for NumPy's functions and for functions of Python's numbers."""

from hovis.library.numpy.batching import contractions, elementwise, indexing, manipulation, reductions

__all__ = ["contractions", "elementwise", "indexing", "reductions", "manipulation"]
