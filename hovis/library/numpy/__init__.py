"""The NumPy Library: the engine's rules for NumPy's functions, methods and operators.

    NUMPY                 the rows
    numpy_over(python)    NUMPY in front of another library: where both know a callable (``operator.add``), NumPy's
                          rule is asked first and answers only if an array or a NumPy scalar is involved
    ATTRIBUTES            (class, name) → rule: the type of ``x.shape``, ``x.T`` …
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Const, Partial, Type
from hovis.library.core import Library, Primitive
from hovis.library.numpy import memory_words as memory_words  # offers the memory to the guards
from hovis.library.numpy.adjoints import tangents, tapes
from hovis.library.numpy.rules import composite, creation, fft, indexing, linalg, manipulation, random, reductions, ufuncs
from hovis.library.numpy.types import errstate, text
from hovis.library.numpy.types.arrays import array_of, concerns, dtype_of, is_array, of_dtype, rank_of
from hovis.library.numpy.types.shapes import Facts, Shape

__all__ = ["ATTRIBUTES", "ATTRIBUTE_DIMS", "NUMPY", "Facts", "concerns", "numpy_over"]


def _rows() -> dict[Any, Primitive]:
    """The rows of all modules by their callables.  Raises ValueError where a callable has two: one would hide the other."""
    found: dict[Any, Primitive] = {}
    for module in (composite, creation, fft, indexing, linalg, text, random, reductions, manipulation, errstate, tangents, tapes, ufuncs):
        for row in module.ROWS:
            if found.setdefault(row.fn, row) is not row:
                raise ValueError(f"{module.__name__} has a second row for {row.fn}")
    return found


NUMPY: Final = Library("numpy", _rows())


# ------------------------------------------------------------------------------------------------- composition


def _is_numpy(value: object) -> bool:
    return isinstance(value, np.ndarray | np.generic) or (isinstance(value, tuple | list) and any(map(_is_numpy, value)))


def _effect(row: Primitive, types: tuple[AbstractValue, ...], named: dict[str, AbstractValue]) -> Effect:
    return row.effect if isinstance(row.effect, Effect) else row.effect(*types, **named)


def _answer(row: Primitive, types: tuple[AbstractValue, ...], named: dict[str, AbstractValue]) -> AbstractValue | None:
    """Return the result of the rule, or None if the arguments do not bind to its signature."""
    try:
        return row.result(*types, **named)
    except TypeError:
        return None


def _first_of(mine: Primitive, other: Primitive) -> Primitive:
    """Merge the rows of two libraries for one callable; the rule of mine is asked first."""

    def result(*types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        found = _answer(mine, types, named)
        return found if found is not None else other.result(*types, **named)

    def effect(*types: AbstractValue, **named: AbstractValue) -> Effect:
        return _effect(mine if _answer(mine, types, named) is not None else other, types, named)

    def fold(*values: object, **named: object) -> bool:
        chosen = mine if any(map(_is_numpy, (*values, *named.values()))) else other
        return chosen.fold if isinstance(chosen.fold, bool) else chosen.fold(*values, **named)

    def dims(machine: Any, args: Any, kwargs: Any) -> Any:
        chosen = mine if mine.dims is not None and any(concerns(machine.type_of(a)) for a in args) else other
        return None if chosen.dims is None else chosen.dims(machine, args, kwargs)

    return Primitive(mine.fn, result, effect, fold, dims if mine.dims or other.dims else None)


def numpy_over(python: Library) -> Library:
    """Return NUMPY in front of python: for a callable in both, NumPy's rule is asked first, and Python's rule where that one does not apply."""
    both = NUMPY.primitives.keys() & python.primitives.keys()
    composed = NUMPY | python
    for fn in both:
        composed.primitives[fn] = _first_of(NUMPY.primitives[fn], python.primitives[fn])
    return composed


# ------------------------------------------------------------------------------------------------- attributes

#: Maps the type of the object to the type of its attribute and the effect of reading it; None if the rule does not apply.
AttributeRule = Callable[[AbstractValue], "tuple[AbstractValue, Effect] | None"]


def _shape(t: AbstractValue) -> tuple[AbstractValue, Effect]:
    return Partial(tuple, range(rank_of(t)), [Type(int)] * rank_of(t)), Effect.PURE


def _ndim(t: AbstractValue) -> tuple[AbstractValue, Effect]:
    return Const(rank_of(t)), Effect.PURE


def _integer(t: AbstractValue) -> tuple[AbstractValue, Effect]:
    return Type(int), Effect.PURE


def _dtype(t: AbstractValue) -> tuple[AbstractValue, Effect]:
    return Const(dtype_of(t)), Effect.PURE


def _transposed(t: AbstractValue) -> tuple[AbstractValue, Effect]:
    dtype = dtype_of(t)
    assert dtype is not None
    return (array_of(dtype, rank_of(t)) if is_array(t) else Type(dtype.type)), Effect.PURE


def _turned(t: AbstractValue) -> tuple[AbstractValue, Effect] | None:
    return _transposed(t) if is_array(t) and rank_of(t) >= 2 else None


def _part(t: AbstractValue) -> tuple[AbstractValue, Effect]:
    """The type of ``real`` and ``imag``: a view of an array, a scalar of a scalar."""
    dtype = dtype_of(t)
    assert dtype is not None
    found = np.zeros((), dtype).real.dtype
    return (array_of(found, rank_of(t)) if is_array(t) else of_dtype(found, 0)), Effect.READS if is_array(t) else Effect.PURE


def _own(rule: AttributeRule) -> AttributeRule:
    return lambda t: rule(t) if dtype_of(t) is not None else None


_NAMES: Final = {
    "shape": _shape, "ndim": _ndim, "size": _integer, "itemsize": _integer, "nbytes": _integer, "dtype": _dtype, "T": _transposed, "mT": _turned,
    "real": _part, "imag": _part,
}  # fmt: skip

ATTRIBUTES: Final[dict[tuple[type, str], AttributeRule]] = {
    **{(cls, name): _own(rule) for cls in (np.ndarray, np.generic) for name, rule in _NAMES.items()},
    (np.ndarray, "flat"): lambda t: (Type(np.flatiter), Effect.READS | Effect.RAISES) if is_array(t) else None,
}


def _keep(dims: Shape) -> Shape:
    return dims


#: (class, name) of an attribute that is an array -> function from the dimensions of the object to those of the attribute.
ATTRIBUTE_DIMS: Final[dict[tuple[type, str], Callable[[Shape], Shape]]] = {
    (np.ndarray, "T"): lambda dims: dims[::-1],
    (np.ndarray, "mT"): lambda dims: (*dims[:-2], dims[-1], dims[-2]),
    (np.ndarray, "real"): _keep,
    (np.ndarray, "imag"): _keep,
}
