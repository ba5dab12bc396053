"""Item stores as values: ``a[i] = v`` becomes ``a2 = updated(a, i, v)``.

XLA has no memory that a program could write to.  A pass over the Function gives every array that is stored into a
version at each place; from then on it is SSA as everything else, and XLA makes the update in place.

Which array a store goes to has to be known.  Values that edges connect (an allocation, the parameters that it is passed
to, what these are passed to) are one *web*; a web is one variable if no two of its values are alive together, for then
there is only one array at a time.  Its values have to be made in the function by calls whose result shares memory with
nothing.  What may share memory with a value of the web (a view, a tuple with it) is *derived*; none may be alive behind a
store.  All else is refused, with the reason, and the function stays Python.
"""

import operator
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, cast

import numpy as np

from hovis.ir.model import Block, Branch, Edge, Effect, Function, Invoke, Jump, Location, Op, Operand, Param, Raise, Return, Value
from hovis.lattice import Array, Const, Type
from hovis_xla.regions import body_ops, live_in, needed, reachable, successors, terminator_operands
from hovis_xla.types import CARRIERS, NotLowerable


def updated(array: Any, index: Any, value: Any) -> Any:
    """The array after ``array[index] = value``."""
    fresh = array.copy()
    fresh[index] = value
    return fresh


def loaded(array: Any, index: Any) -> Any:
    """``array[index]`` of an array that is stored into."""
    return array[index]


_NAMES: Final = "add sub mul truediv floordiv mod pow matmul neg abs invert and_ or_ xor lshift rshift lt le eq ne gt ge"
_OPERATORS: Final = {getattr(operator, name) for name in _NAMES.split(" ")}

#: Calls whose result is an array of its own.
FRESH: Final = frozenset({
    np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.copy, np.ndarray.copy, np.ndarray.astype,
    np.arange, np.linspace, np.eye, np.identity, np.array, np.concatenate, np.stack, np.hstack, np.vstack, np.where, np.sort, np.cumsum, np.roll,
    np.repeat, np.tile, np.sum, np.mean, np.prod, np.dot, np.outer, np.clip, np.ndarray.flatten, np.pad, *_OPERATORS,
})  # fmt: skip


def _is_fresh(op: Op) -> bool:
    try:
        fresh = type(op.callee) is np.ufunc or op.callee in FRESH
        return fresh and not any(k in ("out", "copy") for k, _ in op.kwargs)
    except TypeError:
        return False


def _is_store(op: Op) -> bool:
    return op.callee is operator.setitem and len(op.args) == 3 and isinstance(getattr(op.args[0], "type", None), Array)


def _shares_nothing(op: Op) -> bool:
    """Is its result a number, or an array of its own?"""
    kind = op.type
    if isinstance(kind, Const):
        return True
    number = isinstance(kind, Type) and (kind.cls in CARRIERS or kind.cls is type(None) or issubclass(kind.cls, np.generic))
    return number or (isinstance(kind, Array) and _is_fresh(op))


def versions(function: Function) -> Function:
    """The function with stores as values; the very same, if it has none."""
    order = reachable(function)
    if not any(_is_store(op) for block in order for op in body_ops(block)):
        return function
    return _Pass(function, order).run()


class _Pass:
    def __init__(self, function: Function, order: list[Block]) -> None:
        self.function = function
        self.order = order
        self.used = needed(order)
        self.live = live_in(order, self.used)
        self.webs = _webs(order, function)
        self.derived = _derived(order, self.webs)
        self.before: dict[Block, list[Block]] = {b: [] for b in order}
        for block in order:
            for edge in successors(block):
                self.before[edge.block].append(block)

    def run(self) -> Function:
        for block in self.order:
            self._check(block)
        return _Writer(self).run()

    def web(self, value: object) -> int | None:
        return self.webs.get(value) if isinstance(value, Op | Param) else None

    def _check(self, block: Block) -> None:
        """No two values of one web are alive together; nothing derived is alive behind a store."""
        live: set[Value] = {v for e in successors(block) for v in (*(self.live[e.block] - set(e.block.params)), *e.args) if isinstance(v, Op | Param)}
        live |= {v for v in terminator_operands(block) if isinstance(v, Op | Param)}
        for op in reversed([op for op in body_ops(block) if op in self.used]):
            live.discard(op)
            mine = self.webs.get(op)
            if mine is not None and any(self.web(v) == mine for v in live):
                _refuse("two arrays of which either may be stored into", op.location)
            if _is_store(op):
                stored = self.web(op.args[0])
                if any(stored in self.derived.get(v, ()) for v in live):
                    _refuse("a store into an array of which a view (or a container with it) is used afterwards", op.location)
            live |= {v for v in op.operands() if isinstance(v, Op | Param)}
        arrived = [self.webs[v] for v in {*live, *block.params} if v in self.webs]
        if len(set(arrived)) < len(arrived):
            _refuse("two arrays of which either may be stored into", block.ops[0].location if block.ops else self.function.location)


def _refuse(what: str, location: Location | None) -> None:
    raise NotLowerable(what, location)


def _webs(order: list[Block], function: Function) -> dict[Value, int]:
    """The number of the web of each value that belongs to one that is stored into; refuses what is not made here."""
    parent: dict[Value, Value] = {}

    def root(v: Value) -> Value:
        while v in parent:
            v = parent[v]
        return v

    strange: dict[Value, str] = dict.fromkeys(function.params, "an argument")
    for block in order:
        for edge in successors(block):
            for param, arg in zip(edge.block.params, edge.args, strict=True):
                if not isinstance(arg, Op | Param):
                    strange[param] = "a constant" if not (isinstance(arg, Const) and arg.value is None) else "nothing"
                elif root(param) is not root(arg):
                    parent[root(param)] = root(arg)
    stores = [op for block in order for op in body_ops(block) if _is_store(op)]
    numbers: dict[Value, int] = {}
    for op in stores:
        if not isinstance(op.args[0], Op | Param):
            _refuse("a store into an array from outside the function", op.location)
        numbers.setdefault(root(cast(Value, op.args[0])), len(numbers))
    values: list[Value] = [p for block in order for p in block.params]
    values += [op for block in order for op in block.all_ops()]
    found = {v: numbers[root(v)] for v in values if root(v) in numbers}
    for op in stores:
        _admit(op, found, {root(v): why for v, why in strange.items()}.get(root(cast(Value, op.args[0]))))
    return found


def _admit(store: Op, webs: dict[Value, int], strange: str | None) -> None:
    """Is every array that the store may go to made in the function?"""
    if strange is not None:
        _refuse(f"a store into an array that is, or may be, {strange}", store.location)
    number = webs[cast(Value, store.args[0])]
    for value, web in webs.items():
        if web == number and isinstance(value, Op) and not (_is_fresh(value) and isinstance(value.type, Array)):
            _refuse("a store into a view, or into an array of unknown origin", store.location)


def _derived(order: list[Block], webs: dict[Value, int]) -> dict[Value, set[int]]:
    """For each value the webs with which it may share memory, or which it may hold."""
    found: dict[Value, set[int]] = {}

    def of(v: Operand) -> set[int]:
        if not isinstance(v, Op | Param):
            return set()
        return found.get(v, set()) | ({webs[v]} if v in webs else set())

    changed = True
    while changed:
        changed = False
        for block in order:
            pairs: list[tuple[Value, set[int]]] = [(op, set().union(*map(of, op.operands()))) for op in block.all_ops() if not _shares_nothing(op)]
            pairs += [(p, of(a)) for e in successors(block) for p, a in zip(e.block.params, e.args, strict=True) if p not in webs]
            for value, more in pairs:
                if not more <= found.get(value, set()):
                    found.setdefault(value, set()).update(more)
                    changed = True
    return found


class _Writer:
    """Makes the new Function: a parameter for a web at each block where it is alive and several blocks come from, and no others."""

    def __init__(self, plan: _Pass) -> None:
        self.plan = plan
        self.order = plan.order
        self.blocks = {b: Block() for b in self.order}
        self.values: dict[object, Operand] = {}
        self.starts: dict[tuple[Block, int], Operand] = {}
        self.ends: dict[tuple[Block, int], Operand] = {}
        self.joins: dict[Param, tuple[Block, int]] = {}

    def run(self) -> Function:
        plan = self.plan
        for block in self.order:
            self.blocks[block].params = tuple(self._plain(block))
        for block in self.order:
            self._block(block)
        self._simplify()
        for block in self.order:
            self._finish(block)
        f = plan.function
        return replace(f, blocks=[self.blocks[b] for b in self.order])

    def _plain(self, block: Block) -> Iterable[Param]:
        """The parameters that stay; those of webs are put in where they are needed."""
        return [p for p in block.params if p not in self.plan.webs]

    def _wanted(self, block: Block) -> set[int]:
        live = self.plan.live[block] | set(block.params)
        return {self.plan.webs[v] for v in live if v in self.plan.webs}

    def _block(self, block: Block) -> None:
        before = self.plan.before[block]
        current: dict[int, Operand] = {}
        for web in sorted(self._wanted(block)):
            if len(before) == 1 and (before[0], web) in self.ends:
                current[web] = self.ends[before[0], web]
            else:
                sample = next(v for v, w in self.plan.webs.items() if w == web)
                join = Param(sample.type, sample.dims, getattr(sample, "name", None))
                self.joins[join] = block, web
                current[web] = join
            self.starts[block, web] = current[web]
        new = self.blocks[block]
        for op in block.ops:
            new.ops.append(self._op(op, current))
        if isinstance(block.terminator, Invoke):
            self.values[block.terminator] = self._op(block.terminator.op, current)
        for web, version in current.items():
            self.ends[block, web] = version

    def _op(self, op: Op, current: dict[int, Operand]) -> Op:
        """The op on versions; a store is the next version."""
        made = replace(op, callee=self._operand(op.callee, current), args=tuple(self._operand(a, current) for a in op.args))
        made.kwargs = tuple((k, self._operand(v, current)) for k, v in op.kwargs)
        mine = self.plan.webs.get(op)
        if op.callee is operator.getitem and self.plan.web(op.args[0]) is not None:
            made.callee = loaded
        elif _is_store(op):
            web = cast(int, self.plan.web(op.args[0]))
            target = cast(Value, op.args[0])
            made = Op(updated, made.args, (), target.type, target.dims, Effect.PURE, op.location)
            current[web] = made
            self.values[op] = Const(None)
            return made
        if mine is not None:
            current[mine] = made
        self.values[op] = made
        return made

    def _operand(self, value: Any, current: dict[int, Operand]) -> Any:
        if not isinstance(value, Op | Param):
            return value
        web = self.plan.webs.get(value)
        if web is not None:
            return current.get(web, value)
        return self.values.get(value, value)

    def _simplify(self) -> None:
        """A join of one version is that version."""
        changed = True
        while changed:
            changed = False
            for join, (block, web) in list(self.joins.items()):
                come = {self._final(self.ends.get((b, web), join)) for b in self.plan.before[block]} - {join}
                if len(come) == 1:
                    self.values[join] = come.pop()
                    del self.joins[join]
                    changed = True

    def _final(self, value: Any) -> Any:
        while isinstance(value, Op | Param) and value in self.values and value not in self.joins:
            value = self.values[value]
        return value

    def _finish(self, block: Block) -> None:
        """Operands in their final form, and the terminator."""
        new = self.blocks[block]
        extra = [j for j, (b, _) in self.joins.items() if b is block]
        new.params = (*new.params, *extra)
        for op in new.ops:
            self._settle(op)
        match block.terminator:
            case Jump(edge=edge):
                new.terminator = Jump(self._edge(block, edge))
            case Branch(cond=cond, true=true, false=false):
                new.terminator = replace(block.terminator, cond=self._end(block, cond), true=self._edge(block, true), false=self._edge(block, false))
            case Invoke(ok=ok):
                op = cast(Op, self.values[block.terminator])
                self._settle(op)
                new.terminator = replace(block.terminator, op=op, ok=self._edge(block, ok))
            case Return(value=value):
                new.terminator = replace(block.terminator, value=self._end(block, value))
            case Raise():
                new.terminator = block.terminator

    def _settle(self, op: Op) -> None:
        op.callee = self._final(op.callee)
        op.args = tuple(map(self._final, op.args))
        op.kwargs = tuple((k, self._final(v)) for k, v in op.kwargs)

    def _end(self, block: Block, value: Operand) -> Operand:
        """What a value is at the end of a block."""
        web = self.plan.web(value)
        return cast(Operand, self._final(value if web is None else self.ends.get((block, web), value)))

    def _edge(self, block: Block, edge: Edge) -> Edge:
        target = edge.block
        args = [self._end(block, a) for p, a in zip(target.params, edge.args, strict=True) if p not in self.plan.webs]
        extra = [self._final(self.ends[block, web]) for j, (b, web) in self.joins.items() if b is target]
        return Edge(self.blocks[target], (*args, *extra))
