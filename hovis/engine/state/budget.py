"""Limits on the work and time of a trace. If it takes too long, the call that costs most is left as a call, and the function is traced again."""

import gc
import math
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final

from hovis.base import deadline, once
from hovis.engine.state.specialization_tables import GiveUp, Tables

#: Share of the fuel that each attempt may use. Most traces need no more than the first one; each later attempt knows less than the one before.
SHARES: Final = (0.36, 0.16, 0.08, 0.08, 0.08)
#: Share of the remaining time that each attempt may use; the rest is for processing the trace.
TIMES: Final = (0.5, 0.3, 0.3, 0.3, 0.5)
#: Part of its share and of its time that the first attempt gets if it is known which callees cost too much: entering them in vain again must not
#: cost much.
BRIEF: Final = 0.2
#: Part of its share that the first attempt gets if more than a third (OPAQUE) of the operations it emits is opaque: tracing removes little
#: there, and more of it would not pay.  (On 47 libraries: with the full share the same speed, for 1.25 times the time; with a quarter of it, one of
#: them is not specialized away.)
UNDISSOLVED: Final = 0.5
OPAQUE: Final = 1 / 3
#: Steps that this attempt gets in any case (unless its share is smaller).
LEAST: Final = 12_000
#: Fuel added for each place of the known data when the program reaches it for the first time: a guest program is
#: followed as long as new parts of it are reached.
PER_PLACE: Final = 250
#: The first places add more: the effort to learn about a program does not grow with its size.
FIRST_PLACES: Final = 100
PER_FIRST_PLACE: Final = 2_000
#: Fuel added for each part of the arguments' structures, before the shares are computed.
PER_PART: Final = 4_000
#: Fuel added for each instruction of the traced function itself, which cannot be left as a call.
PER_INSTRUCTION: Final = 250
#: Maximum number of places that are counted.
PLACES: Final = 12_000
#: A callee with at least this part of its caller's cost is taken for the source of the cost.
DOMINATES: Final = 0.5
#: Code of hovis itself that may be left as a call nevertheless.
LEAVABLE: Final[set[CodeType]] = set()
#: Callees with at most this part of the total cost are still entered in the last attempt.
CHEAP: Final = 0.02
#: Number of instructions (and slots) after which the clock is read again: some milliseconds (reading it takes 0.3 ms on some virtual machines).
SELDOM: Final = 512
WHY: Final = "tracing it takes too long"
#: The message if it is the time that has run out.
LATE: Final = f"{WHY}; set {deadline.VARIABLE} or options(seconds=…) to allow more"


class OutOfFuel(GiveUp):
    """The attempt has used up its share of instructions, or of time (``late``)."""

    def __init__(self, late: bool = False) -> None:
        super().__init__(LATE if late else WHY)
        self.late = late


class Effort:
    """The budget of a trace, and its use: instructions, inspected slots, and time."""

    __slots__ = ("_extent", "_tables", "_unseen", "begun", "covered", "emitted", "first", "fuel", "opaque", "roots", "share", "spent", "steps", "until")

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        #: the current attempt: the number of steps before it began, the steps that it may take, the factor on the allowance for each place of
        #: the known data that the program reaches, and whether it is the first attempt
        self.begun = 0
        self.fuel = math.inf
        self.share = 1.0
        self.first = False
        #: the number of operations emitted in this attempt, and how many of them are opaque
        self.emitted = 0
        self.opaque = 0
        #: the places of the known data reached so far; the roots of the known data, and the number of its places (None: not counted yet)
        self.covered: set[tuple[int, object]] = set()
        self.roots: list[object] = []
        self._extent: int | None = None
        #: the time at which the attempt has to end (as ``deadline.clock`` counts)
        self.until = math.inf
        #: the steps taken: in all attempts, and by call string in this attempt
        self.steps = 0
        self.spent: dict[int, int] = {}
        #: the work done since the clock was read
        self._unseen = 0

    def tick(self, work: int) -> None:
        """Raise OutOfFuel if the time of the attempt is over. work: the work done since the last call, roughly in instructions."""
        self._unseen += work
        if self._unseen >= SELDOM:
            self._unseen = 0
            once.step()
            if self.until < math.inf and deadline.clock() > self.until:
                raise OutOfFuel(late=True)

    def spend(self, ctx: int, steps: int) -> None:
        """Charge steps of work to the frame of the call string ctx."""
        self.spent[ctx] = self.spent.get(ctx, 0) + steps

    def begin(self, fuel: float, share: float, first: bool = False) -> None:
        """Begin an attempt with this fuel, plus share times the allowance for places of the known data. first: it is the first attempt."""
        self.begun, self.fuel, self.share, self.first = self.steps, fuel, share, first
        self.emitted = self.opaque = 0
        self.spent, self.covered = {}, set()

    def renew(self) -> None:
        """Give the attempt all of its share, for a trace from the beginning with what the last one has learned."""
        self.begin(self.fuel, self.share, self.first)

    def limit(self) -> float:
        """Return the number of steps, counted from the start of tracing, at which the attempt ends."""
        most = self.fuel + self.share * allowance(self.places())
        return self.begun + (max(most * UNDISSOLVED, min(most, LEAST)) if self.undissolved() else most)

    def undissolved(self) -> bool:
        """Whether this is the first attempt and a large part of the operations that it emits is opaque."""
        return self.first and self.opaque > self.emitted * OPAQUE

    def covers(self, held: Any, place: object = None, size: int | None = None) -> None:
        """Record that the program chooses one part of the known data held, at place (None: no single part). size: by default ``len(held)``."""
        size = min(len(held) if size is None else size, PLACES)
        if size > self._tables.static_size:
            self._tables.static_size = size
        if place is not None and len(self.covered) < PLACES:
            self.covered.add((id(held), place))

    def places(self) -> int:
        """Return the number of places of the known data that the program has reached. Data made while tracing is unbounded and does not count."""
        found = len(self.covered)
        if found <= FIRST_PLACES:
            return found
        if self._extent is None:
            self._extent = extent(self.roots)
        return min(found, self._extent)


def allowance(places: int) -> int:
    """Return the fuel that this number of places of the known data adds."""
    return PER_PLACE * places + (PER_FIRST_PLACE - PER_PLACE) * min(places, FIRST_PLACES)


def extent(roots: Iterable[object]) -> int:
    """Count the places in all data known before tracing, up to PLACES. Code and classes are not data."""
    texts = sum(len(text) for text in roots if isinstance(text, str | bytes))
    return min(PLACES, texts + sum(len(parts) for _, parts in places_of(roots)))


def places_of(roots: Iterable[object]) -> Iterator[tuple[object, list[Any]]]:
    """Yield the objects that are reached from roots, each with its parts, until there are PLACES parts."""
    todo, seen, found = list(roots), set[int](), 0
    while todo and found < PLACES:
        held = todo.pop()
        if id(held) not in seen and not issubclass(type(held), _CODE):
            seen.add(id(held))
            parts = gc.get_referents(held)
            found += len(parts)
            todo += parts
            yield held, parts


_CODE: Final = (type, ModuleType, FunctionType, BuiltinFunctionType, CodeType)


def leave_heaviest(tables: Tables, spent: Mapping[int, int], package: str, why: str, last: bool = False) -> bool:
    """Stop entering the function that costs most; return False if there is none to blame except the traced function.

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
    """Stop entering the callees that an earlier trace has found too expensive; return False if there are none left."""
    found = tables.expensive - tables.not_entered.keys()
    tables.not_entered.update(dict.fromkeys(found, WHY))
    tables.expensive = frozenset()
    return bool(found)


def too_expensive(tables: Tables) -> frozenset[CodeType]:
    """Return the callees that were found too expensive to be entered."""
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
    """Whether code is user code that can be left as a call."""
    return code.code is not tables.wanted and not code.filename.startswith(package)


def _tree(tables: Tables, spent: Mapping[int, int]) -> tuple[dict[int, int], dict[int, list[int]]]:
    """Return the cost of each call string including its callees, and the callees of each call string."""
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
    """Return the code of the residual function at root, or None for the traced function itself, which has to be traced."""
    part = tables.contexts.parts[root]
    return part[1].code if part[0] == "body" and not part[1].filename.startswith(package) else None
