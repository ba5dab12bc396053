"""Store-to-load forwarding, and elimination of dead stores, for lists and dicts.

Within an extended basic block, a read of a cell of an exact list or dict returns the value that was stored there, or read from
there, if no op in between could have written to the cell.  Two containers may alias unless they are of different types, or both
were made in this function.  A list or dict that only ops of this function ever see is *own*: no call changes it, and if nothing
reads it, it is removed.
"""

import operator as o
from typing import Any, Final

from hovis.ir import operations as ops
from hovis.ir.analysis.control_flow import Dominators, predecessors, terminator_operands
from hovis.ir.model import Block, Effect, Function, Invoke, Op, Operand, Param, Value
from hovis.lattice import Array, Const, Type
from hovis.passes.rewriting import ByIdentity, Pass, replace_operands, resolve, substitute

#: Callees that make a list or dict; those that read or write the list or dict that is their first operand, and let nobody else see it.
_MAKES: Final = ByIdentity((ops.make_list, ops.make_dict))
_ABOUT: Final = ByIdentity((o.getitem, o.setitem, list.append, ops.list_extend, ops.dict_update, ops.drop))
_STORES: Final = ByIdentity((o.setitem, list.append))

#: The known contents of cells: (the container, the class and the value of the key) → the value.
_Memory = dict[tuple[Operand, type, Any], Operand]

_WRITES: Final = Effect.WRITES | Effect.OPAQUE
#: Classes whose instances have no observable finalization.
_ATOMIC: Final = frozenset({int, bool, float, complex, str, bytes, type(None)})


def _load_store_forwarding(function: Function) -> bool:
    """Forward values to later loads, and eliminate dead stores.

    A load is replaced by the value that was stored in the cell or loaded from it before; a store that is overwritten before any read is removed.
    """
    if not any(op.callee is o.getitem or op.callee is o.setitem for block in function.blocks for op in block.ops):
        return False
    own, unread = _own(function)
    # where the function contains drops, only plain values are forwarded: other objects must not be kept alive longer by another use
    lasting = not any(op.callee is ops.drop for block in function.blocks for op in block.ops)
    dom = Dominators(function)
    incoming = predecessors(function)
    new: dict[Value, Operand] = {}
    behind: dict[Block, _Memory] = {}
    changed = False
    for block in dom.order:
        into = incoming[block]
        memory = dict(behind.get(into[0][0], {})) if len(into) == 1 else {}
        kept = []
        for op in block.ops:
            replace_operands(op, new)
            found = _read(op, memory)
            if found is not None and (lasting or _is_plain(found)):
                new[op] = resolve(found, new)
            else:
                _note(op, memory, own)
                kept.append(op)
        changed |= _drop_stores(kept)
        block.ops = kept
        if isinstance(block.terminator, Invoke):
            # its write is complete on the ok edge, and may be incomplete on the error edge
            if block.terminator.op.effect & _WRITES:
                _forget(memory, own)
        behind[block] = memory
    for value in list(new):
        resolve(value, new)
    substitute(function, new)
    return _drop_unread(function, unread) or bool(new) or changed


load_store_forwarding = Pass(_load_store_forwarding)


def cell(op: Op) -> tuple[Operand, type, Any] | None:
    """Return the cell that a getitem or setitem accesses, if its container is exactly a list or dict, and its key a plain constant; else None."""
    if op.kwargs or not (op.callee is o.getitem or op.callee is o.setitem):
        return None
    container, key = op.args[:2]
    kind = getattr(container, "type", None)
    if isinstance(container, Const) or type(kind) is not Type or isinstance(kind, Array) or not isinstance(key, Const):
        return None
    if kind.cls is list and type(key.value) is int and key.value >= 0:
        return container, int, key.value
    if kind.cls is dict and type(key.value) in (int, str):
        return container, type(key.value), key.value
    return None


def _read(op: Op, memory: _Memory) -> Operand | None:
    if op.callee is not o.getitem or op.effect & _WRITES or (at := cell(op)) is None:
        return None
    return memory.get(at)


def _own(function: Function) -> tuple[set[Operand], set[Operand]]:
    """Find the new lists and dicts that only ops which read or write them can see; return these, and those among them that are only written to."""
    found: set[Operand] = {op for block in function.blocks for op in block.ops if op.callee in _MAKES}
    if not found:
        return found, found
    unread: set[Operand] = {op for op in found if isinstance(op, Op) and all(map(_is_plain, op.args))}
    for block in function.blocks:
        for op in block.all_ops():
            about = op.args[0] if op.callee in _ABOUT and op.args and not op.kwargs and op is not getattr(block.terminator, "op", None) else None
            if about in unread and not _only_writes(op):
                unread.discard(about)
            seen = op.args[1:] if about is not None else (*op.operands(), *(op.dims or ()))
            found.difference_update(v for v in seen if isinstance(v, Op))
        found.difference_update(v for v in terminator_operands(block.terminator) if isinstance(v, Op))
    return found, unread & found


def _only_writes(op: Op) -> bool:
    """Does op do nothing but store plain values in the container? Other values would be kept alive by it."""
    if op.effect & (Effect.RAISES | Effect.OPAQUE) or op.callee not in _STORES:
        return False
    return all(map(_is_plain, op.args[1:]))


def _forget(memory: _Memory, own: set[Operand]) -> None:
    """Forget the cells of containers that are not in ``own``: a call may have written to them."""
    for at in [at for at in memory if at[0] not in own]:
        del memory[at]


def _drop_unread(function: Function, unread: set[Operand]) -> bool:
    """Remove the containers that are only written to, with the ops that write to them; return whether there were any."""
    if not unread:
        return False
    for block in function.blocks:
        block.ops = [op for op in block.ops if op not in unread and not (op.callee in _ABOUT and op.args and op.args[0] in unread)]
    return True


def _note(op: Op, memory: _Memory, own: set[Operand]) -> None:
    """Update memory to the state after op."""
    at = cell(op)
    if at is not None and op.callee is o.getitem and not op.effect & _WRITES:
        memory[at] = op
    elif at is not None and op.callee is o.setitem and not op.effect & Effect.OPAQUE and (_is_quiet(op) or _is_plain(memory.get(at))):
        _overwrite(at, memory)
        memory[at] = op.args[2]
    elif op.effect & _WRITES or op.callee is ops.drop:
        about = op.args[0] if op.args and op.args[0] in own and op.callee in _ABOUT else None
        _forget(memory, own - {about})
        if op.callee is o.setitem and at is not None and about is not None and not op.effect & Effect.RAISES:
            memory[at] = op.args[2]


def _is_quiet(op: Op) -> bool:
    """Is op a store into a list whose cell is known to exist, and to hold an object without a finalizer?"""
    return op.effect == Effect.WRITES and isinstance(op.args[0], Param | Op) and getattr(op.args[0].type, "cls", None) is list


def _overwrite(at: tuple[Operand, type, Any], memory: _Memory) -> None:
    """Forget the cells that a store may have changed: the same cell of a container that may be an alias."""
    container, _, key = at
    for other in list(memory):
        if other[0] is not container and other[2] == key and not _apart(container, other[0]):
            del memory[other]


def _apart(a: Operand, b: Operand) -> bool:
    """Are a and b certainly two objects?"""
    fresh = [isinstance(v, Op) and (v.callee is ops.make_list or v.callee is ops.make_dict) for v in (a, b)]
    return all(fresh) or getattr(a, "type", None) != getattr(b, "type", None)


# ------------------------------------------------------------------------------------------------- stores


def _drop_stores(kept: list[Op]) -> bool:
    """Remove stores of plain values that are overwritten before anything can read them; return whether there were any."""
    later: set[tuple[Operand, type, Any]] = set()
    dead: set[int] = set()
    for k in range(len(kept) - 1, -1, -1):
        op = kept[k]
        at = cell(op)
        if op.callee is o.setitem and at is not None and _is_quiet(op):
            if at in later and _is_plain(op.args[2]):
                dead.add(k)
            later.add(at)
        elif op.effect != Effect.PURE:
            later.clear()
    if dead:
        kept[:] = [op for k, op in enumerate(kept) if k not in dead]
    return bool(dead)


def _is_plain(value: Operand | None) -> bool:
    if isinstance(value, Const):
        return type(value.value) in _ATOMIC
    kind = getattr(value, "type", None)
    return type(kind) is Type and kind.cls in _ATOMIC
