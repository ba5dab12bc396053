"""Random programs whose derivatives are held against central differences, and against each other.

``python -m tests.transforms.harness.fuzz --programs 1000 --seed 7`` draws so many; a few are a test.  A program has straight code, branches,
loops that are left early, lists, dicts, objects, closures, recursion, views and stores into arrays, and gives one number.
Its gradient (as it is called, and under ``hovis_xla.jit``) and its push are compared, and what it does to its arguments.
"""

import argparse
import copy
import math
import random
import signal
import sys
import warnings
from typing import Any

import numpy as np

import hovis
import hovis_xla
from tests.transforms.harness.drawing import Lines

STEP = 1e-5
SECONDS = 120

HEADER = '''
class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def turn(self, y):
        self.a, self.b = math.sin(self.b) + y, self.a * 0.5
        return self.a

    def mixed(self, k):
        return self.a * k + self.b


def again(t, k):
    return t if k <= 0 else again(math.sin(t) * 0.9 + 0.1 * k, k - 1)


def put(a, k, t):
    a[k] = t * a[-k - 1] + 0.3


def scaled(a, t=0.5):
    return a * t + np.cos(a)


def pieces(t, k):
    for j in range(k):
        t = math.tanh(t) + 0.2 * j
        yield t


def until(t, limit):
    steps = 0
    while t < limit:
        t = t * 1.3 + 0.2
        steps += 1
        if steps > 6:
            return t * 0.5
    return t
'''


class Drawing(Lines):
    """A program in the making."""

    #: s a number, a an array of four, h of two, l a list, d a dict, o an object, g a function, i an int
    KINDS = "sahldogi"

    def __init__(self, choose: Any) -> None:
        super().__init__(choose)
        self.loops = 0
        self.inside = False

    # ------------------------------------------------------------------------------------------------- expressions

    def s(self, deep: int = 2) -> str:
        """A number."""
        if deep <= 0 or not self.choose(4):
            found = self.names["s"]
            return self.pick(found) if found and self.choose(6) else self.pick(["0.5", "1.2", "-0.7", "0.3"])
        return self.pick(self._numbers())(deep - 1)

    def _numbers(self) -> list[Any]:
        s, names = self.s, self.names
        ways = [
            lambda d: f"({s(d)} + {s(d)})", lambda d: f"({s(d)} - {s(d)})", lambda d: f"{s(d)} * {s(d)}", lambda d: f"{s(d)} * 0.5",
            lambda d: f"{s(d)} / (1.5 + ({s(d)}) ** 2)", lambda d: f"math.{self.pick(['sin', 'cos', 'tanh', 'atan'])}({s(d)})",
            lambda d: f"np.{self.pick(['sin', 'cos', 'tanh', 'arctan'])}({s(d)})", lambda d: f"math.exp(-({s(d)}) ** 2)",
            lambda d: f"({s(d)}) ** {self.pick(['2', '3'])} * 0.3", lambda d: f"math.sqrt(1.0 + ({s(d)}) ** 2)", lambda d: f"-{s(d)}",
            lambda d: f"{self.pick(['max', 'min'])}({s(d)}, {s(d)})", lambda d: f"abs({s(d)})", lambda d: f"float({s(d)})",
            lambda d: f"({s(d)} if {self.condition()} else {s(d)})", lambda d: f"again({s(d)}, {self.i()})", lambda d: f"until({s(d)}, 1.7)",
            lambda d: f"sum(pieces({s(d)}, {self.i()}))",
        ]  # fmt: skip
        if names["a"]:
            ways += 2 * [
                lambda d: f"({self.a(d)})[{self.at(4)}]", lambda d: f"np.sum({self.a(d)}) * 0.3", lambda d: f"(({self.a(d)}) @ ({self.a(d)})) * 0.3",
                lambda d: f"np.{self.pick(['mean', 'max', 'min', 'std', 'prod'])}({self.a(d)})", lambda d: f"np.linalg.norm({self.a(d)})",
                lambda d: f"sum([t * {s(d)} for t in {self.a(d)}])", lambda d: f"({self.a(d)}).sum()",
            ]  # fmt: skip
        if names["h"]:
            ways += [lambda d: f"{self.pick(names['h'])}[{self.at(2)}]"]
        if names["l"]:
            ways += 2 * [
                lambda d: f"{self.pick(names['l'])}[{self.pick(['0', '1', '-1'])}]", lambda d: f"sum({self.pick(names['l'])}) * 0.3",
                lambda d: f"sum([t * {s(d)} for t in {self.pick(names['l'])}]) * 0.2", lambda d: f"np.sum(np.array({self.pick(names['l'])})) * 0.3",
                lambda d: f"len({self.pick(names['l'])}) * {s(d)} * 0.1", lambda d: f"max({self.pick(names['l'])})",
                lambda d: f"sorted({self.pick(names['l'])})[{self.pick(['0', '1', '-1'])}]",
            ]  # fmt: skip
        if names["d"]:
            ways += 2 * [lambda d: f"{self.pick(names['d'])}[{self.key()}]", lambda d: f"sum({self.pick(names['d'])}.values()) * 0.3",
                         lambda d: f"{self.pick(names['d'])}.get({self.key()}, 0.0)"]  # fmt: skip
        if names["o"]:
            ways += 2 * [lambda d: f"{self.pick(names['o'])}.{self.pick('ab')}", lambda d: f"{self.pick(names['o'])}.turn({s(d)})",
                         lambda d: f"{self.pick(names['o'])}.mixed({self.i()})"]  # fmt: skip
        if names["g"]:
            ways += 2 * [lambda d: f"{self.pick(names['g'])}({s(d)})"]
        return ways

    def a(self, deep: int = 2) -> str:
        """An array of four."""
        names = self.names
        if deep <= 0 or not self.choose(3):
            return str(self.pick(names["a"]))
        a, s = self.a, self.s
        ways = [
            lambda d: f"({a(d)} + {a(d)})", lambda d: f"{a(d)} * {s(d)}", lambda d: f"({a(d)} - {s(d)})", lambda d: f"{a(d)} * {a(d)}",
            lambda d: f"np.{self.pick(['sin', 'cos', 'tanh', 'arctan'])}({a(d)})", lambda d: f"{a(d)} / (1.5 + ({a(d)}) ** 2)", lambda d: f"({a(d)})[::-1]",
            lambda d: f"np.where({a(d)} > {s(0)}, {a(d)}, {a(d)})", lambda d: f"np.cumsum({a(d)}) * 0.4", lambda d: f"np.roll({a(d)}, 1)",
            lambda d: f"np.maximum({a(d)}, {s(d)})", lambda d: f"np.array([{s(d)}, {s(d)}, {s(0)}, {s(0)}])", lambda d: f"scaled({a(d)})",
            lambda d: f"scaled({a(d)}, t={s(d)})", lambda d: f"np.concatenate([{self.h(d)}, {self.h(d)}])", lambda d: f"({a(d)})[[2, 0, 3, 3]]",
            lambda d: f"M @ ({a(d)})", lambda d: f"np.outer({a(d)}, {a(0)})[{self.at(4)}]", lambda d: f"np.stack([{a(d)}, {a(0)}]).T[:, {self.at(2)}]",
            lambda d: f"np.sort({a(d)})", lambda d: f"np.clip({a(d)}, -0.8, {s(0)} ** 2 + 0.4)", lambda d: f"({a(d)}).reshape(2, 2).T.ravel()",
            lambda d: f"np.exp(-({a(d)}) ** 2)",
        ]  # fmt: skip
        return str(self.pick(ways)(deep - 1))

    def h(self, deep: int = 1) -> str:
        """An array of two."""
        if self.names["h"] and not self.choose(3):
            return str(self.pick(self.names["h"]))
        if not self.choose(4):
            return f"np.array([{self.s(deep)}, {self.s(deep)}])"
        return f"({self.a(deep)})[{self.pick([':2', '1:3', '2:', '::2', '-2:', '::-2', '[0, 3]'])}]"

    def i(self) -> str:
        """A small integer."""
        return str(self.pick([*self.names["i"], "n", "2", "3", "1"]))

    def at(self, size: int) -> str:
        """An index into so many."""
        if self.names["i"] and self.choose(2):
            return f"{self.pick(self.names['i'])} % {size}"
        return str(self.pick([*range(-size, size)]))

    def key(self) -> str:
        return str(self.pick(["'p'", "'q'"]))

    def condition(self) -> str:
        return str(self.pick([f"{self.s(1)} > {self.s(1)}", f"{self.s(1)} < {self.s(0)}", f"{self.i()} % 2 == 0", f"{self.i()} > 1",
                              f"{self.s(1)} > 0.2 and {self.s(1)} < 0.9"]))  # fmt: skip

    # ------------------------------------------------------------------------------------------------- statements

    def statement(self) -> None:
        """One more statement."""
        self.budget -= 1
        nested = [self.branch, self.loop, self.loop, self.repeat, self.over, self.guarded] if self.depth < 4 and self.budget > 0 and not self.inside else []
        self.pick([self.number, self.number, self.array, self.number_in_place, self.store, self.store, self.containers, self.containers, self.change,
                   self.change, self.function, self.swapped, *nested])()  # fmt: skip

    def number(self) -> None:
        self.bind("s", self.s(3))

    def number_in_place(self) -> None:
        if self.names["s"]:
            self.line(f"{self.pick(self.names['s'])} {self.pick(['+=', '-=', '*='])} {self.s()} * 0.7")

    def swapped(self) -> None:
        if len(self.names["s"]) > 1:
            a, b = self.pick(self.names["s"]), self.pick(self.names["s"])
            self.line(f"{a}, {b} = {self.s(1)}, {self.s(1)} * 0.9")

    def array(self) -> None:
        if self.choose(4) == 0:
            self.bind("h", self.h())
            return
        self.bind("a", self.pick([self.a(3), self.a(2), "np.zeros(4)", f"{self.a(0)}.copy()", f"np.full(4, {self.s(1)})", f"np.zeros_like({self.a(0)})"]))

    def store(self) -> None:
        a, s = self.pick(self.names["a"]), self.s
        ways = [
            f"{a}[{self.at(4)}] = {s()}", f"{a}[{self.at(4)}] += {s()}", f"{a}[{self.at(4)}] *= {s(1)}", f"{a} *= {s(1)}", f"{a} += {self.a(1)}",
            f"{a}[:2] = {self.h()}", f"{a}[1:3] *= {s(1)}", f"{a}[...] = {self.a(1)}", f"{a}[1:] = ({self.a(1)})[:-1]", f"{a}[[0, 2]] = {self.h()}",
            f"{a}[{a} > 0.4] = {s(1)}", f"{a}[:] = {s(1)}", f"put({a}, {self.at(4)}, {s(1)})", f"{a}[0:2] = [{s(1)}, {s(1)}]", f"{a}[::2] -= {self.h()}",
            f"np.add.at({a}, [0, 1, 1], {s(1)})", f"np.multiply({self.a(0)}, {s(1)}, out={a})", f"{a}[{self.at(4)}], {a}[{self.at(4)}] = {s(1)}, {a}[0]",
        ]  # fmt: skip
        if self.names["h"]:
            h = self.pick(self.names["h"])
            ways += [f"{h}[{self.at(2)}] = {s()}", f"{h} *= {s(1)}", f"{h} += {self.h()}"]
        self.line(self.pick(ways))

    def containers(self) -> None:
        s, kind = self.s, self.pick("llddoo")
        if kind == "l":
            self.bind("l", self.pick([f"[{s(1)}, {s(1)}]", f"[{s(1)}, {s(0)}, {s(0)}]", f"[{s(0)} * k for k in range({self.i()} + 2)]", f"list({self.a(1)})",
                                      f"[t * {s(0)} for t in {self.a(1)}]", f"[{s(1)}] * 3"]))  # fmt: skip
        elif kind == "d":
            self.bind("d", self.pick([f"{{'p': {s(1)}, 'q': {s(1)}}}", f"dict(p={s(0)}, q={s(1)})", f"{{k: {s(0)} * w for k, w in zip('pq', {self.h()})}}"]))
        else:
            self.bind("o", f"Pair({s(1)}, {s(1)})")

    def change(self) -> None:
        """Something in a container or an object."""
        s, names = self.s, self.names
        ways = []
        for one in names["l"]:
            ways += [f"{one}.append({s()})", f"{one}[{self.pick(['0', '1', '-1'])}] = {s()}", f"{one}[{self.pick(['0', '-1'])}] *= {s(1)}", f"{one}.insert(0, {s()})",
                     f"{one} += [{s(1)}]", f"{one}.reverse()", f"{one}[0], {one}[1] = {one}[1], {s(1)}", f"{one}.append({one}.pop(0) * {s(1)})",
                     f"for k in range(len({one})): {one}[k] = {one}[k] * {s(0)} + 0.1", f"{one}.sort()"]  # fmt: skip
        for one in names["d"]:
            ways += [f"{one}[{self.key()}] = {s()}", f"{one}[{self.key()}] *= {s(1)}", f"for key in {one}: {one}[key] = {one}[key] * {s(0)}",
                     f"{one}.update(p={s(1)})", f"{one}[{self.key()}] += {s()}"]  # fmt: skip
        for one in names["o"]:
            ways += [f"{one}.{self.pick('ab')} = {s()}", f"{one}.{self.pick('ab')} += {s(1)}", f"{one}.turn({s(1)})"]
        if ways:
            self.line(self.pick(ways))

    def function(self) -> None:
        """A closure, which may change a variable of the function."""
        if self.inside or self.depth > 2:
            return
        name = self.new("g")
        kept = {kind: list(names) for kind, names in self.names.items()}
        changed = self.pick(self.names["s"]) if self.names["s"] and self.depth == 1 and not self.choose(3) else None
        if changed is not None and not changed.isidentifier():
            changed = None
        self.line(f"def {name}(t, w=0.5):")
        self.depth += 1
        self.names["g"], self.inside = [], True
        if changed is not None:
            self.line(f"nonlocal {changed}")
            self.line(f"{changed} = {changed} * 0.8 + t * 0.1")
        self.names["s"] = [*self.names["s"], "t", "w"]
        self.line(f"return {self.s(2)}")
        self.depth -= 1
        self.names, self.inside = kept, False
        self.names["g"] = [*self.names["g"], name]

    def branch(self) -> None:
        self.line(f"if {self.condition()}:")
        self.block(1 + self.choose(3))
        if self.loops and not self.choose(4):
            self.depth += 1
            self.line(self.pick(["break", "continue"]))
            self.depth -= 1
        elif not self.choose(8):
            self.depth += 1
            self.line(f"return {self.s(1)} * 1.0")
            self.depth -= 1
        if self.choose(2):
            self.line("else:")
            self.block(1 + self.choose(2))

    def loop(self) -> None:
        k = self.new("i")
        self.line(f"for {k} in range({self.pick(['n', '3', 'n + 2', '2', '5', '1, n', 'n, -1, -1'])}):")
        self._body([(k, "i")])

    def over(self) -> None:
        t, k = self.new("s"), self.new("i")
        head, bound = self.pick([
            (f"for {t} in {self.a(1)}:", [(t, "s")]), (f"for {k}, {t} in enumerate({self.a(1)}):", [(k, "i"), (t, "s")]),
            (f"for {t}, {t}_ in zip({self.a(1)}, {self.a(1)}):", [(t, "s"), (f"{t}_", "s")]), (f"for {t} in ({self.s(1)}, {self.s(1)}):", [(t, "s")]),
            *((f"for {t} in list({one}):", [(t, "s")]) for one in self.names["l"]), *((f"for {t} in list({one}.values()):", [(t, "s")]) for one in self.names["d"]),
            (f"for {t} in pieces({self.s(1)}, {self.i()}):", [(t, "s")]),
        ])  # fmt: skip
        self.line(head)
        self._body(bound)

    def repeat(self) -> None:
        """A loop that data ends, at last after some rounds."""
        k = self.new("i")
        self.line(f"{k} = 0")
        self.line(f"while {k} < {self.pick(['n', '4', '7'])}{self.pick(['', f' and {self.s(1)} < 2.0'])}:")
        self.depth += 1
        self.line(f"{k} += 1")
        self.depth -= 1
        self._body([(k, "i")])

    def _body(self, bound: list[tuple[str, str]]) -> None:
        kept = {kind: list(names) for kind, names in self.names.items()}
        for name, kind in bound:
            self.names[kind] = [*self.names[kind], name]
        self.loops += 1
        self.block(1 + self.choose(4))
        self.loops -= 1
        self.names = kept

    def guarded(self) -> None:
        self.line("try:")
        self.block(1 + self.choose(2))
        self.depth += 1
        self.line(f"if {self.condition()}:")
        self.line("    raise ValueError(3)")
        self.depth -= 1
        self.line("except ValueError:")
        self.block(1)

    # ------------------------------------------------------------------------------------------------- programs

    def program(self, statements: int) -> str:
        """The text of a function f(x, v, tree, n)."""
        self.names["s"], self.names["a"], self.names["d"], self.names["l"] = ["x", "tree['b']"], ["v", "tree['w']"], ["tree['d']"], ["tree['l']"]
        self.names["i"] = ["n"]
        self.budget = statements
        while self.budget > 0:
            self.statement()
        parts = [*self.names["s"][-3:], *(f"np.sum({a})" for a in self.names["a"][-3:]), *(f"np.sum({h} ** 2)" for h in self.names["h"][-1:]),
                 *(f"sum({one})" for one in self.names["l"][-2:]), *(f"{d}['p'] - {d}['q']" for d in self.names["d"][-2:]),
                 *(f"{o}.mixed(0.7)" for o in self.names["o"][-2:])]  # fmt: skip
        self.line(f"return {' + '.join(f'{0.3 + 0.1 * k:.1f} * {part}' for k, part in enumerate(parts))}")
        return "def f(x, v, tree, n):\n" + "\n".join(self.lines) + "\n"


# ------------------------------------------------------------------------------------------------- comparing


def flat(tree: Any) -> list[Any]:
    """All numbers in a tree, in order."""
    if isinstance(tree, dict):
        return [one for key in sorted(tree) for one in flat(tree[key])]
    if isinstance(tree, list | tuple):
        return [one for item in tree for one in flat(item)]
    return [] if tree is None else list(np.ravel(tree))


def moved(args: Any, direction: Any, by: float) -> Any:
    """The arguments, a little further in a direction."""
    if isinstance(args, dict):
        return {key: moved(value, direction[key], by) for key, value in args.items()}
    if isinstance(args, list | tuple):
        return type(args)([moved(one, d, by) for one, d in zip(args, direction, strict=True)])
    return args + by * direction if isinstance(args, float | np.ndarray) else args


def drawn_like(args: Any, r: Any) -> Any:
    """A direction."""
    if isinstance(args, dict):
        return {key: drawn_like(value, r) for key, value in args.items()}
    if isinstance(args, list | tuple):
        return type(args)([drawn_like(one, r) for one in args])
    return r.normal(size=args.shape) if isinstance(args, np.ndarray) else float(r.normal())


class Odd(Exception):  # noqa: N818
    """What is wrong with a program."""


def near(a: Any, b: Any, tolerance: float, what: str) -> None:
    a, b = np.array(flat(a), float), np.array(flat(b), float)
    if a.shape != b.shape or not np.all(np.abs(a - b) <= tolerance * (1.0 + np.max(np.abs(b), initial=0.0))):
        raise Odd(f"{what}: {a} instead of {b}")


def changed(text: str, seed: int) -> tuple[Any, list[Any], float, Any, float] | None:
    """A function, its arguments, its value there, a direction, and how it changes in that; None if differences do not tell, or it raises."""
    scope: dict[str, Any] = {"__name__": "drawn", "np": np, "math": math, "M": np.random.default_rng(1).normal(size=(4, 4)) * 0.4}
    exec(compile(HEADER + text, "<drawn>", "exec"), scope)
    f = scope["f"]
    r = np.random.default_rng(seed)
    tree = {"w": r.normal(size=4), "b": float(r.normal()), "d": {"p": float(r.normal()), "q": 0.4}, "l": [float(r.normal()), 0.8]}
    args = [float(r.normal()), r.normal(size=4), tree, 3]
    direction = drawn_like(args[:3], r)

    def at(by: float) -> float:
        return float(f(*moved(copy.deepcopy(args[:3]), direction, by), 3))

    try:
        value = at(0.0)
        rate = rate_of(at)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
    return None if rate is None or abs(value) > 1e4 or abs(rate) > 1e5 else (f, args, value, direction, rate)


def rate_of(at: Any) -> float | None:
    """How a function of a number changes at 0; None if differences of several widths do not agree."""
    rates = [(at(h) - at(-h)) / (2 * h) for h in (STEP, STEP / 10)] + [(at(STEP) - at(0.0)) / STEP]
    far = [abs(rates[0] - rate) / (1 + abs(rates[0])) for rate in rates]
    return rates[0] if np.all(np.isfinite(rates)) and far[1] <= 1e-5 and far[2] <= 1e-2 else None


def compare(text: str, seed: int, *, compiled: bool) -> str:
    """'right', 'no differences', or an error that says what is wrong."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = changed(text, seed)
        if found is None:
            return "no differences"
        f, args, value, direction, rate = found
        g = hovis.value_and_grad(f, argnums=(0, 1, 2))
        left = copy.deepcopy(args)
        f(*left)
        gradients = []
        for one in [g, hovis_xla.jit(g)] if compiled else [g]:
            given = copy.deepcopy(args)
            got, gradient = one(*given)
            near(got, value, 1e-9, "value")
            along = sum(a * b for a, b in zip(flat(gradient), flat(direction), strict=True))
            near(along, rate, 1e-4, f"gradient{' under jit' * len(gradients)}")
            near(given, left, 1e-9, f"arguments{' under jit' * len(gradients)}")
            gradients.append(gradient)
        near(gradients[-1], gradients[0], 1e-8, "gradient under jit, and without it")
        try:
            got, push = hovis.jvp(lambda x, v, tree: f(x, v, tree, 3), tuple(copy.deepcopy(args[:3])), direction)
        except hovis.DerivativeError as why:
            # forward mode does not go through what is real
            return f"no push: {why}"
        near(got, value, 1e-9, "value of the push")
        near(push, sum(a * b for a, b in zip(flat(gradients[0]), flat(direction), strict=True)), 1e-8, "push and gradient")
    return "right"


def compare_second(text: str, seed: int, *, compiled: bool) -> str:
    """The same of the second derivative along a direction, held against differences of the first."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = changed(text, seed)
        if found is None:
            return "no differences"
        f, args, _, direction, rate = found

        def along(t: float) -> Any:
            return f(*moved(copy.deepcopy(args[:3]), direction, t), 3)

        first = hovis.grad(along)
        near(first(0.0), rate, 1e-4, "first derivative")
        rate = rate_of(first)
        if rate is None:
            return "no differences"
        second = hovis.grad(first)
        for one in [second, hovis_xla.jit(second)] if compiled else [second]:
            near(one(0.0), rate, 1e-4, "second derivative")
        near(hovis.jvp(first, (0.0,), (1.0,))[1], rate, 1e-4, "forward over reverse")
    return "right"


def text_of(seed: int) -> str:
    """The program that a seed draws."""
    choose = random.Random(seed).randrange
    return Drawing(choose).program(3 + choose(14))


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jit", type=int, default=3, help="of so many programs one is compiled, too")
    parser.add_argument("--second", action="store_true", help="second derivatives")
    parser.add_argument("--only", type=int, default=None, help="the program of this seed")
    options = parser.parse_args()

    def late(*_: object) -> None:
        raise Odd(f"more than {SECONDS} seconds")

    signal.signal(signal.SIGALRM, late)
    counts: dict[str, int] = {}
    seeds = [options.only] if options.only is not None else [options.seed * 1_000_003 + k for k in range(options.programs)]
    for seed in seeds:
        text = text_of(seed)
        signal.alarm(SECONDS)
        try:
            said = (compare_second if options.second else compare)(text, seed, compiled=options.only is not None or (options.jit > 0 and seed % options.jit == 0))
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        signal.alarm(0)
        kind = said if said in ("right", "no differences") else "no push" if said.startswith("no push") else "wrong"
        counts[kind] = counts.get(kind, 0) + 1
        if kind == "wrong":
            print(f"--- program {seed}: {said}\n{text}", flush=True)
    print(counts)
    return 1 if "wrong" in counts else 0


if __name__ == "__main__":
    sys.exit(main())
