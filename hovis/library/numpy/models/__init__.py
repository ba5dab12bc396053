"""NumPy functions that are modeled in Python, or that have actions of the engine."""
