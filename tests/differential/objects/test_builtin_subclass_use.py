"""Instances of subclasses of builtins in all that builtins and syntax do with them, beside CPython."""

import copy
import enum
import itertools
import json
import operator
import pickle
import random

import pytest

import hovis
from tests.differential.harness.splitting import Programs, check

program = Programs()


class L(list):
    pass


class Tagged(list):
    def __init__(self, *a, tag=None):
        super().__init__(*a)
        self.tag = tag


class D(dict): pass


class S(str): pass


class Int(int): pass


class F(float): pass


class T(tuple): pass


class TS(tuple):
    __slots__=()


class OD(dict):
    def __iter__(self): return iter(["x","y"])
    def keys(self): return ["k"]


class BI(int):
    def __bool__(self): return True
    def __eq__(self, o): return [self+0, o]
    __hash__=None


def f(*a, **k): return a, k


def ident(x): return x


@program((3,),(0,))
def alias(x):
    s=L([1]); t=s; it=iter(s)
    t.append(x); u=[s,t]
    if x: print(s)
    next(it); s.append(5)
    return s, t is s, u, list(it), s.__class__.__name__, s.__len__()


@program((3,))
def views(x):
    d=D(a=1); k=d.keys(); i=d.items(); it=iter(d)
    d["b"]=x
    try: next(it)
    except RuntimeError as e: r=str(e)
    d2=D(d); d2.update(d, z=1); d2|={"q":2}
    return list(k), list(i), r, d2, D([("a",1)],b=2), d|d2, type(d|d2).__name__, {"w":1}|d, len(k), "b" in k


@program((3,))
def calls(x):
    s=L([1,x]); d=D(a=x)
    a,*b=s
    return f(*s), f(**d), a, b, [*s,*s], s*2, 2*s, [0]+s, s+[0], (lambda p,q: p+q)(*s), {**d, **d}, list(map(ident, s)), dict(zip("ab", s)), set(s), list(enumerate(s)), any(s), all(s), sum(s, x)


@program((3,),(0,),(-2,))
def truths(x):
    a=Int(x); b=F(x); c=S("" if x==0 else "s"); e=L(range(x)) if x>0 else L()
    return a or 5, a and 7, not a, b or 1, not c, c or "z", type(a or 5).__name__, e or 1, type(e or 1).__name__, bool(BI(0)), (BI(x)==1), BI(x)!=1


@program((3,),(2,))
def arith(x):
    a=Int(x); b=F(x)
    return a+1, 1+a, a-b, b*a, a/2, 7//a, a**2, 2**a, -a, +a, ~a, abs(Int(-x)), a<<1, 1<<a, divmod(a,2), divmod(7,a), pow(a,2,5), a==x, a!=x, a<b, a<=x, x>a, hash(a)==hash(x), round(b), round(b,1), int(b), float(a), a%2, b%2, "%d|%s|%r"%(a,a,a), f"{a}{a!r}{a:>4}{b:.1f}", str(a), repr(b), a.bit_length(), a.real, b.is_integer(), sum([a,b]), max(a,Int(1)), type(max(a,Int(1))).__name__, min([a,Int(9)]), sorted([Int(2),a,Int(1)]), complex(a), a in [x], [x].index(a), range(a)[1:], bin(a), [1,2,3,4][a], "abcd"[a], list(range(10))[a:], a is a, Int(a)==a


@program((3,),)
def arith2(x):
    a=Int(x)
    a+=1; b=a; b*=2; c=Int(5); c-=a
    t=True+Int(1), Int(1)&3, Int(1)|True, Int(6)^3, Int(x)*1.5, Int(x)+True
    return a, type(a).__name__, b, c, t, type(t[0]).__name__


@program((3,),)
def strings(x):
    s=S("ab%s"); n=S("12")
    return s+"c", "c"+s, s*2, s%x, s.upper(), str.upper(s), s[0], s[1:], len(s), "a" in s, s.replace("a", S("z")), "-".join([s, S("q")]), s.join(["1","2"]), int(n), float(n), f"{s!r:>8}", "{}".format(s), "{:>6}".format(n), s=="ab%s", s<"b", s.split("b"), list(s), hash(s)==hash("ab%s"), {s:1}["ab%s"], s in {"ab%s"}, json.dumps(s), s.encode(), sorted(s), s.startswith("a"), s.startswith(S("a")), S(s)==s, str(s), type(str(s)).__name__, type(s+"").__name__, s.format(), min(s), s.isdigit(), n.isdigit(), s.index("b"), n.zfill(5), S(5), S(b"x","ascii"), repr(s), print(s, n)


@program((3,),)
def tuples(x):
    t=T((1,x)); u=TS([1,x])
    a,b=t; c,*d=u
    return t, u, a, b, c, d, t==u, t==(1,x), t+(2,), (0,)+t, t*2, t[0], t[-1:], type(t[:]).__name__, type(t+()).__name__, len(t), hash(t)==hash((1,x)), {t:1}[(1,x)], t<(2,), t.count(1), t.index(x), x in t, list(t), tuple(t), type(tuple(t)).__name__, sorted(t), repr(t), str(u), f(*t), max(t), t is t, T(t)==t, "%s-%s"%t, operator.itemgetter(1)(t), t.__class__.__name__


@program((3,),)
def setattrs(x):
    s=Tagged([x], tag="q"); s.other=1
    d=vars(s); d["third"]=3
    s.__dict__["tag"]="w"
    del s.other
    return s, s.tag, s.third, hasattr(s,"other"), sorted(d), s.__dict__ is d


@program((3,),)
def copies(x):
    s=Tagged([[x]], tag=[1])
    a=copy.copy(s); b=copy.deepcopy(s); c=s.copy()
    return a, a.tag is s.tag, a[0] is s[0], b, b[0] is s[0], type(c).__name__, pickle.loads(pickle.dumps(S("x")+"y")), copy.copy(Int(x)), type(copy.copy(Int(x))).__name__


@program((3,),)
def overridden_iter(x):
    o=OD(a=1,b=x)
    return list(o), dict(o) if False else 0, [*o], len(o), o["a"], sorted(o), "x" in o, tuple(o), o


@program((3,),)
def overridden_iter2(x):
    o=OD(a=1,b=x)
    try: return dict(o)
    except KeyError as e: return e.args


@program((3,),(0,))
def matching(x):
    r=[]
    for v in (L([1,x]), D(a=x), T((x,)), Int(x), S("s"), F(1.5)):
        match v:
            case [1, y]: r.append(("seq", y))
            case {"a": z}: r.append(("map", z))
            case (w,): r.append(("one", w))
            case int(i): r.append(("int", i, type(i).__name__))
            case str(t): r.append(("str", t, type(t).__name__))
            case float(): r.append("float")
    return r


@program((3,),(0,))
def slices(x):
    s=L([1,2,3,4]); p=[9,8,7]
    p[1:2]=s; s[0:2]=L([x]); s[::2]=[5]*len(s[::2])
    del s[-1:]
    s.extend(L([1])); s+=L([2]); s+=(3,); s.extend(s)
    return p, s, s.index(x) if x in s else -1, s.count(1), s.pop(0), s


@program((3,),(0,))
def reinit(x):
    s=L([1,2]); s.__init__([x]); t=L.__new__(L); t.append(1); list.append(t, x); super(L, t).append(2); L.append(t, 3)
    d=D(a=1); d.__init__(b=x); dict.__setitem__(d, "c", 1); u=D.fromkeys("ab", x)
    return s, t, d, u, list.__len__(t), list.__getitem__(t, 0), dict.get(d, "b"), int.__add__(Int(x), 1), int.__add__(Int(x), 1.5), str.__add__(S("a"), "b"), list.__eq__(s, [x]), list.__eq__(s, 3), int.__lt__(Int(x), 2), tuple.__len__(T((1,)))


@program((3,),(0,))
def nested(x):
    s=L(); s.append(L([x])); s.append(D(k=s[0])); s[0].append(s[1])
    return s, s[1]["k"] is s[0], s[0][1] is s[1]


@program((3,),(0,),(-1,))
def branches(x):
    s=L([1]); d=D()
    if x>0: s.append(x); d["p"]=s
    elif x<0: s=Tagged([2]);
    else: print(s)
    d["q"]=len(s)
    for v in s: d[v]=v
    return s, d, type(s).__name__


@program((4,),(0,))
def loops(n):
    s=L(); d=D(); t=Int(0); w=S("")
    for i in range(n):
        s.append(i); d[i]=s[-1]; t=Int(t+i); w=S(w+str(i))
    while len(s)>2: s.pop()
    return s, d, t, type(t).__name__, w, type(w).__name__


@program((4,),)
def excs(n):
    class E(list):
        def __getitem__(self, k):
            if k=="boom": raise ValueError(k)
            return super().__getitem__(k)
    e=E([1,n])
    r=[]
    for k in (0, 1, 5, "boom", "x", slice(0,1)):
        try: r.append(e[k])
        except Exception as err: r.append((type(err).__name__, err.args))
    return r


@program((4,),)
def multi(n):
    class Mix:
        def push(self, v): self.append(v); return self
        def __len__(self): return 42
    class A(Mix, list):
        limit=3
        def append(self, v):
            if list.__len__(self)<self.limit: super().append(v)
    class B(A):
        def __repr__(self): return "B"+list.__repr__(self)
        def __add__(self, o): return type(self)(list(self)+list(o))
        def __iadd__(self, o): self.extend(o); return "iadd"
    b=B().push(1).push(n).push(3).push(4)
    c=b+[5]
    b+=[7]
    return len(c), list(c), repr(c), type(c).__name__, b, bool(c)


@program((4,),)
def counter_like(n):
    class Bag(dict):
        def __missing__(self, k): return 0
        def add(self, *ks):
            for k in ks: self[k]+=1
            return self
        def most(self): return max(self.items(), key=lambda kv: kv[1])
    b=Bag().add("a","b","a", n)
    return b, b.most(), b["zz"], b.get("zz"), sorted(map(str,b)), {k:v for k,v in b.items() if v>1}


@program((4,),)
def tree(n):
    class Tree(dict):
        def __missing__(self, k): v=self[k]=type(self)(); return v
    t=Tree(); t["a"]["b"]["c"]=n; t["a"]["d"]=1
    def depth(t): return 1+max(map(depth,t.values()),default=0) if isinstance(t,dict) else 0
    return t, depth(t), json.dumps(t), t["a"]["b"]


@program((4,),)
def units(n):
    class Money(float):
        def __new__(cls, v, cur="EUR"):
            m=float.__new__(cls, round(v,2)); m.cur=cur; return m
        def __add__(self, o):
            if isinstance(o, Money) and o.cur!=self.cur: raise TypeError("mix")
            return Money(float(self)+o, self.cur)
        __radd__=__add__
        def __str__(self): return f"{float(self):.2f} {self.cur}"
        def __mul__(self, k): return Money(float(self)*k, self.cur)
        def __reduce__(self): return Money, (float(self), self.cur)
    a=Money(n); b=Money(1.5)
    try: a+Money(1,"USD")
    except TypeError as e: r=e.args
    return str(a+b), sum([a,b]), str(sum([a,b])), a*2, str(a*2), 2*a, type(2*a).__name__, a>b, r, sorted([a,b]), max(a,b).cur, f"{a}", f"{a:.1f}", "%s"%a, copy.copy(a).cur


@program((3,))
def own_iteration(x):
    class Z(list):
        def __iter__(self): return iter("zz")
    class K(dict):
        def __iter__(self): return iter(["k"])
        def keys(self): return ["k"]
    class T(tuple):
        def __iter__(self): return iter("tt")
    z=Z([1,x]); k=K(a=1, k=x); t=T((1,x))
    p=[0]; p+=z; q=[0]+z; s=Z([5]); s+=z; s.extend(z); r=z+[9]
    u=[0]; u+=t; v=(0,)+t; w=[0]; w.extend(z); w[0:1]=z
    a,b=z; c,d=t
    m={"q":1}|k; n=k|{"q":1}; o={"q":1}; o|=k; e=k.copy(); g=dict(k); h={**k}; i=dict(a=0); i.update(k)
    return p, q, list.copy(s), r, u, v, w, a, b, c, d, m, n, o, e, g, h, i, "".join(Z()), [*z], (lambda *a: a)(*z), (lambda *a: a)(*t), sorted(z), len(z), z==[1,x], t==(1,x), max(t), set(z), z[0], x in z


@program.parametrize
def test_as_cpython(fn, call, split, fallback):
    check(fn, call, split, fallback)


# ------------------------------------------------------------------------------------------- known objects of derived classes


class Derived(int):
    pass


class Reflecting(int):
    def __radd__(self, other):
        return "radd"

    def __bool__(self):
        return False

    def __index__(self):
        return 7


class Empty(float):
    def __len__(self):
        return 0


class Text(str):
    def __mod__(self, other):
        return "mod"


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 2


class Bits(enum.IntFlag):
    P = 1
    Q = 2


KNOWN = [Derived(3), Reflecting(4), Empty(2.5), Empty("nan"), Empty(-0.0), Text("a%s"), type("Pair", (tuple,), {})((1, 2)), type("Turn", (complex,), {})(1j),
         Level.LOW, Level.HIGH, Bits.P, True, 5, 2.0, "x", (1,)]  # fmt: skip
EXPRESSIONS = """a + b; a - b; a * b; a / b; a // b; a % b; a ** b; a < b; a == b; a != b; a >= b; a & b; a | b; a ^ b; a << b; a and b; divmod(a, b); [a, b].index(b)
a in (1, 2, b); {a: 1}.get(b); f"{a}{b}"; max(a, b); sum([a, b]); sorted([a, b]); pow(a, b, 5); (0, 1, 2, 3, 4, 5, 6, 7, 8)[a]; str(a); repr(a); hash(a); bool(a); not a; -a; +a
abs(a); ~a; int(a); float(a); len(a); a is b; type(a); isinstance(a, int); round(a); range(a); bin(a); "%d" % a; format(a, ""); a.real; a.name; a[0]; list(a); chr(a); complex(a)"""


def told(call):
    try:
        return type(found := call(1)).__name__, repr(found)
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("expression", EXPRESSIONS.replace("\n", "; ").split("; "))
def test_known_objects_of_derived_classes(expression):
    """2.0 + Reflecting(4) is 6.0: a float knows what derives from int; a complaint names the classes of the operands."""
    draw = random.Random(expression)
    for a, b in draw.sample(list(itertools.product(KNOWN, repeat=2)), 24):
        scope = {"a": a, "b": b}
        exec(f"def f(n): return {expression}", scope)
        for residual in (hovis.specialize(scope["f"], int), hovis.jit(scope["f"])):
            assert told(residual) == told(scope["f"]), (a, b)


def test_numbers_that_know_each_other():
    def f(n):
        return 2.0 + four, True & bit, 1j * three, 2 + four, not level

    four, bit, three, level = Reflecting(4), Bits.P, Derived(3), Level.LOW
    want = (6.0, 1, 3j, "radd", True)
    assert told(hovis.specialize(f, int)) == told(hovis.jit(f)) == told(f) == ("tuple", repr(want))
