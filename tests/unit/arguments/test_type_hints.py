"""Type hints as specs, and annotations: what they say, or an error that says what to write."""
from __future__ import annotations

import collections
import collections.abc
import dataclasses
import sys
import typing
from typing import (
    Annotated,
    Any,
    Callable,
    ClassVar,
    Final,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NoReturn,
    Optional,
    ParamSpec,
    Protocol,
    Sequence,
    TypedDict,
    TypeVar,
    Union,
)  # fmt: skip

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hovis
from hovis import SpecError, float64
from hovis.backend.entry.prologue import taker
from hovis.diagnostics import explain
from tests.differential.harness import compare

T = TypeVar("T")
N = TypeVar("N", int, str)
B = TypeVar("B", bound=int)
P = ParamSpec("P")
Id = NewType("Id", int)


class Box(Generic[T]):
    def __init__(self, held):
        self.held = held


class Sized(Protocol):
    def size(self) -> int: ...


class Ball:
    def size(self):
        return 3


class Row(TypedDict):
    name: str
    count: int | None


class Loose(TypedDict, total=False):
    name: str


class Tree(TypedDict):
    value: int
    rest: Tree | None


class Pair(NamedTuple):
    a: int
    b: str


@dataclasses.dataclass
class Card:
    rank: int
    suits: list[str]


def shown(spec):
    unknown = hovis.trace(lambda x: x, spec).signature.unknown
    return explain.fits(unknown[0].part) if unknown else None


@pytest.mark.parametrize(("hint", "told"), [
    (int | None, "Int | None"), (Optional[int], "Int | None"), (Union[int, str, None], "Int | Str | None"), (list[int], "list[Int]"), (dict[str, float], "dict[Str, Float]"),
    (typing.List[int], "list[Int]"), (typing.Tuple, "tuple"), (tuple[int, ...], "tuple[Int, ...]"), (tuple[int, str], "(Int, Str)"), (tuple[()], "()"),
    (tuple[int, Optional[str]], "(Int, Str | None)"), (tuple[tuple[int, float], list[int]], "((Int, Float), list[Int])"), (set[int], "set[Int]"),
    (frozenset, "frozenset"), (collections.deque[int], "deque"), (Sequence[int], "Any"), (collections.abc.Sequence, "Any"), (Callable[[int], str], "Any"),
    (collections.abc.Callable[..., int], "Any"), (typing.Iterable, "Any"), (Literal["a", 1], "OneOf('a', 1)"), (Literal["a"] | None, "OneOf('a', None)"),
    (Optional[Literal[1]] | str, "Int | Str | None"), (Annotated[int, "positive"], "Int"), (Annotated[np.ndarray, float64[3, :]], "float64[3, :]"),
    (Final[int], "Int"), (ClassVar[int], "Int"), (T, "Any"), (N, "Int | Str"), (B, "Int"), (list[T], "list"), (Id, "Int"), (type[int], "type"), (type[Any], "type"),
    (Any, "Any"), (Union[Any, int], "Any"), (Union[object, int], "Any"), (np.float64, "float64"), (npt.NDArray[np.float64], "ndarray"),
    (np.ndarray[tuple[int, int], np.dtype[np.float32]], "float32[:, :]"), (np.ndarray[tuple[Literal[3], int], np.dtype[np.bool_]], "bool[3, :]"),
    (np.ndarray[Any, np.dtype[np.int64]], "ndarray"), (np.ndarray[tuple[int], np.dtype[np.floating]], "ndarray"),
    (Optional[npt.NDArray[np.float64]], "ndarray | None"), (Box[int], "Box"), (Box, "Box"), (Sized, "Any"), (Row, "{'name': Str, 'count': Int | None}"),
    (Loose, "dict"), (Tree, "{'value': Int, 'rest': dict | None}"), (Pair, "Pair"), (Card, "Card"), (typing.LiteralString, "Str"), (typing.Self, "Any"),
    (typing.TypeGuard[int], "Bool"), (typing.Hashable, "Any"), (typing.Pattern[str], "Pattern"), (typing.AnyStr, "Str | Bytes"), (P, "Any"),
    ({"a": int | None}, "{'a': Int | None}"), ([list[int], 3], "[list[Int], const(3)]"), (list[npt.NDArray[np.float64]], "list[ndarray]"), (list[Any], "list"), (list[list[int]], "list[list[Int]]"), (typing.SupportsInt, "Any"), (typing.IO[str], "Any"), (typing.TextIO, "Any"), (list["Card"], "list"),
])  # fmt: skip
def test_what_a_hint_says(hint, told):
    assert shown(hint) == told


@pytest.mark.parametrize("hint", [
    np.dtype("f8"), "float64[3]", "int | None", "list[int]", "Optional[int]", Optional["Card"], NoReturn, Final, ClassVar, Optional, Literal, Union, list[3],
    dict[str, 4.5], tuple[int, 3], typing.Never, typing.Unpack[tuple[int, str]], typing.Concatenate[int, P], typing.ForwardRef("int"), Union[int, NoReturn],
], ids=repr)  # fmt: skip
def test_what_says_nothing_is_an_error_with_advice(hint):
    with pytest.raises(SpecError, match="const|give the class|write the class"):
        hovis.trace(lambda x: x, hint)
    # the object itself, as a known value
    assert hovis.specialize(lambda x: x, hovis.const(hint))() is hint


@pytest.mark.parametrize("text", ["int", "list", "relu", "a | b", "[->+<]", "x[3]", "3 | 4", "float64[", "def f(x: int | None): pass", "list(x)", ""])
def test_texts_are_known_values(text):
    assert hovis.specialize(lambda x: x, text)() == text


def test_hints_in_fields_are_values_as_classes_are():
    card = Card(int | None, list[int])
    assert hovis.specialize(lambda c: c.rank, card)() == int | None


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type statements came with 3.12")
def test_type_statements():
    scope: dict = {}
    exec("type X = int | None\ntype L[T] = tuple[T, int]\ntype J = None | int | list[J] | tuple[J, J]\ntype Y = Y | int\ntype Z = Nope\n"
         "type E = tuple[E, E]\ndef f[T: int](x: T, y: 'T'): return x", scope)  # fmt: skip
    assert [shown(scope[name]) for name in "XJYE"] == ["Int | None", "Int | list | tuple | None", "Any", "(Any, Any)"]
    assert shown(scope["L"][str]) == "(Any, Int)"
    assert shown(tuple[scope["X"], int]) == "(Int | None, Int)"
    with pytest.raises(SpecError, match="Nope"):
        shown(scope["Z"])
    traced = hovis.trace(scope["f"], annotations=True)
    assert [explain.fits(u.part) for u in traced.signature.unknown] == ["Int", "Int"]


# ------------------------------------------------------------------------------------------------- random hints


class Unfit:
    """What fits no hint."""


PLAIN = {int: st.integers(), str: st.text(max_size=3), float: st.floats(), bool: st.booleans(), bytes: st.binary(max_size=2), type(None): st.none(),
         np.float64: st.just(np.float64(2.5)), Box[int]: st.builds(Box, st.integers()), Pair: st.just(Pair(1, "b")), Id: st.integers(), Any: st.just(1j),
         Row: st.just({"name": "n", "count": None}), Loose: st.just({}), Tree: st.just({"value": 3, "rest": None}), Card: st.builds(Card, st.integers(), st.just(["s"])),
         N: st.just("n"), Literal["a", 1, None]: st.sampled_from(["a", 1, None]), Callable[[int], int]: st.just(len), type[int]: st.just(str),
         np.ndarray[tuple[int], np.dtype[np.float64]]: st.builds(lambda n: np.arange(float(n)), st.integers(0, 3)), npt.NDArray[np.int64]: st.just(np.arange(2)),
         float64[2]: st.just(np.ones(2)), hovis.Int: st.integers(), Sized: st.just(Ball())}  # fmt: skip


def containers(inner):
    def of(pair, *others):
        hint, values = pair
        some = st.lists(values, max_size=3)
        kinds = {
            "list": (list[hint], some), "sequence": (Sequence[hint], some), "tuple": (tuple[hint, ...], some.map(tuple)),
            "dict": (dict[str, hint], st.dictionaries(st.text(max_size=2), values, max_size=2)), "Optional": (Optional[hint], st.none() | values),
            "Annotated": (Annotated[hint, "told"], values), "deque": (collections.deque[hint], some.map(collections.deque)),
            "pair": (tuple[(hint, *(h for h, _ in others))], st.tuples(values, *(v for _, v in others))),
            "Union": (Union[(hint, *(h for h, _ in others))], st.one_of(values, *(v for _, v in others))),
        }  # fmt: skip
        return st.sampled_from(sorted(kinds)).map(kinds.__getitem__)

    return st.lists(inner, min_size=1, max_size=3).flatmap(lambda pairs: of(*pairs))


HINTS = st.recursive(st.sampled_from([*PLAIN.items()]), containers, max_leaves=5)
MISFITS = st.sampled_from([None, True, 7, "x", 2.5, [], [1], (), (1,), {}, {"name": 1}, b"", Unfit, np.arange(3), np.ones((2, 2)), {1}, np.float32(1)])


def walked(x):
    if x is None or isinstance(x, bool):
        return repr(x)
    if isinstance(x, (int, float, complex)):
        return x + 1, type(x).__name__
    if isinstance(x, (str, bytes)):
        return x * 2, len(x)
    if isinstance(x, np.ndarray):
        return x.shape, x + x
    if isinstance(x, dict):
        return {key: walked(value) for key, value in x.items()}
    if isinstance(x, Card):
        x.rank += 1
        return x, x.suits[0]
    if hasattr(x, "__len__"):
        x = [walked(item) for item in x]
    return x


def summed(x):
    if isinstance(x, tuple):
        return sum(len(item) if isinstance(item, (str, tuple, list)) else 1 for item in x), x[0] if x else None
    if isinstance(x, list):
        x.append(len(x))
        return [item for item in x if isinstance(item, (int, str))], x[-1] + 1
    return x == 7, x is None, x


@given(st.sampled_from([walked, summed]), HINTS.flatmap(lambda pair: st.tuples(st.just(pair[0]), pair[1], pair[1])), MISFITS, st.booleans())
def test_residuals_for_random_hints(fn, drawn, misfit, by_annotation):
    hint, *values = drawn
    if by_annotation:
        scope: dict = {"fn": fn, "Hint": hint}
        exec("from __future__ import annotations\ndef called(x: Hint): return fn(x)", scope)
        residual = hovis.specialize(scope["called"], annotations=True)
    else:
        residual = hovis.specialize(fn, hint)
    [unknown] = residual.trace.signature.unknown
    for value in values:
        assert taker(unknown.part)(value) is not None, (hint, value)
    for value in (*values, misfit):
        compare.same(compare.observe(fn, compare.fresh((value,))), compare.observe(residual, compare.fresh((value,))))


# ------------------------------------------------------------------------------------------------- annotations


def documented(x: int | None, *rest: int, y: Sequence[int] = (), z: Literal["a", "b"] = "a", free=3, w: float64[3] = None, **more: str) -> Nope:  # noqa: F821
    return x, rest, y, z, free, w, more


def of(traced):
    return {u.name: explain.fits(u.part) for u in traced.signature.unknown}


def test_annotations_are_specs_where_there_are_none():
    traced = hovis.trace(documented, annotations=True)
    assert of(traced) == {"x": "Int | None", "rest": "tuple", "y": "Any", "z": "OneOf('a', 'b')", "free": "Any", "w": "float64[3]", "more": "dict"}
    assert of(hovis.trace(documented, str, annotations=True))["x"] == "Str"
    assert of(hovis.trace(documented))["x"] == "Any"
    with hovis.options(annotations=True):
        assert of(hovis.trace(documented)) == of(traced)
        assert of(hovis.specialize(documented).trace) == of(traced)
    assert hovis.options(annotations=True).return_type(lambda x: x) is hovis.return_type(lambda x: x, annotations=True)


def test_defaults_are_kept_whether_they_fit_or_not():
    def f(x: int = None, y: int = 2):
        return x, y

    residual = hovis.specialize(f, annotations=True)
    assert (residual(), residual(1), residual("a", 3)) == ((None, 2), (1, 2), ("a", 3))


def test_only_what_is_needed_is_evaluated():
    seen = []

    def f(x, y):
        return x, y

    f.__globals__["looked"] = lambda: seen.append(1) or int
    f.__annotations__.update(x="looked()", y="Missing", **{"return": "looked()"})
    try:
        with pytest.raises(SpecError, match=r"'y'.*Missing.*hovis\.Any"):
            hovis.trace(f, int, annotations=True)
        assert of(hovis.trace(f, y=int, annotations=True)) == {"x": "Int", "y": "Int"}
        assert seen == [1]
    finally:
        del f.__globals__["looked"]


@pytest.mark.parametrize("note", ["1 +", "1/0", 3, "'a text'", "3", NoReturn, "Missing", "list[Missing]", "f(", (1, 2), 4.5, "ClassVar", "\x00"], ids=repr)
def test_what_can_t_be_resolved_is_an_error(note):
    def f(x):
        return x

    f.__annotations__["x"] = note
    with pytest.raises(SpecError, match="argument 'x'"):
        hovis.trace(f, annotations=True)
    assert hovis.specialize(f, hovis.Any, annotations=True)(3) == 3


def test_names_of_the_function_around():
    Local = int

    def f(x: Local | None, y: tuple[Local, str]):
        return Local, x, y

    assert of(hovis.trace(f, annotations=True)) == {"x": "Int | None", "y": "(Int, Str)"}


def test_methods_and_callable_objects():
    class Thing:
        def method(self, x: int):
            return x

        def __call__(self, x: str):
            return x

    assert of(hovis.trace(Thing().method, annotations=True)) == {"x": "Int"}
    assert of(hovis.trace(Thing(), annotations=True)) == {"x": "Str"}


def test_a_parameter_of_that_name_is_the_function_s_own():
    def f(annotations, library):
        return annotations, library

    assert hovis.specialize(f, annotations=True, library=4)() == (True, 4)
