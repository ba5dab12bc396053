"""Has somebody asked to hear of floating-point errors?  Compiled code would not tell, so that such calls are Python's."""

from typing import Any, Final

import numpy as np

from hovis.library.numpy.status import VARIABLE

_LOUD: Final = frozenset({"raise", "call", "log", "print"})

#: The last state that was found to be calm.
_calm: list[Any] = [object()]


def is_watched() -> bool:
    """Is any of NumPy's floating-point errors to be raised, printed or told to somebody?"""
    if VARIABLE is None:  # asked, it is ten times as quick as ``np.geterr``
        return not _LOUD.isdisjoint(np.geterr().values())
    state = VARIABLE.get()
    if state is _calm[0]:
        return False
    if not _LOUD.isdisjoint(np.geterr().values()):
        return True
    _calm[0] = state
    return False
