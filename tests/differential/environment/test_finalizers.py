"""What a finalizer, or the callback of a weak reference, has written is read behind what may have run it."""
from __future__ import annotations

import collections
import gc
import weakref

import numpy as np
import pytest

import hovis

G = 0
REFS: list[object] = []
HOLD: object = None


def bump(*_):
    global G
    G += 1


class F:
    def __init__(self): pass

    def __del__(self): bump()


class P: pass


class Own: pass


class S:
    __slots__ = ("x",)


def fin(kind):
    if kind == "del":
        return F()
    made = P()
    REFS.append(weakref.ref(made, bump))
    return made


def read(): return G


def clear_list(d, l, o):
    a = G; l.clear(); return a, G

def clear_dict(d, l, o):
    a = G; d.clear(); return a, G

def store_dict(d, l, o):
    a = G; d["k"] = 1; return a, G

def store_dict_through(d, l, o):
    a = read(); d["k"] = 1; return a, read()

def store_attr(d, l, o):
    a = G; o.x = 1; return a, G

def del_attr(d, l, o):
    a = G; del o.x; return a, G

def del_item(d, l, o):
    a = G; del d["k"]; return a, G

def store_list(d, l, o):
    a = G; l[0] = 1; return a, G

def del_list(d, l, o):
    a = G; del l[0]; return a, G

def slice_store(d, l, o):
    a = G; l[:] = []; return a, G

def slice_del(d, l, o):
    a = G; del l[:]; return a, G

def pop_dropped(d, l, o):
    a = G; l.pop(); return a, G

def dpop_dropped(d, l, o):
    a = G; d.pop("k"); return a, G

def dpop2_dropped(d, l, o):
    a = G; d.pop("k", None); return a, G

def popitem_dropped(d, l, o):
    a = G; d.popitem(); return a, G

def pop_local(d, l, o):
    x = l.pop(); a = G; x = None; return a, G

def pop_del(d, l, o):
    x = l.pop(); a = G; del x; return a, G

def pop_deeper(d, l, o):
    x = [l.pop()]; a = G; x = None; return a, G

def pop_deeper2(d, l, o):
    x = [l.pop()]; a = G; x.clear(); return a, G

def read_then_store(d, l, o):
    x = d["k"]; d["k"] = 0; a = G; x = None; return a, G

def read_attr_then_store(d, l, o):
    x = o.x; o.x = 0; a = G; x = None; return a, G

def helper_locals(d, l, o):
    def h(l):
        x = l.pop(); return G
    a = h(l); return a, G

def gen_ends(d, l, o):
    def g():
        x = l.pop(); yield G;
    it = g(); a = next(it); b = next(it, None); return a, b, G

def gen_dropped(d, l, o):
    def g():
        x = l.pop(); yield G;
    it = g(); a = next(it); it = None; return a, G

def exc(d, l, o):
    a = G
    try: raise ValueError(l.pop())
    except ValueError as e: b = G
    return a, b, G

def exc_frame(d, l, o):
    def h():
        x = l.pop(); raise ValueError
    a = G
    try: h()
    except ValueError: b = G
    return a, b, G

def remove(d, l, o):
    a = G; l.remove(l[0]); return a, G

def aug(d, l, o):
    a = G; l *= 0; return a, G

def update(d, l, o):
    a = G; d.update(k=3); return a, G

def update2(d, l, o):
    a = G; d |= {"k": 3}; return a, G

def set_clear(d, l, o):
    s = o.s; a = G; s.clear(); return a, G

def set_pop(d, l, o):
    s = o.s; a = G; s.pop(); return a, G

def deque_append(d, l, o):
    s = o.d; a = G; s.append(1); return a, G

def loop(d, l, o):
    r = []
    while l:
        r.append(G); l.pop()
    return r, G

def loop2(d, l, o):
    r = []
    for k in list(d):
        r.append(G); d[k] = 1; r.append(G)
    return r, G

def nested_list(d, l, o):
    a = G; d["l"][0] = 1; return a, G

def own_list(d, l, o):
    m = [l.pop()]; a = G; m[0] = 1; return a, G

def own_dict(d, l, o):
    m = {"k": l.pop()}; a = G; m["k"] = 1; return a, G

def own_obj(d, l, o):
    m = Own(); m.x = l.pop(); a = G; m.x = 1; return a, G

def cell(d, l, o):
    x = l.pop()
    def f(): return x
    a = G; x = 1; return a, G, f()

def kw(d, l, o):
    a = G
    def f(**k): return G
    b = f(x=l.pop())
    return a, b, G

def global_store(d, l, o):
    global HOLD
    HOLD = l.pop(); a = G; HOLD = None; return a, G

def iter_end(d, l, o):
    r = []
    for x in o.it: r.append(G)
    r.append(G); x = 0
    return r, G

def comp(d, l, o):
    return [G for x in o.it], G

def unpack(d, l, o):
    x, y = l.pop(), 1; a = G; x, y = y, 2; return a, G

def expr(d, l, o):
    return G, l.pop() is None, G

def call_expr(d, l, o):
    return G, str(type(l.pop())), G

def insidetuple(d, l, o):
    a = G; t = (l.pop(), 1); b = t[1]; t = 2; return a, b, G

def cls_read(d, l, o):
    a = o.m(); d["k"] = 1; return a, o.m()

class WithM:
    def m(self): return 1

def setdefault(d, l, o):
    a = G; d.setdefault("q", l.pop()); d.pop("q"); return a, G

def array(d, l, o):
    a = G; o.arr[0] = 1; return a, G

def fresh(d, l, o):
    a = G; fin(); return a, G

def fresh2(d, l, o):
    x = F(); a = G; x = 1; return a, G

def fresh3(d, l, o):
    x = F(); o.y = x; x = None; a = G; o.y = 1; return a, G

def weak(d, l, o):
    p = P(); r = weakref.ref(p, bump); a = G; p = None; return a, G

def sort(d, l, o):
    a = G; sorted([3, 1], key=lambda v: l.pop() and v if l else v); return a, G

def swapped(d, l, o):
    a = G; l[0], l2 = 0, l[0]; b = G; l2 = None; return a, b, G

def finally_(d, l, o):
    r = []
    try:
        x = l.pop(); r.append(G)
    finally:
        x = None; r.append(G)
    return r

def with_(d, l, o):
    class C:
        def __enter__(s): return l.pop()
        def __exit__(s, *a): pass
    with C() as x: a = G
    x = None
    return a, G

def match(d, l, o):
    match l.pop():
        case None: a = 3
        case x: a = G
    x = 1
    return a, G

def dictget(d, l, o):
    x = d.get("k"); d.clear(); a = G; x = None; return a, G

def setattr_(d, l, o):
    a = G; setattr(o, "x", 1); return a, G

def dictattr(d, l, o):
    a = G; o.__dict__["x"] = 1; return a, G

def vars_(d, l, o):
    a = G; vars(o).clear(); return a, G

def ret(d, l, o):
    x = d.pop("k")
    return G

def arg(d, l, o):
    def h(x): x = None; return G
    a = h(l.pop())
    return a, G

def slot(d, l, o):
    s = S(); s.x = l.pop(); a = G; s.x = 1; return a, G

def slot_del(d, l, o):
    s = S(); s.x = l.pop(); a = G; del s.x; return a, G

def slot_unknown(d, l, o):
    s = o.slot; a = G; s.x = 1; return a, G

def slot_in_fn(d, l, o):
    def f(l):
        s = S(); s.x = l.pop(); return G
    return f(l), G

def func_attr(d, l, o):
    def f(): pass
    f.x = l.pop(); a = G; f.x = 1; return a, G

def class_attr(d, l, o):
    WithM.zz = l.pop(); a = G; WithM.zz = None; return a, G

def default(d, l, o):
    def f(x=l.pop()): return G
    a = f(); f = None; return a, G

def lam(d, l, o):
    f = (lambda x: lambda: x)(l.pop()); a = G; f = None; return a, G

def extend(d, l, o):
    m = []; m.extend(l); l.clear(); a = G; m = None; return a, G

def insert(d, l, o):
    l.insert(0, 1); a = G; l.pop(1); return a, G

def imul0(d, l, o):
    x = l; x *= 0; return G

def delname(d, l, o):
    x = o.pop_it(); a = G; del x; return a, G

def unknown_iter(d, l, o):
    r = []
    for x in iter(l.pop, None): r.append(G); break
    return r, G

def zipped(d, l, o):
    r = []
    for x, y in zip(o.it, [1, 2, 3]): r.append(G)
    x = 0
    return r, G

def other_branch(d, l, o):
    if l:
        a = G; d["k"] = 0; return a, G
    return d["k"]

def other_branch2(d, l, o):
    if l:
        a = G; o.x = 0; b = G; o.x = 2
    else:
        a = o.x; b = a
    return a, b, G

def while_pop(d, l, o):
    r = []
    while l:
        x = l.pop(); r.append(G)
    r.append(G)
    return r

def try_pop(d, l, o):
    r = []
    try:
        while True:
            l.pop(); r.append(G)
    except IndexError: r.append(G)
    return r

def keyerror(d, l, o):
    a = G
    try: d.pop("k"); d.pop("k")
    except KeyError: b = G
    return a, b

def nested_call(d, l, o):
    def g(x): return G
    return G, g(l.pop()), G

def listcomp(d, l, o):
    return [G for x in l], [(l.clear(), G) for _ in range(2)]

def tup(d, l, o):
    t = tuple(l); l.clear(); a = G; t = None; return a, G

def sl(d, l, o):
    t = l[:]; l.clear(); a = G; t = None; return a, G

def dictcopy(d, l, o):
    t = dict(d); d.clear(); a = G; t = None; return a, G

def star(d, l, o):
    h, *t = [1, *l]; l.clear(); a = G; t = None; return a, G

def fstr(d, l, o):
    return G, f"{l.pop() is None}", G

def chain(d, l, o):
    return G, l.pop().__class__.__name__, G

def boolop(d, l, o):
    x = l.pop() and 1; return x, G

def notop(d, l, o):
    x = not l.pop(); return x, G

def cond(d, l, o):
    if l.pop(): return G

def isin(d, l, o):
    return l.pop() in (1, 2), G

def eqn(d, l, o):
    return l.pop() == 3, G

def isinst(d, l, o):
    return isinstance(l.pop(), int), G

def gen_held(d, l, o):
    def g():
        x = l.pop()
        for k in range(2): yield G
    r = []
    for v in g(): r.append(v); r.append(G)
    return r, G

def gen_close(d, l, o):
    def g():
        x = l.pop()
        try: yield G
        finally: pass
    it = g(); a = next(it); it.close(); return a, G

def deflt(d, l, o):
    a = d.get("zz", l.pop()); b = G; a = 1; return b, G

def lam2(d, l, o):
    return (lambda x: G)(l.pop()), G

def withdel(d, l, o):
    with_ = {}; with_["a"] = l.pop(); a = G; del with_["a"]; return a, G

def setd(d, l, o):
    s = {l.pop()}; a = G; s.clear(); return a, G

def obj_del(d, l, o):
    m = Own(); m.x = l.pop(); a = G; del m.x; return a, G

def obj_die(d, l, o):
    m = Own(); m.x = l.pop(); a = G; m = None; return a, G

def obj_die_fn(d, l, o):
    def h():
        m = Own(); m.x = l.pop(); return G
    a = h(); return a, G

def reraise(d, l, o):
    def h():
        x = l.pop()
        try: raise KeyError
        except KeyError: raise ValueError
    try: h()
    except ValueError: a = G
    return a, G

def loop_break(d, l, o):
    for x in o.it:
        if G > 10: break
    a = G; x = None
    return a, G


CASES = [fn for name, fn in list(globals().items()) if getattr(fn, "__code__", None) and fn.__code__.co_varnames[:3] == ("d", "l", "o") and fn.__code__.co_argcount == 3]


class Held:
    def __init__(self, kind):
        self.kind, self.x, self.s, self.d = kind, fin(kind), {fin(kind)}, collections.deque([fin(kind)], 1)
        self.it = (fin(kind) for _ in range(3))
        self.slot = S()
        self.slot.x = fin(kind)
        self.arr = np.array([fin(kind)], dtype=object)

    def m(self): return G

    def pop_it(self): return fin(self.kind)


def outcomes(fn, kind):
    global G
    found = []
    for _ in range(3):
        args = {"k": fin(kind), "l": [fin(kind)]}, [fin(kind)], Held(kind)
        G = 10
        try:
            found.append((fn(*args), G))
        except Exception as error:
            found.append((type(error), str(error)))
        del args
        REFS.clear()
    return found


@pytest.mark.parametrize(("fn", "kind"), [(fn, ("del", "weak")[k % 2]) for k, fn in enumerate(CASES)], ids=lambda x: getattr(x, "__name__", x))
def test_what_a_finalizer_writes_is_read_again(fn, kind):
    wanted = outcomes(fn, kind)
    assert outcomes(hovis.jit(fn), kind) == wanted


def test_what_a_callback_of_the_collector_writes_is_read_again():
    def collected(x):
        before = G
        gc.callbacks.append(bump)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(bump)
        return G > before, x

    jitted = hovis.jit(collected)
    assert [jitted(k) for k in range(3)] == [(True, k) for k in range(3)]


def test_nothing_is_read_again_where_nothing_can_end():
    def numbers(xs, d, n):
        d["n"] = n
        for k in range(n):
            xs.append(G)
        return read() + read()

    def twice(l):
        l[0] = 1
        return read() + read()

    jitted = hovis.jit(numbers)
    jitted([], {"n": 1}, 3)
    assert "unchanged" not in jitted.traces[-1].show()
    jitted = hovis.jit(twice)
    jitted([0])
    assert jitted.traces[-1].show().count("unchanged") <= 1


class Manager:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        pass


def dead_list_on_one_of_two_paths(p, q):
    first, *rest = [a for a, b in zip(p, q)]
    with Manager("a"):
        {first}

    def unused(k):
        for _ in range(k):
            pass

    return unused(first % 4) is None


def a_list_that_nobody_reads(d, l, k):
    *rest, last = [x for x in l]
    last = 0
    l.clear()
    d["k"] = 0
    a = G
    while k:
        a += read()
        k -= 1
    return a, read()


def a_dict_that_nobody_reads(d, l, k):
    def within(k):
        rest = {i: x for i, x in enumerate(l)}
        l.clear()
        d["k"] = 0
        while k > 0:
            k -= 1
            if read() > 100:
                return 5
        return read()

    return within(k), read()


@pytest.mark.parametrize("call", [("", 2), ((), ()), ([4], [1]), ([1, 2], "ab"), ([[]], [1])], ids=str)
def test_what_one_path_has_dropped_no_edge_hands_on(monkeypatch, call):
    monkeypatch.setenv("HOVIS_DEBUG", "1")

    def told(fn):
        try:
            return fn(*call)
        except Exception as error:
            return type(error), str(error)

    jitted = hovis.jit(dead_list_on_one_of_two_paths)
    assert [told(jitted), told(jitted)] == [told(dead_list_on_one_of_two_paths)] * 2


@pytest.mark.parametrize("kind", ["del", "weak"])
@pytest.mark.parametrize("fn", [a_list_that_nobody_reads, a_dict_that_nobody_reads])
def test_a_container_lasts_as_long_as_its_variable_behind_a_finalizer(monkeypatch, fn, kind):
    global G
    monkeypatch.setenv("HOVIS_DEBUG", "1")
    found = []
    for call in (fn, hovis.jit(fn)):
        for k in (2, 0, 3):
            d, l = {"k": fin(kind)}, [fin(kind), fin(kind)]
            G = 10
            found.append((call(d, l, k), G))
            del d, l
            REFS.clear()
    assert found[3:] == found[:3]


def test_what_globals_refer_to_is_not_kept():
    ended = []

    class Ends:
        def __init__(self, k):
            self.k = k

        def __del__(self):
            ended.append(self.k)

        def get(self, x):
            return x

    scope = {}
    exec("def use(held, x): return held.get(x)\ndef other(x): return x + 1", scope)
    before = gc.isenabled()
    gc.disable()
    try:
        use, other = hovis.jit(scope["use"]), hovis.jit(scope["other"])
        for k, x in enumerate((1, 1, 2.5, "s")):
            scope["held"] = Ends(k)
            assert use(scope["held"], x) == x
            assert isinstance(x, str) or other(x) == x + 1
            del scope["held"]
            assert ended == list(range(k + 1))
    finally:
        if before:
            gc.enable()


class Logged:
    """Says when it ends."""

    def __init__(self, k, log):
        self.k, self.log = k, log

    def __del__(self):
        self.log.append(("end", self.k))


LOOPS = {
    "read": "for x in MADE:\n log.append(x.k)",
    "not read": "for x in MADE:\n log.append('body')",
    "let go of in the body": "for x in MADE:\n log.append(x.k)\n x = None\n log.append('body')",
    "deleted in the body": "for x in MADE:\n log.append(x.k)\n del x\n log.append('body')",
    "left": "for x in MADE:\n if x.k > n: break",
    "with else": "for x in MADE:\n log.append(x.k)\nelse:\n log.append('else')",
    "nested": "for x in MADE:\n for y in [give(9), x]:\n  log.append(y.k)",
    "a comprehension": "log.append([x.k for x in MADE])",
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("made", ["[give(n), give(n + 1)]", "(give(n), give(n + 1), give(n + 2))"])
def test_the_items_of_a_literal_that_is_gone_through_end_where_they_do(loop, made):
    for rest in ("log.append('behind')", "log.append('behind')\nx = 3\nlog.append('end')"):
        text = "".join(f" {line}\n" for line in f"{LOOPS[loop].replace('MADE', made)}\n{rest}".splitlines())
        space = {}
        exec(f"def f(n, log, give):\n{text}", space)
        f, logs = space["f"], []
        for run in (f, hovis.jit(f), hovis.specialize(f, hovis.Int, list, hovis.Any)):
            log = []
            makers = [lambda k, log=log: Logged(k, log), hovis.boundary(lambda k, log=log: Logged(k, log))]
            for give in makers:
                log.append("begin")
                run(1, log, give)
            logs.append(log)
        assert logs[0] == logs[1] == logs[2], text


class Tells:
    count = 0

    def __init__(self, told):
        Tells.count += 1
        self.id, self.told = Tells.count, told
        told.append(("made", self.id))

    def __del__(self):
        self.told.append(("ended", self.id))


def kept_from_a_loop(n, told):
    for i in range(n):
        r = Tells(told)
        told.append(i)
    told.append(r.id)
    try:
        t = Tells(told)
        raise ValueError(t.id)
    except ValueError as error:
        m = str(error)
    return m


def popped_behind_a_handler(n, told):
    try:
        t = Tells(told)
        raise ValueError(t.id)
    except ValueError as error:
        m = str(error)
    d = {i: Tells(told) for i in range(2)}
    d.pop(0)
    told.append("end")
    return m


def compared_before_it_ends(n, told):
    root = Tells(told)
    root.kids = [Tells(told)]
    root.kids[0].up = weakref.ref(root)
    kid = root.kids[0]
    found = [kid.up() is root]
    del root
    found.append(kid.up() is None)
    one = Tells(told)
    method = weakref.WeakMethod(one.__init__)
    return found, method() is None


@pytest.mark.parametrize("way", [hovis.jit, hovis.specialize, lambda fn: hovis.specialize(fn, int)], ids=["jit", "specialize", "of an int"])
@pytest.mark.parametrize("fn", [kept_from_a_loop, popped_behind_a_handler, compared_before_it_ends])
def test_lives_end_where_they_do(fn, way):
    runs = []
    for one in (fn, way(fn)):
        for _ in range(2):
            Tells.count, told = 0, []
            runs.append((one(2, told), told))
            gc.collect()
    assert all(run == runs[0] for run in runs)


class Rounds:
    """An iterator that tells when it ends."""

    def __init__(self, name, told):
        self.name, self.told, self.left = name, told, 3

    def __iter__(self):
        return self

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return self.left

    def __del__(self):
        self.told.append(self.name)


def by_a_generator(give, fails):
    for y in give("of a generator"):
        fails(y)
        yield y


def in_two_loops(give, fails):
    for _ in give("outer"):
        for y in give("inner"):
            fails(y)


def in_a_generator(give, fails):
    for _ in give("outer"):
        for y in by_a_generator(give, fails):
            fails(y + 10)


def in_a_callee(give, fails):
    for _ in give("first"):
        for _ in give("second"):
            in_two_loops(give, fails)


def behind_a_handler(give, fails):
    for k in give("outer"):
        try:
            in_two_loops(give, fails)
        except KeyError:
            for y in give("handler"):
                fails(y + k)


def raised_there(give, fails):
    for _ in give("outer"):
        for y in give("inner"):
            if y == 1:
                raise IndexError(y)


@pytest.mark.parametrize("way", [hovis.jit, hovis.specialize], ids=["jit", "specialize"])
@pytest.mark.parametrize("fn", [in_two_loops, in_a_generator, in_a_callee, behind_a_handler, raised_there])
def test_iterators_end_where_an_exception_leaves_loops(fn, way):
    compiled = way(fn)
    for when in (0, 1, 2, 10, 11, 99):
        for error in (IndexError, KeyError):
            assert ended(compiled, when, error) == ended(fn, when, error)


def ended(fn, when, error):
    """What has ended while the exception is handled."""
    told = []

    def fails(y):
        told.append(y)
        if y == when:
            raise error(y)

    try:
        fn(lambda name: Rounds(name, told), fails)
    except (IndexError, KeyError) as raised:
        return told[:], type(raised)
    return told
