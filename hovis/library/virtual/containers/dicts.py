"""Actions for dicts: methods, views, constructor and operator."""

import operator
from typing import Any, Final

from hovis.engine.calls import builtin_payload, models
from hovis.engine.calls.builtins import call_builtin
from hovis.engine.calls.inline_python import call_function
from hovis.engine.control import unpacking
from hovis.engine.machine.machine import Machine
from hovis.engine.objects import attribute_presence
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import NONE, Known, Ref, V, labels_of, relabel
from hovis.ir import operations as ops
from hovis.library.language.iterable_models import dict_of_pairs, fill_with_pairs
from hovis.library.virtual.base import Args, Named, action, as_constant, is_iterator, known_key, own, settle_iterators, use


def dict_of(m: Machine, value: V) -> VObj | None:
    """Return the keys and values of a virtual or known dict as a VObj, or None."""
    value = builtin_payload.plain(m, value, ("__iter__",)) or value
    acted = models.virtual(m, value)
    obj = m.obj(value, "dict") if acted is None or acted.content is None else m.obj(acted.content, "dict")
    if obj is not None:
        return obj
    if isinstance(value, Known) and type(value.value) is dict and m.environment.static(value):
        return VObj("dict", dict, tuple(Known(v, value.labels) for v in value.value.values()), tuple(value.value))
    return None


def _sought(m: Machine, obj: VObj | None, args: Args) -> tuple[Known, int] | None:
    """Return the key of ``d.method(key[, default])`` and its index in the dict (-1: absent), or None if the key or the dict is not known."""
    if obj is None:
        return None
    key = as_constant(m, args[1])
    if not isinstance(key, Known) or not known_key(key):
        return None
    use(m, args[0], key)
    return key, obj.find(key.value)


@action(dict.get, counts=(2, 3))
def dict_get(m: Machine, args: Args, named: Named) -> Any:
    held = args[0].value if isinstance(args[0], Known) else None
    if type(held) is dict:
        return _get_known(m, held, args)
    obj = dict_of(m, args[0])
    sought = _sought(m, obj, args)
    if obj is None or sought is None:
        return None
    key, index = sought
    if index >= 0:
        return relabel(obj.cells[index], labels_of(args[0], key))
    return args[2] if len(args) == 3 else Known(None, labels_of(args[0], key))


def _get_known(m: Machine, held: dict[Any, Any], args: Args) -> Any:
    """``get`` of a known dict, with a guard of this item alone."""
    key = as_constant(m, args[1])
    if not isinstance(key, Known) or not known_key(key):
        return None
    found = held.get(key.value, ops.UNBOUND)
    if not m.environment.static(args[0], ("item", held, key.value, found)) or (id(held), key.value) in m.tables.thawed_globals:
        return None
    m.effort.covers(held, key.value)
    use(m, args[0], key)
    if found is ops.UNBOUND and len(args) == 3:
        return args[2]
    return Known(None if found is ops.UNBOUND else found, labels_of(args[0], key))


def _own(m: Machine, value: V) -> VObj | None:
    """Return the virtual dict if value is one from which items may be deleted.

    A deletion leaves a gap in the real dict, which an active iterator can observe; a virtual dict has no gaps.
    """
    settle_iterators(m, value)
    return own(m, value, "dict")


@action(dict.pop, counts=(2, 3))
def dict_pop(m: Machine, args: Args, named: Named) -> Any:
    obj = _own(m, args[0])
    sought = _sought(m, obj, args)
    if obj is None or sought is None:
        return None
    key, index = sought
    if index < 0:
        return args[2] if len(args) == 3 else m.raise_new(KeyError, args[1])
    m.put(args[0], obj.without(index))  # type: ignore[arg-type]
    return relabel(obj.cells[index], labels_of(args[0], key))


@action(dict.popitem, counts=(1, 1))
def dict_popitem(m: Machine, args: Args, named: Named) -> Any:
    obj = _own(m, args[0])
    if obj is None or obj.cls is not dict:
        return None
    use(m, args[0])
    if not obj.keys:
        return m.raise_new(KeyError, "popitem(): dictionary is empty")
    m.put(args[0], obj.without(len(obj.keys) - 1))  # type: ignore[arg-type]
    return m.new(VObj("tuple", tuple, (Known(obj.keys[-1], labels_of(args[0])), obj.cells[-1])))


@action(dict.clear, counts=(1, 1))
def dict_clear(m: Machine, args: Args, named: Named) -> Any:
    obj = _own(m, args[0])
    if obj is None:
        return None
    m.put(args[0], obj.replace(cells=(), keys=()))  # type: ignore[arg-type]
    return NONE


@action(dict.copy, counts=(1, 1))
def dict_copy(m: Machine, args: Args, named: Named) -> Any:
    obj = dict_of(m, args[0])
    return None if obj is None else m.new(VObj("dict", dict, obj.cells, obj.keys), labels_of(args[0]))


@action(dict.setdefault, counts=(2, 3))
def dict_setdefault(m: Machine, args: Args, named: Named) -> Any:
    obj = own(m, args[0], "dict")
    sought = _sought(m, obj, args)
    if obj is None or sought is None:
        return None
    key, index = sought
    if index >= 0:
        return relabel(obj.cells[index], labels_of(args[0], key))
    value = args[2] if len(args) == 3 else NONE
    m.put(args[0], obj.with_new(key.value, value))  # type: ignore[arg-type]
    return value


@action(dict.keys, counts=(1, 1))
def dict_keys(m: Machine, args: Args, named: Named) -> Any:
    return _view(m, args, "keys")


@action(dict.values, counts=(1, 1))
def dict_values(m: Machine, args: Args, named: Named) -> Any:
    return _view(m, args, "values")


@action(dict.items, counts=(1, 1))
def dict_items(m: Machine, args: Args, named: Named) -> Any:
    return _view(m, args, "items")


def _view(m: Machine, args: Args, view: str) -> Any:
    """Make a view of a virtual or known dict."""
    obj = m.obj(args[0], "dict")
    if (obj is not None and obj.cls is dict) or (isinstance(args[0], Known) and type(args[0].value) is dict):
        return m.new(VObj("view", VIEWS[view], (args[0],), extra=view), labels_of(args[0]))
    return None


VIEWS: Final = {name: type(getattr({}, name)()) for name in ("keys", "values", "items")}


@action(dict)
def make_dict(m: Machine, args: Args, named: Named) -> Any:
    if len(args) > 1:
        return None
    made = VObj("dict", dict)
    if args:
        args = [builtin_payload.plain(m, args[0], ("__iter__",)) or args[0]]
        source = dict_of(m, args[0])
        if source is None or (m.class_of(args[0]) is not dict and models.virtual(m, args[0]) is None):
            return _dict_of_pairs(m, args[0], named)
        made = VObj("dict", dict, source.cells, source.keys)
    return m.new(_with_named(made, named), labels_of(*args))


def _with_named(obj: VObj, named: Named) -> VObj:
    for name, value in named.items():
        obj = obj.with_named(name, value)
    return obj


def _dict_of_pairs(m: Machine, value: V, named: Named) -> Any:
    items = unpacking.known_items(m, value)
    if items is None:
        if isinstance(value, Ref) and m.obj(value) is not None and not named:
            mapping = attribute_presence.presence(m, value, "keys") if m.obj(value, "instance") else hasattr(m.class_of(value), "keys")
            if mapping:
                return call_function(m, Known(_of_mapping), _of_mapping, [value], {}, "value")
            if mapping is False and is_iterator(m, value):
                return call_function(m, Known(dict_of_pairs), dict_of_pairs, [value], {}, "value")
        return None
    made = VObj("dict", dict)
    for item in items:
        pair = unpacking.known_items(m, item)
        if pair is None or len(pair) != 2 or not known_key(pair[0]):
            return None
        made = made.with_named(pair[0].value, pair[1])  # type: ignore[union-attr]
    return m.new(_with_named(made, named))


def _of_mapping(mapping: Any) -> dict[Any, Any]:
    """``dict(mapping)`` of an object with ``keys``, each of which is looked up (dict_update_arg, Objects/dictobject.c)."""
    made = {}
    for key in mapping.keys():  # noqa: SIM118  # CPython calls the method keys
        made[key] = mapping[key]
    return made


@action(dict.update, ops.dict_update)
def dict_update(m: Machine, args: Args, named: Named) -> Any:
    if len(args) < 1:
        return None
    obj = own(m, args[0], "dict")
    if obj is None:
        return None if named or len(args) != 2 else _items_into(m, args[0], args[1])
    if len(args) >= 2:
        source = dict_of(m, args[1])
        if source is None:
            return None
        for key, value in zip(source.keys, source.cells, strict=True):
            obj = obj.with_named(key, value)
    m.put(args[0], _with_named(obj, named))  # type: ignore[arg-type]
    return NONE


#: The most items that are stored one by one; of more, a real dict is built, which is stored at once.
MAX_ITEMS: Final = 8


def _items_into(m: Machine, target: V, items: V) -> Any:
    """Store the items of a virtual dict into a real one, one by one, so that the virtual dict is not materialized."""
    source = m.obj(items, "dict") if isinstance(items, Ref) else None
    if source is None or source.node is not None or m.class_of(target) is not dict or len(source.keys) > MAX_ITEMS:
        return None
    for key, value in zip(source.keys, source.cells, strict=True):
        status = call_builtin(m, operator.setitem, [target, Known(key), value], {}, "discard")
        assert status is None
    return NONE


@action(dict.update, counts=(2, 2))
def update_with_pairs(m: Machine, args: Args, named: Named) -> Any:
    """``dict.update`` with an iterable of pairs, which has no ``keys``."""
    cls = m.class_of(args[1])
    if own(m, args[0], "dict") is None or cls is None or hasattr(cls, "keys"):
        return None
    if not (isinstance(args[1], Known) and cls in (list, tuple)) and (not isinstance(args[1], Ref) or m.obj(args[1]) is None or m.obj(args[1], "instance")):
        return None
    return call_function(m, Known(fill_with_pairs), fill_with_pairs, args, {}, "value")


@action(ops.dict_merge)
def dict_merge(m: Machine, args: Args, named: Named) -> Any:
    target, source = m.obj(args[0], "dict"), dict_of(m, args[1])
    if target is None or source is None or any(target.find(k) >= 0 for k in source.keys):
        return None
    return dict_update(m, args[:2], named)


@action(operator.or_)
def dict_or(m: Machine, args: Args, named: Named) -> Any:
    a, b = (dict_of(m, x) for x in args)
    if a is None or b is None or any(m.class_of(x) is not dict for x in args) or not any(isinstance(x, Ref) for x in args):
        return None
    for key, value in zip(b.keys, b.cells, strict=True):
        a = a.with_named(key, value)
    return m.new(VObj("dict", dict, a.cells, a.keys), labels_of(*args))
