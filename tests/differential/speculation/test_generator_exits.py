"""Side exits where generators are active or suspended, and inside models of C code: everything goes on as if it had never been left."""
from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import sys
import traceback
import warnings

import pytest

import hovis
import hovis.front.jit as jitting
from hovis.bytecode.normalize import normalize
from hovis.engine.speculation.activations import UNKNOWN, counted_frames
from hovis.front.jit_cache.variants import exits_of
from tests.differential.harness.compare import difference
from tests.differential.harness.forced_exits import forced
from tests.differential.harness.splits import observe


class Told:
    def __init__(self, name, log): self.name, self.log = name, log

    def __del__(self): self.log.append(f"end of {self.name}")


def numbers(x, log):
    kept = Told("numbers", log)
    try:
        for k in range(4):
            try:
                got = yield k * x
                if got:
                    log.append((kept.name, got))
            except ValueError as error:
                log.append((repr(error), repr(error.__context__)))
                yield -1
            except KeyError:
                try:
                    yield 1 // (x - 2)
                except ZeroDivisionError as error:
                    log.append(repr(error.__context__))
                    yield -2
    finally:
        log.append("closed" if x > 1 else "closed early")
    return "done"


def consumed(x, n):
    log, total = [], 0
    for value in numbers(x, log):
        if value > n:
            total += value * 10
        else:
            total -= 1
    return total, log


def two_at_once(x, n):
    log = []
    one, other = numbers(x, log), numbers(n, log)
    first = next(one) + next(other)
    if x > n:
        first *= 2
    rest = list(one)
    return first, next(other), rest, other.gi_frame is None, log


def sent_and_thrown(x, n):
    log = []
    it = numbers(x, log)
    seen = [next(it), it.send("a" if x > n else None), it.throw(ValueError("v"))]
    with contextlib.suppress(StopIteration):
        seen.append(it.throw(KeyError("k")))
        seen.append(next(it))
    if n:
        it.close()
    return seen, log


def delegated(x, n):
    log = []

    def outer():
        result = yield from numbers(x, log)
        if n > 1:
            log.append(result)
        yield result

    it = outer()
    first = next(it)
    return first, it.gi_yieldfrom is None, [v for v in it if v != n], log


def ended_by_a_name(x, n):
    log = []
    it = numbers(x, log)
    next(it)
    log.append("before")
    it = None if x > n else it
    log.append("after")
    return log


def in_a_handler(x, n):
    log = []
    try:
        raise LookupError(n)
    except LookupError:
        for value in numbers(x, log):
            log.append(repr(sys.exception() if sys.version_info >= (3, 12) else sys.exc_info()[1]))
            if value > n:
                break
        else:
            log.append("all")
    return log


def that_raises(x, n):
    def counted():
        for k in range(3):
            if k == n:
                raise ValueError(k)
            yield x // (k + 1)
        if x > 1:
            raise StopIteration
    return sum(counted())


def not_begun(x, n):
    log = []
    made = numbers(x, log)
    if x > n:
        log.append("big")
    return [*made], log, list(itertools.islice(numbers(n, log), 2))


@contextlib.contextmanager
def managed(x, log):
    log.append("enter")
    try:
        yield x + 1 if x > 1 else x
    except ValueError:
        log.append("caught")
    finally:
        log.append("exit")


def manager(x, n):
    log = []
    with managed(x, log) as value:
        if value > n:
            raise ValueError(value)
        log.append(value)
    return log


def renamed(x, n):
    def plain(k):
        while k > 0:
            yield k
            k -= 1
    plain.__name__, plain.__qualname__ = "other", "some.other"
    it = plain(x + 1)
    next(it)
    if n > 1:
        x += 1
    return it.__name__, it.__qualname__, x, list(it)


def key(x):
    if x > 2:
        return -x
    if x < -5:
        raise ValueError(x)
    return x


def held(x):
    return x * 2 > 3 if x > 1 else False


def quantified(x, n):
    return any(held(k) for k in range(x)), all(not held(k) for k in (n, x)), sum(key(k) for k in range(x + n)), max((x, n, 3), key=key)


def arranged(x, n):
    items = [x, n, 3, -1, -6 if x > n > 0 else 0]
    return sorted(items, key=key), ",".join(str(key(k)) for k in items), list(map(key, items)), [v for v in map(key, items) if v]


def bound(x, n):
    return functools.partial(key, x)(), functools.reduce(lambda a, b: a + key(b), [x, n], n), [*filter(held, range(x + 2))]


class Counts:
    def __new__(cls, n):
        made = super().__new__(cls)
        made.big = n > 1
        return made

    def __init__(self, n): self.n = n * 2 if n > 2 else n

    def __iter__(self): return self

    def __next__(self):
        self.n -= 1
        if self.n < 0:
            raise StopIteration
        return "two" if self.n == 2 else self.n

    def __getattr__(self, name):
        if name.startswith("no"):
            raise AttributeError(name + " is missing")
        return name

    def __str__(self): return "big" if self.n > 3 else "small"

    def __len__(self): return 7 if self.n > 3 else 1

    def __contains__(self, item): return item > 1 if self.n else False

    def __add__(self, other): return other if self.n > 1 else NotImplemented


def special_methods(x, n):
    counts = Counts(x)
    told = counts.big, counts.other, str(counts), f"{counts}", len(counts), n in counts, n not in counts, getattr(counts, "none", 0), hasattr(counts, "nope")
    seen = []
    for item in counts:
        seen.append(item if item != n else "same")
    return told, seen, [*Counts(n)], Counts(x) + n


class Wrong:
    def __init__(self, x): self.x = x

    def __float__(self): return 1.5 if self.x > 1 else 3

    def __hash__(self): return 2 if self.x > 1 else 1.0

    def __index__(self): return "0" if self.x < 2 else 0

    def __int__(self): return "1" if self.x < 2 else 1


def converted(x, n):
    seen = []
    for use in (float, hash, int, [5, 6].__getitem__):
        try:
            seen.append(use(Wrong(x)))
        except TypeError as error:
            seen.append((str(error), [at.name for at in traceback.extract_tb(error.__traceback__)]))
    return seen, float(Wrong(x + n))


def lines(x, n):
    def values():
        if n > 1:
            yield x
        yield n
    made, other = values(), values()
    first = next(other)
    if x > 1:
        first += 1
    return made.gi_frame.f_lineno - values.__code__.co_firstlineno, other.gi_frame.f_lineno - values.__code__.co_firstlineno, first, [*made, *other]


_SOURCE = """
def long_code(x, n):
    seen = []
    for v in map(key, [x, n, 3]):
        seen.append(v)
        if v == n:
            seen.append({0!r})
            {1}
    for v in Counts(x):
        seen.append(v)
    return seen
"""
_MADE = {"key": key, "Counts": Counts}
exec(compile(_SOURCE.format("s", "; ".join(f"seen.append(v + {k})" for k in range(120))), __file__, "exec"), _MADE)
long_code = _MADE["long_code"]


PROGRAMS = [consumed, two_at_once, sent_and_thrown, delegated, ended_by_a_name, in_a_handler, that_raises, not_begun, manager, renamed, quantified, arranged,
            bound, special_methods, converted, lines, long_code]
ARGUMENTS = ((0, 0), (1, 2), (2, 1), (4, 3))


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("part", [10, 30, 100])
def test_programs(fn, part):
    count = 0
    for args in ARGUMENTS:
        wanted = observe(fn, args)
        for seed in range(4 if part < 100 else 1):
            with forced((fn.__name__, seed), part) as taken:
                jitted = hovis.jit(fn)
                for _ in range(2):
                    found = observe(jitted, args)
                    assert not difference(wanted[0], found[0])
                    assert found[1] == wanted[1], "tracebacks differ"
            count += len(taken)
    assert count or part == 10, "no exit was taken"


def test_what_ends_with_a_generator():
    """What a generator holds ends when the generator does, also if it was continued in its original code."""
    log = []

    def held(x):
        it = numbers(x, log)
        first = next(it)
        if x > 1:
            first += 1
        del it
        log.append("deleted")
        return first

    gc.disable()
    try:
        for seed in range(6):
            with forced(seed, 40):
                log.clear()
                hovis.jit(held)(3)
                assert log == ["closed", "end of numbers", "deleted"]
    finally:
        gc.enable()


def test_a_residual_generator_is_not_left():
    """Its frame and what it delegates to would tell of the one in which it goes on."""
    def values(x):
        for k in (1, 2):
            if x > 1:
                x -= 1
            yield x * k

    def give(x):
        return values(x)

    with forced(1, 100) as taken:
        made = hovis.jit(give)(5)
        assert [next(made), *made] == [4, 6] and not taken
    assert made.gi_frame is None


def test_models_are_hidden(monkeypatch):
    """Code that is called by a model sees, in tracebacks and by the levels of warnings, the caller of the C function."""
    def told(x):
        if x == 2:
            warnings.warn("here", stacklevel=2)
        if x == 3:
            raise ValueError(x)
        return -x

    def arrange(items):
        try:
            return sorted(items, key=told)
        except ValueError as error:
            return [(at.name, at.lineno) for at in traceback.extract_tb(error.__traceback__)]

    def observed(fn, items):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            return fn(items), [(w.filename, w.lineno) for w in caught]

    for items in ([2, 1], [1, 2, 3], [3]):
        wanted = observed(arrange, items)
        for seed in range(8):
            with forced(seed, 30):
                assert observed(hovis.jit(arrange), items) == wanted


def no_level(): warnings.warn("x")
def own_level(x): warnings.warn(f"x{x}", UserWarning, stacklevel=1); print(1, 2, 3, 4)
def callers(x): warnings.warn("x", category=UserWarning, stacklevel=3)
def by_position(x): warnings.warn("x", None, 2)
def unknown(x, k): warnings.warn("x", stacklevel=k)
def stored(x): warn = warnings.warn; warn("x", None, 2)
def frames(x): return sys._getframe(1)
def nothing(x): print(x, 1, 2, 3)


@pytest.mark.parametrize(("fn", "counted"), [(no_level, 1), (own_level, 1), (callers, 3), (by_position, UNKNOWN), (unknown, UNKNOWN), (stored, UNKNOWN),
                                         (frames, UNKNOWN), (nothing, 0)])
def test_how_many_frames_are_counted(fn, counted):
    assert counted_frames(normalize(fn.__code__)) == counted


def test_a_suspended_generator_does_not_keep_paths_in_the_residual(monkeypatch):
    """What the examples do not reach is left, also where a generator with open handlers is suspended."""
    monkeypatch.setattr(jitting, "BRIEFLY", 0.0)

    def total(values, limit):
        log, found = [], 0
        for value in numbers(len(values), log):
            if value > limit:
                found += len(str(values)) + sum(map(int, str(value)))
            found += value
        return found, len(log)

    jitted = hovis.jit(total)
    for _ in range(64):
        assert jitted([1, 2], 100) == total([1, 2], 100)
    assert any(list(exits_of(trace)) for trace in jitted.traces)
    for limit in (3, 100, 0):
        assert jitted([1, 2], limit) == total([1, 2], limit)


#: CPython 3.12 and later do not tell an AttributeError of a getter of which attribute it is, once LOAD_ATTR is specialized for the getter.
ALWAYS_TOLD = sys.version_info < (3, 12)


class Asked:
    def __init__(self, x): self.x = x

    @property
    def checked(self):
        if self.x > 1:
            raise AttributeError("of the getter") if self.x % 2 else AttributeError(name="given", obj=1)
        return self.x

    def __getattr__(self, name):
        if self.x < 4:
            raise AttributeError(f"no {name}")
        return name, self.x


def attributes(x, n):
    seen = []
    for held in (Asked(x), Asked(n)):
        for name in ("checked", "other"):
            try:
                seen.append(held.checked if name == "checked" else held.other)
            except AttributeError as error:
                # an opaque call of the hook sets nothing
                given = (error.name, type(error.obj), error.obj is held) if name == "checked" and ALWAYS_TOLD else ()
                seen.append((given, repr(error.__context__)))
        seen.append((getattr(held, "missing", None), hasattr(held, "checked")))
    return seen, [held.checked for held in (Asked(x), Asked(n))]


class Plain:
    def __init__(self, x): self.x = x

    @property
    def deep(self):
        return self.inner + 1 if self.x > 1 else self.x

    @property
    def inner(self):
        if self.x > 2:
            raise AttributeError("inner")
        return self.x


@pytest.mark.parametrize("cls", [Asked, Plain])
@pytest.mark.parametrize("part", [15, 40, 100])
def test_errors_of_attributes_tell_which_it_was(cls, part):
    def got(x):
        try:
            return cls(x).deep
        except AttributeError as error:
            told = (error.name, getattr(error.obj, "__dict__", error.obj)) if ALWAYS_TOLD else ()
            return told, str(error), [at.name for at in traceback.extract_tb(error.__traceback__)]

    taken = []
    for fn, given in ((got, [(k,) for k in range(5)]), (attributes, ARGUMENTS)):
        for args in given:
            wanted = observe(fn, args)
            for seed in range(2):
                with forced((fn.__name__, seed), part) as left:
                    found = observe(hovis.jit(fn), args)
                taken += left
                assert not difference(wanted[0], found[0])
                assert found[1] == wanted[1], "tracebacks differ"
    assert taken
