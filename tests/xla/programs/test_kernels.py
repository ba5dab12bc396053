"""The classic kernels, unchanged: returns and every argument afterwards as with NumPy; and none runs less compiled than it did.

Loops over numbers are native code, and copy no array in their rounds.

``kernels.txt`` holds how each runs: whole as one executable (XLA), with executables for its parts, or as residual Python.
What gets better is written there by ``pytest tests/xla/programs/test_kernels.py --bless``.
"""
import copy
import warnings
from pathlib import Path

import numpy as np
import pytest

import hovis_xla
from benchmarks.kernels import KERNELS
from hovis_xla.front.variant import Variant
from hovis_xla.jaxlib.hlo_text import loops_of
from hovis_xla.runtime.executable import Executable
from tests.xla.harness.checking import same

pytestmark = pytest.mark.xla

TABLE = Path(__file__).with_name("kernels.txt")
#: Whose loops are not all native code.
WALKED = {
    "scattering_self_energies": "products of complex matrices in each round, for which newer jaxlibs walk the loops",
    "nearest_neighbours": "a scatter in each round, by newer jaxlibs alone, which expand none",
    "contour_integral": "LAPACK solves in each round",
}
#: Whose loops copy arrays in their rounds: what these read and give is not the same memory.
COPYING = {
    "train_network": "a matrix of weights that is multiplied by, and made anew, which a copy is nothing beside",
    "value_iteration": "all states at once, from those before",
    "contour_integral": "LAPACK solves in each round",
    "game_of_life": "a new grid in each round",
    "gray_scott": "new grids in each round",
    "knapsack_rows": "a row that is made of itself shifted",
}

#: From worst to best.
WAYS = ("Python", "parts", "XLA")


def recorded():
    return dict(line.split() for line in TABLE.read_text(encoding="utf-8").splitlines())


def way_of(jitted):
    """How the last variant runs."""
    text = jitted.explain()
    if "residual Python" not in text:
        return "XLA"
    return "parts" if "numeric piece" in text else "Python"


def loops_in(jitted):
    """What has become of the loops; copies of few elements count too, as the arrays are small."""
    return [loops_of(v.xla.program.as_text(), 16) for v in jitted._variants.values() if isinstance(v, Variant) and isinstance(v.xla, Executable)]


def ran(fn, args):
    """What came of it, and the arguments afterwards."""
    args = copy.deepcopy(args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fn(*args), args


@pytest.mark.parametrize("name", KERNELS)
def test_kernel(name, bless):
    kernel = KERNELS[name]
    jitted = hovis_xla.jit(kernel.fn, target="xla")
    for seed in (0, 1):
        args = kernel.initialize(np.random.default_rng(seed), kernel.small)
        (wanted, after), (found, changed) = ran(kernel.fn, args), ran(jitted, args)
        # what singles gave, in an order of its own, is no better as a double
        narrowest = min([np.empty(0, a.dtype).real.itemsize for a in args if isinstance(a, np.ndarray) and a.dtype.kind in "fc"], default=8)
        assert same(found, wanted, bytes_of_floats=narrowest), (found, wanted)
        for k, (x, y) in enumerate(zip(changed, after, strict=True)):
            assert same(x, y), (f"argument {k}", x, y)
    for found in loops_in(jitted):
        assert name in WALKED or not found.walked, found
        assert name in COPYING or not found.copies, found
    way, table = way_of(jitted), recorded()
    if bless:
        TABLE.write_text("".join(f"{key} {value}\n" for key, value in sorted({**table, name: way}.items())), encoding="utf-8")
        return
    assert WAYS.index(way) >= WAYS.index(table[name]), jitted.explain()


def test_the_table_names_each_kernel(bless):
    if not bless:
        assert sorted(recorded()) == sorted(KERNELS)


def test_a_slice_with_unknown_bounds_is_an_array():
    def windows(x, count):
        total = 0.0
        for k in range(count):
            total += x[k : k + 3].sum() + x[:k].sum()
        return total

    import hovis
    from hovis.lattice import Array

    text = str(hovis.trace(windows, Array(np.ndarray, np.dtype(float), 1), hovis.Int))
    assert "Any" not in text, text


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")    # NumPy 2.5 and later
def test_an_array_that_changes_its_shape_in_place():
    def flattened(x):
        y = np.zeros((3, 4))
        x.shape = y.shape = 12
        return x.shape, len(y), x + y

    jitted = hovis_xla.jit(flattened)
    mine, other = np.ones((3, 4)), np.ones((3, 4))
    assert same(jitted(mine), flattened(other))
    assert mine.shape == other.shape
