"""Rows of the table of batching (:mod:`hovis.library.batching`), for NumPy's functions and for Python's numbers."""

from hovis.library.numpy.batching import contractions, elementwise, indexing, reducing, shaping

__all__ = ["contractions", "elementwise", "indexing", "reducing", "shaping"]
