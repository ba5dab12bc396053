"""Printing NumPy scalars: their text is made by C code, as that of Python's own numbers.

Arrays are left alone: ``np.set_printoptions(formatter=…)`` may have put user code into their text.
"""

import builtins
from typing import Final

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Type
from hovis.library.builtins import BUILTINS
from hovis.library.core import Primitive
from hovis.library.numpy.array import is_scalar

_PRINT: Final = BUILTINS.primitives[builtins.print]


def _printed(*args: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """Python's rule, with a Float in the place of every NumPy scalar."""
    if not any(map(is_scalar, args)):
        return None
    return _PRINT.result(*(Type(float) if is_scalar(a) else a for a in args), **named)


ROWS: Final[list[Primitive]] = [Primitive(builtins.print, _printed, effect=Effect.IO | Effect.RAISES, fold=False)]
