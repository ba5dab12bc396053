"""Branches that were decided while tracing, and the reads of the environment that decided them."""

import builtins
import enum
from collections.abc import Iterable
from typing import Any, Final

from hovis.bytecode.instructions import Code, effect
from hovis.ir.operations import UNBOUND
from hovis.lattice.constants import PLAIN

#: Number of the latest reads of the environment that are remembered until a branch is decided.
RECENT: Final = 32
#: Classes of flags; instances of their subclasses count as flags as well.
_FLAGS: Final = (bool, int, float, str, enum.Enum)
#: Kinds of guards of whole containers (see guards.Guard), and of single parts.
_WHOLE: Final = ("items", "dict")
_PARTS: Final = ("item", "attribute", "index", "slot", "cell", "class")


def may_be_told(kind: str, holder: Any, name: Any, value: Any) -> bool:
    """Might the value that was read tell a loop to end? This holds for a plain value, for the whole contents of a container, and for an item
    that is missing (yet).
    """
    if kind in ("item", "attribute") and value is UNBOUND:
        return not (kind == "item" and "__builtins__" in holder and name in vars(builtins))    # the name of a builtin is looked for in the module first
    if kind == "class":
        value = value[-1][1] if value else UNBOUND
    return kind in _WHOLE or (kind in _PARTS and (type(value) in PLAIN or issubclass(type(value), _FLAGS)))


class Folded:
    """A branch that was decided while tracing: its place (``code``, ``pc``), the target not taken (``other``), the labels of its condition, and
    the reads that decided it (``told``).
    """

    __slots__ = ("code", "labels", "other", "pc", "told")

    def __init__(self, code: Code, pc: int, other: int, labels: Any, told: tuple[Any, ...]) -> None:
        self.code, self.pc, self.other, self.labels, self.told = code, pc, other, labels, told

    def leaves(self, sometimes: bool) -> bool:
        """Would the target not taken leave the loop that contains the branch (sometimes: perhaps, in this iteration or a later one)?

        A ``for`` loop is assumed to end when its iterator is exhausted, unless sometimes is true: then the iterator may be endless.
        """
        loop = self._loop()
        if not loop or (self.code.instructions[min(loop)].op == "ForIter" and not sometimes):
            return False
        if self.other in loop and sometimes:
            return not _reached([self.other], lambda at: self.code.successors[at] if at in loop else ()) <= loop
        return self.other not in loop

    def assigns(self) -> bool:
        """Would the target not taken, and it alone, assign a variable that an exit test of the loop reads?"""
        code, loop = self.code, self._loop()
        heads, follow = code.loop_heads, code.successors

        def side(first: int) -> set[int]:
            return _reached([first], lambda at: [to for to in follow[at] if to not in heads] if at in loop and at not in heads else ()) & loop

        alone = side(self.other).difference(*(side(to) for to in follow[self.pc] if to != self.other))
        assigned = {code.instructions[at].arg for at in alone if code.instructions[at].op == "SetLocal"}
        tests = [at for at in loop if code.instructions[at].op == "Branch" and not loop.issuperset(follow[at])]
        return bool(assigned) and any(
            instruction.op == "GetLocal" and instruction.arg in assigned for at in tests for instruction in code.instructions[begins(code, at) : at]
        )

    def _loop(self) -> set[int]:
        """Return the instructions of the loop around the branch: those that lead to it and that it leads to; empty if it is in no loop."""
        follow = self.code.successors
        behind = _reached([self.pc], lambda at: follow[at])
        before: dict[int, list[int]] = {}
        for at in behind:
            for to in follow[at]:
                before.setdefault(to, []).append(at)
        found = _reached(before.get(self.pc, ()), lambda at: before.get(at, ()))
        return found & behind | {self.pc} if found else set()


def _reached(first: Iterable[int], follow: Any) -> set[int]:
    seen = set(first)
    todo = list(seen)
    while todo:
        for to in follow(todo.pop()):
            if to not in seen:
                seen.add(to)
                todo.append(to)
    return seen


def begins(code: Code, branch: int) -> int:
    """Return the index of the instruction where the computation of a branch's condition begins."""
    at, missing = branch, 1
    while at and missing > 0:
        at -= 1
        instruction = code.instructions[at]
        if instruction.op in ("Branch", "Jump", "ForIter", "Return", "Raise", "Reraise"):
            return at + 1
        pops, pushes = effect(instruction.op, instruction.arg)
        missing += pops - pushes
    return at
