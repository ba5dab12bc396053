"""NumPy functions whose result the types alone do not determine: traced through as Python, computed while tracing, or called with their shapes.

``np.split`` returns a list whose length depends on a dimension; ``np.finfo`` of a known dtype never changes; ``np.cov`` of a
single row has rank 0.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.base import interrupts
from hovis.engine.calls.builtins import primitive
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Array, Type
from hovis.lattice.inspection import is_a
from hovis.library.core import Action, decides
from hovis.library.numpy import NUMPY
from hovis.library.numpy.types import shapes
from hovis.library.numpy.types.arrays import COMPUTES, array_of, dtype_of, is_array, python_number, rank_of
from hovis.library.numpy.types.shapes import Shape, facts
from hovis.library.virtual.base import pushed

# ------------------------------------------------------------------------------------------------- models


def _sections(indices_or_sections: Any) -> int | None:
    """Return the number of sections, or None if the argument gives the split positions."""
    if isinstance(indices_or_sections, int) and decides(indices_or_sections) > 0:
        return indices_or_sections
    try:
        len(indices_or_sections)  # an array of split positions has a length as well
    except TypeError:
        sections = int(decides(indices_or_sections))
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        return sections
    return None


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    total = ary.shape[axis]
    sections = _sections(indices_or_sections)
    if sections is None:
        points = [0, *indices_or_sections, total]
    else:
        each, extras = divmod(total, sections)
        points = [0]
        for k in range(sections):
            points.append(points[-1] + (each + 1 if k < extras else each))
    before = (slice(None),) * (axis % ary.ndim)
    return [ary[(*before, slice(points[k], points[k + 1]))] for k in range(len(points) - 1)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if not (ary.ndim and isinstance(indices_or_sections, int) and decides(indices_or_sections) > 0 and ary.shape[axis] % indices_or_sections == 0):
        try:
            len(indices_or_sections)
        except TypeError:
            if ary.shape[axis] % decides(indices_or_sections):
                raise ValueError("array split does not result in an equal division") from None
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


def unstack(x: Any, /, *, axis: int = 0) -> Any:
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    turned = np.moveaxis(x, axis, 0)
    return tuple([turned[k, ...] for k in range(x.shape[axis])])


#: The most elements of an array whose ``tolist`` is unrolled.
_MOST: Final = 64
_PLACES: Final = tuple(range(_MOST))


def to_list(a: Any) -> Any:
    places = _PLACES[: len(a)]
    return [to_list(a[k]) for k in places] if a.ndim > 1 else [a[k].item() for k in places]


def numbers(a: Any) -> Any:
    """``a.tolist()`` of a one-dimensional array of any length."""
    made = []
    for x in a:
        made.append(x.item())
    return made


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    places = np.indices(shape, dtype=dtype)
    return function(*[places[k] for k in range(len(shape))], **kwargs)


def joined_rows(key: Any, dtype: Any) -> Any:
    return np.concatenate([k.astype(dtype) if isinstance(k, np.ndarray) else np.array([k], dtype) for k in key])


def joined_columns(key: Any) -> Any:
    return np.column_stack(key)


def stored(fn: Any, out: Any, /, *args: Any, **named: Any) -> Any:
    """``fn(..., out=out)``, where the result has exactly the shape of out."""
    out[...] = fn(*args, **named)
    return out


# ------------------------------------------------------------------------------------------------- actions


def _sized(m: Any, value: V) -> bool:
    """Is value an exact array whose dimensions are all known?"""
    return isinstance(value, Dyn) and is_array(value.type) and value.dims is not None and all(isinstance(d, Known) for d in value.dims)


def _entering(model: Callable[..., Any], most: int | None = None) -> Action:
    """Make an action that calls the model, if the first argument is an array of known dimensions (and of at most ``most`` elements)."""

    def act(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
        if not args or not (_sized(m, args[0]) or (isinstance(args[0], Dyn) and is_array(args[0].type) and rank_of(args[0].type) == 0)):
            return None
        dims: Any = args[0].dims or ()  # type: ignore[union-attr]
        if most is not None and (not m.known_sizes or not dims or np.prod([d.value for d in dims]) > most):
            return None
        return pushed(m, lambda: m.call(Known(model), args, kwargs))

    return act


def _tolist(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
    found = _entering(to_list, most=_MOST)(m, args, kwargs)
    long = found is None and m.known_sizes and len(args) == 1 and not kwargs and isinstance(args[0], Dyn) and is_array(args[0].type)
    return pushed(m, lambda: m.call(Known(numbers), args, {})) if long and rank_of(args[0].type) == 1 else found  # type: ignore[union-attr]


def _fromfunction(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
    return pushed(m, lambda: m.call(Known(fromfunction), args, kwargs)) if len(args) == 2 and m.known_sizes else None


def _joining(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
    """Model ``np.r_[a, 1, 0:3]`` and ``np.c_[a, b]`` for arrays, numbers and ranges."""
    which = args[0].value if isinstance(args[0], Known) else None
    made = m.obj(args[1], "tuple") if len(args) == 2 else None
    if which not in (np.r_, np.c_) or (made is not None and (made.cls is not tuple or not made.cells)):
        return None
    cells = [_spread(m, m.resolve(c)) for c in (made.cells if made is not None else args[1:])]
    if which is np.c_:
        plain = all(isinstance(c, Dyn) and is_array(c.type) and rank_of(c.type) in (1, 2) for c in cells)
        return pushed(m, lambda: m.call(Known(joined_columns), [m.new(VObj("tuple", tuple, tuple(cells)))], {})) if plain else None
    ranks = {rank_of(c.type) if isinstance(c, Dyn) and is_array(c.type) else 0 for c in cells}
    weak = [_weak(m.type_of(c)) for c in cells]
    if not (ranks <= {0, 1} or (len(ranks) == 1 and 0 not in ranks)) or any(w is None for w in weak) or _has_point(cells):
        return None
    dtype = np.result_type(*weak)
    return pushed(m, lambda: m.call(Known(joined_rows), [m.new(VObj("tuple", tuple, tuple(cells))), Known(dtype)], {}))


def _has_point(cells: list[V]) -> bool:
    """Is there an array with rank 0?"""
    return any(isinstance(c, Dyn) and is_array(c.type) and not rank_of(c.type) for c in cells)


def _spread(m: Any, value: V) -> V:
    """Convert a slice of known ints to the array of its numbers; return any other value unchanged."""
    cells = m.obj(value, "slice").cells if m.obj(value, "slice") is not None else ()
    if isinstance(value, Known) and type(value.value) is slice:
        cells = tuple(Known(part) for part in (value.value.start, value.value.stop, value.value.step))
    bounds = [Known(default) if isinstance(c, Known) and c.value is None else c for c, default in zip(cells, (0, None, 1), strict=False)]
    if not bounds or not all(isinstance(b, Known) and type(b.value) is int for b in bounds) or bounds[2].value == 0:
        return value
    for bound in bounds:
        m.use(bound)
    return primitive(m, NUMPY.primitives[np.arange], list(bounds), {}) or value


def _weak(kind: AbstractValue) -> Any:
    """Return the representative of a part in the promotion of dtypes: a Python number is weak, an array or NumPy scalar counts by its dtype."""
    number = python_number(kind)
    return dtype_of(kind) if number is None else number(1)


def _now(fn: Callable[..., Any]) -> Action:
    """Make an action that calls fn while tracing, on known classes, dtypes and numbers; its result never changes."""

    def act(m: Any, args: list[V], kwargs: dict[str, V]) -> V | None:
        if not all(isinstance(a, Known) for a in (*args, *kwargs.values())) or any(is_a(a.value, np.ndarray) for a in args):  # type: ignore[union-attr]
            return None
        try:
            found = fn(*(a.value for a in args), **{name: v.value for name, v in kwargs.items()})  # type: ignore[union-attr]
        except Exception as error:
            interrupts.let_through(error)
            return None  # it raises at run time as well
        return Known(found)

    return act


def _by_shape(fn: Callable[..., Any]) -> Action:
    """Make an action that finds the type by calling NumPy on arrays of exactly these shapes: the rank of the result depends on them."""

    def act(m: Any, args: list[V], kwargs: dict[str, V]) -> V | None:
        if fn in (np.squeeze, np.ndarray.squeeze) and (len(args) != 1 or kwargs):
            return None  # with an axis, the rule for types suffices
        given = [facts(m, a) for a in args], {name: facts(m, v) for name, v in kwargs.items()}
        found = shapes.sampled(fn, *given)
        if type(found) is not np.ndarray and not isinstance(found, np.generic):
            return None
        kind: AbstractValue | None = array_of(found.dtype, found.ndim) if isinstance(found, np.ndarray) else None
        return None if kind is None else m.emit(fn, args, kwargs, kind, COMPUTES, tuple(map(Known, found.shape)) or None)

    return act


def _storing(fn: Any) -> Action:
    """Make an action that turns ``out=`` into a store, where out has exactly the dimensions of the result and a dtype that takes it."""

    def act(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
        out = kwargs.get("out")
        if isinstance(fn, np.ufunc) and out is None and len(args) == fn.nin + 1 and fn.nout == 1:
            args, out = args[:-1], args[-1]
        if out is None or not m.known_sizes or not _sized(m, out):
            return None
        options = {name: v for name, v in kwargs.items() if name != "out"}
        if not set(options) <= {"axis", "keepdims"}:
            return None
        found = _result(m, fn, args, options)
        if found is not None and not found[1] and fn in GIVE_NUMBERS:
            return None
        into = dtype_of(out.type)  # type: ignore[union-attr]
        if found is None or into is None or tuple(d.value for d in out.dims) != found[1]:  # type: ignore[union-attr]
            return None
        if not (np.can_cast(found[0], into, "same_kind") if isinstance(fn, np.ufunc) else found[0] == into):
            return None
        return pushed(m, lambda: m.call(Known(stored), [Known(fn), out, *args], options))

    return act


def _of_numbers(fn: Any, otherwise: Action | None) -> Action:
    """Make an action for a function of arrays that converts Python floats (and complex numbers) to NumPy scalars, which its rules cover."""

    def act(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
        numbers = [_NUMBERS.get(a.type.cls) if isinstance(a, Dyn) and type(a.type) is Type else None for a in args]
        if not any(numbers) or any(isinstance(a, Dyn) and dtype_of(a.type) is not None for a in args):
            return otherwise(m, args, kwargs) if otherwise is not None else None
        made = [a if of is None else m.emit(of, [a], type=Type(of), effect=Effect.PURE) for a, of in zip(args, numbers, strict=True)]
        return pushed(m, lambda: m.call(Known(fn), made, kwargs))

    return act


_NUMBERS: Final[dict[Any, type]] = {float: np.float64, complex: np.complex128}


def _result(m: Any, fn: Any, args: list[V], options: dict[str, V]) -> "tuple[np.dtype[Any], Shape] | None":
    """Return dtype and dimensions of the result of the call without ``out=``; None if they are not known."""
    row = NUMPY.primitives.get(fn)
    if row is None or row.dims is None:
        return None
    try:
        kind = row.result(*map(m.type_of, args), **{name: m.type_of(v) for name, v in options.items()})
    except TypeError:
        return None
    dtype = dtype_of(kind) if isinstance(kind, Array) else None
    dims = row.dims(m, args, options) if dtype is not None else None
    if dtype is None or dims is None or not all(isinstance(d, Known) for d in dims):
        return None
    return dtype, tuple(d.value for d in dims)


#: Functions that return a NumPy scalar if the result has rank 0, and not the array that is passed as ``out=``.
GIVE_NUMBERS: Final = frozenset({np.dot, np.clip, np.round, np.around})

_STORES: Final[list[Any]] = [
    *(v for v in vars(np).values() if isinstance(v, np.ufunc) and v.nout == 1), np.dot, np.clip, np.sum, np.mean, np.cumsum, np.cumprod, np.take,
    np.max, np.min, np.amax, np.amin, np.prod,
]  # fmt: skip

#: Functions that treat a Python float as an ``np.float64``.
ALIKE: Final[list[Any]] = [
    np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.std, np.var, np.dot, np.inner, np.vdot, np.outer, np.clip, np.any, np.all,
    np.count_nonzero, np.ravel, np.argmax, np.argmin, np.ptp, np.median, np.average, np.atleast_1d, np.atleast_2d,
    np.atleast_3d, np.cumsum, np.cumprod, np.nansum, np.nanmean, np.nanmax, np.nanmin, np.nanprod, np.nanstd, np.nanvar, np.copy, np.append, np.repeat,
    np.allclose, np.array_equal,
]  # fmt: skip

_NOW: Final[list[Any]] = [
    np.finfo, np.iinfo, np.issubdtype, np.can_cast, np.promote_types, np.min_scalar_type, np.isdtype, np.result_type, np.broadcast_shapes, np.isscalar,
    np.common_type, np.dtype,
]  # fmt: skip

_MODELS: Final[dict[Any, Callable[..., Any]]] = {
    np.array_split: array_split, np.split: split, np.hsplit: hsplit, np.vsplit: vsplit, np.dsplit: dsplit, np.unstack: unstack,
}  # fmt: skip

#: The class from which ``np.r_`` and ``np.c_`` inherit ``__getitem__``.
_JOINER: Final[Any] = type(np.r_).__mro__[1]

_SPECIAL: Final[dict[Any, Action]] = {
    **{fn: _entering(model) for fn, model in _MODELS.items()},
    **{fn: _now(fn) for fn in _NOW},
    **{fn: _by_shape(fn) for fn in (np.cov, np.corrcoef, np.squeeze, np.ndarray.squeeze)},
    **{fn: _storing(fn) for fn in dict.fromkeys(_STORES)},
    np.ndarray.tolist: _tolist,
    np.fromfunction: _fromfunction,
    _JOINER.__getitem__: _joining,
}

ENTERING: Final[dict[Any, Action]] = {**_SPECIAL, **{fn: _of_numbers(fn, _SPECIAL.get(fn)) for fn in ALIKE}}
