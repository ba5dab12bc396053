"""Reverse mode: a Function that also returns the cotangents of its parameters.

``reverse(function, wanted)`` returns a Function that does what function does, followed by the reverse sweep.  The blocks
of the sweep are those of the function, with the edges reversed.  At a join, the function records the edge that it
took; a loop is run backwards for as many iterations as it has run forward.

The sweep is written with variables: the cotangent of each value is a variable, to which every use of the value adds its share,
and so is each value of the function itself, as far as the sweep needs it.  ``variables`` turns these into block
parameters (SSA construction); ``rounds`` recovers the values of earlier iterations of a loop.
"""

import functools
import operator as o
from collections.abc import Sequence
from typing import Any

from hovis.errors import DerivativeError
from hovis.ir.analysis.control_flow import Loop, uses
from hovis.ir.builder import BOOL, INT
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Operand, Param, Return, Value, edges
from hovis.ir.operations import make_tuple, slot_of
from hovis.lattice import ANY, AbstractValue, Array, Const, Type, contains, leq
from hovis.lattice import Any as AnyType
from hovis.library.numpy.adjoints.cotangents import alike, apart, cotangent_type, owned, united, whole, zero_of, zero_tape
from hovis.library.numpy.adjoints.tangents import added, gradient, ones_like
from hovis.passes import pipeline
from hovis.passes.rewriting import copied_blocks, copy
from hovis.transforms import derivative_rules
from hovis.transforms.activity import Activity
from hovis.transforms.aliasing import Groups, Shadows
from hovis.transforms.forward.lists_as_arrays import with_arrays
from hovis.transforms.normal_form import Normal, normalize, type_of, where
from hovis.transforms.reverse.calls import Calls, Pairs
from hovis.transforms.reverse.functional_updates import with_updates
from hovis.transforms.reverse.loop_values import Rounds
from hovis.transforms.reverse.op_adjoints import reverse_op
from hovis.transforms.reverse.reversed_cfg import Route, Way, way_source
from hovis.transforms.reverse.store_log import Log
from hovis.transforms.reverse.writing import Writer, shape_of
from hovis.transforms.ssa_variables import NOTHING, Found, Variable, Variables, absent


def reverse(function: Function, wanted: Sequence[int], outputs: int = 0, seeded: bool = False, sized: bool = False) -> Function:
    """Return a Function with the same parameters that returns ``(*returned, *cotangents)``, with the cotangents of the parameters at the
    positions in ``wanted``.

    outputs   0: function returns one value, which is differentiated; else it returns a tuple, of which the first ``outputs`` items are
              differentiated, and the others have no derivative
    seeded    the cotangents of the outputs are further parameters; otherwise there is one output, whose cotangent is 1
    sized     the cotangents are known to have the shapes of the outputs
    """
    whole = copy(function)
    # the callees of function may call function, unchanged
    made = Function(whole.name, copied_blocks(whole, {}), whole.location, whole.type, whole.is_generator, whole.guards)
    if made.is_generator:
        raise DerivativeError(f"{function.name} is a generator, which can't be differentiated ({where(function)})")
    with_arrays(made)
    with_updates(made)
    normal = normalize(made, outputs)
    if normal is None:
        return made
    sweep = Sweep(normal, [made.params[k] for k in wanted], {})
    seeds: list[Param] | None = None
    if seeded:
        seeds = [Param(type_of(value), shape_of(value) if sized else None) for value in normal.results[: outputs or 1]]
        made.blocks[0].params = (*made.params, *seeds)
    sweep.write(seeds, outputs or 1)
    made.type = Type(tuple)
    return pipeline.run(made, ["simplify_cfg", "trivial_phis", "dce"])


class Cotangent(Variable):
    """The variable for the cotangent of a value."""

    __slots__ = ("value",)

    def __init__(self, value: Value, sweep: "Sweep") -> None:
        kind = cotangent_type(value.type) or ANY
        super().__init__(kind, sweep.zero, None, value.dims, None)
        self.value = value


class Sweep:
    """The reverse sweep of one function, under construction."""

    def __init__(self, normal: Normal, wanted: list[Param], pairs: Pairs) -> None:
        self.normal = normal
        self.pairs = pairs
        self.function = normal.function
        self.wanted = wanted
        self.variables = Variables()
        self.of: dict[Value, Variable] = {}
        self.groups = Groups(normal.function)
        self.activity = Activity(normal, wanted, normal.results, self.groups)
        self.calls = Calls(self)
        self.shadows = Shadows(normal.function, self.groups, self.activity.active)
        self.cotangents: dict[Value, Cotangent] = {}
        self.redone: set[Value] = set()
        self.known: dict[Value, Const] = {}
        self.kept: dict[Operand, Variable] = {}
        self.towards: dict[Block, list[Block]] = {}
        self._tell_apart()
        self.log = Log(self)
        self.forward = list(self.function.blocks)
        for block in self.forward:
            self.variables.ways[block] = len(normal.incoming[block])
            for value in normal.defined(block):
                self.of[value] = variable = Variable(value.type, absent, block, value.dims, value.name)
                self.variables.write(variable, block, value)
        for block in self.forward:
            for edge in edges(block.terminator):
                self.variables.link(block, edge)
        self.route = Route(normal, self.activity)
        self.rounds: dict[Loop, Rounds] = {}
        self.came: dict[Block, Variable] = {}
        self.owned = self._read_in_parts()

    def _tell_apart(self) -> None:
        """Emit checks that array parameters, one of which is stored into, share no memory: they would have one cotangent, which could not be
        divided.
        """
        entry = self.function.blocks[0]
        used = uses(self.function)
        arrays = [param for param in entry.params if isinstance(param.type, Array) and used.get(param, 0) > (1 if self.shadows.has(param) else 0)]
        pairs = [(a, b) for k, a in enumerate(arrays) for b in arrays[:k] if self.shadows.has(a) or self.shadows.has(b)]
        checks = [Op(apart, pair, type=Type(type(None)), effect=Effect.RAISES, location=self.function.location) for pair in pairs]
        entry.ops = [*checks, *entry.ops]

    def _read_in_parts(self) -> set[Value]:
        """Return the active arrays without a shadow from which parts are read: the cotangents of the parts are added in place."""
        bases = (op.args[0] for op in self.function.ops() if op.callee is o.getitem and op in self.activity.active)
        return {v for v in bases if v in self.activity.active and isinstance(type_of(v), Array) and not self.shadows.has(v)}  # type: ignore[misc]

    # --------------------------------------------------------------------------------------------- the route

    def write(self, seeds: Sequence[Operand] | None, outputs: int = 1, alone: bool = False) -> None:
        """Write the sweep behind the function.

        seeds    the cotangents of the outputs; None: they are 1
        alone    return the cotangents only, without the results
        """
        end = self.normal.end
        self.alone = alone
        for loop in self.route.rounds:
            self.rounds[loop] = Rounds(loop, self.normal, self.variables, self.of, self.is_fixed)
        self._note()
        self._count()
        self.first = first = self.route.back[end]
        finish = end.terminator
        assert isinstance(finish, Return)
        end.terminator = Jump(Edge(first), finish.location)
        self.variables.link(end, end.terminator.edge)
        self.variables.ways[first] = self.variables.ways.get(first, 0) + 1
        results = self.normal.results[:outputs]
        writer = Writer(first, self)
        writer.location = finish.location
        for value, seed in zip(results, seeds or [writer.rule(ones_like, value) for value in results], strict=True):
            self.add(writer, value, seed)
        for value in self.normal.results:
            if isinstance(value, Param | Op):
                kept = self.kept[value] = Variable(value.type, absent, None, value.dims)
                self.variables.write(kept, first, self.available(value, first))
        for block, forward in self.route.order(first):
            self._fill(writer if block is first else Writer(block, self), block, forward, finish)
        self.log.close(first)
        self.variables.settle()

    def is_fixed(self, value: Value) -> bool:
        """Do the contents of value never change?"""
        return not self.groups.is_stored(value)

    def _note(self) -> None:
        """Record, on each edge into a join, which edge it is."""
        for block, ways in self.route.ways.items():
            if len(ways) > 1 and not self.route.is_header(block):
                came = self.came[block] = Variable(BOOL if len(ways) == 2 else INT, absent, block)
                for k, way in enumerate(ways):
                    self.variables.write(came, way_source(self.normal, block, way), Const(k == 0 if len(ways) == 2 else k))

    def _count(self) -> None:
        """Count the ways that lead to each block of the sweep, and set the hooks of these blocks."""
        ways = self.variables.ways
        for target in self.route.leads():
            ways[target] = ways.get(target, 0) + 1
        for block in self.route.ways:
            live = self.activity.live[block]
            self.variables.hooks[self.route.back[block]] = lambda variable, at, live=live: _if_live(variable, live)  # type: ignore[misc]
        for loop, at in self.route.dispatch.items():
            live = {v for end in self.route.ends[loop] for v in self.activity.live[end]}
            self.variables.hooks[at] = lambda variable, at, live=live: _if_live(variable, live)  # type: ignore[misc]

    # --------------------------------------------------------------------------------------------- filling

    def _fill(self, writer: Writer, at: Block, block: Block | Loop, finish: Return) -> None:
        self.function.blocks.append(at)
        if isinstance(block, Loop):
            chosen = self.variables.value(self.route.chosen[block], at)
            targets = [self.route.behind(block, end) for end in self.route.ends[block]]
            self._choose(writer, chosen, [functools.partial(self._jump, target=to, chosen=[]) for to in targets])
            return
        for op in reversed(block.ops):
            reverse_op(self, writer, op)
        ways = self.route.ways[block]
        if not ways:
            self._finish(writer, finish)
        elif len(ways) == 1:
            self._along(writer, block, ways[0])
        elif self.route.is_header(block):
            self._round(writer, block)
        else:
            came = self.variables.value(self.came[block], writer.block)
            self._choose(writer, came, [functools.partial(self._along, block=block, way=way) for way in ways])

    def _round(self, writer: Writer, header: Block) -> None:
        """Branch to the previous iteration if there is one, else out of the loop."""
        loop = self.normal.loops.innermost[header]
        front, latch = self.route.ways[header]
        rounds = self.rounds[loop]
        more = rounds.down(writer.block)
        out = Block()
        self._branch(writer.block, more, rounds.back, out)
        for at, way in ((rounds.back, latch), (out, front)):
            self._along(Writer(at, self), header, way)

    def _choose(self, writer: Writer, which: Operand, goes: list[Any]) -> None:
        """Emit branches to one of several continuations; ``which`` is a bool (True: the first) or a number."""
        for k, go in enumerate(goes[:-1]):
            condition = which
            if len(goes) > 2 or not _is_bool(which):
                condition = writer.op(o.eq, which, Const(k), type=BOOL)
            here, rest = Block(), Block()
            self._branch(writer.block, condition, here, rest)
            go(Writer(here, self))
            writer = Writer(rest, self)
        goes[-1](writer)

    def _branch(self, at: Block, condition: Operand, yes: Block, no: Block) -> None:
        at.terminator = Branch(condition, Edge(yes), Edge(no))
        self.function.blocks += [yes, no]
        for edge in edges(at.terminator):
            self.variables.ways[edge.block] = 1
            self.variables.link(at, edge)

    def _along(self, writer: Writer, block: Block, way: Way) -> None:
        """Reverse the edge of a way: the cotangents of the block's parameters go to the arguments, and a call at the beginning of the edge is
        reversed. Then continue behind it.
        """
        if way.edge is not None:
            pairs = [
                (param, arg) for param, arg in zip(block.params, way.edge.args, strict=False) if param in self.activity.active and not self.shadows.has(param)
            ]
            taken = [(arg, self.take(param, writer.block)) for param, arg in pairs]
            for arg, cotangent in taken:
                if cotangent is not NOTHING:
                    self.add(writer, arg, cotangent)
            call = way_source(self.normal, block, way).terminator
            if isinstance(call, Invoke) and call.ok is way.edge:
                reverse_op(self, writer, call.op)
        loop = self.route.loop_between(block, way)
        target, chosen = self.route.again(loop) if loop is not None else self.route.targets(block, way)
        self._jump(writer, target, chosen)

    def _jump(self, writer: Writer, target: Block, chosen: list[tuple[Loop, int]]) -> None:
        self.towards[writer.block] = [self.route.ends[loop][k] for loop, k in chosen]
        for loop, k in chosen:
            self.variables.write(self.route.chosen[loop], writer.block, Const(k))
        writer.block.terminator = Jump(Edge(target))
        self.variables.link(writer.block, writer.block.terminator.edge)

    def _finish(self, writer: Writer, finish: Return) -> None:
        """Emit the end of the sweep, at the function's entry: a return of the results and the cotangents of the wanted parameters."""
        writer.location = finish.location
        found = []
        for param in self.wanted:
            cotangent = self.take(param, writer.block)
            if self.alone:
                found.append(self.cotangent(param).absent(self.cotangent(param), writer.block) if cotangent is NOTHING else cotangent)
            else:
                found.append(writer.rule(gradient, Const(None) if cotangent is NOTHING else cotangent, param))
        self.log.finish(writer)
        results = [] if self.alone else [self.final(value, writer.block) for value in self.normal.results]
        result = writer.op(make_tuple, *results, *found, type=Type(tuple))
        writer.block.terminator = Return(result, finish.location)

    # --------------------------------------------------------------------------------------------- cotangents

    def available(self, value: Operand, block: Block) -> Operand:
        """Return a value of the function as it is known in a block of the sweep; anything else as it is."""
        if not isinstance(value, Param | Op):
            return value
        if value in self.known:
            return self.known[value]
        if value in self.redone:
            assert isinstance(value, Op)
            made = Op(value.callee, tuple(self.available(arg, block) for arg in value.args), (), value.type, value.dims, value.effect, value.location)
            block.ops.append(made)
            return made
        variable = self.of.get(value)
        return value if variable is None else self.variables.value(variable, block)

    def final(self, value: Operand, block: Block) -> Operand:
        """Return a result as it was at the end of the function."""
        kept = self.kept.get(value)
        return value if kept is None else self.variables.value(kept, block)

    def cotangent(self, value: Value) -> Cotangent:
        """Return the variable for the cotangent of value."""
        if value not in self.cotangents:
            self.cotangents[value] = Cotangent(value, self)
        return self.cotangents[value]

    def zero(self, variable: Variable, block: Block) -> Operand:
        """Return the cotangent of a value that has not been used: a zero. Raise DerivativeError if it is not known which zero."""
        assert isinstance(variable, Cotangent)
        if any(variable.value not in self.activity.live[end] for end in self.towards.get(block, ())):
            # at a block that this one leads to, the value is not available
            return absent(variable, block)
        if isinstance(variable.type, AnyType):
            return Const(None)
        slot = slot_of(variable.type)
        if slot is not None:
            made = Op(zero_tape, (self.available(variable.value, block), Const(slot)), type=variable.type, effect=Effect.READS)
            block.ops.append(made)
            return made
        for number in (0.0, 0j):
            if contains(variable.type, number):
                return Const(number)
        writer = Writer(block, self)
        found = writer.rule(zero_of, variable.value)
        if writer.block is not block:
            raise DerivativeError(f"the zero that the derivative of a {variable.value.type} starts with is not known while tracing ({where(self.function)})")
        return found

    def no_end(self, variable: Variable, block: Block) -> Operand:
        """Raise AssertionError: the final contents of an array are known wherever this is asked."""
        raise AssertionError

    def take(self, value: Value, block: Block) -> Any:
        """Return the cotangent of value, to which all shares have been added, and reset it; NOTHING if there is none."""
        if value not in self.activity.active:
            return NOTHING
        if self.shadows.has(value):
            return self.available(self.shadows.of[value], block)
        variable = self.cotangent(value)
        found: Found = self.variables.read(variable, block)
        self.variables.write(variable, block, NOTHING)
        return found

    def add(self, writer: Writer, value: Operand, share: Operand) -> None:
        """Add share to the cotangent of value."""
        if not isinstance(value, Param | Op) or value not in self.activity.active or (isinstance(share, Const) and share.value is None):
            return
        if self.shadows.has(value):
            writer.rule(whole, self.shadows.of[value], share)
            return
        variable = self.cotangent(value)
        before: Any = self.variables.read(variable, writer.block)
        total = share if before is NOTHING else self.total(writer, before, share, variable.type)
        if total is share and value in self.owned:
            total = writer.rule(owned, share)
        if not leq(type_of(total), variable.type):
            total = writer.rule(alike, total, value)
            if isinstance(type_of(total), AnyType):
                assert isinstance(total, Op)
                total.type, total.dims = variable.type, variable.dims
        self.variables.write(variable, writer.block, total)

    @staticmethod
    def total(writer: Writer, a: Operand, b: Operand, kind: AbstractValue) -> Operand:
        """Emit the sum of two shares of a cotangent."""
        return writer.op(united, a, b) if isinstance(kind, AnyType) else writer.rule(added, a, b)

    def asks(self, value: Operand) -> None:
        """Note that a rule reads the contents of value: if they have been overwritten since, the sweep has to put them back."""
        if value in self.redone:
            assert isinstance(value, Op)
            for arg in value.args:
                self.asks(arg)
        elif isinstance(value, Param | Op):
            self.log.asked.add(self.groups.of(value))


def _is_bool(operand: Operand) -> bool:
    return isinstance(operand.value, bool) if isinstance(operand, Const) else type_of(operand) == BOOL


def _if_live(variable: Variable, live: set[Value]) -> Found | None:
    """Return NOTHING for a cotangent to which nothing can have been added yet, else None."""
    return NOTHING if isinstance(variable, Cotangent) and variable.value not in live else None


derivative_rules.TRANSFORMS["reverse"] = reverse

__all__ = ["reverse"]
