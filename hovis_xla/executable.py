"""A lowered Function, compiled, and how the host calls it.

    leaves → inputs → XLA → outputs → the result, with the Python and NumPy types of the original

A call that the program gives up (``effects``) yields :data:`BAILED`; the caller then runs the residual Python.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir.model import Function
from hovis_xla import adapter
from hovis_xla.adapter import Program, XlaError
from hovis_xla.effects import GREATEST, LEAST, to_python
from hovis_xla.lower import Lowered, Template, lower
from hovis_xla.types import ARRAY, INT64, PYTHON, Known, NotLowerable, Num, num_of_type


class _Bailed:
    def __repr__(self) -> str:
        return "BAILED"


#: The program has given up: do the call in Python.
BAILED: Final = _Bailed()


def parameters(function: Function, types: Sequence[Num | Known | None] | None = None) -> list[Num | Known]:
    """What each parameter of a Function is: as given, else by its type (with all dimensions known)."""
    found: list[Num | Known] = []
    for k, param in enumerate(function.params):
        given = types[k] if types is not None else None
        num = given if given is not None else num_of_type(param.type, param.dims)
        if num is None:
            raise NotLowerable(f"the argument {param.name or k!s} :: {param.type} is no number or array of known shape", function.location)
        found.append(num)
    return found


class Executable:
    """A compiled Function.  Called with its leaves it gives the result, or BAILED."""

    def __init__(self, function: Function, types: Sequence[Num | Known | None] | None = None, exact: bool = False) -> None:
        self.function = function
        self.types = parameters(function, types)
        self.lowered: Lowered = lower(function, self.types)
        self.exact = exact
        self._program: Program | None = None
        self._convert = [_converter(n) for n in self.types if isinstance(n, Num)]
        self._rebuild = [_builder(t, self.lowered.outputs[s : s + len(t.nums)]) for t, s in zip(self.lowered.templates, self.lowered.starts, strict=True)]
        self._running = threading.local()

    # --------------------------------------------------------------------------------------------- to look at

    def stablehlo(self, locations: bool = False) -> str:
        """The program before XLA has seen it."""
        return adapter.text_of(self.lowered.module, locations)

    @property
    def program(self) -> Program:
        """The compiled program, made when it is first needed."""
        if self._program is None:
            low = self.lowered
            inputs = [(n.shape, n.dtype) for n in low.inputs]
            outputs = [(n.shape, n.dtype) for n in low.outputs]
            with adapter.context():
                self._program = adapter.compile_module(low.module, inputs, outputs, low.callbacks, self.exact)
        return self._program

    def as_text(self) -> str:
        """The optimized HLO."""
        return self.program.as_text()

    def cost_analysis(self) -> dict[str, float]:
        """XLA's own estimate: flops, bytes accessed …"""
        return self.program.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes of code, arguments, results and temporaries."""
        return self.program.memory_analysis()

    def serialize(self) -> bytes:
        """The machine code; for the same jaxlib on the same kind of CPU."""
        return self.program.serialize()

    # --------------------------------------------------------------------------------------------- running

    def __call__(self, leaves: Sequence[Any]) -> Any:
        unknown = [leaf for leaf, t in zip(leaves, self.types, strict=True) if isinstance(t, Num)]
        inputs = []
        for value, convert in zip(unknown, self._convert, strict=True):
            ready = convert(value)
            if ready is None:
                return BAILED
            inputs.append(ready)
        for array, num in zip(self.lowered.constants, self.lowered.inputs[len(unknown) :], strict=True):
            if array.shape != num.shape or array.dtype != num.dtype:
                return BAILED  # somebody has reshaped it in place
            inputs.append(array)
        if any(read(*where) is not value for read, where, value in self.lowered.environment):
            return BAILED
        outputs = self._execute(inputs)
        low = self.lowered
        if low.bail is not None and outputs[low.bail][()]:
            return BAILED
        which = 0 if low.choice is None else int(outputs[low.choice][()])
        start = low.starts[which]
        if self._may_be_owned(low.templates[which], outputs[start:], leaves):
            return BAILED
        return self._rebuild[which](outputs[start:], leaves)

    def _may_be_owned(self, template: Template, outputs: list[np.ndarray[Any, Any]], leaves: Sequence[Any]) -> bool:
        """Has an array of the result just the bits of an argument that it may be?"""
        for output, owners in zip(outputs, template.owners, strict=False):
            for owner in owners:
                array = next(a for a in self.lowered.constants if id(a) == owner.constant) if owner.argument is None else leaves[owner.argument]
                if output.shape == array.shape and output.dtype == array.dtype and _same_bits(output, array):
                    return True
        return False

    def _execute(self, inputs: list[Any]) -> list[np.ndarray[Any, Any]]:
        """Run; an exception out of a callback comes out as the object that it is."""
        failures = self.lowered.failures
        try:
            return self.program(inputs)
        except XlaError:
            if failures:
                error = failures.pop()
                failures.clear()
                raise error from None
            raise


def _same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Equal to the last bit?  A look at the first elements says no, nearly always."""
    if a.size > 64 and a[(0,) * (a.ndim - 1)][:8].tobytes() != b[(0,) * (b.ndim - 1)][:8].tobytes():
        return False
    return a.tobytes() == b.tobytes()


def _converter(num: Num) -> Callable[[Any], Any]:
    """A check that a leaf is what was compiled for, and its conversion; None: it does not fit."""
    dtype, shape = num.dtype, num.shape
    if num.kind == ARRAY:
        return lambda v: v if type(v) is np.ndarray and v.dtype == dtype and v.shape == shape else None
    if num.kind == PYTHON:
        cls = num.python
        if dtype == INT64:
            return lambda v: np.int64(v) if type(v) is int and LEAST <= v <= GREATEST else None
        return lambda v: dtype.type(v) if type(v) is cls else None
    return lambda v: v if type(v) is dtype.type else None


def _builder(template: Template, nums: Sequence[Num]) -> Callable[[Sequence[Any], Sequence[Any]], Any]:
    """From outputs and leaves to the result."""
    tree = template.tree
    if tree[0] == "leaf":
        (num,) = (nums[tree[1]],)
        at = tree[1]
        return lambda outputs, leaves: to_python(num, outputs[at])

    def build(outputs: Sequence[Any], leaves: Sequence[Any]) -> Any:
        values = [to_python(num, out) for num, out in zip(nums, outputs, strict=False)]
        return _put_together(tree, values, leaves, {})

    return build


def _put_together(tree: Any, values: list[Any], leaves: Sequence[Any], built: dict[int, Any]) -> Any:
    match tree:
        case ("leaf", at):
            return values[at]
        case ("either", at):
            scalar = values[at]
            return scalar if values[at + 1] else scalar.item()
        case ("argument", at):
            return leaves[at]
        case ("known", constant):
            return constant.value
        case ("build", callee, parts, number):
            if number not in built:
                built[number] = callee.value(*(_put_together(p, values, leaves, built) for p in parts))
            return built[number]
    raise AssertionError(tree)
