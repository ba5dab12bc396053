"""Has somebody asked to hear of floating-point errors?  Compiled code would not tell, so that such calls are Python's.

So they are where there is no XLA: in a process that was forked from one that had used it.
"""

import os
from typing import Any, Final

import numpy as np

from hovis.library.numpy.status import VARIABLE
from hovis_xla import adapter

_LOUD: Final = frozenset({"raise", "call", "log", "print"})

#: The last state that was found to be calm.
_calm: list[Any] = [object()]


def is_watched() -> bool:
    """Is any of NumPy's floating-point errors to be raised, printed or told to somebody?"""
    if VARIABLE is None:  # asked, it is ten times as quick as ``np.geterr``
        return adapter.is_left_behind() or not _LOUD.isdisjoint(np.geterr().values())
    state = VARIABLE.get()
    if state is _calm[0]:
        return False
    if adapter.is_left_behind() or not _LOUD.isdisjoint(np.geterr().values()):
        return True
    _calm[0] = state
    return False


def _look_again() -> None:
    _calm[0] = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_look_again)
