"""Lowering rules that are written in Python: each is traced for the arguments of a call, and inlined there.

On an overflow or an exception in them, the program bails out, as in user code.
"""

import builtins
import cmath
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import hovis
from hovis.ir.model import Function
from hovis.lattice import Type
from hovis.lattice.constants import constant_key
from hovis_xla.emit.values import Known, NotLowerable, Operand, Val
from hovis_xla.ops.models import cmath_module
from hovis_xla.ops.models.cmath_module import ccos, ccosh, cexp, clog, csin, csinh, csqrt, magnitude, phase, polar, quotient, rect
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of


def _power(base: int, exponent: int) -> Any:
    if exponent < 0:
        return float(base) ** float(exponent)
    result = 1
    while exponent > 0:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result


def _power_modulo(base: int, exponent: int, modulus: int) -> int:
    if exponent < 0 or modulus == 0:
        raise ValueError
    base = base % modulus
    result = 1 % modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        exponent >>= 1
        if exponent:
            base = base * base % modulus
    return result


def _gcd(*numbers: int) -> int:
    result = 0
    for x in numbers:
        a, b = result, x
        while b:
            a, b = b, a % b
        result = abs(a)
    return result


def _lcm(*numbers: int) -> int:
    result = 1
    for x in numbers:
        a, b = result, x
        while b:
            a, b = b, a % b
        result = 0 if a == 0 else abs(result // a * x)
    return result


def _isqrt(n: int) -> int:
    if n < 0:
        raise ValueError
    root = int(math.sqrt(n))
    while root * root > n:
        root -= 1
    while (root + 1) * (root + 1) <= n:
        root += 1
    return root


def _factorial(n: int) -> int:
    if n < 0:
        raise ValueError
    result = 1
    for k in range(2, n + 1):
        result = result * k
    return result


def _perm(n: int, k: int) -> int:
    if n < 0 or k < 0:
        raise ValueError
    result = 1
    if k > n:
        return 0
    for at in range(k):
        result = result * (n - at)
    return result


def _comb(n: int, k: int) -> int:
    if n < 0 or k < 0:
        raise ValueError
    if k > n:
        return 0
    k = min(k, n - k)
    result = 1
    for at in range(k):
        result = result * (n - at) // (at + 1)
    return result


def _bit_length(n: int) -> int:
    count, n = 0, abs(n)
    while n:
        n >>= 1
        count += 1
    return count


def _bit_count(n: int) -> int:
    count, n = 0, abs(n)
    while n:
        n = n & (n - 1)
        count += 1
    return count


def _isclose(a: float, b: float, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    if rel_tol < 0 or abs_tol < 0:
        raise ValueError
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    off = abs(b - a)
    return off <= abs(rel_tol * b) or off <= abs(rel_tol * a) or off <= abs_tol


def _hypot(*xs: float) -> float:
    largest, infinite, unknown = 0.0, False, False
    for x in xs:
        infinite = infinite or math.isinf(x)
        unknown = unknown or math.isnan(x)
        largest = max(largest, abs(x))
    if infinite:
        return math.inf
    if unknown:
        return math.nan
    if largest == 0.0:
        return 0.0
    total = 0.0
    for x in xs:
        part = x / largest
        total += part * part
    return largest * math.sqrt(total)


def _remainder(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return math.nan
    if math.isinf(x) or y == 0:
        raise ValueError
    if math.isinf(y):
        return x
    size, divisor = abs(x), abs(y)
    left = math.fmod(size, divisor)
    rest = divisor - left
    if left < rest:
        found = left
    elif left > rest:
        found = -rest
    else:
        found = left - 2.0 * math.fmod(0.5 * (size - left), divisor)
    return math.copysign(1.0, x) * found


def _modf(x: float) -> tuple[float, float]:
    if math.isinf(x):
        return math.copysign(0.0, x), x
    if math.isnan(x):
        return x, x
    whole = x - math.fmod(x, 1.0)
    return math.copysign(math.fmod(x, 1.0), x), math.copysign(whole, x)


def _log(x: float, base: float) -> float:
    return math.log(x) / math.log(base)


def _float_power(x: float, y: float) -> float:
    result = x**y
    if isinstance(result, complex):
        raise ValueError
    return float(result)


def _round_int(n: int, digits: int) -> int:
    if digits >= 0:
        return n
    unit: int = 10**-digits
    down = n - n % unit
    twice = 2 * (n - down)
    if twice > unit or (twice == unit and down // unit % 2):
        return down + unit
    return down


# ------------------------------------------------------------------------------------------------- rows

_traces: dict[Any, Function] = {}


def _trace(fn: Callable[..., Any], key: tuple[Any, ...], specs: list[Any]) -> Function:
    found = _traces.get((fn, key))
    if found is None:
        found = _traces[fn, key] = hovis.trace(fn, *specs).function
    return found


def written(fn: Callable[..., Any], *classes: type, many: bool = False) -> Row:
    """Make the lowering of a function of numbers of these classes (or numbers converted to them) from a Python function of the same meaning.

    The last class stands for all further arguments, if there may be many.
    """
    convert = {int: operator.index, float: float, complex: complex}

    def row(low: L, *args: Operand, **named: Operand) -> Operand | None:
        expected = list(classes) + ([classes[-1]] * (len(args) - len(classes)) if many else [])
        if named or len(args) > len(expected) or (not many and len(args) < len(expected) and fn is not _isclose):
            return None
        given: list[Operand] = []
        for x, cls in zip(args, expected, strict=False):
            if class_of(x) is None or (cls is int and class_of(x) not in (int, bool)) or (cls is float and class_of(x) is complex):
                return None
            given.append(x if class_of(x) is cls else low.call(convert[cls], [x], {}))
        return traced(low, fn, given)

    return row


def traced(low: L, fn: Callable[..., Any], given: list[Operand]) -> Operand:
    """Inline a Python function, traced for these numbers, and return its result."""
    specs = [hovis.const(x.value) if isinstance(x, Known) else Type(class_of(x)) for x in given]  # type: ignore[arg-type]
    key = tuple(("known", constant_key(x.value)) if isinstance(x, Known) else class_of(x) for x in given)
    function = _trace(fn, key, specs)
    found: Operand = low.inline(function, [x for x in given if isinstance(x, Val)])
    return found


def _is_close(low: L, a: Operand, b: Operand, rel_tol: Operand = Known(1e-9), abs_tol: Operand = Known(0.0)) -> Operand | None:  # noqa: B008
    return written(_isclose, float, float, float, float)(low, a, b, rel_tol, abs_tol)


def _log_of(low: L, x: Operand, base: Operand) -> Operand | None:
    return written(_log, float, float)(low, x, base)


def _permutations(low: L, n: Operand, k: Operand | None = None) -> Operand | None:
    if k is None or (isinstance(k, Known) and k.value is None):
        return written(_factorial, int)(low, n)
    return written(_perm, int, int)(low, n, k)


def _complex_power(low: L, a: Operand, b: Operand) -> Operand | None:
    """Lower a power with a small known integer exponent, by the products that CPython computes."""
    n = b.value if isinstance(b, Known) else None
    if class_of(a) is not complex or not isinstance(n, int | float) or not float(n).is_integer() or not 0 < abs(n) <= 100:
        return None
    found, base, left = None, a, abs(int(n))
    while left:
        if left & 1:
            found = base if found is None else low.call(operator.mul, [found, base], {})
        left >>= 1
        if left:
            base = low.call(operator.mul, [base, base], {})
    return found if n > 0 else low.call(operator.truediv, [Known(1.0 + 0j), found], {})


def _int_power(low: L, a: Operand, b: Operand, modulus: Operand | None = None) -> Operand | None:
    if modulus is not None:
        return written(_power_modulo, int, int, int)(low, a, b, modulus)
    return written(_power, int, int)(low, a, b)


def _of_complex(row: Row) -> Row:
    """Restrict a lowering to calls with a complex operand."""
    return lambda low, *args: row(low, *args) if complex in map(class_of, args) else None


def _exact(low: L, x: Operand, digits: Operand | None = None) -> Operand | None:
    """``round(n, digits)`` of an int."""
    if class_of(x) not in (int, bool) or not isinstance(digits, Known) or type(digits.value) is not int:
        return None
    if digits.value < -18:
        raise NotLowerable("round() to more than 18 digits before the decimal point")
    return written(_round_int, int, int)(low, x, digits)


#: Tried after the rows for the same callables in ``python_numbers`` and ``math_module``.
LATER: Final[dict[Any, Row]] = {
    operator.pow: _int_power, builtins.pow: _int_power, math.log: _log_of, builtins.round: _exact,
}  # fmt: skip

def _complex_arithmetic() -> dict[Any, Row]:
    """Return the rows of ``+ - * /`` with complex operands."""
    if not cmath_module.RECOVERS:
        return {operator.truediv: _of_complex(written(quotient, complex, complex))}
    found: dict[Any, Row] = {}
    for operation, name in ((operator.add, "sum"), (operator.sub, "difference"), (operator.mul, "product"), (operator.truediv, "quotient")):
        both = getattr(cmath_module, name, None)
        found[operation] = _by_operands(both, getattr(cmath_module, f"{name}_with_real"), getattr(cmath_module, f"{name}_of_real"))
    return found


def _by_operands(both: Callable[..., Any] | None, with_real: Callable[..., Any], of_real: Callable[..., Any]) -> Row:
    """Make the lowering of an operation from functions for two complex numbers (None: they are lowered as they are), and for one beside a real number."""
    rows = {
        (True, True): both and written(both, complex, complex),
        (True, False): written(with_real, complex, float),
        (False, True): written(of_real, float, complex),
    }

    def row(low: L, a: Operand, b: Operand) -> Operand | None:
        first, second = class_of(a), class_of(b)
        if first is None or second is None:
            return None
        found = rows.get((first is complex, second is complex))
        return found(low, a, b) if found else None

    return row


#: Tried before these rows.
SOONER: Final[dict[Any, Row]] = {
    **_complex_arithmetic(), builtins.abs: _of_complex(written(magnitude, complex)),
    operator.abs: _of_complex(written(magnitude, complex)), operator.pow: _complex_power, builtins.pow: _complex_power,
}  # fmt: skip

ROWS: Final[dict[Any, Row]] = {
    math.gcd: written(_gcd, int, many=True), math.lcm: written(_lcm, int, many=True), math.isqrt: written(_isqrt, int),
    math.factorial: written(_factorial, int), math.comb: written(_comb, int, int), math.perm: _permutations,
    int.bit_length: written(_bit_length, int), int.bit_count: written(_bit_count, int), math.isclose: _is_close,
    math.hypot: written(_hypot, float, many=True), math.remainder: written(_remainder, float, float), math.modf: written(_modf, float),
    math.pow: written(_float_power, float, float), cmath.phase: written(phase, complex), cmath.polar: written(polar, complex),
    cmath.rect: written(rect, float, float), cmath.exp: written(cexp, complex), cmath.log: written(clog, complex),
    cmath.sqrt: written(csqrt, complex), cmath.cos: written(ccos, complex), cmath.sin: written(csin, complex),
    cmath.cosh: written(ccosh, complex), cmath.sinh: written(csinh, complex),
}  # fmt: skip
