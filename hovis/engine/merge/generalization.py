"""Generalization: where one place has too many variants, some slots no longer tell states apart.

This is the whistle of supercompilation: a key may only contain slots that are worth it.  Slots that count are forced to be unknown
after a few values, slots that vary independently of each other are dropped from all keys, and finally the slot with the most values is dropped.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hovis.engine.entries import slot_paths
from hovis.engine.state.specialization_tables import GiveUp, Restart, Tables
from hovis.engine.state.values import STRONG, TEST, WEAK

#: This many constants are never too many for a slot that selects a case.
WEAK_VARIANTS: Final = 8
#: The same for a number that is tested, and computed from the one before.
TEST_VARIANTS: Final = 8
#: By strength: the number of different states that are equal in all slots of greater strength, while no single slot has more values than
#: this number divided by PRODUCT_RATIO, at which the slots of this strength are joined.
PRODUCTS: Final = {WEAK: 16, TEST: 32}
PRODUCT_RATIO: Final = 4
#: Number of different states at one site that is always allowed; places of the known data allow more.
VARIANTS: Final = 64
#: Number of different shapes in one slot at which the object there is made real.
SHAPES: Final = 12
#: The same where there are too many variants anyway.
SHAPES_AT_LAST: Final = 8
#: The same where something else differs as well: a guest's stack is as deep as its deepest expression, and a guest's variables differ
#: from place to place, so there may be as many shapes as places of the guest program have been reached.
MANY_SHAPES: Final = 64
#: Number of different lengths of a list (a dict, a set) in one slot, all else being equal, at which it is made real: items are added on
#: some paths and not on others, and each such branch would double the states.
LENGTHS: Final = 3
#: The same where numbers differ as well, which count the items: states of an automaton do so by chance, for a while.
COUNTS: Final = 5


#: A key as the values of its slots.
Key = dict[int, Any]


def whistle(tables: Tables, site: Any, table: Mapping[Any, object], places: int) -> None:
    """Drop slots from the keys of a site that has too many variants, by a Restart. places: the number of places in the known data that the
    program has visited.
    """
    used = tables.used.get(site)
    if not used:
        return
    many = len(table)
    weak = tables.unrolling.values
    if LENGTHS <= many <= max(weak, LENGTHS):
        _force_collected(tables, site, [dict(key) for key in table], used, tables.forced.setdefault(site, {}))
    if many < weak or (many > TEST_VARIANTS and many & ((1 << many.bit_length() - 3) - 1)):
        return  # examining all of a large table for each new entry would take quadratic time: it is done when the table has grown by a quarter or less
    forced = tables.forced.setdefault(site, {})
    keys = [dict(key) for key in table]
    path = varied(keys, used, WEAK, weak, [path for path, strength in used.items() if strength == WEAK and path not in forced])
    if path is not None:
        forced[path] = WEAK
        raise Restart("force", site)
    if many & (many - 1) == 0:
        _stop_products(tables, keys, used)
    full = many >= VARIANTS + 2 * max(places, tables.static_size)
    if many >= SHAPES:
        _force_shapes(tables, site, keys, used, forced, SHAPES_AT_LAST if full else SHAPES, max(places, MANY_SHAPES))
    if full:
        path = _least_worth(tables, keys, used, forced, max(places, tables.static_size))
        forced[path] = used[path]
        if used[path] == STRONG:
            _force_alike(tables, site, path, keys, forced)
        raise Restart("force", site)


def varied(keys: list[Key], used: dict[int, int], strength: int, limit: int, paths: Sequence[int]) -> int | None:
    """Return one of these slots that has at least limit values among keys that are equal in all slots used more strongly; None if there is none."""
    if not paths:
        return None
    groups: dict[Any, list[Key]] = {}
    for key in keys:
        groups.setdefault(tuple(x for x in key.items() if used[x[0]] > strength), []).append(key)
    large = [group for group in groups.values() if len(group) >= limit]
    return next((path for path in paths if any(_kinds(path, group) >= limit for group in large)), None)


def _kinds(path: int, keys: list[Key]) -> int:
    """Count the values of a slot. A missing value counts, but not for objects: a generator that has not begun has no iterator yet."""
    found = {key.get(path) for key in keys}
    lacks = None in found and any(isinstance(value, tuple) and value[0] == "shape" for value in found)
    return len(found) - lacks


def join_counters(tables: Tables, site: Any, crowd: Sequence[Any], counts: Callable[[int], Sequence[int]]) -> None:
    """Drop from all keys a number that is computed from the one before, tested and never the same, and the slots of its kind.

    crowd   keys that are equal in all slots of greater strength than TEST
    counts  returns, if a slot holds a number that is computed from the one before, the slots of its kind, else nothing (see Merger)
    """
    used = tables.used[site]
    tested = [path for path, strength in used.items() if strength == TEST and tables.unkeyed.get(path, 0) < TEST]
    path = varied([dict(key) for key in crowd], used, TEST, TEST_VARIANTS, tested)
    together = counts(path) if path is not None else ()
    if together:
        tables.unkeyed.update((path, max(TEST, tables.unkeyed.get(path, 0))) for path in together)
        raise Restart("force", *(site for site, known in tables.used.items() if any(0 < known.get(path, 0) <= TEST for path in together)))


def _least_worth(tables: Tables, keys: list[Key], used: dict[int, int], forced: dict[int, int], places: int) -> int:
    """Choose the slot that leaves the keys; raises GiveUp if there is none.

    A slot that has more values than the known data has places is chosen at once.  Otherwise the slot with the most values is taken to be
    the program's position in these data, and it stays if any other can be dropped: slots that are only tested before those that select a
    case, and among these the one without which the fewest different keys are left.
    """
    distinct = {path: len({key.get(path) for key in keys}) for path in used if path not in forced and used[path] > tables.unkeyed.get(path, 0)}
    if not distinct:
        raise GiveUp("it needs too many variants of one program point")
    most = max(distinct, key=lambda path: (distinct[path], -path))
    others = [path for path in distinct if path != most and distinct[path] > 1]
    if distinct[most] > places + WEAK_VARIANTS or not others:
        return most
    plain = [path for path in others if not any(type(part := key.get(path)) is tuple and part[0] == "shape" for key in keys)]
    others = plain or others    # an object whose slot is dropped is made real, with all that it holds, so prefer other slots
    weakest = min(used[path] for path in others)

    def left(path: int) -> int:
        return len({tuple(x for x in key.items() if x[0] != path) for key in keys})

    return min((path for path in others if used[path] == weakest), key=lambda path: (left(path), path))


def _force_alike(tables: Tables, site: Any, path: int, keys: list[Key], forced: dict[int, int]) -> None:
    """Force the same part of the other items of a list, future ones included: for example the return addresses on a guest's stack (see
    Keys.mark).
    """
    for whole, below in slot_paths.items_of(tables.paths.parts, path):
        if any(type(part := key.get(whole)) is tuple and part[0] == "shape" and part[1][0] == "list" for key in keys):
            tables.stacks.setdefault(site, set()).add((whole, below))
            for item in tables.paths.rows.get(whole, ()):
                for step in below:
                    item = tables.paths[item, step]
                forced[item] = STRONG


def _force_shapes(
    tables: Tables, site: Any, keys: list[Key], used: dict[int, int], forced: dict[int, int], limit: int, most: int
) -> None:
    """Make real the objects in the slots with most shapes; fewer shapes are too many where all constants outside of these objects are the same."""
    shapes = {path: {part for key in keys if type(part := key.get(path)) is tuple and part and part[0] == "shape"}
              for path, strength in used.items() if path not in forced and strength >= TEST}  # fmt: skip
    varied = [path for path, found in shapes.items() if len(found) >= limit]
    if not varied:
        return
    grown = [path for path in varied if len(shapes[path]) >= most]
    if not grown:
        outside = {path for path in used if not any(slot_paths.is_within(tables.paths.parts, path, whole) for whole in varied)}
        groups: dict[Any, list[Key]] = {}
        for key in keys:
            groups.setdefault(tuple(x for x in key.items() if x[0] in outside and x[1][0] != "shape"), []).append(key)
        large = [group for group in groups.values() if len(group) >= limit]
        grown = [path for path in varied if any(len({key.get(path) for key in group}) >= limit for group in large)]
    if grown:
        forced.update(dict.fromkeys(grown, STRONG))
        raise Restart("force", site)


def _force_collected(tables: Tables, site: Any, keys: list[Key], used: dict[int, int], forced: dict[int, int]) -> None:
    """Make a container real if it is longer on some paths than on others, and nothing else differs; or nothing but numbers that count with it."""
    numbers = _numbers(tables, keys, used)
    for path, strength in used.items():
        if path in forced or strength < TEST:
            continue
        groups: dict[Any, dict[int, Key]] = {}
        for key in keys:
            part = key.get(path)
            if type(part) is tuple and part and part[0] == "shape" and part[1][0] in ("list", "dict", "set"):
                groups.setdefault(tuple(x for x in key.items() if x[0] != path and x[0] not in numbers), {})[part[1][2]] = key
        for group in groups.values():
            if len(group) < LENGTHS:
                continue
            ordered = [group[length] for length in sorted(group)]
            counting = [at for at in numbers if any(key.get(at) != ordered[-1].get(at) for key in ordered)]
            if not counting or (len(group) >= COUNTS and all(_counts([key[at][1] for key in ordered if at in key]) for at in counting)):
                forced[path] = STRONG
                forced.update((at, TEST) for at in counting if at not in forced)
                raise Restart("force", site)


def _counts(values: Sequence[int]) -> bool:
    """Do numbers grow by the same step each time?"""
    return len(values) >= LENGTHS and len({after - before for before, after in itertools.pairwise(values)}) == 1


def _numbers(tables: Tables, keys: list[Key], used: dict[int, int]) -> set[int]:
    """Return the slots that hold ints which choose nothing, and which are no positions of iterators over known items: loops over these end by
    themselves.
    """
    parts = tables.paths.parts
    found, unknown = set[int](), list[int]()
    for path in (path for path, strength in used.items() if strength <= TEST):
        holders = {_kind(key[at]) for key in keys if (at := parts[path][0]) in key} if len(parts[path]) == 2 else {"instance"}
        if all(key[path][0] is int for key in keys if path in key):
            if holders == {"instance"}:
                found.add(path)
            elif not holders:
                unknown.append(path)  # in an object that has another path as well
    same = {path for path in unknown if any(all(key[path] == key.get(other) for key in keys if path in key) for other in found)}
    return found | same


def _kind(part: Any) -> Any:
    """Return the kind of the object that a part of a key stands for."""
    return part[1][0] if part[0] == "shape" else None


def let_go(tables: Tables, entries: Mapping[Any, Mapping[Any, object]]) -> bool:
    """Generalize before a whole trace is given up: at each site with many variants, force the slot with most values to be unknown.

    The known numbers of a loop without a known end cost more and more with each iteration, long before there are too many of them.
    Return False if there is no slot to force.
    """
    found = False
    for site, table in entries.items():
        used, forced = tables.used.get(site, {}), tables.forced.setdefault(site, {})
        keys = [dict(key) for key in table] if len(table) >= WEAK_VARIANTS else []
        distinct = {path: len({key.get(path) for key in keys}) for path in used if path not in forced}
        path = max(distinct, key=lambda path: (distinct[path], -path), default=None)
        if path is not None and distinct[path] >= WEAK_VARIANTS:
            forced[path] = STRONG
            found = True
    return found


def _stop_products(tables: Tables, keys: list[Key], used: dict[int, int]) -> None:
    """Drop from all keys, at once, slots that vary independently and multiply the variants (a row of flags): they are joined."""
    for strength, limit in PRODUCTS.items():
        if len(keys) < limit:
            continue
        groups: dict[Any, list[Key]] = {}
        for key in keys:
            groups.setdefault(tuple(x for x in key.items() if used[x[0]] > strength), []).append(key)
        for group in groups.values():
            paths = [path for path in group[0] if used[path] == strength]
            most = max((len({parts.get(path) for parts in group}) for path in paths), default=0)
            if len(group) >= limit and most * PRODUCT_RATIO <= limit:
                tables.unkeyed.update((path, max(strength, tables.unkeyed.get(path, 0))) for path in paths)
                raise Restart("force")
