"""Primitives that keep the caller's arrays, give back what they are given, and stand beside what the program itself changes."""
import os
import random

import numpy as np
import pytest

import hovis_xla

pytestmark = pytest.mark.xla

EXAMPLES = int(os.environ.get("HOVIS_EXAMPLES", "12"))

PRELUDE = """
import hovis
import numpy as np

KEPT, NOTED, COUNT = [], [], 0

class Model:
    calls = 0

@hovis.primitive
def kept(a):
    KEPT.append(a)
    return float(a[0])

@hovis.primitive
def kept_and_changed(a):
    KEPT.append(a)
    a[0] += 1.0
    return float(a[0])

@hovis.primitive
def noted(a):
    NOTED.append(float(a.sum()))
    return float(a[1])

@hovis.primitive
def put(a, k):
    a[1] = k
    NOTED.append(float(k))
    return a

@hovis.primitive
def told(a):
    NOTED.append(len(KEPT))
    return float(sum(k[0] for k in KEPT)) + float(a[0])

@hovis.primitive
def reading(a):
    NOTED.append(COUNT)
    return float(a[0]) + COUNT

@hovis.primitive
def shown(a):
    print(NOTED)
    return float(a[0])

@hovis.primitive
def refused(a):
    NOTED.append(0.5)
    if a[0] > 2.0:
        raise ValueError("refused")
    return 1.0
"""
STATEMENTS = (
    "s += kept(x)", "s += kept_and_changed(x)", "s += noted(x)", "s += noted(np.sin(x))", "x[2] = s", "y = x * 2.0; s += kept(y); s += y[2]",
    "s += np.sum(put(x, s))", "y = put(x * 2.0, s); y[0] = 5.0; s += y[0] + y[1]", "y = put(x, 3.0); y[2] = 9.0; s += x[2]", "s += told(x)", "s += refused(x)",
    "COUNT += 1", "COUNT += 2; s += COUNT", "Model.calls += 1", "s += reading(x)", "items[1] += s", "items.append(s)", "s += items[0]", "state['n'] += 1.0; s += state['n']",
    "n *= 3000000000000", "s += kept(x[1:])",
)  # fmt: skip
KEEPERS = ("s += kept(x)", "s += noted(x)", "y = put(x, 3.0); y[2] = 9.0; s += x[2]")


def draw(seed):
    drawn = random.Random(seed)
    body = [drawn.choice(KEEPERS), *drawn.choices(STATEMENTS, k=drawn.randint(1, 4))]
    drawn.shuffle(body)
    if drawn.random() < 0.3:
        body = ["for k in range(3):", *("    " + line for line in body)]
    return PRELUDE + "\ndef program(x, items, state, n):\n    global COUNT\n    s = 0.0\n" + "".join(f"    {line}\n" for line in body) + "    return s, n, x[1]\n"


def outcome(fn, x, *args):
    try:
        return repr([float(v) for v in fn(x, *args)])
    except ValueError as error:
        return f"ValueError: {error}"


def state(space, arrays):
    told = [k for k, array in enumerate(arrays) for one in space["KEPT"] if one is array]
    return [a.tolist() for a in space["KEPT"]], told, space["NOTED"], space["COUNT"], space["Model"].calls


def run(fn, space):
    found, arrays = [], []
    for k in range(3):
        x, items, held = np.array([1.0, 0.5, 0.25]) * (k + 1), [1.0, 2.0], {"n": 1.0}
        arrays.append(x)
        found.append((outcome(fn, x, items, held, 7), x.tolist(), items, held, state(space, arrays)))
    return repr(found)


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_it_is_done_as_in_python(seed):
    text = draw(seed)
    spaces = [{"__name__": f"beside_{k}"} for k in range(2)]
    for space in spaces:
        exec(text, space)
    expected = run(spaces[0]["program"], spaces[0])
    assert run(hovis_xla.jit(spaces[1]["program"], target="xla"), spaces[1]) == expected, text


def compiled(body, *args):
    space = {"__name__": "beside"}
    exec(f"{PRELUDE}\ndef program(x, *args):\n    global COUNT\n{body}", space)
    jitted = hovis_xla.jit(space["program"], target="xla")
    x = np.array([1.0, 0.5, 0.25])
    return jitted(x, *args), jitted.explain(), x, space


@pytest.mark.parametrize(
    ("body", "args"),
    [
        ("    return kept(x) + np.sum(x)", ()),
        ("    x[1] = 4.0\n    return kept(x) + np.sum(x)", ()),
        ("    y = put(x, 3.0)\n    y[0] = 2.0\n    return np.sum(x)", ()),
        ("    COUNT += 1\n    return noted(x) + COUNT", ()),
        ("    args[0].append(noted(x))\n    return np.sum(x)", ([1.0],)),
        ("    args[0]['n'] += 1\n    return noted(x)", ({"n": 1},)),
    ],
)
def test_these_are_one_executable(body, args):
    _, told, _, _ = compiled(body, *args)
    assert told.startswith("program runs as one XLA executable."), told


def test_what_it_keeps_is_the_callers_array():
    _, told, x, space = compiled("    x[1] = 4.0\n    s = kept(x)\n    x[2] = 8.0\n    return s")
    assert "one XLA executable" in told
    assert space["KEPT"][0] is x
    assert x.tolist() == [1.0, 4.0, 8.0]


@pytest.mark.parametrize(
    ("body", "args", "why"),
    [
        ("    y = x * 2.0\n    s = kept(y)\n    y[0] = 1.0\n    return s + np.sum(y)", (), "kept may keep the array that it is given"),
        ("    COUNT += 1\n    return reading(x)", (), "reading reads or stores into COUNT, which the compiled code also uses"),
        ("    args[0].append(shown(x))\n    return np.sum(x)", ([1.0],), "shown may read an object that the function changes"),
    ],
)
def test_explain_tells_why_not(body, args, why):
    _, told, _, _ = compiled(body, *args)
    assert why in told
