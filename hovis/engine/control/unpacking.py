"""Unpacking of an iterable into its items, where these are known (CPython: UNPACK_SEQUENCE, UNPACK_EX)."""

import operator
from typing import Any, Final

from hovis.engine.calls import builtin_payload, enums
from hovis.engine.calls.builtins import call_builtin
from hovis.engine.control import identity_sets
from hovis.engine.control.iteration import item_at, length_of
from hovis.engine.machine.call_results import AFTER, opaque
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import is_python_class, special
from hovis.engine.state.values import STRONG, Dyn, Known, Labels, Ref, V, relabel
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.lattice import ANY, Array, Const, Partial, Type
from hovis.lattice.inspection import is_a

#: The most names into which a generator or the like is unpacked by tracing its steps.
MOST_NAMES: Final = 16
#: The most rows of an array that is unpacked row by row.
MOST_ROWS: Final = 64


def known_items(m: Machine, value: V) -> list[V] | None:
    """Return the items of an iterable, or None if they are not known one by one."""
    value = m.resolve(value)
    value = builtin_payload.plain(m, value, ("__iter__",)) or value
    if isinstance(value, Ref):
        held = identity_sets.elements(m, value)
        if held is not None:
            return list(held)
        obj = m.obj(value, "list", "tuple", "dict", "view")
        if obj is not None and obj.kind == "view":
            return _viewed(m, obj, value.labels)
        if obj is None or (is_python_class(obj.cls) and special(obj.cls, "__iter__") is not None):
            return None
        labels = value.labels
        if labels:
            m.mark(labels, STRONG)
        if obj.kind == "dict":
            return [Known(k, labels) for k in obj.keys]
        return [relabel(c, labels) for c in obj.cells]
    if isinstance(value, Known) and type(value.value) in (tuple, list, str, bytes, dict, range) and m.environment.static(value):
        if len(value.value) > 5_000:  # type: ignore[arg-type]
            return None
        if value.labels:
            m.mark(value.labels, STRONG)
        m.effort.covers(value.value, ..., 0)
        return [Known(x, value.labels) for x in value.value]  # type: ignore[attr-defined]
    if isinstance(value, Dyn) and isinstance(value.type, Partial) and value.type.cls is tuple:
        return [m.emit(operator.getitem, [value, Known(k)], type=part, effect=Effect.PURE) for k, part in enumerate(value.type.parts)]
    if isinstance(value, Known) and is_a(value.value, type) and enums.is_enum(value.value):
        return enums.members(m, value.value, value.labels)
    return None


def items_in_sight(m: Machine, value: V) -> list[V] | None:
    """Return the `known_items`; for back ends that compile, also the rows of an array, if there are few. Else None."""
    items = known_items(m, value)
    return _rows(m, m.resolve(value), None) if items is None and m.known_sizes else items


def _viewed(m: Machine, obj: VObj, labels: Labels) -> list[V] | None:
    source = m.resolve(obj.cells[0])
    if isinstance(source, Known) and type(source.value) is dict:
        if not m.environment.static(source) or len(source.value) > 5_000:
            return None
        if source.labels:
            m.mark(source.labels, STRONG)
        return [Known(x, source.labels) for x in getattr(source.value, obj.extra)()]
    keys = known_items(m, relabel(source, labels)) if m.obj(source, "dict") is not None else None
    if keys is None or obj.extra == "keys":
        return keys
    values = [relabel(c, labels) for c in m.state.heap[source.aid].cells]  # type: ignore[union-attr]
    return values if obj.extra == "values" else [m.new(VObj("tuple", tuple, pair)) for pair in zip(keys, values, strict=True)]


def unpack(m: Machine, value: V, before: int, after: int) -> int | None:
    """UNPACK_SEQUENCE (after < 0) and UNPACK_EX: push the items of value."""
    items = known_items(m, value)
    if items is None:
        items = _rows(m, m.resolve(value), before if after < 0 else None)
    if items is not None:
        if after < 0 and len(items) == before:
            m.frame.stack.extend(reversed(items))
            return None
        if after >= 0 and len(items) >= before + after:
            middle = m.new(VObj("list", list, tuple(items[before : len(items) - after])))
            whole = [*items[:before], middle, *items[len(items) - after :]]
            m.frame.stack.extend(reversed(whole))
            return None
    value = m.resolve(value)
    if after < 0 and before < MOST_NAMES and m.obj(value, "generator", "model") is not None:
        return call_builtin(m, ops.unpack, [value, Known(before)], {}, f"unpack_{before}")
    count = before if after < 0 else before + 1 + after
    cls = m.class_of(value)
    row = _kind_of_rows(m, value)
    effect = Effect.RAISES | Effect.READS if cls in (list, tuple, str, dict) or row is not None else Effect.OPAQUE
    fn: Any = ops.unpack if after < 0 else ops.unpack_star
    args = [value, Known(before)] if after < 0 else [value, Known(before), Known(after)]
    if effect is Effect.OPAQUE:
        whole_tuple = opaque(m, fn, args)
        # the items of an object whose end is observable may end with it
        whole_tuple = Dyn(whole_tuple.value, Type(tuple), ends=value.ends if isinstance(value, Dyn) else 0)
        whole_tuple.value.type = Type(tuple)  # type: ignore[union-attr]
    else:
        whole_tuple = m.emit(fn, args, type=Type(tuple), effect=effect)
    kinds = [row or (Type(str) if cls is str else ANY)] * count
    if after >= 0:
        kinds[before] = Type(list)
    dims = value.dims[1:] if isinstance(row, Array) and isinstance(value, Dyn) and value.dims else None
    parts = [
        m.emit(operator.getitem, [whole_tuple, Known(k)], type=kind, effect=Effect.PURE, dims=dims if kind is row else None) for k, kind in enumerate(kinds)
    ]
    m.frame.stack.extend(reversed(parts))
    return None


def _kind_of_rows(m: Machine, value: V) -> Any:
    """Return the type of the rows of an array with an unknown number of rows; None if it is not known."""
    if not isinstance(value, Dyn) or not isinstance(value.type, Array):
        return None
    rule = m.library.rule(operator.getitem)
    return rule.result(value.type, Const(0)) if rule is not None else None


def _after_unpacking(count: int) -> Any:
    def after(m: Machine) -> int | None:
        made = m.pop()
        parts = known_items(m, made)
        if parts is None:
            parts = [m.emit(operator.getitem, [made, Known(k)], type=ANY, effect=Effect.PURE) for k in range(count)]
        m.frame.stack.extend(reversed(parts))
        return None

    return after


def _rows(m: Machine, value: V, wanted: int | None) -> list[V] | None:
    """Return the rows of an array to unpack, if there are few, and as many as wanted (None: any number); else None."""
    count = length_of(m, value) if isinstance(value, Dyn) and isinstance(value.type, Array) else None
    return None if count is None or count > MOST_ROWS or wanted not in (None, count) else [item_at(m, value, k, Known(k), 0) for k in range(count)]


for _count in range(MOST_NAMES):
    AFTER[f"unpack_{_count}"] = _after_unpacking(_count)
