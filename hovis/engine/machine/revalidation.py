"""Tests after an opaque call of what it may have changed: the environment, and the objects that the caller passed.

Of such an object, the residual reads the real cell and compares it with the known value: if they are the same, it continues as before; otherwise
nothing is known of the object any more.
"""

import operator
from typing import Any

from hovis.engine.environment.guards import Look
from hovis.engine.machine import branches
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import Dyn, Known, Ref, V
from hovis.ir.model import Effect
from hovis.ir.operations import unchanged
from hovis.lattice import Any as AnyType
from hovis.lattice import Type


def look(m: Machine) -> None:
    """Emit a look: an opaque call may have changed the environment, and the residual continues as before if it has not.

    To be called at the beginning of an instruction: where something has changed, the instruction is done without folding reads of the
    environment (see ``Engine._plainly``).
    """
    made = Look()
    ctx, pc = m.here()
    m.tables.looks.setdefault(ctx, set()).add(pc)
    m.environment.reads = made.keys
    same = m.emit(unchanged, [Known(made)], type=Type(bool), effect=Effect.READS)
    m.looks.append(made)
    changed = m.state.fork()
    changed.world = 2
    m.state.world = 0
    branches.split(m, same, changed)


def suspect(m: Machine, value: V) -> VObj | None:
    """Return the object behind value if its known contents have to be tested, else None."""
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        if obj.forgotten == "suspect":
            return obj
    return None


def read(m: Machine, container: V, key: V, callee: Any) -> bool:
    """Read a cell of a suspect container, and push the result; False if container is no suspect with that cell.

    This must be the last thing that an instruction does: the path on which the test fails continues after the instruction.
    """
    obj = suspect(m, container)
    if obj is None or not isinstance(container, Ref) or not isinstance(key, Known) or not obj.keys:
        return False
    index = obj.find(key.value)
    if index < 0:
        return False
    found = m.emit(callee, [Dyn(obj.node, Type(obj.cls)), key], effect=Effect.READS | Effect.RAISES)  # type: ignore[arg-type]
    cell = obj.cells[index]
    test, same = _test(m, found, cell)
    if test is not None:
        changed = m.state.fork()
        changed.heap[container.aid] = obj.replace(forgotten=True, cells=(), keys=())
        changed.frames[-1].stack.append(found)
        changed.frames[-1].pc += 1
        changed.world = 2
        branches.split(m, test, changed)
    m.push(same)
    return True


def _test(m: Machine, found: Dyn, cell: V) -> tuple[Dyn | None, V]:
    """Return a test whether found is the value known before, or None if no test is needed, and the value as it is known after the test."""
    if isinstance(cell, Dyn):
        if isinstance(cell.type, AnyType) or type(cell.type) is not Type:
            return None, found
        cls = m.emit(type, [found], effect=Effect.PURE)
        return m.emit(operator.is_, [cls, Known(cell.type.cls)], type=Type(bool), effect=Effect.PURE), Dyn(found.value, cell.type)
    return m.emit(operator.is_, [found, cell], type=Type(bool), effect=Effect.PURE), cell
