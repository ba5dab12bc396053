"""Instruction selection: the instructions for each op, and the values that never leave the stack.

An op whose only use is an operand of a later op of the same block, with nothing left between, is computed in place;
nothing changes its order.  Stack code still names values, not locals.
"""

from collections.abc import Callable
from operator import getitem
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType
from typing import Any, Final

from hovis.backend.assembler.encode import OP, POP_TOP, PRECALL, STRICT_BOOL
from hovis.backend.assembler.liveness import Flow, may_finalize
from hovis.backend.assembler.selection import control_rules as _rows  # noqa: F401  # imported for its side effect: it registers the rules
from hovis.backend.assembler.selection import inline_guards
from hovis.backend.assembler.selection.constant_pool import Pool
from hovis.backend.assembler.selection.operator_rules import ATTRIBUTE, IS, IS_NOT, NOT, TRUTH, UNPACK, spread
from hovis.backend.assembler.selection.selection_rules import CHOSEN, FIXED, Rule, constant_of, is_bool, is_constant
from hovis.backend.assembler.selection.stack_code import COVER, DO, DROP, GUARD, KEEP, LOAD, MOVE, STORE, UNGUARD, Item, StackCode, Writer
from hovis.backend.assembler.selection.variable_rules import ALIASES
from hovis.backend.tracebacks import Trim, Untrim, outline
from hovis.ir import operations as ops
from hovis.ir.model import Block, Branch, Function, Invoke, Jump, Op, Operand, Param, Raise, Return
from hovis.lattice import Const, Type

#: Maximal height of a tree of calls on the stack, because the assembler itself recurses.
_HIGHEST: Final = 60

#: Classes of callees that are called directly: no classes, no objects with a ``__call__``.
_FUNCTIONS: Final = (FunctionType, BuiltinFunctionType, MethodDescriptorType, Function)


class Linear(StackCode):
    """Selects the stack code of a Function, block by block."""

    def __init__(
        self, flow: Flow, pool: Pool, namespace: dict[str, Any], watched: Callable[[Op], bool], trimmed: Callable[[Op, Operand], int | None]
    ) -> None:
        super().__init__(flow, pool, namespace, watched, trimmed)
        self.rules: dict[Op, Rule | None] = {}
        #: how a Branch jumps to its true edge (``POP_JUMP_IF_…``, or FOR_ITER and LOOK to its false one); None: the condition is known
        self.tests: dict[Block, str | None] = {}
        #: the blocks that end with a look at the environment whose tests are emitted inline
        self.looks: dict[Block, inline_guards.Look] = {}
        #: for each block that leaves the function, the index of the item with which its last statement begins
        self.tails: dict[Block, int] = {}
        #: the index of the item with which the arguments of a closing Jump begin
        self.arguments: dict[Block, int] = {}
        self._spread: set[Op] = set()

    # --------------------------------------------------------------------------------------------- trees

    def rule(self, op: Op) -> Rule | None:
        """Return the rule for op, or None if its callee has no rule that applies."""
        try:
            return self.rules[op]
        except KeyError:
            pass
        found = None
        if not op.kwargs:
            found = FIXED.get((id(op.callee), len(op.args)))
            if found is None:
                choose = CHOSEN.get(id(op.callee))
                if choose is not None:
                    found = choose(self, op)
        self.rules[op] = found
        return found

    def pushed(self, op: Op) -> list[Operand]:
        """Return the operands of op in the order in which they are pushed."""
        if op.callee is ops.keep:
            return []
        rule = self.rule(op)
        if rule is None:
            return list(op.operands())
        return list(op.args) if rule.order is None else [op.args[k] for k in rule.order]

    def find_trees(self, block: Block) -> None:
        """Find the ops whose results stay on the stack, going backward: an operand that is the op right before, and has no other use."""
        todo = block.ops
        uses, inline = self.flow.uses, self.inline
        at = len(todo) - 1
        # no covered call is computed among the arguments of a jump: some are already in the params' locals
        apart = self.flow.covered if isinstance(block.terminator, Jump) else ()

        def visit(operands: list[Operand], height: int) -> None:
            nonlocal at
            for value in reversed(operands):
                if at >= 0 and value is todo[at] and uses[value] == 1 and height < _HIGHEST and value not in apart and self._stackable(todo[at]):
                    inline.add(value)
                    at -= 1
                    visit(self.pushed(todo[at + 1]), height + 1)

        visit(self._last_operands(block), 0)
        apart = ()
        while at >= 0:
            at -= 1
            visit(self.pushed(todo[at + 1]), 0)

    def _last_operands(self, block: Block) -> list[Operand]:
        terminator = block.terminator
        if isinstance(terminator, Return | Raise):
            return [terminator.value]
        if isinstance(terminator, Branch):
            return [terminator.cond]
        if isinstance(terminator, Jump):
            return [value for _, value in self.flow.moves(terminator.edge)]
        return self.pushed(terminator.op)

    def _stackable(self, op: Op) -> bool:
        rule = self.rule(op)
        return (rule is None or rule.result) and op not in self._spread

    def _find_spread(self, block: Block) -> None:
        """Find unpackings that are followed by a read of each item: these need no tuple."""
        todo = block.ops
        for k, op in enumerate(todo):
            if self.rule(op) is UNPACK:
                count = unpacked_count(op)
                items = todo[k + 1 : k + 1 + count]
                if self.flow.uses.get(op) == count == len(items) and all(_is_item(item, op, n) for n, item in enumerate(items)):
                    self._spread.add(op)
                    self._spread.update(items)

    # --------------------------------------------------------------------------------------------- code

    def block(self, block: Block) -> list[Item]:
        """Return the block's stack code, including the pushes of its terminator's operands."""
        items = self.items = []
        self._at = None
        self._find_spread(block)
        self.find_trees(block)
        step = self._step(block)
        start = 0
        for op in block.ops:
            if op in self.inline or op is step:
                continue
            if op.callee is ops.drop:
                self._drop(op)
                continue
            if op.callee is ops.keep:
                items.append((KEEP, op.args[0]))
                continue
            start = len(items)
            if op in self._spread:
                self._unpack(op)
            else:
                self.op(op)
                self.finish(op)
        terminator = block.terminator
        if isinstance(terminator, Return) and not (block.ops and block.ops[-1].callee is ops.resume):  # what is resumed holds the values from then on
            # a Return releases the frame at once; with a Raise it lives as long as the traceback, which a local with the exception would keep alive
            kinds = [item[0] for item in items[start:]]
            ends = {item[1] for item in items[start:] if item[0] in (LOAD, DROP) and may_finalize(item[1].type)} if DROP in kinds else set()
            if len(ends) < 2:  # else the values are released in the user's order
                self.tails[block] = len(items) if terminator.value in self.inline or GUARD in kinds else start
        self._terminator(block, step)
        return items

    def finish(self, op: Op) -> None:
        """Store the result in its local if it is used, else pop it."""
        used = self.flow.uses.get(op)
        rule = self.rules[op]
        if rule is not None and not rule.result:
            if not used:
                return
            self.constant(None)
        self.items.append((STORE, op) if used else (DO, POP_TOP, 0, -1))

    def _drop(self, op: Op) -> None:
        value = op.args[0]
        if value in self.inline:
            self.push(value)
            self.do(POP_TOP, 0, -1)
        elif not isinstance(value, Const):
            self.items.append((DROP, value))

    def _unpack(self, op: Op) -> None:
        """Unpack without making the tuple; each item is stored as it is popped from the stack."""
        if self.rules[op] is UNPACK:
            self.push(op.args[0])
            self.at(op.location)
            self.guard(op)
            spread(self, op)
            self.unguard(op)
        else:
            self.items.append((STORE, op) if self.flow.uses.get(op) else (DO, POP_TOP, 0, -1))

    def _terminator(self, block: Block, step: Op | None) -> None:
        terminator = block.terminator
        if isinstance(terminator, Invoke) and terminator.op.callee is ops.poll:
            self.at(terminator.op.location)
            return
        if isinstance(terminator, Invoke):
            self.op(terminator.op, cover=True)
            rule = self.rules[terminator.op]
            if rule is not None and not rule.result:
                self.constant(None)
            return
        if isinstance(terminator, Return | Raise):
            self.push(terminator.value)
            if isinstance(terminator, Raise) and terminator.again and self.trims:
                around = outline(terminator.location)[:-1]
                if around:
                    self.tell(Untrim(around))
        elif isinstance(terminator, Jump):
            self.arguments[block] = len(self.items)
            for param, value in self.flow.moves(terminator.edge):
                if value in self.inline:
                    self.push(value)
                else:
                    self.items.append((MOVE, value, param))
        elif step is not None:
            self.push(step.args[0])
            self.at(step.location)
            self.guard(step)
            self.tests[block] = "FOR_ITER"
            return
        else:
            self._condition(block, terminator.cond)
        self.at(terminator.location)

    def _condition(self, block: Block, cond: Operand) -> None:
        """Push the value that the jump tests; a test for None, a negation and a truth test become part of the jump."""
        if isinstance(cond, Const):
            self.tests[block] = None
            return
        look = inline_guards.write(self, cond)
        if look is not None:
            self.looks[block], self.tests[block] = look, "LOOK"
            return
        sense, exact = True, True
        covered: Op | None = None
        while isinstance(cond, Op) and cond in self.inline:
            rule = self.rules[cond]
            if (rule is IS or rule is IS_NOT) and is_constant(cond.args[1], None):
                self.push(cond.args[0])
                self.tests[block] = "NONE" if (rule is IS) == sense else "NOT_NONE"
                return
            if (rule is not NOT and rule is not TRUTH) or (covered is not None and cond in self.flow.covered):
                break
            if cond in self.flow.covered:
                covered = cond
            sense ^= rule is NOT
            exact = False
            cond = cond.args[0]
        self.push(cond)
        if covered is not None:
            self.at(covered.location)
            self.guard(covered)
        if STRICT_BOOL and not exact and not is_bool(cond):
            self.do(OP["TO_BOOL"], 0, 0)
        self.tests[block] = "TRUE" if sense else "FALSE"

    def _step(self, block: Block) -> Op | None:
        """Find the op ``item = next(iterator, END)`` of a block that ends with ``if item is not END``, which becomes a FOR_ITER; None if there
        is none.
        """
        branch = block.terminator
        if not isinstance(branch, Branch) or len(block.ops) < 2:
            return None
        item, test = block.ops[-2:]
        if branch.cond is not test or test not in self.inline or item.callee is not next or len(item.args) != 2 or item in self.inline:
            return None
        rule = self.rules[test]
        if (rule is not IS and rule is not IS_NOT) or test.args[0] is not item or not is_constant(test.args[1], ops.END):
            return None
        if not is_constant(item.args[1], ops.END) or not _is_iterator(item.args[0]):
            return None
        return None if item in self.flow.live_on(branch.true if rule is IS else branch.false) else item

    def more_edge(self, branch: Branch) -> bool:
        """Is the true edge of a FOR_ITER branch the one with an item?"""
        assert isinstance(branch.cond, Op)
        return self.rules[branch.cond] is IS_NOT

    # --------------------------------------------------------------------------------------------- calls

    def op(self, op: Op, cover: bool = False) -> None:
        """Emit the instructions of an op; with cover, an exception out of its last ones goes to the error edge."""
        rule = self.rule(op)
        if rule is None:
            self._load_call(op)
        elif rule.load is not None:
            rule.load(self, op)
        else:
            for value in op.args if rule.order is None else [op.args[k] for k in rule.order]:
                self.push(value)
        self.at(op.location)
        if cover:
            self.items.append((COVER,))
        else:
            self.guard(op)
        if rule is None:
            self.call(len(op.args) + len(op.kwargs) - self._as_method(op), tuple(name for name, _ in op.kwargs))
        else:
            rule.emit(self, op)
        if not cover:
            self.unguard(op)

    def guard(self, op: Op) -> None:
        """Mark that an exception out of the following instructions goes to the error edge of op, if op is covered."""
        if op in self.flow.covered:
            self.items.append((GUARD, op))

    def unguard(self, op: Op) -> None:
        if op in self.flow.covered:
            self.items.append((UNGUARD, op))

    def _load_call(self, op: Op) -> None:
        callee = op.callee
        if isinstance(callee, Op) and callee in self.inline and self.rules[callee] is ATTRIBUTE:
            self._method(callee)
        elif self._as_method(op):
            self.constant(callee)
        else:
            self.callee(ALIASES.get(id(callee), callee))
        for value in op.args:
            self.push(value)
            if callee is ops.resume and (trimmed := self.trimmed(op, value)) is not None:
                self.macro(_repair)
                if trimmed:
                    self.tell(Trim(trimmed))
        for _, value in op.kwargs:
            self.push(value)

    def _as_method(self, op: Op) -> bool:
        """Is op called as a method of its first argument? That saves the NULL, and ``list.append`` has an instruction of its own in this form.

        Not for a class: CPython specializes ``type(x)`` and ``str(x)`` only with a NULL.
        """
        return bool(op.args) and isinstance(op.callee, _FUNCTIONS) and id(op.callee) not in ALIASES

    def _method(self, op: Op) -> None:
        """Push ``x.name`` for an immediate call: the pair (method, x), or (NULL, attribute)."""
        self.push(op.args[0])
        self.at(op.location)
        self.guard(op)
        at = self.pool.name(constant_of(op.args[1]))
        if PRECALL is not None:
            self.do(OP["LOAD_METHOD"], at, 1)
        else:
            self.do(OP["LOAD_ATTR"], at << 1 | 1, 1)
        self.unguard(op)


def _repair(writer: Writer) -> None:
    writer.mend()


def unpacked_count(op: Op) -> int:
    """Return the number of items of an unpacking."""
    counts: list[int] = list(map(constant_of, op.args[1:]))
    return counts[0] if op.callee is ops.unpack else sum(counts) + 1


def _is_item(item: Op, whole: Op, at: int) -> bool:
    return item.callee is getitem and item.args[0] is whole and isinstance(item.args[1], Const) and type(item.args[1].value) is int and item.args[1].value == at


def _is_iterator(value: Operand) -> bool:
    """Is value certainly an iterator, which FOR_ITER may advance without a check?"""
    if isinstance(value, Op) and value.callee is iter and len(value.args) == 1:
        return True
    return isinstance(value, Param | Op) and type(value.type) is Type and any("__next__" in cls.__dict__ for cls in value.type.cls.__mro__)
