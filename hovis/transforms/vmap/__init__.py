"""Vectorization (vmap): a Function applied to many values at once."""
