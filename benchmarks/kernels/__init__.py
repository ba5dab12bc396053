"""Classic numeric kernels as a NumPy user writes them: loops, slices, stores into arguments, ``out=``, in-place operators.

The tests hold hovis_xla against them (returns, and every argument afterwards), and benchmarks/xla.py measures them.
"""
from . import dynamic, graphs, layers, linear, loops, models, physics, signals, solvers, stencils
from .core import KERNELS, Kernel

__all__ = ["KERNELS", "Kernel", "dynamic", "graphs", "layers", "linear", "loops", "models", "physics", "signals", "solvers", "stencils"]
