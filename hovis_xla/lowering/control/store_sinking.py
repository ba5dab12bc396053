"""Store sinking: stores on the sides of a branch are moved behind it, or made conditional in place where the branch is replaced by selects."""

from typing import Any, Final, cast

from hovis_xla.emit import builder, slicing
from hovis_xla.emit.block_slots import Pending, block_of, tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.inplace_stores import Store
from hovis_xla.emit.values import ARRAY, INT64, UNDEF, Num, Slot, Val
from hovis_xla.jaxlib.adapter import context, ir

STORE: Final = "stablehlo.dynamic_update_slice"

#: Maximum number of stores into one array that are sunk below a branch.
MOST: Final = 8


class SunkStores:
    """Stores into one array on the sides of a branch, moved behind it: an ``if`` that gives whole arrays would copy them.

    The sides give the parts that are stored, and their starts; a side with fewer stores writes back the old content.
    """

    def __init__(self, base: T, num: Num, slots: list[Slot]) -> None:
        self.result = Pending()
        self.slots = slots
        self.base = base
        self.num = num
        self.roots = frozenset[object]().union(*(s.roots for s in slots if isinstance(s, Val)))
        self.steps: list[tuple[Pending, list[Pending]]] = []

    @staticmethod
    def chains(joined: Any, slots: list[Slot]) -> "tuple[T, list[list[Store]]] | None":
        """Return the array before the stores, and the stores of each side; None if the array differs between the sides by more than a few
        stores.
        """
        chains: list[list[Store]] = []
        bases: list[T] = []
        for slot in slots:
            chain: list[Store] = []
            if isinstance(slot, Val):
                t = tensor(slot)
                while t.ir in joined.walker.stored and block_of(t.ir) in joined.blocks:
                    store = joined.walker.stored[t.ir]
                    chain.insert(0, store)
                    t = store[0]
                bases.append(t)
            elif slot is not UNDEF:
                return None
            chains.append(chain)
        shapes = [store[1].shape for store in max(chains, key=len)]
        fit = all(store[1].shape == shape for chain in chains for store, shape in zip(chain, shapes, strict=False))
        if any(t.ir != bases[0].ir or block_of(t.ir) in joined.blocks for t in bases) or not fit or len(shapes) > MOST:
            return None
        return bases[0], chains

    @staticmethod
    def of(joined: Any, slots: list[Slot], num: Num) -> "SunkStores | None":
        """Return the sunk stores of a slot; None if the array differs between the sides by more than a few stores."""
        found = SunkStores.chains(joined, slots)
        if found is None:
            return None
        base, chains = found
        sunk = SunkStores(base, num, slots)
        for k in range(max(map(len, chains))):
            sunk._step(joined, k, chains, slots)
        return sunk

    def _step(self, joined: Any, k: int, chains: "list[list[Store]]", slots: list[Slot]) -> None:
        """Request the results of the branch that the k-th store needs."""
        rank = len(self.num.shape)
        _, first, where = next(chain[k] for chain in chains if len(chain) > k)
        shape = first.shape
        # a side that writes back the old content does so at the same starts, if these are known before the branch
        outside = not any(block_of(t.ir) in joined.blocks for t in where)
        updates: list[Slot] = []
        starts: list[list[Slot]] = [[] for _ in range(rank)]
        for side, chain, slot in zip(joined.sides, chains, slots, strict=True):
            with joined._at_end(side):
                if k < len(chain):
                    _, update, at = chain[k]
                else:
                    at = where if outside else tuple(builder.constant(0, INT64) for _ in range(rank))
                    update = joined.walker.window(tensor(slot) if isinstance(slot, Val) else self.base, at, shape)
            updates.append(Val(Num(ARRAY, update.dtype, shape), update.ir))
            for place, one in zip(starts, at, strict=True):
                place.append(Val(Num(ARRAY, INT64), one.ir))
        step = Pending(), [Pending() for _ in range(rank)]
        joined.wanted.append((step[0], updates, Num(ARRAY, self.num.dtype, shape)))
        joined.wanted += [(pending, place, Num(ARRAY, INT64)) for pending, place in zip(step[1], starts, strict=True)]
        self.steps.append(step)

    def store(self, walker: Any) -> None:
        """Emit the stores behind the branch."""
        t = self.base
        for update, starts in self.steps:
            t = walker.put(t, tensor(cast(Val, update.value)), tuple(tensor(cast(Val, s.value)) for s in starts))
        self.result.value = Val(self.num, t.ir, roots=self.roots)


def make_conditional(walker: Any, after: Any, here: T) -> None:
    """Make a store write back the old content where its side is not taken (``here`` is False); ``after``: the array after the store."""
    base, update, starts = walker.stored[after]
    store = after.owner if after.owner.name == STORE else after.owner.operands[0].owner
    kept = store.operands[1]
    waits = kept != update.ir  # for the loads, by a barrier
    with ir.InsertionPoint(kept.owner if waits else store), ir.Location.unknown(context()):
        chosen = builder.select(here, update, walker.barrier(slicing.dynamic_slice(base, starts, update.shape)))
    if waits:
        kept.owner.operands[0] = chosen.ir
    else:
        store.operands[1] = chosen.ir
    walker.stored[after] = base, chosen, starts
    walker.forget(after)
