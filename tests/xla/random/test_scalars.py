"""Random programs of mixed kinds, exceptions and loops, compiled as far as they can be, against CPython."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree
from tests.xla.harness.random_programs import ARGUMENTS, program

pytestmark = pytest.mark.xla

V = np.array([0.5, -1.5, 2.0])


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed):
    fn, _ = program(seed)
    got = hovis_xla.jit(fn, target="xla")
    for n, x in ARGUMENTS:
        agree(fn, got, n, x, V)
