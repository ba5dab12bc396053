"""Side effects of compiled code: visible calls of the host, done in program order.

An *act* (``print``, logging, a write to a stream, a read of the clock, a random number) becomes a callback, ordered by a
token.  Its operands are built by the host: numbers of the program, known objects, and containers and strings made of them.

**A call that is given up after an act** is done again by Python, and no act is done twice: a run keeps a
record of its acts, and in the residual that does the call again each act first consults the record (:class:`Log`).  The
recorded acts are answered from it, including their exceptions; later acts are done.  Python may take another path than
the program did (if a decision depends on the last bit of a float), and reach another act than the next one of the record. Then the rest of
the record is dropped, and all further acts are done.
"""

import contextlib
import functools
import threading
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hovis.ir.model import Function, Location, Op, callees
from hovis.ir.operations import PACKAGE
from hovis.library.numpy.rules.aliasing import is_in
from hovis.passes.rewriting import copy
from hovis_xla.abi.call_entry import BAILED
from hovis_xla.abi.callback import Callback
from hovis_xla.abi.run_record import Done, Record
from hovis_xla.analysis.persistent_scalars import is_about, variables
from hovis_xla.analysis.primitive_effects import ENVIRONMENT
from hovis_xla.analysis.side_effects import acts, is_open
from hovis_xla.emit.values import Num

# ------------------------------------------------------------------------------------------------- while the program runs


class Redo(Exception):
    """Raised where an act fails, or its arguments cannot be built: Python does the call again, and raises the exception."""


@dataclass(eq=False)
class Act(Callback):
    """A callback that does what an op does, and records it. ``result``: the type of the result that it returns to the program, if any."""

    record: list[Done] = field(default_factory=list)
    result: Num | None = None
    site: Location | None = None

    def __call__(self, token: object, *values: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        try:
            return token, *self.run(values)
        except BaseException:
            self.failures.append(Redo())
            raise

    def run(self, values: Sequence[np.ndarray[Any, Any]]) -> Sequence[np.ndarray[Any, Any]]:
        """Do the act; return what is passed to the program. Any exception leads to ``Redo``."""
        plain, named = self.arguments(list(map(np.array, values)))
        try:
            given = self.fn(*plain, **named)
        except BaseException as error:
            self.record.append(Done(self.site, None, error))
            raise
        self.record.append(Done(self.site, None if self.result is None else given))
        if self.result is None:
            return ()
        python = self.result.python
        if type(given) is not (self.result.dtype.type if python is None else python):
            raise Redo
        return (np.array(given, self.result.dtype),)


@dataclass(eq=False)
class Reread:
    """A callback that reads something of the environment again, and returns whether it has changed. Where acts may change it, the read is
    recorded as an act.
    """

    fn: Callable[..., Any]
    args: Sequence[Any]
    found: Any
    site: Location | None
    record: Record | None

    def __call__(self, token: object) -> tuple[Any, ...]:
        try:
            found = self.fn(*self.args)
            done, same = Done(self.site, found), found is self.found
        except Exception as error:
            done, same = Done(self.site, None, error), False
        if self.record is not None:
            self.record.append(done)
        return token, np.array(not same)


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
            with contextlib.suppress(Redo):
                result = enter(*leaves)
                if result is not BAILED or not record:
                    return result  # without a record, a program with longer tapes may have done the call, and filled the log
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

    code = act.__code__.replace(co_filename=f"{PACKAGE}acting")  # tracebacks leave it out, as all code of hovis
    return types.FunctionType(code, act.__globals__, getattr(fn, "__name__", "act"), None, act.__closure__)


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
