"""Protocols of Python, written in Python, which the engine traces through."""
