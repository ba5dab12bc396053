"""Lowering rules for Python's numbers, tuples and exceptions."""
