"""Decides which part of a function runs on XLA and which in Python.

A Function that can be lowered becomes one executable.  If it cannot, its numeric pieces become executables: :class:`Parts` is the
residual Python that calls them.  Ops that cannot be compiled are found when a piece is lowered, some only with the arguments of a call;
then the function is cut up again, around them.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hovis.base import deadline
from hovis.front import tracing
from hovis.front.autotuner import PATIENCE
from hovis.front.traces import with_function
from hovis.ir.model import Function, Op, callees
from hovis.ir.naming import printable
from hovis.passes.pass_runner import checking, run_pass
from hovis.passes.rewriting import copy
from hovis_xla.analysis.stored_arrays import looks_at_order
from hovis_xla.emit.values import Known, Late, NotLowerable, Num, ShapeUnknown, num_of_type
from hovis_xla.lowering.pipeline import complete_calls
from hovis_xla.partition.outlining import Outlined, outline
from hovis_xla.partition.piece import Piece
from hovis_xla.partition.region_selection import Choice, Limits, first_op, origins_of
from hovis_xla.runtime.executable import Executable

#: Maximal number of times that a function is cut up.
ROUNDS: Final = 24
#: Functions with more ops than this are not cut up.
LARGEST: Final = 4000


@dataclass(frozen=True, slots=True)
class Decision:
    """An executable, or the reason why there is none."""

    executable: Executable | None
    reason: NotLowerable | None = None

    def __str__(self) -> str:
        if self.executable is not None:
            hosted = ", ".join(dict.fromkeys(self.executable.lowered.hosted))
            return f"{printable(self.executable.name)} runs as one XLA executable." + (f" Called on the host: {hosted}." if hosted else "")
        if isinstance(self.reason, Late):
            return f"It runs as residual Python: {self.reason}"
        return f"It runs as residual Python, because XLA can't run this: {self.reason}"


def decide(function: Function, types: Sequence[Num | Known | None] | None = None, exact: bool = False, hurry: bool = False) -> Decision:
    """Compile the whole function, if possible; else return the reason. ``hurry``: see ``Executable.of``."""
    try:
        return Decision(Executable.of(function, types, exact, hurry=hurry))
    except NotLowerable as reason:
        return Decision(None, reason.bare())


class Parts:
    """A residual that calls executables for its numeric pieces."""

    def __init__(self, traced: tracing.Trace, reason: NotLowerable | None, exact: bool) -> None:
        self.traced = traced
        self.function = complete_calls(traced.function)
        self.exact = exact
        self.ordered = any(map(looks_at_order, callees(self.function)))
        self.limits = Limits()
        self.pieces: list[Piece] = []
        self.borders: list[NotLowerable] = []
        self.rounds = 0
        #: pieces that have been lowered before, by their first op and their number of ops
        self.prepared: set[tuple[Op | None, int]] = set()
        #: has a piece turned out to be impossible since the residual was made?
        self.stale = True
        if reason is not None:
            self._blame(reason)

    def build(self) -> Callable[..., Any] | None:
        """Build the residual with calls of pieces; return None if there are no pieces."""
        found = None
        small = not self.traced.fallback and sum(len(b.ops) for f in callees(self.function) for b in f.blocks) <= LARGEST
        while small and self.stale and self.rounds < ROUNDS:
            deadline.check()
            self.rounds, self.stale = self.rounds + 1, False
            found = self._cut(self.function)
        if found is None or not self.pieces or self.stale:
            self.close()
            return None
        other = with_function(self.traced, found, self.traced.signature)
        made = other.by_position()
        return None if other.late else made

    def close(self) -> None:
        """Give up the search for pieces: there are none from now on."""
        self.pieces, self.stale, self.rounds = [], False, ROUNDS

    def hopeless(self, seconds: float) -> bool:
        """May a call take too long without pieces, if it takes ``seconds`` with them?"""
        gain = max((piece.gain() for piece in self.pieces), default=1.0)
        return gain > 1.0 and seconds * gain > PATIENCE

    def _cut(self, function: Function) -> Function:
        """Return a copy of the function with its pieces outlined; set ``stale`` if one of them cannot be compiled."""
        made = copy(function)
        originals = dict(zip(callees(made), callees(function), strict=True))
        origins = origins_of(function, made)
        self.pieces = []
        check = checking()
        for one in list(originals):
            for chosen in Choice(one, origins, self.limits).pieces():
                start = origins.get(first_op(one, chosen.blocks, origins))
                heads = [origins[b] for b in chosen.heads if b in origins]
                piece = functools.partial(self._piece, start, heads)
                run_pass("outline", functools.partial(outline, entry=chosen.entry, region=chosen.blocks, make=piece, originals=originals), one, check)
                if self.stale:
                    return made
        return made

    def _piece(self, start: Op | None, heads: list[Any], outlined: Outlined) -> Piece:
        piece = Piece(outlined, self.exact, self.ordered, lambda reason: self._blame(reason, start, heads))
        types = [num_of_type(p.type, p.dims) for p in outlined.params]
        known = [t for t in types if t is not None]
        same = start, sum(len(b.ops) for b in outlined.function.blocks)
        if len(known) == len(types) and same not in self.prepared:
            self.prepared.add(same)
            piece.prepare(known)
        self.pieces.append(piece)
        return piece

    def _blame(self, reason: NotLowerable, start: Op | None = None, blocks: Sequence[Any] = ()) -> None:
        """Record where a piece failed, so that later pieces stop before it."""
        self.stale = True
        at = reason.location
        ops = {op for f in callees(self.function) for op in f.ops() if at is not None and op.location == at} - self.limits.bad
        if isinstance(reason, ShapeUnknown) and not ops <= self.limits.cuts:
            self.limits.cuts |= ops
            return
        if ops:
            self.limits.bad |= ops
        elif not self.limits.loops.issuperset(blocks):
            self.limits.loops |= set(blocks)
        elif start is not None:
            self.limits.dead.add(start)
        else:
            return
        self.borders.append(reason)

    def __str__(self) -> str:
        lines = [f"{len(self.pieces)} numeric {'piece is' if len(self.pieces) == 1 else 'pieces are'} compiled by XLA; the rest is residual Python:"]
        for piece in self.pieces:
            at = piece.outlined.function.location
            where = f"{at.file}:{at.line}, in {at.function}" if at is not None else "?"
            lines.append(f"  from {where}: {piece.compiled} executables, called {piece.calls} times")
        lines += [f"  border: {reason}" for reason in self.borders]
        return "\n".join(lines)
