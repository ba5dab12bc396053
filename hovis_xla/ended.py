"""Ends of iterators that are known where they are found.

``for x, y in zip(a, b)`` asks each iterator for its next item, gets that or a mark for the end, and asks which.  Where one way brings the mark
and another an item, each goes on to where it leads, and what is left is an item, of a known type.
"""

import operator
from typing import Final

from hovis.ir.model import Function, Param, callees
from hovis.lattice import Const, Union
from hovis.passes import pipeline

#: The ways part, then nothing is left to ask.
_PARTED: Final = ("threading", "straighten", "trivial_params", "fold", "straighten", "trivial_params", "dead")

_ASKED: Final = (operator.is_, operator.is_not)


def ended(function: Function) -> Function:
    """The function, its ways parted where one brings a mark; the very same, if none asks for it."""
    return pipeline.run(function, _PARTED, False) if any(map(_asks, callees(function))) else function


def _asks(function: Function) -> bool:
    """Is a value that is one of several kinds compared with one that is known?"""
    ops = (op for op in function.ops() if op.callee in _ASKED)
    return any(isinstance(op.args[0], Param) and isinstance(op.args[0].type, Union) and isinstance(op.args[1], Const) for op in ops)
