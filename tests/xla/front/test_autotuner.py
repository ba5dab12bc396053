"""Who does calls, by what they are said to take: nothing here measures time."""
import math
from types import SimpleNamespace

from hovis.front.autotuner import CLEAR, CLOSE, ENOUGH, GIVEN_UP, LARGER, REGRET, ROUNDS, ROW, STAYS, Contest, Spending
from hovis_xla.choice import cost_model
from hovis_xla.choice.cost_model import Work
from hovis_xla.jaxlib import progress
from hovis_xla.partition.decide import Parts

#: The number of calls by each way if they are close to each other.
MANY = ROUNDS + 2 * ROW


def play(contest, times, calls=60, values=()):
    """Calls that take so long by each way (one number, or a list that is used up), until there is a winner; whose turns they were."""
    turns = []
    for _ in range(calls):
        way = contest.begin(values)
        turns.append(way)
        taken = times[way]
        contest.note(way, taken.pop(0) if isinstance(taken, list) else taken)
        if contest.winner is not None:
            break
    return turns


def test_turns():
    contest = Contest(["xla", "python"])
    turns = play(contest, {"xla": 1.0, "python": 1.0})  # long enough to take turns one by one, and not to be tried more often
    assert turns == ["xla"] + ["xla", "python"] * ROUNDS
    assert len(contest.seconds["xla"]) == ROUNDS  # the first call compiles, and is not counted
    three = play(Contest(["xla", "residual", "plain"]), dict.fromkeys(["xla", "residual", "plain"], 1e-6))
    assert three[:8] == ["xla", "xla", "residual", "plain", *["xla"] * ROW]
    assert three[8 + 2 * ROW :][: ROW + 1] == [*["xla"] * ROW, "residual"]


def test_calls_that_something_is_compiled_for_are_not_counted():
    contest = Contest(["xla", "python"], hopeless=lambda taken: taken > 0.1)
    assert [contest.begin(), contest.begin()] == ["xla", "xla"]
    with progress.told("compiling for larger ints"):
        pass
    contest.note("xla", 9.0)
    assert contest.winner is None and contest.seconds["xla"] == []
    play(contest, {"xla": 0.01, "python": 0.02})
    assert contest.winner == "xla" and all(len(found) <= ROUNDS for found in contest.seconds.values())


def winner(ways, times, **options):
    contest = Contest(ways, **options)
    play(contest, times)
    return contest.winner


def test_the_quickest_wins():
    ways = ["xla", "residual", "plain"]
    assert winner(ways, {"xla": 40e-6, "residual": 10e-6, "plain": 12e-6}) == "residual"
    assert winner(ways, {"xla": 40e-6, "residual": 10e-6, "plain": 8e-6}) == "plain"
    assert winner(ways, {"xla": 40e-6, "residual": 39e-6, "plain": 39e-6}) == "xla"  # hardly quicker is not quicker
    assert winner(ways, {"xla": 10e-6, "residual": 90e-6, "plain": 90e-6}) == "xla"
    busy = {"xla": [9.0, *[40e-6, 900e-6, 40e-6, 1e-3, 41e-6] * 3], "python": [800e-6, 31e-6, 2e-3, 30e-6, 35e-6] * 3}
    assert winner(["xla", "python"], busy) == "python"  # others at work on the machine make calls slower, never quicker


def test_what_is_close_together_is_tried_more_often():
    contest = Contest(["xla", "residual", "plain"])
    play(contest, {"xla": 40e-6, "residual": 35e-6, "plain": 35e-6 * CLOSE})
    assert [len(contest.seconds[way]) for way in ("xla", "residual", "plain")] == [MANY, MANY, ROUNDS]
    assert contest.winner == "residual"
    slow = Contest(["xla", "python"])
    play(slow, {"xla": ENOUGH, "python": ENOUGH})
    assert len(slow.seconds["xla"]) == ROUNDS


def test_a_way_that_is_seldom_quick_is_not_the_quickest():
    """As a program whose threads have to be woken, or whose memory was elsewhere."""
    assert winner(["xla", "python"], {"xla": [1.0, *[60e-6, 130e-6, 120e-6] * MANY], "python": 80e-6}) == "python"
    assert winner(["xla", "python"], {"xla": 60e-6, "python": [80e-6, 30e-6, 90e-6] * MANY}) == "xla"


def test_a_close_contest_is_held_again():
    contest = Contest(["xla", "python"], grows=False)
    play(contest, {"xla": 12e-6, "python": 10e-6})
    assert (contest.winner, contest.stays, contest.alert) == ("python", STAYS, math.inf)
    assert {contest.begin() for _ in range(STAYS - 1)} == {"python"}
    play(contest, {"xla": 5e-6, "python": 10e-6})
    assert contest.winner == "xla"
    assert decided(grows=False).stays == 0  # that was clear


def test_what_takes_long_is_watched_even_if_it_is_never_more_work():
    """The threads of a library may wait for a processor all of a sudden."""
    contest = Contest(["xla", "python"], grows=False)
    play(contest, {"xla": 120e-6, "python": 80e-6}, values=[5])
    assert (contest.winner, contest.alert, contest.largest) == ("python", 160e-6, {})
    contest.note("python", 60e-3)
    assert contest.winner is None


def test_what_is_clearly_slower_is_soon_out():
    contest = Contest(["xla", "residual", "plain"])
    turns = play(contest, {"xla": 100e-6, "residual": 10e-6, "plain": 10e-6})
    assert turns.count("xla") == 1 + ROUNDS < turns.count("plain")
    assert contest.winner == "residual"
    assert play(Contest(["xla", "python"]), {"xla": 1e-3, "python": 1.0}) == ["xla", "xla", "python"]
    assert play(Contest(["xla", "python"]), {"xla": 40e-6, "python": 12e-3}).count("python") == 2  # hundreds of times slower: that is known by then
    waited = {"xla": [9.0, 20e-3, *[80e-6] * ROUNDS], "python": 1.4e-3}
    assert winner(["xla", "python"], waited) == "xla"  # one call that had to wait says nothing


def hopeless(work):
    return lambda seconds: cost_model.hopeless(work, 6.0, seconds)


def test_what_may_take_too_long_is_not_tried():
    loop, line = Work(), Work()
    loop.loops, loop.round_python, loop.round_xla = True, 4.0, 0.1
    line.python = 50.0
    ways = ["xla", "python"]
    assert play(Contest(ways, hopeless(loop)), {"xla": 1.0}) == ["xla", "xla"]  # Python might take a minute
    assert play(Contest(ways, hopeless(line)), {"xla": 5e-6}) == ["xla", "xla"]  # the estimate is far above it
    assert "python" in play(Contest(ways, hopeless(loop)), {"xla": 10e-6, "python": 10e-6})
    assert "python" in play(Contest(ways, hopeless(line)), {"xla": 40e-6, "python": 10e-6})


def decided(values=(), **options):
    """A contest that Python has won: 10 µs a call, XLA 50."""
    contest = Contest(["xla", "python"], **options)
    play(contest, {"xla": 50e-6, "python": 10e-6}, values=values)
    assert contest.winner == "python"
    return contest


def test_the_winner_is_watched():
    contest = decided()
    assert contest.alert == 50e-6
    contest.note("python", 1e-3)  # somebody else's work, once
    for _ in range(1000):
        contest.note("python", 49e-6)
    assert contest.winner == "python"
    calls = 0
    while contest.winner == "python":
        contest.note("python", 250e-6)
        calls += 1
    assert 5 < calls < REGRET
    play(contest, {"xla": 55e-6, "python": 300e-6})
    assert contest.winner == "xla"
    assert decided(grows=False).alert == math.inf  # nothing to watch


def test_who_wins_again_is_left_alone_for_longer():
    contest = decided()
    lasted = []
    for _ in range(3):
        calls = 0
        while contest.winner == "python":
            contest.note("python", 100e-6)
            calls += 1
        lasted.append(calls)
        play(contest, {"xla": 50e-6, "python": 10e-6})
    assert lasted[0] * 8 < lasted[1] * 4 < lasted[2] * 2


def test_calls_of_the_first_way_are_counted():
    contest = Contest(["xla", "python"])
    play(contest, {"xla": 5e-6, "python": 10e-6})
    assert contest.winner == "xla"
    assert contest.stays == STAYS
    assert {contest.begin() for _ in range(STAYS - 1)} == {"xla"}
    assert contest.winner == "xla"
    turns = play(contest, {"xla": 5e-6, "python": 1e-6})
    assert turns[:3] == ["xla", "python", "xla"]  # nothing is compiled now: the first call counts
    assert contest.winner == "python"


def test_larger_ints_are_for_the_first_way():
    contest = decided([5, 2.0, 300])
    assert contest.begin([7, 1e9, -LARGER * 300]) == "python"
    assert contest.winner == "python"
    assert contest.begin([7, 0.0, LARGER * 300 + 1]) == "xla"
    assert contest.winner is None  # and it is found out anew who is quicker for them
    assert not decided([5, 2.0, 300], grows=False).largest  # nothing grows with them


def test_far_larger_ints_are_not_tried_by_others():
    contest = Contest(["xla", "python"])
    assert [contest.begin([3]), contest.begin([4]), contest.begin([10**9])] == ["xla", "xla", "xla"]
    contest = Contest(["xla", "python"])
    assert [contest.begin([3]), contest.begin([4]), contest.begin([6])] == ["xla", "xla", "python"]


def test_the_first_way_is_out_when_it_gives_up_too_often():
    contest = Contest(["xla", "python"], decided=True)
    for _ in range(GIVEN_UP - 1):
        contest.gave_up()
    contest.got_through()
    for _ in range(GIVEN_UP):
        assert contest.winner == "xla"
        contest.gave_up()
    assert contest.winner == "python"
    contest.reopen()
    assert contest.winner == "python"
    undecided = Contest(["xla", "residual", "plain"])
    undecided.drop()
    assert undecided.winner is None
    assert set(play(undecided, {"residual": 2.0, "plain": 1.0})) == {"residual", "plain"}
    assert undecided.winner == "plain"


def test_gains():
    contest = Contest(["xla", "python"])
    assert contest.gain() == math.inf
    play(contest, {"xla": 1e-6, "python": CLEAR * 4e-6})
    assert contest.winner == "xla"
    assert contest.gain() == CLEAR * 4
    assert decided().gain() == 1.0


def test_the_first_few_are_free_and_the_others_are_paid_for():
    spending = Spending(free=2)
    spending.made(10.0)
    assert spending.affords()
    spending.made(1.0)
    made = 0
    for _ in range(1000):
        if spending.affords():
            spending.made(1.0)
            made += 1
        else:
            spending.went_without(0.1)
    assert 8 <= made <= 14  # dearer each time, up to 16 times what it takes


def test_looks_in_vain_become_rare():
    spending = Spending(free=0)
    spending.made(1e9)
    for _ in range(Spending.LOOKS):
        assert not spending.rests()
        spending.looked(20e-6, 1e-6)
    spending.looked(20e-6, 1e-6)
    assert sum(spending.rests() for _ in range(2000)) == 400  # 20 µs in 400 calls of 1 µs: a twentieth
    spending.looked(20e-6, 1.0)
    assert not spending.rests()  # of what takes a second a look is nothing
    spending.looked(20e-6, 1e-9)
    assert sum(spending.rests() for _ in range(2000)) == Spending.LONGEST
    spending.looked(20e-6, 1e-9)
    spending.went_without(2e9)
    assert not spending.rests()  # what has come in since pays for one more


def test_pieces_that_gain_nothing():
    """Python takes no longer without them, however long a call is."""
    parts = SimpleNamespace(pieces=[SimpleNamespace(gain=lambda: 1.0)])
    assert not Parts.hopeless(parts, 9.0)
    parts.pieces.append(SimpleNamespace(gain=lambda: 3.0))
    assert Parts.hopeless(parts, 0.2) and not Parts.hopeless(parts, 0.01)
