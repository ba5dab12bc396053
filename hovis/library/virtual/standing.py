"""What the code of stand-ins asks of the engine (see engine/models)."""

from typing import Any

from hovis.engine.machine import Machine
from hovis.engine.values import FALSE, TRUE, Dyn, Known, Ref
from hovis.lattice import Type
from hovis.library.core import real, settled
from hovis.library.virtual.base import Args, Named, action, use


@action(real)
def build_now(m: Machine, args: Args, named: Named) -> Any:
    if isinstance(args[0], Ref):
        node = m.operand(args[0])
        return args[0] if m.obj(args[0]) is not None else Dyn(node, Type(m.state.heap[args[0].aid].cls))
    return args[0]


@action(settled)
def is_settled(m: Machine, args: Args, named: Named) -> Any:
    if isinstance(args[0], Known):
        use(m, args[0])
        return TRUE
    return FALSE
