"""A lowered Function, compiled, and how the host calls it.

    leaves → inputs → XLA → outputs → the result, with the Python and NumPy types of the original

A call that the program gives up (``effects``) yields :data:`BAILED`; the caller then runs the residual Python.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir.model import Function
from hovis_xla import adapter
from hovis_xla.adapter import Program, XlaError
from hovis_xla.effects import GREATEST, LEAST, to_python
from hovis_xla.interface import Lowered, Template
from hovis_xla.lower import lower
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
    """A compiled Function.  Called with its leaves it gives the result, or BAILED.

    ``types`` says what each leaf is; the program is made when it is first needed, unless it is there already.
    """

    def __init__(self, name: str, types: Sequence[Num | Known], lowered: Lowered, exact: bool = False, program: Program | None = None) -> None:
        self.name = name
        self.types = list(types)
        self.lowered = lowered
        self.exact = exact
        self._program = program
        self._convert = [_converter(n) for n in self.types if isinstance(n, Num)]
        self._unknown = [k for k, n in enumerate(self.types) if isinstance(n, Num)]
        self._rebuild = [_builder(t, lowered.outputs[s : s + len(t.nums)]) for t, s in zip(lowered.templates, lowered.starts, strict=True)]

    @staticmethod
    def of(function: Function, types: Sequence[Num | Known | None] | None = None, exact: bool = False) -> "Executable":
        """The executable of a Function; NotLowerable if it can't be one."""
        known = parameters(function, types)
        return Executable(function.name, known, lower(function, known), exact)

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

    # --------------------------------------------------------------------------------------------- running

    def fits(self, leaves: Sequence[Any]) -> bool:
        """Are the leaves what it was compiled for?"""
        return all(convert(leaves[k]) is not None for k, convert in zip(self._unknown, self._convert, strict=True))

    def __call__(self, leaves: Sequence[Any]) -> Any:
        inputs = [convert(leaves[k]) for k, convert in zip(self._unknown, self._convert, strict=True)]
        if any(ready is None for ready in inputs):
            return BAILED
        for array, num in zip(self.lowered.constants, self.lowered.inputs[len(inputs) :], strict=True):
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
        case ("oneof", at, trees):
            return _put_together(trees[int(values[at])], values, leaves, built)
        case ("argument", at):
            return leaves[at]
        case ("known", constant):
            return constant.value
        case ("build", callee, parts, number):
            if number not in built:
                built[number] = callee.value(*(_put_together(p, values, leaves, built) for p in parts))
            return built[number]
    raise AssertionError(tree)
