"""Calls: what arguments may be, what is checked at each call, and that nothing is kept, shared or mixed up."""
import collections
import copy
import dataclasses
import gc
import pickle
import subprocess
import sys
import threading
import weakref
from enum import Enum

import numpy as np
import pytest

import hovis_xla
from hovis_xla.abi import call_entry
from hovis_xla.jaxlib import buffers
from tests.xla.harness.checking import agree, compiled, same

pytestmark = pytest.mark.xla

Pair = collections.namedtuple("Pair", "a b")
X = np.arange(3.0)


@dataclasses.dataclass
class Dense:
    w: object
    b: object
    act: str = "tanh"

    def __call__(self, x):
        y = x @ self.w + self.b
        return np.tanh(y) if self.act == "tanh" else y


class Slotted:
    __slots__ = ("bias", "scale")

    def __init__(self, scale, bias):
        self.scale, self.bias = scale, bias


class Network:
    def __init__(self):
        self.layers = [Dense(np.full((3, 3), 0.5), np.ones(3)), Dense(np.eye(3), np.zeros(3), "none")]
        self.config = {"scale": 2, 1: 0.5, (0, "k"): None}
        self.nothing = None

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * self.config["scale"] + self.config[1]


class Mode(Enum):
    UP = 1
    DOWN = 2


def everything(pair, dense, slotted, network, mode, room, dtype, deep):
    y = room.sin(pair.a) * pair.b if mode is Mode.UP else pair.a - pair.b
    z = dense(y) + slotted.scale * slotted.bias
    return network.forward(z).astype(dtype), deep["x"][0]["y"][1] + deep[3]


def arguments(mode=Mode.UP, dtype=np.float32, scale=2.0):
    return (Pair(X, 1.5), Dense(np.eye(3), X), Slotted(scale, X), Network(), mode, np, np.dtype(dtype), {"x": [{"y": (1, 2)}], 3: 1.0})


def test_arguments_of_all_kinds():
    f = compiled(everything)
    for args in (arguments(), arguments(Mode.DOWN), arguments(dtype=np.float64), arguments(scale=3.0), arguments(scale=3)):
        got, wanted = f(*args), everything(*args)
        assert same(got, wanted), (got, wanted)
    assert f.cache_info()["kept"] == 4


def test_an_instance_with_other_attributes_is_another_variant():
    def width(m):
        return getattr(m, "extra", 1.0) * m.scale

    class Any:
        pass

    f = hovis_xla.jit(width, target="xla")
    a, b = Any(), Any()
    a.scale, b.scale, b.extra = 2.0, 2.0, 5.0
    assert [f(a), f(b), f(a)] == [2.0, 10.0, 2.0]
    a.scale = 3  # an int is something else
    assert f(a) == 3.0
    del a.scale
    with pytest.raises(AttributeError, match="scale"):
        f(a)


def test_what_is_known_is_checked_at_every_call():
    def choose(kind, flag, x, fn):
        return fn(x) if flag else (x, kind)

    f = compiled(choose)
    for args in [("a", True, 1.5, abs), ("b", True, 1.5, abs), ("a", False, 1.5, abs), ("a", True, -1.5, float), ("a", 1, 1.5, abs), ("a", None, 2.5, abs), ("b", 0, 1, abs)]:
        for _ in range(2):
            agree(choose, f, *args)


def test_unused_arguments_have_types_all_the_same():
    def what(x, y):
        return x + 1 if type(y) is int else x + 2

    f = compiled(what)
    for _ in range(2):
        assert [f(1.0, 1), f(1.0, 1.0), f(1.0, True), f(1.0, "s"), f(1.0, None)] == [2.0, 3.0, 3.0, 3.0, 3.0]


def test_keywords_and_defaults():
    def f(x, n=2, *more, scale=1.0, **rest):
        return x * n * scale + len(more) + sum(rest.values())

    g = compiled(f)
    for _ in range(2):
        for args, kwargs in [((1.5,), {}), ((1.5, 3), {}), ((1.5, 3, 4), {}), ((1.5,), {"scale": 3.0}), ((1.5,), {"scale": 3}), ((), {"x": 2.0, "n": 1}),
                             ((1.0,), {"p": 1, "q": 2.5}), ((1.0,), {"q": 2.5, "p": 1})]:
            assert g(*args, **kwargs) == f(*args, **kwargs)


def test_wrong_calls_fail_as_they_do():
    def f(x, y):
        return x + y

    g = hovis_xla.jit(f)
    assert g(1, 2) == 3
    for args, kwargs in [((1,), {}), ((1, 2, 3), {}), ((1, 2), {"y": 3}), ((1,), {"z": 3})]:
        with pytest.raises(TypeError) as wanted:
            f(*args, **kwargs)
        with pytest.raises(TypeError) as got:
            g(*args, **kwargs)
        assert got.value.args == wanted.value.args


SCALARS = [True, 3, 2.5, 1 + 2j, -0.0, float("inf"), float("nan"), np.bool_(True), np.int8(-3), np.int16(-300), np.int32(-7), np.int64(-2**62), np.uint8(200),
           np.uint16(60000), np.uint32(2**32 - 1), np.uint64(2**64 - 1), np.float16(0.1), np.float32(0.1), np.float64(0.1), np.complex64(1 - 2j),
           np.complex128(1e300 - 2j), np.array(2.5), np.array(7, np.int8), np.array(True), np.array(1 + 2j, np.complex64)]


def test_scalars_go_through_to_the_last_bit():
    def swap(args, x):
        return {k: v for k, v in enumerate(args[::-1])}, x.sum()

    f = compiled(swap)
    found, total = f(SCALARS, X)
    assert total == 3.0
    for got, value in zip(found.values(), SCALARS[::-1]):
        assert type(got) is type(value)
        assert np.asarray(got).dtype == np.asarray(value).dtype
        assert np.asarray(got).tobytes() == np.asarray(value).tobytes()
    # computed with, they come out of XLA
    g = compiled(lambda *args: [a if isinstance(a, bool | np.bool_) else +a for a in args])
    plain = [v for v in SCALARS if not isinstance(v, np.ndarray)]
    for got, value in zip(g(*plain), plain):
        assert type(got) is type(value)
        assert np.asarray(got).tobytes() == np.asarray(+value if not isinstance(value, bool | np.bool_) else value).tobytes()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (1,), (3, 4), (300, 500), (2, 0, 2)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u8", "?", "c16", "f2"])
def test_arrays_of_all_sizes_and_layouts(shape, dtype):
    a = (np.arange(int(np.prod(shape))) % 100).reshape(shape).astype(dtype)
    f = compiled(lambda x, y: (x, x == y, y + y))
    for x, y in [(a, a.copy()), (np.asfortranarray(a), a[::-1]), (np.broadcast_to(a[:1], shape), a)]:
        if x.shape == shape:
            agree(f.__wrapped__, f, x, y, exact=True)


def test_results_are_the_callers_own():
    f = compiled(lambda x: (x + 1, x * 2))
    for n in (3, 100_000):
        x = np.arange(float(n))
        first, other = f(x)
        second, _ = f(x)
        assert first.flags.writeable
        first[:] = -1
        assert second[1] == 2.0
        assert other[1] == 2.0
        assert x[1] == 1.0
        large = weakref.ref(first)
        del first
        gc.collect()
        assert large() is None
        assert np.array_equal(f(second)[0], second + 1)  # what XLA gave goes in again


def test_arguments_are_not_kept():
    f = compiled(lambda x, d: x + d["y"])
    for n in (10, 1_000_000):
        x, y = np.ones(n), np.ones(n)
        f(x, {"y": y})
        f(x, {"y": y})
        dead = [weakref.ref(x), weakref.ref(y)]
        del x, y
        gc.collect()
        assert [ref() is None for ref in dead] == [True, True]


def test_floating_point_errors_are_raised_where_somebody_asks():
    f = compiled(lambda x: 1.0 / x)
    zero = np.zeros(2)
    assert np.isinf(f(zero)).all()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        f(zero)
    assert np.isinf(f(zero)).all()


def test_integers_past_64_bits_are_python_s():
    def f(a, b):
        return a * b + 1

    g = compiled(f)
    for args in [(3, 4), (2**62, 4), (2**70, 3), (3, 4), (-(2**63), 1), (2**63, 1)]:
        assert g(*args) == f(*args)


def test_threads():
    f = compiled(lambda x, n: (x * n, n + 1))
    f(X, 1)
    wrong = []

    def work(n):
        for _ in range(300):
            y, m = f(X, n)
            if m != n + 1 or not np.array_equal(y, X * n):
                wrong.append((n, y, m))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@hovis_xla.jit
def module_level(x):
    """What it does."""
    return x + 1


class Model:
    def __init__(self, w):
        self.w = w

    @hovis_xla.jit
    def apply(self, x):
        return x @ self.w

    @staticmethod
    @hovis_xla.jit
    def double(x):
        return x * 2

    @classmethod
    @hovis_xla.jit
    def named(cls, x):
        return cls.__name__, x + 1


def test_it_is_a_function_to_others():
    assert module_level.__name__ == "module_level"
    assert module_level.__doc__ == "What it does."
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert copy.copy(module_level) is copy.deepcopy(module_level) is module_level
    model = Model(np.eye(3))
    assert np.array_equal(model.apply(X), X)
    assert np.array_equal(Model(2 * np.eye(3)).apply(X), 2 * X)
    assert Model.apply(model, X).tolist() == X.tolist()
    assert Model.double(2.5) == model.double(2.5) == 5.0
    assert Model.named(1.5) == ("Model", 2.5)


def test_objects_that_are_changed_stay_right():
    def step(model, x):
        model.w = model.w + 1
        return x * model.w

    def push(xs, y):
        xs.append(y)
        return sum(xs)

    for fn, args in [(step, (Model(1.0), 2.0)), (push, ([1.0, 2.0], 3.0))]:
        f = hovis_xla.jit(fn)
        mine, yours = copy.deepcopy(args), copy.deepcopy(args)
        for _ in range(3):
            assert f(*mine) == fn(*yours)
        assert str(vars(mine[0]) if fn is step else mine) == str(vars(yours[0]) if fn is step else yours)


def test_the_same_object_twice():
    def push(a, b):
        a.append(1.0)
        return len(b) * 2.0

    for order in [("same", "other", "same"), ("other", "same", "other")]:
        f = hovis_xla.jit(push)
        for how in order:
            one, two = [1.0], [1.0]
            assert f(one, one if how == "same" else two) == (4.0 if how == "same" else 2.0)


def test_globals_that_change_are_seen():
    scope = {"np": np, "RATE": 2.0, "TABLE": np.ones(3)}
    exec("def f(x):\n    return x * RATE + TABLE", scope)
    f = compiled(scope["f"])
    assert f(X).tolist() == [1.0, 3.0, 5.0]
    scope["RATE"] = 3.0
    assert f(X).tolist() == [1.0, 4.0, 7.0]
    scope["TABLE"][0] = 10.0
    assert f(X).tolist() == [10.0, 4.0, 7.0]
    scope["TABLE"] = np.zeros(3)
    assert f(X).tolist() == [0.0, 3.0, 6.0]


BESIDE_JAX = """
import numpy as np
if {first}:
    import jax
import hovis_xla
def f(x, n):
    for i in range(n):
        x = x * 1.5
    return x, n
g = hovis_xla.jit(f, target="xla")
x = np.arange(3.0)
def check():
    got, n = g(x, 3)
    assert got.dtype == np.float64 and np.array_equal(got, f(x, 3)[0]) and (type(n), n) == (int, 3)
    big = np.arange(1e6)
    assert np.array_equal(g(big, 2)[0], f(big, 2)[0])
check()
import jax, jax.numpy as jnp
h = jax.jit(lambda v: v * 2 + 1)
assert h(x).dtype == jnp.float32 and h(1.5) == 4.0
check()
assert h(x).dtype == jnp.float32 and jax.grad(lambda v: v ** 2)(3.0) == 6.0
jax.config.update("jax_enable_x64", True)
assert h(x).dtype == jnp.float64
check()
g2 = hovis_xla.jit(lambda v: v + 1, target="xla")
assert g2(x).tolist() == [1.0, 2.0, 3.0]
assert h(x).tolist() == [1.0, 3.0, 5.0]
"""


@pytest.mark.parametrize("first", [True, False])
def test_beside_jax(first):
    pytest.importorskip("jax")
    done = subprocess.run([sys.executable, "-c", BESIDE_JAX.format(first=first)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


class Foreign:
    """An array of another library."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __mul__(self, other):
        return "its own"


class Shared(Foreign):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("kind", [Foreign, Shared])
def test_arrays_of_others(kind):
    def f(x, more):
        return x * 2 + more["y"][0]

    theirs = kind(X.copy())
    assert hovis_xla.jit(lambda x: x * 2)(theirs) == "its own"
    g = hovis_xla.jit(f, convert=True, strict=True)
    for _ in range(2):
        assert same(g(theirs, {"y": (theirs,)}), X * 3)
        assert same(g(X, more={"y": (theirs,)}), X * 3)
    assert "stablehlo" in g.lower(theirs, {"y": (theirs,)}).as_text()

    def store(x):
        x[0] = 5.0
        return x.sum()

    assert hovis_xla.jit(store, convert=True)(theirs) == 8.0
    assert theirs.array[0] == 5.0


@pytest.mark.parametrize("target", ["xla", "python"])
def test_nothing_piles_up(target):
    """The long form of this is benchmarks/leaks.py."""
    f = hovis_xla.jit(lambda x, n, d: (x * n + d["w"], n + 1), target=target)
    w = {"w": np.ones(3), "act": "relu"}

    def calls(count):
        for k in range(count):
            f(X, k, w)
        gc.collect()
        return len(gc.get_objects())

    calls(50)
    assert abs(calls(300) - calls(300)) < 30


def test_jax_is_not_imported_by_a_call(monkeypatch):
    asked = []

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            asked.append(name)

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    f = hovis_xla.jit(lambda x, n: (x + n, n), target="xla")
    assert f(np.arange(3.0), 2)[0].tolist() == [2.0, 3.0, 4.0]
    assert f(np.zeros(100_000), 2)[0].sum() == 200_000
    assert "jax" not in asked


def test_large_arrays_are_read_wherever_they_are():
    def both(a, b):
        return a * 2.0 + b, (a - b).sum()

    jitted = hovis_xla.jit(both, target="xla")
    count = call_entry.COPIED_BELOW // 8
    memory, _ = buffers.pinned((2 * count + 8,), np.dtype(float))
    memory[:] = np.linspace(-1.0, 1.0, len(memory))
    before = memory.copy()
    aligned, other, spread = memory[:count], memory[3 : 3 + count], memory[: 2 * count : 2]
    assert aligned.ctypes.data % buffers.ALIGNMENT == 0 != other.ctypes.data % buffers.ALIGNMENT
    for a, b in [(aligned, other), (other, aligned), (other, spread), (spread, aligned), (aligned, aligned), (other, other)]:
        assert all(map(same, jitted(a, b), both(a, b)))
        memory[:count] += 1.0  # what was read once is read again
        assert all(map(same, jitted(a, b), both(a, b)))
        memory[:] = before
    assert "XLA executable" in jitted.explain()


def test_a_global_that_is_not_there_is_asked_for_where_it_is_read():
    def f(a):
        if a > 100:
            print(nowhere)  # noqa: F821
        return a

    jitted = hovis_xla.jit(f, target="xla")
    assert jitted(2) == 2
    with pytest.raises(NameError, match="nowhere"):
        jitted(200)
