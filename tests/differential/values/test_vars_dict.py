"""``vars(x)`` of objects that are known, read and written, beside CPython."""

from tests.differential.harness.splitting import Programs, check

program = Programs()


class C:
    k=1
    def __init__(self, v): self.v=v
    def bump(self): self.v+=1; return self.v


G=C(5)


@program((C(3),2))
def via_vars(c, n):
    d=vars(c); a=c.v
    d["v"]=n; b=c.v
    c.w=d["v"]+1
    e=d["w"]; c.bump()
    d.update(z=1); del d["w"]
    return a, b, e, d["v"], c.z, hasattr(c,"w"), d is c.__dict__, dict(d), c


@program((2,))
def via_global(n):
    d=G.__dict__; before=d["v"]
    G.v=n; x=d["v"]; d["v"]=before
    return before, x, G.v, sorted(d)


@program((C(3),))
def iterate(c):
    out=[]
    for k, v in c.__dict__.items(): out.append((k, v))
    c.new=1
    return out, list(vars(c)), len(c.__dict__)


@program((C(3),))
def copy_state(c):
    o=C.__new__(C); o.__dict__.update(c.__dict__); o.bump()
    p=C.__new__(C); p.__dict__=c.__dict__; p.bump()
    return o.v, p.v, c.v, o, p


@program((C(3),))
def kwargs(c):
    return dict(**vars(c)), "{v}".format(**c.__dict__), "%(v)s" % vars(c), {**c.__dict__, "q":1}


@program.parametrize
def test_as_cpython(fn, call, split, fallback):
    check(fn, call, split, fallback)
