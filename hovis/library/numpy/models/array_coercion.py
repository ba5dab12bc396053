"""Conversion of tuples, lists and ranges with known contents to arrays, beside an array operand and as arguments of NumPy's functions."""

import operator
from typing import Any, Final

import numpy as np

from hovis.engine.calls import enums
from hovis.engine.calls.builtins import answers, call_builtin, describe, primitive
from hovis.engine.calls.operators import INPLACE, NAMES
from hovis.engine.machine.constant_folding import constant_form
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import Dyn, Known, Ref, V
from hovis.lattice import Array
from hovis.library.core import Action, Primitive
from hovis.library.numpy import NUMPY
from hovis.library.numpy.rules.ufuncs import IN_PLACE, OPERATORS
from hovis.library.numpy.types.array_like import FLAT, converted, positions
from hovis.library.numpy.types.arrays import dtype_of, is_array

#: The most numbers of which an array is made here.
MOST: Final = 4096

_BINARY: Final = (*(fn for fn, u in OPERATORS.items() if u.nin == 2 and fn.__module__ == "_operator"), operator.matmul)


def _beside(fn: Any, in_place: bool) -> Action:
    def act(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
        if len(args) != 2 or kwargs:
            return None
        numbers = _numbers(fn, args)
        if numbers is not None:
            return primitive(m, m.library.rule(fn), numbers, {})
        arrays = [isinstance(a, Dyn) and is_array(a.type) for a in args]
        if arrays not in ([True, False], [False, True]) or (in_place and not arrays[0]):
            return None
        other = 1 if arrays[0] else 0
        made = as_array(m, args[other])
        return None if made is None else primitive(m, m.library.rule(fn), [made, args[1]] if other == 0 else [args[0], made], {})

    return act


#: Attributes by which NumPy converts an object to something other than a number.
_PROTOCOLS: Final = ("__array__", "__array_interface__", "__array_struct__", "__array_priority__", "__array_ufunc__")


def _numbers(fn: Any, args: list[V]) -> list[V] | None:
    """Return the operands with an np.int64 for the one that is a known object of a class derived from int (an IntEnum), where the other one is
    NumPy's: unlike an int, such an object has the dtype int64 there. None for any other operands.
    """
    places = [k for k, a in enumerate(args) if isinstance(a, Known) and enums.base_of(a.value) is int]
    if len(places) != 1 or not (isinstance(other := args[1 - places[0]], Dyn) and dtype_of(other.type) is not None):
        return None
    held = args[places[0]]
    assert isinstance(held, Known)
    names = tuple(name for name in NAMES.get(INPLACE.get(fn, fn), ()) if name is not None)
    plain = enums.plain(held.value, int, names)
    if not names or plain is None or any(hasattr(type(held.value), name) for name in _PROTOCOLS) or not -(2**63) <= plain < 2**63:
        return None
    made = Known(np.int64(plain), held.labels)
    return [made, args[1]] if places[0] == 0 else [args[0], made]


def _is_real(m: Any, value: V) -> bool:
    return isinstance(value, Ref) and m.state.heap[value.aid].node is not None


def as_array(m: Any, value: V) -> V | None:
    """Return the array that NumPy makes of a tuple, a list or a range of numbers; None if value is not one of these, or not known."""
    value = _listed(m, value) or value
    obj = m.obj(value, "tuple", "list")
    known = isinstance(value, Known) and type(value.value) is tuple
    if not known and (obj is None or obj.cls not in (tuple, list)):
        return None
    kind = NUMPY.primitives[np.array].result(describe(m, value))
    if not isinstance(kind, Array) or not is_array(kind) or (obj is not None and len(obj.cells) > MOST):
        return None
    return primitive(m, NUMPY.primitives[np.array], [value], {})


def _listed(m: Any, value: V) -> Ref | None:
    """Return a known range as a list; None for anything else."""
    obj = m.obj(value, "range")
    bounds: list[Any] = [c.value for c in obj.cells if isinstance(c, Known)] if obj is not None else []
    held = range(*bounds) if len(bounds) == 3 else value.value if isinstance(value, Known) and type(value.value) is range else None
    if held is None or len(held) > MOST:
        return None
    for cell in obj.cells if obj is not None else (value,):
        m.use(cell)
    return m.new(VObj("list", list, tuple(map(Known, held))))  # type: ignore[no-any-return]


def _is_nested(m: Any, value: V) -> bool:
    """Does a tuple or list contain tuples or lists?"""
    obj = m.obj(value, "tuple", "list")
    items: Any = obj.cells if obj is not None else ()
    if isinstance(value, Known):
        items = [Known(item) for item in value.value]  # type: ignore[attr-defined]
    return any(m.class_of(item) in (tuple, list) for item in items)


def _taking(rule: Primitive) -> Action:
    """Make the action of a function that converts its arguments to arrays: it passes arrays for tuples and lists that its row does not handle.

    Where a back end compiles, real tuples and lists of the caller are always passed as arrays, because compiled code cannot represent these objects.
    """

    def act(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
        places = [k for k in converted(rule.fn, len(args), kwargs) if k < len(args) and m.class_of(args[k]) in (tuple, list)]
        if not places or all(isinstance(constant_form(m, args[k]), Known) for k in places):
            return None
        if not (m.known_sizes and any(_is_real(m, args[k]) for k in places)) and answers(m, rule, args, kwargs):
            return None
        if rule.fn in FLAT and any(_is_nested(m, args[k]) for k in places):
            return None
        made = {k: as_array(m, args[k]) for k in places}
        if None in made.values():
            return None
        return call_builtin(m, rule.fn, [made.get(k) or arg for k, arg in enumerate(args)], kwargs)

    return act


BESIDE: Final[dict[Any, Action]] = {**{fn: _beside(fn, False) for fn in _BINARY}, **{fn: _beside(fn, True) for fn in (*IN_PLACE, operator.imatmul)}}
#: Functions that convert arguments to arrays.
TAKING: Final[dict[Any, Action]] = {fn: _taking(rule) for fn, rule in NUMPY.primitives.items() if callable(fn) and positions(fn)}
