"""Lookups of an unknown key in known tables of functions and objects: the key is compared with each key of the table.

The value that is found (a handler, for example) determines what happens next, so it is made known on each path.  Tables of
plain data stay tables, because a lookup is faster than a chain of comparisons.  The result of such a lookup is one of a few
constants, and is compared with them only where it determines the control flow (the next state: see dispatch).
"""

import functools
import operator
import types
from typing import Any, Final

from hovis.engine.calls.inline_python import call_function
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import is_python_class
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V, either
from hovis.ir.model import Effect
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a
from hovis.library.language import container_models
from hovis.library.virtual.base import CELLS, Args, Named, action, kind_of
from hovis.library.virtual.containers.dicts import dict_of
from hovis.library.virtual.containers.sequences import cells_of

#: The most entries of a table whose keys are compared one by one.
PICKED: Final = 16
#: Lists and tuples are searched for functions down to this depth.
DEPTH: Final = 3
#: Kinds of virtual objects with code of their own, and of those with items.
_ACTING: Final = frozenset({"function", "method", "instance", "class"})
_PARTS: Final = frozenset({"list", "tuple"})
_FUNCTIONS: Final = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, type)
#: class of key -> the classes of keys that it may equal; these are compared without side effects
_KEYS: Final[dict[type | None, set[type]]] = {str: {str}, bytes: {bytes}, int: {int, bool}, bool: {int, bool}}


def _acts(m: Machine, value: V, depth: int = DEPTH) -> bool:
    """Is value a function, a class, an object with methods written in Python, or a list or tuple of such?"""
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        return obj.kind in _ACTING or (depth > 0 and obj.kind in _PARTS and any(_acts(m, cell, depth - 1) for cell in obj.cells[:PICKED]))
    return isinstance(value, Known) and _leads_to_code(value.value, depth)


def _leads_to_code(held: Any, depth: int) -> bool:
    if type(held) in (list, tuple):
        return depth > 0 and any(_leads_to_code(item, depth - 1) for item in held[:PICKED])
    return is_a(held, _FUNCTIONS) or is_python_class(type(held))


def _unknown(m: Machine, key: V) -> set[type] | None:
    """Return the classes of the keys that may equal key if it is a value that was never known; else None."""
    return _KEYS.get(m.class_of(key)) if type(key) is Dyn and key.lost is None else None


def _in_dict(m: Machine, args: Args) -> VObj | None:
    """Return the dict if its keys are to be compared one by one; else None."""
    kinds = _unknown(m, args[1])
    held: Any = args[0].value if isinstance(args[0], Known) else None
    if kinds is None or m.class_of(args[0]) is not dict or (type(held) is dict and len(held) > PICKED):
        return None
    found = dict_of(m, args[0])
    if found is None or not 0 < len(found.keys) <= PICKED or not all(type(key) in kinds for key in found.keys):
        return None
    return found if any(_acts(m, cell) for cell in found.cells) else None


def _looked_up(m: Machine, fn: Any, args: Args, default: tuple[V, ...]) -> Dyn | None:
    """Emit the lookup of an unknown key in a known dict of plain data, with the type of the result and, if they are few, the possible values;
    None if it is not such a dict.
    """
    table, key = args[:2]
    if not isinstance(table, Ref) and m.class_of(table) is dict:
        m.use(table)  # the lookup depends on which of several known tables it is
    if not isinstance(table, Known) or type(table.value) is not dict or not 0 < len(table.value) <= CELLS or _unknown(m, key) is None:
        return None
    held = table.value
    if any(isinstance(v, Ref) for v in default) or not all(map(is_immutable, (*held.keys(), *held.values()))) or not m.environment.static(table):
        return None
    m.effort.covers(held)
    kinds = (*(kind_of(m, item) for item in held.values()), *map(m.type_of, default))
    found = m.emit(fn, args, type=functools.reduce(operator.or_, kinds), effect=Effect.READS if default else Effect.RAISES)
    few = either(*map(Known, held.values()), *default)
    if few is not None and len(few) <= PICKED:
        found.among, m.tables.looked_up = few, True
    return found


@action(dict.get, counts=(2, 3))
def get(m: Machine, args: Args, named: Named) -> Any:
    found, default = _in_dict(m, args), args[2] if len(args) == 3 else NONE
    if found is None:
        return _looked_up(m, dict.get, args, (default,))
    given = [args[0], Known(found.keys), args[1], default]
    return call_function(m, Known(container_models.picked_or), container_models.picked_or, given, {}, "value")


@action(operator.getitem, counts=(2, 2))
def item(m: Machine, args: Args, named: Named) -> Any:
    table, key = args
    kinds = _unknown(m, key)
    if kinds is not None:
        if int in kinds and (held := cells_of(m, table)) is not None and 0 < len(held[1]) <= PICKED and any(_acts(m, cell) for cell in held[1]):
            given = [table, Known(len(held[1])), key, Known(f"{held[0]} index out of range")]
            return call_function(m, Known(container_models.picked_item), container_models.picked_item, given, {}, "value")
        found = _in_dict(m, args)
        if found is not None:
            return call_function(m, Known(container_models.picked), container_models.picked, [table, Known(found.keys), key], {}, "value")
    return _looked_up(m, operator.getitem, args, ())
