"""Recursion: decide whether to enter a function that is active already, by what is known of its arguments now and in earlier activations."""

import types
from typing import Any, Final

from hovis.engine.machine.machine import Machine
from hovis.engine.state.frames_and_heap import Frame
from hovis.engine.state.heap import VObj, form_in, reachable
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.values import UNBOUND_VALUE, Dyn, Known, Ref, V
from hovis.lattice.constants import constant_key

#: Nested activations of one code, with unknown decisions in between, before it becomes a residual function.
MAX_ACTIVE: Final = 64

#: The limit where only numbers differ between the activations; and where, besides, none of these numbers has decided anything or been tested.
MAX_CHOOSING: Final = 8
MAX_COUNTING: Final = 4

#: The most places that are compared, in the arguments and in the closures of functions among them.
MOST_KNOWN: Final = 200
#: The most parts of arguments that are compared with those of an earlier activation.
LOOKED_AT: Final = 32


def recurses(m: Machine, code: Any, now: Any, bound: list[V | None]) -> bool:
    """Is this a recursive call that must not be entered: the same code is active, with an unknown decision in between, and nothing new is known
    of the arguments?

    Without an unknown decision, the call is left only if nothing at all in the arguments has changed: then nothing would end the recursion.

    Models of the library are always entered: if they recurse, it is user code that recurses through them.  But an
    interpreter that belongs to hovis recurses with the program that it interprets, whose functions become functions of the residual.
    """
    if m.is_model(code) or code.code.co_name in _COMPREHENSIONS:
        return False
    active = [frame for frame in m.state.frames if frame.code is code]
    if m.interprets(code):
        return any(_same_constants(bound, frame.given) for frame in active)
    if not active:
        return False
    if not any(frame.decided for frame in active):
        return _never_ends(m, code, now, bound, active)
    if code.code in m.tables.recursive:
        return True
    if code.code in m.tables.counting and any(_alike(now, frame.extra) or _but_for_numbers(now) == _but_for_numbers(frame.extra) for frame in active):
        return True
    # if only numbers differ, these may well be counters: the limit is lower
    counting = _alike(now, active[-1].extra)
    if len(active) >= (_patience(m, bound, now, active[-1].extra) if counting else MAX_ACTIVE):
        (m.tables.counting if counting and code.code not in m.tables.counting else m.tables.recursive).add(code.code)
        raise Restart("recursive")
    if not now:
        return True
    # if constants have been joined in an argument, they may be kept apart again once its value decides something
    joined = any(type(value) is Dyn and value.lost for value in bound)
    for frame in active:
        same = frame.extra == now if joined or type(frame.extra) is not tuple else _nothing_new(now, frame.extra)
        if same and not _differ_inside(m, bound, frame.given):
            return True
    return False


def _never_ends(m: Machine, code: Any, now: Any, bound: list[V | None], active: list[Frame]) -> bool:
    """Does a function call itself again and again, with arguments in which nothing at all changes?"""
    if code.code in m.tables.endless:
        return True
    if len(active) < MAX_CHOOSING or active[-1].extra != now:
        return False
    before, inside = m.repeated.get(code.code), _everything(m, bound)
    m.repeated[code.code] = len(active), inside
    if inside is None or before != (len(active) - 1, inside):
        return False
    m.tables.endless.add(code.code)
    raise Restart("recursive")


def _everything(m: Machine, bound: list[V | None]) -> Any:
    """Collect all that is known of the arguments, at any depth; None if that is more than MOST_KNOWN places."""
    found: list[Any] = []
    numbers: dict[int, int] = {}
    todo = list(bound)
    for value in todo:  # the list grows in the loop
        if isinstance(value, Known):
            found.append(constant_key(value.value))
        elif isinstance(value, Ref):
            if value.aid not in numbers:
                numbers[value.aid] = len(numbers)
                obj = m.state.heap[value.aid]
                found.append(obj.form())
                todo += obj.cells
            found.append(numbers[value.aid])
        else:
            found.append(None)
        if len(todo) > MOST_KNOWN:
            return None
    return tuple(found)


#: Recursion through these also passes through the function that contains them (of which they are part since Python 3.12).
_COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>")


def _same_constants(now: list[V | None], before: list[tuple[V | None, VObj | None]] | None) -> bool:
    """Are the known arguments equal to those of another activation?"""
    constants = [(a, b) for a, (b, _) in zip(now, before or (), strict=False) if isinstance(a, Known)]
    return all(isinstance(b, Known) and constant_key(a.value) == constant_key(b.value) for a, b in constants)


def given(m: Machine, bound: list[V | None]) -> list[tuple[V | None, VObj | None]]:
    """Pair each argument with the object that it refers to now: later the heap may hold another one, or none."""
    heap = m.state.heap
    return [(value, heap[value.aid] if type(value) is Ref else None) for value in bound]


def _differ_inside(m: Machine, now: list[V | None], before: list[tuple[V | None, VObj | None]] | None) -> bool:
    """Is something known inside the arguments (in closures, nodes, tuples) that was not known before? Numbers may be counters, and are ignored."""
    heap, seen = m.state.heap, set()
    pairs = [(a, b, old) for a, (b, old) in zip(now, before or (), strict=False)]
    for a, b, old in pairs:  # the list grows in the loop
        if isinstance(a, Known):
            counts = type(a.value) in _COUNTS and (not isinstance(b, Known) or type(b.value) in _COUNTS)
            if not counts and not (isinstance(b, Known) and constant_key(a.value) == constant_key(b.value)):
                return True
        elif isinstance(a, Ref):
            if not isinstance(b, Ref):
                return True
            new, old = heap[a.aid], old or heap.get(b.aid)
            if new is old or old is None or a.aid in seen or new.bulk:
                continue
            seen.add(a.aid)
            if new.form() != old.form() and not _has_grown(new.form(), old.form()):
                return True
            if b.aid in reachable(heap, [a.aid]):
                continue      # the new object contains the old one: a structure that grows from call to call
            if a.aid != b.aid and len(pairs) < LOOKED_AT:
                pairs += ((c, d, None) for c, d in zip(new.cells, old.cells, strict=False))
    return False


#: Classes of known values that may be counters, which differ in each activation.
_COUNTS: Final = frozenset({int, float})


def _patience(m: Machine, bound: list[V | None], now: Any, before: Any) -> int:
    """Return how many activations of one code to allow that differ only in numbers, or in how much has been collected."""
    known = dict(before)
    numbers = [place for place, what in now if what != known.get(place) and _is_number(what)]
    return MAX_COUNTING if len(now) == len(before) and all(m.keys.only_counts(_at(m, bound, place)) for place in numbers) else MAX_CHOOSING


def _at(m: Machine, bound: list[V | None], place: Any) -> V | None:
    """Return the value that `known_arguments` found at a place; None if there is none."""
    if type(place) is int:
        return bound[place]
    holder = _at(m, bound, place[0])
    return m.state.heap[holder.aid].cells[place[1]] if isinstance(holder, Ref) else None


def _nothing_new(now: Any, before: Any) -> bool:
    """Is nothing known of the arguments that was not known before, except that one of them has collected more?"""
    known = dict(before)
    return all(slot in known and (what == known[slot] or _has_grown(what, known[slot])) for slot, what in now)


def _has_grown(shape: Any, other: Any) -> bool:
    """Is shape that of a list, dict or set which has more items than the other (see VObj.shape)?"""
    if type(shape) is not tuple or type(other) is not tuple or len(shape) != len(other):
        return False
    return shape[0] in ("list", "dict", "set") and shape[:2] == other[:2] and shape[2] > other[2]


def _alike(now: Any, before: Any) -> bool:
    """Is what is known the same except for numbers and for what is being collected: items in a container, functions around a function?"""
    if type(now) is not tuple or type(before) is not tuple or len(now) < len(before):
        return False
    if now == before:
        return False
    known = dict(before)
    higher = len(now) > len(before)
    loose: set[Any] = set()
    for place, what in now:
        nested = type(place) is tuple
        if nested and place[0] in loose:
            loose.add(place)
        elif place not in known or not (what == known[place] or (_is_number(what) and _is_number(known[place])) or _has_grown(what, known[place])):
            if not (higher and nested and what[0] == "function"):
                return False
            loose.add(place)
    return True


def _is_number(what: Any) -> bool:
    return type(what) is tuple and what[0] in (int, float)


def _but_for_numbers(known: Any) -> Any:
    return [x for x in known if not _is_number(x[1])] if type(known) is tuple else None


def known_arguments(m: Machine, bound: list[V | None]) -> Any:
    """Describe what is known of the arguments of an activation, to compare it with others: pairs of a place and what is known there.

    For a function among them, this includes the variables that it closes over: continuations have the same code, but do different things.
    """
    found: list[Any] = []
    heap = m.state.heap
    seen: set[int] = set()
    todo: list[tuple[Any, V | None]] = list(enumerate(bound))
    for place, value in todo:  # the list grows in the loop
        if isinstance(value, Known):
            if value.value is not UNBOUND_VALUE.value and type(value.value) is not types.CellType:
                found.append((place, constant_key(value.value)))
        elif isinstance(value, Ref):
            found.append((place, form_in(heap, value.aid)))
            obj = heap[value.aid]
            if obj.kind in CODE and value.aid not in seen and len(todo) < MOST_KNOWN:
                seen.add(value.aid)
                todo += [((place, k), cell) for k, cell in enumerate(obj.cells)]
    return tuple(found)


#: Kinds of objects that are code rather than data.
CODE: Final = frozenset({"function", "cell", "method", "class", "property", "staticmethod", "classmethod"})
