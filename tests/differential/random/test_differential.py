"""residual(unknown arguments) is fn(all arguments), for programs, arguments and splits drawn by hypothesis."""
from __future__ import annotations

import sys

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.differential.harness import checking
from tests.differential.harness.checking import WAYS, Unfit, check
from tests.differential.harness.drawing import THEMES, programs

#: A hang fails; how fast tracing is is measured by the fuzzer and by benchmarks.
checking.TRACED_IN = 60.0


#: Each Python draws programs of its own.
EXAMPLES = max(1, settings().max_examples // 3)
#: Themes of programs that take long, to trace or to run (test_signals has a few of them).
LONG = ("threads", "forks")


# a program that takes too long may be stopped in a finalizer or a callback of the collector, which tells of it and goes on
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("theme", [theme for theme in THEMES if theme not in LONG])
@seed(sys.version_info.minor)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_programs(theme, data):
    compare(data.draw(programs(theme)), data.draw(st.sampled_from(WAYS)))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("theme", ["containers", "corpus", "heap", "matching"])
@seed(sys.version_info.minor)
@settings(max_examples=max(1, EXAMPLES // 2))
@given(data=st.data())
def test_programs_whose_arguments_are_hinted(theme, data):
    compare(data.draw(programs(theme)).hinted(), data.draw(st.sampled_from(WAYS)))


def compare(program, way):
    try:
        failure = check(program, way)
    except Unfit:
        return
    assert not failure, f"{program!r}# {way}: {failure.kind}\n{failure.told}"
