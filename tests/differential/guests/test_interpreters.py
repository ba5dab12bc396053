"""Interpreters of many makes with their programs known: they do what CPython does, and of the interpretation nothing is left.

A row has the interpreter, which of its arguments are known, calls with the same known arguments, what must be gone from
the residual (names that it calls, and texts), and how many operations it may have at the most.
"""
from __future__ import annotations

import copy
import dataclasses
import functools
import heapq
import operator
import re
import typing
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import hovis
from hovis.ir.model import Function
from hovis.ir.operations import drop
from tests.differential.harness.compare import observe, same


class Row(NamedTuple):
    fn: Any
    known: tuple[int, ...]
    calls: list[tuple[Any, ...]]
    gone: str
    most: int


ROWS: dict[str, Row] = {}


def interpreter(known, calls, gone, most):
    """Decorator: a row with the function below."""
    def register(fn):
        ROWS[fn.__name__] = Row(fn, known, calls, gone, most)
        return fn
    return register


@dataclass(frozen=True)
class Var:
    name: str


@dataclass(frozen=True)
class Num:
    value: Any


@dataclass(frozen=True)
class Bin:
    op: str
    left: Any
    right: Any


@dataclass(frozen=True)
class Cond:
    test: Any
    then: Any
    other: Any


TREE = Cond(Bin("<", Var("x"), Num(10)), Bin("+", Bin("*", Var("x"), Var("x")), Num(1)), Bin("-", Var("y"), Var("x")))


@functools.singledispatch
def ev(node, env):
    raise TypeError(type(node).__name__)


@ev.register
def _(node: Num, env):
    return node.value


@ev.register
def _(node: Var, env):
    return env[node.name]


@ev.register
def _(node: Bin, env):
    a, b = ev(node.left, env), ev(node.right, env)
    return {"+": lambda: a + b, "*": lambda: a * b, "-": lambda: a - b, "<": lambda: a < b}[node.op]()


@ev.register(Cond)
def _(node, env):
    return ev(node.then if ev(node.test, env) else node.other, env)


@interpreter((0,), [(TREE, 3), (TREE, 30), (TREE, "a")], "ev wrapper dispatch Bin Cond <", 6)
def by_class_of_node(tree, x):
    """The wrapper calls itself with other nodes, in *args."""
    return ev(tree, {"x": x, "y": 2})


def compiled(tree):
    match tree:
        case int():
            return lambda env: tree
        case str():
            return lambda env: env[tree]
        case ("set", name, value):
            value = compiled(value)

            def assign(env):
                env[name] = value(env)
            return assign
        case ("while", test, body):
            test, body = compiled(test), compiled(body)

            def loop(env):
                while test(env):
                    body(env)
            return loop
        case ("seq", *parts):
            steps = [compiled(part) for part in parts]

            def seq(env):
                for step in steps:
                    result = step(env)
                return result
            return seq
        case (op, left, right):
            left, right, op = compiled(left), compiled(right), {"+": operator.add, "*": operator.mul, "<": operator.lt}[op]
            return lambda env: op(left(env), right(env))


SQUARES = ("seq", ("set", "s", 0), ("set", "i", 0), ("while", ("<", "i", "n"),
           ("seq", ("set", "s", ("+", "s", ("*", "i", "i"))), ("set", "i", ("+", "i", 1)))), "s")


@interpreter((0,), [(SQUARES, 5), (SQUARES, 0), (SQUARES, 2.5)], "compiled make_function make_cell getitem", 12)
def closures_of_a_tree(tree, n):
    """One seq inside another: the same code, closed over other lists of functions."""
    return compiled(tree)({"n": n})


TABLE = {10: ("let", "i", 1), 20: ("if", ("i", "n"), 50), 30: ("let", "i", ("i", 1)), 40: ("goto", 20), 50: ("print", "i")}


@interpreter((0,), [(TABLE, 3), (TABLE, 0), (TABLE, 1.5)], "sorted enumerate let goto print getitem", 8)
def lines_by_number(lines, n):
    """The numbers of the lines of a known dict, in order."""
    env, order, out = {"n": n}, sorted(lines), []
    place, at = {number: k for k, number in enumerate(order)}, 0
    while at < len(order):
        op, *args = lines[order[at]]
        at += 1
        if op == "let":
            value = args[1]
            env[args[0]] = env[value[0]] + value[1] if isinstance(value, tuple) else value
        elif op == "if":
            at = place[args[1]] if env[args[0][0]] > env[args[0][1]] else at
        elif op == "goto":
            at = place[args[0]]
        else:
            out.append(env[args[0]])
    return out


class Parser:
    POWER = {"+": 1, "-": 1, "*": 2}

    def __init__(self, text):
        self.tokens, self.at = [m.group() for m in re.finditer(r"\d+|[a-z]+|[-+*()]", text)], 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def expression(self, least=0):
        token = self.take()
        if token == "(":
            left = self.expression()
            self.take()
        else:
            left = ("num", int(token)) if token.isdigit() else ("var", token)
        while self.POWER.get(self.peek(), -1) > least:
            op = self.take()
            left = (op, left, self.expression(self.POWER[op]))
        return left


def value_of(tree, env):
    match tree:
        case ("num", value):
            return value
        case ("var", name):
            return env[name]
        case (op, left, right):
            return {"+": operator.add, "-": operator.sub, "*": operator.mul}[op](value_of(left, env), value_of(right, env))


@interpreter((0,), [("(a + 2*b)*a - b", 1, 2), ("(a + 2*b)*a - b", 0.5, 3), ("(a + 2*b)*a - b", "x", 3)], "finditer Parser num var group expression", 5)
def parsed_text(text, a, b):
    """The matches of a known pattern in known text, one by one."""
    return value_of(Parser(text).expression(), {"a": a, "b": b})


@interpreter((0,), [("[ab]+|(\\d)", "ab12a"), ("[ab]+|(\\d)", ""), ("[ab]+|(\\d)", "!1")], "finditer", 14)
def matches_of_unknown_text(pattern, text):
    return [(m.group(), m.start(), m[1]) for m in re.finditer(pattern, text)]


QUEUE = ((3, "a"), (1, "spawn"), (2, "b"))


@interpreter((0,), [(QUEUE, 2), (QUEUE, 0.5), (QUEUE, "x")], "heappush heappop spawn2", 14)
def simulation(events, speed):
    queue, out = [], []
    for number, (at, name) in enumerate(events):
        heapq.heappush(queue, (at, number, name, speed))
    while queue:
        at, number, name, factor = heapq.heappop(queue)
        out.append(at * factor)
        if name == "spawn" and at < 5:
            heapq.heappush(queue, (at + 2, number + 10, "spawn", speed))
    return out


STEPS = [{"op": "filter", "col": "a", "than": 1}, {"op": "map", "col": "a", "to": "b", "times": 10},
         {"op": "sort", "col": "b", "desc": True}, {"op": "project", "cols": ["b"]}, {"op": "limit", "n": 2}]


@interpreter((0,), [(STEPS, [{"a": 1}, {"a": 2}, {"a": 3}]), (STEPS, []), (STEPS, [{"b": 1}]), (STEPS, [{"a": 2}, {"a": 2.5}])],
             "filter op project than limit cols desc make_cell cell_get make_function", 40)
def rows_through_steps(steps, rows):
    """What sorts rows by a key function is given no function: the variable that it closes over stays known."""
    for step in steps:
        if step["op"] == "filter":
            rows = [row for row in rows if row[step["col"]] > step["than"]]
        elif step["op"] == "map":
            rows = [{**row, step["to"]: row[step["col"]] * step["times"]} for row in rows]
        elif step["op"] == "sort":
            rows = sorted(rows, key=lambda row: row[step["col"]], reverse=step["desc"])
        elif step["op"] == "project":
            rows = [{col: row[col] for col in step["cols"]} for row in rows]
        elif step["op"] == "limit":
            rows = rows[: step["n"]]
    return rows


class GuestError(Exception):
    def __init__(self, tag, value):
        super().__init__(tag, value)
        self.tag, self.value = tag, value


def run(node, env):
    match node:
        case ("div", a, b):
            a, b = run(a, env), run(b, env)
            if b == 0:
                raise GuestError("zero", a)
            return a / b
        case ("try", body, tag, handler):
            try:
                return run(body, env)
            except GuestError as error:
                if error.tag != tag:
                    raise
                return run(handler, {**env, "value": error.value})
        case ("add", a, b):
            return run(a, env) + run(b, env)
        case str():
            return env[node]
    return node


DIVIDE = ("try", ("add", ("div", "x", "y"), 1), "zero", ("add", "value", 100))


@interpreter((0,), [(DIVIDE, 6, 3), (DIVIDE, 6, 0), (DIVIDE, 10**400, 3), (DIVIDE, 6, "a")], "run GuestError zero div add try make_exception", 5)
def guest_errors(program, x, y):
    """What dividing ints can raise is not what the guest catches."""
    return run(program, {"x": x, "y": y})


class Closure:
    __slots__ = ("params", "body", "env")

    def __init__(self, params, body, env):
        self.params, self.body, self.env = params, body, env


def lisp(x, env):
    if isinstance(x, str):
        while x not in env[0]:
            env = env[1]
        return env[0][x]
    if not isinstance(x, tuple):
        return x
    head = x[0]
    if head == "if":
        return lisp(x[2], env) if lisp(x[1], env) else lisp(x[3], env)
    if head == "let":
        return lisp(x[3], ({x[1]: lisp(x[2], env)}, env))
    if head == "lambda":
        return Closure(x[1], x[2], env)
    if head in ("+", "-", "*", "<"):
        return {"+": operator.add, "-": operator.sub, "*": operator.mul, "<": operator.lt}[head](lisp(x[1], env), lisp(x[2], env))
    called, args = lisp(head, env), [lisp(a, env) for a in x[1:]]
    return lisp(called.body, (dict(zip(called.params, args)), called.env))


FACTORIAL = ("let", "f", ("lambda", ("f", "n"), ("if", ("<", "n", 2), 1, ("*", "n", ("f", "f", ("-", "n", 1))))), ("f", "f", "n"))
FIBONACCI = ("let", "f", ("lambda", ("f", "n"), ("if", ("<", "n", 2), "n", ("+", ("f", "f", ("-", "n", 1)), ("f", "f", ("-", "n", 2))))), ("f", "f", "n"))


@interpreter((0,), [(FACTORIAL, 5), (FACTORIAL, 0), (FACTORIAL, 2.5)], "lisp Closure make_dict if let lambda isinstance getitem", 8)
def recursion_by_giving_itself(program, n):
    """Environments that all activations share are lent to the residual function."""
    return lisp(program, ({"n": n}, None))


@interpreter((0,), [(FIBONACCI, 7), (FIBONACCI, 0)], "lisp Closure make_dict if let lambda isinstance getitem", 32)
def recursion_twice(program, n):
    return lisp(program, ({"n": n}, None))


class Env:
    def __init__(self, parent=None):
        self.vars, self.parent = {}, parent

    def get(self, name):
        return self.vars[name] if name in self.vars else self.parent.get(name)


class Procedure:
    def __init__(self, params, body, env):
        self.params, self.body, self.env = params, body, env

    def __call__(self, *args):
        env = Env(self.env)
        env.vars.update(zip(self.params, args))
        return scheme(self.body, env)


def scheme(x, env):
    match x:
        case ["define", name, value]:
            env.vars[name] = scheme(value, env)
        case ["lambda", params, body]:
            return Procedure(params, body, env)
        case ["if", test, then, other]:
            return scheme(then if scheme(test, env) else other, env)
        case ["begin", *parts]:
            for part in parts:
                result = scheme(part, env)
            return result
        case [called, *args]:
            return scheme(called, env)(*[scheme(a, env) for a in args])
        case str():
            return env.get(x)
        case _:
            return x


DEFINED = ["begin", ["define", "even", ["lambda", ["k"], ["if", ["<", "k", 1], 1, ["odd", ["-", "k", 1]]]]],
           ["define", "odd", ["lambda", ["k"], ["if", ["<", "k", 1], 0, ["even", ["-", "k", 1]]]]], ["even", "n"]]


@interpreter((0,), [(DEFINED, 5), (DEFINED, 0), (DEFINED, 4)], "scheme Env Procedure get vars parent define lambda even odd", 16)
def recursion_through_a_global(program, n):
    """A global environment that holds procedures which hold it."""
    env = Env()
    env.vars.update({"-": operator.sub, "<": operator.lt, "n": n})
    return scheme(program, env)


class State:
    def __init__(self, name):
        self.name, self.next, self.final = name, {}, False

    def on(self, c):
        return self.next.get(c)


ARROWS = (("a", "x", "b"), ("a", "y", "a"), ("b", "x", "a"))


@interpreter((0,), [(ARROWS, "xyx"), (ARROWS, ""), (ARROWS, "x"), (ARROWS, "xxx"), (ARROWS, "xz")], "State on final get make_object a c y1", 10)
def states_that_know_the_next(arrows, text):
    """Objects that lead to each other: which one it is goes by what is in it."""
    states = {}
    for start, c, end in arrows:
        for name in (start, end):
            states.setdefault(name, State(name))
        states[start].next[c] = states[end]
    states["b"].final = True
    state = states["a"]
    for c in text:
        state = state.on(c)
        if state is None:
            return None
    return state.final, len(state.name)


class Trie:
    def __init__(self):
        self.kids, self.word = {}, None


@interpreter((0,), [(("ab", "ac"), "abacxx"), (("ab", "ac"), ""), (("ab", "ac"), "aab")], "Trie kids word make_dict get getattr", 13)
def words_found(words, text):
    root = Trie()
    for word in words:
        node = root
        for c in word:
            node = node.kids.setdefault(c, Trie())
        node.word = word
    found, node = [], root
    for c in text:
        node = node.kids.get(c, root)
        if node.word:
            found.append(node.word)
            node = root
    return found


@interpreter((0,), [({"a": 5, "b": 2, "c": 1}, [0, 1, 1, 1, 0]), ({"a": 5, "b": 2, "c": 1}, [])], "heappop heappush isinstance make_tuple getitem", 14)
def huffman(frequencies, bits):
    """A tree of tuples, walked down."""
    heap = [(count, number, letter) for number, (letter, count) in enumerate(sorted(frequencies.items()))]
    heapq.heapify(heap)
    while len(heap) > 1:
        one, other = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (one[0] + other[0], one[1] + 10, (one[2], other[2])))
    tree = node = heap[0][2]
    out = []
    for bit in bits:
        node = node[1 if bit else 0]
        if isinstance(node, str):
            out.append(node)
            node = tree
    return "".join(out)


class Closed:
    def push(self):
        return self, "locked"

    def coin(self):
        return Opened(), "unlocked"


class Opened:
    def push(self):
        return Closed(), "passed"

    def coin(self):
        return self, "thanks"


@interpreter((), [(["coin", "push"],), (["push", "coin", "coin"],), ([],)], "make_object getattr type", 16)
def state_pattern(events):
    state, out = Closed(), []
    for event in events:
        state, said = state.coin() if event == "coin" else state.push()
        out.append(said)
    return out, type(state).__name__


@dataclass(frozen=True)
class Fits:
    """What a text fits: nothing, nothing more, one character, one after the other, one of two, any number."""

    kind: str
    a: Any = None
    b: Any = None


NEVER, DONE = Fits("never"), Fits("done")


def ended(r):
    match r.kind:
        case "done" | "many":
            return True
        case "then":
            return ended(r.a) and ended(r.b)
        case "or":
            return ended(r.a) or ended(r.b)
    return False


def after(r, c):
    match r:
        case Fits("char", a):
            return DONE if c == a else NEVER
        case Fits("then", a, b):
            first = then(after(a, c), b)
            return either(first, after(b, c)) if ended(a) else first
        case Fits("or", a, b):
            return either(after(a, c), after(b, c))
        case Fits("many", a):
            return then(after(a, c), r)
    return NEVER


def then(a, b):
    return NEVER if NEVER in (a, b) else b if a == DONE else Fits("then", a, b)


def either(a, b):
    return b if a in (NEVER, b) else a if b == NEVER else Fits("or", a, b)


PATTERN = Fits("then", Fits("many", Fits("or", Fits("char", "a"), Fits("char", "b"))), Fits("then", Fits("char", "a"), Fits("char", "b")))


@interpreter((0,), [(PATTERN, "ab"), (PATTERN, "bbab"), (PATTERN, "aba"), (PATTERN, ""), (PATTERN, "axb")], "after then either ended Fits make_object", 110)
def derivatives(pattern, text):
    """The states are what patterns come to: objects made on the way, told apart by what is in them."""
    for c in text:
        pattern = after(pattern, c)
    return ended(pattern)


@dataclass
class Point:
    x: int
    y: float = 0.0


@dataclass
class Line:
    start: Point
    end: Point
    name: str = ""


def loaded(cls, data):
    hints, found = typing.get_type_hints(cls), {}
    for field in dataclasses.fields(cls):
        if field.name not in data:
            continue
        kind, value = hints[field.name], data[field.name]
        found[field.name] = loaded(kind, value) if dataclasses.is_dataclass(kind) else kind(value)
    return cls(**found)


@interpreter((0,), [(Line, {"start": {"x": 1}, "end": {"x": "2", "y": 3}}), (Line, {"start": {}, "end": {"x": 1}}), (Line, {})],
             "fields is_dataclass loaded get_type_hints", 50)
def by_type_hints(cls, data):
    return loaded(cls, data)


def residual_of(row, call, known):
    specs = [hovis.const(value) if k in known else type(value) for k, value in enumerate(call)]
    return hovis.specialize(row.fn, *specs)


@pytest.mark.parametrize("name", ROWS)
def test_it_does_what_the_interpreter_does(name):
    row = ROWS[name]
    for known in {(), row.known, tuple(range(len(row.calls[0])))}:
        made = {}
        for call in row.calls:
            key = tuple(repr(value) if k in known else type(value) for k, value in enumerate(call))
            ours = list(copy.deepcopy(call))
            if key not in made:
                made[key] = residual_of(row, ours, known), ours
            residual, static = made[key]
            ours = tuple(static[k] if k in known else value for k, value in enumerate(ours))
            got = observe(residual, tuple(value for k, value in enumerate(ours) if k not in known), watch=(ours, {}))
            same(observe(row.fn, copy.deepcopy(call)), got, f"{name}{call} known {known}")


def stacked(spec, items):
    """Generators in generators, as many as nobody knows."""
    found = iter(items)
    for op, k in spec:
        if op == "map":
            found = (lambda g, k: (x * k for x in g))(found, k)
        elif op == "filter":
            found = (lambda g, k: (x for x in g if x > k))(found, k)
    return list(found)


def test_generators_that_pile_up_are_real():
    residual = hovis.specialize(stacked, tuple, list)
    assert not residual.trace.fallback
    for spec in ((), (("map", 2),), (("map", 2), ("filter", 3), ("map", 10)), (("filter", "x"),)):
        same(observe(stacked, (spec, [1, 2, 3])), observe(residual, (spec, [1, 2, 3])), str(spec))
    assert residual.trace.stats["restarts"] < 40


def functions(trace):
    """The residual and those that it calls."""
    found, todo = [], [trace]
    while todo:
        function = todo.pop()
        if function not in found:
            found.append(function)
            todo += [op.callee for block in function.blocks for op in block.ops if isinstance(op.callee, Function)]
    return found


@pytest.mark.parametrize("name", ROWS)
def test_nothing_of_the_interpretation_is_left(name):
    row = ROWS[name]
    residual = residual_of(row, row.calls[0], row.known)
    assert not residual.trace.fallback
    text = "\n".join(line for line in residual.trace.show().splitlines() if not re.match(r"1: |fn ", line))
    left = {"".join(pair) for pair in re.findall(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", text)}
    left |= {name.rsplit(".", 1)[-1] for name in re.findall(r"([\w.]+)!?\(", text)} | set(re.findall(r"const\((\w+)\)", text))
    assert not set(row.gone.split()) & left, text
    # where things are let go of is nothing that is computed
    assert sum(op.callee is not drop for function in functions(residual.trace) for block in function.blocks for op in block.ops) <= row.most, text
