"""Queries shared by all NumPy rules: which values are arrays or scalars, and how NumPy itself is asked for result types.

There is no table of dtypes here.  A result type is found by *calling the function* on stand-ins: arrays of one element with
the dtype and rank in question, and Python numbers for Python numbers, so that NEP 50, default dtypes and the oddities of
each function are NumPy's own.  A result of rank 0 becomes a NumPy scalar, as it does in the real call.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.base import interrupts
from hovis.base.warning_filters import warnings_are
from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Array, Const, Partial, Type
from hovis.lattice.inspection import is_a
from hovis.library.core import Primitive

#: The effect of computing with arrays: it reads mutable memory, and may raise (shapes that do not fit, or a float error under ``np.errstate``).
COMPUTES: Final = Effect.READS | Effect.RAISES

#: The kinds of dtypes that the rules cover: bool, signed and unsigned integers, floats, complex numbers.
NUMERIC_KINDS: Final = "biufc"

_PYTHON_NUMBERS: Final[dict[type, object]] = {bool: True, int: 1, float: 1.0, complex: 1j}


class NotMine(Exception):
    """Raised where the rule does not apply to these arguments."""


def dtype_of(t: AbstractValue) -> "np.dtype[Any] | None":
    """Return the dtype of an array or NumPy scalar of numbers; None for everything else, Python's numbers included.

    >>> dtype_of(Type(np.float32)), dtype_of(Const(np.int8(3))), dtype_of(Type(float))
    (dtype('float32'), dtype('int8'), None)
    """
    if isinstance(t, Const):
        value: Any = t.value
        if issubclass(type(value), np.generic) or type(value) is np.ndarray:
            return value.dtype if _plain(value.dtype) else None
        return None
    if isinstance(t, Array):
        return t.dtype if t.cls is np.ndarray and _plain(t.dtype) else None  # type: ignore[return-value, arg-type]
    if isinstance(t, Type) and issubclass(t.cls, np.generic) and t.cls in np.sctypeDict.values():
        dtype = np.dtype(t.cls)
        return dtype if _plain(dtype) else None
    return None


def _plain(dtype: "np.dtype[Any]") -> bool:
    return dtype.kind in NUMERIC_KINDS and dtype.isnative


def is_array(t: AbstractValue) -> bool:
    """Is t an exact ndarray of numbers, of known rank?"""
    return (isinstance(t, Array) or (isinstance(t, Const) and type(t.value) is np.ndarray)) and dtype_of(t) is not None


def is_scalar(t: AbstractValue) -> bool:
    """Is t a NumPy scalar of numbers?"""
    return dtype_of(t) is not None and not is_array(t)


def rank_of(t: AbstractValue) -> int:
    """Return the number of dimensions: 0 for everything that is not an array."""
    if isinstance(t, Array):
        return t.rank
    return t.value.ndim if isinstance(t, Const) and is_a(t.value, np.ndarray) else 0


def python_number(t: AbstractValue) -> type | None:
    """Return bool, int, float or complex if that is the exact type, or None."""
    cls = type(t.value) if isinstance(t, Const) else t.cls if isinstance(t, Type) else None
    return cls if cls in _PYTHON_NUMBERS else None


def is_numeric(t: AbstractValue) -> bool:
    """Is t a number or an array of numbers, Python's or NumPy's?"""
    return dtype_of(t) is not None or python_number(t) is not None


def concerns(*types: AbstractValue) -> bool:
    """Is any of the types an array or a NumPy scalar, or a tuple or list that contains one?"""
    return any(dtype_of(t) is not None or (isinstance(t, Partial) and concerns(*t.parts)) for t in types)


def concerns_numbers(*types: AbstractValue) -> bool:
    """Like `concerns`, but also true where there are Python numbers of unknown value and none of them is an int (which may be too large for any
    dtype).
    """
    numbers = [python_number(t) for t in types if not isinstance(t, Const)]
    return concerns(*types) or (int not in numbers and any(n is not None for n in numbers))


def of_dtype(dtype: "np.dtype[Any]", rank: int, layout: str = "") -> AbstractValue:
    """Return the type of a result: an array, or a NumPy scalar if its rank is 0.

    >>> of_dtype(np.dtype("f4"), 2), of_dtype(np.dtype("f4"), 0)
    (float32[:, :], float32)
    """
    return Array(np.ndarray, dtype, rank, layout) if rank else Type(dtype.type)


def array_of(dtype: "np.dtype[Any]", rank: int, layout: str = "") -> AbstractValue:
    """Return the type of a result that is an array whatever its rank."""
    return Array(np.ndarray, dtype, rank, layout)


def describe(value: object) -> AbstractValue:
    """Return the type of a value: arrays with dtype and rank, tuples and lists with their parts. Raises NotMine for other dtypes."""
    if type(value) is np.ndarray:
        if not _plain(value.dtype):
            raise NotMine
        return Array(np.ndarray, value.dtype, value.ndim)
    if isinstance(value, tuple):
        return Partial(type(value), range(len(value)), map(describe, value))
    if type(value) is list:
        return Partial(list, range(len(value)), map(describe, value))
    return Type(type(value))


def stand_in(t: AbstractValue, size: int = 1, value: int = 1) -> object:
    """Return a tiny value of type t to call NumPy with: arrays have ``size`` elements in each dimension."""
    dtype = dtype_of(t)
    if dtype is not None:
        made = np.full((size,) * rank_of(t), value, dtype)
        return made if is_array(t) else made[()]
    if isinstance(t, Const):
        return _small(t.value)
    number = python_number(t)
    if number is not None:
        return _PYTHON_NUMBERS[number]
    if isinstance(t, Partial) and t.cls in (tuple, list):
        return t.cls(stand_in(p, size, value) for p in t.parts)
    if isinstance(t, Partial) and t.cls is slice:
        return slice(*(stand_in(p, size, value) for p in t.parts))
    raise NotMine


def _small(value: object) -> object:
    """Return a constant unchanged if it can't make NumPy build something big or run foreign code; raise NotMine otherwise.

    An integer beyond 64 is replaced by 2 or -2, because no rank and no dtype depends on its magnitude; one of more than 63 bits raises NotMine.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) >= 1 << 63:
            raise NotMine
        return value if abs(value) <= 64 else 2 if value > 0 else -2
    if value is None or value is Ellipsis or isinstance(value, bool | float | complex | str | np.dtype):
        return value
    if isinstance(value, type) and (issubclass(value, np.generic) or value in _PYTHON_NUMBERS):
        return value
    if type(value) is tuple:
        return tuple(map(_small, value))
    if type(value) is slice:
        return slice(_small(value.start), _small(value.stop), _small(value.step))
    raise NotMine


@functools.lru_cache(maxsize=65536)
def _ask(fn: Callable[..., object], types: tuple[AbstractValue, ...], named: tuple[tuple[str, AbstractValue], ...]) -> AbstractValue | None:
    for size, value in ((1, 1), (1, 0), (2, 1), (3, 1)):
        try:
            args = [stand_in(t, size, value) for t in types]
            kwargs = {name: stand_in(t, size, value) for name, t in named}
            with np.errstate(all="ignore"), warnings_are("ignore"):
                return describe(fn(*args, **kwargs))
        except NotMine:
            return None
        except Exception as error:
            interrupts.let_through(error)
            # perhaps it raises only because the arrays are so small; otherwise, the real call raises it again at run time
            continue
    return None


def ask(fn: Callable[..., object], *types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """Return the type of ``fn(*values)`` for values of these types, by calling fn on stand-ins.

    >>> ask(np.add, Array(np.ndarray, np.dtype("f4"), 1), Type(float))
    float32[:]
    """
    try:
        return _ask(fn, types, tuple(sorted(named.items())))
    except TypeError:  # an unhashable constant, such as a slice in Python 3.11
        return _ask.__wrapped__(fn, types, tuple(sorted(named.items())))


def asking(fn: Callable[..., object], about: Sequence[int] | None = None) -> Callable[..., AbstractValue | None]:
    """Make a rule that calls NumPy on stand-ins. It applies only where an array or NumPy scalar is involved, or Python numbers that can't become
    an object array; with ``about``, only the arguments at these positions count.
    """

    def result(*types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        chosen = types if about is None else [types[k] for k in about if k < len(types)]
        if not concerns_numbers(*chosen, *named.values()) or "out" in named:
            return None
        return ask(fn, *types, **named)

    return result


def nesting(t: AbstractValue) -> tuple[int, list[AbstractValue]] | None:
    """Return the nesting depth (plus rank) and the types of the numbers and arrays in nested lists and tuples; None if the shape is not known."""
    if is_numeric(t):
        return rank_of(t), [t]
    parts = t.parts if isinstance(t, Partial) and t.cls in (tuple, list) else None
    if isinstance(t, Const) and type(t.value) in (tuple, list):
        parts = tuple(map(Const, t.value))  # type: ignore[call-overload]
    found = [nesting(p) for p in parts] if parts else []
    depths = {f[0] for f in found if f is not None}
    if not found or any(f is None for f in found) or len(depths) != 1:
        return None
    return depths.pop() + 1, [leaf for f in found if f is not None for leaf in f[1]]


def immutable(*values: object, **named: object) -> bool:
    """May a call be folded on these values? Only if all are immutable: never on arrays."""
    return all(
        isinstance(v, np.generic | bool | int | float | complex | str | type | np.dtype | None) or (type(v) is tuple and immutable(*v))
        for v in (*values, *named.values())
    )


def row(
    fn: Callable[..., object],
    result: Callable[..., AbstractValue | None],
    effect: "Effect | Callable[..., Effect]" = COMPUTES,
    fold: "bool | Callable[..., bool]" = immutable,
    dims: Callable[..., Any] | None = None,
) -> Primitive:
    """Make a Primitive with the defaults of this library."""
    return Primitive(fn, result, effect, fold, dims)
