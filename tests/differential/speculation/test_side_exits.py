"""Side exits: where an assumption does not hold, all activations continue in their original code, as if they had never left it."""
from __future__ import annotations

import contextlib
import gc
import itertools
import os
import sys
import traceback
import warnings
import weakref

import pytest

import hovis
import hovis.front.jit as jitting
from hovis.front.jit_cache.variants import exits_of
from tests.differential.harness.compare import difference
from tests.differential.harness.forced_exits import forced
from tests.differential.harness.splits import observe

SCALE = 2


class Point:
    def __init__(self, x, y=0, *more, scale=1, **named):
        self.x, self.y, self.more = x * scale, y, more
        self.__dict__.update(named)

    def __add__(self, other): return Point(self.x + other.x, self.y + other.y)

    def __lt__(self, other): return self.x < other.x

    @property
    def length(self):
        if self.x < 0:
            raise AttributeError("negative")
        return abs(self.x) + abs(self.y)

    def __getattr__(self, name):
        return (name, self.x) if not name.startswith("__") else object.__getattribute__(self, name)


class Deep(Point):
    def __init__(self, x):
        super().__init__(x, scale=SCALE)
        self.deep = True


def arithmetic(x, n):
    total, seen = 0, []
    for k in range(5):
        if k % 2:
            total += k * x
        elif k == n:
            continue
        else:
            total -= x
        seen.append((k, total))
    return total, seen


def nested(x, n):
    def inner(y, *rest, key=3, **more):
        z = y + key
        if z > n:
            return [z, rest, more]
        return helper(z) if n else (z,)

    def helper(z):
        if z == x:
            return {"z": z}
        return {z, x}

    return inner(x), inner(n, 1, 2), inner(x, key=n), inner(1, a=x)


def objects(x, n):
    a, b = Point(x, 1, 2, named=n), Deep(n)
    c = a + b
    if c.length > 3:
        c.x -= 1
    return c.x, c.y, b.deep, a < b, max([a, b, c]).x, a.missing, (Point(-1).length if n > 2 else None)


def handlers(x, n):
    log = []
    for k in range(4):
        try:
            log.append(("try", k))
            if k == n:
                raise ValueError(k)
            if k == x:
                raise KeyError(k) from TypeError("cause")
        except ValueError as error:
            log.append(("value", error.args, sys.exc_info()[0]))
            if k == 2:
                continue
            try:
                {}[k]
            except KeyError as inner:
                log.append((inner.__context__ is error, type(sys.exception()).__name__))
            log.append(type(sys.exception()).__name__)
        except LookupError as error:
            log.append(("lookup", error.args, repr(error.__cause__)))
        else:
            log.append("else")
        finally:
            log.append(("finally", k, sys.exception()))
    return log


def leaves(x, n):  # x and n decide, so that they are known, and no branch is left
    try:
        with contextlib.suppress(KeyError):
            log = []
            for k in range(3):
                log.append(k)
                if k == n:
                    raise KeyError(k)
                if k == x:
                    raise IndexError(k, log)
    finally:
        log.append("end")
    return log


class Manager:
    def __init__(self, log, swallows): self.log, self.swallows = log, swallows

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append((kind, value and value.args, [entry.name for entry in traceback.extract_tb(trace)]))
        return self.swallows


def managers(x, n):
    log = []
    with Manager(log, True) as first, Manager(log, n > 1):
        log.append(first.swallows)
        if x:
            raise ValueError(x, n)
        log.append("through")
    return log


def unbound(x, n):  # it calls locals(), and is not left
    if x:
        late = n
    try:
        found = late
    except UnboundLocalError as error:
        found = str(error)
    del n
    try:
        return found, n
    except NameError as error:
        return found, type(error).__name__, sorted(name for name in locals() if name != "error")


def unbound_only(x, n):
    if x:
        late = n
    if n:
        del x
    return late + (x if not n else 1)


def cells(x, n):
    count = 0

    def more(step):
        nonlocal count
        count += step
        if count > n:
            return count
        return -count

    found = [more(k) for k in (1, x, n)]
    return found, count, [f() for f in [lambda k=k: k + count for k in range(2)]]


def patterns(x, n):
    match [x, {"n": n}, Point(x)]:
        case [0, *_]:
            return "none"
        case [a, {"n": 1 | 2 as b}, Point(x=c)] if a:
            return a, b, c
        case [_, {"n": b, **rest}, p]:
            return b, rest, p.x
    return None


def comprehensions(x, n):
    table = {k: [j * x for j in range(k) if j != n] for k in range(4) if k != x}
    return table, {k + n for k in table}, [(a, b) for a, b in zip(table, table.values(), strict=True) if b]


def loops(x, n):
    k = 0
    while True:
        k += 1
        for j in range(k):
            if j == n:
                break
            if j * k > 9:
                return "inner", j, k
        else:
            if k > x + 3:
                break
            continue
        if k > 4:
            break
    return k


def texts(x, n):
    found = f"{x!r:>4}|{n + x:03d}" if x > n else f"{n}"
    return found, "%s-%d" % (found, n), found.upper().split("|"), (x and n) or "neither", x < n < 3


def calls(x, n):
    given = [x, n]
    named = {"scale": n} if n else {}
    point = Point(*given, *given, **named, other=x)
    return point.x, point.more, point.other, dict(a=1, **named), print(x, *given, sep="-") is None


def raises(x, n):
    def second(k):
        if k > 1:
            raise ValueError("second", k)
        return k

    def first(k):
        return second(k + x) + second(k + n)

    return [first(k) for k in range(3)]


class Counted:
    def __init__(self, x, n):
        self.x = x
        if x > n:
            self.larger = True
        for k in range(2):
            if k == n:
                self.k = k
        if x == 5:
            raise ValueError(x)


class Odd:
    def __init__(self, x):
        self.x = x
        if x > 1:
            return x


class Both(Counted):
    def __new__(cls, *args):
        return super().__new__(cls)

    def __init__(self, x, n):
        super().__init__(x, n)
        self.inner = Counted(n, x)


def constructed(x, n):
    found = []
    x += int.from_bytes(os.urandom(0), "big")  # now they are unknown
    n += int.from_bytes(os.urandom(0), "big")
    try:
        found.append(dict(Counted(x, n).__dict__))
        Counted(n, x)
        found += [dict(Counted(k, n).__dict__) for k in range(2)]
        both = Both(n, x)
        found += [both.x, dict(both.inner.__dict__), both.__class__.__name__]
        if Counted(x, 0).x == Counted(0, n).x:
            found.append("equal")
    except ValueError as error:
        found.append(error.args)
    found.append(Odd(n).x)
    return found


PROGRAMS = [arithmetic, nested, objects, handlers, leaves, managers, unbound, unbound_only, cells, patterns, comprehensions, loops, texts, calls, raises, constructed]


def compared(fn, args, seed):
    """Compare a call of the jitted function, with forced side exits, with one of the function itself; return the exits that were taken."""
    wanted = observe(fn, args)
    with forced(seed) as taken:
        found = observe(hovis.jit(fn), args)
    assert not difference(wanted[0], found[0])
    assert found[1] == wanted[1], "tracebacks differ"
    return taken


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_programs(fn):
    count = 0
    for seed in range(6):
        for args in ((0, 0), (1, 2), (2, 1), (5, 3)):
            count += len(compared(fn, args, (fn.__name__, seed)))
    assert count or fn in (leaves, unbound), "no exit was taken"


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_every_branch_at_once(fn):
    """Each chain that can be left is left at its first branch."""
    wanted = observe(fn, (2, 1))
    with forced(0, 100):
        found = observe(hovis.jit(fn), (2, 1))
    assert not difference(wanted[0], found[0]) and found[1] == wanted[1]


# ------------------------------------------------------------------------------------------------- what is assumed


def classes(held):
    total = 0
    for item in held:
        total = total + item
    return total


def test_another_class():
    jitted = hovis.jit(classes)
    assert jitted([1.5, 2.5]) == 4.0
    for given in ([1.5, 2], [True], [1, 2.5], [], [2**70, 1.5]):
        assert jitted(given) == classes(given)
    with pytest.raises(TypeError, match="unsupported operand"):
        jitted([1.5, "a"])


def reads(at, changes):
    before = at.value
    changes(at)
    return before, at.value


def test_what_a_call_has_changed():
    class Holder:
        value = 1

    def quiet(at): ...

    def loud(at): at.value = "changed"

    def louder(at): type(at).value = [at]

    for change in (loud, louder):
        jitted = hovis.jit(reads)
        for given in (quiet, change, quiet):
            mine, other = Holder(), Holder()
            Holder.value = 1
            found = jitted(mine, given)
            Holder.value = 1
            assert str(found).replace(str(mine), "") == str(reads(other, given)).replace(str(other), "")


def test_objects_end_when_they_do_in_the_original():
    ends = []

    class Ends:
        def __init__(self, name): weakref.finalize(self, ends.append, name)

    def program(tell, n):
        first, second = Ends("first"), [Ends("second")]
        if n:
            tell(1)
        first = None
        tell(2)
        second.clear()
        tell(3)
        return n

    for seed in range(8):
        log = []
        for fn in (program, hovis.jit(program)):
            ends.clear()
            with forced(("ends", seed)):
                fn(lambda k: log.append((k, *ends)), 1)  # noqa: B023
            log.append(tuple(ends))
        assert log[: len(log) // 2] == log[len(log) // 2 :]


def test_arguments_are_not_kept():
    class Big: ...

    def program(held, n):
        if n > 1:
            return len(held)
        return held[0] is held[-1]

    jitted, given = hovis.jit(program), [Big()]
    gone = weakref.ref(given[0])
    assert jitted(given, 1) is True
    given.clear()
    gc.collect()
    assert gone() is None


def test_deep_recursion_through_exits():
    def deep(n, xs):
        if n == 0:
            return 0
        return 1 + deep(n - 1, xs)

    with forced("deep", 60):
        jitted = hovis.jit(deep)
        assert jitted(100, [1]) == 100


# ------------------------------------------------------------------------------------------------- what is learned from exits


def chooses(x, log):
    if x > 0:
        log.append(1)
        return x * 2
    return len(log), x


def warm(fn, *args):
    for _ in range(64):
        fn(*args)


def test_a_path_that_is_taken_after_all_is_traced(monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", False)
    warm(chooses, 1.5, [])
    jitted = hovis.jit(chooses)
    assert jitted(2.0, []) == 4
    assert any(True for variant in jitted._variants.values() for _ in exits_of(variant.trace))
    for _ in range(40):
        assert jitted(-1.0, []) == (0, -1.0)
    assert jitted.cache_info()["made"] == 2
    for _ in range(40):  # now this path is assumed to be taken, since the other one makes a call
        assert jitted(2.0, []) == 4
    assert jitted.cache_info()["made"] == 3
    assert not any(True for variant in jitted._variants.values() for _ in exits_of(variant.trace))


def test_a_function_that_takes_long_to_trace_is_traced_when_it_has_run(monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", True)
    monkeypatch.setattr(jitting, "BRIEFLY", 0.0)
    jitted = hovis.jit(chooses)
    for k in range(jitting.STAYS + 200):
        assert jitted(k + 1, []) == 2 * k + 2
    assert jitted.cache_info()["made"] >= 2 and not any(trace.fallback for trace in jitted.traces)


def test_explain_and_source_show_exits():
    with forced("shown", 100):
        jitted = hovis.jit(chooses)
        jitted(2, [])
    [trace] = jitted.traces
    assert "resume(" in trace.source() and "resume!" in str(trace)


class Steps:
    def __init__(self, n): self.n = n

    def __iter__(self): return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


def test_the_end_of_an_iterator_is_seen_where_the_environment_has_changed():
    def otherwise(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return -self.n

    class Item:
        def __del__(self): Steps.__next__ = otherwise

    def program(items): return [pair[1] for pair in itertools.zip_longest(items, Steps(2))]

    before, found = Steps.__next__, []
    for fn in (program, hovis.jit(program)):
        found.append(fn(Item() for _ in range(3)))
        Steps.__next__ = before
    assert found[0] == found[1]


def test_a_variable_that_a_comprehension_hides():
    def program(flag, items):
        if flag[0]:
            late = 1
        found = [late + 1 for late in items]
        return late, found

    jitted = hovis.jit(program)
    assert jitted([1.0], [1.5]) == (1, [2.5])
    with pytest.raises(UnboundLocalError):
        jitted([0.0], [2])


def test_warnings_name_the_line_of_the_caller():
    def program(items):
        for item in items:
            if item < 0:
                warnings.warn("negative", stacklevel=2)
        return len(items)

    warm(program, [1.0])
    jitted = hovis.jit(program)
    assert jitted([1.0]) == 1
    told = []
    for fn in (program, jitted):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fn([-1.0])
        told += [(warning.filename, warning.lineno) for warning in caught]
    assert len(told) == 2 and told[0] == told[1]


def test_a_strict_residual_is_never_left():
    warm(chooses, 1.5, [])
    jitted = hovis.jit(strict=True)(chooses)
    assert jitted(2.5, []) == 5.0 and jitted(-1.0, []) == (0, -1.0)
    assert not any(True for variant in jitted._variants.values() for _ in exits_of(variant.trace))


def test_what_raises_and_handlers_are_not_traced_until_they_are_needed(monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", False)

    def parsed(words, log):
        try:
            if not words:
                raise ValueError("empty")
            return int(words[0])
        except ValueError as error:
            log.append(str(error))
            return None

    jitted, log = hovis.jit(parsed), []
    assert jitted(["12"], log) == 12 and jitted(["13"], log) == 13
    before = exits_in(jitted)
    assert before
    for _ in range(40):
        assert jitted([], log) is None and jitted(["x"], log) is None
    assert log == ["empty", "invalid literal for int() with base 10: 'x'"] * 40
    assert exits_in(jitted) != before


def exits_in(jitted):
    return {left.site for variant in jitted._variants.values() for left in exits_of(variant.trace)}


def test_an_expensive_path_that_the_example_does_not_take_is_left(monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", False)

    def costly(d, log):
        if d.get("mode") == "slow":
            for word in sorted(d, key=str):
                log.append(word.upper())
        return len(d)

    jitted, log = hovis.jit(costly), []
    warm(costly, {"mode": "slow"}, [])
    assert jitted({"mode": "quick"}, log) == 1 and not log
    assert jitted({"mode": "slow", "k": 1}, log) == 2 and log == ["K", "MODE"]
    for _ in range(40):
        assert jitted({"mode": "slow"}, log) == 1
    assert log == ["K", "MODE"] + ["MODE"] * 40


def test_loops_take_the_paths_of_all_items(monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", False)

    def counted(items):
        found = [0, 0, 0]
        for k, item in enumerate(items):
            if isinstance(item, str):
                found[0] += len(item.strip())
            elif isinstance(item, dict):
                found[1] += sum(map(len, item))
            else:
                found[2] += k
        for left, right in zip(items, items[1:]):
            found.append((type(left).__name__, type(right).__name__))
        return found

    jitted = hovis.jit(counted)
    for items in (["a", "b"], ["a", {"k": 1}, 2, "c"], [], [1], [{"k": 0}] * 3) * 20:
        assert jitted(items) == counted(items)
    assert jitted.cache_info()["made"] < 8


def test_the_classes_that_cpython_has_seen_are_tested(monkeypatch):
    """No argument is an example here: what the opaque call returns is known from CPython's profile alone."""
    monkeypatch.setattr(jitting, "CONTESTED", False)
    points = [Point(1, 2), Point(3, 4)]
    unseen = eval("lambda: points.pop()", {"points": points, "__name__": "elsewhere"})
    opaque = type("Opaque", (), {"__call__": staticmethod(unseen)})

    def total():
        found = next(iter([opaque()()]))
        return found.x + found.y

    for _ in range(64):
        points.append(Point(1, 2))
        total()
    jitted = hovis.jit(total)
    assert "getattr" not in str(hovis.explain(jitted))
    for x in (1, 2.5, "a", (1,)):
        points += [Point(x, x), Point(x, x)]
        assert jitted() == total()
    points.append(complex(1, 2))
    with pytest.raises(AttributeError, match="'complex' object has no attribute 'x'"):
        jitted()


def test_code_without_a_file_has_its_entries_in_tracebacks(monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", False)
    space = {}
    exec("def added(items):\n total = 0\n for item in items:\n  total = total + item\n return total", space)
    warm(space["added"], [1, 2])
    jitted = hovis.jit(space["added"])
    assert jitted([1, 2]) == 3
    with pytest.raises(TypeError) as caught:
        jitted([1, "a"])
    assert [(frame.filename, frame.lineno) for frame in traceback.extract_tb(caught.tb)][1:] == [("<string>", 4)]
