"""Random programs over Python's built-in types: numbers that change their class, None, strings, tuples, lists, exceptions, loops."""
import math
import random

from tests.xla.harness.random_blocks import scope_of

HEAD = "import math\nimport numpy as np\nTABLE = (3, 1.5, 'mid', None, 2)\nNUMBERS = [0.5, -2.0, 4.0]\n\n\n"
NUMBERS = ["0", "1", "-1", "2", "7", "0.5", "-1.5", "0.0", "True", "2**40", "1e300", "math.nan", "-0.0"]
THINGS = ["None", "'a'", "'bc'", "(1, 2.5)", "()", "None", "int"]
BINARY = ["+", "-", "*", "/", "//", "%", "**"]
COMPARE = ["<", "<=", ">", ">=", "==", "!=", "is", "is not"]
ERRORS = ["ZeroDivisionError", "IndexError", "ValueError", "OverflowError", "ArithmeticError", "TypeError", "(KeyError, ValueError)", "Exception"]


class Writer:
    """Writes one function of n (an int), x (a float) and v (an array)."""

    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.lines = []
        self.fuel = 34

    def text(self):
        self.emit(0, "def program(n, x, v):")
        self.emit(1, "a, b, c, d, e = n, x, 0, None, 'none'")
        self.emit(1, "for _ in range(1):" if self.rnd.random() < 0.2 else "if True:")
        self.body(2, ["a", "b", "c", "n", "x"], False)
        self.emit(1, "return a, b, c, d, e")
        return HEAD + "\n".join(self.lines) + "\n"

    def emit(self, depth, line):
        self.lines.append("    " * depth + line)

    def choose(self, *options):
        return self.rnd.choice(options)

    def thing(self, names):
        """Draw a value of any kind; only its type, identity and truth should be tested."""
        kind = self.rnd.random()
        if kind < 0.35:
            return self.rnd.choice(THINGS)
        if kind < 0.6:
            return self.choose("d", "e")
        if kind < 0.75:
            return f"({self.atom(names)}, {self.atom(names)})"
        return f"TABLE[{self.choose('n % 5', 'n % 3', 'n')}]" if kind < 0.85 else self.expression(names)

    def atom(self, names):
        kind = self.rnd.random()
        if kind < 0.02:
            return self.thing(names)
        if kind < 0.62:
            return self.rnd.choice(names)
        if kind < 0.72:
            return f"v[{self.rnd.choice(names)}]" if self.rnd.random() < 0.3 else self.choose("v[0]", "v[n % 3]", "v[-1]")
        return self.rnd.choice(NUMBERS)

    def expression(self, names, depth=2):
        kind = self.rnd.random()
        if depth == 0 or kind < 0.25:
            return self.atom(names)
        a, b = (self.expression(names, depth - 1) for _ in range(2))
        if kind < 0.55:
            return f"({a} {self.rnd.choice(BINARY[:6] if self.rnd.random() < 0.93 else BINARY)} {b})"
        if kind < 0.62:
            return f"({a} if {self.condition(names)} else {b})"
        if kind < 0.67:
            return f"({a} {self.choose('and', 'or')} {b})"
        if kind < 0.74:
            return f"{self.choose('NUMBERS', 'v')}[{self.choose('int(' + a + ')', 'n % 3', 'n % 5', 'n')}]"
        if kind < 0.78:
            return f"{self.choose('min', 'max')}({a}, {b})"
        return self.call(a)

    def call(self, a):
        return self.choose(f"abs({a})", f"int({a})", f"float({a})", f"math.sqrt({a})", f"-{a}", f"round({a}, 1)", f"round({a})", f"bool({a})",
                           f"isinstance({a}, float)", f"math.floor({a})", f"divmod({a}, 3)[1]", f"sorted(({a}, 1, 0.5))[1]", f"math.exp({a})")  # fmt: skip

    def condition(self, names):
        kind = self.rnd.random()
        a, b = self.atom(names), self.atom(names)
        if kind < 0.55:
            return f"{a} {self.rnd.choice(COMPARE[:6])} {b}"
        if kind < 0.7:
            return f"{self.choose('d', 'e')} {self.choose('is', 'is not')} None"
        if kind < 0.75:
            return self.choose(*names, "d", "e")
        if kind < 0.82:
            return f"{self.choose('d', 'e')} {self.choose('==', '!=')} {self.rnd.choice(THINGS)}"
        if kind < 0.9:
            return f"isinstance({self.choose('d', 'e', a)}, {self.choose('int', 'float', 'str', 'tuple', '(int, float)')})"
        return f"{a} in ({self.atom(names)}, 1, {self.rnd.choice(NUMBERS)})"

    def body(self, depth, names, inside):
        for _ in range(1 + self.rnd.randrange(3)):
            self.statement(depth, names, inside)

    def statement(self, depth, names, inside):
        self.fuel -= 1
        kind = self.rnd.random()
        if self.fuel < 0 or depth > 5 or kind < 0.45:
            self.assign(depth, names)
        elif kind < 0.6:
            self.emit(depth, f"if {self.condition(names)}:")
            self.body(depth + 1, names, inside)
            if self.rnd.random() < 0.6:
                self.emit(depth, "else:")
                self.body(depth + 1, names, inside)
        elif kind < 0.76:
            self.loop(depth, names)
        elif kind < 0.88:
            self.attempt(depth, names, inside)
        elif inside and kind < 0.94:
            self.emit(depth, f"if {self.condition(names)}:")
            self.emit(depth + 1, self.choose("break", "continue", "break"))
        else:
            self.emit(depth, f"if {self.condition(names)}:")
            self.emit(depth + 1, f"return {self.thing(names)}, {self.expression(names)}")

    def assign(self, depth, names):
        target = self.choose("a", "b", "c")
        if self.rnd.random() < 0.25:
            self.emit(depth, f"{self.choose('d', 'e')} = {self.thing(names)}")
        elif self.rnd.random() < 0.25:
            self.emit(depth, f"{target} {self.choose('+', '-', '*')}= {self.expression(names, 1)}")
        elif self.rnd.random() < 0.1:
            self.emit(depth, f"{target}, {self.choose('a', 'b', 'c')} = {self.expression(names, 1)}, {self.expression(names, 1)}")
        else:
            self.emit(depth, f"{target} = {self.expression(names)}")

    def loop(self, depth, names):
        counter = f"k{depth}"
        if self.rnd.random() < 0.75:
            bound = self.choose("n", "3", "n % 4", "len(v)", "2, n", "n, 0, -1")
            self.emit(depth, f"for {counter} in range({bound}):" if self.rnd.random() < 0.8 else f"for {counter} in v:")
        else:
            self.emit(depth, f"{counter} = 0")
            self.emit(depth, f"while {counter} < 5 and {self.condition(names)}:")
            self.emit(depth + 1, f"{counter} += 1")
        self.body(depth + 1, [*names, counter], True)
        if self.rnd.random() < 0.3:
            self.emit(depth, "else:")
            self.body(depth + 1, names, False)

    def attempt(self, depth, names, inside):
        self.emit(depth, "try:")
        self.body(depth + 1, names, inside)
        if self.rnd.random() < 0.2:
            self.emit(depth + 1, f"if {self.condition(names)}:")
            self.emit(depth + 2, f"raise {self.choose('ValueError', 'KeyError', 'RuntimeError')}('here')")
        for error in self.rnd.sample(ERRORS, 1 + self.rnd.randrange(2)):
            self.emit(depth, f"except {error}:")
            self.body(depth + 1, names, inside)
        if self.rnd.random() < 0.15:
            self.emit(depth, "finally:")
            self.assign(depth + 1, names)


def program(seed):
    """Return (function, source) for a seed."""
    source = Writer(seed).text()
    return scope_of(source, f"<random program {seed}>")["program"], source


ARGUMENTS = [(0, 0.5), (3, -1.5), (1, 0.0), (5, 2.0), (7, -0.25), (2, math.inf)]
