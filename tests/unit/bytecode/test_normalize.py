"""The normaliser: checked shapes, consistent stacks over much of the standard library, and a small machine that runs
the normalised instructions and must agree with CPython."""

import argparse
import ast
import asyncio.base_events
import asyncio.streams
import builtins
import contextlib
import dataclasses
import difflib
import enum
import inspect
import json.decoder
import json.encoder
import operator
import pathlib
import textwrap
import types
import typing
import unittest.mock

import pytest

import hovis
from hovis.bytecode import OPS, normalize

MODULES = [
    argparse, asyncio.base_events, asyncio.streams, contextlib, dataclasses, difflib, enum, inspect, json.decoder,
    json.encoder, pathlib, textwrap, types, typing, unittest.mock,
]  # fmt: skip


def codes(code):
    """A code object and all within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def module_codes(module):
    return list(codes(compile(inspect.getsource(module), module.__file__, "exec", dont_inherit=True)))


# --- Stacks ----------------------------------------------------------------------------------------------------------

#: By how much an op changes the height of the stack, told once more, by hand.
NET = {
    **dict.fromkeys(
        """Const GetLocal TakeLocal GetCell CellRef GetGlobal GetName Locals Copy BuildClass GetLen ImportFrom WithEnter
        WithExitExc PushExc ForIter MakeGenerator""".split(), 1,
    ),
    **dict.fromkeys(
        """SetLocal SetCell SetGlobal SetName Pop DelAttr Binary Inplace Compare Is Contains GetItem Import ImportStar Return
        PopExc Branch EndSend Extend SetFunctionAttr Reraise PrepReraiseStar CleanupThrow""".split(), -1,
    ),
    **dict.fromkeys("SetAttr DelItem GetSuper".split(), -2),
    "SetItem": -3,
    **dict.fromkeys(
        """DelLocal MakeCell DelCell DelGlobal DelName GetNameOr Swap Unary Not ToBool GetAttr GetMethod ListToTuple Convert
        Jump GetIter ExcMatch EgMatch Yield Send GetYieldFromIter""".split(), 0,
    ),
    "BuildSlice": lambda n: 1 - n,
    "Build": lambda a: 1 - (len(a[1]) if a[0] == "constmap" else a[1] * (2 if a[0] == "map" else 1)),
    "Append": lambda a: -2 if a[0] == "map" else -1,
    "Unpack": lambda n: n - 1,
    "UnpackEx": lambda a: sum(a),
    "Format": lambda spec: -spec,
    "Call": lambda a: -a[0] - len(a[1]),
    "CallEx": lambda kw: -1 - kw,
    "MakeFunction": lambda attrs: -len(attrs),
    "Raise": operator.neg,
    "Match": lambda a: -2 if a[0] == "class" else 1,
    "Intrinsic": lambda a: a[2] - a[1],
}  # fmt: skip


def check_stack(code):
    """Every way to an instruction arrives with code.depth there, at handlers too, and never runs off the end."""
    assert len(code.depth) == len(code.instructions)
    assert not code.instructions or code.depth[0] == 0
    for k, (op, arg, position, handler, offset, polls, poll) in enumerate(code.instructions):
        before = code.depth[k]
        net = NET[op](arg) if callable(NET[op]) else NET[op]
        if op not in ("Jump", "Return", "Raise", "Reraise"):
            assert code.depth[k + 1] == before + net, (code, k)
        if op in ("Jump", "Send"):
            assert code.depth[arg] == before, (code, k)
        if op == "Branch":
            assert code.depth[arg[1]] == before - 1, (code, k)
        if op == "ForIter":
            assert code.depth[arg] == before - 1, (code, k)
        if op == "Return":
            assert before == 1, (code, k)
        if handler is not None:
            assert 0 <= handler.depth <= before
            assert code.depth[handler.target] == handler.depth + handler.lasti + 1, (code, k)
        if poll is not None:
            assert polls and op in ("Jump", "Branch", "ForIter")
            assert code.depth[poll.target] == poll.depth + poll.lasti + 1, (code, k)
            assert poll.depth <= code.depth[arg[1] if op == "Branch" else arg]
        if op in ("Copy", "Swap"):
            assert 1 <= arg <= before
        assert len(position) == 4 and 0 <= offset < len(code.code.co_code)


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_standard_library(module):
    for raw in module_codes(module):
        code = normalize(raw)
        assert code.instructions, code.unsupported
        assert all(i.op in OPS for i in code.instructions)
        check_stack(code)
        check_jumps(code)
        check_analyses(code)


def check_jumps(code):
    """No jump leads to a Jump, and none to the next instruction; all that is there can be reached."""
    for k, after in enumerate(code.successors):
        instruction = code.instructions[k]
        if instruction.op == "Jump":
            assert instruction.arg != k + 1
        if instruction.op in ("Branch", "ForIter", "Jump", "Send"):
            target = instruction.arg[1] if instruction.op == "Branch" else instruction.arg
            assert code.instructions[target].op != "Jump" or code.instructions[target].arg in (target, k), (code, k)
        assert all(0 <= s < len(code.instructions) for s in after)
    seen, work = set(), [0]
    while work:
        k = work.pop()
        if k not in seen:
            seen.add(k)
            handler = code.instructions[k].handler
            work += [*code.successors[k], *([handler.target] if handler else [])]
    assert len(seen) == len(code.instructions)


def check_analyses(code):
    """Against their definitions; post-dominators by removing the instruction and looking for a Return."""
    count = len(code.instructions)
    assert len(code.live) == len(code.ipdom) == count
    free = len(code.names) - code.n_free
    assert code.live[0] >> len(code.names) == 0 and free >= 0
    for k, instruction in enumerate(code.instructions):
        if instruction.op == "GetLocal":
            assert code.live[k] >> instruction.arg & 1
        if instruction.handler is not None:
            assert code.live[k] & code.live[instruction.handler.target] == code.live[instruction.handler.target]
    if count < 150:
        for k in range(0, count, 3):
            up = code.ipdom[k]
            if up is not None:
                assert reaches_return(code, k, None) and not reaches_return(code, k, up)


def reaches_return(code, start, without):
    seen, work = set(), [start]
    while work:
        k = work.pop()
        if k != without and k not in seen:
            if code.instructions[k].op == "Return":
                return True
            seen.add(k)
            work += code.successors[k]
    return False


# --- A machine -------------------------------------------------------------------------------------------------------

UNBOUND = object()
OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and_", "|": "or_", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
INPLACE = {symbol: getattr(operator, "i" + name.rstrip("_")) for symbol, name in OPERATORS.items()}
BINARY = {symbol: getattr(operator, name) for symbol, name in OPERATORS.items()}
COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge}
UNARY = {"neg": operator.neg, "pos": operator.pos, "invert": operator.invert}


class Machine:
    """Runs one activation of normalised code: what the instructions say, in the plainest Python."""

    def __init__(self, fn, args, kwargs):
        self.code = normalize(fn.__code__)
        assert self.code.unsupported is None, self.code.unsupported
        self.globals = fn.__globals__
        bound = inspect.signature(fn).bind(*args, **kwargs)
        bound.apply_defaults()
        self.slots = [UNBOUND] * len(self.code.names)
        for index, name in enumerate(self.code.names[: self.code.n_params]):
            self.slots[index] = bound.arguments[name]
        if fn.__closure__:
            self.slots[-self.code.n_free :] = fn.__closure__
        self.stack, self.current = [], None

    def run(self):
        """A generator: yields what the code yields, and returns what it returns."""
        pc = 0
        while True:
            instruction = self.code.instructions[pc]
            assert len(self.stack) == self.code.depth[pc], (pc, self.stack)
            op, arg, stack = instruction.op, instruction.arg, self.stack
            try:
                if op == "Return":
                    return stack.pop()
                if op == "Yield":
                    stack.append((yield stack.pop()))
                    pc += 1
                else:
                    to = getattr(self, op)(arg, stack)
                    pc = pc + 1 if to is None else to
            except BaseException as error:
                if instruction.handler is None:
                    raise
                pc, depth, lasti = instruction.handler
                del stack[depth:]
                stack += [instruction.offset, error] if lasti else [error]

    def pops(self, n):
        if n == 0:
            return []
        values = self.stack[-n:]
        del self.stack[-n:]
        return values

    def read(self, slot):
        if self.slots[slot] is UNBOUND:
            raise UnboundLocalError(self.code.names[slot])
        return self.slots[slot]

    def Const(self, arg, stack): stack.append(arg)
    def GetLocal(self, arg, stack): stack.append(self.read(arg))
    def SetLocal(self, arg, stack): self.slots[arg] = stack.pop()

    def DelLocal(self, arg, stack):
        self.read(arg)
        self.slots[arg] = UNBOUND

    def TakeLocal(self, arg, stack):
        stack.append(self.slots[arg])
        self.slots[arg] = UNBOUND

    def MakeCell(self, arg, stack):
        value = self.slots[arg]
        self.slots[arg] = types.CellType() if value is UNBOUND else types.CellType(value)

    def cell(self, slot):
        try:
            return self.slots[slot].cell_contents
        except ValueError:
            own = slot < len(self.slots) - self.code.n_free
            raise (UnboundLocalError if own else NameError)(self.code.names[slot]) from None

    def GetCell(self, arg, stack): stack.append(self.cell(arg))
    def SetCell(self, arg, stack): self.slots[arg].cell_contents = stack.pop()

    def DelCell(self, arg, stack):
        self.cell(arg)
        del self.slots[arg].cell_contents

    def CellRef(self, arg, stack):
        assert isinstance(self.slots[arg], types.CellType)
        stack.append(self.slots[arg])

    def GetGlobal(self, arg, stack):
        stack.append(self.globals[arg] if arg in self.globals else getattr(builtins, arg))

    def SetGlobal(self, arg, stack): self.globals[arg] = stack.pop()
    def DelGlobal(self, arg, stack): del self.globals[arg]
    def Pop(self, arg, stack): stack.pop()
    def Copy(self, arg, stack): stack.append(stack[-arg])
    def Swap(self, arg, stack): stack[-arg], stack[-1] = stack[-1], stack[-arg]
    def Unary(self, arg, stack): stack.append(UNARY[arg](stack.pop()))

    def Not(self, arg, stack):
        assert type(stack[-1]) is bool
        stack.append(not stack.pop())

    def ToBool(self, arg, stack): stack.append(bool(stack.pop()))
    def Binary(self, arg, stack): stack.append(BINARY[arg](*self.pops(2)))
    def Inplace(self, arg, stack): stack.append(INPLACE[arg](*self.pops(2)))
    def Compare(self, arg, stack): stack.append(COMPARE[arg](*self.pops(2)))

    def Is(self, arg, stack):
        a, b = self.pops(2)
        stack.append((a is b) != arg)

    def Contains(self, arg, stack):
        item, container = self.pops(2)
        stack.append((item in container) != arg)

    def GetAttr(self, arg, stack): stack.append(getattr(stack.pop(), arg))
    GetMethod = GetAttr

    def GetSuper(self, arg, stack):
        found, cls, self_ = self.pops(3)
        stack.append(getattr(found(cls, self_), arg[0]))

    def SetAttr(self, arg, stack):
        value, o = self.pops(2)
        setattr(o, arg, value)

    def DelAttr(self, arg, stack): delattr(stack.pop(), arg)

    def GetItem(self, arg, stack):
        o, k = self.pops(2)
        stack.append(o[k])

    def SetItem(self, arg, stack):
        value, o, k = self.pops(3)
        o[k] = value

    def DelItem(self, arg, stack):
        o, k = self.pops(2)
        del o[k]

    def BuildSlice(self, arg, stack): stack.append(slice(*self.pops(arg)))

    def Build(self, arg, stack):
        kind, n = arg
        if kind == "constmap":
            value = dict(zip(n, self.pops(len(n)), strict=True))
        elif kind == "map":
            values = self.pops(2 * n)
            value = dict(zip(values[::2], values[1::2], strict=True))
        else:
            value = {"tuple": tuple, "list": list, "set": set, "string": "".join}[kind](self.pops(n))
        stack.append(value)

    def Append(self, arg, stack):
        kind, i = arg
        if kind == "map":
            k, v = self.pops(2)
            stack[-i][k] = v
        else:
            v = stack.pop()
            (list.append if kind == "list" else set.add)(stack[-i], v)

    def Extend(self, arg, stack):
        kind, i = arg
        v = stack.pop()
        if kind == "dict_merge" and set(v) & set(stack[-i]):
            raise TypeError("multiple values")
        {"list": list.extend, "set": set.update, "dict_update": dict.update, "dict_merge": dict.update}[kind](stack[-i], v)

    def ListToTuple(self, arg, stack): stack.append(tuple(stack.pop()))

    def Unpack(self, arg, stack):
        values = list(stack.pop())
        if len(values) != arg:
            raise ValueError("unpack")
        stack += reversed(values)

    def UnpackEx(self, arg, stack):
        before, after = arg
        values = list(stack.pop())
        if len(values) < before + after:
            raise ValueError("unpack")
        end = len(values) - after
        stack += reversed([*values[:before], values[before:end], *values[end:]])

    def Convert(self, arg, stack): stack.append({"s": str, "r": repr, "a": ascii}[arg](stack.pop()))

    def Format(self, arg, stack):
        spec = stack.pop() if arg else ""
        stack.append(format(stack.pop(), spec))

    def Call(self, arg, stack):
        npos, names = arg
        keywords = dict(zip(names, self.pops(len(names)), strict=True))
        args = self.pops(npos)
        stack.append(stack.pop()(*args, **keywords))

    def CallEx(self, arg, stack):
        kwargs = stack.pop() if arg else {}
        args = stack.pop()
        stack.append(stack.pop()(*args, **kwargs))

    def MakeFunction(self, arg, stack):
        code = stack.pop()
        found = dict(zip(arg, self.pops(len(arg)), strict=True))
        closure = found.pop("closure", tuple(types.CellType() for _ in code.co_freevars))
        fn = types.FunctionType(code, self.globals, closure=closure)
        for attr, value in found.items():
            self.set_function(fn, attr, value)
        stack.append(fn)

    def set_function(self, fn, attr, value):
        if attr == "annotations":
            value = dict(zip(value[::2], value[1::2], strict=True)) if isinstance(value, tuple) else value
            fn.__annotations__ = value
        else:
            setattr(fn, f"__{attr}__", value)
        return fn

    def SetFunctionAttr(self, arg, stack):
        value, fn = self.pops(2)
        if arg == "closure":
            fn = types.FunctionType(fn.__code__, self.globals, closure=value)
        else:
            self.set_function(fn, arg, value)
        stack.append(fn)

    def BuildClass(self, arg, stack): stack.append(builtins.__build_class__)

    def Import(self, arg, stack):
        level, fromlist = self.pops(2)
        stack.append(__import__(arg, self.globals, None, fromlist, level))

    def ImportFrom(self, arg, stack): stack.append(getattr(stack[-1], arg))
    def Jump(self, arg, stack): return arg

    def Branch(self, arg, stack):
        cond, to = arg
        value = stack.pop()
        if cond in ("true", "false"):
            assert type(value) is bool
            return to if value == (cond == "true") else None
        return to if (value is None) == (cond == "none") else None

    def GetIter(self, arg, stack): stack.append(iter(stack.pop()))

    def ForIter(self, arg, stack):
        try:
            stack.append(next(stack[-1]))
        except StopIteration:
            stack.pop()
            return arg

    def Raise(self, arg, stack):
        if arg == 0:
            raise self.current
        error, *cause = self.pops(arg)
        if cause:
            raise error from cause[0]
        raise error

    def Reraise(self, arg, stack):
        if arg:
            assert isinstance(stack[-1 - arg], int)
        raise stack.pop()

    def PushExc(self, arg, stack):
        error = stack.pop()
        stack += [self.current, error]
        self.current = error

    def PopExc(self, arg, stack):
        self.current = stack.pop()
        assert self.current is None or isinstance(self.current, BaseException)

    def ExcMatch(self, arg, stack):
        cls = stack.pop()
        stack.append(isinstance(stack[-1], cls))

    def EgMatch(self, arg, stack):
        group, cls = self.pops(2)
        match, rest = group.split(cls) if isinstance(group, BaseExceptionGroup) else (BaseExceptionGroup("", [group]), None)
        stack += [rest, match]

    def PrepReraiseStar(self, arg, stack):
        original, results = self.pops(2)
        left = [r for r in results if r is not None]
        assert len(left) <= 1, "only one part is left in the cases here"
        stack.append(left[0] if left else None)

    def WithEnter(self, arg, stack):
        manager = stack.pop()
        exit_ = manager.__exit__
        stack += [exit_, manager.__enter__()]

    def WithExitExc(self, arg, stack):
        exit_, lasti, previous, error = stack[-4:]
        assert isinstance(lasti, int)
        stack.append(exit_(type(error), error, error.__traceback__))

    def Match(self, arg, stack):
        kind, count = arg
        if kind == "class":
            o, cls, names = self.pops(3)
            if not isinstance(o, cls):
                stack.append(None)
            elif cls in (int, str, list, dict) and count:
                stack.append((o,))
            else:
                names = [*getattr(cls, "__match_args__", ())[:count], *names]
                stack.append(tuple(getattr(o, n) for n in names) if all(hasattr(o, n) for n in names) else None)
        elif kind == "keys":
            o, keys = stack[-2:]
            stack.append(tuple(o[k] for k in keys) if all(k in o for k in keys) else None)
        else:
            stack.append(isinstance(stack[-1], dict if kind == "mapping" else (list, tuple)))

    def GetLen(self, arg, stack): stack.append(len(stack[-1]))
    def MakeGenerator(self, arg, stack): stack.append(None)
    def GetYieldFromIter(self, arg, stack): stack.append(iter(stack.pop()))

    def Send(self, arg, stack):
        v = stack.pop()
        try:
            stack.append(next(stack[-1]) if v is None else stack[-1].send(v))
        except StopIteration as stop:
            stack.append(stop.value)
            return arg

    def EndSend(self, arg, stack): del stack[-2]

    def CleanupThrow(self, arg, stack):
        receiver, sent, error = self.pops(3)
        if not isinstance(error, StopIteration):
            raise error
        stack += [None, error.value]

    def Intrinsic(self, arg, stack):
        assert arg[0] == "stopiteration_error"
        if isinstance(stack[-1], StopIteration):
            stack[-1] = RuntimeError("generator raised StopIteration")


def outcome(call):
    try:
        return "value", call()
    except BaseExceptionGroup as error:
        return type(error), [type(e) for e in error.exceptions]
    except Exception as error:
        return type(error), error.args if type(error) is not UnboundLocalError else None


def run(fn, *args):
    machine = Machine(fn, args, {}).run()
    if fn.__code__.co_flags & 0x20:
        return list(machine)
    try:
        next(machine)
    except StopIteration as stop:
        return stop.value


def loops(n, xs):
    total = 0
    while n > 0:
        n -= 1
        if n == 3:
            continue
        for x in xs:
            if x == n:
                break
            total += x * n
        else:
            total += 1000
    return total, n


def forever(n):
    if n > 5:
        while True:
            n -= 1
            if n < 0:
                return "down"
    return "small"


def tries(f, log):
    try:
        try:
            log.append(f())
        except (KeyError, ValueError) as e:
            log.append(repr(e))
            raise RuntimeError("again") from e
        except TypeError:
            return "type"
        else:
            log.append("else")
        finally:
            log.append("finally")
    except RuntimeError as e:
        return log, str(e.__cause__)
    return log


def nested_try(n):
    out = []
    for i in range(n):
        try:
            try:
                out.append(10 // (i - 2))
            finally:
                out.append("f")
                if i == 4:
                    break
        except ZeroDivisionError:
            try:
                {}[i]
            except KeyError as k:
                out.append(k.args)
                continue
            finally:
                out.append("g")
    return out


class Suppress:
    def __init__(self, kind, log):
        self.kind, self.log = kind, log

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, cls, error, traceback):
        self.log.append(cls)
        return error is not None and isinstance(error, self.kind)


def withs(kind, error, early):
    log = []
    for _ in range(2):
        with Suppress(kind, log) as a, Suppress(OSError, log) as b:
            if early:
                return log, a is b
            raise error
    return log


def groups(errors):
    try:
        raise ExceptionGroup("g", errors)
    except* ValueError as e:
        found = [type(x) for x in e.exceptions]
    return found


def comprehensions(rows, x):
    a = [y * x for row in rows for y in row if y % 2]
    b = {y: [x for x in range(y)] for y in a}
    c = {x for x in a if x}
    fs = [lambda: x for x in a]
    return a, b, c, [f() for f in fs], x, tuple(x + 1 for x in a)


def shadowed(xs):
    fs = [lambda: x for x in xs]
    try:
        x
    except UnboundLocalError:
        seen = "unbound"
    x = 7
    return [f() for f in fs], seen, x, [(x, [x for x in [x, x]]) for x in xs]


def failing_comprehension(xs):
    x = "kept"
    try:
        [10 // x for x in xs]
    except ZeroDivisionError:
        return x
    return None


def matches(v):
    match v:
        case []:
            return "empty"
        case [1, *rest, 9]:
            return rest
        case {"a": [x, y], **kw}:
            return x, y, kw
        case int(n) | complex(real=n) if n:
            return n
        case "s" | None:
            return "s or none"
        case _:
            return "other"


def calls(f, xs, kw):
    return f(1, *xs), f(*xs, k=2, **kw), f(k=3), f(*xs), "a-b".replace("-", "+"), max([1, 2], key=lambda v: -v), f(**kw, **{"z": 1})


def gather(*args, **kwargs):
    return args, sorted(kwargs.items())


def strings(x, w):
    return f"{x!r:>{w}}|{x}|{x!s}|{x:{w}}|{x!a}" + f"{w=}"


def truth(a, b, c):
    return a and b or c, not a, a is not None, a if b and not c else (b or c), 0 <= w if (w := len(str(a))) else 1, 1 < w < 5


def none_tests(a):
    out = []
    while a is not None:
        out.append(a)
        a = a[1:] or None
    if a is None:
        out.append("end")
    return out


def slices(xs):
    xs = list(xs)
    xs[1:3] = ["a", "b", "c"]
    xs[::2] = list(range(len(xs[::2])))
    del xs[-1:], xs[0]
    a, (b, *c), d = xs[0], xs[1:], xs[-1]
    a += 1
    xs[0] -= 5
    return xs, a, b, c, d, xs[:2], xs[1:][::-1]


def unbound(flag):
    if flag:
        y = 1
        del y
    return y


def closures(n):
    def step(d=1, *, e=2, **kw):
        nonlocal n
        n += d * e
        return n

    step()
    step(2, e=3)
    k = n
    return step(d=k), n, step.__name__, step.__kwdefaults__


def assertions(x):
    assert x > 1, f"small {x}"
    assert x < 10
    return +x, -x, ~x, x**2, x << 1, x % 3, x // 2, x / 2, x ^ 1, x & 2, x | 8, x >> 1, x != 2


def generator(n):
    try:
        got = yield n
        for i in range(n):
            yield from [i, got]
        x = (yield from sub(n)) if n > 1 else n
        yield x
    finally:
        yield "done"


def sub(n):
    yield "sub"
    return n * 2


def stops(n):
    yield n
    next(iter(()))


def imports():
    import os.path as p
    from math import floor, pi
    return p.join("a", "b"), floor(pi)


def builds(a):
    return {"k": a, "l": 2}, {a: 1, **{3: 4}}, {a, *"bc"} == {a, "b", "c"}, (a, *[1]), [*range(2), a]


def classes(a):
    class C:
        x = 3
    c = C()
    c.y = a
    c.y += C.x
    before = c.y
    del c.y
    return before, hasattr(c, "y")


def raises(kind):
    raise kind


CASES = [
    (loops, 6, [1, 2, 3, 4]), (loops, 0, []), (forever, 8), (forever, 1),
    (tries, lambda: 1, []), (tries, lambda: {}[1], []), (tries, lambda: 1 + "", []), (tries, lambda: 1 // 0, []),
    (nested_try, 7), (nested_try, 3),
    (withs, ValueError, ValueError(1), False), (withs, KeyError, ValueError(1), False),
    (withs, ValueError, OSError(1), False), (withs, OSError, ValueError, True),
    (groups, [ValueError(1)]), (groups, [ValueError(1), KeyError(2)]),
    (comprehensions, [[1, 2, 3], [], [5]], 3), (shadowed, [1, 2]), (failing_comprehension, [1, 0]),
    (matches, []), (matches, [1, 2, 3, 9]), (matches, [1, 2]), (matches, {"a": [1, 2], "b": 3}), (matches, {"b": 3}),
    (matches, 7), (matches, 2 + 3j), (matches, 0), (matches, "s"), (matches, None), (matches, {"a": 1}),
    (calls, gather, [4, 5], {"m": 6}), (strings, "é", 8),
    (truth, 0, 1, 2), (truth, [], 0, 3), (truth, 1, 0, 0), (truth, None, 2, ""), (none_tests, [1, 2]), (none_tests, None),
    (slices, range(8)), (slices, range(1)), (unbound, True), (unbound, False), (closures, 5),
    (assertions, 3), (assertions, 1), (assertions, 11), (generator, 0), (generator, 3), (stops, 1), (imports,),
    (builds, "a"), (classes, 4), (raises, KeyError), (raises, 3),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "args"), [(fn, args) for fn, *args in CASES], ids=lambda v: getattr(v, "__name__", ""))
def test_machine_agrees_with_cpython(fn, args):
    def copies():
        return [list(a) if type(a) is list else a for a in args]

    is_generator = fn.__code__.co_flags & 0x20
    check_stack(normalize(fn.__code__))
    expected = outcome(lambda: list(fn(*copies())) if is_generator else fn(*copies()))
    found = outcome(lambda: run(fn, *copies()))
    if fn is raises or expected[0] is TypeError:
        assert found[0] is expected[0]
    else:
        assert repr(found) == repr(expected)


# --- Shapes: the same on every version -------------------------------------------------------------------------------


def shape(fn, upto=None):
    """The ops of a callable; `=` and the arg where that matters, `>` and the index where it jumps."""
    words = []
    for op, arg, *_ in normalize(fn.__code__).instructions[:upto]:
        if op in ("Jump", "ForIter", "Send"):
            op += f">{arg}"
        elif op == "Branch":
            op += f"={arg[0]}>{arg[1]}"
        elif op in ("Binary", "Inplace", "Compare", "Unary", "Copy", "Swap", "Format"):
            op += f"={arg}"
        words.append(op)
    return " ".join(words)


def test_while():
    def f(n):
        while n > 0:
            n -= 1
        return n

    assert shape(f) == (
        "GetLocal Const Compare=> ToBool Branch=false>10 GetLocal Const Inplace=- SetLocal Jump>0 GetLocal Return"
    )
    code = normalize(f.__code__)
    assert code.loop_heads == {0} and code.head_tests == {4: 0} and code.natural_loops == {0: frozenset(range(10))}
    assert code.ipdom[4] == 10 and code.ipdom[9] == 0 and code.ipdom[11] is None
    assert code.live == [1] * 6 + [0] * 3 + [1] * 2 + [0]


def test_the_second_test_of_a_loop_is_dropped():
    """CPython's compiler writes it behind the body, up to 3.13."""
    def f(n, x):
        while n and x[n] > 2 and not n == 7:
            n -= 1
        while not n:
            try:
                n = x[n]
            except IndexError:
                continue
        return n

    code = normalize(f.__code__)
    lines = [i.position[0] for i in code.instructions if i.op == "Branch" and i.position]
    first = f.__code__.co_firstlineno
    assert [lines.count(first + k) for k in (1, 3)] == [3, 1]
    assert len(code.head_tests) == 2 == len(code.natural_loops)

    def within(rows, n):
        for row in rows:
            if row:
                while row[n] != 0:
                    n = row[n]
        return n

    code = normalize(within.__code__)
    assert [i.position[0] - within.__code__.co_firstlineno for i in code.instructions if i.op == "Branch"] == [2, 3]


def test_tests_that_stand_where_others_do():
    """Code that is made may have one place for all of it, or none: what is no copy of a test is not dropped for one."""
    text = """
def f(a, x, fuel, n, b, c):
    if ((q := a) > c if (-1 >= x and (a >= x or 0 == x)) else (b < a or (c >= x and b != a))):
        while True:
            fuel -= 1
            if fuel < 0: raise KeyError(a)
            while ((a < 7 != 1 and (5 == c or b != c)) or b <= (b + b)):
                n -= 1
                if n < 0: break
"""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    scope = {}
    exec(compile(tree, "<made>", "exec"), scope)
    for made in (scope["f"], types.FunctionType(scope["f"].__code__.replace(co_linetable=b""), {})):
        with pytest.raises(KeyError, match="7"):
            hovis.specialize(made, *[hovis.Int] * 6)(7, 1, 9, 4, 1, 1)


def test_while_true():
    def f(n):
        while True:
            n -= 1
            if n < 0:
                break
        return n

    assert shape(f) == "GetLocal Const Inplace=- SetLocal GetLocal Const Compare=< ToBool Branch=false>0 GetLocal Return"


def test_endless_loop_behind_a_branch():
    def f(n):
        if n:
            while True:
                pass
        return 1

    code = normalize(f.__code__)
    (loop,) = code.loop_heads
    assert code.instructions[loop][:2] == ("Jump", loop)
    assert code.ipdom[loop] is None and code.meet(loop, len(code.instructions) - 1) == len(code.instructions) - 1


def test_a_handler_for_nothing_is_dropped():
    def f():
        try:
            pass
        except BaseException:
            a = True
        finally:
            b = True
        return b

    check_jumps(normalize(f.__code__))


def test_for():
    def f(xs):
        t = 0
        for x in xs:
            if x:
                t += x
        return t

    assert shape(f) == (
        "Const SetLocal GetLocal GetIter ForIter>14 SetLocal GetLocal ToBool Branch=false>4 "
        "GetLocal GetLocal Inplace=+ SetLocal Jump>4 GetLocal Return"
    )
    code = normalize(f.__code__)
    assert code.loop_heads == {4} and code.depth[4] == 1 and code.depth[14] == 0
    assert code.meet(9, 4) == 4 and code.meet(5, 14) == 14


def test_nested_for_with_continue():
    def f(n):
        for i in n:
            for j in i:
                if i == j:
                    continue
                i(j)

    assert shape(f) == (
        "GetLocal GetIter ForIter>18 SetLocal GetLocal GetIter ForIter>2 SetLocal GetLocal GetLocal Compare=== ToBool "
        "Branch=true>6 GetLocal GetLocal Call Pop Jump>6 Const Return"
    )


def test_try():
    def f(g):
        try:
            return g(1)
        except KeyError:
            return 2

    assert shape(f) == (
        "GetLocal Const Call Return PushExc GetGlobal ExcMatch Branch=false>12 Pop PopExc Const Return Reraise Copy=3 PopExc Reraise"
    )
    code = normalize(f.__code__)
    assert code.instructions[2].handler == (4, 0, False)
    assert code.instructions[6].handler == (13, 1, True)
    assert code.meet(0, 10) is None and code.meet(10, 12) == 10


def test_finally():
    def f(g):
        try:
            g()
        finally:
            g(1)

    assert shape(f) == (
        "GetLocal Call Pop GetLocal Const Call Pop Const Return PushExc GetLocal Const Call Pop Reraise Copy=3 PopExc Reraise"
    )


def test_with():
    def f(m):
        with m as x:
            x.go()
        return 1

    assert shape(f, 12) == "GetLocal WithEnter SetLocal GetLocal GetMethod Call Pop Const Const Const Call Pop"
    code = normalize(f.__code__)
    assert code.instructions[10].arg == (3, ())
    handler = code.instructions[5].handler
    assert handler.depth == 1 and handler.lasti
    assert [i.op for i in code.instructions[handler.target :][:4]] == ["PushExc", "WithExitExc", "ToBool", "Branch"]


def test_match():
    def f(v):
        match v:
            case [a, b]:
                return a
            case {"k": a}:
                return a
        return None

    assert shape(f) == (
        "GetLocal Copy=1 Match Branch=false>15 GetLen Const Compare=== ToBool Branch=false>15 Unpack SetLocal SetLocal Pop "
        "GetLocal Return Pop Match Branch=false>35 GetLen Const Compare=>= ToBool Branch=false>35 Const Match Copy=1 "
        "Branch=none>33 Unpack SetLocal Pop Pop GetLocal Return Pop Pop Pop Const Return"
    )


def test_yield_from():
    def f(xs):
        yield from xs

    assert shape(f, 12) == "MakeGenerator Pop GetLocal GetYieldFromIter Const Send>8 Yield Jump>5 EndSend Pop Const Return"


def test_chained_comparison_and_conditional():
    def f(a, b, c):
        return a < b < c

    def g(a, b):
        return a if b is None else b

    assert shape(f) == (
        "GetLocal GetLocal Swap=2 Copy=2 Compare=< Copy=1 ToBool Branch=false>12 Pop GetLocal Compare=< Return Swap=2 Pop Return"
    )
    assert shape(g) == "GetLocal Branch=not_none>4 GetLocal Return GetLocal Return"


def test_calls():
    def f(a, b):
        return a.f(b, k=1).g, print(b), b(*a, **b), (lambda x=1: x)

    calls = [i[:2] for i in normalize(f.__code__).instructions if "Call" in i.op or "Get" in i.op and i.op != "GetLocal"]
    assert calls == [
        ("GetMethod", "f"), ("Call", (1, ("k",))), ("GetAttr", "g"), ("GetGlobal", "print"), ("Call", (1, ())), ("CallEx", True),
    ]  # fmt: skip


def test_comprehension_body():
    def f(xs):
        return [x * 2 for x in xs if x]

    inner = [c for c in codes(f.__code__) if any(i.op == "Append" for i in normalize(c).instructions)]
    ops = [i.op for i in normalize(inner[0]).instructions]
    loop = ops.index("ForIter")
    assert ops[loop : loop + 10] == "ForIter SetLocal GetLocal ToBool Branch GetLocal Const Binary Append Jump".split()


def test_formats():
    def f(a):
        return f"{a!r}{a:>3}{a}"

    assert shape(f) == "GetLocal Convert Format=False GetLocal Const Format=True GetLocal Format=False Build Return"


def test_what_is_unsupported():
    async def coroutine():
        pass

    async def generator():
        yield

    class_body = compile("class C:\n    x = 1", "", "exec").co_consts[0]
    assert normalize(coroutine.__code__).unsupported == "it is a coroutine"
    assert normalize(generator.__code__).unsupported == "it is an asynchronous generator"
    assert normalize(class_body).unsupported == "it is the code of a module or of a class body"


def test_slots_and_parameters():
    def outer(z):
        def f(a, /, b, *args, c, **kw):
            d = z, a
            return lambda: (d, b)

        return f

    fn = outer(1)
    code = normalize(fn.__code__)
    assert code.names == ("a", "b", "c", "args", "kw", "d", "z")
    assert code.names == tuple(fn.__code__._varname_from_oparg(k) for k in range(len(code.names)))
    assert (code.n_params, code.argcount, code.posonlyargcount, code.kwonlyargcount, code.n_free) == (5, 2, 1, 1, 1)
    assert code.cells == {1, 5} and code.has_varargs and code.has_varkwargs and not code.is_generator
    assert normalize(fn.__code__) is code


def test_equal_code_objects_are_kept_apart():
    a, b = (compile("lambda: 1", "<same>", "eval") for _ in range(2))
    assert a == b and normalize(a) is not normalize(b) and normalize(b).code is b


def test_slot_numbering_over_the_standard_library():
    for raw in module_codes(dataclasses):
        names = normalize(raw).names
        assert names == tuple(raw._varname_from_oparg(k) for k in range(len(names)))
