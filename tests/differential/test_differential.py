"""residual(unknown arguments) is fn(all arguments), for programs, arguments and splits drawn by hypothesis."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hovis
from tests.differential.compare import observe, same
from tests.differential.programs import THEMES, Program, programs

TRACED_IN = 30      # seconds; far more than any of these programs should take

WAYS = {
    "specialize": lambda fn, specs: hovis.specialize(fn, *specs),
    "evaluate": lambda fn, specs: evaluated(hovis.trace(fn, *specs)),
}


def evaluated(trace):
    return lambda *unknown: hovis.evaluate(trace, *unknown)


def outcomes(program: Program, way: str):
    """Of each call: what CPython and what hovis does."""
    ours, theirs = program.module(), program.module()
    residual = None
    for call in range(len(program.calls)):
        expected = observe(theirs["f"], tuple(program.arguments(theirs, call)))
        arguments = program.arguments(ours, call)
        if residual is None or program.mutable_known:      # a known object that a call has mutated is no longer what was folded
            traced = []
            tracing = observe(lambda fn, specs: traced.append(WAYS[way](fn, specs)), (ours["f"], program.specs(hovis, arguments)), watch=(), seconds=TRACED_IN)
            assert traced, f"{program!r}tracing raised: {tracing.value} {tracing.frames[-1:]}"
            assert not tracing.stdout and not tracing.warnings, f"{program!r}tracing is silent: {tracing}"
            residual = traced[0]
        unknown = tuple(value for value, known in zip(arguments, program.static) if not known)
        yield call, expected, observe(residual, unknown, watch=(tuple(arguments), {}))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("theme", THEMES)
@given(data=st.data())
def test_programs(theme, way, data):
    program = data.draw(programs(theme))
    for call, expected, got in outcomes(program, way):
        same(expected, got, f"{program!r}# {way}, call {call}")


@pytest.mark.parametrize("theme", THEMES)
@settings(max_examples=30)
@given(data=st.data())
def test_tracebacks(theme, data):
    """A traceback out of a residual names the user's functions and lines, inlined ones too."""
    program = data.draw(programs(theme))
    for call, expected, got in outcomes(program, "specialize"):
        in_program = [[frame for frame in outcome.frames if frame[0] == program.file] for outcome in (expected, got)]
        assert in_program[0] == in_program[1], f"{program!r}# call {call}"
