"""Actions of heapq on virtual lists: the items are arranged while tracing where their order is known (CPython: Modules/_heapqmodule.c).

They make the same comparisons in the same order as CPython, so that the items end up in the same order.
"""

import heapq
from collections.abc import Callable
from typing import Any, Final

from hovis.engine.machine.constant_folding import NO_CONSTANT, reify
from hovis.engine.machine.machine import Machine
from hovis.engine.state.values import NONE, V
from hovis.library.virtual.base import CELLS, Args, Named, action, own, use
from hovis.library.virtual.containers.comparing import same
from hovis.library.virtual.containers.sequences import cells_of


class _Unknown(Exception):
    """Raised if the order of two items is not known."""


def _less(m: Machine, a: V, b: V) -> bool:
    """Return ``a < b`` of numbers, text, and tuples as far as their items have to be compared; raise _Unknown if it is not known."""
    x, y = reify(m, a), reify(m, b)
    if x is not NO_CONSTANT and y is not NO_CONSTANT:
        use(m, a, b)
        try:
            return bool(x < y)
        except TypeError:
            raise _Unknown from None
    one, other = cells_of(m, a), cells_of(m, b)
    if one is None or other is None or one[0] != other[0]:
        raise _Unknown
    for p, q in zip(one[1], other[1], strict=False):
        equal = same(m, p, q)
        if equal is None:
            raise _Unknown
        use(m, p, q)
        if not equal:
            return _less(m, p, q)
    return len(one[1]) < len(other[1])


Items = list[V]


def _up(m: Machine, heap: Items, start: int, at: int) -> None:
    """Move the item at index at towards start, past the parents that it is less than."""
    while at > start:
        parent = (at - 1) >> 1
        if not _less(m, heap[at], heap[parent]):
            return
        heap[at], heap[parent] = heap[parent], heap[at]
        at = parent


def _down(m: Machine, heap: Items, at: int) -> None:
    """Move the item at index at down to a leaf, then up to its place."""
    start, half = at, len(heap) >> 1
    while at < half:
        child = 2 * at + 1
        if child + 1 < len(heap) and not _less(m, heap[child], heap[child + 1]):
            child += 1
        heap[at], heap[child] = heap[child], heap[at]
        at = child
    _up(m, heap, start, at)


def _push(m: Machine, heap: Items, item: V) -> V:
    heap.append(item)
    _up(m, heap, 0, len(heap) - 1)
    return NONE


def _pop(m: Machine, heap: Items) -> V:
    last = heap.pop()
    return _replace(m, heap, last) if heap else last


def _replace(m: Machine, heap: Items, item: V) -> V:
    least = heap[0]
    heap[0] = item
    _down(m, heap, 0)
    return least


def _push_and_pop(m: Machine, heap: Items, item: V) -> V:
    return _replace(m, heap, item) if heap and _less(m, heap[0], item) else item


def _arrange(m: Machine, heap: Items) -> V:
    for at in reversed(range(len(heap) >> 1)):
        _down(m, heap, at)
    return NONE


#: function of heapq -> (its implementation, the fewest items that the heap must have)
_ACTIONS: Final[dict[Any, tuple[Callable[..., V], int]]] = {
    heapq.heappush: (_push, 0),
    heapq.heappop: (_pop, 1),
    heapq.heapreplace: (_replace, 1),
    heapq.heappushpop: (_push_and_pop, 0),
    heapq.heapify: (_arrange, 0),
}


def _rule(act: Callable[..., V], least: int) -> Any:
    def rule(m: Machine, args: Args, named: Named) -> Any:
        obj = own(m, args[0], "list")
        if obj is None or obj.cls is not list or not least <= len(obj.cells) < CELLS:
            return None
        heap = list(obj.cells)
        try:
            found = act(m, heap, *args[1:])
        except _Unknown:
            return None
        use(m, args[0])
        m.put(args[0], obj.replace(cells=tuple(heap)))  # type: ignore[arg-type]
        return found

    return rule


for _fn, (_act, _least) in _ACTIONS.items():
    _count = 1 if _act in (_pop, _arrange) else 2
    action(_fn, counts=(_count, _count))(_rule(_act, _least))
