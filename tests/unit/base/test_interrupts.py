"""Signals that arrive together while hovis is at work: each has its handler called, with a frame."""

import os
import signal

import pytest

from hovis.base import interrupts

FIRST, SECOND = signal.SIGUSR1, signal.SIGUSR2


@pytest.fixture
def handlers():
    """Let the handler of each of two signals be set, and put the old ones back."""
    before = [signal.getsignal(signum) for signum in (FIRST, SECOND)]

    def handle(first, second):
        signal.signal(FIRST, first)
        signal.signal(SECOND, second)

    yield handle
    for signum, handler in zip((FIRST, SECOND), before, strict=True):
        signal.signal(signum, handler)


def raising(log, error):
    def handler(signum, frame):
        log.append((signum, frame is not None))
        raise error

    return handler


def arrive_together(poll):
    with interrupts.AtWork():
        os.kill(os.getpid(), FIRST)
        os.kill(os.getpid(), SECOND)
        if poll:
            interrupts.check()


@pytest.mark.parametrize("poll", [False, True])
def test_handlers_behind_one_that_raises_are_called(handlers, poll):
    log = []
    handlers(raising(log, KeyError("first")), lambda signum, frame: log.append((signum, frame is not None)))
    with pytest.raises(KeyError, match="first"):
        arrive_together(poll)
    assert log == [(FIRST, True), (SECOND, True)]


def test_what_the_last_raises_has_the_others_as_its_context(handlers):
    log = []
    handlers(raising(log, KeyError("first")), raising(log, ValueError("second")))
    with pytest.raises(ValueError, match="second") as raised:
        arrive_together(poll=False)
    assert isinstance(raised.value.__context__, KeyError)
    assert log == [(FIRST, True), (SECOND, True)]
