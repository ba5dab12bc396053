"""Generate docs/modules.md, docs/passes.md, docs/tuning.md and the figure in ARCHITECTURE.md from docstrings, comments, imports and golden texts.

    python docs/pages.py
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx

from hovis.passes import PASSES
from hovis_xla.lowering import pipeline

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"


def first_paragraph(text: str | None) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join((text or "").partition("\n\n")[0].split()).replace("``", "`").replace("|", "\\|")


def said(path: Path) -> str:
    return first_paragraph(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))))


def sections(package: Path) -> Iterator[str]:
    """Yield the lines about a package, followed by the lines about its subpackages."""
    yield from (f"## {'.'.join(package.relative_to(ROOT).parts)}", "", said(package / "__init__.py"), "")
    modules = sorted(path for path in package.glob("*.py") if path.stem != "__init__")
    if modules:
        yield from ("| module | |", "|---|---|", *(f"| `{path.stem}` | {said(path)} |" for path in modules), "")
    for inner in sorted(path for path in package.iterdir() if (path / "__init__.py").exists()):
        yield from sections(inner)


def modules() -> str:
    """Return the text of docs/modules.md, the page of packages and modules."""
    head = "# Modules\n\nMade from docstrings by `python docs/pages.py`. What they do together is told in [ARCHITECTURE.md](../ARCHITECTURE.md).\n\n"
    return head + "\n".join([*sections(ROOT / "hovis"), *sections(ROOT / "hovis_xla")]).rstrip() + "\n"


def goldens(name: str) -> dict[str, tuple[str, str]]:
    """Read a file of golden texts: for each pass, the text before and the text after it."""
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
    """Return the text of docs/passes.md, the page of passes."""
    functions, modules_ = goldens("passes.txt"), goldens("modules.txt")
    before = {one.__name__: one for one in (*pipeline.SHAPING, *pipeline.IN_ROUNDS, *pipeline.LEADING)}
    lines = [
        "# Passes", "",
        "Made of docstrings and goldens of `tests/golden/` by `docs/pages.py`. `HOVIS_VERIFY=1` runs the verifier after every pass that changes something,",
        "`HOVIS_PRINT_AFTER=gvn,dce` (or `all`) prints what passes change, `trace.passes(\"default\")` runs a pipeline,",
        "`trace.passes([\"gvn\", \"dce\"])` these.", "",
        "## Functions", "", *examples(dict(PASSES), functions),
        "## Functions, on their way to XLA", "", "`trace.passes(\"xla-loops\")`, or `--stage=xla-loops` of the command line.", "", *examples(before, functions),
        "## Modules of StableHLO", "", *examples({one.__name__: one for one in pipeline.OF_MODULES}, modules_),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


# ------------------------------------------------------------------------------------------------- numbers


def is_number(value: ast.expr) -> bool:
    """Does an expression consist of numeric literals only?"""
    match value:
        case ast.Constant(number):
            return type(number) in (int, float)
        case ast.BinOp(left, _, right):
            return is_number(left) and is_number(right)
        case ast.UnaryOp(_, operand):
            return is_number(operand)
    return False


def numbers(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the numeric constants of a module: name, value and the comment above; constants on the lines directly below share the comment."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    reason, last = "", 0
    for node in ast.parse(text).body:
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(target, ast.Name):
            continue
        above = node.lineno - 1
        while lines[above - 1].startswith("#:"):
            above -= 1
        if above < node.lineno - 1 or node.lineno != last + 1:
            reason = " ".join(line.removeprefix("#:").strip() for line in lines[above : node.lineno - 1])
        last = node.end_lineno or node.lineno
        if target.id.strip("_").isupper() and node.value is not None and is_number(node.value):
            yield target.id, ast.unparse(node.value), reason.replace("``", "`").replace("|", "\\|")


def tuning() -> str:
    """Return the text of docs/tuning.md, the page of numeric constants."""
    lines = [
        "# Numbers", "",
        "Every number that hovis decides by, with its reason: bounds that keep tracing and compiling short, measured costs, limits of other software.",
        "Made from the comments in the modules by `python docs/pages.py`. A constant without a line of its own shares that of the one above it.",
        "Those of the engine hang on `benchmarks/trace.py`, `benchmarks/tracing.py` and `benchmarks/libraries/run.py`, those of `hovis.jit` on",
        "`benchmarks/dispatch.py`, those of `hovis_xla` on `benchmarks/xla.py` and `benchmarks/grad.py`: who changes one runs these before and after.", "",
    ]  # fmt: skip
    for package in ("hovis", "hovis_xla"):
        lines += [f"## {package}", "", "| module | constant | value | reason |", "|---|---|---|---|"]
        for path in sorted((ROOT / package).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT / package).with_suffix("").parts)
            lines += [f"| `{module}` | `{name}` | {value} | {reason} |" for name, value, reason in numbers(path)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


# ------------------------------------------------------------------------------------------------- the figure


def folder(module: str) -> str | None:
    """Return the package that stands for a module in the figure, or None if there is none."""
    parts = module.split(".")
    if parts[0] not in ("hovis", "hovis_xla") or len(parts) < 2:
        return None
    depth = 3 if parts[:2] == ["hovis", "library"] else 2
    path = ROOT.joinpath(*parts[:depth])
    return ".".join(parts[:depth]) if path.is_dir() else None


def imports() -> networkx.DiGraph:
    """Build the transitive reduction of the import graph of the packages."""
    graph = networkx.DiGraph()
    for package in ("hovis", "hovis_xla"):
        for path in (ROOT / package).rglob("*.py"):
            here = folder(".".join(path.relative_to(ROOT).with_suffix("").parts))
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
                names = [f"{node.module}.{one.name}" for one in node.names] + names if names else names
                there = {folder(name) for name in names} - {None, here}
                if here is not None and path.stem != "__init__":
                    graph.add_edges_from((here, one) for one in there)
    graph.remove_edges_from([(a, b) for a, b in graph.edges if networkx.has_path(graph, b, a)])
    return networkx.transitive_reduction(graph)


def figure() -> str:
    """Return the graph of packages in Mermaid syntax."""
    graph = imports()
    lines = ["```mermaid", "flowchart TD"]
    lines += [f"    {a.replace('.', '_')}[{a}] --> {b.replace('.', '_')}[{b}]" for a, b in sorted(graph.edges)]
    return "\n".join([*lines, "```"])


BEGIN, END = "<!-- made by docs/pages.py -->\n", "<!-- end -->\n"


def architecture() -> str:
    """Return the text of ARCHITECTURE.md with a new figure."""
    before, _, rest = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition(BEGIN)
    return before + BEGIN + figure() + "\n" + END + rest.partition(END)[2]


PAGES = {"modules.md": modules, "passes.md": passes, "tuning.md": tuning, "../ARCHITECTURE.md": architecture}

if __name__ == "__main__":
    for page, text in PAGES.items():
        (ROOT / "docs" / page).write_text(text(), encoding="utf-8")
