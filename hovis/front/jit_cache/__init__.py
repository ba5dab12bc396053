"""Residuals of a jitted function: the keys that they are kept by, and what is known of the function and its calls."""
