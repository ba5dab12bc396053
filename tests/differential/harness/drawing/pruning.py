"""Remove the parts of a prelude that a program does not use, so that it is shorter to read and faster to run."""
from __future__ import annotations

import ast
import functools
import re

_WORD = re.compile(r"[A-Za-z_]\w*")


@functools.cache
def _pieces(prelude: str) -> tuple[tuple[frozenset[str], str, frozenset[str]], ...]:
    """Split the prelude into statements: the names bound, the text, and the words of each."""
    lines = prelude.splitlines(keepends=True)
    found = []
    for node in ast.parse(prelude).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        text = "".join(lines[first - 1:node.end_lineno])
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound = {node.name} if node.name != "_" else set(_WORD.findall(text.splitlines()[0]))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                found.append((frozenset({alias.name}), f"import {alias.name}\n", frozenset({alias.name})))
            continue
        else:
            bound = {target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)}
        found.append((frozenset(bound), text, frozenset(_WORD.findall(text))))
    return tuple(found)


def pruned(prelude: str, rest: str) -> str:
    """Return the statements of the prelude that `rest` needs, directly or indirectly."""
    pieces = _pieces(prelude)
    words = set(_WORD.findall(rest))
    kept: set[int] = set()
    grown = True
    while grown:
        grown = False
        for k, (bound, _, used) in enumerate(pieces):
            if k not in kept and not words.isdisjoint(bound):
                kept.add(k)
                words |= used
                grown = True
    return "".join(text if text.startswith("import") else text + "\n\n" for k, (_, text, _) in enumerate(pieces) if k in kept)
