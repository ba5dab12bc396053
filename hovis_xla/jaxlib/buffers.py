"""Transfer of arrays to XLA's memory and back, without a copy where possible.

jaxlib would import jax in some calls if it were installed; those calls are avoided here: arrays go in by ``batched_device_put``
and come out by ``memoryview``, which gives their address as well (``unsafe_buffer_pointer`` imports jax).
"""

import math
import sys
from typing import Any, Final, NamedTuple

import numpy as np

from hovis_xla.jaxlib.adapter import XlaError, device, sharding, xla_client

#: Type characters of the NumPy dtypes that a jaxlib array may have.
DTYPES: Final = frozenset("?bBhHiIlLqQefdFD")

#: Arrays of fewer bytes are copied out of XLA's memory; larger ones keep it alive.
COPY_BELOW: Final = 1 << 16

#: Alignment of the address of an array, in bytes, that XLA requires to use its memory without a copy.
ALIGNMENT: Final = 64

Array = np.ndarray[Any, Any]


class Aval(NamedTuple):
    """The attributes of an abstract value that jaxlib reads."""

    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool = False


class _Memory:
    """XLA's memory under NumPy's array interface; it lives as long as an array that uses it."""

    __slots__ = ("__array_interface__", "_buffer")

    def __init__(self, buffer: Any, view: Array) -> None:
        self._buffer = buffer
        self.__array_interface__ = {"version": 3, "shape": view.shape, "typestr": view.dtype.str, "data": (view.ctypes.data, False)}


def as_numpy(buffer: Any) -> Array:
    """Return a buffer as an array that the caller owns: writable, and sharing no memory with anything else."""
    view = np.asarray(memoryview(buffer))
    if view.nbytes < COPY_BELOW:
        return view.copy()
    return np.asarray(_Memory(buffer, view))


def device_array(array: Array, alone: bool) -> Any:
    """Return a jaxlib array with the content of a NumPy array: in the same memory if nothing else refers to that (``alone``), else a copy.

    Where jax has been imported, it is an array of jax.
    """
    base: Any = array.base
    buffer = base._buffer if alone and type(base) is _Memory else None
    if buffer is None or (buffer.aval.shape, buffer.aval.dtype) != (array.shape, array.dtype) or not array.flags.c_contiguous:
        own = array if alone and base is None else array.copy("C")
        buffer = put(own, own.shape, own.dtype)
    jax: Any = sys.modules.get("jax")
    return jax.dlpack.from_dlpack(buffer) if hasattr(jax, "dlpack") else buffer


def put(array: object, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a buffer with the content of an array: in the same memory if that is aligned and in C order, else a copy."""
    return xla_client.batched_device_put(Aval(shape, dtype), sharding(), [array], [device()], True, enable_x64=True)


def pinned(shape: tuple[int, ...], dtype: Any) -> tuple[Array, Any]:
    """Return an array and a buffer in the same memory: XLA reads at its next run what is written into the array. Raise XlaError if this jaxlib
    copies aligned arrays.
    """
    size = math.prod(shape) * dtype.itemsize
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    array: Array = raw[start : start + size].view(dtype).reshape(shape)
    buffer = put(array, shape, dtype)
    if array.nbytes and np.asarray(memoryview(buffer)).ctypes.data != array.ctypes.data:
        raise XlaError("this jaxlib copies aligned arrays on their way in")
    return array, buffer
