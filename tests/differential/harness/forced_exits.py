"""Forced side exits: the jit assumes at random that branches are not taken, so that residuals are left there for the original code."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator

import hovis.bytecode.resumption.continuation as continuation
from hovis.engine.speculation.assumptions import Assumptions
from hovis.ir.operations import PACKAGE

#: Of 100 instructions at which a branch may arrive, the number that are assumed not to be reached.
PART = 25


@contextlib.contextmanager
def forced(seed: object, part: int = PART) -> Iterator[list[continuation.Exit]]:
    """Force side exits in the enclosed block; yields the list of those that are taken. The same seed forces the same ones."""
    taken: list[continuation.Exit] = []
    is_cold, begin, often = Assumptions.is_cold, continuation.Exit.begin, continuation.OFTEN

    def drawn(self, frames, pc):
        code = frames[-1].code
        return pc > 0 and not code.filename.startswith(PACKAGE) and zlib.crc32(f"{seed} {code.qualname} {pc}".encode()) % 100 < part

    def noted(self, values, missing):
        taken.append(self)
        return begin(self, values, missing)

    Assumptions.is_cold, continuation.Exit.begin, continuation.OFTEN = drawn, noted, -1
    try:
        yield taken
    finally:
        Assumptions.is_cold, continuation.Exit.begin, continuation.OFTEN = is_cold, begin, often
