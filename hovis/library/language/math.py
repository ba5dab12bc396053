"""Rules for ``math`` and ``cmath`` on exact numbers (CPython: Modules/mathmodule.c, cmathmodule.c)."""

import cmath
import math
from typing import Any, Final

from hovis.library.core import Library
from hovis.library.language.signatures.signature_language import rows

MATH: Final = Library("math")


def _fold_factorial(n: Any) -> bool:
    return type(n) is not int or n <= 1000


def _fold_choice(n: Any, k: Any = 0) -> bool:
    return all(type(x) is not int or abs(x) <= 1000 for x in (n, k))


# On exact floats and bools these never raise; an int may be too large for a float.
rows(
    MATH,
    math,
    """
    acos       real -> float !
    acosh      real -> float !
    asin       real -> float !
    asinh      real -> float
    atan       real -> float
    atan2      real real -> float
    atanh      real -> float !
    cbrt       real -> float
    ceil       int -> int
    ceil       float -> int !
    comb       int int -> int !
    copysign   real real -> float
    cos        real -> float !
    cosh       real -> float !
    degrees    real -> float
    dist       atom atom -> float !
    erf        real -> float
    erfc       real -> float
    exp        real -> float !
    exp2       real -> float !
    expm1      real -> float !
    fabs       real -> float
    factorial  int -> int !
    floor      int -> int
    floor      float -> int !
    fma        real real real -> float !
    fmax       real real -> float
    fmin       real real -> float
    fmod       real real -> float !
    frexp      real -> (float,int)
    fsum       atom|sequence_of_atoms -> float !
    gamma      real -> float !
    gcd        int* -> int
    hypot      real* -> float
    isclose    real real -> bool
    isclose    real real :rel_tol=real? :abs_tol=real? -> bool !
    isfinite   real -> bool
    isinf      real -> bool
    isnan      real -> bool
    isnormal   real -> bool
    isqrt      int -> int !
    issubnormal  real -> bool
    lcm        int* -> int
    ldexp      real int -> float !
    lgamma     real -> float !
    log        int|real real? -> float !
    log10      int|real -> float !
    log1p      real -> float !
    log2       int|real -> float !
    modf       real -> (float,float)
    nextafter  real real -> float
    perm       int int|none? -> int !
    pow        real real -> float !
    radians    real -> float
    remainder  real real -> float !
    signbit    real -> bool
    sin        real -> float !
    sinh       real -> float !
    sqrt       real -> float !
    tan        real -> float !
    tanh       real -> float
    trunc      int -> int
    trunc      float -> int !
    ulp        real -> float
    """,
    {"factorial": _fold_factorial, "comb": _fold_choice, "perm": _fold_choice},
)

rows(
    MATH,
    cmath,
    """
    acos      number -> complex !
    acosh     number -> complex !
    asin      number -> complex !
    asinh     number -> complex !
    atan      number -> complex !
    atanh     number -> complex !
    cos       number -> complex !
    cosh      number -> complex !
    exp       number -> complex !
    isclose   number number -> bool
    isclose   number number :rel_tol=real? :abs_tol=real? -> bool !
    isfinite  number -> bool
    isinf     number -> bool
    isnan     number -> bool
    log       number number? -> complex !
    log10     number -> complex !
    phase     number -> float !
    polar     number -> (float,float) !
    rect      real real -> complex !
    sin       number -> complex !
    sinh      number -> complex !
    sqrt      number -> complex !
    tan       number -> complex !
    tanh      number -> complex !
    """,
)
