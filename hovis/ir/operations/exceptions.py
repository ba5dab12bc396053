"""Exceptions: creating, raising, handling and matching them; exception groups; warnings."""

import operator
import sys
import types
import warnings
from collections.abc import Callable, Generator, Iterable
from typing import Any, Final, NoReturn

from hovis.ir.operations.sentinels import PACKAGE
from hovis.ir.operations.wording import NO_CATEGORY, NO_CATEGORY_CLASS, about, complaint


def raised(exception: object) -> BaseException:
    """The exception that ``raise exception`` raises here, with its context set."""
    try:
        raise exception  # type: ignore[misc]
    except BaseException as caught:
        return caught


def make_exception(cls: Any, args: tuple[object, ...], names: tuple[str, ...] = (), *values: object) -> BaseException:
    """An exception with these arguments and attributes, made without running any code of the class."""
    made: BaseException = cls.__new__(cls, *args)
    for name, value in zip(names, values, strict=True):
        BaseException.__setattr__(made, name, value)
    return made


def poll() -> None:
    """Call the handlers of pending signals, which may raise any exception.

    It ends each iteration of a loop inside a try statement.  CPython polls where a loop jumps back, so in a residual this is not a call,
    but the back edge of a loop whose exceptions are caught.
    """


#: The classes of callables written in C; and those callables that bytecode runs by other instructions than calls.
_IN_C: Final = frozenset({types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, type})
_NO_CALLS: Final = frozenset({*(getattr(operator, name) for name in operator.__all__), iter, next, bool, slice})


def looks_for_signals(callee: object) -> bool:
    """Is callee C code, after whose calls CPython checks for signals, so that a signal handler may raise even if the call does not?"""
    return type(callee) in _IN_C and callee not in _NO_CALLS


def caught_at(exception: BaseException, depth: int) -> BaseException:
    """exception, caught in an inlined call at this depth: its traceback has no entries for the calls around that (yet)."""
    return exception


def passed(exception: BaseException, depth: int) -> BaseException:
    """exception, which leaves inlined calls and reaches one at this depth: its traceback gets the entries of the calls that it passes."""
    return exception


def with_cause(exception: BaseException, cause: BaseException | None) -> BaseException:
    """exception with its ``__cause__`` set, as ``raise exception from cause`` does first."""
    exception.__cause__ = cause
    return exception


def with_attribute(exception: BaseException, name: str, value: object) -> BaseException:
    """exception with an attribute set, without running code of its class."""
    BaseException.__setattr__(exception, name, value)
    return exception


def with_note(exception: BaseException, note: str) -> BaseException:
    """exception with one more note."""
    exception.add_note(note)
    return exception


def in_context(exception: BaseException, context: BaseException | None) -> BaseException:
    """exception, with this ``__context__``."""
    exception.__context__ = context
    return exception


def raise_current() -> None:
    """A bare ``raise``."""
    raise


def raise_again(exception: BaseException) -> object:
    """RERAISE, as a call."""
    raise exception


def raise_now(exception: object) -> None:
    """``raise exception``."""
    raise exception  # type: ignore[misc]


def raise_from(exception: object, cause: object) -> None:
    """``raise exception from cause``."""
    raise exception from cause  # type: ignore[misc]


def unraisable(exception: BaseException) -> None:
    """Report an exception that a finalizer raised (PyErr_WriteUnraisable)."""

    def finalized() -> Generator[None, None, None]:
        try:
            yield
        finally:
            raise exception

    next(finalized())


def stop_iteration_error(exception: BaseException, around: int = 0) -> BaseException:
    """The exception that leaves a generator: exception, or the RuntimeError that replaces a StopIteration (PEP 479).

    The first ``around`` entries of the traceback are those of the inlined calls around the generator: they move to the traceback of
    the RuntimeError, because it passes these calls and the StopIteration does not.
    """
    if not isinstance(exception, StopIteration):
        return exception
    made = RuntimeError("generator raised StopIteration")
    made.__cause__ = made.__context__ = exception
    passed: list[types.TracebackType] = []
    inner = exception.__traceback__
    while inner is not None and len(passed) < around:
        passed.append(inner)
        inner = inner.tb_next
    outer = None
    for at in reversed(passed):
        outer = types.TracebackType(outer, at.tb_frame, at.tb_lasti, at.tb_lineno)
    exception.__traceback__, made.__traceback__ = inner, outer
    return made


def exception_matches(exception: object, classes: Any) -> bool:
    """``except classes:`` (CHECK_EXC_MATCH): by the MRO alone, without ``__instancecheck__``."""
    found = False
    for cls in classes if isinstance(classes, tuple) else (classes,):
        if not isinstance(cls, type) or not issubclass(cls, BaseException):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")
        found = found or cls in type(exception).__mro__
    return found


def group_matches(exception: Any, classes: Any) -> tuple[object, object]:
    """``except* classes:`` (CHECK_EG_MATCH): the rest of exception, and the group of the exceptions that match; None for either if it is empty."""
    flat = classes if isinstance(classes, tuple) else (classes,)
    if not all(isinstance(cls, type) and issubclass(cls, BaseException) for cls in flat):
        raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    if any(issubclass(cls, BaseExceptionGroup) for cls in flat):
        raise TypeError("catching ExceptionGroup with except* is not allowed. Use except instead.")
    if exception is None:
        return None, None
    if exception_matches(exception, classes):
        return None, exception if isinstance(exception, BaseExceptionGroup) else BaseExceptionGroup("", (exception,))
    if isinstance(exception, BaseExceptionGroup):
        match, rest = exception.split(classes)
        return rest, match
    return exception, None


def prepare_reraise(original: BaseException, raised: list[BaseException | None]) -> object:
    """The exception to raise after the clauses of an ``except*`` (PREP_RERAISE_STAR), or None."""
    if not isinstance(original, BaseExceptionGroup):
        return raised[0] if raised else None
    found = [one for one in raised if one is not None]
    again = [one for one in found if _same_metadata(one, original)]
    new = [one for one in found if not _same_metadata(one, original)]
    leaves = {id(leaf) for one in again for leaf in _leaves(one)}
    rest = original.split(lambda one: id(one) in leaves)[0] if leaves else None
    if not new:
        return rest
    if rest is not None:
        new.append(rest)
    return new[0] if len(new) == 1 else BaseExceptionGroup("", new)


def _same_metadata(a: BaseException, b: BaseException) -> bool:
    """Is a part of the group b, raised again: are traceback, cause, context and notes the same?"""
    if not isinstance(a, BaseExceptionGroup):
        return False
    names = ("__traceback__", "__cause__", "__context__", "__notes__")
    return all(getattr(a, name, None) is getattr(b, name, None) for name in names)


def _leaves(exception: BaseException) -> Iterable[BaseException]:
    if isinstance(exception, BaseExceptionGroup):
        for inner in exception.exceptions:
            yield from _leaves(inner)
    else:
        yield exception


def enter_handler(exception: BaseException) -> None:
    """Begin the handling of exception (PUSH_EXC_INFO). Its meaning is defined by the interpreter and the assembler."""
    raise TypeError("enter_handler has no meaning outside a Function")


def leave_handler() -> None:
    """End the handling that the last ``enter_handler`` began (POP_EXCEPT)."""
    raise TypeError("leave_handler has no meaning outside a Function")


def current_exception() -> BaseException | None:
    """The exception that is being handled, as a bare ``raise`` sees it."""
    raise TypeError("current_exception has no meaning outside a Function")


def within(exception: BaseException, go_on: Callable[[], Any]) -> Any:
    """go_on(), called while exception is being handled; this changes neither exception nor the exceptions that were being handled before."""
    before = _contexts(exception)
    traceback = exception.__traceback__
    try:
        raise exception
    except BaseException as caught:
        caught.__traceback__ = traceback
        _restore(before)
        return go_on()
    finally:
        del exception, before


def reraise(exception: BaseException) -> NoReturn:
    """Raise exception again, with the context that it has."""
    before = _contexts(exception)
    try:
        raise exception
    except BaseException:
        _restore(before)
        raise
    finally:
        del exception, before


def _contexts(exception: object) -> list[tuple[BaseException, BaseException | None]]:
    """Collect the contexts that a raise of exception may change: its own, and those of the exceptions that are being handled."""
    found = [(exception, exception.__context__)] if isinstance(exception, BaseException) else []
    at, seen = sys.exception(), set()
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        found.append((at, at.__context__))
        at = at.__context__
    return found


def _restore(contexts: list[tuple[BaseException, BaseException | None]]) -> None:
    for exception, context in contexts:
        if exception.__context__ is not context:
            exception.__context__ = context


def traceback_of(exception: BaseException) -> types.TracebackType | None:
    """``exception.__traceback__``, as it is passed to ``__exit__``."""
    return exception.__traceback__


def warn_at(message: Any, category: Any, source: object, namespace: dict[str, Any], file: str, line: int) -> None:
    """``warnings.warn`` as if called from file and line in the module with these globals (warnings_warn of Python/_warnings.c)."""
    if isinstance(message, Warning):
        category = type(message)
    elif category is None:
        category = UserWarning
    if not (isinstance(category, type) and issubclass(category, Warning)):
        told = isinstance(category, type) and "{" in NO_CATEGORY_CLASS
        raise TypeError(about(NO_CATEGORY_CLASS, category, category) if told else complaint(NO_CATEGORY, category))
    registry = namespace.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, file, line, namespace.get("__name__") or "<string>", registry, None, source)


def warn_above(message: Any, category: Any, source: object, level: int) -> None:
    """``warnings.warn`` as if called from level frames above the residual; frames of hovis itself do not count."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and level:
        frame = frame.f_back
        level -= frame is not None and not frame.f_code.co_filename.startswith(PACKAGE)
    if frame is None:
        warnings.warn(message, category, 1_000_000, source)
    else:
        warn_at(message, category, source, frame.f_globals, frame.f_code.co_filename, frame.f_lineno)
