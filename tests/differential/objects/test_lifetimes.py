"""When objects end: by reference counts alone, as in CPython, also where exceptions and generators are about.

PYTEST_DONT_REWRITE: some of the programs look at their variables.
"""
from __future__ import annotations

import contextlib
import gc
import os
import random
import sys
import weakref

import pytest

import hovis
from hovis.ir.analysis.control_flow import liveness, terminator_operands
from hovis.ir.model import edges
from hovis.ir.operations import drop
from tests.differential.harness.compare import observe, same


class Ends:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("end of", self.name)


def closing(n):
    held = Ends("held")
    try:
        yield held.name
        yield n
    finally:
        print("closing")


def closed_by_hand(n):
    steps = closing(n)
    next(steps)
    print("begun")
    del steps
    print("gone")
    return n


def items_of_a_list(n):
    for each in [Ends("first"), Ends("second")]:
        print(each.name)
        each = None
    print("over", n)


def values_of_a_dict(n):
    table = {"k": Ends("old")}
    table["k"] = Ends("new")
    print("stored")
    table.pop("k")
    print("popped", n)
    table["a"], table["b"] = Ends("a"), Ends("b")
    table.clear()
    print("cleared")


def fill(table, value, n):
    if n > 3:
        print("many")
    else:
        print("few")
    table.append(value)
    return len(table)


def filled_by_a_call(n):
    table = []
    fill(table, Ends("filled"), n)
    print("filled")
    return n


def filled_through_another(n):
    inner = []
    outer = {"inner": inner}
    fill(outer["inner"], Ends("filled"), n)
    outer.clear()
    print("cleared")
    return n


class Holder:
    def __init__(self, *held):
        self.held = held

    def take(self):
        held, self.held = self.held, ()
        return held


def items_of_a_tuple(n):
    holder = Holder(Ends("a"), Ends("b"))
    holder.held = ()
    print("replaced", n)


def locals_at_the_end(n):
    holder = Holder(Ends("a"), Ends("b"))
    taken = holder.take()
    last = Ends("last")
    print(len(taken), last.name)
    return n


def left_by_break(n):
    for each in closing(n):
        print(each)
        break
    print("broken")


def temporaries(n):
    print((Ends("one"), Ends("two"))[0].name, [Ends("three").name, n])
    return len([Ends("four"), Ends("five")])


def holders_that_nobody_reads(n):
    several, pair, chars = [Ends("several")], (Ends("pair"), n), map(str, [Ends("mapped")])
    table = {"k": [Ends("in a table")]}
    if n:
        print("some")
    for i in range(3):
        print(i)
    pair = None
    print("over", n)
    return n


def never_bound_on_one_way(n):
    try:
        held = [Ends("held")]
        if n:
            raise ValueError(n)
        other = [Ends("other")]
    except ValueError:
        print("handled")
    print("over")


def suspended_in_a_list(n):
    held = [closing(n), closing(n + 1)]
    next(held[0])
    print("begun")
    held.pop(0)
    print("popped")
    next(held[0])
    more = {"k": held[0]}
    held.clear()
    print("cleared")
    more.clear()
    print("over")


def iterators_at_their_end(n):
    items = iter([Ends("one"), Ends("two")])
    next(items)
    if n:
        print("some")
    next(items)
    print("both")
    next(items, None)
    print("over")


@contextlib.contextmanager
def lending(n):
    try:
        yield Ends(n)
    finally:
        print("back")


def taken_from_a_context(n):
    with lending(n) as lent:
        print("lent")
    print("over")


def fails(n):
    return n["key"]


def keeps_and_fails(n):
    kept, more = Ends("kept"), [Ends("more"), Ends("last")]
    if n:
        raise ValueError(kept.name, len(more))


def through_two(n):
    own = Ends("own")
    keeps_and_fails(n)
    return own


def frames_that_a_traceback_holds(n):
    try:
        through_two(n)
    except ValueError as error:
        print("handled", error)
    print("behind")
    try:
        keeps_and_fails(n)
    except ValueError:
        print("handled again")
        try:
            keeps_and_fails(n)
        except (KeyError, ValueError):
            print("inside")
    print("over")


class Doubling:
    def __init__(self, held):
        self.held = held

    def doubled(self):
        return self.held * 2


def a_generator_in_such_a_frame(n):
    steps = closing(n)
    next(steps)
    try:
        Doubling(steps).doubled()
    except TypeError as error:
        print(error)
        steps = None
        print("rebound")
    print("over")


def handled_in_an_inlined_call(n):
    kept = Ends("kept")
    try:
        fails(n)
    except TypeError as error:
        print(type(error))
    return kept.name


def leaves_with_a_traceback(n):
    kept = Ends("kept")
    print(kept.name)
    return fails(n)


def leaves_from_a_handler(n):
    kept = Ends("kept")
    try:
        fails(n)
    except TypeError:
        print(kept.name)
        raise


def leaves_another_way(n):
    kept = Ends("kept")
    try:
        fails(n)
    except TypeError as error:
        del kept
        raise ValueError("other") from error


def caught_outside(leaves):
    def run(n):
        try:
            leaves(n)
        except (TypeError, ValueError) as error:
            print("caught", type(error).__name__)
        print("out")
    return run


class Key:
    def __init__(self, name):
        self.name = name


def held_weakly(n):
    table = weakref.WeakKeyDictionary()
    key = Key(n)
    table[key] = n
    found = [len(table), list(table.values())]
    del key
    return found, len(table)


def referred_to_weakly(n):
    key = Key(n)
    seen = weakref.ref(key)
    before = seen() is None
    key = None
    return before, seen() is None


class Finalized:
    """Ends by a weak reference's callback, without a ``__del__``."""

    alive: set[str] = set()

    def __init__(self, name):
        self.name = name
        self.alive.add(name)
        weakref.finalize(self, self.alive.discard, name)


class Plain:
    pass


def _names_alive(things):
    names = [thing.name for thing in things]
    return [name in Finalized.alive for name in names]


def filled_in_a_loop(n):
    things = []
    for k in range(n):
        things.append(Finalized(str(k)))
    print(_names_alive(things))
    return _names_alive([*things, Finalized("more")])


def entries_filled_in_a_loop(n):
    things = {}
    for k in range(n):
        things[k] = Finalized(str(k))
    names = [thing.name for thing in things.values()]
    return [name in Finalized.alive for name in names]


def measured_list(n):
    things = [Finalized("only")]
    print(len_of(things), n)
    name = things[0].name
    return name in Finalized.alive


def len_of(things):
    return len(things)


def laid_over(n):
    things = {**dict.fromkeys(range(n)), "thing": Finalized("over")}
    name = things["thing"].name
    return name in Finalized.alive


def in_an_object(n):
    holder = Plain()
    holder.thing = Finalized("held")
    print(isinstance(vars(holder), dict), n)
    name = holder.thing.name
    return name in Finalized.alive


def made_from_an_iterable(n):
    things = list(map(Ends, range(n)))
    names = [thing.name for thing in things]
    print("all", names)
    things = None
    print("gone")


def held_by_a_running_generator(n):
    """Its variable is read for the last time to resume it, before it holds anything."""
    def steps():
        seen = Ends("seen") if n else None
        print("running")
        yield n
        print(seen)
    one = steps()
    print(next(one))
    print("waiting")


def in_a_list_and_a_variable(n):
    items = [Ends("item")]
    one = Ends("one")
    items.append(one)
    other = Ends("other")
    table = {"a": other, "b": [Ends("inner"), other, one]}
    print("over", n)


def in_lists_of_several_frames(n):
    def fill(items, n):
        one = Ends(n)
        items.append(one)
        if n:
            fill(items, n - 1)
        print("left", n)

    fill([Ends("first")], n)
    print("over")


def temporaries_before_a_variable(n):
    kept = Ends("kept")
    kept = Ends("kept again")
    return [Ends("temporary").name for _ in range(2)], n


PROGRAMS = [
    closed_by_hand, handled_in_an_inlined_call, items_of_a_list, values_of_a_dict, items_of_a_tuple, locals_at_the_end, left_by_break, temporaries,
    held_weakly, referred_to_weakly, held_by_a_running_generator,
    frames_that_a_traceback_holds, a_generator_in_such_a_frame, holders_that_nobody_reads, never_bound_on_one_way, suspended_in_a_list, iterators_at_their_end, taken_from_a_context,
    filled_in_a_loop, entries_filled_in_a_loop, measured_list, laid_over, in_an_object, made_from_an_iterable, filled_by_a_call, filled_through_another,
    in_a_list_and_a_variable, in_lists_of_several_frames, temporaries_before_a_variable,
]  # fmt: skip
LEAVING = [leaves_with_a_traceback, leaves_from_a_handler, leaves_another_way]


@pytest.fixture(autouse=True)
def _without_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("fn", PROGRAMS)
@pytest.mark.parametrize("spec", [hovis.Any, hovis.Int])
def test_ends_where_it_does(fn, spec):
    expected = observe(fn, (3,))
    same(expected, observe(hovis.specialize(fn, spec), (3,)))
    for _ in range(40):  # for CPython to specialize its instructions
        observe(fn, (3,))
    jitted = hovis.jit(fn)
    for _ in range(4):
        same(expected, observe(jitted, (3,)))


@pytest.mark.parametrize("fn", LEAVING)
@pytest.mark.parametrize("spec", [hovis.Any, hovis.Int])
def test_a_traceback_holds_the_variables(fn, spec):
    same(observe(caught_outside(fn), (3,)), observe(caught_outside(hovis.specialize(fn, spec)), (3,)))


@pytest.mark.parametrize("fn", LEAVING)
def test_nothing_but_the_traceback_holds_the_frame(fn):
    residual = hovis.specialize(fn, hovis.Any)
    alive = weakref.WeakSet()

    class Seen:
        pass

    def run():
        seen = Seen()
        alive.add(seen)
        try:
            residual(seen)
        except TypeError:
            assert sys.exception() is not None
        except ValueError:
            pass
    run()
    assert not alive


def asked(item):
    if isinstance(item, int):
        raise ValueError(item)


def handed_on(node):
    handler = node.f
    result = handler(node)
    asked(result)
    return result


def collected(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


@pytest.mark.parametrize(("fn", "spec"), [(handed_on, hovis.Any), (collected, list)])
def test_what_is_used_later_does_not_end(fn, spec):
    """The variable of a callee ends, and its caller's has the same value: nothing ends there, nor where a value is returned."""
    function = hovis.Options(frozen=False).trace(fn, spec).function
    needs = liveness(function)
    for block in function.blocks:
        later = set(terminator_operands(block.terminator)).union(*({*edge.args} | needs[edge.block] for edge in edges(block.terminator)))
        for op in reversed(block.ops):
            assert op.callee is not drop or op.args[0] not in later
            later |= set(op.operands())


# ------------------------------------------------------------------------------------------------- generators that end together


def steps(tag):
    try:
        yield 1
        yield 2
        yield 3
    finally:
        print("end of", tag)


class Mixing:
    """Writes functions in whose variables and loops there are generators, some of which hovis knows (``steps``), and some that unknown code makes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def block(self, depth):
        pick, lines = self.random.choice, []
        for _ in range(self.random.randint(1, 3)):
            self.count += 1
            way, made, name, number = self.random.randrange(9), pick(["steps", "make"]), pick("abc"), self.random.randrange(5)
            if way <= 1:
                lines += [f"{name} = {made}('{name}{self.count}')", f"next({name})"]
            elif way <= 3 and depth < 3:
                lines += [f"for {pick('xyz')} in {made}('loop {self.count}'):", *self.inner(depth)]
            elif way == 4:
                lines += [f"if n == {number}: raise ValueError({self.count})"]
            elif way == 5 and depth < 3:
                again = self.random.random() < 0.3
                lines += ["try:", *self.inner(depth), f"except ValueError{pick([' as e', ''])}:", f"    print('caught', {self.count})", *["    raise"] * again]
            elif way == 6 and depth < 3:
                lines += [f"if n > {number}:", *self.inner(depth)]
            else:
                lines += [f"print('at', {self.count})" if way == 7 else "n += 1"]
        return lines

    def inner(self, depth):
        return [f"    {line}" for line in self.block(depth + 1)]

    def function(self):
        last = self.random.choice(["if n > 2: raise ValueError(0)", "raise ValueError(0)", "print('over')"])
        lines = ["a = b = c = None", *self.block(0), *self.block(0), last]
        return "def mixed(n, make):\n" + "".join(f"    {line}\n" for line in lines)


#: Two known and two that are made by unknown code, or one of each: held by loops, by variables, by both.
MIXED = [
    "for x in make('x'):\n        for y in steps('y'):\n            if n > 2: raise ValueError(0)",
    "for x in steps('x'):\n        for y in make('y'):\n            if n > 2: raise ValueError(0)",
    "b = steps('b'); next(b)\n    for x in steps('x'):\n        for y in make('y'):\n            if n > 2: raise ValueError(0)",
    "a = None; b = make('b'); next(b)\n    a = steps('a'); next(a)\n    if n > 2: raise ValueError(0)",
    "a = None; b = make('b'); next(b)\n    a = make('a'); next(a)\n    if n > 2: raise ValueError(0)",
    "c = steps('c'); next(c)\n    if n == 4: raise ValueError(4)\n    b = make('b'); next(b)\n    print('over')",
    "try:\n        for x in make('x'):\n            for y in steps('y'):\n                for z in make('z'):\n                    if n > 2: raise ValueError(0)\n"
    "    except ValueError: print('caught')",
]


@pytest.mark.parametrize("text", [*(f"def mixed(n, make):\n    {body}\n" for body in MIXED), *(Mixing(k).function() for k in range(int(os.environ.get("HOVIS_EXAMPLES", "16"))))])
def test_generators_that_end_together_do_so_in_turn(text, capsys):
    """Those on the stack first, the last one first; then those in variables, in their order, where the traceback goes."""
    scope = {"steps": steps, "ValueError": ValueError}
    exec(compile(text, "<mixed>", "exec"), scope)
    mixed = scope["mixed"]

    def seen(fn, n):
        try:
            fn(n, steps)
            print("returned")
        except Exception as error:
            print("raised", type(error), error.args)
            del error
        print("behind")
        return capsys.readouterr().out

    for way in (hovis.jit(mixed), hovis.specialize(mixed, hovis.Int, hovis.Any)):
        for n in range(5):
            assert seen(way, n) == seen(mixed, n), (n, text)


# ------------------------------------------------------------------------------------------------- lists that keep what is referred to weakly

class Item:
    def __init__(self, part):
        self.part = part


def kept_by_a_list(n):
    items = [Item(i) for i in range(n)]
    refs = [weakref.ref(item) for item in items]
    return [ref() is None for ref in refs]


def kept_by_lists_in_a_list(n):
    items = [[Item(i)] for i in range(n)]
    refs = [weakref.ref(item[0]) for item in items]
    return [ref() is None for ref in refs]


def kept_by_a_list_of_two(n):
    items = [Item(i) for i in range(n)]
    ref = None
    for item in items:
        ref = weakref.ref(item)
    item = None
    return ref() is None


def kept_by_an_object(n):
    items = [Item(i) for i in range(n)]
    whole = Item(items)
    refs = [weakref.ref(item) for item in whole.part]
    del items
    return [ref() is None for ref in refs]


def told_apart_by_number(n):
    items = [Item(i) for i in range(n)]
    numbers = {id(item) for item in items}
    others = [Item(i) for i in range(n)]
    return len(numbers | {id(item) for item in others})


def let_go_of_in_time(n):
    items = [Item(i) for i in range(n)]
    refs = [weakref.ref(item) for item in items]
    items = None
    return [ref() is None for ref in refs]


@pytest.mark.parametrize("fn", [kept_by_a_list, kept_by_lists_in_a_list, kept_by_a_list_of_two, kept_by_an_object, told_apart_by_number, let_go_of_in_time])
def test_lists_keep_what_is_referred_to_weakly(fn):
    assert hovis.jit(fn)(4) == hovis.specialize(fn, hovis.Int)(4) == fn(4)


@hovis.boundary
def two(n):
    items = [Item(i) for i in range(n)]
    return [weakref.ref(item) for item in items], items


def unpacked(n):
    refs, items = two(n)
    return [ref() is None for ref in refs]


def unpacked_with_a_star(n):
    refs, *items = two(n)
    return [ref() is None for ref in refs]


@pytest.mark.parametrize("fn", [unpacked, unpacked_with_a_star])
def test_what_is_unpacked_lasts_as_long_as_its_variable(fn):
    assert hovis.jit(fn)(4) == hovis.specialize(fn, hovis.Int)(4) == fn(4)
