"""Snippets of Python with holes: the language in which themes are written.

    $int $str $list …       an expression of that kind         $cond       a test
    $:list                  a variable of that kind            $:name      any variable
    $[a | b | c]            one of these texts                 $n          a small number
    $block                  statements, on a line of its own; $body in a function of the snippet, $yields in a generator of it
    name_                   a new name for each use of the snippet; i_ s_ l_ d_ t_ f_ (also numbered, l2_) bind an int, str, list,
                            dict, tuple, float if a line of the snippet that is not indented assigns them

A blank line ends a snippet.
"""
from __future__ import annotations

import functools
import re
from typing import Any

KIND = {"i": "int", "s": "str", "l": "list", "d": "dict", "t": "tuple", "f": "float", "b": "bool"}
_NEW = re.compile(r"(?<![\w.])([A-Za-z]\w*_)(?!\w)|(?<=\.)([A-Za-z]\w*_)(?!\w)")
_BOUND = re.compile(r"^((?:[a-z]\d?_, \*?)*[a-z]\d?_)(?: = |: | \+= )", re.M)
_INSIDE = re.compile(r"(except|else|elif|finally|case|return|def|class|@)")      # no statement can be inserted before it
_HOLE = re.compile(r"\$(\[|:?[a-z]+)")


@functools.cache
def snippets(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\n") for part in re.split(r"\n\s*\n", text) if part.strip())


def _closing(text: str, start: int) -> int:
    """Return the position of the bracket that closes the one opened before start."""
    depth, quote = 1, ""
    for k in range(start, len(text)):
        c = text[k]
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "[({":
            depth += 1
        elif c in "])}":
            depth -= 1
            if not depth:
                return k
    raise ValueError(text)


def _alternatives(text: str) -> list[str]:
    found, depth, quote, start = [], 0, "", 0
    for k, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "[({":
            depth += 1
        elif c in "])}":
            depth -= 1
        elif text.startswith(" | ", k) and not depth:
            found.append(text[start:k])
            start = k + 3
    return [*found, text[start:]]


def fill(writer: Any, text: str, depth: int = 1) -> str:
    """Fill the holes of a line; statements that a hole needs may be written before the line."""
    out, at = [], 0
    while hole := _HOLE.search(text, at):
        out.append(text[at:hole.start()])
        at, word = hole.end(), hole.group(1)
        if word == "[":
            end = _closing(text, at)
            out.append(fill(writer, writer.pick(_alternatives(text[at:end])), depth))
            at = end + 1
        elif word == "n":
            out.append(str(writer.number(0, 4)))
        elif word in ("name", ":name"):
            out.append(writer.variable() or "0")
        elif word == "cond":
            out.append(writer.condition(depth))
        elif word.startswith(":"):
            out.append(writer.variable(word[1:]) or (writer.expression(word[1:], depth) if depth < 1 or _INSIDE.match(text) else writer.made(word[1:])))
        else:
            out.append(writer.expression(word, depth))
    out.append(text[at:])
    return "".join(out)


def rename(text: str, number: int) -> str:
    return _NEW.sub(lambda m: f"{(m.group(1) or m.group(2))[:-1]}{number}", text)


def write(writer: Any, snippet: str) -> None:
    """Write the lines of a snippet at the writer's current position."""
    number = next(writer.fresh)
    bound = [name for line in _BOUND.findall(snippet) for name in re.findall(r"[a-z]\d?_", line)]
    loops, generator, scope = writer.loops, writer.in_generator, dict(writer.scope)
    floor = writer.depth
    for line in snippet.splitlines():
        text = line.lstrip()
        inner = floor + (len(line) - len(text)) // 4
        if text in ("$block", "$body", "$yields"):
            writer.depth, writer.loops, writer.in_generator = inner - 1, loops if text == "$block" else 0, text == "$yields" or (generator and text == "$block")
            before = dict(writer.scope)
            writer.block(2)
            writer.loops, writer.in_generator = loops, generator
            writer.scope = {n: k for n, k in before.items() if n in writer.scope or text != "$block"}
        else:
            writer.depth = inner
            text = fill(writer, text)
            writer.put(rename(text, number))
        writer.depth = floor
    writer.scope = {n: k for n, k in scope.items() if n in writer.scope}
    for name in bound:
        writer.bind(f"{name[:-1]}{number}", KIND.get(name[0], "int"))
