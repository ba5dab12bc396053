"""The kernels as an expert writes them in jax: static arguments are declared, loops are loops of `lax`, updates are functional.

Each returns the result of the NumPy kernel, followed by the arguments that the kernel changes, in their order.
"""
from . import dynamic, graphs, layers, linear, loops, models, physics, signals, solvers, stencils
from .core import VERSIONS

__all__ = ["VERSIONS", "dynamic", "graphs", "layers", "linear", "loops", "models", "physics", "signals", "solvers", "stencils"]
