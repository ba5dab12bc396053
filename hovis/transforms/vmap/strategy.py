"""Vectorization of a Function: decides whether its lanes are executed together, under masks, or not at all."""

import operator
from collections.abc import Sequence
from typing import Any, Final

from hovis.errors import TransformError
from hovis.ir.model import Block, Effect, Function, Op, Operand, Param, Return, callees, edges
from hovis.ir.operations import drop, enter_handler, keep, leave_handler, make_tuple
from hovis.lattice import Const, Type, Union
from hovis.library.numpy.batching.base import empty_of, like, none_of
from hovis.transforms.aliasing import Groups, is_array, with_arrays_themselves
from hovis.transforms.rule_tracing import Writer
from hovis.transforms.vmap.batch import Batching, is_of_numbers
from hovis.transforms.vmap.divergence import Diverging, Spreading, behind, told
from hovis.transforms.vmap.lane_types import array_of, form, parts_of
from hovis.transforms.vmap.masked_control_flow import Masked

_HARMLESS = Effect.READS | Effect.RAISES
_NOTICED: Final = (print, input, open)
#: Callees whose effects can't be observed after a lane has finished.
_UNSEEN: Final = frozenset({drop, keep, enter_handler, leave_handler})


def batch(function: Function, places: list[int], lanes: int, *mapped: bool, watched: bool = False) -> Function:
    """Return a Function that does what function does, for ``lanes`` values of the parameters at those of these places that are mapped.

    Each of the mapped parameters gets an additional param, after the others, for the array of its values.  The new Function returns the leaves of
    function's result, each an array of lanes, and their tree; or None if the lanes can't be executed together.  watched: it raises RunningAway
    if many iterations are executed for few lanes.
    """
    unknown = [op for one in callees(function) for op in one.ops() if _may_do_more(op)]
    for op in unknown:
        if _is_noticed(op):
            raise TransformError(told(op, "has side effects, which would be needed once for each lane: it can't be mapped over"))
    params = [function.params[k] for k, flag in zip(places, mapped, strict=True) if flag]
    if not lanes:
        return nothing(function, params)
    if unknown or stores_into_what_is_shared(function, params):
        return no_lanes(function, places, mapped)
    function = with_arrays_themselves(function)
    try:
        spreading = Spreading(function, params)
        apart = behind(function, spreading)
        made = Masked(function, spreading, lanes, params, apart, watched) if apart else Batching(function, spreading, lanes, params)
        return made.run()
    except Diverging:
        return no_lanes(function, places, mapped)


def _may_do_more(op: Op) -> bool:
    """May op do more than compute, as far as tracing can tell?"""
    if op.callee in _UNSEEN or isinstance(op.callee, Function):
        return False
    return bool(op.effect & ~(_HARMLESS | Effect.WRITES)) and not is_of_numbers(op)


def _is_noticed(op: Op) -> bool:
    """Does op have an effect that is visible outside of the program?"""
    return bool(op.effect & Effect.IO) or any(op.callee is one for one in _NOTICED)


def stores_into_what_is_shared(function: Function, mapped: list[Param]) -> bool:
    """May function store into an array that existed before and is the same in all lanes? If so, each lane sees the stores of the lanes before
    it.
    """
    stores = [op for op in function.ops() if op.effect & Effect.WRITES and op.callee not in _UNSEEN and op.args]
    if not stores:
        return False
    groups = Groups(function)
    shared = {groups.of(param) for param in function.params if param not in mapped}
    for block in function.blocks:
        shared |= {groups.of(op) for op in block.all_ops() if _may_be_found(op)}
        for edge in edges(block.terminator):
            shared |= {groups.of(param) for param, arg in zip(edge.block.params, edge.args, strict=True) if isinstance(arg, Const)}
    return any(not isinstance(op.args[0], Param | Op) or groups.of(op.args[0]) in shared for op in stores)


def changes_nothing(function: Function) -> bool:
    """If function raises, is everything as if it had not been called?"""
    effects = [op.effect for one in callees(function) for op in one.ops() if op.callee not in _UNSEEN and not isinstance(op.callee, Function)]
    return not any(effect & ~(_HARMLESS | Effect.WRITES) for effect in effects) and not any(stores_into_what_is_shared(one, []) for one in callees(function))


def _may_be_found(op: Op) -> bool:
    """May the result of op have existed before, although op is no view of its operand?"""
    return isinstance(op.callee, Function | Op | Param) or (op.callee in (getattr, operator.getitem) and not is_array(op.args[0]))


def no_lanes(function: Function, places: list[int], mapped: Sequence[bool]) -> Function:
    """Return the placeholder for a Function whose lanes can't be executed together: a Function that returns None."""
    params = [function.params[k] for k, flag in zip(places, mapped, strict=True) if flag]
    entry = Block(tuple(Param(p.type, p.dims, p.name) for p in (*function.params, *params)), [], Return(Const(None)))
    return Function(function.name, [entry], function.location)


def nothing(function: Function, params: list[Param]) -> Function:
    """Return the Function for no lanes: it returns empty arrays with the shapes and dtypes of function's results. Raise TransformError if these
    are unknown.
    """
    entry = Block(tuple(Param(p.type, p.dims, p.name) for p in (*function.params, *params)))
    made = Function(function.name, [entry], function.location)
    writer = Writer(made, entry)
    results = [parts_of(block.terminator.value) for block in function.blocks if isinstance(block.terminator, Return)]
    if not results or any(form(tree) != form(results[0][1]) for _, tree in results):
        raise TransformError(f"{function.name} is mapped over no lanes, and the structure of its result is not known")
    found: list[Operand] = []
    for values in zip(*[parts_of(leaves) for leaves, _ in results], strict=True):
        empty = none_of([kind for value in values for kind in _likes(value)])
        if empty is None:
            raise TransformError(f"{function.name} is mapped over no lanes, and has results of several shapes")
        found.append(writer.rule(empty_of, Const(empty.shape), Const(str(empty.dtype))))
    tree = _again(writer, results[0][1])
    entry.terminator = Return(writer.op(make_tuple, writer.op(make_tuple, *found, type=Type(tuple)), tree, type=Type(tuple)))
    return made


def _again(writer: Writer, value: Operand) -> Operand:
    """Emit a copy of value and of the ops that it is made of."""
    return writer.op(value.callee, *[_again(writer, arg) for arg in value.args], type=value.type) if isinstance(value, Op) else value


def _likes(value: Operand) -> list[Any]:
    """Return the shape and the dtype of a value, for each type that it may have; raise TransformError if its shape is unknown."""
    if isinstance(value, Const):
        return [like(value.value)]
    assert isinstance(value, Param | Op)
    members = value.type.members if isinstance(value.type, Union) else (value.type,)
    found = []
    for member in members:
        kind, dims = array_of(Param(member, value.dims), 0)
        if not all(isinstance(d, Const) and isinstance(d.value, int) for d in dims):
            raise TransformError("a function is mapped over no lanes, and the shape of its result is not known")
        found.append((tuple([d.value for d in dims[1:]]), kind.dtype))  # type: ignore[union-attr]
    return found
