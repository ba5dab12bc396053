"""Lowering of a Function to a StableHLO module.

A :class:`Lowering` walks the control flow (``control_flow.Walker``) of a Function and of those that it calls.  Ops are lowered by
tables of callees (``op_lowering.Calls``), exits by templates of results (``results.Results``).  This file holds the state of the
lowering, enters and leaves functions, and emits what the module returns.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from hovis.base import interrupts
from hovis.ir.analysis.control_flow import operands
from hovis.ir.model import Block, Function, Op, callees
from hovis.lattice import Type
from hovis_xla.abi import host_callbacks
from hovis_xla.abi.ordered_effects import rereads
from hovis_xla.abi.signature import Lowered, Tape, Template
from hovis_xla.analysis.growable_lists import Item, ItemsSeen
from hovis_xla.analysis.loop_forest import Region, carried_out, handlers, live_in, needed, reachable, regions
from hovis_xla.analysis.persistent_scalars import Variable, variables
from hovis_xla.analysis.primitive_effects import reaches
from hovis_xla.analysis.ranges.integer_ranges import SMALL, Ranges
from hovis_xla.analysis.ranges.intervals import Interval, meet
from hovis_xla.analysis.side_effects import changes
from hovis_xla.analysis.stored_arrays import known_arrays, stored_into
from hovis_xla.emit import builder
from hovis_xla.emit.builder import tensor_type
from hovis_xla.emit.locations import Location
from hovis_xla.emit.memory_ssa import content, locations
from hovis_xla.emit.values import ARRAY, BOOL, INT32, INT64, Known, NotLowerable, Num, OneOf, Operand, Slot, Val, num_of_value
from hovis_xla.jaxlib.adapter import context, func, ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo
from hovis_xla.lowering.control import compile_budget
from hovis_xla.lowering.control.branches import Arrival, Choice, as_tensor
from hovis_xla.lowering.control.while_loops import lower_loop
from hovis_xla.lowering.module_state import FunctionScope
from hovis_xla.lowering.operands import where_called
from hovis_xla.lowering.pipeline import LEADING, through
from hovis_xla.lowering.results import Results, rebuild, settled, sources_of
from hovis_xla.ops.memory import growable_lists, list_memory
from hovis_xla.ops.memory.tapes import Reel, reels

NOTHING: Final[Mapping[Any, Any]] = {}

#: Calls of residual functions are inlined up to this depth.
INLINE_DEPTH: Final = 16

#: What a function returns: the template and the leaves of each exit, and the choice of the exit.
Returns = tuple[list[tuple[Template, list[Slot]]], Choice]


class Lowering(Results):
    """The lowering of one module. Rows use its methods :meth:`bail_if` and :meth:`val`."""

    def function(self, function: Function, args: list[Operand]) -> Returns:
        """Emit the body of a function and return its results: the template and the leaves of each, and the choice of which it is."""
        if function in self.active or len(self.active) >= INLINE_DEPTH:
            raise NotLowerable(f"{function.name} is recursive", function.location)
        if function.is_generator:
            raise NotLowerable(f"{function.name} is a generator", function.location)
        given = [self.interval(a) for a in args]
        outer = self.scope
        self.active.append(function)
        try:
            return self._body(function, args, given)
        finally:
            self.active.pop()
            self.scope = outer

    def _body(self, function: Function, args: list[Operand], given: "list[Interval | None]") -> Returns:
        outer = self.scope
        function = through(LEADING, function)
        top, order = regions(function), reachable(function)
        wanted = needed(order)
        self.scope = FunctionScope(
            arguments=function.params if len(self.active) == 1 else (),
            order=order,
            ranges=self._ranges(function, given),
            needed=wanted,
            used={v for block in order for v in operands(block)},
            abroad={v for block in order for v in operands(block) if isinstance(v, Op) and v not in block.ops},
            carried_out=carried_out(order, top, wanted),
            live=live_in(order, wanted),
            mutable=stored_into(function),
            handlers=handlers(order),
            pinned=outer.pinned | {loc for v in outer.env.values() for loc in locations(v)},
        )
        arrival = self.walk(Arrival([(function.blocks[0], list(args))]), top, ())
        return [(self.scope.templates[b], slots) for b, slots in arrival.entries], arrival.choice

    def _ranges(self, function: Function, given: "list[Interval | None]") -> Ranges:
        """Compute the ranges of the integers. Integer arguments are assumed to be small if more ops can then be proved to stay within 64 bits."""
        found = Ranges(function, given)
        if self.narrow or len(self.active) > 1 or not self.may_narrow or not found.unproven():
            return found
        small = [meet(SMALL, g) if g is not None and p.type == Type(int) else g for p, g in zip(function.params, given, strict=True)]
        assumed = Ranges(function, small)
        if assumed.unproven() >= found.unproven():
            return found
        self.narrow = True
        return assumed

    def loop(self, start: Arrival, region: Region, until: Collection[Block]) -> Arrival:
        self.work.loops = True
        return lower_loop(self, start, region, until)

    def inline(self, function: Function, args: list[Operand]) -> Operand:
        """Inline a call of a residual Function and return its result."""
        exits, choice = self.function(function, args)
        if not exits:
            return Known(None)  # it always bails out
        found = [rebuild(template.tree, [cast(Operand, s) for s in slots], {}) for template, slots in exits]
        if len(found) == 1:
            return found[0]
        if any(isinstance(f, OneOf) for f in found):
            raise NotLowerable(f"{function.name} returns values of different kinds")
        return OneOf(as_tensor(choice).ir, tuple(found))


def lower(
    function: Function, args: list["Num | Known"], may_narrow: bool = False, slots: Mapping[int, int] = NOTHING, ordered: bool = False, bounded: bool = False,
    seen: Mapping[Op, Item] = NOTHING,
) -> Lowered:
    """Lower a function (already ``shaped``) to a module; ``args`` says what each parameter is.

    may_narrow   the module may be for small ints only (``Lowered.narrow``)
    slots        the lengths of tapes whose length is not known otherwise, by the numbers of the tapes (``Lowered.tapes``)
    ordered      the Function is refused if NumPy's results might not be in C order, in which XLA's are
    bounded      the program bails out if its run time is unknown beforehand and turns out to be long (``compile_budget``)
    seen         the items of growable lists, where types do not tell them (``growable_lists``)
    """
    with context(), ir.Location.unknown(context()):
        module = ir.Module.create()
        module.operation.attributes["sym_name"] = ir.StringAttr.get("hovis_" + "".join(c if c.isalnum() else "_" for c in function.name))
        with ir.InsertionPoint(module.body):
            try:
                lowering = Lowering(module, may_narrow, ordered, fuel=Location(INT64, ()) if bounded else None)
                return _lower_main(lowering, function, args, slots, seen)
            except ItemsSeen as found:
                known = {**seen, **found.items}
            except ir.MLIRError as error:
                raise NotLowerable(f"StableHLO does not accept an operation: {str(error).splitlines()[-1]}") from None
            except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
                interrupts.let_through(error)
                if os.environ.get("HOVIS_DEBUG"):
                    raise
                # a bug of the compiler; the user's function must not fail because of it
                raise NotLowerable(f"{function.name}: {type(error).__name__}: {error}") from error
    return lower(function, args, may_narrow, slots, ordered, bounded, known)


def _lower_main(lowering: Lowering, function: Function, args: list["Num | Known"], slots: Mapping[int, int], seen: Mapping[Op, Item]) -> Lowered:
    outliving = variables(function)
    nums = [a for a in args if isinstance(a, Num)] + [v.num for v in outliving.values()]
    lowering.main = func.FuncOp("main", ir.FunctionType.get([tensor_type(n.dtype, n.shape) for n in nums], []))
    block = lowering.main.add_entry_block()
    with ir.InsertionPoint(block):
        values = iter(list(block.arguments))
        operands: list[Operand] = []
        stores = [stored_into(f) for f in callees(function)]
        lowering.mutable_constants = {k for found in stores for k in found if isinstance(k, tuple)}
        written = stored_into(function)
        for k, (param, arg) in enumerate(zip(function.params, args, strict=True)):
            if isinstance(arg, Known):
                operands.append(arg)
            elif arg.kind == ARRAY:
                operands.append(lowering.given(arg, next(values), k, param in written))
            else:
                operands.append(Val(arg, next(values)))
        for key, variable in outliving.items():
            lowering.outlives(key, variable, next(values))
        ops = [op for f in callees(function) for op in f.ops()]
        if any(map(changes, ops)):
            lowering.token, lowering.fuel, lowering.rereads = hlo.create_token(), None, rereads(function)
            if any(map(reaches, ops)):
                for known in known_arrays(function):
                    num = num_of_value(known)
                    if num is not None:
                        lowering.constant_array(known, num)
        lowering.reels = reels(function, slots)
        lowering.listings = growable_lists.found_in(function, len(lowering.reels), slots, seen)
        growing = dict.fromkeys(lowering.listings.values())
        list_memory.prepare(lowering, growing)
        counted = [*lowering.reels.values(), *(listing.reel for listing in growing)]
        lowering.memory.bottom |= {reel.location: builder.constant(0, INT64) for reel in counted}
        if lowering.fuel is not None:
            lowering.memory.bottom[lowering.fuel] = compile_budget.full()
        try:
            return _finish(lowering, *lowering.function(function, operands), nums)
        finally:
            for operation in lowering.given_up:
                operation.erase()


def _finish(lowering: Lowering, exits: list[tuple[Template, list[Slot]]], taken: Choice, nums: list[Num]) -> Lowered:
    """Emit the outputs (the bailout flag, the choice of template, arrays and variables that changed, the leaves of each template) and return the
    Lowered.
    """
    if not exits:
        raise lowering.reasons[0] if lowering.reasons else NotLowerable("the function always raises an exception")
    host_callbacks.only_hosted(lowering.worked, lowering.hosted)
    outputs: list[tuple[Num, Any]] = []
    bail = choice = None
    if lowering.bail is not None:
        bail = len(outputs)
        outputs.append((Num(ARRAY, BOOL), lowering.bail.ir))
    if len(exits) > 1:
        choice = len(outputs)
        outputs.append((Num(ARRAY, INT32), as_tensor(taken).ir))
    written: list[tuple[int, Any]] = []
    tapes: list[Tape] = []
    kept: list[tuple[int, Variable]] = []
    for location, before in lowering.memory.bottom.items():
        after = lowering.memory.read(location)
        if after.ir != before.ir and location is not lowering.fuel:
            num = content(after).num
            if isinstance(location.owner, Reel):
                tapes.append(location.owner.tape(len(outputs)))
            elif isinstance(location.owner, Variable):
                kept.append((len(outputs), location.owner))
                num = location.owner.num
            else:
                written.append((len(outputs), location.owner))
            outputs.append((num, after.ir))
    templates, starts = [], []
    for template, slots in exits:
        starts.append(len(outputs))
        slots = list(map(settled, slots))
        sources, more = sources_of(slots, template)
        outputs += more
        owners = lowering.owners(slots, template.location)
        templates.append(replace(template, owners=owners, sources=sources, nums=tuple(num for num, _ in more)))
    func.return_([value for _, value in outputs])
    hidden = [(array, val.num) for array, val in lowering.constants.values()]
    inputs = nums + [num for _, num in hidden]
    signature = ir.FunctionType.get([tensor_type(n.dtype, n.shape) for n in inputs], [tensor_type(n.dtype, n.shape) for n, _ in outputs])
    lowering.main.attributes["function_type"] = ir.TypeAttr.get(signature)
    lowering.module.operation.verify()
    return Lowered(
        lowering.module, inputs, [n for n, _ in outputs], templates, starts, bail, choice, [a for a, _ in hidden], lowering.callbacks, lowering.failures,
        lowering.environment, [where_called(op) for op in lowering.hosted if op is not None], lowering.narrow, written, lowering.contiguous(),
        lowering.writeable(), lowering.apart, [location.owner for location in lowering.outliving.values()], kept, lowering.work,
        lowering.fuel is not None, lowering.record if lowering.token is not None else None, lowering.texts, tapes,
    )  # fmt: skip
