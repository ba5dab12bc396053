"""What random programs are written with, and how they are run: from a text that tracebacks can quote."""
import linecache
import random


def scope_of(source, name, **scope):
    """What a source text defines, beside what it is given."""
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    exec(compile(source, name, "exec"), scope)
    return scope


class Blocks:
    """Lines of statements, in branches and loops; a subclass says what a ``statement``, a ``test`` and a ``result`` are."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []

    def choose(self, *options):
        return self.random.choice(options)

    def block(self, depth, nested, loop, statements=None):
        self.lines.append(" " * depth + "k += 1")
        for _ in range(statements or self.random.randint(1, 3)):
            self.statement(" " * depth, depth, nested, loop)

    def branch(self, pad, depth, nested, loop):
        self.lines.append(f"{pad}if {self.test()}:")
        self.block(depth + 1, nested + 1, loop)
        if self.random.random() < 0.5:
            self.lines.append(pad + "else:")
            self.block(depth + 1, nested + 1, loop)
        elif self.random.random() < 0.4:
            self.lines.append(pad + " " + self.choose(*["break", "continue"] * loop, self.result()))

    def loop(self, pad, depth, nested):
        self.lines.append(f"{pad}for {'ij'[nested]} in range({self.choose('n', '3')}):")
        self.block(depth + 1, nested + 1, True)

    def text(self):
        return "\n".join(self.lines) + "\n"
