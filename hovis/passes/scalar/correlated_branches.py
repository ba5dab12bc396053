"""What a branch says of its condition behind it, and jumps past branches that the way there decides.

Behind ``br … if c`` c is True on one side and False on the other, as far as each side dominates.  Where a block does
nothing but branch on what its parameters are, an edge that brings a constant goes on to where the branch leads (jump
threading).
"""

import operator as o
from typing import Final

from hovis.ir.analysis.control_flow import Dominators, operands, predecessors, terminator_operands
from hovis.ir.model import CAUGHT, Block, Branch, Edge, Function, Jump, Op, Operand, Param, Value, edges
from hovis.lattice import Const
from hovis.passes.rewriting import Pass, drop_unreached, replace_operands, replaced
from hovis.passes.scalar.instcombine import computed, is_computed

#: Ops of a block that an edge may go past; they are done on the edge.
MAX_OPS: Final = 4

#: Edges that are led past branches in one round: as many as there are blocks, and so many more.  Where each of n blocks brings a
#: constant that decides all that come behind it, there would be n² of them.
WAYS: Final = 256


# ------------------------------------------------------------------------------------------------- behind a branch


def _correlated_branches(function: Function) -> bool:
    """Decide branches by what dominating branches imply (correlated value propagation).

    A condition that was tested on the way is not tested again.
    """
    if sum(isinstance(block.terminator, Branch) for block in function.blocks) < 2:
        return False
    dom = Dominators(function)
    incoming = predecessors(function)
    known: dict[Value, Operand] = {}
    added: list[list[Value]] = []
    changed = False
    for block, entered in dom.tree():
        if not entered:
            for value in added.pop():
                del known[value]
            continue
        new = _learned(block, incoming[block])
        fresh = [value for value in new if value not in known]
        known.update((value, new[value]) for value in fresh)
        added.append(fresh)
        if known:
            changed |= _use(block, known)
        for edge in edges(block.terminator):
            changed |= _skip(block, edge, known)
    if changed:
        drop_unreached(function)
    return changed


correlated_branches = Pass(_correlated_branches, ways=True)


def _skip(source: Block, edge: Edge, known: dict[Value, Operand]) -> bool:
    """Lead an edge past blocks that do nothing but test what is known on this way."""
    passed = {source}
    facts = known
    while not edge.block.params and not edge.block.ops and edge.block not in passed:
        branch = edge.block.terminator
        if not isinstance(branch, Branch) or not isinstance(branch.cond, Param | Op):
            break
        if facts is known:
            facts = known | _learned_on(source, edge)
        holds = facts.get(branch.cond)
        if not isinstance(holds, Const):
            break
        passed.add(edge.block)
        way = branch.true if holds.value else branch.false
        edge.block, edge.args = way.block, way.args
    return len(passed) > 1


def _learned(block: Block, into: list[tuple[Block, Edge]]) -> dict[Value, Operand]:
    """What is known of conditions where block begins."""
    if len(into) != 1:
        return {}
    return _learned_on(*into[0])


def _learned_on(source: Block, edge: Edge) -> dict[Value, Operand]:
    """What is known of conditions on an edge."""
    branch = source.terminator
    if not isinstance(branch, Branch) or branch.true.block is branch.false.block or not isinstance(branch.cond, Param | Op):
        return {}
    holds = edge is branch.true
    found: dict[Value, Operand] = {branch.cond: Const(holds)}
    cond: Operand = branch.cond
    while isinstance(cond, Op) and cond.callee is o.not_ and not isinstance(cond.args[0], Const) and _is_bool(cond.args[0]):
        cond, holds = cond.args[0], not holds
        found[cond] = Const(holds)  # type: ignore[index]
    return found


def _is_bool(operand: Operand) -> bool:
    return isinstance(operand, Param | Op) and getattr(operand.type, "cls", None) is bool


def _use(block: Block, known: dict[Value, Operand]) -> bool:
    used = any(v in known for op in block.all_ops() for v in op.operands() if isinstance(v, Param | Op))
    used |= any(v in known for v in terminator_operands(block.terminator) if isinstance(v, Param | Op))
    if not used:
        return False
    for op in block.all_ops():
        replace_operands(op, known)
    if isinstance(block.terminator, Branch):
        block.terminator.cond = replaced((block.terminator.cond,), known)[0]
    elif hasattr(block.terminator, "value"):
        block.terminator.value = replaced((block.terminator.value,), known)[0]
    for edge in edges(block.terminator):
        edge.args = replaced(edge.args, known)
    return True


# ------------------------------------------------------------------------------------------------- past a branch


def _jump_threading(function: Function) -> bool:
    """Redirect edges whose arguments decide a branch to its target (jump threading).

    Edges that bring what decides a branch go where it leads.
    """
    changed = False
    headers: set[Block] | None = None
    outside: dict[Value, set[Block]] | None = None
    incoming = predecessors(function)
    most = 2 * len(function.blocks) + WAYS
    for block in list(function.blocks[1:]):
        if len(function.blocks) >= most:
            break
        if not isinstance(block.terminator, Branch) or len(block.ops) > MAX_OPS or not block.params:
            continue
        if not all(map(is_computed, block.ops)):
            continue
        into = incoming[block]
        if len(into) < 2 or not any(isinstance(arg, Const) for _, edge in into for arg in edge.args):
            continue
        if headers is None or outside is None:
            headers, outside = _headers(function), _users(function)
        values: list[Value] = [*block.params, *block.ops]
        around = block in headers
        users = set[Block]().union(*(outside.get(value, set()) for value in values)) - {block}
        for source, edge in list(into):
            if source is not block and CAUGHT not in edge.args and (way := _past(function, block, edge, users, around)) is not None:
                into.remove((source, edge))
                incoming[way] = [(source, edge)]
                assert isinstance(way.terminator, Jump)
                incoming[way.terminator.edge.block].append((way, way.terminator.edge))
                for v in operands(way):
                    if isinstance(v, Param | Op):
                        outside.setdefault(v, set()).add(way)
                changed = True
    if changed:
        drop_unreached(function)
    return changed


jump_threading = Pass(_jump_threading, ways=True)


def _headers(function: Function) -> set[Block]:
    """The blocks that some way leads back to."""
    dom = Dominators(function)
    return {edge.block for block in dom.order for edge in edges(block.terminator) if dom.number[edge.block] <= dom.number[block]}


def _users(function: Function) -> dict[Value, set[Block]]:
    found: dict[Value, set[Block]] = {}
    for block in function.blocks:
        for op in block.all_ops():
            for v in (*op.operands(), *(op.dims or ())):
                if isinstance(v, Param | Op):
                    found.setdefault(v, set()).add(block)
        for v in terminator_operands(block.terminator):
            if isinstance(v, Param | Op):
                found.setdefault(v, set()).add(block)
        for param in block.params:
            for v in param.dims or ():
                if isinstance(v, Param | Op):
                    found.setdefault(v, set()).add(block)
    return found


def _past(function: Function, block: Block, edge: Edge, users: set[Block], around: bool) -> Block | None:
    """Lead edge past block, if what it brings decides the branch there, by a new block; not to where others use what block makes.

    around: block is the head of a loop, which is left that way, and not entered
    """
    branch = block.terminator
    assert isinstance(branch, Branch)
    new: dict[Value, Operand] = dict(zip(block.params, edge.args, strict=True))
    made: list[Op] = []
    for op in block.ops:
        args = replaced(op.args, new)
        result = computed(op, args)
        if result is None:
            copied = Op(op.callee, args, (), op.type, None, op.effect, op.location, op.name)
            made.append(copied)
            new[op] = copied
        else:
            new[op] = result
    cond = replaced((branch.cond,), new)[0]
    if not isinstance(cond, Const):
        return None
    to = branch.true if cond.value else branch.false
    if users and not users.isdisjoint(_reached(to.block, block)):
        return None
    if around and any(e.block is block for b in {to.block, *_reached(to.block, block)} for e in edges(b.terminator)):
        return None
    way = Block((), made, Jump(Edge(to.block, replaced(to.args, new)), branch.location))
    function.blocks.append(way)
    edge.block, edge.args = way, ()
    return way


def _reached(start: Block, around: Block) -> set[Block]:
    """The blocks that some way leads to which goes around one."""
    found = {around}
    todo = [start]
    while todo:
        block = todo.pop()
        if block not in found:
            found.add(block)
            todo += [edge.block for edge in edges(block.terminator)]
    return found - {around}
