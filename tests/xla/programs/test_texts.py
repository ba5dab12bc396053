"""Functions and files whose names are any text: they are compiled all the same."""
import random

import numpy as np
import pytest

import hovis_xla
from tests.unit.front.test_texts import TEXTS, renamed

pytestmark = pytest.mark.xla


def tripled(x):
    total = x * 0.5
    for _ in range(3):
        total = total + x
    return total


@pytest.mark.parametrize("text", ["\ud800", "\0", *random.Random(21).sample(TEXTS, 3)], ids=ascii)
def test_names_of_functions_and_files(text):
    jitted = hovis_xla.jit(renamed(tripled, co_name=text, co_qualname=text, co_filename=text), target="xla", strict=True)
    assert jitted(np.ones(3)).tolist() == [3.5] * 3
    assert jitted.explain().isprintable()
    compiled = jitted.lower(np.ones(3)).compile()
    assert isinstance(compiled.as_text(), str)
