"""NumPy's types: arrays, scalars, shapes, attributes, text."""
