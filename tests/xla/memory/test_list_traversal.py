"""Lists that have grown, as wholes: gone through, cut, copied, put together, added up, and made of one another."""

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check

pytestmark = pytest.mark.xla

X = np.array([1.5, -2.0, 0.25, 4.0, -0.0, 3.0])


def halves(n):
    found = []
    while n > 0:
        found.append(n)
        n = n // 2
    return found


def parts(n, k):
    p = halves(n)
    return p[::-1], p[5:2:-1], p[k:], p[-k : k + 2]


def put_together(n):
    p, q = halves(n), [1, 2]
    q.extend(p)
    p += q
    p += [7]
    p.extend(range(n))
    p.extend(p)
    return p + q, [*p, 3], p


def consumed(n):
    p = halves(n)
    return sum(p), any(x > 3 for x in p), sum(a * b for a, b in zip(p, p[1:])), [(k, x * 0.5) for k, x in enumerate(reversed(p))]


def extremes(n):
    p = halves(n)
    return max(p), min(p.copy(), key=lambda v: abs(v - 3))


def while_it_grows(n):
    p = halves(n)
    for x in p:
        if x > 3 and len(p) < 20:
            p.append(x - 1)
    steps = iter(p)
    s = 0
    for x in steps:
        s += x
    p.append(5)
    for x in steps:  # it is over for good
        s += 100 * x
    return p, s


def shrinking(n):
    p = halves(n)
    seen = []
    for x in p:
        seen.append(x)
        if x % 2:
            p.pop()
    return p, seen


def of_an_array(a):
    p = [v for v in a if v > 0]
    pairs = [(k, v) for k, v in enumerate(a) if v > 0]
    return sum(p), [k for k, v in pairs], np.array(p[::-1])


def of_floats(a):
    p = [float(v) for v in a if v > 0]
    return sum(p), sum(p, 0.5), [y for v in p for y in range(int(v))]


def in_rounds(a):
    s = 0.0
    for k in range(1, 4):
        for v in [x * k for x in a if x > k]:
            s += v
    return s


@pytest.mark.parametrize(("fn", "calls"), [
    (parts, [(10, 2), (10, -3), (1000, 40), (0, 1), (3, 0)]),
    (put_together, [(10,), (0,)]),
    (consumed, [(10,), (1,), (0,)]),
    (extremes, [(10,), (1,)]),
    (while_it_grows, [(10,), (0,)]),
    (shrinking, [(10,), (21,), (0,)]),
    (of_an_array, [(X,), (-X,)]),
    (of_floats, [(X,), (-X,)]),
    (in_rounds, [(X,), (-X,)]),
], ids=lambda v: getattr(v, "__name__", ""))  # fmt: skip
def test_what_is_done_with_all_items(fn, calls):
    check(fn, *calls, bails=False)


def test_what_python_raises():
    jitted = hovis_xla.jit(extremes, target="xla", strict=True)
    for n in (10, 0, 4):
        agree(extremes, jitted, n)


def test_what_is_not_compiled_is_right():
    def fn(n, texts):
        p = halves(n)
        for text in texts:
            p.append(text)
        return p[::-1], sorted(map(str, p)), tuple(p), {x: 1 for x in p}

    jitted = hovis_xla.jit(fn)
    for args in ((10, {"a": 1, "b": 2}), (0, {"a": 1, "b": 2})):
        agree(fn, jitted, *args)


def test_what_an_exhausted_iterator_lets_go_of():
    class Seen:
        def __init__(self, log, name):
            self.log, self.name = log, name

        def __del__(self):
            self.log.append(self.name)

    def fn(make, count):
        log = []
        items = []
        for k in range(count):
            items.append(make(log, k))
        steps = iter(items)
        del items
        for x in steps:
            log.append("at")
        del x
        log.append("behind")
        return log, steps

    got, wanted = hovis_xla.jit(fn)(Seen, 3)[0], fn(Seen, 3)[0]
    assert got == wanted
