"""The executables of a Function whose arrays have sizes that vary: one for each bucket (see ``buckets``)."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis.ir.model import Function
from hovis.lattice import Array, Const
from hovis_xla.buckets import Count, Dims, Size, Unbucketed, bucket, bucketed
from hovis_xla.executable import BAILED, Executable
from hovis_xla.types import ARRAY, Known, NotLowerable, Num, num_of_type

#: Arrays with a dimension below this are none for a bucket: sizes of one broadcast, and of nothing much is different.
LEAST: Final = 2

_Plan = tuple[Executable, list[Count], list[tuple[int, ...] | None]]


class Sized:
    """Called with leaves it gives the result, or BAILED, as an Executable does.

    Equal sizes are taken to be the same size: which are equal is part of what an executable is made for.
    """

    def __init__(self, function: Function, exact: bool) -> None:
        self.function = function
        self.exact = exact
        self.reason: str | None = None
        #: the dimensions that vary, of each parameter that is an array
        self.open = [_open_dims(p.type, p.dims) for p in function.params]
        self._plans: dict[Any, _Plan | None] = {}

    def plan(self, leaves: Sequence[Any]) -> tuple[_Plan | None, list[int]]:
        """The executable for leaves like these, and the sizes that vary."""
        lengths: list[int] = []
        key: list[Any] = []
        for leaf, axes in zip(leaves, self.open, strict=True):
            if axes:
                for axis in axes:
                    length = leaf.shape[axis]
                    if length not in lengths:
                        if length < LEAST:
                            return None, lengths
                        key.append(bucket(length))
                        lengths.append(length)
                    else:
                        key.append(lengths.index(length))
        where = tuple(key)
        if where not in self._plans:
            self._plans[where] = self._made(leaves, lengths)
        return self._plans[where], lengths

    def __call__(self, leaves: Sequence[Any]) -> Any:
        plan, lengths = self.plan(leaves)
        if plan is None:
            return BAILED
        executable, counts, shapes = plan
        given = [leaf if shape is None else _filled_up(leaf, shape) for leaf, shape in zip(leaves, shapes, strict=True)]
        return executable((*given, *(count.of(lengths) for count in counts)))

    @property
    def executables(self) -> list[Executable]:
        """What has been compiled so far."""
        return [plan[0] for plan in self._plans.values() if plan is not None]

    def _made(self, leaves: Sequence[Any], lengths: list[int]) -> _Plan | None:
        buckets = [bucket(length) for length in lengths]
        dims: list[Dims | None] = []
        nums: list[Num | Known | None] = []
        shapes: list[tuple[int, ...] | None] = []
        for leaf, param, axes in zip(leaves, self.function.params, self.open, strict=True):
            if not isinstance(param.type, Array):
                dims.append(None)
                nums.append(num_of_type(param.type))
                shapes.append(None)
                continue
            mine = tuple(Size(lengths.index(n)) if k in axes else n for k, n in enumerate(leaf.shape))
            shape = tuple(buckets[d.which][1] if isinstance(d, Size) else d for d in mine)
            dims.append(mine)
            nums.append(Num(ARRAY, leaf.dtype, shape))
            shapes.append(shape if axes else None)
        try:
            made, counts = bucketed(self.function, dims, buckets)
            executable = Executable.of(made, [*nums, *[None] * len(counts)], self.exact)
        except (Unbucketed, NotLowerable) as reason:
            self.reason = str(reason)
            return None
        return executable, counts, shapes


def _open_dims(kind: Any, dims: Any) -> tuple[int, ...]:
    if not isinstance(kind, Array):
        return ()
    known = [isinstance(d, Const) and type(d.value) is int for d in dims or ()]
    return tuple(k for k in range(kind.rank) if k >= len(known) or not known[k])


def _filled_up(array: Any, shape: tuple[int, ...]) -> Any:
    """A copy in the front part of an array of this shape."""
    made = np.zeros(shape, array.dtype)
    made[tuple(map(slice, array.shape))] = array
    return made
