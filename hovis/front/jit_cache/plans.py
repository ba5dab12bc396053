"""Plans: the ways in which ``jit`` makes the residuals of a function. They are tried one after the other, and the one that gains most is kept.

BRIEF     by the values of the arguments, in a short time: the first calls wait for it
BY_CLASS  with CPython's profile, by the classes of the arguments: what is in a dict or a string is looked at where the function uses it, by tests that
          the residual makes (side exits); the lookup of a residual takes little time
BY_VALUE  with the profile, by the values of the arguments: loops over a known configuration are unrolled, but each call looks at all its values
"""

from collections.abc import Sequence
from types import CodeType
from typing import Any, Final

from hovis.base import own_code
from hovis.bytecode.resumption.continuation import Exit
from hovis.front.autotuner import Contest

own_code.leave_as_calls(__file__)

#: An instruction: its code and its offset in bytes.
Site = tuple[CodeType, int]

BRIEF: Final = "brief"
BY_CLASS: Final = "by class"
BY_VALUE: Final = "by value"
#: A residual has to be faster than the function itself by this factor (5 %).
WORTH: Final = 1.05
#: Number of first calls of a residual that are not timed: CPython specializes code during them (Python/specialize.c).
WARMING: Final = 8
#: Number of calls in a row that go the same way while ways are compared: the first ones of a row fill the processor's caches.
ROW: Final = 16
#: Maximal number of places where residuals were left too often, before they must not be left any more.
REFUTATIONS: Final = 16
#: Limit of a trace by the later plans, as a part of the limit of the trace of a first call: what is traced with a profile takes little time, or gains
#: little.
SHORTER: Final = 0.35
#: Number of calls that are observed before a trace by the later plans: what differs between them is not assumed.
OBSERVED: Final = 2
#: A residual that is faster than the function itself by this factor is good enough: no further plan is tried.
GOOD: Final = 2.0
#: ... unless finding it takes more than this part of a call.
LOOKUP: Final = 0.2
#: What the later of two plans has to gain in addition, to be preferred: measurements are noisy.
MARGIN: Final = 1.2


def contest_between(ways: Sequence[str]) -> Contest:
    """Return a Contest between the function itself and residuals of it."""
    return Contest(ways, grows=False, margin=WORTH, warming=WARMING, row=ROW)


def with_refuted(refuted: "frozenset[Site] | None", left: Exit) -> "frozenset[Site] | None":
    """Add the place where a residual was left too often to those where nothing is assumed; None: there are too many."""
    return refuted | {left.site} if refuted is not None and len(refuted) < REFUTATIONS else None


class Plans:
    """The plan in force, what is left to be tried, and what the others have gained.

    later: is the function to be traced again when there is a profile of it?
    """

    __slots__ = ("_left", "_tried", "current", "settled")

    def __init__(self, later: bool) -> None:
        self.current = BRIEF
        #: has a plan been chosen for good?
        self.settled = not later
        self._left = [BY_CLASS, BY_VALUE] if later else []
        #: gain of each plan that was tried: how many times as fast as the function itself its residual was; and its residuals
        self._tried: dict[str, tuple[float, Any]] = {}

    def is_first(self) -> bool:
        """Is the first plan in force, after which there are others?"""
        return self.current == BRIEF and not self.settled

    def next(self, gain: float, lookup: float, residuals: Any, data: bool, better: bool) -> bool:
        """Choose another plan, if one is to be tried after this one: return whether it is.

        gain: of the plan in force; lookup: the part of a call that finding its residual takes; residuals: which it has made; data: would plan
        BY_CLASS treat arguments in another way? better: may a trace with more time and with the profile give a better residual?
        """
        self._tried[self.current] = gain, residuals
        if not data and self._left[:1] == [BY_CLASS]:
            self._left.pop(0)
        if not self._left or (gain >= GOOD and lookup <= LOOKUP):
            return False
        if self.current == BRIEF and not better and (lookup <= LOOKUP or not data):
            return False
        self.current = self._left.pop(0)
        return True

    def settle(self) -> float:
        """Put the plan in force for good that has gained most; return its gain."""
        self.settled = True
        found, *others = self._tried
        if found == BRIEF and others:  # it had no profile
            others = [*others, found]
            found = others.pop(0)
        for plan in others:
            if self._tried[plan][0] > MARGIN * self._tried[found][0]:
                found = plan
        self.current = found
        return self._tried[found][0]

    def residuals(self) -> Any:
        """Return what the plan in force has made if it was tried, else what the one tried last has made; None if none was."""
        latest = next(reversed(self._tried), None)
        plan = self.current if self.current in self._tried else latest
        return None if plan is None else self._tried[plan][1]
