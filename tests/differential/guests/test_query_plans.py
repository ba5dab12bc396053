"""Query plans, rules and pipelines over rows of which nothing is known: beside CPython, and loops without operators where they are known."""

import operator

import pytest

import hovis
from hovis.ir.model import Param
from tests.differential.harness import compare, splits


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


#: Blocks of each, where the rows are a list: one for each thing that it does and one for each way out.  (What an exception's traceback holds of
#: rows, keys and groups, whose ends may show, is another in each place of totals: so are its ways out.)
BLOCKS = {filtered: 9, listed: 14, totals: 36, two: 25}


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


# ------------------------------------------------------------------------------------------------- other styles

COMPARE = {"eq": operator.eq, "gt": operator.gt, "lt": operator.lt, "mul": operator.mul}


def value_of(e, row):
    match e:
        case ("col", name):
            return row[name]
        case ("lit", value):
            return value
        case ("and", a, b):
            return value_of(a, row) and value_of(b, row)
        case (op, a, b):
            return COMPARE[op](value_of(a, row), value_of(b, row))


def push(plan, tables, emit):
    """Operators that call the next one with each row."""
    kind = plan[0]
    if kind == "scan":
        for row in tables[plan[1]]:
            emit(row)
    elif kind == "filter":
        _, condition, source = plan

        def on_row(row):
            if value_of(condition, row):
                emit(row)

        push(source, tables, on_row)
    elif kind == "project":
        _, columns, source = plan
        push(source, tables, lambda row: emit({name: value_of(e, row) for name, e in columns}))
    elif kind == "join":
        _, left_key, right_key, left, right = plan
        index = {}
        push(right, tables, lambda row: index.setdefault(row[right_key], []).append(row))

        def probe(row):
            for other in index.get(row[left_key], ()):
                emit({**row, **other})

        push(left, tables, probe)
    elif kind == "group":
        _, keys, aggregates, source = plan
        groups = {}

        def add(row):
            key = tuple(row[k] for k in keys)
            held = groups.get(key)
            if held is None:
                held = groups[key] = [0] * len(aggregates)
            for i, (_, how, e) in enumerate(aggregates):
                held[i] += 1 if how == "count" else value_of(e, row)

        push(source, tables, add)
        for key, held in groups.items():
            emit({**dict(zip(keys, key)), **{a[0]: h for a, h in zip(aggregates, held)}})
    elif kind == "sort":
        _, e, source = plan
        rows = []
        push(source, tables, rows.append)
        rows.sort(key=lambda row: value_of(e, row), reverse=True)
        for row in rows:
            emit(row)


def pushed(plan, tables):
    out = []
    push(plan, tables, out.append)
    return out


def rows_of(plan, tables):
    """Operators that return lists."""
    match plan:
        case ("scan", name):
            return tables[name]
        case ("filter", condition, source):
            return [row for row in rows_of(source, tables) if value_of(condition, row)]
        case ("project", columns, source):
            return [{name: value_of(e, row) for name, e in columns} for row in rows_of(source, tables)]
        case ("join", left_key, right_key, left, right):
            index = {}
            for row in rows_of(right, tables):
                index.setdefault(row[right_key], []).append(row)
            return [{**row, **other} for row in rows_of(left, tables) for other in index.get(row[left_key], [])]
        case ("group", keys, aggregates, source):
            groups = {}
            for row in rows_of(source, tables):
                groups.setdefault(tuple(row[k] for k in keys), []).append(row)
            return [{**dict(zip(keys, key)), **{name: aggregate(how, e, rows) for name, how, e in aggregates}} for key, rows in groups.items()]
        case ("sort", e, source):
            return sorted(rows_of(source, tables), key=lambda row: value_of(e, row))


def aggregate(how, e, rows):
    if how == "count":
        return len(rows)
    return {"sum": sum, "min": min, "max": max}[how]([value_of(e, row) for row in rows])


FILTER = ("filter", ("and", ("gt", ("col", "n"), ("lit", 1)), ("lt", ("col", "price"), ("lit", 8))), ("scan", "orders"))
PROJECT = ("project", (("n", ("col", "n")), ("t", ("mul", ("col", "price"), ("col", "n")))), FILTER)
JOIN = ("join", "customer", "id", ("scan", "orders"), ("scan", "customers"))
GROUP = ("group", ("name",), (("k", "count", None), ("t", "sum", ("mul", ("col", "price"), ("col", "n")))), JOIN)
SORT = ("sort", ("col", "t"), GROUP)
TABLES = {
    "customers": [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}, {"id": 3, "name": "Cy"}],
    "orders": [
        {"customer": 1, "price": 2.5, "n": 4}, {"customer": 2, "price": 9.0, "n": 3}, {"customer": 3, "price": 1.25, "n": 2},
        {"customer": 1, "price": 7.0, "n": 1}, {"customer": 3, "price": 30.0, "n": 5}, {"customer": 4, "price": 1.0, "n": 9},
    ],
}  # fmt: skip
BROKEN = [{**TABLES, "orders": [*TABLES["orders"], row]} for row in ({"customer": 1, "n": 2}, {"customer": 1, "price": "x", "n": "y"}, {})]


@pytest.mark.parametrize("run", [pushed, rows_of], ids=lambda run: run.__name__)
@pytest.mark.parametrize("plan", [FILTER, PROJECT, JOIN, GROUP, SORT], ids=operator.itemgetter(0))
def test_callbacks_and_lists(run, plan, request):
    splits.check(run, [(plan, tables) for tables in (TABLES, {"customers": [], "orders": []}, *BROKEN, {})], only=("ka",) if plan is GROUP else ("kt",))
    if run is pushed and (plan is FILTER or plan is PROJECT):
        why = "the list of rows, whose ends may show, is one value in a variable and another in the closure: that is made, and the loop split"
        request.node.add_marker(pytest.mark.xfail(reason=why, strict=True))
    text = "".join(line for line in hovis.trace(run, hovis.const(plan), dict).source().splitlines() if "original_" not in line)
    left = [] if plan is SORT and run is pushed else ["value_of", "COMPARE"]  # rows are sorted in place by a key function that is called
    assert not any(name in text for name in ("aggregate", "condition", "columns", "gt", *left))


class Sum:
    def __init__(self):
        self.total = 0

    def add(self, value):
        self.total += value

    def result(self):
        return self.total


class Mean(Sum):
    n = 0

    def add(self, value):
        super().add(value)
        self.n += 1

    def result(self):
        return self.total / self.n


AGGREGATES = {"sum": Sum, "mean": Mean}


def accumulated(plan, rows):
    """Groups with an object for each aggregate."""
    keys, aggregates = plan
    groups = {}
    for row in rows:
        key = tuple(row[k] for k in keys)
        state = groups.get(key)
        if state is None:
            state = groups[key] = [AGGREGATES[kind]() for _, kind, _ in aggregates]
        for held, (_, _, column) in zip(state, aggregates):
            held.add(row[column])
    out = []
    for key, state in groups.items():
        row = dict(zip(keys, key))
        for held, (name, _, _) in zip(state, aggregates):
            row[name] = held.result()
        out.append(row)
    return out


RULES = [
    {"if": {"all": [{"fact": "age", "op": ">=", "value": 18}, {"fact": "country", "op": "in", "value": ["NL", "DE"]}]}, "then": ("set", "adult", True)},
    {"if": {"any": [{"fact": "income", "op": ">", "value": 50000}, {"fact": "vip", "op": "==", "value": True}]}, "then": ("add", "score", 10)},
    {"if": {"not": {"fact": "email", "op": "exists"}}, "then": ("event", "no-email", None)},
    {"if": {"all": [{"fact": "adult", "op": "==", "value": True}, {"fact": "score", "op": ">=", "value": 10}]}, "then": ("event", "approved", None)},
]
OPS = {"==": lambda a, b: a == b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "in": lambda a, b: a in b}


def holds(condition, facts):
    if "all" in condition:
        return all(holds(c, facts) for c in condition["all"])
    if "any" in condition:
        return any(holds(c, facts) for c in condition["any"])
    if "not" in condition:
        return not holds(condition["not"], facts)
    if condition["op"] == "exists":
        return condition["fact"] in facts
    return condition["fact"] in facts and OPS[condition["op"]](facts[condition["fact"]], condition["value"])


def decided(rules, facts):
    facts = dict(facts)
    events = []
    for rule in rules:
        if holds(rule["if"], facts):
            kind, name, value = rule["then"]
            if kind == "set":
                facts[name] = value
            elif kind == "add":
                facts[name] = facts.get(name, 0) + value
            else:
                events.append(name)
    return facts, events


FACTS = [{"age": 20, "country": "NL", "income": 60000}, {"age": 17}, {"vip": True, "email": "x", "age": 40, "country": "FR"}, {}, {"age": "old"}]

STEPS = [
    {"op": "rename", "from": "nm", "to": "name"},
    {"op": "cast", "field": "age", "to": "int"},
    {"op": "default", "field": "country", "value": "NL"},
    {"op": "derive", "field": "label", "fn": lambda r: f"{r['name']}/{r['country']}"},
    {"op": "filter", "fn": lambda r: r["age"] >= 18},
    {"op": "drop", "fields": ["tmp"]},
]
CASTS = {"int": int, "str": str}


def transformed(steps, rows):
    """Each row through all steps."""
    out = []
    for row in rows:
        row = dict(row)
        for step in steps:
            op = step["op"]
            if op == "rename":
                row[step["to"]] = row.pop(step["from"])
            elif op == "cast":
                row[step["field"]] = CASTS[step["to"]](row[step["field"]])
            elif op == "default":
                row.setdefault(step["field"], step["value"])
            elif op == "derive":
                row[step["field"]] = step["fn"](row)
            elif op == "filter":
                if not step["fn"](row):
                    break
            elif op == "drop":
                for name in step["fields"]:
                    row.pop(name, None)
        else:
            out.append(row)
    return out


def renamed(step, rows):
    for row in rows:
        row = dict(row)
        row[step["to"]] = row.pop(step["from"])
        yield row


def defaulted(step, rows):
    for row in rows:
        if step["field"] not in row:
            row = {**row, step["field"]: step["value"]}
        yield row


STAGES = {
    "rename": renamed,
    "cast": lambda step, rows: ({**row, step["field"]: CASTS[step["to"]](row[step["field"]])} for row in rows),
    "default": defaulted,
    "derive": lambda step, rows: ({**row, step["field"]: step["fn"](row)} for row in rows),
    "filter": lambda step, rows: filter(step["fn"], rows),
    "drop": lambda step, rows: ({k: v for k, v in row.items() if k not in step["fields"]} for row in rows),
}


def staged(steps, rows):
    """All rows through one step after the other."""
    for step in steps:
        rows = STAGES[step["op"]](step, rows)
    return list(rows)


PEOPLE = [{"nm": "Ann", "age": "20", "tmp": 1}, {"nm": "Bob", "age": "7"}, {"nm": "Cy", "age": "50", "country": "DE"}]


@pytest.mark.parametrize(
    ("run", "known", "unknown"),
    [
        (accumulated, (("a", "k"), (("s", "sum", "b"), ("m", "mean", "b"))), [ROWS, [], [*ROWS, {"a": 1}], [*ROWS, {"a": 1, "k": 1, "b": "x"}]]),
        (decided, RULES, FACTS),
        (transformed, STEPS, [PEOPLE, [], [*PEOPLE, {}], [{"nm": 1, "age": "x"}]]),
        (staged, STEPS, [PEOPLE, [], [*PEOPLE, {}], [{"nm": 1, "age": "x"}]]),
    ],
    ids=["accumulators", "rules", "rows through steps", "steps over rows"],
)
def test_rules_and_pipelines(run, known, unknown):
    splits.check(run, [(known, each) for each in unknown], only=("ka", "kt"))
    trace = hovis.trace(run, hovis.const(known), type(unknown[0]))
    assert not trace.fallback
    for each in unknown:
        want, got = compare.fresh(each), compare.fresh(each)
        compare.same(compare.observe(run, (known, want), watch=want), compare.observe(trace.text().load(), (got,), watch=got))


def counted(rows):
    """A limit that counts, and one that counts down."""
    left, out = 5, []
    for row in where(scan(rows), "a"):
        if left == 0:
            break
        left -= 1
        out.append(row["b"])
    return out, list(first(scan(rows), 3))


def test_what_counts_rounds_is_joined():
    splits.check(counted, [(ROWS[:k] * 3,) for k in range(4)])
    assert len(hovis.trace(counted, list).blocks) < 40
