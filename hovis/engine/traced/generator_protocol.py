"""What a generator does beyond being stepped, as Python that the engine traces through (CPython: Objects/genobject.c).

Frames of this file are hidden.
"""

from typing import Any


def first_send(generator: Any, value: Any) -> Any:
    """gen_send_ex2 of a generator that has not begun."""
    if value is not None:
        raise TypeError("can't send non-None value to a just-started generator")
    return next(generator)


def send_on(receiver: Any, value: Any) -> tuple[bool, Any]:
    """SEND to what is no generator of the trace: has it ended, and with which value, or what has it yielded?"""
    try:
        item = next(receiver) if value is None else receiver.send(value)
    except StopIteration as stop:
        return True, stop.value
    return False, item


def throw_into(receiver: Any, exception: Any) -> tuple[bool | None, Any]:
    """_gen_throw and gen_close_iter: as send_on; None: exception is raised in the generator that delegates."""
    if isinstance(exception, GeneratorExit):
        close = getattr(receiver, "close", None)
        if close is not None:
            close()
        return None, None
    throw = getattr(receiver, "throw", None)
    if throw is None:
        return None, None
    try:
        item = throw(exception)
    except StopIteration as stop:
        return True, stop.value
    return False, item


def throw_instance(generator: Any, exception: Any, throw: Any) -> Any:
    """gen_throw of a class: an instance of it is thrown."""
    return throw(generator, exception())


def close(generator: Any, throw_exit: Any) -> None:
    """gen_close of a generator that has begun."""
    try:
        throw_exit(generator)
    except (StopIteration, GeneratorExit):
        return
    raise RuntimeError("generator ignored GeneratorExit")


def close_with_value(generator: Any, throw_exit: Any) -> Any:
    """The same where closing gives what the generator returns (since 3.13)."""
    try:
        throw_exit(generator)
    except StopIteration as stop:
        return stop.value
    except GeneratorExit:
        return None
    raise RuntimeError("generator ignored GeneratorExit")


def finalize(generator: Any, close: Any, throw_exit: Any, unraisable: Any) -> None:
    """_PyGen_Finalize of a generator that has begun; close is that of above, which gives nothing."""
    try:
        close(generator, throw_exit)
    except BaseException as error:
        unraisable(error)


def end_each(held: list[Any]) -> None:
    """What nobody else holds ends, the first first."""
    while held:
        del held[0]


def leave(exception: Any, raise_again: Any, held: list[Any]) -> Any:
    """An exception goes on to the caller of the traced function, behind the ends of what its loops have held."""
    while held:
        del held[0]
    return raise_again(exception)
