"""Rules for ``a[index]``, ``a[index] = v`` and related functions."""

import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Array, Const, Partial, Type
from hovis.lattice.inspection import is_a
from hovis.library.core import Primitive
from hovis.library.numpy.types import shapes
from hovis.library.numpy.types.arrays import COMPUTES, array_of, concerns, dtype_of, is_array, is_numeric, nesting, of_dtype, python_number, rank_of, row
from hovis.library.numpy.types.shapes import UNKNOWN, Facts, Shape, broadcast, for_engine

#: Kinds of items of an index, by their effect on the rank.
INTEGER: Final = "integer"
SLICE: Final = "slice"
NEW_AXIS: Final = "new axis"
ELLIPSIS: Final = "ellipsis"


def items_of(index: AbstractValue) -> tuple[AbstractValue, ...] | None:
    """Return the items of an index, or None if their number is not known."""
    if isinstance(index, Partial):
        return index.parts if index.cls is tuple else (index,) if index.cls is slice else None
    if isinstance(index, Const):
        return tuple(map(Const, index.value)) if type(index.value) is tuple else (index,)
    return None if isinstance(index, Type) and index.cls in (tuple, list) else (index,)


def kind_of(item: AbstractValue) -> str | np.ndarray[Any, Any] | None:
    """Return INTEGER, SLICE, NEW_AXIS or ELLIPSIS; for an index array, a stand-in array; None if the kind is not known."""
    if isinstance(item, Const):
        if item.value is None:
            return NEW_AXIS
        if item.value is Ellipsis:
            return ELLIPSIS
        if type(item.value) is slice:
            return SLICE
    if isinstance(item, Type) and item.cls is slice:
        return SLICE
    if isinstance(item, Partial) and item.cls is slice:
        return SLICE
    if python_number(item) is int:
        return INTEGER
    dtype = dtype_of(item)
    if dtype is None or dtype.kind not in "biu":
        return None
    if dtype.kind in "iu" and rank_of(item) == 0:
        return INTEGER
    return np.zeros((1,) * rank_of(item), dtype) if is_array(item) else None


def _stand_in(kind: Any) -> Any:
    return {INTEGER: 0, SLICE: slice(None), NEW_AXIS: None, ELLIPSIS: Ellipsis}[kind] if isinstance(kind, str) else kind


def getitem_rank(rank: int, items: Sequence[AbstractValue]) -> int | None:
    """Return the rank of ``a[items]``, by indexing an array of shape (1, 1, ...) in NumPy; None if it is not known."""
    kinds = [kind_of(i) for i in items]
    if any(k is None for k in kinds):
        return None
    try:
        found: int = np.ndim(np.zeros((1,) * rank)[tuple(map(_stand_in, kinds))])
    except IndexError:
        return None
    return found


def getitem(a: AbstractValue, index: AbstractValue) -> AbstractValue | None:
    """Return the type of ``a[index]``; with an Ellipsis even a single element is an array."""
    dtype, items = dtype_of(a), items_of(index)
    if dtype is None or not is_array(a) or items is None:
        return None
    rank = getitem_rank(rank_of(a), items)
    if rank is None:
        return None
    if any(kind_of(i) == ELLIPSIS for i in items if isinstance(kind_of(i), str)):
        return array_of(dtype, rank)
    return of_dtype(dtype, rank)


def getitem_effect(a: AbstractValue, index: AbstractValue) -> Effect:
    """Return the effect of ``a[index]``: a slice never raises, an integer may be out of range."""
    kinds = [kind_of(i) for i in items_of(index) or (index,)]
    basic = all(isinstance(k, str) for k in kinds)
    return Effect.READS if basic and INTEGER not in kinds else COMPUTES


def _facts_items(index: Facts) -> tuple[Facts, ...] | None:
    if index.parts is not None:
        return index.parts
    if index.known and is_a(index.value, tuple):
        return tuple(Facts(Const(v), (), v) for v in index.value)
    return (index,)


class _Unknown:
    """An unknown integer, as an item of an index."""


def getitem_dims(a: Facts, index: Facts) -> Shape | None:
    items = _facts_items(index)
    if a.dims is None or items is None:
        return None
    plain: list[Any] = []
    for item in items:
        kind = kind_of(item.type)
        if kind is None:
            return None
        if not isinstance(kind, str):
            mask = kind.dtype.kind == "b"
            plain.append(shapes.Picking((None,) if mask else item.dims or (None,) * kind.ndim, kind.ndim if mask else 1))
        elif kind == INTEGER:
            plain.append(_Unknown())
        elif kind == SLICE:
            plain.append(item.value if item.known else slice(UNKNOWN))
        else:
            plain.append(item.value)
    return shapes.indexed(a.dims, tuple(plain))


def setitem(a: AbstractValue, index: AbstractValue, value: AbstractValue) -> AbstractValue | None:
    items = items_of(index)
    if not is_array(a) or nesting(value) is None or items is None:
        return None
    return Type(type(None)) if getitem_rank(rank_of(a), items) is not None else None


def _stores(a: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """The rule of functions that store into their first argument."""
    known = all(nesting(x) is not None for x in rest) and all(isinstance(x, Const) or nesting(x) is not None for x in named.values())
    return Type(type(None)) if is_array(a) and known else None


def _at(ufunc: AbstractValue, a: AbstractValue, indices: AbstractValue, *rest: AbstractValue) -> AbstractValue | None:
    """The rule of ``np.add.at``."""
    kinds = [kind_of(i) for i in items_of(indices) or (indices,)]
    known = nesting(indices) is not None or all(k is not None for k in kinds)
    return Type(type(None)) if isinstance(ufunc, Const) and is_array(a) and known and all(nesting(x) is not None for x in rest) else None


def _take(a: AbstractValue, indices: AbstractValue, *rest: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    axis = rest[0] if rest else named.get("axis", Const(None))
    dtype = dtype_of(a)
    nested = nesting(indices)
    if nested is not None and nested[0] and not is_array(indices):
        indices = Array(np.ndarray, np.dtype(np.intp), nested[0]) if all(python_number(x) is int for x in nested[1]) else indices
    integer = python_number(indices) is int or (dtype_of(indices) is not None and dtype_of(indices).kind in "iu")  # type: ignore[union-attr]
    if dtype is None or not is_array(a) or not integer or not isinstance(axis, Const) or not set(named) <= {"axis", "mode"}:
        return None
    return of_dtype(dtype, rank_of(indices) + (0 if axis.value is None else rank_of(a) - 1))


def _take_dims(a: Facts, indices: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    axis = rest[0].value if rest else named["axis"].value if "axis" in named else None
    if indices.dims is None and indices.parts is not None:
        indices = Facts(indices.type, (len(indices.parts),)) if all(p.dims == () for p in indices.parts) else indices
    if a.dims is None or indices.dims is None or not (axis is None or (isinstance(axis, int) and -len(a.dims) <= axis < len(a.dims))):
        return None
    return indices.dims if axis is None else a.dims[: axis % len(a.dims)] + indices.dims + a.dims[axis % len(a.dims) + 1 :]


def _take_along_axis(a: AbstractValue, indices: AbstractValue, axis: AbstractValue) -> AbstractValue | None:
    dtype = dtype_of(a)
    if dtype is None or not isinstance(axis, Const) or axis.value is None or rank_of(indices) != rank_of(a):
        return None
    return array_of(dtype, rank_of(a))


def _along_dims(a: Facts, indices: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    axis = rest[0].value if rest else named["axis"].value if "axis" in named else -1
    if a.dims is None or indices.dims is None or not isinstance(axis, int) or not -len(a.dims) <= axis < len(a.dims):
        return None
    axis %= len(a.dims)
    around = broadcast(a.dims[:axis] + (1,) + a.dims[axis + 1 :], indices.dims[:axis] + (1,) + indices.dims[axis + 1 :])
    return None if around is None else around[:axis] + (indices.dims[axis],) + around[axis + 1 :]


def _nonzero(a: AbstractValue) -> AbstractValue | None:
    if not is_array(a):
        return None
    return Partial(tuple, range(rank_of(a)), [Array(np.ndarray, np.dtype(np.intp), 1)] * rank_of(a))


#: The default of ``side`` in ``np.searchsorted``.
_LEFT: Final = Const("left")


def _searchsorted(a: AbstractValue, v: AbstractValue, side: AbstractValue = _LEFT) -> AbstractValue | None:
    known = isinstance(side, Const) and type(side.value) is str and side.value in ("left", "right")
    return of_dtype(np.dtype(np.intp), rank_of(v)) if concerns(a) and is_numeric(v) and known else None


#: Functions that store into their first argument and return None.
STORES: Final = (np.put, np.ndarray.put, np.place, np.putmask, np.copyto, np.fill_diagonal, np.put_along_axis)

ROWS: Final[list[Primitive]] = [
    *(row(fn, _stores, Effect.WRITES | Effect.RAISES | Effect.READS, fold=False) for fn in STORES),
    row(np.ufunc.at, _at, Effect.WRITES | Effect.RAISES | Effect.READS, fold=False),
    row(operator.getitem, getitem, getitem_effect, dims=for_engine(getitem_dims)),
    row(operator.setitem, setitem, Effect.WRITES | Effect.RAISES | Effect.READS, fold=False),
    row(np.take, _take, dims=for_engine(_take_dims)),
    row(np.ndarray.take, _take, dims=for_engine(_take_dims)),
    row(np.take_along_axis, _take_along_axis, dims=for_engine(_along_dims)),
    row(np.nonzero, _nonzero),
    row(np.searchsorted, _searchsorted),
]
