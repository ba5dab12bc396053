"""What a trace may assume, since the residual can be left for the original code."""

import functools
import operator
from collections.abc import Sequence
from types import CodeType
from typing import Any, Final

from hovis.bytecode.instructions import Code
from hovis.bytecode.profile import Profile, leads_to_exception
from hovis.engine.speculation.examples import Examples
from hovis.engine.speculation.type_feedback import Feedback, Seen
from hovis.engine.state.frames_and_heap import Frame
from hovis.ir.model import Op
from hovis.ir.operations import PACKAGE
from hovis.lattice import Const, Type

#: Instructions that make a path expensive to trace.
_CALLS: Final = frozenset({"Call", "CallEx"})
#: After so many refuted assumptions, the path that the examples take is not assumed to be that of other calls.
SURPRISING: Final = 3


class Assumptions:
    """Values are of the classes of their examples; what CPython has not executed yet is not reached, nor is an expensive path that the examples do
    not take.

    refuted: the instructions, by code and offset, where residuals were left too often: nothing is assumed there.
    """

    __slots__ = ("examples", "feedback", "profile", "refuted")

    def __init__(self, examples: Examples, refuted: frozenset[tuple[CodeType, int]], feedback: Feedback | None = None) -> None:
        self.examples = examples
        self.refuted = refuted
        self.feedback = feedback
        self.profile = Profile()

    def seen(self, frames: Sequence[Frame]) -> Seen | None:
        """Return what was seen of the instruction at which the innermost frame stands. (The code of hovis models C code.)"""
        if self.feedback is None or frames[-1].code.filename.startswith(PACKAGE):
            return None
        return self._seen(frames, frames[-1].pc)

    def _seen(self, frames: Sequence[Frame], pc: int) -> Seen | None:
        assert self.feedback is not None
        calls = [(one.code.code, one.code.instructions[one.pc].offset) for one in frames[:-1] if not one.code.filename.startswith(PACKAGE)]
        code = frames[-1].code
        return self.feedback.seen([*calls, (code.code, code.instructions[pc].offset)])

    def is_cold(self, frames: Sequence[Frame], pc: int) -> bool:
        """Is it assumed that the instruction pc of the innermost frame is not reached?"""
        code = frames[-1].code
        if code.filename.startswith(PACKAGE) or (code.code, code.instructions[pc].offset) in self.refuted:
            return False
        if self.feedback is not None and (raising := leads_to_exception(code, pc)) is not None:
            return self._seen(frames, raising) is None
        return self.profile.is_cold(code, pc)

    def decides(self, cond: Any, code: Code, true: int, false: int) -> bool | None:
        """Return the side that a branch is assumed to take: that of the examples, if it is asked how the data are built, or if the other one makes calls
        before both meet; None: any.
        """
        if len(self.refuted) >= SURPRISING:
            return None
        told = self.examples.of(cond)
        if type(told) is not bool or self.examples.varies(cond):
            return None
        other = false if told else true
        if (code.code, code.instructions[other].offset) in self.refuted:
            return None
        return told if _asks_for_structure(cond) or _calls(code, other, code.meet(true, false)) else None


def _asks_for_structure(cond: Any) -> bool:
    """Does a condition ask whether there is a certain key, whether there are any, of what class something is, or whether it is None?"""
    op = getattr(cond, "value", cond)
    if not isinstance(op, Op) or not op.args:
        return False
    if op.callee is operator.not_:
        return _asks_for_structure(op.args[0])
    if op.callee is bool:
        return getattr(op.args[0], "type", None) in _CONTAINERS
    return any(op.callee is one for one in _STRUCTURAL) and isinstance(op.args[-1], Const)


#: Conditions that tell how data are built, if their last argument is known.
_STRUCTURAL: Final = (operator.contains, operator.is_, operator.is_not, isinstance, hasattr)
_CONTAINERS: Final = tuple(map(Type, (dict, list, tuple, set, frozenset)))


@functools.lru_cache(maxsize=4096)
def _calls(code: Code, start: int, end: int | None) -> bool:
    """Is there a call on a path from start to end?"""
    todo, seen = [start], {end}
    while todo:
        pc = todo.pop()
        if pc not in seen:
            seen.add(pc)
            if code.instructions[pc].op in _CALLS:
                return True
            todo += code.successors[pc]
    return False
