"""Derivatives of products, solutions, decompositions and norms of matrices: each module fills :data:`hovis.library.tables.derivatives.TABLE`."""

# isort: off
from hovis.library.numpy.derivatives.linear_algebra import contractions, solutions, decompositions, norms
# isort: on

__all__ = ["contractions", "decompositions", "norms", "solutions"]
