"""Operations on generators other than ``next``, written in Python, which the engine traces through (CPython: Objects/genobject.c).

Frames of this file are hidden.
"""

from typing import Any


def end_with(value: object) -> None:
    """_PyGen_SetStopIterationValue, and what gen_send_ex2 does if there is no value."""
    if value is None:
        raise StopIteration
    raise StopIteration(value)


def first_send(generator: Any, value: Any) -> Any:
    """gen_send_ex2 of a generator that has not begun."""
    if value is not None:
        raise TypeError("can't send non-None value to a just-started generator")
    return next(generator)


def send_on(receiver: Any, value: Any) -> tuple[bool, Any]:
    """SEND to a receiver that is not a generator of the trace. Return True and the result if it has ended, else False and the yielded item."""
    try:
        item = next(receiver) if value is None else receiver.send(value)
    except StopIteration as stop:
        return True, stop.value
    return False, item


def throw_into(receiver: Any, exception: Any) -> tuple[bool | None, Any]:
    """_gen_throw and gen_close_iter. Return the same pairs as `send_on`, or None twice if exception has to be raised in the delegating
    generator.
    """
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
    """gen_throw of a class: throw an instance of it."""
    return throw(generator, exception())


def close(generator: Any, throw_exit: Any) -> None:
    """gen_close of a generator that has begun."""
    try:
        throw_exit(generator)
    except (StopIteration, GeneratorExit):
        return
    raise RuntimeError("generator ignored GeneratorExit")


def close_with_value(generator: Any, throw_exit: Any) -> Any:
    """gen_close of a generator that has begun, since 3.13: it gives the generator's return value."""
    try:
        throw_exit(generator)
    except StopIteration as stop:
        return stop.value
    except GeneratorExit:
        return None
    raise RuntimeError("generator ignored GeneratorExit")


def finalize(generator: Any, close: Any, throw_exit: Any, unraisable: Any) -> None:
    """_PyGen_Finalize of a generator that has begun. close: the function of this module, which returns nothing."""
    try:
        close(generator, throw_exit)
    except BaseException as error:
        unraisable(error)


def end_each(held: list[Any]) -> None:
    """Release the held values, which nobody else holds, from the first to the last."""
    while held:
        del held[0]


def leave(exception: Any, raise_again: Any, held: list[Any]) -> Any:
    """Pass an exception on to the caller of the traced function, after releasing the values that its loops have held."""
    while held:
        del held[0]
    return raise_again(exception)
