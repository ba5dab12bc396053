"""Classes that the traced function defines: identity, scopes, inheritance, descriptors, escapes, beside CPython."""

import abc
import copy
import dataclasses
import enum
import functools
import pickle
import weakref
from typing import NamedTuple, Protocol

from tests.differential.harness.splitting import Programs, check

program = Programs()


@program((3,))
def two_execs(x):
    def make():
        class A:
            def __init__(self, v): self.v = v
        return A
    A, B = make(), make()
    return A is B, isinstance(A(x), B), isinstance(A(x), A), A.__qualname__, A.__name__, type(A(1)) is A, A == B


@program((3,))
def in_loop(n):
    found = []
    for i in range(n):
        class A:
            k = i
            def get(self): return i, self.k
        found.append(A)
    return [a().get() for a in found], len(set(map(id, found))), [a.k for a in found], found[0] is found[-1]


@program((3,))
def in_loop2(n):
    prev = None
    out = []
    for i in range(n):
        class A:
            def get(self): return i
        if prev is not None:
            out.append(isinstance(prev, A)); out.append(type(prev) is A)
        prev = A()
        out.append(isinstance(prev, A))
    return out


@program((3,))
def counter(n):
    class A:
        count = 0
        def __init__(self): A.count += 1
    for _ in range(n): A()
    return A.count


@program((3,))
def counter2(n):
    class A:
        count = 0
        def __init__(self): type(self).count += 1
    class B(A): pass
    B(); A()
    for _ in range(n): B()
    return A.count, B.count


@program((3,))
def registry(n):
    class A:
        items = []
        def __init__(self, v): self.v = v; A.items.append(self)
    for i in range(n): A(i)
    return [a.v for a in A.items], len(A.items)


@program((3,))
def registry_escape(n):
    class A:
        items = []
        def __init__(self, v): self.v = v; A.items.append(self)
    a = A(n)
    return a, A.items, A.items[0] is a


@program((3,))
def patch(x):
    class A:
        def f(self): return 1
    a = A()
    before = a.f()
    A.f = lambda self: x
    return before, a.f(), A().f()


@program((3,))
def patch_new(x):
    class A: pass
    a = A()
    A.g = lambda self: x
    A.h = 3
    return a.g(), a.h, A.h


@program((3,))
def dict_of(x):
    class A:
        "doc"
        y: int = 3
        def f(self): return x
    return sorted(A.__dict__), A.__doc__, A.__annotations__, A.__module__, A.__qualname__, A.__dict__["y"]


@program((3,))
def subclasses(x):
    class A: pass
    class B(A): pass
    class C(A): pass
    return [c.__name__ for c in A.__subclasses__()]


@program((3,))
def repr_of(x):
    class A:
        def __repr__(self): return f"A({x})"
    return repr(A()), str(A()), f"{A()}", f"{A()!r}", repr(A)


@program((3,))
def eq_hash(x):
    class P:
        def __init__(self, v): self.v = v
        def __eq__(self, o): print("eq", self.v, o.v); return self.v == o.v
        def __hash__(self): print("hash"); return hash(self.v)
    d = {P(x): 1}
    return d[P(x)], P(x) == P(x), P(1) in [P(2), P(1)], P(1) != P(2)


@program((3,))
def eq_nohash(x):
    class P:
        def __eq__(self, o): return True
    try: hash(P())
    except TypeError as e: return str(e), P.__hash__


@program((3,))
def copy_of(x):
    class A:
        def __init__(self, v): self.v = v
    a = A([x]); b = copy.copy(a); c = copy.deepcopy(a)
    return b.v is a.v, c.v is a.v, c.v, type(b) is A, type(c) is A, b is a


@program((3,))
def weak(x):
    class A: pass
    a = A(); r = weakref.ref(a)
    return r() is a


@program((3,))
def inst_unknown(x):
    class A(int): pass
    class L(list): pass
    return isinstance(x, A), isinstance(x, L), isinstance(A(3), int), A(3) + 1, type(A(3) + 1), L([1]) == [1]


@program((3,))
def opaque_pass(x):
    class A:
        def f(self): return x
    return callable(A), id(A) == id(A), hash(A) == hash(A), A in {A: 1}, {A: 2}[A], A.mro()[0] is A


def escape_class(x):
    class A:
        def f(self): return x
    return A


@program((3,))
def use_escaped(x):
    A = escape_class(x)
    return A().f(), A.__qualname__, A.__module__


@program((3,))
def deco_effects(x):
    def deco(c): print("deco", c.__name__); c2 = c; return c2
    @deco
    class A:
        print("body")
        def f(self): return x
    print("after")
    return A().f()


@program((3,))
def deco_replace(x):
    def deco(c):
        class W(c):
            def f(self): return super().f() + 1
        return W
    @deco
    class A:
        def f(self): return x
    return A().f(), A.__name__


@program((3,))
def deco_setattr(x):
    def deco(c): c.tag = x; c.g = lambda self: self.tag; return c
    @deco
    class A: pass
    return A().g(), A.tag


@program((3,))
def rec_name(n):
    class Node:
        def __init__(self, d):
            self.kids = [Node(d - 1) for _ in range(2)] if d > 0 else []
        def size(self): return 1 + sum(k.size() for k in self.kids)
    return Node(3).size() + n


@program((3,))
def rec_dyn(n):
    class Node:
        def __init__(self, d): self.next = Node(d - 1) if d > 0 else None
        def size(self): return 1 + (self.next.size() if self.next is not None else 0)
    return Node(n).size()


@program((3,))
def body_effects(x):
    class A:
        print("a")
        v = x * 2
        print(v)
        if x > 2:
            w = 1
        else:
            w = 2; u = 3
        for i in range(3):
            print(i)
        sq = [j * j for j in range(3)]
    return A.v, A.w, A.i, A.sq, hasattr(A, "u")


@program((3,))
def body_unbound(x):
    try:
        class A:
            y = nope
    except NameError as e:
        return str(e)


@program((3,))
def body_del(x):
    class A:
        a = 1
        b = a
        del a
    try:
        class B:
            del q
    except NameError as e: s = str(e), e.name
    return hasattr(A, "a"), A.b, s


@program((3,))
def body_scope(x):
    y = x
    class A:
        y = y if False else 5
        z = x
        def f(self): return y
    return A().f(), A.y, A.z


@program((3,))
def body_raise(x):
    try:
        class A:
            a = 1 // (x - x)
    except ZeroDivisionError as e:
        return str(e), "A" in locals() if False else None


@program((3,))
def raise_out(x):
    class A:
        v = 1 // (x - x)
    return A


@program((3,))
def late_cell(x):
    class A:
        def f(self): return y
    y = x
    a = A().f()
    y = x + 1
    return a, A().f()


@program((3,))
def nonlocal_m(x):
    total = 0
    class A:
        def add(self, v):
            nonlocal total
            total += v
            return self
    A().add(x).add(2)
    return total


@program((3,))
def mixin(x):
    class Base:
        def go(self): return ["Base"]
    class L(Base):
        def go(self): return ["L"] + super().go()
    class R(Base):
        def go(self): return ["R"] + super().go()
    class D(L, R):
        def go(self): return ["D"] + super().go()
    return D().go(), [c.__name__ for c in D.__mro__]


@program((3,))
def slots(x):
    class A:
        __slots__ = ("a", "b")
        def __init__(self, a): self.a = a
    a = A(x)
    try: a.c = 1
    except AttributeError as e: s = "no c"
    try: a.b
    except AttributeError as e: t = str(e)
    return a.a, s, t


@program((3,))
def slots_list(x):
    class A:
        __slots__ = ["a"]
        def __init__(self, a): self.a = a
    return A(x), A.__slots__


@program((3,))
def call_m(x):
    class Add:
        def __init__(self, n): self.n = n
        def __call__(self, y): return self.n + y
        def __len__(self): return 3
        def __bool__(self): return False
        def __contains__(self, v): return v == self.n
        def __iter__(self): yield 1; yield self.n
        def __getitem__(self, i): return i * 2
    a = Add(x)
    return a(2), len(a), bool(a), x in a, list(a), a[4], [*map(a, [1, 2])]


@program((3,))
def ops_(x):
    class V:
        def __init__(self, a): self.a = a
        def __add__(self, o): return V(self.a + o.a) if isinstance(o, V) else NotImplemented
        def __radd__(self, o): return V(o + self.a)
        def __iadd__(self, o): self.a += 100; return self
        def __lt__(self, o): return self.a < o.a
        def __neg__(self): return V(-self.a)
    v = V(x) + V(2); w = 5 + v; w += 1
    try: V(1) + "s"
    except TypeError as e: s = str(e)
    return v.a, w.a, V(1) < V(2), max(V(x), V(3)).a, (-v).a, s, [q.a for q in sorted([V(3), V(1)])]


@program((3,))
def getattr_(x):
    class A:
        def __getattr__(self, n): return n + "!"
        def __setattr__(self, n, v): object.__setattr__(self, n, v * 2)
    a = A(); a.q = 3
    return a.zz, a.q, getattr(a, "b")


@program((3,))
def new_(x):
    class S:
        inst = None
        def __new__(cls):
            if cls.inst is None: cls.inst = super().__new__(cls)
            return cls.inst
    a, b = S(), S()
    return a is b, S.inst is a


@program((3,))
def desc(x):
    class D:
        def __get__(self, o, t): return (o is None, t.__name__)
        def __set__(self, o, v): o.__dict__["q"] = v
    class A:
        d = D()
    a = A(); a.d = x
    return a.d, A.d, a.q


@program((3,))
def set_name(x):
    class D:
        def __set_name__(self, owner, name): print("set", owner.__name__, name); self.n = "_" + name
        def __get__(self, o, t): return getattr(o, self.n)
        def __set__(self, o, v): setattr(o, self.n, v + 1)
    class A:
        d = D()
        def __init__(self, v): self.d = v
    return A(x).d


@program((3,))
def init_sub(x):
    class Base:
        seen = []
        def __init_subclass__(cls, tag=None, **kw):
            super().__init_subclass__(**kw)
            cls.tag = tag; Base.seen.append(cls.__name__)
    class A(Base, tag=x): pass
    class B(Base): pass
    return A.tag, B.tag, Base.seen


@program((3,))
def meta(x):
    class M(type):
        def __new__(mcs, name, bases, ns, **kw):
            print("new", name, sorted(k for k in ns if not k.startswith("__")), kw)
            return super().__new__(mcs, name, bases, ns)
        def __init__(cls, name, bases, ns, **kw): super().__init__(name, bases, ns)
        def __call__(cls, *a): print("call"); return super().__call__(*a)
        def hello(cls): return cls.__name__
    class A(metaclass=M, k=x):
        v = 1
        def __init__(self, q): self.q = q
    return A.hello(), A(3).q, type(A).__name__, A.v


@program((3,))
def prepare(x):
    class M(type):
        @classmethod
        def __prepare__(mcs, name, bases): return {"pre": x}
    class A(metaclass=M):
        post = pre + 1
    return A.pre, A.post


@program((3,))
def err1(x):
    class MyErr(Exception):
        def __init__(self, code): super().__init__(f"code {code}"); self.code = code
    class Sub(MyErr): pass
    try:
        if x > 2: raise Sub(x)
        raise MyErr(x)
    except Sub as e: return "sub", e.code, str(e), e.args
    except MyErr as e: return "my", e.code, str(e), repr(e)


@program((3,))
def err2(x):
    class MyErr(ValueError): pass
    raise MyErr("a", x)


@program((3,))
def err3(x):
    class MyErr(ValueError): pass
    def g():
        try: raise KeyError(1)
        except KeyError as k: raise MyErr(x) from k
    try: g()
    except ValueError as e: return type(e).__name__, isinstance(e, MyErr), type(e.__cause__).__name__, e.__context__ is e.__cause__


@program((3,))
def err4(x):
    class E1(Exception): pass
    class E2(Exception): pass
    try:
        raise (E1 if x > 1 else E2)(x)
    except (E1, E2) as e:
        return e.args, isinstance(e, E1)


@program((3,), fallback=True)
def dc(x):
    @dataclasses.dataclass
    class P:
        a: int
        b: int = 2
        c: list = dataclasses.field(default_factory=list)
    p = P(x)
    return p.a + p.b, p == P(x), repr(p), p.c, dataclasses.astuple(p), P(1) != P(2)


@program((3,), fallback=True)
def dc_frozen(x):
    @dataclasses.dataclass(frozen=True, order=True)
    class P:
        a: int
        b: int = 2
    try: P(1).a = 3
    except dataclasses.FrozenInstanceError as e: s = str(e)
    return P(1) < P(2), hash(P(x)) == hash(P(x)), s, dataclasses.replace(P(x), b=5).b


@program((3,))
def tot(x):
    @functools.total_ordering
    class V:
        def __init__(self, a): self.a = a
        def __eq__(self, o): return self.a == o.a
        def __lt__(self, o): return self.a < o.a
    return V(x) >= V(2), V(x) > V(2), V(x) <= V(2)


@program((3,))
def enm(x):
    class C(enum.Enum):
        RED = 1
        BLUE = 2
        def f(self): return self.value * x
    return C.RED.f(), C(2).name, [c.name for c in C], C.RED is C(1), C["BLUE"].value


@program((3,))
def nt(x):
    class P(NamedTuple):
        a: int
        b: int = 3
        def s(self): return self.a + self.b
    return P(x).s(), P(x), P(x)._replace(b=1), P(x)[0]


@program((3,))
def abst(x):
    class B(abc.ABC):
        @abc.abstractmethod
        def f(self): ...
        def g(self): return self.f() + 1
    class C(B):
        def f(self): return x
    try: B()
    except TypeError as e: s = str(e)
    return C().g(), s, isinstance(C(), B)


@program((3,))
def proto(x):
    class P(Protocol):
        def f(self) -> int: ...
    class C:
        def f(self): return x
    def use(p: P): return p.f()
    return use(C())


@program((3,))
def pick(x):
    class A: pass
    try: pickle.dumps(A())
    except Exception as e: return type(e).__name__


@program((3,))
def static_state(x):
    class A:
        d = {}
        def put(self, k, v): self.d[k] = v
    A().put("a", x); A().put("b", 2)
    return A.d, A().d is A.d


@program((3,))
def join1(x):
    class A:
        def __init__(self, v): self.v = v
        def get(self): return self.v
    if x > 2: a = A(1)
    else: a = A(2)
    return a.get(), type(a) is A


@program((3,))
def join2(x):
    class A:
        def get(self): return 1
    class B:
        def get(self): return 2
    c = A if x > 2 else B
    return c().get(), isinstance(c(), A), c.__name__


@program((3,))
def join3(x):
    if x > 2:
        class A:
            def get(self): return 1
    else:
        class A:
            def get(self): return 2
    return A().get()


@program((3,))
def join4(x):
    class A:
        k = 1
        def get(self): return self.k
    a = A()
    if x > 2: print(a.get()); A.k = x
    return a.get(), A.k, type(a) is A


@program((3,))
def join5(x):
    class A:
        def __init__(self, v): self.v = v
    held = []
    if x > 2: held.append(A(x))
    b = A(4)
    return [isinstance(h, A) for h in held], type(b) is A, held


@program((3,))
def loop_inst(n):
    class Acc:
        def __init__(self): self.t = 0
        def add(self, v): self.t += v
    a = Acc()
    for i in range(n): a.add(i)
    return a.t


@program((3,), fallback=True)
def loop_link(n):
    class Node:
        def __init__(self, v, nx): self.v = v; self.nx = nx
    h = None
    for i in range(n): h = Node(i, h)
    out = []
    while h is not None:
        out.append((h.v, isinstance(h, Node))); h = h.nx
    return out


@program((3,))
def match_(x):
    class P:
        __match_args__ = ("a", "b")
        def __init__(self, a, b): self.a = a; self.b = b
    match P(x, 2):
        case P(3, b): return "three", b
        case P(a=a, b=2): return "b2", a


@program((3,))
def gen_m(x):
    class A:
        def __iter__(self):
            for i in range(3): yield i * x
    return list(A()), sum(A())


@program((3,))
def cached(x):
    class A:
        @functools.cached_property
        def p(self): print("once"); return x
    a = A()
    return a.p, a.p


@program((3,))
def ctx(x):
    class CM:
        def __enter__(self): print("in"); return self
        def __exit__(self, *a): print("out", a[0]); return True
    with CM() as c:
        raise ValueError(x)
    return isinstance(c, CM)


@program((3,))
def classmeth(x):
    class A:
        n = 1
        @classmethod
        def mk(cls): return cls.n
        @classmethod
        def inc(cls): cls.n += 1; return cls
    class B(A): pass
    B.inc().inc(); A.inc()
    return A.mk(), B.mk(), "n" in B.__dict__, B.n


@program((3,))
def super2(x):
    class A:
        def f(self): return 1
        @classmethod
        def c(cls): return cls.__name__
        @property
        def p(self): return 5
    class B(A):
        def f(self): return super(B, self).f() + 1
        @classmethod
        def c(cls): return super().c() + "!"
        @property
        def p(self): return super().p + x
    return B().f(), B.c(), B().p


@program((3,))
def inst_dict(x):
    class A:
        def __init__(self): self.a = x; self.b = 2
    a = A(); a.__dict__["c"] = 3
    return a.c, vars(a), sorted(a.__dict__)


@program((3,))
def setclass(x):
    class A:
        def f(self): return 1
    class B:
        def f(self): return 2
    a = A(); a.__class__ = B
    return a.f(), type(a) is B


@program((3,))
def nested(x):
    class Outer:
        class Inner:
            def f(self): return x
        k = Inner
    return Outer.Inner().f(), Outer.k is Outer.Inner, Outer.Inner.__qualname__, Outer().Inner().f()


@program((3,))
def attr_of_self_class(x):
    class A:
        pass
    A.origin = A()
    A.me = A
    return A.origin, type(A.origin) is A, A.me is A


@program((3,))
def typed3(x):
    A = type("A", (), {"f": lambda self: x, "k": 3})
    return A().f(), A.k, A.__name__


@program((3,))
def defaults(x):
    class A:
        z = x
        def f(self, a=z, *, b=z * 2): return a, b
    return A().f(), A().f(1, b=2)


@program((3,))
def gen_alias(x):
    class A:
        def f(self): return x
        g = f
        __str__ = __repr__ = lambda self: "me"
    return A().g(), A.g is A.f, str(A()), repr(A())


@program((3,))
def print_inst(x):
    class A:
        n = 0
        def __str__(self): A.n += 1; return f"<{self.v}>"
    a = A(); a.v = x
    print(a); print(a, a)
    return A.n


@program((3,))
def opaque_method(x):
    class A:
        n = 0
        def key(self, v): A.n += 1; return -v
    a = A()
    return sorted([1, x, 3], key=a.key), A.n, a.n


@program((3,))
def map_cls(x):
    class A:
        def __init__(self, v): self.v = v
    return [a.v for a in map(A, [x, 2, 3])], list(map(A, [1]))


@program((3,))
def holds_itself(x):
    class S:
        inst = None
        def __new__(cls, v):
            if cls.inst is None:
                cls.inst = super().__new__(cls)
                cls.inst.v = v
            return cls.inst
    p, q = S(x), S(2)
    return p, q, S.inst


@program((3,))
def holds_all(x):
    class S:
        all = {}
        def __init__(self, v): self.v = v; S.all[v] = self; self.me = self
    s = S(x); t = S(4)
    return s, t, S.all


@program((3,))
def holds_last(x):
    class N:
        last = None
        def __init__(self): self.prev = N.last; N.last = self
        def get(self): return N.last
    N(); n = N()
    return n.get, n, N.last is n


@program.parametrize
def test_programs(fn, call, split, fallback):
    check(fn, call, split, fallback)
