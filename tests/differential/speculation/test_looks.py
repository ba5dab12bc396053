"""Where guards are tested again: behind what may run unknown code, such as a finalizer, and nowhere else."""
import io
import sys
import threading
from types import SimpleNamespace

import pytest

import hovis
from hovis.bytecode.normalize import normalize
from hovis.engine.state import lifetimes
from hovis.engine.state.frames_and_heap import Frame, State
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import ENDS_READ, Dyn, Ref
from hovis.front.jit_cache.plans import BY_CLASS
from hovis.ir.model import Effect, Param
from hovis.ir.operations import unchanged
from hovis.lattice import ANY

jitting = sys.modules["hovis.front.jit"]


@pytest.fixture(autouse=True)
def residuals_do_all_calls(monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", False)


def by_class(fn):
    """Return the jitted function, whose first trace comes after two observed calls."""
    made = hovis.jit(fn)
    made._plans.current = BY_CLASS
    return made


def looks(jitted):
    return sum(op.callee is unchanged for trace in jitted.traces for function in trace.functions for op in function.ops())


class Stream:
    def __init__(self, data):
        self.io, self.bits = io.BytesIO(data), 0

    def read(self, n):
        self.bits = 0
        r = self.io.read(n)
        if len(r) < n:
            raise EOFError
        return r


class Record:
    def __init__(self, stream, parent):
        self.stream, self.parent = stream, parent
        self.a = self.stream.read(1)
        self.b = self.stream.read(2)


class Table:
    def __init__(self, data):
        self.stream = Stream(data)
        self.items = [Record(self.stream, self) for _ in range(data[0])]


def records(data):
    return [item.a + item.b for item in Table(data).items]


def test_a_dead_variable_ends_nothing_that_is_held_elsewhere():
    """``self`` is dead behind the last read of an attribute in ``Stream.read``; the record holds the stream."""
    jitted, data = by_class(records), b"\2abcdef" + bytes(100)
    for _ in range(5):
        assert jitted(data) == [b"\2ab", b"cde"]
    assert 0 < looks(jitted) <= 9
    with pytest.raises(EOFError):
        jitted(b"\xff" * 100)


def test_what_may_end_with_a_dead_variable():
    unused, used = normalize((lambda held: None).__code__), normalize((lambda held: held).__code__)
    machine = SimpleNamespace(tables=SimpleNamespace(weakly=False))
    one, other = (Dyn(Param(ANY), ANY, ends=ENDS_READ) for _ in range(2))
    unseen = Dyn(one.value, ANY)  # it is not known here that its end may be visible

    def may_end(outer):
        """Does something end, when the variable of the inner frame is dead, and the outer one returns a value?"""
        frames = [Frame(used, 0, [None], {}), Frame(unused, 1, [one], {})]
        frames[0].stack.append(outer)
        found = lifetimes.drop_dead(machine, State(frames, {0: VObj("tuple", tuple, (one,))}))
        assert frames[1].locals[0] is None
        return found

    assert may_end(other) and may_end(unseen)
    assert not may_end(one) and not may_end(Ref(0))


FACTOR = 1


class Ending:
    """An object whose end changes what the program relies on."""

    def __init__(self, value): self.value = value

    def __del__(self):
        global FACTOR
        FACTOR += 1

    def half(self):
        value = self.value
        if value % 2:
            return value * FACTOR
        return value // 2 * FACTOR


def from_list(values):
    found = []
    while values:
        item = values.pop()
        found.append((item.half(), FACTOR))
        found.append(item.half() + FACTOR)
    return found, FACTOR


def of_temporaries(values):
    found = []
    while values:
        found.append((values.pop().half(), FACTOR))
    return found, FACTOR


def passed_on(values):
    found = []
    while values:
        item = values.pop()
        other = item
        item = None
        found.append((other.half(), FACTOR))
        other = None
        found.append(FACTOR)
    return found


@pytest.mark.parametrize("fn", [from_list, of_temporaries, passed_on], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("make", [hovis.jit, by_class], ids=["jit", "by class"])
def test_finalizers_that_change_a_global_are_seen(fn, make, monkeypatch):
    monkeypatch.setitem(globals(), "FACTOR", 1)
    made = make(fn)
    for count in (3, 1, 4, 0, 5):
        monkeypatch.setitem(globals(), "FACTOR", 1)
        wanted = fn([Ending(k) for k in range(count)])
        monkeypatch.setitem(globals(), "FACTOR", 1)
        assert made([Ending(k) for k in range(count)]) == wanted


LOCAL = threading.local()


def test_each_thread_has_its_own_attributes_of_a_thread_local_object():
    def note(value):
        before = getattr(LOCAL, "last", None)
        LOCAL.last = value
        return before, LOCAL.last, hasattr(LOCAL, "other")

    jitted, found = by_class(note), {}
    residual = hovis.specialize(note)
    assert not any(op.effect & Effect.OPAQUE for function in residual.trace.functions for op in function.ops())

    def work(name):
        found[name] = [jitted((name, k)) for k in range(5)] + [residual((name, k)) for k in range(5, 8)]

    threads = [threading.Thread(target=work, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {name: [((name, k - 1) if k else None, (name, k), False) for k in range(8)] for name in range(3)}
