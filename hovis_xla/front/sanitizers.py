"""Residuals run op by op, by an Interpreter that looks at each result: where does the first NaN arise, the first wide int?

What is found is raised as an exception whose traceback ends on the user's line.
"""

import types
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.errors import HovisError
from hovis.ir.model import Function, Location, Op
from hovis.ir.operations import PACKAGE
from hovis.transforms.interpreter import Interpreter
from hovis_xla.abi.bailout import GREATEST, LEAST

#: What they give holds whatever was in memory.
_RAW: Final = (np.empty, np.empty_like, np.ndarray)


class NanError(HovisError, FloatingPointError):
    """A NaN (or an infinity, if that was asked for) has come out of an operation whose operands had none: its line, and what they were.

    >>> import numpy as np
    >>> from hovis_xla import jit
    >>> try:
    ...     with np.errstate(invalid="ignore"):
    ...         jit(lambda x: np.sqrt(x) - x, debug_nans=True)(np.array([np.inf, 1.0]))
    ... except NanError as error: print(str(error).splitlines()[0])
    a NaN comes out of sub
    """


class Overflows(Interpreter):
    """Raises OverflowError where an int needs more than 64 bits."""

    def call(self, op: Op, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        found = super().call(op, callee, args, kwargs)
        if type(found) is int and not LEAST <= found <= GREATEST:
            raise_at(op.location, OverflowError("an int needs more than 64 bits"))
        return found


class Nans(Interpreter):
    """Raises NanError where a NaN arises; or an infinity, too."""

    def __init__(self, infinities: bool) -> None:
        self.is_bad: Callable[[Any], Any] = (lambda x: ~np.isfinite(x)) if infinities else np.isnan
        self.what = "a NaN or an infinity" if infinities else "a NaN"

    def call(self, op: Op, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        before = any(map(self.has_bad, [*args, *kwargs.values()]))
        found = super().call(op, callee, args, kwargs)
        if not before and callee not in _RAW and self.has_bad(found):
            name = getattr(callee, "__name__", None) or str(callee)
            raise_at(op.location, NanError(f"{self.what} comes out of {name}"))
        return found

    def has_bad(self, value: Any) -> bool:
        kind = type(value)
        if kind is float or kind is complex or isinstance(value, np.inexact):
            return bool(self.is_bad(value))
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            return bool(np.any(self.is_bad(value)))
        return any(map(self.has_bad, value)) if kind is tuple or kind is list else False


def raise_at(location: Location | None, error: Exception) -> None:
    """Raise, as if the user's line had done it."""
    places = [at for at in location.chain() if not at.file.startswith(PACKAGE)] if location is not None else []
    run: Callable[[], Any] | None = None
    for place in places:
        text, scope = ("raise error", {"error": error}) if run is None else ("run()", {"run": run})
        code = compile("\n" * ((place.line or 1) - 1) + text, place.file, "exec")
        run = types.FunctionType(code.replace(co_name=place.function.rpartition(".")[2], co_qualname=place.function), scope)
    if run is None:
        raise error
    try:
        run()
    except type(error) as raised:
        trace = raised.__traceback__
        raised.place = trace.tb_next if trace is not None else None  # type: ignore[attr-defined]
        raise


def watched(interpreter: Interpreter, function: Function, leaves: Sequence[Any]) -> Any:
    """Run a Function op by op; the traceback of what is found has the user's frames alone."""
    try:
        return interpreter.evaluate(function, *leaves)
    except (NanError, OverflowError) as error:
        raise error.with_traceback(getattr(error, "place", error.__traceback__)) from None
