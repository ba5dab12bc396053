"""What NumPy refuses, or gives with a dtype or of a class that one does not think of."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.checking import agree

pytestmark = pytest.mark.xla

MASK = np.array([True, False, True])
FUNCTIONS = {
    "three bools in a row": lambda x: np.arange(3, dtype=bool),
    "two bools in a row": lambda x: np.arange(2, dtype=bool),
    "the angle of bools": lambda x: np.angle(x),
    "a gradient of bools": lambda x: np.gradient(x),
    "an int put into bools": lambda x: np.copyto(x, 1),
    "a float put into ints": lambda x: np.copyto(x.astype(np.int8), 2.5),
    "a negative int put into unsigned ones": lambda x: np.copyto(x.astype(np.uint8), -1),
    "an int put into unsigned ones": lambda x: np.copyto(x.astype(np.uint8), 7),
    "a product put into an array without dimensions": lambda x: np.dot(x, x, out=np.zeros((), bool)),
    "weights of nothing": lambda x: np.bincount(x[:0].astype(int), weights=x[:0], minlength=2),
    "a choice by unsigned ints": lambda x: np.choose(x[:0].astype(np.uint64), [1, 2]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_refuses_it_or_gives_what_one_does_not_think_of(name):
    f = FUNCTIONS[name]
    agree(f, hovis_xla.jit(f, target="xla"), MASK)
