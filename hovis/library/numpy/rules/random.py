"""Rules for ``np.random``: all properties of a draw except its numbers are known while tracing.

Each draw changes its generator, so draws stay in the residual, in their order (``Effect.RANDOM``); they are never folded.
Their result types are found by calling each method of another generator, with valid parameters.
"""

import inspect
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.base.once import once
from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Const, Type
from hovis.lattice.inspection import is_a
from hovis.library.core import Primitive
from hovis.library.numpy.rules.creation import _dtype
from hovis.library.numpy.rules.manipulation import shape_of, shape_rank
from hovis.library.numpy.types import shapes
from hovis.library.numpy.types.arrays import array_of, dtype_of, is_array, is_numeric, of_dtype, python_number, rank_of, row
from hovis.library.numpy.types.shapes import Facts, Shape, for_engine

GENERATOR: Final[Any] = np.random.Generator
LEGACY: Final[Any] = np.random.RandomState

#: Valid parameters for each distribution.
_DISTRIBUTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "random": (), "normal": (), "standard_normal": (), "uniform": (), "exponential": (), "standard_exponential": (), "integers": (5,), "randint": (5,),
    "random_sample": (), "gamma": (1.0,), "standard_gamma": (1.0,), "beta": (1.0, 1.0), "binomial": (5, 0.5), "poisson": (), "chisquare": (1.0,),
    "laplace": (), "logistic": (), "lognormal": (), "gumbel": (), "geometric": (0.5,), "pareto": (1.0,), "rayleigh": (), "standard_cauchy": (),
    "standard_t": (1.0,), "triangular": (0.0, 0.5, 1.0), "vonmises": (0.0, 1.0), "wald": (1.0, 1.0), "weibull": (1.0,), "zipf": (2.0,),
    "negative_binomial": (5, 0.5), "power": (1.0,), "f": (1.0, 1.0),
}  # fmt: skip

_DRAWS: Final = Effect.RANDOM | Effect.READS | Effect.RAISES


@once
def _given(owner: Any, name: str, dtype: Any, single: bool) -> AbstractValue:
    """Return the type of a single draw, or of an array with one dimension."""
    made = owner(np.random.PCG64(0)) if owner is GENERATOR else owner(0)
    options = ({} if dtype is None else {"dtype": dtype}) | ({} if single else {"size": 1})
    found = getattr(made, name)(*_DISTRIBUTIONS[name], **options)
    return array_of(found.dtype, 1) if isinstance(found, np.ndarray) else Type(type(found))


def _parameters(owner: Any, name: str) -> list[str]:
    return list(inspect.signature(getattr(owner, name)).parameters)[1:]


def _bound(owner: Any, name: str) -> Callable[..., "dict[str, Any] | None"]:
    """Make a function that binds arguments to the names of the parameters; it gives None if they do not fit."""
    names = _parameters(owner, name)

    def bind(values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any] | None:
        found = dict(zip(names, values, strict=False)) | named
        return found if len(values) <= len(names) and len(found) == len(values) + len(named) and set(found) <= set(names) else None

    return bind


def _is_source(owner: Any, t: AbstractValue) -> bool:
    return t == Type(owner) or (isinstance(t, Const) and type(t.value) is owner)


def _absent(t: Any) -> bool:
    return t is None or t == Const(None)


def _distribution(owner: Any, name: str) -> Primitive:
    bind = _bound(owner, name)

    def result(source: AbstractValue, *types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        given = bind(types, named)
        if given is None or not _is_source(owner, source) or not _absent(given.pop("out", None)):
            return None
        size, dtype, _, _ = (given.pop(k, None) for k in ("size", "dtype", "endpoint", "method"))
        chosen = None if _absent(dtype) else _dtype(dtype, None)
        if not all(is_numeric(t) or _absent(t) for t in given.values()) or (not _absent(dtype) and chosen is None):
            return None
        rank = max((rank_of(t) for t in given.values()), default=0) if _absent(size) else shape_rank(size)
        if rank is None:
            return None
        if isinstance(dtype, Const) and dtype.value in (int, bool):
            return None  # a single draw with one of these is a Python number
        single = _absent(size) and not any(map(is_array, given.values()))
        found = _given(owner, name, chosen, single)
        made = dtype_of(found)
        return found if single else None if made is None else array_of(made, rank) if not _absent(size) else of_dtype(made, rank)

    def dims(source: Facts, *facts: Facts, **named: Facts) -> Shape | None:
        given = bind(facts, named)
        size = None if given is None else given.pop("size", None)
        if given is None:
            return None
        if size is None or size.value is None:
            return shapes.broadcast(*(f.dims for k, f in given.items() if k not in ("dtype", "endpoint", "method", "out")))
        return shape_of(size)

    return row(getattr(owner, name), result, _DRAWS, fold=False, dims=for_engine(dims))


def _of_lengths(name: str) -> Primitive:
    """Make the row of ``rand(3, 4)`` or ``randn()``."""

    def result(source: AbstractValue, *lengths: AbstractValue) -> AbstractValue | None:
        if not _is_source(LEGACY, source) or any(shape_rank(t) != 1 for t in lengths):
            return None
        return array_of(np.dtype(float), len(lengths)) if lengths else Type(float)

    def dims(source: Facts, *lengths: Facts) -> Shape | None:
        return tuple(f.value if is_a(f.value, int) else None for f in lengths)

    return row(getattr(LEGACY, name), result, _DRAWS, fold=False, dims=for_engine(dims))


def _permutation(owner: Any) -> Primitive:
    def result(source: AbstractValue, x: AbstractValue) -> AbstractValue | None:
        if not _is_source(owner, source):
            return None
        dtype = dtype_of(x)
        if python_number(x) is int:
            return array_of(np.dtype(np.int64), 1)
        return array_of(dtype, rank_of(x)) if dtype is not None and rank_of(x) else None

    def dims(source: Facts, x: Facts) -> Shape | None:
        return (x.value if is_a(x.value, int) else None,) if not rank_of(x.type) else x.dims

    return row(owner.permutation, result, _DRAWS, fold=False, dims=for_engine(dims))


def _choice(owner: Any) -> Primitive:
    """Make the row of ``choice``: from the numbers below an int, or from an array with one dimension; only with a size."""
    bind = _bound(owner, "choice")

    def result(source: AbstractValue, *types: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        given = bind(types, named)
        if given is None or not _is_source(owner, source) or not set(given) <= {"a", "size", "replace", "p"}:
            return None
        a, rank = given.get("a"), None if _absent(given.get("size")) else shape_rank(given["size"])
        if a is None or rank is None:
            return None
        dtype = np.dtype(np.int64) if python_number(a) is int else dtype_of(a) if rank_of(a) == 1 else None
        return None if dtype is None else array_of(dtype, rank)

    def dims(source: Facts, *facts: Facts, **named: Facts) -> Shape | None:
        given = bind(facts, named)
        return None if given is None else shape_of(given.get("size"))

    return row(owner.choice, result, _DRAWS, fold=False, dims=for_engine(dims))


def _default_rng(seed: AbstractValue = Const(None)) -> AbstractValue | None:  # noqa: B008  # immutable
    return Type(GENERATOR) if python_number(seed) is int or seed == Const(None) else None


def _nothing(source: AbstractValue, *types: AbstractValue) -> AbstractValue | None:
    return Type(type(None)) if _is_source(LEGACY, source) and all(python_number(t) is int for t in types) else None


def _shuffled(owner: Any) -> Callable[..., AbstractValue | None]:
    return lambda source, x: Type(type(None)) if _is_source(owner, source) and is_array(x) else None


ROWS: Final[list[Primitive]] = [
    row(np.random.default_rng, _default_rng, Effect.RANDOM | Effect.RAISES, fold=False),
    *(_distribution(owner, name) for owner in (GENERATOR, LEGACY) for name in _DISTRIBUTIONS if hasattr(owner, name) and name not in ("rand", "randn")),
    *map(_of_lengths, ("rand", "randn")),
    *map(_permutation, (GENERATOR, LEGACY)),
    *map(_choice, (GENERATOR, LEGACY)),
    row(np.random.seed, lambda seed: Type(type(None)) if python_number(seed) is int else None, Effect.RANDOM | Effect.RAISES, fold=False),
    row(LEGACY.seed, _nothing, Effect.RANDOM | Effect.RAISES, fold=False),
    *(row(owner.shuffle, _shuffled(owner), _DRAWS | Effect.WRITES, fold=False) for owner in (GENERATOR, LEGACY)),
]

__all__ = ["GENERATOR", "LEGACY", "ROWS"]
