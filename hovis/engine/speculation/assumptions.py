"""What a trace may assume, since the residual can be left for the original code."""

from types import CodeType

from hovis.bytecode.instructions import Code
from hovis.bytecode.profile import Profile
from hovis.engine.speculation.examples import Examples


class Assumptions:
    """Values are of the classes of their examples; what CPython has not executed yet is not reached.

    refuted: the instructions, by code and offset, where residuals were left too often: nothing is assumed there.
    """

    __slots__ = ("examples", "profile", "refuted")

    def __init__(self, examples: Examples, refuted: frozenset[tuple[CodeType, int]]) -> None:
        self.examples = examples
        self.refuted = refuted
        self.profile = Profile()

    def is_cold(self, code: Code, pc: int) -> bool:
        """Is it assumed that the instruction pc is not reached?"""
        return self.profile.is_cold(code, pc) and (code.code, code.instructions[pc].offset) not in self.refuted
