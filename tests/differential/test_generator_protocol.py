"""Generators consumed where they are made, and generators that leave: send, throw, close, their ends, residual ones."""
from __future__ import annotations

import collections
import contextlib
import copy
import gc
import inspect
import io
import itertools
import sys
import types

import pytest

import hovis
from hovis import const
from tests.differential.compare import difference, observe

PROGRAMS = []


def case(*args):
    def deco(f):
        PROGRAMS.append((f, args))
        return f
    return deco


def count(n, log=None):
    try:
        for i in range(n):
            got = yield i
            if got is not None: print('got', got)
    finally:
        print('end', n)
    return 'r%d' % n


@case(3)
def send_inline(n):
    g = count(n); a = next(g); b = g.send('x')
    try: c = g.send(None); g.send(5)
    except StopIteration as e: c = e.value, e.args
    return a, b, c


@case(3)
def close_inline(n):
    g = count(n); next(g); r = g.close(); r2 = g.close()
    return r, r2, list(g)


@case(3)
def close_new(n):
    g = count(n); r = g.close(); return r, list(g)


@case(3)
def throw_unhandled(n):
    g = count(n); next(g)
    try: g.throw(KeyError('k'))
    except KeyError as e: return e.args, list(g), e.__context__


@case(3)
def throw_class(n):
    g = count(n); next(g)
    try: g.throw(KeyError)
    except KeyError as e: return e.args, type(e)


@case(3)
def throw_new(n):
    g = count(n)
    try: g.throw(ValueError('v'))
    except ValueError as e: return e.args, list(g)


@case(3)
def throw_finished(n):
    g = count(n); list(g)
    try: g.throw(ValueError('v'))
    except ValueError as e: return e.args


def catcher():
    while True:
        try: x = yield 'ready'
        except ValueError as e: x = yield ('caught', e.args)
        else: x = yield ('sent', x)


@case(4)
def throw_caught(n):
    g = catcher(); out = [next(g)]
    for i in range(n):
        out.append(g.send(i)); out.append(next(g)); out.append(g.throw(ValueError(i))); out.append(g.send('z'))
    return out


@case(4)
def break_finally(n):
    out = []
    for x in count(n):
        out.append(x)
        if x == 1:
            print('breaking'); break
    print('after')
    return out


@case(4)
def break_unknown(n):
    for x in count(10):
        if x == n: break
    print('after')
    return x


@case(4)
def return_in_loop(n):
    for x in count(10):
        if x == n: return x


@case(4)
def return_nested(n):
    for x in count(10):
        for y in count(5):
            if x + y == n: return x, y


@case(0)
def raise_in_loop(n):
    try:
        for x in count(3):
            1 / n
    except ZeroDivisionError as e:
        print('handler')
        return e.args


@case(0)
def raise_nested(n):
    try:
        for x in count(3):
            for y in count(4):
                1 / n
    except ZeroDivisionError as e:
        print('handler')
        return e.args


@case(0)
def rebind(n):
    g = count(3); next(g)
    print('a'); g = n; print('b'); return g


@case(0)
def delete(n):
    g = count(3); next(g)
    print('a'); del g; print('b'); return n


@case(0)
def dies_at_return(n):
    g = count(3); next(g)
    h = count(4); next(h)
    print('a')
    return n


@case(0)
def temp(n):
    x = next(count(3)); print('t'); return x + n


def ignores():
    while True:
        try: yield 1
        except GeneratorExit: print('no')


def ignores_once():
    try: yield 1
    except GeneratorExit: yield 2


@case(1)
def ignored_exit(n):
    g = ignores_once(); next(g)
    try: g.close()
    except RuntimeError as e: return str(e), n


def returns_on_close():
    try: yield 1
    except GeneratorExit: return 'bye'


@case(1)
def closed_value(n):
    g = returns_on_close(); next(g); return g.close(), n


def raises_on_close():
    try: yield 1
    finally: raise KeyError('fin')


@case(1)
def close_raises(n):
    g = raises_on_close(); next(g)
    try: g.close()
    except KeyError as e: return e.args, type(e.__context__).__name__, n


def inner_y():
    try:
        a = yield 1
        print('inner got', a)
        b = yield 2
        print('inner got', b)
    except KeyError as e:
        print('inner caught', e.args)
        yield 'k'
        return 'handled'
    finally: print('inner fin')
    return 'done'


def outer_y():
    try:
        r = yield from inner_y()
        print('r', r)
        yield r
    except ValueError as e:
        print('outer caught', e.args); yield 'v'
    finally: print('outer fin')


@case('q')
def yf_send(v):
    g = outer_y(); return next(g), g.send(v), g.send('w'), list(g)


@case('q')
def yf_throw(v):
    g = outer_y(); a = next(g); b = g.throw(KeyError(v)); c = next(g); return a, b, c, list(g)


@case('q')
def yf_throw_outer(v):
    g = outer_y(); a = next(g); b = g.throw(ValueError(v)); return a, b, list(g)


@case('q')
def yf_close(v):
    g = outer_y(); next(g); g.close(); return v


@case('q')
def yf_return_value(v):
    def f():
        x = yield from inner_y()
        return x, v
    g = f(); out = []
    try:
        while True: out.append(next(g))
    except StopIteration as e: return out, e.value


@case([1, 2, 3])
def yf_list(xs):
    def f():
        r = yield from xs
        yield r
    return list(f())


@case([1, 2, 3])
def yf_iter_throw(xs):
    def f():
        try: yield from xs
        except KeyError as e: yield ('c', e.args)
    g = f(); return next(g), g.throw(KeyError(3)), list(g)


@case(2)
def already_executing(n):
    def f():
        yield n
        next(me)
    me = f(); next(me)
    try: next(me)
    except ValueError as e: return str(e)


@case(2)
def already_executing_unknown_time(n):
    def f():
        while True:
            yield list(me) if n > 5 else n
    me = f(); return next(me), next(me)


@case(2)
def send_unstarted(n):
    g = count(3)
    try: g.send(n)
    except TypeError as e: return str(e), list(g)


@case(2)
def gen_raises_stop(n):
    def f():
        yield 1
        raise StopIteration(n)
    try: list(f())
    except RuntimeError as e: return str(e), type(e.__cause__).__name__, e.__cause__.args


@case(2)
def yield_in_except(n):
    def f():
        try: 1 / 0
        except ZeroDivisionError as e:
            yield str(e), type(sys.exc_info()[1]).__name__
            try: raise
            except ZeroDivisionError as e2: yield e is e2
        yield sys.exc_info()[1]
    out = []
    for x in f(): out.append((x, sys.exc_info()[1] is None))
    return out, n


@case(2)
def exc_context_across(n):
    def f():
        try: raise KeyError('g')
        except KeyError:
            yield 1
            raise ValueError('v')
    g = f(); next(g)
    try:
        try: raise IndexError('c')
        except IndexError: next(g)
    except ValueError as e:
        return type(e.__context__).__name__, type(e.__context__.__context__).__name__, n


@case(2)
def bare_raise_after_yield(n):
    def f():
        try: raise KeyError('g')
        except KeyError:
            yield 1
            raise
    g = f(); next(g)
    try: raise IndexError('c')
    except IndexError:
        try: next(g)
        except KeyError as e: return e.args, type(e.__context__).__name__, n


@case(2)
def throw_context(n):
    def f():
        try: raise KeyError('g')
        except KeyError:
            yield 1
    g = f(); next(g)
    try: g.throw(ValueError(n))
    except ValueError as e: return type(e.__context__).__name__, e.args


@case(2)
def throw_no_context(n):
    def f(): yield 1
    g = f(); next(g)
    try: raise IndexError('c')
    except IndexError:
        try: g.throw(ValueError(n))
        except ValueError as e: return e.__context__, e.args


@case(3)
def with_in_gen(n):
    @contextlib.contextmanager
    def cm(x):
        print('enter', x)
        try: yield x * 2
        except ValueError as e: print('swallow', e.args)
        finally: print('exit', x)
    def f():
        for i in range(n):
            with cm(i) as y: yield y
    out = []
    for v in f(): out.append(v)
    with cm(7): raise ValueError('x')
    return out


@case(3)
def shared_zip(n):
    it = (i for i in range(10))
    return list(zip(it, it)), list(it), n


@case(True)
def suspended_at_different(c):
    g = count(5); next(g)
    if c: next(g)
    return list(g)


@case(False)
def maybe_started(c):
    g = count(5)
    if c: next(g)
    out = []
    for x in g: out.append(x)
    return out


@case(True)
def maybe_closed(c):
    g = count(5)
    next(g)
    if c: g.close()
    return list(g), list(g)


@case([3, 1, 2])
def escapes_sorted(xs):
    return sorted(x * 2 for x in xs), sum(x for x in xs), max((x for x in xs), default=0)


@case([3, 1, 2])
def returns_genexp(xs):
    return (x + 1 for x in xs if x != 1)


@case(5)
def returns_genexp_range(n):
    k = 3
    return (x * k for x in range(n))


@case(5)
def returns_started(n):
    g = count(n); next(g); next(g)
    return g


@case(5)
def returns_started_handler(n):
    g = catcher(); next(g); g.throw(ValueError(1))
    return [g.send(None), g.send(n)], g.gi_frame is not None


@case(5)
def stores_started(n):
    box = []
    g = count(n); next(g); box.append(g)
    return box, [next(box[0])]


@case(5)
def opaque_consumer(n):
    d = collections.deque(count(n)); return list(d)


@case(5)
def mutated_between(n):
    xs = [1, 2]
    g = (x * n for x in xs)
    xs.append(3)
    return list(g), xs


@case(5)
def mutated_returned(n):
    xs = [1, 2]
    def f():
        for x in xs: yield x * n
    g = f(); xs.append(3)
    return g, xs


@case([1, 2])
def arg_mutated(xs):
    def f():
        for x in xs: yield x
    g = f()
    xs.append(9)
    return g


@case(3)
def closure_late(n):
    gs = []
    for i in range(n): gs.append((i, (i for _ in range(2))))
    return [(a, list(g)) for a, g in gs]


@case(3)
def gi_attrs(n):
    g = count(n)
    a = g.gi_running, g.gi_frame is None, inspect.getgeneratorstate(g)
    next(g)
    b = g.gi_running, g.gi_yieldfrom, inspect.getgeneratorstate(g)
    g.close()
    c = g.gi_running, g.gi_frame, inspect.getgeneratorstate(g)
    return a, b, c, g.__name__, g.__qualname__, type(g).__name__


def walk(t):
    if t is None: return
    yield from walk(t[0])
    yield t[1]
    yield from walk(t[2])


TREE = ((None, 1, None), 2, ((None, 3, None), 4, None))


@case(TREE)
def recursion(t):
    return list(walk(t)), sum(walk(t))


@case(20)
def known_recursion(n):
    def down(k):
        if k:
            yield k
            yield from down(k - 1)
    return sum(down(20)), sum(down(n))


@case(4)
def pipeline(n):
    def src():
        for i in range(n): print('src', i); yield i
    def dbl(it):
        for x in it: yield x * 2
    def flt(it):
        for x in it:
            if x % 4 == 0: yield x
    return list(flt(dbl(src()))), tuple(flt(dbl(src()))), flt(dbl(src()))


@case(4)
def accumulate_send(n):
    def avg():
        total = c = 0; a = None
        while True:
            x = yield a
            if x is None: return total, c
            total += x; c += 1; a = total / c
    g = avg(); next(g); out = [g.send(i) for i in range(n)]
    try: g.send(None)
    except StopIteration as e: return out, e.value


@case(4)
def unpack_gen(n):
    def f():
        try:
            yield n; yield n + 1; yield n + 2
        finally: print('unpacked')
    a, *b = f()
    x, y, z = f()
    try: p, q = f()
    except ValueError as e: return a, b, x, y, z, str(e)


@case(4)
def next_default(n):
    g = count(1)
    return next(g, 'd'), next(g, 'd'), next(g, n)


@case(4)
def any_all(n):
    return any(x == 2 for x in count(n)), all(x < 2 for x in count(n)), 2 in count(n)


@case(4)
def dict_set_comp(n):
    return {x: y for x, y in zip(count(n), 'abcd')}, {x for x in count(n)}, dict((i, i * i) for i in range(n)), set(i % 2 for i in range(n))


@case(4)
def str_join(n):
    return ','.join(str(i) for i in range(n)), ''.join(c for c in 'abc')


@case(4)
def islice_chain(n):
    return list(itertools.islice(count(10), n)), list(itertools.chain(count(2), count(1))), list(enumerate(count(n), 1))


@case(4)
def stop_in_genexp(n):
    it = iter([1, 2])
    try: return list(next(it) for _ in range(n))
    except RuntimeError as e: return str(e)


@case('a b c'.split())
def class_iter(xs):
    class Tree:
        def __init__(self, v, *kids): self.v, self.kids = v, kids
        def __iter__(self):
            yield self.v
            for k in self.kids: yield from k
    t = Tree(xs[0], Tree(xs[1]), Tree('x', Tree(xs[2])))
    return list(t), [*t], ''.join(t)


class Sub:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        if self.n > 2: raise StopIteration('subval')
        return self.n
    def send(self, v): print('send', v); return v
    def throw(self, *a): print('throw', a[0] if not isinstance(a[0], type) else a[0].__name__); raise StopIteration('thrown')
    def close(self): print('closed')


@case(3)
def yf_custom(n):
    def f():
        r = yield from Sub(); print('r', r); yield r
    g = f(); a = next(g), g.send(n), next(g), next(g)
    g = f(); next(g); b = g.throw(KeyError(1))
    g = f(); next(g); g.close()
    return a, b


@case(3)
def yf_custom_unknown(n):
    def f(s):
        r = yield from s; print('r', r); yield r
    g = f(Sub() if n else Sub()); a = next(g), g.send(n), next(g), next(g)
    return a


@case(Sub())
def yf_arg(s):
    def f(s):
        try: r = yield from s; print('r', r); yield r
        finally: print('ffin')
    g = f(s); a = next(g), g.send(4), g.throw(KeyError(2)), list(g)
    g = f(s)
    return a, g


@case(3)
def finally_return(n):
    def f():
        try: yield 1; yield 2
        finally: return 'over'
    g = f(); next(g)
    try: g.throw(KeyError)
    except StopIteration as e: a = e.value
    g = f(); next(g)
    return a, g.close() is None or 'over', n


@case(3)
def nested_handlers(n):
    def f():
        try:
            try: raise KeyError(1)
            except KeyError:
                try: raise ValueError(2)
                except ValueError:
                    got = yield 'in'
                    print(got, type(sys.exc_info()[1]).__name__)
                print(type(sys.exc_info()[1]).__name__)
                yield 'mid'
                raise
        except KeyError as e: yield e.args, type(e.__context__).__name__
    g = f(); out = [next(g)]
    try: raise OSError('x')
    except OSError: out.append(g.send(n)); out.append(type(sys.exc_info()[1]).__name__)
    out.append(sys.exc_info()[1]); out.append(list(g))
    return out


@case(3)
def exc_visible_inside(n):
    def f():
        while True: yield type(sys.exc_info()[1]).__name__
    g = f(); out = [next(g)]
    try: raise OSError('x')
    except OSError: out.append(next(g))
    out.append(next(g))
    return out


@case(3)
def try_in_loop_gen(n):
    def f():
        i = 0
        while True:
            try:
                x = yield i
                i += x
            except ValueError: i = 100
            except GeneratorExit: print('exit', i); raise
    g = f(); next(g); a = g.send(n), g.throw(ValueError), g.send(1); g.close(); return a


@case(3)
def exitstack(n):
    @contextlib.contextmanager
    def cm(i):
        print('in', i); yield i; print('out', i)
    with contextlib.ExitStack() as st:
        return [st.enter_context(cm(i)) for i in range(n)]


@case(3)
def cm_raises(n):
    @contextlib.contextmanager
    def cm():
        try: yield 1
        finally: print('cleanup')
    try:
        with cm() as v: raise KeyError(n + v)
    except KeyError as e: return e.args, e.__context__


@case(3)
def cm_return_inside(n):
    @contextlib.contextmanager
    def cm():
        try: yield 1
        finally: print('cleanup')
    for i in range(5):
        with cm():
            if i == n: return i


@case(3)
def star_call(n):
    def f(*a): return a
    return f(*count(n)), [*count(2)], (*count(1),), {*count(n)}


@case(3)
def lambda_yield(n):
    f = lambda: (yield n)  # noqa: E731
    g = f(); return next(g), list(g)


@case(3)
def subgen_shared(n):
    s = count(5)
    def f(): yield from s
    a, b = f(), f()
    return next(a), next(b), next(a), list(s), list(a), list(b)


@case(3)
def unknown_many(n):
    def f(a):
        while a:
            r = yield a
            a -= 1
            if r: a += r
    g = f(n); out = []
    for x in g:
        out.append(x)
        if x == 2 and len(out) < 5: out.append(g.send(2))
    return out

# generator functions themselves


@case(3, 4)
def G_simple(n, k):
    t = 0
    for i in range(n):
        t += i * k
        yield t
    return t


@case([1, [2, [3]], 4])
def G_flatten(xs):
    for x in xs:
        if isinstance(x, list): yield from G_flatten(x)
        else: yield x


@case(TREE)
def G_walk(t):
    if t is None: return
    yield from G_walk(t[0])
    yield t[1]
    yield from G_walk(t[2])


@case(3)
def G_finally(n):
    try:
        while n: yield n; n -= 1
    except GeneratorExit: print('GE'); raise
    finally: print('fin', n)


@case({'a': 1, 'b': [1, 2]}, 2)
def G_cfg(cfg, n):
    for k in range(n):
        yield cfg['a'] + k
        cfg['a'] += 1
        yield cfg['b']


@case(2)
def G_coroutine(n):
    total = n
    while True:
        try: x = yield total
        except ValueError as e: total = str(e)
        else:
            if x is None: return 'end'
            total = total + x


@case()
def G_empty():
    return 5
    yield


@case(1)
def G_var(a, k=9):
    yield a; yield k


# ------------------------------------------------------------------------------------------------- the tests


def driven(result):
    """A generator shows itself in what it answers."""
    if not isinstance(result, types.GeneratorType):
        return result
    seen = [result.__name__, result.gi_running, result.gi_frame is not None]
    for step in range(20):
        try:
            if step == 3:
                seen.append(result.send(5))
            elif step == 6:
                seen.append(result.throw(ValueError("thrown")))
            else:
                seen.append(next(result))
        except StopIteration as stop:
            seen.append(("stop", stop.value))
            break
        except Exception as error:
            seen.append((type(error), error.args))
            break
    return seen, list(result), result.gi_frame


#: What only the collector of cycles ends.
CYCLES = ("already_executing", "already_executing_unknown_time")


def outcome(call, args):
    args = copy.deepcopy(args)
    complaints = io.StringIO()
    with contextlib.redirect_stderr(complaints):
        seen = observe(lambda: driven(call(*args)), watch=args)
        if call.__name__ in CYCLES:
            gc.collect()
    return seen, complaints.getvalue()


def known(args):
    return all(type(a) in (int, str, bool, tuple) for a in args)


@pytest.mark.parametrize("split", ["typed", "known"])
@pytest.mark.parametrize(("fn", "args"), PROGRAMS, ids=[fn.__name__ for fn, _ in PROGRAMS])
def test_specialized(fn, args, split):
    if split == "known" and not known(args):
        pytest.skip("an argument that cannot be a constant")
    specs = {
        "typed": [type(a) if type(a) in (int, str, bool) else hovis.Any for a in args],
        "known": [const(a) for a in args],
    }[split]
    trace = hovis.trace(fn, *specs)
    assert not trace.fallback, trace.reasons
    passed = () if split == "known" else args
    expected, complaints = outcome(fn, args)
    for run in (trace.compile(), lambda *given: hovis.evaluate(trace, *given)):
        got, complained = outcome(run, passed)
        assert (got.value, got.stdout, complained) == (expected.value, expected.stdout, complaints), difference(expected, got)


@pytest.mark.parametrize(("fn", "args"), PROGRAMS, ids=[fn.__name__ for fn, _ in PROGRAMS])
def test_jitted(fn, args):
    jitted = hovis.jit(fn)
    expected = outcome(fn, args)
    for _ in range(2):
        got = outcome(jitted, args)
        assert got == expected, difference(expected[0], got[0])
