"""Actions of functions that inspect their caller: its variables, the exception that is being handled, the location of a warning."""

import logging
import sys
import traceback
import types
import warnings
from typing import Any

from hovis.engine.calls.builtins import answers
from hovis.engine.calls.inline_python import call_function
from hovis.engine.environment.logging_calls import OPEN, PLAIN, SILENT, fate
from hovis.engine.machine import frame_inspection
from hovis.engine.machine.machine import Machine
from hovis.engine.names import locals_dict
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import NONE, Known
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Type
from hovis.library.virtual.base import Args, Named, action

#: Functions of logging that record the location of their caller.
_LOGS = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"})


# ------------------------------------------------------------------------------------------------- variables


@action(locals, vars)
def variables(m: Machine, args: Args, named: Named) -> Any:
    return locals_dict.locals_of(m) if not args and not named and locals_dict.can_tell(m) else None


@action(dir)
def names(m: Machine, args: Args, named: Named) -> Any:
    if args or named or not locals_dict.can_tell(m):
        return None
    scope = locals_dict.locals_of(m)
    held = m.obj(scope, "dict")
    if held is None or not all(type(key) is str for key in held.keys):
        return m.emit(sorted, [scope], type=Type(list))
    return m.new(VObj("list", list, tuple(map(Known, sorted(held.keys)))))


def _run(fn: Any) -> Any:
    def run(m: Machine, args: Args, named: Named) -> Any:
        return locals_dict.evaluate(m, fn, args[0]) if len(args) == 1 and not named and locals_dict.can_tell(m) else None

    return run


action(eval)(_run(eval))
action(exec)(_run(exec))


# ------------------------------------------------------------------------------------------------- the exception being handled


@action(sys.exception)
def handled(m: Machine, args: Args, named: Named) -> Any:
    if args or named:
        return None
    now = m.state.handled
    if isinstance(now, Known) and now.value is None:
        # the exception that the caller of the traced function is handling
        return m.emit(ops.current_exception, effect=Effect.READS)
    return now


def exc_info() -> tuple[Any, Any, Any]:
    """``sys.exc_info`` (sys_exc_info)."""
    now = sys.exception()
    if now is None:
        return None, None, None
    return type(now), now, now.__traceback__


@action(sys.exc_info)
def info(m: Machine, args: Args, named: Named) -> Any:
    return None if args or named else call_function(m, Known(exc_info), exc_info, [], {})


# ------------------------------------------------------------------------------------------------- frames


def _left(fn: Any) -> Any:
    """Make the action that leaves fn as a call, because its use of frames and tracebacks is not modelled."""
    return lambda m, args, named: m.emit(fn, args, named)


def _walks(fn: Any) -> Any:
    """Make the action of fn, which inspects the frames of its callers: none of them is inlined, so that each exists at the right location."""

    def walk(m: Machine, args: Args, named: Named) -> Any:
        frame_inspection.need_callers(m, fn)
        return m.emit(fn, args, named)

    return walk


def _logs(fn: Any, level: int | None) -> Any:
    """Make the action of a logging function, which inspects the frames of its callers and may run any code. If the logger's setup excludes both,
    the call is removed or only does output.
    """
    walk = _walks(fn)

    def log(m: Machine, args: Args, named: Named) -> Any:
        becomes = _fate(m, args, level) if not named and not m.environment.frozen and m.state.world < 2 else None
        if becomes == SILENT:
            return NONE
        if becomes == PLAIN:
            return m.emit(fn, args, type=Type(type(None)), effect=Effect.IO | Effect.RAISES | Effect.READS)
        return walk(m, args, named)

    return log


def _fate(m: Machine, args: Args, level: int | None) -> str | None:
    """Classify the call of a known logger with arguments that run no user code if they are formatted, and guard the result; None if nothing is
    known.
    """
    if not args or not isinstance(args[0], Known) or not isinstance(args[0].value, logging.Logger):
        return None
    at = Known(level) if level is not None else args[1] if len(args) > 1 else None
    if not isinstance(at, Known) or type(at.value) is not int or id(args[0].value) in m.tables.thawed:
        return None
    found = fate(args[0].value, at.value)
    if found == OPEN or (found == PLAIN and not answers(m, m.library.rule(print), args[1:], {})):
        return None
    m.environment.guard("logs", args[0].value, at.value, found)
    return found


#: Functions of traceback that inspect the stack, not an exception.
_STACK = frozenset({"print_stack", "format_stack", "extract_stack", "walk_stack"})
for _name, _fn in list(vars(traceback).items()):
    if isinstance(_fn, types.FunctionType) and _fn.__module__ == "traceback":
        action(_fn)((_walks if _name in _STACK else _left)(_fn))
for _owner in (logging, logging.Logger, logging.LoggerAdapter):
    for _name, _fn in list(vars(_owner).items()):
        if isinstance(_fn, types.FunctionType) and _fn.__module__ == "logging" and _name in _LOGS:
            _level = getattr(logging, _name.upper(), None)
            action(_fn)(_logs(_fn, _level) if _owner is logging.Logger and (_level is not None or _name == "log") else _walks(_fn))


# ------------------------------------------------------------------------------------------------- warnings


@action(warnings.warn)
def warn(m: Machine, args: Args, named: Named) -> Any:
    """``warnings.warn``, as if from the frame that is stacklevel levels up (warnings_warn)."""
    given = dict(zip(("message", "category", "stacklevel", "source"), args, strict=False))
    if len(args) > 4 or "message" not in {**given, **named} or given.keys() & named.keys() or named.keys() - _WARN:
        return None
    given |= named
    level = given.get("stacklevel", Known(1))
    if not isinstance(level, Known) or type(level.value) is not int:
        return None
    m.use(level)
    what = [given["message"], given.get("category", NONE), given.get("source", NONE)]
    found = frame_inspection.caller(m, max(level.value, 1))
    if isinstance(found, int):
        return m.emit(ops.warn_above, [*what, Known(found)], type=Type(type(None)))
    namespace, file, line = found
    return m.emit(ops.warn_at, [*what, Known(namespace), Known(file), Known(line)], type=Type(type(None)))


_WARN = frozenset({"message", "category", "stacklevel", "source"})
