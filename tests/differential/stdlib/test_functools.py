"""Caches, dispatch by class, partial methods and the rest of functools; known, or made by the traced code."""

import functools
import sys
import types
import weakref

import hovis
from hovis.ir.model import Effect
from tests.differential.harness.splitting import Programs, check

program = Programs()


@program((3,), (1,))
def lru_keys(x):
    seen=[]
    @functools.lru_cache(maxsize=None)
    def f(*a, **k):
        seen.append((a, k))
        return len(seen)
    r=[f(1), f(1.0), f(True), f(1), f("a"), f("a", b=2), f("a", b=2), f(b=2, c=1), f(c=1, b=2), f(), f((1, 2)), f((1, 2.0)), f(1, 2), f(1.0, 2)]
    return r, seen, f.cache_info(), x


@program((3,))
def lru_typed(x):
    n=[0]
    @functools.lru_cache(typed=True)
    def f(v):
        n[0]+=1
        return n[0]
    return f(1), f(1.0), f(True), f(1), f.cache_info(), f.cache_parameters(), x


@program((3,))
def lru_evict(x):
    log=[]
    @functools.lru_cache(2)
    def f(v): log.append(v); return v+x
    out=[f(1), f(2), f(1), f(3), f(2), f(1)]
    info=f.cache_info()
    f.cache_clear()
    return out, log, info, f.cache_info(), info.hits, info._asdict()


@program((3,))
def lru_zero(x):
    log=[]
    @functools.lru_cache(maxsize=0)
    def f(v): log.append(v); return v
    @functools.lru_cache(maxsize=-5)
    def g(v): log.append(v); return v
    f(1); f(1); g(2); g(2)
    return log, f.cache_info(), g.cache_info()


@program((3,))
def lru_raises(x):
    n=[0]
    @functools.lru_cache
    def f(v):
        n[0]+=1
        if n[0]<3: raise KeyError(v)
        return n[0]
    r=[]
    for _ in range(4):
        try: r.append(f(1))
        except KeyError as e: r.append(e.args)
    return r, f.cache_info(), x


@program((3,))
def lru_unhashable(x):
    @functools.lru_cache
    def f(v): return 1
    try: f([1])
    except TypeError as e: return str(e), f.cache_info()


@program((3,))
def lru_recursive_evict(x):
    @functools.lru_cache(maxsize=1)
    def f(v): return v if v<2 else f(v-1)+f(v-2)
    return f(6), f.cache_info()


@program((3,))
def lru_attrs(x):
    @functools.cache
    def f(v):
        "doc"
        return v
    f.tag=x
    return f.__name__, f.__doc__, f.__wrapped__(2), f.tag, f.__qualname__, type(f).__name__, callable(f), f.__dict__["tag"], hasattr(f, "zip")


@program((3,))
def lru_escapes(x):
    @functools.lru_cache(maxsize=7)
    def f(v): return v+x
    return f, f.cache_info()


@program((3,))
def lru_escapes_used(x):
    @functools.lru_cache(maxsize=7)
    def f(v): return v+x
    f(1); f(1)
    return f(2), f, f.cache_info(), [f]


@program((3,),(0,))
def lru_branch(x):
    @functools.cache
    def f(v): return v*2
    if x>1: f(1)
    f(1)
    return f.cache_info()


@program((4,),(0,))
def lru_loop(n):
    @functools.cache
    def f(v): return v*2
    for i in range(n): f(i%2)
    return f.cache_info(), f(1)


class Slots:
    __slots__=("v",)
    @functools.cached_property
    def w(self): return 1


class Plain:
    def __init__(self, v): self.v=v
    @functools.cached_property
    def w(self):
        "the doc"
        print("w")
        return self.v*2


@program((3,))
def cached_slots(x):
    s=Slots()
    try: s.w
    except TypeError as e: return str(e)


@program((3,))
def cached_more(x):
    p=Plain(x)
    got=[p.w, p.w]
    p.w=5
    got.append(p.w)
    del p.w
    got.append(p.w)
    try: del Plain(1).w
    except AttributeError as e: got.append(str(e))
    return got, Plain.w.attrname, Plain.w.__doc__, p


@program((3,))
def cached_unnamed(x):
    class A: pass
    A.w=functools.cached_property(lambda self: 1)
    try: A().w
    except TypeError as e: return str(e)


@program((3,))
def cached_raises(x):
    class A:
        n=0
        @functools.cached_property
        def w(self):
            self.n+=1
            if self.n<2: raise ValueError(self.n)
            return self.n
    a=A()
    try: a.w
    except ValueError as e: r=e.args
    return r, a.w, a.w, a.n


@functools.singledispatch
def area(x): raise TypeError(type(x).__name__)


class Base: pass


class Circle(Base):
    def __init__(self, r): self.r=r


class Square(Base):
    def __init__(self, s): self.s=s


class Sub(Square): pass


@area.register
def _(x: Circle): return 3*x.r*x.r


@area.register(Square)
def _(x): return x.s*x.s


@program((3,))
def dispatch_classes(x):
    try: area(x)
    except TypeError as e: r=e.args
    return area(Circle(x)), area(Square(x)), area(Sub(x)), r, area.dispatch(Sub) is area.registry[Square], sorted(c.__name__ for c in area.registry)


@program(([1, 2],))
def dispatch_each(l):
    return [area(s) for s in (Circle(l[0]), Square(l[1]), Sub(2))]


@program((3,))
def dispatch_none(x):
    try: area()
    except TypeError as e: return str(e)


@program((3,))
def dispatch_local_classes(x):
    class A: pass
    class B(A): pass
    class C(B): pass
    @functools.singledispatch
    def f(a, k=1): return "o", k
    @f.register(A)
    def fa(a, k=2): return "a", k
    @f.register(B)
    def fb(a, k=3): return "b", k
    return f(A()), f(B()), f(C(), 5), f(x), f(object(), k=7), f.__name__, f.register(int, lambda a: a)(3), f(2)


@program((3,))
def dispatch_late(x):
    @functools.singledispatch
    def f(a): return "o"
    before=f(x)
    f.register(int)(lambda a: a+1)
    return before, f(x), f(True), f("s")


@program((3,))
def dispatch_bad(x):
    @functools.singledispatch
    def f(a): return "o"
    r=[]
    for bad in (lambda: f.register(3), lambda: f.register(lambda a: a)):
        try: bad()
        except TypeError as e: r.append(type(e).__name__)
    return r, f(x)


@program((3,))
def dispatch_escapes(x):
    @functools.singledispatch
    def f(a): return "o"
    @f.register(int)
    def g(a): return a+1
    return f, f(x), g(1), f.registry


class Methods:
    base=10
    @functools.singledispatchmethod
    def m(self, a, k=0): return "o", a, k
    @m.register
    def _(self, a: int, k=1): return self.base+a+k
    @m.register(str)
    def _(self, a, k=2): return a*k


class MoreMethods(Methods):
    base=20


@program((3,))
def dispatch_method(x):
    a, b = Methods(), MoreMethods()
    return a.m(x), b.m(x, 5), a.m("q"), b.m(None, k=4), Methods.m(a, x) if False else 0


class Cells:
    def __init__(self): self.alive=False
    def state(self, v, *more, **k): self.alive=v, more, k; return self.alive
    on=functools.partialmethod(state, True)
    off=functools.partialmethod(state, False, 1, z=2)
    cm=functools.partialmethod(classmethod(lambda cls, a, b: (cls.__name__, a, b)), 7)
    sm=functools.partialmethod(staticmethod(lambda a, b: (a, b)), 7)
    nested=functools.partialmethod(off, 9)
    build=functools.partialmethod(print, "x", end="!\n")


@program((3,))
def partial_methods(x):
    c=Cells()
    return c.on(), c.on(x, q=x), c.off(x), c.alive, c.cm(x), Cells.cm(x), c.sm(x), c.nested(x), Cells.on(c)


@program((3,))
def partial_method_bound(x):
    c=Cells()
    f=c.on
    return f(x), f.func.__name__, f.args, f.keywords, f.__self__ is c, type(f).__name__


@program((3,))
def proxies(x):
    d={"a": x, "b": 2}
    p=types.MappingProxyType(d)
    d["c"]=3
    r=[p["a"], len(p), list(p), "c" in p, p.get("z", 9), list(p.items()), list(p.keys()), list(p.values()), dict(p), p=={"a": x, "b": 2, "c": 3}, repr(p)==repr(types.MappingProxyType(d)), list(reversed(p)), p|{"z": 1}]
    for bad in (lambda: p["q"], lambda: hash(p)):
        try: bad()
        except (KeyError, TypeError) as e: r.append((type(e).__name__, str(e)))
    try: p["a"]=1
    except TypeError as e: r.append(str(e))
    return r, p, isinstance(p, types.MappingProxyType)


@program((3,))
def weak_keys(x):
    w=weakref.WeakKeyDictionary()
    n=len(w)
    w.clear()
    w[int]=x
    return n, len(w), w[int], list(w.values())


@program((3,),(10,))
def lru_fib(n):
    @functools.lru_cache(maxsize=None)
    def fib(k): return k if k<2 else fib(k-1)+fib(k-2)
    return fib(6)+n, fib.cache_info()


@program((3,),(10,))
def lru_small(x):
    calls=[]
    @functools.lru_cache(maxsize=2)
    def f(k,*,b=1):
        calls.append(k); return k*2+b
    r=[f(1),f(2),f(1),f(3),f(2),f(1,b=x)]
    return r, calls, f.cache_info(), f.cache_parameters()


@program((3,),(1,))
def lru_dyn(x):
    @functools.cache
    def f(k): return k*x
    return f(x)+f(x)+f(1), f.cache_info()


@program((3,))
def lru_method(x):
    class A:
        def __init__(self,v): self.v=v
        @functools.lru_cache
        def get(self,k): return self.v+k
    a=A(x); b=A(5)
    return a.get(1), a.get(1), b.get(1), A.get.cache_info()


@functools.lru_cache(maxsize=None)
def gfib(k): return k if k<2 else gfib(k-1)+gfib(k-2)


@program((3,))
def lru_out(x):
    return gfib(5)+x


class CP:
    def __init__(self,v): self.v=v
    @functools.cached_property
    def double(self):
        print("computing"); return self.v*2


@program((3,),(5,))
def cachedprop(x):
    a=CP(x)
    r=a.double+a.double
    d=dict(a.__dict__)
    del a.double
    return r, a.double, d


@program((3,))
def cachedprop_local(x):
    class A:
        def __init__(self,v): self.v=v
        @functools.cached_property
        def w(self): print('w'); return self.v*2
    a=A(x)
    return a.w, a.w, a


@program((CP(3),))
def cachedprop_arg(a):
    return a.double, a.double


@functools.singledispatch
def sd(x): return ("obj",x)


@sd.register
def _(x:int): return ("int",x+1)


@sd.register(str)
def _(x): return ("str",x)


@sd.register(list)
def _(x): return ("list",len(x),[sd(i) for i in x])


@program((3,),(4,))
def sdispatch(x):
    return sd(x), sd("a"), sd([1,"b"]), sd(1.5), sd(True)


@program(([1,"a",2.5],))
def sdispatch_list(x):
    return sd(x)


@program((3,))
def sdispatch_local(x):
    @functools.singledispatch
    def f(a): return "o"
    @f.register
    def _(a: int): return a+1
    @f.register(str)
    def _(a): return a*2
    return f(x), f("q"), f(None), f.dispatch(int)(4), sorted(k.__name__ for k in f.registry)


class SM:
    @functools.singledispatchmethod
    def m(self,a): return ("o",a)
    @m.register
    def _(self,a:int): return ("i",a+1)
    @m.register
    def _(self,a:str): return ("s",a)
    @functools.singledispatchmethod
    @classmethod
    def c(cls,a): return (cls.__name__,a)
    @c.register
    @classmethod
    def _(cls,a:int): return (cls.__name__,a+1)


@program((3,))
def sdmethod(x):
    s=SM()
    return s.m(x), s.m("a"), s.m(1.0), SM.c(x), SM.c("e")


class PM:
    def __init__(self): self.alive=False
    def set(self,state,k=1,*,z=2): self.alive=(state,k,z); return self.alive
    on=functools.partialmethod(set,True)
    off=functools.partialmethod(set,False,z=5)


@program((3,))
def pmethod(x):
    p=PM()
    return p.on(), p.on(x), p.off(x), p.alive


@program((3,))
def pmethod_local(x):
    class P:
        def f(self,a,b): return (a,b)
        g=functools.partialmethod(f,x)
    return P().g(1), P.g(P(),2)


@functools.total_ordering
class TO:
    def __init__(self,v): self.v=v
    def __eq__(self,o):
        if not isinstance(o,TO): return NotImplemented
        return self.v==o.v
    def __lt__(self,o):
        if not isinstance(o,TO): return NotImplemented
        return self.v<o.v


@program((3,4),(4,3),(4,4))
def totord(x,y):
    a,b=TO(x),TO(y)
    return a<b,a<=b,a>b,a>=b,a==b,a!=b


def deco(fn):
    @functools.wraps(fn)
    def inner(*a,**k):
        "inner doc"
        return fn(*a,**k)+1
    return inner


@program((3,))
def wraps_local(x):
    @deco
    def f(a):
        "doc"
        return a*2
    return f(x), f.__name__, f.__doc__, f.__wrapped__(x), f.__qualname__, f.__module__


@deco
def outf(a): return a*3


@program((3,))
def wraps_out(x):
    return outf(x), outf.__name__


@program(([3,1,2],),)
def cmpkey(l):
    def cmp(a,b): return (a>b)-(a<b)
    return sorted(l,key=functools.cmp_to_key(cmp)), min(l,key=functools.cmp_to_key(cmp))


@program((3,1))
def cmpkey2(a,b):
    def cmp(a,b): return b-a
    return sorted([a,b,2],key=functools.cmp_to_key(cmp))


@program((3,))
def update_wr(x):
    def g(a): return a
    def f(a): return a+x
    functools.update_wrapper(f,g)
    return f(1), f.__name__, f.__wrapped__(2)


@program((3,))
def sd0(x):
    @functools.singledispatch
    def f(a): return "o"
    return f(x)


@program((3,))
def sd1(x):
    @functools.singledispatch
    def f(a): return "o"
    @f.register(str)
    def _(a): return a*2
    return f(x), f("q")


@program((3,))
def sd2(x):
    @functools.singledispatch
    def f(a): return "o"
    @f.register
    def _(a: int): return a+1
    return f(x), f("q"), f.dispatch(int)(4)


@program((3,))
def sd3(x):
    @functools.singledispatch
    def f(a): return "o"
    @f.register(int)
    def _(a): return a+1
    return sorted(k.__name__ for k in f.registry), f.registry[int](x), len(f.registry)


@program((3,))
def sd4(x):
    @functools.singledispatch
    def f(a): return "o"
    @f.register(int)
    def _(a): return a+1
    return f


@program.parametrize
def test_as_cpython(fn, call, split, fallback):
    check(fn, call, split, fallback)


def test_dissolves():
    """Where classes and keys are known nothing of functools is left."""
    gone = (lru_fib, lru_evict, lru_zero, lru_recursive_evict, cachedprop, sdispatch, dispatch_local_classes, dispatch_late)
    if sys.version_info < (3, 14):
        gone += (sdispatch_local,)  # since then, code makes the annotations that say for which class a function is registered
    for fn in (*gone, partial_methods, pmethod_local, totord):
        ops = hovis.trace(fn, *[int] * fn.__code__.co_argcount).ops
        assert not [op for op in ops if Effect.OPAQUE in op.effect and op.callee is not print], fn
