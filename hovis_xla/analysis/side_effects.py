"""Which calls have visible side effects, and are done by the host in program order, and which calls make texts."""

import builtins
import operator
from typing import Final

from hovis.front.kernels.primitives import Kept
from hovis.ir import operations
from hovis.ir.model import Effect, Op
from hovis.lattice import Const, Type
from hovis_xla.analysis.primitive_effects import ACTS, AGAIN, is_alone

#: Effects of calls that give a different result each time.
SEEN: Final = Effect.RANDOM | Effect.CLOCK
#: Effects as numbers, which are faster to test.
_OPAQUE: Final = Effect.OPAQUE.value
_SEEN: Final = (SEEN | Effect.IO).value
_MEMORY: Final = (Effect.READS | Effect.WRITES).value


def acts(op: Op) -> bool:
    """Must the host do the call in program order?

    Not if it is an operator that is opaque to the engine: it is compiled for numbers and arrays, or not at all.
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
    """Is the call a side effect that may change the environment? (``print`` is trusted not to change it.)"""
    return bool(op.effect & Effect.OPAQUE) and op.callee is not builtins.print and acts(op)


def changes(op: Op) -> bool:
    """Does the call have a side effect, other than testing again what an act may have changed?"""
    return acts(op) and op.callee not in AGAIN


#: Modules whose functions, as far as they are compiled, have no side effects.
_ANSWERING: Final = frozenset({"_operator", "builtins", "math", "cmath"})


#: Calls that make a string from their arguments, and that the host can do later.
_TEXTS: Final = frozenset({operations.format_value, operations.join_strings, builtins.format, builtins.str, builtins.repr, builtins.ascii, str.format})


def _looks_up(op: Op) -> bool:
    """Is the result looked up in a constant table? Then it is one of a few values, which are compared with others."""
    return (op.callee is operator.getitem or op.callee is dict.get) and isinstance(op.args[0], Const)


def makes_text(op: Op) -> bool:
    """Is the result a text that can be made later, when it is needed?"""
    if op.type != Type(str) or _looks_up(op):
        return False
    try:
        return op.callee in _TEXTS or not op.effect & ~(Effect.RAISES | Effect.READS)
    except TypeError:
        return False
