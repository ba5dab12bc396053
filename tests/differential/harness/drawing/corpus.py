"""The corpus: small handwritten functions, each with some calls."""
from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "corpus"


def calls(*arguments: str) -> Callable[[Any], Any]:
    """Declare the arguments of example calls of the decorated function, each call as text."""
    return lambda fn: fn


@dataclass
class Sample:
    function: ast.FunctionDef       # without its decorator
    calls: list[list[str]]          # the arguments of each
    around: str                     # the rest of its file, which it may need

    @property
    def parameters(self) -> list[str]:
        return [a.arg for a in self.function.args.args]


@functools.cache
def samples() -> tuple[Sample, ...]:
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        mine = [n for n in tree.body if isinstance(n, ast.FunctionDef) and any(isinstance(d, ast.Call) and getattr(d.func, "id", "") == "calls" for d in n.decorator_list)]
        rest = [n for n in tree.body if n not in mine and not isinstance(n, ast.ImportFrom) and not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
        around = "\n\n\n".join(ast.unparse(n) for n in rest) + "\n\n\n"
        for node in mine:
            texts = [ast.literal_eval(a) for a in node.decorator_list[0].args]       # type: ignore[attr-defined]
            node.decorator_list = []
            found.append(Sample(node, [[ast.unparse(e) for e in ast.parse(f"({text},)").body[0].value.elts] for text in texts], around))       # type: ignore[attr-defined]
    return tuple(found)
