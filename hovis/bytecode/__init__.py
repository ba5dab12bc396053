"""CPython's bytecode, normalised: everything hovis knows about versions of CPython is in this package.

    normalize(fn.__code__)  ->  Code: instructions of one small set, the same on 3.11, 3.12 and 3.13
"""

from hovis.base import own_code
from hovis.bytecode.instructions import OPS, Code, Handler, Instruction, effect
from hovis.bytecode.normalize import normalize

__all__ = ["OPS", "Code", "Handler", "Instruction", "effect", "normalize"]

own_code.leave_as_calls(*__path__)
