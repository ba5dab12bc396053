"""The numeric examples do under jit what they do without: what is returned, and what becomes of the arguments.  Each is one program."""
import copy
import importlib
import sys
from pathlib import Path

import pytest

import hovis_xla
from tests.xla.harness.checking import same

pytestmark = pytest.mark.xla

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
CALLS = {fn.__name__: (fn, args) for name in ("gpt", "fitting", "solvers") for fn, args in importlib.import_module(name).calls()}


@pytest.mark.parametrize("name", CALLS)
def test_example(name):
    fn, args = CALLS[name]
    mine, others = copy.deepcopy(args), copy.deepcopy(args)
    jitted = hovis_xla.jit(fn, target="xla", strict=True)
    expected = fn(*mine)
    assert close(jitted(*others), expected)
    assert close(others, mine)


def close(a, b):
    """As they are but for roundings that steps of an iteration have added up."""
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if hasattr(a, "dtype") and a.dtype.kind == "f" or isinstance(a, float):
        return type(a) is type(b) and pytest.approx(b, rel=1e-8, abs=1e-10) == a
    return a is b or same(a, b)
