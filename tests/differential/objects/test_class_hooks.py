"""``__set_name__``, ``__init_subclass__`` and keyword arguments of classes that the traced function defines, beside CPython."""

import abc
import functools

from tests.differential.harness.splitting import Programs, check

program = Programs()


class Plug:
    seen = []
    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        cls.tag = cls.__name__.lower()


@program((3,))
def set_name(x):
    class D:
        def __set_name__(self, owner, name): print("set", owner.__name__, name); self.n = "_" + name
        def __get__(self, o, t): return self if o is None else getattr(o, self.n)
        def __set__(self, o, v): setattr(o, self.n, v + 1)
    class A:
        d = D()
        e = D()
        def __init__(self, v): self.d = v; self.e = v * 2
    a = A(x)
    return a.d, a.e, A.d.n, sorted(vars(a)), a, [k for k in vars(A) if not k.startswith("__")]


@program((3,))
def set_name_err(x):
    class D:
        def __set_name__(self, owner, name): raise ValueError(x)
    try:
        class A:
            d = D()
    except (ValueError, RuntimeError) as e:
        return type(e).__name__, str(e), getattr(e, "__notes__", None), type(e.__cause__).__name__


@program((3,))
def set_name_writes(x):
    class D:
        def __set_name__(self, owner, name):
            owner.names = getattr(owner, "names", ()) + (name,)
    class A:
        d = D(); e = D()
    class B(A):
        f = D()
    return A.names, B.names, "names" in vars(B)


@program((3,))
def init_sub(x):
    class Base:
        seen = []
        def __init_subclass__(cls, tag=None, **kw):
            super().__init_subclass__(**kw)
            cls.tag = tag; Base.seen.append(cls.__name__)
    class A(Base, tag=x): pass
    class B(Base): pass
    class C(A, tag=9): pass
    return A.tag, B.tag, C.tag, Base.seen, C().tag


@program((3,))
def init_sub_print(x):
    class Base:
        def __init_subclass__(cls): print("init", cls.__name__, cls.v)
    class A(Base):
        v = x
        print("body")
    print("made")
    return A, A()


@program((3,))
def init_sub_escape(x):
    class Base:
        subs = []
        def __init_subclass__(cls): Base.subs.append(cls)
    class A(Base):
        def f(self): return x
    class B(Base):
        def f(self): return x + 1
    return [c().f() for c in Base.subs], [c.__name__ for c in Base.subs], Base.subs, A()


@program((3,))
def init_sub_mod(x):
    class A(Plug):
        def f(self): return self.tag
    return A().f(), A.tag, A, issubclass(A, Plug), A.__mro__[1] is Plug


@program((3,))
def init_sub_multi(x):
    class M:
        def __init_subclass__(cls, **k): print("M", cls.__name__); super().__init_subclass__(**k)
    class N:
        def __init_subclass__(cls, **k): print("N", cls.__name__); super().__init_subclass__(**k)
    class Q(M): pass
    class P(Q, N): pass
    return [c.__name__ for c in P.__mro__], P()


@program((3,))
def init_sub_bad(x):
    class Base:
        def __init_subclass__(cls, need): cls.need = need
    try:
        class A(Base): pass
    except TypeError as e: return str(e)


@program((3,))
def init_kw_bad(x):
    class Base: pass
    try:
        class A(Base, q=x): pass
    except TypeError as e: return str(e)


@program((3,))
def init_exc(x):
    class Base(Exception):
        def __init_subclass__(cls, code=1): cls.code = code
    class E(Base, code=x): pass
    try: raise E("q")
    except Base as e: return e.code, e.args, type(e) is E, e


@program((3,))
def validators(x):
    class Typed:
        def __init__(self, t): self.t = t
        def __set_name__(self, o, n): self.name = n
        def __get__(self, o, t):
            if o is None: return self
            return o.__dict__[self.name]
        def __set__(self, o, v):
            if not isinstance(v, self.t): raise TypeError(f"{self.name}: {type(v).__name__}")
            o.__dict__[self.name] = v
    class P:
        a = Typed(int)
        b = Typed(str)
        def __init__(self, a, b): self.a = a; self.b = b
    try: P(x, 3)
    except TypeError as e: s = str(e)
    p = P(x, "q")
    return p.a, p.b, s, p


@program((3,))
def meta1(x):
    class M(type):
        def __call__(cls, *a): print("call"); return super().__call__(*a)
        def hello(cls): return cls.__name__
    class A(metaclass=M):
        v = 1
        def __init__(self, q): self.q = q
    return A.hello(), A(3).q, type(A).__name__, A.v


@program((3,))
def cached(x):
    class A:
        @functools.cached_property
        def p(self): print("once"); return x
    a = A()
    return a.p, a.p, vars(a)


@program((3,))
def abst(x):
    class B(abc.ABC):
        @abc.abstractmethod
        def f(self): ...
        @property
        @abc.abstractmethod
        def p(self): ...
        def g(self): return self.f() + 1
    class C(B):
        def f(self): return x
    class D(C):
        p = 3
    try: B()
    except TypeError as e: s = str(e)
    try: C()
    except TypeError as e: t = str(e)
    return D().g(), s, t, isinstance(D(), B), D().p, issubclass(D, B)


@program((3,))
def abst2(x):
    class B(metaclass=abc.ABCMeta):
        @abc.abstractmethod
        def f(self): "doc"; return 5
    class C(B):
        def f(self): return super().f() + x
    return C().f(), B.f.__isabstractmethod__, sorted(B.__abstractmethods__), C(), type(C) is abc.ABCMeta, C


@program((3,))
def registered(x):
    class B(abc.ABC):
        @abc.abstractmethod
        def f(self): ...
    B.register(int)
    return isinstance(x, B), issubclass(int, B), isinstance("s", B)


@program((3,))
def hook(x):
    class Sized(abc.ABC):
        @classmethod
        def __subclasshook__(cls, c): return any("size" in b.__dict__ for b in c.__mro__) or NotImplemented
    class S:
        def size(self): return x
    class T: pass
    return isinstance(S(), Sized), isinstance(T(), Sized), issubclass(S, Sized)


@program((3,))
def shapes(x):
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...
    class Sq(Shape):
        def __init__(self, s): self.s = s
        def area(self): return self.s ** 2
    class Ci(Shape):
        def __init__(self, r): self.r = r
        def area(self): return 3 * self.r
    return sum(s.area() for s in [Sq(x), Ci(2)]), [type(s).__name__ for s in (Sq(1), Ci(2))]


@program.parametrize
def test_programs(fn, call, split, fallback):
    check(fn, call, split, fallback)
