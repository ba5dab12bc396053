"""What CPython's profile tells: which instructions have been executed."""
from __future__ import annotations

from types import FunctionType

from hovis.bytecode.normalize import normalize
from hovis.bytecode.profile import Profile, executed
from hovis.lattice import class_versions


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
    return {one.position[0] - first for pc, one in enumerate(code.instructions) if one.position[0] is not None and profile.is_cold(code, pc)}


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


def raising(x):
    if x > 2:
        raise ValueError(x)
    try:
        return len(x)
    except TypeError:
        return x


def test_what_raises_and_handlers_are_cold_even_if_they_were_executed():
    function = FunctionType(raising.__code__.replace(), globals())
    for _ in range(64):
        function(1)
        try:
            function(3)
        except ValueError:
            pass
    assert cold_lines(function) >= {2, 5} and not cold_lines(function) & {1, 4}


class Held:
    def __init__(self):
        self.x = 1.5

    def get(self):
        return self.x


def uses(held, items, table):
    first = items[0] + held.x
    second, third = table["k"]
    held.y = held.get() * first
    if first < second:
        return third


def test_the_classes_of_operands():
    function = FunctionType(uses.__code__.replace(), globals())
    code, profile = normalize(function.__code__), Profile()
    assert not any(profile.classes(code, pc) for pc in range(len(code.instructions)))
    for _ in range(64):
        function(Held(), [1.5], {"k": (4.5, 2)})
    profile = Profile()
    found = {(one.op, one.arg): profile.classes(code, pc) for pc, one in enumerate(code.instructions) if profile.classes(code, pc)}
    assert found["GetAttr", "x"] == found["SetAttr", "y"] == found["GetMethod", "get"] == (Held,)
    assert found["Binary", "+"] == found["Binary", "*"] == found["Compare", "<"] == (float, float)
    assert found["Unpack", 2] == (tuple,)
    Held.other = 1  # from now on the version is another one
    assert Profile().classes(code, next(pc for pc, one in enumerate(code.instructions) if (one.op, one.arg) == ("GetAttr", "x"))) == ()
    del Held.other


class Unhashable(type):
    def __eq__(cls, other): return cls is other


class Strange(metaclass=Unhashable): ...


def test_no_code_of_a_metaclass_runs_where_classes_are_looked_for():
    assert Strange.__name__ and class_versions.classes()[class_versions.version(int)] is int
