"""Random programs over arrays of all dtypes and shapes, held against NumPy (``python -m tests.xla.harness.fuzz`` draws more)."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.xla.harness import fuzz

pytestmark = pytest.mark.xla


@given(st.data())
@settings(max_examples=200, derandomize=True, deadline=None)
def test_random_programs(data):
    found, text, _ = fuzz.run(lambda n: data.draw(st.integers(0, n - 1)))
    assert not found, f"{found}\n{text}"
