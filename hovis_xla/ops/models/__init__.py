"""Models of NumPy functions in NumPy itself, which are traced."""
