"""The grammar of :mod:`tests.transforms.harness.fuzz_vmap`."""

from typing import Any

from tests.transforms.harness.drawing import Lines

HEADER = '''
import math
import numpy as np
import hovis

A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 5.0]])


def steps(t, most=6):
    n = 0
    while abs(t) < 2.0 and n < most:
        t = t * 1.4 + 0.2
        n += 1
    return n


def root(a):
    x = a = abs(a) + 0.5
    while abs(x * x - a) > 1e-9:
        x = 0.5 * (x + a / x)
    return x


def checked(t):
    if t > 2.5:
        raise ValueError(f"too large: {t > 3.0}")
    return t * 0.5


def inverse(t):
    return 1.0 / t if t != 0.0 else 0.0


def kind_of(t):
    if t > 0.8:
        return 1
    return 0.5 * t


def sized(a):
    total = 0.0
    for t in a:
        if t < 0.0:
            continue
        total += t
        if total > 2.0:
            break
    return total


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def turn(self, y):
        self.a, self.b = math.sin(self.b) + y, self.a * 0.5
        return self.a
'''


class Drawing(Lines):
    """A program in the making."""

    #: s a number of NumPy's, p one of Python's, i an int, a an array of three, f one of float32, m a matrix, l a list, o an object
    KINDS = "spiafmlo"

    def __init__(self, choose: Any) -> None:
        super().__init__(choose)
        self.loops = 0
        self.returned: list[str] = []
        self.mode = "values"

    def old(self, kind: str) -> list[str]:
        """Parameters keep what they were given."""
        return [name for name in self.names[kind] if name[-1].isdigit()]

    # ------------------------------------------------------------------------------------------------- expressions

    def s(self, d: int = 2) -> str:
        """A number, mostly of NumPy's."""
        if d <= 0 or not self.choose(4):
            return str(self.pick(self.names["s"]) if self.choose(6) else self.pick(["0.5", "-0.7", "1.5", "2", "x"]))
        s, a, d = self.s, self.a, d - 1
        return str(self.pick([
            lambda: f"({s(d)} + {s(d)})", lambda: f"({s(d)} - {s(d)})", lambda: f"{s(d)} * {s(d)}", lambda: f"{s(d)} / (1.5 + ({s(d)}) ** 2)",
            lambda: f"np.{self.pick(['sin', 'tanh', 'abs', 'floor', 'sign'])}({s(d)})", lambda: f"math.{self.pick(['sin', 'atan', 'cos'])}({s(d)})",
            lambda: f"({s(d)} if {self.b(d)} else {s(d)})", lambda: f"{self.pick(['max', 'min'])}({s(d)}, {s(d)})", lambda: f"abs({s(d)})",
            lambda: f"{a(d)}[{self.at()}]", lambda: f"np.{self.pick(['sum', 'max', 'mean', 'prod', 'std', 'median'])}({a(d)})", lambda: f"({a(d)} @ {a(d)})",
            lambda: f"{self.m(d)}[{self.pick(['0', '1', '-1'])}, {self.at()}]", lambda: f"np.linalg.norm({a(d)})", lambda: f"sized({a(d)})",
            lambda: f"root({s(d)})", lambda: f"inverse({s(d)})", lambda: f"checked(np.tanh({s(d)}))", lambda: f"{self.p(d)} * {s(d)}", lambda: f"{self.i(d)} * {s(d)}",
            lambda: f"np.sum({self.f(d)} * {s(d)})", lambda: f"np.where({self.b(d)}, {s(d)}, {s(d)})", lambda: f"np.sum(A @ {a(d)})", lambda: f"{s(d)} % 1.3",
            lambda: f"float({s(d)} > {s(d)})", lambda: f"sum([t * t for t in {a(d)}])", lambda: f"np.linalg.solve(A, {a(d)})[{self.at()}]",
            lambda: f"hovis.grad(lambda t: {self.smooth('t', d)})({s(d)})", lambda: f"np.sum(vmap(lambda t: {self.lane('t', d)})({a(d)}))",
        ])())  # fmt: skip

    def smooth(self, t: str, d: int) -> str:
        """A number that follows from t without a jump."""
        return str(self.pick([f"np.sin({t}) * {t}", f"{t} ** 3 + {self.s(0)} * {t}", f"{t} * {t} if {t} > 0.3 else {t} * 0.5", f"np.sum(np.tanh({self.a(0)} * {t}))",
                              f"root({t} * {t} + 1.0)"]))  # fmt: skip

    def lane(self, t: str, d: int) -> str:
        return str(self.pick([f"{t} * {self.s(0)}", f"{t} if {t} > {self.s(0)} else {t} * 0.5", f"steps({t}) + {t}", f"np.sum({self.a(0)} * {t})", f"root({t})"]))

    def p(self, d: int = 1) -> str:
        """A number of Python's."""
        if d <= 0 or not self.choose(3):
            return str(self.pick([*self.names["p"], "0.25", f"float({self.s(0)})"]))
        p, d = self.p, d - 1
        return str(self.pick([
            lambda: f"({p(d)} + {p(d)})", lambda: f"{p(d)} * {p(d)}", lambda: f"{p(d)} / (2.0 + abs({p(d)}))", lambda: f"math.tanh({p(d)})", lambda: f"round({p(d)}, 2)",
            lambda: f"({p(d)} if {self.b(d)} else {p(d)})", lambda: f"max({p(d)}, {p(d)})", lambda: f"{p(d)} ** 2", lambda: f"{self.i(d)} * {p(d)}",
            lambda: f"math.sqrt(abs({p(d)}))", lambda: f"{p(d)} % 0.7", lambda: f"kind_of({p(d)})", lambda: f"1.0 / {p(d)}", lambda: f"math.exp(min({p(d)}, 3.0))",
        ])())  # fmt: skip

    def i(self, d: int = 1) -> str:
        """An int."""
        if d <= 0 or not self.choose(3):
            return str(self.pick([*self.names["i"], "1", "2"]))
        i, d = self.i, d - 1
        return str(self.pick([
            lambda: f"({i(d)} + {i(d)})", lambda: f"{i(d)} * {i(d)}", lambda: f"({i(d)} - {i(d)})", lambda: f"{i(d)} // 2", lambda: f"{i(d)} % 3", lambda: f"abs({i(d)})",
            lambda: f"int({self.s(d)})", lambda: f"steps({self.s(d)})", lambda: f"len({self.a(d)})", lambda: f"int(np.argmax({self.a(d)}))", lambda: f"(-{i(d)})",
            lambda: f"({i(d)} if {self.b(d)} else {i(d)})", lambda: f"({self.b(d)}) + ({self.b(d)})", lambda: f"int({self.a(d)}[0] > 0.0)", lambda: f"{i(d)} ** 2",
            lambda: f"int(np.sum({self.a(d)} > {self.s(0)}))", lambda: f"max({i(d)}, {i(d)})", lambda: f"round({self.s(d)})", lambda: f"({i(d)} & 3)", lambda: f"({i(d)} << 1)",
        ])())  # fmt: skip

    def a(self, d: int = 2) -> str:
        """An array of three."""
        if d <= 0 or not self.choose(3):
            return str(self.pick(self.names["a"]))
        a, s, d = self.a, self.s, d - 1
        return str(self.pick([
            lambda: f"({a(d)} + {a(d)})", lambda: f"{a(d)} * {s(d)}", lambda: f"({s(d)} - {a(d)})", lambda: f"np.tanh({a(d)})", lambda: f"{a(d)}[::-1]",
            lambda: f"np.where({a(d)} > {s(0)}, {a(d)}, {s(d)})", lambda: f"np.cumsum({a(d)})", lambda: f"np.roll({a(d)}, {self.i(0)})", lambda: f"A @ {a(d)}",
            lambda: f"np.sort({a(d)})", lambda: f"np.clip({a(d)}, -0.8, {s(0)})", lambda: f"np.array([{s(d)}, {s(0)}, {self.p(0)}])", lambda: f"{self.m(d)}[{self.pick(['0', '1'])}]",
            lambda: f"{self.m(d)}[{self.i(0)} % 2]", lambda: f"np.sum({self.m(d)}, axis=0)", lambda: f"{self.m(d)}.max(axis=0)", lambda: f"{a(d)}[[2, 0, {self.at()}]]",
            lambda: f"np.concatenate([{a(d)}[:1], {a(d)}[1:]])", lambda: f"np.linalg.solve(A + np.eye(3) * abs({s(0)}), {a(d)})", lambda: f"{self.f(d)} * {s(0)}",
            lambda: f"({s(0)} * {self.m(d)}.T) @ {self.m(d)}[:, 0] if {self.b(d)} else {a(d)}" if self.choose(2) else f"({a(d)}).copy()", lambda: f"np.maximum({a(d)}, {self.p(d)})",
            lambda: f"vmap(lambda t: {self.lane('t', d)})({a(d)})", lambda: f"vmap(lambda u: u @ {a(d)}, in_axes=-1)(A)", lambda: f"hovis.grad(lambda u: np.sum(np.sin(u) * {s(0)}))({a(d)})",
            lambda: f"vmap(hovis.grad(lambda t: {self.smooth('t', d)}))({a(d)})", lambda: f"np.outer({a(d)}, {a(d)})[{self.at()}]", lambda: f"np.zeros(3) + {s(d)}",
            lambda: f"np.full(3, {s(d)})", lambda: f"np.take({a(d)}, {self.at()}) * {a(d)}", lambda: f"{a(d)} ** 2", lambda: f"np.linalg.inv(A)[{self.at()}] * {a(d)}",
        ])())  # fmt: skip

    def f(self, d: int = 1) -> str:
        """An array of three of float32."""
        if d <= 0 or not self.choose(2):
            return str(self.pick(self.names["f"]))
        f, d = self.f, d - 1
        return str(self.pick([lambda: f"({f(d)} + {f(d)})", lambda: f"{f(d)} * {self.p(d)}", lambda: f"{f(d)} * {self.i(d)}", lambda: f"np.sin({f(d)})", lambda: f"{f(d)} * tree['f']",
                              lambda: f"np.maximum({f(d)}, {self.p(d)})", lambda: f"({f(d)} if {self.b(d)} else {f(d)})", lambda: f"np.where({f(d)} > {self.p(0)}, {f(d)}, {self.p(d)})",
                              lambda: f"({self.a(d)}).astype(np.float32)"])())  # fmt: skip

    def m(self, d: int = 1) -> str:
        """A matrix of two rows."""
        if d <= 0 or not self.choose(2):
            return str(self.pick(self.names["m"]))
        m, a, d = self.m, self.a, d - 1
        return str(self.pick([lambda: f"({m(d)} + {a(d)})", lambda: f"{m(d)} * {self.s(d)}", lambda: f"np.stack([{a(d)}, {a(d)}])", lambda: f"{m(d)} @ A", lambda: f"np.cos({m(d)})",
                              lambda: f"{m(d)}[::-1]", lambda: f"np.array([{a(d)}, {a(0)}])", lambda: f"np.outer({a(d)}[:2], {a(d)})", lambda: f"{m(d)}.reshape(3, 2).T",
                              lambda: f"np.cumsum({m(d)}, axis={self.pick(['0', '1', '-1'])})", lambda: f"vmap(lambda u, t: u * t, in_axes=(0, None))({m(d)}, {self.s(0)})",
                              lambda: f"vmap(vmap(lambda t: {self.lane('t', d)}), in_axes=1, out_axes=1)({m(d)})"])())  # fmt: skip

    def b(self, d: int = 1) -> str:
        """A condition."""
        d -= 1
        return str(self.pick([lambda: f"{self.s(d)} > {self.s(d)}", lambda: f"{self.s(d)} < {self.s(0)}", lambda: f"{self.i(d)} % 2 == 0", lambda: f"{self.i(d)} > 1",
                              lambda: f"{self.s(d)} > 0.2 and {self.s(0)} < 0.9", lambda: f"not {self.s(d)} > 0.1", lambda: f"np.any({self.a(d)} > {self.s(0)})", lambda: f"{self.p(d)} <= 0.4",
                              lambda: f"-1.0 < {self.s(d)} < 0.5", lambda: f"{self.i(d)} == {self.i(0)}"])())  # fmt: skip

    def at(self) -> str:
        return str(self.pick([f"{self.i(0)} % 3", *range(-3, 3), "k", "0"]))

    # ------------------------------------------------------------------------------------------------- statements

    def statement(self) -> None:
        self.budget -= 1
        nested = [self.branch, self.branch, self.loop, self.repeat, self.guarded] if self.depth < 4 and self.budget > 0 else []
        self.pick([self.number, self.number, self.number, self.array, self.array, self.store, self.store, self.own, self.in_place, self.containers, *nested])()

    def number(self) -> None:
        kind = self.pick("sspi")
        self.bind(kind, getattr(self, kind)(3))

    def array(self) -> None:
        kind = self.pick("aafm")
        self.bind(kind, getattr(self, kind)(2))

    def own(self) -> None:
        """An array that is there to be stored into."""
        self.bind("a", self.pick([f"({self.a(1)}).copy()", "np.zeros(3)", f"np.full(3, {self.s(1)})", f"np.zeros_like({self.a(0)})", f"np.empty(3) * 0.0 + {self.s(1)}"]))

    def in_place(self) -> None:
        kind = self.pick("sp")
        names = [name for name in self.names[kind] if name[-1].isdigit()]
        if names:
            self.line(f"{self.pick(names)} {self.pick(['+=', '-=', '*='])} {getattr(self, kind)(1)} * 0.5")

    def store(self) -> None:
        """Into an array of the function's, now and then into one of the arguments."""
        names = [name for name in self.names["a"] if name[-1].isdigit()]
        if not names or not self.choose(12):
            names = [*names, "v"]
        a, s = self.pick(names), self.s
        self.line(self.pick([f"{a}[{self.at()}] = {s()}", f"{a}[{self.at()}] += {s(1)}", f"{a}[:2] = {s(1)}", f"{a}[1:] *= {s(1)}", f"{a} *= {s(1)}", f"{a}[...] = {self.a(1)}",
                             f"{a}[{a} > 0.5] = {s(1)}", f"{a}[[0, 2]] = {s(1)}", f"{a}[1:] = {self.a(1)}[:-1]", f"{a} += {self.a(1)}"]))  # fmt: skip

    def containers(self) -> None:
        objects, lists = self.names["o"], self.names["l"]
        ways = [lambda: self.bind("o", f"Pair({self.s(1)}, {self.s(1)})"), lambda: self.bind("l", f"[{self.s(1)}, {self.s(1)}]")]
        if objects:
            ways += [lambda: self.bind("s", f"{self.pick(objects)}.turn({self.s(1)})"), lambda: self.line(f"{self.pick(objects)}.a = {self.s(1)}"),
                     lambda: self.bind("s", f"{self.pick(objects)}.b * 1.0")]  # fmt: skip
        if lists:
            ways += [lambda: self.line(f"{self.pick(lists)}.append({self.s(1)})"), lambda: self.bind("s", f"sum({self.pick(lists)}) * 1.0"),
                     lambda: self.bind("s", f"{self.pick(lists)}[-1] * 1.0"), lambda: self.bind("a", f"np.array({self.pick(lists)}[:2] + [{self.s(0)}])")]  # fmt: skip
        self.pick(ways)()

    def branch(self) -> None:
        self.line(f"if {self.b(2)}:")
        self.block(1 + self.choose(3))
        self.depth += 1
        if self.loops and not self.choose(3):
            self.line(self.pick(["break", "continue"]))
        elif not self.choose(12):
            self.line("raise ValueError('stop')" if self.choose(2) else f"raise KeyError({self.i(0)})")
        self.depth -= 1
        if self.choose(2):
            self.line("else:")
            self.block(1 + self.choose(2))

    def _body(self) -> None:
        self.loops += 1
        self.block(1 + self.choose(3))
        self.loops -= 1

    def loop(self) -> None:
        self.count += 1
        name = f"i{self.count}"
        kept = dict(self.names)
        head, kind = self.pick([(f"range({self.pick(['3', 'k', 'k + 1', '2', 'n'])})", "i"), (f"{self.a(1)}", "s"), (f"({self.s(1)}, {self.s(0)})", "s")])
        self.line(f"for {name} in {head}:")
        self.names[kind] = [*self.names[kind], name]
        self._body()
        self.names = kept

    def repeat(self) -> None:
        """A loop that data ends, at last after some rounds."""
        self.count += 1
        name = f"i{self.count}r"  # which is not bound anew: the loop ends
        self.line(f"{name} = 0")
        self.line(f"while {name} < {self.pick(['k', '4', 'k + 2'])}{self.pick(['', f' and {self.s(1)} < 1.5'])}:")
        kept = dict(self.names)
        self.names["i"] = [*self.names["i"], name]
        self.depth += 1
        self.line(f"{name} += 1")
        self.depth -= 1
        self._body()
        self.names = kept
        self.names["i"] = [*self.names["i"], name]

    def guarded(self) -> None:
        self.line("try:")
        self.block(1 + self.choose(2))
        self.depth += 1
        self.line(self.pick([f"if {self.b(1)}:\n{'    ' * (self.depth + 1)}raise ValueError(3)", f"p0 = 1.0 / {self.p(0)}", f"p0 = math.log({self.p(0)})"]))
        self.depth -= 1
        self.line(f"except {self.pick(['ValueError', 'ZeroDivisionError', 'ArithmeticError', '(ValueError, ArithmeticError)'])}:")
        self.block(1)

    # ------------------------------------------------------------------------------------------------- programs

    def program(self, statements: int) -> str:
        """The text of a function f(x, v, m, k, tree)."""
        self.names.update(s=["x", "tree['p']", "tree['l'][0]"], a=["v", "tree['w']"], f=["tree['g']"], m=["m"], i=["k", "n", "tree['l'][1]"], p=["q"])
        self.budget = statements
        self.line("n, q = int(k), float(x)")
        while self.budget > 0:
            self.statement()
        ends = [name for kind in "spiafm" for name in self.names[kind][-2:] if name[-1].isdigit()]
        self.returned = [self.s(1), *ends, self.pick([self.a, self.m, self.i, self.p])(1)]
        self.mode = "grad" if not self.choose(6) else "values"
        self.line(f"return ({', '.join(self.returned)})")
        return "def f(x, v, m, k, tree):\n" + "\n".join(self.lines) + "\n"
