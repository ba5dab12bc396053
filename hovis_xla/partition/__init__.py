"""Partition of a function into parts that XLA runs and residual Python."""
