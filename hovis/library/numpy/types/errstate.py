"""What ``with np.errstate(…)`` does, where all that it asks for is calm: nothing is raised, printed or told to anybody.

NumPy's class is Python that is entered; what it calls makes a state, puts it into a context variable and takes it out again.
None of that runs code of the user's, so that what is known stays known.
"""

from contextvars import ContextVar, Token
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Const, Refined, Type
from hovis.library.core import Primitive
from hovis.library.language.signatures.type_queries import NONE, class_of

#: Private to NumPy, and missing where it keeps its state in another way: then the calls are what they are to everybody.
MAKE: Final[Any] = getattr(np._core.umath, "_make_extobj", None)  # type: ignore[attr-defined]
VARIABLE: Final[Any] = getattr(np._core.umath, "_extobj_contextvar", None)  # type: ignore[attr-defined]

_CALM: Final = (None, "ignore", "warn")
_STATE: Final = Type(type(MAKE())) if MAKE is not None else None


def _is_ours(token: object) -> bool:
    return isinstance(token, Token) and token.var is VARIABLE


#: What ``set`` gives for NumPy's variable.
_TOKEN: Final = Refined(Token, True, _is_ours)


def is_calm(asked: dict[str, Any]) -> bool:
    """Is there nothing in what a state is made from that would make errors heard?"""
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
    Primitive(ContextVar.reset, _reset, Effect.WRITES | Effect.RAISES, fold=False),  # of a token that has been used
]  # fmt: skip
