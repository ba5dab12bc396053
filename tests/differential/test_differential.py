"""residual(unknown arguments) is fn(all arguments), for programs, arguments and splits drawn by hypothesis."""
from __future__ import annotations

import sys

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.differential import checking
from tests.differential.checking import WAYS, Unfit, check
from tests.differential.drawing import THEMES, programs

#: A hang fails; how fast tracing is is measured by the fuzzer and by benchmarks.
checking.TRACED_IN = 60.0


#: Each Python draws programs of its own.
EXAMPLES = max(1, settings().max_examples // 3)


# a program that takes too long may be stopped in a finalizer or a callback of the collector, which tells of it and goes on
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("theme", THEMES)
@seed(sys.version_info.minor)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_programs(theme, data):
    program, way = data.draw(programs(theme)), data.draw(st.sampled_from(WAYS))
    try:
        failure = check(program, way)
    except Unfit:
        return
    assert not failure, f"{program!r}# {way}: {failure.kind}\n{failure.told}"
