"""The local variables of a function as a dict, for ``locals()`` and builtins that use it (CPython: Objects/frameobject.c).

Until 3.12 a frame has one dict, which each call brings up to date; since 3.13 each call gives a new one (PEP 667).
"""

from typing import Final

from hovis.bytecode.normalize import FRESH_LOCALS
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import UNBOUND_VALUE, Dyn, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.ir.operations import UNBOUND
from hovis.lattice import Type
from hovis.lattice.constants import is_immutable

NO_SCOPE: Final = Known(None)


def can_tell(m: Machine) -> bool:
    """Are all the variables of the current frame still known, dead ones too?"""
    frame = m.frame
    return frame.code.reads_locals and frame.owner is None


def locals_of(m: Machine) -> V:
    """Return ``locals()`` of the current frame."""
    frame = m.frame
    now = {name: _value(m, slot) for slot, name in enumerate(frame.code.names)}
    scope = NO_SCOPE if FRESH_LOCALS else m.resolve(frame.scope)
    certain = not any(isinstance(value, Dyn) and value.maybe_unbound for value in now.values())
    held = m.obj(scope, "dict")
    if certain and (held is None or held.node is None) and (held is not None or scope is NO_SCOPE or _none(scope)):
        scope = _updated(m, scope, held, now)
    else:
        scope = _refreshed(m, scope, now)
    if not FRESH_LOCALS:
        frame.scope = scope
    return scope


def _none(scope: V) -> bool:
    return isinstance(scope, Known) and scope.value is None


def _value(m: Machine, slot: int) -> V:
    """Return the value of a variable, in its cell or not; UNBOUND if it has none."""
    frame = m.frame
    value = frame.locals[slot]
    if value is None:
        return UNBOUND_VALUE
    if slot not in frame.code.cells and slot < len(frame.code.names) - frame.code.n_free:
        return m.resolve(value)
    cell = m.resolve(value)
    if isinstance(cell, Ref) and m.state.heap[cell.aid].kind == "cell":
        return m.state.heap[cell.aid].cells[0]
    if isinstance(cell, Known) and m.environment.static(cell):
        try:
            return Known(cell.value.cell_contents)  # type: ignore[attr-defined]
        except ValueError:
            return UNBOUND_VALUE
    found = m.emit(ops.cell_contents, [cell], effect=Effect.READS)
    return Dyn(found.value, found.type, maybe_unbound=True)


def _bound(value: V) -> bool:
    return not (isinstance(value, Known) and value.value is UNBOUND)


def _updated(m: Machine, scope: V, held: VObj | None, now: dict[str, V]) -> V:
    """Return the virtual dict, new or updated."""
    found = dict(zip(held.keys, held.cells, strict=True)) if held is not None else {}
    for name, value in now.items():
        if _bound(value):
            found[name] = value
        else:
            found.pop(name, None)
    if held is None or not isinstance(scope, Ref):
        return m.new(VObj("dict", dict, tuple(found.values()), tuple(found)))
    m.put(scope, held.replace(keys=tuple(found), cells=tuple(found.values())))
    return scope


def _refreshed(m: Machine, scope: V, now: dict[str, V]) -> V:
    """Emit the update of the real dict, and return it."""
    args = [scope, Known(tuple(now)), *now.values()]
    found = m.emit(ops.refresh_locals, args, type=Type(dict), effect=Effect.WRITES)
    return scope if isinstance(scope, Ref) else found


def evaluate(m: Machine, fn: object, source: V) -> V:
    """Emit ``eval(source)`` or ``exec(source)`` with the globals and locals of the caller."""
    namespace = m.frame.namespace
    assert not is_immutable(namespace)
    return m.emit(fn, [source, Known(namespace), locals_of(m)])
