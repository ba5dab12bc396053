"""What stands for a function as an argument of a compiled function: it is known by what it is made of, and may be made anew for each call."""
import functools
import os
import random
import types

import pytest

import hovis

try:
    import hovis_xla
except ImportError:
    hovis_xla = None


def pulled(fn):
    made = hovis.custom_vjp(fn)
    made.defvjp(lambda *args: (fn(*args), args), lambda args, g: tuple(g for _ in args))
    return made


def raised(what, *args):
    try:
        return what(*args)
    except Exception as e:
        return type(e).__name__, str(e)


JITS = {"jit": hovis.jit, **({"xla": hovis_xla.jit, "always xla": hovis_xla.jit(target="xla")} if hovis_xla is not None else {})}


def cubed(x, y=2.0):
    return x * x * x * y


def squared(x, y=2.0):
    return x * x + y


#: Made anew for each call.
ANEW = {
    "grad": hovis.grad, "value_and_grad": hovis.value_and_grad, "jacfwd": hovis.jacfwd, "jacrev": hovis.jacrev, "hessian": hovis.hessian,
    "checkpoint": hovis.checkpoint, "twice": lambda fn: hovis.grad(hovis.grad(fn)), "of checkpoint": lambda fn: hovis.grad(hovis.checkpoint(fn)),
    "by name": lambda fn: hovis.grad(fn, "y"), "in both": lambda fn: hovis.grad(fn, (0, 1)),
    "lanes": lambda fn: hovis.vmap(fn, (0, None)), "lanes of grad": lambda fn: hovis.vmap(hovis.grad(fn), in_axes=(0, 0), out_axes=0),
}  # fmt: skip


def applied(g, x, y):
    return g(x, y)


@pytest.mark.parametrize("jit", JITS)
@pytest.mark.parametrize("name", ANEW)
def test_those_made_of_the_same_have_one_trace(name, jit):
    numpy = pytest.importorskip("numpy")
    make, compiled = ANEW[name], JITS[jit](applied)
    for k in range(20):
        x = numpy.arange(3.0) + k if "lanes" in name else 1.5 + k
        y = numpy.arange(3.0) - k if name == "lanes of grad" else 0.5 * k
        assert str(compiled(make(cubed), x, y)) == str(make(cubed)(x, y))
    assert len(compiled.traces) == 1
    for x, y in ((x, y), (x + 1.0, y)):
        assert str(compiled(make(squared), x, y)) == str(make(squared)(x, y))
        assert str(compiled(make(cubed), x, y)) == str(make(cubed)(x, y))


# ------------------------------------------------------------------------------------------------- rules, jitted functions, what is bound


def fwd(x, y):
    return cubed(x, y), (x, y)


def bwd(kept, g):
    return g * 7.0 * kept[0], g * 3.0


def bwd_too(kept, g):
    return g * 2.0 * kept[1], -g


def along(args, tangents):
    return cubed(*args), 5.0 * tangents[0] + tangents[1]


def by_x(z, x, y):
    return 1.5 * x


def by_y(z, x, y):
    return 2.5


def ruled(fn, back=bwd):
    made = hovis.custom_vjp(fn)
    made.defvjp(fwd, back)
    return made


def pushed(fn):
    made = hovis.custom_jvp(fn)
    made.defjvp(along)
    return made


def kept(fn, *partials):
    made = hovis.primitive(fn)
    made.defelementwise(*(partials or (by_x, by_y)))
    return made


class Model:
    def __init__(self, by):
        self.by = by
        self.calls = 0

    def times(self, x, y=2.0):
        return x * x * y * self.by

    def plus(self, x, y=2.0):
        return x * y + self.by

    def counted(self, x, y=2.0):
        self.calls += 1
        return x * y * self.calls

    @hovis.jit
    def jitted(self, x, y=2.0):
        return x * x * x * y + self.by

    def of_three(self, z, x, y=2.0):
        return x * y * z * self.by

    @classmethod
    def of_class(cls, x, y=2.0):
        return x * x * y


def scaled(x, y=2.0, *, z=1.0):
    return x * x * y * z


def functions(k):
    """Functions of two numbers, of which some are made anew: all that is known of them is what they are made of."""
    return {
        "plain": cubed, "bound": Model(1.0 + k).times, "jitted": Model(1.0 + k).jitted, "of class": Model.of_class, "partial": functools.partial(scaled, z=1.0 + k),
        "partial bound": functools.partial(Model(2.0).of_three, 1.0 + k), "twice": functools.partial(functools.partial(Model(2.0).of_three, 1.0 + k)),
    }  # fmt: skip


WRAPPERS = {"custom_vjp": ruled, "custom_jvp": pushed, "primitive": kept, "jit": hovis.jit, **({"xla": hovis_xla.jit} if hovis_xla is not None else {})}
ALIKE = {
    **{name: lambda k, make=make: make(cubed) for name, make in WRAPPERS.items()},
    **{f"grad of {name}": lambda k, make=make: hovis.grad(make(cubed)) for name, make in WRAPPERS.items()},
    **{f"grad of {name}": lambda k, name=name: hovis.grad(functions(k)[name]) for name in functions(0)},
    "checkpoint": lambda k: hovis.checkpoint(Model(1.0 + k).times), "grad of checkpoint": lambda k: hovis.value_and_grad(hovis.checkpoint(Model(1.0 + k).plus)),
    "jit of custom_vjp": lambda k: hovis.jit(ruled(cubed)), "grad of jit of custom_vjp": lambda k: hovis.grad(hovis.jit(ruled(cubed))),
}  # fmt: skip


@pytest.mark.parametrize("jit", JITS)
@pytest.mark.parametrize("name", ALIKE)
def test_those_that_are_alike_have_one_trace(name, jit):
    make, compiled = ALIKE[name], JITS[jit](applied)
    for k in range(12):
        x, y = 1.5 + k, 0.5 * k
        assert str(compiled(make(k), x, y)) == str(make(k)(x, y))
    assert len(compiled.traces) == 1


def test_calls_are_part_of_what_is_compiled():
    pytest.importorskip("hovis_xla")
    for name in ("custom_vjp", "jit", "grad of custom_jvp", "grad of bound", "grad of partial bound", "grad of jitted"):
        compiled = hovis_xla.jit(applied, target="xla")
        compiled(ALIKE[name](3), 1.5, 2.0)
        assert "runs as one XLA executable" in str(compiled.explain())


def both(g, h, x, y):
    return g(x, y), h(x, y), g is h


@pytest.mark.parametrize("jit", JITS)
def test_what_they_are_made_of_is_told_apart(jit):
    compiled = JITS[jit](both)
    model, same = Model(2.0), ruled(cubed)

    def late(fn):
        made = hovis.custom_vjp(fn)
        made.defvjp(fwd, bwd_too)
        made.defvjp(fwd, bwd)
        return made

    pairs = [
        lambda: (hovis.grad(ruled(cubed)), hovis.grad(ruled(cubed, bwd_too))), lambda: (hovis.grad(late(cubed)), hovis.grad(ruled(squared))),
        lambda: (same, same), lambda: (same, ruled(cubed)), lambda: (hovis.grad(kept(cubed)), hovis.grad(kept(cubed, by_y, by_x))),
        lambda: (hovis.grad(model.times), hovis.grad(model.plus)), lambda: (hovis.grad(model.times), hovis.grad(model.times)),
        lambda: (hovis.checkpoint(model.counted), hovis.checkpoint(model.counted)), lambda: (model.counted, hovis.checkpoint(model.counted)),
        lambda: (hovis.checkpoint(Model(3).counted), hovis.checkpoint(Model(3).counted)), lambda: (hovis.jit(cubed), hovis.jit(squared)),
        lambda: (hovis.jit(lambda x, y: x - y), hovis.jit(lambda x, y: y - x)), lambda: (hovis.grad(hovis.jit(cubed)), hovis.jit(hovis.grad(cubed))),
        lambda: (hovis.grad(functools.partial(scaled, z=2.0)), hovis.grad(functools.partial(scaled, z=3))),
        lambda: (hovis.grad(functools.partial(scaled, y=2.0, z=3.0), "x"), hovis.grad(functools.partial(cubed))),
        lambda: (hovis.grad(functools.partial(cubed, 2.0)), hovis.grad(functools.partial(squared))),
    ]  # fmt: skip
    for _ in range(2):
        for pair in pairs:
            model.calls = 0
            g, h = pair()
            found = raised(compiled, g, h, 1.5, 0.5), model.calls
            model.calls = 0
            g, h = (g, g) if g is h else pair()
            assert found == (raised(both, g, h, 1.5, 0.5), model.calls)


@pytest.mark.parametrize("jit", JITS)
def test_a_rule_that_is_given_later_counts_from_then_on(jit):
    compiled, first, second = JITS[jit](lambda g, x: hovis.grad(g)(x, 2.0)), ruled(cubed), ruled(cubed)
    assert compiled(first, 3.0) == compiled(second, 3.0) == 21.0
    first.defvjp(fwd, bwd_too)
    assert (compiled(first, 3.0), compiled(second, 3.0)) == (4.0, 21.0)
    second.defvjp(fwd, bwd_too)
    assert (compiled(first, 3.0), compiled(second, 3.0), compiled(ruled(cubed), 3.0)) == (4.0, 4.0, 21.0)


CHANGED = ruled(cubed)


def test_what_is_known_by_itself_has_the_rule_that_it_has_then():
    """Of a global, of what a function closes over, and of what a gradient is made of."""
    inner = ruled(cubed)
    ways = {
        "global": hovis.jit(lambda x: hovis.grad(CHANGED)(x, 2.0)), "closed over": hovis.jit(lambda x: hovis.grad(inner)(x, 2.0)),
        "gradient of it": lambda x: hovis.grad(inner)(x, 2.0), "gradient of what calls it": hovis.grad(lambda x: inner(x, 2.0)),
        "gradient of its checkpoint": lambda x: hovis.grad(hovis.checkpoint(inner))(x, 2.0), "gradient made once": functools.partial(hovis.grad(inner), y=2.0),
    }  # fmt: skip
    for back in (bwd, bwd_too, bwd):
        CHANGED.defvjp(fwd, back)
        inner.defvjp(fwd, back)
        assert {name: way(3.0) for name, way in ways.items()} == dict.fromkeys(ways, 21.0 if back is bwd else 4.0)


def test_a_jitted_function_counts_its_own_calls():
    @hovis.jit
    def told(f, x):
        return f(x), f.cache_info()["made"], f.__name__

    plain, used = hovis.jit(cubed), hovis.jit(cubed)
    used(1.0)
    used(1)
    assert told(plain, 2.0) == (16.0, 0, "cubed") and told(used, 2.0) == (16.0, 2, "cubed") and told(hovis.jit(squared), 2.0) == (6.0, 0, "squared")
    assert plain.cache_info()["made"] == 0


def passed_on(g, h, x, y, way):
    if way == "grad":
        return hovis.grad(g)(x, y) + hovis.grad(h)(x, y)
    if way == "list":
        return sum(f(x, y) for f in [g, h, g])
    if way == "given back":
        return g if x > y else h
    if way == "names":
        return g.__name__, h.__qualname__, callable(g), type(h).__name__
    return g(x, y) * h(y, x)


@pytest.mark.parametrize("jit", JITS)
def test_random_ones(jit):
    """Made of each other, up to three deep, and passed on in the function."""
    drawing, compiled = random.Random(7), JITS[jit](passed_on)
    outer = {**WRAPPERS, "grad": hovis.grad, "checkpoint": hovis.checkpoint, "other rule": lambda fn: ruled(fn, bwd_too), "same": lambda fn: fn, "by y": lambda fn: hovis.grad(fn, 1)}

    def draw():
        k, name = drawing.choice([0, 1, 2.5]), drawing.choice(list(functions(0)))
        around = drawing.choices(list(outer), k=drawing.randrange(1, 4))

        def made():
            fn = functions(k)[name]
            for one in around:
                fn = outer[one](fn)
            return fn

        return made

    for _ in range(int(os.environ.get("HOVIS_EXAMPLES", 25))):
        ours, theirs = draw(), draw()
        for _ in range(2):
            g, h, x, y, way = ours(), theirs(), drawing.choice([1.5, 2.5, -1.0]), drawing.choice([0.5, 2.0]), drawing.choice(["grad", "list", "given back", "names", ""])
            found, wanted = raised(compiled, g, h, x, y, way), raised(passed_on, g, h, x, y, way)
            assert found is wanted if callable(wanted) else found == wanted or found == pytest.approx(wanted, nan_ok=True), (x, y, way)


def chosen(g, h, x):
    return g(x), h(x), g is h, getattr(g, "unit", None), h.__name__


@pytest.mark.parametrize("jit", [name for name in JITS if name != "always xla"])
def test_those_made_of_something_else_are_told_apart(jit):
    compiled = JITS[jit](chosen)

    def marked(made, unit):
        made.unit = unit
        return made

    def renamed(made):
        made.__name__ = "renamed"
        return made

    def closing(by):
        return lambda x: x * x * by

    with_default = types.FunctionType(squared.__code__, globals(), "with_default", (5.0,))
    same = hovis.grad(cubed)
    pairs = [
        lambda: (hovis.grad(cubed), hovis.grad(cubed)), lambda: (hovis.grad(cubed), hovis.grad(squared)), lambda: (hovis.value_and_grad(cubed), hovis.grad(cubed)),
        lambda: (same, same), lambda: (marked(hovis.grad(cubed), 1.0), hovis.grad(cubed)), lambda: (marked(hovis.grad(cubed), "m"), hovis.grad(cubed)),
        lambda: (hovis.grad(cubed), renamed(hovis.grad(cubed))), lambda: (hovis.checkpoint(cubed), hovis.checkpoint(hovis.grad(cubed))),
        lambda: (hovis.grad(closing(2.0)), hovis.grad(closing(3.0))), lambda: (hovis.grad(with_default), hovis.jacfwd(with_default)),
        lambda: (hovis.grad(hovis.jit(cubed)), hovis.jit(cubed)), lambda: (hovis.jit(cubed), hovis.jit(squared)), lambda: (pulled(cubed), hovis.grad(pulled(squared))),
        lambda: (hovis.grad(functools.partial(cubed, y=3.0)), hovis.grad(Held(4.0))), lambda: (hovis.grad(Held(2.0).times), hovis.grad(Held(3.0).times)),
    ]  # fmt: skip
    for _ in range(2):
        for pair in pairs:
            g, h = pair()
            assert compiled(g, h, 1.5) == chosen(g, h, 1.5)


class Held:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * x * self.by

    def times(self, x):
        return x * self.by


def with_marks(g, x, way):
    if way == "read":
        return g(x) + g.by
    if way == "write":
        g.by = g(x)
    if way == "delete":
        del g.by
    if way == "wrap":
        functools.update_wrapper(g, squared)
    if way == "call by name":
        return g.__wrapped__(x) + getattr(g, "by", 7.0)
    return g


@pytest.mark.parametrize("jit", JITS)
@pytest.mark.parametrize("again", [True, False])
def test_what_is_set_on_one_is_seen(jit, again):
    """Random reads and writes of its attributes, by the compiled function and beside it."""
    drawing = random.Random(5)
    compiled = JITS[jit](with_marks)
    ours, theirs = hovis.grad(cubed), hovis.grad(cubed)
    for _ in range(60):
        if again and drawing.random() < 0.3:
            ours, theirs = hovis.grad(cubed), hovis.grad(cubed)
        if drawing.random() < 0.3:
            ours.by = theirs.by = drawing.choice([1.0, 2.0, 3.0])
        if drawing.random() < 0.1:
            ours.__wrapped__ = theirs.__wrapped__ = drawing.choice([cubed, squared])
        x, way = drawing.choice([1.5, 2.5]), drawing.choice(["read", "write", "delete", "wrap", "call by name", "nothing"])
        found, wanted = raised(compiled, ours, x, way), raised(with_marks, theirs, x, way)
        assert found is ours if wanted is theirs else found == wanted
        shown = [dict(vars(one)) for one in (ours, theirs)]
        assert shown[0].pop("__wrapped__").__name__ == shown[1].pop("__wrapped__").__name__ and list(shown[0].items()) == list(shown[1].items())
