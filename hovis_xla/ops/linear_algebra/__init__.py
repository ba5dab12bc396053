"""Lowering rules for products, contractions, decompositions and norms of arrays."""
