"""What stands for a function is as functions are: names, docstrings, attributes, signatures, methods, copies, pickles, and `functools.wraps` around it and of it."""
import copy
import functools
import inspect
import os
import pickle
import sys
import typing
import weakref
import zlib

import pytest

import hovis

try:
    import hovis_xla
except ImportError:
    hovis_xla = None


def scaled(x: float, by: float = 2.0) -> float:
    """Multiply x."""
    return x * by


def other(y):
    """Say something else."""
    return -y


scaled.unit = "m"


def pulled(fn):
    made = hovis.custom_vjp(fn)
    made.defvjp(lambda *args: (fn(*args), args), lambda args, g: tuple(g for _ in args))
    return made


def pushed(fn):
    made = hovis.custom_jvp(fn)
    made.defjvp(lambda args, tangents: (fn(*args), sum(tangents)))
    return made


#: What stands for the function itself, and goes by its name.
SAME = {"jit": hovis.jit, "checkpoint": hovis.checkpoint, "custom_vjp": pulled, "custom_jvp": pushed, "primitive": hovis.primitive, "interpreter": hovis.Interpreter()}
#: What is another function of it.
MADE = {
    "grad": hovis.grad, "value_and_grad": hovis.value_and_grad, "vmap": hovis.vmap, "jacfwd": hovis.jacfwd, "jacrev": hovis.jacrev, "hessian": hovis.hessian,
    "inverse": hovis.inverse, "jit of grad": lambda fn: hovis.jit(hovis.grad(fn)), "grad of jit": lambda fn: hovis.grad(hovis.jit(fn)),
}  # fmt: skip
if hovis_xla is not None:
    SAME |= {"xla": hovis_xla.jit, "xla to python": hovis_xla.jit(target="python"), "converting": hovis_xla.jit(convert=True), "placing": hovis_xla.jit(device_results=True)}
ALL = SAME | MADE
#: What they hold by themselves is nothing that is copied.
NAMES = {*functools.WRAPPER_ASSIGNMENTS, "__wrapped__", "_is_coroutine", "_is_coroutine_mark"}


def raised(what, *args):
    try:
        return what(*args)
    except Exception as e:
        return type(e).__name__, str(e)


def result_of(made, name):
    return repr(made(np_lanes() if name == "vmap" else 3.0))


def np_lanes():
    return pytest.importorskip("numpy").arange(3.0)


@pytest.mark.parametrize("name", SAME)
def test_it_goes_by_the_names_of_the_function(name):
    made = SAME[name](scaled)
    for what in (*functools.WRAPPER_ASSIGNMENTS, "unit"):
        assert getattr(made, what, None) == getattr(scaled, what, None), what
    assert made.__wrapped__ is scaled
    for what in ("__code__", "__defaults__", "__kwdefaults__"):
        assert getattr(made, what) is getattr(scaled, what)


@pytest.mark.parametrize("name", MADE)
def test_another_function_tells_of_which_it_is(name):
    made = MADE[name](scaled)
    assert "scaled" in made.__name__ and "scaled" in made.__qualname__
    assert (made.__doc__, made.__module__, made.unit) == (scaled.__doc__, __name__, "m")
    assert inspect.unwrap(made) is scaled


@pytest.mark.parametrize("name", ALL)
def test_signature_and_hints(name):
    made = ALL[name](scaled)
    assert inspect.signature(made) == inspect.signature(scaled)
    assert typing.get_type_hints(made) == typing.get_type_hints(scaled)
    assert inspect.getdoc(made) == "Multiply x." and inspect.getsource(made) == inspect.getsource(scaled)
    assert callable(made) and hash(made) == hash(made) and made == made and made != ALL[name](scaled) and weakref.ref(made)() is made


@pytest.mark.parametrize("name", ALL)
def test_its_attributes_are_its_own(name):
    made, before = ALL[name](scaled), dict(vars(scaled))
    was = scaled.__name__, scaled.__qualname__, scaled.__doc__, scaled.__module__
    result = result_of(made, name)
    for what in ("__name__", "__qualname__", "__doc__", "__module__", "unit", "added", "fn", "how", "_function", "rule", "data", "placed"):
        if what not in ("fn", "how", "_function", "rule", "data", "placed"):
            setattr(made, what, "given")
            assert getattr(made, what) == "given"
    made.__wrapped__ = other
    assert made.__wrapped__ is other
    assert vars(made)["added"] == "given" and set(vars(made)) <= {*NAMES, "unit", "added"}
    del made.added
    assert not hasattr(made, "added") and raised(lambda: made.never)[0] == "AttributeError"
    assert result_of(made, name) == result
    assert (vars(scaled), (scaled.__name__, scaled.__qualname__, scaled.__doc__, scaled.__module__)) == (before, was)


@pytest.mark.parametrize("name", ALL)
def test_wraps_of_it_and_around_it(name):
    made = ALL[name](scaled)
    result = result_of(made, name)

    @functools.wraps(made)
    def plain(*args):
        return made(*args)

    assert (plain.__name__, plain.__doc__, plain.__module__, plain.unit) == (made.__name__, made.__doc__, made.__module__, "m") and plain.__wrapped__ is made
    assert result_of(plain, name) == result and set(vars(plain)) <= {*NAMES, "unit"}
    assert functools.update_wrapper(made, other) is made
    assert (made.__name__, made.__qualname__, made.__doc__, made.__wrapped__) == ("other", "other", other.__doc__, other)
    assert result_of(made, name) == result


@pytest.mark.parametrize("name", ALL)
def test_wraps_of_each_around_each_other(name):
    for by in ALL:
        if "HOVIS_EXAMPLES" not in os.environ and zlib.crc32(f"{name} {by}".encode()) % 3:
            continue
        made, around = ALL[name](scaled), ALL[by](other)
        result = result_of(made, name)
        result_of(around, by)       # what it keeps by then is none of the other's
        functools.update_wrapper(made, around)
        assert result_of(made, name) == result, by
        assert made.__wrapped__ is around and made.__name__ == around.__name__


@pytest.mark.parametrize("name", ALL)
def test_it_is_a_method(name):
    class Held:
        by = 3.0

        def plain(self, x):
            return x * self.by

        def __call__(self, x):
            return x + 1.0

    Held.made = ALL[name](Held.plain if name in SAME else lambda self, x: x * self.by)
    held = Held()
    assert Held.made.__get__(None, Held) is Held.made and held.made.__self__ is held and held.made.__func__ is Held.made
    if name in ("jit", "checkpoint", "xla", "xla to python", "converting", "interpreter"):
        assert held.made(2.0) == Held.made(held, 2.0) == held.plain(2.0) == hovis.jit(lambda x: held.made(x))(2.0)
        assert str(inspect.signature(held.made)) == "(x)"
    for around in (staticmethod, classmethod):
        cls = type("Other", (), {"made": around(ALL[name](scaled if around is staticmethod else Held.plain))})
        assert cls.made == (cls.__dict__["made"].__func__ if around is staticmethod else cls.made)
    assert result_of(type("Third", (), {"made": staticmethod(ALL[name](scaled))})().made, name) == result_of(ALL[name](scaled), name)


class Nested:
    pass


@pytest.mark.parametrize("name", ALL)
def test_it_is_copied_and_pickled_as_functions_are(name):
    made = ALL[name](scaled)
    assert copy.copy(made) is made and copy.deepcopy(made) is made and copy.deepcopy([made])[0] is made
    module = sys.modules[__name__]
    for holder, qualname in ((module, "by_name"), (Nested, "Nested.by_name")):
        made.__module__, made.__qualname__ = __name__, qualname
        holder.by_name = made
        try:
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                assert pickle.loads(pickle.dumps(made, protocol)) is made
        finally:
            del holder.by_name
    made.__qualname__ = "nowhere.at_all"
    if name in MADE and "jit" not in name and "interpreter" not in name:
        again = pickle.loads(pickle.dumps(made))     # of what can be pickled
        assert type(again) is type(made) and result_of(again, name) == result_of(made, name)
    elif name in SAME and name not in ("checkpoint", "interpreter"):
        assert raised(pickle.dumps, made)[0] in ("PicklingError", "AttributeError")


async def waiting(x):
    return x


def stepping(x):
    yield x


async def both(x):
    yield x


@pytest.mark.parametrize("name", ["jit", *(["xla"] if hovis_xla else [])])
@pytest.mark.parametrize("fn", [scaled, waiting, stepping, both])
def test_what_kind_of_function_it_is_is_told(name, fn):
    made = SAME[name](fn)
    for ask in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
        assert ask(made) == ask(fn)


@pytest.mark.parametrize("name", SAME)
def test_of_what_has_no_name_it_goes_by_the_class(name):
    class Adding:
        def __call__(self, x):
            return x + 1.0

    for fn in (functools.partial(scaled, by=3.0), Adding()):
        made = SAME[name](fn)
        assert type(fn).__name__ in made.__name__ and type(fn).__name__ in made.__qualname__
        assert made(2.0) == fn(2.0) and repr(made)


def test_one_that_a_residual_makes_has_names_too():
    def derivative(k):
        return hovis.grad(lambda x: x * x * k)

    made = hovis.specialize(derivative, hovis.Int)(3)
    assert made(2.0) == 12.0 and made.__name__ == derivative(3).__name__ and made.__wrapped__(2.0) == 12.0
