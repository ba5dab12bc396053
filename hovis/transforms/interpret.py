"""The reference semantics: what a Function means, op by op.

``evaluate(function, *args)`` runs it.  An :class:`Interpreter` has one method for each kind of thing in a Function;
whoever overrides some of them has an interpreter of his own.

Two things are the machine's own.  Residual functions run on a stack of :class:`Activation`, so that the depth of
recursion is the program's and not this interpreter's.  And while a handler is open the run goes on inside a real
``except`` block, so that a bare ``raise``, ``sys.exc_info()`` and ``__context__`` are what they are in Python.
"""

import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from typing import Any, Final, NoReturn

from hovis.ir.analysis import liveness, terminator_operands
from hovis.ir.model import Block, Branch, Caught, Edge, Function, Invoke, Jump, Op, Operand, Param, Raise, Return, Value, edges
from hovis.ir.operations import current_exception, drop, enter_handler, keep, leave_handler, yield_, yield_from
from hovis.lattice import Const


def evaluate(function: Function, *args: object) -> Any:
    """What function gives for these arguments."""
    return Interpreter().evaluate(function, *args)


class Interpreter:
    """Runs Functions.  Override what shall mean something else."""

    def __init__(self) -> None:
        self._needs: dict[Function, tuple[dict[Block, set[Value]], Deaths]] = {}

    # --------------------------------------------------------------------------------------------- to override

    def constant(self, value: Any) -> Any:
        """A known value among the operands."""
        return value

    def call(self, op: Op, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Any op but the call of a residual function."""
        if callee is current_exception:
            return sys.exception()
        return callee(*args, **kwargs)

    def enter(self, op: Op, function: Function, args: list[Any]) -> "Activation":
        """A residual function begins."""
        return Activation(function, args, *self._liveness(function))

    def generator(self, op: Op, function: Function, args: list[Any]) -> Generator[Any, Any, Any]:
        """A residual generator function is called."""
        made: Any = self._lazily([Activation(function, args, *self._liveness(function))])
        made.__name__ = made.__qualname__ = function.name
        if function.location is not None:
            made.__qualname__ = function.location.function
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

    def raised(self, terminator: Raise, value: Any) -> NoReturn:
        """The end of a Function by an exception."""
        try:
            if terminator.again:
                reraise(value)
            raise value
        finally:
            del value  # nor anywhere below: with its own traceback an exception would hold itself

    # --------------------------------------------------------------------------------------------- generators

    def _lazily(self, stack: "list[Activation]") -> Generator[Any, Any, Any]:
        """As _run, in a generator of Python's own: what the Function yields it yields."""
        base = len(stack)
        while True:
            event, value, error = self._attempt(stack)
            if event in _YIELDS:
                try:
                    value = (yield value[0]) if event is yield_ else (yield from _Bare(value[0]))
                except BaseException as thrown:
                    error = thrown
                else:
                    self._receive(stack[-1], value)
            elif event is enter_handler:
                part = self._lazily(stack)  # without yield from, by which a close would end it, and not go on behind the handler
                ended, after = _resumed(value, part.send, None)
                while not ended:
                    resume, given = part.send, None
                    try:
                        given = yield after
                    except BaseException as thrown:
                        resume, given = part.throw, thrown
                    ended, after = _resumed(value, resume, given)
                    del given
                if after is not _LEFT:
                    return after
            elif event is leave_handler:
                return _LEFT
            elif error is None:
                result = self._end_or_call(stack, event, value)
                if len(stack) < base:
                    return result
                if result is not _GO_ON:
                    self._receive(stack[-1], result)
            if error is not None and not self._catch(stack, base, error):
                try:
                    raise error
                finally:
                    del error, value

    def _attempt(self, stack: "list[Activation]") -> tuple[Any, Any, BaseException | None]:
        """The next event of the topmost activation, or the exception out of it."""
        try:
            return (*self._ops(stack[-1]), None)
        except BaseException as error:
            return None, None, error

    # --------------------------------------------------------------------------------------------- the machine

    def evaluate(self, function: Function, *args: Any) -> Any:
        """Run function from its entry to its end."""
        if len(args) != len(function.params):
            raise TypeError(f"{function.name} takes {len(function.params)} arguments, not {len(args)}")
        return self._run([Activation(function, args, *self._liveness(function))])

    def _liveness(self, function: Function) -> "tuple[dict[Block, set[Value]], Deaths]":
        if function not in self._needs:
            needs = liveness(function)
            self._needs[function] = needs, {block: last_uses(block, needs) for block in function.blocks}
        return self._needs[function]

    def _run(self, stack: "list[Activation]") -> Any:
        """Run until the topmost activation has ended, or has left the handler in which it is now."""
        base = len(stack)
        while len(stack) >= base:
            try:
                result = self._advance(stack)
            except BaseException as error:
                if not self._catch(stack, base, error):
                    raise
                continue
            if result is _LEFT:
                return _LEFT
            if len(stack) < base:
                return result
            if stack and result is not _GO_ON:
                self._receive(stack[-1], result)
        return result

    def _advance(self, stack: "list[Activation]") -> Any:
        """Run the topmost activation to its next event; its result, if it has ended."""
        at = stack[-1]
        event, value = self._ops(at)
        assert event not in _YIELDS, "a yield outside a generator"
        if event is enter_handler:
            after = within(value, lambda: self._run(stack))
            return _GO_ON if after is _LEFT else after
        if event is leave_handler:
            return _LEFT
        return self._end_or_call(stack, event, value)

    def _end_or_call(self, stack: "list[Activation]", event: Any, value: Any) -> Any:
        """The topmost activation has ended (event is None), or calls the Function that event is."""
        if event is None:
            stack.pop()
            return value
        if len(stack) >= sys.getrecursionlimit():
            raise RecursionError("maximum recursion depth exceeded")
        pending = stack[-1].pending
        assert pending is not None
        stack.append(self.enter(pending, event, value))
        return _GO_ON

    def _ops(self, at: "Activation") -> tuple[Any, Any]:
        """Run at until there is something to do for the machine: (None, result), (handler op, exception), (Function, args)."""
        while True:
            block = at.block
            while at.index < len(block.ops):
                op = block.ops[at.index]
                at.index += 1
                at.release(at.index - 2)
                event = self._op(at, op)
                if event is not None:
                    return event
            terminator = block.terminator
            match terminator:
                case Jump():
                    at.go(self, terminator.edge)
                case Branch():
                    chosen = self.branch(terminator, at.value(self, terminator.cond))
                    at.go(self, terminator.true if chosen else terminator.false)
                case Invoke():
                    at.invoke = terminator
                    event = self._op(at, terminator.op)
                    if event is not None:
                        return event
                    at.invoke = None
                    at.go(self, terminator.ok)
                case Return():
                    return None, self.returned(terminator, at.value(self, terminator.value))
                case Raise():
                    self.raised(terminator, at.last(self, terminator.value))

    def _op(self, at: "Activation", op: Op) -> tuple[Any, Any] | None:
        """Do one op; a pair if it is the machine's to do."""
        callee = op.callee
        if callee is enter_handler:
            return enter_handler, at.value(self, op.args[0])
        if callee is leave_handler:
            return leave_handler, None
        if callee is drop:
            at.release(at.index - 1)
            return None
        if callee is keep:
            return None
        args = [at.value(self, arg) for arg in op.args]
        if isinstance(callee, Function) and callee.is_generator:
            at.values[op] = self.generator(op, callee, args)
            return None
        if isinstance(callee, Function) or callee in _YIELDS:
            at.pending = op
            return callee, args
        if isinstance(callee, Param | Op):
            callee = at.value(self, callee)
        at.values[op] = self.call(op, callee, args, {name: at.value(self, value) for name, value in op.kwargs})
        return None

    def _receive(self, at: "Activation", result: Any) -> None:
        """A residual function has given its result to its caller."""
        assert at.pending is not None
        at.values[at.pending] = result
        at.pending = None
        if at.invoke is not None:
            edge, at.invoke = at.invoke.ok, None
            at.go(self, edge)

    def _catch(self, stack: "list[Activation]", base: int, error: BaseException) -> bool:
        """Find who catches error among the activations from base on, and go on there."""
        while len(stack) >= base:
            at = stack[-1]
            if at.invoke is not None and self.caught(at.invoke, error):
                edge, at.invoke, at.pending = at.invoke.error, None, None
                at.go(self, edge, error)
                return True
            stack.pop()
        return False


#: For each block and each of its ops, the values that the op uses last.
Deaths = Mapping[Block, list[list[Value]]]


def last_uses(block: Block, needs: Mapping[Block, set[Value]]) -> list[list[Value]]:
    """What dies with each op of block."""
    later: set[Any] = set(terminator_operands(block.terminator))
    if isinstance(block.terminator, Invoke):
        later |= set(block.terminator.op.operands())
    for edge in edges(block.terminator):
        later |= set(edge.args) | needs[edge.block]
    found: list[list[Value]] = []
    for op in reversed(block.ops):
        dying: list[Value] = []
        for value in (op, *op.operands()):
            if isinstance(value, Param | Op) and value not in later:
                later.add(value)
                dying.append(value)
        found.append(dying)
    return found[::-1]


class Activation:
    """One run of a Function: where it is, and the values that are still needed."""

    __slots__ = ("block", "deaths", "function", "index", "invoke", "needs", "pending", "values")

    def __init__(self, function: Function, args: Iterable[Any], needs: Mapping[Block, set[Value]], deaths: "Deaths") -> None:
        self.function = function
        self.block = function.blocks[0]
        self.index = 0
        self.values: dict[Any, Any] = dict(zip(function.params, args, strict=True))
        self.needs = needs
        self.deaths = deaths
        self.pending: Op | None = None
        self.invoke: Invoke | None = None

    def value(self, interpreter: Interpreter, operand: Operand) -> Any:
        """What an operand is now."""
        return interpreter.constant(operand.value) if isinstance(operand, Const) else self.values[operand]

    def last(self, interpreter: Interpreter, operand: Operand) -> Any:
        """What an operand is now, and under no name any more."""
        found = self.value(interpreter, operand)
        self.values = {value: held for value, held in self.values.items() if held is not found}
        return found

    def release(self, index: int) -> None:
        """Let go of what the op at index has used last."""
        if index >= 0:
            for value in self.deaths[self.block][index]:
                self.values.pop(value, None)

    def go(self, interpreter: Interpreter, edge: Edge, error: BaseException | None = None) -> None:
        """Take an edge: what is not needed any more is not held any more."""
        args = [error if isinstance(arg, Caught) else self.value(interpreter, arg) for arg in edge.args]
        needs = self.needs[edge.block]
        self.values = {value: held for value, held in self.values.items() if value in needs}
        self.values.update(zip(edge.block.params, args, strict=True))
        self.block, self.index = edge.block, 0


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


_YIELDS: Final = (yield_, yield_from)
_LEFT: Final = object()
_GO_ON: Final = object()


# ------------------------------------------------------------------------------------------------- exceptions


def within(exception: BaseException, go_on: Callable[[], Any]) -> Any:
    """go_on(), while exception is being handled; it is not changed by that, nor is what was handled before."""
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
    """What a raise of exception may change: its context, and the chain of what is being handled, where it occurs in it."""
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
