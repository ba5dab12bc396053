"""Actions for sets of known elements: operators, methods and constructor (CPython: Objects/setobject.c).

A virtual set consists of its elements (``keys``, no cells).  The order in which CPython iterates over a set depends on the
operations that made it.  Therefore ``extra`` records these in a :class:`History`, unless the elements were only added one
after the other; the operations are repeated when the set is built.
"""

import operator
from typing import Any, Final

from hovis.engine.control import identity_sets, unpacking
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import History, VObj
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V, labels_of
from hovis.lattice.constants import constant_key, is_immutable, is_key
from hovis.library.virtual.base import CELLS, Args, Named, action, as_constant, own, use

#: The most steps of a history: a set with a longer one is real.
_STEPS: Final = 16


def _elements(m: Machine, value: V) -> tuple[Any, ...] | None:
    """Return the elements of a known or virtual set, or None."""
    obj = m.obj(value, "set")
    if obj is not None:
        return obj.keys
    if isinstance(value, Known) and type(value.value) in (set, frozenset) and m.environment.static(value):
        held: Any = value.value
        return tuple(held) if all(map(is_immutable, held)) else None
    return None


def _iterated(m: Machine, value: V) -> tuple[Any, ...] | None:
    """Return the items of an iterable if all are known and hashed without user code; else None."""
    found = _elements(m, value)
    if m.class_of(value) is dict:
        return None  # set(d) resizes for all keys of a dict first, which may change the order
    if found is None and not (isinstance(value, Known) and type(value.value) in (set, frozenset)):
        items = unpacking.known_items(m, value)
        constants = [as_constant(m, item) for item in items] if items is not None else [None]
        if all(isinstance(c, Known) and is_key(c.value) for c in constants):
            return tuple(c.value for c in constants)  # type: ignore[union-attr]
        return None
    return found


def _apart(*parts: tuple[Any, ...]) -> bool:
    """Are there no two elements that are equal but distinguishable (``1`` and ``True``)?"""
    met: dict[Any, Any] = {}
    for item in (x for part in parts for x in part):
        if constant_key(met.setdefault(item, item)) != constant_key(item):
            return False
    return True


def _past(m: Machine, value: V, items: tuple[Any, ...] = ()) -> Any:
    """Return the description from which an operand is built at run time: a `History`, or a constant; None if there is none."""
    obj = m.obj(value, "set")
    if obj is not None:
        return obj.extra or History(obj.keys)
    if isinstance(value, Known) and type(value.value) in (set, frozenset):
        # a mutable set cannot be the start of a History, because it may change before the History is replayed
        return History(value.value) if m.environment.frozen or type(value.value) is frozenset else None
    return value.value if isinstance(value, Known) and is_immutable(value.value) else items


def _after(m: Machine, value: V, fn: Any, *operands: Any) -> History | None:
    """Return the `History` of the set value after one more operation, or None if there is none or it would be too long."""
    past: History | None = _past(m, value)
    return past.then(fn, operands) if past is not None and len(past.steps) < _STEPS else None


# ------------------------------------------------------------------------------------------------- construction


@action(set, counts=(0, 1))
def make_set(m: Machine, args: Args, named: Named) -> Any:
    if not args:
        return m.new(VObj("set", set))
    held = unpacking.known_items(m, args[0]) if isinstance(args[0], Ref) else None
    if held and identity_sets.is_element(m, held[0]):
        found = identity_sets.holding(m, held)
        return None if found is None else m.new(found)
    items = _iterated(m, args[0])
    if items is None or len(items) > CELLS:
        return None
    use(m, args[0])
    if m.class_of(args[0]) in (set, frozenset):
        return _copy(m, args[0], set)  # CPython copies the hash table of a set as it is
    return m.new(VObj("set", set, keys=tuple(dict.fromkeys(items))))


@action(set.copy, counts=(1, 1))
def set_copy(m: Machine, args: Args, named: Named) -> Any:
    return _copy(m, args[0], set.copy) if m.class_of(args[0]) is set else None


def _copy(m: Machine, value: V, fn: Any) -> Any:
    elements = _elements(m, value)
    past = _after(m, value, fn) if elements is not None else None
    if elements is None or past is None or len(elements) > CELLS:
        return None
    return m.new(VObj("set", set, keys=elements, extra=past), labels_of(value))


# ------------------------------------------------------------------------------------------------- mutation


@action(set.add, counts=(2, 2))
def set_add(m: Machine, args: Args, named: Named) -> Any:
    if identity_sets.is_element(m, args[1]):
        return _add_object(m, args[0], args[1])
    obj = own(m, args[0], "set")
    item = as_constant(m, args[1])
    if obj is None or not isinstance(item, Known) or not is_key(item.value) or len(obj.keys) >= CELLS:
        return None
    use(m, args[0], item)
    if item.value in obj.keys:
        return NONE
    extra = obj.extra and obj.extra.then(set.add, (item.value,))
    if extra and len(extra.steps) > _STEPS:
        return None
    m.put(args[0], obj.replace(keys=(*obj.keys, item.value), extra=extra))  # type: ignore[arg-type]
    return NONE


def _add_object(m: Machine, target: V, item: V) -> Any:
    """Add an object that equals only itself."""
    empty, obj = own(m, target, "set"), identity_sets.changeable(m, target)
    if empty is not None and not empty.keys and not empty.extra:
        first = identity_sets.holding(m, [item])
        if first is not None:
            m.put(target, first)  # type: ignore[arg-type]
        return None if first is None else NONE
    at = identity_sets.place(m, obj.cells, item) if obj is not None and len(obj.cells) < CELLS else None
    if obj is None or at is None:
        return None
    if at < 0:
        m.put(target, obj.replace(cells=(*obj.cells, item)))  # type: ignore[arg-type]
    return NONE


def _remove_object(m: Machine, target: V, item: V, complain: bool) -> Any:
    obj = identity_sets.changeable(m, target)
    at = identity_sets.place(m, obj.cells, item) if obj is not None else None
    if obj is None or at is None:
        return None
    if at < 0:
        return m.raise_new(KeyError, item) if complain else NONE
    cells = obj.cells[:at] + obj.cells[at + 1 :]
    m.put(target, obj.replace(cells=cells) if cells else VObj("set", set))  # type: ignore[arg-type]
    return NONE


def _remove(m: Machine, args: Args, complain: bool) -> Any:
    if identity_sets.is_element(m, args[1]) and m.obj(args[0], "objects") is not None:
        return _remove_object(m, args[0], args[1], complain)
    obj = own(m, args[0], "set")
    item = as_constant(m, args[1])
    if obj is None or not isinstance(item, Known) or not is_key(item.value):
        return None
    use(m, args[0], item)
    if item.value not in obj.keys:
        return m.raise_new(KeyError, args[1]) if complain else NONE
    at = obj.keys.index(item.value)
    return NONE if _changed(m, args[0], obj, set.discard, (item.value,), obj.keys[:at] + obj.keys[at + 1 :]) else None


@action(set.remove, counts=(2, 2))
def set_remove(m: Machine, args: Args, named: Named) -> Any:
    return _remove(m, args, complain=True)


@action(set.discard, counts=(2, 2))
def set_discard(m: Machine, args: Args, named: Named) -> Any:
    return _remove(m, args, complain=False)


@action(set.clear, counts=(1, 1))
def set_clear(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "set") or identity_sets.changeable(m, args[0])
    if obj is None:
        return None
    m.put(args[0], VObj("set", set))  # type: ignore[arg-type]
    return NONE


def _changed(m: Machine, target: V, obj: VObj, fn: Any, operands: tuple[Any, ...], keys: tuple[Any, ...]) -> bool:
    """Record an operation that leaves these elements in the set; False if that is not possible."""
    past = _after(m, target, fn, *operands)
    if past is None or len(keys) > CELLS:
        return False
    assert isinstance(target, Ref)
    m.put(target, obj.replace(keys=keys, extra=past))
    return True


# ------------------------------------------------------------------------------------------------- set operators


def _united(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys((*a, *b)))


def _common(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    other = set(b)
    return tuple(x for x in a if x in other)


def _less(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    other = set(b)
    return tuple(x for x in a if x not in other)


def _either(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*_less(a, b), *_less(tuple(dict.fromkeys(b)), a))


_ALGEBRA: Final[list[tuple[Any, Any, Any, Any, Any, int]]] = [
    (operator.or_, operator.ior, set.union, set.update, _united, 9),
    (operator.and_, operator.iand, set.intersection, set.intersection_update, _common, 9),
    (operator.sub, operator.isub, set.difference, set.difference_update, _less, 9),
    (operator.xor, operator.ixor, set.symmetric_difference, set.symmetric_difference_update, _either, 2),
]


def _combined(m: Machine, args: Args, strict: bool, elements: Any) -> tuple[tuple[Any, ...], list[Any]] | None:
    """Return the elements of the result, and the descriptions of the operands; None if they are not known, or it is not certain which of two
    equal elements remains.
    """
    mine = _elements(m, args[0])
    others = [(_elements if strict else _iterated)(m, a) for a in args[1:]]
    if mine is None or any(o is None for o in others) or not _apart(mine, *others):  # type: ignore[arg-type]
        return None
    use(m, *args)
    for other in others:
        mine = elements(mine, other)
    pasts = [_past(m, a, items) for a, items in zip(args[1:], others, strict=True)]  # type: ignore[arg-type]
    return None if any(past is None for past in pasts) else (mine, pasts)


def _new_set(fn: Any, elements: Any, strict: bool) -> Any:
    def act(m: Machine, args: Args, named: Named) -> Any:
        if m.class_of(args[0]) is not set or isinstance(args[0], Dyn):
            return None
        found = _combined(m, args, strict, elements)
        past = _after(m, args[0], fn, *found[1]) if found is not None else None
        if found is None or past is None or len(found[0]) > CELLS:
            return None
        return m.new(VObj("set", set, keys=found[0], extra=past), labels_of(*args))

    return act


def _in_place(fn: Any, elements: Any, strict: bool) -> Any:
    def act(m: Machine, args: Args, named: Named) -> Any:
        if strict and isinstance(args[0], Known):
            return None
        obj = own(m, args[0], "set")
        found = _combined(m, args, strict, elements) if obj is not None else None
        if obj is None or found is None or not _changed(m, args[0], obj, fn, tuple(found[1]), found[0]):
            return None
        return args[0] if strict else NONE

    return act


for _operator, _inplace, _method, _update, _elements_of, _most in _ALGEBRA:
    action(_operator, counts=(2, 2))(_new_set(_operator, _elements_of, True))
    action(_inplace, counts=(2, 2))(_in_place(_update, _elements_of, True))
    action(_method, counts=(1 if _most > 2 else 2, _most))(_new_set(_method, _elements_of, False))
    action(_update, counts=(1 if _most > 2 else 2, _most))(_in_place(_update, _elements_of, False))


# ------------------------------------------------------------------------------------------------- predicates


def _ask(fn: Any, strict: bool) -> Any:
    def act(m: Machine, args: Args, named: Named) -> Any:
        if not any(m.obj(a, "set") for a in args):
            return None
        a, b = _elements(m, args[0]), (_elements if strict else _iterated)(m, args[1])
        if a is None or b is None:
            return None
        use(m, *args)
        return Known(fn(set(a), set(b)), labels_of(*args))

    return act


@action(sorted, counts=(1, 1))
def sorted_set(m: Machine, args: Args, named: Named) -> Any:
    """``sorted`` of a set, whose result does not depend on the iteration order."""
    items = _elements(m, args[0])
    if items is None or len({type(item) for item in items}) != 1 or type(items[0]) not in (int, str, bytes):
        return None
    use(m, args[0])
    return m.new(VObj("list", list, tuple(Known(item) for item in sorted(items))))


for _fn in (set.issubset, set.issuperset, set.isdisjoint):
    action(_fn, counts=(2, 2))(_ask(_fn, False))
for _comparison in (operator.le, operator.lt, operator.ge, operator.gt, operator.eq, operator.ne):
    action(_comparison, counts=(2, 2))(_ask(_comparison, True))
