"""The library that tracing uses unless told otherwise: virtual objects, NumPy, Python."""

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.engine.values import Dyn, Known, V
from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Array, Const, Partial, Type
from hovis.library.core import Library
from hovis.library.numpy import ATTRIBUTE_DIMS, ATTRIBUTES, numpy_over
from hovis.library.python import ATTRIBUTES as PYTHON_ATTRIBUTES
from hovis.library.python import ITERATOR_MODELS, PYTHON
from hovis.library.virtual import VIRTUAL


def make_array(dtype: Any, rank: int, layout: str = "") -> Array:
    """The lattice type of an exact ndarray."""
    return Array(np.ndarray, np.dtype(dtype), rank, layout)


def describe_array(value: Any) -> AbstractValue:
    """The type of a known array."""
    return make_array(value.dtype, value.ndim)


def _attribute(cls: type, name: str, rule: Callable[[AbstractValue], Any]) -> Callable[[Any, Any], Any]:
    """A rule over types as the engine asks it: over values, with dimensions."""

    def attribute(m: Any, value: Dyn) -> V | None:
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
                assert isinstance(d, Known) and isinstance(d.value, int)
                size *= d.value
            return Known(size)
        keep = ATTRIBUTE_DIMS.get((cls, name))
        made: V = m.emit(getattr, [value, Known(name)], type=kind, effect=effect, dims=keep(dims) if keep and dims is not None else None)
        return made

    return attribute


def _shape(m: Any, value: Dyn) -> V | None:
    """``x.shape``: a virtual tuple of the dimensions, the unknown ones read from the array."""
    from hovis.engine.heap import VObj

    assert isinstance(value.type, Array)
    dims = value.dims or (None,) * value.type.rank
    if all(isinstance(d, Known) for d in dims):
        return m.new(VObj("tuple", tuple, tuple(dims)))  # type: ignore[arg-type, no-any-return]
    real = m.emit(getattr, [value, Known("shape")], type=Partial(tuple, range(len(dims)), [Type(int)] * len(dims)), effect=Effect.PURE)
    cells = [d if d is not None else m.emit(operator.getitem, [real, Known(k)], type=Type(int), effect=Effect.PURE) for k, d in enumerate(dims)]
    return m.new(VObj("tuple", tuple, tuple(cells)))  # type: ignore[no-any-return]


def _attributes() -> dict[tuple[type, str], Callable[[Any, Any], Any]]:
    found = {key: _attribute(*key, rule) for key, rule in ATTRIBUTES.items()}
    for descriptor, kind in PYTHON_ATTRIBUTES.items():
        owner, name = descriptor.__objclass__, descriptor.__name__  # type: ignore[attr-defined]
        found[owner, name] = _attribute(owner, name, lambda _, kind=kind: (kind, Effect.PURE))  # type: ignore[misc]
    for scalar in {np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_, np.complex64, np.complex128}:
        for (cls, name), rule in ATTRIBUTES.items():
            if cls is np.generic:
                found[scalar, name] = _attribute(scalar, name, rule)
    return found


STANDARD: Final = VIRTUAL | numpy_over(PYTHON)
STANDARD.abstractions[np.ndarray] = describe_array
STANDARD.attributes.update(_attributes())
STANDARD.name = "standard"
STANDARD.always.update(
    {
        **dict.fromkeys((bool, operator.not_, operator.truth, operator.contains, operator.is_, operator.is_not), Type(bool)),
        **dict.fromkeys((isinstance, issubclass, callable, hasattr), Type(bool)),
        **dict.fromkeys((len, id, hash), Type(int)),
        **dict.fromkeys((sorted, dir), Type(list)),
        **dict.fromkeys((setattr, delattr, operator.setitem, operator.delitem, print), Type(type(None))),
    }
)
STANDARD.models.update(ITERATOR_MODELS)
STANDARD.lazy.update(ITERATOR_MODELS)

__all__ = ["ITERATOR_MODELS", "STANDARD", "make_array"]
