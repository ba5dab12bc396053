"""Has somebody asked to hear of floating-point errors?  Compiled code would not tell, so that such calls are Python's."""

from typing import Any, Final

import numpy as np

#: Where NumPy keeps what ``np.errstate`` says (private, and ten times as quick as ``np.geterr``).
_STATE: Final = getattr(np._core.umath, "_extobj_contextvar", None)  # type: ignore[attr-defined]
_LOUD: Final = frozenset({"raise", "call", "log", "print"})

#: The last state that was found to be calm.
_calm: list[Any] = [object()]


def is_watched() -> bool:
    """Is any of NumPy's floating-point errors to be raised, printed or told to somebody?"""
    if _STATE is None:
        return not _LOUD.isdisjoint(np.geterr().values())
    state = _STATE.get()
    if state is _calm[0]:
        return False
    if not _LOUD.isdisjoint(np.geterr().values()):
        return True
    _calm[0] = state
    return False
