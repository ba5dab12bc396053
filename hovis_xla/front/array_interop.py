"""Conversion of arrays of other libraries to NumPy arrays (jax arrays, torch tensors, anything with ``__dlpack__`` or ``__array__``), and of
NumPy arrays to jaxlib arrays.

Memory is shared where the other library can share it (``__dlpack__`` on the CPU), so that stores by fn are visible there. A jaxlib
array is immutable, so it shares memory only with arrays that nothing else refers to.
"""

import contextlib
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.arguments.specs import is_named_tuple
from hovis_xla.abi.argument_specs import is_known
from hovis_xla.abi.host_callbacks import HELD
from hovis_xla.jaxlib import adapter, buffers

_OWN: Final = (np.ndarray, np.generic, int, float, complex)


def as_numpy(value: Any) -> Any:
    """Return value with NumPy arrays in place of arrays of other libraries, also inside of tuples, lists and dicts (which are then copied)."""
    kind = type(value)
    if isinstance(value, _OWN) or is_known(value):
        return value
    if kind is list or kind is dict or kind is tuple or (isinstance(value, tuple) and is_named_tuple(kind)):
        return _container(value, list(map(as_numpy, _parts(value))))
    if kind is adapter.DeviceArray:
        # unless it is on another device, on several devices, or of a dtype for which the buffer protocol has no format
        with contextlib.suppress(BufferError, RuntimeError, ValueError):
            return np.asarray(memoryview(value))
    if hasattr(kind, "__dlpack__"):
        # unless it is on another device, of a dtype that NumPy does not have, or has a gradient: __array__ converts it, or says why not
        with contextlib.suppress(BufferError, RuntimeError, TypeError, ValueError):
            return np.from_dlpack(value)
    return np.asarray(value) if hasattr(kind, "__array__") else value


def as_device(call: Callable[[], Any], given: dict[int, Any]) -> Any:
    """Return the result of a call with jaxlib arrays in place of NumPy arrays, also inside of tuples, lists and dicts (which are then copied).

    ``given`` maps the ids of arguments to the jaxlib arrays that they were converted from: an argument that is returned is the same object again.
    """
    return _placed([call()], 0, {**given})


def _placed(holder: Any, at: Any, made: dict[int, Any]) -> Any:
    """Return the converted element of ``holder`` at ``at``; ``made`` maps the ids of parts to their conversions."""
    alone = sys.getrefcount(holder[at]) <= HELD  # counted while no variable refers to it
    value = holder[at]
    kind = type(value)
    if id(value) in made:
        return made[id(value)]
    if kind is np.ndarray:
        if value.dtype.char in buffers.DTYPES and value.dtype.isnative:
            made[id(value)] = buffers.device_array(value, alone)
    elif kind is list or kind is dict or kind is tuple or (isinstance(value, tuple) and is_named_tuple(kind)):
        made[id(value)] = value  # for a container that contains itself
        made[id(value)] = _container(value, [_placed(value, k, made) for k in (value if kind is dict else range(len(value)))])
    return made.get(id(value), value)


def _parts(value: Any) -> list[Any]:
    return list(value.values()) if type(value) is dict else list(value)


def _container(value: Any, made: list[Any]) -> Any:
    """Return a container of the same type with the parts ``made``, or the container itself if all parts are the same objects."""
    if all(a is b for a, b in zip(_parts(value), made, strict=True)):
        return value
    if type(value) is dict:
        return dict(zip(value, made, strict=True))
    return made if type(value) is list else tuple.__new__(type(value), made)
