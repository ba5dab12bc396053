"""Lending: a builtin that only reads a virtual container gets a copy of it, and the container stays virtual.

The callee's rule says that it runs no user code and writes nothing; its result is an atom, or a new container of atoms, so
the copy cannot be distinguished from the object.  If all contents are known, the copy is a constant tuple.
"""

import operator
from typing import Any, Final

from hovis.bytecode.blocks import successors
from hovis.engine.machine.machine import Machine
from hovis.engine.state import borrowed_copies
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import Dyn, Known, Ref, V, labels_of
from hovis.ir.model import Effect, Operand
from hovis.lattice import AbstractValue, Array, Const, Partial, Type, Union
from hovis.lattice.constants import ATOMS, is_immutable

#: Functions that depend on the identity of their operands.
_BY_IDENTITY: Final = (operator.is_, operator.is_not, id)

#: Functions whose result is a new container of the elements.
_NEW: Final = (sorted, list, tuple, set, frozenset, operator.mul, operator.add, operator.getitem)

#: Functions that give the same result for a tuple as for a list with the same items.
_ANY_SEQUENCE: Final = (sorted, sum, min, max, any, all, operator.contains, set, frozenset, list, str.join)

#: Kinds that are copied.
_LENT: Final = ("tuple", "list", "dict", "set")

_LASTING: Final = (Effect.WRITES | Effect.OPAQUE).value


def lend(m: Machine, fn: Any, args: list[V], types: list[AbstractValue], result: AbstractValue, effect: Effect) -> tuple[list[V], Effect]:
    """Return the arguments as the call gets them, with copies of containers where possible, and its effect: it reads the containers that are not
    copied.
    """
    if Ref not in map(type, args):
        return args, effect
    allowed = not effect._value_ & _LASTING and not any(fn is one for one in _BY_IDENTITY)
    allowed = allowed and (_is_new(fn, result, types) or (m.known_sizes and _is_of_numbers(result)))
    given = []
    for arg, kind in zip(args, types, strict=True):
        lent = _copy_of(m, fn, arg) if allowed and isinstance(arg, Ref) and _can_be_lent(m, arg, kind) else None
        if lent is None and isinstance(arg, Ref) and m.state.heap[arg.aid].kind in ("list", "dict", "set"):
            effect |= Effect.READS
        given.append(arg if lent is None else lent)
    return given, effect


def _can_be_lent(m: Machine, arg: Ref, kind: AbstractValue) -> bool:
    return isinstance(kind, Partial) or m.obj(arg, "set") is not None


def _is_new(fn: Any, result: AbstractValue, types: list[AbstractValue]) -> bool:
    """Whether the result has no part of an argument in it by which a copy could be told from the object."""
    if isinstance(result, Union):
        return all(_is_new(fn, member, types) for member in result.members)
    cls = type(result.value) if isinstance(result, Const) else result.cls if isinstance(result, Type) else None
    if cls in ATOMS:
        return True
    return cls in (list, tuple, set, frozenset) and any(fn is one for one in _NEW) and all(map(_of_atoms, types))


def _is_of_numbers(result: AbstractValue) -> bool:
    """Is the result an array into which numbers are copied? Back ends that compile cannot represent the list that the numbers were in."""
    return isinstance(result, Array) and getattr(result.dtype, "kind", "O") in "biufc"


def _of_atoms(kind: AbstractValue) -> bool:
    if not isinstance(kind, Partial):
        return not (isinstance(kind, Type) and kind.cls in (list, dict))
    return all(isinstance(p, Const | Type) and (type(p.value) if isinstance(p, Const) else p.cls) in ATOMS for p in kind.parts)


def _copy_of(m: Machine, fn: Any, ref: Ref) -> V | None:
    """Return a copy of a virtual container; None if it cannot be copied, or would be copied in each iteration of a loop."""
    obj = m.obj(ref, *_LENT)
    if obj is None or (obj.extra is not None and obj.kind != "set" and not obj.inner):
        return None
    if obj.node is not None and not _is_known_sequence(m, obj):
        return None
    if obj.kind == "list" and any(fn is one for one in _ANY_SEQUENCE) and all(isinstance(c, Known) and is_immutable(c.value) for c in obj.cells):
        return Known(tuple(c.value for c in obj.cells), labels_of(ref))  # type: ignore[union-attr]
    if obj.kind == "set" and fn is operator.contains:
        return Known(frozenset(obj.keys), labels_of(ref))
    if _in_loop(m) and not m.known_sizes:
        return None
    return Dyn(_copied(m, ref.aid), Type(obj.cls))


def _copied(m: Machine, aid: int) -> Operand:
    """Return the copy of an object, an existing one or a new one; the containers in it are copied too."""
    found = borrowed_copies.copy_of(m, aid)
    if found is not None:
        return found
    obj = m.state.heap[aid]
    cells: list[V] = []
    inner: list[tuple[int, Operand]] = []
    for cell in obj.cells:
        part = m.obj(cell, *_LENT)
        if isinstance(cell, Ref) and part is not None and _is_copied(m, part):
            value = _copied(m, cell.aid)
            inner.append((cell.aid, value))
            cells.append(Known(value.value) if isinstance(value, Const) else Dyn(value, Type(part.cls)))
        else:
            cells.append(cell)
    made = m.operand(m.new(obj.replace(cells=tuple(cells), node=None, extra=None if obj.inner else obj.extra, adopted=None)))
    if obj.inner:
        return made
    m.lent[aid] = borrowed_copies.Copy(obj, made, tuple(inner))
    return made


def _is_copied(m: Machine, part: VObj) -> bool:
    return _is_known_sequence(m, part) if part.node is not None else part.extra is None or part.kind == "set"


def _is_known_sequence(m: Machine, obj: VObj) -> bool:
    """Is obj a real list or tuple whose items the back end needs, because it cannot represent the object?"""
    return m.known_sizes and not obj.forgotten and obj.kind in ("list", "tuple")


def _in_loop(m: Machine) -> bool:
    """Is the machine within a loop that stays in the residual?"""
    for frame in m.state.frames:
        heads = frame.code.loop_heads
        met = m.tables.merge.get(frame.ctx) if heads else None
        if met and any(head <= frame.pc <= _last(m, frame.code)[head] for head in heads if head in met):
            return True
    return False


def _last(m: Machine, code: Any) -> dict[int, int]:
    """Map each loop header to the last instruction that jumps back to it."""
    key = "loops", code
    found: dict[int, int] | None = m.tables.answers.get(key)
    if found is None:
        found = m.tables.answers[key] = {}
        for at, targets in enumerate(successors(code.instructions)):
            for target in targets:
                if target <= at:
                    found[target] = at
        for head in code.loop_heads:
            found.setdefault(head, head)
    return found
