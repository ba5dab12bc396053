"""Too many variants of one place: which slots are no longer told apart (engine.md, "edge").

The whistle of supercompilation: a key may only hold what pays.  Slots that count are forced to be unknown after a few
values, slots that vary independently of each other leave all keys, and at the end the slot with most values goes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hovis.engine.tables import GiveUp, Restart, Tables
from hovis.engine.values import STRONG, TEST, WEAK

#: Different constants in a slot that only counts, before it is forced to be unknown.
WEAK_VARIANTS: Final = 8
#: By strength: different states that nothing of more strength tells apart, where no slot alone has more values than one in
#: PRODUCT_RATIO of them, before these slots are not told apart any more.
PRODUCTS: Final = {WEAK: 16, TEST: 32}
PRODUCT_RATIO: Final = 4
#: Different states at one site, to begin with.
VARIANTS: Final = 64
#: Different shapes in one slot, before the object there is made real.
SHAPES: Final = 12
#: Different lengths of a list (a dict, a set) in one slot, all else being equal, before it is made real: something is collected on
#: some ways and not on others, and each such place would double the states.
LENGTHS: Final = 3


#: So often the same steps lead further down, of so many steps at the most, before what they lead through is made real.
WINDINGS: Final = 8
PERIOD: Final = 3


#: A key as the values of its slots.
Key = dict[int, Any]


def whistle(tables: Tables, site: Any, table: Mapping[Any, object]) -> None:
    """Too many variants: some slots are no longer told apart."""
    used = tables.used.get(site)
    if not used:
        return
    many = len(table)
    if LENGTHS <= many <= WEAK_VARIANTS:
        _force_collected(site, [dict(key) for key in table], used, tables.forced.setdefault(site, {}))
    if many < WEAK_VARIANTS or (many > VARIANTS and many % WEAK_VARIANTS):
        return  # looking at all of a large table for each new entry would be quadratic
    forced = tables.forced.setdefault(site, {})
    keys = [dict(key) for key in table]
    _force_counters(site, keys, used, forced)
    if many & (many - 1) == 0:
        _stop_products(tables, keys, used)
    if many >= SHAPES:
        _force_shapes(site, keys, used, forced)
    if len(table) >= VARIANTS + 2 * tables.static_size:
        distinct = {path: len({key.get(path) for key in keys}) for path in used if path not in forced}
        if not distinct:
            raise GiveUp("it takes too many variants of one place")
        path = max(distinct, key=lambda p: (distinct[p], -p))
        forced[path] = used[path]
        raise Restart("force", site)


def wound(parts: Sequence[Any], path: int) -> int | None:
    """Where a chain of objects in objects of the same make begins, in which a slot lies deep; None: in none."""
    steps, holders = [], []
    while len(parts[path]) == 2:
        path, step = parts[path]
        steps.append(step)
        holders.append(path)
    for period in range(1, PERIOD + 1):
        same = period
        while same < len(steps) and steps[same] == steps[same - period]:
            same += 1
        if same >= period * WINDINGS:
            return holders[same // period * period - 1]
    return None


def _force_counters(site: Any, keys: list[Key], used: dict[int, int], forced: dict[int, int]) -> None:
    """What only counts and has many values, all else being equal, is forced to be unknown."""
    counters = [path for path, strength in used.items() if strength == WEAK and path not in forced]
    if not counters:
        return
    groups: dict[Any, list[Key]] = {}
    for key in keys:
        groups.setdefault(tuple(x for x in key.items() if used[x[0]] != WEAK), []).append(key)
    for path in counters:
        if any(len(group) >= WEAK_VARIANTS and len({key.get(path) for key in group}) >= WEAK_VARIANTS for group in groups.values()):
            forced[path] = WEAK
            raise Restart("force", site)


def _force_shapes(site: Any, keys: list[Key], used: dict[int, int], forced: dict[int, int]) -> None:
    """What has too many shapes is made real."""
    for path, strength in used.items():
        if path not in forced and strength >= TEST:
            shapes = {part for key in keys if type(part := key.get(path)) is tuple and part and part[0] == "shape"}
            if len(shapes) >= SHAPES:
                forced[path] = STRONG
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
