"""Models are held against the functions that they stand for: results, exceptions, messages, and the order of calls."""

import functools
import itertools
import math
import os
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hovis.ir.operations import unpack
from hovis.lattice import ANY, Const, Type, Union, join
from hovis.library.core import Stand
from hovis.library.language.iterable_models import COMPENSATED, REDUCTIONS
from hovis.library.language.signatures.signature_language import Answer, Signature, memberwise, signatures
from hovis.library.python import PYTHON
from hovis.library.stdlib.iterators import ITERATORS
from hovis.library.stdlib.itertools_.combinatoric import CHOICES
from hovis.library.stdlib.itertools_.infinite import INFINITE
from hovis.library.stdlib.itertools_.terminating import ITERTOOLS

warnings.filterwarnings("error")
warnings.filterwarnings("ignore", ".* in a 'finally' block", SyntaxWarning)  # for modules of tests that are imported later

EXAMPLES = int(os.environ.get("HOVIS_EXAMPLES", "300"))  # of each model

# ------------------------------------------------------------------------------------------------- things that tell what is done to them


class World:
    """Makes arguments from recipes; keeps the log of what was done to them."""

    def __init__(self):
        self.log = []

    def item(self, code):
        kinds = {"int": IntThing, "float": FloatThing, "str": StrThing}
        if isinstance(code, tuple) and code and code[0] == "thing":
            return Thing(self, code[1])
        if isinstance(code, tuple) and code and code[0] == "sub":
            return kinds[code[1]](code[2])
        if isinstance(code, tuple) and code and code[0] == "iterable":
            return self.iterable(code[1], code[2])
        return code

    def iterable(self, wrapper, codes):
        items = [self.item(code) for code in codes]
        return WRAPPERS[wrapper](self, items)


class Thing:
    """An object whose every operation is logged, and may fail."""

    def __init__(self, world, name):
        self.world = world
        self.name = name

    def did(self, *what):
        self.world.log.append((self.name, *map(shown, what)))
        if self.name == "fails":
            raise KeyError(self.name)
        if self.name == "stops":
            raise StopIteration

    def __repr__(self):
        return f"<{self.name}>"

    def __add__(self, other):
        self.did("add", other)
        return NotImplemented if self.name == "strange" else 0.5 if self.name == "half" else Thing(self.world, self.name + "+")

    def __radd__(self, other):
        self.did("radd", other)
        return {"half": 0.5, "seven": 7, "text": "text"}.get(self.name, self)

    def __lt__(self, other):
        self.did("lt", other)
        return self.name < getattr(other, "name", "m")

    def __gt__(self, other):
        self.did("gt", other)
        return self.name > getattr(other, "name", "m")

    def __bool__(self):
        self.did("bool")
        return self.name != "false"

    def __eq__(self, other):
        self.did("eq", other)
        return self.name == getattr(other, "name", None)

    def __hash__(self):
        self.did("hash")
        return len(self.name)

    def __index__(self):
        self.did("index")
        return 2

    def __iter__(self):
        self.did("iter")
        return iter((1, 2))


class IntThing(int):
    def __radd__(self, other):
        return ("radd", other)

    def __repr__(self):
        return f"IntThing({int(self)})"


class FloatThing(float):
    def __radd__(self, other):
        return ("radd", other)


class StrThing(str):
    pass


class Logged:
    """An iterator class that logs."""

    def __init__(self, world, items, fails=None):
        self.world, self.items, self.fails = world, list(items), fails

    def __iter__(self):
        self.world.log.append("iter")
        return self

    def __next__(self):
        self.world.log.append("next")
        if self.fails is not None and len(self.items) <= self.fails:
            raise ZeroDivisionError("midway")
        if not self.items:
            raise StopIteration
        return self.items.pop(0)


class Sized(Logged):
    def __len__(self):
        self.world.log.append("len")
        return len(self.items)


class Hinted(Logged):
    def __length_hint__(self):
        self.world.log.append("hint")
        raise LookupError("hint")


class Badly(Logged):
    def __length_hint__(self):
        self.world.log.append("hint")
        return -1


class Untyped(Logged):
    def __len__(self):
        self.world.log.append("len")
        raise TypeError("no length")


class Indexed:
    def __init__(self, world, items):
        self.world, self.items = world, items

    def __getitem__(self, index):
        self.world.log.append(("getitem", index))
        return self.items[index]


class Keyed(Indexed):
    def keys(self):
        self.world.log.append("keys")
        return ["a", "b"]

    def __getitem__(self, key):
        self.world.log.append(("getitem", key))
        if key == 2:
            raise IndexError
        return 1


class NoIter:
    def __init__(self, world):
        self.world = world

    def __iter__(self):
        self.world.log.append("iter")
        return 3


class RaisingIter(NoIter):
    def __iter__(self):
        self.world.log.append("iter")
        raise TypeError("mine")


def generator(world, items, fails=None):
    try:
        for k, item in enumerate(items):
            if k == fails:
                raise ZeroDivisionError("midway")
            world.log.append("yield")
            yield item
    finally:
        world.log.append("closed")


WRAPPERS = {
    "list": lambda w, items: items,
    "tuple": lambda w, items: tuple(items),
    "generator": generator,
    "failing": lambda w, items: generator(w, items, 1),
    "logged": Logged,
    "failed": lambda w, items: Logged(w, items, 1),
    "sized": Sized,
    "hinted": Hinted,
    "badly": Badly,
    "untyped": Untyped,
    "indexed": Indexed,
    "keyed": Keyed,
    "iter": lambda w, items: iter(items),
    "range": lambda w, items: range(len(items)),
    "str": lambda w, items: "abcd"[: len(items)],
    "set": lambda w, items: {len(items)},
    "dict": lambda w, items: {"k": len(items)},
    "none": lambda w, items: None,
    "int": lambda w, items: 3,
    "no_iter": lambda w, items: NoIter(w),
    "raising_iter": lambda w, items: RaisingIter(w),
}

ANYTHING = ["list", "tuple", "generator", "failing", "logged", "failed", "indexed", "iter", "range", "str", "set", "dict", "none", "int", "no_iter", "raising_iter", "sized", "hinted", "badly", "untyped", "keyed"]

PLAIN = [0, 1, -3, True, False, 0.1, 0.2, -0.0, 1e16, 1e300, math.inf, math.nan, 2**62, 2**63, -(2**63), 2**64, 10**400, 1e-3, 0.7, 3, 2, ("sub", "int", 5), ("sub", "float", 1.5), 1j, "a", "b", None]
THINGS = [("thing", n) for n in ("a", "b", "z", "fails", "stops", "false", "half", "seven", "text", "strange")]
NUMBERS = st.sampled_from(PLAIN[:20])
ITEMS = st.one_of(NUMBERS, st.sampled_from(PLAIN + THINGS))
iterables = st.builds(lambda w, items: ("iterable", w, tuple(items)), st.sampled_from(ANYTHING), st.one_of(st.lists(NUMBERS, max_size=5), st.lists(ITEMS, max_size=5)))
texts = st.builds(lambda w, items: ("iterable", w, tuple(items)), st.sampled_from(ANYTHING), st.lists(st.sampled_from(["a", "", "xyz", ("sub", "str", "s"), 3, b"b", None, ("thing", "a")]), max_size=4))
PAIRS = ["ab", (1, 2), ("x", ("thing", "a")), ("iterable", "list", (1, 2)), ("iterable", "generator", (1, 2)), ("iterable", "failing", (1, 2)), (1, 2, 3), 3, ("iterable", "sized", (1, 2)), ("iterable", "raising_iter", ()), (("thing", "a"), 1)]
pairs = st.builds(lambda w, items: ("iterable", w, tuple(items)), st.sampled_from(ANYTHING), st.lists(st.sampled_from(PAIRS), max_size=3))


# ------------------------------------------------------------------------------------------------- functions to pass


def logging(world, name, body):
    def function(*args):
        world.log.append((name, *map(shown, args)))
        return body(*args)

    return function


def raising(error):
    def body(*args):
        raise error

    return body


FUNCTIONS = {
    "first": lambda w: logging(w, "first", lambda *args: args[0] if args else None),
    "true": lambda w: logging(w, "true", lambda *args: True),
    "false": lambda w: logging(w, "false", lambda *args: False),
    "small": lambda w: logging(w, "small", lambda x, *rest: isinstance(x, int) and x < 2),
    "thing": lambda w: logging(w, "thing", lambda *args: Thing(w, "t")),
    "fails": lambda w: logging(w, "fails", raising(KeyError("f"))),
    "stops": lambda w: logging(w, "stops", raising(StopIteration())),
    "none": lambda w: None,
    "bool": lambda w: bool,
    "int": lambda w: 3,
}
functions = st.sampled_from([("function", name) for name in FUNCTIONS])
sizes = st.sampled_from([0, 1, 2, 5, -1, None, True, 1.5, "a", 2**70, ("thing", "i"), ("thing", "fails")])
truths = st.sampled_from([True, False, 0, 3, ("thing", "t"), ("thing", "false"), ("thing", "fails")])

ARGUMENTS = {
    any: ([iterables], {}),
    all: ([iterables], {}),
    sum: ([iterables, st.sampled_from([0, 0.0, 1.5, 2**63, -5, True, "a", b"", bytearray(), ("sub", "str", "s"), ("thing", "a"), (), ("sub", "int", 3)])], {"start": st.sampled_from([0, 0.5, ""])}),
    math.prod: ([iterables], {"start": st.sampled_from([1, 0.5, -3, True, 2**63, ("sub", "int", 3)])}),
    min: ([iterables, ITEMS, ITEMS], {"key": functions, "default": ITEMS}),
    max: ([iterables, ITEMS, ITEMS], {"key": functions, "default": ITEMS}),
    list: ([iterables], {}),
    tuple: ([iterables], {}),
    set: ([iterables], {}),
    dict: ([pairs], {"k": ITEMS, "x": ITEMS}),
    dict.fromkeys: ([iterables, ITEMS], {}),
    str.join: ([st.sampled_from(["", ", ", ("sub", "str", "-")]), texts], {}),
    functools.reduce: ([functions, iterables, ITEMS], {}),
    map: ([functions, iterables, iterables, iterables], {}),
    filter: ([functions, iterables], {}),
    zip: ([iterables, iterables, iterables], {"strict": truths}),
    enumerate: ([iterables, sizes], {"start": sizes}),
    reversed: ([iterables], {}),
    itertools.filterfalse: ([functions, iterables], {}),
    itertools.chain: ([iterables, iterables, iterables], {}),
    itertools.chain.from_iterable: ([st.one_of(pairs, iterables)], {}),
    itertools.repeat: ([ITEMS, sizes], {"times": sizes}),
    itertools.count: ([ITEMS, ITEMS], {"step": ITEMS}),
    itertools.cycle: ([iterables], {}),
    itertools.accumulate: ([iterables, functions], {"initial": ITEMS, "func": functions}),
    itertools.takewhile: ([functions, iterables], {}),
    itertools.dropwhile: ([functions, iterables], {}),
    itertools.starmap: ([functions, pairs], {}),
    itertools.compress: ([iterables, iterables], {}),
    itertools.pairwise: ([iterables], {}),
    itertools.zip_longest: ([iterables, iterables, iterables], {"fillvalue": ITEMS}),
    itertools.islice: ([iterables, sizes, sizes, sizes], {}),
    iter: ([functions, ITEMS], {}),
    itertools.groupby: ([iterables, functions], {"key": functions}),
    itertools.tee: ([iterables, sizes], {}),
    itertools.product: ([iterables, iterables], {"repeat": sizes}),
    itertools.combinations: ([iterables, sizes], {"r": sizes}),
    itertools.combinations_with_replacement: ([iterables, sizes], {}),
    itertools.permutations: ([iterables, sizes], {"r": sizes}),
}
if hasattr(itertools, "batched"):
    ARGUMENTS[itertools.batched] = ([iterables, sizes], {})

MODELS = (ITERATORS | ITERTOOLS | INFINITE | CHOICES).models
#: The iterators that have a model: made by calling these.
MAKERS = [fn for fn, model in MODELS.items() if fn is not unpack and (fn in ARGUMENTS or not isinstance(model, Stand))]


@st.composite
def arguments(draw, fn):
    positional, named = ARGUMENTS[fn]
    count = draw(st.integers(0 if fn in (min, max, zip, dict, list, tuple, set, itertools.chain, itertools.zip_longest) else 1, len(positional)))
    args = [draw(strategy) for strategy in positional[:count]]
    chosen = [name for name in named if draw(st.integers(0, 2)) == 0]
    return args, {name: draw(named[name]) for name in chosen}


# ------------------------------------------------------------------------------------------------- running


def made(world, code):
    if isinstance(code, tuple) and len(code) == 2 and code[0] == "function":
        return FUNCTIONS[code[1]](world)
    return world.item(code)


def shown(value):
    """A description that is the same for equal results of two runs."""
    if type(value) in (list, tuple):
        return type(value).__name__, [shown(v) for v in value]
    if type(value) is dict:
        return "dict", [(shown(k), shown(v)) for k, v in value.items()]
    if type(value) is set:
        return "set", sorted(repr(shown(v)) for v in value)
    if isinstance(value, World | Logged | Indexed | NoIter) or hasattr(value, "__next__") or callable(value):
        return type(value).__name__ if not isinstance(value, Thing) else repr(value)
    return type(value).__name__, repr(value)


def described(error):
    context = error.__context__
    return type(error).__name__, str(error), None if context is None else type(context).__name__


def run(fn, recipe, lazily=False):
    """What a call does: its outcome, and the log of the order of everything."""
    world = World()
    args, named = recipe
    args = [made(world, a) for a in args]
    named = {name: made(world, a) for name, a in named.items()}
    try:
        result = fn(*args, **named)
        if lazily:
            world.log.append("made")
            result = stepped(world, result)
        outcome = shown(result)
        return outcome, world.log[:]
    except Exception as error:
        # a traceback keeps the variables of a model; what they hold ends a little later
        return described(error), [entry for entry in world.log if entry != "closed"]


def stepped(world, result):
    """What nine steps of an iterator give, whatever they raise; groups are begun, tees take turns."""
    steps = []
    for turn in range(9):
        try:
            item = next(result[turn % 3 % len(result)] if type(result) is tuple and result else result)
            if type(item) is tuple and hasattr(item[-1], "__next__") and hasattr(type(item[-1]), "__iter__") and turn % 2:
                item = item[0], next(item[-1], "end"), next(item[-1], "end")
            steps.append(shown(item))
        except Exception as error:
            steps.append(described(error))
        world.log.append("step")
    return steps


def binds(model, recipe):
    import inspect

    try:
        inspect.signature(model).bind(*recipe[0], **recipe[1])
    except TypeError:
        return False
    return True


NAMES = {fn: getattr(fn, "__qualname__", str(fn)) for fn in ARGUMENTS}


@pytest.mark.parametrize("fn", list(REDUCTIONS.models), ids=NAMES.get)
def test_models_do_what_the_functions_do(fn):
    model = REDUCTIONS.models[fn]

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
    @given(arguments(fn))
    def same(recipe):
        if binds(model, recipe):
            assert run(model, recipe) == run(fn, recipe)

    same()


@pytest.mark.parametrize("fn", MAKERS, ids=NAMES.get)
def test_iterator_models_do_what_the_iterators_do(fn):
    model = MODELS[fn]
    model = model.cls if isinstance(model, Stand) else model

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
    @given(arguments(fn))
    def same(recipe):
        if binds(model, recipe):
            assert run(model, recipe, lazily=True) == run(fn, recipe, lazily=True)

    same()


NUMERIC = st.one_of(st.floats(), st.floats(-2, 2), st.integers(-5, 5), st.sampled_from([2**62, 2**63, -(2**63), 2**64, -(2**64), True, ("sub", "int", 4), ("sub", "int", 2**64), ("sub", "float", 0.25)]))


@settings(max_examples=4 * EXAMPLES, deadline=None, derandomize=True, database=None)
@given(st.lists(NUMERIC, max_size=8), st.sampled_from([0, 0.0, 0.1, 2**63, -(2**63), 2**64]))
def test_sums_of_numbers(items, start):
    """Bit for bit, on every version, with its compensation or without."""
    recipe = [("iterable", "list", tuple(items)), start], {}
    assert run(REDUCTIONS.models[sum], recipe) == run(sum, recipe)


def test_compensation_is_noticed():
    assert COMPENSATED == (math.fsum([0.1] * 10) == sum([0.1] * 10))


def test_every_model_is_drawn():
    assert set(REDUCTIONS.models) | set(MAKERS) == set(ARGUMENTS)


# ------------------------------------------------------------------------------------------------- rules as text

INT, FLOAT, STR = Type(int), Type(float), Type(str)


def test_signatures():
    rule = Signature("str sep=str|none? maxsplit=index? -> list !")
    assert rule(STR)[0] == Type(list)
    assert rule(STR, sep=Const(None)) is not None
    assert rule(STR, STR, INT) is not None
    assert rule(STR, STR, sep=STR) is None
    assert rule(STR, other=STR) is None
    assert rule() is None
    assert rule(STR, FLOAT) is None
    assert Signature("int :signed=bool? -> int")(INT, Type(bool)) is None
    assert Signature("int* -> int")() == Answer(INT)


def test_memberwise():
    rule = memberwise(signatures("int -> int", "float -> float !"))
    assert rule(join(INT, FLOAT)).type == join(INT, FLOAT)
    assert rule(join(INT, FLOAT)).effect == signatures("float -> float !")(FLOAT).effect
    assert rule(join(INT, STR)) is None
    assert rule(ANY) is None
    assert isinstance(rule(join(INT, FLOAT)).type, Union)


def test_the_library_is_composed():
    assert PYTHON.name == "python"
    assert str.upper in PYTHON.primitives
    assert sum in PYTHON.models
    assert len(PYTHON.primitives) > 350
