"""Objects that contain themselves: made empty, then filled in."""

from typing import TYPE_CHECKING, Any

from hovis.engine.machine.building.objects import BUILDERS, apart, build, emit_effect, hand_over, model, stored
from hovis.engine.state import class_templates
from hovis.engine.state.heap import STORED, VObj
from hovis.engine.state.values import UNBOUND_VALUE, Dyn, Known, Ref
from hovis.ir import operations as ops
from hovis.ir.model import Operand
from hovis.lattice import Type

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine


def knot(m: "Machine", aid: int, obj: VObj) -> None:
    """Build an object that contains itself: make it empty, then fill it in."""
    empty, fill = EMPTY[obj.kind]
    node: Operand = empty(m, obj)
    m.state.heap[aid] = obj.replace(node=node)
    fill(m, obj, Dyn(node, Type(obj.cls)))


def _fill_model(m: "Machine", obj: VObj, real: Dyn) -> None:
    content = m.state.heap[obj.content.aid]  # type: ignore[union-attr]
    emit_effect(m, obj.extra[0].fill, [real, Dyn(BUILDERS[content.kind](m, content), Type(content.cls))])
    assert real.value is not None
    hand_over(m, obj, real.value)


def _fill_cell(m: "Machine", obj: VObj, real: Dyn) -> None:
    held = obj.cells[0]
    template = class_templates.template_of(held.value) if class_templates.ALL and isinstance(held, Known) else None
    if template is not None and m.state.heap[template.aid].node is None and own_cell(m, template.aid) is real.value:
        # the class fills its cell when it is built
        m.operand(held)
        return
    emit_effect(m, ops.cell_set, [real, obj.cells[0]])


def own_cell(m: "Machine", aid: int) -> Operand | None:
    """Return the ``__class__`` cell that a class is to fill, or None."""
    obj = m.state.heap[aid]
    cell = obj.cells[obj.keys.index("__classcell__")] if "__classcell__" in obj.keys else None
    return m.state.heap[cell.aid].node if isinstance(cell, Ref) else None


def _fill_list(m: "Machine", obj: VObj, real: Dyn) -> None:
    for item in obj.cells:
        emit_effect(m, list.append, [real, item])


def _fill_dict(m: "Machine", obj: VObj, real: Dyn) -> None:
    for key, value in zip(obj.keys, obj.cells, strict=True):
        emit_effect(m, dict.__setitem__, [real, Known(key), value])


def _empty_instance(m: "Machine", obj: VObj) -> Operand:
    if STORED in obj.keys:
        return stored(m, obj, empty=True)
    return build(m, ops.make_object, [Known(obj.cls), Known(())], obj.cls)


def _fill_instance(m: "Machine", obj: VObj, real: Dyn) -> None:
    if STORED in obj.keys:
        _, names, values = apart(obj)
        if isinstance(obj.content, Ref):
            held = m.state.heap[obj.content.aid]
            fill: Any = list.extend if held.kind == "list" else dict.update
            emit_effect(m, fill, [real, Dyn(BUILDERS[held.kind](m, held.replace(extra=None)), Type(held.cls))])
        hand_over(m, obj, real.value)
        obj = obj.replace(keys=names, cells=values)
    for name, value in zip(obj.keys, obj.cells, strict=True):
        emit_effect(m, object.__setattr__, [real, Known(name), value])


def _fill_exception(m: "Machine", obj: VObj, real: Dyn) -> None:
    for name, value in zip(obj.keys, obj.cells, strict=True):
        emit_effect(m, BaseException.__setattr__, [real, Known(name), value])


EMPTY: dict[str, tuple[Any, Any]] = {
    "exception": (lambda m, obj: build(m, ops.make_exception, [Known(obj.cls), Known(())], obj.cls), _fill_exception),
    "cell": (lambda m, obj: build(m, ops.make_cell, [UNBOUND_VALUE], obj.cls), _fill_cell),
    "list": (lambda m, obj: build(m, ops.make_list, [], list), _fill_list),
    "dict": (lambda m, obj: build(m, ops.make_dict, [], dict), _fill_dict),
    "instance": (_empty_instance, _fill_instance),
    "model": (lambda m, obj: model(m, obj, empty=True), _fill_model),
}
