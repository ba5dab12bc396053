"""Exceptions: the raise statement, except clauses, with (CPython: Python/ceval.c, Python/bytecodes.c)."""

import types
from typing import Any, Final

from hovis.engine.machine import exceptions
from hovis.engine.machine.call_results import AFTER
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import GiveUp, Restart
from hovis.engine.state.type_lookup import FUNCTION, bound_class, lookup
from hovis.engine.state.values import Dyn, Known, Ref, V, labels_of
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.ir.operations import wording
from hovis.lattice import SOME, Type, Union
from hovis.lattice.inspection import is_a


def raise_statement(m: Machine, args: list[V]) -> int | None:
    """``raise``, ``raise exc``, ``raise exc from cause`` (do_raise)."""
    if not args:
        return _bare(m)
    exception = m.resolve(args[0])
    if isinstance(exception, Known) and is_a(exception.value, type) and issubclass(exception.value, BaseException):
        # a class is called first; `_after_class` raises the result
        m.push(args[1] if len(args) > 1 else Known(_NOTHING))
        return m.call(exception, [], {}, "raise")
    return _raise_instance(m, exception, args[1] if len(args) > 1 else None)


_NOTHING: Final = object()


def _after_class(m: Machine) -> int | None:
    exception, cause = m.pop(), m.pop()
    return _raise_instance(m, exception, None if isinstance(cause, Known) and cause.value is _NOTHING else cause)


AFTER["raise"] = _after_class


def _raise_instance(m: Machine, exception: V, cause: V | None) -> int | None:
    cls = m.class_of(exception)
    if cause is not None:
        if cls is None or not issubclass(cls, BaseException) or not _harmless_cause(m, cause):
            m.emit(ops.raise_from, [exception, cause])
            return m.unreachable()
        if isinstance(exception, Ref) and m.obj(exception, "exception"):
            exceptions.caused(m, exception, cause)
        else:
            exception = m.emit(ops.with_cause, [exception, cause], type=Type(cls), effect=Effect.WRITES)
    if cls is not None and issubclass(cls, BaseException):
        return m.raise_(exception)
    if not m.catching():
        return m.raise_(exception)
    if cls is not None and not issubclass(cls, type):
        return m.raise_new(TypeError, "exceptions must derive from BaseException")
    # it may be a class, or no exception at all: this is decided by the real statement, at run time
    m.emit(ops.raise_now, [exception])
    return m.unreachable()


def _harmless_cause(m: Machine, cause: V) -> bool:
    if isinstance(cause, Known):
        return cause.value is None or is_a(cause.value, BaseException)
    cls = m.class_of(cause)
    return cls is not None and issubclass(cls, BaseException)


def _bare(m: Machine) -> int | None:
    handled = m.state.handled
    if isinstance(handled, Known) and handled.value is None:
        m.emit(ops.raise_current, [])
        return m.unreachable()
    return m.raise_(handled, again=True)


def give_up(m: Machine, what: str) -> int:
    """Leave the call of the current function in the residual, because its code uses something that is not traced. Raise GiveUp for the traced
    function itself, else Restart.
    """
    why = f"it uses {what}, which is not traced"
    if len(m.state.frames) == 1:
        raise GiveUp(why)
    m.tables.not_entered[m.frame.code.code] = why
    raise Restart("not entered")


# ------------------------------------------------------------------------------------------------- except


def match(m: Machine) -> int | None:
    """``except classes`` (stack: exc classes → exc bool): test whether exc matches."""
    classes = m.resolve(m.pop())
    exception = m.frame.stack[-1]
    cls = m.class_of(exception)
    known = known_classes(m, classes)
    if known is BaseException:
        m.push(Known(True, labels_of(classes)))
        return None
    if known is not None and cls is not None:
        m.push(Known(m.environment.derives(cls, known), labels_of(classes)))
        return None
    if known is not None and isinstance(exception, Dyn) and isinstance(exception.type, Union):
        found = {isinstance(t, Type) and m.environment.derives(t.cls, known) for t in exception.type.members}
        if len(found) == 1 and all(isinstance(t, Type) for t in exception.type.members):
            m.push(Known(found.pop(), labels_of(classes)))
            return None
    effect = Effect.PURE if known is not None else Effect.OPAQUE
    m.push(m.emit(ops.exception_matches, [exception, classes], type=Type(bool), effect=effect))
    return None


def known_classes(m: Machine, classes: V) -> Any:
    """Return the class, or the tuple of classes, of an except clause; None unless they are known to be exception classes."""
    if isinstance(classes, Ref):
        obj = m.obj(classes, "tuple")
        items = obj.cells if obj is not None and obj.cls is tuple else None
        if items is None or not all(isinstance(c, Known) for c in items):
            return None
        found: Any = tuple(c.value for c in items if isinstance(c, Known))
    elif isinstance(classes, Known):
        found = classes.value
    else:
        return None
    flat = found if isinstance(found, tuple) else (found,)
    return found if all(isinstance(c, type) and issubclass(c, BaseException) for c in flat) else None


# ------------------------------------------------------------------------------------------------- with


#: The methods of a context manager, in the order in which they are looked up.
_CONTEXT: Final = ("__exit__", "__enter__") if wording.EXIT_FIRST else ("__enter__", "__exit__")
_LOOKUPS: Final = {"__enter__": ops.context_enter, "__exit__": ops.context_exit}


def with_enter(m: Machine) -> int | None:
    """BEFORE_WITH, or LOAD_SPECIAL and CALL (3.14): enter a context manager (stack: cm → exit, result of enter)."""
    manager = m.resolve(m.pop())
    cls = m.class_of(manager)
    if cls is not None:
        found = {}
        for name in _CONTEXT:
            raw = lookup(cls, name)
            if raw is None and not any(name in base.__dict__ for base in cls.__mro__):
                return m.raise_new(TypeError, wording.about(wording.without_context(name, cls), cls, cls))
            found[name] = _bound(m, manager, cls, raw)
        enter, leave = found["__enter__"], found["__exit__"]
        if enter is not None and leave is not None:
            m.push(leave)
            return m.call(enter, [], {})
    looked = {name: m.emit(_LOOKUPS[name], [manager]) for name in _CONTEXT}
    m.push(looked["__exit__"])
    return m.call(looked["__enter__"], [], {})


def _bound(m: Machine, manager: V, cls: type, raw: Any) -> V | None:
    """Bind a special method of the class to manager (_PyObject_LookupSpecial); None if only the real descriptor can do that."""
    if is_a(raw, FUNCTION | types.MethodDescriptorType | types.WrapperDescriptorType):
        return m.new(VObj("method", bound_class(raw), (Known(raw), manager)))
    if is_a(raw, staticmethod):
        return Known(raw.__func__)
    if is_a(raw, classmethod) and is_a(raw.__func__, FUNCTION):
        return m.new(VObj("method", types.MethodType, (Known(raw.__func__), Known(cls))))
    return Known(raw) if not hasattr(type(raw), "__get__") else None


def with_exit(m: Machine) -> int | None:
    """WITH_EXCEPT_START: call exit with the exception (stack: exit lasti prev exc → … result)."""
    stack = m.frame.stack
    leave, exception = stack[-4], stack[-1]
    cls = m.class_of(exception)
    kind: V = Known(cls) if cls is not None else m.emit(type, [exception], type=SOME, effect=Effect.PURE)
    real = exceptions.node_of(m, exception) if isinstance(exception, Ref) else exception
    traceback: V = m.emit(ops.traceback_of, [real], type=Type(types.TracebackType), effect=Effect.READS)
    return m.call(leave, [kind, exception, traceback], {})
