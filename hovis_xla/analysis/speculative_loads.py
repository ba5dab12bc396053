"""Speculative reads of arrays in the tests of loops.

``while j >= 0 and x[j] > value: …`` evaluates the second condition only if the first one holds. Merged into one test, both are evaluated at
once; if the first one does not hold, the result of the read is ignored, and so is an IndexError.
"""

import operator
from typing import Any

import numpy as np

from hovis.ir.model import Effect, Op, Param
from hovis.lattice import Array, Type

#: Effects that a read of an array may have.
READING = Effect.READS | Effect.RAISES


def read_if(asked: bool, array: "np.ndarray[Any, Any]", index: Any) -> Any:
    """Return ``array[index]`` if ``asked`` is true, otherwise an arbitrary number.

    >>> read_if(True, np.array([1.5]), 0), read_if(False, np.array([1.5]), 7)
    (np.float64(1.5), np.float64(0.0))
    """
    return array[index] if asked else array.dtype.type()


def is_read(op: Op) -> bool:
    """Does the op read a number from an array, without an effect other than a possible exception?"""
    if op.callee is not operator.getitem or not isinstance(op.type, Type) or isinstance(op.type, Array) or op.effect & ~READING:
        return False
    return isinstance(op.args[0], Op | Param) and isinstance(op.args[0].type, Array)


def reads(op: Op) -> bool:
    """Does the op read a number from an array, conditionally (``read_if``) or not?"""
    return is_read(op) or op.callee is read_if
