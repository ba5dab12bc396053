"""The standard library's building blocks: iterators, callable objects and containers of C code, beside CPython.

Each program is run with everything known, with the types of its arguments, with nothing known, and twice under jit.
"""

import collections
import copy
import functools
import inspect
import itertools
import operator
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from functools import partial, reduce
from itertools import (
    accumulate,
    chain,
    combinations,
    combinations_with_replacement,
    compress,
    count,
    cycle,
    dropwhile,
    filterfalse,
    groupby,
    islice,
    pairwise,
    permutations,
    product,
    repeat,
    starmap,
    takewhile,
    tee,
    zip_longest,
)  # fmt: skip
from operator import attrgetter, itemgetter, methodcaller, neg

import pytest

import hovis
from tests.differential.harness.compare import difference, fresh, observe

CASES = []


def case(*argument_lists):
    def register(fn):
        CASES.extend((fn, args) for args in argument_lists)
        return fn

    return register


@case((1,2,3))
def f_partial(x, y, z): return partial(lambda a, b, *, k=0: a*b+k, x, k=y)(z)
@case((1,2,3))
def f_reduce(x, y, z): return reduce(operator.add, [x, y, z])
@case((1,2,3))
def f_sorted(x, y, z): return sorted([(x, 3), (y, 1), (z, 2)], key=operator.itemgetter(1))
@case(("abca",))
def f_counter(s): return collections.Counter("abca" )["a"]
@case((1,2,3))
def f_dd(x, y, z):
    d = collections.defaultdict(list)
    for k, v in [("a", x), ("b", y), ("a", z)]: d[k].append(v)
    return d["a"], len(d)
@case((1,2,3))
def f_deque(x, y, z):
    d = collections.deque([x, y]); d.append(z); r = []
    while d: r.append(d.popleft() + 1)
    return r
@case((1,2,3))
def f_groupby(x, y, z):
    return [(k, [v for _, v in g]) for k, g in itertools.groupby([("a", x), ("a", y), ("b", z)], key=operator.itemgetter(0))]
@case((1,2,3))
def f_product(x, y, z):
    return [a * b for a, b in itertools.product(range(2), [x, y])]
@case((1,))
def f_typemap(x): return type(map(str, [x])), isinstance(zip([x]), zip), type(itertools.chain([x]))
@case(([1,2,3],))
def f_mapdyn(xs): return list(map(lambda x: x + 1, xs))
@case(([1,2,3],))
def f_loopzip(xs):
    t = 0
    for i, (a, b) in enumerate(zip(xs, xs[1:])): t += i * a * b
    return t
@case((1,))
def f_after(x):
    def f(v):
        if v == 1: raise ValueError(v)
        return v * x
    m = map(f, [0, 1, 2, 3]); out = []
    while True:
        try: out.append(next(m))
        except ValueError as e: out.append("e")
        except StopIteration: return out

@case((1,2,3))
def i_chain(x,y,z): return list(chain([x], (y,), "ab", {z: 1}))
@case(([1,2],[3]))
def i_chain2(a,b): return [v for v in chain(a,b)]
@case((1,2))
def i_fromit(x,y): return list(chain.from_iterable([[x],[y,x]]))
@case((1,2))
def i_repeat(x,y): return list(repeat(x,3)), list(zip(repeat(y), "ab")), list(map(pow, [x,y], repeat(2)))
@case((1,2))
def i_count(x,y): return list(zip(count(), [x,y])), list(islice(count(x, 2), 3)), next(count(y))
@case((1,2))
def i_cycle(x,y): return list(islice(cycle([x,y]), 5)), list(islice(cycle([]), 2))
@case((1,2,3))
def i_acc(x,y,z): return list(accumulate([x,y,z])), list(accumulate([x,y,z], operator.mul)), list(accumulate([x,y], initial=z)), list(accumulate([x,y,z], lambda a,b: a-b, initial=10)), list(accumulate([]))
@case((1,2,3))
def i_takedrop(x,y,z): return list(takewhile(lambda v: v < 3, [x,y,z,x])), list(dropwhile(lambda v: v < 2, [x,y,z,x])), list(filterfalse(lambda v: v%2, [x,y,z])), list(filter(None, [x,0,y])), list(filterfalse(None,[x,0]))
@case((1,2,3))
def i_star(x,y,z): return list(starmap(pow, [(x,y),[y,z]])), list(compress([x,y,z],[1,0,True])), list(pairwise([x,y,z])), list(pairwise([x]))
@case((1,2,3))
def i_zl(x,y,z): return list(zip_longest([x,y],[z],fillvalue=None)), list(zip_longest("ab",[x,y,z], fillvalue=z)), list(zip_longest())
@case((1,2,3))
def i_islice(x,y,z): return list(islice([x,y,z],2)), list(islice([x,y,z],1,None)), list(islice([x,y,z]*3,1,8,3)), list(islice([x],0))
@case((1,2,3))
def i_group(x,y,z): return [(k,list(g)) for k,g in groupby([(1,x),(1,y),(2,z),(1,x)], key=lambda p: p[0])]
@case((1,2,3))
def i_group_share(x,y,z):
    gs=list(groupby([1,1,2,3], key=lambda v: v//2))
    it=groupby("aabbc"); k,g=next(it); a=next(g); k2,g2=next(it)
    return [(k,list(g)) for k,g in gs], k, a, list(g), k2, list(g2), [k for k,_ in it], x
@case(([1,1,2,3,3],))
def i_groupdyn(xs): return [(k, len(list(g))) for k,g in groupby(xs)]
@case((1,2,3))
def i_tee(x,y,z):
    a,b = tee([x,y,z]); c = next(a); d=list(b); return c,d,list(a)
@case((1,2,3))
def i_tee3(x,y,z):
    it=iter([x,y,z]); a,b,c = tee(it,3); next(a); e=next(it); return list(a),list(b),list(c),e
@case((1,2,3))
def i_prod(x,y,z): return list(product([x,y],"ab")), list(product((x,y),repeat=2)), list(product()), list(product([x],[])), list(product([x,y],repeat=0))
@case((1,2,3))
def i_comb(x,y,z): return list(combinations([x,y,z],2)), list(combinations([x],2)), list(combinations_with_replacement([x,y],2)), list(permutations([x,y,z])), list(permutations([x,y,z],2)), list(permutations([x],2)), list(combinations("abcd",3)), list(combinations([],0)), list(combinations_with_replacement([],0)),list(combinations_with_replacement([],1)), list(permutations(range(4),3))
@case((1,2,3))
def i_types(x,y,z):
    its=[map(str,[x]),filter(None,[x]),zip([x]),enumerate([x]),reversed([x]),reversed((x,)),chain([x]),repeat(x,1),count(),cycle([x]),accumulate([x]),takewhile(bool,[x]),dropwhile(bool,[x]),starmap(pow,[(x,y)]),compress([x],[1]),pairwise([x]),zip_longest([x]),islice([x],1),groupby([x]),tee([x])[0],product([x]),combinations([x],1),permutations([x])]
    return [type(i).__name__ for i in its], [isinstance(i, type(j)) for i,j in zip(its,its[1:])], [iter(i) is i for i in its], [hasattr(i,"__next__") for i in its], [hasattr(i,"step") or hasattr(i,"iterator") or hasattr(i, "send") for i in its]
@case((1,2,3), (0,2,3))
def i_after(x,y,z):
    def f(v):
        if v == 2: raise ValueError(v)
        return v * x
    out = []
    for mk in (lambda: map(f,[1,2,3]), lambda: filterfalse(f,[1,2,3,0])):
        it=mk(); got=[]
        for _ in range(5):
            try: got.append(next(it))
            except ValueError as e: got.append("E")
            except StopIteration: got.append("S")
        out.append(got)
    return out
@case((1,), (0,))
def i_after_known(x):
    def f(v):
        if v == 2: raise ValueError(v)
        return v
    out = []
    for mk in (lambda: map(f,[1,2,3]), lambda: filter(f,[1,2,3]), lambda: takewhile(f,[1,2,3]), lambda: dropwhile(f,[1,2,3]), lambda: filterfalse(f,[1,2,3,0]), lambda: accumulate([1,2,3],lambda a,b: f(a)+b), lambda: starmap(f,[(1,),(2,),(3,)]), lambda: groupby([1,2,3],f)):
        it=mk(); got=[x]
        for _ in range(6):
            try: got.append(next(it))
            except ValueError as e: got.append("E")
            except StopIteration: got.append("S")
        out.append([g[0] if isinstance(g,tuple) else g for g in got])
    return out
@case((1,2,3))
def i_stopit(x,y,z):
    def f(v):
        if v == 2: raise StopIteration("hey", v)
        return v * x
    m=map(f,[1,2,3,4]); r=[]
    for v in m: r.append(v)
    r.append("|")
    for v in m: r.append(v)
    m=map(f,[2,3])
    try: next(m)
    except StopIteration as e: r.append(e.args)
    r.append(next(m))
    return r
@case(([1,2,3,4],))
def i_escape(xs):
    m=map(lambda v: v+1, xs); next(m); z=zip(xs,[7,8,9]); next(z); e=enumerate(xs,5); next(e)
    c=chain(xs,[1]); next(c); s=islice(xs,1,None); a=accumulate(xs); next(a)
    r=reversed([1,2,3]); next(r)
    return m,z,e,c,s,a,r
def opaque(*a): return [list(x) for x in a]
@case((1,2,3))
def i_escape2(x,y,z):
    m=map(lambda v: v+1, [x,y,z]); next(m); zz=zip([x,y,z],[7,8,9]); next(zz); e=enumerate([x,y],5); next(e)
    s=islice([x,y,z],1,None); r=reversed([1,2,z]); next(r); t=repeat(x,3); next(t); c=count(x); next(c); f=filter(None,[x,0,z]); next(f); rr=reversed((x,y)); next(rr)
    return repr(t), repr(c), sorted(m), sorted(zz), sorted(e), sorted(s), sorted(r), sorted(f), sorted(rr)
@case((1,2,3))
def i_escape3(x,y,z):
    c=chain([x,y],[z]); next(c); d=chain([x],[],[y]); next(d); next(d); e=chain.from_iterable([[x],[y]]); ended=chain([x]); list(ended); u=chain(Turns(x),[y]); next(u)
    return opaque(c, d, e, ended, u, u), type(c).__name__
class Turns:
    """An iterator whose ``__iter__`` counts."""
    def __init__(self, x): self.x, self.turns, self.steps = x, 0, 0
    def __iter__(self): self.turns += 1; return self
    def __next__(self):
        self.steps += 1
        if self.steps > 3: raise StopIteration
        return self.x, self.turns
@case((1,2,3))
def i_unpack(x,y,z):
    a,b=map(lambda v:v*2,[x,y]); c,*d=zip([x,y],[y,z]);
    return a,b,c,d
@case((1,2,3))
def i_zipstrict(x,y,z):
    r=[]
    for args in (([x,y],[z]),([x],[y,z]),([x],[y],[x,z]),([x,y],[x,y],[z])):
        try: r.append(list(zip(*args,strict=True)))
        except ValueError as e: r.append(str(e))
    return r
@case((1,2,3))
def i_errors(x,y,z):
    r=[]
    for f in (lambda: islice([x],-1), lambda: islice([x],0,1,0), lambda: combinations([x],-1), lambda: permutations([x],-1), lambda: permutations([x],"a"), lambda: product([x],repeat=-1), lambda: map(str), lambda: zip(1), lambda: enumerate(3), lambda: chain.from_iterable(3), lambda: next(chain(3)), lambda: repeat(), lambda: tee([x],-1), lambda: count("a"), lambda: any([x],2), lambda: reduce(1), lambda: functools.reduce(operator.add, []), lambda: functools.reduce(operator.add, 3), lambda: islice([1],"a"), lambda: sum(["a"], ""), lambda: zip([1],strict=True,foo=1), lambda: accumulate([x],initial=1,foo=2), lambda: filter(None), lambda: reversed({1}), lambda: reversed(5)):
        try: r.append(type(f()).__name__)
        except Exception as e: r.append((type(e).__name__, str(e)))
    return r
@case((3,2,1))
def i_sentinel(x,y,z):
    n=[x]
    def f():
        n[0]-=1
        return n[0]
    return list(iter(f, 0)), type(iter(f,1)).__name__
@case(([1,2,3],[4,5,6]))
def i_nested(a,b): return sum(map(operator.mul,a,b)), max(x for x,y in zip(a,b)), dict(zip(a,b)), list(map(list,zip(*[a,b]))), [i*v for i,v in enumerate(reversed(a))]
@case(("a b c",))
def i_words(s): return {k: i for i,k in enumerate(s.split())}, list(map(str.upper, s.split())), ",".join(map(str, range(3)))

inc = partial(operator.add, 1)
G1 = itemgetter(1); GA = attrgetter("a.b", "c"); MC = methodcaller("m", 1, k=2); MC0 = methodcaller("upper")
class V:
    def __init__(self, a, c=0): self.a, self.c = a, c
    def __add__(self, o): return V(self.a + (o.a if isinstance(o, V) else o), self.c)
    __radd__ = __add__
    def __iadd__(self, o): self.a += o; return self
    def __neg__(self): return V(-self.a)
    def __abs__(self): return abs(self.a)
    def __eq__(self, o): return isinstance(o, V) and self.a == o.a
    def __lt__(self, o): return self.a < o.a
    def __getitem__(self, k): return (self.a, k)
    def __setitem__(self, k, v): self.c = (k, v)
    def __contains__(self, k): return k == self.a
    def __bool__(self): return self.a > 0
    def __index__(self): return 2
    def __len__(self): return 3
    def __call__(self, *a, **k): return (self.a, a, k)
    def m(self, *a, **k): return (self.a, a, k)
    __hash__ = None
@case((1,2,3))
def c_partial(x,y,z):
    p = partial(lambda a, b, *, k=0: a*b+k, x, k=y); q = partial(p, k=z)
    return p(z), q(z), q.func is p.func, q.args, p(z, k=5), partial(V, x)().a, partial(V(x), 1, j=2)(3)
@case((1,2,3))
def c_partial_attrs(x,y,z):
    p = partial(pow, x); p.tag = y
    q = partial(p, z)
    return p.tag, p.func, p.args, p.keywords, type(p).__name__, isinstance(p, partial), callable(p), q(2), q.func is p
@case((1,2,3))
def c_partial_kw(x,y,z):
    def f(**k): return k
    p = partial(f, a=x, b=y)
    r = [p(), p(b=z, c=1), list(p(c=1))]
    p.keywords["z"] = z
    return r, p()
@case((1,2,3))
def c_partial_esc(x,y,z):
    p = partial(pow, x, mod=None)
    return p, partial(p, 2), repr(partial(pow, 2)), inc(x), list(map(partial(operator.mul, y), [x, z])), p
@case((1,2,3))
def c_partial_err(x,y,z):
    r=[]
    for f in (lambda: partial(), lambda: partial(3), lambda: partial(lambda a: a)(), lambda: partial(int, base=2)("101"), lambda: partial(lambda a: a, 1)(2), lambda: partial(lambda a: a, a=1)(2)):
        try: r.append(f())
        except TypeError as e: r.append(str(e))
    return r
@case((1,2,3))
def c_getters(x,y,z):
    o = V(V(x), y); o.a.b = z
    return itemgetter(1)([x,y]), itemgetter(0,2)((x,y,z)), attrgetter("c")(o), attrgetter("a.b","c")(o), methodcaller("m",1,k=2)(o), G1([x,y]), GA(o), MC(o)[1:], MC0("abc"), itemgetter(slice(1,None))([x,y,z]), itemgetter("k")({"k": x})
@case((1,2,3))
def c_getter_err(x,y,z):
    r=[]
    for f in (lambda: itemgetter(), lambda: attrgetter(1), lambda: methodcaller(1), lambda: methodcaller(), lambda: itemgetter(5)([x]), lambda: itemgetter("q")({}), lambda: attrgetter("zz")(V(1)), lambda: attrgetter("a.zz")(V(1)), lambda: methodcaller("zz")(V(1)), lambda: itemgetter(1)(1,2), lambda: itemgetter(1)(3)):
        try: r.append(f())
        except Exception as e: r.append((type(e).__name__, str(e)))
    return r
@case((1,2,3))
def c_getter_esc(x,y,z):
    g = itemgetter(1, x); a = attrgetter("real", "imag"); m = methodcaller("join", ["a"], )
    return repr(g), repr(a), repr(m), g == itemgetter(1,x), hash(g) == hash(g), type(g).__name__, sorted([(1,3),(2,2)], key=itemgetter(1)), a(x), max([[1,x],[2,0]], key=itemgetter(1)), list(map(itemgetter(0), [(x,),(y,)]))
@case((1,2,3))
def c_ops(x,y,z):
    a, b = V(x), V(y)
    c = operator.iadd(V(x), z)
    operator.setitem(a, "k", z)
    return operator.add(a,b).a, operator.add(x,b).a, c.a, operator.neg(a).a, operator.abs(b), abs(b), operator.eq(a,b), operator.ne(a,b), operator.lt(a,b), operator.gt(a,b), operator.getitem(a,5), a.c, operator.contains(a,x), operator.truth(a), operator.not_(a), operator.is_(a,a), operator.is_not(a,b), operator.countOf([1,2,x],1), operator.indexOf([5,1,2,x],x), operator.concat([x],[y]), operator.concat("a","b"), operator.index(a), operator.length_hint(a), operator.length_hint(iter([1,2])), operator.call(lambda q: q+1, x) if hasattr(operator,"call") else 0, operator.pow(x,2), operator.xor(x,y), operator.matmul
@case((1,2,3))
def c_ops_err(x,y,z):
    r=[]
    for f in (lambda: operator.add(V(1), None), lambda: operator.add(1), lambda: operator.add(1,2,3), lambda: operator.lt(V(1), 3), lambda: operator.iadd([1], 5), lambda: operator.indexOf([1],2), lambda: operator.concat(1,2), lambda: operator.sub(V(1), 2), lambda: operator.contains(5, 1), lambda: operator.countOf(5, 1), lambda: operator.isub(V(1), 2)):
        try: r.append(f())
        except Exception as e: r.append((type(e).__name__, str(e)))
    return r
@case(([3,1,2],))
def c_cmp(xs):
    K = functools.cmp_to_key(lambda a, b: b - a)
    return sorted(xs, key=K), K(1) < K(2), K(1) == K(1), min(xs, key=K), K(5).obj
@case((3,1,2))
def c_cmp2(x,y,z):
    K = functools.cmp_to_key(lambda a, b: b - a)
    r=[]
    for f in (lambda: K(x) < 3, lambda: K < K, lambda: hash(K(1)), lambda: K(), lambda: K.obj, lambda: K(x) >= K(y), lambda: type(K(x)).__name__, lambda: functools.cmp_to_key(mycmp=lambda a,b: 0)(obj=1) == K(1), lambda: max(map(K,[x,y,z])).obj):
        try: r.append(f())
        except Exception as e: r.append((type(e).__name__, str(e)))
    return r
@case((3,1,2))
def c_compose(x,y,z):
    def compose(*fs): return reduce(lambda f, g: lambda *a: f(g(*a)), fs)
    return compose(partial(operator.add, 10), partial(operator.mul, y), neg)(x)
@case((3,1,2))
def c_wraps(x,y,z):
    def deco(f):
        @functools.wraps(f)
        def w(*a, **k): return f(*a, **k) + 1
        return w
    @deco
    def g(a, b=2): "doc"; return a * b
    return g(x), g(x, b=y), g.__name__, g.__doc__, g.__wrapped__(z)
@case((3,1,2))
def c_global(x,y,z): return inc(x), G1([x,y]), list(map(inc, [x,y])), reduce(operator.add, map(inc, [x,y,z]))

@case((1,2,3))
def d_dd(x,y,z):
    d = defaultdict(list)
    for k, v in [("a", x), ("b", y), ("a", z)]: d[k].append(v)
    return d["a"], len(d), dict(d), list(d), list(d.items()), "a" in d, d.get("q"), sorted(d), {**d}, d.default_factory
@case((1,2,3))
def d_dd2(x,y,z):
    d = defaultdict(int, {"a": x}, b=y)
    d["a"] += z; d["c"] += 1
    d.setdefault("e", 5); d.pop("b"); del d["c"]; d.update(q=x)
    return d, d["zz"], d.copy(), copy.copy(d), type(d.copy()).__name__, isinstance(d, dict), d == {"a": 4}, bool(d)
@case((1,2,3))
def d_dd3(x,y,z):
    d = defaultdict(lambda: [x]); a = d[1]; a.append(y); e = defaultdict(lambda: defaultdict(int)); e["p"]["q"] += z; e["p"]["r"] = 1
    return a is d[1], d, a, {k: dict(v) for k, v in e.items()}
@case((1,2,3))
def d_dd_err(x,y,z):
    r=[]
    for f in (lambda: defaultdict(3), lambda: defaultdict()["k"], lambda: defaultdict(int).pop("k"), lambda: defaultdict(None, 3), lambda: defaultdict(int, [(1,)]), lambda: defaultdict(int)[[]], lambda: defaultdict(lambda: 1/0)[2], lambda: defaultdict(int).foo, lambda: defaultdict(int).data):
        try: r.append(f())
        except Exception as e: r.append((type(e).__name__, str(e)))
    return r
@case((["a","b","a"],))
def d_dd_dyn(xs):
    d = defaultdict(int)
    for x in xs: d[x] += 1
    g = defaultdict(list)
    for i, x in enumerate(xs): g[x].append(i)
    return d, dict(g), sorted(d.items())
def opaque_add(d): d["new"] = 1
@case((1,2,3))
def d_mut_iter(x,y,z):
    d = defaultdict(int, a=x, b=y); r=[]
    try:
        for k in d:
            r.append(k); eval("0"); d["n"+k]
    except RuntimeError as e: r.append(str(e))
    return r, d
sink = []
@case((1,2,3))
def d_escape_iter(x,y,z):
    d = defaultdict(int, a=x, b=y); r=[]; del sink[:]
    try:
        for k in d:
            r.append(k); sink.append(d); sink[-1][z] = 5
    except RuntimeError as e: r.append(str(e))
    return r, d, sink[0] is d
@case((1,2,3))
def d_deque(x,y,z):
    d = deque([x, y]); d.append(z); d.appendleft(0); r = []
    r.append(d.pop()); r.append(d.popleft()); d.extend([5,6]); d.extendleft([7,8]); d.rotate(2); r.append(list(d)); d.rotate(-1); r.append(d[0]); r.append(d[-1]); d[1]=99; del d[2]; d.insert(1, "i"); d.reverse(); d.remove("i")
    return r, d, len(d), d.count(99), 99 in d, d.index(99), d.maxlen, bool(d), list(reversed(d)), d == deque(list(d)), d != d.copy(), d < deque([100]), d + deque([1]), copy.copy(d)
@case((1,2,3))
def d_deque_max(x,y,z):
    d = deque([x,y,z,4], maxlen=2); d.append(5); r=list(d); d.appendleft(0); r.append(list(d)); d.extend([1,2,3]); r.append(list(d)); e = deque(maxlen=0); e.append(1); r.append(list(e))
    try: d.insert(0, 1)
    except IndexError as ex: r.append(str(ex))
    return r, d, d.maxlen, repr(d), d.copy().maxlen
@case((1,2,3))
def d_deque_work(x,y,z):
    g = {"a": ["b","c"], "b": ["d"], "c": ["d"], "d": []}; w = {"a": x, "b": y, "c": z, "d": 1}
    q = deque(["a"]); seen = {"a"}; order = []; t = 0
    while q:
        n = q.popleft(); order.append(n); t += w[n]
        for k in g[n]:
            if k not in seen: seen.add(k); q.append(k)
    return order, t
@case(([3,1,2],), ([],))
def d_deque_dyn(xs):
    q = deque(xs); t = 0
    while q: t = t * 3 + q.popleft()
    q2 = deque()
    for x in xs:
        q2.append(x)
        if len(q2) > 2: q2.popleft()
    return t, q2, list(q2)
@case((1,2,3), (5,2,3))
def d_deque_branch(x,y,z):
    q = deque([x])
    if x > 3: q.append(y)
    else: q.appendleft(z)
    if y > 3: q.append(1)
    r = []
    while q: r.append(q.popleft())
    return r
@case((1,2,3))
def d_deque_err(x,y,z):
    r=[]
    def it():
        q = deque([1,2,3])
        for v in q: q.append(v)
    for f in (lambda: deque().pop(), lambda: deque().popleft(), lambda: deque([1])[3], lambda: deque(3), lambda: deque([1], -1), lambda: deque([1], "a"), lambda: deque([1]).remove(2), lambda: deque([1]).index(2), it, lambda: deque([1]) + [2], lambda: deque([1]) < [1], lambda: hash(deque()), lambda: deque([1])["a"], lambda: deque([1]).items, lambda: deque([1]).sort(), lambda: deque([1]) * 2, lambda: deque([1,2])[0:1], lambda: deque(a=1), lambda: next(deque())):
        try: r.append(f())
        except Exception as e: r.append((type(e).__name__, str(e)))
    return r
@case((1,2,3))
def d_deque_self(x,y,z):
    q = deque([x]); q.append(q); q2 = deque([y]); q2.extend(q2); l = [q2]; q2.append(l)
    return q, q[1] is q, q2, q2[2][0] is q2
@case((1,2,3))
def d_deque_alias(x,y,z):
    q = deque([x]); h = {"q": q, "r": q}; q.append(y); sink[:] = [q]; q.append(z); sink[0].append(5)
    return h, q, len(q), [v for v in q]
@case((1,2,3))
def d_deque_types(x,y,z):
    q = deque([x]);
    match q:
        case [a]: m = a
        case _: m = "no"
    return type(q).__name__, isinstance(q, deque), isinstance(q, list), m, type(iter(q)).__name__, type(reversed(q)).__name__, hasattr(q, "items"), hasattr(q, "append"), callable(q), getattr(q, "token", 7), q.__class__ is deque, q.__len__(), deque.append(q, 3), q
@case((1,2,3))
def d_counter(x,y,z):
    c = Counter("abracadabra"); c["z"] += x
    return c["a"], c["q"], len(c), c.most_common(2), c.most_common(), c.total(), list(c.elements())[:3], c, dict(c), sorted(c.values()), Counter(a=1), "a" in c
@case((1,2,3))
def d_counter2(x,y,z):
    a, b = Counter("aab"), Counter(b=2, c=1)
    a.subtract({"a": 5}); b.update("bb"); b.update(d=x)
    return a + b, a - b, a | b, a & b, +a, -a, a == b, a, b, Counter(a), Counter([1, 1.0, True]), Counter(), Counter({"q": x}), a.copy(), b.pop("c"), Counter(a=x) == Counter(a=1)
@case(("hello",))
def d_counter_dyn(s):
    c = Counter(s); d = Counter()
    for ch in s: d[ch] += 1
    return c, d, c == d, c.most_common(1), Counter(s.split()).most_common()
@case((1,2,3))
def d_ordered(x,y,z):
    d = OrderedDict([("a", x), ("b", y)]); d["c"] = z; d.move_to_end("a"); r = [list(d)]; d.move_to_end("c", last=False); r.append(list(d.items())); r.append(d.popitem()); r.append(d.popitem(last=False)); d["q"]=1; r.append(list(d.keys())); r.append(list(d.values()))
    return r, d, d == OrderedDict(b=y, q=1), d == {"q": 1, "b": y}, OrderedDict(q=1, b=y) == d, type(d.items()).__name__, type(iter(d)).__name__, d.pop("zz", 3), d.setdefault("k", 9), len(d), list(reversed(d)), dict(d), {**d}, isinstance(d, dict)
@case((1,2,3))
def d_ordered_lru(x,y,z):
    c = OrderedDict()
    def get(k, f):
        if k in c: c.move_to_end(k); return c[k]
        c[k] = f(k)
        if len(c) > 2: c.popitem(last=False)
        return c[k]
    return [get(k, lambda k: (k, x)) for k in "abacab"], list(c)
@case((1,2,3))
def d_ordered_err(x,y,z):
    r=[]
    def it():
        d = OrderedDict(a=1, b=2)
        for k in d: d["n"] = 1
    def it2():
        d = OrderedDict(a=1, b=2)
        for k in d: del d[k]
    def it3():
        d = OrderedDict(a=1, b=2); s=[]
        for k in d: d[k] = 5; s.append(k)
        return s
    for f in (lambda: OrderedDict().popitem(), lambda: OrderedDict().move_to_end("a"), lambda: OrderedDict()["k"], lambda: OrderedDict().pop("k"), it, it2, it3, lambda: OrderedDict(1,2), lambda: OrderedDict(3), lambda: repr(OrderedDict(a=1)), lambda: OrderedDict(a=1) | {"b": 2}, lambda: OrderedDict(a=1).foo):
        try: r.append(f())
        except Exception as e: r.append((type(e).__name__, str(e)))
    return r
@case((1,2,3))
def d_chainmap(x,y,z):
    c = ChainMap({"a": x}, {"a": y, "b": z}); c["n"] = 1; d = c.new_child({"b": 0})
    return c["a"], c["b"], list(c), dict(d), c.maps, len(d), "b" in c, d.parents["b"], c.get("zz")
@case((1,2,3))
def d_user(x,y,z):
    class U(UserDict):
        def __setitem__(self, k, v): super().__setitem__(k.upper(), v)
    u = U(a=x); u["b"] = y; l = UserList([x]); l.append(y)
    return u.data, u["A"], l.data, len(l), l + [z], dict(u)
@case((1,2,3))
def d_namedtuple(x,y,z):
    P = namedtuple("P", "a b"); p = P(x, b=y)
    return p.a, p, p._replace(a=z), p._asdict(), P._fields, p == (x, y), type(p).__name__


class W:
    def __init__(self, k, v): self.k, self.v = k, v
    def __lt__(self, o): return self.k < o.k
    def __repr__(self): return f"W{self.k}"
@case((1,2,3))
def s_key(x,y,z): return sorted([("b", x), ("a", y), ("c", z)], key=lambda p: p[0]), sorted([(x, 3), (y, 1), (z, 2)], key=operator.itemgetter(1)), sorted([(x, 1), (y, 1), (z, 0)], key=operator.itemgetter(1), reverse=True), sorted(["bb", "a", "ccc"], key=len), sorted("hello", key=str.upper)
@case((1,2,3), (3,1,2))
def s_plain(x,y,z): return sorted([x,y,z]), sorted((x,y)), sorted([3,1,2], reverse=True), sorted({"b":x,"a":y}), sorted({"b":x,"a":y}.items()), sorted({z,x}), sorted(v for v in [x,y]), sorted(map(neg, [1,2])) , sorted([]), sorted([x])
@case((1,2,3), (3,1,2))
def s_unknown(x,y,z): return sorted([x,y,z], key=lambda v: -v), sorted([(x,"a"),(y,"b")], key=lambda p: (p[0], p[1])), sorted([z,x], key=str)
@case((1,2,3))
def s_sort(x,y,z):
    l = [("b", x), ("a", y)]; m = l; l.sort(); n = [x,y,z]; n.sort(reverse=True); k = ["x","yy","z"]; k.sort(key=len, reverse=True); q = [3,1,2]; q.sort(); o = [W(2,x), W(1,y)]; o.sort(key=lambda v: v.k)
    return l, m is l, n, k, q, [v.v for v in o], [v.v for v in sorted(o)], l.sort()
@case((1,2,3))
def s_modify(x,y,z):
    l = [3,1,2]; seen = []
    def key(v):
        seen.append(len(l)); l.append(v); return v
    try: l.sort(key=key)
    except ValueError as e: seen.append(str(e))
    l2 = [3,1]
    def bad(v):
        if v == 1: raise KeyError(v)
        return v
    try: l2.sort(key=bad)
    except KeyError as e: seen.append(repr(e))
    return l, seen, l2
@case((1,2,3))
def s_err(x,y,z):
    r=[]
    for f in (lambda: sorted([1,"a"]), lambda: sorted(5), lambda: sorted([1], key=3), lambda: sorted([1,2], reverse="x"), lambda: sorted([1,2], None), lambda: sorted(), lambda: [1,"a"].sort(), lambda: [2,1].sort(key=None), lambda: sorted([None, None]), lambda: sorted([[2],[1]]), lambda: sorted([1j,2j]), lambda: sorted([1,2], key=lambda: 1), lambda: [1].sort(3), lambda: sorted([2,1], reverse=1)):
        try: r.append(f())
        except Exception as e: r.append((type(e).__name__, str(e)))
    return r
@case((1,2,3))
def s_cmp(x,y,z): return sorted([3,1,2], key=functools.cmp_to_key(lambda a,b: b-a)), max(["a","bbb"], key=len), min([W(2,x),W(1,y)], key=lambda v: v.k).v, max([W(2,x),W(1,y)]).v
@case(([3,1,2],))
def s_dyn(xs):
    xs.sort(key=lambda v: -v); return sorted(xs, key=lambda v: v % 2), xs, sorted(xs, reverse=True), sorted(enumerate(xs), key=lambda p: p[1])


def opq(f): return f
@case((1,2,3))
def f_wraps(x,y,z):
    def deco(f):
        @functools.wraps(f)
        def w(*a, **k): return f(*a, **k) + 1
        return w
    @deco
    def g(a, b=2): "doc"; return a * b
    return g(x), g(x, b=y), g.__name__, g.__doc__, g.__wrapped__(z), g.__qualname__, g.__module__, g.__dict__.keys() == {"__wrapped__"}
@case((1,2,3))
def f_wraps_escape(x,y,z):
    def deco(f):
        @functools.wraps(f)
        def w(*a, **k): w.calls += 1; return f(*a, **k) + 1
        w.calls = 0
        return w
    @deco
    def g(a: int, b=2) -> int: "doc"; return a * b
    r = g(x), g(y)
    return r, g.calls, g, g.__name__, g.__annotations__, g.__wrapped__, inspect.signature(g).parameters.keys() == {"a","b"}, g.__dict__["calls"]
@case((1,2,3))
def f_attrs(x,y,z):
    def f(a, b=1, *, c=2): return a + b + c
    r = [f(x), f.__defaults__, f.__kwdefaults__, f.__doc__, f.__annotations__, f.__dict__, hasattr(f, "zz"), getattr(f, "zz", 9), f.__code__.co_argcount]
    f.tag = y; f.__defaults__ = (10,); r.append(f(x)); f.__kwdefaults__ = {"c": z}; r.append(f(x)); f.__doc__ = "d"; f.__name__ = "n"; r += [f.tag, f.__doc__, f.__name__, vars(f)]
    f.__dict__["k"] = 5; r.append(f.k); del f.tag; r.append(hasattr(f, "tag"))
    f.__defaults__ = None
    try: f(x)
    except TypeError as e: r.append(str(e))
    return r, f
@case((1,2,3))
def f_self(x,y,z):
    def f(): return f.n
    f.n = x; f.me = f; g = f; g.n += y
    d = f.__dict__; d["q"] = z
    a = f.__annotations__; a["r"] = int
    return f(), f.me is f, f, d, f.q, f.__annotations__ is a, d is f.__dict__
@case((1,2,3))
def f_err(x,y,z):
    def f(a): return a
    r = []
    for g in (lambda: f.nope, lambda: setattr(f, "__name__", 3), lambda: setattr(f, "__defaults__", 3), lambda: setattr(f, "__dict__", 3), lambda: setattr(f, "__annotations__", 3), lambda: delattr(f, "zz"), lambda: f.__closure__, lambda: setattr(f, "__closure__", None), lambda: setattr(f, "__module__", 5), lambda: f.__module__, lambda: f.__wrapped__):
        try: r.append(g())
        except Exception as e: r.append((type(e).__name__, str(e)))
    return r
@case((1,2,3))
def f_code(x,y,z):
    def f(a): return a
    def g(a): return a * 100
    r = [f(x)]; f.__code__ = g.__code__; r.append(f(x)); h = opq(f); h.__defaults__ = (7,); r.append(f())
    return r
@case((1,2,3))
def f_registry(x,y,z):
    handlers = {}
    def on(name):
        def deco(f):
            handlers[name] = f; f.names = getattr(f, "names", []) + [name]
            return f
        return deco
    @on("a")
    @on("b")
    def h(v): return v * x
    return [handlers[n](v) for n, v in (("a", y), ("b", z))], h.names
@case((1,2,3))
def f_memo(x,y,z):
    def memo(f):
        f.cache = {}
        @functools.wraps(f)
        def w(n):
            if n not in f.cache: f.cache[n] = f(n)
            return f.cache[n]
        return w
    @memo
    def fib(n): return n if n < 2 else fib(n-1) + fib(n-2)
    return fib(10), len(fib.cache), fib.__name__
@case((1,2,3))
def f_class(x,y,z):
    def deco(f):
        @functools.wraps(f)
        def w(self, *a): return f(self, *a) + 1
        return w
    class C:
        def __init__(self, v): self.v = v
        @deco
        def m(self, k): "doc"; return self.v * k
    c = C(x)
    return c.m(y), C.m.__name__, C.m.__wrapped__(c, z), C.m.__doc__


def _id(item):
    return f"{item[0].__name__}{item[1]}"[:60]


@pytest.mark.parametrize("item", CASES, ids=map(_id, CASES))
def test_everything_known(item):
    fn, args = item
    held = fresh(args)
    residual = hovis.specialize(fn, *map(hovis.const, held))
    expected, got = observe(fn, fresh(args)), observe(residual, watch=(held, {}))
    assert not difference(expected, got), difference(expected, got)


@pytest.mark.parametrize("spec", ["types", "nothing"])
@pytest.mark.parametrize("item", CASES, ids=map(_id, CASES))
def test_arguments_unknown(item, spec):
    fn, args = item
    residual = hovis.specialize(fn, *[type(a) if spec == "types" else hovis.Any for a in args])
    expected, got = observe(fn, fresh(args)), observe(residual, fresh(args))
    assert not difference(expected, got), difference(expected, got)


@pytest.mark.parametrize("item", CASES, ids=map(_id, CASES))
def test_jit(item):
    fn, args = item
    jitted = hovis.jit(fn)
    for _ in range(2):
        expected, got = observe(fn, fresh(args)), observe(jitted, fresh(args))
        assert not difference(expected, got), difference(expected, got)
