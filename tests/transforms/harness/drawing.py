"""Random programs in the making, by what all of them have in common: lines, and names that hold something."""

import abc
from typing import Any, ClassVar


class Lines(abc.ABC):
    """A program in the making: its lines, and which names of each kind there are.

    KINDS  a letter for each kind of value
    """

    KINDS: ClassVar[str] = ""

    def __init__(self, choose: Any) -> None:
        self.choose = choose
        self.lines: list[str] = []
        self.count = 0
        self.names: dict[str, list[str]] = {kind: [] for kind in self.KINDS}
        self.depth = 1
        self.budget = 0

    def pick(self, items: Any) -> Any:
        return items[self.choose(len(items))]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def new(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def old(self, kind: str) -> list[str]:
        """The names that may be bound anew."""
        return self.names[kind]

    def bind(self, kind: str, text: str) -> str:
        """A new name for what this gives, or an old one anew."""
        old = self.old(kind)
        if old and not self.choose(3):
            name = self.pick(old)
            self.line(f"{name} = {text}")
            return name
        name = self.new(kind)
        self.line(f"{name} = {text}")
        self.names[kind] = [*self.names[kind], name]
        return name

    def block(self, statements: int) -> None:
        """Statements whose new names are gone behind them."""
        kept = dict(self.names)
        self.depth += 1
        before = len(self.lines)
        for _ in range(statements):
            self.statement()
        if len(self.lines) == before:
            self.line("pass")
        self.depth -= 1
        self.names = kept

    @abc.abstractmethod
    def statement(self) -> None:
        """One more statement."""
