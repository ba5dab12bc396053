"""What is built link by link in a loop, and loops over few elements, beside CPython."""

import hovis
from hovis.ir.model import Effect
from tests.differential.harness.splitting import Programs, check

program = Programs()


@program((3,1,2))
def best(a,b,c):
    m=a
    for v in (a,b,c):
        if v>m: m=v
    return m


@program((3,1,2))
def mx(a,b,c): return max([a,b,c]), any(v>2 for v in (a,b,c)), sum(v for v in [a,b,c] if v>1)


class Node:
    def __init__(self,v,nxt): self.v=v; self.nxt=nxt


@program((3,),(20,),(0,))
def linked(n):
    head=None
    for i in range(n): head=(i,head)
    s=0
    while head is not None:
        s+=head[0]; head=head[1]
    return s


@program((3,),(20,),(0,))
def linked_obj(n):
    head=None
    for i in range(n): head=Node(i,head)
    s=0
    while head is not None:
        s+=head.v; head=head.nxt
    return s


@program((3,),(20,),(0,))
def linked_dict(n):
    head=None
    for i in range(n): head={"v":i,"next":head}
    s=0
    while head: s+=head["v"]; head=head["next"]
    return s


@program((3,),(20,),(0,))
def linked_list(n):
    head=[]
    for i in range(n): head=[i,[head]]
    s=0
    while head: s+=head[0]; head=head[1][0]
    return s


@program((3,),(20,),(0,))
def closures(n):
    f = abs
    for i in range(n):
        def g(x,f=f): return f(x)+1
        f=g
    return f(1)


@program((3,),(20,),(0,))
def reverse(n):
    head=None
    for i in range(n): head=(i,head)
    out=None
    while head:
        v,head=head
        out=(v,out)
    return out


class Tree:
    def __init__(self): self.l=self.r=None
    def add(self,v):
        if v%2:
            if self.l is None: self.l=Tree()
            else: self.l.add(v//2)
        elif self.r is None: self.r=Tree()
        else: self.r.add(v//2)
    def count(self): return 1+(self.l.count() if self.l else 0)+(self.r.count() if self.r else 0)


@program((3,),(12,),(0,))
def tree(n):
    t=Tree()
    for i in range(n): t.add(i)
    return t.count()


@program.parametrize
def test_as_cpython(fn, call, split, fallback):
    check(fn, call, split, fallback)


def test_chains_are_made_real_early():
    """How long they get nobody knows: a loop over what is real is left, not one variant for each length."""
    for fn in (linked, linked_obj, linked_dict, linked_list, reverse):
        assert len(hovis.trace(fn, int).ops) < 20, fn


def test_few_elements_are_compared_one_by_one():
    assert not [op for op in hovis.trace(mx, int, int, int).ops if Effect.OPAQUE in op.effect]
