"""Sizes that hang on ints of the program, for back ends that compile for known sizes.

What an array's shape may depend on chooses.  To tell the rounds of a loop apart by it makes a copy of the loop's body for
each: that is not worth it where there are more rounds than there may be variants.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from hovis.engine.machine.machine import Machine
from hovis.engine.merge.generalization import VARIANTS, varied
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import Restart, Tables
from hovis.engine.state.values import NO_LABELS, SIZE, TEST, Dyn, Known, Labels, Ref, V, together
from hovis.ir.analysis.affine import difference, of_op
from hovis.lattice import Type, Union

#: Rounds of a loop that sizes hang on, before they are not told apart: the first one may be unlike the others.
COUNTED: Final = 3


def use_sizes(m: Machine, *values: V) -> None:
    """Ints that an array's shape may depend on choose, all of them at once."""
    labels = NO_LABELS
    for value in values:
        labels = together(labels, _labels(m, value))
    m.mark(labels, SIZE)


def _labels(m: Machine, value: V) -> Labels:
    """Of which slots the ints in a value come, or what may be an int, as a power."""
    if isinstance(value, Dyn):
        kinds = value.type.members if isinstance(value.type, Union) else (value.type,)
        return value.lost if value.lost and Type(int) in kinds else NO_LABELS
    labels = NO_LABELS
    if isinstance(value, Ref):
        obj = m.obj(value, "tuple", "list", "slice")
        for cell in obj.cells if obj is not None and not _is_window(obj) else ():
            labels = together(labels, _labels(m, cell))
    return labels


def bounds(m: Machine, value: V) -> bool:
    """Is it a slice, or are there slices in it?  The ints in these are no items."""
    obj = m.obj(value, "slice", "tuple") if isinstance(value, Ref) else None
    return obj is not None and (obj.kind == "slice" or any(bounds(m, cell) for cell in obj.cells))


def _is_window(obj: VObj) -> bool:
    """Is it a slice of a known size that goes over an array?"""
    start, stop, *_ = obj.cells if obj.kind == "slice" else (None, None)
    return isinstance(start, Dyn) and isinstance(stop, Dyn) and difference(stop.value, start.value, of_op) is not None


def stop_counting(tables: Tables, site: Any, table: Mapping[Any, object], state: State, places: int) -> None:
    """Sizes hang on the rounds of a loop that has more of them than there may be variants: they are not told apart at all.

    Left to themselves, these variants would be made first, and found to be too many then (see generalization).
    """
    used, forced = tables.used.get(site, {}), tables.forced.setdefault(site, {})
    limit = VARIANTS + 2 * max(places, tables.static_size)
    for path, left in _loops(state, tables):
        if len(left) > limit and used.get(path, 0) > TEST and path not in forced:
            keys = [dict(key) for key in table]
            if len({key.get(path) for key in keys}) >= COUNTED:
                forced.update((one, used[one]) for one in _in_step(keys, path) if one not in forced)
                raise Restart("force", site)


def forget_growing(tables: Tables, site: Any, table: Mapping[Any, object], state: State, counts: Callable[[int], Sequence[int]]) -> None:
    """A size that is computed from the one before is not told apart at the head of a loop that may have any number of rounds.

    counts: see ``generalization.join_counters``.
    """
    used, forced = tables.used.get(site, {}), tables.forced.setdefault(site, {})
    sizes = [path for path, strength in used.items() if strength == SIZE and path not in forced]
    iterator = state.goes_over() if sizes else None
    if iterator is None or iterator.kind != "range_iter" or all(isinstance(cell, Known) for cell in iterator.cells[:2]):
        return
    path = varied([dict(key) for key in table], used, SIZE, COUNTED, sizes)
    if path is not None and counts(path):
        forced[path] = SIZE
        tables.counted.add((site, path))
        raise Restart("force", site)


def _loops(state: State, tables: Tables) -> Iterator[tuple[int, range]]:
    """What is left of the loops over known ranges that are under way, each by the slot of its position."""
    for depth, frame in enumerate(state.frames):
        for k, value in enumerate(frame.stack):
            obj = state.heap[value.aid] if isinstance(value, Ref) else None
            if obj is not None and obj.kind == "range_iter":
                bounds: list[Any] = [cell.value for cell in obj.cells if isinstance(cell, Known)]
                if len(bounds) == len(obj.cells):
                    yield tables.paths[tables.paths[depth, "stack", k], 0], range(*bounds)


def _in_step(keys: Sequence[dict[int, Any]], path: int) -> list[int]:
    """The slots whose values tell the same keys apart as those of this one: what counts the rounds, too."""
    counted = len({key.get(path) for key in keys})
    return [one for one in keys[-1] if len({key.get(one) for key in keys}) == counted == len({(key.get(one), key.get(path)) for key in keys})]
