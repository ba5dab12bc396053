"""Bailout from a compiled program to residual Python.

**Giving up.**  Whatever XLA can't do as Python does it (an exception, an integer past 64 bits, an index out of range)
sets one flag, the *bail*. Loops stop when it is set, and the host then calls the residual Python from the start, which
raises the exception, with the user's line in its traceback, or computes the big integer.  Side effects that have already
been done are not repeated (``ordered_effects``).

Where ``integer_ranges`` proves that this can't happen, no test is emitted.
"""

from typing import Any, Final

import numpy as np

from hovis_xla.emit.values import ARRAY, PYTHON_OF, Num

#: The least and the greatest value of Python's integers in compiled code.
LEAST: Final = -(2**63)
GREATEST: Final = 2**63 - 1


def to_python(num: Num, value: np.ndarray[Any, Any]) -> object:
    """Convert an array from XLA to the array, NumPy scalar or Python number that ``num`` describes."""
    if num.kind == ARRAY:
        return value
    scalar = value[()]
    return PYTHON_OF[num.dtype](scalar) if num.kind == "python" else scalar


