"""Type feedback: the classes of operands and the callees that are seen in real calls, by call path."""
from __future__ import annotations

import bdb
import gc
import subprocess
import sys
import threading
import traceback
import types
import weakref

import pytest

from hovis.bytecode.decode import decode
from hovis.engine.speculation import observed_operands, type_feedback
from hovis.engine.speculation.type_feedback import KINDS, Feedback, observe

SUBSCRIPT = 26  # the operator of BINARY_OP that is a subscript (3.14)


def seen_in(feedback, code, calls=()):
    """Return what was seen in the instructions of code, by name, in order."""
    found = []
    for raw in decode(code):
        one = feedback.seen([*calls, (code, raw.offset)])
        if one is not None:
            found.append(("BINARY_SUBSCR" if raw.name == "BINARY_OP" and raw.arg == SUBSCRIPT else raw.name, one.kinds, one.callee))
    return found


def kinds_in(fn, *args, name=None):
    feedback = Feedback()
    observe(feedback, fn, args, {})
    return [kinds for told, kinds, _ in seen_in(feedback, fn.__code__) if name is None or told.startswith(name)]


def add_up(items, more):
    total = 0.5
    for item in items:
        total += item
    try:
        total.missing
    except AttributeError:
        total = more[1]
    return f"{total:>{len(more)}}", [str(one) for one in items], -total


def test_classes_of_operands():
    assert kinds_in(add_up, [1, 2], (1, 2), name="BINARY_OP") == [((float,), (int,))]
    assert kinds_in(add_up, [1, 2.5], (1, 2), name="BINARY_OP") == [((float,), (int, float))]
    assert kinds_in(add_up, [1, 2], (1, 2), name="BINARY_SUBSCR") == [((tuple,), (int,))]
    assert kinds_in(add_up, [1, 2], (1, 2), name="UNARY_NEGATIVE") == [((int,),)]
    assert kinds_in(add_up, [1, 2], (1, 2), name="PUSH_EXC_INFO")[0] == ((AttributeError,),)
    assert ((float,),) in kinds_in(add_up, [1, 2], (1, 2), name="LOAD_ATTR")


@pytest.mark.parametrize("count", range(1, KINDS + 2))
def test_a_few_classes_are_told_apart(count):
    given = [1, 2.5, True, 1j][:count]
    [(_, kinds)] = kinds_in(add_up, given, (1, 2), name="BINARY_OP")
    assert kinds == (tuple(map(type, given)) if count <= KINDS else ())


def called(x):
    return x * 2


def calls(fn, x, **named):
    return fn(x), fn(x, **named), str(x), len([x])


def test_callees():
    for fn in (called, lambda x: x):
        feedback = Feedback()
        observe(feedback, calls, [fn, 1.5], {})
        told = [(kinds, callee) for name, kinds, callee in seen_in(feedback, calls.__code__) if name == "CALL"]
        assert [callee for _, callee in told] == [fn, str, len] and told[1][0] == ((float,),)
    observe(feedback, calls, [called, 1.5], {})
    assert next(callee for name, _, callee in seen_in(feedback, calls.__code__) if name == "CALL") is None


def outer(x, y):
    a = called(x)
    return a, called(y)


def test_call_paths():
    feedback = Feedback()
    observe(feedback, outer, [1, "a"], {})
    at = [raw.offset for raw in decode(outer.__code__) if raw.name == "CALL"]
    for offset, cls in zip(at, (int, str), strict=True):
        assert seen_in(feedback, called.__code__, [(outer.__code__, offset)])[0][1] == ((cls,), (int,))
    [(_, (kinds, _), _)] = [one for one in seen_in(feedback, called.__code__, [(add_up.__code__, 0)]) if one[0] == "BINARY_OP"]
    assert set(kinds) == {int, str}


def nested(items):
    return [nested(item) if isinstance(item, list) else item + 1 for item in items]


def test_recursion_has_no_path_of_its_own():
    feedback = Feedback()
    observe(feedback, nested, [[1, [2.5, [3]]]], {})
    adding = [kinds for name, kinds, _ in seen_in(feedback, (inner_code(nested) or nested.__code__)) if name == "BINARY_OP"]
    assert adding == [((int, float), (int,))]


def inner_code(fn):
    return next((one for one in fn.__code__.co_consts if isinstance(one, types.CodeType)), None)


class Plain:
    def __init__(self, held):
        self.held = held

    def store(self, held):
        self.held = held


class Hooked:
    @property
    def held(self):
        raise AssertionError("properties must not run")

    @held.setter
    def held(self, value): ...

    store = Plain.store


def test_old_values_of_attributes():
    for target, wanted in ((Plain(1), int), (Plain("a"), str), (Hooked(), None)):
        feedback = Feedback()
        observe(feedback, target.store, [3], {})
        [at] = [raw.offset for raw in decode(Plain.store.__code__) if raw.name == "STORE_ATTR"]
        kinds, old = (seen := feedback.seen([(Plain.store.__code__, at)])).kinds, seen.replaced
        assert (kinds, old) == (((type(target),),), wanted)


class Strange(type):
    def __eq__(cls, other):
        raise AssertionError("must not run")

    def __hash__(cls):
        raise AssertionError("must not run")


class Odd(metaclass=Strange):
    def __add__(self, other): return self


class Odder(metaclass=Strange):
    def __add__(self, other): return self


def test_no_code_of_metaclasses_runs():
    feedback = Feedback()
    for one in (Odd(), Odder()):
        observe(feedback, called_on, [one], {})
    [(_, kinds, _)] = [one for one in seen_in(feedback, called_on.__code__) if one[0] == "BINARY_OP"]
    assert [cls.__name__ for cls in kinds[0]] == ["Odd", "Odder"]


def called_on(x):
    return x + x


def test_nothing_is_left_behind():
    feedback = Feedback()
    assert observe(feedback, add_up, [[1], (1, 2)], {}) == add_up([1], (1, 2))
    assert sys.gettrace() is None
    with pytest.raises(ZeroDivisionError) as caught:
        observe(feedback, lambda: 1 // 0, [], {})
    assert sys.gettrace() is None and [entry.name for entry in caught.traceback][-1] == "<lambda>"
    held = Plain(1)
    gone = weakref.ref(held)
    observe(feedback, called_on_attribute, [held], {})
    del held
    gc.collect()
    assert gone() is None


def called_on_attribute(x):
    return x.held + 1


def test_another_trace_function_goes_on():
    events = []

    def mine(frame, event, arg):
        events.append(event)

    feedback = Feedback()
    sys.settrace(mine)
    try:
        observe(feedback, add_up, [[1], (1, 2)], {})
        assert sys.gettrace() is mine
    finally:
        sys.settrace(None)
    assert "call" in events and seen_in(feedback, add_up.__code__) == []

    def starts():
        sys.settrace(mine)
        return add_up([1], (1, 2))

    try:
        observe(feedback, starts, [], {})
        assert sys.gettrace() is mine
    finally:
        sys.settrace(None)


def test_long_calls_are_observed_in_part(monkeypatch):
    monkeypatch.setattr(type_feedback, "MOST", 100)

    def long(n):
        total = 0
        for k in range(n):
            total += k
        return total

    feedback = Feedback()
    assert observe(feedback, lambda n: (long(n), flags(sys._getframe())), [1000], {}) == (499500, (None, True, False))
    assert feedback.left == -1 and seen_in(feedback, long.__code__) and sys.gettrace() is None


def flags(frame):
    return frame.f_trace, frame.f_trace_lines, frame.f_trace_opcodes


def test_nothing_is_kept_alive():
    def inside():
        def local(x): return x + 1

        class Local:
            def __del__(self): told.append("gone")

        def around(held): return lambda: held

        told, items = [], [Local()]
        closed = around(Local())
        append, one = items.append, Local
        append(local(local(1)))
        closed(), closed()
        gone = [weakref.ref(local), weakref.ref(Local)]
        del append, items
        told.append("items")
        del closed
        told.append("closed")
        del one, Local, local
        gc.collect()
        return [ref() for ref in gone], told

    feedback = Feedback()
    assert observe(feedback, inside, [], {}) == ([None, None], ["gone", "items", "gone", "closed"]) == inside()
    assert feedback.left < type_feedback.MOST - 100
    assert all(None not in kinds for _, kinds, _ in seen_in(feedback, inside.__code__))


def test_deep_recursion():
    def down(n):
        return n if n == 0 else 1 + down(n - 1)

    def ends():
        try:
            return down(10**6)
        except RecursionError as error:
            names = [entry.name for entry in traceback.extract_tb(error.__traceback__)]
            return set(names), len(names) > 500

    assert observe(Feedback(), ends, [], {}) == ends() == ({"ends", "down"}, True)


def test_code_that_asks_for_trace_functions():
    def asks():
        before = flags(sys._getframe())
        return sys.gettrace(), before

    def debugs():
        stops = []

        class Debugger(bdb.Bdb):
            def user_line(self, frame):
                stops.append(frame.f_lineno - first)
                self.set_step()

        def stopped():
            Debugger().set_trace()
            x = 1
            sys.settrace(None)
            return x

        first = stopped.__code__.co_firstlineno
        stopped()
        return [stop for stop in stops if 0 <= stop < 5]

    for fn in (asks, lambda: asks(), debugs, lambda: debugs()):
        assert observe(Feedback(), fn, [], {}) == fn()
        sys.settrace(None)


def test_suspended_generators_have_no_trace_function():
    def numbers():
        yield 1
        yield 2

    def starts():
        it = numbers()
        next(it)
        return it

    feedback = Feedback()
    it = observe(feedback, starts, [], {})
    assert flags(it.gi_frame) == (None, True, False)
    events = []
    sys.settrace(lambda frame, event, arg: events.append(event))
    next(it)
    sys.settrace(None)
    assert "opcode" not in events


def test_only_the_main_thread_observes():
    feedback = Feedback()
    thread = threading.Thread(target=observe, args=(feedback, add_up, [[1], (1, 2)], {}))
    thread.start()
    thread.join()
    assert seen_in(feedback, add_up.__code__) == []


def test_an_audit_hook_may_refuse():
    text = """if True:
        import sys
        from hovis.engine.speculation.type_feedback import Feedback, observe, _offset
        _offset()
        def hook(event, args):
            if event == "sys.settrace": raise PermissionError(event)
        sys.addaudithook(hook)
        assert observe(Feedback(), lambda x: x + 1, [2], {}) == 3
    """
    subprocess.run([sys.executable, "-c", text], check=True, timeout=60)


def test_generators_go_on_after_the_call():
    def numbers():
        total = 0
        while True:
            total += yield total

    feedback = Feedback()
    running = observe(feedback, lambda: [it := numbers(), next(it), it.send(2)], [], {})[0]
    assert running.send(3) == 5 and sys.gettrace() is None


def test_other_threads_are_not_observed():
    def elsewhere():
        told.append(sys.gettrace())
        called_on_attribute(Plain(1))

    told = []
    feedback = Feedback()

    def starts():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    observe(feedback, starts, [], {})
    assert told == [None] and seen_in(feedback, called_on_attribute.__code__) == []


def many_names():
    names = "\n".join(f"    v{k} = x + {k + 1000}" for k in range(400))
    scope = {}
    exec(f"def many(x):\n{names}\n    return v399.real + v1", scope)
    return scope["many"]


def test_long_arguments_of_instructions():
    assert set(kinds_in(many_names(), 1.5, name="BINARY_OP")) == {((float,), (int,)), ((float,), (float,))}


def test_the_code_of_the_standard_library_has_depths():
    for module in (dict(sys.modules)):
        for held in list(vars(sys.modules[module]).values()):
            if isinstance(held, types.FunctionType) and held.__module__ == module:
                raws = decode(held.__code__)
                depths = [depth for depth in observed_operands.depths(raws) if depth is not None]
                assert depths and 0 <= min(depths) <= max(depths) <= held.__code__.co_stacksize


def test_frames_end_without_a_garbage_collection():
    class Held:
        pass

    def caller():
        held = Held()
        observe(Feedback(), len, [()], {})
        observe(Feedback(), lambda x: (x,), [1], {})
        return weakref.ref(held)

    gc.disable()
    try:
        assert caller()() is None
    finally:
        gc.enable()
