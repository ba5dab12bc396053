"""Subclasses of list, dict, tuple, str, int and float: instances with methods of their own and inherited ones, beside CPython."""

from collections import namedtuple

import hovis
from hovis.ir.model import Effect
from tests.differential.harness.splitting import Programs, check

program = Programs()


@program((3,))
def stack(x):
    class Stack(list):
        def push(self, v): self.append(v)
        def peek(self): return self[-1]
    s=Stack()
    s.push(1); s.push(x)
    return s.peek(), len(s), s.pop(), s, bool(s), list(s), [v for v in s], 1 in s


@program((2,))
def builtins(k):
    class D(dict):
        def __missing__(self, key): self[key] = key * 2; return self[key]
        def __setitem__(self, key, v): super().__setitem__(key, (v,))
    class L(list):
        def append(self, v): super().append(v + 100)
    class Int(int):
        def __add__(self, o): return Int(int(self) + int(o) + 1)
    d = D(a=1)
    l = L([1]); l.append(k); l.extend([k]); l += [k]
    i = Int(k) + 1
    return d[k], dict(d), list(l), type(i).__name__, int(i), Int(k) * 2, type(Int(k) * 2).__name__


class Stack(list):
    def __init__(self, items=(), name="s"):
        super().__init__(items)
        self.name=name
    def top(self): return self[-1] if self else None
    @property
    def size(self): return len(self)


@program((3,))
def stack_init(x):
    s=Stack([1,x],name="q")
    t=Stack()
    t.extend(s)
    t.sort(reverse=True)
    return s.name, s.size, s.top(), t.top(), s+t, type(s+t).__name__, s==[1,x], s==t, s!=t, t, vars(s), s[0:1], type(s[:]).__name__, s.index(x), s.count(1)


@program((3,))
def stack_escape(x):
    s=Stack([x]); s.me=s
    s.append(s)
    return s, s[1] is s, len(s)


@program((3,),(0,))
def stack_loop(n):
    s=Stack()
    for i in range(n): s.append(i)
    r=0
    while s: r+=s.pop()
    return r, s


@program((3,),(-1,))
def stack_branch(x):
    s=Stack([1])
    if x>0: s.append(x); s.tag=1
    return s, len(s), s.top()


class Row(dict):
    def __getattr__(self, name):
        try: return self[name]
        except KeyError: raise AttributeError(name)
    def __setattr__(self, name, v): self[name]=v


@program((3,))
def row(x):
    r=Row(a=x, b=2)
    r.c=5
    s=dict(r)
    u={**r}
    try: r.zzz
    except AttributeError as e: t=str(e)
    return r.a+r.b, r["c"], s, u, t, r, "a" in r, len(r), list(r), list(r.items()), r.get("q", 9), r=={"a": x, "b": 2, "c": 5}, hasattr(r, "b"), sorted(r), r.keys()=={"a","b","c"}


class Default(dict):
    def __missing__(self, k):
        v=self[k]=[k]
        return v


@program((3,))
def missing(x):
    d=Default()
    d["a"].append(x)
    d["a"].append(2)
    d[1]
    return d, d["a"], d.get("z"), "z" in d, d.setdefault("q", 1), d.pop("q"), d.copy(), type(d.copy()).__name__


class Counted(dict):
    def __init__(self, *a, **k):
        self.reads=0
        super().__init__(*a, **k)
    def __getitem__(self, k):
        self.reads+=1
        return super().__getitem__(k)
    def update(self, *a, **k):
        print("update")
        super().update(*a, **k)


@program((3,))
def counted(x):
    d=Counted(a=1)
    d.update(b=x)
    try: d["q"]
    except KeyError as e: k=e.args
    return d["a"], d["b"], d.reads, k, d.get("a"), dict(d), d, d|{"z": 1}, type(d|{}).__name__


class Name(str):
    def __new__(cls, text, extra=0):
        made=super().__new__(cls, text.upper())
        made.extra=extra
        return made
    def shout(self): return self+"!"
    def __eq__(self, o): return str.__eq__(self, o.upper()) if isinstance(o, str) else NotImplemented
    __hash__=str.__hash__


@program((3,),)
def name(x):
    n=Name("bob", x)
    return n, n.shout(), len(n), n=="bob", n!="bob", "bob"==n, n.lower(), n.extra, n[0], type(n[0]).__name__, f"<{n}>", "%s" % n, str(n), repr(n), n+n, "O" in n, [c for c in n], hash(n)==hash("BOB"), {n: 1}["BOB"], n.split("O"), isinstance(n, str)


@program(("bob",),)
def name_dyn(t):
    n=Name(t)
    return n.shout(), len(n), n==t, n.extra, str(n)


class Meters(float):
    def __add__(self, o): return Meters(float(self)+float(o))
    def __radd__(self, o): return self+o
    def __repr__(self): return f"{float(self)}m"


@program((1.5,),(2,))
def meters(x):
    a=Meters(x)
    b=a+2
    return repr(b), float(b), b*2, 1+a, sum([a, b]), a<b, a==x, -a, type(-a).__name__, str(a), round(a), int(a), f"{a:.2f}", bool(a), abs(a), a.is_integer()


class Even(int):
    def __new__(cls, v):
        if v%2: raise ValueError(v)
        return super().__new__(cls, v)
    @property
    def half(self): return Even(self//2) if self%4==0 else self//2
    def __str__(self): return f"even {int(self)}"


@program((4,),(3,))
def even(x):
    try: e=Even(x)
    except ValueError as err: return err.args
    return e.half, str(e), repr(e), e+1, type(e+1).__name__, e==4, e>3, 3<e, e%3, divmod(e, 3), -e, list(range(e)), [1,2,3,4,5][e], "ab"*e, hash(e), e in (4,), {4: "x"}.get(e), int(e), bool(e), e.bit_length(), e & 1, e | 1, 2**e, e.real, f"{e}", f"{e:3d}", "%d" % e


class Point(tuple):
    def __new__(cls, x, y): return super().__new__(cls, (x, y))
    x=property(lambda self: self[0])
    y=property(lambda self: self[1])
    def __add__(self, o): return Point(self.x+o.x, self.y+o.y)


@program((3,))
def point(v):
    p=Point(v, 2)+Point(1, 1)
    a, b=p
    p.tag=1
    return p, p.x, a, b, len(p), p==(v+1, 3), p==Point(v+1, 3), list(p), p[::-1], type(p[::-1]).__name__, hash(p)==hash((v+1, 3)), p<(100, 0), v+1 in p, p*2, max(p), repr(p), p.count(3), sorted([Point(2,1), Point(1,5)])


class NT(namedtuple("NT", "a b")):
    def total(self): return self.a+self.b


@program((3,))
def nt(x):
    n=NT(x, b=2)
    m=n._replace(a=9)
    a, b=n
    return n.total(), n, m.total(), n._asdict(), a, b, n[0], n==(x, 2), repr(n), NT._fields, n._fields, len(n), isinstance(n, tuple)


class Typed(list):
    def __setitem__(self, i, v):
        if not isinstance(v, int): raise TypeError("no")
        super().__setitem__(i, v)
    def __getitem__(self, i):
        r=super().__getitem__(i)
        return Typed(r) if isinstance(i, slice) else r
    def __len__(self): return super().__len__()+100
    def __iter__(self):
        for v in super().__iter__(): yield v*10
    def __contains__(self, v): return v=="magic" or super().__contains__(v)
    def __eq__(self, o): return "eq"
    def __bool__(self): return False
    def __repr__(self): return "T"+super().__repr__()


@program((3,))
def typed(x):
    t=Typed([1, 2, x])
    t[0]=5
    try: t[0]="s"
    except TypeError as e: s=str(e)
    return t[0], t[1:], len(t), list(t), "magic" in t, x in t, t==1, t!=1, bool(t), s, repr(t), [*t], sum(t), max(t), tuple(t), t, dict(a=t)


class Reg(list):
    registry={}
    def __init_subclass__(cls, **k): Reg.registry[cls.__name__]=k


@program((3,))
def listops(x):
    class Q(list): __slots__=("z",)
    q=Q([3,1,2]); q.z=x
    q[1:2]=[7,8]
    del q[0]
    q.insert(0, x); q.reverse(); q.remove(2)
    q*=2
    r=q+[1]
    q2=q.copy()
    it=iter(q); next(it); q.append(4)
    return q, list(it), r, type(q2).__name__, q.z, q>[1], q<=q, min(q), sorted(q), list(reversed(q)), list(enumerate(q)), list(zip(q, q)), str(q), q.clear(), q


@program((3,))
def errors(x):
    class L(list): pass
    class Int(int): pass
    class S(str): pass
    class D(dict): pass
    r=[]
    for f in (lambda: L()[0], lambda: L().pop(), lambda: L()+3, lambda: L()<3, lambda: Int(1)+"a", lambda: Int(1)<"a", lambda: hash(L()), lambda: hash(D()), lambda: D()["k"], lambda: S("a")+1, lambda: S("a")<1, lambda: Int(1)[0], lambda: L(3), lambda: Int("x"), lambda: S("a")[5], lambda: D(1), lambda: -S("a"), lambda: ~Int(x), lambda: L().nope, lambda: L([1]).index(5), lambda: 1+L(), lambda: [1]+L([2]), lambda: L([2])+[1], lambda: "a"+S("b"), lambda: S("%s-%s") % (1, x), lambda: 3*L([x]), lambda: L([1])*Int(2), lambda: {**D(a=1)}, lambda: Int(3)**-1, lambda: Int(3)/0, lambda: 2-Int(5), lambda: Int(True)):
        try: r.append(f())
        except Exception as e: r.append((type(e).__name__, str(e)))
    return r


@program(([1,2],),)
def from_dyn(l):
    s=Stack(l)
    s.append(3)
    return s.top(), len(s), s


@program((3,),(1,))
def unknown_index(i):
    s=Stack([10,20,30,40])
    s[i]=x=5
    return s[i], s, s[-i]


@program((3,),(1,))
def unknown_key(i):
    d=Default(a=1)
    d[i]=5
    return d[i], d, d[i+1], d


@program((3,))
def unknown_int(n):
    e=Even(n*2)
    return e.half, e+e, str(e), e


@program((3,))
def callbacks(x):
    class L(list):
        def each(self, f):
            for k, v in enumerate(self): self[k]=f(v)
            return self
    l=L([1, x])
    m=l.each(lambda v: v*2)
    print(l, m is l)
    return m, l.each(str), isinstance(l, list), type(l) is list


@program((3,))
def r1(x):
    r=Row(a=x, b=2)
    r.c=5
    return dict(r), {**r}, r.a


@program((3,))
def r2(x):
    r=Row(a=x, b=2)
    try: r.zzz
    except AttributeError as e: t=str(e)
    return r.a+r.b, t


@program((3,))
def r3(x):
    r=Row(a=x, b=2)
    return "a" in r, len(r), list(r), list(r.items()), r.get("q", 9), r=={"a": x, "b": 2, "c": 5}


@program((3,))
def r4(x):
    r=Row(a=x, b=2)
    return hasattr(r, "b"), sorted(r), r.keys()=={"a","b","c"}


class Pl:
    def __init__(self,**k): self.__dict__.update(k)
    def __getattr__(self, name):
        try: return {}[name]
        except KeyError: raise AttributeError(name)


@program((3,))
def r5(x):
    r=Pl(a=x, b=2)
    try: r.zzz
    except AttributeError as e: t=str(e)
    return r.a+r.b, t


@program((3,))
def percent(x):
    class S(str):
        def __str__(self): return "inner"
    s = S("x")
    return "%s" % s, S("%s|%d") % (s, x), f"{s}", s + "y", "y" + s, s % () if x else 0


@program((3,))
def no_dict(x):
    class P(tuple):
        __slots__ = ()
        def __new__(cls, *items): return tuple.__new__(cls, items)
        def first(self): return self[0]
    p = P(x, 2)
    return p, p.first(), len(p), p == (x, 2), type(p).__name__


@program((3,))
def copies(x):
    import copy
    s = Stack([[x]], "n")
    t = copy.copy(s)
    return t, t[0] is s[0], s


@program.parametrize
def test_as_cpython(fn, call, split, fallback):
    check(fn, call, split, fallback)


def test_dissolves():
    """Their methods are entered, and what C code keeps in them is known."""
    for fn, kind in ((stack, int), (missing, int), (counted, int), (name_dyn, str), (meters, float), (typed, int), (unknown_int, int), (callbacks, int)):
        left = [op for op in hovis.trace(fn, kind).ops if Effect.OPAQUE in op.effect and op.callee not in (print, sorted)]
        assert not left, (fn, left)
