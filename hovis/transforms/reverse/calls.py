"""Reverse mode for calls of residual functions: each function becomes two, a forward function and one for its reverse sweep.

The first returns the function's result, and a tuple of the values that its reverse sweep uses; the second takes that tuple and
the cotangent of the result, and returns the cotangents of the arguments.  A recursive function becomes two recursive functions.
"""

import operator as o
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hovis.errors import DerivativeError
from hovis.ir.analysis.control_flow import liveness
from hovis.ir.model import Block, Edge, Effect, Function, Invoke, Jump, Op, Operand, Param, Return, Value
from hovis.ir.operations import make_tuple
from hovis.lattice import ANY, Const, Type
from hovis.library.numpy.adjoints.cotangents import cotangent_type
from hovis.passes.rewriting import copied_blocks, substitute
from hovis.transforms.aliasing import is_array
from hovis.transforms.normal_form import normalize, type_of
from hovis.transforms.source_places import place

if TYPE_CHECKING:
    from hovis.transforms.reverse.sweep import Sweep

TUPLE = Type(tuple)


@dataclass(slots=True, eq=False)
class Pair:
    """The two functions that stand for one: ``there`` runs forward, ``back`` is the reverse sweep; ``wanted``: the parameters whose cotangents
    ``back`` returns.
    """

    there: Function
    back: Function
    wanted: tuple[int, ...]


Pairs = dict[tuple[Function, tuple[int, ...]], Pair]


def wanted_of(op: Op, active: set[Value]) -> tuple[int, ...]:
    """Return the positions of the active arguments of a call."""
    return tuple(k for k, arg in enumerate(op.args) if arg in active)


def pair_of(function: Function, wanted: tuple[int, ...], sweep: "Sweep", op: Op) -> Pair:
    """Return the Pair of a function for these wanted parameters, made if there is none yet; op is a call of the function. Raise DerivativeError
    if it is a generator, or stores into a wanted argument.
    """
    known = sweep.pairs.get((function, wanted))
    if known is not None:
        return known
    if function.is_generator or op.kwargs:
        raise DerivativeError(f"{function.name} is a generator, which can't be differentiated ({place(op)})")
    there = Function(function.name, copied_blocks(function, {}), function.location, TUPLE)
    back = Function(f"{function.name}_back", [], function.location, TUPLE)
    _own_params(there)
    made = sweep.pairs[function, wanted] = Pair(there, back, wanted)
    normal = normalize(there, 0)
    if normal is None:
        # the function always raises: it never returns a result
        there.type = function.type
        back.blocks = [Block((Param(TUPLE), Param(ANY)), [], Return(Const((None,) * len(wanted))))]
        return made
    inner = type(sweep)(normal, [there.params[k] for k in wanted], sweep.pairs)
    for k in wanted:
        if inner.groups.is_stored(there.params[k]):
            raise DerivativeError(f"{function.name} stores into its argument {k + 1}, and is not inlined ({place(op)})")
    seed = Param(cotangent_type(type_of(normal.results[0])) or ANY)
    inner.write([seed], alone=True)
    held = divide(inner, back, [seed])
    end = inner.normal.end
    result = Op(make_tuple, (inner.normal.results[0], held), type=TUPLE)
    end.ops.append(result)
    end.terminator = Return(result)
    return made


def _own_params(function: Function) -> None:
    entry = function.blocks[0]
    old = entry.params
    entry.params = tuple(Param(p.type, p.dims, p.name) for p in old)
    names = [p.name for p in old]
    substitute(function, dict(zip(old, entry.params, strict=True)))
    for param, name in zip(old, names, strict=True):
        param.name = name


def divide(sweep: "Sweep", back: Function, seeds: list[Param]) -> Op:
    """Move the sweep into the function ``back``, which takes a tuple of the live values of the forward function, and the seeds. Return the op
    that makes this tuple.
    """
    there, first, end = sweep.function, sweep.first, sweep.normal.end
    forward = set(sweep.forward)
    live = [v for v in liveness(there)[first] if v not in seeds]
    order = {v: k for k, v in enumerate(v for b in there.blocks for v in (*b.params, *b.all_ops()))}
    live.sort(key=order.__getitem__)
    bundle = Param(TUPLE)
    taken: list[Op] = [Op(o.getitem, (bundle, Const(k)), type=v.type, dims=_known(v)) for k, v in enumerate(live)]
    back.blocks = [Block((bundle, *seeds), list(taken), Jump(Edge(first))), *(b for b in there.blocks if b not in forward)]
    there.blocks = [b for b in there.blocks if b in forward]
    substitute(back, dict(zip(live, taken, strict=True)))
    held = Op(make_tuple, tuple(live), type=TUPLE)
    end.ops.append(held)
    return held


def _known(value: Value) -> tuple[Operand, ...] | None:
    return None if value.dims is None else tuple(d if isinstance(d, Const) else Const(None) for d in value.dims)


class Calls:
    """The active calls of residual functions in one function, replaced by calls of the forward functions of their pairs."""

    def __init__(self, sweep: "Sweep") -> None:
        self.of: dict[Op, tuple[Op, Pair]] = {}
        active = sweep.activity.active
        for block in list(sweep.normal.function.blocks):
            for op in list(block.all_ops()):
                if isinstance(op.callee, Function) and op in active:
                    if is_array(op) and sweep.groups.is_stored(op) and any(map(is_array, op.args)):
                        raise DerivativeError(f"the result of {op.callee.name} may be its argument, and is stored into ({place(op)})")
                    self._replace(block, op, pair_of(op.callee, wanted_of(op, active), sweep, op))

    def _replace(self, block: Block, op: Op, pair: Pair) -> None:
        call = Op(pair.there, op.args, (), TUPLE, None, op.effect, op.location)
        held = Op(o.getitem, (call, Const(1)), type=TUPLE, location=op.location)
        end = block.terminator
        if isinstance(end, Invoke) and end.op is op:
            end.op = call
            end.ok.block.ops[:0] = [op, held]
        else:
            at = block.ops.index(op)
            block.ops[at : at + 1] = [call, op, held]
        op.callee, op.args, op.kwargs, op.effect = o.getitem, (call, Const(0)), (), Effect.PURE
        self.of[op] = held, pair
