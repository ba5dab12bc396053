"""Actions for send, throw and close of generators whose frames are in the heap (CPython: Objects/genobject.c)."""

from typing import Any, Final

from hovis.engine.calls.inline_python import call_function
from hovis.engine.control import generators
from hovis.engine.machine.machine import Machine
from hovis.engine.state.lifetimes import GENERATOR
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V, operand_of
from hovis.engine.traced import generator_protocol
from hovis.ir import operations as ops
from hovis.ir.model import Effect, Op, Operand
from hovis.lattice import RAISED, Type, leq
from hovis.lattice.inspection import is_a
from hovis.library.virtual.base import Args, Named, action


def _gives_a_value() -> bool:
    """Does ``close`` return the return value of the generator (Python 3.13)?"""

    def returning() -> Any:
        try:
            yield
        except GeneratorExit:
            return 1

    made = returning()
    next(made)
    found: Any = made.close()
    return found is not None


_CLOSE: Final[Any] = generator_protocol.close_with_value if _gives_a_value() else generator_protocol.close


@action(GENERATOR.send)
def send(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 2 or named or not isinstance(args[0], Ref) or generators.virtual(m, args[0]) is None:
        return None
    return generators.resume(m, args[0], args[1], "value")


@action(GENERATOR.__next__)
def step(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 1 or named or not isinstance(args[0], Ref) or generators.virtual(m, args[0]) is None:
        return None
    return generators.resume(m, args[0], NONE, "value")


@action(GENERATOR.__iter__)
def itself(m: Machine, args: Args, named: Named) -> Any:
    return args[0] if len(args) == 1 and not named else None


def _thrown(m: Machine, args: Args) -> V | None:
    """Return the exception that is thrown, from one argument or the three of ``__exit__`` (its class, itself, its traceback); None if they do
    not fit together.
    """
    if len(args) == 2:
        return args[1]
    if len(args) != 4:
        return None
    kind, exception, traceback = args[1], m.resolve(args[2]), args[3]
    real = m.state.heap[exception.aid].node if isinstance(exception, Ref) else operand_of(exception)
    cls = m.class_of(exception)
    fits = _is_of(kind, type, real) if cls is None else isinstance(kind, Known) and kind.value is cls
    return exception if fits and _is_of(traceback, ops.traceback_of, real) else None


def _is_of(value: V, asked: object, real: Operand | None) -> bool:
    """Is value the result of calling asked on the object real?"""
    return isinstance(value, Dyn) and isinstance(value.value, Op) and value.value.callee is asked and value.value.args[0] is real


@action(GENERATOR.throw)
def throw(m: Machine, args: Args, named: Named) -> Any:
    exception = _thrown(m, args)
    if exception is None or named or not isinstance(args[0], Ref):
        return None
    obj = generators.virtual(m, args[0])
    if obj is None:
        return None
    if isinstance(exception, Known) and is_a(exception.value, type) and issubclass(exception.value, BaseException):
        model: Any = generator_protocol.throw_instance
        return call_function(m, Known(model), model, [args[0], exception, Known(GENERATOR.throw)], {})
    if not leq(m.type_of(exception), RAISED):
        generators.refuse(m, obj)
    return generators.throw(m, args[0], exception, "value")


@action(ops.throw_exit)
def throw_exit(m: Machine, args: Args, named: Named) -> Any:
    if not isinstance(args[0], Ref) or generators.virtual(m, args[0]) is None:
        return None
    return generators.throw_exit(m, args[0], "value")


@action(ops.unraisable)
def unraisable(m: Machine, args: Args, named: Named) -> Any:
    return m.emit(ops.unraisable, args, type=Type(type(None)), effect=Effect.IO | Effect.WRITES)


@action(ops.raise_again)
def raise_again(m: Machine, args: Args, named: Named) -> Any:
    return m.raise_(args[0], again=True)


@action(GENERATOR.close)
def close(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 1 or named or not isinstance(args[0], Ref):
        return None
    obj = generators.virtual(m, args[0])
    if obj is None:
        return None
    if obj.extra[0] == "running":
        return m.raise_new(ValueError, "generator already executing")
    if obj.extra[0] != "suspended":
        m.put(args[0], obj.ended())
        return NONE
    return call_function(m, Known(_CLOSE), _CLOSE, [args[0], Known(ops.throw_exit)], {})


