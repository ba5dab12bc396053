"""The reference interpreter for Functions: it defines their semantics, op by op.

``evaluate(function, *args)`` runs a Function.  An :class:`Interpreter` has one method for each kind of operation in a Function;
a subclass that overrides some of them is an interpreter with another meaning of these.

The code is as simple as possible, because it is itself a program that hovis specializes: specializing the interpreter to a known
Function gives that Function back (docs/futamura.md).  Therefore a call in a Function is a Python call here as well, facts that depend
on the Function alone come from :mod:`hovis.ir.analysis.live_ranges`, and while a handler is open, execution continues inside a real
``except`` block, so that a bare ``raise``, ``sys.exc_info()`` and ``__context__`` behave as they do in Python.
"""

import sys
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any, Final

from hovis.ir.analysis.live_ranges import Lives, lives
from hovis.ir.model import Branch, Caught, Edge, Function, Invoke, Jump, Op, Operand, Param, Raise, Return
from hovis.ir.operations import current_exception, drop, enter_handler, going_on, keep, leave_handler, meet, reraise, within, yield_, yield_from, yield_rest
from hovis.lattice import Const


def evaluate(function: Function, *args: object) -> Any:
    """Run function on these arguments and return its result."""
    return _REFERENCE.evaluate(function, *args)


class Interpreter:
    """Runs Functions. Override the methods of operations that are to have another meaning."""

    # --------------------------------------------------------------------------------------------- methods to override

    def constant(self, value: Any) -> Any:
        """Return the value of a constant operand."""
        return value

    def call(self, op: Op, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Execute an op that does not call a residual function, and return its result."""
        if op.callee is current_exception:
            return sys.exception()
        return callee(*args, **kwargs) if kwargs else callee(*args)  # C code may refuse empty keyword arguments

    def enter(self, op: Op, function: Function, args: list[Any]) -> list[Any]:
        """Return the arguments for a call of a residual function."""
        return args

    def generator(self, op: Op, function: Function, made: Any) -> Generator[Any, Any, Any]:
        """Return the generator for a call of a residual generator function: ``made``, with the names of the function."""
        qualname = function.name if function.location is None else function.location.function
        made.__name__, made.__qualname__ = qualname.rpartition(".")[2], qualname
        return made  # type: ignore[no-any-return]

    def branch(self, branch: Branch, condition: Any) -> bool:
        """Decide a branch: True takes the true edge."""
        return bool(condition)

    def caught(self, invoke: Invoke, error: BaseException) -> bool:
        """Does the error edge of an Invoke catch this exception?"""
        return True

    def returned(self, terminator: Return, value: Any) -> Any:
        """Return the result of a Function whose return value is value."""
        return value

    def raised(self, terminator: Raise, value: Any) -> Any:
        """Return the exception that ends a Function."""
        return value

    # --------------------------------------------------------------------------------------------- execution

    def evaluate(self, function: Function, *args: Any) -> Any:
        """Run function from its entry to its end."""
        if len(args) != len(function.params):
            raise TypeError(f"{function.name} takes {len(function.params)} arguments, not {len(args)}")
        return self.run(Activation(function, args, lives(function)))

    def run(self, at: "Activation", handler: Op | None = None) -> Any:
        """Run an activation to its end, or until it has LEFT the handler that it is in (the op ``handler`` has entered that).

        Each call of a residual function takes one Python frame, so that recursion may be as deep as in Python.
        """
        while True:
            event = self.advance(at)
            if event is None or event is leave_handler:
                return at.taken()
            assert not any(event is one for one in _YIELDING), "a yield outside a generator"
            if event is enter_handler:
                result = within(at.taken(), partial(self.run, at, at.pending))
                if result is not LEFT:
                    return result
            elif at.invoke is None:
                at.receive(self.run(at.taken()))
            else:
                try:
                    at.receive(self.run(at.taken()))
                except BaseException as error:
                    if not self.caught(at.invoke, error):
                        raise
                    at.land(self, error)
                else:
                    at.arrive(self)

    def advance(self, at: "Activation") -> Any:
        """Run at until there is something to do for ``run`` (or ``lazily``); return this event. Its argument is in ``at.given``.

        The events and their arguments: None with the result, enter_handler with the exception, leave_handler with LEFT, yield_,
        yield_from and yield_rest with their operand, a Function with its activation.
        """
        while True:
            if at.index == 0 and at.lives.joins[at.block]:
                meet()
            while at.index < len(at.block.ops):
                op = at.next()
                event = self.event(at, op)
                if event is not None:
                    return event
                self.do(at, op)
            terminator = at.block.terminator
            match terminator:
                case Jump():
                    at.go(self, terminator.edge)
                case Branch():
                    if self.branch(terminator, at.value(self, terminator.cond)):
                        at.go(self, terminator.true)
                    else:
                        at.go(self, terminator.false)
                case Invoke():
                    at.invoke = terminator
                    event = self.event(at, terminator.op)
                    if event is not None:
                        return event
                    try:
                        self.do(at, terminator.op)
                    except BaseException as error:
                        if not self.caught(terminator, error):
                            raise
                        at.land(self, error)
                    else:
                        at.arrive(self)
                case Return():
                    at.given = self.returned(terminator, at.end(self, terminator.value))
                    return None
                case Raise():
                    # no local variable holds the exception: through its traceback, and this frame, it would refer to itself
                    if terminator.again:
                        reraise(self.raised(terminator, at.last(self, terminator.value)))
                    raise self.raised(terminator, at.last(self, terminator.value))

    def event(self, at: "Activation", op: Op) -> Any:
        """Return the event that op requests from ``run``, or None if it is an op for ``do``."""
        callee = op.callee
        if callee is enter_handler:
            at.pending, at.given = op, at.value(self, op.args[0])
        elif callee is leave_handler:
            at.given = LEFT
        elif callee is yield_ or callee is yield_from or callee is yield_rest:
            at.pending, at.given = op, at.value(self, op.args[0])
        elif isinstance(callee, Function) and not callee.is_generator:
            at.pending, at.given = op, Activation(callee, self.enter(op, callee, at.each(self, op.args)), at.lives)
        else:
            return None
        return callee

    def do(self, at: "Activation", op: Op) -> None:
        """Execute an op that is no event for ``run``."""
        callee = op.callee
        if callee is drop:
            at.release()
        elif callee is not keep:
            args = at.each(self, op.args)
            if isinstance(callee, Function):
                at.keep(op, self.generator(op, callee, self.lazily(Activation(callee, self.enter(op, callee, args), at.lives))))
            else:
                if isinstance(callee, Param | Op):
                    callee = at.values[callee]
                at.keep(op, self.call(op, callee, args, {name: at.value(self, value) for name, value in op.kwargs}))

    # --------------------------------------------------------------------------------------------- generators

    def lazily(self, at: "Activation", handler: Op | None = None) -> Generator[Any, Any, Any]:
        """Run an activation like ``run``, but in a Python generator that yields what the Function yields."""
        while True:
            event = self.advance(at)
            if event is None or event is leave_handler:
                return at.taken()
            if event is enter_handler:
                exception = at.taken()
                # not with yield from: close() would then end this generator, too, where the Function may continue behind the handler
                part = self.lazily(at, at.pending)
                resume, given = part.send, None
                try:
                    ended, after = _resumed(exception, resume, given)
                    while not ended:
                        resume, given = part.send, None
                        try:
                            given = yield after
                        except BaseException as thrown:
                            resume, given = part.throw, thrown
                        ended, after = _resumed(exception, resume, given)
                finally:
                    # through its traceback, and this frame, the exception would refer to itself and to all values here
                    exception = given = None
                if after is not LEFT:
                    return after
                continue
            try:
                if event is yield_:
                    at.receive((yield at.taken()))
                elif event is yield_from:
                    at.receive((yield from _Bare(at.taken())))
                elif event is yield_rest:
                    at.receive((yield from going_on(at.taken())))
                else:
                    at.receive(self.run(at.taken()))
            except BaseException as error:
                if at.invoke is None or not self.caught(at.invoke, error):
                    raise
                at.land(self, error)
            else:
                if at.invoke is not None:
                    at.arrive(self)


class Activation:
    """One activation of a Function: its position, and the values that are still live.

    given     the argument of the last event, for ``run`` or ``lazily``
    pending   the op whose result ``run`` or ``lazily`` has to supply
    invoke    the Invoke that is being executed, or None
    """

    __slots__ = ("block", "given", "index", "invoke", "lives", "pending", "values")

    def __init__(self, function: Function, args: Iterable[Any], known: Lives) -> None:
        self.block = function.blocks[0]
        self.index = 0
        self.lives = known
        self.values: dict[Any, Any] = dict(zip(function.params, args, strict=True))
        self.given: Any = None
        self.pending: Op | None = None
        self.invoke: Invoke | None = None

    def value(self, interpreter: Interpreter, operand: Operand) -> Any:
        """Return the current value of an operand."""
        return interpreter.constant(operand.value) if isinstance(operand, Const) else self.values[operand]

    def each(self, interpreter: Interpreter, operands: Iterable[Operand]) -> list[Any]:
        """Return the current values of these operands."""
        return [self.value(interpreter, operand) for operand in operands]

    def end(self, interpreter: Interpreter, operand: Operand) -> Any:
        """Return the current value of an operand, and release all values."""
        found = self.value(interpreter, operand)
        self.values = {}
        return found

    def last(self, interpreter: Interpreter, operand: Operand) -> Any:
        """Return the current value of an operand, and release it under every name."""
        found = self.value(interpreter, operand)
        self.values = {value: held for value, held in self.values.items() if held is not found}
        return found

    def next(self) -> Op:
        """Return the next op, and advance behind it."""
        op = self.block.ops[self.index]
        self.index += 1
        return op

    def keep(self, op: Op, result: Any) -> None:
        """Record result as the result of op, and release the values that op used last."""
        self.values[op] = result
        self.release()

    def release(self) -> None:
        """Release the values whose last use was the current op."""
        if self.invoke is None:
            for value in self.lives.last[self.block][self.index - 1]:
                self.values.pop(value, None)

    def go(self, interpreter: Interpreter, edge: Edge, error: BaseException | None = None) -> None:
        """Take an edge, and release the values that are not needed behind it."""
        args = [error if isinstance(arg, Caught) else self.value(interpreter, arg) for arg in edge.args]
        values = {value: self.values[value] for value in self.lives.needed[edge.block]}
        for param, arg in zip(edge.block.params, args, strict=True):
            values[param] = arg
        self.block, self.index, self.values = edge.block, 0, values

    def taken(self) -> Any:
        """Return ``given``, and do not hold it any longer."""
        found, self.given = self.given, None
        return found

    def receive(self, result: Any) -> None:
        """Record result as that of the pending op."""
        assert self.pending is not None
        op, self.pending = self.pending, None
        self.keep(op, result)

    def arrive(self, interpreter: Interpreter) -> None:
        """Take the ok edge of the current Invoke, whose op has given its result."""
        assert self.invoke is not None
        edge, self.invoke = self.invoke.ok, None
        self.go(interpreter, edge)

    def land(self, interpreter: Interpreter, error: BaseException) -> None:
        """Take the error edge of the current Invoke, whose op has raised error."""
        assert self.invoke is not None
        edge, self.invoke, self.pending = self.invoke.error, None, None
        self.go(interpreter, edge, error)


class _Bare:
    """A wrapper of an iterator for ``yield from``, which takes it without calling ``iter`` on the iterator again."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def __iter__(self) -> "_Bare":
        return self

    def __next__(self) -> Any:
        return next(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


def _resumed(exception: BaseException, resume: Callable[[Any], Any], given: Any) -> tuple[bool, Any]:
    """Resume a generator while exception is being handled; return whether it has ended, and the value that it returned or yielded."""
    try:
        return False, within(exception, partial(resume, given))
    except StopIteration as end:
        return True, end.value
    finally:
        del exception, given


LEFT: Final = object()
_YIELDING: Final = (yield_, yield_from, yield_rest)
_REFERENCE: Final = Interpreter()
