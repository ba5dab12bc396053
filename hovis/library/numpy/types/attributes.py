"""Attributes of arrays and NumPy scalars in the form that the engine asks for, and the types of known arrays."""

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.engine.state.heap import VObj
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Array, Const, Partial, Type
from hovis.library.numpy import ATTRIBUTE_DIMS, ATTRIBUTES

#: (machine, engine value) -> engine value, or None if the rule does not apply.
Attribute = Callable[[Any, Dyn], V | None]

_SCALARS: Final = (
    np.float16, np.float32, np.float64, np.complex64, np.complex128, np.bool_,
    np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
)  # fmt: skip


def make_array(dtype: Any, rank: int, layout: str = "") -> Array:
    """Return the lattice type of an exact ndarray."""
    return Array(np.ndarray, np.dtype(dtype), rank, layout)


def describe_array(value: Any) -> AbstractValue:
    """Return the type of a known array."""
    return make_array(value.dtype, value.ndim)


def attribute(cls: type, name: str, rule: Callable[[AbstractValue], Any]) -> Attribute:
    """Turn a rule over types into one over engine values, with dimensions."""

    def read(m: Any, value: Dyn) -> V | None:
        found = rule(value.type)
        if found is None:
            return None
        kind, effect = found
        if isinstance(kind, Const):
            return Known(kind.value)
        dims = value.dims
        if name == "shape" and isinstance(value.type, Array):
            return _shape(m, value)
        if name == "size" and dims is not None and all(isinstance(d, Known) for d in dims):
            size = 1
            for d in dims:
                size *= d.value  # type: ignore[union-attr, operator]  # checked above
            return Known(size)
        keep = ATTRIBUTE_DIMS.get((cls, name))
        made: V = m.emit(getattr, [value, Known(name)], type=kind, effect=effect, dims=keep(dims) if keep and dims is not None else None)
        return made

    return read


def _shape(m: Any, value: Dyn) -> V | None:
    """Return ``x.shape`` as a virtual tuple of the dimensions; unknown ones are read from the array."""
    assert isinstance(value.type, Array)
    dims = value.dims or (None,) * value.type.rank
    if all(isinstance(d, Known) for d in dims):
        return m.new(VObj("tuple", tuple, tuple(dims)))  # type: ignore[arg-type, no-any-return]
    real = m.emit(getattr, [value, Known("shape")], type=Partial(tuple, range(len(dims)), [Type(int)] * len(dims)), effect=Effect.PURE)
    cells = [d if d is not None else m.emit(operator.getitem, [real, Known(k)], type=Type(int), effect=Effect.PURE) for k, d in enumerate(dims)]
    return m.new(VObj("tuple", tuple, tuple(cells)))  # type: ignore[no-any-return]


def array_attributes() -> dict[tuple[type, str], Attribute]:
    """Return the attribute rules by class and name; those of np.generic are repeated for each scalar class."""
    found = {key: attribute(*key, rule) for key, rule in ATTRIBUTES.items()}
    for scalar in _SCALARS:
        found |= {(scalar, name): attribute(scalar, name, rule) for (cls, name), rule in ATTRIBUTES.items() if cls is np.generic}
    return found


#: class -> function that describes its known values more precisely than by the class.
ABSTRACTIONS: Final[dict[type, Callable[[Any], AbstractValue]]] = {np.ndarray: describe_array}

#: C classes whose instances are immutable: their attributes are read while tracing.
FIXED: Final[frozenset[type]] = frozenset({np.finfo, np.iinfo, *(type(np.dtype(code)) for code in "?bhilqBHILQefdFD")})

__all__ = ["ABSTRACTIONS", "FIXED", "array_attributes", "attribute", "describe_array", "make_array"]
