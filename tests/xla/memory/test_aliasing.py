"""Every row of the library whose result may share memory with an argument is one of ``sharing.SHARING``: the callables are asked."""
import warnings

import numpy as np
import pytest

from hovis.library.numpy import NUMPY
from hovis.library.numpy.rules.aliasing import IN_PLACE, SHARING
from hovis_xla.analysis.primitive_effects import STORES
from hovis_xla.ops import ROWS

pytestmark = pytest.mark.xla

#: What may follow the array: positions, axes, shapes, dtypes, names, indices.
REST = [(), (0,), (1,), (-1,), ((0,),), (0, 0), (0, 1), ((3, 4),), ((2,), 0), (None,), ("C",), (float,), (np.float64,), (1, 0, None), ("T",), ("real",),
        ((slice(None),),), (...,), (None, None)]  # fmt: skip
OPTIONS = [{}, {"copy": False}, {"order": "K"}]


def arrays():
    """Of all orders of memory and several dtypes; small numbers, as some of the callables take them for sizes."""
    base = np.arange(24.0) % 3
    yield from (base[:12].reshape(3, 4), np.asfortranarray(base[:12].reshape(3, 4)), base[:5], base.reshape(2, 3, 4), base[:4].reshape(1, 4, 1), np.array(2.0))
    yield from (base[:6].astype(complex).reshape(2, 3), np.arange(6).reshape(2, 3) % 3, np.eye(2, dtype=bool), np.eye(3), np.array([2.0]), base[:6].reshape(3, 2)[::-1])


def is_of(result, array):
    """Is this the array, or a view of it, or does it hold one?"""
    if isinstance(result, (tuple, list)):
        return any(is_of(r, array) for r in result)
    if isinstance(result, dict):
        return is_of(list(result.values()), array)
    return result is array or (isinstance(result, np.ndarray) and result.size > 0 and np.shares_memory(result, array))


def shares(fn):
    """A call whose result shares memory with the array that it was given."""
    for x in arrays():
        for rest in REST:
            for options in OPTIONS:
                for args in ((x, *rest), ([x, x], *rest)):
                    try:
                        found = fn(*args, **options)
                    except Exception:
                        continue
                    if is_of(found, x):
                        return args, options
    return None


def rows():
    """Of NumPy's functions and methods, but for those of random numbers, which take no array that they could give back."""
    found = dict.fromkeys([*NUMPY.primitives, *ROWS])
    own = [c for c in found if str(getattr(c, "__module__", None)).startswith("numpy") or getattr(c, "__objclass__", None) in (np.ndarray, np.generic)]
    return [c for c in own if "random" not in str(c.__module__ if hasattr(c, "__module__") else "") and "Generator" not in str(c)]


def test_what_may_share_memory_is_named():
    named = SHARING | STORES | IN_PLACE
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = {fn: shares(fn) for fn in rows() if fn not in named}
        assert not {fn: how for fn, how in found.items() if how is not None}
        # the calls above do find what shares memory
        known = [np.reshape, np.ravel, np.asarray, np.split, np.real, np.diagonal, np.ndarray.astype, np.ndarray.transpose, np.atleast_1d, np.squeeze, np.diff]
        assert [fn for fn in known if shares(fn) is None] == []
