"""Correlated branches: use the known condition behind a branch, and redirect edges past branches that they decide.

Behind ``br … if c``, c is True in the blocks that the true side dominates, and False in those that the false side dominates.  Where
a block does nothing but branch on a condition computed from its parameters, an edge whose constant arguments decide that
branch is redirected to its target (jump threading).
"""

import operator as o
from typing import Final

from hovis.ir.analysis.control_flow import Dominators, operands, predecessors, terminator_operands
from hovis.ir.model import CAUGHT, Block, Branch, Edge, Function, Jump, Op, Operand, Param, Value, edges
from hovis.lattice import Const
from hovis.passes.rewriting import Pass, drop_unreached, replace_operands, replaced
from hovis.passes.scalar.instcombine import computed, is_computed

#: The maximum number of ops in a block that an edge is redirected past; they are copied to the edge.
MAX_OPS: Final = 4

#: Limit for the edges that one run of the pass redirects past branches: the number of blocks plus this number.  Where each of n blocks
#: passes a constant that decides all branches behind it, there would be n² of these edges.
WAYS: Final = 256


# ------------------------------------------------------------------------------------------------- implied conditions


def _correlated_branches(function: Function) -> bool:
    """Decide branches by what dominating branches imply (correlated value propagation).

    A condition that a dominating branch has tested is replaced by its known value.
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
    """Redirect an edge past blocks that do nothing but test conditions known on this path; return whether it changed."""
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
    """Return the conditions known at the start of block, with their values."""
    if len(into) != 1:
        return {}
    return _learned_on(*into[0])


def _learned_on(source: Block, edge: Edge) -> dict[Value, Operand]:
    """Return the conditions known on an edge, with their values."""
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


# ------------------------------------------------------------------------------------------------- jump threading


def _jump_threading(function: Function) -> bool:
    """Redirect edges whose arguments decide a branch to its target (jump threading).

    The ops of the skipped block are copied to a new block on the edge.
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
    """Collect the blocks that a back edge leads to."""
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
    """Redirect edge past block, by a new block, if its arguments decide the branch there. Return the new block, or None if they do not, or if
    values of block are used where the branch leads.

    around: block is a loop header; only an edge that leaves the loop is redirected, not one that enters or repeats it
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
    """Collect the blocks that are reachable from start without passing through the block ``around``."""
    found = {around}
    todo = [start]
    while todo:
        block = todo.pop()
        if block not in found:
            found.add(block)
            todo += [edge.block for edge in edges(block.terminator)]
    return found - {around}
