"""Random programs over known objects that refer to one another: what each knows of the others is read, stored and given away in many ways.

    python -m tests.differential.stores.random_graphs [--seed N] [--programs N] [--ways specialize,jit]

``make()`` builds the objects and gives a function of an int.  The function's results, and what the objects hold then, are the same for the residual, in
several calls one after the other; the caller of a jitted function changes something in between.  Functions marked ``@hovis.boundary`` are unknown code; they come to the objects by what they are given, by closures,
and by what these lead to (docs/semantics.md says what is not seen: arguments of the residual, and globals of other modules).
"""
from __future__ import annotations

import argparse
import contextlib
import linecache
import random
import sys
from collections.abc import Iterator
from typing import Any

import hovis
from tests.differential.harness.compare import observe

PRELUDE = '''
import hovis, operator, functools, copy, types, weakref, contextvars, collections, ctypes, datetime, itertools, sys, threading
import numpy as np

class Node:
    def __init__(self, a, b):
        self.a, self.b, self.next, self.items, self.table = a, b, None, [], {}
        self.c = self.d = self.e = 0
    def bump(self, n):
        self.a += n
        return self.a
    def put(self, name, value):
        setattr(self, name, value)
    def swap(self):
        self.a, self.b = self.b, self.a
    @property
    def total(self):
        return self.a + self.b
    @total.setter
    def total(self, value):
        self.b = value - self.a

class Slotted:
    __slots__ = ("a", "b", "c", "d", "e", "next", "items", "table", "mark", "__weakref__")
    def __init__(self, a, b):
        self.a, self.b, self.next, self.items, self.table = a, b, None, [], {}
        self.c = self.d = self.e = 0
    bump, put, swap, total = Node.bump, Node.put, Node.swap, Node.total

class Child(Node):
    kind = 3
    def bump(self, n):
        self.b += 1
        return super().bump(n)

class Hooked(Node):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return len(name)
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)

class Ends:
    def __init__(self, target, n):
        self.target, self.n = target, n
    def __del__(self):
        self.target.c = self.n

class Holder:
    def __init__(self, held):
        self.held = held
    def give(self):
        return self.held
    def of(self, _):
        return self.held

class Zone(datetime.tzinfo):
    def __init__(self, held):
        self.held = held
    def utcoffset(self, moment):
        return datetime.timedelta(0)

def forever(held):
    while True:
        yield held

def framed(held):
    return sys._getframe()

TABLE, module, variable, local = {}, types.ModuleType("module"), contextvars.ContextVar("variable"), threading.local()

SCALE = 2

def pick(n, one, other):
    return one if n <= 0 else pick(n - 1, other, one)

def swapped(one, other):
    return [other, one]

def tell(node):
    return (node.a, node.b, node.c, node.d, node.e, len(node.items), sorted(node.table, key=str))
'''
NODES = ("Node", "Node", "Child", "Slotted", "Hooked")

#: Where an object may be kept: how it is put there, and how code that names that comes to it.
HIDING = {
    "variable.get()": "variable.set($)", "local.held": "local.held = $", "array[0]": "array = np.array([$], dtype=object)", "pointer.value": "pointer = ctypes.py_object($)",
    "queue[0]": "queue = collections.deque([$])", "next(repeated)": "repeated = itertools.repeat($)", "next(stream)": "stream = forever($)", "ref()": "ref = weakref.ref($)",
    "proxy['held']": "proxy = types.MappingProxyType({'held': $})", "cached()": "cached = functools.lru_cache(Holder($).give)", "moment.tzinfo.held": "moment = datetime.datetime(2000, 1, 1, tzinfo=Zone($))",
    "values['held']": "values = weakref.WeakValueDictionary(held=$)", "record['held'][0]": "record = np.array([($,)], dtype=[('held', object)])", "view.base[0]": "view = np.array([$, $], dtype=object)[1:]",
    "context[variable]": "context = contextvars.Context()\ncontext.run(variable.set, $)", "started.send(None)": "started = forever($)\nnext(started)", "Kept.held": "class Kept:\n    held = $",
    "Described().held": "class Described:\n    held = property(Holder($).of)", "error.args[0]": "error = ValueError($)", "frame.f_locals['held']": "frame = framed($)", "getter(None)": "getter = Holder($).of",
    "TABLE['held']": "TABLE['held'] = $", "module.held": "module.held = $",
}  # fmt: skip

#: What unknown code is given, and how it comes to an object from there: M and O are objects, P one with a dictionary.
WAYS = (
    ("types.SimpleNamespace(**vars(P))", "P"), ("vars(P)", "types.SimpleNamespace(c=x.update(c=n))"), ("types.SimpleNamespace(held=M)", "x.held"),
    ("iter([M])", "next(x)"), ("(M if n > 2 else O)", "x"), ("pick(n, M, O)", "x"),
    ("M.bump", "x.__self__"), ("(lambda: M)", "x()"), ("functools.partial(tell, M)", "x.args[0]"), ("(each for each in (M, O))", "next(x)"), ("M.items", "O"),
    ("{M: 1}", "next(iter(x))"), *(("n", way) for way in HIDING), ("zip([M], [O])", "next(x)[1]"), ("Holder(M)", "x.held"), ("Holder(M).give", "x()"), ("[O, M].pop", "x()"), ("swapped(M, O)", "x[0]"),
)


class Drawing:
    """One program: its objects, the functions that come to them, and what the function does."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.count = self.draw.randrange(2, 5)
        self.names = [f"m{k}" for k in range(self.count)]
        self.helpers: list[str] = []
        self.fresh = 0
        #: does it name what it stores into?  What it does not name may be any object, and hardly anything stays known.
        self.named = self.draw.randrange(4) > 0

    def node(self) -> str:
        """An expression that is one of the objects."""
        name = self.draw.choice(self.names)
        other = self.draw.choice(self.names)
        if self.named:
            return name
        return self.draw.choice([name] * 6 + [f"{name}.next", "row[n % len(row)]", f"book[{other!r}]", f"row[{self.draw.randrange(self.count)}]", f"(lambda: {name})()",
                                 f"({name} if n > 2 else {other})", f"next(iter([{name}]))", f"operator.attrgetter('next')({name})"])

    def number(self) -> str:
        """An expression that is a number."""
        return self.draw.choice(["n", "1", "n + 2", f"{self.node()}.a", f"{self.node()}.b", *(f"{self.node()}.{name}" for name in "ccdde"), f"getattr({self.node()}, 'kind', 6)", "SCALE", f"{self.node()}.total", f"len({self.node()}.items)",
                                 f"getattr({self.node()}, 'b')", f"vars({self.plain()})['c']", "5"])

    def plain(self) -> str:
        """One of the objects that have a dictionary."""
        return self.draw.choice([f"{name}" for name, kind in zip(self.names, self.kinds, strict=True) if kind != "Slotted"] or ["extra"])

    def unknown(self) -> str:
        """Call code of which nothing is known, which comes to objects in some way."""
        self.fresh += 1
        name, node, other, way = f"unknown{self.fresh}", self.draw.choice(self.names), self.draw.choice(self.names), self.draw.randrange(8 + len(WAYS))
        store = self.draw.choice(["{}.c = n", "{}.d += 1", "{}.bump(n)", "setattr({}, 'c', n)", "{}.next, {}.d = {}.next, n", "{}.e = {}.c + n", "{}.put('d', n)"])

        def define(args: str, target: str) -> None:
            text = store.replace("{}", target)
            self.helpers.append(f"@hovis.boundary\ndef {name}({args}):\n    {text}\n    return n\n")

        if way == 0:
            define("x, n", "x")
            return f"{name}({self.node()}, n)"
        if way == 1:
            define("n", node)
            return f"{name}(n)"
        if way == 2:
            define("x, n", "x[0]")
            return f"{name}([{self.node()}], n)"
        if way == 3:
            define("x, n", "x.next")
            return f"{name}({node}, n)"
        if way == 4:
            self.helpers.append(f"@hovis.boundary\ndef {name}(call, n):\n    return call(n)\n")
            return f"{name}({self.node()}.bump, n)"
        if way == 5:
            self.helpers.append(f"@hovis.boundary\ndef {name}(call, n):\n    return call()\n")
            return f"{name}(lambda: {node}.put('c', n), n)"
        if way == 6:
            define("n", "row[n % len(row)]")
            return f"{name}(n)"
        if way == 7:
            define("x, n", "x[1]['k']")
            return f"{name}((n, {{'k': {other}}}), n)"
        given, target = (text.replace("M", node).replace("O", other).replace("P", self.plain()) for text in WAYS[way - 8])
        define("x, n", target)
        return f"{name}({given}, n)"

    def statement(self, depth: int = 0) -> str:
        """A statement, or several."""
        kind = self.draw.randrange(16 if self.named else 20)
        if kind < 4:
            return f"out.append({self.unknown()})" if self.draw.randrange(2) else self.unknown()
        if kind < 7 and depth < 2:
            return self.compound(depth)
        node, number, attribute = self.node(), self.number(), self.draw.choice("ab")
        if kind < 9:
            return f"{node}.{attribute} = {number}"
        if kind < 10:
            return f"{self.draw.choice(list(HIDING))}.{self.draw.choice('abcd')} = {number}"
        if kind < 14:
            return f"out.append({self.number()})"
        return self.draw.choice([
            f"{node}.{attribute} += {number}", f"{node}.bump({number})", f"{node}.put({attribute!r}, {number})", f"{node}.swap()", f"{node}.total = {number}",
            f"setattr({node}, {attribute!r}, {number})", f"{node}.next = {self.node()}", f"vars({self.plain()})[{attribute!r}] = {number}",
            f"{self.plain()}.__dict__.update({attribute}={number})", f"{node}.items.append({number})", f"{node}.table[n % 2] = {number}",
            f"row[n % len(row)] = {self.node()}", f"row.append({self.node()})", f"book[{self.draw.choice(self.names)!r}] = {self.node()}",
            f"out.append({self.node()} is {self.node()})", f"out.append(tell({node}))", f"out.append(hasattr({node}, 'extra'))", f"{self.plain()}.extra = {number}",
            f"operator.methodcaller('bump', n)({node})", f"functools.partial(setattr, {node}, {attribute!r})({number})", f"object.__setattr__({node}, {attribute!r}, n)",
            f"held = {node}\nheld.{attribute} = {number}", f"out.append(copy.copy({self.plain()}).a)", f"del {self.plain()}.items[:]",
            f"{self.plain()}.last = Ends({self.draw.choice(self.names)}, n)", f"{self.plain()}.last = None", f"ref = weakref.ref({node})\nref().{attribute} = {number}",
            f"out.append(type({node}).__name__)",
        ])  # fmt: skip

    def compound(self, depth: int) -> str:
        """A statement with others in it."""
        kind, inner = self.draw.randrange(5), self.block(depth + 1)
        if kind == 0:
            return f"if n > {self.draw.randrange(4)}:\n{inner}\nelse:\n{self.block(depth + 1)}"
        if kind == 1:
            return f"for i in range({self.draw.choice(['n % 4', '2'])}):\n{inner}"
        if kind == 2:
            return f"try:\n{inner}\nexcept (AttributeError, TypeError, KeyError):\n    out.append('raised')"
        if kind == 3:
            return f"for each in row:\n    each.{self.draw.choice('ab')} = {self.number()}"
        return f"def inner(k):\n{inner}\n    return k\nout.append(inner(n))"

    def change(self) -> str:
        """What the caller does between two calls."""
        node, other, name = self.draw.choice(self.names), self.draw.choice(self.names), self.draw.choice("abcde")
        return self.draw.choice([
            f"{node}.{name} = n", f"{node}.{name} = str(n)", f"{node}.next = {other}", f"{node}.next = None", f"row[0] = {node}", f"row.append({node})", f"book[{other!r}] = {node}",
            f"{node}.items.append(n)", f"{node}.table[n] = n", f"vars({self.plain()})['{name}'] = n", f"{self.plain()}.__dict__ = dict(vars({self.plain()}))", f"TABLE['held'] = {node}",
            f"module.held = {node}", f"variable.set({node})", f"{self.plain()}.__class__ = Child if n % 2 else Node", "Node.kind = n", "Child.kind = n", f"{self.plain()}.kind = n",
            "Node.bump = lambda self, k: setattr(self, 'c', k) or n", f"vars({self.plain()}).pop('c', None)", f"{self.plain()}.bump = lambda k: k + n", f"vars({self.plain()}).pop('bump', None)",
            "Node.total = property(lambda self: n)", "tell.__defaults__ = ()", "pick.__code__ = (lambda n, one, other: one).__code__", "globals()['SCALE'] = n",
        ])  # fmt: skip

    def block(self, depth: int) -> str:
        return "\n".join("    " + line for _ in range(self.draw.randrange(1, 3)) for line in self.statement(depth).split("\n"))

    def text(self) -> str:
        self.kinds = [self.draw.choice(NODES[: 3 if self.named else None]) for _ in self.names]
        lines = [f"{name} = {kind}({self.draw.randrange(5)}, {self.draw.randrange(5)})" for name, kind in zip(self.names, self.kinds, strict=True)]
        lines.append("extra = Node(7, 8)")
        lines += [f"{name}.next = {self.draw.choice(self.names)}" for name in self.names if self.draw.randrange(3) == 0]
        if self.draw.randrange(4) == 0:
            lines.append(f"{self.plain()}.last = Ends({self.draw.choice(self.names)}, 9)")
        if self.draw.randrange(8) == 0:
            lines.append(f"{self.plain()}.__dict__ = vars({self.plain()})")
        if self.draw.randrange(4) == 0:
            lines.append(f"vars({self.plain()})['shared'] = {self.draw.choice(self.names)}")
        lines += [f"row = [{', '.join(self.draw.sample(self.names, self.draw.randrange(1, self.count + 1)))}]", f"book = {{{', '.join(f'{name!r}: {name}' for name in self.names)}}}"]
        body = [line for _ in range(self.draw.randrange(2, 6)) for line in self.statement().split("\n")]
        body += [f"out.append(({name}.c, {name}.d, {name}.e))" for name in self.names]
        used = [put for way, put in HIDING.items() if any(way in text for text in (*self.helpers, *body))]
        lines += [line for put in used for line in put.replace("$", self.draw.choice(self.names)).split("\n")]
        lines += [line for helper in self.helpers for line in helper.split("\n")]
        touched = [f"{name}.mark = n" for name in (*self.names, "extra")]    # what is not stored into is frozen under specialize
        lines += ["def fn(n):", "    out = []", *("    " + line for line in touched + body), "    return out"]
        changes = [line for _ in range(self.draw.randrange(1, 4)) for line in self.change().split("\n")]
        lines += ["def change(n):", *("    " + line for line in changes)]
        lines += [f"return fn, [{', '.join(self.names)}, extra, row, book], change"]
        return PRELUDE + "\ndef make():\n" + "\n".join("    " + line for line in lines) + "\n"


def program(seed: int) -> Any:
    """The text of a program, and its ``make``."""
    text = Drawing(seed).text()
    file = f"<graph {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    namespace: dict[str, Any] = {"__name__": f"graph_{seed}"}
    exec(compile(text, file, "exec"), namespace)
    return text, namespace["make"]


def state(nodes: list[Any]) -> Any:
    """What the objects hold, by number."""
    numbers: dict[int, int] = {}

    def told(value: Any, depth: int = 0) -> Any:
        if isinstance(value, int | str | type(None)):
            return value
        if callable(value):
            return "a function"
        if id(value) in numbers or depth > 8:
            return "seen", numbers.get(id(value))
        numbers[id(value)] = len(numbers)
        if isinstance(value, list):
            return [told(one, depth + 1) for one in value]
        if isinstance(value, dict):
            return [(key, told(one, depth + 1)) for key, one in value.items()]
        held = vars(value) if hasattr(value, "__dict__") else {name: getattr(value, name) for name in type(value).__slots__ if name != "__weakref__" and hasattr(value, name)}
        return type(value).__name__, sorted((name, told(one, depth + 1)) for name, one in held.items())

    return told(nodes)


def run(make: Any, way: str, changing: bool = False) -> Iterator[Any]:
    """What each call gives, and what the objects hold behind it."""
    fn, nodes, change = make()
    called = {"plain": lambda: fn, "jit": lambda: hovis.jit(fn), "specialize": lambda: hovis.specialize(fn, hovis.Int)}[way]()
    for k, n in enumerate((3, 0, 5, 1, 3, 3)):
        yield observe(lambda n=n: called(n)), state(nodes)
        if changing and k % 2:
            with contextlib.suppress(AttributeError):     # what one change has taken away another one may ask for
                change(k)


def check(seed: int, ways: tuple[str, ...] = ("specialize", "jit")) -> str | None:
    """What differs, if anything."""
    for way in ways:
        text, make = program(seed)
        expected = list(run(make, "plain", way == "jit"))
        text, make = program(seed)
        for k, ((result, held), (other, kept)) in enumerate(zip(expected, run(make, way, way == "jit"), strict=True)):
            if result != other or held != kept:
                return f"seed {seed}, {way}, call {k}:\n{text[len(PRELUDE):]}\n{result}\n{other}\n{held}\n{kept}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--ways", default="specialize,jit")
    choices = parser.parse_args()
    wrong = [told for seed in range(choices.seed, choices.seed + choices.programs) if (told := check(seed, tuple(choices.ways.split(","))))]
    print(*wrong, f"{choices.programs} programs, {len(wrong)} wrong", sep="\n\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
