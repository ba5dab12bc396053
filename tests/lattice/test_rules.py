"""Every primitive row is held against the function itself.

Where a rule answers for the types of some arguments, the function is called with such arguments: its result has to fit
the type, what raises has to be allowed to, and what does not write has to leave its arguments as they were.
"""

import copy
import datetime
import io
import itertools
import math
import os
import random
import re
import struct
import sys
import warnings
from contextlib import redirect_stdout

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hovis.ir import operations
from hovis.ir.model import Effect
from hovis.lattice import ANY, AbstractValue, Const, Partial, Refined, Type, contains, forget, join
from hovis.lattice.constants import is_immutable
from hovis.library.language.signatures.fold_limits import small
from hovis.library.python import ATTRIBUTES, PYTHON

warnings.filterwarnings("error")
warnings.filterwarnings("ignore", ".* in a 'finally' block", SyntaxWarning)  # for modules of tests that are imported later

EXAMPLES = int(os.environ.get("HOVIS_EXAMPLES", "60"))  # of each row

BIG = 10**400  # no float, no index


class User:
    """A class of which no rule may know anything but its identity."""


def function() -> None:
    pass


SAMPLES: dict[str, list[object]] = {
    "int": [0, 1, -1, 2, 3, 7, 97, 255, 256, -5, 64, 10**6, 2**31, 2**63, -(2**64), BIG, -BIG],
    "bool": [False, True],
    "float": [0.0, -0.0, 0.5, 1.0, -1.5, 2.0, -3.0, 1e300, -1e308, 5e-324, math.inf, -math.inf, math.nan],
    "complex": [0j, 1j, -2 + 0.5j, complex(math.inf, math.nan), 1e308 + 1e308j],
    "str": ["", "a", "abc", "é", "0", "-12", "1.5", "0x1p3", "1+2j", "%s", "%d", "{}", "{0:>4}", "utf-8", "ascii", "strict", "big", "A b", "\ud800", "10", "c", "a\tb", "٣"],
    "bytes": [b"", b"a", b"abc", b"\xff", b"12", b"%d", b"a b"],
    "none": [None],
    "tuple": [(), (1,), (1, 2.5), ("a", "b"), (3, 1, 2), (1, "a"), ((1, 2), (3, 4)), (math.nan, 1), (None,), (True, 2), (BIG, 0.5)],
    "frozenset": [frozenset(), frozenset({1, 2}), frozenset({"a", 1.5})],
    "range": [range(0), range(3), range(5, -5, -2), range(2**70), range(-3, 10**30, 7)],
    "slice": [slice(None), slice(1, 2), slice(None, None, -1), slice(0, 5, 0), slice(-(2**70), None, 2)],
    "list": [[], [1], [User()], [[1]], ["a", "b"], [3, 1, 2]],
    "dict": [{}, {"a": 1}, {1: 2, "b": None}, {97: "x"}],
    "set": [set(), {1, 2}, {"a", 1.5}],
    "pattern": [re.compile("a"), re.compile("(?P<a>a)|(b+)"), re.compile(b"a?"), re.compile(b"a", re.LOCALE)],
    "match": [re.match("(?P<a>a)|b", "ab"), re.search("(?P<a>a)|b", "b"), re.match(b"", b"abc")],
    "other": [object(), User(), User, int, bool, (int, str), int | str, type, function, len, ValueError, KeyError("k"), ValueError, OSError, ...],
    "random": [random.Random(0)],
    "bytearray": [bytearray(), bytearray(b"ab")],
    "memoryview": [memoryview(b""), memoryview(b"ab")],
    "stream": [io.BytesIO(), io.BytesIO(b"ab")],
    "text": [io.StringIO(), io.StringIO("ab")],
    "format": [struct.Struct(">H"), struct.Struct("")],
    "date": [datetime.date(2024, 2, 29), datetime.date(1, 1, 1)],
    "timedelta": [datetime.timedelta(), datetime.timedelta(1, 2, 3)],
}

KEYWORDS = ["sep", "maxsplit", "encoding", "errors", "start", "strict", "key", "reverse", "base", "ndigits", "length", "byteorder", "signed", "rel_tol", "tabsize", "keepends", "end", "file"]

#: No meaning outside a Function, or they need what the samples do not have.
NOT_CALLED = {operations.enter_handler, operations.leave_handler, operations.current_exception, operations.drop}
#: Rules that trust the engine to give arguments of the right kind.
TRUSTING = {
    operations.join_strings,  # of strings
    operations.make_cell,
    operations.make_function,
    operations.make_class,
    operations.make_class_quietly,
    operations.make_object,
    operations.make_iterator,
    operations.make_range_iterator,
    operations.make_dict_iterator,
    operations.bind,
    operations.cell_get,
    operations.cell_set,
    operations.load_global,
    operations.store_global,
    operations.delete_global,
    operations.load_name,
    operations.load_name_or_cell,
    operations.delete_name,
    operations.check_bound,
    operations.converted,
    operations.lacks,
    operations.is_method_of,
    operations.keeps,
    operations.own_attribute,
    operations.exception_matches,
    operations.unpack,
    operations.unpack_star,
    operations.match_keys,
    operations.list_extend,
    operations.dict_update,
    operations.with_cause,
}

ROWS = sorted(PYTHON.primitives.items(), key=lambda item: (getattr(item[0], "__module__", None) or "", getattr(item[0], "__qualname__", repr(item[0]))))
CALLED = [(fn, row) for fn, row in ROWS if fn not in NOT_CALLED | TRUSTING]


def name_of(fn: object) -> str:
    return getattr(fn, "__qualname__", repr(fn))


def abstract(value: object, how: int) -> AbstractValue:
    """Something that value fits: the more, the higher how."""
    if how == 0 and (is_immutable(value) or callable(value) or isinstance(value, BaseException)):
        return Const(value)
    if how == 1 and type(value) in (tuple, list) and value:
        return Partial(type(value), range(len(value)), [abstract(v, 2) for v in value])
    if how == 1 and type(value) is dict and value:
        return Partial(dict, value, [abstract(v, 2) for v in value.values()])
    if how == 1 and type(value) is slice:
        return Partial(slice, ("start", "stop", "step"), [forget(Const(v)) for v in (value.start, value.stop, value.step)])
    if how in (0, 1) and type(value) is re.Match:
        return Refined(re.Match, (value.re, type(value.string), None if how else value))
    if how == 3:
        return join(Type(type(value)), Type(int))
    if how == 4:
        return ANY
    return Type(type(value))


def snapshot(values):
    return [(type(v), sorted(map(repr, v)) if type(v) is set else repr(v)) for v in values]


def ask(row, args, named=None):
    """The type and the effect of a call, or None."""
    named = named or {}
    try:
        result = row.result(*args, **named)
    except TypeError:
        return None
    if result is None:
        return None
    return result, row.effect if isinstance(row.effect, Effect) else row.effect(*args, **named)


def affordable(row, values, named):
    """May this be computed here?  What is not to be folded is not to be tried, but for plain allocations."""
    if not isinstance(row.fold, bool):
        return bool(row.fold(*values, **named))
    return row.fold or small(*values)


def check(fn, row, values, named, hows):
    types = [abstract(v, how) for v, how in zip(values, hows)]
    named_types = {k: abstract(v, how) for (k, v), how in zip(named.items(), hows[len(values) :])}
    assert all(map(contains, types, values))
    answer = ask(row, types, named_types)
    if answer is None or not affordable(row, values, named):
        return False
    result, effect = answer
    before = snapshot([*values, *named.values()])
    try:
        with redirect_stdout(io.StringIO()):
            outcome = row.fn(*values, **named)
    except (MemoryError, RecursionError):
        return False
    except Exception as error:
        assert effect & Effect.RAISES, f"{name_of(fn)}{types} {named_types} raises {error!r}"
        return True
    finally:
        if not effect & Effect.WRITES:
            assert snapshot([*values, *named.values()]) == before
    assert contains(result, outcome), f"{name_of(fn)}{types} {named_types}: {result} does not hold {outcome!r}"
    if not effect & (Effect.READS | Effect.WRITES | Effect.IO) and any(type(v) in (list, dict, set) for v in values):
        assert fn in ALLOCATES or not is_immutable(outcome), f"{name_of(fn)} reads"
    return True


#: Rows whose result does not depend on the contents of a mutable argument.
ALLOCATES = {fn for fn, _ in ROWS if getattr(fn, "__name__", "") in ("is_", "is_not", "type", "isinstance", "issubclass", "callable", "make_tuple", "match_sequence", "match_mapping", "is_iterator", "is_plain", "inherits", "type_name", "complaint", "slice")}


# ------------------------------------------------------------------------------------------------- every row, by kinds


def copied(value):
    return value if type(value) in (memoryview, struct.Struct) else copy.copy(value)


def answering(row, arity):
    """The combinations of kinds for which the rule answers for their types."""
    for kinds in itertools.product(SAMPLES, repeat=arity):
        samples = [next((v for v in SAMPLES[kind]), None) for kind in kinds]
        for hows in ((2,) * arity, (0,) * arity, (1,) * arity):
            if ask(row, [abstract(v, how) for v, how in zip(samples, hows)]) is not None:
                yield kinds
                break


@pytest.mark.parametrize(("fn", "row"), CALLED, ids=lambda x: name_of(x) if not hasattr(x, "effect") else "")
def test_rows_hold(fn, row):
    """All combinations of up to three kinds for which the rule may answer, with drawn values."""
    combinations = [kinds for arity in (0, 1, 2) for kinds in answering(row, arity)]
    with_two = [kinds for kinds in combinations if len(kinds) == 2] or [kinds for kinds in combinations if len(kinds) == 1]
    combinations += [(*kinds, more) for kinds in with_two for more in ("int", "none", "str", "bool")]

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
    @given(st.data())
    def holds(data):
        kinds = data.draw(st.sampled_from(combinations))
        values = [copied(data.draw(st.sampled_from(SAMPLES[kind]))) for kind in kinds]
        named = {}
        if data.draw(st.integers(0, 3)) == 0:
            keyword = data.draw(st.sampled_from(KEYWORDS))
            named[keyword] = data.draw(st.sampled_from(SAMPLES[data.draw(st.sampled_from(["int", "bool", "str", "none"]))]))
        hows = [data.draw(st.sampled_from([2, 2, 0, 1, 3])) for _ in range(len(values) + len(named))]
        check(fn, row, values, named, hows)

    if combinations:
        holds()


@pytest.mark.parametrize(("fn", "row"), CALLED, ids=lambda x: name_of(x) if not hasattr(x, "effect") else "")
def test_every_row_answers_for_something(fn, row):
    """A row that never answers is a mistake in it."""
    if fn in (object, next, operations.raised, operations.traceback_of, isinstance, issubclass):
        return  # they ask for more than one of a kind; see below
    kinds = (k for arity in range(4) for k in itertools.product(SAMPLES, repeat=arity))
    assert any(ask(row, [abstract(v, how) for v in values]) is not None for ks in kinds for values in list(zip(*(SAMPLES[k][-2:] or [0] for k in ks), strict=False)) or [()] for how in (2, 0, 1)), fn


@pytest.mark.parametrize(("fn", "row"), ROWS, ids=lambda x: name_of(x) if not hasattr(x, "effect") else "")
def test_nothing_is_known_of_unknown_operands(fn, row):
    """Calls with Any and user classes may do anything, but for what never looks at them."""
    blind = ALLOCATES | TRUSTING | NOT_CALLED | {operations.raised, operations.traceback_of, operations.make_list, operations.load_build_class, slice}
    if fn in blind or isinstance(fn, type) and issubclass(fn, BaseException):
        return
    for unknown in (ANY, Type(User), join(Type(int), Type(User))):
        for arity in (1, 2):
            answer = ask(row, [unknown] * arity)
            assert answer is None or answer[1] & Effect.OPAQUE, (fn, unknown)


# ------------------------------------------------------------------------------------------------- single facts


def effect_of(fn, *args):
    answer = ask(PYTHON.primitives[fn], args)
    return None if answer is None else answer[1]


def type_of(fn, *args):
    answer = ask(PYTHON.primitives[fn], args)
    return None if answer is None else answer[0]


INT, FLOAT, STR, LIST = Type(int), Type(float), Type(str), Type(list)


def test_numbers():
    import operator

    assert type_of(operator.add, join(INT, FLOAT), INT) == join(INT, FLOAT)
    assert effect_of(operator.add, INT, INT) == Effect.PURE
    assert effect_of(operator.add, INT, FLOAT) == Effect.RAISES
    assert effect_of(operator.add, Const(1), FLOAT) == Effect.PURE
    assert effect_of(operator.floordiv, INT, Const(2)) == Effect.PURE
    assert effect_of(operator.floordiv, INT, INT) == Effect.RAISES
    assert type_of(operator.pow, INT, Const(3)) == INT
    assert type_of(operator.pow, INT, INT) == join(INT, FLOAT)
    assert effect_of(operator.pow, INT, Const(3)) == Effect.PURE
    assert type_of(operator.and_, Type(bool), Type(bool)) == Type(bool)
    assert type_of(operator.invert, Type(bool)) is None
    assert effect_of(str, INT) == Effect.RAISES
    assert effect_of(str, FLOAT) == Effect.PURE


def test_containers():
    import operator

    assert type_of(operator.getitem, LIST, INT) is ANY
    assert effect_of(operator.getitem, LIST, INT) == Effect.READS | Effect.RAISES
    assert type_of(operator.getitem, Const((1, 2.5)), INT) == join(INT, FLOAT)
    assert type_of(divmod, INT, FLOAT) == Partial(tuple, (0, 1), (FLOAT, FLOAT))
    assert type_of(operator.getitem, type_of(divmod, INT, INT), Const(0)) == INT
    assert effect_of(list.append, LIST, ANY) == Effect.WRITES
    assert effect_of(len, LIST) == Effect.READS
    assert effect_of(len, STR) == Effect.PURE
    assert effect_of(print, INT, STR) == Effect.IO | Effect.RAISES
    assert effect_of(print, ANY) is None
    assert effect_of(operator.eq, LIST, LIST) & Effect.OPAQUE
    assert type_of(operator.eq, LIST, LIST) == Type(bool)
    assert type_of(operator.eq, LIST, ANY) is None


def test_what_formatting_gives_may_be_of_a_subclass_of_str():
    """A field or a conversion alone gives the very object that the method gave."""
    import operator

    for template, exact in [("{}", False), ("{}{}", False), ("{!r:}", False), ("{{{}", True), ("a{}", True), ("{}a", True)]:
        assert type_of(str.format, Const(template), ANY) == (STR if exact else None)
    for template, exact in [("%s", False), ("%(s)s", False), ("%s%r", False), ("a%s", True), ("%s.", True), ("%s%%", True)]:
        assert type_of(operator.mod, Const(template), Type(tuple)) == type_of(operator.mod, Const(template), Type(dict)) == (STR if exact else None)
    assert type_of(str.format, STR, ANY) is type_of(operator.mod, STR, Type(tuple)) is None
    assert type_of(operator.mod, STR, LIST) == STR


@pytest.mark.parametrize(
    ("fn", "values"),
    [
        ("pow", (2, 10**9)),
        ("pow", (2, -(10**9))),
        ("lshift", (1, 10**9)),
        ("mul", ("a", 10**9)),
        ("mul", (10**9, (1, 2))),
        ("mod", ("%1000000000d", 1)),
        ("mod", ("%*d", (10**9, 1))),
        ("contains", (range(10**9), 0.5)),
    ],
)
def test_costly_operators_are_not_folded(fn, values):
    import operator

    fold = PYTHON.primitives[getattr(operator, fn)].fold
    assert not fold(*values)


@pytest.mark.parametrize(
    ("fn", "values"),
    [
        (math.factorial, (10**6,)),
        (math.comb, (10**6, 10**5)),
        (str.center, ("a", 10**9)),
        (str.zfill, ("a", 10**9)),
        (str.replace, ("a" * 10**4, "", "b" * 10**4)),
        (str.join, ("b" * 10**4, "a" * 10**4)),
        (str.format, ("{:1000000000}", 1)),
        (str.format, ("{:{}}", 1, 10**9)),
        (str.format, ("{:n}", 1)),
        (format, (1, "1000000000")),
        (format, (1, "n")),
        (list, (range(10**9),)),
        (sum, (range(10**9),)),
        (bytes, (10**9,)),
        (int, ("9" * 5000,)),
        (str, (10**5000,)),
        (repr, ((10**5000,),)),
        (round, (1, -(10**9))),
        (int.to_bytes, (1, 10**9)),
        (hash, (tuple(range(10**6)),)),
        (str.expandtabs, ("\t", 10**9)),
    ],
)
def test_costly_calls_are_not_folded(fn, values):
    assert not PYTHON.primitives[fn].fold(*values)


def test_cheap_calls_are_folded():
    import operator

    for fn, values in [(operator.pow, (2, 100)), (operator.mul, ("-", 70)), (len, (range(10**9),)), (operator.getitem, (range(10**9), 5)), (str.format, ("{:>4}", 1)), (format, (3.14159, ".2f"))]:
        fold = PYTHON.primitives[fn].fold
        assert fold is True or fold(*values)


def test_too_many_digits_raise():
    if hasattr(sys, "get_int_max_str_digits"):
        for fn in (str, repr, format, ascii, operations.format_value):
            with pytest.raises(ValueError, match="digits"):
                fn(10**5000)
            assert effect_of(fn, INT) & Effect.RAISES
            assert not effect_of(fn, Const(5)) & Effect.RAISES


SPECS = ["", "d", "x", "#x", "08b", ",", "_", ".2f", ">10", "^+10.3e", "g", "%", "s", ".3", "<5s", "=5", "c", "n", "é>4", "010", "+", " ", "_x", ",.1f", "#.3g", "#", "z", ".", "10.", "=+5.1f", "_.2f", "0=4", ",e"]


@pytest.mark.parametrize("spec", SPECS)
def test_format_specifications(spec):
    row = PYTHON.primitives[format]
    for kind in ("int", "bool", "float", "complex", "str", "bytes", "none"):
        for value in SAMPLES[kind]:
            check(format, row, [value, spec], {}, [2, 0])


@given(st.sampled_from([*SAMPLES["int"], *SAMPLES["float"], *SAMPLES["complex"], *SAMPLES["str"]]), st.text("<>=^+- #0123,._bcdeEfFgGnosxX%z", max_size=6))
@settings(max_examples=2000, deadline=None, derandomize=True, database=None)
def test_drawn_format_specifications(value, spec):
    check(format, PYTHON.primitives[format], [value, spec], {}, [2, 0])


class Meta(type):
    def __instancecheck__(cls, instance):
        return True


class Odd(metaclass=Meta):
    pass


class Liar:
    @property
    def __class__(self):
        return int


def test_isinstance_asks_no_user_code():
    class Sub(User):
        pass

    assert type_of(isinstance, Type(bool), Const(int)) == Const(True)
    assert type_of(isinstance, Type(Sub), Const((int, User))) == Const(True)
    assert type_of(isinstance, INT, Const(int | str)) == Const(True)
    assert type_of(isinstance, join(INT, STR), Const(str)) == Type(bool)
    assert type_of(isinstance, INT, Const(Odd)) is None
    assert type_of(isinstance, Type(Liar), Const(int)) is None
    assert type_of(isinstance, ANY, Const(int)) is None


@pytest.mark.parametrize("cls", [list, tuple, str, bytes, range, dict, set, frozenset])
def test_iterators(cls):
    for value in SAMPLES[cls.__name__]:
        for make in (iter, reversed):
            made_type = type_of(make, Type(cls))
            if made_type is None:
                continue
            try:
                made = make(value)
            except OverflowError:
                assert effect_of(make, Type(cls)) & Effect.RAISES
                continue
            assert contains(made_type, made)
            for item in itertools.islice(made, 3):
                assert contains(type_of(next, Type(type(made))), item)
            assert effect_of(next, Type(type(made))) & Effect.RAISES


def test_exceptions():
    error = ValueError("x")
    assert contains(type_of(operations.raised, Type(ValueError)), operations.raised(error))
    assert type_of(operations.raised, Const(KeyError)) == Type(KeyError)
    assert type_of(operations.raised, ANY) is None
    assert type_of(operations.exception_matches, Type(KeyError), Const((ValueError, LookupError))) == Const(True)
    assert type_of(operations.exception_matches, ANY, Const(ValueError)) == Type(bool)
    assert type_of(operations.exception_matches, ANY, Const(int)) is None
    assert OSError not in PYTHON.primitives


def test_attributes():
    for descriptor, found in ATTRIBUTES.items():
        owner = descriptor.__objclass__
        for value in SAMPLES[owner.__name__]:
            assert contains(found, descriptor.__get__(value))
