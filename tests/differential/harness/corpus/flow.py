"""Small idiomatic functions about control flow: exceptions, generators, closures, arguments, matching, printing."""
import contextlib
import functools
import itertools
import operator

from tests.differential.harness.drawing.corpus import calls

LEVEL = 2
SEEN = []
CONFIG = {"depth": 2, "name": "conf"}


class Retry(Exception):
    pass


def double(x):
    return x * 2


def noisy(x):
    print("noisy", x)
    return x


def numbered(n):
    for i in range(n):
        sent = yield i
        if sent:
            print("sent", sent)


@calls("['1', 'x', '3']", "[]")
def converted(texts):
    out = []
    for text in texts:
        try:
            out.append(int(text))
        except ValueError as error:
            out.append(str(error))
            continue
        finally:
            print("tried", text)
    return out


@calls("2", "0", "5")
def retried(n):
    attempts = 0
    while True:
        attempts += 1
        try:
            if attempts <= n:
                raise Retry(attempts)
            return "done", attempts
        except Retry as error:
            if attempts > 3:
                raise RuntimeError("gave up") from error
            print("again", error.args)


@calls("{'a': {'b': 1}}, 'a.b'", "{}, 'x'", "{'a': 5}, 'a.b'")
def dug(data, path):
    at = data
    for key in path.split("."):
        try:
            at = at[key]
        except (KeyError, TypeError) as error:
            return type(error).__name__, key
    return at


@calls("1", "0", "'x'")
def layered(x):
    try:
        try:
            return 10 // x
        except ZeroDivisionError:
            raise ValueError("zero")
        finally:
            print("inner")
    except (ValueError, TypeError) as error:
        return repr(error), repr(error.__context__), error.__cause__
    finally:
        print("outer")


@calls("3", "0")
def overridden(n):
    for i in range(n):
        try:
            if i == 1:
                return "returned"
        finally:
            if i == 2:
                break
            if n == 3:
                continue
    return "fell out"


@calls("4", "1")
def sent(n):
    gen = numbered(n)
    out = [next(gen)]
    try:
        out.append(gen.send("a"))
        out.append(gen.throw(KeyError("k")))
    except (KeyError, StopIteration) as error:
        out.append(type(error).__name__)
    return out, list(gen)


@calls("[1, 2, 3]", "[]")
def delegated(xs):
    def inner():
        got = yield from xs
        print("got", got)
        return len(xs)

    def outer():
        size = yield from inner()
        yield size
    return list(outer())


@calls("3", "0")
def pipeline(n):
    def source():
        for i in range(n):
            print("make", i)
            yield i

    def doubled(items):
        for item in items:
            yield item * 2
    total = 0
    for x in doubled(i for i in source() if i != 1):
        print("use", x)
        total += x
    return total


@calls("5", "0")
def shared_iterator(n):
    it = iter(range(n))
    pairs = list(zip(it, it))
    rest = list(it)
    return pairs, rest, next(it, "end")


@calls("3", "1")
def closed(n):
    def gen():
        try:
            yield from range(n)
        except GeneratorExit:
            print("exit")
            raise
        finally:
            print("cleanup")
    g = gen()
    first = next(g)
    g.close()
    return first, list(g)


@calls("1", "0")
def counters(start):
    count = start

    def up(by=1):
        nonlocal count
        count += by
        return count

    def reset():
        nonlocal count
        old, count = count, 0
        return old
    return up(), up(5), reset(), up(), count


@calls("3", "0")
def late(n):
    makers = [lambda: i for i in range(n)]
    bound = [lambda i=i: i for i in range(n)]
    return [f() for f in makers], [f() for f in bound]


@calls("1", "[2]")
def remembered(x, seen=[]):
    seen.append(x)
    return seen[-2:], len(SEEN)


@calls("5", "0")
def leveled(n):
    global LEVEL
    before = LEVEL
    LEVEL += n
    SEEN.append(LEVEL)
    try:
        return before, LEVEL, CONFIG["depth"] * LEVEL
    finally:
        LEVEL = before


@calls("1, 2, 3", "1, 2, 0")
def argued(a, b, c):
    def take(x, /, y=10, *rest, z=1, **more):
        return x, y, rest, z, sorted(more.items())
    extra = {"z": c, "w": a}
    return take(a), take(a, b, c), take(*[a, b, c], **extra), take(a, z=b, q=c)


@calls("[0]", "[1, 2]", "(1, 2)", "{'k': 3}", "'text'", "5")
def matched(x):
    match x:
        case []:
            return "empty"
        case [one]:
            return "one", one
        case (a, b) if a < b:
            return "pair", a, b
        case {"k": int(v), **rest}:
            return "dict", v, rest
        case str() as s:
            return "str", s
        case 0 | 1 | 5:
            return "small"
        case _:
            return "other"


@calls("3, 'x'", "0, ''")
def formatted(n, text):
    width = n + 4
    return f"{n:>{width}}|{text!r:^{width}}|{n / 3:.2f}|{n=}", "%s-%03d" % (text, n), "{0}{1}{0}".format(n, text)


@calls("[3, 1, 2]", "[]")
def sorted_by(xs):
    ys = sorted(xs, key=lambda x: -x)
    xs.sort(reverse=True)
    return ys == xs, xs, max(xs, default=None), functools.reduce(operator.add, xs, 100)


@calls("5", "1")
def walrus(n):
    out = []
    while (half := n // 2) > 0:
        out.append(half)
        n = half
    if any((found := x) == 1 for x in out):
        print("found", found)
    return out, n


@calls("1, 5, 3", "3, 1, 2", "2, 2, 2")
def compared(a, b, c):
    return a < b < c, noisy(a) <= noisy(b) <= noisy(c), a == b == c, not a > b, (a or b) and c, a if b > c else b


@calls("[1, 2, 3, 4]", "[9]")
def unpacked(xs):
    first, *middle = xs
    *_, last = xs
    a, b = b, a = first, last
    (c, [d, *e]), f = (a, [b, *middle]), xs
    return first, middle, last, a, b, c, d, e, f is xs


@calls("2", "0")
def aliased(n):
    row = [0] * n
    grid = [row] * 2
    other = [list(row) for _ in range(2)]
    if n:
        grid[0][0] = 1
        other[0][0] = 1
    row += [5]
    return grid, other, grid[0] is grid[1], row


@calls("[1, 2, 3]", "[]")
def changed_while_iterating(xs):
    out = []
    for x in xs:
        out.append(x)
        if x == 2:
            xs.remove(2)
        if len(xs) < 3 and len(out) < 5:
            xs.append(len(out))
    return out, xs


@calls("{'a': 1, 'b': 2}", "{}")
def grown(d):
    try:
        for k in d:
            d[k + k] = d[k]
    except RuntimeError as error:
        return str(error), list(d)
    return d


@calls("{'a': 1}", "{}")
def dictionary(d):
    d.setdefault("x", []).append(1)
    d["x"] += [2]
    d.update(a=5, z=None)
    popped = d.pop("a")
    d["a"] = popped
    return list(d.items()), d.get("q"), "z" in d, {**d, "x": 0}, d | {"y": 1}


@calls("{1, 2}, {2, 3}", "set(), {1}")
def sets(a, b):
    a |= {5}
    c = a & b
    a.discard(1)
    return sorted(a), c, a - b, a ^ b, b <= a, len({1, True, 1.0})


@calls("'abc'", "''")
def texts(s):
    return s.upper()[::-1], s.find("b"), s * 2, "-".join(s), s.split("b"), s.replace("a", "zz"), [ord(c) for c in s], s[1:] < s


@calls("3", "0")
def nested_functions(n):
    def outer(x):
        def middle(y):
            def inner(z):
                return x, y, z, n
            return inner
        return middle(x + 1)
    return outer(n)(5), [outer(i)(i)[1] for i in range(2)]


@calls("4", "0")
def decorated(n):
    def logged(tag):
        def decorate(fn):
            @functools.wraps(fn)
            def wrapper(*args, **kwargs):
                print(tag, fn.__name__, args, kwargs)
                return fn(*args, **kwargs)
            return wrapper
        return decorate

    @logged("log")
    def triple(x, *, extra=0):
        return x * 3 + extra
    return triple(n), triple(n, extra=1), triple.__name__


@calls("6", "1")
def memoized(n):
    known = {}

    def fib(k):
        if k not in known:
            known[k] = k if k < 2 else fib(k - 1) + fib(k - 2)
        return known[k]
    return fib(n), len(known)


@calls("[1, 2]", "[]")
def suppressed(xs):
    out = []
    with contextlib.suppress(IndexError, ZeroDivisionError):
        out.append(xs[1])
        out.append(1 // (xs[0] - 1))
        out.append("unreached")
    with contextlib.ExitStack() as stack:
        stack.callback(out.append, "callback")
        out.append(len(xs))
    return out


@calls("1", "0")
def unbound(flag):
    if flag:
        value = 10
    try:
        return value
    except UnboundLocalError as error:
        return str(error)
    finally:
        if flag:
            del value


@calls("[3, 4]", "[]")
def mapped(xs):
    return list(map(double, filter(None, xs))), [*itertools.accumulate(xs)], dict(enumerate(xs)), list(zip(xs, xs[1:])), sum(x for x in xs), [*reversed(xs)]


@calls("2", "-1")
def grouped_errors(n):
    try:
        raise ExceptionGroup("many", [ValueError(n), TypeError("t")])
    except* ValueError as group:
        print("values", group.exceptions[0].args)
    except* TypeError as group:
        print("types", len(group.exceptions))
    return n


@calls("[1, [2, [3]]]", "[]")
def walked(tree):
    def walk(node, depth=0):
        if isinstance(node, list):
            for child in node:
                yield from walk(child, depth + 1)
        else:
            yield depth, node
    return list(walk(tree)), max((d for d, _ in walk(tree)), default=0)


@calls("3", "0")
def comprehensions(n):
    return ([(x, y) for x in range(n) for y in range(x) if (x + y) % 2], {x: [y for y in range(x)] for x in range(n)}, {x % 2 for x in range(n)},
            sum(x * y for x in range(n) for y in range(n)), [[x for x in range(y)] for y in range(n)])


@calls("5", "2")
def state_machine(n):
    state, out = "start", []
    for i in range(n):
        match state, i % 2:
            case "start", 0:
                state = "even"
            case "start", _:
                state = "stop"
            case "even", 1:
                out.append(i)
                state = "odd"
            case "odd" | "stop", _:
                state = "start"
    return state, out


@calls("1", "0", "None")
def asserted(x):
    try:
        assert x, f"no {x!r}"
    except AssertionError as error:
        return error.args
    return True


@calls("'ab'", "[1]", "7")
def duck(x):
    try:
        return len(x)
    except TypeError:
        return x + 1
    finally:
        print(type(x).__name__)


@calls("[1, 2, 3, 4, 5]", "[]")
def sliced(xs):
    ys = xs[:]
    ys[1:3] = "ab"
    del ys[::2]
    xs[len(xs):] = [9]
    return ys, xs, xs[-2:], xs[::-1][:2], ys is xs


@calls("2", "0")
def tuples(n):
    t = ([n], n)
    try:
        t[0] += [1]
    except TypeError as error:
        print(error)
    return t, t + (1,), t * 2, hash((n, n)) == hash((n, n)), (1, n) < (1, 2)


@calls("1.5", "-0.0", "float('nan')")
def floats(x):
    return x + 1, x * 0, x == x, [x] == [x], round(x, 1) if x == x else None, min(x, 0.0), max(0.0, x), str(x), bool(x)
