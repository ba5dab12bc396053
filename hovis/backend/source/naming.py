"""The choice of the values of a Function that are variables in its text, and of the variable for each.

A value that is used once is nested in the expression that uses it, if nothing in between could observe the difference.  The other
values are variables: the argument of an edge shares a variable with the target's param where their live ranges do not overlap, and
so do values that the user stored under one name.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from operator import getitem
from typing import Final

from hovis.backend.source.op_statements import IN_PLACE, evaluation_order, is_expression
from hovis.backend.source.polled_loops import kept_on_the_way_back
from hovis.ir.analysis.control_flow import uses
from hovis.ir.model import CAUGHT, Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Operand, Param, Raise, Return, Value, edges
from hovis.ir.naming import identifier
from hovis.ir.operations import drop, enter_handler, keep, leave_handler, unpack, unpack_star
from hovis.passes.rewriting import effect_of

#: Weight of the name of a block param in the choice of a variable's name; other values weigh 1.
_LIVES: Final = 10

#: Maximal number of calls and operators within one expression.
MAX_NESTED: Final = 10

_SILENT: Final = (enter_handler, leave_handler, keep)


class Variables:
    """Which ops are nested in which expressions, and the names of all other values."""

    def __init__(self, function: Function, reserved: Callable[[str], bool]) -> None:
        self.function = function
        self.uses = uses(function)
        #: ops that are nested in the expression that uses them
        self.nested: set[Op] = set()
        self._lasting: set[Op] = set()
        self._fixed: set[Op] = set()
        #: drops after which nothing reads the value
        self.last: set[Op] = set()
        #: drops that need no statement; ``unread``: the values that nothing but such drops uses
        self.unsaid: set[Op] = set()
        self.unread: set[Value] = set()
        #: by each drop right behind an op, that op: if its result takes over the variable, the store releases the dropped value
        self.behind: dict[Op, Op] = {}
        self._size: dict[Op, int] = {}
        for block in function.blocks:
            self._nest(block)
        self._live_in: dict[Block, set[Value]] = {}
        self._kept = kept_on_the_way_back(function)
        self.apart: dict[Value, set[Value]] = {}
        self._interference()
        self.leader: dict[Value, Value] = {}
        self.members: dict[Value, set[Value]] = {}
        self._share()
        self._unsaid()
        self.names: dict[Value, str] = {}
        self._name(reserved)

    # --------------------------------------------------------------------------------------------- nesting

    def _nest(self, block: Block) -> None:
        """Decide which ops of a block are nested in others; the order of all observable effects is kept."""
        pending: list[Op] = []
        own = set(block.ops)
        for op in block.all_ops():
            if op.callee in _SILENT:
                pending.clear()
                continue
            if op.callee is drop:
                self._fix(block, op)
            room = MAX_NESTED if is_expression(op) else MAX_NESTED + 2
            if not self._take(evaluation_order(op), pending, own, room) and effect_of(op) == Effect.PURE:
                continue
            self._lasting.add(op)
            if self.uses.get(op) == 1 and op in own and is_expression(op):
                pending.append(op)
            else:
                pending.clear()
        end = block.terminator
        if isinstance(end, Branch | Return | Raise):
            self._take([end.cond if isinstance(end, Branch) else end.value], pending, own, MAX_NESTED)
        for edge in edges(end):
            # moves happen on one edge only, and in any order: only the single move of a Jump may contain ops with effects
            alone = isinstance(end, Jump) and len(edge.args) == 1
            self._take(edge.args, pending if alone else [], own, MAX_NESTED)

    def _fix(self, block: Block, ending: Op) -> None:
        """Keep ops that read the value dropped by ending in front of the drop: these are not nested."""
        for op in block.ops:
            if op is ending:
                return
            if op not in self.nested and ending.args[0] in self.leaves_of(op):
                self._fixed.add(op)

    def _take(self, operands: Iterable[Operand], pending: list[Op], own: set[Op], room: int) -> bool:
        """Nest as many of operands as possible, given in the order of evaluation; return whether an op with an effect was nested.

        ``pending`` are the preceding ops with effects, in order, with no other effects between them and here: the last of them may move here.
        """
        candidates = [v for v in operands if isinstance(v, Op) and v in own and self.uses[v] == 1 and v not in self._fixed and _nests(v)]
        effects = [v for v in candidates if v in pending]
        count = len(effects)
        while count and effects[-count:] != pending[-count:]:
            count -= 1
        movable = effects[len(effects) - count :]
        nested: list[Op] = []
        size = 1
        for v in reversed(candidates):
            if v in self._lasting and v not in movable:
                continue
            size += self._sizes(v)
            if size > room:
                if v in self._lasting:
                    # ops with effects before it can't move here past it
                    movable = movable[movable.index(v) + 1 :]
                size -= self._sizes(v)
                continue
            nested.append(v)
        self.nested.update(nested)
        for v in effects:
            pending.remove(v)
        return any(v in self._lasting for v in nested)

    def _sizes(self, op: Op) -> int:
        found = self._size.get(op)
        if found is None:
            found = self._size[op] = 1 + sum(self._sizes(v) for v in op.operands() if isinstance(v, Op) and v in self.nested)
        return found

    def leaves(self, operand: Operand) -> Iterator[Value]:
        """Yield the variables that an operand's expression reads."""
        if isinstance(operand, Op) and operand in self.nested:
            for inner in operand.operands():
                yield from self.leaves(inner)
        elif isinstance(operand, Param | Op):
            yield operand

    def leaves_of(self, op: Op) -> set[Value]:
        """Return the variables that an op reads."""
        return {v for operand in op.operands() for v in self.leaves(operand)}

    def statements(self, block: Block) -> list[Op]:
        """Return the ops of a block that are statements of their own; pure ops that are not used are left out."""
        return [op for op in block.ops if op not in self.nested and op.callee not in _SILENT and (self.uses.get(op) or effect_of(op) != Effect.PURE)]

    # --------------------------------------------------------------------------------------------- live ranges

    def _interference(self) -> None:
        changed = True
        blocks = self.function.blocks
        self._live_in = {block: set() for block in blocks}
        while changed:
            changed = False
            for block in reversed(blocks):
                live = self._walk(block, note=False)
                if live != self._live_in[block]:
                    self._live_in[block] = live
                    changed = True
        self.last.clear()
        for block in blocks:
            self._walk(block, note=True)
        entry = blocks[0].params
        for param in entry:
            self._conflict(param, entry)

    def _walk(self, block: Block, note: bool) -> set[Value]:
        """Walk backward through a block; return the values that are live at its start, without its own params."""
        live = self._behind(block, note)
        statements = self.statements(block)
        for k, op in reversed(list(enumerate(statements))):
            after = statements[k + 1] if k + 1 < len(statements) else None
            ending = after if after in self.last and op.callee is not drop and op.callee not in IN_PLACE else None
            if ending is not None:
                self.behind[ending] = op
            self._define(op, live, note, ending)
        if note:
            kept = self._kept.get(block)
            for param in block.params:
                self._conflict(param, live | set(block.params))
                self._conflict(param, kept.apart.get(param, ()) if kept is not None else ())
        return live - set(block.params)

    def _define(self, op: Op, live: set[Value], note: bool, ending: Op | None) -> None:
        """Process the definition of op in the backward walk. ending: the drop that follows, of a value whose variable op may take over."""
        read = self.leaves_of(op)
        if op.callee is drop and live.isdisjoint(read):
            self.last.add(op)
        if note and self.uses.get(op):
            self._conflict(op, live if ending is None else live - self.leaves_of(ending))
            if op.callee in IN_PLACE:
                # the variable gets a copy of the first operand before the others are read
                self._conflict(op, {v for operand in op.args[1:] for v in self.leaves(operand)})
        live.discard(op)
        live |= read

    def _behind(self, block: Block, note: bool) -> set[Value]:
        """Return the values that are live after the last statement of a block."""
        end = block.terminator
        live: set[Value] = set()
        if isinstance(end, Invoke):
            live |= self._over(block, end.ok)
            if note and self.uses.get(end.op):
                self._conflict(end.op, live)
            live.discard(end.op)
            live |= self.leaves_of(end.op)
            landing = end.error.block
            live |= self._live_in[landing]
            # the arguments of the handler are assigned before the call
            given = {p: a for p, a in zip(landing.params, end.error.args, strict=True) if a is not CAUGHT}
            if note:
                for param, arg in given.items():
                    # the param is a copy of arg, they do not conflict
                    self._conflict(param, {v for v in live | given.keys() if v is not arg})
            live -= given.keys()
            return live | {v for a in end.error.args for v in self.leaves(a)}
        for edge in edges(end):
            live |= self._over(block, edge)
        if isinstance(end, Branch):
            live |= set(self.leaves(end.cond))
        elif isinstance(end, Return | Raise):
            live |= set(self.leaves(end.value))
        return live

    def _over(self, block: Block, edge: Edge) -> set[Value]:
        kept = self._kept.get(edge.block)
        more = kept.given if kept is not None and block in kept.blocks else set()
        return self._live_in[edge.block] | {v for a in edge.args for v in self.leaves(a)} | more

    def _conflict(self, value: Value, others: Iterable[Value]) -> None:
        mine = self.apart.setdefault(value, set())
        for other in others:
            if other is not value:
                mine.add(other)
                self.apart.setdefault(other, set()).add(value)

    # --------------------------------------------------------------------------------------------- sharing

    def _share(self) -> None:
        variables: list[Value] = [p for b in self.function.blocks for p in b.params]
        variables += [op for b in self.function.blocks for op in b.all_ops() if op not in self.nested and self.uses.get(op)]
        for value in variables:
            self.leader[value] = value
            self.members[value] = {value}
        pairs: list[tuple[Value, Value]] = []
        for block in self.function.blocks:
            for op in block.all_ops():
                if op.callee in IN_PLACE and isinstance(op.args[0], Param | Op):
                    pairs.append((op, op.args[0]))
            for edge in edges(block.terminator):
                pairs += [(p, a) for p, a in zip(edge.block.params, edge.args, strict=True) if isinstance(a, Param | Op)]
        pairs.sort(key=lambda pair: pair[0].name != pair[1].name)
        for a, b in pairs:
            self._join(a, b)
        named: dict[str, list[Value]] = {}
        for value in variables:
            name = value.name
            if name:
                for other in named.setdefault(name, []):
                    if self._join(other, value):
                        break
                named[name].append(value)

    def _find(self, value: Value) -> Value:
        while self.leader[value] is not value:
            self.leader[value] = value = self.leader[self.leader[value]]
        return value

    def _join(self, a: Value, b: Value) -> bool:
        """Let a and b share a variable, if none of their live ranges overlap; return whether they share one."""
        if a not in self.leader or b not in self.leader:
            return False
        one, other = self._find(a), self._find(b)
        if one is other:
            return True
        if not self.apart.get(one, set()).isdisjoint(self.members[other]):
            return False
        self.leader[other] = one
        self.members[one] |= self.members[other]
        self.apart.setdefault(one, set()).update(self.apart.get(other, ()))
        for value in self.apart.get(other, ()):
            self.apart[value].add(one)
        return True

    # --------------------------------------------------------------------------------------------- names

    def _name(self, reserved: Callable[[str], bool]) -> None:
        taken: set[str] = set()
        for k, param in enumerate(self.function.blocks[0].params):
            self.names[self._find(param)] = _free(param.name or f"p{k}", taken, reserved)
        for value in self.leader:
            leader = self._find(value)
            if leader not in self.names:
                self.names[leader] = _free(_best(self.members[leader]), taken, reserved)

    def name(self, value: Value) -> str:
        return self.names[self._find(value)]

    def same(self, a: Value, b: Operand) -> bool:
        """Do a and b share a variable?"""
        return isinstance(b, Param | Op) and b in self.leader and self._find(a) is self._find(b)

    def _unsaid(self) -> None:
        """Find the drops that need no statement: a store into the variable, or the end of the function, has the same effect."""
        silent: dict[Value, int] = {}
        for block in self.function.blocks:
            statements = self.statements(block)
            for before, op in zip([None, *statements], statements, strict=False):
                if op not in self.last or not isinstance(ended := op.args[0], Param | Op):
                    continue
                stored = self.behind.get(op)
                over = stored is not None and stored in self.leader and self.same(stored, ended)
                alone = op is statements[-1] and (before is None or before.callee is not drop)
                if over or (alone and _at_once(block.terminator, self.nested)):
                    self.unsaid.add(op)
                    silent[ended] = silent.get(ended, 0) + 1
        self.unread = {value for value, count in silent.items() if count == self.uses[value]}

    def of(self, value: Value) -> bool:
        """Does value have a variable?"""
        return value in self.leader


def _nests(op: Op) -> bool:
    """May op be nested in an expression? An unpacked item may not: it has the user's name."""
    unpacked = op.callee is getitem and isinstance(op.args[0], Op) and op.args[0].callee in (unpack, unpack_star)
    return is_expression(op) and not unpacked


def _best(members: Iterable[Value]) -> str:
    """Return the name that most of a variable's values have; block params count for more, "error" for least."""
    counts = Counter[str]()
    for value in members:
        if value.name:
            counts[value.name] += _LIVES if isinstance(value, Param) else 1
    return min(counts, key=lambda name: (name == "error", -counts[name], name), default="")


def _free(wanted: str, taken: set[str], reserved: Callable[[str], bool]) -> str:
    """Return a name that is not taken, the wanted one or that with a number, and add it to taken."""
    wanted = identifier(wanted) if wanted else ""
    numbered = (f"{wanted}_{k}" if wanted else f"t{k}" for k in itertools.count(1 if not wanted else 2))
    for name in itertools.chain([wanted] if wanted else [], numbered):
        if name not in taken and not reserved(name):
            taken.add(name)
            return name
    raise AssertionError("numbers have no end")


def _at_once(end: object, nested: set[Op]) -> bool:
    """Does the function end here by returning a value that exists already?"""
    return isinstance(end, Return) and not (isinstance(end.value, Op) and end.value in nested)
