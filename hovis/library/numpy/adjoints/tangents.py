"""Tangents and cotangents, which have the structure of the primal value: a number for a number, an array for an array, a tuple for a tuple.

All functions are Python code that the engine traces for the types of the arguments.
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
    """Is x an array or a NumPy scalar?"""
    return isinstance(x, np.ndarray | np.generic)


def is_leaf(kind: AbstractValue) -> bool:
    """Is a value of this type certainly a leaf of a tree? A Union with an Array among its members is not accepted."""
    if isinstance(kind, Union):
        return not any(isinstance(one, Array) for one in kind.members) and all(map(is_leaf, kind.members))
    return isinstance(kind, Array) or (isinstance(kind, Type) and (issubclass(kind.cls, np.generic) or kind.cls in _LEAVES))


def is_whole(kind: AbstractValue) -> bool:
    """Is a value of this type certainly a leaf of a tree? A Union may mix arrays and numbers."""
    return all(map(is_leaf, kind.members)) if isinstance(kind, Union) else is_leaf(kind)


#: Classes of leaves without parts: numbers, strings, None, and functions.
_LEAVES: Final = frozenset({int, float, complex, bool, str, bytes, type(None), FunctionType, BuiltinFunctionType})


def is_complex(x: Any) -> bool:
    """Is x complex, a number or an array?"""
    return x.dtype.kind == "c" if is_array(x) else isinstance(x, complex)


def conjugate(x: Any) -> Any:
    """Return the complex conjugate, or x itself if it is real."""
    return x.conjugate() if is_complex(x) else x


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape of an array; () for a NumPy or Python number."""
    return x.shape if isinstance(x, np.ndarray) else ()


def rank_of(x: Any) -> int:
    """Return the number of axes; 0 for a number."""
    return len(shape_of(x))


def in_a_row(x: Any) -> Any:
    """Return a 1-d array with the elements of an array or with a number."""
    return np.array([x]) if isinstance(x, float | int | complex | np.generic) else np.reshape(x, (-1,))


def sized(x: Any) -> bool:
    """Is the shape of x known while tracing?"""
    known = [seen(dim) for dim in shape_of(x)]
    return all(known)


def fits(g: Any, x: Any) -> bool:
    """Is g certain to have the type, dtype and shape of x?"""
    return type(g) is type(x) and (not isinstance(x, np.ndarray) or (g.dtype == x.dtype and g.shape == x.shape))


def fitted(g: Any, x: Any) -> Any:
    """Convert the cotangent g of a broadcast of x to a cotangent of x: sum it over the broadcast axes, and cast it to the dtype."""
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
    """Like :func:`fitted`, where x may also be a list that NumPy converted to an array: give a cotangent for each of its items."""
    if not isinstance(x, tuple | list):
        return fitted(g, x)
    while rank_of(g) > depth(x):
        g = np.sum(g, axis=0)
    if len(x) == 1 and g.shape[0] != 1:
        return (shared_out(np.sum(g, axis=0), x[0]),)
    return tuple([shared_out(g[k], item) for k, item in enumerate(x)])


def depth(x: Any) -> int:
    """Return the number of axes of an array made of x, which may be a list of lists."""
    return 1 + (depth(x[0]) if x else 0) if isinstance(x, tuple | list) else rank_of(x)


def summed_to(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum g over the axes along which an array of this shape was broadcast."""
    if shape == ():
        return np.sum(g)
    extra = g.ndim - len(shape)
    axes = tuple([k for k in range(g.ndim) if k < extra or (shape[k - extra] == 1 and g.shape[k] != 1)])
    found = np.sum(g, axis=axes)
    return found if shape_of(found) == shape else np.reshape(found, shape)


def spread(t: Any, y: Any) -> Any:
    """Broadcast a tangent or cotangent to the shape of y."""
    if fits(t, y):
        return t
    if not shape_of(y) or (sized(t) and sized(y) and shape_of(t) == shape_of(y)):
        return t
    if is_array(t):
        return np.broadcast_to(t, y.shape)
    return np.full(y.shape, t, y.dtype if y.dtype.kind == "c" or (y.dtype.kind == "f" and not is_complex(t)) else None)


def choose(c: Any, x: Any, y: Any) -> Any:
    """Return x where c is true and y elsewhere; for a single bool, one of them."""
    if isinstance(c, np.ndarray):
        return np.where(c, x, y)
    return x if c else y


def zeros_like(x: Any) -> Any:
    """Return zeros with the structure of x."""
    if isinstance(x, tuple | list):
        return tuple([zeros_like(item) for item in x])
    if isinstance(x, np.ndarray):
        return np.zeros(x.shape, x.dtype if x.dtype.kind in "fc" else np.float64)
    return 0j if is_complex(x) else 0.0


def tangent(x: Any) -> Any:
    """Return the zero tangent of x, with its structure; None for anything that is not a number."""
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
    """Return a new tangent for an array that is stored into, with its dtype and memory layout."""
    if not isinstance(x, np.ndarray):
        return t
    if x.dtype.kind not in "fc":
        return np.array(spread(t, x))
    made = np.zeros_like(x)
    made[...] = t
    return made


def laid_out(t: Any, x: Any) -> Any:
    """Return a copy of t with the memory layout of x, for which the same operations give views as for x."""
    made = np.zeros_like(x)
    made[...] = t
    return made


def own(x: Any) -> Any:
    """Return x, copied if it is an array."""
    return np.array(x) if isinstance(x, np.ndarray) else x


def put(t: Any, new: Any) -> Any:
    """Store the new tangent of an array that an in-place operator has written to, and return it."""
    if isinstance(t, np.ndarray):
        t[...] = new
        return t
    return new


def ones_like(x: Any) -> Any:
    """Return the seed cotangent of a result."""
    return np.ones(x.shape, x.dtype) if isinstance(x, np.ndarray) else 1.0


def added(a: Any, b: Any) -> Any:
    """Add two cotangents (or tangents) of one value; None stands for zero."""
    if a is None:
        return b
    if b is None:
        return a
    if isinstance(a, tuple):
        return tuple([added(x, y) for x, y in zip(a, b, strict=True)]) if seen(a) and seen(b) else added_parts(a, b)
    return a + b


def added_parts(a: Any, b: Any) -> Any:
    """Like :func:`added`, for tuples of which nothing is known while tracing."""
    found = []
    for x, y in zip(a, b, strict=True):
        found.append(y if x is None else x if y is None else added_parts(x, y) if isinstance(x, tuple) else x + y)
    return tuple(found)


def as_tangent(t: Any, x: Any) -> Any:
    """Convert a tangent (or cotangent) given by the user to the type of x; None becomes zero. TypeError if t has a shape, or is text, where x is
    a number.
    """
    if t is None:
        return tangent(x)
    if isinstance(x, np.ndarray):
        return np.asarray(t, x.dtype)
    if isinstance(t, str):
        raise TypeError(f"the tangent of a number is a number, not the string {t!r}")
    if isinstance(t, np.ndarray) and t.shape:
        raise TypeError(f"the tangent of a number is a number, not an array of shape {t.shape}")
    return complex(t) if is_complex(x) else float(t)


def size_of(x: Any) -> int:
    """Return the number of elements."""
    return x.size if isinstance(x, np.ndarray) else 1


def unit(x: Any, k: int) -> Any:
    """Return the k-th unit vector in the shape of x; zeros if k is negative."""
    if isinstance(x, np.ndarray):
        made = np.zeros(x.size, x.dtype)
        if k >= 0:
            made[k] = 1.0
        return np.reshape(made, x.shape)
    one = 1.0 if k >= 0 else 0.0
    return complex(one) if is_complex(x) else one


def directions(x: Any) -> Any:
    """Return all unit vectors of an array, stacked along a leading axis."""
    return np.reshape(np.eye(x.size, dtype=x.dtype), (x.size, *x.shape))


def assembled(found: Any, k: int, output: Any, leaf: Any, axis: int) -> Any:
    """Assemble the Jacobian of an output with respect to a leaf from its columns (axis -1) or rows (axis 0); a number if both are numbers.

    ``found`` is a list with one tuple per column (row), whose k-th item is taken; or a tuple of arrays, of which the k-th contains all columns
    (rows) along its first axis.
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
    """Return the gradient for x that the user gets: None becomes zero, and an array is a new array."""
    if g is None:
        return x.dtype.type(0) if isinstance(x, np.generic) else zeros_like(x)
    if isinstance(x, np.ndarray):
        return np.array(spread(g, x), x.dtype)
    if isinstance(x, np.generic):
        return x.dtype.type(g)
    return complex(g) if isinstance(x, complex) else float(g)


# ------------------------------------------------------------------------------------------------- unknown shapes


def fitted_like(g: Any, x: Any) -> Any:
    """Like :func:`fitted`, for arrays whose shapes are not known while tracing."""
    if g.shape != x.shape:
        g = summed_to(g, x.shape) if g.ndim >= x.ndim else np.broadcast_to(g, x.shape)
    return g.astype(x.dtype) if x.dtype.kind in "fc" and g.dtype != x.dtype else g


def afresh(x: Any, after: Any) -> Any:
    """Return x. A computation on the result can't start before ``after`` is known, and is not shared with an equal computation on x itself."""
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
