"""Blocks where lanes have parted: the order in which they are executed, and the values used outside their blocks."""

from collections.abc import Iterable
from typing import Any

import networkx as nx

from hovis.ir.analysis.control_flow import successors
from hovis.ir.model import Block, Function, Return, Value, edges
from hovis.transforms.vmap.divergence import Diverging
from hovis.transforms.vmap.lane_types import parts_of

#: A list of blocks, and of loops as pairs of the header and the blocks of the loop in order.
Order = list[Any]


def ordered(graph: Any) -> Order:
    """Return the blocks in topological order, with each loop as a pair of its header and its blocks in order; raise Diverging if a loop has
    several entries.
    """
    found: Order = []
    whole = nx.condensation(graph)
    for at in nx.lexicographical_topological_sort(whole, key=lambda n: min(graph.nodes[b]["at"] for b in whole.nodes[n]["members"])):
        members = whole.nodes[at]["members"]
        first = min(members, key=lambda block: graph.nodes[block]["at"])
        if len(members) == 1 and not graph.has_edge(first, first):
            found.append(first)
            continue
        heads = {b for b in members if graph.nodes[b]["entered"] or any(a not in members for a in graph.predecessors(b))}
        if len(heads) != 1:
            raise Diverging("lanes part in a loop that has several ways in")
        head = heads.pop()
        inner = graph.subgraph(members).copy()
        inner.remove_edges_from(list(inner.in_edges(head)))
        inner.add_nodes_from(inner.nodes, entered=False)
        inner.nodes[head]["at"] = -1
        found.append((head, ordered(inner)))
    return found


def graph_of(function: Function, parted: set[Block], leading: Iterable[Block]) -> Any:
    """Return the graph of the parted blocks, with their position in the function, and whether they are entered from a block that all lanes
    reach.
    """
    graph: Any = nx.DiGraph()
    entered = {edge.block for block in leading for edge in edges(block.terminator)}
    for at, block in enumerate(function.blocks):
        if block in parted:
            graph.add_node(block, at=at, entered=block in entered)
    graph.add_edges_from((block, to) for block in graph for to in successors(block))
    return graph


def used_beyond(function: Function) -> set[Value]:
    """Return the values that are used in blocks other than their own."""
    home: dict[Any, Block] = {value: block for block in function.blocks for value in (*block.params, *block.all_ops())}
    found: set[Any] = set()
    for block in function.blocks:
        asked = [v for op in block.all_ops() for v in (*op.operands(), *(op.dims or ()))]
        asked += [v for edge in edges(block.terminator) for v in edge.args]
        if isinstance(block.terminator, Return):
            asked += parts_of(parts_of(block.terminator.value)[0])
        asked += [getattr(block.terminator, name) for name in ("cond", "value") if hasattr(block.terminator, name)]
        found |= {v for v in asked if v in home and home[v] is not block}
    return found
