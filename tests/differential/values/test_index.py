"""What takes an index takes an int as it is, whatever its class has for ``__index__`` (PyNumber_Index)."""
from __future__ import annotations

import pytest

import hovis


class N(int):
    def __index__(self): return 1


class L(list): pass


K = N(3)
TEXTS = r"""
[0,1,2,3,4,5][n]
(0,1,2,3,4,5)[n]
"abcdef"[n]
b"abcdef"[n]
range(10)[n]
[0,1,2,3,4,5][:n]
(0,1,2,3)[n:]
"abcdef"[::n]
b"abcdef"[:n]
range(10)[:n]
list(range(n))
list(range(0, 10, n))
1 << n
1024 >> n
n << 1
bytes(n)
bytearray(n)
"x" * n
n * "x"
[1] * n
(1,) * n
b"x" * n
chr(n)
hex(n)
oct(n)
bin(n)
operator.index(n)
type(operator.index(n)) is int
round(3.14159, n)
round(314159, -n)
pow(2, n)
2 ** n
pow(3, n, 7)
divmod(17, n)
"%d %x %c" % (n, n, n)
"%*d" % (n, 5)
format(n, "x")
f"{n:>{n}}"
int(n)
int("11", n)
float(n)
complex(n)
bool(n)
(lambda l: (l.insert(n, "x"), l))([0,1,2,3,4,5])
[0,1,2,3,4,5].pop(n)
(lambda l: (operator.delitem(l, n), l))([0,1,2,3,4,5])
(lambda l: (operator.setitem(l, n, 9), l))([0,1,2,3,4,5])
[5,4,3,2,1,0,2,3].index(2, n)
"abcabc".find("a", n)
"abcabc".count("a", n)
"abcabc".startswith("b", n)
"a b c d e f".split(" ", n)
"a b c d e f".rsplit(None, n)
"aaaaa".replace("a", "b", n)
"x".ljust(n)
"x".center(n)
"7".zfill(n)
"a\tb".expandtabs(n)
(5).to_bytes(n, "big")
list(itertools.islice(range(20), n))
list(itertools.repeat(1, n))
math.comb(5, n)
math.perm(5, n)
math.factorial(n)
math.gcd(n, 6)
math.isqrt(n)
math.ldexp(1.0, n)
list(enumerate("ab", n))
sum([1,2], n)
slice(n, n).indices(n)
[0,1,2,3,4,5][slice(n)]
n in range(3, 5)
range(10).index(n)
memoryview(b"abcdef")[n]
collections.deque([1,2,3,4,5], n)
(lambda d: (d.rotate(n), d))(collections.deque([1,2,3,4,5]))
collections.deque([1,2,3,4,5])[n]
(lambda l: (operator.setitem(l, slice(n, None), [9]), l))([0,1,2,3,4,5])
operator.imul([1], n)
bytes([n])
(lambda b: (operator.setitem(b, 0, n), b))(bytearray(b"abc"))
list(itertools.combinations("abcd", n))
len(list(itertools.product("ab", repeat=n)))
next(itertools.count(n))
L([0,1,2,3,4,5])[n]
(0,1,2,3,4)[n:n+1]
n.bit_count()
abs(n)
-n
~n
{3: "three", 1: "one"}[n]
str(n)
repr(n)
hash(n)
operator.getitem([0,1,2,3,4,5], n)
operator.imul("ab", n)
"a\nb".splitlines(n)
[x for x in zip(*[iter(range(6))] * n)]
[0,1,2,3,4,5].__getitem__(n)
[0].__mul__(n)
"""
OPS = [line.removeprefix("lambda n: ") for line in TEXTS.strip().splitlines()]


def outcome(fn, *args):
    try:
        result = fn(*args)
    except Exception as error:
        return type(error), str(error)
    return type(result), repr(result)


@pytest.mark.parametrize("text", OPS)
def test_an_int_is_taken_as_it_is(text):
    given, made, known = (eval(f"lambda {head}: {body}", globals()) for head, body in (("n", text), ("x", f"(lambda n: {text})(N(x))"), ("", f"(lambda n: {text})(K)")))
    wanted = outcome(given, N(3))
    assert outcome(hovis.jit(given), N(3)) == wanted
    assert outcome(hovis.specialize(given, N), N(3)) == wanted
    assert outcome(hovis.specialize(given, hovis.Any), N(3)) == wanted
    assert outcome(hovis.specialize(made, hovis.Int), 3) == wanted
    assert outcome(hovis.jit(known)) == outcome(hovis.specialize(known)) == wanted
