"""The executables of a Function whose arrays have sizes that vary: one for each bucket (see ``buckets``)."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis.ir.model import Function
from hovis.lattice import Array, Const
from hovis.specs import Array as ArraySpec
from hovis.specs import Instance
from hovis_xla.acting import Log
from hovis_xla.buckets import LEAST, Count, Dims, Size, Unbucketed, bucket
from hovis_xla.executable import BAILED, Executable
from hovis_xla.padding import bucketed
from hovis_xla.types import ARRAY, Known, NotLowerable, Num, num_of_type

#: So many buckets are tried before the function is taken to be none for them.
TRIED: Final = 2

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
        self.fixed = [_known_dims(p.type, p.dims) for p in function.params]
        self.open = [tuple(k for k, d in enumerate(fixed or ()) if d is None) for fixed in self.fixed]
        self._plans: dict[Any, _Plan | None] = {}
        #: what has been done of a call that Python has to do again
        self.log = Log()

    @property
    def hopeless(self) -> bool:
        """Has it been tried, and nothing come of it?"""
        return len(self._plans) >= TRIED and not self.executables

    def serves(self, leaves: Sequence[Any]) -> bool:
        """Is there an executable for leaves like these?"""
        return self.plan(leaves)[0] is not None

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

    @property
    def name(self) -> str:
        return self.function.name

    def enter(self, *leaves: Any) -> Any:
        """The result, or BAILED: no array of this rank, a size that is none for a bucket, or the program has given up."""
        for leaf, fixed in zip(leaves, self.fixed, strict=True):
            if fixed is not None and (type(leaf) is not np.ndarray or not _is_case(leaf.shape, fixed)):
                return BAILED
        plan, lengths = self.plan(leaves)
        if plan is None:
            return BAILED
        executable, counts, shapes = plan
        given = [leaf if shape is None else _filled_up(leaf, shape) for leaf, shape in zip(leaves, shapes, strict=True)]
        return executable.enter(*given, *(count.of(lengths) for count in counts))

    def __str__(self) -> str:
        return f"{self.name} runs as {len(self.executables)} XLA executables, one for each bucket of sizes that calls have come with."

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
            executable.log = self.log
        except (Unbucketed, NotLowerable) as reason:
            self.reason = str(reason)
            return None
        return executable, counts, shapes


def opened(one: Any, other: Any) -> Any:
    """The spec that both of these are cases of: alike but for sizes of arrays, which are open where they differ."""
    if isinstance(one, ArraySpec) and isinstance(other, ArraySpec) and len(one.shape) == len(other.shape):
        return ArraySpec(other.dtype, tuple(a if a == b else None for a, b in zip(one.shape, other.shape, strict=True)), other.layout)
    if isinstance(other, Instance) and isinstance(one, Instance):
        return Instance(other.cls, **{name: opened(one.fields.get(name), spec) for name, spec in other.fields.items()})
    if type(one) is type(other) and isinstance(other, dict):
        return type(other)((key, opened(one.get(key), spec)) for key, spec in other.items())
    if type(one) is type(other) and isinstance(other, list | tuple) and len(one) == len(other):
        parts = list(map(opened, one, other))
        return parts if isinstance(other, list) else tuple.__new__(type(other), parts)
    return other


def sizes(spec: Any) -> list[tuple[Any, ...]]:
    """The shapes of all arrays in a spec."""
    if isinstance(spec, ArraySpec):
        return [spec.shape]
    inner = spec.fields.values() if isinstance(spec, Instance) else spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list | tuple) else ()
    return [shape for part in inner for shape in sizes(part)]


def without_sizes(key: Any) -> Any:
    """A key that arrays of all sizes have in common."""
    if not isinstance(key, tuple):
        return key
    if len(key) == 4 and key[0] == "array":
        return *key[:3], len(key[3])
    return tuple(map(without_sizes, key))


def _known_dims(kind: Any, dims: Any) -> tuple[int | None, ...] | None:
    """The dimensions of an array, None where they are open."""
    if not isinstance(kind, Array):
        return None
    return tuple(d.value if isinstance(d, Const) and type(d.value) is int else None for d in dims or (None,) * kind.rank)


def _is_case(shape: tuple[int, ...], dims: tuple[int | None, ...]) -> bool:
    return len(shape) == len(dims) and all(d is None or d == n for n, d in zip(shape, dims, strict=True))


def _filled_up(array: Any, shape: tuple[int, ...]) -> Any:
    """A copy in the front part of an array of this shape."""
    made = np.zeros(shape, array.dtype)
    made[tuple(map(slice, array.shape))] = array
    return made
