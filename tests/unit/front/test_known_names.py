"""Known parameters have no second value, and what stands for a function is traced as that."""
import functools
import inspect
import itertools

import pytest

import hovis
from hovis import Float, const


def plain(x, p, **kw):
    return x, p, kw


def defaults(x, p=1, *args, q=2, **kw):
    return x, p, args, q, kw


def by_place(x, p, /, *, q=3, **kw):
    return x, p, q, kw


def by_name(*, p, q, **kw):
    return p, q, kw


def generator(p, **kw):
    yield p, kw


class Held:
    def method(self, p, **kw):
        return p, kw


def outcome(call):
    try:
        found = call()
        return list(found) if inspect.isgenerator(found) else found
    except TypeError:
        return TypeError


@pytest.mark.parametrize("fn", [plain, defaults, by_place, by_name, generator, Held().method])
def test_a_known_parameter_is_not_given_by_name_as_well(fn, tmp_path):
    parameters = inspect.signature(fn).parameters.values()
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for known in itertools.chain(*(itertools.combinations(named, k) for k in range(len(named) + 1))):
        trace = hovis.trace(fn, **{name: const(f"known {name}") for name in known})
        trace.save(tmp_path / "written.py")
        residuals = [trace.compile(), hovis.load(tmp_path / "written.py")]
        free = [name for name in places if name not in known]
        needed = {name: f"given {name}" for name in named if name not in (*known, *free)}
        for extra in (*named, *places, "self", "other"):
            given = [f"given {name}" for name in free]
            names = needed | {extra: "once more"}
            if extra in known:
                expected = TypeError
            else:
                whole = [f"known {name}" if name in known else f"given {name}" for name in places]
                expected = outcome(lambda whole=whole, names=names: fn(*whole, **names, **{k: f"known {k}" for k in known if k not in places}))
            for residual in residuals:
                assert outcome(lambda residual=residual, given=given, names=names: residual(*given, **names)) == expected, (known, extra)


def test_evaluate_says_what_is_known():
    trace = hovis.trace(plain, p=7)
    assert hovis.evaluate(trace, 1, {"q": 4}) == (1, 7, {"q": 4})
    with pytest.raises(hovis.SpecError, match="'p' is known already"):
        hovis.evaluate(trace, 1, {"p": 4})


def product(x, p):
    return x * p


def standing():
    trace = hovis.trace(product)
    made = {"jit": hovis.jit(product), "jit of jit": hovis.jit(hovis.jit(product)), "trace": trace, "residual": trace.compile(), "jit of trace": hovis.jit(trace)}
    try:
        import hovis_xla
    except ImportError:
        return made
    return made | {"xla": hovis_xla.jit(product), "xla of trace": hovis_xla.jit(hovis.trace(product))}


@pytest.mark.parametrize("name", standing())
def test_what_stands_for_a_function_is_traced_as_that(name):
    given = standing()[name]
    traced = hovis.trace(given, Float, const(3.0))
    assert str(traced.type) == "Float" and [op.callee.__name__ for op in traced.function.ops()] == ["mul"]
    assert traced(2.0) == hovis.specialize(given, Float, 3.0)(2.0) == hovis.evaluate(traced, 2.0) == 6.0
    assert hovis.return_type(given, Float, Float) == hovis.return_type(product, Float, Float)
    inside = hovis.trace(lambda x: given(x, 3.0), Float)
    assert [op.callee.__name__ for op in inside.function.ops()] == ["mul"] and inside(2.0) == 6.0
    for transform in (hovis.grad, hovis.value_and_grad, hovis.checkpoint, hovis.jit):
        assert transform(given)(2.0, 3.0) == transform(product)(2.0, 3.0)
    with pytest.raises(hovis.SpecError, match="product"):
        hovis.trace(given, Float, Float, Float)
    with pytest.raises(hovis.SpecError):
        hovis.trace(given, other=3)
    assert hovis.trace(functools.partial(given, p=3.0), Float)(2.0) == 6.0


def test_a_jitted_method_is_traced_as_the_method():
    class Scaled:
        by = 3.0

        @hovis.jit
        def times(self, x):
            return x * self.by

    assert [op.callee.__name__ for op in hovis.trace(Scaled().times, Float).function.ops()] == ["mul"]
    assert hovis.specialize(Scaled().times, Float)(2.0) == 6.0
