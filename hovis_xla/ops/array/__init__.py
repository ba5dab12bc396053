"""Lowering rules for NumPy's functions of arrays."""
