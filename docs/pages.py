"""Writes docs/modules.md and docs/passes.md: what is said in docstrings, and what the goldens of the passes show.

    python docs/pages.py
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hovis.passes import PASSES
from hovis_xla.lowering import pipeline

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"


def first_paragraph(text: str | None) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((text or "").partition("\n\n")[0].split()).replace("``", "`").replace("|", "\\|")


def said(path: Path) -> str:
    return first_paragraph(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))))


def sections(package: Path) -> Iterator[str]:
    """The lines about a package, then those about the packages in it."""
    yield from (f"## {'.'.join(package.relative_to(ROOT).parts)}", "", said(package / "__init__.py"), "")
    modules = sorted(path for path in package.glob("*.py") if path.stem != "__init__")
    if modules:
        yield from ("| module | |", "|---|---|", *(f"| `{path.stem}` | {said(path)} |" for path in modules), "")
    for inner in sorted(path for path in package.iterdir() if (path / "__init__.py").exists()):
        yield from sections(inner)


def modules() -> str:
    """The page of packages and modules."""
    head = "# Modules\n\nMade from docstrings by `python docs/pages.py`. What they do together is told in [ARCHITECTURE.md](../ARCHITECTURE.md).\n\n"
    return head + "\n".join([*sections(ROOT / "hovis"), *sections(ROOT / "hovis_xla")]).rstrip() + "\n"


def goldens(name: str) -> dict[str, tuple[str, str]]:
    """What a file of goldens has for each pass: before, and after."""
    texts = (GOLDEN / name).read_text(encoding="utf-8").split("== ")[1:]
    found = {}
    for text in texts:
        head, _, rest = text.partition("\n")
        before, _, after = rest.partition("\n--\n")
        found[head] = before.strip(), after.strip()
    return found


def examples(passes: dict[str, Callable[..., Any]], shown: dict[str, tuple[str, str]]) -> Iterator[str]:
    for name, one in passes.items():
        yield from (f"### {name}", "", first_paragraph(one.__doc__), "")
        if name in shown:
            before, after = shown[name]
            yield from ("<details><summary>before and after</summary>", "", "```", before, "```", "", "```", after, "```", "", "</details>", "")


def passes() -> str:
    """The page of passes."""
    functions, modules_ = goldens("passes.txt"), goldens("modules.txt")
    before = {one.__name__: one for one in (*pipeline.SHAPING, *pipeline.IN_ROUNDS, *pipeline.LEADING)}
    lines = [
        "# Passes", "",
        "Made from docstrings and from the goldens of `tests/golden/` by `python docs/pages.py`. `HOVIS_VERIFY=1` runs the verifier after every pass,",
        "`HOVIS_PRINT_AFTER=gvn,dce` (or `all`) prints what passes change, `trace.passes(\"default\")` runs a pipeline,",
        "`trace.passes([\"gvn\", \"dce\"])` these.", "",
        "## Functions", "", *examples(dict(PASSES), functions),
        "## Functions, on their way to XLA", "", "`trace.passes(\"xla-loops\")`, or `--stage=xla-loops` of the command line.", "", *examples(before, functions),
        "## Modules of StableHLO", "", *examples({one.__name__: one for one in pipeline.OF_MODULES}, modules_),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


PAGES = {"modules.md": modules, "passes.md": passes}

if __name__ == "__main__":
    for page, text in PAGES.items():
        (ROOT / "docs" / page).write_text(text(), encoding="utf-8")
