"""Functions of which XLA can run a part: the rest stays Python, and nobody can tell but by the time it takes."""
import traceback

import numpy as np
import pytest

import hovis_xla
from hovis_xla.partition import decide
from tests.xla.harness.checking import agree

pytestmark = pytest.mark.xla

X = np.linspace(-1.0, 1.0, 8)
LONG = np.linspace(-2.0, 3.0, 600)


def long():
    """A list that is too long to be looked into, and so is stored into where it is."""
    return [*range(300)]


def pieces_of(jitted):
    return [p for v in jitted._variants.values() if v.parts is not None for p in v.parts.pieces]


def in_parts(fn, *calls, used=1):
    """fn agrees with itself compiled in parts, of which at least so many have run as executables."""
    jitted = hovis_xla.jit(fn)
    for args in calls:
        for _ in range(2):
            agree(fn, jitted, *args)
    ran = [p for p in pieces_of(jitted) if p.calls]
    assert len(ran) >= used, jitted.explain()
    return jitted


def collects(x, n):
    out = []
    for i in range(n):
        s = 0.0
        for j in range(1000):
            s = s * 0.5 + x[j % 8] * i
        out.append([s])
    return out


def test_a_loop_inside_of_a_loop_that_appends():
    in_parts(collects, (X, 5), (X * 2, 0), (X, 3))


def repeated_sum(x):
    y = np.repeat(x, 2 * (x > 0))
    s = 0.0
    for i in range(len(y)):
        s = s + y[i] * i
    return s, len(y)


def test_how_often_something_is_repeated_decides_the_next_piece():
    jitted = in_parts(repeated_sum, (X,), (X - 1,), (X + 5,), (np.array([-1.0, 2.0]),))
    assert "border: numpy.repeat" in jitted.explain()


def test_a_function_that_would_be_cut_up_too_often_stays_python(monkeypatch):
    monkeypatch.setattr(decide, "ROUNDS", 0)
    assert not pieces_of(in_parts(repeated_sum, (X,), (X - 1,), used=0))


def test_lengths_are_compiled_a_few_times_and_then_when_they_come_again():
    jitted = hovis_xla.jit(repeated_sum)
    for k in range(20):
        agree(repeated_sum, jitted, np.linspace(-1, 1, 40) + k / 20)
    assert 0 < sum(p.compiled for p in pieces_of(jitted)) <= 6


def counted(x, n):
    d = {}
    for i in range(n):
        t = 0.0
        k = 0
        while t < 1000.0:
            t = t + x[i] * x[i] + 0.5
            k += 1
        d[f"k{i}"] = k
    print("done", d)
    return d


def test_dicts_and_texts_between_loops():
    in_parts(counted, (X, 4), (X, 8))


def leaves_in_many_ways(x, out, limit):
    out.append("begin")
    s = 0.0
    for i in range(len(x)):
        for j in range(300):
            s = s + x[i] * j
            if s > limit:
                out.append(("over", i, j))
                return s
            if s < -limit:
                raise ValueError(f"under at {i}, {j}: {s:.3f}")
        if s == 0.0:
            break
    else:
        out.append(s)
        return -s
    out.append("zero")
    return None


def test_a_loop_is_left_in_many_ways():
    calls = [(LONG[200:], long(), 1e9), (LONG, long(), 1e6), (np.zeros(9), long(), 5.0), (LONG[400:], long(), 1e3), (LONG[300:340], long(), 1e12)]
    in_parts(leaves_in_many_ways, *calls)


def divides(x, out):
    out.append(len(x))
    total = 0
    for i in range(len(x)):
        for k in range(50):
            total += 1000 // (x[i] - k)
    out.append(total)
    return total


def test_an_exception_in_a_piece_is_raised_by_the_original_line():
    jitted = hovis_xla.jit(divides)
    for good in (np.array([100, 200]), np.array([99, 98, 97])):
        agree(divides, jitted, good, [])
    told = []
    with np.errstate(all="ignore"):
        for fn in (divides, jitted):
            out = []
            with pytest.raises(ZeroDivisionError) as caught:
                fn([100, 7], out)
            assert out == [2]
            told.append([line for line in traceback.format_tb(caught.tb) if __file__ in line][-1])
    assert told[0] == told[1]


def big_numbers(n, out):
    out.append(n)
    q = n
    for i in range(n, n + 400):
        q = q * 3 + i
    out.append(q)
    return q % 1000


def test_an_integer_that_grows_past_64_bits_in_a_piece():
    jitted = hovis_xla.jit(big_numbers)
    for n in (1, 2, 3, 1):
        agree(big_numbers, jitted, n, [])


def caught_inside(x, out):
    for v in range(3):
        try:
            s = 0
            for i in range(100):
                s += 10 // (x[i % len(x)] - v)
            out.append(s)
        except ZeroDivisionError as error:
            out.append(str(error))
    return out


def test_handlers_around_loops():
    jitted = hovis_xla.jit(caught_inside)
    agree(caught_inside, jitted, [5, 6, 7], [])
    agree(caught_inside, jitted, [5, 1, 7], [])


def sized_by_data(x):
    m = float(np.sum(x * x))
    n = int(m) % 7 + 2
    z = np.zeros((n, n)) + x[0]
    w = np.sin(z) @ np.cos(z) + 1
    for _ in range(30):
        w = w * 0.5 + z
    return n, w.sum()


def test_a_shape_that_is_computed_from_data():
    in_parts(sized_by_data, (X,), (LONG,), (X * 3,))


def grows(x, k):
    acc = np.zeros(0)
    for i in range(k):
        acc = np.concatenate([acc, x * i])
        s = 0.0
        for j in range(200):
            s = s + acc[j % len(acc)]
        acc = acc - s
    return acc


def test_an_array_that_grows_in_a_loop():
    in_parts(grows, (X, 3), (X, 6))


def hooked(x, hook):
    s = 0.0
    for i in range(3000):
        s = s + x[i % 8] * i
    hook(s)
    y = np.exp(x / 9) * s + 1
    hook(y)
    return y


def test_opaque_calls_split():
    jitted = hovis_xla.jit(hooked)
    seen, wanted = [], []
    for _ in range(2):
        assert np.array_equal(jitted(X, seen.append), hooked(X, wanted.append))
    assert [type(a) for a in seen] == [type(a) for a in wanted]
    assert all(np.array_equal(a, b) for a, b in zip(seen, wanted))
    assert any(p.calls for p in pieces_of(jitted))


def unknown_types(box):
    a, b = box["a"], box["b"]
    t = a * b + a
    for _ in range(2000):
        t = t * 0.5 + a
    return t


def test_types_may_turn_up_at_run_time():
    jitted = hovis_xla.jit(unknown_types)

    class Box(dict):
        pass

    for box in ({"a": 1.5, "b": 2.0}, Box(a=1.5, b=2.0), Box(a=X, b=3), Box(a=X, b=X), Box(a=2, b=True)):
        agree(unknown_types, jitted, box)


def steps(x, out):
    """A generator whose steps are loops."""
    for k in range(3):
        s = 0.0
        for i in range(500):
            s = s + x[i % 8] * k
        out.append(k)
        yield s


def drains(x, out):
    return list(steps(x, out))


def test_generators_between_loops():
    in_parts(drains, (X, []), used=0)


def recursive(n, x):
    if n < 2:
        return float(n)
    s = 0.0
    for i in range(200):
        s = s + x[i % 8] * n
    return s + recursive(n - 1, x) + recursive(n - 2, x)


def test_recursion_stays_python_and_its_loops_do_not():
    jitted = hovis_xla.jit(recursive)
    agree(recursive, jitted, 6, X)
    agree(recursive, jitted, 7, X)


def scales(x, out):
    out.append(0)
    y = np.sqrt(np.abs(x)) * 2 + x * x - 1
    z = np.tanh(y) @ np.ones(len(y))
    out.append(z)
    return z


def test_errors_of_floating_point_that_somebody_watches():
    jitted = in_parts(scales, (np.linspace(-2.0, 3.0, 20000), long()))
    with np.errstate(divide="raise"):
        agree(scales, jitted, LONG, long())
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        jitted(LONG * 1e200, long())


def raises_in_handlers(x, out, k):
    for i in range(k):
        try:
            s = 0.0
            for j in range(40):
                s = s + x[(i + j) % 9]
            if s > 3:
                raise RuntimeError(s)
            out.append(s)
        except RuntimeError as error:
            for j in range(30):
                s = s * 0.5 + j
            out.append((str(error), s))
    return out


def test_pieces_in_handlers():
    jitted = hovis_xla.jit(raises_in_handlers)
    for x in (np.arange(9.0), np.arange(9.0) - 6, np.arange(5.0)):
        agree(raises_in_handlers, jitted, x, [], 4)


def unknown(*given):
    return eval("None")


def transposed_and_flat(x):
    y = np.exp(x).T + np.cos(x.T) * 3
    for _ in range(20):
        y = np.sin(y) + y
    unknown(y)
    z = y.reshape(-1)
    z[0] = 77
    return y, z


def places_and_flat(x):
    v = np.argwhere(x > 0.5)
    big = x @ x.T
    for _ in range(20):
        big = big @ big / np.abs(big).max()
    w = v.reshape(-1)
    w *= 2
    unknown(w)
    return v, w, big.sum()


@pytest.mark.parametrize("fn", [transposed_and_flat, places_and_flat])
def test_the_order_of_elements_in_memory_where_python_looks_at_it(fn):
    x = np.random.default_rng(0).random((12, 10))
    jitted = hovis_xla.jit(fn, target="xla")
    for given in (x, np.asfortranarray(x)):
        for _ in range(2):
            agree(fn, jitted, given.copy(order="K"))
