"""Actions for sorted and list.sort of virtual lists (CPython: Objects/listobject.c).

Elements whose keys are known are sorted while tracing.  A key function is called for each element first, as CPython does,
and sorting by unknown keys of one plain type is left to the residual.
"""

import operator
import types
from typing import Any, Final

from hovis.engine.calls.builtins import primitive
from hovis.engine.calls.inline_python import call_function
from hovis.engine.control import unpacking
from hovis.engine.machine.call_results import opaque
from hovis.engine.machine.constant_folding import NO_CONSTANT, reify
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj, reachable
from hovis.engine.state.values import FALSE, NO_LABELS, NONE, Dyn, Known, Labels, Ref, V, labels_of
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import Type
from hovis.lattice.constants import ATOMS
from hovis.lattice.inspection import is_a
from hovis.library.language import container_models
from hovis.library.virtual.base import Args, Named, action, own, use

#: The most elements that are sorted here.
_FEW: Final = 256


def _options(m: Machine, named: Named) -> tuple[V, V] | None:
    """Return the key function and the reverse flag as a Known bool, or None if the flag is not known."""
    if not named.keys() <= {"key", "reverse"}:
        return None
    reverse = m.resolve(named.get("reverse", FALSE))
    if not isinstance(reverse, Known) or type(reverse.value) not in (bool, int):
        return None
    m.use(reverse)
    return m.resolve(named.get("key", NONE)), Known(bool(reverse.value))


def _fronts(m: Machine, keys: list[V]) -> list[Known] | None:
    """Return the first items of tuples if they alone determine the order: known, distinct strings or ints (``sorted(table.items())``); else
    None.
    """
    tuples = [m.obj(key, "tuple") for key in keys]
    fronts = [held.cells[0] if held is not None and held.cls is tuple and held.cells else NONE for held in tuples]
    known = [front for front in fronts if isinstance(front, Known) and type(front.value) in (str, int)]
    values = [front.value for front in known]
    alike = len(values) == len(keys) > 0 and len(set(map(type, values))) == 1 and len(set(values)) == len(values)
    return known if alike else None


def _order(m: Machine, keys: list[V], reverse: bool) -> list[int] | TypeError | None:
    """Return the permutation that sorts known keys, the TypeError if they cannot be compared, or None if they are not known."""
    held = [reify(m, key) for key in keys]
    if any(key is NO_CONSTANT for key in held):
        fronts = _fronts(m, keys)
        if fronts is None:
            return None
        keys, held = [*fronts], [front.value for front in fronts]
    use(m, *keys)
    try:
        return sorted(range(len(held)), key=held.__getitem__, reverse=reverse)
    except TypeError as error:
        return error


#: Kinds of iterables that are iterated into a list first, unless they iterate over an object of which nothing is known.
_STEPPED: Final = ("generator", "sequence_iter", "range_iter", "dict_iter", "range", "model")


def _sorted_items(iterable: Any, key: Any, reverse: Any) -> Any:
    """``sorted`` of an iterable (builtin_sorted)."""
    if key is not None:
        return sorted([*iter(iterable)], key=key, reverse=reverse)
    return sorted([*iter(iterable)], reverse=True) if reverse else sorted([*iter(iterable)])


@action(sorted)
def sorted_(m: Machine, args: Args, named: Named) -> Any:
    if len(args) != 1:
        return None
    found = _options(m, named)
    known = isinstance(args[0], Known) and type(args[0].value) in (list, dict)
    stepped = m.obj(args[0], *_STEPPED)
    real = isinstance(args[0], Dyn) or (isinstance(args[0], Ref) and m.obj(args[0]) is None)
    if found is not None and (real or stepped is not None) and _dissolves(m, found[0]):
        arguments: list[V] = [Known(ops.arrange), args[0], *found]
        return call_function(m, Known(container_models.sorted_unknown), container_models.sorted_unknown, arguments, {}, "value")
    if found is None or not (known or (isinstance(args[0], Ref) and m.obj(args[0]) is not None)):
        return None
    if stepped is not None and (stepped.kind == "generator" or not any(isinstance(c, Dyn) and m.class_of(c) not in ATOMS for c in stepped.cells)):
        return call_function(m, Known(_sorted_items), _sorted_items, [args[0], *found], {}, "value")
    if not known and m.obj(args[0], "list", "tuple", "dict", "view") is None:
        return None
    items = unpacking.known_items(m, args[0])
    if items is None or len(items) > _FEW:
        return None
    key, reverse = found
    if isinstance(key, Known) and key.value is None:
        order = _order(m, items, bool(reverse.value))  # type: ignore[union-attr]
        return _sorted_unknown(m, args, named, items) if order is None else _arranged(m, order, items, labels_of(args[0]))
    if not _called(m, key):
        return None
    copy = m.new(VObj("list", list, tuple(items)))
    return call_function(m, Known(container_models.sorted_by_key), container_models.sorted_by_key, [Known(ops.arrange), copy, key, reverse], {}, "value")


#: The most unknown items whose sorted result gets a known length.
_SOME: Final = 16


def _sorted_unknown(m: Machine, args: Args, named: Named, items: list[V]) -> Any:
    """Emit the sort of unknown items of one plain type. The result is a real list of known length and item type."""
    cls = m.class_of(items[0]) if items else None
    if cls not in (int, float, str, bytes) or len(items) > _SOME or any(m.class_of(item) is not cls for item in items):
        return None
    made = primitive(m, m.library.primitives[sorted], args, named)
    if not isinstance(made, Dyn):
        return made
    cells = tuple(m.emit(operator.getitem, [made, Known(k)], type=Type(cls), effect=Effect.READS) for k in range(len(items)))
    return m.new(VObj("list", list, cells, node=made.value))


def _arranged(m: Machine, order: list[int] | TypeError, items: list[V], labels: Labels = NO_LABELS) -> Any:
    if isinstance(order, TypeError):
        return m.raise_new(TypeError, *order.args)
    return m.new(VObj("list", list, tuple(items[k] for k in order)), labels)


def _called(m: Machine, key: V) -> bool:
    """Is key a known function, so that its call may be eliminated if it is traced?"""
    if not isinstance(key, Known):
        return m.obj(key, "function", "method") is not None
    if is_a(key.value, types.FunctionType):
        return True
    library = m.library
    hashable = type(key.value).__hash__ is not None
    return hashable and any(key.value in rows for rows in (library.actions, library.primitives, library.models))


def _dissolves(m: Machine, key: V) -> bool:
    """Is key a known Python function?"""
    return m.obj(key, "function", "method") is not None or (isinstance(key, Known) and is_a(key.value, types.FunctionType))


@action(list.sort)
def list_sort(m: Machine, args: Args, named: Named) -> Any:
    found = _options(m, named) if len(args) == 1 else None
    obj = own(m, args[0], "list")
    if found is None or obj is None or len(obj.cells) > _FEW:
        return None
    assert isinstance(args[0], Ref)
    key, reverse = found
    if isinstance(key, Known) and key.value is None:
        order = _order(m, list(obj.cells), bool(reverse.value))  # type: ignore[union-attr]
        if not isinstance(order, list):
            return None
        use(m, args[0])
        m.put(args[0], obj.replace(cells=tuple(obj.cells[k] for k in order)))
        return NONE
    seen = [c.aid for c in (*obj.cells, key) if isinstance(c, Ref)]
    if not _called(m, key) or args[0].aid in reachable(m.state.heap, seen) or m.catching():
        return None  # if the sort raises, a handler would see a partly sorted list
    use(m, args[0])
    return call_function(m, Known(container_models.sort_by_key), container_models.sort_by_key, [Known(ops.arrange), args[0], key, reverse], {}, "value")


@action(ops.arrange, counts=(3, 3))
def arrange(m: Machine, args: Args, named: Named) -> Any:
    keys, items = unpacking.known_items(m, args[0]), unpacking.known_items(m, args[1])
    if not isinstance(args[2], Known):
        return None
    if keys is None or items is None:
        # comparing the keys may run any code
        return opaque(m, ops.arrange, args, kind=m.kind_of(list))
    order = _order(m, keys, bool(args[2].value))
    if order is not None:
        return _arranged(m, order, items)
    kinds = {m.class_of(key) for key in keys}
    if len(kinds) == 1 and kinds <= {int, bool, str, bytes, float}:
        return m.emit(ops.arrange, args, type=m.kind_of(list), effect=Effect.READS)
    return opaque(m, ops.arrange, args, kind=m.kind_of(list))
