"""The iterations of a loop in reverse: how many there were, and the values of earlier iterations.

A value of the previous iteration is found in the cheapest way that applies: as a counter, counted down; as the value that the next iteration
began with; recomputed from values that are known anyway, or by arithmetic from one other value; read from a tape, onto which every
iteration but the last has put it.
"""

import math
import operator as o
from collections.abc import Callable
from typing import Any, Final

from hovis.ir.analysis.control_flow import Loop
from hovis.ir.builder import INT
from hovis.ir.model import Block, Edge, Effect, Jump, Op, Operand, Param, Value
from hovis.ir.operations import filled, get, make_tape, make_tuple, missing, put, tape_of
from hovis.lattice import AbstractValue, Array, Const, Type, leq
from hovis.library.numpy.adjoints.cotangents import ARITHMETIC
from hovis.passes.scalar.instcombine import is_exact
from hovis.transforms.aliasing import is_view
from hovis.transforms.normal_form import Normal, type_of
from hovis.transforms.ssa_variables import NOTHING, Found, Variable, Variables, absent, slot_for

#: Arithmetic that is recomputed rather than stored: it can't raise on numbers, and costs almost nothing.
_CHEAP: Final = frozenset({o.add, o.sub, o.mul, o.neg, o.lt, o.le, o.gt, o.ge, o.eq, o.ne, o.not_, o.is_, o.is_not})


def _no_tape(variable: Variable, block: Block) -> Operand:
    raise AssertionError("a tape begins at the entry")


class Rounds:
    """The iterations of one loop. ``back`` is the block in which the reverse sweep reaches the previous iteration."""

    def __init__(self, loop: Loop, normal: Normal, variables: Variables, of: dict[Value, Variable], fixed: Callable[[Value], bool]) -> None:
        self.loop, self.normal, self.variables, self.of = loop, normal, variables, of
        self.fixed = fixed
        self.front, self.latch = normal.front[loop], normal.latch[loop]
        self.entry = normal.function.blocks[0]
        self.back = Block()
        self.tapes: dict[Variable, Variable] = {}
        self.begins = self._edge(self.front).args
        self.goes_on = self._edge(self.latch).args
        self.slot: tuple[Operand, Operand] | None = None
        self.count, self.counted = self._counter()
        #: the total number of slots, at the end
        self.total = self.count
        variables.hooks[loop.header] = self._first
        variables.hooks[self.back] = self._earlier

    def _edge(self, block: Block) -> Edge:
        assert isinstance(block.terminator, Jump)
        return block.terminator.edge

    # --------------------------------------------------------------------------------------------- counting

    def _counter(self) -> tuple[Variable, Operand | None]:
        """Return a variable that counts the iterations before this one (an induction variable of the program, if there is a suitable one), and
        the op that increments it (None for one of the program's).
        """
        for param, start, step in self._inductions():
            if start == Const(0) and step == Const(1):
                return self.of[param], None
        count = Variable(INT, absent, self.front)
        self.variables.write(count, self.front, Const(0))
        at = self.variables.value(count, self.loop.header)
        more = Op(o.add, (at, Const(1)), type=INT)
        self.latch.ops.append(more)
        self.variables.write(count, self.latch, more)
        return count, None

    def _inductions(self) -> list[tuple[Param, Operand, Operand]]:
        """Find the header parameters that grow by a constant in each iteration, with their start and step."""
        found: list[tuple[Param, Operand, Operand]] = []
        for param, start, after in zip(self.loop.header.params, self.begins, self.goes_on, strict=False):
            if isinstance(after, Op) and after.callee is o.add and param in after.args and is_exact(param, int) and is_exact(start, int):
                step = next((arg for arg in after.args if arg is not param), None)
                if isinstance(step, Const) and type(step.value) is int:
                    found.append((param, start, step))
        return found

    def down(self, last: Block) -> Operand:
        """Emit the test whether there is a previous iteration, at the end of ``last``; if there is, the sweep continues at ``back``."""
        now = self.variables.value(self.count, last)
        self.last = last
        before = Op(o.sub, (now, Const(1)), type=INT)
        self.back.ops.append(before)
        self.variables.write(self.count, self.back, before)
        more = Op(o.gt, (now, Const(0)), type=Type(bool))
        last.ops.append(more)
        return more

    # --------------------------------------------------------------------------------------------- values

    def _first(self, variable: Variable, header: Block) -> Found | None:
        """Return NOTHING for a variable that belongs to an iteration: at the header it has not been computed yet. Return None for other
        variables.
        """
        return NOTHING if self._varies(variable) else None

    def _varies(self, variable: Variable) -> bool:
        return variable.home in self.loop.blocks

    def _earlier(self, variable: Variable, back: Block) -> Found | None:
        """Return the value of a variable at the end of the previous iteration; None if it does not vary in the loop."""
        if not self._varies(variable):
            return None
        value = self._value(variable)
        found = None
        if value is not None:
            found = self._grown(value) or self._began_with(value) or self._again(value)
        return found or self._taped(variable)

    def _value(self, variable: Variable) -> Value | None:
        return self._values().get(variable)

    def _values(self) -> dict[Variable, Value]:
        return {variable: value for value, variable in self.of.items()}

    def _grown(self, value: Value) -> Operand | None:
        """Return the previous value of an int that grows by a constant (its current value minus the step); None if value is anything else."""
        for param, start, step in self._inductions():
            if param is value:
                if isinstance(start, Const) and step == Const(1) and self.count.home is not None:
                    return self._op(o.add, (self.variables.value(self.count, self.back), start), INT)
                return self._op(o.sub, (self.variables.value(self.of[value], self.last), step), INT)
        return None

    def _began_with(self, value: Value) -> Operand | None:
        """Return value as the header parameter that it was passed to in the next iteration, which has been reversed; None if there is no such
        parameter.
        """
        for param, after in zip(self.loop.header.params, self.goes_on, strict=False):
            if after is value and param is not value and leq(param.type, value.type):
                return self.variables.value(self.of[param], self.last)
        return None

    def _again(self, value: Value) -> Operand | None:
        """Compute value again, from values that are known in each iteration, or from one value that is no larger and is then taken from a tape;
        return None if that can't be done.
        """
        if not isinstance(value, Op) or not (self._is_free(value, 4) or self._is_worth_it(value)):
            return None
        args = tuple(arg if isinstance(arg, Const) else self.variables.value(self.of[arg], self.back) for arg in value.args)  # type: ignore[index]
        made = Op(value.callee, args, (), value.type, self.of[value].dims, value.effect, value.location)
        self.back.ops.append(made)
        return made

    def _is_worth_it(self, value: Op) -> bool:
        """Is value computed by cheap arithmetic from one value, no larger, that would have to be on a tape instead?"""
        leaves = self._leaves(value, 4)
        return leaves is not None and len(leaves) == 1 and all(_size(leaf) <= _size(value) for leaf in leaves)

    def _leaves(self, value: Op, depth: int) -> set[Value] | None:
        """Return the values, besides free ones, from which value is computed by cheap arithmetic; None if it is not computed that way."""
        if not depth or value.kwargs or not _is_arithmetic(value) or not self.fixed(value):
            return None
        if not all(self.normal.dominators.dominates(self.variables_home(value), latch) for latch in self.loop.latches):
            return None
        found: set[Value] = set()
        for arg in value.args:
            if self._is_free(arg, 4):
                continue
            assert isinstance(arg, Param | Op)
            if not self.fixed(arg):
                return None
            inner = self._leaves(arg, depth - 1) if isinstance(arg, Op) and self._varies(self.of[arg]) else None
            found |= {arg} if inner is None else inner
        return found

    def _is_free(self, operand: Operand, depth: int) -> bool:
        """Is operand known in each iteration, or computed from known values at almost no cost?"""
        if isinstance(operand, Const):
            return True
        if not isinstance(operand, Param | Op):
            return False
        variable = self.of[operand]
        if not self._varies(variable) or variable in self.tapes:
            return True
        if isinstance(operand, Param):
            return variable is self.count or any(param is operand for param, _, _ in self._inductions())
        if not depth or operand.kwargs or operand.effect & ~(Effect.RAISES | Effect.READS):
            return False
        return self._is_cheap(operand) and all(self._is_free(arg, depth - 1) for arg in operand.args)

    def _is_cheap(self, op: Op) -> bool:
        if op.callee is make_tuple:
            return True
        # an op that an iteration has not executed may lack operands, or have an index out of range
        always = all(self.normal.dominators.dominates(self.variables_home(op), latch) for latch in self.loop.latches)
        if op.callee in _CHEAP if _hashable(op.callee) else False:
            return always and all(is_exact(arg, int, float, bool) and self._is_there(arg, set()) for arg in op.args)
        if op.callee is o.getitem:
            base, index = op.args
            if is_view(op):
                return always or (isinstance(index, Const) and isinstance(base, Param | Op) and not self._varies(self.of[base]))
            return always and isinstance(base, Param | Op) and isinstance(_type(base), Array) and self.fixed(base)
        return False

    def _is_there(self, operand: Operand, passed: set[Value]) -> bool:
        """Is operand a number in each iteration, and never a placeholder (``missing``) from a path on which there is no number?"""
        if not isinstance(operand, Param | Op) or operand in passed or not self._varies(self.of[operand]):
            return getattr(operand, "callee", None) is not missing
        passed.add(operand)
        home = self.variables_home(operand)
        if not all(self.normal.dominators.dominates(home, latch) for latch in self.loop.latches):
            return False
        if isinstance(operand, Op):
            return operand.callee is not missing
        at = home.params.index(operand)
        return all(at < len(edge.args) and self._is_there(edge.args[at], passed) for _, edge in self.normal.incoming[home])

    def variables_home(self, op: Value) -> Block:
        home = self.of[op].home
        assert home is not None
        return home

    def _op(self, callee: Any, args: tuple[Operand, ...], type: AbstractValue) -> Op:
        made = Op(callee, args, type=type)
        self.back.ops.append(made)
        return made

    # --------------------------------------------------------------------------------------------- tapes

    def _taped(self, variable: Variable) -> Operand:
        """Read a variable from its tape, onto which each iteration but the last has put it. The tape is made if there is none."""
        if variable not in self.tapes:
            slot_kind = slot_for(variable)
            kind = tape_of(slot_kind)
            tape = self.tapes[variable] = Variable(kind, _no_tape)
            made = Op(make_tape, (Const(slot_kind),), type=kind)
            self.entry.ops.append(made)
            self.variables.write(tape, self.entry, made)
            slot, _ = self._slots()
            before = self.variables.value(tape, self.loop.header)
            value = self.variables.value(variable, self.latch)
            after = Op(put, (before, slot, value), type=kind, effect=Effect.WRITES)
            self.latch.ops.append(after)
            self.variables.write(tape, self.latch, after)
            self.normal.end.ops.append(self._filled(tape))
        _, slot = self._slots()
        tape_now = self.variables.value(self.tapes[variable], self.back)
        found = Op(get, (tape_now, slot), type=variable.type, dims=variable.dims, effect=Effect.READS)
        self.back.ops.append(found)
        return found

    def _filled(self, tape: Variable) -> Op:
        """Emit an op at the end of the function that tells how many slots were used: there a tape of fixed length tests whether it was long
        enough.
        """
        end = self.normal.end
        now, slots = self.variables.value(tape, end), self.variables.value(self.total, end)
        return Op(filled, (now, slots), type=Type(type(None)), effect=Effect.RAISES)

    def _slots(self) -> tuple[Operand, Operand]:
        """Return the tape slot of this iteration, in the forward pass and in the reverse sweep; for an inner loop, slots continue from one
        execution of the loop to the next.
        """
        if self.slot is None:
            if self.loop.parent is None:
                self.slot = self._now(), self.variables.value(self.count, self.back)
            else:
                slot = self.total = Variable(INT, absent)
                self.variables.write(slot, self.entry, Const(0))
                now = self.variables.value(slot, self.loop.header)
                more = Op(o.add, (now, Const(1)), type=INT)
                self.latch.ops.append(more)
                self.variables.write(slot, self.latch, more)
                before = self._op(o.sub, (self.variables.value(slot, self.last), Const(1)), INT)
                self.variables.write(slot, self.back, before)
                self.slot = now, before
        return self.slot

    def _now(self) -> Operand:
        """Return the number of iterations before this one, in the forward pass."""
        return self.variables.value(self.count, self.loop.header)


def _type(operand: Operand) -> Any:
    return operand.type if isinstance(operand, Param | Op) else None


def _is_arithmetic(op: Op) -> bool:
    return _hashable(op.callee) and op.callee in ARITHMETIC and all(_is_real(arg) for arg in (op, *op.args))


def _is_real(operand: Operand) -> bool:
    """Is operand a real number, or an array of real numbers with known shape?"""
    kind = type_of(operand)
    if isinstance(kind, Array):
        return getattr(kind.dtype, "kind", "") == "f" and _size(operand) < math.inf
    return isinstance(kind, Type) and (kind.cls in (float, int) or (kind.cls.__module__ == "numpy" and kind.cls.__name__.startswith("float")))


def _size(operand: Operand) -> float:
    """Return the number of elements of an operand; inf if it is unknown."""
    dims = operand.dims if isinstance(operand, Param | Op) else None
    if not isinstance(_type(operand), Array):
        return 1
    if dims is None or not all(isinstance(d, Const) and isinstance(d.value, int) for d in dims):
        return math.inf
    return math.prod(d.value for d in dims)  # type: ignore[union-attr, misc]


def _hashable(callee: Any) -> bool:
    return getattr(type(callee), "__hash__", None) is not None
