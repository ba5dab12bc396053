"""Arrays of other libraries, as NumPy arrays: those of jax, tensors of torch, anything with ``__dlpack__`` or ``__array__``.

Memory is shared where the other side can share it (``__dlpack__`` on the CPU), so that what fn stores is seen there.
"""

from typing import Any, Final

import numpy as np

from hovis.specs import is_named_tuple
from hovis_xla.arguments import is_known

_OWN: Final = (np.ndarray, np.generic, int, float, complex)


def as_numpy(value: Any) -> Any:
    """value, with NumPy's arrays for those of others, in tuples, lists and dicts as well (these are copied then)."""
    kind = type(value)
    if isinstance(value, _OWN) or is_known(value):
        return value
    if kind is list or kind is dict or kind is tuple or (isinstance(value, tuple) and is_named_tuple(kind)):
        return _container(value)
    if hasattr(kind, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # another device, a dtype that NumPy has not, a gradient: __array__ says what to do, or why not
    return np.asarray(value) if hasattr(kind, "__array__") else value


def _container(value: Any) -> Any:
    parts = list(value.values()) if type(value) is dict else list(value)
    made = list(map(as_numpy, parts))
    if all(a is b for a, b in zip(parts, made, strict=True)):
        return value
    if type(value) is dict:
        return dict(zip(value, made, strict=True))
    return made if type(value) is list else tuple.__new__(type(value), made)
