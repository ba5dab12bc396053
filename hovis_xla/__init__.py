"""hovis_xla: plain Python and NumPy on XLA, with jaxlib alone.

f = hovis_xla.jit(fn)                 arrays and numbers in, the same types out
f.lower(x).as_text()                  StableHLO
hovis_xla.compile(trace)              an executable of a hovis Trace, ahead of time
hovis_xla.load(blob)                  one out of the bytes of its serialize()
"""

from hovis_xla.front.jit import Compiled, Jitted, Loaded, Lowered, NanError, StorageError, compile, jit, load

__all__ = ["Compiled", "Jitted", "Loaded", "Lowered", "NanError", "StorageError", "compile", "jit", "load"]
