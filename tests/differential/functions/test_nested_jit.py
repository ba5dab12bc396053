"""``jit``, ``trace`` and their kin used inside of a traced function: what is decorated is traced with what is around it."""

import functools
import operator
import subprocess
import sys

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis import jit
from hovis.ir.model import Effect
from tests.differential.harness.splitting import Programs, check

program = Programs()


@program((3,), (2.5,))
def closes_over(x):
    scale = [x, 2]

    @jit
    def inner(y):
        return y * scale[0] + scale[1]

    scale[1] = 5
    return inner(x), inner(1), scale


@program((3, "up"), (2.5, "down"))
def with_options(x, mode):
    @hovis.jit(static="how")
    def inner(y, how, *, by=2):
        return y * by if how == "up" else y - by

    @hovis.jit(static=("a", "b"), strict=False)
    def both(a, b=1):
        return a + b + x

    return inner(x, mode), inner(x, how="up", by=3), both(1), both(a=2, b=x)


@program((3,))
def recursive(x):
    @jit
    def factorial(n):
        return 1 if n <= 1 else n * factorial(n - 1)

    @jit
    def even(n):
        return n == 0 or odd(n - 1)

    @jit
    def odd(n):
        return n != 0 and even(n - 1)

    return factorial(x), even(x), odd(x)


@program((3,), (-2,))
def nested(x):
    @jit
    def outer(y):
        @jit
        def inner(z):
            return z + x * y
        return inner(y) + inner(1)

    total = 0
    for k in range(4):
        total += outer(k)
    return total


@program((3,), (-2.0,))
def on_either_way(x):
    def plain(y):
        return y + x

    f = jit(plain) if x > 0 else plain
    return f(x), f(2)


@program((3,), (0,))
def raises(x):
    @jit
    def inner(y):
        return 10 // y

    try:
        return inner(x)
    except ZeroDivisionError as error:
        return str(error), type(error), error.__traceback__.tb_next is not None


@program((0,), ("a",))
def raises_out(x):
    @jit
    def inner(y):
        return 10 / y

    return inner(x)


@program((3,))
def rebinds(x):
    count = 0

    @jit
    def bump(by):
        nonlocal count
        count += by
        return count

    return bump(x), bump(1), count


@program((4,))
def generates(x):
    @jit
    def numbers(n):
        for k in range(n):
            yield k * x

    return list(numbers(x)), sum(numbers(2)), next(numbers(1))


@program((3,))
def given_away(x):
    @jit
    def inner(y):
        return y * x

    items = [3, 1, 2]
    return (list(map(inner, items)), sorted(items, key=inner), functools.partial(inner, 2)(), functools.reduce(jit(operator_like(x)), items), max(items, key=inner),
            [f(2) for f in (inner, jit(lambda y: y - x))], {"f": inner}["f"](5))  # fmt: skip


def operator_like(x):
    return lambda a, b: a * b + x


@program((3,))
def is_itself(x):
    @jit
    def inner(y):
        return y * x

    other = inner
    return inner is other, inner == other, inner != jit(inner.__wrapped__), len({inner, other}), {inner: 1}[other], callable(inner), isinstance(inner, type(other))


@program((3,))
def says_what_it_is(x):
    @jit
    def inner(y: int, z=2) -> int:
        """Of use."""
        return y * x + z

    return inner.__name__, inner.__qualname__, inner.__doc__, inner.__wrapped__(2), type(inner).__name__, inner.__annotations__, inner(3), repr(inner)[:12]


@program((3,))
def keeps_attributes(x):
    @jit
    def inner(y):
        return y * x

    inner.tag = x
    before = inner.tag
    inner.tag += 1
    return before, inner.tag, inner(2), sorted(k for k in vars(inner) if k == "tag")


@program((3,))
def wrapped_again(x):
    def logged(f):
        seen = []

        @functools.wraps(f)
        def wrapper(*args):
            seen.append(args)
            return f(*args), len(seen)
        return wrapper

    @logged
    @jit
    def inner(y):
        return y * x

    @jit
    @logged
    def other(y):
        return y + x

    return inner(1), inner(2), other(3), other(x), inner.__name__, other.__name__


@program((3,))
def methods(x):
    class Scaled:
        def __init__(self, by):
            self.by = by

        @jit
        def times(self, y):
            return y * self.by + x

    a = Scaled(2)
    return a.times(x), Scaled(3).times(1), Scaled.times(a, 4)


@program((3,))
def misused(x):
    found = []
    for call in (lambda: jit(5), lambda: jit(lambda y: y, static="z"), lambda: jit(lambda y: y, seconds=-1), lambda: jit(lambda y: y, nonsense=1),
                 lambda: jit(lambda y: y)(1, 2), lambda: jit(classmethod(len)), lambda: jit()):  # fmt: skip
        try:
            call()
        except Exception as error:  # noqa: BLE001
            found.append((type(error).__name__, str(error).partition(" at 0x")[0]))
    return found, x


@program((2.0,), (-1.5,))
def transformed(x):
    @jit
    def inner(y):
        return y * y * x

    squares = hovis.jit(hovis.grad(inner))
    return hovis.grad(inner)(x), hovis.value_and_grad(inner)(3.0), squares(2.0)


@program((2.0,))
def traced_inside(x):
    def inner(y, n):
        return y ** n + x

    trace = hovis.trace(inner, hovis.Float, 3)
    cube = hovis.specialize(inner, hovis.Float, 3)
    with hovis.options(passes="clean") as options:
        again = options.specialize(inner, hovis.Float, 2)
    return len(trace.ops), str(trace.type), cube(2.0), again(3.0), hovis.evaluate(trace, 2.0), str(hovis.return_type(inner, hovis.Float, 1)), trace.fallback


@program((3,))
def made_elsewhere(x):
    return KNOWN(x), KNOWN.__name__, KNOWN(x + 1), [KNOWN(k) for k in range(2)]


@hovis.jit
def KNOWN(y):
    return y * 2


def power(base, by, plus=0):
    return base ** by + plus


CUBE = functools.partial(power, by=3)
TWICE = functools.partial(functools.partial(operator.mul, 2))
PLUS = functools.partial(CUBE, plus=1)
SHOUT = functools.partial(str.replace, "a-b-c", "-")


@program((3,), (2.5,))
def known_partials(x):
    return CUBE(x), CUBE(x, plus=2), CUBE(2, by=x), TWICE(x), PLUS(x), PLUS(1, plus=x), SHOUT("+"), CUBE.func is power, CUBE.args, CUBE.keywords, PLUS.func is power


@program((3,))
def known_partials_raise(x):
    found = []
    for call in (lambda: TWICE(), lambda: TWICE(x, x), lambda: CUBE(), lambda: CUBE(1, nope=2)):
        try:
            call()
        except TypeError as error:
            found.append(str(error))
    return found


@functools.lru_cache(maxsize=None)
def remembered(n):
    remembered.calls.append(n)
    return n * 10


@program((3,), (1,))
def known_caches(x):
    remembered.cache_clear()
    remembered.calls = []
    return remembered(2), remembered(x), remembered(2), remembered.cache_info(), list(remembered.calls), remembered.__wrapped__(4)


@program.parametrize
def test_as_cpython(fn, call, split, fallback):
    check(fn, call, split, fallback)


@pytest.mark.parametrize("make", [hovis.jit, hovis_xla.jit])
def test_under_jit(make):
    for fn, calls, _ in program.found:
        compiled = make(fn)
        for args in (*calls, *calls):
            assert outcome(compiled, args) == outcome(fn, args), fn


def outcome(fn, args):
    try:
        return fn(*args)
    except Exception as error:  # noqa: BLE001
        return type(error), str(error)


def test_what_is_made_is_what_it_would_have_been():
    def make(x):
        @jit(static="mode")
        def inner(y, mode="up"):
            return y * x if mode == "up" else y
        return inner

    residual = hovis.specialize(make, int)
    assert [op.callee for op in residual.trace.ops][-1] is hovis.jit
    inner = residual(3)
    assert type(inner) is type(KNOWN)
    assert (inner(2), inner(2, "down"), inner.__wrapped__(5)) == (6, 2, 15)
    assert inner.cache_info() == {"kept": 2, "made": 2}
    assert residual(3) is not inner


def test_nothing_of_it_is_left():
    for fn in (closes_over, with_options, nested, on_either_way, rebinds, known_partials):
        trace = hovis.trace(fn, *[int, "up"][: fn.__code__.co_argcount])
        assert not [op for op in trace.ops if Effect.OPAQUE in op.effect], (fn, trace)


def test_arrays_through_an_inner_jit_are_one_program():
    def outer(x, w):
        scale = w * 2.0

        @hovis_xla.jit(exact=False)
        def layer(y):
            return np.maximum(y @ scale, 0.0)

        @hovis.jit
        def twice(y):
            return layer(layer(y))

        return twice(x).sum() + layer(x)[0, 0]

    x, w = np.linspace(-1.0, 1.0, 9).reshape(3, 3), np.eye(3)
    compiled = hovis_xla.jit(outer, target="xla")
    assert compiled(x, w) == pytest.approx(outer(x, w), rel=1e-12)
    assert compiled.explain() == "outer runs as one XLA executable."


@pytest.mark.parametrize("fn", [traced_inside, lambda x: str(hovis.explain(KNOWN))[:0], lambda x: (KNOWN.traces, KNOWN.cache_info()["kept"] >= 0)[1]])
def test_hovis_does_not_trace_itself(fn):
    trace = hovis.trace(fn, float)
    assert not trace.fallback
    assert trace.stats["instructions"] < 1000
    places = {at.file for op in trace.ops if op.location for at in op.location.chain()}
    assert not [file for file in places if file.startswith(hovis.front.tracing.PACKAGE)]


def test_a_known_cache_says_why_it_stays():
    remembered.calls = []
    remembered.cache_clear()
    for told in ("its result is expected to be 30, and is checked",) * 2:  # by its function, and by what it holds
        assert told in str(hovis.explain(hovis.trace(lambda: remembered(3))))
        assert remembered(3) == 30


PROGRAM = """
import hovis, time
def f(x, k):
    @hovis.jit
    def inner(y): return y * k + hovis.specialize(lambda z: z + 1, hovis.Int)(1)
    return inner(x), inner
found = hovis.jit(f)(3, 2)
assert found[0] == 8 and found[1](4) == 10
"""


def test_in_a_process_of_its_own():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=300)
