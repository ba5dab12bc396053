"""The attributes of functions: counters, marks, ``functools.wraps``; of those made by the traced code and of known ones."""

import functools
import sys

import pytest

import hovis
from hovis.ir.model import Effect
from tests.differential.harness.splitting import Programs, check

program = Programs()


def glob(a, b=2, *, c: int=3) -> int:
    "doc of glob"
    return a+b+c


glob.tag="T"


@program((3,))
def wrap_global(x):
    def deco(fn):
        @functools.wraps(fn)
        def inner(*a,**k): return fn(*a,**k)+1
        return inner
    g=deco(glob)
    return g(x), g.__name__, g.__doc__, g.tag, g.__wrapped__ is glob, g.__annotations__, g.__module__==glob.__module__


@program((3,))
def wrap_escape(x):
    def deco(fn):
        @functools.wraps(fn)
        def inner(*a,**k): return fn(*a,**k)+x
        return inner
    g=deco(glob)
    return g, g.__dict__, [g]


@program((3,))
def counter(x):
    def f():
        f.calls += 1
        return f.calls
    f.calls = 0
    f(); f()
    return f.calls+x, f.__dict__, hasattr(f,"nope"), getattr(f,"nope",7), vars(f)


@program((3,),(-1,))
def counter_branch(x):
    def f(): f.n += 1
    f.n=0
    if x>0: f()
    f()
    if x>1: f.late=5
    return f.n, getattr(f,"late",None)


@program((3,))
def counter_loop(n):
    def f(k): f.n += k
    f.n=0
    for i in range(n): f(i)
    return f.n


@program((3,))
def dele(x):
    def f(): return x
    f.a=1; f.b=x
    del f.a
    try: del f.a
    except AttributeError as e: r=str(e)
    try: f.a
    except AttributeError as e: r2=(str(e), e.name, e.obj is f)
    return r, r2, f.b, f.__dict__


@program((3,))
def names(x):
    def f(a: int, b: "str"=x)->None: "the doc"
    f.__name__="g"; f.__qualname__="q.g"; f.__doc__=f.__doc__+"!"; f.__module__="m"
    d=f.__annotations__
    d["z"]=x
    return f.__name__,f.__qualname__,f.__doc__,f.__module__,f.__annotations__ is d, d, f.__defaults__, f, repr(f)[:12]


@program((3,))
def name_bad(x):
    def f(): pass
    try: f.__name__=x
    except TypeError as e: return str(e)


@program((3,))
def name_dyn(x):
    def f(): pass
    f.__name__="f%d"%x
    return f.__name__, f


@program((3,))
def nodoc(x):
    def f(): pass
    g = (lambda a: a, 1)[0]
    return f.__doc__, g.__doc__, g.__name__, f.__annotations__, f.__defaults__, f.__code__.co_name, f.__class__.__name__


@program((3,))
def dict_alias(x):
    def f(): pass
    d=f.__dict__
    f.a=x
    d["b"]=2
    f.__dict__={"q":x}
    e=f.__dict__
    return d, f.q, e is d, e


@program((3,))
def self_ref(x):
    def f(): return x
    f.me=f; f.l=[f]
    return f, f.me(), f.l[0] is f


def gcount(x):
    gcount.calls += 1
    return x+gcount.calls


gcount.calls=0


@program((3,))
def callg(x):
    gcount.calls=0
    return gcount(x)+gcount(x), gcount.calls


memo_calls=[]


def memoize(fn):
    cache={}
    @functools.wraps(fn)
    def inner(k):
        if k not in cache: cache[k]=fn(k)
        return cache[k]
    inner.cache=cache
    return inner


@program((5,))
def memo(n):
    @memoize
    def fib(k): return k if k<2 else fib(k-1)+fib(k-2)
    return fib(10)+n, len(fib.cache), fib.__wrapped__.__name__


@program((5,))
def memo_dyn(n):
    @memoize
    def fib(k): return k if k<2 else fib(k-1)+fib(k-2)
    return fib(n), len(fib.cache), fib.__wrapped__.__name__


@program((5,))
def registry(x):
    handlers={}
    def on(name):
        def d(fn):
            handlers[name]=fn
            fn.event=name
            return fn
        return d
    @on("a")
    def fa(v): return v+1
    @on("b")
    def fb(v): return v*2
    return [h(x) for h in handlers.values()], [h.event for h in handlers.values()]


@program((5,))
def meth_attr(x):
    class A:
        def f(self): return x
        f.tag="t"
        f.order=x
    return A.f.tag, A().f.tag, [n for n in vars(A) if hasattr(getattr(A,n),"tag")], A().f.order


@program((5,))
def gdict(x):
    d=glob.__dict__
    return d["tag"], vars(glob)==d, len(d), list(d)


@program((5,))
def gdict_write(x):
    glob.__dict__["tag"]=x
    a=glob.tag
    glob.tag="T"
    return a, glob.__dict__["tag"], glob.tag


@program((5,))
def bound_by_name(x):
    def f(a, b=2): return a, b, x
    class A: pass
    a = A()
    g = f.__get__(a)
    h = f.__get__(None, A)
    class B:
        @classmethod
        def c(cls, v): return cls.__name__, v
        @staticmethod
        def s(v): return v
    try: f.__get__(None)
    except TypeError as e: told = str(e)
    return g()[0] is a, g(3)[1:], h is f, f.__call__(1), type(g).__name__, B.__dict__["c"].__get__(None, B)(x), B.__dict__["s"].__get__(None, B)(x), told


@program.parametrize
def test_as_cpython(fn, call, split, fallback):
    check(fn, call, split, fallback)


def test_dissolves():
    """What is known of a function of the trace costs nothing in the residual."""
    for fn in (memo, *([wrap_global] if sys.version_info < (3, 14) else []), registry, counter_loop):  # since 3.14, code makes annotations
        assert not [op for op in hovis.trace(fn, int).ops if Effect.OPAQUE in op.effect], fn


@pytest.mark.skipif(sys.version_info < (3, 14), reason="functions have had __annotate__ since 3.14")
@pytest.mark.parametrize("spec", [hovis.Any, hovis.Int])
def test_annotate(spec):
    def told(x):
        def f(a: int): return a
        def g(b: str): return b
        seen = [g.__annotate__(1), g.__annotate__.__qualname__, f.__annotate__ is None]
        f.__annotate__ = g.__annotate__
        seen.append(f.__annotations__)
        f.__annotate__ = None
        seen.append((f.__annotations__, f.__annotate__))
        f.__annotations__ = {"z": x}
        seen.append((f.__annotations__, f.__annotate__))
        def h(a): return a
        seen += [h.__annotate__, h.__annotations__, h.__annotate__]
        h.__annotations__["k"] = 1
        h.__annotate__ = None
        seen.append(h.__annotations__)
        g.__annotate__ = lambda form: {"q": form}
        seen.append(g.__annotations__)
        try:
            g.__annotate__ = 3
        except TypeError as error:
            seen.append(str(error))
        return seen

    assert hovis.specialize(told, spec)(3) == told(3)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="functions have had __annotate__ since 3.14")
def test_a_wrapper_dissolves_with_its_annotations():
    def wrapped(x):
        @memoize
        def inner(k: int) -> int: return k * 2
        return inner(x)

    assert not [op for op in hovis.trace(wrapped, int).ops if Effect.OPAQUE in op.effect]
    assert hovis.specialize(wrapped, int)(4) == 8
