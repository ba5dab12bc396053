"""Which calls can be seen from outside and are made by the host in their turn, and which make texts."""

import builtins
import operator
from typing import Final

from hovis.front.kernels.primitives import Kept
from hovis.ir import operations
from hovis.ir.model import Effect, Op
from hovis.lattice import Const, Type
from hovis_xla.analysis.primitive_effects import ACTS, AGAIN, is_alone

#: What gives another result each time.
SEEN: Final = Effect.RANDOM | Effect.CLOCK
#: Effects as numbers, which are quicker to test.
_OPAQUE: Final = Effect.OPAQUE.value
_SEEN: Final = (SEEN | Effect.IO).value
_MEMORY: Final = (Effect.READS | Effect.WRITES).value


def acts(op: Op) -> bool:
    """Is the call to be made in its turn?

    An operator of which the engine knows nothing is compiled for numbers and arrays, if at all.
    """
    try:
        if op.callee in ACTS or op.callee in AGAIN:
            return True
    except TypeError:
        return False
    effect = op.effect._value_
    if isinstance(op.callee, Kept):
        return bool(effect & (_SEEN | _OPAQUE)) or (bool(effect & _MEMORY) and not is_alone(op))
    if effect & _OPAQUE or not effect & _SEEN:
        return False
    module = getattr(op.callee, "__module__", None) or ""
    return module not in _ANSWERING and not module.startswith("hovis.")


def is_open(op: Op) -> bool:
    """Is it an act behind which something of the environment may be another?  (What prints is trusted not to change any.)"""
    return bool(op.effect & Effect.OPAQUE) and op.callee is not builtins.print and acts(op)


def changes(op: Op) -> bool:
    """Does it act, and more than by looking again at what an act may have changed?"""
    return acts(op) and op.callee not in (operations.unchanged, operations.lacks, operations.is_method_of, operations.keeps)


#: What is compiled of these modules computes, and does nothing else.
_ANSWERING: Final = frozenset({"_operator", "builtins", "math", "cmath"})


#: Calls that make a text of what they are given, and that the host can make later.
_TEXTS: Final = frozenset({operations.format_value, operations.join_strings, builtins.format, builtins.str, builtins.repr, builtins.ascii, str.format})


def _looks_up(op: Op) -> bool:
    """Is the result looked up in a known table?  Then it is one of a few, which are compared with others."""
    return (op.callee is operator.getitem or op.callee is dict.get) and isinstance(op.args[0], Const)


def makes_text(op: Op) -> bool:
    """Is its result a text that can be made when it is needed?"""
    if op.type != Type(str) or _looks_up(op):
        return False
    try:
        return op.callee in _TEXTS or not op.effect & ~(Effect.RAISES | Effect.READS)
    except TypeError:
        return False
