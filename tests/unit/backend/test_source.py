"""The text of residuals: as a person would write it, and the same function."""
import copy
import re
import textwrap

import pytest

import hovis
from hovis import Any, Float, Int, OneOf, Str, const
from tests.differential.harness.compare import observe


def power(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r


def total(items):
    s = 0
    for item in items:
        if item > 3 and item < 10:
            s += item
        elif item == 77:
            break
    return s


def count_up(n, cells):
    for i in range(n):
        cells[i] = cells[i] + i
    return cells


def parsed(table, key):
    try:
        value = table[key]
        number = int(value)
    except KeyError:
        return None
    except (TypeError, ValueError) as e:
        print("bad", e)
        raise RuntimeError(key) from e
    return number


def text(name, value):
    return f"{name:>10} is {value!r}" + name.upper()


def scaled(config, x):
    for name, k in config.items():
        if name == "scale":
            x = x * k
        elif name == "shift":
            x = x + k
    return x


def either(a, b):
    if a and b:
        r = "both"
    elif a or b:
        r = "one"
    else:
        r = "none"
    return r


def nested(rows):
    found = []
    for row in rows:
        for x in row:
            if x < 0:
                break
            if x == 0:
                continue
            found.append(x)
        else:
            found.append(None)
    return found


def signs(a, b):
    a, b = b, a
    while a < b:
        a, b = a + 1, b - a
    return (-1) ** 2 + a, b


def body(fn, *specs):
    """The text below the def and the check of the arguments."""
    lines = hovis.trace(fn, *specs).source().partition("def ")[2].splitlines()[1:]
    if lines[0].startswith("    if") and "original" in lines[1]:
        del lines[:2]
    return textwrap.dedent("\n".join(lines)).strip()


CASES = {
    (power, (Int, Int)): ((2, 10), (3, 0)),
    (total, (Any,)): (([5, 2, 9, 77, 5],), (range(12),), ([],)),
    (count_up, (Int, list)): ((2, [5, 6]), (0, [])),
    (parsed, (dict, Str)): (({"a": "3"}, "a"), ({"a": "x"}, "a"), ({"a": []}, "a"), ({}, "a")),
    (text, (Str, Any)): (("ab", 3), ("", "x")),
    (scaled, (const({"scale": 2.0, "shift": 3.0}), Float)): ((1.5,),),
    (either, (Any, Any)): ((1, 1), (0, 1), ([], "")),
    (nested, (Any,)): (([[1, 2], [0, -1, 5], []],),),
    (signs, (Int, Int)): ((9, 1), (1, 1)),
}

TEXTS = {
    power: """
        r = 1
        while n > 0:
            n -= 1
            r *= x
        return r""",
    total: """
        s = 0
        for item in items:
            if item > 3 and item < 10:
                s += item
            elif item == 77:
                break
        return s""",
    count_up: """
        for i in range(n):
            cells[i] = cells[i] + i
        return cells""",
    text: "return f'{name:>10} is {value!r}' + name.upper()",
    scaled: "return x * 2.0 + 3.0",
}


@pytest.mark.parametrize(("fn", "specs"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_it_is_the_same_function(fn, specs):
    made = hovis.trace(fn, *specs).text().load()
    known = [s.value for s in specs if hasattr(s, "value")]
    for args in CASES[fn, specs]:
        outcomes = []
        for call in (fn, made):
            given = [*known, *args] if call is fn else args
            given = [a.copy() if isinstance(a, list) else a for a in given]
            try:
                outcomes.append((call(*given), given[-1] if isinstance(given[-1], list) else None))
            except Exception as error:
                outcomes.append((type(error), error.args, type(error.__cause__)))
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("fn", TEXTS, ids=lambda f: f.__name__)
def test_it_reads_like_python(fn):
    specs = next(specs for f, specs in CASES if f is fn)
    assert body(fn, *specs) == textwrap.dedent(TEXTS[fn]).strip()


def test_arguments_that_do_not_fit_go_to_the_original():
    made = hovis.trace(scaled, {"scale": Float, "kind": "x"}, OneOf(1.0, 2.0)).text()
    assert "original_scaled(config, x)" in made.text
    loaded = made.load()
    assert loaded({"scale": 3.0, "kind": "x"}, 2.0) == 6.0
    assert loaded({"scale": 3.0, "shift": 4.0}, 2.0) == 10.0
    assert loaded({"scale": 3.0, "kind": "x"}, 5.0) == 15.0


def test_what_cannot_be_imported_is_given():
    held = [1, 2, 3]

    def last(x):
        held.append(x)
        return held

    text = hovis.trace(last, Int).text()
    assert any(value is held for value in text.given.values())
    assert text.load()(4) is held


def test_deep_nesting_becomes_functions():
    lines = ["def deep(x, log):"]
    for depth in range(24):
        lines.append("    " * (depth + 1) + f"for i{depth} in range(x):")
    lines.append("    " * 25 + "log.append(x)")
    lines.append("    return log")
    # CPython refuses to compile that: the same depth by calls
    names: dict = {}
    source = "def f0(x, log):\n    log.append(x)\n"
    for depth in range(1, 25):
        source += f"def f{depth}(x, log):\n    for i in range(x):\n        try:\n            f{depth - 1}(x, log)\n        except ValueError:\n            log.append('no')\n"
    exec(source, names)
    made = hovis.trace(names["f24"], Int, list).text()
    assert "nonlocal" in made.text
    ours, theirs = [], []
    made.load()(1, ours)
    names["f24"](1, theirs)
    assert ours == theirs == [1]


# ---------------------------------------------------------------------------------------------- as a person would write it


def between(x: float):
    if x >= 0.5 and x < 2.5:
        return "in"
    return "out"


def pairs(items):
    found = []
    for item in items:
        key, *rest = item
        if rest:
            found.append((key, len(rest)))
    return found


def squares(xs):
    return [x * x for x in xs if x > 1], {x: -x for x in xs}, {x % 3 for x in xs}


def parts(x):
    return x[1:], x[::2], x[:-1]


def stepped(value, n):
    total = 0
    while value - 0.0 > n:
        value = value / 2
        total += 1
    return total, value


def looked_up(table, key):
    try:
        value = table[key]
    except KeyError:
        value = None
    else:
        print("found", value)
    return value


def left_inside(n, stop):
    seen = []
    while n > 0:
        n -= 1
        if n == stop:
            seen.append("break")
            break
        seen.append(n)
    else:
        seen.append("else")
    return seen


def name_again(out):
    def doubled(nodes, out):
        for node in nodes:
            out.append(node)
            out.append(node)
        return out
    return doubled(out, [])


def raised_again(table, key):
    try:
        return table[key]
    except KeyError:
        raise
    except (IndexError, TypeError) as wrong:
        return str(wrong)


WRITTEN = {
    (between, (Float,)): (((0.5,), (2.5,), (float("nan"),)), """
        return 'in' if 0.5 <= x < 2.5 else 'out'"""),
    (pairs, (list,)): ((([(1, 2, 3), (4,)],), ([(1, 2), ()],), ([],)), """
        found = []
        for key, *rest in items:
            if rest:
                found.append((key, len(rest)))
        return found"""),
    (squares, (list,)): ((([1, 2, 3],), ([],), ([1, "a"],)), None),
    (parts, (list,)): ((([1, 2, 3, 4],), ([],)), """
        return (x[1:], x[::2], x[:-1])"""),
    (stepped, (Float, Float)): (((9.5, 1.0), (0.5, 1.0)), """
        total = 0
        while value - 0.0 > n:
            value /= 2
            total += 1
        return (total, value)"""),
    (looked_up, (dict, Str)): ((({"a": 1}, "a"), ({}, "a")), None),
    (left_inside, (Int, Int)): (((3, 1), (3, 9), (0, 0)), None),
    (name_again, (list,)): ((([1, 2],), ([],)), None),
    (raised_again, (Any, Any)): ((({}, 1), ([], 1), ([], "a"), ([5], 0)), """
        try:
            return table[key]
        except KeyError:
            raise
        except (IndexError, TypeError) as wrong:
            return str(wrong)"""),
}


@pytest.mark.parametrize(("case", "runs", "text"), [(case, *told) for case, told in WRITTEN.items()], ids=lambda v: v[0].__name__ if isinstance(v, tuple) and callable(v[0]) else "")
def test_it_is_written_as_a_person_would(case, runs, text):
    fn, specs = case
    made = hovis.trace(fn, *specs).text()
    for arguments in runs:
        expected, got = (observe(one, copy.deepcopy(arguments)) for one in (fn, made.load()))
        assert (got.value, got.stdout) == (expected.value, expected.stdout)
    assert "way" not in made.text
    assert "with_history" not in made.text
    if text is not None:
        assert body(fn, *specs) == textwrap.dedent(text).strip()


def test_comprehensions_are_comprehensions():
    text = re.sub(r"\bt\d\b", "x", body(squares, list))    # the variable has a name where the comprehension is a function
    assert text == "return ([x * x for x in xs if x > 1], {x: -x for x in xs}, {x % 3 for x in xs})"


class Oops(Exception):
    pass


def handlers_over_the_same_loops(p, q, r):
    """Found by the fuzzer: what raises for the finally alone stood among what the inner handler watches over."""
    try:
        w1 = 3
        while w1 > 0 and (r // 1 == (r * r)):
            w1 -= 1
        w2 = int(q) % 5
        while w2 > 0:
            w2 -= 1
            p = abs(None + r)
            w3 = 4
            while w3 > 0:
                w3 -= 1
                q |= q - (w2 * unbound_name % 1000003)  # noqa: F821
                r += float(q)
                try:
                    p = (w1 or w2) < (w2 | w2) <= (w1**4 & 65535)
                except Exception as e5:
                    print(type(e5).__name__)
            for _ in range(1):
                try:
                    p = r // 1
                    q = w2 + (w3**2 & 65535)
                except (TypeError, ZeroDivisionError) as e9:
                    raise Oops(1) from e9
        else:
            r = w1
            p = 2.5 * (1e300 / -0.0)
    finally:
        w10 = int(p * p % 1000003) % 5
        while w10 > 0:
            w10 -= 1
    return p, q, r


def test_an_inner_handler_does_not_catch_for_the_outer():
    trace = hovis.trace(handlers_over_the_same_loops, hovis.const(2), int, float)
    for text in (trace.compile(), trace.text().load()):
        with pytest.raises(TypeError, match="'NoneType' and 'float'"):
            text(-1, -0.0)


def sums(row):
    w = row[3]
    total = 0.5 if w is not None and w < 1 else 0.25
    x = row[0]
    if x is not None and x < 3:
        total += 1.5
    else:
        y = row[1]
        if y is not None and y < 2:
            total += 2.5
        else:
            total += 0.5
    z = row[2]
    return total + 5.0 if z is None or z < 1 else total - 1.5


def test_what_all_ways_lead_to_is_written_once():
    assert body(sums, Any) == textwrap.dedent("""
        w = row[3]
        total = 0.5 if w is not None and w < 1 else 0.25
        x = row[0]
        if x is not None and x < 3:
            total += 1.5
        else:
            y = row[1]
            if y is not None and y < 2:
                total += 2.5
            else:
                total += 0.5
        z = row[2]
        return total + 5.0 if z is None or z < 1 else total - 1.5""").strip()


class Env:
    def __init__(self, total):
        self.total = total


def guest(n, program):
    env, stack = {"n": n}, []
    box = Env(0)
    while env["n"] > 0:
        for op in program:
            if op == "add":
                box.total ^= env["n"]
            elif op == "dec":
                stack.append(env["n"] - 1)
                env["n"] = stack.pop()
    return box.total, [*map(str, ())], {**env, "m": 1}


def test_keys_and_attributes_name_variables():
    assert body(guest, Int, const(("add", "dec"))) == textwrap.dedent("""
        total = 0
        while n > 0:
            total ^= n
            n -= 1
        return (total, [], {'n': n, 'm': 1})""").strip()


ROWS = [(k * 7 % 100, str(k)) for k in range(400)]


def rows_above(k):
    total = 0
    for value, _ in ROWS:
        if value > k:
            total += value
    return total


def test_a_long_row_of_blocks_is_no_deep_recursion():
    assert hovis.trace(rows_above, Int).text().load()(50) == rows_above(50)


def test_a_long_row_of_early_ends_is_no_deep_recursion():
    def place(k):
        for at, (value, name) in enumerate(ROWS):
            if value == k:
                return at, name
        return None

    text = hovis.trace(place, Int).text().load()
    assert [text(k) for k in (0, 7, 99, 100)] == [place(k) for k in (0, 7, 99, 100)]


def test_a_list_that_is_let_go_of_by_a_handler_is_made_before_what_may_raise():
    def each(p, r):
        try:
            for i in (p, *r)[:3]:
                print(i)
        except KeyError:
            pass
        return p

    made = hovis.trace(each, Int, Any).text().load()
    assert made(1, ()) == 1
    with pytest.raises(TypeError, match="must be an iterable"):
        made(1, 3)
