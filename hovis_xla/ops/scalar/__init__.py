"""Rows for Python's numbers, tuples and exceptions."""
