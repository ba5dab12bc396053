"""Builders of the real object of each kind from the contents of the virtual one."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from hovis.engine.state.heap import STORED, History, OfTheTrace, VObj, fields_of
from hovis.engine.state.standins import form_of, items_of
from hovis.engine.state.values import Dyn, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect, Op, Operand
from hovis.lattice import Const, Type
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine


def build(m: "Machine", callee: Any, args: list[V], cls: type, kwargs: dict[str, V] | None = None, effect: Effect = Effect.PURE) -> Operand:
    """Emit an allocation."""
    operands = tuple(m.operand(a) for a in args)
    named = tuple((name, m.operand(v)) for name, v in (kwargs or {}).items())
    op = Op(callee, operands, named, m.kind_of(cls), None, effect, m.location())
    m.emitted += 1
    m.block.ops.append(op)
    return op


def emit_effect(m: "Machine", callee: Any, args: list[V]) -> None:
    """Emit a call that changes an object."""
    operands = tuple(m.operand(a) for a in args)
    m.emitted += 1
    m.block.ops.append(Op(callee, operands, (), Type(type(None)), None, Effect.WRITES, m.location()))


def _tuple(m: "Machine", obj: VObj) -> Operand:
    if obj.cls is tuple and all(isinstance(c, Known) and is_immutable(c.value) for c in obj.cells):
        # if the code compares tuples by identity, a new tuple must not become a constant, as equal constants are one object
        if m.tables.tuples_seen:
            return build(m, ops.make_tuple, list(obj.cells), tuple, effect=Effect.READS)
        return Const(tuple(c.value for c in obj.cells))  # type: ignore[union-attr]
    if obj.cls is tuple:
        return build(m, ops.make_tuple, list(obj.cells), tuple)
    plain = build(m, ops.make_tuple, list(obj.cells), tuple)
    return build(m, tuple.__new__, [Known(obj.cls), Dyn(plain, Type(tuple))], obj.cls)


def _list(m: "Machine", obj: VObj) -> Operand:
    return build(m, ops.make_list, list(obj.cells), list)


def _set(m: "Machine", obj: VObj) -> Operand:
    return _replay(m, obj.extra or History(obj.keys))


def _objects(m: "Machine", obj: VObj) -> Operand:
    site, seen = obj.extra
    return build(m, site if seen else ops.make_set, list(obj.cells), set)


def _replay(m: "Machine", past: History) -> Operand:
    """Rebuild a set by the steps of its history, which gives the same iteration order."""
    steps = list(past.steps)
    if type(past.base) is not tuple:
        made: Operand = Const(past.base)
    elif not past.base and steps and steps[0][0] is set.update and len(steps[0][1]) == 1:
        # a set display of constants
        made = build(m, set, [_operand(m, steps.pop(0)[1][0])], set)
    else:
        made = build(m, ops.make_set, [Known(item) for item in past.base], set)
    for fn, operands in steps:
        args: list[V] = [Known(made.value) if isinstance(made, Const) else Dyn(made, Type(set)), *(_operand(m, x) for x in operands)]
        if fn in _CHANGE_SETS:
            emit_effect(m, fn, args)
        else:
            made = build(m, fn, args, set)
    return made


def _operand(m: "Machine", operand: Any) -> V:
    if type(operand) is not History:
        return Known(operand)
    made = _replay(m, operand)
    return Known(made.value) if isinstance(made, Const) else Dyn(made, Type(set))


_CHANGE_SETS: Final = frozenset(
    {set.add, set.discard, set.update, set.intersection_update, set.difference_update, set.symmetric_difference_update}
)


def _view(m: "Machine", obj: VObj) -> Operand:
    return build(m, getattr(dict, obj.extra), list(obj.cells), obj.cls)


def _dict(m: "Machine", obj: VObj) -> Operand:
    pairs = [x for key, value in zip(obj.keys, obj.cells, strict=True) for x in (Known(key), value)]
    return build(m, ops.make_dict, pairs, dict)


def _instance(m: "Machine", obj: VObj) -> Operand:
    m.endings = True  # whoever gets it may refer to it weakly
    if STORED in obj.keys:
        return stored(m, obj)
    return build(m, ops.make_object, [Known(obj.cls), Known(obj.keys), *obj.cells], obj.cls)


def stored(m: "Machine", obj: VObj, empty: bool = False) -> Operand:
    """Build an instance of a subclass of a builtin class."""
    inside, names, values = apart(obj)
    content = m.state.heap[inside.aid] if isinstance(inside, Ref) and obj.content is not None else None
    if content is not None:
        held = content.replace(extra=None, cells=(), keys=()) if empty else content.replace(extra=None)
        inside = Dyn(BUILDERS[held.kind](m, held), Type(held.cls))
    if empty:
        names, values = (), ()
    node = build(m, ops.make_stored, [Known(obj.cls), Known(names), inside, *values], obj.cls)
    if not empty:
        hand_over(m, obj, node)
    return node


def apart(obj: VObj) -> tuple[V, tuple[str, ...], tuple[V, ...]]:
    """Return what C code keeps in an instance, and the names and values of its attributes."""
    at = obj.keys.index(STORED)
    return obj.cells[at], (*obj.keys[:at], *obj.keys[at + 1 :]), (*obj.cells[:at], *obj.cells[at + 1 :])


def holder_of(m: "Machine", aid: int) -> int | None:
    """Return the virtual instance that holds a list or dict; None if there is none, or its class overrides methods of the builtin class."""
    for at, obj in m.state.heap.items():
        if obj.kind == "instance" and isinstance(obj.content, Ref) and obj.content.aid == aid and obj.node is None:
            return at if leaves_alone(obj.cls, m.state.heap[aid].cls) else None
    return None


def leaves_alone(cls: type, base: type) -> bool:
    """Does cls override none of the methods that define the behaviour of its builtin base?"""
    held = [vars(derived) for derived in cls.__mro__[: cls.__mro__.index(base)]]
    return not any(name in names for names in held for name in ("__missing__", *vars(base)) if name not in _FREE)


_FREE: Final = frozenset({"__init__", "__new__", "__doc__", "__repr__", "__getattribute__", "__class_getitem__"})


def _exception(m: "Machine", obj: VObj) -> Operand:
    args, *fields = obj.cells
    items = m.obj(args, "tuple")
    if issubclass(obj.cls, BaseExceptionGroup) and items is not None:
        made: dict[str, V] = dict(zip(obj.keys[3:], obj.cells[3:], strict=True))
        node = build(m, obj.cls, list(items.cells), obj.cls)
        for name, value in made.items():
            emit_effect(m, BaseException.__setattr__, [Dyn(node, Type(obj.cls)), Known(name), value])
        return node
    if obj.cls.__module__ == "builtins" and obj.keys == _made_with(obj.cls) and items is not None and _untouched(obj, items):
        return build(m, obj.cls, list(items.cells), obj.cls)
    return build(m, ops.make_exception, [Known(obj.cls), args, Known(obj.keys[1:]), *fields] if fields else [Known(obj.cls), args], obj.cls)


def _made_with(cls: type) -> tuple[str, ...]:
    """Return the attribute names of a newly made instance."""
    return ("args", *fields_of(cls))


def _untouched(obj: VObj, args: VObj) -> bool:
    """Do all fields still have the values that the arguments gave them?"""
    given = args.cells[0] if len(args.cells) == 1 else None
    for name, cell in zip(obj.keys[1:], obj.cells[1:], strict=True):
        from_args = name in ("value", "code") and given is not None
        if (cell is not given) if from_args else not (isinstance(cell, Known) and cell.value is None):
            return False
    return True


def _cell(m: "Machine", obj: VObj) -> Operand:
    return build(m, ops.make_cell, list(obj.cells), obj.cls)


def _function(m: "Machine", obj: VObj) -> Operand:
    code, namespace, name, qualname = obj.extra
    defaults, kwdefaults, annotations = obj.cells[:3]
    fixed: list[V] = [Known(code.code), Known(namespace), Known(name), Known(qualname)]
    made = build(m, ops.make_function, [*fixed, defaults, kwdefaults, annotations, *obj.closure], obj.cls)
    for key, cell in zip(obj.keys, obj.cells[len(obj.cells) - len(obj.keys) :], strict=True):
        emit_effect(m, setattr, [Dyn(made, Type(obj.cls)), Known(key), cell])
    return made


def _method(m: "Machine", obj: VObj) -> Operand:
    function, instance = obj.cells
    if isinstance(function, Known) and not is_a(function.value, _PYTHON_FUNCTION):
        # a bound method of a builtin is built by reading the attribute
        name = Known(function.value.__name__)  # type: ignore[attr-defined]
        return build(m, getattr, [instance, name], obj.cls)
    return build(m, ops.bind, [function, instance], obj.cls)


def _call(callee: Any) -> "Callable[[Machine, VObj], Operand]":
    return lambda m, obj: build(m, callee, list(obj.cells), obj.cls)


def _iterator(m: "Machine", obj: VObj) -> Operand:
    source, position = obj.cells[:2]
    if type(obj.extra) is OfTheTrace:
        return build(m, obj.extra, [source], obj.cls)
    over = source if obj.extra is None else Known(obj.extra)
    if isinstance(position, Known) and position.value == 0:
        return build(m, iter, [over], obj.cls)
    return build(m, ops.make_iterator, [over, position], obj.cls)


def _range_iter(m: "Machine", obj: VObj) -> Operand:
    return build(m, ops.make_range_iterator, list(obj.cells), obj.cls)


def _dict_iter(m: "Machine", obj: VObj) -> Operand:
    source, position, size = obj.cells
    over = m.obj(source, "dict")
    changed = [] if over is not None and isinstance(size, Known) and len(over.keys) == size.value else [size]
    return build(m, ops.make_dict_iterator, [source, position, Known(obj.extra), *changed], obj.cls)


def model(m: "Machine", obj: VObj, empty: bool = False) -> Operand:
    """Build the real object of a C class from the attributes of its stand-in."""
    form = form_of(m.state.heap, obj)
    stand = obj.extra[0]
    args: list[V] = []
    kwargs: dict[str, V] = {}
    for part in form.parts:
        value = obj.cells[obj.keys.index(part.attribute)]
        if part.attribute == stand.content:
            held = m.state.heap[value.aid]  # type: ignore[union-attr]
            made = BUILDERS[held.kind](m, held.replace(cells=(), keys=()) if empty else held)
            args.append(Dyn(made, Type(held.cls)))
        elif part.keyword == "**":
            named = m.state.heap[value.aid]  # type: ignore[union-attr]
            kwargs.update(zip(named.keys, named.cells, strict=True))
        elif part.spread:
            args += items_of(m.state.heap, value) or ()
        elif part.keyword:
            kwargs[part.keyword] = value
        else:
            args.append(value)
    node = build(m, form.build, args, obj.cls, kwargs)
    if "__dict__" in obj.keys:
        emit_effect(m, setattr, [Dyn(node, Type(obj.cls)), Known("__dict__"), obj.cells[obj.keys.index("__dict__")]])
    if not empty:
        hand_over(m, obj, node)
    return node


def hand_over(m: "Machine", obj: VObj, node: Operand) -> None:
    """Record that the real object now has the content of the virtual one: iterators over a dict continue there."""
    content = obj.content
    if isinstance(content, Ref):
        held = m.state.heap[content.aid]
        if obj.kind == "instance" and leaves_alone(obj.cls, held.cls):
            # its contents stay known, as for any real object
            m.state.heap[content.aid] = held.replace(node=node, extra=None, cls=obj.cls)
        elif held.kind == "dict" or obj.kind == "instance":
            m.state.heap[content.aid] = held.replace(node=node, forgotten=True, cls=obj.cls, cells=(), keys=(), extra=None)


_PYTHON_FUNCTION = type(lambda: None)
BUILDERS: "dict[str, Callable[[Machine, VObj], Operand]]" = {
    "tuple": _tuple,
    "list": _list,
    "set": _set,
    "objects": _objects,
    "dict": _dict,
    "view": _view,
    "instance": _instance,
    "exception": _exception,
    "cell": _cell,
    "function": _function,
    "method": _method,
    "slice": _call(slice),
    "range": _call(range),
    "super": _call(super),
    "property": _call(property),
    "staticmethod": _call(staticmethod),
    "classmethod": _call(classmethod),
    "sequence_iter": _iterator,
    "range_iter": _range_iter,
    "dict_iter": _dict_iter,
    "model": model,
}
