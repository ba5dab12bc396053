"""Calls of residual functions: which arguments are passed as their parts, which are lent, and which have to be real."""

from typing import Any, Final

from hovis.engine.calls.argument_binding import Callee
from hovis.engine.calls.recursion import CODE, given, known_arguments
from hovis.engine.machine.call_results import finish
from hovis.engine.machine.machine import Machine
from hovis.engine.machine.materialize import lent_to, materialize
from hovis.engine.state import class_templates, finalizers, lifetimes
from hovis.engine.state.frames_and_heap import Frame
from hovis.engine.state.heap import IMMUTABLE, VObj, reachable
from hovis.engine.state.values import Dyn, Known, Ref, V
from hovis.lattice import Const, Type

#: The most cells of the objects that are lent in one call.
MOST_LENT: Final = 64
#: The deepest nesting of containers that a residual function takes apart.
MAX_NESTING: Final = 2


def call_residual(m: Machine, known: Callee, bound: list[V | None], mode: str) -> int | None:
    """Call a specialized residual function instead of entering the function again.

    Immutable objects, and mutable ones that only the arguments hold, are passed as their parts.  Other mutable objects are lent,
    as long as the residual function neither writes to them nor lets them escape.  All others (and those that are nested too
    deep) are materialized.
    """
    heap: dict[int, VObj] = {}
    # a dead variable does not count as another holder of an object
    if lifetimes.drop_dead(m, m.state):
        finalizers.run(m)
    refs = [v for v in bound if isinstance(v, Ref)]
    if m.state.classes:
        refs += classes_in(m, bound)
    # objects from all call sites have one site in the residual function; if one has to be real, all have to
    site = m.tables.contexts["given", known.code.code]
    crossing = _crossing(m, refs, site in m.tables.not_virtual)
    if m.tables.weakly:
        for aid in crossing:
            if m.state.heap[aid].kind in _TOLD_APART:
                m.operand(Ref(aid))  # materialized: caller and callee have to see the same object
    lent = _lent(m, known.code.code, bound, crossing)
    crossing |= lent
    bound = [_across(m, v, crossing) if v is not None else None for v in bound]
    for aid in crossing:
        cells = tuple(_across(m, c, crossing) for c in m.state.heap[aid].cells)
        obj = m.state.heap[aid]      # `_across` may have materialized it, and replaced the VObj
        heap[aid] = obj.made_at(site).replace(cells=cells, lent=known.code.code if aid in lent and obj.node is None and not obj.immutable else None)
    frame = Frame(known.code, -1, bound, known.namespace, "value", known.fn)
    frame.extra = known_arguments(m, bound)
    frame.given = given(m, bound)
    name = known.qualname.rsplit(".", 1)[-1]
    result = m.call_function(frame, heap, f"{name}.1" if frame.extra or known.cells else name)  # type: ignore[attr-defined]
    if result is None:
        return m.unreachable()
    return finish(m, result, mode)


def classes_in(m: Machine, bound: list[V | None]) -> list[Ref]:
    """Materialize the classes defined by the traced code that the arguments mention, and return them."""
    found = reachable(m.state.heap, [v.aid for v in bound if isinstance(v, Ref)])
    for value in bound:
        if isinstance(value, Dyn):
            found |= class_templates.mentioned(value.type) & set(m.state.classes)
        elif isinstance(value, Known) and (token := class_templates.of(value.value)) is not None:
            found |= reachable(m.state.heap, [token.template.aid])
    classes = [aid for aid in m.state.classes if aid in found]
    for aid in classes:
        materialize(m, aid)
    return [Ref(aid) for aid in classes]


def _crossing(m: Machine, refs: list[Ref], real: bool) -> set[int]:
    """Find the objects that a residual function may take apart. real: leave out those that record where they were made."""
    found: set[int] = set()
    heap = m.state.heap
    shared: set[int] | None = None
    todo = [(ref.aid, 0) for ref in refs]
    while todo:
        aid, depth = todo.pop(0)
        obj = heap[aid]
        # functions and cells are code rather than data: their nesting is bounded by the program, not by its input
        deeper = depth if obj.kind in CODE or obj.inner else depth + 1
        if aid in found or obj.kind == "generator" or deeper > MAX_NESTING or (real and (obj.sited or obj.content is not None)):
            continue
        if not (obj.immutable or obj.kind == "class"):
            if shared is None:
                held = [v.aid for _, v in m.state.roots() if isinstance(v, Ref)]
                shared = reachable(heap, [*held, *(at for at, other in heap.items() if other.node is not None)])
            if obj.lent is not None or obj.kind not in _PASSED or aid in shared:
                continue
        found.add(aid)
        todo += [(c.aid, deeper) for c in obj.cells if isinstance(c, Ref)]
    return found


def _lent(m: Machine, code: Any, bound: list[V | None], crossing: set[int]) -> set[int]:
    """Find the other objects of the arguments that stay virtual as long as the function only reads them."""
    if lent_to(code) in m.tables.not_virtual:
        return set()
    heap = m.state.heap
    found: set[int] = set()
    held: set[int] = set()
    count = 0
    seen: set[int] = set()
    todo = [value.aid for value in bound if type(value) is Ref]
    while todo:
        aid = todo.pop(0)
        if aid in seen:
            continue
        seen.add(aid)
        obj = heap[aid]
        if aid not in crossing:
            content = obj.content
            # an instance of a subclass of a builtin class is lent together with the builtin value that it holds
            inside = [content.aid] if type(content) is Ref else []
            count += sum(len(heap[each].cells) for each in (aid, *inside)) if not obj.inner else 0
            if obj.kind not in _LENT or obj.node is not None or obj.forgotten or count > MOST_LENT:
                continue
            if (obj.inner and aid not in held) or (content is not None and not inside):
                continue
            held.update(inside)
            found.add(aid)
        todo += [cell.aid for cell in obj.cells if type(cell) is Ref]
    return found


#: Kinds of mutable objects that may be passed as their parts if only the arguments hold them; `_LENT`: kinds that may be lent.
_PASSED: Final = frozenset({"list", "dict", "set", "instance"})
#: Kinds of immutable objects that are passed as their parts, but whose identity the program may observe.
_TOLD_APART: Final = (IMMUTABLE - {"tuple"}) | {"model"}
_LENT: Final = _PASSED | {"cell", "tuple", "function", "method"}


def _across(m: Machine, value: V, crossing: set[int]) -> V:
    """Return value as a residual function may see it: an object that is not in crossing is materialized."""
    if isinstance(value, Ref) and value.aid not in crossing:
        node = m.operand(value)
        return Dyn(node, Type(m.state.heap[value.aid].cls)) if not isinstance(node, Const) else Known(node.value)
    return value
