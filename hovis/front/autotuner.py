"""Autotuner of calls: try each of several ways to do the same calls a few times, then keep the quickest, and watch it.

The first way *scales*: an executable, or residual Python that calls executables.  The others, residual Python and the plain
function, have less overhead per call.  The winner is watched: if its calls take longer than those of the first way took, or have much
larger ints as arguments, the contest is held again; it is also held again from time to time.  Each call is done once, by one of the ways.

``hovis.jit`` holds a contest for each residual, against the plain function; ``hovis_xla`` for whole functions (``variant``), for sizes
(``sized``) and for pieces (``piece``).  A contest measures nothing itself: it chooses the way for a call (:meth:`Contest.begin`), and is told
how long the call took (:meth:`Contest.note`).
"""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hovis.base.once import lock

#: ROUNDS: number of calls by which each way is tried, and two rows more if some ways are close to each other, which means that one takes less than
#: CLOSE times as long as the other.  ROW: number of calls in a row by the same way, after its first call: the threads of a library that one way
#: has used may spin for a while and slow down the next way.
ROUNDS: Final = 5
ROW: Final = 4
#: Calls that take more than this many seconds take turns one by one, and the first of them is warming enough.
LONG: Final = 0.02
CLOSE: Final = 2.0
#: ... but no more than ROUNDS if the calls of one way have taken this many seconds in total.
ENOUGH: Final = 0.25
#: MARGIN: a later way wins if it takes less than this part of the time of an earlier one.  CLEAR: a way is dropped if it takes this many times as
#: long as another after ROUNDS calls ...
MARGIN: Final = 0.97
CLEAR: Final = 3.0
#: ... or, if a call takes more than SLOW seconds, after two calls by each, or after one if it takes HOPELESS times as long.  SLOW is large enough that
#: it is no accident: on a busy machine a call may wait for some hundredths of a second.
HOPELESS: Final = 8.0
SLOW: Final = 0.05
#: ... or after two calls by each if it takes HOPELESS times as long and more than this many seconds: further tries would be useless.
VAIN: Final = 0.001
#: ... or after one call that takes more than this many seconds.
PATIENCE: Final = 0.25
#: The first way is dropped after it has given up this many calls in a row.
GIVEN_UP: Final = 8

#: LARGER: the contest is held again if ints exceed this many times the ints of the calls that were tried; ints up to SMALL do not matter.
LARGER: Final = 2
SMALL: Final = 8
GREATEST: Final = 2**62
#: REGRET: the contest is held again when the winner's calls have lost as much time, compared with the first way, as this many calls of the first way
#: take.  STAYS: it is held again when the first way, or a winner that was hardly better than another way, has done this many calls; LONGER: each time
#: that the same way wins again, these numbers are multiplied by this.
REGRET: Final = 64
#: HELD: seconds that a contest takes.  TIMED: calls that take longer than this many seconds are worth timing.
HELD: Final = 0.002
TIMED: Final = 20e-6
STAYS: Final = 1024
LONGER: Final = 4


#: Counters of background work that slows calls down, such as compiling: a call during which a counter changes is not counted.
DISTURBING: Final[list[Callable[[], int]]] = []


def _disturbed() -> int:
    total = 0
    for count in DISTURBING:
        total += count()
    return total


class Contest:
    """Contest between the ways to do calls of one kind. The first way scales; the later a way, the less a call costs.

    ``hopeless(seconds)``: given the time of a call by the first way, need the others not be tried?  ``grows``: may later calls
    be more work than those that were tried?  ``decided``: the first way gets all calls, until it has given up too many.
    ``margin``: a later way wins if it takes less than this part of the time of an earlier one.  ``warming``: number of calls by the first way
    at the beginning that are not counted. ``row``: number of calls in a row by the same way.
    """

    __slots__ = (
        "_again", "_before", "_disturbed", "_lock", "_margin", "_regret", "_row", "_tries", "alert", "first", "given_up", "grows",
        "hopeless", "largest", "scales", "seconds", "stays", "ways", "winner",
    )  # fmt: skip

    def __init__(self, ways: Sequence[str], hopeless: Callable[[float], bool] | None = None, grows: bool = True, decided: bool = False,
                 margin: float = MARGIN, warming: int = 1, row: int = ROW) -> None:  # fmt: skip
        self._lock = lock()
        self.first = ways[0]
        #: the ways that are still tried
        self.ways = list(ways)
        self.hopeless = hopeless
        self.grows = grows
        #: the times of the calls; the first call by the first way is not counted, because it compiles or fills caches
        self.seconds: dict[str, list[float]] = {way: [] for way in ways}
        self._tries = dict.fromkeys(ways, 0)
        self._tries[self.first] = -warming
        self._margin = margin
        self._row = row
        #: the sum of the counters in DISTURBING before the current call
        self._disturbed = _disturbed()
        self.winner: str | None = ways[0] if decided or len(ways) == 1 else None
        #: calls by the winner that take more seconds than this have to be reported by ``note``
        self.alert = math.inf
        #: number of calls by the winner until the contest is held again; 0: never
        self.stays = 0
        self._regret = 0.0
        self._again = 1
        self._before: str | None = None
        #: is the first way still available, for calls that are more work?
        self.scales = True
        self.given_up = 0
        #: the largest ints for which ways other than the first may be used, by argument position
        self.largest: dict[int, int] = {}

    def begin(self, values: Sequence[object] = ()) -> str:
        """Choose the way for the next call, whose arguments are ``values``."""
        with self._lock:
            return self._begun(values)

    def _begun(self, values: Sequence[object]) -> str:
        self._disturbed = _disturbed()
        if self.winner is not None:
            if not self._is_due(values):
                return self.winner
            self.reopen()
        row = 1 if self._takes_long() else self._row
        way = min(self.ways, key=lambda way: (self._tries[way] + row - 1) // row)
        if way != self.first and self._larger(values):
            way = self.first  # it may be far more work
        self._tries[way] += 1
        for k, value in enumerate(values):
            if type(value) is int and abs(value) <= GREATEST:
                self.largest[k] = max(self.largest.get(k, SMALL), LARGER * abs(value))
        return way

    def _takes_long(self) -> bool:
        """Do calls take so long that what they leave in the processor's caches does not matter?"""
        return any(times and min(times) > LONG for times in self.seconds.values())

    def _is_due(self, values: Sequence[object]) -> bool:
        """Is the contest to be held again, for a call with these values?"""
        if self.winner != self.first and self.largest and self._larger(values):
            return True
        was, self.stays = self.stays, max(0, self.stays - 1)
        return was == 1

    def _larger(self, values: Sequence[object]) -> bool:
        """Is one of the ints much larger than those of earlier calls?"""
        return any(type(value) is int and abs(value) > self.largest.get(k, SMALL) for k, value in enumerate(values))

    def take_back(self, way: str) -> None:
        """Do not count the last try of this way: the call was of another kind."""
        with self._lock:
            if self.winner is None:
                self._tries[way] -= 1

    def note(self, way: str, seconds: float) -> None:
        """Record how long a call by this way took. A call does not count if something was compiled during it."""
        with self._lock:
            if self.winner is not None:
                self._watch(way, seconds)
            elif self._tries[self.first] > 0 and self._disturbed == _disturbed():
                self.seconds[way].append(seconds)
                self._decide()
            elif seconds > LONG:
                self._tries[self.first] = max(self._tries[self.first], 0)  # one such call is warming enough

    def reopen(self) -> None:
        """Start the contest again, as the calls or the load of the machine have changed."""
        with self._lock:
            if self.scales and len(self.seconds) > 1:
                self.ways, self.winner = list(self.seconds), None
                self.seconds = {way: [] for way in self.ways}
                self._tries = dict.fromkeys(self.ways, 0)
                self.alert, self.stays, self.largest = math.inf, 0, {}

    def gave_up(self) -> None:
        """Record that the first way could not do a call; after GIVEN_UP such calls in a row it is dropped."""
        self.given_up += 1
        if self.given_up >= GIVEN_UP and len(self.seconds) > 1:
            self.drop()

    def drop(self) -> None:
        """Exclude the first way for good."""
        with self._lock:
            if self.scales:
                self.scales = False
                self._tries[self.first] = 1
                others = [way for way in self.seconds if way != self.first]
                self.ways = [way for way in self.ways if way != self.first] or others[:1]
                if self.winner is not None or len(self.ways) == 1:
                    self._settle(self._quickest())

    def got_through(self) -> None:
        """Record that the first way has done a call."""
        self.given_up = 0

    # --------------------------------------------------------------------------------------------- the verdict

    def best(self, way: str) -> float | None:
        """Return the shortest time of a call by this way, or None if none was timed."""
        return min(self.seconds[way], default=None)

    def typical(self, way: str) -> float | None:
        """Return the median time of a call by this way, or None if none was timed.

        Other processes only make calls slower, never faster, which speaks for the shortest time; but that hides the cost of a way's own threads and memory.
        """
        return statistics.median_low(self.seconds[way]) if self.seconds[way] else None

    def gain(self) -> float:
        """Return by what factor calls may take longer without the first way; infinite while undecided, or if another way was not even tried."""
        if self.winner is None:
            return math.inf
        least = self.best(self.first)
        others = [self.best(way) for way in self.seconds if way != self.first]
        if self.winner != self.first or not others:
            return 1.0
        return max(math.inf if least is None or taken is None else taken / least for taken in others)

    def _decide(self) -> None:
        self.ways = [way for way in self.ways if not self._is_out(way)]
        rounds = min(len(self.seconds[way]) for way in self.ways)
        enough = ROUNDS + 2 * self._row if max(sum(self.seconds[way]) for way in self.ways) < ENOUGH else ROUNDS
        if rounds == ROUNDS < enough:
            self.ways = self._close_to(self._quickest(), self.ways)
        if len(self.ways) == 1 or rounds >= enough:
            self._settle(self._quickest())

    def _close_to(self, best: str, ways: Iterable[str]) -> list[str]:
        """Return the ways whose calls take hardly longer than those of ``best``."""
        least = self.typical(best)
        times = {way: self.typical(way) for way in ways}
        return [way for way, taken in times.items() if taken is None or least is None or taken < CLOSE * least]

    def _is_out(self, way: str) -> bool:
        mine = self.best(way)
        if mine is None:
            taken = self.seconds[self.first]
            return bool(taken) and way != self.first and self.hopeless is not None and self.hopeless(max(taken))
        for other in self.ways:
            theirs = self.best(other)
            if theirs is None or mine <= CLEAR * theirs:
                continue
            calls = min(len(self.seconds[way]), len(self.seconds[other]))
            hopeless = mine > HOPELESS * theirs
            if mine > PATIENCE or (mine > SLOW and (calls > 1 or hopeless)) or (mine > VAIN and calls > 1 and hopeless) or calls >= ROUNDS:
                return True
        return False

    def _quickest(self) -> str:
        found = self.ways[0]
        for way in self.ways[1:]:
            mine, least = self.typical(way), self.typical(found)
            if mine is not None and (least is None or mine < self._margin * least):
                found = way
        return found

    def _settle(self, way: str) -> None:
        self._again = 1 if way != self._before else self._again * LONGER
        self.winner = self._before = way
        first, taken = self.best(self.first), self.best(way)
        self.alert, self._regret, self.stays = math.inf, 0.0, 0
        if way == self.first or (self.scales and len(self._close_to(way, self.seconds)) > 1):
            self.stays = STAYS * self._again
        if way != self.first and self.scales and first is not None and taken is not None and (self.grows or taken > TIMED):
            self.alert = max(first, 2 * taken)
        if self.alert == math.inf or not self.grows:
            self.largest = {}

    def _watch(self, way: str, seconds: float) -> None:
        if way == self.winner and seconds > self.alert:
            self._regret += seconds - self.alert
            if self._regret > max(REGRET * self.alert, HELD) * self._again:
                self.reopen()

    def __str__(self) -> str:
        return ", ".join(f"{way} {taken * 1e6:.1f} µs" for way in self.seconds if (taken := self.typical(way)) is not None)


class Spending:
    """Budget for making something for each kind of calls: the first few are free, the others are paid for by the time of calls that go without.

    A call of a kind for which nothing was made is done without; its time is saved up, until the sum is the time that making something takes.
    So kinds of calls that do not recur cost little more than they would otherwise, and for kinds that recur something is made in time.

    Finding the kind of a call takes time, too: after a few useless lookups (``LOOKS``), a number of calls are done
    without a lookup (:meth:`rests`), the more of them the shorter they are.
    """

    FREE: Final = 8
    #: The price doubles each time that something paid for was made, up to this multiple of the time that making it takes.
    DEAREST: Final = 16
    LOOKS: Final = 128
    #: PART: a lookup may take this part of the time of the calls that follow without one; LONGEST: maximal number of these calls.
    PART: Final = 0.05
    LONGEST: Final = 1024

    __slots__ = ("_factor", "_left", "_price", "_saved", "free", "in_vain")

    def __init__(self, free: int = FREE) -> None:
        self.free = free
        self.in_vain = 0
        self._left = 0
        self._factor = 1
        self._price = 0.0
        self._saved = 0.0

    def affords(self) -> bool:
        """May something be made for the current call?"""
        return self.free > 0 or self._saved >= self._price

    def made(self, seconds: float) -> None:
        """Record that something was made in so many seconds."""
        if self.free > 0:
            self.free -= 1
        else:
            self._factor = min(2 * self._factor, self.DEAREST)
        self._saved = 0.0
        self._price = self._factor * seconds

    def went_without(self, seconds: float) -> None:
        """Record how long a call took for which nothing was made."""
        self._saved += seconds
        if self._saved >= self._price:
            self._left = 0

    def looked(self, seconds: float, taken: float) -> None:
        """Record that looking at a call in vain took so many seconds, and the call itself ``taken``."""
        self.in_vain += 1
        if self.in_vain > self.LOOKS:
            self._left = min(self.LONGEST, int(seconds / (self.PART * max(taken, 1e-9))))

    def rests(self) -> bool:
        """Is the next call to be done without being looked at? (Counts these calls down.)"""
        if not self._left:
            return False
        self._left -= 1
        return True


__all__ = ["Contest", "Spending"]
