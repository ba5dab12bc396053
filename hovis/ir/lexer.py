"""Lexer for the text form of the IR, one line at a time."""

import ast
import re
from typing import Final

from hovis.base import own_code
from hovis.errors import ParseError

own_code.leave_as_calls(__file__)

# possessive quantifiers: a long text that turns out not to be a number is scanned only once, without backtracking
_REAL = r"(?>[0-9]++\.?+[0-9]*+(?:e[+-]?[0-9]++)?+|inf|nan)"
_NUMBER = rf"(?:0x[0-9a-f]++|{_REAL}(?![\w.]))"
_IMAGINARY = rf"{_REAL}j(?!\w)"
#: The escapes that ``repr`` writes.
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

#: Maximal nesting depth of constants and types.
DEEPEST: Final = 100


def _short(message: str) -> str:
    return message if len(message) <= 300 else f"{message[:150]} … {message[-150:]}"


def literal(kind: str, text: str) -> object:
    """Return the value of a string or number token."""
    if kind == "string":
        return ast.literal_eval(text)
    if kind == "complex":
        return complex(text)
    return float(text) if re.search(r"[.en]", text) and "0x" not in text else int(text, 0)


class Line:
    """The tokens of a line, read from left to right."""

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
        """Enter one more nesting level of a constant or a type; ParseError if there are too many."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error("constants or types are nested too deep")

    def peek(self, ahead: int = 0) -> str:
        """Return the next token, or an empty string at the end of the line."""
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
        """Consume these tokens if they come next; return whether they did."""
        if all(self.peek(k) == text for k, text in enumerate(texts)):
            self.at += len(texts)
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise self.error(f"{text!r} expected, not {self.peek()!r}")

    def error(self, message: str) -> ParseError:
        return ParseError(f"{_short(message)} in {self.text[:200]!r}")
