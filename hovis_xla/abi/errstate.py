"""Whether user code has asked for reports of floating-point errors or of warnings. Compiled code would not report them; such calls are done by
Python.

Python also does the calls where XLA is unusable: in a process that was forked from one that had used it.
"""

import os
import warnings
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from hovis.library.numpy.types.errstate import VARIABLE
from hovis_xla.jaxlib import adapter

_LOUD: Final = frozenset({"raise", "call", "log", "print"})

#: The classes of the warnings of NumPy.  Calls are watched if a filter turns any of these into an error.
MINDED: tuple[type[Warning], ...] = (
    RuntimeWarning, DeprecationWarning, FutureWarning,
    np.exceptions.ComplexWarning, np.exceptions.VisibleDeprecationWarning, np.exceptions.RankWarning,
)  # fmt: skip

#: The last error state of NumPy, and the last warning filters, that were found to report nothing.
_calm: list[Any] = [object(), None]


def is_watched() -> bool:
    """Is any floating-point error of NumPy to be raised, printed, logged or passed to a callback, or any warning of NumPy to be raised? Also
    true where XLA is lost after a fork.
    """
    if VARIABLE is not None and VARIABLE.get() is _calm[0] and warnings.filters == _calm[1]:  # ten times as fast as ``np.geterr``
        return False
    if adapter.is_left_behind() or not _LOUD.isdisjoint(np.geterr().values()) or any(may_raise(kind, warnings.filters) for kind in MINDED):
        return True
    _calm[:] = None if VARIABLE is None else VARIABLE.get(), list(warnings.filters)
    return False


def may_raise(kind: type[Warning], filters: Iterable[tuple[Any, ...]]) -> bool:
    """May the warning ``filters`` turn a warning of the class ``kind`` into an error? The first filter that matches a warning decides.

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
