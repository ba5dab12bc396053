"""Objects of the user's are asked nothing while hovis looks at them: hooks run as often, and in the order, as in the original."""
from __future__ import annotations

import pytest

import hovis

LOG = []


class Told:
    """Logs what it is asked for."""

    def __init__(self, z):
        object.__setattr__(self, "z", z)

    def __getattribute__(self, name):
        LOG.append(name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        LOG.append(("set", name))
        object.__setattr__(self, name, value)

    def method(self, k):
        return self.z + k

    def __eq__(self, other):
        LOG.append("==")
        return self is other

    def __hash__(self):
        LOG.append("hash")
        return 3

    def __len__(self):
        LOG.append("len")
        return 3

    def __bool__(self):
        LOG.append("bool")
        return True

    def __call__(self, k):
        LOG.append("call")
        return k

    def __iter__(self):
        LOG.append("iter")
        return iter([1, 2])

    def __add__(self, other):
        LOG.append("add")
        return other

    def __enter__(self):
        LOG.append("enter")
        return self

    def __exit__(self, *how):
        LOG.append("exit")

    def __getitem__(self, k):
        LOG.append("item")
        return k


class Hooked(Told):
    """Has no attribute of its own by most names."""

    def __getattr__(self, name):
        LOG.append(("missing", name))
        raise AttributeError(name)


PROGRAMS = """
q.z + n
pair[0].z + table["a"].z + items[0].z
q.method(n)
q == n, q != n, q is n, n == q
hash(q)
len(q), list(q), q + n
[x for x in items if x is q]
keyed[q]
q in items
setattr(q, "z", n), q.z, getattr(q, "l", 7)
type(q).__name__, isinstance(q, int), issubclass(type(q), int)
isinstance(q, Told)
(lambda: q.z)()
sorted([q, q], key=id)[0] is q
{q}, {1: q}, (q,)
q(n), callable(q)
1 if q else 2
not q, q and n, q or n
hasattr(q, "z"), hasattr(q, "y")
object.__getattribute__(q, "__dict__")["z"] + n
q.__dict__["z"] + n, vars(q)["z"]
q.__class__.__name__
q[n], [*q]
f"{q.z}"
max(q.z, n)
[q, n].index(n)
q if n > 2 else n
Holder.held.z, Holder().held.z + n
holder.held.z + n, holder.held is q
setattr(holder, "held", n), holder.held, delattr(holder, "held"), holder.held is q
holder(n), holder[n], holder + n, len(holder), [*holder], holder == n, n in holder, -holder
n if holder else 2
str(holder), hash(holder), format(holder), int(holder)
setattr(Holder, "held", q), Holder.held.z
""".strip().splitlines()
SHAPES = {
    "known": "def fn(n):\n    return {0}\n",
    "argument": "def fn(n, q=None):\n    return {0}\n",
    "default": "def fn(n, d=q):\n    q = d\n    return {0}\n",
    "handler": "def fn(n):\n    try:\n        with q as w:\n            raise ValueError(w)\n    except ValueError as e:\n        return e.args[0] is q, {0}\n",
    "match": "def fn(n):\n    match q:\n        case Told(z=4):\n            return {0}\n    return 2\n",
}
WAYS = {"specialize": hovis.specialize, "jit": hovis.jit}
try:
    import hovis_xla
except ImportError:
    pass
else:
    WAYS["xla"] = hovis_xla.jit


SPECIAL = "call getitem add len iter eq contains neg bool str hash format int enter exit".split()


def log_of(text, cls, shape, way):
    """What the hooks log while a function is made and called, and what it gives."""
    q = cls(4)
    scope = {"q": q, "Told": Told, "items": [q, 5], "pair": (q, 2), "table": {"a": q}, "keyed": {q: 1}}
    scope["Holder"] = type("Holder", (), {"held": q} | {f"__{name}__": q for name in SPECIAL})
    scope["holder"] = scope["Holder"]()
    exec(SHAPES[shape].format(text), scope)
    LOG.clear()
    fn = way(scope["fn"])
    found = []
    for n in (3, 3, 1, 3):
        try:
            found.append(type(fn(n, q) if shape == "argument" else fn(n)).__name__)
        except Exception as error:
            found.append((type(error), str(error)))
        found.append(LOG[:])
        LOG.clear()
    return found


#: What differs by shape differs in the engine, which hovis_xla shares: two of them are enough there.
CASES = [(cls, shape, way) for cls in (Told, Hooked) for shape in SHAPES for way in WAYS if way != "xla" or (cls is Told and shape in ("known", "argument"))]


@pytest.mark.parametrize(("cls", "shape", "way"), CASES, ids=[f"{cls.__name__}-{shape}-{way}" for cls, shape, way in CASES])
def test_hooks_run_as_in_the_original(cls, shape, way):
    for text in PROGRAMS if shape in ("known", "argument") else PROGRAMS[::4]:
        assert log_of(text, cls, shape, WAYS[way]) == log_of(text, cls, shape, lambda fn: fn), f"{text}\n{SHAPES[shape]}"
