"""Actions for the queries of :mod:`hovis.library.core` that stand-ins make to the engine (see engine/calls/models)."""

from typing import Any

from hovis.engine.calls import builtin_payload, models
from hovis.engine.machine.machine import Machine
from hovis.engine.merge.size_generalization import use_sizes
from hovis.engine.state.standins import NotMaterializable
from hovis.engine.state.values import FALSE, TRUE, Dyn, Known, Ref
from hovis.lattice import Type
from hovis.library.core import acted, bare, decides, holding, leave, real, seen, settled
from hovis.library.virtual.base import Args, Named, action, as_constant, known_key, use


@action(real)
def build_now(m: Machine, args: Args, named: Named) -> Any:
    if models.virtual(m, args[0]) is None or not isinstance(args[0], Ref):
        return args[0]
    node = m.operand(args[0])
    models.distrust(m, args[0])
    return Dyn(node, Type(m.state.heap[args[0].aid].cls))


@action(acted)
def is_acted(m: Machine, args: Args, named: Named) -> Any:
    return FALSE if models.virtual(m, args[0]) is None else TRUE


@action(bare)
def is_bare(m: Machine, args: Args, named: Named) -> Any:
    acted = models.virtual(m, args[0])
    return FALSE if acted is None or models.DICT in acted.keys else TRUE


@action(holding)
def hold(m: Machine, args: Args, named: Named) -> Any:
    assert isinstance(args[0], Known)
    return builtin_payload.make(m, args[0].value, args[1])  # type: ignore[arg-type]


@action(settled)
def is_settled(m: Machine, args: Args, named: Named) -> Any:
    whole = as_constant(m, args[0])
    if isinstance(whole, Known) and known_key(whole):
        use(m, args[0], whole)
        return TRUE
    return FALSE


@action(seen)
def is_seen(m: Machine, args: Args, named: Named) -> Any:
    return TRUE if isinstance(args[0], Known) or m.obj(args[0]) is not None else FALSE


@action(decides)
def make_known(m: Machine, args: Args, named: Named) -> Any:
    if m.known_sizes:
        use_sizes(m, args[0])
    return args[0]


@action(leave)
def leave_it(m: Machine, args: Args, named: Named) -> Any:
    raise NotMaterializable(models.site(m))
