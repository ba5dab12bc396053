"""Arrays of other libraries, as NumPy arrays: those of jax, tensors of torch, anything with ``__dlpack__`` or ``__array__``; and NumPy's as jaxlib's.

Memory is shared where the other side can share it (``__dlpack__`` on the CPU), so that what fn stores is seen there. An array
of jaxlib's can't be stored into, so it shares memory only with arrays that nobody else has.
"""

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.arguments.specs import is_named_tuple
from hovis_xla.abi.argument_specs import is_known
from hovis_xla.jaxlib import adapter, buffers

_OWN: Final = (np.ndarray, np.generic, int, float, complex)


def as_numpy(value: Any) -> Any:
    """value, with NumPy's arrays for those of others, in tuples, lists and dicts as well (these are copied then)."""
    kind = type(value)
    if isinstance(value, _OWN) or is_known(value):
        return value
    if kind is list or kind is dict or kind is tuple or (isinstance(value, tuple) and is_named_tuple(kind)):
        return _container(value, list(map(as_numpy, _parts(value))))
    if kind is adapter.DeviceArray:
        try:
            return np.asarray(memoryview(value))
        except (BufferError, RuntimeError, ValueError):
            pass  # elsewhere, in several places, or of a dtype that Python has no letter for
    if hasattr(kind, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # another device, a dtype that NumPy has not, a gradient: __array__ says what to do, or why not
    return np.asarray(value) if hasattr(kind, "__array__") else value


def as_device(call: Callable[[], Any], given: dict[int, Any]) -> Any:
    """What a call gives, with jaxlib's arrays for NumPy's, in tuples, lists and dicts as well (these are copied then).

    ``given`` has the arrays of jaxlib's that arguments were made of, by the ids of these: what comes back as it went in is the same object.
    """
    return _placed([call()], 0, {**given})


def _placed(holder: Any, at: Any, made: dict[int, Any]) -> Any:
    """What stands at a place of a container; ``made`` has what has been made of parts before, by their ids."""
    value = holder[at]
    kind = type(value)
    if id(value) in made:
        return made[id(value)]
    if kind is np.ndarray:
        if value.dtype.char in buffers.DTYPES and value.dtype.isnative:
            made[id(value)] = buffers.device_array(value, _holders(holder, at) <= _ALONE)
    elif kind is list or kind is dict or kind is tuple or (isinstance(value, tuple) and is_named_tuple(kind)):
        made[id(value)] = value  # as far as it holds itself
        made[id(value)] = _container(value, [_placed(value, k, made) for k in (value if kind is dict else range(len(value)))])
    return made.get(id(value), value)


def _holders(holder: Any, at: Any) -> int:
    return sys.getrefcount(holder[at])


def _alone() -> int:
    """What ``_holders`` counts where ``_placed`` and the container are all that know of an array."""
    holder = [np.empty(1)]
    value = holder[0]
    found = _holders(holder, 0)
    del value
    return found


_ALONE: Final = _alone()


def _parts(value: Any) -> list[Any]:
    return list(value.values()) if type(value) is dict else list(value)


def _container(value: Any, made: list[Any]) -> Any:
    """A container like this one with other parts; itself, if they are the same."""
    if all(a is b for a, b in zip(_parts(value), made, strict=True)):
        return value
    if type(value) is dict:
        return dict(zip(value, made, strict=True))
    return made if type(value) is list else tuple.__new__(type(value), made)
