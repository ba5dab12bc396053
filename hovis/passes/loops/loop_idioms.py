"""Closed forms for counting loops.

    while a != 0:               n = a
        a -= 1          →       a, b = 0, b + n * k         (if a > 0: else the loop, which does not end)
        b += k

A loop without inner branches has a closed form, once its trip count is known, if every variable of it is an exact int that changes
by the same amount in each iteration, or by the value of a variable that does (``s += i``).  The trip count follows from the
test of the loop.  A guard in front of the loop checks that the test fails at all; where it would not (or not for this trip count),
the loop itself runs.  Of stores into the same cells in each iteration only those of the last iteration are made.
"""

import operator as o
from dataclasses import dataclass
from typing import Any, Final

from hovis.ir.analysis.control_flow import Incoming, operands, predecessors
from hovis.ir.matching import same
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Jump, Op, Operand, Param, Value, edges
from hovis.lattice import Const, Type
from hovis.passes.rewriting import Pass, drop_unreached, replace_in, replaced
from hovis.passes.scalar.instcombine import is_exact

INT: Final = Type(int)
BOOL: Final = Type(bool)
NONE: Final = Type(type(None))
#: The equivalent test with its operands exchanged.
_MIRRORED: Final[dict[Any, Any]] = {o.lt: o.gt, o.le: o.ge, o.gt: o.lt, o.ge: o.le, o.ne: o.ne}
#: The negated test.
_OPPOSITE: Final[dict[Any, Any]] = {o.lt: o.ge, o.le: o.gt, o.gt: o.le, o.ge: o.lt, o.eq: o.ne}


def _loop_idioms(function: Function) -> bool:
    """Replace counting loops by closed forms.

    A loop that only counts becomes arithmetic on its trip count.
    """
    changed = False
    incoming = predecessors(function)
    for head, body in straight_loops(function):
        if closed(function, Shape(head, body, incoming)):
            changed, incoming = True, predecessors(function)
    if changed:
        drop_unreached(function)
    return changed


loop_idioms = Pass(_loop_idioms)


def straight_loops(function: Function) -> list[tuple[Block, Block]]:
    """Find the loops without inner branches, as pairs of header and body: one block that ends with its test (returned twice), or a header with
    the test and the block behind it.
    """
    found = []
    for block in function.blocks[1:]:
        branch = block.terminator
        if isinstance(branch, Branch) and branch.true.block is not branch.false.block:
            for edge in edges(branch):
                body = edge.block
                if body is block or (isinstance(body.terminator, Jump) and body.terminator.edge.block is block and not body.params):
                    found.append((block, body))
                    break
    return found


@dataclass(slots=True)
class _Linear:
    """A linear induction variable: its parameter, its start, and its step per iteration (an operand from outside the loop, subtracted if down)."""

    param: Param
    start: Operand
    step: Operand
    down: bool


@dataclass(slots=True)
class _Sum:
    """A variable that grows in each iteration by a linear induction variable, before (or after) that has grown."""

    param: Param
    start: Operand
    of: _Linear
    after: bool


class Shape:
    """The shape of a counting loop (``ok``: it is one): one block that ends with its test, or a header with the test and the block behind it."""

    def __init__(self, head: Block, body: Block, incoming: Incoming) -> None:
        self.head, self.body = head, body
        self.ok = False
        branch = head.terminator
        assert isinstance(branch, Branch)
        self.first = body is not head
        side, self.exit = (branch.true, branch.false) if branch.true.block is body else (branch.false, branch.true)
        self.back = body.terminator.edge if isinstance(body.terminator, Jump) else side
        self.stays = side
        self.into = [(source, edge) for source, edge in incoming[head] if source is not body]
        values: list[Value] = [*head.params, *head.ops, *body.ops]
        self.inside = {id(value) for value in values}
        self.stores = [op for op in body.ops if op.callee is o.setitem and op.effect == Effect.WRITES]
        if len(self.into) != 1 or (self.first and len(incoming[body]) != 1) or not all(self._is_store(op) for op in self.stores):
            return
        if any(value.dims for value in values) or not isinstance(branch.cond, Op) or (self.first and head.ops != [branch.cond]):
            return
        #: id of a parameter, or of the op that updates it -> its induction variable, and the number of steps that are in the value (0 or 1)
        self.places: dict[int, tuple[_Linear, int]] = {}
        self.sums: dict[int, _Sum] = {}
        self.same: set[int] = set()
        waiting = list(range(len(head.params)))
        while waiting:
            left = [k for k in waiting if not self._variable(k)]
            if len(left) == len(waiting):
                return
            waiting = left
        counted = {*self.places, *self.sums, id(branch.cond), *map(id, self.stores)}
        self.ok = all(id(op) in counted for op in body.ops) and self._test(branch)

    def outside(self, operand: Operand) -> bool:
        return isinstance(operand, Const) or id(operand) not in self.inside

    def _is_store(self, op: Op) -> bool:
        return self.outside(op.args[0]) and self.outside(op.args[1])

    def _variable(self, k: int) -> bool:
        param, start, after = self.head.params[k], self.into[0][1].args[k], self.back.args[k]
        if after is param:
            self.same.add(id(param))
            return True
        if not is_exact(param, int) or not is_exact(start, int) or not isinstance(after, Op) or after.kwargs or len(after.args) != 2:
            return False
        down = after.callee is o.sub
        if not (down or after.callee is o.add) or id(after) not in self.inside or not all(is_exact(a, int) for a in after.args):
            return False
        one, other = after.args
        if other is param and not down:
            one, other = other, one
        if one is not param:
            return False
        if self.outside(other):
            linear = _Linear(param, start, other, down)
            self.places[id(param)] = linear, 0
            self.places[id(after)] = linear, 1
            return True
        if not down and id(other) in self.places:
            of, grown = self.places[id(other)]
            self.sums[id(after)] = _Sum(param, start, of, bool(grown))
            return True
        return False

    def _test(self, branch: Branch) -> bool:
        """Does the test compare an induction variable with a loop-invariant bound? If so, record it."""
        test: Any = branch.cond
        if id(test) not in self.inside or test.kwargs or len(test.args) != 2 or not all(is_exact(a, int) for a in test.args):
            return False
        callee = test.callee if branch.true is self.stays else _OPPOSITE.get(test.callee)
        one, other = test.args
        if self.outside(one) and callee in _MIRRORED:
            one, other, callee = other, one, _MIRRORED[callee]
        if callee not in _MIRRORED or not self.outside(other) or id(one) not in self.places:
            return False
        self.tested, self.grown = self.places[id(one)]
        if self.first and self.grown:
            return False
        self.callee, self.bound = callee, other
        step = self.tested.step
        if not (isinstance(step, Const) and type(step.value) is int and step.value):
            return False
        self.step = -step.value if self.tested.down else step.value
        return callee is o.ne or (callee in (o.lt, o.le)) == (self.step > 0)


def closed(function: Function, shape: Shape, otherwise: Edge | None = None) -> bool:
    """Put the closed form of a counting loop in front of it; where the loop would not end that way, continue at the loop (or at ``otherwise``).
    Return whether this was possible.
    """
    head = shape.head
    if not shape.ok or _done(function, shape) or not carried(function, shape):
        return False
    into = shape.into[0][1]
    made = _Arithmetic()
    far, rounds = _rounds(shape, made)
    sure = _entered(function, shape)
    last = _Arithmetic()
    new, behind = _finals(shape, rounds, last)
    for store in shape.stores:
        last.ops.append(Op(o.setitem, replaced(store.args, new), (), NONE, None, store.effect, store.location))
    quick = Block((), last.ops, Jump(Edge(shape.exit.block, replaced(shape.exit.args, behind))))
    first = Block((), made.ops, Jump(Edge(quick)))
    function.blocks += [first, quick]
    if not sure:
        # the path without the closed form: the loop itself, if it might not end, or runs a single iteration because its test fails at once; its
        # exit, if the test comes first and fails at once
        start_values: dict[Value, Operand] = dict(zip(head.params, into.args, strict=True))
        none = shape.first and shape.callee is not o.ne
        slow = otherwise or (Edge(shape.exit.block, replaced(shape.exit.args, start_values)) if none else Edge(head, into.args))
        _unless(function, first, (o.ge, rounds, Const(1)), slow)
        if shape.callee is o.ne and abs(shape.step) > 1:
            _unless(function, first, (o.eq, made.op(o.mod, far, Const(abs(shape.step))), Const(0)), slow)
    into.block, into.args = first, ()
    return True


def _rounds(shape: Shape, made: "_Arithmetic") -> tuple[Operand, Operand]:
    """Emit the distance to the bound, and the trip count; the closed form is valid if that is at least one."""
    start, bound, size = shape.tested.start, shape.bound, abs(shape.step)
    far = made.op(o.sub, bound, start) if shape.step > 0 else made.op(o.sub, start, bound)
    up = size - 1 if shape.callee in (o.lt, o.gt) else 0
    rounds = made.op(o.floordiv, made.op(o.add, far, Const(up)), Const(size))
    more = (shape.callee in (o.le, o.ge)) + (not shape.grown and not shape.first)
    return far, made.op(o.add, rounds, Const(more))


def _unless(function: Function, block: Block, test: tuple[Any, Operand, Operand], slow: Edge) -> None:
    """Split block at its end: continue at the edge ``slow`` if the test fails."""
    holds = Op(test[0], test[1:], (), BOOL)
    rest = Block((), [], block.terminator)
    function.blocks.append(rest)
    block.ops.append(holds)
    block.terminator = Branch(holds, Edge(rest), Edge(slow.block, slow.args))


def _entered(function: Function, shape: Shape) -> bool:
    """Does the branch in front of the loop make the loop's test already? Then there is an iteration in which the test fails."""
    branch = shape.into[0][0].terminator
    if shape.callee is o.ne or not isinstance(branch, Branch) or branch.true.block is branch.false.block or not isinstance(branch.cond, Op):
        return False
    callee: Any = branch.cond.callee if branch.true is shape.into[0][1] else _OPPOSITE.get(branch.cond.callee)
    args = branch.cond.args
    tested = (shape.tested.start, shape.bound)
    return (callee is shape.callee and _alike(args, tested)) or (_MIRRORED.get(callee) is shape.callee and _alike(args[::-1], tested))


def _alike(a: tuple[Operand, ...], b: tuple[Operand, ...]) -> bool:
    return len(a) == len(b) and all(map(same, a, b))


def carried(function: Function, shape: Shape) -> bool:
    """Pass the values that are used behind the loop as parameters of its exit block; return whether that was possible."""
    found: dict[Value, Operand] = {}
    for block in function.blocks:
        if block is shape.head or block is shape.body:
            continue
        for v in operands(block):
            if isinstance(v, Param | Op) and id(v) in shape.inside and v not in found:
                found[v] = Param(v.type, None, v.name)
        values: list[Value] = [*block.params, *block.all_ops()]
        if any(id(d) in shape.inside for value in values for d in value.dims or ()):
            return False
    if not found:
        return True
    to = shape.exit.block
    if len(predecessors(function)[to]) != 1:
        return False
    for block in function.blocks:
        if block is not shape.head and block is not shape.body:
            replace_in(block, found)
    to.params += tuple(found.values())  # type: ignore[arg-type]
    shape.exit.args += tuple(found)
    return True


def _done(function: Function, shape: Shape) -> bool:
    """Does the loop have its closed form in front of it already?"""
    source, edge = shape.into[0]
    branch = source.terminator
    if not isinstance(branch, Branch) or branch.false is not edge:
        return False
    return isinstance(branch.cond, Op) and branch.cond.callee is o.ge and same(branch.cond.args[1], Const(1))


def _finals(shape: Shape, rounds: Operand, made: "_Arithmetic") -> tuple[dict[Value, Operand], dict[Value, Operand]]:
    """Compute the value of each variable of the loop in the last iteration, and where the loop is left."""
    new: dict[Value, Operand] = {}
    behind: dict[Value, Operand] = {}
    less = made.op(o.sub, rounds, Const(1))
    for param, arg, after in zip(shape.head.params, shape.into[0][1].args, shape.back.args, strict=True):
        if id(param) in shape.same:
            new[param] = behind[param] = arg
            continue
        assert isinstance(after, Op)
        grown = made.grown if id(after) in shape.places else made.summed
        variable: Any = shape.places[id(after)][0] if id(after) in shape.places else shape.sums[id(after)]
        new[param], new[after] = grown(variable, less), grown(variable, rounds)
        if variable is shape.tested and shape.callee is o.ne:
            # a loop with the test != stops exactly at the bound
            new[after if shape.first or shape.grown else param] = shape.bound
        behind[param] = new[after] if shape.first else new[param]
        behind[after] = new[after]
    return new, behind


class _Arithmetic:
    """Builds ops on exact ints: constants are folded, and ops without effect (``x + 0``, ``x * 1``) are left out."""

    def __init__(self) -> None:
        self.ops: list[Op] = []

    def op(self, callee: Any, a: Operand, b: Operand) -> Operand:
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(callee(a.value, b.value))
        if isinstance(b, Const) and ((b.value == 0 and callee in (o.add, o.sub)) or (b.value == 1 and callee in (o.mul, o.floordiv))):
            return a
        made = Op(callee, (a, b), (), INT)
        self.ops.append(made)
        return made

    def grown(self, linear: _Linear, rounds: Operand) -> Operand:
        """start + rounds * step."""
        return self.op(o.sub if linear.down else o.add, linear.start, self.op(o.mul, rounds, linear.step))

    def summed(self, total: _Sum, rounds: Operand) -> Operand:
        """start + the sum of the other variable over all iterations: rounds * its start, plus the triangular sum of its steps."""
        less = self.op(o.add if total.after else o.sub, rounds, Const(1))
        triangle = self.op(o.mul, self.op(o.floordiv, self.op(o.mul, rounds, less), Const(2)), total.of.step)
        flat = self.op(o.mul, rounds, total.of.start)
        return self.op(o.add, total.start, self.op(o.sub if total.of.down else o.add, flat, triangle))
