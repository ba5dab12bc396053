"""Actions for exceptions of the trace: initialization, text, notes (CPython: Objects/exceptions.c)."""

from typing import Any, Final

from hovis.engine.calls.inline_python import call_function
from hovis.engine.machine import exceptions
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import fields_of
from hovis.engine.state.type_lookup import lookup
from hovis.engine.state.values import NONE, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.ir.operations.wording import wording
from hovis.lattice import Type
from hovis.library.core import Action
from hovis.library.virtual.base import Args, Named, action, own

_INITIALIZERS: dict[Any, type] = {cls.__dict__["__init__"]: cls for cls in exceptions.MODELLED if "__init__" in cls.__dict__}


def _initializer(fields: tuple[str, ...]) -> Action:
    def initialize(m: Machine, args: Args, named: Named) -> Any:
        if not args or not named.keys() <= set(fields) - {"value", "code"} or own(m, args[0], "exception") is None:
            return None
        exception = args[0]
        assert isinstance(exception, Ref)
        exceptions.initialize(m, exception, args[1:], named, fields)
        return NONE

    return initialize


for _init, _cls in _INITIALIZERS.items():
    action(_init)(_initializer(fields_of(_cls)))


# ------------------------------------------------------------------------------------------------- text


def message(exception: BaseException) -> str:
    """``str(exception)`` (BaseException_str)."""
    args = exception.args
    if len(args) == 1:
        return str(args[0])
    return str(args) if args else ""


def key_message(exception: BaseException) -> str:
    """``str`` of a KeyError (KeyError_str)."""
    args = exception.args
    if len(args) == 1:
        return repr(args[0])
    return str(args) if args else ""


def group_message(group: Any) -> str:
    """``str`` of an exception group (BaseExceptionGroup_str)."""
    count = len(group.exceptions)
    return f"{group.message} ({count} sub-exception{'' if count == 1 else 's'})"


def shown(exception: BaseException) -> str:
    """``repr(exception)`` (BaseException_repr)."""
    args = exception.args
    name = type(exception).__name__
    return f"{name}({args[0]!r})" if len(args) == 1 else f"{name}{args!r}"


_MODELS: dict[Any, Any] = {}
for _cls in exceptions.MODELLED:
    # several classes define these slots, with the same C function
    _MODELS.update({_cls.__dict__[name]: model for name, model in (("__str__", message), ("__repr__", shown)) if name in _cls.__dict__})
_MODELS[KeyError.__str__] = key_message
_MODELS[BaseExceptionGroup.__str__] = group_message
_MODELS[BaseExceptionGroup.__dict__.get("__repr__", BaseException.__repr__)] = shown


def _text(m: Machine, value: V, name: str) -> Any:
    if m.obj(value, "exception") is None:
        return None
    cls = m.class_of(value)
    assert cls is not None
    found = lookup(cls, name)
    model = _MODELS.get(found)
    return None if model is None else call_function(m, Known(model), model, [value], {})


@action(str)
def string(m: Machine, args: Args, named: Named) -> Any:
    return _text(m, args[0], "__str__") if len(args) == 1 and not named else None


@action(repr)
def representation(m: Machine, args: Args, named: Named) -> Any:
    return _text(m, args[0], "__repr__") if len(args) == 1 and not named else None


@action(ops.format_value)
def formatted(m: Machine, args: Args, named: Named) -> Any:
    plain = len(args) == 1 or (isinstance(args[1], Known) and args[1].value == "")
    cls = m.class_of(args[0])
    if not plain or cls is None or lookup(cls, "__format__") is not object.__dict__["__format__"]:
        return None
    return _text(m, args[0], "__str__")


# ------------------------------------------------------------------------------------------------- notes, tracebacks


_NO_NOTE: Final = wording(ValueError().add_note)


def add_note(exception: BaseException, note: object) -> None:
    """``exception.add_note(note)`` of an exception that has not escaped (BaseException_add_note)."""
    if not isinstance(note, str):
        raise TypeError(ops.complaint(_NO_NOTE, note))
    if not hasattr(exception, "__notes__"):
        exception.__notes__ = []
    exception.__notes__.append(note)


@action(BaseException.add_note)
def note(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 2 or named or m.obj(args[0], "exception") is None:
        return None
    if own(m, args[0], "exception") is not None:
        return call_function(m, Known(add_note), add_note, args, {})
    if m.class_of(args[1]) is not str:
        return m.emit(BaseException.add_note, args, type=Type(type(None)), effect=Effect.WRITES | Effect.RAISES)
    assert isinstance(args[0], Ref)
    exceptions.noted(m, args[0], args[1])
    return NONE


@action(BaseException.with_traceback)
def with_traceback(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 2 or named or m.obj(args[0], "exception") is None:
        return None
    m.emit(BaseException.with_traceback, args, effect=Effect.WRITES | Effect.RAISES)
    return args[0]

