"""Python's protocols written in Python, which the engine traces through."""
