"""Iterators taken by hand, and sorting what is stepped through."""

import hovis
from tests.differential.harness.splitting import Programs, check

program = Programs()


@program((3,))
def a1(x):
    d={'a':x}
    return next(iter(d.items()))


@program((3,))
def a2(x):
    d={'a':int}
    k,v= next(iter(d.items()))
    return k,v


@program((3,))
def a3(x):
    d={'a':int}
    k = next(iter(d))
    for z in d.items(): break
    return k, z


@program((3,))
def a4(x):
    d={1,2,3}
    it=iter(d)
    r=[next(it)]
    try:
        while True: r.append(next(it))
    except StopIteration: pass
    return r, list(iter(range(x))), next(iter(range(3)),None), next(iter({}.items()),x)


@program((3,))
def a5(x):
    d={1:x}
    it=iter(d.items()); v=iter(d.values()); k=iter(d.keys())
    r=next(it),next(v),next(k)
    d[2]=1
    try: next(it)
    except RuntimeError as e: return r,str(e), it.__length_hint__()


@program((3,))
def a6(x):
    s={1,2}
    it=iter(s); next(it)
    s.add(5)
    try: next(it)
    except RuntimeError as e: return str(e)


@program((3,))
def a7(x):
    s={1,2,x}
    it=iter(s); next(it)
    return sorted(it), iter([x]), iter({1:x}.values()), iter({4})


@program((3,))
def b1(x):
    d={int:1,str:2}
    return sorted(k.__name__ for k in d)


@program((3,))
def b2(x):
    d={int:1,str:x}
    return [k.__name__ for k in d], max(v for v in d.values()), sorted([k.__name__ for k in d])


@program((3,),(0,))
def b3(x):
    return sorted(range(5),key=lambda v:-v), sorted((v*x for v in (3,1,2)),reverse=True), sorted(zip("ba",[1,x])), sorted(map(str,[3,1]))


@program((3,),(0,))
def b4(n):
    return sorted(v%3 for v in range(n)), sorted(range(n),reverse=True)


@program((3,),(0,))
def b5(n):
    def g():
        yield 1
        print('mid')
        yield n
        raise KeyError(n)
    try: return sorted(g(),key=lambda z: print('k',z))
    except KeyError as e: return e.args


@program(([3,1],),)
def b6(l):
    return sorted(v for v in l), sorted((v for v in l), key=lambda v: -v)


@program.parametrize
def test_as_cpython(fn, call, split, fallback):
    check(fn, call, split, fallback)


def test_steps_of_iterators_that_other_code_has():
    def steps(make, items, kept):
        iterator = make(items)
        kept.append(iterator)
        return next(iterator, None), next(iterator, "end")

    for make in (enumerate, lambda xs: zip(xs, xs), lambda xs: map(str, xs), iter, reversed):
        for items in ([], [1], [1, 2], "ab"):
            assert hovis.jit(steps)(make, items, []) == steps(make, items, [])

    def direct(items, kept):
        iterator = enumerate(items)
        kept.append(iterator)
        return next(iterator, None), list(kept[0])

    assert hovis.jit(direct)([1, 2], []) == direct([1, 2], [])
