"""Simplification of the control-flow graph: known branches, jumps to jumps, chains of blocks."""

from hovis.ir.analysis.control_flow import predecessors, reverse_postorder
from hovis.ir.matching import same
from hovis.ir.model import Block, Branch, Caught, Edge, Function, Invoke, Jump, Operand, Return, Value, edges
from hovis.lattice import Const
from hovis.passes.rewriting import MAY_RAISE, Pass, drop_error_edge, effect_of, replaced, substitute


def _simplify_cfg(function: Function) -> bool:
    """Simplify the control-flow graph.

    Branches on known conditions become jumps, jumps to jumps are followed, a jump to a return becomes the return, and chains of blocks become one block.
    """
    changed = _decide(function)
    changed |= _thread(function)
    changed |= _unreachable(function)
    return _merge(function) or changed


simplify_cfg = Pass(_simplify_cfg, ways=True)


# ------------------------------------------------------------------------------------------------- known branches


def _decide(function: Function) -> bool:
    changed = False
    for block in function.blocks:
        terminator = block.terminator
        if isinstance(terminator, Branch):
            taken = _taken(terminator)
            if taken is not None:
                block.terminator = Jump(taken, terminator.location)
                changed = True
        elif isinstance(terminator, Invoke) and not effect_of(terminator.op) & MAY_RAISE:
            drop_error_edge(block)
            changed = True
    return changed


def _taken(branch: Branch) -> Edge | None:
    """Return the edge that is always taken, or None."""
    if isinstance(branch.cond, Const):
        return branch.true if branch.cond.value else branch.false
    one, other = branch.true, branch.false
    if one.block is other.block and all(map(same, one.args, other.args)):
        return one
    return None


def _unreachable(function: Function) -> bool:
    reached = set(reverse_postorder(function.blocks[0]))
    if len(reached) == len(function.blocks):
        return False
    function.blocks = [block for block in function.blocks if block in reached]
    return True


# ------------------------------------------------------------------------------------------------- threading


def _thread(function: Function) -> bool:
    """Redirect edges past blocks that do nothing but jump, and turn jumps to returns into returns."""
    hollow = {block for block in function.blocks[1:] if not block.ops and isinstance(block.terminator, Jump | Return)}
    if not hollow:
        return False
    hollow -= _needed(function, hollow)
    changed = False
    straight: set[Block] = set()
    for block in function.blocks:
        for edge in edges(block.terminator):
            changed |= _follow(edge, hollow, straight)
    # after all edges have been redirected: an edge of a branch through a jump to a return now leads to the block of the return, which others share
    for block in function.blocks:
        terminator = block.terminator
        if isinstance(terminator, Jump) and terminator.edge.block in hollow:
            end = terminator.edge.block.terminator
            if isinstance(end, Return):
                value = _through(terminator.edge, (end.value,))[0]
                block.terminator = Return(value, end.location or terminator.location)
                changed = True
    return changed


def _needed(function: Function, hollow: set[Block]) -> set[Block]:
    """Collect the hollow blocks whose parameters are used in other blocks: these have to stay."""
    home: dict[Operand, Block] = {param: block for block in hollow for param in block.params}
    found: set[Block] = set()
    if not home:
        return found
    for block in function.blocks:
        used: list[Operand] = []
        for op in block.all_ops():
            used += op.operands()
            used += op.dims or ()
        for param in block.params:
            used += param.dims or ()
        if isinstance(block.terminator, Branch):
            used.append(block.terminator.cond)
        elif not isinstance(block.terminator, Jump | Invoke):
            used.append(block.terminator.value)
        for edge in edges(block.terminator):
            used += edge.args
        found.update(home[v] for v in used if not isinstance(v, Const) and v in home and home[v] is not block)
    return found


def _follow(edge: Edge, hollow: set[Block], straight: set[Block]) -> bool:
    """Redirect edge to its final target, past hollow blocks; return whether anything changed.

    The edges of the hollow blocks on the path are redirected first, the last one first: otherwise each of many edges into one long
    chain would walk through the whole chain.  straight: the hollow blocks for which that is done.
    """
    ahead: list[Edge] = []
    block = edge.block
    while block in hollow and block not in straight:
        straight.add(block)
        terminator = block.terminator
        if isinstance(terminator, Jump):
            ahead.append(terminator.edge)
            block = terminator.edge.block
    changed = False
    for one in reversed(ahead):
        changed |= _lead(one, hollow)
    return _lead(edge, hollow) or changed


def _lead(edge: Edge, hollow: set[Block]) -> bool:
    """Redirect edge past blocks that do nothing but jump; return whether it changed."""
    passed: set[Block] = set()
    while edge.block in hollow and edge.block not in passed:
        passed.add(edge.block)
        terminator = edge.block.terminator
        if not isinstance(terminator, Jump):
            break
        args = _through(edge, terminator.edge.args)
        if any(isinstance(arg, Caught) for arg in args[1:]):
            break
        edge.block, edge.args = terminator.edge.block, args
    return bool(passed) and edge.block not in passed


def _through(edge: Edge, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """Replace the parameters of the edge's target in operands by the arguments of the edge."""
    return replaced(operands, dict(zip(edge.block.params, edge.args, strict=True)))


# ------------------------------------------------------------------------------------------------- merging


def _merge(function: Function) -> bool:
    """Merge each block with its only predecessor, if that ends with a jump to it."""
    incoming = predecessors(function)
    new: dict[Value, Operand] = {}
    gone: set[Block] = set()
    for block in reverse_postorder(function.blocks[0]):
        if block in gone:
            continue
        while isinstance(block.terminator, Jump):
            edge = block.terminator.edge
            target = edge.block
            if len(incoming[target]) != 1 or target is block:
                break
            new.update(zip(target.params, edge.args, strict=True))
            block.ops += target.ops
            block.terminator = target.terminator
            gone.add(target)
    if not gone:
        return False
    function.blocks = [block for block in function.blocks if block not in gone]
    substitute(function, new)
    return True
