"""Derivatives split in two Functions: the part that is done once, and the part that is done for each cotangent, or tangent.

The first half returns the results of a Function, followed by a tuple of the values that the second half uses.
"""

import operator as o
from collections.abc import Sequence

from hovis.ir.model import Block, Effect, Function, Op, Operand, Param, Return, Value, callees
from hovis.ir.operations import make_tuple
from hovis.lattice import ANY, Const, Type
from hovis.library.numpy.adjoints.cotangents import cotangent_type
from hovis.passes import pipeline
from hovis.passes.rewriting import copied_blocks, copy, substitute
from hovis.transforms.aliasing import Groups
from hovis.transforms.forward.jvp import forward
from hovis.transforms.forward.lists_as_arrays import with_arrays
from hovis.transforms.normal_form import normalize, type_of
from hovis.transforms.reverse.calls import divide
from hovis.transforms.reverse.functional_updates import with_updates
from hovis.transforms.reverse.sweep import Sweep
from hovis.transforms.reverse.writing import shape_of

TUPLE = Type(tuple)


def pulling(function: Function, wanted: Sequence[int], outputs: int) -> tuple[Function, Function] | None:
    """Split the reverse mode of function in two. The second half takes the tuple of the first one and the cotangents of the first ``outputs``
    results, and returns the cotangents of the wanted parameters.

    Return None if the function stores into an array: the saved contents would not be available a second time.
    """
    whole = copy(function)
    there = Function(whole.name, copied_blocks(whole, {}), whole.location, TUPLE)
    with_arrays(there)
    with_updates(there)
    if any(Groups(one).stored for one in callees(there)):
        return None
    normal = normalize(there, outputs)
    if normal is None:
        return None
    sweep = Sweep(normal, [there.params[k] for k in wanted], {})
    back = Function(f"{function.name}_back", [], function.location, TUPLE)
    seeds = [Param(cotangent_type(type_of(value)) or ANY, shape_of(value)) for value in normal.results[:outputs]]
    sweep.write(seeds, outputs, alone=True)
    held = divide(sweep, back, seeds)
    _returns(normal.end, (*normal.results, held))
    return pipeline.run(there, "default"), pipeline.run(back, "default")


def pushing(function: Function, wanted: Sequence[int], outputs: int) -> tuple[Function, Function] | None:
    """Split the forward mode of function in two. The second half takes the tuple of the first one and the tangents of the wanted parameters, and
    returns those of the results.

    Return None if the two parts can't be separated: if the function has branches, or stores into an array.
    """
    whole = pipeline.run(forward(function, wanted), "default")
    block = whole.blocks[0]
    end = block.terminator
    if len(whole.blocks) != 1 or not isinstance(end, Return) or not isinstance(end.value, Op) or end.value.callee is not make_tuple:
        return None
    if any(op.effect & ~(Effect.READS | Effect.RAISES) or isinstance(op.callee, Function) for op in block.ops):
        return None
    tangents = whole.params[len(whole.params) - len(wanted) :]
    moving: set[Value] = set(tangents)
    for op in block.ops:
        if any(v in moving for v in op.operands()):
            moving.add(op)
    results, changes = end.value.args
    block.ops = [op for op in block.ops if op is not end.value]
    if not isinstance(results, Op) or results.callee is not make_tuple or results in moving:
        return None
    second = [op for op in block.ops if op in moving]
    live = list(dict.fromkeys(v for v in _used(second, changes) if v not in moving))
    bundle = Param(TUPLE)
    taken = [Op(o.getitem, (bundle, Const(k)), type=v.type, dims=shape_of(v)) for k, v in enumerate(live)]
    block.ops = [op for op in block.ops if op not in moving]
    block.params = whole.params[: len(whole.params) - len(wanted)]
    back = Function(f"{function.name}_push", [Block((bundle, *tangents), [*taken, *second], Return(changes))], function.location, TUPLE)
    substitute(back, dict(zip(live, taken, strict=True)))
    held = Op(make_tuple, tuple(live), type=TUPLE)
    block.ops.append(held)
    _returns(block, (*results.args, held))
    return pipeline.run(whole, "default"), pipeline.run(back, "default")


def _used(ops: list[Op], result: Operand) -> list[Value]:
    operands = [v for op in ops for v in (*op.operands(), *(op.dims or ()))] + [result]
    return [v for v in operands if isinstance(v, Op | Param)]


def _returns(end: Block, parts: tuple[Operand, ...]) -> None:
    result = Op(make_tuple, parts, type=TUPLE)
    end.ops.append(result)
    end.terminator = Return(result)
