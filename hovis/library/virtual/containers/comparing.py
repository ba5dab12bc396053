"""Actions for ``in``, ``==``, ``<``, index, count and remove of virtual lists, tuples and dicts.

The result may follow from what is known of each pair of elements.  If not, and comparing them may run user code, a Python
model is traced, which calls their methods.  Without user code, the real operation is emitted.
"""

import operator
from typing import Any, Final

from hovis.engine.calls.inline_python import call_function
from hovis.engine.control import unpacking
from hovis.engine.machine.branches import identical
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj, reachable
from hovis.engine.state.type_lookup import is_python_class
from hovis.engine.state.values import Dyn, Known, Ref, V, labels_of
from hovis.lattice.constants import is_immutable
from hovis.library.language import container_models
from hovis.library.language.signatures.type_queries import atomic
from hovis.library.virtual.base import Args, Named, action, as_constant, own, use

#: The most elements for which a model is traced.
FEW: Final = 64

#: Kinds of objects whose comparison runs no user code, except that of their elements.
_PLAIN: Final = frozenset({"tuple", "list", "dict", "set", "slice", "range"})


def same(m: Machine, a: V, b: V) -> bool | None:
    """Return ``a is b or a == b``, or None unless it is known without running code."""
    one, other = as_constant(m, a), as_constant(m, b)
    if isinstance(one, Known) and isinstance(other, Known) and is_immutable(one.value) and is_immutable(other.value):
        return one.value is other.value or one.value == other.value
    known = identical(m, a, b) if not (isinstance(a, Dyn) and isinstance(b, Dyn)) else None
    if known is not None and known.value:
        return True
    if isinstance(a, Dyn) and isinstance(b, Dyn) and a.value is b.value:
        return True
    return False if _apart(m.class_of(a), m.class_of(b)) else None


#: builtin class -> group: instances of classes in different groups are never equal (numbers form one group, sets another)
_APART: Final = {str: 0, bytes: 1, type(None): 2, tuple: 3, list: 4, dict: 5, int: 6, float: 6, bool: 6, complex: 6, set: 7, frozenset: 7, range: 8, slice: 9}


def _apart(one: type | None, other: type | None) -> bool:
    return one in _APART and other in _APART and _APART[one] != _APART[other]


def _silent(m: Machine, value: V) -> bool:
    """Is value an atom, so that a comparison with another atom runs no user code?"""
    return not isinstance(value, Ref) and atomic(m.type_of(value))


def user_code(m: Machine, *values: V) -> bool:
    """Do the values contain objects of classes written in Python?"""
    for value in values:
        if isinstance(value, Ref):
            if any(m.state.heap[aid].kind not in _PLAIN or m.state.heap[aid].cls.__module__ != "builtins" for aid in reachable(m.state.heap, [value.aid])):
                return True
        elif isinstance(value, Known) and is_python_class(type(value.value)):
            return True
    return False


def _search(m: Machine, cells: tuple[V, ...], item: V) -> bool | None:
    """Is item among the cells? None if that is not known."""
    unsure = False
    for cell in cells:
        found = same(m, cell, item)
        if found and (not unsure or (_silent(m, item) and all(_silent(m, c) for c in cells))):
            return True
        unsure = unsure or found is not False
    return None if unsure else False


def _sequence(m: Machine, value: V) -> VObj | None:
    """Return the virtual list or tuple if value is one of exactly these classes; for the values of a virtual dict, a tuple of them; else None."""
    obj = m.obj(value, "list", "tuple", "view")
    if obj is not None and obj.kind == "view":
        items = unpacking.known_items(m, value) if obj.extra == "values" else None
        return None if items is None else VObj("tuple", tuple, tuple(items))
    return obj if obj is not None and obj.cls in (list, tuple) else None


def _model(m: Machine, model: Any, args: Args) -> Any:
    return call_function(m, Known(model), model, args, {}, "value")


@action(operator.contains, counts=(2, 2))
def contains(m: Machine, args: Args, named: Named) -> Any:
    obj = _sequence(m, args[0])
    if obj is None:
        return None
    found = _search(m, obj.cells, args[1])
    if found is not None:
        use(m, *args, *obj.cells)
        return Known(found, labels_of(args[0]))
    container = args[0] if m.state.heap[args[0].aid].kind != "view" else m.new(obj)  # type: ignore[union-attr]
    if len(obj.cells) <= FEW and user_code(m, args[1], *obj.cells):
        use(m, args[0])
        return _model(m, container_models.contains, [container, args[1]])
    return None if container is args[0] else m.call(Known(operator.contains), [container, args[1]], {})


def _equality(wanted: bool) -> Any:
    models = (container_models.equal, container_models.equal_dicts) if wanted else (container_models.not_equal, container_models.not_equal_dicts)

    def act(m: Machine, args: Args, named: Named) -> Any:
        a, b = args
        if _apart(m.class_of(a), m.class_of(b)):
            return Known(not wanted, labels_of(*(x for x in args if not isinstance(x, Dyn))))
        x, y = m.obj(a, "tuple", "list", "dict"), m.obj(b, "tuple", "list", "dict")
        if x is None or y is None or x.cls is not y.cls or x.cls not in (tuple, list, dict):
            return None
        found = _dicts_match(m, x, y) if x.kind == "dict" else _match(m, x.cells, y.cells, exact=x.kind == "list")
        if found is not None:
            use(m, a, b, *x.cells, *y.cells)
            return Known(found is wanted, labels_of(a, b))
        if len(x.cells) <= FEW and user_code(m, *x.cells, *y.cells):
            use(m, a, b)
            return _model(m, models[x.kind == "dict"], args)
        return None

    return act


def _match(m: Machine, cells: tuple[V, ...], others: tuple[V, ...], exact: bool) -> bool | None:
    """Are the cells pairwise equal? None if that is not known. If a pair differs, the comparisons before it must run no code."""
    if exact and len(cells) != len(others):
        return False
    unsure = False
    for one, other in zip(cells, others, strict=False):
        found = same(m, one, other)
        if found is False:
            return None if unsure else False
        if found is None:
            if not (_silent(m, one) and _silent(m, other)):
                return None
            unsure = unsure or found is None
    if len(cells) != len(others):
        return False
    return None if unsure else True


def _dicts_match(m: Machine, x: VObj, y: VObj) -> bool | None:
    if len(x.keys) != len(y.keys):
        return False
    places = [y.find(key) for key in x.keys]
    if -1 in places:
        # the values before the missing key are compared first
        places = places[: places.index(-1)]
        return False if _match(m, x.cells[: len(places)], tuple(y.cells[k] for k in places), False) is not None else None
    return _match(m, x.cells, tuple(y.cells[k] for k in places), True)


action(operator.eq, counts=(2, 2))(_equality(True))
action(operator.ne, counts=(2, 2))(_equality(False))


def _ordering(operation: Any) -> Any:
    def act(m: Machine, args: Args, named: Named) -> Any:
        x, y = m.obj(args[0], "tuple", "list"), m.obj(args[1], "tuple", "list")
        if x is None or y is None or x.cls is not y.cls or x.cls not in (tuple, list):
            return None
        pairs = list(zip(x.cells, y.cells, strict=False))
        decided = all(same(m, one, other) for one, other in pairs[:-1])
        if decided or (len(pairs) <= FEW and user_code(m, *x.cells, *y.cells)):
            use(m, *args)
            return _model(m, container_models.compared, [*args, Known(operation)])
        return None

    return act


for _operation in (operator.lt, operator.le, operator.gt, operator.ge):
    action(_operation, counts=(2, 2))(_ordering(_operation))


def _walk(model: Any, kind: str) -> Any:
    """Make the action for index, count or remove of a list or tuple."""

    def act(m: Machine, args: Args, named: Named) -> Any:
        obj = own(m, args[0], kind) if model is container_models.remove else m.obj(args[0], kind)
        if obj is None or not all(isinstance(a, Known) and type(a.value) is int for a in args[2:]):
            return None
        decided = all(same(m, cell, args[1]) is not None for cell in obj.cells)
        if len(obj.cells) <= FEW and (decided or user_code(m, args[1], *obj.cells)):
            use(m, args[0])
            return _model(m, model, args)
        return None

    return act


action(list.index, counts=(2, 4))(_walk(container_models.index_in_list, "list"))
action(list.count, counts=(2, 2))(_walk(container_models.count, "list"))
action(list.remove, counts=(2, 2))(_walk(container_models.remove, "list"))
action(tuple.index, counts=(2, 4))(_walk(container_models.index_in_tuple, "tuple"))
action(tuple.count, counts=(2, 2))(_walk(container_models.count, "tuple"))
