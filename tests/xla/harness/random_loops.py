"""Random loops of the kinds that the loop passes look for, with variations that may break them.

    python -m tests.xla.harness.random_loops --programs 1000 --seed 1

All loops terminate. They start with a branch, search, swap loop-carried variables, count with NumPy scalars, exit in the middle, store into arrays that they
read, print and raise. Each program is run by CPython, op by op after each pass, and as a whole by XLA.
"""

import argparse
import math
import random
import sys

import numpy as np

import hovis_xla
from tests.xla.harness.checking import outcome, same
from tests.xla.harness.random_blocks import scope_of

HEAD = "def f(a, b, c, n, k, x):"
NUMBERS = ["0.5", "-0.0", "1e308", "math.nan", "math.inf", "2.0"]
INTS = ["0", "1", "3", "-1", "2**40"]
COMPARE = ["<", "<=", ">", ">=", "==", "!="]


class Writer:
    """Writes one function of three arrays (c of integers), two ints and a float."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loops, self.count = [], 0
        self.prints, self.counts_by_numpy = self.chance(0.15), self.chance(0.25)
        self.lines = [
            HEAD, f" s = {self.choose('0.0', '1.0', 'x')}; t = {self.choose('0', '1', 'n', 'k')}; p, q = {self.choose('0, 1', '2, 3', '1, k')}; fst = True",
            f" best = {self.choose('1', '0', '-1')}; z = {self.choose('0.25', '0.0', 'x')}; u = {self.choose('a', 'a[::-1]', 'b', 'a[1:]')}",
            f" w = {self.choose('c[0]', 'BYTE', 'UNSIGNED', 'c[-1]') if self.counts_by_numpy else '2'}",
        ]  # fmt: skip

    def text(self):
        self.choose(self.half, self.half, self.begin, self.pair, self.search, self.nest)(1)
        if self.chance(0.3):
            self.choose(self.half, self.begin, self.pair, self.search)(1)
        self.emit(1, "return s, t, p, q, w, best, fst, z, u" + (", i0" if self.chance(0.4) else ""))
        return "\n".join(self.lines) + "\n"

    def choose(self, *options):
        return self.random.choice(options)

    def chance(self, p):
        return self.random.random() < p

    def emit(self, depth, line):
        self.lines.append(" " * depth + line)

    # ----------------------------------------------------------------------------------------- expressions

    def int(self):
        return self.choose(*self.loops, *self.loops, "t", "n", "p", "q", "w", "best", "k", f"c[{self.index()}]", *INTS)

    def index(self):
        v = self.choose(*self.loops, "t", "p")
        return self.choose(v, v, v, f"{v} % 3", f"{v} + 1", f"{v} - 1", f"-{v}", "0", "-1", f"{v} % len(a)", f"min({v}, 2)", f"c[{v} % 4]", f"2 * {v} - 3")

    def element(self):
        return f"{self.choose('a', 'a', 'b', 'u')}[{self.index()}]"

    def float(self):
        return self.choose("s", "x", "z", self.element(), self.element(), self.choose(*NUMBERS))

    def condition(self):
        v, op = self.choose(*self.loops, "t"), self.choose(*COMPARE)
        return self.choose(
            f"{self.int()} {op} {self.int()}", f"{self.float()} {op} {self.float()}", "fst", f"{v} % 2", f"a[{v}] > 0.0", f"b[{v}] < a[{v}]",
            f"(t := t + 1) {op} {v}", f"c[{v} % 4] != 1", f"{self.element()} {op} s",
        )  # fmt: skip

    # ----------------------------------------------------------------------------------------- statements

    def simple(self, depth):
        v, i, f = self.choose(*self.loops, "t"), self.int(), self.float()
        line = self.choose(
            f"s {self.choose('+=', '-=', '*=', '=')} {f}", f"t {self.choose('+=', '-=', '^=')} {i}", f"t *= {self.choose('3', '-2', *self.loops)}", f"s += {self.element()}", "t += 1", f"q = {i}",
            f"{self.element()} {self.choose('=', '+=', '*=')} {f}", f"c[{self.index()}] {self.choose('=', '+=')} {self.choose('1', v)}", "p, q = q, p",
            "s, z = z, s + z", "p, q, t = q, t, p", f"best = max(best, {i})", f"w {self.choose('+= 1', '-= 1', '+= 3', '*= 3', '-= w')}", "a[0] = 7.0",
            f"a[{v}], a[{self.index()}] = b[{v}], a[{v}]", "a[1:] = a[:-1]", f"a[:{v}] = s", f"t = 5 // {self.choose('n', v)}", f"s = {f} / {f}", "u[-1] = z",
            f"s = {f} + {f} * {f}", f"t = {i} * 3 + {i}", f"t = {i} % {self.choose('3', '5', '-2')}", f"z = min({f}, {f})", f"b[{v}] = a[{v}]", "a, b = b, a",
        )  # fmt: skip
        self.emit(depth, f"print({v}, s)" if self.prints and self.chance(0.15) else line)

    def choice(self, depth):
        self.emit(depth, f"if {self.condition()}:")
        if self.chance(0.4):
            self.emit(depth + 1, "if fst:")
            self.simple(depth + 2)
        self.simple(depth + 1)
        if self.chance(0.5):
            self.emit(depth, self.choose("else:", f"elif {self.condition()}:"))
            self.simple(depth + 1)

    def leave(self, depth):
        if self.chance(0.15):
            self.emit(depth, f"if {self.condition()}:")
            self.emit(depth + 1, self.choose("break", "return s, t", "raise ValueError(t)"))

    def counting(self, depth, *bounds):
        v = f"i{self.count}"
        self.count += 1
        bound = self.choose(*bounds, *self.loops)
        ways = [f"for {v} in range({bound}):", f"for {v}, y in enumerate({self.choose('a', 'b', 'c')}):", f"for {v}, y in zip(range(len(a)), b):"]
        if "," not in bound and self.chance(0.25):
            self.emit(depth, f"{v} = {self.choose('0', '1', '-1')}")
            ways = [f"while {v} < {bound}:"]
        self.emit(depth, self.choose(ways[0], *ways))
        self.loops.append(v)
        return f"{v} += 1" if len(ways) == 1 else "pass"

    def half(self, depth):
        """Write a counting loop that starts with a branch."""
        last = self.counting(depth, "len(a)", "len(a)", "n", "1, len(a)", "len(a) - 1", "n, 0, -1", "0, len(a), 2", "k % 5", "n, n + 3")
        self.choice(depth + 1)
        if self.chance(0.5):
            self.emit(depth + 1, "fst = False")
        if self.chance(0.5):
            self.simple(depth + 1)
            self.leave(depth + 1)
        self.emit(depth + 1, last)
        self.loops.pop()

    def nest(self, depth):
        last = self.counting(depth, "n", "len(a)", "4", "n, -1, -2")
        if self.chance(0.5):
            self.simple(depth + 1)
        self.choose(self.half, self.search, self.nest if depth < 3 else self.half)(depth + 1)
        if self.chance(0.5):
            self.simple(depth + 1)
        self.emit(depth + 1, last)
        self.loops.pop()

    def begin(self, depth):
        """Write a search for a maximum: `best` keeps its known initial value until a better one is found."""
        last = self.counting(depth, "n", "1, n", "k % 7", "1, 9")
        v, inner = self.loops[-1], self.choose("p", "t", "q")
        self.emit(depth + 1, f"{inner} = {self.choose(v, v + ' + 1', '0')}; g = {self.choose('0', '1')}")
        test = self.choose("> 1", "> 1", "!= 1 and g < 12", f"> {v} and g < 12")
        self.emit(depth + 1, f"while {inner} {test}:")
        self.emit(depth + 2, f"{inner} = {self.choose(f'3 * {inner} + 1 if {inner} % 2 else {inner} // 2', f'{inner} // 2', f'{inner} - 1')}; g += 1")
        if "g" in test and self.chance(0.4):
            self.simple(depth + 2)
        self.emit(depth + 1, f"if {self.choose('g', inner)} {self.choose('>', '>=', '!=')} best:")
        self.emit(depth + 2, f"best = {self.choose('g', inner, 'g + 1')}")
        self.emit(depth + 1, last)
        self.loops.pop()

    def pair(self, depth):
        """Write a loop whose loop-carried variables depend on each other."""
        v = f"i{self.count}"
        self.count += 1
        self.emit(depth, f"{v} = 0")
        first, second = f"{v} < {self.choose('n', '9', 'len(a)')}", self.choose("s * s + z * z < 4.0", "s == s", f"a[{v} % 3] != s", "z < a[0]")
        self.emit(depth, f"while {self.choose(f'{first} and {second}', f'{second} and {first}', f'{first} and {second} and fst')}:")
        self.loops.append(v)
        if self.chance(0.25):
            self.choice(depth + 1)
        self.emit(depth + 1, self.choose("s, z = s * s - z * z + x, 2.0 * s * z + 0.5", "s, z = z, s + z", "s = s + z; z = z * 0.5 - s", "t, best = best, t + best"))
        if self.chance(0.3):
            self.simple(depth + 1)
        self.emit(depth + 1, f"{v} += 1")
        self.loops.pop()

    def search(self, depth):
        """Write a while loop whose condition reads an array."""
        v, array, outer = f"i{self.count}", self.choose("a", "b", "u", "c"), self.choose(*self.loops, "0")
        self.count += 1
        up = self.chance(0.5)
        self.emit(depth, f"{v} = {self.choose('0', outer, '1', 'w') if up else self.choose('len(a) - 1', 'n', outer + ' - 1')}")
        side = f"{v} < {self.choose('len(a)', 'n')}" if up else f"{v} {self.choose('>= 0', '> 0', '>= -3', '> ' + outer)}"
        asks = f"{array}[{self.choose(v, v, v + ' - 1', v + ' + 1')}] {self.choose('<', '>', '!=')} {self.choose('x', 's', f'a[{outer}]', '0')}"
        self.emit(depth, f"while {self.choose(f'{side} and {asks}', asks, f'{asks} and {side}', f'{side} and {asks} and {self.condition()}')}:")
        self.loops.append(v)
        if self.chance(0.6):
            self.simple(depth + 1)
        if self.chance(0.4):
            self.emit(depth + 1, self.choose(f"a[{v}] = a[{v} - 1]", f"c[{v}] += 1", f"a[{v}], a[{outer}] = a[{outer}], a[{v}]", f"u[{v}] *= 0.5"))
        self.leave(depth + 1)
        self.emit(depth + 1, f"{v} {'+' if up else '-'}= {self.choose('1', '1', '2')}")
        self.loops.pop()


def program(seed):
    """Return (function, source) for a seed."""
    source = Writer(seed).text()
    return scope_of(source, f"<loops {seed}>", np=np, math=math, BYTE=np.int8(0), UNSIGNED=np.uint8(0))["f"], source


def arguments(seed, number):
    """Draw the arguments of a program: for one seed, all numbers give arguments of the same kinds."""
    kind, drawn = random.Random(f"{seed}"), random.Random(f"{seed} {number}")
    size, dtype = kind.choice([0, 1, 2, 5, 5, 6, 8, 12]), kind.choice(["i8", "i8", "i4", "i1", "u1", "u8"])
    a, b = (np.array([drawn.choice([drawn.randrange(-9, 9) / 4, 0.5, 2.5, -0.0, math.nan]) for _ in range(size)]) for _ in range(2))
    c = np.array([drawn.choice([0, 1, 2, 3, 1, 2, size // 2, 120]) for _ in range(4)]).astype(dtype)
    if kind.random() < 0.1:
        b = a
    n = drawn.choice([0, 1, 2, 3, 4, 5, 6, -1, size, size - 1])
    k = drawn.choice([0, 1, 2, -3, 5, 2**31, 2**33, -(2**40), 2**62, 2**63 - 1, -(2**63)])
    return a, b, c, n, k, drawn.choice([0.0, -0.0, 1.0, 0.5, -2.5, math.nan, math.inf, 1e200])


def results(fn, seed, numbers):
    """Map each number of arguments to the outcome of the call."""
    return {number: outcome(fn, arguments(seed, number)) for number in numbers}


def agrees(wanted, seen):
    """Do two outcomes agree?"""
    alike = same(seen[0][1], wanted[0][1]) if wanted[0][0] == seen[0][0] == "returned" else same(wanted[0], seen[0])
    return alike and wanted[1] == seen[1] and same(wanted[2], seen[2]) and (wanted[3] == seen[3] or wanted[0][0] == "raised")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong = 0
    for seed in range(options.seed, options.seed + options.programs):
        fn, source = program(seed)
        jitted = hovis_xla.jit(fn, target="xla")
        for number, wanted in results(fn, seed, [*range(6), 0]).items():
            seen = outcome(jitted, arguments(seed, number))
            if not agrees(wanted, seen):
                wrong += 1
                print(f"program {seed}, arguments {number}\n{source}wanted {wanted}\ngot {seen}\n")
                break
    print(f"{options.programs} programs, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
