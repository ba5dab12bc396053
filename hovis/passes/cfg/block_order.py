"""Order the blocks and their parameters; the printed text follows this order."""

from hovis.ir.analysis.control_flow import Dominators, Loops, natural_loops, operands, reverse_postorder, successors
from hovis.ir.model import Block, Caught, Edge, Function, Param, edges
from hovis.passes.rewriting import Pass, pick


def _block_order(function: Function) -> bool:
    """Order blocks (reverse postorder) and parameters.

    Blocks in reverse postorder, loops kept together; parameters in the order of their first use.
    """
    before = function.blocks
    loops = natural_loops(function, Dominators(function))
    function.blocks = reverse_postorder(function.blocks[0], lambda block: _follow(block, loops))
    return _order_params(function) or before != function.blocks


block_order = Pass(_block_order)


def _follow(block: Block, loops: Loops) -> list[Block]:
    """Return the successors of block, those inside its innermost loop first."""
    loop = loops.innermost.get(block)
    if loop is None:
        return successors(block)
    return sorted(successors(block), key=lambda to: to not in loop.blocks)


def _order_params(function: Function) -> bool:
    first: dict[Param, int] = {}
    wanted = {param for block in function.blocks[1:] if len(block.params) > 1 for param in block.params}
    if not wanted:
        return False
    # uses of a parameter in its own block count first, whatever block stands before it in the text
    for block in function.blocks:
        own = set(block.params)
        for operand in operands(block):
            if isinstance(operand, Param) and operand in own and operand in wanted:
                first.setdefault(operand, len(first))
    for block in function.blocks:
        for operand in operands(block):
            if isinstance(operand, Param) and operand in wanted:
                first.setdefault(operand, len(first))
    into: dict[Block, list[Edge]] = {}
    for block in function.blocks:
        for edge in edges(block.terminator):
            into.setdefault(edge.block, []).append(edge)
    changed = False
    for block in function.blocks[1:]:
        if len(block.params) > 1:
            changed |= _sort(block, into[block], first)
    return changed


def _sort(block: Block, into: list[Edge], first: dict[Param, int]) -> bool:
    """Sort the parameters of one block by their first use; a caught exception stays first. Return whether the order changed."""
    fixed = any(isinstance(edge.args[0], Caught) for edge in into)
    which = sorted(range(len(block.params)), key=lambda k: (not (fixed and k == 0), first.get(block.params[k], len(first))))
    if which == list(range(len(which))):
        return False
    block.params = tuple(block.params[k] for k in which)
    for edge in into:
        edge.args = pick(edge.args, which)
    return True
