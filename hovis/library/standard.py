"""The default library for tracing: rules for virtual objects, NumPy and Python."""

import operator
from collections.abc import Callable
from typing import Any, Final

from hovis.engine.state.values import Known
from hovis.ir import operations
from hovis.ir.model import Effect
from hovis.lattice import Type
from hovis.library.core import Library
from hovis.library.language.raises import RAISES
from hovis.library.numpy import numpy_over
from hovis.library.numpy.adjoints.rule_queries import ACTIONS as QUESTIONS
from hovis.library.numpy.models.array_coercion import BESIDE, TAKING
from hovis.library.numpy.models.engine_actions import ACTIONS, METHODS, subscripted
from hovis.library.numpy.models.higher_order import CALLING
from hovis.library.numpy.models.nditer import WALKS
from hovis.library.numpy.models.traced_functions import ENTERING
from hovis.library.numpy.types.attributes import ABSTRACTIONS, FIXED, array_attributes, attribute, make_array
from hovis.library.python import ATTRIBUTES, PYTHON
from hovis.library.virtual import VIRTUAL


def _attributes() -> dict[tuple[type, str], Callable[[Any, Any], Any]]:
    found: dict[tuple[type, str], Callable[[Any, Any], Any]] = dict(array_attributes())
    for descriptor, kind in ATTRIBUTES.items():
        owner, name = descriptor.__objclass__, descriptor.__name__  # type: ignore[attr-defined]
        found[owner, name] = attribute(owner, name, lambda _, kind=kind: (kind, Effect.PURE))  # type: ignore[misc]
    # these two return the exact int itself
    found[int, "numerator"] = found[int, "real"] = lambda _, value: value
    found[int, "denominator"] = lambda _, value: Known(1)
    found[int, "imag"] = lambda _, value: Known(0)
    return found


#: Callables whose result has one class, whatever the arguments are.
_ALWAYS: Final[tuple[tuple[type, tuple[Any, ...]], ...]] = (
    (bool, (bool, operator.not_, operator.truth, operator.contains, operator.is_, operator.is_not, isinstance, issubclass, callable, hasattr)),
    (int, (len, id, hash, operator.index, operations.converted, operations.converted_to_hash)),
    (float, (operations.converted_to_float,)),
    (list, (sorted, dir)),
    (type(None), (setattr, delattr, operator.setitem, operator.delitem, print)),
)

_OPERATORS: Final = Library("operators beside arrays", actions=BESIDE)
_LISTS: Final = Library("lists in the place of arrays", actions=TAKING)
_ACTING: Final = Library("what NumPy's functions need", actions={**CALLING, **ENTERING, **ACTIONS, **QUESTIONS})
_SUBSCRIPTS: Final = Library("subscripts", actions={fn: subscripted(fn) for fn in (operator.getitem, operator.setitem)})

STANDARD: Final = _LISTS | _ACTING | _OPERATORS | _SUBSCRIPTS | WALKS | VIRTUAL | numpy_over(PYTHON)
STANDARD.name = "standard"
STANDARD.abstractions.update(ABSTRACTIONS)
STANDARD.fixed.update(FIXED)
STANDARD.attributes.update(METHODS)
STANDARD.attributes.update(_attributes())
for _kind, _callables in _ALWAYS:
    STANDARD.always.update((fn, Type(_kind)) for fn in _callables)
STANDARD.raises.update(RAISES)

__all__ = ["STANDARD", "make_array"]
