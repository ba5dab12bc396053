"""Decorators that mark, count and register functions, beside CPython."""

import functools
import inspect

from tests.differential.harness.splitting import Programs, check

program = Programs()


def helper(x):
    helper.count = getattr(helper, "count", 0) + 1
    return x


@program((3,),(0,))
def branch_attr(x):
    def f(): return f.v
    if x: f.v=1
    else: f.v=x; f.w=2
    r=f()
    if x>1: print(f.v)
    f.v+=1
    return r, f.v, hasattr(f,"w"), sorted(vars(f))


@program((3,),(0,))
def escape_then(x):
    def f(): return f.v
    f.v=[x]
    l=[f]
    print(callable(l[0]), len(l))
    g=l[x and 0]
    g.v.append(2); g.k=5
    f.v=f.v+[3]
    return f(), g is f, f.k, g.__dict__


@program((4,),(0,))
def recursion(n):
    def fact(k):
        fact.depth=max(fact.depth,k)
        fact.calls+=1
        return 1 if k<=1 else k*fact(k-1)
    fact.depth=0; fact.calls=0
    return fact(n), fact.depth, fact.calls


@program((4,))
def deco_args(n):
    def tag(*names, **extra):
        def deco(fn):
            fn.tags=names; fn.__dict__.update(extra)
            return fn
        return deco
    @tag("a","b",level=n)
    def f(): pass
    @tag()
    def g(): pass
    return f.tags, f.level, g.tags, vars(g), [h.__name__ for h in (f,g) if getattr(h,"level",None)]


@program((4,))
def count_calls(n):
    def counted(fn):
        @functools.wraps(fn)
        def w(*a, **k):
            w.calls += 1
            return fn(*a, **k)
        w.calls = 0
        return w
    @counted
    def add(a, b=1): return a+b
    add(1); add(n, b=2)
    class A:
        @counted
        def m(self): return n
        @staticmethod
        @counted
        def s(): return 5
        @classmethod
        @counted
        def c(cls): return cls.__name__
    a=A(); a.m(); a.m(); A.s(); A.c()
    return add.calls, A.m.calls, a.m.calls, A.s.calls, A.c.calls, a.m.__name__, add.__wrapped__(1), inspect.signature(add).parameters["b"].default


@program((4,))
def dynamic_names(n):
    def f(): pass
    for k in ("a","b"): setattr(f, k, n)
    setattr(f, "k%d" % n, 1)
    r=[getattr(f,k) for k in ("a","b")]
    delattr(f,"a")
    return r, sorted(f.__dict__), hasattr(f,"a")


@program((4,))
def defaults(n):
    def f(a=1, *, b=2): return a, b
    f.__defaults__=(n,)
    r=f()
    f.__kwdefaults__={"b":n}
    return r, f(), f.__defaults__, f.__kwdefaults__


@program((4,))
def code_swap(n):
    def f(): return 1
    def g(): return 2
    f.tag=n
    f.__code__=g.__code__
    return f(), f.tag, f.__name__


@program((4,))
def global_attr(n):
    helper.count=0
    helper(1); helper(n)
    return helper.count


@program((4,))
def caching(n):
    def memo(fn):
        def w(k):
            try: return w.cache[k]
            except KeyError:
                w.cache[k]=r=fn(k)
                w.misses=getattr(w,"misses",0)+1
                return r
        w.cache={}
        return functools.update_wrapper(w, fn)
    @memo
    def sq(k): print("sq",k); return k*k
    return sq(2), sq(2), sq(3), sq.cache, sq.misses, sq.__name__


@program((4,))
def plugin(n):
    class Registry:
        def __init__(self): self.fns={}
        def register(self, fn=None, *, name=None):
            if fn is None: return functools.partial(self.register, name=name)
            self.fns[name or fn.__name__]=fn
            fn.registered=True
            return fn
    r=Registry()
    @r.register
    def one(x): return x+1
    @r.register(name="deux")
    def two(x): return x*2
    return {k: f(n) for k,f in r.fns.items()}, one.registered, two.registered, list(r.fns)


@program((4,))
def lambda_names(n):
    fs=[lambda v, k=k: v*k for k in range(3)]
    for i,f in enumerate(fs): f.__name__=f"times{i}"; f.order=-i
    return [(f.__name__, f(n)) for f in sorted(fs, key=lambda f: f.order)]


@program((4,))
def doc(n):
    def f():
        """Doc of f"""
        return n
    def g(f=f):
        g.__doc__=f.__doc__+" and g"
        return g.__doc__
    return g(), g.__doc__, f.__doc__, f.__annotations__ is f.__annotations__


@program((4,))
def gens(n):
    def gen():
        while gen.on:
            yield gen.step
            gen.step+=1
            if gen.step>n: gen.on=False
    gen.on=True; gen.step=0
    return list(gen()), gen.step, gen.on


@program.parametrize
def test_as_cpython(fn, call, split, fallback):
    check(fn, call, split, fallback)
