"""The effects of ``with np.errstate(...)`` where it asks only to ignore errors or warn: no error is raised, printed, or passed to a callback.

NumPy's class is Python code that is traced; the C functions that it calls make a state, store it in a context variable and
reset that again.  None of them runs user code, so knowledge of the heap survives the calls.
"""

from contextvars import ContextVar, Token
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Const, Refined, Type
from hovis.library.core import Primitive
from hovis.library.language.signatures.type_queries import NONE, class_of

#: Private to NumPy, and missing in versions that store the state in another way: there are no rules for the calls then.
MAKE: Final[Any] = getattr(np._core.umath, "_make_extobj", None)  # type: ignore[attr-defined]
VARIABLE: Final[Any] = getattr(np._core.umath, "_extobj_contextvar", None)  # type: ignore[attr-defined]

_CALM: Final = (None, "ignore", "warn")
_STATE: Final = Type(type(MAKE())) if MAKE is not None else None


def _is_ours(token: object) -> bool:
    return isinstance(token, Token) and token.var is VARIABLE


#: The type of the token that ``ContextVar.set`` returns for NumPy's variable.
_TOKEN: Final = Refined(Token, True, _is_ours)


def is_calm(asked: dict[str, Any]) -> bool:
    """Do the arguments of an error state request only modes that ignore errors or warn?"""
    return asked.keys() <= {"all", "divide", "over", "under", "invalid"} and all(type(mode) in (str, type(None)) and mode in _CALM for mode in asked.values())


def _made(**asked: AbstractValue) -> AbstractValue | None:
    known = {name: mode.value for name, mode in asked.items() if isinstance(mode, Const)}
    return _STATE if len(known) == len(asked) and is_calm(known) else None


def _set(variable: AbstractValue, state: AbstractValue) -> AbstractValue | None:
    return _TOKEN if class_of(variable) is ContextVar and _STATE is not None and class_of(state) is _STATE.cls else None


def _reset(variable: AbstractValue, token: AbstractValue) -> AbstractValue | None:
    return NONE if class_of(variable) is ContextVar and token == _TOKEN else None


ROWS: Final[list[Primitive]] = [] if MAKE is None or VARIABLE is None else [
    Primitive(MAKE, _made, Effect.READS, fold=False),
    Primitive(ContextVar.set, _set, Effect.READS | Effect.WRITES, fold=False),
    Primitive(ContextVar.reset, _reset, Effect.WRITES | Effect.RAISES, fold=False),  # it raises for a used token
]  # fmt: skip
