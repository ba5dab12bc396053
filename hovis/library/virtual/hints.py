"""Actions of the hints in :mod:`hovis.base.hints`."""

from typing import Any, Final

from hovis.base.hints import dynamic, static, unroll
from hovis.engine.calls.inline_python import call_function
from hovis.engine.control import unpacking
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import reachable
from hovis.engine.state.values import STRONG, Dyn, Known, Ref, V
from hovis.ir.model import Param
from hovis.lattice import Type
from hovis.lattice.inspection import is_a
from hovis.library.virtual.base import Args, Named, action

#: The advice in the message that ``hovis.static`` has no effect, if there is no parameter to name.
LOST_HINT: Final = "the values that it is computed from would have to be known"
#: The most objects reachable from the value of ``static`` whose contents are kept distinct.
MOST: Final = 256


def decided(value: bool) -> bool:
    """Branch on value, and return a bool that is a constant on each path."""
    return static(True if value else False)  # noqa: SIM210  # a constant on each path


@action(static, counts=(1, 1))
def keep_known(m: Machine, args: Args, named: Named) -> Any:
    """``static(value)``: keep the constants in value distinct, as if they chose a branch; a bool that was never known is branched on."""
    value = args[0]
    if isinstance(value, Ref):
        for aid in list(reachable(m.state.heap, [value.aid]))[:MOST]:
            for cell in m.state.heap[aid].cells:
                m.use(cell, STRONG)
    m.use(value, STRONG)
    if isinstance(value, Dyn):
        if value.type == Type(bool) and value.lost is None:
            return call_function(m, Known(decided), decided, args, {})
        name = isinstance(value.value, Param) and value.value.name
        m.reason("hovis.static has no effect here: the value is not known while tracing", f"a spec for {name} would help" if name else LOST_HINT)
    return value


@action(dynamic, counts=(1, 1))
def forget(m: Machine, args: Args, named: Named) -> V:
    """``dynamic(value)``: turn a constant into an operand that is not known; a virtual object is materialized."""
    value = args[0]
    if isinstance(value, Dyn):
        return Dyn(value.value, value.type, value.dims, None, value.maybe_unbound, value.ends, value.maybe_end)
    kind = m.type_of(value) if isinstance(value, Ref) else m.library.of_value(value.value)
    return Dyn(m.operand(value), kind)


@action(unroll, counts=(1, 1))
def unrolled(m: Machine, args: Args, named: Named) -> V:
    """``unroll(items)``: mark the following ``for`` loop to be unrolled, if the number of items is known."""
    code, pc = m.frame.code.instructions, m.frame.pc
    items = unpacking.known_items(m, args[0])
    count = len(items) if items is not None else _length(m, args[0])
    if count is None:
        m.reason("hovis.unroll has no effect here: the number of iterations is not known while tracing")
    elif pc + 2 < len(code) and code[pc + 1].op == "GetIter" and code[pc + 2].op == "ForIter":
        m.tables.unrolled.add((m.frame.ctx, pc + 2))
        m.tables.static_size = max(m.tables.static_size, count)
    return args[0]


def _length(m: Machine, value: V) -> int | None:
    """Return the number of items of a range, or None if it is not known."""
    obj = m.obj(value, "range")
    held: list[Any] = [cell.value for cell in obj.cells if isinstance(cell, Known)] if obj is not None else []
    if isinstance(value, Known) and is_a(value.value, range):
        return len(value.value)
    return len(range(*held)) if len(held) == 3 else None
