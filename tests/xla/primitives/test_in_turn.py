"""Primitives that write to, or read, what others see are called from the compiled program, in order and once; random programs of them, beside CPython."""
import contextlib
import io
import os
import random
import traceback

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.lattice import Array

pytestmark = pytest.mark.xla

COUNT = 0
LOG = []
STATE = {"k": 0.0}
G = np.arange(4.0)
RNG = np.random.default_rng(0)
FILE = io.StringIO()


class Logger:
    def __init__(self):
        self.k = 0
        self.items = []

    def add(self, x):
        self.k += 1
        self.items.append(x)


LOGGER = Logger()


@hovis.primitive
def counting(x):
    global COUNT
    COUNT += 1
    return x * 2.0 + COUNT


@hovis.primitive
def noted(x):
    LOG.append(x)


@hovis.primitive
def logged(x):
    LOGGER.add(x)
    return LOGGER.k


@hovis.primitive
def drawn(k):
    return RNG.normal(size=4)


drawn.defresult(lambda k: Array(np.ndarray, np.dtype(float), 1), lambda m, args, kwargs: (4,), alone=False)


@hovis.primitive
def doubled(a):
    a *= 2.0


@hovis.primitive
def into_global(x):
    G[1] = x
    return G[0] * x


@hovis.primitive
def from_global(x):
    return x + G.sum()


@hovis.primitive
def kept(a):
    LOG.append(a)


@hovis.primitive
def shown(a):
    print("a =", np.round(a, 6))


@hovis.primitive
def failing(x):
    LOG.append(x)
    if x > 3.0:
        raise ValueError("too large", x)
    return x


@hovis.primitive
def written(x):
    FILE.write(f"{x:.6f}\n")


@hovis.primitive
def opened(x):
    with open(os.devnull, "a") as file:
        file.write(f"{x}\n")
    FILE.write("opened\n")


@hovis.primitive
def state_set(x):
    STATE["k"] = x


@hovis.primitive
def state_got(x):
    return STATE["k"] * x


@hovis.primitive
def half_done(a):
    a[0] = 9.0
    if a[1] > 5.0:
        raise KeyError("half")
    a[2] = 8.0


@hovis.primitive
def scratch(a):
    b = np.zeros(4)
    for k in range(4):
        b[k] = a[k] * 2.0
    return b


def counts(x, n):
    s = 0.0
    for k in range(n):
        s += counting(x + k)
        if k % 2:
            noted(s)
    return s


def stores_and_shows(a, n):
    for k in range(n):
        doubled(a)
        a[0] += 1.0
        shown(a + k)
    return a.sum()


def by_another_way(a, x):
    a[0] = 5.0
    t = into_global(x)
    b = a * 2.0
    t += from_global(a.sum())
    a[1] = t
    return b, t, a + 1


def raises_in_a_loop(a, n):
    s = 0.0
    for k in range(n):
        s += failing(a[k])
        a[k] = -1.0
    return s


def files(a, n):
    for k in range(n):
        kept(a * k)
        written(a[0] + k)
        opened(a[1])
    return logged(1.0) + a.sum()


def keeps_what_is_stored_into(a):
    kept(a)
    a[0] = 3.0
    return a * 2


def keeps_a_part(a):
    kept(a[1:])
    a[2] = 3.0
    return a * 2


def sets_and_gets(x, n):
    s = 0.0
    for k in range(n):
        state_set(x + k)
        s += state_got(2.0)
    return s


def draws(a, n):
    s = np.zeros(4)
    for k in range(n):
        s += drawn(k) * a
        if s[0] > 0.0:
            noted(k)
    return s


def views(a):
    v = a[1:]
    doubled(v)
    noted(a[2])
    b = v * 1.0
    half_done(a)
    return b + a[1:]


def caught(a, n):
    s = np.zeros(4)
    try:
        for _ in range(n):
            half_done(a)
            s += a
            a[1] += 3.0
    except KeyError:
        noted(s.sum())
    return s


def large_ints(x, n):
    k = 2**60
    for _ in range(n):
        noted(x)
        k *= 2
        counting(x)
    return k


def gives_up_behind(a, n):
    k = n + 2**61
    for j in range(3):
        into_global(a[j])
        a[j] = from_global(1.0)
        k *= 2
    return k, a.sum()


def twice(a):
    b = scratch(a)
    b[0] = 7.0
    return b + scratch(a)


def four():
    return np.arange(4.0)


CASES = [
    (counts, lambda: (1.5, 5), True), (stores_and_shows, lambda: (four(), 3), True), (stores_and_shows, lambda: (G, 2), True),
    (by_another_way, lambda: (four(), 2.0), True), (by_another_way, lambda: (G, 2.0), True), (raises_in_a_loop, lambda: (np.arange(6.0), 4), True),
    (raises_in_a_loop, lambda: (np.arange(6.0), 6), True), (raises_in_a_loop, lambda: (G, 4), True), (files, lambda: (four(), 3), True),
    (keeps_what_is_stored_into, lambda: (four(),), True), (keeps_a_part, lambda: (four(),), False), (sets_and_gets, lambda: (1.0, 4), True), (draws, lambda: (four(), 5), True),
    (views, lambda: (four(),), True), (views, lambda: (four() * 6,), True), (views, lambda: (G,), True), (caught, lambda: (four(), 3), True),
    (large_ints, lambda: (1.0, 2), True), (large_ints, lambda: (1.0, 5), True), (gives_up_behind, lambda: (four(), 1), True),
    (gives_up_behind, lambda: (G, 2**60), True), (twice, lambda: (four(),), True),
]  # fmt: skip


def begun():
    global COUNT
    COUNT = 0
    LOG.clear()
    STATE["k"] = 0.0
    G[:] = four()
    RNG.bit_generator.state = np.random.default_rng(0).bit_generator.state
    LOGGER.k = 0
    LOGGER.items.clear()
    FILE.seek(0)
    FILE.truncate()


def rounded(value):
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(rounded, value)]
    return f"{np.round(value, 7)!r} {type(value).__name__}" if isinstance(value, float | np.ndarray) else repr(value)


def history(fn, given, times=3):
    """What several calls give, raise where, print, write, and leave behind."""
    begun()
    found = []
    for _ in range(times):
        args, out = given(), io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                result = rounded(fn(*args))
            except (ValueError, KeyError) as error:
                result = repr(error), traceback.extract_tb(error.__traceback__)[-1].lineno
        seen = args, LOG, list(STATE.values()), G, LOGGER.items
        found.append((result, out.getvalue(), FILE.getvalue(), COUNT, LOGGER.k, *map(rounded, seen)))
    return found


@pytest.mark.parametrize(("fn", "given", "compiled"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_in_order_and_once(fn, given, compiled):
    expected = history(fn, given)
    assert history(hovis.jit(fn), given) == expected
    assert history(hovis_xla.jit(fn), given) == expected
    whole = hovis_xla.jit(fn, target="xla")
    assert history(whole, given) == expected
    assert ("one XLA executable" in whole.explain()) is compiled


def test_what_cannot_be_told_is_said_with_its_place():
    fn = hovis_xla.jit(keeps_a_part, target="xla")
    fn(four())
    line = kept.fn.__code__.co_firstlineno + 2
    assert f"kept may keep the array that it is given ({__file__}:{line})" in fn.explain()
    assert f"({__file__}:{keeps_a_part.__code__.co_firstlineno + 1}, in keeps_a_part)" in fn.explain()


def test_by_lanes_and_derivatives():
    begun()
    np.testing.assert_array_equal(hovis.vmap(lambda v: counting(v))(np.arange(3.0)), [1.0, 4.0, 7.0])
    assert COUNT == 3
    with pytest.raises(ValueError, match="too large"):
        hovis.vmap(lambda v: failing(v))(np.arange(6.0))
    assert LOG == [0.0, 1.0, 2.0, 3.0, 4.0]

    def loss(x):
        noted(hovis.stop_gradient(x))
        return x * x
    for derivative in (hovis.grad(loss), hovis_xla.jit(hovis.grad(loss))):
        begun()
        assert derivative(3.0) == 6.0
        assert LOG == [3.0]
    with pytest.raises(hovis.DerivativeError, match="noted.*test_in_turn.py"):
        hovis.grad(lambda x: noted(x) or x * x)(3.0)


class Writer:
    """Writes programs of stores, branches and loops around calls of primitives."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = ["def f(a, b, x, n):", " s = 0.0", " u = a * 2.0", " v = b[1:]"]
        self.block(1, 0)
        self.lines += [" return s, u, a + b, v * 1.0"]

    def block(self, indent, depth):
        for _ in range(self.random.randint(2, 4)):
            self.statement(" " * indent, depth)

    def array(self):
        return self.random.choice("aabuu")

    def number(self):
        return self.random.choice(("x", "s", f"{self.array()}[{self.random.randrange(4)}]", f"{self.array()}.sum()", "v[1]"))

    def statement(self, pad, depth):
        if depth < 2 and self.random.random() < 0.25:
            if self.random.random() < 0.5:
                self.lines.append(f"{pad}for k{depth} in range({self.random.choice(('n', '2'))}):")
            else:
                self.lines.append(f"{pad}if {self.number()} > {self.random.choice(('0.0', '2.5'))}:")
            self.block(len(pad) + 1, depth + 1)
            return
        k, w, x, y = self.random.randrange(4), self.array(), self.number(), self.number()
        self.lines.append(pad + self.random.choice((
            f"s += counting({x})", f"noted({x})", f"s += logged({x})", f"u += drawn({k})", f"doubled({w})", f"s += into_global({x})", f"s += from_global({x})",
            f"kept({w} * {y})", f"shown({w})", f"s += failing({x} * 0.1)", f"written({x})", f"state_set({x})", f"s += state_got({y})", f"half_done({w})", "doubled(v)",
            f"u = scratch({w})", f"{w}[{k}] = {y}", f"{w} *= 0.5", f"s = s * 0.5 + {x}", f"u = {w} + {y}", f"v[{k % 3}] += 1.0",
        )))  # fmt: skip


ROUNDS = int(os.environ.get("HOVIS_EXAMPLES", "60")) // 4


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_random_programs(seed):
    scope = dict(globals())
    text = "\n".join(Writer(seed).lines)
    exec(compile(text, f"<program {seed}>", "exec"), scope)
    fn = scope["f"]
    given = [lambda: (four(), four() + 1.0, 1.5, 2), lambda: (G, four() * 0.5, 2.0, 3)][seed % 2]
    expected = history(fn, given)
    assert history(hovis_xla.jit(fn, target="xla"), given) == expected, text
