"""Known tables of functions and objects, with an unknown key: the key is compared with those that are there.

What is found chooses what happens next (a handler, the next state), so it is known on each way.  Tables of plain data stay
tables: a look-up is quicker than a row of comparisons.
"""

import operator
import types
from typing import Any, Final

from hovis.engine.entering import call_function
from hovis.engine.heap import VObj
from hovis.engine.lookups import is_python_class
from hovis.engine.machine import Machine
from hovis.engine.values import Dyn, Known, Ref, V
from hovis.library import methods
from hovis.library.virtual.base import Args, Named, action
from hovis.library.virtual.dicts import dict_of
from hovis.library.virtual.sequences import cells_of

#: Entries of a table whose keys are compared one by one.
PICKED: Final = 16
_FUNCTIONS: Final = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, type)
#: Classes of keys that are equal only to keys of these, and how they are compared shows nowhere.
_KEYS: Final[dict[type | None, set[type]]] = {str: {str}, bytes: {bytes}, int: {int, bool}, bool: {int, bool}}


def _acts(m: Machine, value: V) -> bool:
    """Is it a function, a class, or an object with methods written in Python?"""
    if isinstance(value, Ref):
        return m.state.heap[value.aid].kind in ("function", "method", "instance", "class")
    return isinstance(value, Known) and (isinstance(value.value, _FUNCTIONS) or is_python_class(type(value.value)))


def _unknown(m: Machine, key: V) -> set[type] | None:
    """The classes of keys that an unknown key, which nothing could make known, can be equal to."""
    return _KEYS.get(m.class_of(key)) if type(key) is Dyn and key.lost is None else None


def _in_dict(m: Machine, args: Args) -> VObj | None:
    """The dict, if its keys are to be compared."""
    kinds = _unknown(m, args[1])
    held: Any = args[0].value if isinstance(args[0], Known) else None
    if kinds is None or m.class_of(args[0]) is not dict or (type(held) is dict and len(held) > PICKED):
        return None
    found = dict_of(m, args[0])
    if found is None or not 0 < len(found.keys) <= PICKED or not all(type(key) in kinds for key in found.keys):
        return None
    return found if any(_acts(m, cell) for cell in found.cells) else None


@action(dict.get, counts=(2, 3))
def get(m: Machine, args: Args, named: Named) -> Any:
    found = _in_dict(m, args)
    if found is None:
        return None
    given = [args[0], Known(found.keys), args[1], args[2] if len(args) == 3 else Known(None)]
    return call_function(m, Known(methods.picked_or), methods.picked_or, given, {}, "value")


@action(operator.getitem, counts=(2, 2))
def item(m: Machine, args: Args, named: Named) -> Any:
    kinds = _unknown(m, args[1])
    if kinds is None:
        return None
    if int in kinds and (held := cells_of(m, args[0])) is not None:
        if not 0 < len(held[1]) <= PICKED or not any(_acts(m, cell) for cell in held[1]):
            return None
        given = [args[0], Known(len(held[1])), args[1], Known(f"{held[0]} index out of range")]
        return call_function(m, Known(methods.picked_item), methods.picked_item, given, {}, "value")
    found = _in_dict(m, args)
    if found is None:
        return None
    return call_function(m, Known(methods.picked), methods.picked, [args[0], Known(found.keys), args[1]], {}, "value")
