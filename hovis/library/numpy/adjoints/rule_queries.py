"""Queries of derivative rules about their operands, answered at once where the answer is known while tracing.

The functions are Python code that could be traced as well; they are called so often that this would be most of the work of tracing a rule.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from hovis.engine.state.values import FALSE, Dyn, Known, V
from hovis.lattice import Array, Type
from hovis.library.core import Action
from hovis.library.numpy.adjoints import tangents
from hovis.library.numpy.types.arrays import dtype_of


class Kind(NamedTuple):
    """The class, dtype and shape of a number or an array; the shape is None if it is not known, and a Python number has the dtype that NumPy
    gives it.
    """

    cls: type
    dtype: "np.dtype[Any]"
    shape: tuple[int, ...] | None


def kind_of(value: V) -> Kind | None:
    """Return the Kind of a number or an array; None if the value may be anything else."""
    if not isinstance(value, Dyn) or value.maybe_unbound or value.maybe_end:
        return None
    known = value.type
    if type(known) is Type and known.cls in (bool, int, float, complex):
        return Kind(known.cls, np.dtype(known.cls), ())
    dtype = dtype_of(known) if type(known) is Type or isinstance(known, Array) else None
    return None if dtype is None else Kind(known.cls, dtype, _sizes(value) if isinstance(known, Array) else ())  # type: ignore[attr-defined]


def _sizes(value: Dyn) -> tuple[int, ...] | None:
    if value.dims is None:
        return () if value.type.rank == 0 else None  # type: ignore[attr-defined]
    sizes: list[Any] = [dim.value for dim in value.dims if isinstance(dim, Known) and not dim.labels and type(dim.value) is int]
    return tuple(sizes) if len(sizes) == len(value.dims) else None


def _answered(answer: Callable[[Kind], Any]) -> Action:
    """Make an action that answers a query from the Kind of its operand; it gives None if the Kind is not known or has no answer."""

    def act(m: Any, args: list[V], kwargs: dict[str, V]) -> V | None:
        kind = kind_of(args[0]) if len(args) == 1 and not kwargs else None
        answered = None if kind is None else answer(kind)
        return None if answered is None else Known(answered)

    return act


def _sized(m: Any, args: list[V], kwargs: dict[str, V]) -> V | None:
    (x,) = args
    if kind_of(x) is None or not isinstance(x, Dyn):
        return None
    rank = getattr(x.type, "rank", 0)
    return Known(not rank if x.dims is None else all(isinstance(dim, Known) for dim in x.dims))


def _fits(m: Any, args: list[V], kwargs: dict[str, V]) -> V | None:
    g, x = map(kind_of, args)
    return FALSE if g is None or x is None or g.shape is None else Known(g == x)


ACTIONS: Final[dict[Any, Action]] = {
    tangents.is_array: _answered(lambda kind: issubclass(kind.cls, np.ndarray | np.generic)),
    tangents.is_complex: _answered(lambda kind: kind.dtype.kind == "c"),
    tangents.shape_of: _answered(lambda kind: kind.shape),
    tangents.sized: _sized,
    tangents.fits: _fits,
}
