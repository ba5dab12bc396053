"""Differentiable functions, as a NumPy user writes them and by hand in jax: benchmarks/grad.py measures the time of their gradients."""
from . import loops, models, numbers
from .core import PROGRAMS, Program

__all__ = ["PROGRAMS", "Program", "loops", "models", "numbers"]
