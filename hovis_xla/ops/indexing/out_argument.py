"""``out=``: the targets that NumPy accepts, and the dtype in which it computes for their sake."""

import inspect
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.base.once import once
from hovis.ir import operations
from hovis.library.numpy.models.traced_functions import GIVE_NUMBERS
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.values import BOOL, Known, NotLowerable, Operand, Struct, Val, is_numpy
from hovis_xla.ops.indexing import stores
from hovis_xla.ops.scalar.python_numbers import L

#: Sums and products, which are computed in the common dtype of the elements and of ``out=``.
_ADDING: Final = frozenset({
    np.sum, np.prod, np.cumsum, np.cumprod, np.ndarray.sum, np.ndarray.prod, np.ndarray.cumsum, np.ndarray.cumprod,
})  # fmt: skip
#: Functions that compute the result first, and then cast it.
_CASTING: Final = _ADDING | {
    np.max, np.min, np.amax, np.amin, np.any, np.all, np.clip,
    np.ndarray.max, np.ndarray.min, np.ndarray.any, np.ndarray.all, np.ndarray.clip,
}  # fmt: skip
#: The same for methods of ufuncs: the methods, then the ufuncs that are sums or products, and the others.
_METHODS: Final = frozenset({np.ufunc.reduce, np.ufunc.accumulate})
_SUMS: Final = frozenset({np.add, np.multiply})
_EXTREMES: Final = frozenset({np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and, np.logical_or})


def without_out(low: L, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand]) -> dict[str, Operand]:
    """Return the options of the call whose result is to be stored into ``out=``."""
    options = {k: v for k, v in kwargs.items() if k != "out"}
    out = _only(kwargs["out"])
    if _is_nothing(out):
        return options
    if not _takes_out(callee):
        raise NotLowerable("out= is not an option of this function: the call raises an exception")
    adds = callee in _ADDING or (callee in _METHODS and _ufunc(args) in _SUMS)
    elements = args[1] if callee in _METHODS and len(args) > 1 else args[0] if args else None
    dtype = options.get("dtype", Known(None))
    if adds and _is_nothing(dtype) and elements is not None and is_numpy(elements):
        target = stores.target_of(low, out)
        if target is not None:
            options["dtype"] = Known(np.result_type(low.val(elements).num.dtype, target.num.dtype))
    return options


def store(low: L, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], found: Operand) -> Operand:
    """Store the result into ``out=`` and return that. Where ``where=`` of a ufunc does not hold, the old content stays."""
    out, casting, where = (kwargs.get(name) for name in ("out", "casting", "where"))
    assert out is not None
    out = _only(out)
    if _is_nothing(out):
        return found
    if not isinstance(found, Val):
        raise NotLowerable("out= of a function with several results")
    if not found.num.shape and callee in GIVE_NUMBERS:
        raise NotLowerable("out= of a result without dimensions: the function returns a number")
    target, mask = stores.target_of(low, out), None
    if target is not None and not (isinstance(callee, np.ufunc) and callee.signature is None):
        if target.num.shape != found.num.shape:
            raise NotLowerable("out= has another shape than the result: NumPy raises an exception")
        if target.num.dtype != found.num.dtype and not _casts(callee, args):
            raise NotLowerable("out= has another dtype than the result: NumPy may compute in that dtype")
    if target is not None and isinstance(callee, np.ufunc) and where is not None and not (isinstance(where, Known) and where.value is True):
        mask = builder.broadcast(builder.convert(tensor(low.val(where)), BOOL), target.num.shape)
    stores.assign(low, out, found, casting.value if isinstance(casting, Known) and casting.value is not None else "same_kind", mask)
    return out


def _only(out: Operand) -> Operand:
    """Return the single array of ``out=``."""
    if not (isinstance(out, Struct) and out.callee is operations.make_tuple):
        return out
    if len(out.parts) != 1:
        raise NotLowerable("out= of a function with several results")
    return out.parts[0]


def _is_nothing(a: Operand) -> bool:
    return isinstance(a, Known) and a.value is None


def _ufunc(args: list[Operand]) -> Any:
    return args[0].value if args and isinstance(args[0], Known) else None


def _casts(callee: Callable[..., Any], args: list[Operand]) -> bool:
    """Is the computed value the same whatever dtype ``out=`` has (or is the dtype given by an option)?"""
    return isinstance(callee, np.ufunc) or callee in _CASTING or (callee in _METHODS and _ufunc(args) in _SUMS | _EXTREMES)


@once
def _takes_out(callee: Callable[..., Any]) -> bool:
    try:
        given = inspect.signature(callee).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.name == "out" or p.kind is p.VAR_KEYWORD for p in given)
