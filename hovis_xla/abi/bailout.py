"""Giving up.

**Giving up.**  Whatever XLA can't do as Python does it (an exception, an integer past 64 bits, an index out of range)
sets one flag, the *bail*; loops stop on it, and the host answers by calling the residual Python from the start, which
raises the exception, with the user's line in its traceback, or computes the big integer.  What was done before that can
be seen from outside is not done again (``ordered_effects``).

Where ``integer_ranges`` proves that it can't happen, nothing is asked.
"""

from typing import Any, Final

import numpy as np

from hovis_xla.emit.values import ARRAY, PYTHON_OF, Num

#: The widest integers that Python may have in compiled code.
LEAST: Final = -(2**63)
GREATEST: Final = 2**63 - 1


def to_python(num: Num, value: np.ndarray[Any, Any]) -> object:
    """An array from XLA as what it is to Python."""
    if num.kind == ARRAY:
        return value
    scalar = value[()]
    return PYTHON_OF[num.dtype](scalar) if num.kind == "python" else scalar


