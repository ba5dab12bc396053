"""Python's numbers in compiled code: floor division, overflow, exceptions, comparisons of int with float."""
import enum
import math
import operator

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check, stays_python

pytestmark = pytest.mark.xla

INTS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (0, 5), (2**62, 3), (-(2**63), 7), (5, 2**62)]
FLOATS = [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-0.0, 3.0), (1e300, 1e-10), (0.1, 0.3), (5.0, math.inf), (math.nan, 1.0), (-1.0, math.inf)]

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def binary(op):
    name = op.__name__
    symbol = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
              "ne": "!=", "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}[name]
    scope = {}
    exec(f"def {name}(a, b):\n    return a {symbol} b\n", scope)
    return scope[name]


@pytest.mark.parametrize("op", OPERATORS + COMPARISONS, ids=lambda o: o.__name__)
def test_ints_and_floats(op):
    check(binary(op), *INTS, *FLOATS, *((a, float(b)) for a, b in INTS), *((float(a), b) for a, b in INTS))


@pytest.mark.parametrize("op", OPERATORS + COMPARISONS, ids=lambda o: o.__name__)
def test_bools(op):
    if op in OPERATORS[:3] + COMPARISONS:
        check(binary(op), (3, 2), (-1, 0))


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift], ids=lambda o: o.__name__)
def test_bits(op):
    check(binary(op), (12, 10), (-12, 10), (-1, 3), (0, 0), (1, 61))


def test_overflow_is_done_again_by_python():
    check(binary(operator.mul), (2**40, 2**40), bails=True)
    check(binary(operator.mul), (-(2**31), 2**31), bails=False)
    check(binary(operator.add), (2**63 - 1, 1), bails=True)
    check(binary(operator.sub), (-(2**63), 1), bails=True)
    check(binary(operator.add), (2**80, 1), bails=True)
    check(binary(operator.lshift), (1, 63), bails=True)
    check(binary(operator.lshift), (1, 62), bails=False)
    check(binary(operator.floordiv), (-(2**63), -1), bails=True)
    check(lambda a: -a, (-(2**63),), bails=True)
    check(lambda a: abs(a), (-(2**63),), bails=True)


@pytest.mark.parametrize("factor", [0, 1, -1, 2, 10, -7, 2**40])
def test_products_with_a_constant(factor):
    scope = {}
    exec(f"def f(a):\n    return a * ({factor})\n", scope)
    check(scope["f"], *((n,) for n in (0, 1, -1, 2**62, -(2**62), 2**63 - 1, -(2**63), 2**23 - 1, 2**23, -(2**23), -(2**23) - 1)))


@pytest.mark.parametrize("divisor", [1, 2, 8, 3, -1, -4, -5])
def test_division_by_a_constant(divisor):
    scope = {}
    exec(f"def f(a):\n    return a // ({divisor}), a % ({divisor}), a / ({divisor})\n", scope)
    check(scope["f"], *((n,) for n in (0, 1, -1, 17, -17, 2**50, -(2**63))))


def test_division_by_zero():
    for op in (operator.truediv, operator.floordiv, operator.mod):
        check(binary(op), (1, 0), (0, 0), bails=True)
        check(binary(op), (1.5, 0.0), (0.0, -0.0), bails=True)


def test_comparison_of_int_with_float_is_exact():
    pairs = [(2**53 + 1, float(2**53)), (2**53, float(2**53)), (2**62 + 1, float(2**62)), (2**63 - 1, 2.0**63), (-(2**63), -(2.0**63)), (3, 2.5), (3, math.nan), (0, -0.0)]
    pairs += [(5, math.inf), (5, -math.inf)]
    for op in COMPARISONS:
        check(binary(op), *pairs, *((b, a) for a, b in pairs))


def test_powers():
    def f(a):
        return a**2, a**3, a**0

    def g(a, b):
        return a**b

    check(f, (5,), (-3,), (10**6,), (0,), (2.5,), (-0.5,))
    check(f, (10**10,), bails=True)
    check(g, (2.0, 0.5), (0.0, 0.0), (-2.0, 3.0), (1.5, -2.5), (math.inf, 2.0), (2.0, math.inf))
    check(g, (0.0, -1.0), (-2.0, 0.5), (1e200, 2.0), bails=True)


def test_unary_and_conversions():
    def f(x):
        return -x, +x, abs(x), not x, bool(x), float(x), int(x), round(x)

    check(f, (3,), (-4,), (0,), (2.5,), (-3.5,), (0.49999999999999994,), (1e15,))
    check(f, (math.nan,), (math.inf,), (1e30,), bails=True)


def test_invert_and_truth():
    check(lambda a: (~a, not a), (5,), (-1,), (0,))


def test_min_max_divmod():
    def f(a, b):
        return min(a, b), max(a, b), divmod(a, b)

    check(f, (3, 2), (-3, 2), (3.5, -2.0))
    check(lambda a, b, c: min(a, b, c), (3, 1, 2), (1.0, math.nan, 0.5))


def test_math_functions():
    def f(x):
        return math.sqrt(x), math.sin(x), math.cos(x), math.exp(x), math.log(x), math.tanh(x), math.floor(x), math.ceil(x), math.atan2(x, 2.0), math.isnan(x)

    check(f, (0.5,), (2.0,), (3.7,))
    check(f, (-1.0,), (0.0,), (1e4,), (math.inf,), bails=True)
    check(lambda x: (math.log10(x), math.log2(x), math.asin(x), math.erf(x), math.expm1(x), math.log1p(x)), (0.5,), (0.001,), (1.0,))


def test_complex_numbers():
    def f(z, w):
        return z + w, z - w, z * w, z == w, abs(z), -z

    check(f, (1 + 2j, 3 - 1j), (0j, 1j))
    check(lambda z: z + 1, (1j,))


def test_numpy_scalars_keep_their_types():
    def f(a, b):
        return a + b, a * 2, b - 1.5, a < b, -a, abs(b)

    for a, b in [(np.float64(1.5), np.float64(2)), (np.float32(1.5), np.float32(2)), (np.int8(3), np.int64(4)), (np.uint8(3), np.float32(1.5)), (np.float64(1), 2.5)]:
        check(f, (a, b))
    check(lambda a: a + 1j, (np.float64(2),))
    check(lambda a, z: z + a, (np.float64(2), 1j))
    check(lambda a, b: a // b, (np.int32(-7), np.int32(2)), (np.int64(7), np.int64(0)), (np.float64(7), np.float64(0)))
    check(lambda a: (float(a), int(a), bool(a), a.item()), (np.float32(2.5),), (np.float64(-3.5),))
    check(lambda a: math.sqrt(a), (np.float64(2.0),))


def test_a_python_int_that_does_not_fit():
    check(lambda a, n: a + n, (np.uint8(3), 4), (np.uint8(3), 300))


def test_integers_of_two_signs_are_compared_exactly():
    def f(x, y):
        return x < y, y <= x, x == y, y != x, x[2] > y[1], y[3] >= x[0], max(x[0], y[0]), np.isin(x, y)

    check(f, (np.array([1, 2**63, 2**64 - 1, 0], np.uint64), np.array([-1, -(2**63), 2**62, 0])), (np.zeros(4, np.uint64), np.arange(-2, 2, dtype=np.int8)))


def test_integers_are_compared_with_those_that_they_have_no_place_for():
    def f(x):
        return x > 300, 300 > x, x == -129, -129 != x, x <= 2**70, x[0] < -(2**70), 2**64 >= x[0]

    check(f, *((np.array([0, 1, 100], dtype),) for dtype in (np.uint8, np.int8, np.int64, np.uint64)))


def test_numbers_are_clipped():
    def f(x, y, low):
        return np.clip(x, 0, 1), np.clip(y, low, 2.5), x.clip(low, None), np.clip(np.array(x), low, 1), float(x.clip(max=0.5))

    check(f, *((np.float64(x), x, low) for x in (-0.5, 0.75, 3.0, math.nan, math.inf) for low in (-1, 0)))


def test_what_stays_python():
    stays_python(lambda s, n: s * n, "ab", 3)
    text = stays_python(lambda x: str(x), 1.5)
    assert "test_scalars.py" in text


def _caught(f):
    def caught(x):
        try:
            return f(x)
        except ValueError:
            return "domain"
        except OverflowError:
            return "range"

    return caught


_OF_ONE = [math.log, math.log2, math.log10, math.sqrt, math.exp, math.expm1, math.log1p, math.sin, math.cos, math.tan, math.asin, math.acos, math.acosh,
           math.atanh]  # fmt: skip
_EDGES = [math.nextafter(x, to) for x in (1.0, -1.0, 709.782712893384) for to in (-math.inf, x, math.inf)]


@pytest.mark.parametrize("f", _OF_ONE, ids=lambda f: f.__name__)
def test_where_functions_of_floats_raise(f):
    """The argument says it all: next to each bound of what is allowed, with a handler that is compiled."""
    check(_caught(f), *_EDGES, 0.0, -0.0, 1e-300, -1e-300, 1e308, math.inf, -math.inf, math.nan, bails=False)


def test_logarithms_of_denormals_are_done_by_python():
    for f in (math.log, math.log2, math.log10):
        check(_caught(f), 5e-324, 2.225073858507201e-308, bails=True)


def test_functions_of_floats_in_a_loop_give_up_in_some_round():
    def sums(a, n):
        total = 0.0
        for k in range(n):
            total += math.sin(a * k) * math.exp(-a * k)
        return total

    check(sums, (0.5, 100), (0.5, 0), (math.inf, 0), (math.nan, 20), (-30.0, 20), bails=False)
    check(sums, (-30.0, 30), (1e308, 20), (math.inf, 2), bails=True)


class Column(enum.IntEnum):
    TIME, MASS, FAR = 0, 2, 300


class Flag(enum.IntFlag):
    ODD, LARGE = 1, 2


class Own(int):
    """It has a say in what it is added to."""

    def __radd__(self, other):
        return "mine"


OWN = Own(2)


def test_enumerations_beside_arrays():
    """They are int64 there, and no numbers without a dtype."""

    def arithmetic(x):
        return x * Column.MASS, Column.MASS - x, x == Column.MASS, x.sum() + Column.FAR, x // Flag.LARGE, Flag.ODD / (x + 1), x + Column.FAR

    def indices(x):
        y = x.reshape(1, -1).copy()
        y[0, Column.MASS] = 7
        y[:, Column.MASS :] += Flag.ODD
        return x[Column.MASS], x[Column.TIME : Column.MASS], y, y[..., Column.MASS], y[Column.TIME, Flag.LARGE], x[(Column.MASS,)]

    def own(x):
        return OWN + x, x + OWN, x - OWN, x[OWN]

    for dtype in ("int8", "int64", "float32", "float64"):
        x = np.array([0, 1, 3, 5], dtype)
        check(indices, (x,))
        if dtype != "int8":
            check(arithmetic, (x,))
        agree(arithmetic, hovis_xla.jit(arithmetic, target="xla"), x)
        agree(own, hovis_xla.jit(own, target="xla"), x)
