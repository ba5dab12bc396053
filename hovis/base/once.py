"""Values that are made once per process, although several threads may ask for them at the same time, and the locks for that.

``functools.cache`` holds no lock, so two threads may both make a value that has to be unique.  A value that is cached here is
made by the first thread that asks, while others wait.  After a fork all locks are free in the child, whichever thread held them,
because the threads that would have released them do not exist there.
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
#: A thread that holds it waits for no other thread, except for values that are made ``once`` (XLA compiles without this lock), and for whatever
#: user code that runs in this thread meanwhile waits for: therefore calls acquire it by :func:`in_turn`.
COMPILER: Final[Any] = lock()
#: Seconds without progress of the holder after which a call proceeds without the lock; and the interval (seconds) at which a waiting thread checks.
PATIENCE = 5.0
_SLICE: Final = 0.1

#: Number of steps that holders of COMPILER have recorded, and the step number at which a waiting thread has given up.
_steps = 0
_stuck_at = -1


def step() -> None:
    """Record that the holder of COMPILER makes progress."""
    global _steps
    _steps += 1


@contextmanager
def in_turn(meanwhile: Callable[[], None]) -> Iterator[bool]:
    """Hold COMPILER in the enclosed block and yield True; yield False, without it, if the thread that holds it makes no progress.

    Finalizers, signal handlers and weak reference callbacks run in any thread, also in one that is tracing.  If one of them acquires a lock of
    the user whose owner calls a function that is not compiled yet, the two threads would wait for each other.

    meanwhile: called regularly while this thread waits
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
    """Acquire COMPILER when it is free; return False if its holder makes no step for PATIENCE seconds."""
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
    """Decorator: let fn run in one thread at a time, and not at the same time as other functions with this decorator."""

    @functools.wraps(fn)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with COMPILER:
            return fn(*args, **kwargs)

    return call


def once(fn: Callable[_P, _R]) -> Callable[_P, _R]:
    """Cache the results of a function; each is computed by one thread while others wait.

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

    found: Any = functools.cache(make)  # takes no lock if the value is cached
    functools.update_wrapper(found, fn)

    def let_go() -> list[_R]:
        left = list(made.values())
        made.clear()
        found.cache_clear()
        return left

    found.let_go = let_go
    return cast(Callable[_P, _R], found)


def forget(*cached: Any) -> list[Any]:
    """Drop what :func:`once` has cached, and return it; it is computed again when it is needed."""
    return [left for one in cached for left in one.let_go()]


class lazy(Generic[_R]):
    """Cache the result of a method as an attribute, computed by one thread alone (:data:`COMPILER`).

    ``functools.cached_property`` has no lock (since Python 3.12), or one for all instances of a class.
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
