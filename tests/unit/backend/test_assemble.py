"""The assembler against a direct interpreter of the IR: random graphs, then each feature by itself."""

import dis
import gc
import math
import operator
import random
import sys
import traceback
import types
import weakref

import pytest
from bytecode import ConcreteBytecode

import hovis
from hovis.backend.assembler.assemble import assemble
from hovis.bytecode.normalize import LAST_FIRST
from hovis.ir import operations as ops
from hovis.ir.model import CAUGHT, Block, Branch, Edge, Effect, Function, Invoke, Jump, Location, Op, Param, Raise, Return
from hovis.lattice import ANY, Const, Type
from tests.differential.harness.code_checks import wrong_depth

INT = Type(int)
BOOL = Type(bool)
NONE = Type(type(None))


# ------------------------------------------------------------------------------------------------- the interpreter


def run(function, *args):
    """The meaning of a Function, without enter_handler's effect on what callees see (``handling`` has the stack)."""
    block, given, handling = function.blocks[0], args, [sys.exception()]
    values = {}

    def value(x):
        return x.value if isinstance(x, Const) else values[x]

    def do(op):
        if op.callee is ops.enter_handler:
            handling.append(value(op.args[0]))
            return None
        if op.callee is ops.leave_handler:
            handling.pop()
            return None
        if op.callee is ops.current_exception:
            return handling[-1]
        callee = op.callee
        if isinstance(callee, Function):
            return run(callee, *map(value, op.args))
        if isinstance(callee, (Op, Param)):
            callee = values[callee]
        return callee(*map(value, op.args), **{k: value(v) for k, v in op.kwargs})

    while True:
        values.update(zip(block.params, given, strict=True))
        for op in block.ops:
            values[op] = do(op)
        end = block.terminator
        if isinstance(end, Return):
            return value(end.value)
        if isinstance(end, Raise):
            raise value(end.value)
        if isinstance(end, Jump):
            edge = end.edge
        elif isinstance(end, Branch):
            edge = end.true if value(end.cond) else end.false
        else:
            caught = None
            try:
                values[end.op] = do(end.op)
                edge = end.ok
            except Stop:
                raise
            except BaseException as error:
                edge, caught = end.error, error
            given = [caught if a is CAUGHT else value(a) for a in edge.args]
            block = edge.block
            continue
        given = list(map(value, edge.args))
        block = edge.block


# ------------------------------------------------------------------------------------------------- random graphs


class Stop(BaseException):
    """The step limit."""


class World:
    """What opaque ops do: they write a log, and they stop a run that goes on for too long."""

    def __init__(self):
        self.log, self.left = [], 300

    def tick(self, number):
        self.left -= 1
        self.log.append(number)
        if self.left < 0:
            raise Stop

    def show(self, *values):
        self.log.append(tuple(v if isinstance(v, int) else repr(v) for v in values))
        return len(self.log)

    def fail(self, x):
        """Raises for two thirds of the values."""
        self.log.append(("fail", x if isinstance(x, int) else repr(x)))
        if isinstance(x, int) and x % 3:
            raise ValueError(x % 7)
        return x


WORLD = World()
tick = lambda n: WORLD.tick(n)  # noqa: E731
show = lambda *v, **k: WORLD.show(*v, *k.values())  # noqa: E731
fail = lambda x: WORLD.fail(x)  # noqa: E731
identity = lambda x: x  # noqa: E731


def number(x):
    """Some int for anything."""
    return x if isinstance(x, int) else len(repr(x))


def close(x):
    return number(x) % 1000003


PURE = [
    (operator.add, 2), (operator.sub, 2), (operator.mul, 2), (operator.and_, 2), (operator.iadd, 2), (operator.neg, 1), (max, 2), (min, 3),
    (operator.xor, 2), (operator.invert, 1), (abs, 1), (operator.pos, 1),
]  # fmt: skip
def none_or(x):
    return None if number(x) % 2 else x


TESTS = [(operator.lt, 2), (operator.eq, 2), (operator.is_, 1), (operator.not_, 1), (bool, 1), (operator.ge, 2), (operator.is_not, 1)]


class Graph:
    """A random Function: any edges at all, SSA by dominance, handlers that nest."""

    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.inlined = seed % 2
        count = r.randint(1, 9)
        self.blocks = [Block() for _ in range(count)]
        self.depth = [0] + [r.choice((0, 0, 1, 2)) for _ in range(count - 1)]
        self.succ = []
        for k in range(count):
            kind = r.choice(["jump", "branch", "branch", "invoke", "invoke", "return", "raise"])
            same = [b for b in range(1, count)]
            if not same:
                kind = r.choice(["return", "raise"])
            targets = []
            if kind in ("jump", "branch", "invoke"):
                first = r.choice(same)
                level = [b for b in same if self.depth[b] == self.depth[first]]
                targets = [first] if kind == "jump" else [first, r.choice(level)]
            if kind == "invoke" and targets[0] == targets[1] and r.random() < 0.5:
                kind, targets = "jump", targets[:1]
            self.succ.append((kind, targets))
        self.dominators()
        for k, block in enumerate(self.blocks):
            block.params = tuple(Param(r.choice([INT, ANY]), None, r.choice([None, "x", "y", "class", "i"])) for _ in range(r.randint(0, 3)))
        self.values = {k: list(block.params) for k, block in enumerate(self.blocks)}
        for k in self.order:
            self.fill(k)
        location = Location("graph.py", 1, 1, 0, 5, "graph", 1)
        self.function = Function("graph", self.blocks, location)

    def dominators(self):
        count = len(self.blocks)
        reach, todo = {0}, [0]
        while todo:
            for s in self.succ[todo.pop()][1]:
                if s not in reach:
                    reach.add(s)
                    todo.append(s)
        dom = {k: set(reach) for k in reach}
        dom[0] = {0}
        changed = True
        while changed:
            changed = False
            for k in reach - {0}:
                preds = [p for p in reach if k in self.succ[p][1]]
                new = set.intersection(*[dom[p] for p in preds]) | {k}
                if new != dom[k]:
                    dom[k], changed = new, True
        self.dom = dom
        self.order = sorted(reach, key=lambda k: len(dom[k]))
        for k in set(range(count)) - reach:
            self.blocks[k].terminator = Return(Const("unreachable"))

    def operand(self, k):
        r = self.r
        known = [v for d in self.dom[k] for v in self.values[d]]
        if not known or r.random() < 0.2:
            return Const(r.choice([0, 1, 2, 5, True, -3]))
        return r.choice(known[-6:] if r.random() < 0.6 else known)

    def op(self, k, callee, count, type=INT, effect=Effect.PURE, kwargs=()):
        op = Op(callee, tuple(self.operand(k) for _ in range(count)), kwargs, type, None, effect)
        if self.r.random() < 0.5:
            outer = Location("graph.py", self.r.randint(2, 90), 90, 3, 200, "graph", 1)
            op.location = Location("inner.py", 7, 7, 1, 2, "inner", 3, outer) if self.inlined and self.r.random() < 0.3 else outer
        return op

    def fill(self, k):
        r, block = self.r, self.blocks[k]
        block.ops.append(Op(tick, (Const(k),), (), NONE, None, Effect.OPAQUE))
        for _ in range(r.randint(0, 6)):
            self.add(k, *r.choice(PURE))
        for _ in range(r.randint(0, 2)):
            op = self.op(k, show, r.randint(0, 3), ANY, Effect.OPAQUE)
            if r.random() < 0.3:
                op.kwargs = (("a", self.operand(k)), ("b", self.operand(k)))
            block.ops.append(op)
            self.values[k].append(op)
            self.add(k, *r.choice(PURE))
        if r.random() < 0.2:
            raised = Op(ops.raised, (made := Op(IndexError, (self.operand(k),)),), (), ANY, None, Effect.READS)
            block.ops += [made, raised, Op(show, (raised,), (), ANY, None, Effect.OPAQUE)]
            self.values[k].append(raised)
        if r.random() < 0.3:
            self.add(k, operator.sub, 2)
            block.ops.append(Op(ops.drop, (self.operand(k),), (), NONE))
        self.end(k)

    def add(self, k, callee, count):
        op = self.op(k, callee, count)
        closed = Op(close, (op,), (), self.r.choice([INT, ANY]))
        self.blocks[k].ops += [op, closed]
        self.values[k].append(closed)

    def level(self, k, target):
        """enter and leave, up to the number of open handlers that the successors have."""
        block, depth = self.blocks[k], self.depth[k]
        while depth != target:
            if depth < target:
                made = Op(KeyError, (self.operand(k),), (), Type(KeyError))
                block.ops += [made, Op(ops.enter_handler, (made,), (), NONE, None, Effect.IO)]
                depth += 1
            else:
                block.ops.append(Op(ops.leave_handler, (), (), NONE, None, Effect.IO))
                depth -= 1
            if self.r.random() < 0.5:
                block.ops.append(Op(show, (context_of(block),), (), ANY, None, Effect.OPAQUE))

    def edge(self, k, target, extra=()):
        block = self.blocks[target]
        return Edge(block, tuple(self.r.choice(extra) if extra and self.r.random() < 0.6 else self.operand(k) for _ in block.params))

    def end(self, k):
        r, block = self.r, self.blocks[k]
        kind, targets = self.succ[k]
        if targets:
            self.level(k, self.depth[targets[0]])
        if kind == "return":
            block.terminator = Return(self.operand(k))
        elif kind == "raise":
            made = Op(LookupError, (self.operand(k),), (), Type(LookupError))
            block.ops.append(made)
            block.terminator = Raise(made)
        elif kind == "jump":
            block.terminator = Jump(self.edge(k, targets[0]))
        elif kind == "branch":
            cond = self.op(k, *r.choice(TESTS), type=BOOL)
            if cond.callee in (operator.is_, operator.is_not):
                block.ops.append(Op(none_or, cond.args))
                cond.args = (block.ops[-1], Const(None))
            if r.random() < 0.9:
                block.ops.append(cond)
            block.terminator = Branch(cond if r.random() < 0.9 and cond in block.ops else Const(r.random() < 0.5), self.edge(k, targets[0]), self.edge(k, targets[1]))
        else:
            op = self.op(k, r.choice([fail, fail, operator.truediv, operator.mod]), 1, ANY, Effect.OPAQUE)
            if op.callee not in (fail,):
                op.args = (Const(7), self.operand(k))
            block.terminator = Invoke(op, self.edge(k, targets[0], (op,)), self.edge(k, targets[1], (CAUGHT,)))
            for later in self.order:
                # the op's result is there where every way leads over the ok edge
                if targets[0] != targets[1] and targets[0] in self.dom[later] and later != k and self.preds(targets[0]) == [k]:
                    self.values[targets[0]].append(op)
                    break

    def preds(self, target):
        return [p for p in self.order if target in self.succ[p][1]]


def context_of(block):
    op = Op(ops.current_exception, (), (), ANY, None, Effect.READS)
    block.ops.append(op)
    return op


def outcome(call, args):
    global WORLD
    WORLD = World()
    try:
        result = ("returned", repr(call(*args)))
    except BaseException as error:
        result = ("raised", type(error), [str(a) for a in error.args])
    return result, WORLD.log


def check_graph(seed):
    graph = Graph(seed)
    function = graph.function
    made = assemble(function, {"__name__": "graph"})
    r = random.Random(seed)
    for _ in range(3):
        args = [r.choice([0, 1, 2, 3, True, 100, "text"]) if r.random() < 0.9 else None for _ in function.params]
        outer = KeyError("outer")
        try:
            raise outer
        except KeyError:
            expected = outcome(lambda *a: run(function, *a), args)
            got = outcome(made, args)
            assert sys.exception() is outer
        assert sys.exception() is None
        assert got == expected, (seed, args)


def test_a_handler_that_keeps_less_than_the_package_takes():
    # the call that fails stands above two values, which its handler does not need: the package would keep them
    def two(x, fn):
        try:
            return [fn(x), [fn(x), fn(x)]]
        except LookupError:
            return x

    made = hovis.trace(two, hovis.Any, hovis.Any).compile()
    found = ConcreteBytecode.from_code(made.__code__).compute_stacksize(check_pre_and_post=False)
    assert found > made.__code__.co_stacksize
    assert not wrong_depth(made.__code__)

    def missing(x):
        return [][x]

    assert made(3, missing) == two(3, missing) == 3


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_random_graphs(start):
    for seed in range(start, start + 100):
        check_graph(seed)


# ------------------------------------------------------------------------------------------------- single features


def straight(params, ops_, result, **options):
    """A Function of one block, as a Python function."""
    block = Block(tuple(params), list(ops_), Return(result))
    return assemble(Function("straight", [block]), {"__name__": "here"}, **options)


def opnames(made):
    return [i.opname for i in dis.get_instructions(made)]


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1, True, 1.0, 0j, -0j, complex(-0.0, 0.0), "a", b"a", "\ud800", 1 << 200, None, ..., (), (1, 2), (0.0, -0.0), [1], print, float("nan")]
)
def test_constants_are_kept_apart(value):
    many = [1, True, 1.0, 0.0, -0.0, float("nan"), value, 0, False, -1, (1,), (True,)]
    made = straight([], [op := Op(ops.make_list, tuple(map(Const, many)))], op)
    for got, wanted in zip(made(), many, strict=True):
        assert type(got) is type(wanted)
        assert got is wanted or repr(got) == repr(wanted)
        assert got == wanted or math.isnan(got)
    assert made()[6] is made()[6]


def test_nan_constants_are_not_merged():
    nan, other = float("nan"), float("nan")
    made = straight([], [op := Op(ops.make_list, (Const(nan), Const(other), Const([]), Const([])))], op)
    first, second, third, fourth = made()
    assert first is nan
    assert second is other
    assert third is not fourth


def test_no_object_that_may_end_is_a_code_constant():
    """The garbage collector does not look into code: what lives as long as the interpreter may stand there, a class of the user's not."""

    class Own:
        pass

    made = straight([Param(ANY)], [op := Op(print, (Const([1]), Const({}), Const(int), Const(Own), Const("text"), Const((1, "a"))))], op)
    assert all(c in (print, int, (1, "a")) or type(c) in (int, str, type(None)) for c in made.__code__.co_consts)
    assert made.__code__.co_names == ()


SAMPLES = [0, 3, -7, True, 2.5, "text", [1, 2], (3,), {"k": 1}, None, b"b", {1}]
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and_", "or_", "xor", "matmul", "lt", "le", "eq", "ne", "gt", "ge", "contains", "getitem"]
INPLACE = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "iand", "ior", "ixor", "imatmul"]


def same(call, made, args):
    """The same result, or the same exception word by word."""
    copies = [type(a)(a) if isinstance(a, (list, dict, set)) else a for a in args]

    def attempt(what, given):
        try:
            return what(*given), list(given)
        except Exception as error:
            return type(error), str(error)

    assert attempt(made, args) == attempt(call, copies)


def surface(name, left, right):
    """What the user wrote: error texts of operators name the operator, not the function."""
    symbols = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "matmul": "@"}
    plain = name if name in symbols else name[1:] + ("_" if name in ("iand", "ior") else "")
    sign = symbols.get(plain)
    text = f"a {sign} b" if name in symbols else None
    if text is None and name in INPLACE:
        return f"def f(a, b):\n a {sign}= b\n return a"
    text = text or {"lt": "a < b", "le": "a <= b", "eq": "a == b", "ne": "a != b", "gt": "a > b", "ge": "a >= b", "contains": "b in a", "getitem": "a[b]"}[name]
    return f"def f(a, b):\n return {text}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BINARY + INPLACE)
def test_binary_instructions(name):
    a, b = Param(ANY), Param(ANY)
    made = straight([a, b], [op := Op(getattr(operator, name), (a, b), effect=Effect.OPAQUE)], op)
    assert "CALL" not in opnames(made)
    scope = {}
    exec(surface(name, a, b), scope)
    for x in SAMPLES:
        for y in SAMPLES:
            x_ = type(x)(x) if isinstance(x, (list, dict, set)) else x
            same(scope["f"], made, (x_, y))


UNARY = [
    (operator.neg, lambda x: -x), (operator.pos, lambda x: +x), (operator.invert, lambda x: ~x), (operator.not_, lambda x: not x),
    (bool, bool), (operator.truth, bool), (iter, lambda x: iter(x).__class__ and None), (ops.make_tuple, lambda x: (x,)), (ops.make_list, lambda x: [x]),
    (ops.make_set, lambda x: {x}), (ops.format_value, lambda x: f"{x}"), (ops.match_sequence, ops.match_sequence), (ops.match_mapping, ops.match_mapping),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("callee", "wanted"), UNARY)
def test_unary_instructions(callee, wanted):
    a = Param(ANY)
    op = Op(callee, (a,), effect=Effect.OPAQUE)
    body = [op] if callee is not iter else [op, Op(type, (op,)), Op(lambda t: None, (op,))]
    made = straight([a], body, body[-1])
    for x in SAMPLES:
        same(wanted, made, (x,))


class Record:
    def __init__(self):
        self.seen = []

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *a, **k: (name, a, k)

    def __setitem__(self, key, value):
        self.seen.append(("set", key, value))

    def __delitem__(self, key):
        self.seen.append(("del", key))


def test_stores_and_attributes():
    r = Param(ANY, None, "r")
    got = Op(getattr, (r, Const("x")))
    body = [
        Op(operator.setitem, (r, Const(1), Const(2)), effect=Effect.OPAQUE),
        Op(operator.delitem, (r, Const(1)), effect=Effect.OPAQUE),
        Op(setattr, (r, Const("a"), Const(5)), effect=Effect.OPAQUE),
        Op(setattr, (r, Const("b"), Const(6)), effect=Effect.OPAQUE),
        Op(delattr, (r, Const("b")), effect=Effect.OPAQUE),
        Op(setattr, (r, Const("not a name"), Const(7)), effect=Effect.OPAQUE),
        got,
        call := Op(got, (Const(1),), (("k", Const(2)),)),
    ]
    made = straight([r], body, call)
    record = Record()
    assert made(record) == ("x", (1,), {"k": 2})
    assert record.seen == [("set", 1, 2), ("del", 1)]
    assert record.a == 5
    assert "b" not in vars(record)
    assert vars(record)["not a name"] == 7
    assert made.__code__.co_names == ("a", "b", "x")


def test_method_calls_with_every_kind_of_attribute():
    x = Param(ANY)
    got = Op(getattr, (x, Const("upper")))
    made = straight([x], [got, call := Op(got, ())], call)
    assert made("a") == "A"
    assert made(types.SimpleNamespace(upper=lambda: 3)) == 3
    with pytest.raises(AttributeError, match="'int' object has no attribute 'upper'"):
        made(1)


def test_calls_with_keywords_and_stars():
    f, a, k = Param(ANY), Param(ANY), Param(ANY)
    made = straight([f, a, k], [op := Op(ops.apply, (f, a, k))], op)
    show = lambda *a, **k: (a, k)  # noqa: E731
    assert made(show, [1, 2], {"x": 3}) == ((1, 2), {"x": 3})
    assert made(show, iter("ab"), types.MappingProxyType({"y": 1})) == (("a", "b"), {"y": 1})
    with pytest.raises(TypeError, match="(argument|Value) after \\*\\* must be a mapping, not int"):
        made(show, (), 3)
    with pytest.raises(TypeError, match="(argument|Value) after \\* must be an iterable, not int"):
        made(show, 3, {})
    made = straight([f, a], [op := Op(ops.apply_positional, (f, a))], op)
    assert made(show, [1]) == ((1,), {})
    made = straight([f, a], [op := Op(f, (a, Const(1)), (("key", a), ("other", Const(2))))], op)
    assert made(show, 0) == ((0, 1), {"key": 0, "other": 2})


@pytest.mark.parametrize("count", range(7))
def test_unpacking(count):
    x = Param(ANY)
    whole = Op(ops.unpack, (x, Const(count)))
    made = straight([x], [whole], whole)
    assert made(iter(range(count))) == tuple(range(count))
    star = Op(ops.unpack_star, (x, Const(count), Const(2)))
    made = straight([x], [star], star)
    assert made(range(count + 5)) == (*range(count), [count, count + 1, count + 2], count + 3, count + 4)
    with pytest.raises(ValueError, match=f"not enough values to unpack \\(expected at least {count + 2}, got 1\\)"):
        made([0])


def test_unpacking_into_locals_makes_no_tuple():
    x = Param(ANY)
    whole = Op(ops.unpack, (x, Const(3)), type=Type(tuple))
    items = [Op(operator.getitem, (whole, Const(k))) for k in range(3)]
    made = straight([x], [whole, *items, total := Op(operator.sub, (items[0], items[2]))], total)
    assert made([10, 1, 2]) == 8
    assert "BUILD_TUPLE" not in opnames(made)
    with pytest.raises(ValueError, match="too many values to unpack \\(expected 3\\)"):
        made(range(4))


def test_text():
    x, spec = Param(ANY), Param(ANY)
    parts = [Op(ops.format_value, (x, spec)), Op(ops.format_value, (x,))]
    made = straight([x, spec], [*parts, op := Op(ops.join_strings, (parts[0], Const("/"), parts[1]))], op)
    assert made(3.14159, ".2f") == "3.14/3.14159"
    assert made("s", ">3") == "  s/s"


def test_constants_on_edges():
    flag, x = Param(BOOL), Param(ANY)
    join = Block((x,), [], Return(x))
    made = assemble(Function("f", [Block((flag,), [], Branch(flag, Edge(join, (Const([1]),)), Edge(join, (Const({2: 3}),)))), join]), {})
    assert made(True) == [1]
    assert made(False) == {2: 3}


def test_recursion_through_cells():
    n = Param(INT, None, "n")
    even, odd = Function("even", []), Function("odd", [])
    for this, other, end in ((even, odd, True), (odd, even, False)):
        n = Param(INT, None, "n")
        zero, done, more = Op(operator.eq, (n, Const(0)), type=BOOL), Block(), Block()
        done.terminator = Return(Const(end))
        less = Op(operator.sub, (n, Const(1)), type=INT)
        call = Op(other, (less,))
        more.ops, more.terminator = [less, call], Return(call)
        this.blocks = [Block((n,), [zero], Branch(zero, Edge(done), Edge(more))), done, more]
    made = assemble(even, {}, parameters=("count",))
    assert made(10) is True
    assert made(count=7) is False
    fact = Function("fact", [])
    n = Param(INT, None, "n")
    done, more = Block(), Block()
    small = Op(operator.le, (n, Const(1)), type=BOOL)
    done.terminator = Return(Const(1))
    less = Op(operator.sub, (n, Const(1)), type=INT)
    again = Op(fact, (less,))
    more.ops = [less, again, product := Op(operator.mul, (again, n))]
    more.terminator = Return(product)
    fact.blocks = [Block((n,), [small], Branch(small, Edge(done), Edge(more))), done, more]
    made = assemble(fact, {})
    assert made(5) == 120
    closure = dict(zip(made.__code__.co_freevars, made.__closure__, strict=True))
    assert closure["fact"].cell_contents is made


def test_signature():
    params = [Param(ANY) for _ in range(5)]
    made = straight(
        params, [op := Op(ops.make_tuple, tuple(params))], op,
        parameters=("a", "b", "c", "args", "rest"), keyword_only=1, star=True, double_star=True, positional_only=1,
        defaults=(7,), kwdefaults={"c": 8}, name="f", qualname="K.f", module="m", doc="d",
    )  # fmt: skip
    assert made(1) == (1, 7, 8, (), {})
    assert made(1, 2, 3, c=4, z=5) == (1, 2, 4, (3,), {"z": 5})
    assert (made.__name__, made.__qualname__, made.__module__, made.__doc__) == ("f", "K.f", "m", "d")
    assert made.__globals__["__name__"] == "here"


def test_names_are_unique_and_valid():
    params = [Param(ANY) for _ in range(3)]
    made = straight(params, [op := Op(ops.make_tuple, (*params, Const(print), Const([])))], op, parameters=("x", "x", ".0"))
    names = made.__code__.co_varnames + made.__code__.co_freevars
    assert len(set(names)) == len(names)
    assert names[:3] == ("x", "x_2", ".0")  # given names stay, whatever they are: they are those that calls pass by
    assert all(map(str.isidentifier, names[3:]))
    assert made(1, 2, 3) == (1, 2, 3, print, [])


# ------------------------------------------------------------------------------------------------- loops


def loop_over(kind, iterable_type=ANY):
    """for item in it: total += item"""
    it = Param(iterable_type, None, "it")
    total = Param(INT, None, "total")
    steps = Op(iter, (it,)) if kind == "iter" else it
    item = Op(next, (steps, Const(ops.END)), type=ANY, effect=Effect.RAISES)
    test = Op(operator.is_not if kind == "iter" else operator.is_, (item, Const(ops.END)), type=BOOL)
    summed = Op(operator.add, (total, item), type=INT)
    head, body, done = Block((total,)), Block(), Block()
    head.ops, body.ops = [item, test], [summed]
    yes, no = (body, done) if kind == "iter" else (done, body)
    head.terminator = Branch(test, Edge(yes), Edge(no))
    body.terminator, done.terminator = Jump(Edge(head, (summed,))), Return(total)
    entry = Block((it,), [steps] if kind == "iter" else [], Jump(Edge(head, (Const(0),))))
    return assemble(Function("loop", [entry, head, body, done]), {}, parameters=("it",))


def generator(n):
    for k in range(n):
        yield k
    return "ignored"


@pytest.mark.parametrize("kind", ["iter", "generator"])
def test_for_loops(kind):
    made = loop_over(kind, Type(types.GeneratorType) if kind == "generator" else ANY)
    assert "FOR_ITER" in opnames(made)
    for _ in range(40):  # past specialization
        assert made(generator(5)) == 10
    if kind == "iter":
        assert made([1, 2]) == 3
        assert made(range(4)) == 6
        assert made(()) == 0

    def fails():
        yield 1
        raise KeyError("in")

    with pytest.raises(KeyError):
        made(fails())


def test_an_unknown_iterator_is_asked():
    it = Param(ANY)
    item = Op(next, (it, Const(ops.END)), effect=Effect.RAISES)
    test = Op(operator.is_not, (item, Const(ops.END)), type=BOOL)
    yes, no = Block((), [], Return(item)), Block((), [], Return(Const("end")))
    made = assemble(Function("f", [Block((it,), [item, test], Branch(test, Edge(yes), Edge(no))), yes, no]), {})
    with pytest.raises(TypeError, match="'int' object is not an iterator"):
        made(3)
    assert made(iter([])) == "end"


def test_big_functions():
    """Long jumps, many locals, constants and cells."""
    n = Param(INT, None, "n")
    head, done = Block((n,)), Block()
    at, cells = n, []
    kept = []
    for k in range(700):
        at = Op(operator.add, (at, Const(1000 + k)), type=INT)
        keep = Op([].__class__, (Const((k,)),))
        head.ops += [at, keep]
        kept += [at, keep]
    whole = Op(ops.make_tuple, tuple(kept))
    test = Op(operator.lt, (at, Const(10**9)), type=BOOL)
    head.ops += [whole, test]
    big = Op(operator.mul, (at, Const(1000)), type=INT)
    again = Block((), [big], Jump(Edge(head, (big,))))
    head.terminator = Branch(test, Edge(again), Edge(done))
    done.terminator = Return(whole)
    made = assemble(Function("big", [Block((first := Param(INT),), [], Jump(Edge(head, (first,)))), head, again, done]), {})
    found = made(1)
    assert len(found) == 1400
    assert found[-1] == [699]
    assert found[-2] > 10**9


# ------------------------------------------------------------------------------------------------- lifetimes


class Token:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def __del__(self):
        self.log.append("end " + self.name)


def test_values_die_after_their_last_use():
    log = []
    say = log.append
    make = lambda name: Token(log, name)  # noqa: E731
    a = Op(make, (Const("a"),))
    b = Op(make, (Const("b"),))
    used = Op(lambda t: say("use " + t.name), (a,))
    both = Op(lambda t, u: say("both"), (a, b))
    made = straight(
        [],
        [a, b, Op(say, (Const("start"),)), used, both, Op(say, (Const("then"),)), Op(say, (Const("last"),))],
        Const(None),
    )
    made()
    assert log == ["start", "use a", "both", "end b", "end a", "then", "last"] or log == ["start", "use a", "both", "end a", "end b", "then", "last"]


def test_a_value_that_stays_for_the_target_is_not_cleared():
    x, kept, other = Param(ANY, None, "x"), Param(ANY, None, "x"), Param(ANY)
    made_from = Op(repr, (x,), effect=Effect.OPAQUE)
    target = Block((kept, other), [both := Op(ops.make_tuple, (kept, other))], Return(both))
    again = Block((y := Param(ANY),), [r := Op(repr, (y,))], Jump(Edge(target, (y, r))))
    entry = Block((x, flag := Param(BOOL)), [made_from], Branch(flag, Edge(again, (x,)), Edge(target, (x, made_from))))
    made = assemble(Function("f", [entry, again, target]), {}, parameters=("x", "flag"))
    assert made([1], True) == made([1], False) == ([1], "[1]")


def test_drop_and_dead_branches():
    log = []
    say = log.append
    make = lambda name: Token(log, name)  # noqa: E731
    flag = Param(BOOL, None, "flag")
    a, b = Op(make, (Const("a"),)), Op(make, (Const("b"),))
    yes, no, out = Block(), Block(), Block()
    yes.ops = [Op(lambda t: say("use " + t.name), (a,)), Op(say, (Const("more"),)), Op(ops.drop, (b,)), Op(say, (Const("dropped"),))]
    no.ops = [Op(say, (Const("no"),))]
    yes.terminator = no.terminator = Jump(Edge(out))
    out.ops, out.terminator = [Op(say, (Const("out"),))], Return(Const(0))
    made = assemble(Function("f", [Block((flag,), [a, b, Op(say, (Const("on"),))], Branch(flag, Edge(yes), Edge(no))), yes, no, out]), {})
    made(True)
    assert log == ["on", "use a", "end a", "more", "end b", "dropped", "out"]
    log.clear()
    made(False)
    assert log == ["on", *sorted(["end a", "end b"], reverse=LAST_FIRST), "no", "out"]


def test_loop_variables_die_when_overwritten():
    log = []
    n, t = Param(INT, None, "n"), Param(ANY, None, "t")
    head, body, done = Block((n, t)), Block(), Block()
    test = Op(operator.gt, (n, Const(0)), type=BOOL)
    head.ops, head.terminator = [test], Branch(test, Edge(body), Edge(done))
    made_token = Op(lambda k: Token(log, str(k)), (n,))
    less = Op(operator.sub, (n, Const(1)), type=INT)
    body.ops = [Op(log.append, (Const("turn"),)), made_token, less]
    body.terminator = Jump(Edge(head, (less, made_token)))
    done.ops, done.terminator = [Op(log.append, (Const("done"),))], Return(t)
    entry = Block((first := Param(INT),), [], Jump(Edge(head, (first, Const(None)))))
    assert assemble(Function("f", [entry, head, body, done]), {})(3).name == "1"
    assert log == ["turn", "turn", "end 3", "turn", "end 2", "done", "end 1"] or log == ["turn", "end 3", "turn", "end 2", "turn", "done", "end 1"]


def test_arguments_die_too():
    x = Param(ANY, None, "x")
    seen = []
    made = straight([x], [Op(id, (x,), effect=Effect.OPAQUE), Op(lambda: seen.append(ref()), ()), Op(len, (Const(()),))], Const(1))
    token = Token([], "x")
    ref = weakref.ref(token)
    box = [token]
    del token
    made(box.pop())
    assert seen == [None]


# ------------------------------------------------------------------------------------------------- exceptions


def at(line, function="outer", file="user.py", caller=None, first_line=1):
    return Location(file, line, line, 4, 9, function, first_line, caller)


def frames(error):
    return [(f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)][1:]


def fails(message="no"):
    raise ValueError(message)


def test_inlined_frames_are_put_back():
    call = at(3)
    inner = at(12, "Inner.method", "other.py", call, 10)
    deepest = at(22, "deep.<locals>.leaf", "third.py", inner, 20)
    block = Block((), [Op(print, (), (("end", Const("")),), location=at(2)), op := Op(fails, (), effect=Effect.OPAQUE, location=deepest)], Return(Const(0)))
    block.terminator = Return(op, at(4))
    made = assemble(Function("outer", [block], at(1)), {})
    for _ in range(3):
        with pytest.raises(ValueError, match="no") as caught:
            made()
        assert frames(caught.value) == [("outer", 3), ("method", 12), ("leaf", 22), ("fails", fails.__code__.co_firstlineno + 1)]
        trace = caught.value.__traceback__.tb_next.tb_next
        assert trace.tb_frame.f_code.co_filename == "other.py"
        assert trace.tb_frame.f_code.co_firstlineno == 10
        assert next(trace.tb_frame.f_code.co_positions()) == (12, 12, 4, 9)
        assert "third.py" in "".join(traceback.format_exception(caught.value))


def test_helpers_of_hovis_do_not_show():
    call = at(3)
    op = Op(ops.delete_global, (Const({}), Const("missing")), effect=Effect.OPAQUE, location=call)
    made = assemble(Function("outer", [Block((), [op], Return(op))], at(1)), {})
    with pytest.raises(NameError) as caught:
        made()
    assert frames(caught.value) == [("outer", 3)]
    op = Op(ops.match_keys, (Const(3), Const(("a",))), effect=Effect.OPAQUE, location=at(5, "inner", caller=call))
    made = assemble(Function("outer", [Block((), [op], Return(op))], at(1)), {})
    with pytest.raises(AttributeError) as caught:
        made()
    assert frames(caught.value) == [("outer", 3), ("inner", 5)]


def handler(body, error_location=None, fail_location=None):
    """try: fails() except: <body(exception)>"""
    caught = Param(ANY, None, "error")
    landing = Block((caught,))
    landing.ops, landing.terminator = body(caught)
    end = Block((), [], Return(Const("fine")))
    op = Op(fails, (), effect=Effect.OPAQUE, location=fail_location or at(12, "inner", caller=at(3)))
    entry = Block((), [], Invoke(op, Edge(end), Edge(landing, (CAUGHT,))))
    return assemble(Function("outer", [entry, landing, end], at(1)), {})


FAILED = ("fails", fails.__code__.co_firstlineno + 1)


def test_a_caught_exception_shows_inlined_frames_where_it_is_seen():
    def body(caught):
        return [Op(ops.enter_handler, (caught,)), text := Op(traceback.format_exc, (), effect=Effect.OPAQUE), Op(ops.leave_handler, ())], Return(text)

    text = handler(body)()
    assert text.index("in outer") < text.index("in inner") < text.index("in fails")
    made = handler(lambda caught: ([], Return(caught)))
    assert [(f.name, f.lineno) for f in traceback.extract_tb(made().__traceback__)] == [("outer", 3), ("inner", 12), FAILED]


@pytest.mark.parametrize("again", [True, False])
def test_a_reraise_keeps_the_frames(again):
    made = handler(lambda caught: ([Op(ops.enter_handler, (caught,))], Raise(caught, again, at(15, "inner", caller=at(3)))))
    with pytest.raises(ValueError, match="no") as error:
        made()
    assert frames(error.value) == ([] if again else [("outer", 3), ("inner", 15)]) + [("outer", 3), ("inner", 12), FAILED]
    assert sys.exception() is None


def test_the_context_is_mended_too():
    def body(caught):
        return [Op(ops.enter_handler, (caught,)), new := Op(KeyError, (Const("new"),))], Raise(new, False, at(5))

    with pytest.raises(KeyError) as error:
        handler(body)()
    assert frames(error.value) == [("outer", 5)]
    context = error.value.__context__
    assert [(f.name, f.lineno) for f in traceback.extract_tb(context.__traceback__)] == [("outer", 3), ("inner", 12), FAILED]


def test_exception_matches_and_raised():
    def body(caught):
        fits = Op(ops.exception_matches, (caught, Const((OSError, ValueError))), type=BOOL)
        again = Op(ops.raised, (Const(KeyError),), location=at(7))
        return [fits, Op(ops.enter_handler, (caught,)), again, both := Op(ops.make_tuple, (fits, again, caught))], Return(both)

    fits, again, caught = handler(body)()
    assert fits is True
    assert type(again) is KeyError
    assert again.__context__ is caught
    assert [(f.name, f.lineno) for f in traceback.extract_tb(again.__traceback__)] == [("outer", 7)]
    with pytest.raises(TypeError, match="catching classes that do not inherit from BaseException is not allowed"):
        handler(lambda caught: ([op := Op(ops.exception_matches, (caught, Const(3)))], Return(op)))()


def test_nested_handlers_are_left_however_the_function_ends():
    for end in ("return", "raise", "opaque"):
        first, second = Op(KeyError, (Const(1),)), Op(KeyError, (Const(2),))
        seen = Op(ops.current_exception, ())
        body = [first, Op(ops.enter_handler, (first,)), second, Op(ops.enter_handler, (second,)), seen]
        if end == "opaque":
            body.append(Op(fails, (), effect=Effect.OPAQUE))
        block = Block((), body, Return(seen) if end != "raise" else Raise(seen))
        made = assemble(Function("f", [block]), {})
        outer = OSError()
        try:
            raise outer
        except OSError:
            try:
                got = made()
                assert got.args == (2,)
            except (KeyError, ValueError) as error:
                assert end != "return"
                assert error.args == ((2,) if end == "raise" else ("no",))
            assert sys.exception() is outer
        assert sys.exception() is None


def test_unbound_variables():
    x = Param(ANY, None, "x")
    made = straight([x], [op := Op(ops.check_bound, (x, Const("spam"), Const(False)), location=at(4))], op)
    assert made(3) == 3
    with pytest.raises(UnboundLocalError, match="cannot access local variable 'spam'") as error:
        made(ops.UNBOUND)
    assert [f[0] for f in frames(error.value)] == ["straight"]
    assert error.value.name is None


def test_globals_and_cells_of_the_user():
    namespace = {"here": 1}
    cell, empty = types.CellType(5), types.CellType()
    body = [
        Op(ops.store_global, (Const(namespace), Const("new"), Const(2))),
        first := Op(ops.load_global, (Const(namespace), Const("new"))),
        length := Op(ops.load_global, (Const(namespace), Const("len"))),
        Op(ops.delete_global, (Const(namespace), Const("new"))),
        other := Op(ops.load_global, (Const({"z": 9}), Const("z"))),
        inside := Op(ops.cell_get, (Const(cell), Const("held"), Const(True))),
        more := Op(operator.add, (inside, Const(1)), type=INT),
        Op(ops.cell_set, (Const(cell), more)),
        made_cell := Op(ops.make_cell, (Const(8),)),
        got := Op(ops.make_tuple, (first, length, other, inside, made_cell)),
    ]
    made = assemble(Function("f", [Block((), body, Return(got))]), namespace)
    result = made()
    assert result[:4] == (2, len, 9, 5)
    assert result[4].cell_contents == 8
    assert cell.cell_contents == 6
    assert "new" not in namespace
    made = straight([], [op := Op(ops.cell_get, (Const(empty), Const("held"), Const(True)))], op)
    with pytest.raises(NameError, match="cannot access free variable 'held' where it is not associated with a value in enclosing scope"):
        made()


def test_imports():
    namespace = {"__name__": "x", "__builtins__": __builtins__}
    module = Op(ops.import_name, (Const(namespace), Const("os.path"), Const(("join",)), Const(0)))
    made = assemble(Function("f", [Block((), [module, op := Op(ops.import_from, (module, Const("join")))], Return(op))]), namespace)
    assert made() is __import__("os").path.join


def test_match_instructions():
    x = Param(ANY)
    cls = Op(ops.match_class, (x, Const(complex), Const(0), Const(("real", "imag"))))
    assert straight([x], [cls], cls)(1 + 2j) == (1.0, 2.0)
    assert straight([x], [cls], cls)(1) is None
    keys = Op(ops.match_keys, (x, Const(("a", "b"))))
    assert straight([x], [keys], keys)({"b": 1, "a": 2}) == (2, 1)
    assert straight([x], [keys], keys)({"b": 1}) is None


def test_positions():
    """Every instruction of an op has its columns; lines may go back and forth."""
    x = Param(ANY)
    places = [Location("u.py", line, end, col, end_col, "f", 10) for line, end, col, end_col in [(11, 11, 0, 3), (300, 302, 90, 200), (5, 5, None, None), (11, 11, 100, 120), (12, 12, 79, 94), (10, 10, 200, 300), (13, 13, 7, 7)]]
    body = [Op(operator.add, (x, Const(k)), location=place, effect=Effect.OPAQUE) for k, place in enumerate(places)]
    body.append(whole := Op(ops.make_tuple, tuple(body), location=places[0]))
    made = assemble(Function("f", [Block((x,), body, Return(whole))], places[0]), {})
    found = [i.positions for i in dis.get_instructions(made) if i.opname == "BINARY_OP"]
    assert [tuple(p) for p in found] == [(p.line, p.end_line if p.col is not None else p.line, p.col, p.end_col) for p in places]
    assert made.__code__.co_firstlineno == 10


def test_no_leaks():
    """Running does not pile up references."""
    made = handler(lambda caught: ([Op(ops.enter_handler, (caught,)), Op(ops.leave_handler, ())], Return(Const(1))))
    box = object()
    keeps = straight([x := Param(ANY)], [op := Op(ops.make_tuple, (x, x))], op)
    made(), keeps(box)
    gc.collect()
    before = sys.getrefcount(box), len(gc.get_objects())
    for _ in range(100):
        made()
        keeps(box)
    gc.collect()
    assert sys.getrefcount(box) == before[0]
    assert len(gc.get_objects()) <= before[1] + 20


def test_a_value_that_is_tested_stays_on_the_stack():
    """Of ``x is not None and x < 3`` the value is neither stored nor loaded again."""

    def fn(row):
        x = row[0]
        if x is not None and x < 3:
            return 1
        y = row[1]
        if y is None or y < 3:
            return 2
        return 3

    residual = hovis.specialize(fn, hovis.Any)
    assert [i.opname for i in dis.get_instructions(residual) if i.opname.startswith(("STORE_FAST", "DELETE"))] == []
    for row in ([1, 2], [None, 2], [5, 2], [5, None], [None, None]):
        assert residual(row) == fn(row)


def test_values_on_the_stack_and_exceptions():
    """What stands on the stack when an exception comes is cut off; one way takes it, the other drops it."""

    def fn(row, log):
        try:
            x = row[0]
            if x is not None:
                return x + 1
            log.append("none")
            y = row[1]
            if not y:
                log.append("empty")
            else:
                return y[0]
        except (TypeError, LookupError) as error:
            log.append(type(error))
        return len(log)

    residual = hovis.specialize(fn, hovis.Any, list)
    for row in ([1], ["a"], [None], [None, 0], [None, [3]], [None, 3], [None, {1}], []):
        logs = [], []
        assert residual(row, logs[0]) == fn(row, logs[1])
        assert logs[0] == logs[1]


class Node:
    def __init__(self, v): self.v, self.me = v, self


class Hooked(Node):
    stored: list[str] = []

    def __setattr__(self, name, value):
        Hooked.stored.append(name)
        object.__setattr__(self, name, value)


@pytest.mark.parametrize(("cls", "stores"), [(Node, ["v", "me"]), (Hooked, [])])
def test_stores_into_a_new_object_that_holds_itself(cls, stores):
    """The hook of a class has run while tracing, or is in the residual: the stores of the object itself must not run it again."""
    def make(v, tell):
        return tell(cls(v))

    residual = hovis.trace(make, hovis.Int, hovis.Any).compile()
    assert [one.argval for one in dis.get_instructions(residual) if one.opname == "STORE_ATTR"] == stores
    Hooked.stored.clear()
    made = residual(3, lambda node: node)
    assert type(made) is cls and made.v == 3 and made.me is made and Hooked.stored == (["v", "me"] if cls is Hooked else [])
