"""Run a function through hovis_xla and compare with CPython and NumPy: values, exact types, output, exceptions."""
import contextlib
import copy
import io
import math
import warnings

import numpy as np

import hovis
import hovis_xla
from hovis_xla.abi.call_entry import BAILED
from hovis_xla.runtime.executable import Executable

#: Tolerance for floats by their size in bytes, relative to the largest element of an array.
TOLERANCE = {2: 2e-2, 4: 2e-5, 8: 1e-12}


def same(a, b, exact=False, bytes_of_floats=8):
    """Are a and b equal in value and exact type?  Floats to 1e-12 relative, or to the precision of floats of `bytes_of_floats` bytes."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(same(x, y, exact, bytes_of_floats) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k], exact, bytes_of_floats) for k in a)
    if isinstance(a, np.ma.MaskedArray):
        return a.tolist() == b.tolist()
    if isinstance(a, (np.ndarray, np.generic)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if exact or a.dtype.kind not in "fc":
            return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")) and (not exact or same_zeros(a, b))
        tolerance = TOLERANCE[min(np.empty(0, a.dtype).real.itemsize, bytes_of_floats)]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            scale = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))) if b.size else 0.0
            return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * max(scale, 1e-300), equal_nan=True))
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or a == b and math.copysign(1, a) == math.copysign(1, b) or (not exact and math.isclose(a, b, rel_tol=1e-12))
    if isinstance(a, complex):
        return same(a.real, b.real, exact) and same(a.imag, b.imag, exact)
    return a == b


def same_zeros(a, b):
    """Do the zeros of two equal arrays have the same signs?"""
    parts = [(a.real, b.real), (a.imag, b.imag)] if a.dtype.kind == "c" else [(a, b)] if a.dtype.kind == "f" else []
    return all(np.array_equal(np.signbit(x[x == 0]), np.signbit(y[y == 0])) for x, y in parts)


def arrays_of(value):
    """Collect the arrays in a value, in order."""
    if isinstance(value, np.ndarray):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [a for part in parts for a in arrays_of(part)]


def sharing(arrays):
    """Compute for each pair of the arrays whether they are one object, and whether they share memory."""
    return [(a is b, np.shares_memory(a, b)) for k, a in enumerate(arrays) for b in arrays[:k]]


def outcome(fn, args):
    """Return (result or exception, output, arrays of the arguments after the call, pairs of arrays that share memory)."""
    out = io.StringIO()
    args = copy.deepcopy(args)
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = "returned", fn(*args)
        except Exception as error:
            found = "raised", type(error), error.args
    after = arrays_of(args)
    return found, out.getvalue(), after, sharing(after + arrays_of(found[1]) if found[0] == "returned" else [])


def agree(fn, got, *args, exact=False):
    """Assert that the compiled function `got` does the same with args as fn."""
    wanted, seen = outcome(fn, args), outcome(got, args)
    assert seen[1] == wanted[1]
    assert seen[0][0] == wanted[0][0], (seen, wanted)
    if wanted[0][0] == "returned":
        assert same(seen[0][1], wanted[0][1], exact), (seen[0][1], wanted[0][1])
        assert seen[3] == wanted[3], "what shares memory with what"
    else:
        assert seen[:2] == wanted[:2]
    assert same(seen[2], wanted[2], exact), (seen[2], wanted[2])


def compiled(fn, *args, static=()):
    """Return fn jitted for XLA; it must be lowered as a whole."""
    jitted = hovis_xla.jit(fn, static=static, strict=True, target="xla")
    return jitted


def check(fn, *calls, bails=None, exact=False):
    """Compile fn, and compare for each tuple of arguments.  ``bails``: whether XLA must bail out for these (None: either)."""
    jitted = compiled(fn)
    for args in calls:
        args = args if isinstance(args, tuple) else (args,)
        agree(fn, jitted, *args, exact=exact)
        if bails is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                variants = list(jitted._variants.values())
            gave_up = any(v.contest.given_up for v in variants)
            assert gave_up == bails, (gave_up, args)
            for v in variants:
                v.contest.given_up = 0
    return jitted


def stays_python(fn, *args):
    """Check that fn is not lowered, still gives the right result, and that explain() has a reason; return that text."""
    jitted = hovis_xla.jit(fn, target="xla")
    agree(fn, jitted, *args)
    text = jitted.explain()
    assert "residual Python" in text, text
    return text


def run_function(function, *leaves, types=None):
    """Compile a hand-built Function and call it with its leaves."""
    found = Executable.of(function, types)(leaves)
    assert found is not BAILED
    return found


__all__ = ["BAILED", "Executable", "agree", "check", "compiled", "hovis", "outcome", "run_function", "same", "stays_python"]
