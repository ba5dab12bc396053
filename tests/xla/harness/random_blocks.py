"""The basis of random programs: a writer of blocks of statements, and execution of a source text that tracebacks can quote."""
import linecache
import random


def scope_of(source, name, **scope):
    """Execute a source text in the given scope; return the scope."""
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    exec(compile(source, name, "exec"), scope)
    return scope


class Blocks:
    """Writes lines of statements, in branches and loops; a subclass defines ``statement``, ``test`` and ``result``."""

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
