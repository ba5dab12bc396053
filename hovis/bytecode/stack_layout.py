"""Simulation of CPython's stack layout, to remove what the normalised instructions do not have, such as NULLs.

CPython pushes a NULL next to a callable that is not a method (3.11 and 3.12 below it, 3.13 above it).  Here a callable takes
one slot, so every depth in a COPY, a SWAP or the exception table has to be recomputed.  The simulation also tracks which
local slots hold a cell: 3.13 has no LOAD_CLOSURE, its LOAD_FAST on such a slot pushes the cell, and an inlined
comprehension may turn a slot into a cell and back (PEP 709, 3.12).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hovis.bytecode.decode import Raw
from hovis.bytecode.instructions import TERMINAL, effect

#: The contents of a stack position. CELL: taken by TakeLocal from a slot that held a cell; LASTI: the offset that an exception handler is passed;
#: HANDLED: the exception handled before the one that an open handler handles.
NULL, VALUE, CELL, LASTI, HANDLED = 0, 1, 2, 3, 4


class UnknownLayout(Exception):
    """Raised for bytecode that CPython's compiler does not generate."""


@dataclass(slots=True)
class Step:
    """A step of a row, expanded for one instruction; ``target`` and ``handler`` are indexes of other steps, once all steps exist, or -1.

    ``depth`` is the stack depth before it, ``handler_depth`` that at which its handler begins, both without NULLs.
    ``polled`` is the instruction whose handler CPython uses for exceptions that a signal handler raises at this jump back; ``poll`` and
    ``poll_depth`` are the ``handler`` and ``handler_depth`` of that instruction.
    """

    op: str
    arg: Any
    raw: Raw
    target: int = -1
    handler: int = -1
    depth: int = 0
    handler_depth: int = 0
    polled: Raw | None = None
    poll: int = -1
    poll_depth: int = 0


@dataclass(slots=True)
class Layout:
    """The stack before a step, and a bit mask of the local slots that hold cells."""

    stack: tuple[int, ...]
    cells: int

    def height(self, physical: int | None = None) -> int:
        """Return how many of the lowest ``physical`` positions (None: of all) are not NULL."""
        stack = self.stack if physical is None else self.stack[:physical]
        return len(stack) - stack.count(NULL)

    def above(self, depth: int) -> int:
        """Return how many of the highest ``depth`` positions are not NULL."""
        if depth > len(self.stack):
            raise UnknownLayout
        return depth - self.stack[len(self.stack) - depth :].count(NULL)


def simulate(steps: Sequence[Step], free: int) -> list[Layout | None]:
    """Compute the layout before each step, None if it is unreachable. ``free`` is the mask of the free variables."""
    layouts: list[Layout | None] = [None] * len(steps)
    work: list[int] = []

    def arrive(index: int, stack: tuple[int, ...], cells: int) -> None:
        known = layouts[index]
        if known is None:
            layouts[index] = Layout(stack, cells)
        else:
            joined = stack if stack == known.stack else _join(stack, known.stack)
            if joined == known.stack and cells & known.cells == known.cells:
                return
            known.stack, known.cells = joined, cells & known.cells
        work.append(index)

    arrive(0, (), free)
    while work:
        index = work.pop()
        step, layout = steps[index], layouts[index]
        assert layout is not None
        while True:  # along straight-line code
            if step.handler >= 0 and step.op != "PushExc":  # which is covered, but does not raise
                entry = step.raw.entry
                assert entry is not None
                arrive(step.handler, (*layout.stack[: entry.depth], *(LASTI,) * entry.lasti, VALUE), layout.cells)
            stack, cells = _after(step, layout)
            if step.target >= 0:
                arrive(step.target, _ended(stack) if step.op == "ForIter" else stack, cells)
            if step.poll >= 0 and step.polled is not None and step.polled.entry is not None:
                entry = step.polled.entry
                arrive(step.poll, (*stack[: entry.depth], *(LASTI,) * entry.lasti, VALUE), cells)
            if step.op in TERMINAL:
                break
            index += 1
            if layouts[index] is not None:
                arrive(index, stack, cells)
                break
            step = steps[index]
            layout = layouts[index] = Layout(stack, cells)
    return layouts


def _join(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if [x == NULL for x in a] != [x == NULL for x in b]:
        raise UnknownLayout
    return tuple(x if x == y else VALUE for x, y in zip(a, b))


#: Ops whose effect on NULLs or cells is not described by ``effect``.
_SPECIAL = frozenset(
    {"Null", "PushExc", "WithExitExc", "NullUnder", "Pop", "Copy", "Swap", "TakeLocal", "SetLocal", "MakeCell", "Call", "CallEx", "ForIter", "Send",
     "EndSend"}
)  # fmt: skip


def _after(step: Step, layout: Layout) -> tuple[tuple[int, ...], int]:
    """Return the stack and the mask of cells after a step that continues with the next one."""
    op, stack, cells = step.op, layout.stack, layout.cells
    if op not in _SPECIAL:
        pops, pushes = effect(op, step.arg)
        return (_pop(stack, pops) if pops else stack) + (VALUE,) * pushes, cells
    if op == "Null":
        return (*stack, NULL), cells
    if op == "WithExitExc":
        return (*stack, VALUE), cells
    if op == "PushExc":
        return (*_pop(stack, 1), HANDLED, VALUE), cells
    if op == "NullUnder":
        return (*stack[:-1], NULL, *stack[-1:]), cells
    if op == "Pop":
        return stack[:-1], cells
    if op == "ForIter":
        return (*stack, VALUE), cells
    if op == "Send":
        return stack, cells
    if op == "EndSend":
        return (*_without_iterator(stack[:-1]), VALUE), cells
    if op == "Copy":
        return (*stack, stack[-step.arg]), cells
    if op == "Swap":
        low, between, top = stack[-step.arg], stack[len(stack) - step.arg + 1 : -1], stack[-1]
        return (*stack[: -step.arg], top, *between, low), cells
    if op == "TakeLocal":
        bit = 1 << step.arg
        return (*stack, CELL if cells & bit else VALUE), cells & ~bit
    if op == "SetLocal":
        bit = 1 << step.arg
        return _pop(stack, 1), cells | bit if stack[-1] == CELL else cells & ~bit
    if op == "MakeCell":
        return stack, cells | 1 << step.arg
    if op == "CallEx" and stack[-1] == NULL:  # no keyword arguments (3.14)
        stack, count = stack[:-1], 1
    else:
        count = step.arg[0] if op == "Call" else 1 + step.arg
    if stack[len(stack) - count - 2 : len(stack) - count].count(NULL) == 2:
        raise UnknownLayout
    return (*_pop(stack, count)[:-2], VALUE), cells


def _without_iterator(stack: tuple[int, ...]) -> tuple[int, ...]:
    """Return the stack without the iterator on top, and the NULL above it (3.15: an index, if it is a list or tuple that is iterated over)."""
    return stack[:-2] if stack[-1] == NULL else stack[:-1]


def _ended(stack: tuple[int, ...]) -> tuple[int, ...]:
    """Return the stack where a FOR_ITER has ended, from that where it has an item."""
    return _without_iterator(stack[:-1])


def _pop(stack: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the stack without its ``count`` highest values, none of which may be NULL."""
    rest = len(stack) - count
    if rest < 0 or NULL in stack[rest:]:
        raise UnknownLayout
    return stack[:rest]


#: Ops that are changed by NULLs on the stack, or by cells.
_ERASED = frozenset({"Null", "NullUnder", "Pop", "Copy", "Swap", "GetLocal", "Call", "CallEx", "Append", "Extend", "Reraise"})


def erase(step: Step, layout: Layout) -> tuple[str, Any] | None:
    """Return the op and arg of a step on a stack without NULLs, or None if nothing is left of it."""
    op, arg, stack = step.op, step.arg, layout.stack
    if op not in _ERASED:
        return op, arg
    if op in ("Null", "NullUnder"):
        return None
    if op == "Pop":
        return None if stack[-1] == NULL else (op, arg)
    if op == "Copy":
        return None if stack[-arg] == NULL else (op, layout.above(arg))
    if op == "Swap":
        return _erase_swap(arg, layout)
    if op == "GetLocal" and layout.cells >> arg & 1:
        return "CellRef", arg
    if op == "Call":
        total, names = arg
        is_method = stack[len(stack) - total - 2 : len(stack) - total].count(NULL) == 0
        return op, (total - len(names) + is_method, names)
    if op == "CallEx":
        return op, arg and stack[-1] != NULL
    if op in ("Append", "Extend"):
        pops = effect(op, arg)[0]
        return op, (arg[0], layout.above(arg[1] + pops) - pops)
    if op == "Reraise" and arg:
        return op, layout.above(arg + 1) - 1
    return op, arg


def _erase_swap(depth: int, layout: Layout) -> tuple[str, Any] | None:
    low, top = layout.stack[-depth], layout.stack[-1]
    if low != NULL and top != NULL:
        return "Swap", layout.above(depth)
    if layout.above(depth) > 1:
        raise UnknownLayout  # the swap moves a NULL past other values
    return None
