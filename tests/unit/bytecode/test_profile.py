"""What CPython's profile tells: which instructions have been executed."""
from __future__ import annotations

from types import FunctionType

from hovis.bytecode.normalize import normalize
from hovis.bytecode.profile import Profile, executed


def fresh():
    def chooses(x, y):
        if x > y:
            return len("more") + y
        for item in x:
            y.append(item)
        return y.count(x)

    return FunctionType(chooses.__code__.replace(), globals())  # code objects are shared by all functions that a statement makes


def cold_lines(function):
    """Return the lines, counted from the function's first one, of the instructions that are cold."""
    code, profile = normalize(function.__code__), Profile()
    first = function.__code__.co_firstlineno
    return {one.position[0] - first for pc, one in enumerate(code.instructions) if profile.is_cold(code, pc)}


def test_nothing_is_known_of_a_function_that_was_never_called():
    function = fresh()
    assert executed(function.__code__) == {}
    assert not cold_lines(function)


def test_branches_that_were_never_taken_are_cold():
    function = fresh()
    for _ in range(64):
        function(2.5, 1.5)
    assert cold_lines(function) == {3, 4, 5}
    for _ in range(64):
        function([], [1, 2])
    assert cold_lines(function) == {3, 4}, "an item is stored on line 3"
    for _ in range(64):
        function([1], [1, 2])
    assert not cold_lines(function)


def test_the_profile_is_read_once():
    function = fresh()
    for _ in range(64):
        function(2.5, 1.5)
    code, profile = normalize(function.__code__), Profile()
    place = next(pc for pc, one in enumerate(code.instructions) if one.op == "ForIter")
    behind = next(pc for pc, one in enumerate(code.instructions) if one.op == "GetMethod" and one.arg == "count")
    assert profile.is_cold(code, behind) and not profile.is_cold(code, 0)
    for _ in range(64):
        function([], [1, 2])
    assert profile.is_cold(code, behind) and not Profile().is_cold(code, behind)
    assert not Profile().is_cold(code, place)
