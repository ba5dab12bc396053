"""Kernels as an expert writes them in jax: what is static is static, loops are lax loops, updates are functional.

Each gives what the NumPy kernel returns, followed by the arguments that it changes, in their order.
"""
from . import dynamic, graphs, layers, linear, loops, models, physics, signals, solvers, stencils
from .core import VERSIONS

__all__ = ["VERSIONS", "dynamic", "graphs", "layers", "linear", "loops", "models", "physics", "signals", "solvers", "stencils"]
