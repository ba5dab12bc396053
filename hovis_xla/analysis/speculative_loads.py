"""Reads in the tests of loops.

``while j >= 0 and x[j] > value: …`` asks the second question only where the first one was answered. As one test, both are asked at once,
and what is read where nothing was to be read counts for nothing, the IndexError included.
"""

import operator
from typing import Any

import numpy as np

from hovis.ir.model import Effect, Op, Param
from hovis.lattice import Array, Type

#: What a read of an array may do besides giving a number.
READING = Effect.READS | Effect.RAISES


def read_if(asked: bool, array: "np.ndarray[Any, Any]", index: Any) -> Any:
    """``array[index]``, if it is asked for; any number else.

    >>> read_if(True, np.array([1.5]), 0), read_if(False, np.array([1.5]), 7)
    (np.float64(1.5), np.float64(0.0))
    """
    return array[index] if asked else array.dtype.type()


def is_read(op: Op) -> bool:
    """Does it read a number of an array, and may it raise?"""
    if op.callee is not operator.getitem or not isinstance(op.type, Type) or isinstance(op.type, Array) or op.effect & ~READING:
        return False
    return isinstance(op.args[0], Op | Param) and isinstance(op.args[0].type, Array)


def reads(op: Op) -> bool:
    """Is it such a read, be it asked for or not?"""
    return is_read(op) or op.callee is read_if
