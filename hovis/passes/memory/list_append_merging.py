"""Merge the appends to a list that only collects pieces to be joined in the end.

    out.append("<li"); out.append(">")           out += ("<li>", name, "</li>")
    out.append(name); out.append("</li>")    →

Nobody else sees the list, and therefore all appends of a block may be done at once, at the place of the last one: an exception
in between discards the list as well.  If all pieces are strings, and they are joined with an empty separator, adjacent
constants are concatenated.
"""

from typing import Final

from hovis.ir import operations as ops
from hovis.ir.analysis.control_flow import terminator_operands
from hovis.ir.model import Block, Effect, Function, Op, Operand, Param, edges
from hovis.lattice import Const, Type
from hovis.passes.rewriting import Pass

_TEXT: Final = Type(str)


def _list_append_merging(function: Function) -> bool:
    """Merge appends to a list that only collects.

    All appends of a block to the list become one op.
    """
    collected = _collecting(function)
    changed = False
    for made in collected:
        text = all(_is_text(piece) for op in collected[made] for piece in _pieces(op)) and _joined_by_nothing(function, made)
        if text and len(merged := _merged(made.args)) < len(made.args):
            made.args, changed = merged, True
        for block in function.blocks:
            changed |= _together(block, made, text)
    return changed


list_append_merging = Pass(_list_append_merging)


def _collecting(function: Function) -> dict[Op, list[Op]]:
    """Find the new lists that are only appended to and joined; return for each the op that makes it, with its appends."""
    found: dict[Op, list[Op]] = {op: [op] for block in function.blocks for op in block.ops if op.callee is ops.make_list}
    if not found:
        return found
    for block in function.blocks:
        for op in block.all_ops():
            for k, v in enumerate(op.operands()):
                if isinstance(v, Op) and v in found:
                    if _appends(op) and k == 0 and op.args[1] is not v and op in block.ops:
                        found[v].append(op)
                    elif not (op.callee is ops.drop or (op.callee is str.join and k == 1)):
                        del found[v]
        for v in (*terminator_operands(block.terminator), *(arg for edge in edges(block.terminator) for arg in edge.args)):
            if isinstance(v, Op):
                found.pop(v, None)
    return {made: uses for made, uses in found.items() if len(uses) > 1}


def _appends(op: Op) -> bool:
    return op.callee is list.append and len(op.args) == 2 and not op.kwargs


def _pieces(op: Op) -> tuple[Operand, ...]:
    return op.args[1:] if _appends(op) else op.args


def _is_text(piece: Operand) -> bool:
    """Is piece certainly a string, of class str or a subclass?"""
    if isinstance(piece, Const):
        return type(piece.value) is str
    return isinstance(piece, Param | Op) and (piece.type == _TEXT or (isinstance(piece, Op) and (piece.callee is str or piece.callee is ops.format_value)))


def _joined_by_nothing(function: Function, made: Op) -> bool:
    """Is the list joined, and always with an empty separator?"""
    joins = [op for op in function.ops() if op.callee is str.join and made in op.args]
    return bool(joins) and all(op.args[0] == Const("") for op in joins)


def _merged(pieces: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """Return the pieces with adjacent constants concatenated."""
    found: list[Operand] = []
    for piece in pieces:
        before = found[-1] if found else None
        if isinstance(piece, Const) and isinstance(before, Const):
            found[-1] = Const(f"{before.value}{piece.value}")
        else:
            found.append(piece)
    return tuple(found)


def _together(block: Block, made: Op, text: bool) -> bool:
    """Replace the appends of block to the list by one op at the last of them; return whether there were several."""
    appends = [op for op in block.ops if _appends(op) and op.args[0] is made]
    if len(appends) < 2:
        return False
    between = block.ops[block.ops.index(appends[0]) : block.ops.index(appends[-1])]
    pieces = tuple(op.args[1] for op in appends)
    # a piece that is dropped in between would be released before it gets into the list, and a join in between would not see the pieces before it
    if any((op.callee is str.join and made in op.args) or (op.callee is ops.drop and op.args[0] in pieces) for op in between):
        return False
    if text:
        pieces = _merged(pieces)
    last = appends[-1]
    gone = set(appends[:-1])
    before: list[Op] = []
    if len(pieces) == 1:
        last.args = (made, pieces[0])
    else:
        given = Op(ops.make_tuple, pieces, (), Type(tuple), None, Effect.PURE, last.location)
        before, last.callee, last.args = [given], ops.list_extend, (made, given)
    block.ops = [one for op in block.ops if op not in gone for one in ([*before, op] if op is last else [op])]
    return True
