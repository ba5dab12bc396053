"""Functions of NumPy that are modeled in Python, or for which the engine acts."""
