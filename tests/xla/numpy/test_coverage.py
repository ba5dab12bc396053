"""What becomes of every public name of NumPy: docs/numpy-coverage.md is written by this test, and each call is held against NumPy.

``pytest tests/xla/numpy/test_coverage.py --bless`` rewrites the page.
"""

import ast
import inspect
import pathlib
import warnings

import numpy as np
import pytest

import hovis_xla
from hovis.lattice import Array, Const, Partial, Type, contains
from hovis.library.numpy import NUMPY
from hovis.library.standard import STANDARD
from hovis_xla.ops import ROWS
from tests.xla.harness import numpy_calls
from tests.xla.harness.checking import outcome, same

pytestmark = pytest.mark.xla

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "numpy-coverage.md"

#: Section → (how its names are spelt, the calls, the names there are).
SECTIONS = {
    "numpy": ("np.", numpy_calls.NUMPY, [n for n in np.__all__ if not inspect.ismodule(getattr(np, n, None))]),
    "ndarray": ("ndarray.", numpy_calls.METHODS, [n for n in dir(np.ndarray) if not n.startswith("_")]),
    "numpy.linalg": ("np.linalg.", numpy_calls.LINALG, [n for n in np.linalg.__all__ if n != "LinAlgError"]),
    "numpy.fft": ("np.fft.", numpy_calls.FFT, list(np.fft.__all__)),
    "numpy.random.Generator": ("Generator.", numpy_calls.RANDOM, [n for n in dir(np.random.Generator) if not n.startswith("_")]),
}

#: Names of one version of NumPy only, which the page leaves out.
PASSING = {"row_stack", "fix", "in1d", "trapz"}

LOWERED, HOST, ENTERED, PYTHON, ABSENT = "lowered", "host", "entered", "Python", "absent"
_ORDER = [LOWERED, ENTERED, HOST, PYTHON, ABSENT]

HEAD = """# NumPy on XLA, name by name

`tests/xla/numpy/test_coverage.py` (`--bless`) writes this page from the outcome of a call of each name; do not edit it.

| how | meaning |
|---|---|
| lowered | one or more operations of the executable |
| entered | a Python function: it is traced through, and the functions that it calls are lowered |
| host | the executable calls NumPy itself while it runs |
| Python | the call stays in residual Python; the code around it is compiled |
| absent | it does not compute, or it is not examined, for the given reason |
"""


def calls_of(text):
    """name → its calls."""
    return {line.split(":", 1)[0]: [c.strip() for c in line.split(":", 1)[1].split(" | ")] for line in text.strip().splitlines()}


def function_of(call):
    """The call as a function of the arguments that it names."""
    names = sorted({n.id for n in ast.walk(ast.parse(call)) if isinstance(n, ast.Name)} & set(numpy_calls.ARGUMENTS))
    scope = {"np": np}
    exec(f"def f({', '.join(names)}):\n    return {call}\n", scope)
    return scope["f"], [numpy_calls.ARGUMENTS[n] for n in names]


def status(call):
    """How it runs; None, and what is wrong, if it is not as in NumPy."""
    f, args = function_of(call)
    jitted = hovis_xla.jit(f, target="xla")
    wanted, *_ = outcome(f, args)
    for _ in range(2):
        seen, *_ = outcome(jitted, args)
        if wanted[0] != seen[0] or not (same(seen[1], wanted[1]) if wanted[0] == "returned" else seen == wanted):
            return None, f"{call}: {seen} instead of {wanted}"
    text = jitted.explain()
    found = [v.xla for v in jitted._variants.values() if getattr(v, "xla", None) is not None]
    if "functions that XLA does not have" in text or any(x.lowered.callbacks for x in found):
        return HOST, None
    return (LOWERED if "XLA executable" in text else PYTHON), None


def _entered(prefix, name):
    """Is it Python code that no row, action or model stands for?"""
    fn = getattr(np, name, None) if prefix == "np." else None
    try:
        known = fn in STANDARD.primitives or fn in STANDARD.actions or fn in STANDARD.models or fn in ROWS
    except TypeError:
        return False
    return inspect.isfunction(fn) and not known


@pytest.mark.parametrize("section", SECTIONS)
def test_every_call_is_numpys(section, bless):
    prefix, text, names = SECTIONS[section]
    calls, rows, wrong = calls_of(text), {}, []
    for name in sorted(set(names) - PASSING):
        if name in calls:
            found = [status(call) for call in calls[name]]
            wrong += [what for how, what in found if how is None]
            ways = sorted({how for how, _ in found if how is not None}, key=_ORDER.index)
            how = " or ".join(ways).replace(LOWERED, ENTERED if _entered(prefix, name) else LOWERED)
        else:
            how = ABSENT
        how = numpy_calls.BY_VERSION.get(prefix + name, how)
        reason = numpy_calls.REASONS.get(prefix + name, "")
        if how.split(" or ")[-1] in (PYTHON, ABSENT) and not reason:
            wrong.append(f"{prefix}{name} is {how}: numpy_calls has no call of it, or no reason for that")
        rows[name] = how, reason if how.split(" or ")[-1] in (PYTHON, ABSENT) else ""
    assert not wrong, "\n".join(wrong)
    page = "\n".join(f"| `{prefix}{name}` | {how} | {reason} |" for name, (how, reason) in rows.items())
    count = ", ".join(f"{sum(how.split(' or ')[0] == way for how, _ in rows.values())} {way}" for way in _ORDER)
    _compare(section, f"## {section}\n\n{count}.\n\n| name | how | why |\n|---|---|---|\n{page}\n", bless)


def _compare(section, wanted, bless):
    """The section of the page, rewritten if that is wished."""
    text = PAGE.read_text() if PAGE.exists() else HEAD
    parts = dict(zip(SECTIONS, _sections(text), strict=False))
    if bless:
        parts[section] = wanted
        PAGE.write_text(HEAD + "\n" + "\n".join(parts.get(name, f"## {name}\n") for name in SECTIONS))
        return
    assert parts.get(section, "").strip() == wanted.strip(), "docs/numpy-coverage.md is not what is there: `pytest tests/xla/numpy/test_coverage.py --bless` rewrites it"


def _sections(text):
    found = text.split("\n## ")[1:]
    by_name = {part.split("\n", 1)[0]: "## " + part for part in found}
    return [by_name.get(name, f"## {name}\n") for name in SECTIONS]


# ------------------------------------------------------------------------------------------------- the rules of types


def _abstract(node, scope):
    """What the engine would know of an argument, if it stands in the text as this."""
    value = eval(compile(ast.Expression(node), "<call>", "eval"), scope)
    if isinstance(node, ast.Tuple | ast.List):
        return Partial(type(value), range(len(value)), [_abstract(n, scope) for n in node.elts]), value
    if not any(isinstance(n, ast.Name) and n.id in numpy_calls.ARGUMENTS for n in ast.walk(node)):
        return Const(value), value
    return Array(np.ndarray, value.dtype, value.ndim) if isinstance(value, np.ndarray) else Type(type(value)), value


def _direct_calls():
    for prefix, text, _ in SECTIONS.values():
        for calls in calls_of(text).values():
            for call in calls:
                node = ast.parse(call, mode="eval").body
                if isinstance(node, ast.Call) and not any(isinstance(a, ast.Starred) for a in node.args) and "random" not in call and prefix != "ndarray.":
                    yield call, node


@pytest.mark.parametrize("half", [0, 1])
def test_the_rules_of_types_contain_what_numpy_gives(half):
    scope = {"np": np, **numpy_calls.ARGUMENTS}
    wrong = []
    for call, node in list(_direct_calls())[half::2]:
        fn = eval(compile(ast.Expression(node.func), "<call>", "eval"), scope)
        row = NUMPY.primitives.get(fn) if isinstance(fn, type(np.sum)) or callable(fn) else None
        if row is None or row.result is None:
            continue
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args = [_types(a, scope) for a in node.args]
            named = {k.arg: _types(k.value, scope) for k in node.keywords}
            value = eval(call, scope)
            try:
                found = row.result(*args, **named)
            except TypeError:
                continue
        if found is not None and not contains(found, value):
            wrong.append(f"{call}: {found} does not contain {value!r}")
    assert not wrong, "\n".join(wrong)


def _types(node, scope):
    kind = _abstract(node, scope)
    return kind[0] if isinstance(kind, tuple) else kind
