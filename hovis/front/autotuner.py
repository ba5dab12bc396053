"""Which of several ways to do the same calls is the quickest: a few calls go each way, then the quickest is kept, and watched.

The first way *scales*: an executable, or residual Python that calls executables.  The others, residual Python and the plain
function, cost less to call.  What wins is watched: where calls take longer than the first way took, or are about ints that
are much larger, the contest is held again, and so it is from time to time.  Each call is done once, by one of the ways.

``hovis.jit`` holds one for each residual, against the plain function; ``hovis_xla`` for whole functions (``variant``), for sizes
(``sized``) and for pieces (``piece``).  It measures nothing itself: it says whose turn it is (:meth:`Contest.begin`), and is told
how long that took (:meth:`Contest.note`).
"""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hovis.base.once import lock

#: How often each way is tried, and how often if some are close together: what one takes less than so many times the other's is.
#: After the first call so many in a row: the threads of a library that one way has used may spin for a while and hold up the next.
ROUNDS: Final = 5
ROW: Final = 4
MANY: Final = ROUNDS + 2 * ROW
CLOSE: Final = 2.0
#: ... but what takes so many seconds in all is not tried on.
ENOUGH: Final = 0.25
#: A later way wins if it is quicker than an earlier one by this much; one that is slower than another by that much is out.
MARGIN: Final = 0.97
CLEAR: Final = 3.0
#: ... after a single call by each, if it is so much slower, or after two, and slow enough for this to be no mishap (seconds): on a busy
#: machine a call waits for some hundredths of a second.
HOPELESS: Final = 8.0
SLOW: Final = 0.05
#: ... or after two, if it is so much slower and takes more than this: the next ones would be known to be in vain.
VAIN: Final = 0.001
#: Seconds that one call may take to try a way.
PATIENCE: Final = 0.25
#: After this many calls in a row that the first way has given up, it is out.
GIVEN_UP: Final = 8

#: So much larger than those that were tried ints may be, before the contest is held again; up to SMALL they do not matter.
LARGER: Final = 2
SMALL: Final = 8
GREATEST: Final = 2**62
#: It is held again when the winner's calls have taken so many calls of the first way's more than that would have taken,
#: or when the first way, or one that was hardly better than another, has done so many calls; the next time, if the same way wins,
#: after more of them.
REGRET: Final = 64
#: Seconds that it takes to hold a contest, and that a call takes that may as well be timed.
HELD: Final = 0.002
TIMED: Final = 20e-6
STAYS: Final = 1024
LONGER: Final = 4


#: What counts work that goes on beside calls and makes them slower, as compiling does: what is timed while a count changes is not counted.
DISTURBING: Final[list[Callable[[], int]]] = []


def _disturbed() -> int:
    total = 0
    for count in DISTURBING:
        total += count()
    return total


class Contest:
    """The ways to do calls of one kind, in order: the first scales, and the later a way, the less it costs to call.

    ``hopeless`` says, by what a call takes by the first way, that the others need not be tried; ``grows``: may later calls
    be more work than those that were tried?  ``decided``: the first way has all calls, until it has given up too many.
    ``margin``: a later way wins if it takes less than so many times an earlier one's time.  ``warming``: so many calls by the first way
    are not counted to begin with.
    """

    __slots__ = (
        "_again", "_before", "_disturbed", "_lock", "_margin", "_regret", "_tries", "alert", "first", "given_up", "grows",
        "hopeless", "largest", "scales", "seconds", "stays", "ways", "winner",
    )  # fmt: skip

    def __init__(self, ways: Sequence[str], hopeless: Callable[[float], bool] | None = None, grows: bool = True, decided: bool = False,
                 margin: float = MARGIN, warming: int = 1) -> None:  # fmt: skip
        self._lock = lock()
        self.first = ways[0]
        #: those that are still tried
        self.ways = list(ways)
        self.hopeless = hopeless
        self.grows = grows
        #: what calls have taken; the first call by the first way is not counted: it compiles, or fills caches
        self.seconds: dict[str, list[float]] = {way: [] for way in ways}
        self._tries = dict.fromkeys(ways, 0)
        self._tries[self.first] = -warming
        self._margin = margin
        #: what was counted before the call that is done now
        self._disturbed = _disturbed()
        self.winner: str | None = ways[0] if decided or len(ways) == 1 else None
        #: it is to be told of calls by the winner that take more seconds than this
        self.alert = math.inf
        #: so many calls of the winner's until the contest is held again; 0: never
        self.stays = 0
        self._regret = 0.0
        self._again = 1
        self._before: str | None = None
        #: is the first way there for calls that are more work?
        self.scales = True
        self.given_up = 0
        #: the largest ints that ways other than the first may be given, by their places
        self.largest: dict[int, int] = {}

    def begin(self, values: Sequence[object] = ()) -> str:
        """Who does the call that comes now, which is about these."""
        with self._lock:
            return self._begun(values)

    def _begun(self, values: Sequence[object]) -> str:
        self._disturbed = _disturbed()
        if self.winner is not None:
            if not self._is_due(values):
                return self.winner
            self.reopen()
        way = min(self.ways, key=lambda way: (self._tries[way] + ROW - 1) // ROW)
        if way != self.first and self._larger(values):
            way = self.first  # far more work, maybe
        self._tries[way] += 1
        for k, value in enumerate(values):
            if type(value) is int and abs(value) <= GREATEST:
                self.largest[k] = max(self.largest.get(k, SMALL), LARGER * abs(value))
        return way

    def _is_due(self, values: Sequence[object]) -> bool:
        """Is the contest to be held again, for a call that is about these?"""
        if self.winner != self.first and self.largest and self._larger(values):
            return True
        was, self.stays = self.stays, max(0, self.stays - 1)
        return was == 1

    def _larger(self, values: Sequence[object]) -> bool:
        """Is one of the ints much larger than those of the calls before?"""
        return any(type(value) is int and abs(value) > self.largest.get(k, SMALL) for k, value in enumerate(values))

    def take_back(self, way: str) -> None:
        """The call was none of this kind."""
        with self._lock:
            if self.winner is None:
                self._tries[way] -= 1

    def note(self, way: str, seconds: float) -> None:
        """A call by this way has taken so long; one that something was compiled for says nothing of the next."""
        with self._lock:
            if self.winner is not None:
                self._watch(way, seconds)
            elif self._tries[self.first] > 0 and self._disturbed == _disturbed():
                self.seconds[way].append(seconds)
                self._decide()

    def reopen(self) -> None:
        """Find out anew: calls are about something else, or something else was going on."""
        with self._lock:
            if self.scales and len(self.seconds) > 1:
                self.ways, self.winner = list(self.seconds), None
                self.seconds = {way: [] for way in self.ways}
                self._tries = dict.fromkeys(self.ways, 0)
                self.alert, self.stays, self.largest = math.inf, 0, {}

    def gave_up(self) -> None:
        """The first way could not do a call."""
        self.given_up += 1
        if self.given_up >= GIVEN_UP and len(self.seconds) > 1:
            self.drop()

    def drop(self) -> None:
        """The first way is out for good."""
        with self._lock:
            if self.scales:
                self.scales = False
                self._tries[self.first] = 1
                others = [way for way in self.seconds if way != self.first]
                self.ways = [way for way in self.ways if way != self.first] or others[:1]
                if self.winner is not None or len(self.ways) == 1:
                    self._settle(self._quickest())

    def got_through(self) -> None:
        """The first way has done a call."""
        self.given_up = 0

    # --------------------------------------------------------------------------------------------- the verdict

    def best(self, way: str) -> float | None:
        """The least that a call has taken."""
        return min(self.seconds[way], default=None)

    def typical(self, way: str) -> float | None:
        """What half of the calls have taken at most.

        Others at work make calls slower and never quicker; but what a way's own threads and memory cost it is not told by its best call.
        """
        return statistics.median_low(self.seconds[way]) if self.seconds[way] else None

    def gain(self) -> float:
        """How much longer calls may take without the first way; infinite, if the others were not even tried."""
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
        enough = MANY if max(sum(self.seconds[way]) for way in self.ways) < ENOUGH else ROUNDS
        if rounds == ROUNDS < enough:
            self.ways = self._close_to(self._quickest(), self.ways)
        if len(self.ways) == 1 or rounds >= enough:
            self._settle(self._quickest())

    def _close_to(self, best: str, ways: Iterable[str]) -> list[str]:
        """Those that take hardly longer."""
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
    """What may be spent on making something for each kind of calls: the first few are free, the others are paid for.

    A call of a kind that nothing was made for is done without; what it takes is saved up, until it is what making one takes.
    So calls that never come again cost little more than they would have without, and those that do are made for in time.

    To find out of what kind a call is takes time, too: after a few times in vain (``LOOKS``), a number of calls are done
    without having been looked at (:meth:`rests`), more of them the less they take.
    """

    FREE: Final = 8
    #: What has been paid for and made costs more the next time, up to so many times what making it takes.
    DEAREST: Final = 16
    LOOKS: Final = 128
    #: A look may take this part of what the calls take that it is for; but so many of these at most.
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
        """May something be made for the call that has come?"""
        return self.free > 0 or self._saved >= self._price

    def made(self, seconds: float) -> None:
        """Something has been made."""
        if self.free > 0:
            self.free -= 1
        else:
            self._factor = min(2 * self._factor, self.DEAREST)
        self._saved = 0.0
        self._price = self._factor * seconds

    def went_without(self, seconds: float) -> None:
        """A call that nothing was made for has taken so long."""
        self._saved += seconds
        if self._saved >= self._price:
            self._left = 0

    def looked(self, seconds: float, taken: float) -> None:
        """A call was looked at in vain, and that took so many seconds; the call itself took ``taken``."""
        self.in_vain += 1
        if self.in_vain > self.LOOKS:
            self._left = min(self.LONGEST, int(seconds / (self.PART * max(taken, 1e-9))))

    def rests(self) -> bool:
        """Is a call to be done without having been looked at?"""
        if not self._left:
            return False
        self._left -= 1
        return True


__all__ = ["Contest", "Spending"]
