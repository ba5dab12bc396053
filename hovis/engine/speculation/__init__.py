"""Speculation: assumptions from examples and from the profile of CPython, and side exits where they do not hold."""
