"""First iterations of loops: values that are known in these alone are made unknown from the beginning, which avoids a peeled copy of the
iteration.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Final

from hovis.engine.entries.entry import Entry
from hovis.engine.entries.keys import PATHS, SHIFT, Keys
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.values import NO_LABELS, STRONG, TEST, Dyn, Known, Ref, each

#: Instructions that advance an iterator, and the index of the iterator on the stack.
_ITERATORS: Final = {"ForIter": -1, "Send": -2}

#: The number of entries that are examined for one from which the back edge of a loop arrives.
FIRST_ROUNDS: Final = 4


def spare(keys: Keys, evaluated: Entry, site: Any, key: Any, state: State, peers: Sequence[Entry]) -> None:
    """Make a container real from the beginning if it is known when a loop over unknown items begins, and is lost in the first iteration.

    Otherwise the first iteration would be peeled, and so would the first iterations of the enclosing loops.  Numbers that count
    the iterations are made unknown, too, and values by which a part of the loop's test is decided in the first iteration alone.
    peers: entries with the same constants in the slots that select a case (used more strongly than TEST).
    """
    frame = state.frames[-1]
    loop = frame.code.natural_loops.get(frame.pc)
    inside = partial(_is_within, depth=len(state.frames) - 1, ctx=frame.ctx, loop=loop or ())
    tested = inside(evaluated)
    if not tested and not _goes_over_unknown(state):
        return
    parts = dict(key)
    for entry in peers[:FIRST_ROUNDS]:
        first = dict(entry.key)
        unlike = [path for path in first.keys() | parts.keys() if first.get(path) != parts.get(path)]
        half = tested and not any(frame.code.head_tests.get(at) == frame.pc for ctx, at, _ in entry.folded if ctx == frame.ctx)
        if all(_is_lost(keys, entry, state, path, half) for path in unlike) and _leads(entry, evaluated, inside if half else None):
            used, forced = keys.tables.used[site], keys.tables.forced.setdefault(site, {})
            forced.update((path, STRONG if isinstance(keys.value_at(entry.state, path), Ref) else used[path]) for path in unlike)
            raise Restart("force", site)


def _is_lost(keys: Keys, entry: Entry, new: State, path: int, half: bool) -> bool:
    """Does the slot hold a virtual container in the entry, and in new a value of which nothing is known, or a longer list? Or a number that
    counts?

    half: also count a constant that decides a part of the test at the loop header in the first iteration, and in no other.
    """
    before, after = keys.value_at(entry.state, path), keys.value_at(new, path)
    if half and isinstance(before, Known) and isinstance(after, Dyn):
        return keys.tables.used[entry.site][path] <= TEST
    if isinstance(before, Known) and isinstance(after, Known):
        return type(before.value) is int is type(after.value) and keys.tables.used[entry.site][path] <= TEST and _computed(keys, after, entry, path)
    if not isinstance(before, Ref) or after is None or isinstance(after, Known):
        return False
    obj = entry.state.heap[before.aid]
    if obj.node is not None or obj.kind not in ("list", "dict", "set"):
        return False
    if isinstance(after, Dyn):
        return after.lost is None
    later = new.heap[after.aid]
    return bool(later.forgotten) or (obj.kind == later.kind == "list" and len(obj.cells) < len(later.cells))


def _computed(keys: Keys, value: Known, entry: Entry, path: int) -> bool:
    """Was value computed from the value in the slot of the entry?"""
    todo, seen = list(each(value.labels)), set()
    while todo:
        label = todo.pop()
        owner, at = keys.label_owner[(label >> SHIFT) - 1], label & PATHS
        if owner is entry and at == path:
            return True
        if label not in seen:
            seen.add(label)
            todo += each(owner.depends.get(at, NO_LABELS))
    return False


def _leads(entry: Entry, to: Entry, within: Callable[[Entry], bool] | None = None) -> bool:
    """Does a path lead from one entry to another, only through entries that are within?"""
    todo, seen = [entry], {entry}
    while todo:
        at = todo.pop()
        if at is to:
            return True
        for _, target, _ in at.exits:
            if target not in seen and (within is None or within(target)):
                seen.add(target)
                todo.append(target)
    return False


def _is_within(entry: Entry, depth: int, ctx: int, loop: Collection[int]) -> bool:
    """Does an entry begin in a loop of the frame at depth?"""
    frames = entry.state.frames
    return depth < len(frames) and frames[depth].ctx == ctx and frames[depth].pc in loop


def _goes_over_unknown(state: State) -> bool:
    """Is the state before an instruction that takes the next item of an unknown iterator?"""
    frame = state.frames[-1]
    place = _ITERATORS.get(frame.code.instructions[frame.pc].op)
    if place is None or len(frame.stack) < -place:
        return False
    iterator = frame.stack[place]
    return not (isinstance(iterator, Known) or (isinstance(iterator, Ref) and state.heap[iterator.aid].node is None))
