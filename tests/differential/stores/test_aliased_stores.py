"""Known objects that the traced code stores into without naming them: it has come to them out of a container, a table, an object or a generator.

Programs are products: how a known object gets to where it is stored into, what is stored, and what is read of it afterwards by its name.
"""
from __future__ import annotations

import functools
import os
import random
import sys
import types
import weakref

import pytest

import hovis
from hovis import const
from hovis.ir import operations


class Item:
    def __init__(self):
        self.b, self.items, self.table = 1, [4, 2, 3], {"k": 5}

    def give(self):
        return self


class Slots:
    __slots__ = ("__weakref__", "b", "items", "table")
    __init__, give = Item.__init__, Item.give


class Told(Item):
    def set(self, n):
        self.b = n


class Plain:
    pass


def same(x):
    return x


class Kind:
    b = 1


class Derived(Kind):
    pass


PREAMBLE = """
def each(n, x):
    for _ in range(n):
        yield x
def same(x):
    return x
"""
#: How o gets to x, by lines; n is at least 1.
WAYS = {
    "append": "k = []\nfor i in range(n): k.append(o)\nfor x in k:",
    "extend": "k = []\nfor i in range(n): k += [other, o]\nfor x in k:",
    "repeat": "k = [o] * n\nfor x in k:",
    "item": "k = [o] * n\nx = k[-1]",
    "pop": "k = [other]\nfor i in range(n): k.insert(0, o)\nx = k.pop(0)",
    "nested": "k = []\nfor i in range(n): k.append((o, [i]))\nfor x, _ in k:",
    "dict": "k = {}\nfor i in range(n): k[i] = o\nfor x in k.values():",
    "fromkeys": "k = dict.fromkeys(range(n), o)\nx = k.get(0)",
    "keys": "k = {o: n}\nfor i in range(n): k[i] = n\nx = next(iter(k))",
    "set": "k = set()\nfor i in range(n): k.add(o)\nfor x in k:",
    "choice": "x = o\nfor i in range(n - 1):\n    x = other if i == 7 else o\nif True:",
    "shifted": "x = y = other\nfor i in range(n + 1):\n    x, y = y, o\nif True:",
    "table": "x = table[n - 1]",
    "tables": "x = tables[n - 1]['in'][0]",
    "generator": "for x in each(n, o):",
    "closures": "k = []\nfor i in range(n): k.append(lambda: o)\nfor q in k:\n    x = q()",
    "object": "p = Plain(); p.inner = o\nk = [p] * n\nfor q in k:\n    x = q.inner",
    "attribute": "p = Plain()\nfor i in range(n): setattr(p, 'a' + str(i), o)\nx = p.a0",
    "star": "k = [o] * n\nx, *rest = k",
    "max": "k = [o] * n\nx = max(k, key=id)",
    "map": "k = [o] * n\nfor x in map(same, k):",
    "zip": "k = [o] * n\nfor x, y in zip(k, reversed(k)):",
    "copy": "k = ([o] * n).copy()[:]\nfor x in k:",
    "exception": "try:\n    for i in range(n): raise ValueError(o)\nexcept ValueError as e:\n    x = e.args[0]",
    "call": "k = [o] * n\nx = k[0].give()",
    "held": "box.append(o)\nx = box[n - n]",
    "weakref": "x = reference()",
    "proxy": "x = proxy",
    "class": "x = Holder.held",
    "instance": "p = Holder()\nk = [p] * n\nx = k[0].held",
    "method": "k = [o.give] * n\nfor q in k:\n    x = q()",
    "partial": "x = given()",
    "recursion": "def walk(j, x):\n    return x if j == 0 else walk(j - 1, x)\nx = walk(n, o)",
}
STORES = {
    "b": ("x.b += 1", "x.b = n", "setattr(x, 'b' + empty, 7)", "object.__setattr__(x, 'b', 8)", "x.__setattr__('b', 9)", "del x.b"),
    "dict": ("x.__dict__['b'] = 5", "vars(x).update(b=6)"),
    "items": ("x.items.append(n)", "x.items += [n]", "x.items[0] = n", "x.items.sort()", "del x.items[1]", "y = x.items\ny.extend([n, n])", "x.items.pop()"),
    "table": ("x.table['k'] = n", "x.table.update(k=n)", "x.table.clear()", "x.table |= {'k': n}", "x.table.setdefault('z', n)"),
}
READS = {
    "b": "return before, o.b if hasattr(o, 'b') else 'none'",
    "dict": "return before, o.b if hasattr(o, 'b') else 'none', sorted(vars(o))",
    "items": "return before, len(o.items), [q + 1 for q in o.items], o.items[0]",
    "table": "return before, len(o.table), o.table.get('k'), [q for q in o.table]",
}
EVERY = [(cls, way, what, store) for cls in ("Item", "Slots") for way in WAYS for what, stores in STORES.items() for store in stores if (cls, what) != ("Slots", "dict")]


def text_of(way, what, store):
    lines = WAYS[way].split("\n")
    depth = (len(lines[-1]) - len(lines[-1].lstrip())) // 4 + lines[-1].rstrip().endswith(":")
    stored = ["    " * depth + line for line in store.split("\n")]
    body = ["before = o.b, len(o.items), o.items[0], len(o.table)", *lines, *stored, READS[what]]
    return PREAMBLE + "def fn(n, empty, box):\n" + "".join(f"    {line}\n" for line in body)


def made(text, cls):
    """The function, and what it knows: an object, another one, and tables that have them."""
    o, other = cls(), cls()
    scope = {"o": o, "other": other, "Plain": Plain, "reference": weakref.ref(o), "proxy": weakref.proxy(o), "given": functools.partial(same, o)}
    scope["Holder"] = type("Holder", (), {"held": o})
    scope |= {"table": [o, *(cls() for _ in range(99))], "tables": [{"in": [o]}, *({"in": [other]} for _ in range(99))]}
    exec(text, scope)
    return scope["fn"], o


def outcome(fn, *args):
    try:
        return "returned", fn(*args)
    except Exception as error:
        return "raised", type(error), str(error)


def inside(o):
    return {name: getattr(o, name, "none") for name in ("b", "items", "table")}


def check(cls, way, what, store, residual_of=hovis.specialize):
    text = text_of(way, what, store)
    for n in (1, 3):
        (plain, one), (fn, two) = made(text, cls), made(text, cls)
        residual = residual_of(fn)
        for _ in range(1 if residual_of is hovis.specialize else 3):
            want, got = outcome(plain, n, "", []), outcome(residual, n, "", [])
            assert (got, inside(two)) == (want, inside(one)), f"{cls.__name__}, {n}\n{text}"


NUMBER = max(60, int(os.environ.get("HOVIS_EXAMPLES", "0")))


@pytest.mark.parametrize("case", random.Random(5).sample(EVERY, min(NUMBER, len(EVERY))), ids=lambda case: "-".join((*case[:2], case[3].replace("\n", "; "))))
def test_a_known_object_is_stored_into(case):
    cls, *how = case
    check({"Item": Item, "Slots": Slots}[cls], *how)


@pytest.mark.parametrize("residual_of", [hovis.specialize, hovis.jit], ids=["specialize", "jit"])
@pytest.mark.parametrize("way", WAYS)
def test_each_way(way, residual_of):
    check(Item, way, "b", "x.b += 1", residual_of)


@pytest.mark.parametrize("way", ["append", "item", "dict", "generator", "nested", "object"])
@pytest.mark.parametrize("cls", [Kind, Derived])
def test_an_attribute_of_a_class(cls, way):
    text = PREAMBLE + "def fn(n):\n    before = Kind.b, Derived.b\n" + "".join(f"    {line}\n" for line in WAYS[way].split("\n"))
    pad = "        " if text.rstrip().endswith(":") or way == "object" else "    "
    text += f"{pad}x.b = n + 5\n    return before, Kind.b, Derived.b\n"
    results = []
    for way_of in (lambda fn: fn, hovis.specialize):
        scope = {"o": cls, "other": Plain, "Kind": Kind, "Derived": Derived, "Plain": Plain}
        exec(text, scope)
        try:
            results.append(outcome(way_of(scope["fn"]), 2))
        finally:
            Kind.b = 1
            if "b" in vars(Derived):
                del Derived.b
    assert results[0] == results[1]


def test_a_known_argument():
    def fn(o, n):
        k = []
        for _ in range(n):
            k.append(o)
        for x in k:
            x.b += 1
        return o.b

    o = Item()
    assert hovis.specialize(fn, const(o))(2) == 3
    assert o.b == 3


def test_what_cannot_be_meant_stays_known():
    """Attributes by another name, classes of which no object is stored into, and tables that nobody stores into are read while tracing."""
    o, table = Item(), {"one": 1, "two": 2}

    def fn(n):
        found = []
        for i in range(n):
            p = Plain()
            p.value = i
            found.append(p)
        for q in found:
            q.value += table["two"]
        return o.b + len(found)

    text = hovis.specialize(fn).trace.source()
    assert "o.b" not in text and "table[" not in text




class Hooked:
    """What is done with it changes it, by code of its class."""

    shared = 0

    def __init__(self):
        self.__dict__.update(seen=0, other=Plain())
        self.other.seen = 0

    def _count(self, *args):
        self.__dict__["seen"] += 1
        return 1

    def __setattr__(self, name, value):
        self.__dict__["seen"] = value

    def __iter__(self):
        self._count()
        return iter([1])

    def __getattr__(self, name):
        return self._count()

    @property
    def asked(self):
        return self._count()

    @asked.setter
    def asked(self, value):
        self._count()

    @property
    def inner(self):
        return COUNTED

    @classmethod
    def share(cls, n):
        cls.shared += n

    __getitem__ = __setitem__ = __add__ = __iadd__ = __radd__ = __neg__ = __len__ = __next__ = __contains__ = __bool__ = __delattr__ = __lt__ = _count


class Setter:
    """Stores by the setter of a property."""

    def __init__(self):
        self.seen = 0

    asked = property(None, lambda self, value: setattr(self, "seen", self.seen + value), lambda self: setattr(self, "seen", 9))


COUNTED = Plain()
HOOKS = ("x.missing = n", "del x.missing", "x.missing", "x.asked", "[y for y in x]", "x[0]", "x[0] = n", "x + 1", "1 + x", "-x", "len(x)", "next(x)",
         "n in x", "bool(x)", "x < n", "x += 1", "hasattr(x, 'none')", "x.inner.seen += 1", "type(x).shared += 1", "x.__class__.shared += n",
         "getattr(x, name)", "setattr(x, name, n)")  # fmt: skip


def seen_by(way, cls, lines):
    scope = {"o": cls(), "Hooked": Hooked, "COUNTED": COUNTED}
    reads = "(o.seen, COUNTED.seen, Hooked.shared)"
    exec(f"def fn(n, name):\n    before = {reads}\n    for x in [o] * n:\n        {lines}\n    return before, {reads}", scope)
    COUNTED.seen = Hooked.shared = 0
    fn = way(scope["fn"])
    return [outcome(fn, n, "asked") for n in (2, 0, 3)]


@pytest.mark.parametrize("store", HOOKS)
def test_hooks_store_into_known_objects(store):
    assert seen_by(hovis.specialize, Hooked, store) == seen_by(lambda fn: fn, Hooked, store)


@pytest.mark.parametrize("store", ["x.asked = n", "del x.asked", "setattr(x, name, n)", "x.asked += n"])
def test_setters_store_into_known_objects(store):
    assert seen_by(hovis.specialize, Setter, store) == seen_by(lambda fn: fn, Setter, store)


def test_a_class_that_unknown_code_is_given():
    text = "def fn(n):\n    before = Hooked.shared\n    for x in [Hooked, Derived] * n:\n        if x is Hooked: x.share(n)\n    return before, Hooked.shared"
    results = []
    for way in (lambda fn: fn, hovis.specialize):
        scope = {"Hooked": Hooked, "Derived": Derived}
        exec(text, scope)
        Hooked.shared = 0
        results.append(outcome(way(scope["fn"]), 3))
    assert results[0] == results[1] == ("returned", (0, 9))


def test_a_known_generator_gives_what_its_code_names():
    def fn(n):
        before = COUNTED.seen
        for _ in range(n):
            next(generator).seen += 1
        return before, COUNTED.seen

    def each():
        while True:
            yield COUNTED

    generator, COUNTED.seen = each(), 0
    assert hovis.specialize(fn)(3) == (0, 3)


OTHERS = {
    "defaults by name": "before = g(1)\ng.__defaults__ = (n,)\nreturn before, g(1)",
    "keyword defaults by name": "before = g(1)\ng.__kwdefaults__ = {'z': n}\nreturn before, g(1)",
    "code by name": "before = g(1)\ng.__code__ = h.__code__\nreturn before, g(1)",
    "defaults": "before = g(1)\nfor f in [g] * n:\n    f.__defaults__ = (n,)\nreturn before, g(1)",
    "code": "before = g(1)\nfor f in [g] * n:\n    f.__code__ = h.__code__\nreturn before, g(1)",
    "module": "before = module.V\nfor d in [module] * n:\n    d.V = n\nreturn before, module.V, module.get()",
    "modules": "k = []\nfor i in range(n):\n    k.append(module)\nfor q in k:\n    q.V += 1\nreturn module.V",
    "globals": "before = G\nfor d in [globals()] * n:\n    d['G'] = n\nreturn before, G",
    "cell": "before = get()\nfor c in [cell] * n:\n    c.cell_contents = n\nreturn before, get()",
}


@pytest.mark.parametrize("residual_of", [hovis.specialize, hovis.jit], ids=["specialize", "jit"])
@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_functions_modules_and_cells(text, residual_of, monkeypatch):
    def fresh(name):
        def get():
            return v

        v = 5
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec("V = 1\ndef get(): return V\n", module.__dict__)
        scope = {"G": 1, "module": module, "get": get, "cell": get.__closure__[0]}
        body = "".join(f"    {line}\n" for line in text.split("\n"))
        exec(f"def g(x, y=1, *, z=2): return x + y + z\ndef h(x, y=1, *, z=2): return x * 100 + z\ndef fn(n):\n{body}", scope)
        return scope["fn"]

    plain, residual = fresh("aliased_stores_plain"), residual_of(fresh("aliased_stores_residual"))
    for n in (3, 4):
        assert outcome(residual, n) == outcome(plain, n)


UNKNOWN = {
    "lambda": "call(lambda: give(o, n))",
    "closure": "def f(): o.b = n\ncall(f)",
    "bound method": "call(o.set, n)",
    "partial": "call(functools.partial(give, o, n))",
    "list": "k = [o]\nbump(k)",
    "tuple": "bump((o,))",
    "tuples": "bump(((o, 1), 2)[0])",
    "grown list": "k = []\nfor i in range(n): k.append(o)\nbump(k)",
    "list of lists": "k = [[o]] * n\nbump(k[0])",
    "dict": "bump({'k': o}.values())",
    "object": "p = Plain()\np.inner = o\ninside_of(p)",
    "argument": "box.append(o)\nbump(box)",
    "generator": "bump(x for x in [o])",
    "default": "def f(x=o): x.b = n\ncall(f)",
}


@pytest.mark.parametrize("residual_of", [hovis.specialize, hovis.jit], ids=["specialize", "jit"])
@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_code_gets_at_a_known_object(text, residual_of):
    """It is given a known object, or something that the traced code has made of it or has put it into."""
    def call(fn, *args):
        return fn(*args)

    def bump(xs):
        for x in xs:
            if isinstance(x, Told):
                x.b += 1

    def inside_of(p):
        p.inner.b += 1

    def fresh():
        o = Told()
        scope = {"o": o, "Plain": Plain, "functools": functools, "call": hovis.boundary(call), "bump": hovis.boundary(bump), "inside_of": hovis.boundary(inside_of)}
        body = "".join(f"    {line}\n" for line in ("before = o.b", *text.split("\n"), "return before, o.b"))
        exec(f"def give(x, n): x.b = n\ndef fn(n, box):\n{body}", scope)
        return scope["fn"]

    plain, residual = fresh(), residual_of(fresh())
    for n in (3, 1, 4):
        assert outcome(residual, n, []) == outcome(plain, n, [])


KEYS = {"its name": ("'LIMIT'", True), "another name": ("'OTHER'", False), "no name": ("None", False), "equal to its name": ("Key('LIMIT')", True), "unknown": ("key", True)}


class Key(str):
    """A key that is found in place of a plain text."""


@pytest.mark.parametrize(("key", "meant"), KEYS.values(), ids=KEYS)
def test_a_store_by_a_key_means_the_global_of_that_name(key, meant):
    """The dictionary into which the store goes is known at run time alone."""
    def fresh():
        scope = {"LIMIT": 3, "Key": Key, "__name__": "stores"}
        scope["HOLDERS"] = [types.SimpleNamespace(held={}), types.SimpleNamespace(held=scope)]
        exec(f"def fn(n, k, key):\n    HOLDERS[k].held[{key}] = n\n    return LIMIT + n\n", scope)
        return scope["fn"]

    trace = hovis.trace(fresh(), hovis.Int, hovis.Int, hovis.Str)
    assert any(op.callee is operations.load_global for op in trace.ops) == meant
    for residual_of in (lambda fn: hovis.specialize(fn, hovis.Int, hovis.Int, hovis.Str), hovis.jit):
        plain, residual = fresh(), residual_of(fresh())
        for args in ((5, 0, "LIMIT"), (4, 1, "LIMIT"), (2, 1, "OTHER")):
            assert outcome(residual, *args) == outcome(plain, *args)
