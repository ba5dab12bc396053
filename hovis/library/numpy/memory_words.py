"""The words of the memory as an array, so that many of them are read at once (see :mod:`hovis.lattice.object_words`)."""

import ctypes
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from hovis.lattice import object_words

_WORD: Final = ctypes.sizeof(ctypes.c_void_p)
#: The number of words of an address space.
_COUNT: Final = 1 << 44


class _Memory:
    """All words of the address space from address 8 on; only those are read whose addresses are given."""

    __slots__ = ("memory",)

    def __init__(self) -> None:
        self.memory: Any = np.ndarray((_COUNT,), np.uint64, (ctypes.c_uint64 * _COUNT).from_address(_WORD))  # type: ignore[arg-type]
        self.memory.flags.writeable = False

    def places(self, addresses: Iterable[int]) -> Any:
        """Return the index of the words at these addresses."""
        return np.fromiter(addresses, np.intp) // _WORD - 1


if object_words.IS_CPYTHON:
    try:
        object_words.reader = _Memory()
    except (ValueError, MemoryError, OverflowError):  # the platform allows no such array
        pass
