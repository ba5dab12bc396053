"""Entries: specialized blocks under construction.

An *entry* is a site, a key, and the join of all states that arrived there with that key.
"""

from typing import Any

from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.values import Labels
from hovis.ir.model import Block, Edge, Effect, Function, Op, Param
from hovis.lattice import BOTTOM, AbstractValue


class Entry:
    """A specialized block under construction; for a function, also what is known of its result."""

    __slots__ = (
        "all_reads", "base", "block", "call_tails", "callers", "calls", "choices", "depends", "effect", "evaluated", "exits", "folded", "function", "heads",
        "joined", "key", "marked", "number", "params", "passed", "queued", "reads", "result", "sealed", "site", "state", "tails", "told",
    )  # fmt: skip

    def __init__(self, site: Any, key: Any, function: Function | None = None) -> None:
        self.site = site
        self.key = key
        self.state = State([], {})
        self.params: dict[int, Param] = {}
        #: the label of the slot with path 0, to which the path of a slot is added for its label; 0 if none was needed yet
        self.base = 0
        self.depends: dict[int, Labels] = {}
        self.marked: dict[int, int] = {}
        self.joined: set[int] = set()
        self.block = Block()
        self.exits: list[tuple[Edge, Entry, State]] = []
        self.calls: list[tuple[Op, Entry, State]] = []
        self.number = 0
        #: the reads of the environment relied upon before the first look in this entry, and those since the last look before each exit and call
        self.reads: set[Any] = set()
        self.tails: list[set[Any]] = []
        self.call_tails: list[set[Any]] = []
        #: all reads of the environment; those that might tell a loop to end; and the branches that were decided (see environment_loops)
        self.all_reads: set[Any] = set()
        self.told: set[Any] = set()
        self.folded: dict[Any, Any] = {}
        #: the number of times that the chain passes each loop header, by context and pc
        self.heads: dict[tuple[int, int], int] = {}
        #: loop headers to which the chain has jumped back without a poll for signals
        self.passed: set[tuple[int, int]] = set()
        self.queued = False
        self.evaluated = False
        #: are the parameters of the block fixed?
        self.sealed = False
        self.function = function
        self.result: AbstractValue = BOTTOM
        self.effect = Effect.PURE
        self.callers: set[Entry] = set()
        #: of START: the parameters that are one of a few constants, each with these constants
        self.choices: tuple[tuple[int, tuple[object, ...]], ...] = ()

    @property
    def begins_function(self) -> bool:
        """Does a residual function or generator other than START begin here? Its body has the context of the key with which the entry was made."""
        return self.function is not None and self.site[0] != "start"
