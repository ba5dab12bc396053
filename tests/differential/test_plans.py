"""Query plans over rows of which nothing is known, as generators that pull from each other: beside CPython, and one loop where they are known."""

import pytest

import hovis
from hovis.ir.model import Param
from tests.differential import compare, splits


class Odd:
    """A row that raises what would end an iteration."""

    def __init__(self, error):
        self.error = error

    def __getitem__(self, name):
        raise self.error("odd", name)


class Closing:
    """An iterator that says when it is closed, and how long it lives."""

    def __init__(self, rows, fails=False):
        self.rows, self.fails = iter(rows), fails

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.rows)

    def close(self):
        print("closed")
        if self.fails:
            raise ValueError("close")


def scan(rows):
    for row in rows:
        yield row


def scan_from(rows):
    yield from rows


def where(source, name):
    for row in source:
        if row[name]:
            yield row


def joined(left, right, key):
    index = {}
    for row in right:
        index.setdefault(row[key], []).append(row)
    for row in left:
        for other in index.get(row[key], ()):
            yield {**row, **other}


def grouped(source, keys, summed):
    groups = {}
    for row in source:
        key = tuple(row[name] for name in keys)
        if key not in groups:
            groups[key] = [0 for _ in summed]
        held = groups[key]
        for k, name in enumerate(summed):
            held[k] += row[name]
    for key, held in groups.items():
        yield {**{name: key[k] for k, name in enumerate(keys)}, **{name: held[k] for k, name in enumerate(summed)}}


def ordered(source, name):
    yield from sorted(source, key=lambda row: row[name])


def first(source, count):
    for k, row in enumerate(source, 1):
        yield row
        if k >= count:
            return


def filtered(rows):
    total = 0
    for row in where(scan(rows), "a"):
        total += row["b"]
    return total


def listed(rows):
    return list(where(where(scan_from(rows), "a"), "b"))


def totals(rows):
    return list(grouped(where(scan_from(rows), "a"), ("a", "k"), ("b",)))


def two(rows, others):
    return [(row["a"], row["b"]) for row in joined(scan(rows), scan(others), "k")]


def sorted_rows(rows):
    return list(ordered(where(scan(rows), "a"), "b"))


def some(rows):
    return list(first(where(scan_from(rows), "a"), 2))


def in_turns(rows, others):
    """Two generators of one code, resumed at one place."""
    out = []
    running = [where(scan(rows), "a"), where(scan_from(others), "b")]
    while running:
        source = running.pop(0)
        try:
            out.append(next(source)["b"])
        except StopIteration:
            out.append("end")
        else:
            running.append(source)
    return out


def stepped(rows):
    """A generator of which the first item is taken elsewhere than the others."""
    source = where(scan(rows), "a")
    head = next(source, None)
    rest = [row["b"] for row in source]
    return head, rest, next(source, "no more")


def shared(rows):
    """A generator that is still held where one that delegates to it ends."""
    inner = scan(rows)
    seen = []
    for row in scan_from(inner):
        seen.append(row["a"])
        break
    seen.append(next(inner, "closed"))
    return seen


def caught(rows):
    seen = []
    try:
        for row in where(scan_from(rows), "a"):
            seen.append(row["b"])
    except (KeyError, RuntimeError, TypeError) as error:
        seen.append((type(error), str(error), type(error.__cause__), type(error.__context__)))
    return seen


ROWS = [{"a": 1, "b": 2.5, "k": 1}, {"a": 0, "b": 1, "k": 2}, {"a": 2, "b": -3, "k": 1}, {"a": 1, "b": 1.5, "k": 1}]
CASES = [[], ROWS[1:2], ROWS[:1], ROWS, [*ROWS, {"a": 1}], [ROWS[0], {}], [Odd(KeyError)], [ROWS[0], 5], tuple(ROWS)]
ONE = [filtered, listed, totals, sorted_rows, some, stepped, shared, caught]
TWO = [two, in_turns]


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("fn", ONE, ids=lambda fn: fn.__name__)
def test_one_table(fn, case):
    splits.check(fn, [(CASES[case],)])


@pytest.mark.parametrize("case", range(1, len(CASES)))
@pytest.mark.parametrize("fn", TWO, ids=lambda fn: fn.__name__)
def test_two_tables(fn, case):
    splits.check(fn, [(CASES[case], CASES[case - 1]), (CASES[case - 1], CASES[case])], only=("aa", "tt", "ta"))


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("fn", ONE, ids=lambda fn: fn.__name__)
def test_what_is_iterated_is_closed(fn, fails, capsys, monkeypatch):
    """Where a generator ends that delegates to it, and when CPython does that."""
    monkeypatch.setattr("sys.unraisablehook", lambda seen: print("unraisable", seen.exc_value))
    for rows in (ROWS, [*ROWS, {"a": 1}], [ROWS[0], {}]):
        told = []
        for call in (fn, hovis.specialize(fn, hovis.Any)):
            source = Closing(rows, fails)
            try:
                print(call(source))
            except Exception as error:
                print(repr(error), repr(error.__cause__), repr(error.__context__))
            told.append(capsys.readouterr().out)
        assert told[0] == told[1], fn


@pytest.mark.parametrize("fn", ONE, ids=lambda fn: fn.__name__)
def test_a_row_that_ends_an_iteration(fn):
    """A StopIteration does not get out of a generator (PEP 479)."""
    rows = [ROWS[0], Odd(StopIteration)]
    for residual in (hovis.specialize(fn, hovis.Any), hovis.specialize(fn, list), hovis.trace(fn, list).text().load()):
        compare.same(compare.observe(fn, compare.fresh((rows,))), compare.observe(residual, compare.fresh((rows,))))


#: Blocks of each, where the rows are a list: one for each thing that it does and one for each way out.
BLOCKS = {filtered: 9, listed: 14, totals: 30, two: 25}


@pytest.mark.parametrize("fn", BLOCKS, ids=lambda fn: fn.__name__)
def test_one_loop_for_each_table(fn):
    """No operator is left, and no loop has its first round before it."""
    trace = hovis.trace(fn, *[list] * fn.__code__.co_argcount).passes("default")
    text = trace.source()
    assert not any(name in text for name in ("scan", "where", "grouped", "yield", "generator"))
    steps = [op for op in trace.ops if op.callee is next]
    assert len(steps) == {totals: 2, two: 3}.get(fn, 1)
    assert len(trace.blocks) <= BLOCKS[fn]
    assert not any(isinstance(op.callee, Param) for op in trace.ops)
