"""Too many variants of one place: which slots are no longer told apart.

The whistle of supercompilation: a key may only hold what pays.  Slots that count are forced to be unknown after a few
values, slots that vary independently of each other leave all keys, and at the end the slot with most values goes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hovis.engine.entries import slot_paths
from hovis.engine.state.specialization_tables import GiveUp, Restart, Tables
from hovis.engine.state.values import STRONG, TEST, WEAK

#: So many constants are never too many for what chooses.
WEAK_VARIANTS: Final = 8
#: The same for a number that is tested, and computed from the one before.
TEST_VARIANTS: Final = 8
#: By strength: different states that nothing of more strength tells apart, where no slot alone has more values than one in
#: PRODUCT_RATIO of them, before these slots are not told apart any more.
PRODUCTS: Final = {WEAK: 16, TEST: 32}
PRODUCT_RATIO: Final = 4
#: Different states at one site, to begin with.
VARIANTS: Final = 64
#: Different shapes in one slot, before the object there is made real.
SHAPES: Final = 12
#: The same where there are too many variants anyway.
SHAPES_AT_LAST: Final = 8
#: The same where something else differs as well: a guest's stack is as deep as its deepest expression, and what a guest's
#: variables are differs from place to place, so there may be as many as places of the program have been come to.
MANY_SHAPES: Final = 64
#: Different lengths of a list (a dict, a set) in one slot, all else being equal, before it is made real: something is collected on
#: some ways and not on others, and each such place would double the states.
LENGTHS: Final = 3


#: A key as the values of its slots.
Key = dict[int, Any]


def whistle(tables: Tables, site: Any, table: Mapping[Any, object], places: int) -> None:
    """Too many variants: some slots are no longer told apart.  places: in so many of the known data the program has been."""
    used = tables.used.get(site)
    if not used:
        return
    many = len(table)
    weak = tables.unrolling.values
    if LENGTHS <= many <= max(weak, LENGTHS):
        _force_collected(site, [dict(key) for key in table], used, tables.forced.setdefault(site, {}))
    if many < weak or (many > TEST_VARIANTS and many & ((1 << many.bit_length() - 3) - 1)):
        return  # looking at all of a large table for each new entry would be quadratic: it is done when it has grown by a quarter or less
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
    """One of these slots that has so many values where all that is used more strongly is equal."""
    if not paths:
        return None
    groups: dict[Any, list[Key]] = {}
    for key in keys:
        groups.setdefault(tuple(x for x in key.items() if used[x[0]] > strength), []).append(key)
    large = [group for group in groups.values() if len(group) >= limit]
    return next((path for path in paths if any(_kinds(path, group) >= limit for group in large)), None)


def _kinds(path: int, keys: list[Key]) -> int:
    """How many values a slot has.  To lack it is one more, but none of an object's: a generator that has not begun has no iterator yet."""
    found = {key.get(path) for key in keys}
    lacks = None in found and any(isinstance(value, tuple) and value[0] == "shape" for value in found)
    return len(found) - lacks


def join_counters(tables: Tables, site: Any, crowd: Sequence[Any], counts: Callable[[int], Sequence[int]]) -> None:
    """A number that is computed from the one before, tested and never the same leaves all keys, with its like.

    crowd   keys that are equal in all that chooses
    counts  if a slot holds a number that is computed from the one before: the slots of its kind (see Merger)
    """
    used = tables.used[site]
    tested = [path for path, strength in used.items() if strength == TEST and tables.unkeyed.get(path, 0) < TEST]
    path = varied([dict(key) for key in crowd], used, TEST, TEST_VARIANTS, tested)
    together = counts(path) if path is not None else ()
    if together:
        tables.unkeyed.update((path, max(TEST, tables.unkeyed.get(path, 0))) for path in together)
        raise Restart("force", *(site for site, known in tables.used.items() if any(0 < known.get(path, 0) <= TEST for path in together)))


def _least_worth(tables: Tables, keys: list[Key], used: dict[int, int], forced: dict[int, int], places: int) -> int:
    """The slot that leaves the keys.

    One that has more values than the known data has places goes at once.  Else that which has most is where the program stands
    in these data, and it stays if anything else can go: what is only tested before what chooses, and without which least is left.
    """
    distinct = {path: len({key.get(path) for key in keys}) for path in used if path not in forced and used[path] > tables.unkeyed.get(path, 0)}
    if not distinct:
        raise GiveUp("it takes too many variants of one place")
    most = max(distinct, key=lambda path: (distinct[path], -path))
    others = [path for path in distinct if path != most and distinct[path] > 1]
    if distinct[most] > places + WEAK_VARIANTS or not others:
        return most
    plain = [path for path in others if not any(type(part := key.get(path)) is tuple and part[0] == "shape" for key in keys)]
    others = plain or others    # an object that has to go is made real, with all that it holds
    weakest = min(used[path] for path in others)

    def left(path: int) -> int:
        return len({tuple(x for x in key.items() if x[0] != path) for key in keys})

    return min((path for path in others if used[path] == weakest), key=lambda path: (left(path), path))


def _force_alike(tables: Tables, site: Any, path: int, keys: list[Key], forced: dict[int, int]) -> None:
    """The same part of the other items of a list: the return addresses on a guest's stack, those to come as well (see Keys.mark)."""
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
    """What has most shapes is made real; fewer are too many where all constants outside of such objects are the same."""
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


def _force_collected(site: Any, keys: list[Key], used: dict[int, int], forced: dict[int, int]) -> None:
    """A container that is longer on some ways than on others, and nothing else is different, is made real."""
    for path, strength in used.items():
        if path in forced or strength < TEST:
            continue
        groups: dict[Any, set[int]] = {}
        for key in keys:
            part = key.get(path)
            if type(part) is tuple and part and part[0] == "shape" and part[1][0] in ("list", "dict", "set"):
                groups.setdefault(tuple(x for x in key.items() if x[0] != path), set()).add(part[1][2])
        if any(len(lengths) >= LENGTHS for lengths in groups.values()):
            forced[path] = STRONG
            raise Restart("force", site)


def let_go(tables: Tables, entries: Mapping[Any, Mapping[Any, object]]) -> bool:
    """Before all of a trace is given up: where there are many variants, what has most values is not told apart any more.

    Known numbers that a loop without a known end goes through cost more and more from round to round, long before there
    are too many of them.  False: there is nothing to let go of.
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
    """Slots that vary independently multiply (a row of flags): they leave all keys, at once, and are joined."""
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
