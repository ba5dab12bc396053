"""Arrays that are read-only: what stores into them raises, be it a store of nothing, and what views of them are."""
import warnings

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import same

pytestmark = pytest.mark.xla

N = 6


def flagged(tmp_path):
    a = np.arange(float(N))
    a.flags.writeable = False
    return a


def mapped(tmp_path):
    file = tmp_path / "numbers"
    np.arange(float(N)).tofile(file)
    return np.asarray(np.memmap(file, np.float64, "r"))


READ_ONLY = {
    "flags": flagged,
    "a view": lambda tmp_path: flagged(tmp_path)[:],
    "every other": lambda tmp_path: np.frombuffer(np.arange(2.0 * N).tobytes())[::2],
    "broadcast_to": lambda tmp_path: np.broadcast_to(np.float64(3.0), (N,)),
    "frombuffer": lambda tmp_path: np.frombuffer(np.arange(float(N)).tobytes()),
    "memmap": mapped,
}


# ------------------------------------------------------------------------------------------------- stores


def item(v, b):
    v[...] = b


def part(v, b):
    v[1:4] = b


def mask(v, b):
    v[v > 2.0] = b


def no_mask(v, b):
    v[v > 100.0] = b


def fancy(v, b):
    v[np.arange(v.size)] = b


def nowhere(v, b):
    v[np.arange(0)] = b


def itself(v, b):
    v[...] = v


def itself_in_part(v, b):
    v[:3] = v[:3]


def added(v, b):
    v += b


def multiplied(v, b):
    v[:4] *= b


def ufunc(v, b):
    np.add(v, b, out=v)


def ufunc_in_part(v, b):
    np.multiply(v[:2], b, out=v[:2])


def summed(v, b):
    np.cumsum(v, out=v)


def clipped(v, b):
    np.clip(v, 0.0, 2.0, out=v)


def filled(v, b):
    v.fill(b)


def sorted_(v, b):
    v.sort()


def copied(v, b):
    np.copyto(v, b)


def copied_where(v, b):
    np.copyto(v, b, where=v > 100.0)


def put(v, b):
    np.put(v, [], [b])


def put_mask(v, b):
    np.putmask(v, v > 100.0, b)


def placed(v, b):
    np.place(v, v > 100.0, [b])


def diagonal(v, b):
    np.fill_diagonal(v.reshape(-1, 1), b)


def at(v, b):
    np.add.at(v, np.arange(0), b)


def in_loop(v, b):
    for k in range(v.size):
        v[k] += b


STORES = [
    item, part, mask, no_mask, fancy, nowhere, itself, itself_in_part, added, multiplied, ufunc, ufunc_in_part, summed, clipped, filled, sorted_,
    copied, copied_where, put, put_mask, placed, diagonal, at, in_loop,
]
#: Functions with ``out=`` of known dimensions are compiled as a result and a store, whose message is a store's.
MESSAGES = {"output array is read-only": "assignment destination is read-only"}


def ending(fn, a, b):
    """What a call gives or raises, and what its argument is then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = fn(a, b)
        except Exception as error:
            found = type(error), str(error)
    return found, a.tolist(), a.flags.writeable


def on_part(store, start, stop):
    def program(a, b):
        store(a[start:stop], b)
        return a.sum()

    return program


@pytest.mark.parametrize("target", ["xla", None])
@pytest.mark.parametrize(("start", "stop"), [(0, N), (3, 3)], ids=["all", "nothing"])
@pytest.mark.parametrize("store", STORES, ids=lambda f: f.__name__)
def test_stores(store, start, stop, target, tmp_path):
    program = on_part(store, start, stop)
    jitted = hovis_xla.jit(program, target=target) if target else hovis_xla.jit(program)
    assert ending(program, np.arange(float(N)), 2.0) == ending(jitted, np.arange(float(N)), 2.0)
    for name, make in READ_ONLY.items():
        expected, found = ending(program, make(tmp_path), 2.0), ending(jitted, make(tmp_path), 2.0)
        if store in (ufunc, ufunc_in_part, summed, clipped) and expected != found:
            (kind, message), *rest = expected
            expected = (kind, MESSAGES[message]), *rest
        assert expected == found, name
    assert ending(program, np.arange(float(N)), 2.0) == ending(jitted, np.arange(float(N)), 2.0)


def test_a_store_of_nothing_is_compiled():
    def program(a, b):
        a[3:3] = b
        return a.sum()

    jitted = hovis_xla.jit(program, strict=True)
    assert jitted(np.arange(6.0), 1.0) == 15.0
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        jitted(flagged(None), 1.0)


def test_a_global_that_is_read_only():
    def program(b):
        G[2:2] = b
        return G.sum()

    G = np.arange(4.0)
    jitted = hovis_xla.jit(program, target="xla")
    assert jitted(1.0) == 6.0
    G.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        jitted(1.0)


def test_a_serialized_program():
    def program(a, b):
        a[3:3] = b
        return np.broadcast_to(a, (6,)), a[:0]

    blob = hovis_xla.jit(program).lower(np.arange(6.0), 1.0).compile().serialize()
    loaded = hovis_xla.load(blob, fallback=program)
    whole, empty = loaded(np.arange(6.0), 1.0)
    assert not whole.flags.writeable and empty.flags.writeable
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        loaded(flagged(None), 1.0)


# ------------------------------------------------------------------------------------------------- views

VIEWS = [
    lambda a, k: (a[:], a[1:3], a[3:3], a[::-1], a[::2], a[None], a[2:2, None]),
    lambda a, k: (a[k:k + 2], a[:0].T, a[:0][::-1], a[5:1], a[9:]),
    lambda a, k: (a[:0].reshape(0, 3), a[:0].reshape(2, 0), a.reshape(2, 3), a.reshape(2, 3)[:, :0], a.reshape(2, 3)[1:, 1]),
    lambda a, k: (np.broadcast_to(a, (6,)), np.broadcast_to(a, (2, 6)), np.broadcast_to(a[:0], (4, 0)), np.broadcast_to(a, (0, 6))),
    lambda a, k: (np.broadcast_to(a, (6,))[1:3], np.broadcast_to(a, (2, 6))[0], np.broadcast_to(a, (2, 6))[:, 2:2], np.broadcast_to(a, (6,)).T),
    lambda a, k: (a.reshape(2, 3).T, a.reshape(2, 3).transpose(1, 0)[:0], np.expand_dims(a[1:1], 0), np.swapaxes(a.reshape(2, 3), 0, 1)),
    lambda a, k: (np.diagonal(a.reshape(2, 3)), np.diagonal(a.reshape(2, 3)[:0]), np.diagonal(a.reshape(2, 3), 5)),
    lambda a, k: (*np.split(a, 3), *np.split(a, [0, 0, 4, 6])),
    lambda a, k: (a, a.real, a[:0].real, a.ravel(), a[:0].ravel(), np.squeeze(a[None]), np.squeeze(a[None, :0])),
    lambda a, k: (a * 2.0, a[:0] * 2.0, a.copy(), a[:0].copy(), a[k > 9], (a + 1.0)[2:2], np.broadcast_to(a * 2.0, (6,))),
]


def shown(fn, a, k):
    """What the results of a call are: their elements, flags, and what a store into them changes."""
    found = fn(a, k)
    facts = []
    for x in found:
        assert type(x) is np.ndarray
        facts.append((x.shape, x.tolist(), x.flags.writeable, np.shares_memory(x, a), x is a))
    for j, x in enumerate(found):
        if x.flags.writeable:
            x[...] = 100.0 + j
        else:
            with pytest.raises(ValueError, match="read-only"):
                x[...] = 0.0
        facts.append([a.tolist(), *(y.tolist() for y in found)])
    return facts


@pytest.mark.parametrize("target", ["xla", None])
@pytest.mark.parametrize("view", VIEWS, ids=range(len(VIEWS)))
def test_views(view, target, tmp_path):
    jitted = hovis_xla.jit(view, target=target) if target else hovis_xla.jit(view)
    for _ in range(2):
        for name, make in {"writeable": lambda tmp_path: np.arange(float(N)), **READ_ONLY}.items():
            expected, found = shown(view, make(tmp_path), 1), shown(jitted, make(tmp_path), 1)
            assert same(expected, found), name
