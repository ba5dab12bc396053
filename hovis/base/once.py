"""What several threads may ask for at the same time: values that are made once in a process, and the locks for that.

``functools.cache`` holds no lock, so that two threads may both make what there is to be one of.  What is cached here is
made by the first who asks, while others wait.  A fork leaves all locks free in the child, whoever held them: the threads that
would have given them back are not there.
"""

import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

_P = ParamSpec("_P")
_R = TypeVar("_R")

_locks: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def lock() -> Any:
    """Make a reentrant lock that is free in the child of a fork.

    >>> with (held := lock()): held.acquire(blocking=False)
    True
    """
    made = threading.RLock()
    _locks.add(made)
    return made


def _free_all() -> None:
    for held in list(_locks):
        held._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)

#: Held while functions are traced or lowered, by one thread at a time: they share tables, and Python runs one thread at a time anyhow.
#: Whoever holds it waits for nobody else, but for what is made ``once`` (XLA compiles without it), and for what user code waits for that runs
#: in its thread meanwhile: calls take it by :func:`in_turn`.
COMPILER: Final[Any] = lock()
#: Seconds without a step of whoever holds it, after which a call does without it; and for how long a thread that waits hears of nothing.
PATIENCE = 5.0
_SLICE: Final = 0.1

#: Steps of those who hold COMPILER, and after which of them somebody has lost patience.
_steps = 0
_stuck_at = -1


def step() -> None:
    """Say that whoever holds COMPILER works."""
    global _steps
    _steps += 1


@contextmanager
def in_turn(meanwhile: Callable[[], None]) -> Iterator[bool]:
    """Hold COMPILER within, if it can be had: False where the thread that holds it does not go on.

    Finalizers, handlers of signals and callbacks of weak references run where they happen to, in a thread that traces as well.  If they ask
    for a lock of the user's whose owner calls a function that is not compiled yet, each of the two threads would wait for the other.

    meanwhile: called now and then, where this thread waits
    """
    mine = COMPILER._is_owned()
    try:
        if mine or _awaited(meanwhile):
            with COMPILER:
                yield True
        else:
            yield False
    finally:
        if not mine and COMPILER._is_owned():
            COMPILER.release()


def _awaited(meanwhile: Callable[[], None]) -> bool:
    """Take COMPILER, when it is free; False if whoever holds it makes no step in all the time that there is patience."""
    global _stuck_at
    seen, left = _steps, PATIENCE
    if COMPILER.acquire(blocking=False):
        return True
    while seen != _stuck_at and left > 0:
        if COMPILER.acquire(timeout=_SLICE):
            return True
        meanwhile()
        seen, left = (seen, left - _SLICE) if seen == _steps else (_steps, PATIENCE)
    _stuck_at = seen
    return False


def alone(fn: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let fn run in one thread at a time, with all else that is decorated like this."""

    @functools.wraps(fn)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with COMPILER:
            return fn(*args, **kwargs)

    return call


def once(fn: Callable[_P, _R]) -> Callable[_P, _R]:
    """Cache the results of a function, each of which is made by one thread while others wait.

    >>> made = once(lambda: object())
    >>> made() is made()
    True
    """
    making, made = lock(), dict[Any, _R]()

    def make(*key: Any) -> _R:
        with making:
            if key not in made:
                made[key] = fn(*key)  # type: ignore[call-arg]
            return made[key]

    found: Any = functools.cache(make)  # asks for no lock where it is known
    functools.update_wrapper(found, fn)

    def let_go() -> list[_R]:
        left = list(made.values())
        made.clear()
        found.cache_clear()
        return left

    found.let_go = let_go
    return cast(Callable[_P, _R], found)


def forget(*cached: Any) -> list[Any]:
    """Let go of what is cached by :func:`once`, and return it: it is made anew when it is asked for."""
    return [left for one in cached for left in one.let_go()]


class lazy(Generic[_R]):
    """Cache what a method gives as an attribute, computed by one thread alone (:data:`COMPILER`).

    ``functools.cached_property`` has no lock, or one for all instances of a class.
    """

    def __init__(self, fn: Callable[[Any], _R]) -> None:
        self.fn = fn
        self.__doc__ = fn.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> _R:
        with COMPILER:
            made: dict[str, _R] = instance.__dict__
            if self.name not in made:
                made[self.name] = self.fn(instance)
            return made[self.name]
