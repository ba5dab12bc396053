"""Loops that are ended by another thread or by a signal handler: run as a process of its own, `python -m tests.interrupted.flags WAY...`.

Each loop depends on a different kind of state: a global, an attribute, a closure variable, an item, a container, an event, a call, several at once.
The parent process detects a loop that does not end by a timeout.
"""
import enum
import itertools
import signal
import sys
import threading
import types
from collections import deque

import hovis

STOP = False
STATE = {"stop": False}
MODULE = types.ModuleType("flags")
EVENT = threading.Event()
ITEMS, DEQUE, LATER = [], deque(), {}


class Mode(enum.Enum):
    RUN = 1
    END = 2


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


MODE, LEVEL = Mode.RUN, Level.LOW
PAIR, LAST, CURRENT = (), [], {}


def no():
    return False


def yes():
    return True


ask = no


class Worker:
    running = True
    __slots__ = ("active",)

    def __init__(self):
        self.active = True

    def by_class(self, k):
        while self.running:
            k += 1
        return k

    def by_slot(self, k):
        while self.active:
            k += 1
        return k


class Derived(Worker):
    __slots__ = ()

    @classmethod
    def by_class_method(cls, k):
        while cls.running:
            k += 1
        return k


class Plain:
    def __init__(self):
        self.running = True

    def by_attribute(self, k):
        while self.running:
            k += 1
        return k


WORKER, PLAIN = Worker(), Plain()


def closure():
    go = True

    def by_cell(k):
        while go:
            k += 1
        return k

    def stop():
        nonlocal go
        go = False

    def again():
        nonlocal go
        go = True
    return by_cell, stop, again


def by_global(k):
    while not STOP:
        k += 1
    return k


def by_class_itself(k):
    while Worker.running:
        k += 1
    return k


def by_class_in_try(k):
    try:
        while True:
            k += 1
            if not Derived.running:
                break
    finally:
        k += 1
    return k


def by_none(k):
    while MODULE.result is None:
        k += 1
    return k


def by_item(k):
    while not STATE["stop"]:
        k += 1
    return k


def by_event(k):
    while not EVENT.is_set():
        k += 1
    return k


def by_list(k):
    while not ITEMS:
        k += 1
    return k


def by_length(k):
    while len(ITEMS) < 1:
        k += 1
    return k


def by_deque(k):
    while not DEQUE:
        k += 1
    return k


def asked():
    return STOP


def by_call(k):
    while not asked():
        k += 1
    return k


def by_variable(k):
    done = False
    while not done:
        k += 1
        done = STOP
    return k


def by_two(k):
    while True:
        k += 1
        if STOP and k > 3:
            return k


def by_break(k):
    while k < 10 ** 15:
        if STOP:
            break
        k += 1
    return k


def in_try(k):
    try:
        while not STOP:
            k += 1
    finally:
        k += 1
    return k


def nested(k):
    while not STOP:
        for j in range(3):
            k += j
    return k


def by_text(k):
    while MODULE.mode == "run":
        k += 1
    return k


def by_missing_name(k):
    while True:
        try:
            return LATE_NAME
        except NameError:
            pass


def by_missing_name_in_try(k):
    try:
        while True:
            try:
                return LATE_NAME
            except NameError:
                pass
    finally:
        k += 1


def by_missing_attribute(k):
    while True:
        try:
            return MODULE.late
        except AttributeError:
            pass


def by_missing_item(k):
    while True:
        try:
            return LATER["late"]
        except KeyError:
            pass


def check_twice():
    if not STOP:
        raise TimeoutError
    return 1


def by_exception(k):
    while True:
        try:
            return check_twice()
        except TimeoutError:
            pass


class Waiting(Exception):
    pass


def check_waiting():
    if not STOP:
        raise Waiting("not yet")


def by_own_exception(k):
    while True:
        try:
            check_waiting()
        except Waiting:
            k += 1
        else:
            return k


def by_cycle(k):
    for i in itertools.cycle((1, 2)):
        if STOP:
            return k + i


def by_count(k):
    for i in itertools.count():
        if STOP:
            return i


#: The initial values of variables, the condition of the loop, and the statement that ends it: only this statement depends on STOP.
VARIABLES = [
    ("done = False", "not done", "done = True"), ("go = True", "go", "go = False"), ("r = None", "r is None", "r = 7"), ("s = 'run'", "s == 'run'", "s = 'end'"),
    ("o = [False]", "not o[0]", "o[0] = True"), ("go = True", "go and k >= 0", "go = False"), ("d = False", "not d", "d = True if STOP else d"),
    ("s = 'run'", "s != 'end'", "s = 'stopping' if s == 'run' else 'end'"), ("a = 0", "a < 2", "a = 5"), ("done = False", "True", "done = True"),
]
AROUND = ["if STOP:\n   {}", "try:\n   if STOP: {}\n  finally:\n   k += 1", "for i in range(3):\n   if STOP: {}"]


def by_variables():
    """Make a function for each combination of VARIABLES and AROUND."""
    for k, (begin, test, stop) in enumerate(VARIABLES):
        for j, around in enumerate(AROUND):
            first, last = "a = 1 - a" if begin == "a = 0" else "k += 1", "\n  if done: break" if test == "True" else ""
            text = f"def by_variable_{k}_{j}(k):\n {begin}\n while {test}:\n  {first}\n  {around.format(stop)}{last}\n return k\n"
            exec(text, globals())
            yield globals()[f"by_variable_{k}_{j}"]


def check():
    if STOP:
        raise TimeoutError


#: The initial values of variables, the condition of the loop, and the statement of each iteration: no value changes before STOP or LATER does.
STEPS = [
    ("done = False", "not done", "done |= STOP"), ("n = 0", "n == 0", "n += STOP"), ("n = [0]", "not sum(n)", "n[0] += STOP"), ("n = 0", "not n", "n = max(n, STOP)"),
    ("s = ''", "not s", "s += 'x' * STOP"), ("s = ''", "not s", "s += f\"{LATER.get('x', '')}\""), ("n = 0", "n == 0", "n += len(LATER)"),
    ("r = None", "r is None", "r = LATER.get('x')"), ("r = None", "not r", "r = r or LATER.get('x')"), ("r = 1", "'x' not in LATER", "r = 1"),
    ("r = None", "r is None", "try: r = LATER['x']\n  except KeyError: pass"), ("r = 1", "MODE is Mode.RUN", "r = 1"), ("r = 1", "not getattr(PLAIN, 'late', 0)", "r = 1"),
    ("r = None", "r is None", "for r in iter(lambda: STOP, True): k += 1\n  r = 1"), ("r = 1", "not any(list(LATER.values()))", "r = 1"),
    ("r = 1", "not PAIR", "r = 1"), ("r = 1", "not LEVEL", "r = 1"), ("r = 1", "LEVEL < 1", "r = 1"), ("r = 1", "CURRENT is not LAST", "r = 1"), ("r = 1", "not ask()", "r = 1"), ("r = 1", "not isinstance(CURRENT, list)", "r = 1"),
    ("r = 0", "not r", "try: check()\n  except TimeoutError: r = 1"),
]


def by_steps():
    """Make a function for each of STEPS."""
    for k, (begin, test, step) in enumerate(STEPS):
        name = f"by_step_{k}"
        exec(f"def {name}(k):\n {begin}\n while {test}:\n  k += 1 + k % 3\n  {step}\n return k\n", globals())
        yield globals()[name]


def put(**values):
    """Set globals: the stop condition, or its reset."""
    globals().update(values)


BY_CELL, STOP_CELL, CELL_AGAIN = closure()
END, AGAIN = (lambda: put(STOP=True)), (lambda: put(STOP=False))


def end_all():
    put(STOP=True, MODE=Mode.END, LEVEL=Level.HIGH, PAIR=(1, 2), CURRENT=LAST, ask=yes)
    LATER["x"] = PLAIN.late = 1


def all_again():
    put(STOP=False, MODE=Mode.RUN, LEVEL=Level.LOW, PAIR=(), CURRENT={}, ask=no)
    LATER.clear()
    vars(PLAIN).pop("late", None)


CASES = [
    *((fn, END, AGAIN) for fn in (by_global, by_call, by_variable, by_two, by_break, in_try, nested, *by_variables())),
    *((fn, end_all, all_again) for fn in by_steps()),
    (by_none, lambda: setattr(MODULE, "result", 1), lambda: setattr(MODULE, "result", None)),
    *((fn, lambda: put(LATE_NAME=1), lambda: globals().pop("LATE_NAME", None)) for fn in (by_missing_name, by_missing_name_in_try)),
    (by_missing_attribute, lambda: setattr(MODULE, "late", 1), lambda: vars(MODULE).pop("late", None)),
    (by_missing_item, lambda: LATER.update(late=1), LATER.clear),
    *((fn, END, AGAIN) for fn in (by_exception, by_own_exception, by_cycle, by_count)),
    (by_text, lambda: setattr(MODULE, "mode", "stop"), lambda: setattr(MODULE, "mode", "run")),
    (by_item, lambda: STATE.update(stop=True), lambda: STATE.update(stop=False)),
    (by_event, EVENT.set, EVENT.clear),
    *((fn, lambda: ITEMS.append(1), ITEMS.clear) for fn in (by_list, by_length)),
    (by_deque, lambda: DEQUE.append(1), DEQUE.clear),
    *((fn, lambda: setattr(Worker, "running", False), lambda: setattr(Worker, "running", True))
      for fn in (WORKER.by_class, by_class_itself, Derived.by_class_method, by_class_in_try)),
    (WORKER.by_slot, lambda: setattr(WORKER, "active", False), lambda: setattr(WORKER, "active", True)),
    (PLAIN.by_attribute, lambda: setattr(PLAIN, "running", False), lambda: setattr(PLAIN, "running", True)),
    (BY_CELL, STOP_CELL, CELL_AGAIN),
]


def compiled(fn):
    import hovis_xla
    return hovis_xla.jit(fn)


WAYS = {"jit": hovis.jit, "specialize": lambda fn: hovis.specialize(fn, int), "xla": compiled}


def main(ways):
    for number, (fn, stop, again) in enumerate(CASES):
        for way in ways:
            if way == "specialize" and fn.__name__.startswith(("by_variable_5", "by_variable_8")):
                continue    # the loop may end otherwise, and specialize treats what it reads as constant
            again()
            residual = WAYS[way](fn)
            if way != "specialize":
                residual._compile((0,), {})      # before the loop is stopped
            print(way, fn.__name__, flush=True)
            if number % 2:
                timer = threading.Timer(0.02, stop)
                timer.start()
            else:
                signal.signal(signal.SIGVTALRM, lambda *_, stop=stop: stop())
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.02)
            assert residual(0) >= 0              # the result depends on the time of the stop
            if number % 2:
                timer.join()
            assert residual(0) >= 0              # the loop is stopped from the start


if __name__ == "__main__":
    main(sys.argv[1:])
