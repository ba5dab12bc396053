"""The adjoint of each op: the shares of its result's cotangent that its operands get, and the reversal of its stores into arrays."""

import operator as o
from typing import TYPE_CHECKING

from hovis.errors import DerivativeError
from hovis.ir.matching import same
from hovis.ir.model import Effect, Op, Operand, Param
from hovis.ir.operations import get, make_list, make_tuple, put, revise
from hovis.lattice import ANY, Const, Type
from hovis.lattice import Any as AnyType
from hovis.library.numpy.adjoints.cotangents import (
    cotangent_type,
    given,
    is_basic,
    item,
    may_repeat,
    overwritten,
    owned,
    placed,
    replaced,
    returned,
    scatter,
    taken,
    taken_last,
    whole_to,
    zero_of,
)
from hovis.library.numpy.adjoints.tangents import fitted, shared_out
from hovis.passes.rewriting import ByIdentity
from hovis.transforms import derivative_rules
from hovis.transforms.activity import operand, plain
from hovis.transforms.aliasing import in_place, is_store, is_view, may_copy, stores_parts_of_itself
from hovis.transforms.normal_form import items, type_of
from hovis.transforms.reverse.writing import Writer
from hovis.transforms.source_places import told
from hovis.transforms.ssa_variables import NOTHING

if TYPE_CHECKING:
    from hovis.transforms.reverse.sweep import Sweep

_TAPES = ByIdentity((get, put, revise))


def reverse_op(sweep: "Sweep", writer: Writer, op: Op) -> None:
    """Emit the reverse of op: add to the cotangents of its operands their shares of the cotangent of its result."""
    writer.location = op.location
    if sweep.activity.acts(op):
        _reverse_store(sweep, writer, op)
    elif op in sweep.activity.active:
        if sweep.shadows.has(op) and is_view(op) and sweep.shadows.has(op.args[0]):
            _reverse_view(sweep, writer, op)
            return
        g = sweep.take(op, writer.block)
        if g is NOTHING:
            return
        if op in sweep.calls.of:
            _reverse_call(sweep, writer, op, g)
        elif op.callee is make_tuple or op.callee is make_list:
            shares = items(g)
            for k, value in enumerate(op.args):
                sweep.add(writer, value, shares[k] if shares else writer.op(item, g, Const(k)))
        elif op.callee is o.getitem and type_of(op.args[0]) == Type(tuple) and isinstance(op.args[1], Const):
            sweep.add(writer, op.args[0], writer.op(placed, op.args[1], g))
        elif op.callee in _TAPES:
            _reverse_tape(sweep, writer, op, g)
        elif op.callee is o.getitem and _is_added_in_place(sweep, op.args[0]):
            _reverse_item(sweep, writer, op, g)
        else:
            _pull(sweep, writer, op, g)


def _pull(sweep: "Sweep", writer: Writer, op: Op, g: Operand) -> None:
    if any(isinstance(value, Param | Op) and isinstance(value.type, AnyType) for value in op.operands()):
        # tracing a rule for operands of unknown type takes long, and tells nothing
        raise DerivativeError(f"the types of the operands of {told(op)} are not known")
    places = [k for k in range(len(op.args) + len(op.kwargs)) if operand(op, k) in sweep.activity.active and operand(op, k) in sweep.activity.flows[op]]
    row = derivative_rules.of(op)
    if row is not None and row.again:
        for k, share in zip(places, derivative_rules.pulled_again(writer, op, places, g, op), strict=True):
            sweep.add(writer, op.args[k], share)
        return
    for k in places:
        sweep.add(writer, operand(op, k), derivative_rules.pulled(writer, _plain(sweep, op), k, g))


def _plain(sweep: "Sweep", op: Op) -> Op:
    """Return op, or the out-of-place form of an in-place operator; the result of that is the result of op."""
    made = plain(op)
    if made is not op:
        sweep.of[made] = sweep.of[op]
    return made


def _reverse_call(sweep: "Sweep", writer: Writer, op: Op, g: Operand) -> None:
    """Reverse a call of a residual function: emit a call of its reverse sweep."""
    held, pair = sweep.calls.of[op]
    found = writer.op(pair.back, sweep.available(held, writer.block), g, type=Type(tuple), effect=Effect.OPAQUE)
    call = held.args[0]
    assert isinstance(call, Op)
    for k, n in enumerate(pair.wanted):
        value = call.args[n]
        kind = cotangent_type(type_of(pair.there.params[n]))
        sweep.add(writer, value, writer.op(o.getitem, found, Const(k), type=kind, dims=getattr(value, "dims", None)))


def _reverse_tape(sweep: "Sweep", writer: Writer, op: Op, g: Operand) -> None:
    """Reverse an access to a tape. The cotangent of a tape is a tape with as many slots."""
    tape, slot, *values = op.args
    assert isinstance(tape, Param | Op)
    at = sweep.available(slot, writer.block)
    variable = sweep.cotangent(tape)
    if op.callee is get:
        before = sweep.variables.value(variable, writer.block)
        kind = cotangent_type(op.type) or ANY
        total = sweep.total(writer, writer.op(get, before, at, type=kind, dims=op.dims, effect=Effect.READS), g, kind)
        after = writer.op(revise, before, at, total, type=variable.type, effect=Effect.WRITES)
    else:
        (value,) = values
        share = writer.op(get, g, at, type=cotangent_type(type_of(value)) or ANY, dims=getattr(value, "dims", None), effect=Effect.READS)
        after = g  # type: ignore[assignment]
        if op.callee is revise:
            nothing = writer.rule(zero_of, value)
            after = writer.op(revise, g, at, nothing, type=variable.type, effect=Effect.WRITES)
        sweep.add(writer, value, share)
    sweep.variables.write(variable, writer.block, after)


def _is_added_in_place(sweep: "Sweep", base: Operand) -> bool:
    return isinstance(base, Param | Op) and (sweep.shadows.has(base) or base in sweep.owned)


def _reverse_item(sweep: "Sweep", writer: Writer, op: Op, g: Operand) -> None:
    """Reverse a read of a part of an array: add the cotangent of the part to that part of the array's cotangent, in place."""
    base, index = op.args
    assert isinstance(base, Param | Op)
    if sweep.shadows.has(base):
        whole: Operand = sweep.shadows.of[base]
    else:
        whole = sweep.variables.value(sweep.cotangent(base), writer.block)
    if is_basic(index):
        writer.rule(given, whole, index, g)
    else:
        at = [sweep.available(one, writer.block) for one in (whole, index, g)]
        writer.op(scatter, *at, type=Type(type(None)), effect=Effect.WRITES | Effect.RAISES)


def _reverse_view(sweep: "Sweep", writer: Writer, op: Op) -> None:
    """Reverse a view. Its shadow is a view of the shadow of its base, so code is needed only where op may have made a copy."""
    if may_copy(op):
        part = sweep.shadows.of[op]
        writer.rule(returned, sweep.shadows.of[op.args[0]], part, derivative_rules.pulled(writer, op, 0, part))  # type: ignore[index]


def _reverse_store(sweep: "Sweep", writer: Writer, op: Op) -> None:
    """Reverse a store: the overwritten elements had no further effect, and the cotangent of the stored elements is added to that of the stored
    value.
    """
    target = op.args[0]
    if is_store(op) and _puts_back(op):
        return
    if op.callee is o.setitem and stores_parts_of_itself(op, sweep.groups):
        raise DerivativeError(f"a list of parts of an array is stored into that array: {told(op)}")
    sweep.log.undo(writer, op)
    if not sweep.shadows.has(target):
        return
    shadow = sweep.shadows.of[target]  # type: ignore[index]
    if op.callee is scatter:
        sweep.add(writer, op.args[2], writer.rule(fitted, writer.rule(overwritten, shadow, op.args[1]), op.args[2]))
        return
    if is_store(op):
        if may_repeat(op.args[1]):
            g = writer.rule(taken_last, shadow, op.args[1], Const(whole_to(target.type.dtype)))  # type: ignore[union-attr]
        else:
            g = writer.rule(taken, shadow, op.args[1])
        if op.args[2] in sweep.activity.active:
            listed = type_of(op.args[2]) in (Type(list), Type(tuple))
            sweep.add(writer, op.args[2], writer.rule(shared_out if listed else fitted, g, op.args[2]))
        return
    keeps = op.callee in (o.iadd, o.isub)
    changes = op.args[1] in sweep.activity.active
    if keeps and not changes:
        return
    g = writer.rule(owned, shadow)
    # the result is recomputed if a rule asks for it: the array has its earlier contents again
    made = plain(op)
    sweep.redone.add(made)
    if not keeps:
        writer.rule(replaced, shadow, derivative_rules.pulled(writer, made, 0, g))
    if changes:
        sweep.add(writer, op.args[1], derivative_rules.pulled(writer, made, 1, g))


def _puts_back(op: Op) -> bool:
    """Does op store the result of an in-place operator where that result already is (``a[i] += x``)?"""
    base, index, value = op.args
    if not (isinstance(value, Op) and in_place(value) and isinstance(value.args[0], Op)):
        return False
    part = value.args[0]
    return part.callee is o.getitem and part.args[0] is base and same(part.args[1], index) and is_basic(index)
