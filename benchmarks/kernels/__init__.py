"""Classic numeric kernels as a NumPy user writes them: loops, slices, stores into arguments, ``out=``, in-place operators.

The tests compare hovis_xla with them (results, and all arguments after the call), and benchmarks/xla.py measures them.
"""
from . import dynamic, graphs, layers, linear, loops, models, physics, signals, solvers, stencils
from .core import KERNELS, Kernel

__all__ = ["KERNELS", "Kernel", "dynamic", "graphs", "layers", "linear", "loops", "models", "physics", "signals", "solvers", "stencils"]
