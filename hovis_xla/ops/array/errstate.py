"""``with np.errstate(…)`` that reports no floating-point errors: compiled code reports none anyway (a call that does report them runs in
Python).
"""

from contextvars import ContextVar
from typing import Any, Final

from hovis.library.numpy.types.errstate import MAKE, VARIABLE, is_calm
from hovis_xla.emit.values import Known, Operand
from hovis_xla.ops.scalar.python_numbers import L, Row

#: Placeholders in compiled code for an error state, and for the token that restores the state before it.
_STATE: Final = object()
_TOKEN: Final = object()


def _made(low: L, **asked: Operand) -> Operand | None:
    known = {name: mode.value for name, mode in asked.items() if isinstance(mode, Known)}
    return Known(_STATE) if len(known) == len(asked) and is_calm(known) else None


def _set(low: L, variable: Operand, state: Operand) -> Operand | None:
    ours = isinstance(variable, Known) and variable.value is VARIABLE
    return Known(_TOKEN) if ours and isinstance(state, Known) and state.value is _STATE else None


def _reset(low: L, variable: Operand, token: Operand) -> Operand | None:
    return Known(None) if isinstance(variable, Known) and variable.value is VARIABLE and isinstance(token, Known) and token.value is _TOKEN else None


ROWS: Final[dict[Any, Row]] = {} if MAKE is None else {MAKE: _made, ContextVar.set: _set, ContextVar.reset: _reset}
