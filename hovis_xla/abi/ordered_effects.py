"""Side effects of compiled code: visible calls of the host, done in program order.

An *act* (``print``, logging, a write to a stream, a read of the clock, a random number) becomes a callback, ordered by a
token.  Its operands are built by the host: numbers of the program, known objects, and containers and strings made of them.

**A call that is given up after an act** is done again by Python, and no act is done twice: a run keeps a
record of its acts, and in the residual that does the call again each act first consults the record (:class:`Log`).  The
recorded acts are answered from it, including their exceptions; later acts are done.  Python may take another path than
the program did (if a decision depends on the last bit of a float), and reach another act than the next one of the record. Then the rest of
the record is dropped, and all further acts are done.
"""

import functools
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hovis.ir.model import Function, Location, Op, callees
from hovis.ir.operations import PACKAGE
from hovis.library.numpy.rules.aliasing import is_in
from hovis.passes.rewriting import copy
from hovis_xla.abi.bailout import to_python
from hovis_xla.abi.call_entry import BAILED
from hovis_xla.abi.run_record import Done, Record
from hovis_xla.analysis.persistent_scalars import is_about, variables
from hovis_xla.analysis.primitive_effects import ENVIRONMENT
from hovis_xla.analysis.side_effects import acts, is_open
from hovis_xla.emit.values import Num

# ------------------------------------------------------------------------------------------------- while the program runs

#: ``("leaf", k)``, ``("known", value)``, ``("either", k)``, ``("oneof", k, trees)`` or ``("build", callee, trees, number)``.
Tree = tuple[Any, ...]


class Redo(Exception):
    """Raised where an act fails, or its arguments cannot be built: Python does the call again, and raises the exception."""


class Act:
    """A callback that does what an op does, and records it. ``result``: the type of the result that it returns to the program, if any."""

    def __init__(
        self, fn: Callable[..., Any], args: Sequence[Tree], names: Sequence[str], nums: Sequence[Num], result: Num | None = None, site: Location | None = None
    ) -> None:
        self.fn = fn
        self.args = tuple(args)
        self.names = tuple(names)
        self.nums = tuple(nums)
        self.result = result
        self.site = site
        self.record: Any = []
        self.failures: list[BaseException] = []

    def __call__(self, token: object, *values: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        try:
            plain, named = self._arguments(values)
        except BaseException:
            self.failures.append(Redo())
            raise
        try:
            given = self.fn(*plain, **named)
        except BaseException as error:
            self.record.append(Done(self.site, None, error))
            self.failures.append(Redo())
            raise
        if self.result is None:
            self.record.append(Done(self.site))
            return (token,)
        self.record.append(Done(self.site, given))
        python = self.result.python
        if type(given) is not (self.result.dtype.type if python is None else python):
            self.failures.append(Redo())
            raise Redo
        return token, np.array(given, self.result.dtype)

    def _arguments(self, values: Sequence[np.ndarray[Any, Any]]) -> tuple[list[Any], dict[str, Any]]:
        given = [to_python(num, np.array(value)) for num, value in zip(self.nums, values, strict=True)]
        built: dict[object, Any] = {}
        made = [_made(tree, given, built) for tree in self.args]
        count = len(made) - len(self.names)
        return made[:count], dict(zip(self.names, made[count:], strict=True))


class Reread:
    """A callback that reads something of the environment again, and returns whether it has changed. Where acts may change it, the read is
    recorded as an act.
    """

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], found: Any, site: Location | None, record: Record | None) -> None:
        self.fn = fn
        self.args = tuple(args)
        self.found = found
        self.site = site
        self.record = record

    def __call__(self, token: object) -> tuple[Any, ...]:
        try:
            found = self.fn(*self.args)
            done, same = Done(self.site, found), found is self.found
        except Exception as error:
            done, same = Done(self.site, None, error), False
        if self.record is not None:
            self.record.append(done)
        return token, np.array(not same)


def _made(tree: Tree, given: Sequence[Any], built: dict[object, Any]) -> Any:
    """Build an operand from the numbers that the program has passed."""
    match tree:
        case ("leaf", at):
            return given[at]
        case ("known", value):
            return value
        case ("either", at):
            return given[at] if given[at + 1] else given[at].item()
        case ("oneof", at, trees):
            return _made(trees[int(given[at])], given, built)
        case ("build", callee, parts, number):
            if number not in built:
                built[number] = callee(*(_made(p, given, built) for p in parts))
            return built[number]
    raise AssertionError(tree)


@functools.lru_cache(maxsize=256)
def safely(callee: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``callee``, which builds a part of the result: an exception becomes ``Redo``, and Python raises it again on its own line."""

    def made(*parts: Any) -> Any:
        try:
            return callee(*parts)
        except Exception:
            raise Redo from None

    made.__name__ = getattr(callee, "__name__", "made")
    return made


def guarded(enter: Callable[..., Any], record: Record, log: "Log") -> Callable[..., Any]:
    """Wrap the entry of a program that has side effects: one call at a time, and the acts of a call that was given up go to the log."""
    lock = threading.Lock()

    def call(*leaves: Any) -> Any:
        log.begin(())
        if not lock.acquire(blocking=False):
            return BAILED
        try:
            record.begin(leaves)
            result = enter(*leaves)
            if result is BAILED and record:
                record.undo()
                log.begin(record)
            return result
        except Redo:
            record.undo()
            log.begin(record)
            return BAILED
        finally:
            record.begin(())
            lock.release()

    return call


# ------------------------------------------------------------------------------------------------- while Python does the call again


class Log(threading.local):
    """The acts that are already done when Python does a call again. Each act of the residual asks for its answer, in order.

    ``apart``: the residual comes from another trace than the program, in which other calls may be inlined. Of an act's location only the
    line is compared then, not the call stack.
    """

    def __init__(self, apart: bool = False) -> None:
        self.apart = apart
        self.done: list[Done] = []
        self.at = 0

    def begin(self, record: Sequence[Done]) -> None:
        """Set the acts of this thread that are already done."""
        self.done = list(record)
        self.at = 0

    def once(self, again: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the function that does a call again: empty the log afterwards."""

        def call(*args: Any) -> Any:
            try:
                return again(*args)
            finally:
                self.begin(())

        return call

    def answer(self, site: Location | None) -> Done | None:
        """Return the next act of the log if it was done at this place. Otherwise return None, and drop the rest of the log."""
        if self.at >= len(self.done):
            return None
        found = self.done[self.at]
        place = found.site
        if place != site and not (self.apart and place is not None and site is not None and place[:-1] == site[:-1]):
            self.begin(())
            return None
        self.at += 1
        return found


def logged(fn: Callable[..., Any], site: Location | None, log: Log) -> Callable[..., Any]:
    """Wrap ``fn`` for the residual that does a call again: an act that is already done is answered from the log."""

    def act(*args: Any, **kwargs: Any) -> Any:
        if log.done:
            answer = log.answer(site)
            if answer is not None:
                for k, content in answer.stored:
                    args[k][...] = content
                for array, content in answer.changed:
                    array[...] = content
                if answer.error is not None:
                    raise answer.error.with_traceback(answer.trace)
                return answer.value if answer.itself is None else args[answer.itself]
        return fn(*args, **kwargs)

    return types.FunctionType(_hidden(act.__code__), act.__globals__, getattr(fn, "__name__", "act"), None, act.__closure__)


def _hidden(code: types.CodeType) -> types.CodeType:
    """Return the code with a file name that tracebacks leave out, as for all code of hovis."""
    return code.replace(co_filename=f"{PACKAGE}acting")


def with_log(function: Function, log: Log) -> Function:
    """Copy the function, and let its acts (and those of all functions that it reaches) be answered from the log first."""
    made = copy(function)
    reads, own = rereads(made), variables(made)
    for one in callees(made):
        for op in list(one.ops()):
            log_op(op, log, reads and not is_about(op, own))
    return made


def rereads(function: Function) -> bool:
    """May an act of the function change the environment? If it may, reads of the environment are recorded as well."""
    return any(is_open(op) for one in callees(function) for op in one.ops())


def log_op(op: Op, log: Log, reads: bool = False) -> None:
    """Let an act ask the log first. ``reads``: let a read of the environment do this, too."""
    if not callable(op.callee) or isinstance(op.callee, Function):
        return
    read = is_in(op.callee, ENVIRONMENT)
    if reads if read else acts(op):
        op.callee = logged(op.callee, op.location, log)
