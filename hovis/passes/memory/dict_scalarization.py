"""Dictionaries laid over each other that nobody but the function itself reads: ``{**scope, "item": x}["item"]`` is x.

A dictionary that is made here, filled in its own block and then only read has what was put in last.  Where every read is
of a key that a layer is known to have, and no unknown layer came over it, or where nothing is read, the dictionary itself is
not needed.
"""

import operator as o

from hovis.ir import operations as ops
from hovis.ir.analysis.control_flow import terminator_operands
from hovis.ir.model import Block, Effect, Function, Invoke, Op, Operand, Param, Value
from hovis.lattice import Const
from hovis.passes.rewriting import Pass, substitute
from hovis.passes.scalar.instcombine import is_exact


def _dict_scalarization(function: Function) -> bool:
    """Replace reads of dicts that do not escape by the values in them (scalar replacement).

    Reads of dictionaries that are made here for nobody else.
    """
    made = [(block, op) for block in function.blocks for op in block.ops if op.callee is ops.make_dict]
    if not made:
        return False
    users = _users(function, {op for _, op in made})
    written = {op.args[0] for op in function.ops() if op.effect & (Effect.WRITES | Effect.OPAQUE) and op.args}
    new: dict[Value, Operand] = {}
    gone: set[Op] = set()
    for block, op in made:
        used = users[op]
        if not used:
            continue
        filled = _filling(block, op, used, users)
        if filled is not None and not written.isdisjoint(filled[1:]):
            continue  # what is put out of a layer may have lived on in the dictionary
        found = {user: _found(user, filled) for user in used if _is_read(user, op)} if filled is not None else {}
        if filled is None or None in found.values():
            continue
        new.update((read, value) for read, value in found.items() if value is not None)
        gone.update(used)
        gone.update(layer for layer in filled if isinstance(layer, Op) and layer.callee is ops.make_dict)
    for block in function.blocks if gone else ():
        block.ops = [op for op in block.ops if op not in gone]
    substitute(function, new)
    return bool(gone)


dict_scalarization = Pass(_dict_scalarization)


def _users(function: Function, made: set[Op]) -> dict[Op, list[Op] | None]:
    """The ops that use each of these; None if it goes further."""
    found: dict[Op, list[Op] | None] = {op: [] for op in made}
    for block in function.blocks:
        for op in block.ops:
            for value in op.operands():
                if isinstance(value, Op) and (users := found.get(value)) is not None:
                    users.append(op)
        end = block.terminator
        for value in (*terminator_operands(end), *(end.op.operands() if isinstance(end, Invoke) else ())):
            if isinstance(value, Op) and value in found:
                found[value] = None
    return found


def _is_read(op: Op, of: Op) -> bool:
    return op.callee is o.getitem and op.args[0] is of and isinstance(op.args[1], Const) and type(op.args[1].value) is str


def _filling(block: Block, made: Op, used: list[Op], users: dict[Op, list[Op] | None]) -> list[Operand] | None:
    """The layers of a dictionary, itself first (an item that is put in is a layer); None if something else is done with it."""
    found: list[Operand] = [made]
    at = {op: k for k, op in enumerate(block.ops)}
    reads = [at[op] for op in used if op.callee is o.getitem and op in at]
    for op in used:
        if op.callee is ops.dict_update and op.args[0] is made and op.args[1] is not made:
            layer = op.args[1]
            if op not in at or any(k < at[op] for k in reads) or not _is_layer(layer, op, users):
                return None
            found.append(layer)
        elif op.callee is o.setitem and op.args[0] is made and made not in op.args[1:] and not op.effect & Effect.OPAQUE:
            if op not in at or any(k < at[op] for k in reads):
                return None
            found.append(op)
        elif not _is_read(op, made):
            return None  # a drop, too: somebody waits for the end of what it holds
    known = [layer for layer in found if isinstance(layer, Op) and layer.callee is ops.make_dict]
    keys = [key for layer in known for key in layer.args[::2]] + [op.args[1] for op in found if isinstance(op, Op) and op.callee is o.setitem]
    return found if all(isinstance(key, Const) and type(key.value) is str for key in keys) else None


def _is_layer(layer: Operand, by: Op, users: dict[Op, list[Op] | None]) -> bool:
    """Is it an exact dict, and, where it is made here, made for this alone?"""
    if isinstance(layer, Op) and layer.callee is ops.make_dict:
        return users[layer] == [by]
    return isinstance(layer, Param | Op) and is_exact(layer, dict)


def _found(read: Op, filled: list[Operand]) -> Operand | None:
    """What a read gives: the uppermost layer that has the key, if no unknown one lies over it."""
    for layer in reversed(filled):
        if isinstance(layer, Op) and layer.callee is o.setitem:
            if layer.args[1] == read.args[1]:
                return layer.args[2]
            continue
        if not (isinstance(layer, Op) and layer.callee is ops.make_dict):
            return None
        for key, value in zip(layer.args[-2::-2], layer.args[::-2], strict=True):
            if key == read.args[1]:
                return value
    return None
