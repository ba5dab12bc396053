"""Search of a graph that is given by a successor function: of blocks, or of values; and graphs as mappings, made from pairs."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

_N = TypeVar("_N", bound=Hashable)
_K = TypeVar("_K", bound=Hashable)


def reached(starts: Iterable[_N], following: Callable[[_N], Iterable[_N]]) -> dict[_N, None]:
    """Collect what can be reached from ``starts``, including these, as the keys of a dict, in the order of a depth-first search.

    >>> leads = {1: [2, 3], 2: [1], 3: [], 4: [1]}
    >>> list(reached([1], leads.__getitem__))
    [1, 3, 2]
    """
    found: dict[_N, None] = {}
    todo = list(starts)
    while todo:
        node = todo.pop()
        if node not in found:
            found[node] = None
            todo += following(node)
    return found


def grouped(pairs: Iterable[tuple[_K, _N]]) -> dict[_K, set[_N]]:
    """Collect the second elements of pairs by the first.

    >>> grouped([(1, "a"), (2, "b"), (2, "b")])
    {1: {'a'}, 2: {'b'}}
    """
    found: dict[_K, set[_N]] = {}
    for key, value in pairs:
        found.setdefault(key, set()).add(value)
    return found
