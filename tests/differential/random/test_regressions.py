"""The smallest program of each bug that fuzzing found, and why it broke; known, of an exact type, and with nothing known."""
from __future__ import annotations

import collections
import contextlib
import copy
import functools
import io
import itertools
import operator
import sys

import pytest

import hovis
from tests.differential.harness.compare import observe, same

WAYS = {"specialize": hovis.specialize, "evaluate": lambda *a: functools.partial(hovis.evaluate, hovis.trace(*a))}
WITH_TEXT = WAYS | {"source": lambda *a: hovis.trace(*a).text().load()}


def agree(fn, *calls, ways=WAYS):
    """Every choice of known, typed and unknown arguments does what fn does."""
    for way, call, mask in itertools.product(ways, calls, itertools.product("TAC", repeat=len(calls[0]))):
        theirs, ours = copy.deepcopy(call), copy.deepcopy(call)
        specs = [hovis.const(v) if c == "C" else hovis.Any if c == "A" else type(v) for v, c in zip(ours, mask)]
        unknown = tuple(v for v, c in zip(ours, mask) if c != "C")
        expected = observe(fn, theirs)
        same(expected, observe(ways[way](fn, *specs), unknown, watch=(ours, {})), f"{fn.__name__}{call} {way} {''.join(mask)}")


def spread(n):
    def numbers(k):
        try:
            for i in range(k):
                yield i + 1
        finally:
            print("closed")
    return [0, *numbers(n), *numbers(2)]


def spread_in_with(xs):
    class Swallow:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            return True

    def numbers(k):
        yield k
    with Swallow():
        xs = [*numbers(1), *xs]
    return [str(x) for x in xs]


@pytest.mark.parametrize(("fn", "call"), [(spread, (2,)), (spread_in_with, ([10],))])
def test_a_discarded_result_of_an_action_that_enters_a_function(fn, call):
    # list.extend steps through a generator in a Python model; its None was left on the stack, below what came next
    agree(fn, call)


def removed_while_iterating(x):
    out = []
    values = [1, 2, 3, x]
    for v in values:
        if v == 2:
            values.remove(2)
        out.append(v)
    return out, values


def test_a_restart_that_no_key_can_help():
    # one state had the iterator virtual, the other real: the same key, so the loop head was split again without end
    agree(removed_while_iterating, (1,), (2,))
    assert not hovis.trace(removed_while_iterating, hovis.Int).fallback


def printed_in_the_test(xs, r):
    kept = []
    while xs:
        xs.pop()
        print(kept)
        kept.append(2 if r else 1)
    return kept


def test_a_restart_elsewhere_while_an_entry_has_just_changed():
    # what the join had changed was not followed again: an edge passed on a parameter that its block had no more
    agree(printed_in_the_test, ([1, 2, 3], 1), ([], 0))


class Empty:
    def __init__(self, size=0):
        self.size = size

    def __bool__(self):
        return self.size > 0 if self.size else False


def loop_over_nothing(q, xs):
    def few():
        for x in xs:
            return
            yield 1
    for x in few():
        q = x
    for x in zip(xs, ()):
        q = x
    return q


def asked(q, size):
    if Empty(size):
        q = 1
    return q


def test_a_frame_that_goes_on_elsewhere():
    # a frame that stands at the head of a loop goes on behind the loop as well: what is read there lives
    agree(loop_over_nothing, (7, [1, 2]), (7, []))
    agree(asked, (7, 3), (7, 0))


def starred(form):
    try:
        return [*Empty()] if form == 0 else (*Empty(),) if form == 1 else print(0, *Empty()) if form == 2 else [].extend(Empty())
    except TypeError as error:
        return error.args


def test_the_complaint_about_what_cannot_be_unpacked():
    for form in range(4):
        agree(starred, (form,))


def repeated(n):
    print("before")
    return [] * n


def test_nothing_repeated_too_often():
    # CPython complains about a count that is no machine word, though there is nothing to repeat; so did the trace
    agree(repeated, (2**64 + 1,), (-2**70,), (3,))


def test_a_changed_entry_is_looked_at_again_though_a_restart_comes_between():
    import functools

    def least(xs):
        key = functools.cmp_to_key(lambda a, b: b - a)
        return min(xs, key=key), key(5).obj

    def iterated(x, y, z, sink=[]):
        d, seen = dict(a=x, b=y), []
        sink.clear()
        try:
            for k in d:
                seen.append(k)
                sink.append(d)
                sink[-1][z] = 5
        except RuntimeError as error:
            seen.append(str(error))
        return seen, d

    assert hovis.specialize(least, hovis.Any)([3, 1, 2]) == least([3, 1, 2]) == (3, 5)
    assert hovis.jit(iterated)(1, 2, 3) == iterated(1, 2, 3)


def test_getattr_that_comes_and_changes():
    # what answers for an attribute that is missing was no guard
    class Bare:
        pass

    def asked():
        try:
            return Bare().missing
        except AttributeError as error:
            return error.args
    jitted = hovis.jit(asked)
    assert jitted() == asked()
    Bare.__getattr__ = lambda self, name: name
    assert jitted() == asked()
    Bare.__getattr__ = lambda self, name: 2
    assert jitted() == asked()


def answered(n):
    class Odd:
        def __contains__(self, item):
            return NotImplemented
    return n in Odd(), "yes" if NotImplemented else "no"


def test_the_truth_of_notimplemented():
    # it warns, or from 3.14 on raises: when it is asked, not while tracing
    agree(answered, (1,))


def formatted(result):
    class Formatted:
        def __format__(self, spec):
            return result
    try:
        return f"{Formatted()}|{Formatted():>{result}}", format(Formatted(), "x")
    except TypeError as error:
        return error.args


def test_what_format_returns_is_text():
    agree(formatted, ("a",), ("",))
    agree(formatted, (1,), (0,))
    assert hovis.specialize(formatted, None)() == formatted(None)


def lent(n, look):
    def scaled(x, y=n, *, by=n):
        return x + y, by
    seen = look(scaled)
    return scaled(n), scaled(n, by=2), scaled(1, 2, by=3), seen is None


def test_defaults_of_a_function_that_others_have_seen():
    # the dict of a function's keyword-only defaults may have been written to: the call is left, it does not fail to bind
    assert hovis.specialize(lent, int, hovis.Any)(3, callable) == lent(3, callable)
    def widen(function):
        function.__kwdefaults__["by"] = 7
    assert hovis.specialize(lent, int, hovis.Any)(3, widen) == lent(3, widen)


def measured(n):
    class Long:
        def __len__(self):
            print("asked")
            return n
    out = []
    for ask in (len, bool):
        try:
            out.append(ask(Long()))
        except (TypeError, ValueError, OverflowError) as error:
            out.append(error.args)
    return out


def test_a_length_that_is_none_is_asked_for_once():
    agree(measured, (2,), (-1,), (2**70,))
    agree(measured, (True,), (False,))
    agree(measured, (1.5,))
    agree(lambda n: len(range(n)), (2**70,), (3,))


def test_what_super_finds_is_a_guard():
    class Base:
        def who(self):
            return "base"

    class Derived(Base):
        def who(self):
            return "derived " + super().who()

    def asked():
        return Derived().who()
    jitted = hovis.jit(asked)
    assert jitted() == "derived base"
    Base.who = lambda self: "new"
    assert jitted() == "derived new"


def told_of_c_classes(x):
    told = []
    for a, b in ((collections.defaultdict(list), {}), (functools.partial(max), 1), (collections.deque(), 3), (x, x)):
        for do in (operator.sub, operator.lt, operator.isub):
            try:
                told.append(do(a, b))
            except TypeError as error:
                told.append(str(error))
    return told


def test_messages_name_the_module_of_a_c_class():
    agree(told_of_c_classes, (1,), (None,), (collections.deque(),), (functools.partial(max),))


class ReprIsNoText:
    def __repr__(self):
        return 1


def told_of_no_text(x):
    told = []
    for do in (str, repr, format, ascii, lambda v: f"{v}", lambda v: f"{v!r}", lambda v: f"{v!s}", lambda v: "%s" % v, print):
        try:
            told.append(do(ReprIsNoText()))
        except TypeError as error:
            told.append((x, str(error)))
    return told


def test_which_method_gave_no_text():
    agree(told_of_no_text, (1,))


def made_real_while_it_steps(q, r):
    bound = itertools.count(q, 0.5)
    for _ in itertools.takewhile(lambda x: x < bound, r):
        bound = "a"
    return bound


def test_an_iterator_that_two_ways_meet_in_is_not_made_real_in_mid_step():
    # the model's own code went on with the real object, and read an attribute of the stand-in from it
    agree(made_real_while_it_steps, (2, [5]), ("x", [5]), (2, []))


def told_in_turn(n):
    caught = []
    for i in range(n):
        try:
            raise ValueError(i)
        except ValueError as error:
            caught.append(error)
    return caught


def test_what_is_raised_behind_an_except_clause_is_not_raised_in_it():
    # of landings that follow one another, every other one was not looked at: what came behind it stood in its except clause
    agree(told_in_turn, (4,), ways=WITH_TEXT)


def counted_until_it_ends(xs):
    class Items:
        def __init__(self):
            self.asked = 0

        def __getitem__(self, i):
            self.asked += 1
            return xs[i]

    items = Items()
    return list(items), [x * 2 for x in items], items.asked


def test_what_a_landing_is_given_is_not_what_was_caught():
    # in the text the first parameter of a landing was taken for the exception, whatever the edges carry for it
    agree(counted_until_it_ends, ([3, 1],), ([],), ways=WITH_TEXT)


def written_to_the_stream(x):
    with contextlib.redirect_stdout(io.StringIO()) as hidden:
        print("hidden", x)
    sys.stdout.write(f"shown {x}")
    print(x, file=sys.stdout)
    return hidden.getvalue()


def test_streams_are_those_of_the_call():
    # sys.stdout was folded: what was written went to where it stood when the function was traced
    with contextlib.redirect_stdout(io.StringIO()) as of_tracing:
        made = [make(written_to_the_stream, hovis.Int) for make in WITH_TEXT.values()]
    for residual in made:
        same(observe(written_to_the_stream, (2,)), observe(residual, (2,)))
    assert not of_tracing.getvalue()
