"""Sets of objects that are equal to nothing but themselves: known while tracing, real where they get out."""

from typing import Any

import pytest

import hovis
from hovis import Float
from hovis.ir.operations import make_tuple, raise_now


class Node:
    def __init__(self, x: Any, made_of: Any = ()) -> None:
        self.x = x
        self.made_of = set(made_of)


def added(nodes: Any) -> Any:
    found = 0.0
    for node in nodes:
        found += node.x
    return found


def total(x: Any, y: Any) -> Any:
    p, q = Node(x), Node(y)
    found = {p, q, p}
    return added(found), p in found, Node(1.0) in found, len(found), bool(found), len(p.made_of)


def walked(x: Any, y: Any) -> Any:
    """In the order in which each comes behind what it is made of."""
    p, q = Node(x), Node(y)
    top = Node(x * y, (Node(x + y, (p, q)), p))
    order, visited = [], set()

    def walk(v: Any) -> None:
        if v not in visited:
            visited.add(v)
            for child in v.made_of:
                walk(child)
            order.append(v)

    walk(top)
    return added(order), len(order), order[-1] is top


def discarded(x: Any, y: Any) -> Any:
    p, q = Node(x), Node(y)
    found = {p}
    found.discard(q)
    found.add(q)
    found.remove(p)
    try:
        found.remove(p)
    except KeyError as error:
        return len(found), q in found, error.args[0] is p
    return None


def functions(x: Any, y: Any) -> Any:
    def f() -> Any:
        return x

    known = {f}
    return f in known, (lambda: y) in known


def by_path(x: Any, y: Any) -> Any:
    p, q = Node(x), Node(y)
    found = {p} if x > y else {q}
    found.add(Node(1.0))
    return sum(v.x for v in found), p in found


def kept(x: Any, y: Any) -> Any:
    """The set gets out: whoever iterates over it again has to see it in the same order."""
    found = {Node(x), Node(y), Node(2.0)}
    return [v.x for v in found] == [v.x for v in list(found)], sorted(v.x for v in found)


def escaped(x: Any, y: Any) -> Any:
    p = Node(x)
    found = {p, Node(y)}
    first = [v.x for v in found]
    return found, first


def changed(x: Any, y: Any) -> Any:
    found = {Node(x), Node(y)}
    for v in found:
        found.add(Node(v.x))
    return len(found)


def changed_empty(x: Any, y: Any) -> Any:
    found: set[Any] = set()
    steps = iter(found)
    found.add(Node(x))
    return next(steps, y)


class Equal(Node):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)

    def __hash__(self) -> int:
        return 1


def equal(x: Any, y: Any) -> Any:
    found = {Equal(x), Equal(y)}
    return len(found), Equal(2.0) in found


def outcome(fn: Any, args: tuple[float, float]) -> Any:
    try:
        return fn(*args)
    except RuntimeError as error:
        return type(error), str(error)


@pytest.mark.parametrize("fn", [total, walked, discarded, functions, by_path, kept, changed, changed_empty, equal])
def test_the_same(fn: Any) -> None:
    residual = hovis.trace(fn, Float, Float)
    for args in ((1.5, 2.5), (4.0, 0.5)):
        assert outcome(residual, args) == outcome(fn, args)


@pytest.mark.parametrize("fn", [total, walked, discarded, functions])
def test_nothing_is_left_of_them(fn: Any) -> None:
    trace = hovis.trace(fn, Float, Float)
    assert len(trace.blocks) == 1
    assert {getattr(op.callee, "__name__", "") for op in trace.ops} <= {"add", "mul", make_tuple.__name__}
    assert all(op.callee is not raise_now for op in trace.ops)


def test_a_set_that_gets_out_keeps_its_order() -> None:
    found, first = hovis.trace(escaped, Float, Float)(1.0, 2.0)
    assert [v.x for v in found] == first
