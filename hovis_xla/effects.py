"""What compiled code does besides computing: printing in order, and giving up.

**Giving up.**  Whatever XLA can't do as Python does it (an exception, an integer past 64 bits, an index out of range)
sets one flag, the *bail*; loops stop on it, and the host answers by calling the residual Python from the start, which
raises the exception, with the user's line in its traceback, or computes the big integer.  That is sound as long as
nothing outside has been changed: after a print no bail is allowed, and a function that may need one stays Python.

**Printing.**  ``print`` of constants and numbers becomes a callback, ordered by a token that runs through the program.

Where ``ranges`` proves that it can't happen, nothing is asked: that lets most loops print.
"""

import builtins
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis_xla.types import ARRAY, PYTHON_OF, Num

#: The widest integers that Python may have in compiled code.
LEAST: Final = -(2**63)
GREATEST: Final = 2**63 - 1


def to_python(num: Num, value: np.ndarray[Any, Any]) -> object:
    """An array from XLA as what it is to Python."""
    if num.kind == ARRAY:
        return value
    scalar = value[()]
    return PYTHON_OF[num.dtype](scalar) if num.kind == "python" else scalar


class Printer:
    """A callback that prints: some arguments known, the others numbers that come from XLA.

    An exception is kept, to be raised by whoever ran the program, as the object that it is.
    """

    def __init__(self, parts: Sequence[object], nums: Sequence[Num | None], options: dict[str, object], failures: list[BaseException]) -> None:
        self.parts = tuple(parts)
        self.nums = tuple(nums)
        self.options = options
        self.failures = failures

    def __call__(self, token: object, *values: np.ndarray[Any, Any]) -> tuple[object]:
        given = iter(values)
        try:
            args = [part if num is None else to_python(num, np.array(next(given))) for part, num in zip(self.parts, self.nums, strict=True)]
            builtins.print(*args, **self.options)  # type: ignore[call-overload]
        except BaseException as error:
            self.failures.append(error)
            raise
        return (token,)
