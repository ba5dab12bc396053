"""The executables of a Function whose arrays vary in size: one for each bucket (see ``pad_function``)."""

import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from hovis.arguments.specs import Array as ArraySpec
from hovis.arguments.specs import Instance
from hovis.base.once import COMPILER
from hovis.front.autotuner import Contest
from hovis.ir.model import Function
from hovis.lattice import Array, Const
from hovis_xla.abi.call_entry import BAILED, Code, leaf_tests
from hovis_xla.abi.ordered_effects import Log
from hovis_xla.emit.values import ARRAY, Known, NotLowerable, Num, num_of_type
from hovis_xla.prepare.pad_function import LEAST, Count, Dims, Size, Unbucketed, bucket
from hovis_xla.prepare.padding_rules import bucketed
from hovis_xla.runtime.executable import Executable

#: After this many buckets without an executable, no more are tried for the function.
TRIED: Final = 2

#: Maximum number of shapes for which the way to do a call is remembered.
SHAPES: Final = 4096


class Plan(NamedTuple):
    """How calls of one bucket are done: by its executable, on padded arrays, or by the residual."""

    executable: Executable
    counts: list[Count]
    shapes: list[tuple[int, ...] | None]
    contest: Contest


class Sized:
    """The executables for all sizes. Called with leaves it returns the result, or BAILED, as an Executable does.

    Equal sizes are taken to be one and the same Size: an executable is specialized to which sizes are equal.  ``python`` is the
    residual as a function of its leaves, for sizes for which it is faster; None: executables do all calls.
    """

    def __init__(self, function: Function, exact: bool, python: Callable[..., Any] | None = None) -> None:
        self.function = function
        self.exact = exact
        self.python = python
        self.reason: str | None = None
        #: for each parameter that is an array: its dimensions, None where they vary; and the axes that vary
        self.fixed = [_known_dims(p.type, p.dims) for p in function.params]
        self.open = [tuple(k for k, d in enumerate(fixed or ()) if d is None) for fixed in self.fixed]
        self._plans: dict[Any, Plan | None] = {}
        #: the function that does calls with leaves of these shapes
        self._by_shapes: dict[Any, Callable[..., Any]] = {}
        #: the effects that were already performed of a call that Python has to do again
        self.log = Log()

    @property
    def hopeless(self) -> bool:
        """Were buckets tried, and none of them compiled?"""
        return len(self._plans) >= TRIED and not self.executables

    def plan(self, leaves: Sequence[Any]) -> tuple[Plan | None, list[int]]:
        """Return the plan for leaves of these sizes, and the sizes that vary; the plan is None if there is no executable for them."""
        lengths: list[int] = []
        key: list[Any] = []
        for leaf, axes in zip(leaves, self.open, strict=True):
            for axis in axes:
                length = leaf.shape[axis]
                if length in lengths:
                    key.append(lengths.index(length))
                    continue
                if length < LEAST:
                    return None, lengths
                key.append(bucket(length))
                lengths.append(length)
        where = tuple(key)
        if where not in self._plans:
            with COMPILER:
                if where not in self._plans:
                    self._plans[where] = self._made(leaves, lengths)
        return self._plans[where], lengths

    @functools.cached_property
    def enter(self) -> Callable[..., Any]:
        """The function from the leaves to the result. It returns BAILED if a leaf has another type or rank, a size fits no bucket, or the
        program bails out.
        """
        names = [f"v{k}" for k in range(len(self.fixed))]
        arrays = [name for name, fixed in zip(names, self.fixed, strict=True) if fixed is not None]
        code = Code({"ndarray": np.ndarray, "BAILED": BAILED, "runs": self._by_shapes, "look": self._look})
        tests: list[str] = []
        for name, param in zip(names, self.function.params, strict=True):
            if isinstance(param.type, Array):
                dtype = code.constant(param.type.dtype)
                tests.append(f"type({name}) is not ndarray or {name}.dtype is not {dtype} and {name}.dtype != {dtype}")
            elif (num := num_of_type(param.type)) is not None:
                tests += leaf_tests(name, num, code.constant)
        code.lines = [
            f"if {' or '.join(tests) or 'False'}: return BAILED",
            f"run = runs.get(({''.join(f'{a}.shape, ' for a in arrays)})) or look({', '.join(names)})",
            f"return run({', '.join(names)})",
        ]
        return code.function(names)

    def _look(self, *leaves: Any) -> Callable[..., Any]:
        """Choose the function for calls with leaves of these shapes, which are new, and remember it."""
        cases = [fixed is None or _is_case(leaf.shape, fixed) for leaf, fixed in zip(leaves, self.fixed, strict=True)]
        plan, lengths = self.plan(leaves) if all(cases) else (None, [])
        if plan is None:
            # arrays too small for a bucket are mostly too small for a call of XLA to pay
            run = self.python if all(cases) and self.python is not None and self.executables else never
        elif plan.contest.winner == "residual" and plan.contest.alert == math.inf and self.python is not None:
            run = self.python
        else:
            run = functools.partial(self._run, plan, [count.of(lengths) for count in plan.counts])
        if len(self._by_shapes) >= SHAPES:
            self._by_shapes.clear()
        self._by_shapes[tuple(leaf.shape for leaf, fixed in zip(leaves, self.fixed, strict=True) if fixed is not None)] = run
        return run

    def _run(self, plan: Plan, counts: list[int], *leaves: Any) -> Any:
        """Return the result, by the executable of a bucket or by the residual; BAILED if the program bails out."""
        contest = plan.contest
        way, before = contest.begin(leaves), contest.winner
        start = time.perf_counter()
        if way == "xla" or self.python is None:
            given = [leaf if shape is None else _filled_up(leaf, shape) for leaf, shape in zip(leaves, plan.shapes, strict=True)]
            found = plan.executable.enter(*given, *counts)
        else:
            found = self.python(*leaves)
        if found is not BAILED:
            contest.note(way, time.perf_counter() - start)
            if contest.winner != before:
                self._by_shapes.clear()
        return found

    def __str__(self) -> str:
        return f"{self.function.name} runs as {len(self.executables)} XLA executables, one for each bucket of array sizes seen so far."

    @property
    def executables(self) -> list[Executable]:
        """The executables that have been compiled until now."""
        return [plan.executable for plan in list(self._plans.values()) if plan is not None]

    def _made(self, leaves: Sequence[Any], lengths: list[int]) -> Plan | None:
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
        return Plan(executable, counts, shapes, self._contest(executable))

    def _contest(self, executable: Executable) -> Contest:
        if self.python is None:
            return Contest(["xla"])
        return executable.contest("residual") if executable.is_worth_it else Contest(["residual"])


def never(*leaves: Any) -> Any:
    """Return BAILED: there is no executable for these leaves."""
    return BAILED


def opened(one: Any, other: Any) -> Any:
    """Return a spec that covers both: they are alike except for sizes of arrays, which become open where they differ."""
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
    """Collect the shapes of all arrays in a spec."""
    if isinstance(spec, ArraySpec):
        return [spec.shape]
    inner = spec.fields.values() if isinstance(spec, Instance) else spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list | tuple) else ()
    return [shape for part in inner for shape in sizes(part)]


def without_sizes(key: Any) -> Any:
    """Return the key without the sizes of arrays, keeping their ranks: arrays of all sizes share it."""
    if not isinstance(key, tuple):
        return key
    if len(key) == 4 and key[0] == "array":
        return *key[:3], len(key[3])
    return tuple(map(without_sizes, key))


def _known_dims(kind: Any, dims: Any) -> tuple[int | None, ...] | None:
    """Return the dimensions of an array, None where they are open; None if it is no array."""
    if not isinstance(kind, Array):
        return None
    return tuple(d.value if isinstance(d, Const) and type(d.value) is int else None for d in dims or (None,) * kind.rank)


def _is_case(shape: tuple[int, ...], dims: tuple[int | None, ...]) -> bool:
    return len(shape) == len(dims) and all(d is None or d == n for n, d in zip(shape, dims, strict=True))


def _filled_up(array: Any, shape: tuple[int, ...]) -> Any:
    """Copy an array into the front part of an array of zeros of this shape."""
    made = np.zeros(shape, array.dtype)
    made[tuple(map(slice, array.shape))] = array
    return made
