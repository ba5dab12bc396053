"""Attributes: every way to read, write and delete them, beside CPython."""

import concurrent.futures
import decimal
import math
import threading

import pytest

import hovis
from tests.differential.harness.splitting import Programs, check

program = Programs()

class Point:
    kind = 'pt'

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def norm(self):
        return self.x * self.x + self.y * self.y

    def __eq__(self, o):
        if not isinstance(o, Point):
            return NotImplemented
        return (self.x, self.y) == (o.x, o.y)

    def __hash__(self):
        return hash((self.x, self.y))

    def move(self, d):
        self.x += d
        return self

    @property
    def total(self):
        return self.x + self.y

    @classmethod
    def origin(cls):
        return cls(0, 0)

    @staticmethod
    def double(v):
        return v * 2



@program((Point(1, 2),), (Point(1.5, 'a'),))
def meth(pt):
    return pt.norm()



@program((Point(1, 2),))
def prop(pt):
    return (pt.total, pt.kind, pt.double(3), pt.origin().x)



@program((Point(1, 2), 3))
def mutate(pt, d):
    pt.move(d)
    pt.kind = 'mine'
    return (pt.kind, Point.kind, pt.x)



@program((Point(1, 2),))
def shadow(pt):
    pt.norm = lambda: 'shadow'
    return pt.norm()



@program((3,))
def cls_shadow(v):
    a = Point(v, 1)
    a.kind = 'own'
    r = a.kind
    del a.kind
    return (r, a.kind)



@program((3,))
def del_missing(v):
    a = Point(v, 1)
    try:
        del a.foo
    except AttributeError as e:
        return (str(e), e.name, e.obj is a)



@program((3,))
def get_missing(v):
    a = Point(v, 1)
    try:
        return a.foo
    except AttributeError as e:
        return (str(e), e.name, e.obj is a)



@program((3,))
def get_missing_cls(v):
    try:
        return Point.foo
    except AttributeError as e:
        return (str(e), e.name, e.obj is Point)



class D:

    def __init__(self, tag):
        self.tag = tag

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, cls=None):
        if obj is None:
            return self
        return (self.tag, obj.__dict__.get('_' + self.name, 'none'))

    def __set__(self, obj, v):
        if v is None:
            raise ValueError('no None for ' + self.name)
        obj.__dict__['_' + self.name] = v

    def __delete__(self, obj):
        del obj.__dict__['_' + self.name]



class N:

    def __get__(self, obj, cls=None):
        return ('nondata', obj is None, cls.__name__)



class UsesD:
    a = D('A')
    b = D('B')
    n = N()

    def __init__(self, a):
        self.a = a



@program((3,), ('x',))
def descr(v):
    u = UsesD(v)
    r = (u.a, u.b, u.n)
    u.b = 5
    r += (u.b,)
    del u.b
    r += (u.b, UsesD.n, type(UsesD.a).__name__)
    u.n = 7
    r += (u.n,)
    return r



@program((3,), (None,))
def descr_err(v):
    u = UsesD(1)
    try:
        u.a = v
    except ValueError as e:
        return str(e)
    return u.__dict__



@program((UsesD(3),))
def descr_in(u):
    u.b = 3
    return (u.a, u.b, u.n)



class Ga:

    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        if name.startswith('dyn_'):
            return name[4:] + str(self.x)
        raise AttributeError(name)



@program((3,), ('q',))
def getattr_hook(v):
    g = Ga(v)
    r = [g.x, g.dyn_foo, hasattr(g, 'dyn_a'), hasattr(g, 'zz'), getattr(g, 'zz', 9)]
    try:
        g.zz
    except AttributeError as e:
        r.append(e.args)
    return r



@program((Ga(3),))
def getattr_hook_in(g):
    return (g.x, g.dyn_foo, hasattr(g, 'zz'), getattr(g, 'yy', 4))



@program(('x',), ('dyn_b',), ('zz',))
def getattr_name(name):
    g = Ga(1)
    try:
        return getattr(g, name)
    except AttributeError as e:
        return ('AE', e.args)



@program(('x',), ('y',), ('norm',), ('nope',))
def getattr_unknown(name):
    a = Point(1, 2)
    return (callable(getattr(a, name, None)), hasattr(a, name))



@program(('x', 5), ('zzz', 1), ('total', 3))
def setattr_unknown(name, v):
    a = Point(1, 2)
    try:
        setattr(a, name, v)
    except AttributeError as e:
        return str(e)
    return (a.__dict__, a.x)



class Gb:

    def __init__(self):
        self.log = []

    def __getattribute__(self, name):
        if name == 'log':
            return object.__getattribute__(self, 'log')
        object.__getattribute__(self, 'log').append(name)
        return object.__getattribute__(self, name)

    def m(self):
        return 1
    y = 3



@program((3,))
def getattribute(v):
    g = Gb()
    g.z = v
    r = g.z + g.y + g.m()
    return (r, g.log)



class Gc(Gb):

    def __getattr__(self, name):
        return 'missing ' + name



@program((3,))
def getattribute_getattr(v):
    g = Gc()
    g.z = v
    return (g.z, g.nope, g.log)



class Gd:

    def __getattribute__(self, name):
        return super().__getattribute__(name) if name != 'z' else 42

    def __init__(self, v):
        self.v = v



@program((3,))
def getattribute_super(v):
    g = Gd(v)
    return (g.z, g.v, hasattr(g, 'q'), getattr(g, 'q', 1))



class Sa:

    def __init__(self):
        super().__setattr__('log', [])

    def __setattr__(self, n, v):
        self.log.append((n, v))
        super().__setattr__(n, v)

    def __delattr__(self, n):
        self.log.append(n)
        object.__delattr__(self, n)



@program((3,))
def setattr_hook(v):
    s = Sa()
    s.x = v
    s.x += 1
    setattr(s, 'y', 2)
    del s.x
    delattr(s, 'y')
    return (s.log, hasattr(s, 'x'), vars(s))



class Sl:
    __slots__ = ('a', 'b')

    def __init__(self, a):
        self.a = a

    def m(self):
        return self.a



class Sl2(Sl):
    __slots__ = ('c',)



class Sl3(Sl):
    pass



@program((3,))
def slots(v):
    s = Sl(v)
    r = [s.a, s.m()]
    for f in (lambda: s.b, lambda: setattr(s, 'zz', 1), lambda: s.zz, lambda: s.__dict__):
        try:
            r.append(f())
        except AttributeError as e:
            r.append(str(e))
    s.b = 5
    r.append(s.b)
    del s.b
    try:
        del s.b
    except AttributeError as e:
        r.append(str(e))
    return r



@program((3,))
def slots_sub(v):
    s = Sl2(v)
    s.c = 2
    t = Sl3(v)
    t.q = 3
    t.b = 4
    return (s.a, s.c, t.q, t.__dict__, t.b, hasattr(s, 'b'))



@program((Sl(3),))
def slots_in(s):
    return (s.m(), s.a)



@program((3,))
def dict_view(v):
    a = Point(v, 2)
    d = a.__dict__
    d['z'] = 3
    a.w = 4
    return (a.z, d, vars(a) is d, list(d), d['w'])



@program((3,))
def dict_replace(v):
    a = Point(v, 2)
    a.__dict__ = {'x': 10, 'q': v}
    return (a.x, a.q, hasattr(a, 'y'))



@program((3,))
def dict_update(v):
    a = Point(v, 2)
    a.__dict__.update(x=10, k=1)
    return (a.x, a.k, a.y, sorted(vars(a).items()))



@program((3,))
def vars_read(v):
    a = Point(v, 2)
    return ({k: w for k, w in vars(a).items()}, 'x' in vars(a), vars(a).get('x'), len(vars(a)))



class Meta(type):

    @property
    def mp(cls):
        return 'mp ' + cls.__name__

    def mm(cls):
        return cls.__name__
    ma = 5
    both = 1

    def __getattr__(cls, name):
        return 'meta ' + name



class WithMeta(metaclass=Meta):
    both = 2
    mp2 = 1



@program((3,))
def meta_attrs(v):
    w = WithMeta()
    return (WithMeta.mp, WithMeta.mm(), WithMeta.ma, WithMeta.both, WithMeta.nope, hasattr(w, 'mp'), hasattr(w, 'ma'), w.both)



class MetaD(type):

    @property
    def val(cls):
        return cls._val

    @val.setter
    def val(cls, v):
        cls._val = v * 2



class UsesMetaD(metaclass=MetaD):
    _val = 1



@program((3,))
def meta_setter(v):
    UsesMetaD.val = v
    r = UsesMetaD.val
    UsesMetaD._val = 1
    return r



class Counter0:
    n = 0
    items = []

    def __init__(self):
        Counter0.n += 1
        self.items.append(Counter0.n)



@program((3,))
def class_counter(v):
    Counter0.n = 0
    Counter0.items = []
    a = Counter0()
    b = Counter0()
    r = (Counter0.n, list(Counter0.items), a.n, b.items is a.items)
    a.n = 10
    Counter0.n = v
    return (r, a.n, b.n)



class A:

    def f(self):
        return 'A'

    @classmethod
    def c(cls):
        return cls.__name__

    @staticmethod
    def s(x):
        return x

    @property
    def pr(self):
        return 'Apr'
    val = 1



class B(A):

    def f(self):
        return 'B' + super().f()

    @classmethod
    def c(cls):
        return 'B' + super().c()

    @property
    def pr(self):
        return 'B' + super().pr
    val = 2

    def sv(self):
        return (super().val, super().s(4), super(B, self).f(), super().__init__)



class C(A):

    def f(self):
        return 'C' + super().f()



class E(B, C):

    def f(self):
        return 'E' + super().f()
    val = 5



@program((3,))
def supers(v):
    e = E()
    r = (e.f(), E.c(), e.c(), e.pr, e.sv()[:3])
    r += (super(B, e).f(), super(B, E).c())
    try:
        super(B, e).nope
    except AttributeError as x:
        r += (str(x),)
    try:
        super(E, A()).f
    except TypeError as x:
        r += (str(x),)
    return r



@program((E(),))
def supers_in(e):
    return (e.f(), e.c(), e.pr, e.sv()[:3])



class P2:

    def __init__(self, v):
        self._v = v

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, n):
        if n < 0:
            raise ValueError('neg')
        self._v = n

    @v.deleter
    def v(self):
        self._v = None
    ro = property(lambda self: self._v + 1)



@program((3,), (-1,))
def props(n):
    q = P2(1)
    try:
        q.v = n
    except ValueError as e:
        return str(e)
    r = [q.v, q.ro]
    q.v += 1
    r.append(q.v)
    del q.v
    r.append(q.v)
    for f in (lambda: setattr(q, 'ro', 1), lambda: delattr(q, 'ro')):
        try:
            f()
        except AttributeError as e:
            r.append(str(e))
    return r



@program((P2(3),))
def props_in(q):
    q.v = q.v + 1
    try:
        q.ro = 3
    except AttributeError as e:
        return (str(e), q.ro)



@program((3,))
def patch_class(v):
    class_f = Point.norm
    a = Point(v, 1)
    r = a.norm()
    Point.norm = lambda self: 'patched'
    try:
        r2 = a.norm()
    finally:
        Point.norm = class_f
    return (r, r2, a.norm())



@program((3,))
def func_attrs(v):
    a = Point(v, 1)
    m = a.norm
    return (m.__self__ is a, m.__func__ is Point.norm, m.__name__, m == a.norm, m is a.norm, m())



@program((3,))
def class_dunder(v):
    a = Point(v, 1)
    return (a.__class__ is Point, a.__class__.__name__, type(a).__mro__ == (Point, object), Point.__name__, a.__module__, a.__doc__)



@program((Point(1, 2),))
def class_dunder_in(a):
    return (a.__class__ is Point, a.__class__.__name__, isinstance(a, Point), type(a) is Point)



class SetCls(Point):

    def norm(self):
        return 'setcls'



@program((3,))
def class_assign(v):
    a = Point(v, 1)
    a.__class__ = SetCls
    return (a.norm(), type(a).__name__, a.x)



@program((Point(1, 2),), fallback=True)
def class_assign_in(a):
    a.__class__ = SetCls
    return (a.norm(), type(a).__name__, a.x)



@program((3,))
def module_attr(v):
    try:
        math.nope
    except AttributeError as e:
        return (str(e), math.pi * v, hasattr(math, 'pi'), getattr(math, 'q', v))



class NotDescr:
    x = 5
    f = len
    def g(self):
        return 1

    p = print
    t = int



@program((3,))
def class_values(v):
    n = NotDescr()
    return (n.x, n.f([1, 2]), n.g(), n.t('4'))



class BadInit:

    def __init__(self):
        return 5



@program((3,))
def bad_init(v):
    try:
        BadInit()
    except TypeError as e:
        return str(e)



class NoInit:
    pass



@program((3,))
def no_init_args(v):
    r = []
    for f in (lambda: NoInit(v), lambda: NoInit(a=1), lambda: Point(v), lambda: Point(1, 2, 3), lambda: object(1)):
        try:
            f()
        except TypeError as e:
            r.append(str(e))
    return r


@program.parametrize
def test_attributes(fn, call, split, fallback):
    check(fn, call, split, fallback)


def bound_methods_of_c_classes(t):
    told = []
    for bound in ("{0}".format, [1].append, {}.get, (1,).index, (5).__add__, t.__add__, [].__iter__):
        told += [type(bound).__name__, bound == bound, isinstance(bound, type(len))]
        for name in ("__self__", "__func__", "__name__", "__qualname__", "__module__", "nope"):
            try:
                told.append(getattr(bound, name))
            except AttributeError as error:
                told.append(str(error))
    return told


@pytest.mark.parametrize("spec", [hovis.Any, hovis.Int])
def test_bound_methods_of_c_classes(spec):
    assert hovis.specialize(bound_methods_of_c_classes, spec)(3) == bound_methods_of_c_classes(3)


class Told:
    """Has ``__set__`` alone: reading is left to the instance."""

    def __set__(self, instance, value):
        vars(instance)["told"] = value
        vars(instance).pop("kept", None)


class Forgets:
    def __delete__(self, instance):
        instance.log.append("deleted")


class Telling:
    told, forgets = Told(), Forgets()

    def __init__(self, values):
        self.log, self.kept, self.told = [], 1, values


class Untold:
    told = Told()


def one_sided_descriptors(thing, none):
    found = [sum(thing.told), "kept" in vars(thing), hasattr(thing, "told"), type(none.told).__name__]
    thing.kept = 2
    thing.told = [5, *thing.told]
    found += [thing.told, vars(thing).get("kept"), type(thing.forgets).__name__]
    del thing.forgets
    for change in (lambda: setattr(thing, "forgets", 3), lambda: delattr(thing, "told")):
        try:
            change()
        except AttributeError as error:
            found.append(str(error))
    return found, thing.log


def one_sided_descriptors_within(v):
    return one_sided_descriptors(Telling([v, 2]), Untold())


def test_descriptors_that_only_set_or_only_delete():
    want = one_sided_descriptors(Telling([1, 2]), Untold())
    assert hovis.jit(one_sided_descriptors)(Telling([1, 2]), Untold()) == want
    assert hovis.specialize(one_sided_descriptors_within, hovis.Int)(1) == want
    assert hovis.specialize(one_sided_descriptors, hovis.Any, hovis.Any)(Telling([1, 2]), Untold()) == want


# ------------------------------------------------------------------------------------------- C code that looks attributes up by itself


class PerThread(threading.local):
    default = 7

    def __init__(self, value=1):
        self.value = value


LOCALS = [threading.local(), PerThread(5)]
CONTEXT = decimal.Context(prec=5)


def of_a_local(k, x):
    local = LOCALS[k]
    local.stored = [x]
    local.stored.append(x + 1)
    return local.stored, hasattr(local, "other"), getattr(local, "value", "none"), getattr(local, "default", "none")


def of_a_context(k, x):
    CONTEXT.prec = x + 1
    return CONTEXT.prec, len(CONTEXT.traps), CONTEXT.flags[decimal.Inexact], hasattr(CONTEXT, "nobody")


def of_a_union(k, x):
    return (int | None).__args__[k], (int | None).__parameters__, hasattr(int | str, "__nobody__"), x


@pytest.mark.parametrize("fn", [of_a_local, of_a_context, of_a_union])
@pytest.mark.parametrize("k", [0, 1])
def test_c_code_that_looks_attributes_up(fn, k):
    """A thread's own attributes are in no dictionary of the object, those of a decimal context in none at all."""
    for residual in (hovis.jit(fn), lambda k, x, known=hovis.specialize(fn, k, int): known(x)):
        for x in (3, 4):
            assert residual(k, x) == fn(k, x)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                assert pool.submit(residual, k, x).result() == fn(k, x)
