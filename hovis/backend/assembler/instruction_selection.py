"""Ops to stack code: which instructions a call becomes, and which values never leave the stack.

An op whose only use is an operand of a later op of the same block, with nothing left between, is computed in place;
nothing changes its order.  Stack code still names values, not locals.
"""

import functools
import sys
from collections.abc import Callable
from operator import getitem
from types import BuiltinFunctionType, CellType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any, Final

from hovis.backend.assembler import inline_guards
from hovis.backend.assembler.encode import COPY, NULL_FIRST, OP, POP_TOP, PRECALL, STRICT_BOOL, unique
from hovis.backend.assembler.liveness import Flow
from hovis.backend.assembler.selection_rules import (
    ALIASES,
    ATTRIBUTE,
    CHOSEN,
    FIXED,
    IS,
    IS_NOT,
    NOT,
    TRUTH,
    UNPACK,
    Rule,
    Writer,
    constant_of,
    is_bool,
    is_constant,
    spread,
)
from hovis.backend.tracebacks import Tracebacks, Trim, Untrim, outline
from hovis.bytecode.instructions import NO_VALUE
from hovis.ir import operations as ops
from hovis.ir.model import Block, Branch, Function, Invoke, Jump, Location, Op, Operand, Param, Raise, Return
from hovis.ir.operations import PACKAGE
from hovis.lattice import Const, Type

#: (DO, opcode, argument, stack effect)
DO: Final = 0
#: (LOAD, value)
LOAD: Final = 1
#: (STORE, op)
STORE: Final = 2
#: (MOVE, operand, param): a load for an edge, nothing if both are in the same local
MOVE: Final = 3
#: (DROP, value)
DROP: Final = 4
#: (CELL, opcode, cell, stack effect)
CELL: Final = 5
#: (AT, location)
AT: Final = 6
#: (COVER,): from here to the end of the block an exception goes to the Invoke's error edge
COVER: Final = 7
#: (HANDLERS, change of the number of open handlers)
HANDLERS: Final = 8
#: (MACRO, function of the emitter)
MACRO: Final = 9
#: (KEEP, value): the local holds it until the function has been left
KEEP: Final = 10
#: (GUARD, op): from here on an exception goes to the error edge of this op, which is covered in the midst of a block
GUARD: Final = 11
#: (UNGUARD, op): up to here
UNGUARD: Final = 12

Item = tuple[Any, ...]

#: A tree of calls on the stack is no higher than this: the assembler itself recurses.
_HIGHEST: Final = 60


class Pool:
    """Constants, attribute names and closure cells of one code object."""

    def __init__(self, cell_of: Callable[[object], CellType], variables: set[str]) -> None:
        # a string in front would be taken for the docstring
        self.constants: list[object] = [None]
        self.names: list[str] = []
        self.cells: list[CellType] = []
        self.cell_names: list[str] = []
        self.taken = variables
        self._cell_of = cell_of
        self._constant_at: dict[object, int] = {(type(None), None): 0}
        self._name_at: dict[str, int] = {}
        self._cell_at: dict[int, int] = {}

    def constant(self, value: object) -> int:
        """The index of a plain constant.  Floats are told apart by identity: nan, -0.0."""
        kind = type(value)
        key: object = (kind, value) if kind in _KEYED else id(value)
        at = self._constant_at.get(key)
        if at is None:
            at = self._constant_at[key] = len(self.constants)
            self.constants.append(value)
        return at

    def name(self, name: str) -> int:
        """The index of an attribute's name."""
        at = self._name_at.setdefault(name, len(self.names))
        if at == len(self.names):
            self.names.append(name)
        return at

    def cell(self, value: object) -> int:
        """The index of a closure cell that holds this very object."""
        at = self._cell_at.get(id(value))
        if at is None:
            at = self._cell_at[id(value)] = len(self.cells)
            kind = type(value)
            name = getattr(value, "name" if issubclass(kind, Function) else "__name__", None) if issubclass(kind, (Function, *_NAMED)) else None
            self.cell_names.append(NO_VALUE if value is ops.UNBOUND else unique(name if isinstance(name, str) else type(value).__name__, self.taken))
            self.cells.append(self._cell_of(value))
        return at

    def user_cell(self, cell: CellType, name: str | None) -> int | None:
        """A closure cell of the user's own, under its own name if that is still free."""
        if name is None:
            name = unique("cell", self.taken)
        elif name in self.taken or not name.isidentifier():
            return None
        self.taken.add(name)
        self.cell_names.append(name)
        self.cells.append(cell)
        return len(self.cells) - 1


def is_permanent(value: object) -> bool:
    """Does value live as long as the interpreter, or is it a tuple of such things and of plain ones?

    Such a one stands among the constants, as that spares the copy of a cell in every call.  The garbage collector does not
    look into code objects: what could lead back to the residual must not stand there.
    """
    if type(value) is type:
        return not value.__flags__ & _HEAP_TYPE
    if type(value) is BuiltinFunctionType:
        return isinstance(value.__self__, ModuleType) and value.__self__.__name__ in sys.stdlib_module_names
    if type(value) is MethodDescriptorType:
        return not value.__objclass__.__flags__ & _HEAP_TYPE or value.__objclass__.__module__ in sys.stdlib_module_names
    if type(value) is tuple:
        return len(value) <= _LONGEST and all(type(part) in _PLAIN or (type(part) is type and is_permanent(part)) for part in value)
    return type(value) in _LISTENERS or (type(value) is FunctionType and _is_own(value))


def _is_own(fn: FunctionType) -> bool:
    """Is it hovis's own, and holds nothing else?  (The test of guards holds them in its defaults.)"""
    held = (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values())
    return fn.__code__.co_filename.startswith(PACKAGE) and not fn.__closure__ and all(type(value) in _PLAIN or is_permanent(value) for value in held)


#: What repairs tracebacks: it knows places only.
_LISTENERS: Final = (Tracebacks, Trim, Untrim)
#: Items of a tuple that is looked at.
_LONGEST: Final = 16
#: Py_TPFLAGS_HEAPTYPE
_HEAP_TYPE: Final = 1 << 9

_KEYED: Final = frozenset({int, bool, str, bytes, type(None), type(...)})
_PLAIN: Final = _KEYED | {float, complex}
#: What is called as it is: no class, no object with a ``__call__``.
_FUNCTIONS: Final = (FunctionType, BuiltinFunctionType, MethodDescriptorType, Function)
_NAMED: Final = (type, type(len), type(lambda: 0), type(str.join), type(sys), type(type.__call__))


class Linear:
    """Makes the stack code of a Function, block by block."""

    def __init__(self, flow: Flow, pool: Pool, namespace: dict[str, Any], watched: Callable[[Op], bool]) -> None:
        self.flow = flow
        self.pool = pool
        self.namespace = namespace
        #: does somebody look at the traceback of what this op gives?
        self.watched = watched
        self.items: list[Item] = []
        self.rules: dict[Op, Rule | None] = {}
        #: ops whose result stays on the stack
        self.inline: set[Operand] = set()
        #: (id of a cell of the user's, name) -> cell of this code
        self.user_cells: dict[tuple[int, str | None], int] = {}
        #: how a Branch jumps to its true edge (``POP_JUMP_IF_…``, or FOR_ITER and LOOK to its false one); None: the condition is known
        self.tests: dict[Block, str | None] = {}
        #: those that end with a look at the environment, written there
        self.looks: dict[Block, inline_guards.Look] = {}
        #: where the last statement begins of a block that leaves the function
        self.tails: dict[Block, int] = {}
        #: where the arguments of a closing Jump begin
        self.arguments: dict[Block, int] = {}
        self._at: Location | None = None
        self._spread: set[Op] = set()

    # --------------------------------------------------------------------------------------------- trees

    def rule(self, op: Op) -> Rule | None:
        """The rule of a known callee, if it applies."""
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
        """The operands in the order in which they are pushed."""
        if op.callee is ops.keep:
            return []
        rule = self.rule(op)
        if rule is None:
            return list(op.operands())
        return list(op.args) if rule.order is None else [op.args[k] for k in rule.order]

    def find_trees(self, block: Block) -> None:
        """Backwards: an operand that is the very op before, and used nowhere else, stays on the stack."""
        todo = block.ops
        uses, inline = self.flow.uses, self.inline
        at = len(todo) - 1
        # nothing raises among the arguments of a jump: some are where they have to be already
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
        """An unpacking followed by the reading of each item needs no tuple."""
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
        """The block's stack code, up to and with what its terminator takes from the stack."""
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
        if isinstance(terminator, Return):
            # the frame goes at once; with a Raise it stays as long as the traceback, which a local with the exception would hold
            kinds = [item[0] for item in items[start:]]
            if kinds.count(DROP) < 2:  # else the order in which they end is the user's
                self.tails[block] = len(items) if terminator.value in self.inline or GUARD in kinds else start
        self._terminator(block, step)
        return items

    def finish(self, op: Op) -> None:
        """Put the result into its local, if anybody wants it."""
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
        """The tuple itself is not made; each item is stored where it comes off the stack."""
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
        """Push what the jump tests: a test for None, a negation and a truth test are part of the jump."""
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
        """``item = next(iterator, END)`` of a block that ends with ``if item is not END``: FOR_ITER."""
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
        """Is a FOR_ITER's true edge the one with an item?"""
        assert isinstance(branch.cond, Op)
        return self.rules[branch.cond] is IS_NOT

    # --------------------------------------------------------------------------------------------- what rules say

    def do(self, opcode: int, arg: int, effect: int) -> None:
        """Append an instruction."""
        self.items.append((DO, opcode, arg, effect))

    def cell(self, opcode: int, cell: int, effect: int) -> None:
        """Append an instruction on a closure cell."""
        self.items.append((CELL, opcode, cell, effect))

    def macro(self, write: Callable[[Writer], None]) -> None:
        """Append what only the emitter can say."""
        self.items.append((MACRO, write))

    def handlers(self, change: int) -> None:
        """From here on so many more exceptions are being handled."""
        self.items.append((HANDLERS, change))

    def tell(self, listener: object) -> None:
        """Call listener with what is on top of the stack, which stays there."""
        if NULL_FIRST:
            self.do(OP["PUSH_NULL"], 0, 1)
        self.constant(listener)
        if not NULL_FIRST:
            self.do(OP["PUSH_NULL"], 0, 1)
        self.do(COPY, 3, 1)
        if PRECALL is not None:
            self.do(PRECALL, 1, 0)
        self.do(OP["CALL"], 1, -2)
        self.do(POP_TOP, 0, -1)

    def user_cell(self, cell: CellType, name: str | None) -> bool:
        """Make a closure cell of the user's one of this code, under its own name (None: any); False: the name is taken."""
        if (id(cell), name) not in self.user_cells:
            at = self.pool.user_cell(cell, name)
            if at is None:
                return False
            self.user_cells[id(cell), name] = at
        return True

    def at(self, location: Location | None) -> None:
        """What comes now stands here in the source."""
        if location is not None and location is not self._at:
            self._at = location
            self.items.append((AT, location))

    def push(self, value: Operand) -> None:
        """Load a value, or compute it here."""
        if isinstance(value, Const):
            self.constant(value.value)
        elif value in self.inline:
            assert isinstance(value, Op)
            self.op(value)
        else:
            self.items.append((LOAD, value))

    def constant(self, value: object) -> None:
        """Load a known value; what may end, or refer to something that may, lives in a closure cell."""
        if type(value) in _PLAIN or is_permanent(value):
            self.items.append((DO, OP["LOAD_CONST"], self.pool.constant(value), 1))
        else:
            self.items.append((CELL, OP["LOAD_DEREF"], self.pool.cell(value), 1))

    @functools.cached_property
    def trims(self) -> bool:
        """Are there tracebacks that tell of less than all inlined calls?  Whoever lets them pass says so, seen or not."""
        return any(op.callee is ops.caught_at and self.watched(op) for block in self.flow.order for op in block.all_ops())

    def op(self, op: Op, cover: bool = False) -> None:
        """The instructions of an op; with cover, an exception out of its last ones goes to the error edge."""
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
        """What comes now may raise what op is covered for."""
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
        for _, value in op.kwargs:
            self.push(value)

    def _as_method(self, op: Op) -> bool:
        """Is it called as a method of its first argument?  That spares the NULL, and ``list.append`` has an instruction of its own so.

        Not a class: CPython has quick ways for ``type(x)`` and ``str(x)`` beside a NULL alone.
        """
        return bool(op.args) and isinstance(op.callee, _FUNCTIONS) and id(op.callee) not in ALIASES

    def _method(self, op: Op) -> None:
        """``x.name``, to be called at once: the pair (method, x), or (NULL, attribute)."""
        self.push(op.args[0])
        self.at(op.location)
        self.guard(op)
        at = self.pool.name(constant_of(op.args[1]))
        if PRECALL is not None:
            self.do(OP["LOAD_METHOD"], at, 1)
        else:
            self.do(OP["LOAD_ATTR"], at << 1 | 1, 1)
        self.unguard(op)

    def attribute(self, name: str) -> None:
        """Replace the value on top by its attribute."""
        at = self.pool.name(name)
        self.do(OP["LOAD_ATTR"], at if PRECALL is not None else at << 1, 0)

    def callee(self, callee: object) -> None:
        """Push what is called, and the NULL beside it."""
        if NULL_FIRST:
            self.do(OP["PUSH_NULL"], 0, 1)
        if isinstance(callee, Param | Op | Const):
            self.push(callee)
        else:
            self.constant(callee)
        if not NULL_FIRST:
            self.do(OP["PUSH_NULL"], 0, 1)

    def call(self, count: int, names: tuple[str, ...] = ()) -> None:
        """Call what lies under count arguments, the last of which have these names."""
        if names and NULL_FIRST:
            self.do(OP["KW_NAMES"], self.pool.constant(names), 0)
        elif names:
            self.do(OP["LOAD_CONST"], self.pool.constant(names), 1)
            self.do(OP["CALL_KW"], count, -count - 2)
            return
        if PRECALL is not None:
            self.do(PRECALL, count, 0)
        self.do(OP["CALL"], count, -count - 1)


def unpacked_count(op: Op) -> int:
    """How many items an unpacking gives."""
    counts: list[int] = list(map(constant_of, op.args[1:]))
    return counts[0] if op.callee is ops.unpack else sum(counts) + 1


def _is_item(item: Op, whole: Op, at: int) -> bool:
    return item.callee is getitem and item.args[0] is whole and isinstance(item.args[1], Const) and type(item.args[1].value) is int and item.args[1].value == at


def _is_iterator(value: Operand) -> bool:
    """Is it certainly one, so that FOR_ITER may step it unasked?"""
    if isinstance(value, Op) and value.callee is iter and len(value.args) == 1:
        return True
    return isinstance(value, Param | Op) and type(value.type) is Type and any("__next__" in cls.__dict__ for cls in value.type.cls.__mro__)
