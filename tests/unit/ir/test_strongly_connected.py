"""Strongly connected components, against networkx, on random graphs."""
import networkx
from hypothesis import given
from hypothesis import strategies as st

from hovis.ir.analysis.strongly_connected import components

EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 11)), max_size=30)


@given(EDGES)
def test_as_networkx_finds_them(edges):
    leads = {node: [to for at, to in edges if at == node] for node in range(10)}
    found = list(components(leads, leads.__getitem__))
    graph = networkx.DiGraph((at, to) for at, to in edges if to in leads)
    graph.add_nodes_from(leads)
    assert {frozenset(part) for part in found} == set(map(frozenset, networkx.strongly_connected_components(graph)))
    place = {node: k for k, part in enumerate(found) for node in part}
    assert all(place[to] <= place[at] for at, to in graph.edges)


def test_a_long_chain_is_followed_without_recursion():
    assert [part for part in components(range(100_000), lambda n: [n + 1])] == [[n] for n in range(99_999, -1, -1)]
