"""NumPy functions that need an action of the engine: those with named tuples as results, and those whose result type depends on dimensions."""

import operator
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.engine.calls import enums
from hovis.engine.calls.builtins import call_builtin, describe, primitive
from hovis.engine.machine.constant_folding import constant_form
from hovis.engine.machine.machine import NOWHERE
from hovis.engine.state.frames_and_heap import substitute
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import GiveUp
from hovis.engine.state.values import Dyn, Known, Ref, V
from hovis.ir.model import Effect, Op
from hovis.lattice import Array, Partial
from hovis.library.core import Action, Primitive
from hovis.library.numpy import NUMPY
from hovis.library.numpy.models import inplace_reshape
from hovis.library.numpy.rules import manipulation, random
from hovis.library.numpy.types import shapes
from hovis.library.numpy.types.arrays import COMPUTES, ask, concerns, dtype_of
from hovis.library.numpy.types.shapes import Shape, facts

#: function of a matrix, or of a stack of matrices -> function from its dimensions to those of the parts of the result
_PARTS: Final[dict[Any, Callable[[Shape], tuple[Shape, ...]]]] = {
    np.linalg.eigh: lambda a: (a[:-1], a),
    np.linalg.eig: lambda a: (a[:-1], a),
}


def _named(rule: Primitive) -> Action:
    """Make the action that emits the call and makes its named tuple a virtual object, whose fields can be read, unpacked and counted."""

    def act(m: Any, args: list[V], kwargs: dict[str, V]) -> V | None:
        made = primitive(m, rule, [constant_form(m, a) for a in args], kwargs)
        if not isinstance(made, Dyn) or not isinstance(made.type, Partial) or made.type.cls is tuple:
            return made
        rule_of_parts = _PARTS.get(rule.fn)
        given = facts(m, args[0]).dims if rule_of_parts is not None else None
        dims = rule_of_parts(given) if rule_of_parts is not None and given is not None else (None,) * len(made.type.parts)
        cells = []
        for k, (part, shape) in enumerate(zip(made.type.parts, dims, strict=True)):
            known = tuple(d if isinstance(d, Known | Dyn) else Known(d) if isinstance(d, int) else None for d in shape) if shape else None
            cells.append(m.emit(operator.getitem, [made, Known(k)], type=part, effect=Effect.PURE, dims=known if isinstance(part, Array) else None))
        return m.new(VObj("tuple", made.type.cls, tuple(cells)))  # type: ignore[no-any-return]

    return act


def _cross(fn: Any) -> Action:
    """Make the action of a cross product, which covers only vectors of length 3: those of length 2 give numbers."""

    def act(m: Any, args: list[V], kwargs: dict[str, V]) -> V | None:
        if len(args) != 2 or kwargs:
            return None
        given = [facts(m, a) for a in args]
        kind = ask(np.add, *(g.type for g in given)) if concerns(*(g.type for g in given)) else None
        if kind is None or any(not g.dims or g.dims[-1] not in (3, Known(3)) for g in given):
            return None
        found = shapes.broadcast(*(g.dims for g in given))
        dims = None if found is None else tuple(Known(d) if isinstance(d, int) else d for d in found)
        return m.emit(fn, args, {}, kind, COMPUTES, dims)  # type: ignore[no-any-return]

    return act


def _at(m: Any, args: list[V], kwargs: dict[str, V]) -> V | None:
    """Emit ``np.add.at(a, ...)``: it writes to a, not to the ufunc that it is a method of."""
    kind = NUMPY.primitives[np.ufunc.at].result(*(describe(m, a) for a in args)) if len(args) == 4 and not kwargs else None
    if kind is None or not isinstance(args[1], Dyn):
        return None
    return m.emit(np.ufunc.at, args, {}, kind, Effect.WRITES | Effect.RAISES | Effect.READS, within=NOWHERE)  # type: ignore[no-any-return]



def subscripted(fn: Any) -> Action:
    """Make the action of a subscript or store: lists in the subscript of an array become arrays, and NumPy integers in that of a list or tuple
    become ints.
    """

    def act(m: Any, args: list[V], kwargs: dict[str, V]) -> Any:
        if len(args) > 1 and isinstance(args[1], Dyn) and m.class_of(args[0]) in (list, tuple) and is_integer(args[1].type):
            index = primitive(m, m.library.rule(int), [args[1]], {})
            return None if index is None else call_builtin(m, fn, [args[0], index, *args[2:]], kwargs)
        if len(args) > 1 and isinstance(args[0], Dyn) and isinstance(args[0].type, Array):
            plain = _plain_index(m, args[1])
            if plain is not None:
                return call_builtin(m, fn, [args[0], plain, *args[2:]], kwargs)
        if len(args) > 1 and isinstance(args[0], Dyn) and isinstance(args[0].type, Array) and isinstance(args[1], Ref):
            index = m.obj(args[1], "list", "tuple", "range")
            found = _without_lists(m, args[1], index) if index is not None else None
            if found is not None:
                return primitive(m, m.library.rule(fn), [args[0], found, *args[2:]], kwargs)
        return None

    return act


def _plain_index(m: Any, index: V) -> V | None:
    """Return an index with ints in place of objects of classes derived from int; None if it contains no such object."""
    if isinstance(index, Known):
        if type(index.value) is tuple:
            return _plain_index(m, m.new(VObj("tuple", tuple, tuple(map(Known, index.value))))) if any(map(enums.base_of, index.value)) else None
        found = enums.plain(index.value, int, ("__index__",)) if enums.base_of(index.value) is int else None
        return None if found is None else Known(found, index.labels)
    held = m.obj(index, "tuple", "slice")
    if held is None or held.cls not in (tuple, slice):
        return None
    made = [_plain_index(m, cell) for cell in held.cells]
    if not any(made):
        return None
    return m.new(VObj(held.kind, held.cls, tuple(new or cell for new, cell in zip(made, held.cells, strict=True)), held.keys))  # type: ignore[no-any-return]


def is_integer(kind: Any) -> bool:
    """Is this the type of a NumPy integer?"""
    dtype = dtype_of(kind)
    return dtype is not None and dtype.kind in "iu" and not isinstance(kind, Array)


def _without_lists(m: Any, index: Ref, held: VObj) -> V | None:
    """Return an index with arrays in place of lists of integers or bools, and of ranges; None if it contains none."""
    if held.kind == "range":
        return primitive(m, NUMPY.primitives[np.arange], list(held.cells), {})
    if held.kind == "list":
        kind = describe(m, index)
        numbers = NUMPY.primitives[np.array].result(kind) if held.cells else None
        if not isinstance(numbers, Array) or numbers.dtype.kind not in "biu":  # type: ignore[attr-defined]
            return None
        return primitive(m, NUMPY.primitives[np.array], [index], {})
    cells = [m.resolve(cell) for cell in held.cells]
    lists = {k: m.obj(cell, "list", "range") for k, cell in enumerate(cells) if isinstance(cell, Ref)}
    made: dict[int, Any] = {k: _without_lists(m, cells[k], one) for k, one in lists.items() if one is not None}
    if held.cls is not tuple or not made or None in made.values():
        return None
    return m.new(VObj("tuple", tuple, tuple(made.get(k, cell) for k, cell in enumerate(cells))))  # type: ignore[no-any-return]


def _set_shape(m: Any, args: list[V], kwargs: dict[str, V]) -> V | None:
    """Model ``a.shape = ...``: from here on every name of the array denotes a view of it, provided that no other reference to it can exist."""
    array = args[0]
    names = inplace_reshape.names_of(m.block.ops, array.value) if isinstance(array, Dyn) and isinstance(array.value, Op) else None
    view = primitive(m, m.library.rule(manipulation.in_shape), [constant_form(m, a) for a in args], kwargs) if names is not None else None
    if not isinstance(view, Dyn) or names is None:
        return None
    for name in names:
        substitute(m.state, name, view)
    return view


def _resize(m: Any, args: list[V], kwargs: dict[str, V]) -> V | None:
    raise GiveUp("it resizes an array in place")


def _method(fn: Any) -> Callable[[Any, Dyn], V]:
    """Make a function that binds a method written in Cython as a Python method."""
    return lambda m, value: m.new(VObj("method", types.MethodType, (Known(fn), value)))


#: Methods of random number generators.
METHODS: Final[dict[tuple[type, str], Callable[[Any, Dyn], V]]] = {
    (owner, name): _method(fn)
    for owner in (random.GENERATOR, random.LEGACY)
    for name, fn in vars(owner).items()
    if any(fn is r.fn for r in random.ROWS)
}

ACTIONS: Final[dict[Any, Action]] = {
    fn: _named(NUMPY.primitives[fn]) for fn in (np.linalg.eigh, np.linalg.eig, np.linalg.slogdet, np.linalg.qr, np.linalg.svd)
} | {fn: _cross(fn) for fn in (np.cross, getattr(np.linalg, "cross", np.cross))} | {np.ndarray.resize: _resize, np.ndarray.shape: _set_shape, np.ufunc.at: _at}
