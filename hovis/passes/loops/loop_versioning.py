"""Version loops that count in a list of unknown items: a guarded closed form, and the loop itself.

    while t[0] != 0:            if len(t) > 2 and type(t[0]) is int and type(t[2]) is int and t[0] > 0:
        t[0] -= 1           →       t[0], t[2] = 0, t[2] + t[0]
        t[2] += 1               else:
                                    the loop

If a loop would have a closed form provided that the items which it reads from a list are exact ints, guards in front of the loop
check that; in any other case (a bool, a float, a list that is too short, a count that never reaches its bound) the loop itself
runs unchanged.
"""

import operator as o
from types import BuiltinFunctionType
from typing import Any, Final, NamedTuple

from hovis.ir import operations as ops
from hovis.ir.analysis.control_flow import Incoming, predecessors
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Jump, Op, Operand, Param, Value
from hovis.lattice import ANY, AbstractValue, Const, Type
from hovis.lattice import Any as AnyType
from hovis.passes.loops.loop_idioms import BOOL, INT, NONE, Shape, carried, closed, straight_loops
from hovis.passes.rewriting import Pass, drop_unreached
from hovis.passes.scalar.instcombine import is_exact

_SUMS: Final[dict[Any, int]] = {o.add: 1, o.iadd: 1, o.sub: -1, o.isub: -1}
_COMPARISONS: Final = frozenset({o.lt, o.le, o.gt, o.ge, o.eq, o.ne})
#: Most cells of a list for which a loop is versioned; more are not worth the guards.
MAX_CELLS: Final = 16


def _loop_versioning(function: Function) -> bool:
    """Version counting loops over lists for ints.

    If the items of the list can be anything, guards select between the closed form for ints and the loop itself.
    """
    changed = False
    incoming = predecessors(function)
    for head, body in straight_loops(function):
        if _versioned(function, head, body, incoming):
            changed, incoming = True, predecessors(function)
    if changed:
        drop_unreached(function)
    return changed


loop_versioning = Pass(_loop_versioning)


class _Unfit(Exception):
    """Raised where the loop cannot have a closed form."""


class _Sum(NamedTuple):
    """An exact int: an operand of the typed loop (None: none) plus a number."""

    base: Operand | None
    more: int


class _Typed:
    """A second version of the loop, for a list of exact ints: its parameters are the loop's variables and the values in the cells of the list.

    door   the block in front of both versions: its parameters are those of the loop
    stay   the parameters that are assumed to be loop-invariant
    fixed  the cells that are assumed to be loop-invariant
    """

    def __init__(self, head: Block, body: Block, door: Block, stay: frozenset[Param], fixed: frozenset[int]) -> None:
        self.head, self.body, self.stay, self.fixed = head, body, stay, fixed
        inside: list[Value] = [*head.params, *head.ops, *body.ops]
        self.inside = set(inside)
        self.outer = dict(zip(head.params, door.params, strict=True))
        self.list: Operand | None = None
        #: the operands that guards have to prove to be exact ints -> the parameter that stands for each behind the guards
        self.asked: dict[Operand, Param] = {}
        self.variables = {param: Param(INT, None, param.name) for param in head.params if param not in stay}
        #: the operand that the indexes of all cells have in common (None: none); a cell is identified by the constant that is added to it
        self.base: Operand | None = None
        self.touched: set[int] = set()
        #: for each cell the parameter that stands for its initial value; below, its current value
        self.cells: dict[int, Param] = {}
        self.memory: dict[int, _Sum] = {}
        self.stored: dict[int, Op] = {}
        self.values: dict[Operand, _Sum | Op] = {param: _Sum(typed, 0) for param, typed in self.variables.items()}
        self.new_head, self.new_body = Block(), Block()
        if body is head:
            self.new_body = self.new_head
        self._walk()

    def _walk(self) -> None:
        """Translate the ops and the test, and record the values of the variables after one iteration."""
        branch = self.head.terminator
        assert isinstance(branch, Branch)
        self._begin(self.new_head)
        for op in self.head.ops:
            self._op(op)
        if self.new_body is not self.new_head:
            if self.stored:
                raise _Unfit  # a store in the header is executed once more when the loop is left
            cond = self._truth(branch.cond)
            self._begin(self.new_body)
            for op in self.body.ops:
                self._op(op)
        else:
            cond = self._truth(branch.cond)
        if not self.touched:
            raise _Unfit  # a loop without cells is left to ``loop_idioms``
        self.after = [self.operand(self.sum(arg)) for param, arg in self.back() if param not in self.stay]
        self.after += [self.operand(self.memory[at]) for at in self.moved()]
        self.kept = {at: self.operand(self.memory[at]) for at in self.stored if not self.is_same(at)}
        self.cond = cond

    def is_same(self, at: int) -> bool:
        """Does this cell hold after an iteration what it held before?"""
        return at in self.cells and self.memory[at] == _Sum(self.cells[at], 0)

    def moved(self) -> list[int]:
        """Return the cells that are variables of the loop."""
        return [at for at in self.cells if at not in self.fixed]

    def _begin(self, block: Block) -> None:
        self.ops = block.ops
        self.made: dict[_Sum, Operand] = {}

    def back(self) -> list[tuple[Param, Operand]]:
        """Return the parameters of the header, each with its argument for the next iteration."""
        end = self.body.terminator
        if isinstance(end, Jump):
            edge = end.edge
        else:
            assert isinstance(end, Branch)
            edge = end.true if end.true.block is self.head else end.false
        return list(zip(self.head.params, edge.args, strict=True))

    def moving(self) -> frozenset[Param]:
        """Collect the parameters that were assumed to be loop-invariant, and are not."""
        return frozenset(param for param, arg in self.back() if param in self.stay and arg is not param and not self._unmoved(param, arg))

    def _unmoved(self, param: Param, arg: Operand) -> bool:
        found = self.values.get(arg)
        return isinstance(found, _Sum) and found == self.values.get(self.outer[param])

    def first(self, param: Param) -> Operand:
        """Return the initial value of a parameter that changes."""
        outer = self.outer[param]
        return outer if is_exact(outer, int) else self._ask(outer)

    def left(self, operand: Operand) -> Operand:
        """Translate an operand that is passed to the exit block."""
        operand = self._outside(operand)
        if operand not in self.inside:
            return operand
        value = self.sum(operand)
        if self.new_body is not self.new_head and value.base is not None and value.more:
            raise _Unfit
        return self.operand(value)

    # --------------------------------------------------------------------------------------------- values

    def sum(self, operand: Operand) -> _Sum:
        """Return operand as an exact int, with a guard for that in front of the loop if need be; raise _Unfit if it can't be one."""
        if isinstance(operand, Const):
            if type(operand.value) is not int:
                raise _Unfit
            return _Sum(None, operand.value)
        operand = self._outside(operand)
        found = self.values.get(operand)
        if found is None:
            if operand in self.inside or not isinstance(operand, Param | Op):
                raise _Unfit
            found = self.values[operand] = _Sum(operand if is_exact(operand, int) else self._ask(operand), 0)
        if isinstance(found, Op):
            raise _Unfit
        return found

    def _outside(self, operand: Operand) -> Operand:
        """Return the name in front of the loop for a parameter that stays; any other operand is returned unchanged."""
        return self.outer[operand] if isinstance(operand, Param) and operand in self.stay else operand

    def _ask(self, operand: Operand) -> Param:
        if not isinstance(operand.type, AnyType):  # type: ignore[union-attr]
            raise _Unfit
        return self.asked.setdefault(operand, Param(INT))

    def operand(self, value: _Sum) -> Operand:
        """Return the operand of the typed loop that has this value; emit an op for it if need be."""
        if value.base is None:
            return Const(value.more)
        if not value.more:
            return value.base
        if value not in self.made:
            down = value.more < 0
            self.made[value] = self._emit(o.sub if down else o.add, value.base, Const(abs(value.more)))
        return self.made[value]

    def _emit(self, callee: Any, a: Operand, b: Operand, kind: Type = INT) -> Op:
        made = Op(callee, (a, b), (), kind)
        self.ops.append(made)
        return made

    def _truth(self, cond: Operand) -> Op:
        found = self.values.get(cond)
        if isinstance(found, _Sum):
            return self._emit(o.ne, self.operand(found), Const(0), BOOL)
        if found is None:
            raise _Unfit
        return found

    # --------------------------------------------------------------------------------------------- ops

    def _op(self, op: Op) -> None:
        callee: Any = op.callee
        if op.kwargs or op.dims:
            raise _Unfit
        if callee is o.getitem or callee is o.setitem:
            self._access(op)
        elif isinstance(callee, BuiltinFunctionType) and callee in _COMPARISONS:
            a, b = map(self.sum, op.args)
            self.values[op] = self._emit(callee, self.operand(a), self.operand(b), BOOL)
        elif isinstance(callee, BuiltinFunctionType) and callee in _SUMS:
            a, b = map(self.sum, op.args)
            self.values[op] = self._added(a, b, _SUMS[callee])
        elif callee is bool or callee is o.truth:
            self.values[op] = self._truth(op.args[0])
        elif callee is not ops.drop:
            raise _Unfit

    def _added(self, a: _Sum, b: _Sum, sign: int) -> _Sum:
        if b.base is None:
            return _Sum(a.base, a.more + sign * b.more)
        if a.base is None and sign > 0:
            return _Sum(b.base, a.more + b.more)
        return _Sum(self._emit(o.add if sign > 0 else o.sub, self.operand(a), self.operand(b)), 0)

    def _access(self, op: Op) -> None:
        at = self._cell(op)
        # an overwritten item may be an object whose finalization is observable: a cell that is only stored into has to hold an int, too
        self.touched.add(at)
        if op.callee is o.getitem:
            if at not in self.memory:
                self.cells[at] = Param(INT)
                self.memory[at] = _Sum(self.cells[at], 0)
            self.values[op] = self.memory[at]
        else:
            self.memory[at] = self.sum(op.args[2])
            self.stored[at] = op

    def _cell(self, op: Op) -> int:
        """Return the number by which the cell that op accesses is known: the constant part of its index."""
        container = self._outside(op.args[0])
        if container in self.inside or not isinstance(container, Param | Op) or not _may_be_list(container):
            raise _Unfit
        at = self.sum(op.args[1])
        if at.base is None:
            fits = at.more >= 0
        else:
            fits = at.base not in self.inside and is_exact(at.base, int) and at.base in self.values
        if self.list is None:
            self.list, self.base = container, at.base
        if not fits or container is not self.list or at.base is not self.base or len(self.touched) >= MAX_CELLS:
            raise _Unfit
        return at.more


def _may_be_list(container: Param | Op) -> bool:
    return isinstance(container.type, AnyType) or is_exact(container, list)


def _versioned(function: Function, head: Block, body: Block, incoming: Incoming) -> bool:
    """Put the guards, and behind them the closed form, in front of a loop; return whether that was possible."""
    values: list[Value] = [*head.params, *head.ops, *body.ops]
    if any(value.dims for value in values):
        return False
    old = Shape(head, body, incoming)
    if old.ok:
        return False  # ``loop_idioms`` handles this loop
    door = Block(tuple(Param(param.type, param.dims, param.name) for param in head.params))
    stay, fixed = frozenset(head.params), frozenset[int]()
    try:
        typed = _Typed(head, body, door, stay, fixed)
        while (moving := typed.moving()) or (fixed := frozenset(filter(typed.is_same, typed.cells))) != typed.fixed:
            stay -= moving
            typed = _Typed(head, body, door, stay, fixed)
    except _Unfit:
        return False
    return _join(function, typed, door, old, incoming[head])


def _join(function: Function, typed: _Typed, door: Block, old: Shape, into: list[tuple[Block, Edge]]) -> bool:
    """Link the guards and the closed form in front of the loop, if the typed loop has one; return whether it has."""
    try:
        front = _Front(typed, door)
    except _Unfit:
        return False
    if not _linked(typed, front, ()).ok or not carried(function, old):
        return False
    try:
        left = tuple(map(typed.left, old.exit.args))
    except _Unfit:
        return False
    shape = _linked(typed, front, left)
    if not shape.ok:
        return False
    for source, edge in into:
        if source is not typed.body:
            edge.block = door
    function.blocks += [*front.blocks, shape.head, *([shape.body] if shape.first else [])]
    return closed(function, shape, Edge(typed.head, door.params))


class _Front:
    """The guards in front of the loop: is the container a list that is long enough, and is everything that the loop reads from it an exact int?"""

    def __init__(self, typed: _Typed, door: Block) -> None:
        self.otherwise = Edge(typed.head, door.params)
        self.at = door
        self.blocks = [door]
        assert typed.list is not None
        #: the initial values of the variables of the typed loop, and (below) the index of each cell
        self.starts = [typed.first(param) for param in typed.variables]
        self.indexes: dict[int, Operand] = {}
        if not is_exact(typed.list, list):
            self._ask_class(typed.list, list)
        for more in sorted(typed.touched):
            self.indexes[more] = self._index(typed.base, more)
        if typed.base is not None:
            self._ask(o.ge, self.indexes[min(typed.touched)], Const(0))
        self._ask(o.lt, self.indexes[max(typed.touched)], self._op(len, (typed.list,), INT, Effect.READS))
        for operand in typed.asked:
            self._ask_class(operand, int)
        items = {more: self._op(o.getitem, (typed.list, index), ANY, Effect.READS) for more, index in self.indexes.items()}
        for item in items.values():
            self._ask_class(item, int)
        held = {more: param if more in typed.fixed else Param(INT) for more, param in typed.cells.items()}
        self.entry = Block((*typed.asked.values(), *held.values()))
        self.starts += [held[more] for more in typed.moved()]
        self.at.terminator = Jump(Edge(self.entry, (*typed.asked, *(items[more] for more in held))))
        self.blocks.append(self.entry)

    def _op(self, callee: Any, args: tuple[Operand, ...], kind: AbstractValue, effect: Effect = Effect.PURE) -> Op:
        made = Op(callee, args, (), kind, None, effect)
        self.at.ops.append(made)
        return made

    def _index(self, base: Operand | None, more: int) -> Operand:
        if base is None:
            return Const(more)
        return self._op(o.add, (base, Const(more)), INT) if more else base

    def _ask_class(self, value: Operand, cls: type) -> None:
        self._ask(o.is_, self._op(type, (value,), Type(type)), Const(cls))

    def _ask(self, callee: Any, a: Operand, b: Operand) -> None:
        holds, rest = self._op(callee, (a, b), BOOL), Block()
        self.at.terminator = Branch(holds, Edge(rest), Edge(self.otherwise.block, self.otherwise.args))
        self.blocks.append(rest)
        self.at = rest


def _linked(typed: _Typed, front: _Front, left: tuple[Operand, ...]) -> Shape:
    """Build the typed loop behind front, and return its Shape; left holds the arguments of its exit edge."""
    old: Any = typed.head.terminator
    round_again = old.true.block is typed.body
    head = Block((*typed.variables.values(), *(typed.cells[more] for more in typed.moved())))
    body = head if typed.new_body is typed.new_head else Block()
    back, way_in, way_out = Edge(head, tuple(typed.after)), Edge(head, tuple(front.starts)), Edge((old.false if round_again else old.true).block, left)
    inner = back if body is head else Edge(body)
    head.terminator = Branch(typed.cond, inner, way_out) if round_again else Branch(typed.cond, way_out, inner)
    if body is not head:
        body.terminator = Jump(back)
    front.entry.terminator = Jump(way_in)
    used = {id(v) for v in (typed.cond, *typed.after, *typed.kept.values(), *left)}
    for new, typed_ops in ((body, typed.new_body.ops), (head, typed.new_head.ops)):
        if not new.ops:
            for op in reversed(typed_ops):
                if id(op) in used:
                    used.update(map(id, op.args))
                    new.ops.insert(0, op)
    for more, value in typed.kept.items():
        body.ops.append(Op(o.setitem, (typed.list, front.indexes[more], value), (), NONE, None, Effect.WRITES, typed.stored[more].location))  # type: ignore[arg-type]
    return Shape(head, body, {body: [(head, inner)], head: [(front.entry, way_in), (body, back)]})
