"""HTML view of a Trace for notebooks: its text beside the source lines, and a drawing of the control-flow graph.

The layout is simple: the blocks are drawn below each other, in their order.  An edge to the next block is a straight line; other
forward edges run on the right, back edges on the left, in separate lanes, so that no edge hides another.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from hovis.backend.tracebacks import outline
from hovis.ir.model import Block, Branch, Function, Invoke, Jump, Location, Op, Raise, Return, edges
from hovis.ir.printer import Printer
from hovis.ir.quoting import source_line

#: Sizes in the drawing (pixels).
WIDTH: Final = 116
HEIGHT: Final = 34
GAP: Final = 26
LANE: Final = 14
MARGIN: Final = 26

#: Maximal number of characters in the source column.
COLUMNS: Final = 100

_STYLE: Final = (
    "display:flex;gap:1.5em;align-items:flex-start;font-family:monospace;font-size:13px;line-height:1.35;overflow-x:auto"
)
_CELL: Final = "padding:0 1.2em 0 0;text-align:left;vertical-align:top;white-space:pre;border:0;background:none"


def render(functions: Sequence[Function], params: Sequence[Any] | None = None) -> str:
    """Return the HTML of the functions of one trace."""
    drawn = "".join(draw(function) for function in functions if len(function.blocks) > 1)
    left = f'<div style="flex:none">{drawn}</div>' if drawn else ""
    return f'<div class="hovis-trace" style="{_STYLE}">{left}{table(functions, params)}</div>'


# ------------------------------------------------------------------------------------------------- the text


def table(functions: Sequence[Function], params: Sequence[Any] | None = None) -> str:
    """Return the text as an HTML table, each line beside the source line that it comes from."""
    rows, last = [], None
    for shown, text in Printer(list(functions), params).lines():
        chain = outline(_location(shown))[::-1]
        at = chain[0] if chain else None
        source = "" if at is None or (at.file, at.line, chain[1:]) == last else _source(chain)
        last = (at.file, at.line, chain[1:]) if at is not None else last
        rows.append(f'<tr style="background:none"><td style="{_CELL}">{escape(text)}</td>{source or f"""<td style="{_CELL}"></td>"""}</tr>')
    return f'<table style="border-collapse:collapse;margin:0">{"".join(rows)}</table>'


def _location(shown: object) -> Location | None:
    if isinstance(shown, Invoke):
        return shown.op.location
    return shown.location if isinstance(shown, Op | Jump | Branch | Return | Raise) else None


def _source(chain: Sequence[Location]) -> str:
    """Return the table cell with the source line of a location; its tooltip lists the callers."""
    at = chain[0]
    line = source_line(at).strip()
    line = line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…"
    callers = "\n".join(f"{Path(one.file).name}:{one.line}, in {one.function}" for one in chain)
    number = f'<span style="opacity:.5">{escape(at.function)}:{at.line}</span>  '
    return f'<td style="{_CELL};opacity:.75" title="{escape(callers)}">{number}{escape(line)}</td>'


# ------------------------------------------------------------------------------------------------- the graph


def draw(function: Function) -> str:
    """Draw the blocks of a function and the edges between them, as SVG."""
    where = {id(block): k for k, block in enumerate(function.blocks)}
    jumps = [(k, where[id(edge.block)], _label(block, n)) for k, block in enumerate(function.blocks) for n, edge in enumerate(edges(block.terminator))]
    paths = [_straight(source, label) for source, target, label in jumps if target == source + 1]
    margins = []
    for forward in (False, True):  # on the left, on the right
        around = sorted((jump for jump in jumps if jump[1] != jump[0] + 1 and (jump[1] > jump[0]) is forward), key=lambda jump: abs(jump[1] - jump[0]))
        lanes = _lanes([(min(jump[:2]), max(jump[:2])) for jump in around])
        paths += [_around(*jump, lane) for jump, lane in zip(around, lanes, strict=True)]
        margins.append(MARGIN + LANE * (max(lanes, default=0) + 1))
    left, right = margins
    height = len(function.blocks) * (HEIGHT + GAP) - GAP + 4
    boxes = "".join(_box(k, block) for k, block in enumerate(function.blocks))
    title = f"<title>{escape(function.name)}</title>"
    arrow = (
        '<defs><marker id="hovis-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="currentColor" stroke="none"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + left + right}" height="{height}" viewBox="{-left} -2 {WIDTH + left + right} {height}" '
        f'fill="none" stroke="currentColor" font-family="monospace" font-size="11" style="display:block;margin-bottom:1em">'
        f"{title}{arrow}{''.join(paths)}{boxes}</svg>"
    )


def _lanes(spans: Sequence[tuple[int, int]]) -> list[int]:
    """Assign a lane, from 1, to each span of blocks; no two spans in one lane touch."""
    taken: list[list[tuple[int, int]]] = []
    found = []
    for low, high in spans:
        lane = next((k for k, held in enumerate(taken) if all(high < a or low > b for a, b in held)), len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        found.append(lane + 1)
    return found


def _label(block: Block, n: int) -> str:
    """Return the label of the n-th edge of a block: whether the test of a Branch holds, or that an Invoke raises; else empty."""
    if isinstance(block.terminator, Branch):
        return ("true", "false")[n]
    return ("", "error")[n] if isinstance(block.terminator, Invoke) else ""


def _top(k: int) -> int:
    return k * (HEIGHT + GAP)


def _box(k: int, block: Block) -> str:
    count = sum(1 for _ in block.all_ops())
    ends = {Return: ", return", Raise: ", raise"}.get(type(block.terminator), "")
    text = f"{count} op{'' if count == 1 else 's'}{ends}"
    return (
        f'<rect x="0" y="{_top(k)}" width="{WIDTH}" height="{HEIGHT}" rx="4" fill="currentColor" fill-opacity=".06"/>'
        f'<g fill="currentColor" stroke="none"><text x="8" y="{_top(k) + 21}" font-weight="bold">{k + 1}</text>'
        f'<text x="28" y="{_top(k) + 21}">{text}</text></g>'
    )


def _path(points: str, label: str, x: int, y: int, anchor: str) -> str:
    dashes = ' stroke-dasharray="3 3"' if label == "error" else ""
    text = f'<text x="{x}" y="{y}" fill="currentColor" stroke="none" font-size="9" text-anchor="{anchor}">{label}</text>' if label else ""
    return f'<path d="{points}"{dashes} marker-end="url(#hovis-arrow)"/>{text}'


def _straight(source: int, label: str) -> str:
    x, y = WIDTH // 2, _top(source) + HEIGHT
    return _path(f"M{x},{y} V{y + GAP}", label, x + 4, y + GAP // 2 + 3, "start")


def _around(source: int, target: int, label: str, lane: int) -> str:
    forward = target > source
    start, side = (WIDTH, 1) if forward else (0, -1)
    x = start + side * (MARGIN + LANE * lane)
    y0, y1 = _top(source) + HEIGHT - 8, _top(target) + 8
    return _path(f"M{start},{y0} H{x} V{y1} H{start}", label, start + side * 3, y0 - 3, "start" if forward else "end")


__all__ = ["draw", "render", "table"]
