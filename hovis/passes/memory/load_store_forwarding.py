"""Reading what was just written, and not writing what is overwritten at once, or read by nobody.

Within what is certain to come one after the other: a read of a cell of an exact list or dict gives what was stored
there, or read from there, if nothing between could have written to it.  Two containers may be the same object unless
one of them was made here and has not been seen by anybody.  A list or dict that nobody but the ops of this function
ever sees is *own*: no call changes it, and if nothing reads it, it need not be.
"""

import operator as o
from typing import Any, Final

from hovis.ir import operations as ops
from hovis.ir.analysis.control_flow import Dominators, predecessors, terminator_operands
from hovis.ir.model import Block, Effect, Function, Invoke, Op, Operand, Param, Value
from hovis.lattice import Array, Const, Type
from hovis.passes.rewriting import ByIdentity, Pass, replace_operands, resolve, substitute

#: They make a list or dict; they read or write the one that is their first operand, and let nobody else see it.
_MAKES: Final = ByIdentity((ops.make_list, ops.make_dict))
_ABOUT: Final = ByIdentity((o.getitem, o.setitem, list.append, ops.list_extend, ops.dict_update, ops.drop))
_STORES: Final = ByIdentity((o.setitem, list.append))

#: What a cell held: (the container, the class and the value of the key) → the value.
_Memory = dict[tuple[Operand, type, Any], Operand]

_WRITES: Final = Effect.WRITES | Effect.OPAQUE
#: Classes whose instances end without anybody noticing.
_ATOMIC: Final = frozenset({int, bool, float, complex, str, bytes, type(None)})


def _load_store_forwarding(function: Function) -> bool:
    """Forward values to later loads, and eliminate dead stores.

    Reads of what was just written or read, and stores that are overwritten at once.
    """
    if not any(op.callee is o.getitem or op.callee is o.setitem for block in function.blocks for op in block.ops):
        return False
    own, unread = _own(function)
    # what somebody waits for the end of is not held longer under another name
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
            # on one of its ways it has been done, on the other perhaps in part
            if block.terminator.op.effect & _WRITES:
                _forget(memory, own)
        behind[block] = memory
    for value in list(new):
        resolve(value, new)
    substitute(function, new)
    return _drop_unread(function, unread) or bool(new) or changed


load_store_forwarding = Pass(_load_store_forwarding)


def cell(op: Op) -> tuple[Operand, type, Any] | None:
    """The cell that a getitem or setitem is about, if its container is exactly a list or dict, and its key a plain constant."""
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
    """The new lists and dicts that nobody but these ops can see: those that only read or write them; those that only write."""
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
    """Does op nothing but store plain values in the container?  Others would be held by it."""
    if op.effect & (Effect.RAISES | Effect.OPAQUE) or op.callee not in _STORES:
        return False
    return all(map(_is_plain, op.args[1:]))


def _forget(memory: _Memory, own: set[Operand]) -> None:
    """A call may have written to all that others can see."""
    for at in [at for at in memory if at[0] not in own]:
        del memory[at]


def _drop_unread(function: Function, unread: set[Operand]) -> bool:
    """Leave out the containers that are only written to, and what is written to them."""
    if not unread:
        return False
    for block in function.blocks:
        block.ops = [op for op in block.ops if op not in unread and not (op.callee in _ABOUT and op.args and op.args[0] in unread)]
    return True


def _note(op: Op, memory: _Memory, own: set[Operand]) -> None:
    """What memory holds behind op."""
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
    """Is it a store into a list of which is known that the cell is there, and holds something that ends without a finalizer?"""
    return op.effect == Effect.WRITES and isinstance(op.args[0], Param | Op) and getattr(op.args[0].type, "cls", None) is list


def _overwrite(at: tuple[Operand, type, Any], memory: _Memory) -> None:
    """Forget what the store may have changed: the same cell of another name for the container, equal keys (1 and True are no two)."""
    container, _, key = at
    for other in list(memory):
        if other[0] is not container and other[2] == key and not _apart(container, other[0]):
            del memory[other]


def _apart(a: Operand, b: Operand) -> bool:
    """Are these certainly two objects?"""
    fresh = [isinstance(v, Op) and (v.callee is ops.make_list or v.callee is ops.make_dict) for v in (a, b)]
    return all(fresh) or getattr(a, "type", None) != getattr(b, "type", None)


# ------------------------------------------------------------------------------------------------- stores


def _drop_stores(kept: list[Op]) -> bool:
    """Leave out stores of plain values that are overwritten before anybody could look."""
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
