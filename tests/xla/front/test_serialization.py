"""Executables to look at, and as bytes: what comes back is the same function, and nothing else is taken."""
import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis import Array, Float, Int, const
from hovis_xla.abi.argument_plan import taker
from hovis_xla.jaxlib import self_test
from hovis_xla.runtime import serialization
from tests.xla.harness.checking import same

pytestmark = pytest.mark.xla

TABLE = np.array([1.5, 2.5, 3.5])
X = np.arange(12.0).reshape(3, 4)


def build(fn, *specs):
    return hovis_xla.compile(hovis.trace(fn, *specs))


def affine(x, w, n):
    return {"out": x @ w["a"] + w["b"], "n": n + 1, "half": 0.5, "pair": (n, "ok", None)}


AFFINE = (Array("float64", (3, 4)), {"a": Array("float64", (4, 2)), "b": Array("float64", (2,)), "kind": const("linear")}, Int)
W = {"a": np.ones((4, 2)), "b": np.array([0.5, -0.5]), "kind": "linear"}


def test_what_there_is_to_look_at():
    compiled = build(affine, *AFFINE)
    assert "HloModule" in compiled.as_text()
    assert compiled.cost_analysis()["flops"] > 0
    assert compiled.memory_analysis().argument_size_in_bytes >= 8 * (12 + 8 + 2)
    assert isinstance(compiled.serialize(), bytes)
    lowered = hovis_xla.jit(affine).lower(X, W, 3)
    assert "stablehlo.dot_general" in lowered.as_text()
    assert same(lowered.compile()(X, W, 3), affine(X, W, 3))


def test_there_and_back():
    compiled = build(affine, *AFFINE)
    loaded = hovis_xla.load(compiled.serialize())
    assert same(loaded(X, W, 3), affine(X, W, 3))
    assert "HloModule" in loaded.as_text()
    assert repr(loaded) == "<hovis_xla executable affine(x, w, n)>"


def results(n, x):
    if n > 0:
        return [x + n, (n, True, 2 + 1j, b"by", np.float32(1.5))]
    return n * 2, x


def arrays(x):
    return x + TABLE, TABLE.sum()


def printing(n):
    for i in range(n):
        print("round", i, sep="-")
    return n


def saying(n):
    print("many" if n > 2 else [n, 0.5])
    return n


@pytest.mark.parametrize(("fn", "specs", "calls"), [
    (saying, (Int,), [(3,), (1,)]),
    (results, (Int, Float), [(3, 0.5), (-3, 0.5)]),
    (arrays, (Array("float64", (3,)),), [(np.zeros(3),)]),
    (printing, (Int,), [(3,)]),
])
def test_results_of_all_kinds(fn, specs, calls, capsys):
    loaded = hovis_xla.load(build(fn, *specs).serialize())
    for args in calls:
        expected = fn(*args), capsys.readouterr().out
        got = loaded(*args), capsys.readouterr().out
        assert got[1] == expected[1]
        assert same(got[0], expected[0])


def test_arrays_of_the_program_are_stored():
    blob = build(arrays, Array("float64", (3,))).serialize()
    script = "import sys, numpy as np, hovis_xla; print(hovis_xla.load(sys.stdin.buffer.read())(np.zeros(3)))"
    found = subprocess.run([sys.executable, "-c", script], input=blob, capture_output=True, check=True)
    assert found.stdout.decode().strip() == str(arrays(np.zeros(3)))


def test_calls_that_need_python():
    def divide(n, m):
        return n // m

    blob = build(divide, Int, Int).serialize()
    alone, helped = hovis_xla.load(blob), hovis_xla.load(blob, fallback=divide)
    assert alone(7, 2) == helped(7, 2) == 3
    with pytest.raises(hovis.front.tracing.TraceError, match="fallback"):
        alone(7, 0)
    with pytest.raises(hovis.front.tracing.TraceError, match="fallback"):
        alone(2**70, 3)
    assert helped(2**70, 3) == 2**70 // 3
    with pytest.raises(ZeroDivisionError):
        helped(7, 0)
    with pytest.raises(TypeError, match="do not fit"):
        alone(7.5, 2)
    assert helped(7.5, 2) == 3.0
    with pytest.raises(TypeError, match="takes 2 arguments"):
        alone(7)


def test_arguments_that_do_not_fit():
    loaded = hovis_xla.load(build(affine, *AFFINE).serialize())
    for bad in ({**W, "kind": "other"}, {"b": 1}, [W], {**W, "a": np.ones((4, 3))}, {**W, "a": np.ones((4, 2), "f4")}):
        with pytest.raises(TypeError, match="do not fit"):
            loaded(X, bad, 3)


def rewritten(blob, **changes):
    text, _, code = blob[len(serialization.MAGIC) + 32 :].partition(b"\n")
    rest = json.dumps({**json.loads(text), **changes}).encode() + b"\n" + code
    return serialization.MAGIC + serialization.hashlib.sha256(rest).digest() + rest


def test_bytes_from_elsewhere():
    blob = build(affine, *AFFINE).serialize()
    assert same(hovis_xla.load(rewritten(blob))(X, W, 3), affine(X, W, 3))
    for changes, said in [({"jaxlib": "0.1"}, "jaxlib '0.1'"), ({"cpu": "vax"}, "CPU"), ({"flags": "--x"}, "XLA_FLAGS"),
                          ({"options": {"exact": False, "native_loop_bytes": 1}}, "options")]:
        with pytest.raises(hovis_xla.StorageError, match=said):
            hovis_xla.load(rewritten(blob, **changes))


def test_damaged_bytes():
    blob = build(affine, *AFFINE).serialize()
    for bad in (b"", b"nonsense", blob[:20], blob[:-1], blob[:100] + b"\0" + blob[101:]):
        with pytest.raises(hovis_xla.StorageError):
            hovis_xla.load(bad)
    with pytest.raises(TypeError, match="bytes"):
        hovis_xla.load("text")
    with pytest.raises(ValueError, match="damaged"):
        hovis_xla.load(blob + b"more")


#: What stands in the place of a part of a header.
JUNK = [None, True, -1, 2**70, 1.5, float("nan"), "", "x", "O", "list or print(1)", [], {}, ["known"], ["leaf", "x", 1], ["build", "exec", []], "nested"]


def places(form):
    """All containers in a header, and where something stands in them."""
    for key in form if isinstance(form, dict) else range(len(form)) if isinstance(form, list) else ():
        yield form, key
        yield from places(form[key])


def damaged(blob, drawn):
    """The blob with something in its header changed, and a digest that fits."""
    text, _, code = blob[len(serialization.MAGIC) + 32 :].partition(b"\n")
    kind = drawn.random()
    if kind < 0.7:
        header = json.loads(text)
        for _ in range(drawn.choice([1, 1, 2, 3])):
            holder, key = drawn.choice(list(places(header)))
            if drawn.random() < 0.2:
                del holder[key]
                continue
            holder[key] = drawn.choice([*JUNK, holder[drawn.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))]])
        text = json.dumps(header).replace('"nested"', "[" * 3000 + "]" * 3000).encode()
    elif kind < 0.9:
        changed = bytearray(text)
        for _ in range(drawn.choice([1, 1, 4])):
            changed[drawn.randrange(len(changed))] ^= 1 << drawn.randrange(8)
        text = bytes(changed)
    else:
        text = drawn.choice([text[: drawn.randrange(len(text))], b"", b"[" * 100_000, b"7", b"null", b"\xff" + text, text * 2])
    rest = text + b"\n" + code
    return serialization.MAGIC + serialization.hashlib.sha256(rest).digest() + rest


def test_damaged_headers(capfd):
    blobs = [build(fn, *specs).serialize() for fn, specs in [(affine, AFFINE), (results, (Int, Float)), (printing, (Int,)), (arrays, (Array("float64", (3,)),))]]
    refused = 0
    for seed in range(5 * int(os.environ.get("HOVIS_EXAMPLES", "60"))):
        drawn = random.Random(seed)
        try:
            hovis_xla.load(damaged(drawn.choice(blobs), drawn))
        except hovis_xla.StorageError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > seed // 2
    assert not capfd.readouterr().out


class Point:
    def __init__(self, x):
        self.x = x


def test_what_can_not_be_stored():
    compiled = build(lambda x: (Point, x + 1.0), Float)
    assert compiled(1.0) == (Point, 2.0)
    with pytest.raises(hovis_xla.StorageError, match="Point"):
        compiled.serialize()


@pytest.mark.parametrize("value", [None, True, 3, -2**70, 0.1, float("nan"), -0.0, 1 - 2j, "é\ud800", b"\xff", (1, ("a", 2.5)), np.float32(0.1), np.int8(-3), np.dtype("f4")])
def test_values_keep_type_and_bits(value):
    found = serialization.decode(json.loads(json.dumps(serialization.encode(value))))
    assert type(found) is type(value)
    assert repr(found) == repr(value)


def test_plans():
    take = taker([["container", list, [], [["leaf", 1, None], ["container", dict, ["a", "b"], [["leaf", 0, None], ["leaf", None, None]]]]], ["leaf", 2, None]])
    assert take([1, {"a": 2, "b": 3}], 4) == (2, 1, 4)
    for bad in ([1], (1, {"a": 2, "b": 3}), [1, {"b": 2, "a": 3}], [1, {"a": 2}], [1, {"a": 2, "b": 3, "c": 4}]):
        assert take(bad, 4) is None
    empty = taker([["container", tuple, [], []], ["leaf", 0, None]])
    assert empty((), 1) == (1,)
    assert empty((1,), 1) is None


def test_self_test_of_jaxlib():
    assert all(self_test.self_test().values())
