"""Residuals for calls in place of an executable: without checks of leaves that are checked already, and without repeating side effects."""

import contextlib
from collections.abc import Callable
from typing import Any, Final

from hovis.backend.assembler.assemble import assemble
from hovis.backend.entry.alias_checks import stands_apart
from hovis.backend.entry.prologue import parts_of
from hovis.base import deadline
from hovis.base.deadline import OutOfTime
from hovis.base.once import alone
from hovis.front import tracing
from hovis.front.callables import python_function
from hovis.front.traces import with_function
from hovis.passes import pipeline
from hovis_xla.abi.ordered_effects import Log, with_log

#: Fraction of the time limit of a first call that is allowed in addition, where residual Python is made only when it is first needed.
AFTERWARDS: Final = 0.5


def replaying(traced: tracing.Trace, log: Log) -> Callable[..., Any]:
    """Return the residual for calls that an executable has given up; it does not repeat the side effects that are in the log."""
    return log.once(with_function(traced, with_log(traced.function, log), traced.signature).by_position())


@alone
def without_checks(traced: tracing.Trace) -> Callable[..., Any] | None:
    """Return the residual as a function of its leaves, which its caller must check; None if the residual has to check more than that, or takes
    too long to make.
    """
    with contextlib.suppress(OutOfTime), deadline.within(AFTERWARDS / 2 * traced.options.limit(1)):
        function = pipeline.run(traced.function, traced.options.passes)
        signature = traced.signature
        order = {id(p): k for k, p in enumerate(signature.kept)}
        params = function.blocks[0].params
        if traced.fallback or function.is_generator or [order.get(id(p)) for p in params] != [*range(len(order))]:
            return None
        if any(True for _ in stands_apart(parts_of(signature), function, traced.static)):
            return None
        names = [f"leaf_{k}" for k in range(len(params))]
        target = python_function(traced.fn)[0]
        return assemble(function, target.__globals__ if target is not None else {}, parameters=names, lasting=frozenset(names))
    return None
