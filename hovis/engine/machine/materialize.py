"""Materialization: build a virtual object where it escapes, once, and preserve all its aliases."""

from types import CodeType
from typing import TYPE_CHECKING, Any

from hovis.engine.machine.building.knots import EMPTY, knot
from hovis.engine.machine.building.objects import BUILDERS, build, emit_effect, holder_of
from hovis.engine.state import borrowed_copies, class_templates
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.heap import VObj, reachable
from hovis.engine.state.specialization_tables import GiveUp
from hovis.engine.state.standins import NotMaterializable, form_of
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect, Op, Operand
from hovis.lattice import Type

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine


class Leak(Exception):
    """Raised when a template is needed where its class is not known; args: the template."""


def lent_to(code: CodeType) -> Any:
    """Return the entry in tables for a function that keeps or changes an argument that is lent to it."""
    return "lent", code


def check_materializable(heap: dict[int, VObj], aid: int) -> None:
    """Raise NotMaterializable or GiveUp where building the object would."""
    obj = heap[aid]
    if obj.lent is not None:
        raise NotMaterializable(lent_to(obj.lent))
    if obj.node is None:
        check_own(obj)
        if obj.kind == "generator":
            # the residual of the generator would have to be traced from the edge on which it is built
            raise NotMaterializable(obj.extra[5])
        if obj.kind == "model":
            form_of(heap, obj)


def check_own(obj: VObj) -> None:
    """Raise GiveUp if obj is an object of the caller's, which must not be built again."""
    if obj.adopted is not None:
        raise GiveUp(f"an argument of class {obj.cls.__name__} escapes before the function returns")


def check_idle(state: State, aid: int) -> None:
    """Raise NotMaterializable if a method of the stand-in is running on the object: the real object lacks the attributes that it reads."""
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
    """Raise NotMaterializable if the list or dict inside an object would be built without that object."""
    marked = {aid for aid in aids if heap[aid].inner and heap[aid].node is None}
    if marked:
        held = {ref.aid for aid in aids if isinstance(ref := heap[aid].content, Ref)}
        for aid in marked - held:
            raise NotMaterializable(heap[aid].extra[1])


def materialize(m: "Machine", aid: int) -> Operand:
    """Return the SSA value of the real object; if it is still virtual, build the objects in it, and then itself."""
    for part in _inside_out(m.state.heap, aid):
        if m.state.heap[part].node is None:
            _materialize(m, part)
    node = m.state.heap[aid].node
    assert node is not None
    return node


def _inside_out(heap: dict[int, VObj], aid: int) -> list[int]:
    """List the virtual objects in an object, the innermost first, itself last (an explicit stack: they may nest deep)."""
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
    """Return the values to build before obj: its cells, with its content replaced by the cells of that."""
    content = obj.content
    if not isinstance(content, Ref):
        return obj.cells
    return tuple(c for c in obj.cells if c is not content) + heap[content.aid].cells


def real(m: "Machine", value: V) -> V:
    """Return the value that a token of a template stands for, and any other value unchanged."""
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
        # from now on the real generator is stepped
        node = m.residual(aid)
        m.endings |= obj.extra[1].guarded
        m.state.heap[aid] = obj.replace(node=node, cells=(), forgotten=True)
        return
    if obj.inner:
        holder = holder_of(m, aid)
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
        # an object that cannot be built may contain itself, so check before the walk
        form_of(m.state.heap, obj)
    template = class_templates.template_of(obj.cls) if class_templates.ALL else None
    if template is not None:
        # its class is built first, which may hold this very object
        if template.aid not in m.state.heap:
            m.operand(Known(obj.cls))
        elif m.state.heap[template.aid].node is None:
            _materialize(m, template.aid)
        if m.state.heap[aid].node is not None:
            return
    inner = class_templates.parts(m.state.heap, obj, _cells_in(m.state.heap, obj))
    if obj.kind in EMPTY and aid in reachable(m.state.heap, inner) and (obj.kind != "model" or obj.content is not None):
        knot(m, aid, obj)
        return
    for part in inner:
        # a function that is held by a cell of its own closure is built when that cell is filled
        if m.state.heap[part].node is None:
            _materialize(m, part)
    if m.state.heap[aid].node is None:
        node = BUILDERS[obj.kind](m, obj)
        m.state.heap[aid] = m.state.heap[aid].replace(node=node)
        if type(node) is Op and node.name is None:
            node.name = _variable_of(m, aid)


def _variable_of(m: "Machine", aid: int) -> str | None:
    """Return the name of the user's variable that holds an object, or None."""
    for frame in reversed(m.state.frames):
        # a frame may have more slots than names
        for name, held in zip(frame.code.names, frame.locals, strict=False):
            if type(held) is Ref and held.aid == aid:
                return None if frame.code.filename.startswith(m.package) else name
    return None


# ------------------------------------------------------------------------------------------------- classes


def _class(m: "Machine", aid: int, obj: VObj) -> None:
    """Build a class of this trace; attributes that hold the class itself are set afterwards."""
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
        emit_effect(m, setattr, [Dyn(node, Type(type(cls))), Known(name), cell])


def _free(template: class_templates.Template, name: str) -> bool:
    return name in template.data or name in template.open or name in template.named


def _virtual(m: "Machine", cell: V) -> list[int]:
    """Return the number of the object in a cell if it is still virtual, as a list of at most one."""
    found = real(m, cell)
    return [found.aid] if isinstance(found, Ref) and m.state.heap[found.aid].node is None else []


def _leads_to(m: "Machine", part: int, aid: int, obj: VObj) -> bool:
    """Is part the value of a plain attribute, and does it reach the class itself?"""
    held = any(isinstance(c, Ref) and c.aid == part and _free(obj.extra, name) for name, c in zip(obj.keys, obj.cells, strict=True))
    return held and aid in reachable(m.state.heap, [part])
