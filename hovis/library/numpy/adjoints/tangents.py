"""What tangents and cotangents are: of the kind of the value, a number of a number, an array of an array, a tuple of a tuple.

All of it is Python that the engine traces through, at the types of what it is given.
"""

from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Array, Type, Union
from hovis.library.core import Primitive, seen
from hovis.library.numpy.types import arrays
from hovis.library.numpy.types.shapes import Facts, Shape, for_engine


def is_array(x: Any) -> bool:
    """Is it an array or a scalar of NumPy's?"""
    return isinstance(x, np.ndarray | np.generic)


def is_leaf(kind: AbstractValue) -> bool:
    """Is a value of this type a leaf of a tree for certain, and if it is a number of one kind?"""
    if isinstance(kind, Union):
        return not any(isinstance(one, Array) for one in kind.members) and all(map(is_leaf, kind.members))
    return isinstance(kind, Array) or (isinstance(kind, Type) and (issubclass(kind.cls, np.generic) or kind.cls in _LEAVES))


def is_whole(kind: AbstractValue) -> bool:
    """Is a value of this type a leaf of a tree for certain, of whatever kind?"""
    return all(map(is_leaf, kind.members)) if isinstance(kind, Union) else is_leaf(kind)


#: Classes of numbers and of names.
_LEAVES: Final = frozenset({int, float, complex, bool, str, bytes, type(None), FunctionType, BuiltinFunctionType})


def is_complex(x: Any) -> bool:
    """Is it complex, a number or an array?"""
    return x.dtype.kind == "c" if is_array(x) else isinstance(x, complex)


def conjugate(x: Any) -> Any:
    """The complex conjugate; x itself, if it is real."""
    return x.conjugate() if is_complex(x) else x


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array; () of a number, NumPy's or Python's."""
    return x.shape if isinstance(x, np.ndarray) else ()


def rank_of(x: Any) -> int:
    """How many axes there are; 0 of a number."""
    return len(shape_of(x))


def in_a_row(x: Any) -> Any:
    """An array of one axis, with the elements of an array or with a number."""
    return np.array([x]) if isinstance(x, float | int | complex | np.generic) else np.reshape(x, (-1,))


def sized(x: Any) -> bool:
    """Is the shape known while tracing?"""
    known = [seen(dim) for dim in shape_of(x)]
    return all(known)


def fits(g: Any, x: Any) -> bool:
    """Is g certain to be of the type and the shape of x?"""
    return type(g) is type(x) and (not isinstance(x, np.ndarray) or (g.dtype == x.dtype and g.shape == x.shape))


def fitted(g: Any, x: Any) -> Any:
    """The cotangent of what x was broadcast to, as one of x itself."""
    if fits(g, x):
        return g
    shape = shape_of(x)
    if isinstance(g, np.ndarray) and isinstance(x, np.ndarray) and not (sized(g) and sized(x)):
        return fitted_like(g.real if is_complex(g) and not is_complex(x) else g, x)
    if is_complex(g) and not is_complex(x):
        g = g.real
    if shape_of(g) != shape:
        g = summed_to(g, shape) if isinstance(g, np.ndarray) and g.ndim >= len(shape) else spread(g, x)
    if isinstance(x, np.ndarray) and is_array(g) and x.dtype.kind in "fc" and g.dtype.str != x.dtype.str:
        g = g.astype(x.dtype)
    return g


def shared_out(g: Any, x: Any) -> Any:
    """As :func:`fitted`, where x may be a list of which NumPy made an array: a cotangent of each of its items."""
    if not isinstance(x, tuple | list):
        return fitted(g, x)
    while rank_of(g) > depth(x):
        g = np.sum(g, axis=0)
    if len(x) == 1 and g.shape[0] != 1:
        return (shared_out(np.sum(g, axis=0), x[0]),)
    return tuple([shared_out(g[k], item) for k, item in enumerate(x)])


def depth(x: Any) -> int:
    """How many axes an array of x has, which may be a list of lists."""
    return 1 + (depth(x[0]) if x else 0) if isinstance(x, tuple | list) else rank_of(x)


def summed_to(g: Any, shape: tuple[int, ...]) -> Any:
    """g, summed over the axes along which an array of this shape was repeated to be like it."""
    if shape == ():
        return np.sum(g)
    extra = g.ndim - len(shape)
    axes = tuple([k for k in range(g.ndim) if k < extra or (shape[k - extra] == 1 and g.shape[k] != 1)])
    found = np.sum(g, axis=axes)
    return found if shape_of(found) == shape else np.reshape(found, shape)


def spread(t: Any, y: Any) -> Any:
    """A tangent or cotangent, broadcast to be like y."""
    if fits(t, y):
        return t
    if not shape_of(y) or (sized(t) and sized(y) and shape_of(t) == shape_of(y)):
        return t
    if is_array(t):
        return np.broadcast_to(t, y.shape)
    return np.full(y.shape, t, y.dtype if y.dtype.kind == "c" or (y.dtype.kind == "f" and not is_complex(t)) else None)


def choose(c: Any, x: Any, y: Any) -> Any:
    """x where c is true, else y; of a single bool, one of them."""
    if isinstance(c, np.ndarray):
        return np.where(c, x, y)
    return x if c else y


def zeros_like(x: Any) -> Any:
    """Nothing, of the kind of x."""
    if isinstance(x, tuple | list):
        return tuple([zeros_like(item) for item in x])
    if isinstance(x, np.ndarray):
        return np.zeros(x.shape, x.dtype if x.dtype.kind in "fc" else np.float64)
    return 0j if is_complex(x) else 0.0


def tangent(x: Any) -> Any:
    """No change, of the kind of x; None of what is no number."""
    if isinstance(x, np.ndarray):
        return np.zeros(x.shape, x.dtype if x.dtype.kind in "fc" else np.float64)
    if isinstance(x, float | np.inexact):
        return 0j if is_complex(x) else 0.0
    if isinstance(x, complex):
        return 0j
    if isinstance(x, tuple):
        return tuple([tangent(item) for item in x])
    if isinstance(x, list):
        return [tangent(item) for item in x]
    if isinstance(x, dict):
        return {key: tangent(item) for key, item in x.items()}
    return None


def stored(t: Any, x: Any) -> Any:
    """A tangent of its own, for an array that is stored into: of its dtype, and laid out as it is."""
    if not isinstance(x, np.ndarray):
        return t
    if x.dtype.kind not in "fc":
        return np.array(spread(t, x))
    made = np.zeros_like(x)
    made[...] = t
    return made


def laid_out(t: Any, x: Any) -> Any:
    """The same, which lies in memory as x does: what is a view of x is one of the tangent."""
    made = np.zeros_like(x)
    made[...] = t
    return made


def own(x: Any) -> Any:
    """x, of an array a copy."""
    return np.array(x) if isinstance(x, np.ndarray) else x


def put(t: Any, new: Any) -> Any:
    """The tangent of an array that an operator has written to."""
    if isinstance(t, np.ndarray):
        t[...] = new
        return t
    return new


def ones_like(x: Any) -> Any:
    """The seed of a result."""
    return np.ones(x.shape, x.dtype) if isinstance(x, np.ndarray) else 1.0


def added(a: Any, b: Any) -> Any:
    """Two cotangents (or tangents) of one value together."""
    if a is None:
        return b
    if b is None:
        return a
    if isinstance(a, tuple):
        return tuple([added(x, y) for x, y in zip(a, b, strict=True)]) if seen(a) and seen(b) else added_parts(a, b)
    return a + b


def added_parts(a: Any, b: Any) -> Any:
    """As :func:`added`, of tuples of which nothing is known while tracing."""
    found = []
    for x, y in zip(a, b, strict=True):
        found.append(y if x is None else x if y is None else added_parts(x, y) if isinstance(x, tuple) else x + y)
    return tuple(found)


def as_tangent(t: Any, x: Any) -> Any:
    """A tangent (or cotangent) that the user gives, as one of x; TypeError if it has another shape than a number."""
    if t is None:
        return tangent(x)
    if isinstance(x, np.ndarray):
        return np.asarray(t, x.dtype)
    if isinstance(t, str):
        raise TypeError(f"the tangent of a number is a number, not the text {t!r}")
    if isinstance(t, np.ndarray) and t.shape:
        raise TypeError(f"the tangent of a number is a number, not an array of shape {t.shape}")
    return complex(t) if is_complex(x) else float(t)


def size_of(x: Any) -> int:
    """How many elements there are."""
    return x.size if isinstance(x, np.ndarray) else 1


def unit(x: Any, k: int) -> Any:
    """A direction: the k-th element alone; none of them, if k is negative."""
    if isinstance(x, np.ndarray):
        made = np.zeros(x.size, x.dtype)
        if k >= 0:
            made[k] = 1.0
        return np.reshape(made, x.shape)
    one = 1.0 if k >= 0 else 0.0
    return complex(one) if is_complex(x) else one


def directions(x: Any) -> Any:
    """All units of an array, along an axis in front."""
    return np.reshape(np.eye(x.size, dtype=x.dtype), (x.size, *x.shape))


def assembled(found: Any, k: int, output: Any, leaf: Any, axis: int) -> Any:
    """The Jacobian of an output by a leaf, of its columns (axis -1) or rows (axis 0); a number of a number by a number.

    These are the k-th of each that has been found, a list, or of all, a tuple of arrays whose first axis that is.
    """
    if isinstance(found, tuple):
        return np.reshape(np.moveaxis(found[k], 0, axis), shape_of(output) + shape_of(leaf))
    parts = [one[k] for one in found]
    if not isinstance(output, np.ndarray) and not isinstance(leaf, np.ndarray):
        return parts[0]
    if not parts:
        return np.zeros(shape_of(output) + shape_of(leaf))
    return np.reshape(np.stack([np.reshape(part, shape_of(part)) for part in parts], axis=axis), shape_of(output) + shape_of(leaf))


def gradient(g: Any, x: Any) -> Any:
    """What the user gets for x: nothing is zero, and an array is an array of its own."""
    if g is None:
        return x.dtype.type(0) if isinstance(x, np.generic) else zeros_like(x)
    if isinstance(x, np.ndarray):
        return np.array(spread(g, x), x.dtype)
    if isinstance(x, np.generic):
        return x.dtype.type(g)
    return complex(g) if isinstance(x, complex) else float(g)


# ------------------------------------------------------------------------------------------------- shapes that are not known


def fitted_like(g: Any, x: Any) -> Any:
    """As :func:`fitted`, of arrays of which the shapes are not known while tracing."""
    if g.shape != x.shape:
        g = summed_to(g, x.shape) if g.ndim >= x.ndim else np.broadcast_to(g, x.shape)
    return g.astype(x.dtype) if x.dtype.kind in "fc" and g.dtype != x.dtype else g


def afresh(x: Any, after: Any) -> Any:
    """x: what is computed from it here is not computed before there is ``after``, and is nothing that is there already."""
    return x


def _afresh(x: AbstractValue, after: AbstractValue) -> AbstractValue | None:
    return x


def _dims_afresh(x: Facts, after: Facts) -> Shape | None:
    return x.dims


def _fitted_like(g: AbstractValue, x: AbstractValue) -> AbstractValue | None:
    kept, other = arrays.dtype_of(x), arrays.dtype_of(g)
    if kept is None or other is None or not arrays.is_array(x):
        return None
    return arrays.array_of(kept if kept.kind in "fc" else other, arrays.rank_of(x))


def _dims(g: Facts, x: Facts) -> Shape | None:
    return x.dims


def _tuple(a: AbstractValue, b: AbstractValue) -> AbstractValue:
    return Type(tuple)


ROWS: Final[list[Primitive]] = [
    arrays.row(fitted_like, _fitted_like, Effect.PURE, fold=False, dims=for_engine(_dims)),
    arrays.row(afresh, _afresh, Effect.PURE, fold=False, dims=for_engine(_dims_afresh)),
    arrays.row(added_parts, _tuple, Effect.PURE, fold=False),
]
