"""Rules for elementwise functions: every ufunc of NumPy, and Python's operators and builtins on arrays and NumPy scalars."""

import builtins
import functools
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Array, Const, Partial, Type, forget, join
from hovis.lattice.inspection import is_a
from hovis.library.core import Primitive
from hovis.library.language.signatures.type_queries import class_of
from hovis.library.numpy.types import shapes
from hovis.library.numpy.types.arrays import (
    COMPUTES,
    array_of,
    ask,
    asking,
    concerns,
    concerns_numbers,
    dtype_of,
    is_array,
    is_scalar,
    of_dtype,
    python_number,
    rank_of,
    row,
)
from hovis.library.numpy.types.shapes import Facts, Shape, for_engine

#: All elementwise ufuncs (those with a signature, like matmul, are contractions).
ELEMENTWISE: Final = sorted({v for v in vars(np).values() if isinstance(v, np.ufunc) and v.signature is None}, key=lambda u: u.__name__)

#: Ufuncs that only compare values or inspect bits: they set no float status, so they never warn or raise.
QUIET: Final = frozenset({
    np.negative, np.positive, np.absolute, np.fabs, np.conjugate, np.sign, np.signbit, np.copysign, np.isnan, np.isinf, np.isfinite,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert,
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.rint, np.floor, np.ceil, np.trunc,
    np.maximum, np.minimum, np.fmax, np.fmin, np.bitwise_count,
})  # fmt: skip

#: operator -> the ufunc that it calls if an operand is an array or a NumPy scalar.
OPERATORS: Final[dict[Callable[..., Any], np.ufunc]] = {
    operator.add: np.add, operator.sub: np.subtract, operator.mul: np.multiply, operator.truediv: np.true_divide,
    operator.floordiv: np.floor_divide, operator.mod: np.remainder, operator.pow: np.power,
    operator.and_: np.bitwise_and, operator.or_: np.bitwise_or, operator.xor: np.bitwise_xor,
    operator.lshift: np.left_shift, operator.rshift: np.right_shift,
    operator.lt: np.less, operator.le: np.less_equal, operator.gt: np.greater, operator.ge: np.greater_equal,
    operator.eq: np.equal, operator.ne: np.not_equal,
    operator.neg: np.negative, operator.pos: np.positive, operator.abs: np.absolute, operator.invert: np.invert,
    builtins.abs: np.absolute, builtins.pow: np.power, builtins.divmod: np.divmod,
}  # fmt: skip

#: in-place operator, which writes to its first operand if that is an array -> binary operator
IN_PLACE: Final[dict[Callable[..., Any], Callable[..., Any]]] = {
    operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul, operator.itruediv: operator.truediv,
    operator.ifloordiv: operator.floordiv, operator.imod: operator.mod, operator.ipow: operator.pow, operator.iand: operator.and_,
    operator.ior: operator.or_, operator.ixor: operator.xor, operator.ilshift: operator.lshift, operator.irshift: operator.rshift,
}  # fmt: skip


def _loop_type(t: AbstractValue) -> Any:
    """Return the argument of ``resolve_dtypes`` that stands for t: a dtype, or the Python class of a weak number."""
    number = python_number(t)
    if number is not None:
        return np.dtype(bool) if number is bool else number
    return dtype_of(t)


def resolved(u: np.ufunc, loops: list[Any], dtype: Any = None, casting: Any = None) -> "tuple[np.dtype[Any], ...]":
    """Return the dtypes of the inputs and outputs of the loop that NumPy chooses for u; TypeError if there is none."""
    if casting == "equiv" and any(isinstance(t, type) for t in loops):
        raise TypeError("a number of Python's is equivalent to nothing")  # NumPy itself would crash the process
    options: dict[str, Any] = {} if casting is None else {"casting": casting}
    if dtype is not None:
        options["signature"] = (*[None] * u.nin, *[np.dtype(dtype)] * u.nout)
    return u.resolve_dtypes((*loops, *[None] * u.nout), **options)


def ufunc_result(u: np.ufunc, *types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    """Return the type of ``u(*types)``: NumPy chooses the loop, and the rank is that of the broadcast."""
    loops = [_loop_type(t) for t in types]
    if not set(named) <= {"where", "dtype", "casting"} or len(types) != u.nin or any(k is None for k in loops):
        return None
    dtype, casting, where = named.get("dtype", Const(None)), named.get("casting", Const(None)), named.get("where", Const(True))
    if not isinstance(dtype, Const) or not isinstance(casting, Const) or not (where == Const(True) or dtype_of(where) == np.bool_):
        return None
    try:
        dtypes = resolved(u, loops, dtype.value, casting.value)[u.nin :]
    except (TypeError, ValueError):
        return None
    if any(d.kind not in "biufc" for d in dtypes):
        return None
    rank = max(map(rank_of, (*types, where)))
    results = [of_dtype(d, rank) for d in dtypes]
    return results[0] if u.nout == 1 else Partial(tuple, range(u.nout), results)


def ufunc_effect(u: np.ufunc) -> Callable[..., Effect]:
    """Make the effect rule of a ufunc: it reads arrays, and may raise for a float status, incompatible shapes or a number out of range."""

    def effect(*types: AbstractValue, **named: AbstractValue) -> Effect:
        arrays = [t for t in types if is_array(t)]
        found = Effect.READS if arrays else Effect.PURE
        fits = sum(rank_of(t) > 0 for t in arrays) < 2 and not any(_may_overflow(t) for t in types)
        return found if u in QUIET and fits else found | Effect.RAISES

    return effect


def _may_overflow(t: AbstractValue) -> bool:
    """Is t a Python int that may not fit the dtype of the loop?"""
    return python_number(t) is int and not (isinstance(t, Const) and is_a(t.value, int) and 0 <= t.value < 128)


def elementwise_dims(*args: Facts, where: Facts | None = None, **named: Facts) -> Shape | None:
    return shapes.broadcast(*(a.dims for a in args), *([where.dims] if where is not None else []))


BROADCAST: Final = for_engine(elementwise_dims)


def _ufunc(u: np.ufunc) -> Primitive:
    return row(u, lambda *types, **named: ufunc_result(u, *types, **named), ufunc_effect(u), dims=BROADCAST if u.nout == 1 else None)


def _operator(fn: Callable[..., Any], u: np.ufunc) -> Primitive:
    def result(*types: AbstractValue) -> AbstractValue | None:
        return operator_result(fn, u, *types)

    return row(fn, result, ufunc_effect(u), dims=BROADCAST if u.nout == 1 else None)


_ORDERINGS: Final = (operator.lt, operator.le, operator.gt, operator.ge)


def operator_result(fn: Callable[..., Any], u: np.ufunc, *types: AbstractValue) -> AbstractValue | None:
    """Return the type of ``a + b``. With arrays it is that of the ufunc.

    For scalars the results may differ from that (``1j + np.float64(2)`` is a Python complex), so the operator itself is called on stand-ins.
    """
    if not concerns(*types):
        return None
    if any(map(is_array, types)):
        if u is np.power and dtype_of(types[0]) == np.bool_:
            return None  # ``bools ** 2`` and ``bools ** 3`` differ in dtype, and the exponent becomes known too late
        return ufunc_result(u, *types)
    if fn in _ORDERINGS and all(class_of(t) in (tuple, list) for t in types):
        return None  # a bool if all items are equal, else the result of comparing the first items that differ
    return ask(fn, *(Type(type(t.value)) if isinstance(t, Const) and python_number(t) else t for t in types))


def _in_place(fn: Callable[..., Any], plain: Callable[..., Any]) -> Primitive:
    """Make the row of ``a += b``: an array keeps its identity and dtype; for a NumPy scalar the name is rebound to the sum."""
    u = OPERATORS[plain]

    def result(*types: AbstractValue) -> AbstractValue | None:
        if not concerns(*types) or len(types) != 2:
            return None
        if not is_array(types[0]):
            return operator_result(plain, u, *types)
        made = ufunc_result(u, *types)
        target = types[0]
        dtype = dtype_of(made) if isinstance(made, Type) else None
        into = dtype_of(target)
        if dtype is None or into is None or not np.can_cast(dtype, into, "same_kind"):
            return None
        if isinstance(target, Array):
            return target
        return array_of(into, rank_of(target))

    def effect(*types: AbstractValue) -> Effect:
        return COMPUTES | Effect.WRITES if is_array(types[0]) else ufunc_effect(u)(*types)

    def dims(target: Facts, operand: Facts) -> Shape | None:
        return target.dims if is_array(target.type) else elementwise_dims(target, operand)

    return row(fn, result, effect, dims=for_engine(dims))


# ------------------------------------------------------------------------------------------------- conversion to Python numbers


def _one_element(cls: type) -> Callable[..., AbstractValue | None]:
    """Make the rule of ``int(x)``, ``float(x)``, ``bool(x)`` …: an array must have exactly one element."""

    def result(*types: AbstractValue) -> AbstractValue | None:
        dtype = dtype_of(types[0]) if len(types) == 1 else None
        if dtype is None or (cls in (int, float) and dtype.kind == "c"):
            return None
        return Type(cls)

    return result


def _conversion_effect(*types: AbstractValue) -> Effect:
    if is_array(types[0]):
        return COMPUTES
    dtype = dtype_of(types[0])
    return Effect.RAISES if dtype is not None and dtype.kind in "fc" else Effect.PURE


def _truth_effect(*types: AbstractValue) -> Effect:
    return COMPUTES if is_array(types[0]) else Effect.PURE


def _index(*types: AbstractValue) -> AbstractValue | None:
    dtype = dtype_of(types[0])
    integer = dtype is not None and dtype.kind in "iu" and rank_of(types[0]) == 0
    return Type(int) if integer else None


def _round(*types: AbstractValue) -> AbstractValue | None:
    """The rule of ``round``: ``round(np.float64)`` is an int, ``round(np.float64, 2)`` is not."""
    return ask(builtins.round, *types) if concerns(types[0]) else None


def _smallest(*types: AbstractValue) -> AbstractValue | None:
    """The rule of ``min`` and ``max`` of NumPy scalars, or of an array of numbers: one of them."""
    if len(types) == 1 and is_array(types[0]) and rank_of(types[0]) == 1:
        return Type(dtype_of(types[0]).type)  # type: ignore[union-attr]
    if len(types) < 2 or not any(map(is_scalar, types)) or not all(is_scalar(t) or _is_real(t) for t in types):
        return None
    found = [Type(dtype.type) if (dtype := dtype_of(t)) is not None else forget(t) for t in types]
    return functools.reduce(join, found)


def _is_real(t: AbstractValue) -> bool:
    return forget(t) in (Type(int), Type(float), Type(bool))


def _picked_effect(*types: AbstractValue) -> Effect:
    if len(types) == 1:
        return COMPUTES
    # an int may be too large to be compared with a float
    return Effect.RAISES if any(forget(t) == Type(int) for t in types) else Effect.PURE


def _sum(*types: AbstractValue) -> AbstractValue | None:
    """The rule of ``sum`` over the rows of an array."""
    if not types or not is_array(types[0]) or not rank_of(types[0]) or len(types) > 2:
        return None
    return ask(builtins.sum, *types)


def _sum_dims(x: Facts, *rest: Facts) -> Shape | None:
    return None if x.dims is None or rest else x.dims[1:]


def _of_elements(kind: type) -> Callable[..., AbstractValue | None]:
    """Make the rule of ``any``, ``all`` or ``sorted`` of a one-dimensional array of numbers."""
    return lambda *types: Type(kind) if len(types) == 1 and is_array(types[0]) and rank_of(types[0]) == 1 else None


def _math(fn: Callable[..., Any]) -> Primitive:
    """Make the row of ``math.sqrt`` or a similar function, which takes NumPy scalars and gives Python floats."""

    def result(*types: AbstractValue) -> AbstractValue | None:
        if not any(map(is_scalar, types)) or any(map(is_array, types)):
            return None
        return ask(fn, *types)

    return row(fn, result, Effect.RAISES)


_NOT_FLOATS: Final = {"prod", "fsum", "dist", "sumprod", "factorial", "comb", "perm", "gcd", "lcm", "isqrt"}
MATH: Final = [fn for name, fn in vars(math).items() if callable(fn) and name not in _NOT_FLOATS and not name.startswith("_")]


# ------------------------------------------------------------------------------------------------- scalar types, casts


def _scalar_call(cls: type[np.generic]) -> Primitive:
    """Make the row of ``np.float32(x)``: a scalar, or an array of that dtype if x is an array."""

    def result(*types: AbstractValue) -> AbstractValue | None:
        if len(types) != 1 or not (concerns(*types) or python_number(types[0])):
            return None
        return of_dtype(np.dtype(cls), rank_of(types[0]))

    def effect(*types: AbstractValue) -> Effect:
        return COMPUTES if is_array(types[0]) else Effect.RAISES

    return row(cls, result, effect, dims=BROADCAST)


def _own(cls: type) -> bool:
    """Is cls the scalar class that computations with its dtype return?"""
    try:
        return np.dtype(np.dtype(cls).str).type is cls
    except TypeError:  # a class of another library, registered with NumPy
        return False


def _astype(x: AbstractValue, dtype: AbstractValue, **options: AbstractValue) -> AbstractValue | None:
    if not concerns(x) or not isinstance(dtype, Const):
        return None
    found = ask(np.ndarray.astype if is_array(x) else np.generic.astype, x, dtype, **options)
    return array_of(dtype_of(found), rank_of(x)) if found is not None and is_array(x) and dtype_of(found) else found  # type: ignore[arg-type]


def _same_dims(x: Facts, *rest: Facts, **named: Facts) -> Shape | None:
    return x.dims


_CLIP_NAMES = {"a_min", "a_max", "min", "max"}


def _clip(*types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
    if not set(named) <= _CLIP_NAMES or not concerns(*types):
        return None
    return ask(np.clip, *types, **named)


def _clip_dims(*args: Facts, **named: Facts) -> Shape | None:
    return shapes.broadcast(*(a.dims for a in (*args, *named.values()) if a.value is not None))


def _where(*types: AbstractValue) -> AbstractValue | None:
    if len(types) == 1 and is_array(types[0]) and rank_of(types[0]):
        return Partial(tuple, range(rank_of(types[0])), [Array(np.ndarray, np.dtype(np.intp), 1)] * rank_of(types[0]))
    return ask(np.where, *types) if len(types) == 3 and concerns_numbers(*types) else None


def _where_dims(*args: Facts) -> Shape | None:
    return shapes.broadcast(*(a.dims for a in args)) if len(args) == 3 else None


#: The scalar classes, one for each dtype (``np.longlong`` has the dtype of another class, and is left out).
SCALARS: Final[list[type[np.generic]]] = sorted(
    {t for t in np.sctypeDict.values() if np.dtype(t).kind in "biufc" and _own(t)},
    key=lambda t: t.__name__,
)

#: Elementwise functions of NumPy that are not ufuncs.
LOOSE: Final[list[Any]] = [
    np.round, np.around, np.real, np.imag, np.angle, np.nan_to_num, np.isclose, np.sinc, np.i0, np.iscomplex, np.isreal, np.fix,
]  # fmt: skip


def _loose(fn: Any) -> Any:
    """Make the rule of a NumPy function that may also get Python numbers; for an int the type of the result depends on its value."""
    about_arrays = asking(fn)

    def result(*types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        if types and not named and all(python_number(t) in (float, complex) for t in types):
            return ask(fn, *types)
        return about_arrays(*types, **named)

    return result


_METHODS: Final[list[Any]] = [np.ndarray.round, np.generic.round, np.ndarray.conj, np.ndarray.conjugate, np.generic.conj, np.generic.conjugate]

ROWS: Final[list[Primitive]] = [
    *map(_ufunc, ELEMENTWISE),
    *(_operator(fn, u) for fn, u in OPERATORS.items()),
    *(_in_place(fn, plain) for fn, plain in IN_PLACE.items()),
    *(row(fn, _one_element(cls), _conversion_effect) for fn, cls in ((int, int), (float, float), (float.__float__, float), (complex, complex))),
    *(row(fn, _one_element(bool), _truth_effect) for fn in (bool, operator.truth, operator.not_)),
    row(operator.index, _index, Effect.PURE),
    row(builtins.round, _round, Effect.RAISES),
    row(builtins.min, _smallest, _picked_effect),
    row(builtins.max, _smallest, _picked_effect),
    row(builtins.sum, _sum, dims=for_engine(_sum_dims)),
    *(row(fn, _of_elements(kind)) for fn, kind in ((builtins.any, bool), (builtins.all, bool), (builtins.sorted, list))),
    *map(_math, MATH),
    *map(_scalar_call, SCALARS),
    row(np.ndarray.astype, _astype, dims=for_engine(_same_dims)),
    row(np.generic.astype, _astype),
    row(np.clip, _clip, dims=for_engine(_clip_dims)),
    row(np.ndarray.clip, _clip, dims=for_engine(_clip_dims)),
    row(np.where, _where, dims=for_engine(_where_dims)),
    *(row(fn, _loose(fn), dims=for_engine(_same_dims)) for fn in dict.fromkeys(LOOSE) if not isinstance(fn, np.ufunc)),
    *(row(fn, asking(fn), dims=for_engine(_same_dims)) for fn in _METHODS),
]
