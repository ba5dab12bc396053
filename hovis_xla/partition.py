"""Which part of a function runs where.

In this cut the answer is the whole or nothing: a Function that lowers becomes one executable, however small it is; any
other runs as residual Python, and a :class:`Decision` says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hovis.ir.model import Effect, Function, Op
from hovis_xla.executable import Executable
from hovis_xla.types import Known, NotLowerable, Num


@dataclass(frozen=True, slots=True)
class Decision:
    """An executable, or the reason why there is none."""

    executable: Executable | None
    reason: NotLowerable | None = None

    def __str__(self) -> str:
        if self.executable is not None:
            hosted = ", ".join(dict.fromkeys(self.executable.lowered.hosted))
            return f"{self.executable.name} runs as one XLA executable." + (f" Done by the host, inside of it: {hosted}." if hosted else "")
        return f"It runs as residual Python, because XLA has no place for this: {self.reason}"


def decide(function: Function, types: Sequence[Num | Known | None] | None = None, exact: bool = False) -> Decision:
    """Compile the whole function, if it can be."""
    try:
        return Decision(Executable.of(function, types, exact))
    except NotLowerable as reason:
        return Decision(None, reason)


def opaque_ops(function: Function) -> list[Op]:
    """The calls that nothing is known of."""
    return [op for op in function.ops() if op.effect & Effect.OPAQUE]
