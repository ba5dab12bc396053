"""What residual functions are lent, and closures whose cells are known: programs that write where one might think nobody does."""
from __future__ import annotations

import pytest

import hovis
from tests.differential.harness.compare import observe


def appends(n):
    seen = [0]

    def go(i):
        if i >= n:
            return len(seen)
        seen.append(i)
        return go(i + 1) + seen[0]

    return go(0), seen


def writes_deep(n):
    held = {"a": [1, 2], "b": {"c": 3}}

    def go(i):
        if i >= n:
            held["b"]["c"] += i
            return 0
        return held["a"][0] + go(i + 1)

    return go(0), held


def counts(n):
    total = 0

    def go(i):
        nonlocal total
        if i < n:
            total += i
            go(i + 1)

    go(0)
    return total


def gives_back(n):
    marks = [1, 2]

    def go(i):
        return marks if i >= n else go(i + 1)

    found = go(0)
    found.append(n)
    return marks, found is marks


def is_it(n):
    one, other = [1], [1]

    def go(i, held):
        if i >= n:
            return held is one, held is other, held == other
        return go(i + 1, held)

    return go(0, one), go(0, other), go(1, [1])


def raises_it(n):
    held = [1]

    def go(i):
        if i >= n:
            raise ValueError(held)
        go(i + 1)

    try:
        go(0)
    except ValueError as error:
        error.args[0].append(2)
    return held


def keeps_it(n):
    held = [1]

    def go(i, kept):
        if i >= n:
            kept.append(held)
            return len(held)
        return go(i + 1, kept)

    kept = []
    size = go(0, kept)
    kept[0].append(3)
    return size, held, kept[0] is held


def changes_between(n):
    held = [1]

    def go(i):
        return sum(held) if i >= n else go(i + 1) + len(held)

    first = go(0)
    held.append(5)
    second = go(0)
    held[0] = 7
    return first, second, go(0), held


def yields_it(n):
    held = [1]

    def go(i):
        if i >= n:
            yield held
        else:
            yield len(held)
            yield from go(i + 1)

    out = []
    for x in go(0):
        held.append(4)
        out.append(x if isinstance(x, int) else list(x))
    return out, held


class Node:
    def __init__(self, value, parts=()):
        self.value = value
        self.parts = list(parts)
        self.visits = 0

    def visit(self, n):
        if n <= 0:
            return self.value
        return self.value + sum([part.visit(n - 1) for part in self.parts])

    def mark(self, n):
        self.visits += 1
        return self.visits if n <= 0 else self.parts[n % len(self.parts)].mark(n - 1)


def tree(n):
    leaf = Node(1)
    leaf.parts.append(leaf)
    root = Node(5, [leaf, Node(2, [leaf])])
    return root.visit(n), leaf.visits


def marked(n):
    leaf = Node(1)
    leaf.parts.append(leaf)
    root = Node(5, [leaf, Node(2, [leaf])])
    return root.mark(n), root.visits, leaf.visits


def calls_back(n):
    held = [1]

    def note():
        held.append(len(held))

    def go(i, k):
        if i >= n:
            k()
            return list(held)
        size = len(held)
        return go(i + 1, k) + [size, len(held)]

    return go(0, note)


def written_later(n):
    def late():
        return value

    out = []
    for value in range(2):
        def go(i):
            return value if i >= n else go(i + 1)

        out += [go(0), late()]
    value = "last"
    return out + [go(0), late()]


def parity(n):
    def even(i):
        return True if i == 0 else odd(i - 1)

    def odd(i):
        return False if i == 0 else even(i - 1)

    return even(n), odd(n)


def replaced(n):
    def go(i):
        return "first" if i >= n else go(i + 1)

    old = go
    out = [go(0)]

    def go(i):
        return "second" if i >= n else old(i + 1)

    out.append(go(0))
    return out


def deleted(n):
    def go(i):
        return helper if i >= n else go(i + 1)

    helper = 3
    out = [go(0)]
    del helper
    try:
        go(0)
    except NameError as error:
        out.append(str(error))
    return out


def reset_by_generator(n):
    def make():
        step = 1

        def go(i):
            return i if i >= n else go(i + step)

        yield go
        step = 2
        yield go

    made = make()
    first = next(made)
    out = [first(0)]
    second = next(made)
    return out + [first(0), second(0), first is second]


def ways(n):
    def way(k, go_on):
        return lambda i: go_on(i + k) if i < n else None

    both = [way(1, lambda i: i), way(2, lambda i: -i)]

    def go(i):
        for one in both:
            found = one(i)
            if found is not None:
                return found, one is both[0], one is both[1]
        return go(i - 1) if i > 0 else None

    return go(n), go(n + 1), go(0)


def chosen(n):
    fs = [lambda i: i + 1, lambda i: i + 2]
    out = []
    for f in fs:
        if n > 3:
            f = fs[0]
        out.append((f(n), f is fs[0], f is fs[1], f == fs[0]))
    return out


class Base:
    def name(self, n):
        return "base" if n <= 0 else self.name(n - 1)


def classes(n):
    class Derived(Base):
        def name(self, n):
            return "derived " + super().name(n) if n > 2 else __class__.__name__

    return Derived().name(n)


def growing(n):
    def go(i, k):
        return k(i) if i >= n else go(i + 1, lambda j: k(j) + 1)

    return go(0, lambda j: j)


def further(n):
    def go(i):
        if i < n:
            found = go(i + 1)
            if found is not None:
                return found
            return i + 1
        return None

    return go(0)


def linked(n):
    def go(i, rest):
        if i >= n:
            total = 0
            while rest is not None:
                head, rest = rest
                total = total * 3 + head
            return total
        return go(i + 1, (i, rest))

    return go(0, None)


PROGRAMS = [
    appends, writes_deep, counts, gives_back, is_it, raises_it, keeps_it, changes_between, yields_it, tree, marked, calls_back, written_later,
    parity, replaced, deleted, reset_by_generator, ways, chosen, classes, growing, linked, further,
]  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_lent(fn):
    for residual in (hovis.specialize(fn, int), hovis.jit(fn)):
        for n in (0, 1, 2, 3, 5):
            assert observe(residual, (n,)) == observe(fn, (n,)), n
