"""Strongly connected components of a graph given by a successor function: loops of blocks, groups of values that depend on each other."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from hovis.ir.analysis.control_flow import predecessors, successors
from hovis.ir.model import Block, Function

_N = TypeVar("_N", bound=Hashable)


def components(nodes: Iterable[_N], following: Callable[[_N], Iterable[_N]]) -> Iterator[list[_N]]:
    """Find the strongly connected components among nodes, each after those that it leads to.

    following   returns the successors of a node; successors that are not among nodes are ignored

    Gabow's algorithm, without recursion (Path-based depth-first search for strong and biconnected components, 2000).

    >>> leads = {1: [2], 2: [3], 3: [2, 4], 4: []}
    >>> list(components(leads, leads.get))
    [[4], [2, 3], [1]]
    """
    among = dict.fromkeys(nodes)
    #: the position of each node in the current path, and the positions in it at which the components begin that are not complete yet
    at: dict[_N, float] = {}
    path: list[_N] = []
    begins: list[int] = []
    work: list[tuple[_N, Iterator[_N]]] = []

    def enter(node: _N) -> None:
        at[node] = len(path)
        begins.append(len(path))
        path.append(node)
        work.append((node, iter(following(node))))

    for root in among:
        if root not in at:
            enter(root)
        while work:
            node, rest = work[-1]
            for to in rest:
                if to not in at:
                    if to in among:
                        enter(to)
                        break
                else:
                    while begins[-1] > at[to]:
                        begins.pop()
            else:
                work.pop()
                if begins[-1] == at[node]:
                    found = path[begins[-1] :]
                    del path[begins.pop() :]
                    at.update(dict.fromkeys(found, math.inf))
                    yield found


def entries_of_a_cycle(function: Function) -> list[Block]:
    """Return the entry blocks of an outermost cycle that has several; an empty list if control flow is reducible."""
    incoming = predecessors(function)
    todo = [function.blocks]
    while todo:
        part = todo.pop()
        for cycle in map(set, components(part, successors)):
            if len(cycle) > 1:
                entries = [b for b in part if b in cycle and (b is function.blocks[0] or any(source not in cycle for source, _ in incoming[b]))]
                if len(entries) > 1:
                    return entries
                todo.append([b for b in part if b in cycle and b not in entries])
    return []
