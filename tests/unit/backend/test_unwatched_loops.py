"""Each loop of a residual has a place where CPython looks for signals and lets other threads run, as each loop of the original has."""
import bytecode
import pytest

import hovis
from tests.differential.harness.code_checks import unwatched_loops
from tests.interrupted import flags


def by_two_handlers(k):
    while True:
        try:
            try:
                return NAME
            except KeyError:
                return 1
        except NameError:
            k += 1


def by_handler_and_branch(k):
    found = 0
    while found < k:
        try:
            found = TABLE["nobody"]
        except KeyError:
            if k > 5:
                continue
            found += 1
    return found


def by_nested(k):
    while True:
        for _ in range(3):
            try:
                return NAME
            except NameError:
                continue


TABLE = {}
FUNCTIONS = [by_two_handlers, by_handler_and_branch, by_nested, *(fn for fn, *_ in flags.CASES)]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_each_loop_is_watched(fn):
    trace = hovis.trace(fn, int)
    for residual in (trace.compile(), hovis.options(passes="clean").specialize(fn, int)):
        assert unwatched_loops(residual.__code__) == []


def test_a_loop_that_is_not_watched_is_found():
    def loop(k):
        while k:
            k -= 1

    code = bytecode.Bytecode.from_code(loop.__code__)
    for instruction in code:
        name = getattr(instruction, "name", "")
        if name.startswith("POP_JUMP_BACKWARD"):
            instruction.name = name.replace("BACKWARD", "FORWARD")
        elif name == "JUMP_BACKWARD":
            instruction.name = "JUMP_BACKWARD_NO_INTERRUPT"
    try:
        quiet = code.to_code()
    except (ValueError, NotImplementedError):
        pytest.skip("this Python's conditional jumps back can't be made quiet")
    assert unwatched_loops(loop.__code__) == []
    assert unwatched_loops(quiet)
