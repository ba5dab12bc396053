"""A trace that takes too long: the call that takes most of it is left as it is, and the rest is traced again."""

import gc
import math
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final

from hovis.base import deadline, once
from hovis.engine.state.specialization_tables import GiveUp, Tables

#: What of the fuel each attempt may use; the first one is what most traces need, the later ones know less each time.
SHARES: Final = (0.36, 0.16, 0.08, 0.08, 0.08)
#: What of the time that is left each attempt may use; the rest is for what is made of the trace.
TIMES: Final = (0.5, 0.3, 0.3, 0.3, 0.5)
#: What of its share and its time the first attempt has where it is known which callees cost too much: these are not to be tried in vain again.
BRIEF: Final = 0.2
#: What of its share the first attempt has where more than a third of what it emits is opaque: little dissolves there, and more of the same
#: would not pay.  (On 47 libraries: with all of the share the same speed, for 1.25 times the time; with a quarter of it one of them does not dissolve.)
UNDISSOLVED: Final = 0.5
OPAQUE: Final = 1 / 3
#: So much it has in any case.
LEAST: Final = 12_000
#: What each place of the known data adds to that, when the program comes to it for the first time: a guest program is
#: followed as long as there is more of it.
PER_PLACE: Final = 250
#: The first of them add more: what is to be found out about a program does not grow with it.
FIRST_PLACES: Final = 100
PER_FIRST_PLACE: Final = 2_000
#: What each part of the arguments' structures adds to the fuel, before its shares are taken.
PER_PART: Final = 4_000
#: What each instruction of the traced function itself adds: it can't be left.
PER_INSTRUCTION: Final = 250
#: Of so many places of one container.
PLACES: Final = 12_000
#: A callee with more than this part of its caller's cost is where the cost is.
DOMINATES: Final = 0.5
#: Code of the house's own that may be left as a call all the same.
LEAVABLE: Final[set[CodeType]] = set()
#: What is cheap enough to be entered in the last attempt.
CHEAP: Final = 0.02
#: Instructions (and slots) after which somebody looks at the clock: a millisecond or two.
SELDOM: Final = 128
WHY: Final = "tracing it takes too long"
#: The same, where it is time that there is too little of.
LATE: Final = f"{WHY}; {deadline.VARIABLE} or options(seconds=…) allow for more"


class OutOfFuel(GiveUp):
    """The attempt has used up its share: of instructions, or of time (``late``)."""

    def __init__(self, late: bool = False) -> None:
        super().__init__(LATE if late else WHY)
        self.late = late


class Effort:
    """What a trace may cost, and what it has cost: instructions, slots that were looked at, and time."""

    __slots__ = ("_extent", "_tables", "_unseen", "begun", "covered", "emitted", "first", "fuel", "opaque", "roots", "share", "spent", "steps", "until")

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        #: the attempt: what had been done when it began, so much may be done in it, and so much more for each place of the known data
        #: that the program comes to; is it the first one?
        self.begun = 0
        self.fuel = math.inf
        self.share = 1.0
        self.first = False
        #: the operations emitted in it, and those of them that are opaque
        self.emitted = 0
        self.opaque = 0
        #: these places; where the known data begins, and how many places it has
        self.covered: set[tuple[int, object]] = set()
        self.roots: list[object] = []
        self._extent: int | None = None
        #: by when (``deadline.clock``)
        self.until = math.inf
        #: in all, and by call string
        self.steps = 0
        self.spent: dict[int, int] = {}
        #: since somebody looked at the clock
        self._unseen = 0

    def tick(self, work: int) -> None:
        """Raise OutOfFuel if the attempt has had its time.  work: what has been done since, about in instructions."""
        self._unseen += work
        if self._unseen >= SELDOM:
            self._unseen = 0
            once.step()
            if self.until < math.inf and deadline.clock() > self.until:
                raise OutOfFuel(late=True)

    def spend(self, ctx: int, steps: int) -> None:
        """So much of the work was done in the frame of a call string."""
        self.spent[ctx] = self.spent.get(ctx, 0) + steps

    def begin(self, fuel: float, share: float, first: bool = False) -> None:
        """An attempt begins, which may do so much, and share times what places of the known data allow for."""
        self.begun, self.fuel, self.share, self.first = self.steps, fuel, share, first
        self.emitted = self.opaque = 0
        self.spent, self.covered = {}, set()

    def limit(self) -> float:
        """How much may be done until the attempt ends, since tracing began."""
        most = self.fuel + self.share * allowance(self.places())
        return self.begun + (max(most * UNDISSOLVED, min(most, LEAST)) if self.undissolved() else most)

    def undissolved(self) -> bool:
        """Is it the first attempt, and is much of what it emits opaque?"""
        return self.first and self.opaque > self.emitted * OPAQUE

    def covers(self, held: Any, place: object = None, size: int | None = None) -> None:
        """The program chooses among the parts of known data, and comes to one of them."""
        size = min(len(held) if size is None else size, PLACES)
        if size > self._tables.static_size:
            self._tables.static_size = size
        if place is not None and len(self.covered) < PLACES:
            self.covered.add((id(held), place))

    def places(self) -> int:
        """In how many places of the known data the program has been; what tracing makes anew has no end and does not count."""
        found = len(self.covered)
        if found <= FIRST_PLACES:
            return found
        if self._extent is None:
            self._extent = extent(self.roots)
        return min(found, self._extent)


def allowance(places: int) -> int:
    """What places of the known data add to the fuel."""
    return PER_PLACE * places + (PER_FIRST_PLACE - PER_PLACE) * min(places, FIRST_PLACES)


def extent(roots: Iterable[object]) -> int:
    """How many places there are in all that is known before tracing, PLACES at most; code and classes are no data."""
    todo = list(roots)
    found = sum(len(text) for text in todo if isinstance(text, str | bytes))
    seen: set[int] = set()
    while todo and found < PLACES:
        held = todo.pop()
        if id(held) in seen or issubclass(type(held), _CODE):
            continue
        seen.add(id(held))
        parts = gc.get_referents(held)
        found += len(parts)
        todo += parts
    return min(found, PLACES)


_CODE: Final = (type, ModuleType, FunctionType, BuiltinFunctionType, CodeType)


def leave_heaviest(tables: Tables, spent: Mapping[int, int], package: str, why: str, last: bool = False) -> bool:
    """Do not enter the function that costs most any more; False: there is none to blame but the traced one.

    last: the next attempt has to succeed, no callee that costs much is entered.
    """
    costs, callees = _tree(tables, spent)
    if last:
        return _leave_all(tables, costs, package, why)
    roots = [ctx for ctx in costs if _caller(tables, ctx) is None]
    if not roots:
        return False
    at = max(roots, key=lambda ctx: costs[ctx])
    found = _own_code(tables, at, package)
    while True:
        groups: dict[Any, list[int]] = {}
        for ctx in callees.get(at, ()):
            groups.setdefault(tables.contexts.parts[ctx][2], []).append(ctx)
        if not groups:
            break
        sums = {code: sum(costs[ctx] for ctx in group) for code, group in groups.items()}
        heaviest = max(sums, key=lambda code: sums[code])
        if found is not None and sums[heaviest] < DOMINATES * costs[at]:
            break
        at = max(groups[heaviest], key=lambda ctx: costs[ctx])
        if _may_be_left(tables, heaviest, package):
            found = heaviest.code
    if found is None or found in tables.not_entered:
        return False
    tables.not_entered[found] = why
    return True


def leave_expensive(tables: Tables) -> bool:
    """Do not enter what an earlier trace has found to cost too much; False: there is nothing left of it."""
    found = tables.expensive - tables.not_entered.keys()
    tables.not_entered.update(dict.fromkeys(found, WHY))
    tables.expensive = frozenset()
    return bool(found)


def too_expensive(tables: Tables) -> frozenset[CodeType]:
    """The callees that were found to cost too much to be entered."""
    return tables.expensive.union(code for code, why in tables.not_entered.items() if why.startswith(WHY))


def _leave_all(tables: Tables, costs: Mapping[int, int], package: str, why: str) -> bool:
    total = sum(cost for ctx, cost in costs.items() if _caller(tables, ctx) is None)
    found = False
    for ctx, cost in costs.items():
        code = tables.contexts.parts[ctx][2] if _caller(tables, ctx) is not None else None
        if code is not None and cost > total * CHEAP and (_may_be_left(tables, code, package) or code.code in LEAVABLE):
            found |= code.code not in tables.not_entered
            tables.not_entered.setdefault(code.code, why)
    return found


def _may_be_left(tables: Tables, code: Any, package: str) -> bool:
    """Is it code of the user's that can be left as a call?"""
    return code.code is not tables.wanted and not code.filename.startswith(package)


def _tree(tables: Tables, spent: Mapping[int, int]) -> tuple[dict[int, int], dict[int, list[int]]]:
    """The cost of each call string with all that it called, and what it called."""
    costs: dict[int, int] = dict(spent)
    callees: dict[int, list[int]] = {}
    # a call string is interned after that of its caller
    for ctx in range(len(tables.contexts.parts) - 1, -1, -1):
        caller = _caller(tables, ctx)
        if caller is not None and ctx in costs:
            costs[caller] = costs.get(caller, 0) + costs[ctx]
            callees.setdefault(caller, []).append(ctx)
    return costs, callees


def _caller(tables: Tables, ctx: int) -> int | None:
    head = tables.contexts.parts[ctx][0]
    return head if isinstance(head, int) else None


def _own_code(tables: Tables, root: int, package: str) -> Any:
    """The code of a residual function; the traced one itself has to be traced."""
    part = tables.contexts.parts[root]
    return part[1].code if part[0] == "body" and not part[1].filename.startswith(package) else None
