"""NumPy's functions of tuples and lists: what they make of them is not always what they make of the arrays."""
from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.library.numpy import NUMPY

pytestmark = pytest.mark.xla

MATRIX, VECTOR, INDICES, TRUTHS = ((1.0, 2.0, 0.5), (3.0, 4.0, 0.25), (2.0, 9.0, 7.0)), [1.0, 2.0, 4.0], (1, 2, 0), [[True, False, True]] * 3
POOL = (MATRIX, VECTOR, INDICES, TRUTHS, 1, 0, 2.0)
#: But for generators of random numbers, whose methods crash if they are called with anything else.
FUNCTIONS = [fn for fn in NUMPY.primitives if str(getattr(fn, "__module__", "")).startswith("numpy") and "cyfunction" not in repr(fn) and not isinstance(fn, type)]
FUNCTIONS.remove(np.spacing)  # some of its results are denormal, which compiled code may flush to zero



def outcome(fn, args):
    """What is to be compared quickly: the class of what a call gives or raises, and its text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fn(*args)
    except Exception as error:
        return type(error), str(error)
    return type(found), repr(found)


def telling(fn):
    """Arguments for which arrays in place of the sequences make a difference, a few of them, and some for which they make none."""
    unlike, alike = [], []
    for count in (1, 2, 3):
        for args in itertools.product(POOL, repeat=count):
            for place in [k for k, arg in enumerate(args) if isinstance(arg, tuple | list)][:1]:
                plain, changed = outcome(fn, args), outcome(fn, (*args[:place], np.array(args[place]), *args[place + 1 :]))
                (alike if plain == changed else unlike).append((args, plain))
        if count == 2 and unlike:
            break
    works = [args for args, plain in alike if not issubclass(plain[0], BaseException)]
    return [*[args for args, _ in unlike[:: max(1, len(unlike) // 4)]], *works[:: max(1, len(works) // 2)]]


@pytest.mark.parametrize("part", range(12))
def test_functions_of_sequences(part):
    for fn in FUNCTIONS[part::12]:
        for args in telling(fn):
            for jit in (hovis.jit, lambda one: hovis_xla.jit(one, target="xla")):
                assert outcome(jit(lambda *given, fn=fn: fn(*given)), args) == outcome(fn, args), f"{fn} {args}"
