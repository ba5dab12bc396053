"""Primitives, lattice elements and libraries of third parties."""

import importlib
import sys
import types
import warnings
from importlib.metadata import EntryPoint, EntryPoints

import numpy as np
import pytest

import hovis
from hovis import Float, Library, Refined, const, float64
from hovis.errors import DerivativeError, SpecError
from hovis.front import plugins
from hovis.library.standard import STANDARD

CALLS = []


@hovis.primitive
def softplus(x):
    CALLS.append(type(x))
    return np.log1p(np.exp(x))


softplus.defresult(lambda x: x, lambda m, args, kwargs: args[0].dims)
softplus.defelementwise(lambda y, x: 1.0 / (1.0 + np.exp(-x)))
softplus.deflowering(lambda x: np.log1p(np.exp(x)))


@hovis.primitive
def spread_of(v):
    return v.max() - v.min()


@hovis.primitive
def scaled(v, k):
    return v * k


scaled.defvjp(lambda g, y, v, k: g * k, lambda g, y, v, k: np.sum(g * v))
scaled.defjvp(lambda t, y, v, k: t * k, lambda t, y, v, k: v * t)

X = np.linspace(-1.0, 2.0, 6)


def both(x):
    return np.sum(softplus(x) ** 2)


def by_hand(x):
    return np.sum(np.log1p(np.exp(x)) ** 2)


def test_it_stays_a_call_whose_shape_is_known():
    trace = hovis.trace(lambda x: softplus(x) * 2.0, float64[6])
    assert trace.ops[0].callee is softplus
    assert [d.value for d in trace.ops[-1].dims] == [6]
    CALLS.clear()
    np.testing.assert_array_equal(trace(X), np.log1p(np.exp(X)) * 2.0)
    assert CALLS == [np.ndarray]


def test_its_result_is_found_where_nothing_is_said():
    trace = hovis.trace(lambda v: spread_of(v) + 1.0, float64[6])
    assert trace.ops[0].callee is spread_of
    assert trace.type == hovis.return_type(lambda v: v.max() - v.min(), float64[6])
    assert trace(X) == 4.0


def test_derivatives():
    np.testing.assert_allclose(hovis.grad(both)(X), hovis.grad(by_hand)(X), rtol=1e-12)
    np.testing.assert_allclose(hovis.jvp(both, (X,), (X,))[1], hovis.jvp(by_hand, (X,), (X,))[1], rtol=1e-12)
    np.testing.assert_allclose(hovis.hessian(both)(X), hovis.hessian(by_hand)(X), rtol=1e-10)
    got = hovis.grad(lambda v, k: np.sum(scaled(v, k) ** 2), (0, 1))(X, 3.0)
    np.testing.assert_allclose(got[0], 18.0 * X)
    np.testing.assert_allclose(got[1], 6.0 * np.sum(X * X))
    assert hovis.jvp(lambda k: np.sum(scaled(X, k)), (3.0,), (1.0,))[1] == pytest.approx(X.sum())


def test_no_derivative_is_an_error_that_says_what_to_do():
    with pytest.raises(DerivativeError, match=r"no derivative of .*spread_of .*custom_vjp"):
        hovis.grad(lambda v: spread_of(v))(X)


def test_batching():
    rows = np.stack([X, X + 1.0])
    trace = hovis.trace(hovis.vmap(lambda v: softplus(v) + 1.0), float64[2, 6])
    assert sum(op.callee is softplus for op in trace.ops) == 1
    np.testing.assert_array_equal(hovis.vmap(softplus)(rows), np.log1p(np.exp(rows)))
    np.testing.assert_array_equal(hovis.vmap(lambda v: spread_of(v))(rows), [3.0, 3.0])
    np.testing.assert_allclose(hovis.vmap(hovis.grad(both))(rows), np.stack([hovis.grad(by_hand)(v) for v in rows]), rtol=1e-12)


def test_a_rule_for_all_lanes():
    @hovis.primitive
    def ends(v):
        return v[0] + v[-1]

    seen = []

    @ends.defbatch
    def _(lanes, which, v):
        seen.append((lanes, which))
        return v[:, 0] + v[:, -1]

    np.testing.assert_array_equal(hovis.vmap(lambda v: ends(v))(np.stack([X, -X])), [1.0, -1.0])


def test_lowering():
    hovis_xla = pytest.importorskip("hovis_xla")
    compiled = hovis_xla.compile(hovis.trace(lambda x: softplus(x) * 2.0, float64[6]))
    assert "custom_call" not in compiled.as_text()
    CALLS.clear()
    np.testing.assert_allclose(compiled(X), np.log1p(np.exp(X)) * 2.0, rtol=1e-15)
    assert CALLS == []
    np.testing.assert_allclose(hovis_xla.jit(hovis.grad(both))(X), hovis.grad(by_hand)(X), rtol=1e-12)
    np.testing.assert_allclose(hovis_xla.jit(lambda v: spread_of(v) * 2.0)(X), 6.0)


@hovis.primitive
def shifted(x, by=2.0, /, plus=1.0, *, never=0.0):
    return x * by + plus + never


shifted.defelementwise(lambda y, x, by=2.0, plus=1.0, never=0.0: by, lambda y, x, by=2.0, plus=1.0, never=0.0: x, 1.0, 1.0)


def test_arguments_by_name():
    def f(x):
        return shifted(x, plus=x) * shifted(3.0, x, plus=0.0)

    assert f(5.0) == 225.0
    assert hovis.grad(f)(5.0) == hovis.jvp(f, (5.0,), (1.0,))[1] == 90.0
    np.testing.assert_array_equal(hovis.vmap(f)(np.arange(3.0)), [0.0, 9.0, 36.0])
    assert hovis.grad(lambda x: shifted(x, never=x * x))(5.0) == 12.0
    (op,) = hovis.trace(lambda x: shifted(x, plus=4.0), hovis.Float).ops
    assert op.callee is shifted and not op.kwargs and [a.value for a in op.args[1:]] == [2.0, 4.0]
    for wrong in (lambda x: shifted(plus=x), lambda x: shifted(x, by=x), lambda x: shifted(x, ever=x), lambda x: shifted(x, 1.0, 2.0, plus=x)):
        for call in (wrong, hovis.jit(wrong)):
            with pytest.raises(TypeError, match="missing|positional.only|can't be passed by name|multiple values|unexpected keyword"):
                call(1.0)


# ------------------------------------------------------------------------------------------------- a lattice element


class Sparse:
    """A matrix, by its entries."""

    def __init__(self, entries, shape):
        self.entries, self.shape = entries, shape

    def __matmul__(self, v):
        if len(v) != self.shape[1]:
            raise ValueError("shapes do not fit")
        out = np.zeros(self.shape[0])
        for (i, j), x in self.entries.items():
            out[i] += x * v[j]
        return out

    def transposed(self):
        return Sparse({(j, i): x for (i, j), x in self.entries.items()}, self.shape[::-1])


MINE = Library("sparse")
sparse = MINE.describe(Sparse, lambda s: s.shape)
MINE.attribute(Sparse, "shape", lambda s: const(s.facts) if isinstance(s, Refined) else None)
MINE.primitive(Sparse.transposed, lambda s: sparse(s.facts[::-1]) if isinstance(s, Refined) else None)


def test_facts_are_carried_through_a_trace():
    def rows(s):
        return s.transposed().shape[0] * 10 + s.transposed().transposed().shape[0]

    trace = hovis.options(library=MINE | STANDARD).trace(rows, sparse((3, 4)))
    assert str(trace.results[0]) == "const(43)"
    assert trace(Sparse({}, (3, 4))) == 43
    # what does not fit its spec is done by the function itself
    assert trace(Sparse({}, (5, 7))) == 75


def test_facts_choose_branches():
    def solve(s, x):
        if s.shape[0] == s.shape[1]:
            return s @ x
        return s.transposed() @ x

    trace = hovis.options(library=MINE | STANDARD).trace(solve, sparse((2, 2)), float64[2])
    assert not any(op.callee is Sparse.transposed for op in trace.ops)
    one = Sparse({(0, 1): 2.0}, (2, 2))
    np.testing.assert_array_equal(trace(one, np.array([1.0, 3.0])), [6.0, 0.0])
    np.testing.assert_array_equal(trace(Sparse({(0, 1): 2.0}, (3, 2)), np.ones(3)), [0.0, 2.0])


def test_a_spec_that_can_not_be_held_against_arguments():
    with pytest.raises(SpecError, match="needs a function that computes the facts"):
        hovis.trace(lambda s: s, Refined(Sparse, (3, 4)))


# ------------------------------------------------------------------------------------------------- sets of primitives


def test_libraries_are_chosen():
    def fn(x):
        return np.sin(x) + 1.0

    plain = hovis.trace(fn, float64[3], library=hovis.python)
    typed = hovis.trace(fn, float64[3], library=hovis.numpy | hovis.python)
    assert str(plain.type) == "Any"
    assert typed.type == hovis.trace(fn, float64[3]).type
    np.testing.assert_array_equal(plain(np.ones(3)), typed(np.ones(3)))


@pytest.mark.parametrize("fn", [lambda x: x[[0, 2]] @ x[1:], lambda x: [float(v) for v in x], lambda x: np.sum(x.reshape(3, -1)) * len(x.shape)])
def test_put_together_they_are_the_standard_one(fn):
    joined = hovis.trace(fn, float64[3], library=hovis.numpy | hovis.python)
    assert str(joined) == str(hovis.trace(fn, float64[3]))


def test_mine_is_asked_first_and_the_others_where_it_says_nothing():
    mine = hovis.primitive(np.sin, lambda x: Float if x == Float else None) | hovis.numpy | hovis.python
    assert hovis.trace(lambda x: np.sin(x), Float, library=mine).type == Float
    assert hovis.trace(lambda x: np.sin(x), float64[3], library=mine).type == hovis.trace(lambda x: np.sin(x), float64[3]).type


def test_a_parameter_called_library():
    def fn(library, x):
        return x

    assert hovis.trace(fn, x=Float, library=hovis.python).fallback is False


# ------------------------------------------------------------------------------------------------- entry points


def offered(monkeypatch, *points):
    found = EntryPoints(EntryPoint(name, value, plugins.GROUP) for name, value in points)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: found)
    return plugins.Offered()


def test_a_library_is_found_when_its_module_is_imported(monkeypatch):
    def weight(x):
        return x

    theirs = types.ModuleType("hovis_of_scales")
    theirs.LIBRARY = hovis.primitive(weight, lambda x: Float)
    look = offered(monkeypatch, ("scales", "hovis_of_scales:LIBRARY"))
    monkeypatch.setitem(sys.modules, "hovis_of_scales", theirs)
    look.look()
    assert weight not in STANDARD.primitives
    monkeypatch.setitem(sys.modules, "scales", types.ModuleType("scales"))
    look.look()
    assert hovis.trace(lambda x: weight(x), hovis.Any).type == Float
    del STANDARD.primitives[weight]


def test_what_can_not_be_loaded_is_reported_once(monkeypatch):
    look = offered(monkeypatch, ("sys", "hovis_of_nothing:LIBRARY"), ("types", "math:pi"))
    with pytest.warns(RuntimeWarning, match="can't be loaded") as told:
        look.look()
    assert ["ModuleNotFoundError" in str(w.message) for w in told] == [True, False]
    assert "not a hovis.Library" in str(told[1].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setitem(sys.modules, "another_module", types.ModuleType("another_module"))
        look.look()


def test_a_distribution_that_is_installed(monkeypatch, tmp_path):
    """Its metadata are files, as an installer writes them; a module of its name is imported by who uses it."""
    info = tmp_path / "hovis_scales-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hovis-scales\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\nscales_of_files = hovis_scales_rows:LIBRARY\n")
    (tmp_path / "scales_of_files.py").write_text("def weight(x):\n    return x\n")
    rows = "import hovis\nfrom scales_of_files import weight\nLIBRARY = hovis.primitive(weight, lambda x: hovis.Float)\n"
    (tmp_path / "hovis_scales_rows.py").write_text(rows)
    monkeypatch.syspath_prepend(tmp_path)
    look = plugins.Offered()
    look.look()
    assert "hovis_scales_rows" not in sys.modules
    weight = importlib.import_module("scales_of_files").weight
    look.look()
    try:
        assert hovis.trace(lambda x: weight(x), hovis.Any).type == Float
    finally:
        del STANDARD.primitives[weight], sys.modules["scales_of_files"], sys.modules["hovis_scales_rows"]
