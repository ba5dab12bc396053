"""Loops whose exit hangs on the environment: another thread, or a handler of signals, is to end them.

    while not STOP:
        k += 1

What is read of the environment is relied upon (see ``guards``), so no round of a loop that stays a loop would look at it again.  Where
it decides whether such a loop ends it is read in each round: it is volatile.  Loops that are known to end, and those that are followed round
by round to their end, are left as they are.
"""

from typing import TYPE_CHECKING, Any

from hovis.engine.environment.folded_branches import Folded
from hovis.engine.merge.entries import Entry
from hovis.engine.merge.keys import PATHS, SHIFT
from hovis.engine.state.values import Known, each
from hovis.ir.analysis.strongly_connected import components
from hovis.ir.model import Block, Edge, Invoke, Return, edges
from hovis.lattice.constants import PLAIN

if TYPE_CHECKING:
    from hovis.engine.worklist import Engine


def learn(engine: "Engine") -> bool:
    """Find what the loops of a trace say that was not known when it began; was there anything?"""
    entries = [entry for table in engine.entries.values() for entry in table.values()]
    if not any(entry.told or entry.passed for entry in entries):
        return False
    loops = _loops(entries)
    volatile = {key for loop in loops for key in _deciding(engine, loop)} - engine.volatile
    polled = {head for loop in loops for entry in loop for head in entry.passed} - engine.tables.polled
    engine.volatile |= volatile
    engine.timely |= volatile
    engine.tables.polled |= polled
    return bool(volatile or polled)


def _deciding(engine: "Engine", loop: set[Entry]) -> set[Any]:
    """What of the environment decides whether a loop ends that may go on for ever, by the keys of guards."""
    if not any(entry.told for entry in loop) and engine.frozen:
        return set()
    endless = not any(_leaves(entry, loop) for entry in loop)
    folded = [branch for entry in loop for branch in entry.folded.values()]
    leaving = [branch for branch in folded if _depends_on_objects_alone(engine, branch) and branch.leaves(endless)]
    if not leaving or not (endless or not engine.frozen):
        return set()
    keys = {key for branch in leaving for key in branch.told}
    return keys if keys or not endless else {key for entry in loop for key in entry.told}


def _depends_on_objects_alone(engine: "Engine", branch: Folded) -> bool:
    """Is what was decided by none of the constants that tell rounds apart?"""
    for label in each(branch.labels):
        owner, path = engine.label_owner[(label >> SHIFT) - 1], label & PATHS
        held = engine.value_at(owner.state, path)
        if isinstance(held, Known) and type(held.value) in PLAIN:
            return False
    return True


def _loops(entries: list[Entry]) -> list[set[Entry]]:
    """The loops: entries that lead to one another."""

    def following(entry: Entry) -> list[Entry]:
        return [to for _, to, _ in entry.exits]

    return [set(part) for part in components(entries, following) if len(part) > 1 or part[0] in following(part[0])]


def _leaves(entry: Entry, loop: set[Entry]) -> bool:
    """Is there a way out of a loop from here, other than by an exception?"""
    targets = {id(edge): to for edge, to, _ in entry.exits}
    seen: set[Block] = {entry.block}
    todo = [entry.block]
    while todo:
        end = todo.pop().terminator
        if isinstance(end, Return):
            return True
        ways: tuple[Edge, ...] = (end.ok,) if isinstance(end, Invoke) else edges(end)
        for edge in ways:
            to = targets.get(id(edge))
            if to is not None and to not in loop:
                return True
            if to is None and edge.block not in seen:
                seen.add(edge.block)
                todo.append(edge.block)
    return False
