"""Array sizes that depend on ints of the program, for back ends that compile for known sizes.

A value that an array's shape may depend on belongs in keys.  If it differs in each iteration of a loop, this makes a copy of the
loop's body for each iteration, which is not worth it if there are more iterations than there may be variants.
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

#: Number of iterations of a loop that sizes depend on at which they are no longer told apart: the first one may differ from the others.
COUNTED: Final = 3


def use_sizes(m: Machine, *values: V) -> None:
    """Mark the ints in values as choosing, all at once, because an array's shape may depend on them."""
    labels = NO_LABELS
    for value in values:
        labels = together(labels, _labels(m, value))
    m.mark(labels, SIZE)


def _labels(m: Machine, value: V) -> Labels:
    """Return the labels of the ints in a value, or of a value that may be an int, as the result of a power may be."""
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
    """Is value a slice, or does it contain slices? The ints in slices are no items."""
    obj = m.obj(value, "slice", "tuple") if isinstance(value, Ref) else None
    return obj is not None and (obj.kind == "slice" or any(bounds(m, cell) for cell in obj.cells))


def _is_window(obj: VObj) -> bool:
    """Is obj a slice of known size with unknown bounds, which moves over an array?"""
    start, stop, *_ = obj.cells if obj.kind == "slice" else (None, None)
    return isinstance(start, Dyn) and isinstance(stop, Dyn) and difference(stop.value, start.value, of_op) is not None


def stop_counting(tables: Tables, site: Any, table: Mapping[Any, object], state: State, places: int) -> None:
    """Do not tell the iterations of a loop apart at all if sizes depend on them, and there are more of them than there may be variants.

    Without this, the variants would be made first, and only then be found to be too many (see generalization).
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
    """Do not tell apart a size that is computed from the one before, at the header of a loop whose trip count is unknown.

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
    """Yield for each active loop over a known range the slot of its position, and the part of the range that is left."""
    for depth, frame in enumerate(state.frames):
        for k, value in enumerate(frame.stack):
            obj = state.heap[value.aid] if isinstance(value, Ref) else None
            if obj is not None and obj.kind == "range_iter":
                bounds: list[Any] = [cell.value for cell in obj.cells if isinstance(cell, Known)]
                if len(bounds) == len(obj.cells):
                    yield tables.paths[tables.paths[depth, "stack", k], 0], range(*bounds)


def _in_step(keys: Sequence[dict[int, Any]], path: int) -> list[int]:
    """Return the slots whose values tell the same keys apart as those of this slot: they count the iterations, too."""
    counted = len({key.get(path) for key in keys})
    return [one for one in keys[-1] if len({key.get(one) for key in keys}) == counted == len({(key.get(one), key.get(path)) for key in keys})]
