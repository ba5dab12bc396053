"""A module of StableHLO as its passes see it: its loops, its barriers, its operations by kind, and which of them are pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from hovis_xla.emit import custom_calls
from hovis_xla.jaxlib.adapter import ir

#: Operations that do more than compute their results.
_IMPURE = frozenset({"custom_call", "rng", "rng_bit_generator", "return", "infeed", "outfeed", "send", "recv", "create_token", "after_all"})


class Module:
    """A module, with what its passes look up in it, found once. A pass that adds or removes loops has to call ``loops_changed``."""

    __slots__ = ("_loops", "barriers", "ir")

    def __init__(self, module: Any) -> None:
        self.ir = module
        #: the names of the functions that implement barriers, by the types of their operands
        self.barriers = {_types(f): _name(f) for f in module.body.operations if _is_identity(f)}
        self._loops: list[Any] | None = None

    def __str__(self) -> str:
        return str(self.ir)

    @property
    def loops(self) -> Sequence[Any]:
        """All loops, inner ones first."""
        if self._loops is None:
            self._loops = list(_loops_in(self.ir.body))
        return self._loops

    def loops_changed(self) -> None:
        """Forget the loops that were found, since they have changed."""
        self._loops = None

    def barrier(self, *values: Any) -> list[Any]:
        """Emit a barrier at the insertion point: return the same values, as results that XLA does not look behind."""
        return custom_calls.opaque_identity(values, self.ir.body, self.barriers)

    def is_barrier(self, op: Any) -> bool:
        return bool(op.name == "func.call" and ir.FlatSymbolRefAttr(op.attributes["callee"]).value in self.barriers.values())


def kind_of(op: Any) -> str:
    """Return the name of an operation, without the prefix ``stablehlo.``."""
    return str(op.name).removeprefix("stablehlo.")


def operations(block: Any) -> list[Any]:
    """Return the operations of a block."""
    return [view.operation for view in block.operations]


def operations_in(root: Any, *names: str) -> list[Any]:
    """Return the operations with these names within a module or another operation, at any depth."""
    found: list[Any] = []

    def look(op: Any) -> Any:
        if op.operation.name in names:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    root.operation.walk(look)
    return found


def is_pure(op: Any) -> bool:
    """Is op a single operation (one without regions) that has no side effects?"""
    return op.name.startswith(("stablehlo.", "chlo.")) and not len(op.regions) and kind_of(op) not in _IMPURE


def made_by(value: Any) -> Any:
    """Return the operation that defines a value; None if it is a block argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def last_of(block: Any) -> Any:
    return block.operations[len(block.operations) - 1].operation


def erase_unused(block: Any) -> None:
    """Drop the pure operations of a block whose results nobody uses."""
    for op in reversed(operations(block)):
        if is_pure(op) and not any(True for result in op.results for _ in result.uses):
            op.erase()


def _loops_in(block: Any) -> Iterator[Any]:
    for op in block.operations:
        for region in op.regions:
            for inner in region.blocks:
                yield from _loops_in(inner)
        if op.operation.name == "stablehlo.while":
            yield op.operation


def _is_identity(function: Any) -> bool:
    """Is function one of those that implement barriers?"""
    block = function.regions[0].blocks[0]
    return len(block.operations) == 1 and len(block.arguments) > 0 and list(block.operations[0].operands) == list(block.arguments)


def _types(function: Any) -> str:
    return ", ".join(str(a.type) for a in function.regions[0].blocks[0].arguments)


def _name(function: Any) -> str:
    return str(ir.StringAttr(function.attributes["sym_name"]).value)
