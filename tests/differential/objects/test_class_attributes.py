"""Writing to classes that the traced function defines, and what is not known of them, beside CPython."""

import functools

from tests.differential.harness.splitting import Programs, check

program = Programs()


@program((3,))
def counter2(n):
    class A:
        count = 0
        def __init__(self): type(self).count += 1
    class B(A): pass
    B(); A()
    for _ in range(n): B()
    return A.count, B.count, "count" in vars(B)


@program((3,))
def patch(x):
    class A:
        def f(self): return 1
    a = A()
    bound = a.f
    before = a.f()
    A.f = lambda self: x
    return before, a.f(), A().f(), bound()


@program((3,))
def patch_new(x):
    class A: pass
    a = A()
    A.g = lambda self: x
    A.h = 3
    A.p = property(lambda self: self.h + x)
    A.s = staticmethod(lambda: 7)
    A.c = classmethod(lambda cls: cls.h)
    return a.g(), a.h, A.h, a.p, a.s(), A.c()


@program((3,))
def patch_order(x):
    class A:
        k = 1
    if x > 2:
        A.b = 1; A.a = 2
    else:
        A.a = 2; A.b = 1
    return [n for n in vars(A) if not n.startswith("_")], A.a, A.b


@program((3,))
def patch_branch(x):
    class A:
        k = 1
    if x > 2:
        A.b = x
    return hasattr(A, "b"), getattr(A, "b", None), getattr(A(), "b", 5), A().k


@program((3,))
def patch_del(x):
    class B:
        k = 5
    class A(B):
        k = x
        def f(self): return self.k
    a = A()
    r = a.f()
    del A.k
    q = a.f()
    try: del A.k
    except AttributeError as e: s = str(e)
    A.k = 9
    return r, q, a.f(), s, list(n for n in vars(A) if n in "kf")


@program((3,))
def patch_kind(x):
    class A:
        k = 5
    a = A()
    r = [a.k]
    A.k = property(lambda self: x)
    r.append(a.k)
    A.k = lambda self: x + 1
    r.append(a.k())
    A.k = 6
    r.append(a.k); a.k = 7; r.append(a.k); r.append(A.k)
    return r


@program((3,))
def shadow(x):
    class A:
        k = 5
        def f(self): return "A"
    a = A(); a.k = x; a.f = lambda: "own"
    A.k = 8; A.f = lambda self: "new"
    return a.k, a.f(), A().k, A().f()


@program((3,))
def sup(x):
    class A:
        def f(self): return 1
    class B(A):
        def f(self): return super().f() + 10
    b = B()
    r = b.f()
    A.f = lambda self: x
    return r, b.f()


@program((3,))
def unknown_attr(x):
    class A:
        k = x
        def get(self): return self.k
    a = A()
    return a.get(), A.k, a.k


@program((3,))
def unknown_attr2(x):
    class A:
        k = x
        j = x
        def get(self): return self.k, self.j
    A.k = 3
    return A().get(), A.k


class Desc:
    def __get__(self, o, t): return ("got", o is None)


class DescN:
    def __set_name__(self, o, n): print("named", o.__name__, n)
    def __get__(self, o, t): return ("gotn", o is None)


class Data:
    def __get__(self, o, t): return "data"
    def __set__(self, o, v): print("set", v)


@program((3,), (Desc(),), (DescN(),), (Data(),))
def unknown_desc(x):
    class A:
        k = x
        def get(self): return self.k
    a = A()
    a.k = 4
    return a.get(), A.k


@program((3,))
def unknown_try(x):
    try:
        class A:
            k = x
            def get(self): return self.k
        return A().get(), A.k
    except ValueError: return 1


@program((3,))
def write_unknown(x):
    class A:
        k = 1
        def get(self): return self.k
    a = A()
    A.k = x
    return a.get(), A.k


@program((3,))
def loop_write(n):
    class A:
        total = 0
        def add(self, v): A.total += v
    a = A()
    for i in range(n): a.add(i)
    return A.total


@program((3,))
def loop_write2(n):
    class A:
        best = None
    for i in range(n):
        if A.best is None or i > A.best: A.best = i
    return A.best


@program((3,))
def singleton(x):
    class S:
        _i = None
        @classmethod
        def get(cls):
            if cls._i is None: cls._i = cls()
            return cls._i
    return S.get() is S.get(), S._i is S.get()


@program((3,))
def alias_data(x):
    class A:
        p = [1]
        q = p
    A.q = [2]
    return A.p, A.q, A().p is A.p


@program((3,))
def deco_attr(x):
    def reg(c): c.tag = c.__name__ + "!"; return c
    def add(**kw):
        def deco(c):
            for k, v in kw.items(): setattr(c, k, v)
            return c
        return deco
    @reg
    @add(z=x, f=lambda self: self.z)
    class A: pass
    return A.tag, A().f(), A.z


@program((3,))
def in_loop(n):
    found = []
    for i in range(n):
        class A:
            k = i
            def get(self): return i, self.k
        found.append(A)
    return [a().get() for a in found], [a.k for a in found]


@program((3,))
def body_if(x):
    class A:
        if x > 2: w = 1
        else: w = 2
        def f(self): return self.w
    return A().f()


@program((3,))
def opaque_between(x):
    class A:
        k = 1
        def f(self): return self.k
        def __repr__(self): A.k += 1; return "A"
    a = A()
    print(a)
    r = a.k, a.f()
    print(a)
    return r, a.k, A.k


@program((3,))
def monkey_then_opaque(x):
    class A:
        def f(self): return 1
        def __str__(self): return f"<{self.f()}>"
    a = A()
    print(a)
    A.f = lambda self: x
    print(a)
    return a.f()


@program((3,))
def two_alive(x):
    def mk(v):
        class A:
            k = v
            n = 0
            def hit(self): A.n += 1; return A.n
        return A
    A, B = mk(1), mk(2)
    A().hit(); A().hit(); B().hit()
    return A.n, B.n, A.k, B.k, mk(3).k


@program((3,))
def tot(x):
    @functools.total_ordering
    class V:
        def __init__(self, a): self.a = a
        def __eq__(self, o): return self.a == o.a
        def __lt__(self, o): return self.a < o.a
    return V(x) >= V(2), V(x) > V(2), V(x) <= V(2)


@program((3,))
def dunder_patch(x):
    class A: pass
    A.__repr__ = lambda self: "patched"
    A.__eq__ = lambda self, o: True
    return repr(A()), A() == 3, A.__hash__ is None, hash(A()) is not None


@program((3,))
def fn_attr(x):
    class A:
        def f(self): return A.f.calls
        f.calls = 3
    A.f.calls += x
    return A().f(), A.f.calls


@program.parametrize
def test_programs(fn, call, split, fallback):
    check(fn, call, split, fallback)
