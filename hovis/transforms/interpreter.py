"""The reference semantics: what a Function means, op by op.

``evaluate(function, *args)`` runs it.  An :class:`Interpreter` has one method for each kind of thing in a Function;
whoever overrides some of them has an interpreter of his own.

It is written as plainly as it can be, for it is itself a program that hovis specializes: a known Function and its
interpreter give that Function back (docs/futamura.md).  So what a Function calls is a call here as well, what is known of
a Function alone is asked of :mod:`hovis.ir.analysis.live_ranges`, and while a handler is open the run goes on inside a real ``except``
block, so that a bare ``raise``, ``sys.exc_info()`` and ``__context__`` are what they are in Python.
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
    """What function gives for these arguments."""
    return _REFERENCE.evaluate(function, *args)


class Interpreter:
    """Runs Functions.  Override what shall mean something else."""

    # --------------------------------------------------------------------------------------------- to override

    def constant(self, value: Any) -> Any:
        """A known value among the operands."""
        return value

    def call(self, op: Op, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Any op but the call of a residual function."""
        if op.callee is current_exception:
            return sys.exception()
        return callee(*args, **kwargs)

    def enter(self, op: Op, function: Function, args: list[Any]) -> list[Any]:
        """A residual function is called; what it is to be given."""
        return args

    def generator(self, op: Op, function: Function, made: Any) -> Generator[Any, Any, Any]:
        """A residual generator function has been called, and has given this generator."""
        qualname = function.name if function.location is None else function.location.function
        made.__name__, made.__qualname__ = qualname.rpartition(".")[2], qualname
        return made  # type: ignore[no-any-return]

    def branch(self, branch: Branch, condition: Any) -> bool:
        """Which way?  True: the true edge."""
        return bool(condition)

    def caught(self, invoke: Invoke, error: BaseException) -> bool:
        """Does the error edge of an Invoke take this exception?"""
        return True

    def returned(self, terminator: Return, value: Any) -> Any:
        """What a Function gives back."""
        return value

    def raised(self, terminator: Raise, value: Any) -> Any:
        """The exception that ends a Function."""
        return value

    # --------------------------------------------------------------------------------------------- the machine

    def evaluate(self, function: Function, *args: Any) -> Any:
        """Run function from its entry to its end."""
        if len(args) != len(function.params):
            raise TypeError(f"{function.name} takes {len(function.params)} arguments, not {len(args)}")
        return self.run(Activation(function, args, lives(function)))

    def run(self, at: "Activation", handler: Op | None = None) -> Any:
        """Run an activation to its end, or until it has LEFT the handler in which it is now (which handler has begun).

        One Python frame for one call of a residual function, so that recursion may be as deep as Python's.
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
        """Run at until there is something to do for the machine: that, and with what, which at has been given.

        None with the result, enter_handler with the exception, leave_handler with LEFT, yield_, yield_from and yield_rest with
        what they yield, a Function with its activation.
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
                    # under no name here: with its own traceback an exception would hold itself
                    if terminator.again:
                        reraise(self.raised(terminator, at.last(self, terminator.value)))
                    raise self.raised(terminator, at.last(self, terminator.value))

    def event(self, at: "Activation", op: Op) -> Any:
        """What op asks of the machine, if it is the machine's to do."""
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
        """Do an op of no concern to the machine."""
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
        """As run, in a generator of Python's own: what the Function yields it yields."""
        while True:
            event = self.advance(at)
            if event is None or event is leave_handler:
                return at.taken()
            if event is enter_handler:
                exception = at.taken()
                part = self.lazily(at, at.pending)  # without yield from, by which a close would end it, and not go on behind the handler
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
                    # with its own traceback an exception would hold itself, and all that is here
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
    """One run of a Function: where it is, and the values that are still needed.

    given     what the machine is given to do something with
    pending   the op whose result the machine is to give
    invoke    the Invoke that is under way, if there is one
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
        """What an operand is now."""
        return interpreter.constant(operand.value) if isinstance(operand, Const) else self.values[operand]

    def each(self, interpreter: Interpreter, operands: Iterable[Operand]) -> list[Any]:
        """What these operands are now."""
        return [self.value(interpreter, operand) for operand in operands]

    def end(self, interpreter: Interpreter, operand: Operand) -> Any:
        """What an operand is now; no value is needed any more."""
        found = self.value(interpreter, operand)
        self.values = {}
        return found

    def last(self, interpreter: Interpreter, operand: Operand) -> Any:
        """What an operand is now, and under no name any more."""
        found = self.value(interpreter, operand)
        self.values = {value: held for value, held in self.values.items() if held is not found}
        return found

    def next(self) -> Op:
        """The next op."""
        op = self.block.ops[self.index]
        self.index += 1
        return op

    def keep(self, op: Op, result: Any) -> None:
        """op has given result."""
        self.values[op] = result
        self.release()

    def release(self) -> None:
        """Let go of what the op at hand has used last."""
        if self.invoke is None:
            for value in self.lives.last[self.block][self.index - 1]:
                self.values.pop(value, None)

    def go(self, interpreter: Interpreter, edge: Edge, error: BaseException | None = None) -> None:
        """Take an edge: what is not needed any more is not held any more."""
        args = [error if isinstance(arg, Caught) else self.value(interpreter, arg) for arg in edge.args]
        values = {value: self.values[value] for value in self.lives.needed[edge.block]}
        for param, arg in zip(edge.block.params, args, strict=True):
            values[param] = arg
        self.block, self.index, self.values = edge.block, 0, values

    def taken(self) -> Any:
        """What the machine is given, held no longer."""
        found, self.given = self.given, None
        return found

    def receive(self, result: Any) -> None:
        """The machine has done what the pending op asked for."""
        assert self.pending is not None
        op, self.pending = self.pending, None
        self.keep(op, result)

    def arrive(self, interpreter: Interpreter) -> None:
        """The op of the Invoke has given its result."""
        assert self.invoke is not None
        edge, self.invoke = self.invoke.ok, None
        self.go(interpreter, edge)

    def land(self, interpreter: Interpreter, error: BaseException) -> None:
        """The op of the Invoke has raised error."""
        assert self.invoke is not None
        edge, self.invoke, self.pending = self.invoke.error, None, None
        self.go(interpreter, edge, error)


class _Bare:
    """An iterator as ``yield from`` takes it: nobody asks it for an iterator again."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def __iter__(self) -> "_Bare":
        return self

    def __next__(self) -> Any:
        return next(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


def _resumed(exception: BaseException, resume: Callable[[Any], Any], given: Any) -> tuple[bool, Any]:
    """A generator goes on while exception is being handled: has it ended, and what does it give?"""
    try:
        return False, within(exception, partial(resume, given))
    except StopIteration as end:
        return True, end.value
    finally:
        del exception, given


LEFT: Final = object()
_YIELDING: Final = (yield_, yield_from, yield_rest)
_REFERENCE: Final = Interpreter()
