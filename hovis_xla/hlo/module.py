"""A module of StableHLO as its passes see it: its loops, its barriers, its operations by kind, and which of them are pure."""

import math
from typing import Any

from hovis_xla.emit import custom_calls
from hovis_xla.emit.builder import T, shape_of, stablehlo_names
from hovis_xla.jaxlib.adapter import ir

#: Operations that do more than compute their results.
_IMPURE = stablehlo_names("custom_call rng rng_bit_generator return infeed outfeed send recv create_token after_all")


class Module:
    """A module, with its barriers."""

    def __init__(self, module: Any) -> None:
        self.ir = module
        self.barriers = _barriers(module)

    def __str__(self) -> str:
        return str(self.ir)

    @property
    def loops(self) -> list[Any]:
        """All loops, inner ones first."""
        return operations_in(self.ir, "stablehlo.while")

    def barrier(self, *values: Any) -> list[Any]:
        """Emit a barrier at the insertion point: return the same values, as results that XLA does not look behind."""
        return custom_calls.opaque_identity(values, self.ir.body, self.barriers)

    def held(self, *xs: T) -> list[T]:
        """Emit a barrier at the insertion point: return the same tensors, behind it."""
        return [x._replace(ir=value) for x, value in zip(xs, self.barrier(*[x.ir for x in xs]), strict=True)]

    def is_barrier(self, op: Any) -> bool:
        return bool(op.name == "func.call" and ir.FlatSymbolRefAttr(op.attributes["callee"]).value in self.barriers.values())

    def materialize(self, value: Any) -> Any:
        """Put a value into memory before it is used: emit a barrier behind its definition, and return the result, which all users read."""
        with ir.InsertionPoint.after(value.owner.operation):
            (kept,) = self.barrier(value)
        value.replace_all_uses_except(kept, kept.owner.operation)
        return kept

    def erase_unused(self, block: Any) -> None:
        """Erase the barriers and pure operations of a block whose results nobody uses."""
        for op in reversed(operations(block)):
            if (is_pure(op) or self.is_barrier(op)) and not any(True for result in op.results for _ in result.uses):
                op.erase()


def operations(block: Any) -> list[Any]:
    """Return the operations of a block."""
    return [view.operation for view in block.operations]


def operations_in(root: Any, *names: str) -> list[Any]:
    """Return the operations with these names (without names: all) in a module or another operation, at any depth, inner ones first."""
    found: list[Any] = []

    def look(op: Any) -> Any:
        if not names or op.operation.name in names:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    root.operation.walk(look)
    return found


def outermost_loop(op: Any) -> Any:
    """Return the outermost loop that is an operation or contains it; None if there is none."""
    found = None
    while op is not None:
        found = op if op.name == "stablehlo.while" else found
        op = op.parent
    return found


def is_pure(op: Any) -> bool:
    """Is op a single operation (one without regions) that has no side effects?"""
    return op.name.startswith(("stablehlo.", "chlo.")) and not len(op.regions) and op.name not in _IMPURE


def made_by(value: Any) -> Any:
    """Return the operation that defines a value; None if it is a block argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def body_of(loop: Any) -> Any:
    """Return the block of an iteration."""
    return loop.regions[1].blocks[0]


def last_of(block: Any) -> Any:
    return block.operations[len(block.operations) - 1].operation


def is_tensor(value: Any) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def size_of(value: Any) -> int:
    """Return the number of elements of a value; 0 if it is no tensor."""
    return math.prod(shape_of(value)) if is_tensor(value) else 0


def element_of(value: Any) -> Any:
    """Return the type of the elements of a tensor."""
    return ir.RankedTensorType(value.type).element_type


def _barriers(module: Any) -> dict[str, str]:
    """Return the names of the functions that implement barriers, which return their arguments, by the types of these."""
    found: dict[str, str] = {}
    for function in module.body.operations:
        block = function.regions[0].blocks[0]
        values = list(block.arguments)
        if values and len(block.operations) == 1 and list(block.operations[0].operands) == values:
            found[", ".join(str(value.type) for value in values)] = str(ir.StringAttr(function.attributes["sym_name"]).value)
    return found
