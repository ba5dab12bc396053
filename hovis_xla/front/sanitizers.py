"""Sanitizers: an Interpreter runs the residual op by op and looks at each result, to find the first NaN or the first int of more than 64 bits.

It raises an exception whose traceback ends on the user's line.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.backend.tracebacks import Untrim, outline
from hovis.errors import HovisError
from hovis.ir.model import Location, Op
from hovis.transforms.interpreter import Interpreter
from hovis_xla.analysis.ranges.integer_ranges import INT64
from hovis_xla.analysis.ranges.intervals import within

#: Functions whose results are uninitialized memory.
_RAW: Final = (np.empty, np.empty_like, np.ndarray)


class NanError(HovisError, FloatingPointError):
    """An operation gave a NaN (or an infinity, if that was asked for) although its operands had none. The traceback ends on its line.

    >>> import numpy as np
    >>> from hovis_xla import jit
    >>> try:
    ...     with np.errstate(invalid="ignore"):
    ...         jit(lambda x: np.sqrt(x) - x, debug_nans=True)(np.array([np.inf, 1.0]))
    ... except NanError as error: print(str(error).splitlines()[0])
    a NaN comes out of sub
    """


class Overflows(Interpreter):
    """An Interpreter that raises OverflowError where an int needs more than 64 bits."""

    def call(self, op: Op, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        found = super().call(op, callee, args, kwargs)
        if type(found) is int and not within((found, found), INT64):
            raise_at(op.location, OverflowError("an int needs more than 64 bits"))
        return found


class Nans(Interpreter):
    """An Interpreter that raises NanError where a NaN (with ``infinities``, also an infinity) arises."""

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
    """Raise an error with a traceback as if the user's line at ``location`` had raised it."""
    Untrim(outline(location))(error)
    raise error
