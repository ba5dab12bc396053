"""Check and run every golden text; harness.py describes their format."""
from __future__ import annotations

import difflib

import pytest

import hovis
from hovis.ir import callees, show
from hovis.passes import PASSES
from hovis.passes.rewriting import copy
from tests.differential.harness.code_checks import wrong_depth
from tests.differential.harness.compare import observe, same
from tests.golden import harness

GOLDENS = [golden for path in sorted(harness.FOLDER.glob("*.py")) for golden in harness.read(path)]
ALL = pytest.mark.parametrize("golden", GOLDENS, ids=lambda g: g.name)


def call_of(golden):
    return harness.Call(harness.load(golden.path), hovis, golden.call)


def trace_of(golden, call):
    trace = call.trace()
    return trace.passes("default") if golden.verb == "passes" else trace


@ALL
def test_text(golden, bless):
    call = call_of(golden)
    got = str(call.return_type() if golden.verb == "return_type" else trace_of(golden, call)).rstrip()
    if bless:
        harness.bless(golden, got)
    elif got.splitlines() != golden.expected:
        diff = "\n".join(difflib.unified_diff(golden.expected, got.splitlines(), "golden", "hovis", lineterm="", n=100))
        pytest.fail(f"{golden.where}: {golden.verb} {golden.call}\n{diff}\n`pytest tests/golden/test_golden.py --bless` rewrites the comment", pytrace=False)


@ALL
def test_run(golden):
    if golden.verb == "return_type" and not golden.runs:
        pytest.skip("a type alone")
    unknown = call_of(golden).unknown()
    assert golden.runs or not unknown, f"{golden.where}: golden and run, always both: {golden.call} has no `#: run` line for {', '.join(unknown)}"
    for run in golden.runs or ["()"]:
        expected = outcome(golden, run, lambda call, trace: lambda *args, **kwargs: call.original(args, kwargs))
        for way, residual in WAYS.items():
            same(expected, outcome(golden, run, residual), f"{golden.where}: {golden.call} run {run}, {way}")


@pytest.mark.parametrize("golden", [golden for golden in GOLDENS if golden.verb == "trace"], ids=lambda g: g.name)
def test_stack_depth(golden):
    assert not wrong_depth(call_of(golden).trace().compile().__code__)


@pytest.mark.parametrize("golden", [golden for golden in GOLDENS if golden.verb == "trace"], ids=lambda g: g.name)
def test_passes_say_what_they_change(golden):
    # the verifier checks a Function again only if the pass reports that it has changed it
    function = copy(call_of(golden).trace().function)
    for name, one in PASSES.items():
        before = shown(function)
        if not one.rewrite_all(function):
            assert shown(function) == before, name


def shown(function):
    """Return the texts of a Function and of all Functions that it calls, with their guards."""
    return [(show(one, full=True), one.guards, one.type) for one in callees(function)]


WAYS = {
    "residual": lambda call, trace: trace().compile(),
    "source": lambda call, trace: loaded(trace()),
    "evaluate": lambda call, trace: lambda *args, **kwargs: hovis.evaluate(trace(), *args, *kwargs.values()),
}


def loaded(trace):
    """Load the residual from its text."""
    text = trace.text()
    return text.load()


def outcome(golden, run, way):
    """Observe one run in one way; all objects are created again for each way, so that no way sees the mutations of another."""
    call = call_of(golden)
    args, kwargs = harness.arguments(harness.load(golden.path), run)
    fn = way(call, lambda: trace_of(golden, call))
    return observe(fn, args, kwargs, watch=(args, kwargs, call.known()))
