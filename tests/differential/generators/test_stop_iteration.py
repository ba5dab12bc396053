"""A StopIteration that leaves a generator: the RuntimeError that it becomes, and the tracebacks of both."""
from __future__ import annotations

import traceback

import pytest

import hovis


class Ended:
    def __next__(self):
        raise StopIteration


def told(error):
    """The chain of exceptions: class, functions and lines of the traceback, whether the context is the cause."""
    chain = []
    while error is not None:
        entries = [(entry.name, entry.lineno) for entry in traceback.extract_tb(error.__traceback__) if entry.name != "outcome"]
        chain.append((type(error).__name__, entries, error.__cause__ is error.__context__))
        error = error.__context__
    return chain


def outcome(fn, *args):
    try:
        return fn(*args)
    except RuntimeError as error:
        return told(error)


def asking(it):
    yield 1
    yield next(it)


def passing(it):
    for item in asking(it):
        yield item


def delegating(it):
    yield from asking(it)


def again(it):
    try:
        yield 1
        yield next(it)
    except StopIteration:
        raise


def step(it):
    try:
        return next(it)
    except StopIteration:
        raise


def in_a_call(it):
    yield 1
    yield step(it)


def raising(it):
    yield next(it, 1)
    raise StopIteration(3)


def collected(it):
    return [item for item in passing(it)]


def caught(it):
    try:
        for _ in passing(it):
            pass
    except RuntimeError as error:
        return told(error)


def caught_in_a_call(it):
    return stepped(it), 1


def stepped(it):
    steps = asking(it)
    next(steps)
    try:
        next(steps)
    except RuntimeError as error:
        return told(error)


def finally_left(it):
    steps = asking(it)
    next(steps)
    try:
        return next(steps)
    finally:
        len([])


def raised_again(it):
    return list(again(it))


def raised_again_in_a_call(it):
    return list(in_a_call(it))


def raised_here(it):
    for _ in raising(it):
        pass


def summed(it):
    return sum(delegating(it))


@pytest.mark.parametrize("made", [lambda: iter([]), Ended])
@pytest.mark.parametrize("fn", [collected, caught, caught_in_a_call, finally_left, raised_again, raised_again_in_a_call, raised_here, summed])
def test_tracebacks(fn, made):
    expected = outcome(fn, made())
    assert expected
    assert outcome(hovis.specialize(fn, hovis.Any), made()) == expected
    assert outcome(hovis.jit(fn), made()) == expected
