"""hovis_xla: plain Python and NumPy on XLA, with jaxlib alone.

f = hovis_xla.jit(fn)                 arrays and numbers in, the same types out
f.lower(x).as_text()                  StableHLO
hovis_xla.compile(trace)              an executable of a hovis Trace, ahead of time
hovis_xla.load(blob)                  one out of the bytes of its serialize()
"""

import os
import pkgutil

from hovis.base import own_code
from hovis_xla.front.jit import Compiled, Jitted, Loaded, Lowered, NanError, StorageError, compile, jit, load

__all__ = ["Compiled", "Jitted", "Loaded", "Lowered", "NanError", "StorageError", "compile", "jit", "load"]

# only the models of NumPy's functions, which are in ops, are traced
own_code.leave_as_calls(*[os.path.join(*__path__, package.name) for package in pkgutil.iter_modules(__path__) if package.name != "ops"])
