"""Has somebody asked to hear of floating-point errors, or of warnings?  Compiled code would not tell, so that such calls are Python's.

So they are where there is no XLA: in a process that was forked from one that had used it.
"""

import os
import warnings
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from hovis.library.numpy.types.errstate import VARIABLE
from hovis_xla.jaxlib import adapter

_LOUD: Final = frozenset({"raise", "call", "log", "print"})

#: What NumPy warns of.  Filters that make errors of these are looked for.
MINDED: tuple[type[Warning], ...] = (
    RuntimeWarning, DeprecationWarning, FutureWarning,
    np.exceptions.ComplexWarning, np.exceptions.VisibleDeprecationWarning, np.exceptions.RankWarning,
)  # fmt: skip

#: The last state of NumPy's, and the last filters of warnings, that were found to be calm.
_calm: list[Any] = [object(), None]


def is_watched() -> bool:
    """Is any of NumPy's floating-point errors to be raised, printed or told to somebody, or any of its warnings to be raised?"""
    if VARIABLE is not None and VARIABLE.get() is _calm[0] and warnings.filters == _calm[1]:  # ten times as quick as ``np.geterr``
        return False
    if adapter.is_left_behind() or not _LOUD.isdisjoint(np.geterr().values()) or any(may_raise(kind, warnings.filters) for kind in MINDED):
        return True
    _calm[:] = None if VARIABLE is None else VARIABLE.get(), list(warnings.filters)
    return False


def may_raise(kind: type[Warning], filters: Iterable[tuple[Any, ...]]) -> bool:
    """May filters of warnings make an error of one kind?  The first that fits a warning decides.

    >>> may_raise(RuntimeWarning, [("ignore", None, RuntimeWarning, None, 0), ("error", None, Warning, None, 0)])
    False
    >>> may_raise(FutureWarning, [("ignore", None, RuntimeWarning, None, 0), ("error", None, Warning, None, 0)])
    True
    """
    for action, message, category, module, line in filters:
        if issubclass(kind, category):
            if action == "error":
                return True
            if message is None and module is None and not line:
                return False
    return getattr(warnings, "defaultaction", None) == "error"


def _look_again() -> None:
    _calm[:] = object(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_look_again)
