"""``total_ordering`` of classes that the traced function defines, beside CPython."""

import functools

from tests.differential.harness.splitting import Programs, check

program = Programs()


@program((3,4),(4,3),(4,4))
def totord_local(x,y):
    @functools.total_ordering
    class T:
        def __init__(self,v): self.v=v
        def __eq__(self,o): return self.v==o.v
        def __lt__(self,o): return self.v<o.v
    a,b=T(x),T(y)
    return a<b,a<=b,a>b,a>=b,a==b,a!=b, max(a,b).v, T.__le__.__name__, sorted([b,a])[0].v


@program((3,4),(4,3))
def by_ge(x,y):
    @functools.total_ordering
    class T:
        def __init__(self,v): self.v=v
        def __eq__(self,o): return self.v==o.v if isinstance(o, T) else NotImplemented
        def __ge__(self,o): return self.v>=o.v if isinstance(o, T) else NotImplemented
    a,b=T(x),T(y)
    try: a<3
    except TypeError as e: r=str(e)
    return a<b,a<=b,a>b,a>=b,r,[n for n in vars(T) if n in ("__lt__","__le__","__gt__")], T, a


@program((3,4))
def inherited(x,y):
    @functools.total_ordering
    class T:
        def __init__(self,v): self.v=v
        def __eq__(self,o): return self.v==o.v
        def __gt__(self,o): return self.v>o.v
    class U(T):
        def __le__(self,o): return "le"
    a,b=U(x),U(y)
    return a<b,a<=b,a>b,a>=b


@program((3,4))
def no_root(x,y):
    try:
        @functools.total_ordering
        class T: pass
    except ValueError as e: return str(e)


@program((3,4))
def later(x,y):
    class T:
        def __init__(self,v): self.v=v
        def __eq__(self,o): return self.v==o.v
        def __lt__(self,o): return self.v<o.v
    before=hasattr(T,"__le__") and T.__le__ is object.__le__
    T=functools.total_ordering(T)
    return before, T(x)<=T(y), T(x)>T(y)


@program((3,4))
def two_decorators(x,y):
    def tag(c): c.tag=x; return c
    @tag
    @functools.total_ordering
    class T:
        def __init__(self,v): self.v=v
        def __eq__(self,o): return self.v==o.v
        def __lt__(self,o): return self.v<o.v
    return T.tag, T(x)<=T(y), T(x)>=T(y)


@program((3,4))
def dataclass_ordered(x,y):
    import dataclasses
    @functools.total_ordering
    @dataclasses.dataclass
    class T:
        v: int
        def __lt__(self,o): return self.v<o.v
    return T(x)<=T(y), T(x)>=T(y), T(x)


@program.parametrize
def test_as_cpython(fn, call, split, fallback):
    check(fn, call, split, fallback)
