"""The tokens of a text of the IR: a line, read one after the other."""

import ast
import re
from typing import Final

from hovis.base import own_code
from hovis.errors import ParseError

own_code.leave_as_calls(__file__)

# possessive, so that what goes on for long and is no number after all is gone over once
_REAL = r"(?>[0-9]++\.?+[0-9]*+(?:e[+-]?[0-9]++)?+|inf|nan)"
_NUMBER = rf"(?:0x[0-9a-f]++|{_REAL}(?![\w.]))"
_IMAGINARY = rf"{_REAL}j(?!\w)"
#: What ``repr`` writes.
_ESCAPE = r"\\(?:[\\'\"ntr]|x[0-9a-f]{2}|u[0-9a-f]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4})"
_TOKENS: Final = re.compile(
    rf"""
      (?P<space>\s+)
    | (?P<comment>\#\s.*)
    | (?P<string>b?'(?:[^'\\]++|{_ESCAPE})*+'|b?"(?:[^"\\]++|{_ESCAPE})*+")
    | (?P<complex>\(-?{_NUMBER}[+-]{_IMAGINARY}\)|-?{_IMAGINARY})
    | (?P<number>-?{_NUMBER})
    | (?P<symbol>\((?:is\ not|is|[-+*/%@<>=!&|^]++)\))
    | (?P<value>%err|%[0-9]++)
    | (?P<object>\#[0-9]++)
    | (?P<name>[\w.<>]+)
    | (?P<mark>::|[()\[\]{{}},:=!|?…])
    """,
    re.VERBOSE,
)

#: How deep constants and types may be nested.
DEEPEST: Final = 100


def _short(message: str) -> str:
    return message if len(message) <= 300 else f"{message[:150]} … {message[-150:]}"


def literal(kind: str, text: str) -> object:
    """A text in quotes, or a number."""
    if kind == "string":
        return ast.literal_eval(text)
    if kind == "complex":
        return complex(text)
    return float(text) if re.search(r"[.en]", text) and "0x" not in text else int(text, 0)


class Line:
    """The tokens of a line, read one after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            match = _TOKENS.match(text, at)
            if match is None or match.lastgroup is None:
                raise ParseError(f"{text[at:at + 40]!r} is not understood in {text[:200]!r}")
            if match.lastgroup not in ("space", "comment"):
                self.tokens.append((match.lastgroup, match[0]))
            at = match.end()
        self.at = 0
        self.depth = 0

    def deeper(self) -> None:
        """One level down in a constant or a type."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error("constants or types are nested too deep")

    def peek(self, ahead: int = 0) -> str:
        """The next token, empty at the end."""
        at = self.at + ahead
        return self.tokens[at][1] if at < len(self.tokens) else ""

    def kind(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at][0] if at < len(self.tokens) else "end"

    def next(self) -> str:
        text = self.peek()
        self.at += 1
        return text

    def take(self, *texts: str) -> bool:
        """Step over these tokens, if they come next."""
        if all(self.peek(k) == text for k, text in enumerate(texts)):
            self.at += len(texts)
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise self.error(f"{text!r} expected, not {self.peek()!r}")

    def error(self, message: str) -> ParseError:
        return ParseError(f"{_short(message)} in {self.text[:200]!r}")
