"""Materialization: building a virtual object at the point where it escapes, once, with every alias kept."""

from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

from hovis.engine.state import borrowed_copies, class_templates
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.heap import STORED, History, OfTheTrace, VObj, fields_of, reachable
from hovis.engine.state.specialization_tables import GiveUp
from hovis.engine.state.standins import NotMaterializable, check_model, items_of
from hovis.engine.state.values import NONE, UNBOUND_VALUE, Dyn, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect, Op, Operand
from hovis.lattice import Const, Type
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine


class Leak(Exception):
    """A template is wanted where its class is not known; args: the template."""


def lent_to(code: CodeType) -> Any:
    """What a table holds of a function that keeps or changes what it is lent."""
    return "lent", code


def check_materializable(heap: dict[int, VObj], aid: int) -> None:
    """Raise NotMaterializable, as building the object would."""
    obj = heap[aid]
    if obj.lent is not None:
        raise NotMaterializable(lent_to(obj.lent))
    if obj.node is None:
        check_own(obj)
        if obj.kind == "generator":
            # the residual would have to be traced from the edge on which it is built
            raise NotMaterializable(obj.extra[5])
        if obj.kind == "model":
            check_model(heap, obj)


def check_own(obj: VObj) -> None:
    """An object of the caller's is not built anew."""
    if obj.adopted is not None:
        raise GiveUp(f"an argument of class {obj.cls.__name__} gets out before the end")


def check_idle(state: State, aid: int) -> None:
    """Raise NotMaterializable if a method of the stand-in is running on the object: the real one has not what it reads."""
    obj = state.heap[aid]
    if obj.kind != "model" or obj.node is not None:
        return
    stand, site = obj.extra
    for frame in state.frames:
        held = frame.locals[0]
        if type(held) is Ref and held.aid == aid:
            method = getattr(stand.cls, frame.code.code.co_name, None)
            if getattr(method, "__code__", None) is frame.code.code:
                raise NotMaterializable(site)


def check_contents(heap: dict[int, VObj], aids: set[int]) -> None:
    """What is in an object of a stand-in is not built without it."""
    marked = {aid for aid in aids if heap[aid].inner and heap[aid].node is None}
    if marked:
        held = {ref.aid for aid in aids if isinstance(ref := heap[aid].content, Ref)}
        for aid in marked - held:
            raise NotMaterializable(heap[aid].extra[1])


def materialize(m: "Machine", aid: int) -> Operand:
    """The SSA value of the real object; builds it now, and what is in it before it, if it is still virtual."""
    for part in _inside_out(m.state.heap, aid):
        if m.state.heap[part].node is None:
            _materialize(m, part)
    node = m.state.heap[aid].node
    assert node is not None
    return node


def _inside_out(heap: dict[int, VObj], aid: int) -> list[int]:
    """The virtual objects in an object, the innermost first, itself last (an explicit stack: they may nest deep)."""
    order: list[int] = []
    seen: set[int] = set()
    todo = [(aid, False)]
    while todo:
        at, done = todo.pop()
        if done:
            order.append(at)
        elif at not in seen and heap[at].node is None:
            seen.add(at)
            todo.append((at, True))
            if not heap[at].bulk and heap[at].kind not in ("class", "generator"):
                todo += [(part, False) for part in reversed(class_templates.parts(heap, heap[at], _cells_in(heap, heap[at])))]
    return order


def _cells_in(heap: dict[int, VObj], obj: VObj) -> tuple[V, ...]:
    """What has to be built before obj: its cells, those of its content in place of that."""
    content = obj.content
    if not isinstance(content, Ref):
        return obj.cells
    return tuple(c for c in obj.cells if c is not content) + heap[content.aid].cells


def real(m: "Machine", value: V) -> V:
    """value; what a token stands for."""
    found = class_templates.of(value.value) if isinstance(value, Known) else None
    if found is None:
        return value
    if found.template.aid not in m.state.heap:
        raise Leak(found.template)
    return Ref(found.template.aid) if found.name is None else class_templates.actual(m.state.heap, value)


def _materialize(m: "Machine", aid: int) -> None:
    obj = m.state.heap[aid]
    if obj.lent is not None:
        raise NotMaterializable(lent_to(obj.lent))
    check_own(obj)
    if obj.kind == "generator":
        # from now on the real one is what is stepped
        node = m.residual(aid)
        m.endings |= obj.extra[1].guarded
        m.state.heap[aid] = obj.replace(node=node, cells=(), forgotten=True)
        return
    if obj.inner:
        holder = _holder(m, aid)
        if holder is None:
            raise NotMaterializable(obj.extra[1])
        materialize(m, holder)
        return
    copy = borrowed_copies.copy_of(m, aid)
    if copy is not None:
        borrowed_copies.take(m, aid, copy)
        return
    if obj.kind == "class":
        _class(m, aid, obj)
        return
    if obj.kind == "model":
        # what cannot be made may hold itself
        check_model(m.state.heap, obj)
    template = class_templates.template_of(obj.cls) if class_templates.ALL else None
    if template is not None:
        # its class comes first, which may hold this very object
        if template.aid not in m.state.heap:
            m.operand(Known(obj.cls))
        elif m.state.heap[template.aid].node is None:
            _materialize(m, template.aid)
        if m.state.heap[aid].node is not None:
            return
    inner = class_templates.parts(m.state.heap, obj, _cells_in(m.state.heap, obj))
    if obj.kind in _EMPTY and aid in reachable(m.state.heap, inner) and (obj.kind != "model" or obj.content is not None):
        _knot(m, aid, obj)
        return
    for part in inner:
        # a function in a cell of its own is made when that cell is filled
        if m.state.heap[part].node is None:
            _materialize(m, part)
    if m.state.heap[aid].node is None:
        node = _BUILDERS[obj.kind](m, obj)
        m.state.heap[aid] = m.state.heap[aid].replace(node=node)
        if type(node) is Op and node.name is None:
            node.name = _variable_of(m, aid)


def _variable_of(m: "Machine", aid: int) -> str | None:
    """The user's variable that holds an object."""
    for frame in reversed(m.state.frames):
        # a frame may hold more than has names
        for name, held in zip(frame.code.names, frame.locals, strict=False):
            if type(held) is Ref and held.aid == aid:
                return None if frame.code.filename.startswith(m.package) else name
    return None


def build(m: "Machine", callee: Any, args: list[V], cls: type, kwargs: dict[str, V] | None = None) -> Operand:
    """Emit an allocation."""
    operands = tuple(m.operand(a) for a in args)
    named = tuple((name, m.operand(v)) for name, v in (kwargs or {}).items())
    op = Op(callee, operands, named, m.kind_of(cls), None, Effect.PURE, m.location())
    m.emitted += 1
    m.block.ops.append(op)
    return op


def _knot(m: "Machine", aid: int, obj: VObj) -> None:
    """An object that contains itself: make it empty, then fill it in."""
    empty, fill = _EMPTY[obj.kind]
    node: Operand = empty(m, obj)
    m.state.heap[aid] = obj.replace(node=node)
    fill(m, obj, Dyn(node, Type(obj.cls)))


def _effect(m: "Machine", callee: Any, args: list[V]) -> None:
    operands = tuple(m.operand(a) for a in args)
    m.emitted += 1
    m.block.ops.append(Op(callee, operands, (), Type(type(None)), None, Effect.WRITES, m.location()))


# ------------------------------------------------------------------------------------------------- by kind


def _tuple(m: "Machine", obj: VObj) -> Operand:
    if obj.cls is tuple and all(isinstance(c, Known) and is_immutable(c.value) for c in obj.cells):
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
    """Build a set in the same way again: it will be iterated over in the same order."""
    steps = list(past.steps)
    if type(past.base) is not tuple:
        made: Operand = Const(past.base)
    elif not past.base and steps and steps[0][0] is set.update and len(steps[0][1]) == 1:
        # a display of constants
        made = build(m, set, [_operand(m, steps.pop(0)[1][0])], set)
    else:
        made = build(m, ops.make_set, [Known(item) for item in past.base], set)
    for fn, operands in steps:
        args: list[V] = [Known(made.value) if isinstance(made, Const) else Dyn(made, Type(set)), *(_operand(m, x) for x in operands)]
        if fn in _CHANGE_SETS:
            _effect(m, fn, args)
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
    m.endings = True  # who is given it may refer to it weakly
    if STORED in obj.keys:
        return _stored(m, obj)
    return build(m, ops.make_object, [Known(obj.cls), Known(obj.keys), *obj.cells], obj.cls)


def _stored(m: "Machine", obj: VObj, empty: bool = False) -> Operand:
    """An instance of a subclass of a builtin class."""
    inside, names, values = _apart(obj)
    content = m.state.heap[inside.aid] if isinstance(inside, Ref) and obj.content is not None else None
    if content is not None:
        held = content.replace(extra=None, cells=(), keys=()) if empty else content.replace(extra=None)
        inside = Dyn(_BUILDERS[held.kind](m, held), Type(held.cls))
    if empty:
        names, values = (), ()
    node = build(m, ops.make_stored, [Known(obj.cls), Known(names), inside, *values], obj.cls)
    if not empty:
        _hand_over(m, obj, node)
    return node


def _apart(obj: VObj) -> tuple[V, tuple[str, ...], tuple[V, ...]]:
    """What an instance holds, and its attributes."""
    at = obj.keys.index(STORED)
    return obj.cells[at], (*obj.keys[:at], *obj.keys[at + 1 :]), (*obj.cells[:at], *obj.cells[at + 1 :])


def _holder(m: "Machine", aid: int) -> int | None:
    """The instance that holds a list or dict, if its class leaves the slots of the builtin class alone."""
    for at, obj in m.state.heap.items():
        if obj.kind == "instance" and isinstance(obj.content, Ref) and obj.content.aid == aid and obj.node is None:
            return at if leaves_alone(obj.cls, m.state.heap[aid].cls) else None
    return None


def leaves_alone(cls: type, base: type) -> bool:
    """Does a class leave all that makes an object of a builtin class what it is?"""
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
            _effect(m, BaseException.__setattr__, [Dyn(node, Type(obj.cls)), Known(name), value])
        return node
    if obj.cls.__module__ == "builtins" and obj.keys == _made_with(obj.cls) and items is not None and _untouched(obj, items):
        return build(m, obj.cls, list(items.cells), obj.cls)
    return build(m, ops.make_exception, [Known(obj.cls), args, Known(obj.keys[1:]), *fields] if fields else [Known(obj.cls), args], obj.cls)


def _made_with(cls: type) -> tuple[str, ...]:
    """What an instance has that was made and nothing else."""
    return ("args", *fields_of(cls))


def _untouched(obj: VObj, args: VObj) -> bool:
    """Has a field what the arguments gave it?"""
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
        _effect(m, setattr, [Dyn(made, Type(obj.cls)), Known(key), cell])
    return made


def _method(m: "Machine", obj: VObj) -> Operand:
    function, instance = obj.cells
    if isinstance(function, Known) and not is_a(function.value, _PYTHON_FUNCTION):
        # a builtin's bound method is made by reading the attribute
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


# ------------------------------------------------------------------------------------------------- stand-ins


def _model(m: "Machine", obj: VObj, empty: bool = False) -> Operand:
    """The real object of a C class, from the attributes of what stands for it."""
    check_model(m.state.heap, obj)
    stand = obj.extra[0]
    args: list[V] = []
    kwargs: dict[str, V] = {}
    for part in stand.parts:
        value = obj.cells[obj.keys.index(part.attribute)]
        if part.attribute == stand.content:
            held = m.state.heap[value.aid]  # type: ignore[union-attr]
            made = _BUILDERS[held.kind](m, held.replace(cells=(), keys=()) if empty else held)
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
    node = build(m, stand.build, args, obj.cls, kwargs)
    if "__dict__" in obj.keys:
        _effect(m, setattr, [Dyn(node, Type(obj.cls)), Known("__dict__"), obj.cells[obj.keys.index("__dict__")]])
    if not empty:
        _hand_over(m, obj, node)
    return node


def _hand_over(m: "Machine", obj: VObj, node: Operand) -> None:
    """What was in the stand-in is in the real object now: iterators over a dict go on there."""
    content = obj.content
    if isinstance(content, Ref):
        held = m.state.heap[content.aid]
        if obj.kind == "instance" and leaves_alone(obj.cls, held.cls):
            # what is known of it stays known, as of any object that is real
            m.state.heap[content.aid] = held.replace(node=node, extra=None, cls=obj.cls)
        elif held.kind == "dict" or obj.kind == "instance":
            m.state.heap[content.aid] = held.replace(node=node, forgotten=True, cls=obj.cls, cells=(), keys=(), extra=None)


def _fill_model(m: "Machine", obj: VObj, real: Dyn) -> None:
    content = m.state.heap[obj.content.aid]  # type: ignore[union-attr]
    _effect(m, obj.extra[0].fill, [real, Dyn(_BUILDERS[content.kind](m, content), Type(content.cls))])
    assert real.value is not None
    _hand_over(m, obj, real.value)


_PYTHON_FUNCTION = type(lambda: None)
_BUILDERS: "dict[str, Callable[[Machine, VObj], Operand]]" = {
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
    "model": _model,
}


def _fill_cell(m: "Machine", obj: VObj, real: Dyn) -> None:
    held = obj.cells[0]
    template = class_templates.template_of(held.value) if class_templates.ALL and isinstance(held, Known) else None
    if template is not None and m.state.heap[template.aid].node is None and _own_cell(m, template.aid) is real.value:
        # the class fills it when it is made
        m.operand(held)
        return
    _effect(m, ops.cell_set, [real, obj.cells[0]])


def _class(m: "Machine", aid: int, obj: VObj) -> None:
    """A class of this trace; what its attributes hold of itself comes behind it."""
    template, cls = obj.extra, obj.extra.cls
    for part in class_templates.parts(m.state.heap, obj):
        if m.state.heap[part].node is None and part != aid and not _leads_to(m, part, aid, obj):
            _materialize(m, part)
    if m.state.heap[aid].node is not None:
        return
    count = len(obj.keys) - template.added - 1
    pairs = list(zip(obj.keys, obj.cells, strict=True))
    late = [
        (name, cell)
        for k, (name, cell) in enumerate(pairs)
        if (k >= count and not (isinstance(cell, Known) and cell.value is class_templates.MISSING))
        or name in template.named
        or (_free(template, name) and aid in reachable(m.state.heap, _virtual(m, cell)))
    ]
    apart = {name for name, _ in late}
    values = [NONE if name in apart else cell for name, cell in pairs[:count]]
    held = () if cls.__bases__ == (object,) else cls.__bases__
    plain = not any(map(class_templates.of, held))
    bases: V = Known(held) if plain else m.new(VObj("tuple", tuple, tuple(map(Known, held))))
    maker = ops.make_class_quietly if template.quiet else ops.make_class
    node = build(m, maker, [Known(type(cls)), Known(cls.__name__), bases, Known(obj.keys[:count]), *values], type(cls))
    if m.tables.eager_classes and isinstance(node, Op):
        node.effect = Effect.WRITES
    m.state.heap[aid] = m.state.heap[aid].replace(node=node)
    for name, cell in late:
        _effect(m, setattr, [Dyn(node, Type(type(cls))), Known(name), cell])


def _free(template: class_templates.Template, name: str) -> bool:
    return name in template.data or name in template.open or name in template.named


def _own_cell(m: "Machine", aid: int) -> Operand | None:
    """The ``__class__`` cell that a class is to fill."""
    obj = m.state.heap[aid]
    cell = obj.cells[obj.keys.index("__classcell__")] if "__classcell__" in obj.keys else None
    return m.state.heap[cell.aid].node if isinstance(cell, Ref) else None


def _virtual(m: "Machine", cell: V) -> list[int]:
    """The object in a cell, if it is not real yet."""
    found = real(m, cell)
    return [found.aid] if isinstance(found, Ref) and m.state.heap[found.aid].node is None else []


def _leads_to(m: "Machine", part: int, aid: int, obj: VObj) -> bool:
    """Is the part the value of a plain attribute, and does it hold the class itself?"""
    held = any(isinstance(c, Ref) and c.aid == part and _free(obj.extra, name) for name, c in zip(obj.keys, obj.cells, strict=True))
    return held and aid in reachable(m.state.heap, [part])


def _fill_list(m: "Machine", obj: VObj, real: Dyn) -> None:
    for item in obj.cells:
        _effect(m, list.append, [real, item])


def _fill_dict(m: "Machine", obj: VObj, real: Dyn) -> None:
    for key, value in zip(obj.keys, obj.cells, strict=True):
        _effect(m, dict.__setitem__, [real, Known(key), value])


def _empty_instance(m: "Machine", obj: VObj) -> Operand:
    if STORED in obj.keys:
        return _stored(m, obj, empty=True)
    return build(m, ops.make_object, [Known(obj.cls), Known(())], obj.cls)


def _fill_instance(m: "Machine", obj: VObj, real: Dyn) -> None:
    if STORED in obj.keys:
        _, names, values = _apart(obj)
        if isinstance(obj.content, Ref):
            held = m.state.heap[obj.content.aid]
            fill: Any = list.extend if held.kind == "list" else dict.update
            _effect(m, fill, [real, Dyn(_BUILDERS[held.kind](m, held.replace(extra=None)), Type(held.cls))])
        _hand_over(m, obj, real.value)
        obj = obj.replace(keys=names, cells=values)
    for name, value in zip(obj.keys, obj.cells, strict=True):
        _effect(m, object.__setattr__, [real, Known(name), value])


def _fill_exception(m: "Machine", obj: VObj, real: Dyn) -> None:
    for name, value in zip(obj.keys, obj.cells, strict=True):
        _effect(m, BaseException.__setattr__, [real, Known(name), value])


_EMPTY: dict[str, tuple[Any, Any]] = {
    "exception": (lambda m, obj: build(m, ops.make_exception, [Known(obj.cls), Known(())], obj.cls), _fill_exception),
    "cell": (lambda m, obj: build(m, ops.make_cell, [UNBOUND_VALUE], obj.cls), _fill_cell),
    "list": (lambda m, obj: build(m, ops.make_list, [], list), _fill_list),
    "dict": (lambda m, obj: build(m, ops.make_dict, [], dict), _fill_dict),
    "instance": (_empty_instance, _fill_instance),
    "model": (lambda m, obj: _model(m, obj, empty=True), _fill_model),
}
