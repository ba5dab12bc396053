"""Rows for NumPy's functions of arrays."""
