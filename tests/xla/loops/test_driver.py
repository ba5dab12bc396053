"""Functions of many loops are compiled in time that grows with their number, not with its square: what is looked at is counted."""
import textwrap

import hovis_xla
from hovis_xla.analysis.loop_forest import all_loops, regions
from hovis_xla.analysis.ranges import integer_ranges
from hovis_xla.loops import driver
from hovis_xla.lowering.pipeline import shaped

LOOPS = {
    "two questions, the first of the next": "i = {k}\nwhile i < x and y * 2 < 1000:\n    y += i\n    i += 1",
    "half a round in front": "b = 0\nfor i in range({k} + 10):\n    if x > i: b += i\n    else: b -= y\ny += b",
    "a loop in front": "best = 1\nfor i in range(x):\n    if (i * y) % 7 > best: best = (i * y) % 7\ny += best",
    "loops in loops": "for i in range(x):\n    for j in range(i):\n        if j > y: y += i * {k}\n        else: y -= j",
}


def of_loops(text, count):
    """Such loops one behind the other."""
    body = "\n".join(text.format(k=k) for k in range(count))
    names = {}
    exec("def f(x, y):\n" + textwrap.indent(body, "    ") + "\n    return y\n", names)
    return names["f"]


def counted(monkeypatch, owner, name):
    """How often something of it has been called since, as a list of one number."""
    calls, original = [0], getattr(owner, name)

    def call(*args):
        calls[0] += 1
        return original(*args)

    monkeypatch.setattr(owner, name, call)
    return calls


def sweeps(monkeypatch, text, count):
    function = hovis_xla.jit(of_loops(text, count)).trace(3, 4).function
    with monkeypatch.context() as patched:
        calls = counted(patched, driver, "regions")
        loops = len(all_loops(regions(shaped(function))))
    assert loops >= count
    return calls[0]


def test_the_sweeps_do_not_hang_on_how_many_loops_there_are(monkeypatch):
    for text in LOOPS.values():
        assert sweeps(monkeypatch, text, 12) <= sweeps(monkeypatch, text, 6) + 2


def visits(monkeypatch, count):
    """How many blocks are looked at to find out what integers can be, for each one of the function."""
    function = shaped(hovis_xla.jit(of_loops(LOOPS["loops in loops"], count)).trace(3, 4).function)
    with monkeypatch.context() as patched:
        calls = counted(patched, integer_ranges.Ranges, "_params")
        found = integer_ranges.Ranges(function)
    assert found.base
    return calls[0] / len(found.order)


def test_what_integers_can_be_is_found_in_as_many_rounds_for_many_loops(monkeypatch):
    assert visits(monkeypatch, 16) < 1.2 * visits(monkeypatch, 8)


def test_whether_there_is_room_is_asked_of_each_loop_alone(monkeypatch):
    """What the integers of all loops can be is found out a few times, however many loops there are."""
    def solved(count):
        function = hovis_xla.jit(of_loops("while y != {k}:\n    y = y * 3 + 1", count)).trace(3, 4).function
        with monkeypatch.context() as patched:
            calls = counted(patched, integer_ranges.Ranges, "_solve")
            assert "raise" in str(shaped(function))
        return calls[0]

    assert solved(9) == solved(3)


def test_many_loops_give_what_python_gives():
    fn = of_loops("\n".join(LOOPS.values()), 2)
    jitted = hovis_xla.jit(fn, target="xla")
    for x, y in ((3, 4), (0, -2), (9, 1)):
        assert jitted(x, y) == fn(x, y)
