"""Helpers that all passes share: copying functions, replacing values, and determining what an op may really do.

A pass is ``Function -> Function``.  Its implementation is a *rewriting*: it changes a private copy in place and returns whether
it changed anything.  A pipeline therefore copies only once, and every pass is still a function that does not change its argument.
The Params of the entry are the only objects that a copy shares with the original: lists of them that are kept elsewhere stay valid.
"""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, Final

from hovis.base import deadline
from hovis.ir import operations
from hovis.ir.analysis.control_flow import reverse_postorder
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Operand, Param, Raise, Return, Terminator, Value, callees, edges
from hovis.lattice import Const

#: Changes a private copy in place, and returns whether it changed anything.
Rewriting = Callable[[Function], bool]

#: Exception classes whose call does nothing but make an object, whatever the (positional) arguments are.
PLAIN_EXCEPTIONS: Final = frozenset(
    cls
    for cls in vars(builtins).values()
    if isinstance(cls, type)
    and issubclass(cls, BaseException)
    and not issubclass(cls, UnicodeError | SyntaxError | BaseExceptionGroup | OSError)
)

MAY_RAISE: Final = Effect.RAISES | Effect.OPAQUE


class Pass:
    """A rewriting as a pass: ``dce(function)`` returns a new Function, ``dce.rewrite(copy)`` changes copy in place.

    whole  the pass is called once for the outermost function, and rewrites all functions that are reachable from it
    ways   the pass concerns edges between blocks: it has nothing to do in a function of a single block
    """

    def __init__(self, rewrite: Rewriting, whole: bool = False, ways: bool = False) -> None:
        self.rewrite = rewrite
        self.whole = whole
        self.ways = ways
        self.__name__ = rewrite.__name__.lstrip("_")
        self.__doc__ = rewrite.__doc__

    def __call__(self, function: Function) -> Function:
        made = copy(function)
        self.rewrite_all(made)
        return made

    def rewrite_all(self, function: Function) -> bool:
        """Change a private copy, and the residual functions that it reaches, in place; return whether anything changed."""
        changed = False
        for one in [function] if self.whole else callees(function):
            deadline.check()
            if self.concerns(one):
                changed |= self.rewrite(one)
        return changed

    def concerns(self, function: Function) -> bool:
        """May the pass have something to do in function?"""
        return not self.ways or len(function.blocks) > 1 or not isinstance(function.blocks[0].terminator, Return | Raise)

    def __repr__(self) -> str:
        return f"<pass {self.__name__}>"


# ------------------------------------------------------------------------------------------------- copying


def copy(function: Function) -> Function:
    """Copy function and the residual functions that it reaches; the copies call each other."""
    functions = callees(function)
    made = {one: Function(one.name, [], one.location, one.type, one.is_generator, one.guards) for one in functions}
    for one in functions:
        made[one].blocks = copied_blocks(one, made)
    return made[function]


def copied_blocks(function: Function, functions: Mapping[Function, Function]) -> list[Block]:
    """Copy the blocks of function; callees that are keys of ``functions`` are replaced by their values."""
    made = list(copy_blocks(function.blocks, {param: param for param in function.params}).values())
    for block in made:
        for op in block.all_ops():
            if isinstance(op.callee, Function):
                op.callee = functions.get(op.callee, op.callee)
    return made


def copy_blocks(blocks: Iterable[Block], new: dict[Value, Operand]) -> dict[Block, Block]:
    """Copy blocks and return the copies, keyed by the originals: edges between the blocks lead to the copies, other edges to their old targets.

    new: values from outside -> the operands that the copies use instead; the values defined in the blocks are added, with their copies
    """
    outside, made = set(new), dict[Block, Block]()
    for block in blocks:
        for param in block.params:
            new.setdefault(param, Param(param.type, param.dims, param.name))
        for op in block.all_ops():
            new[op] = Op(op.callee, op.args, op.kwargs, op.type, op.dims, op.effect, op.location, op.name)
        made[block] = Block(tuple(new[param] for param in block.params))  # type: ignore[misc]
    for old, block in made.items():
        block.ops = [new[op] for op in old.ops]  # type: ignore[misc]
        block.terminator = _copied_terminator(old.terminator, made, new)
        for op in block.all_ops():
            replace_operands(op, new)
        for before, param in zip(old.params, block.params, strict=True):
            if param.dims is not None and before not in outside:
                param.dims = replaced(param.dims, new)
    return made


def _copied_terminator(old: Terminator, blocks: Mapping[Block, Block], new: Mapping[Value, Operand]) -> Terminator:
    def operand(found: Operand) -> Operand:
        return new.get(found, found) if isinstance(found, Param | Op) else found

    def edge(found: Edge) -> Edge:
        return Edge(blocks.get(found.block, found.block), tuple(map(operand, found.args)))

    match old:
        case Jump():
            return Jump(edge(old.edge), old.location)
        case Branch():
            return Branch(operand(old.cond), edge(old.true), edge(old.false), old.location)
        case Invoke():
            return Invoke(new[old.op], edge(old.ok), edge(old.error))  # type: ignore[arg-type]
        case Return():
            return Return(operand(old.value), old.location)
        case Raise():
            return Raise(operand(old.value), old.again, old.location)


def replace_in(block: Block, new: Mapping[Value, Operand]) -> None:
    """Replace the operands in a block (of its ops, its terminator and its edges) that are keys of ``new``."""
    for op in block.all_ops():
        replace_operands(op, new)
    terminator = block.terminator
    if isinstance(terminator, Branch):
        terminator.cond = replaced((terminator.cond,), new)[0]
    elif isinstance(terminator, Return | Raise):
        terminator.value = replaced((terminator.value,), new)[0]
    for edge in edges(terminator):
        edge.args = replaced(edge.args, new)


# ------------------------------------------------------------------------------------------------- replacing


def replace_operands(op: Op, new: Mapping[Value, Operand]) -> None:
    """Replace the operands of op that are keys of ``new``. A callee that becomes a Const is replaced by the value of the Const."""
    if isinstance(op.callee, Param | Op) and op.callee in new:
        callee = new[op.callee]
        op.callee = callee.value if isinstance(callee, Const) else callee
    if op.args:
        op.args = replaced(op.args, new)
    if op.kwargs:
        op.kwargs = tuple((name, new.get(value, value)) for name, value in op.kwargs)  # type: ignore[arg-type]
    if op.dims:
        op.dims = replaced(op.dims, new)


def replaced(operands: tuple[Operand, ...], new: Mapping[Value, Operand]) -> tuple[Operand, ...]:
    """Return the operands, with those that are keys of ``new`` replaced."""
    for operand in operands:
        if not isinstance(operand, Const) and operand in new:
            return tuple(o if isinstance(o, Const) else new.get(o, o) for o in operands)  # type: ignore[arg-type]
    return operands


def substitute(function: Function, new: dict[Value, Operand]) -> None:
    """Throughout function, replace the keys of ``new`` by its values (which may be keys, too)."""
    if not new:
        return
    for value in new:
        found = resolve(value, new)
        if isinstance(found, Param | Op) and found.name is None:
            found.name = value.name
    for block in function.blocks:
        replace_in(block, new)
        for param in block.params:
            if param.dims and block is not function.blocks[0]:
                param.dims = replaced(param.dims, new)


def resolve(operand: Operand, new: dict[Value, Operand]) -> Operand:
    """Return the final replacement of operand in ``new``, and shorten the chain that leads to it."""
    chain: list[Value] = []
    while isinstance(operand, Param | Op) and operand in new:
        chain.append(operand)
        operand = new[operand]
    for value in chain:
        new[value] = operand
    return operand


def drop_unreached(function: Function) -> None:
    """Remove the unreachable blocks."""
    reached = set(reverse_postorder(function.blocks[0]))
    function.blocks = [block for block in function.blocks if block in reached]


def drop_error_edge(block: Block) -> None:
    """Turn the Invoke at the end of a block into a plain op and a jump, without an exception edge."""
    end = block.terminator
    assert isinstance(end, Invoke)
    block.ops.append(end.op)
    block.terminator = Jump(end.ok, end.op.location)


def keep_params(function: Function, drop: Callable[[Param], bool]) -> None:
    """Remove the block parameters for which ``drop`` returns True, with the arguments of the edges for them. The parameters of the entry stay."""
    kept: dict[Block, list[int]] = {}
    for block in function.blocks[1:]:
        which = [k for k, param in enumerate(block.params) if not drop(param)]
        if len(which) < len(block.params):
            kept[block] = which
    if not kept:
        return
    for block in function.blocks:
        for edge in edges(block.terminator):
            if edge.block in kept:
                edge.args = pick(edge.args, kept[edge.block])
    for block, which in kept.items():
        block.params = tuple(block.params[k] for k in which)


def pick(operands: tuple[Operand, ...], which: Sequence[int]) -> tuple[Operand, ...]:
    """Return the operands at the positions in ``which``."""
    return tuple(operands[k] for k in which)


# ------------------------------------------------------------------------------------------------- predicates


class ByIdentity(tuple[object, ...]):
    """A few callables; ``in`` asks for identity alone, as callees may have an ``__eq__`` of their own."""

    def __contains__(self, other: object) -> bool:
        return any(other is one for one in self)


def is_one_of(callee: object, functions: frozenset[Any]) -> bool:
    """Is callee one of these functions?  (Not every callable has a hash.)"""
    return isinstance(callee, FunctionType) and callee in functions


def effect_of(op: Op) -> Effect:
    """Return the effect of op; calls of plain exception classes are allocations, whoever emitted them."""
    if op.effect and not op.kwargs and is_plain_exception(op.callee):
        return Effect.PURE
    return op.effect


def shows_place(op: Op) -> bool:
    """May a traceback show the line of op in the user's source?"""
    return bool(effect_of(op) & MAY_RAISE) or op.callee is operations.raised


#: Callees that return the exception which they get, after a change of its context, its cause or an attribute.
CHANGES_EXCEPTION: Final = frozenset({operations.raised, operations.with_cause, operations.with_attribute, operations.with_note, operations.in_context})


#: Callees that return the exception with its traceback as seen from another inlined call.
TRACES_EXCEPTION: Final = frozenset({operations.caught_at, operations.passed})


def is_exception_made_here(operand: Operand) -> bool:
    """Is operand an exception that nobody outside can hold: a builtin class, or a new instance of one?"""
    while isinstance(operand, Op) and is_one_of(operand.callee, CHANGES_EXCEPTION | TRACES_EXCEPTION):
        operand = operand.args[0]
    if isinstance(operand, Const):
        return is_plain_exception(operand.value)
    if isinstance(operand, Op) and any(operand.callee is group for group in _GROUPS):
        return not operand.effect
    return isinstance(operand, Op) and (operand.callee is operations.make_exception or is_plain_exception(operand.callee))


_GROUPS: Final = (ExceptionGroup, BaseExceptionGroup)


def is_plain_exception(value: object) -> bool:
    """Is value an exception class whose call does nothing but allocate an object?"""
    return isinstance(value, type) and value in PLAIN_EXCEPTIONS


#: Callees that read or change the exception being handled, whatever their declared effect is.
SEES_HANDLED: Final = frozenset(
    {
        operations.enter_handler,
        operations.leave_handler,
        operations.current_exception,
        operations.raise_current,
        operations.raised,
        operations.raise_now,
        operations.raise_from,
        operations.exception_matches,
        operations.group_matches,
    }
)


def sees_handled(op: Op) -> bool:
    """May op observe, or change, the exception that is being handled?"""
    return bool(effect_of(op) & (MAY_RAISE | Effect.IO)) or is_one_of(op.callee, SEES_HANDLED)


def incoming_args(function: Function) -> Iterator[tuple[Param, list[Operand]]]:
    """Yield each block parameter, except those of the entry, with the arguments that the edges carry for it."""
    found: dict[Block, list[Edge]] = {block: [] for block in function.blocks}
    for block in function.blocks:
        for edge in edges(block.terminator):
            found[edge.block].append(edge)
    for block in function.blocks[1:]:
        for k, param in enumerate(block.params):
            yield param, [edge.args[k] for edge in found[block]]
