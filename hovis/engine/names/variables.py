"""Locals, cells and globals (CPython: Python/bytecodes.c)."""

import builtins
import operator
from typing import Any, Final

from hovis.bytecode.normalize import normalize
from hovis.engine.machine import branches, revalidation
from hovis.engine.machine.call_results import opaque
from hovis.engine.machine.handler_table import handles
from hovis.engine.machine.machine import Machine
from hovis.engine.state import lifetimes
from hovis.engine.state.frames_and_heap import Frame
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import UNBOUND_VALUE, Dyn, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect
from hovis.ir.operations import UNBOUND
from hovis.lattice import ANY, Type, Union, join

CELL: Final = type((lambda x: lambda: x)(0).__closure__[0])  # type: ignore[index]


# ------------------------------------------------------------------------------------------------- locals


def _bound(m: Machine, value: V | None, name: str, free: bool = False) -> "V | int":
    """Check that value is bound, and return it; a control code if it is known not to be."""
    if m.frame.code.tells_unbound:
        # the code itself tests whether there is a value
        return UNBOUND_VALUE if value is None else value
    if value is None or (isinstance(value, Known) and value.value is UNBOUND):
        error = ops.unbound(name, free)
        return m.raise_new(type(error), str(error), **({} if error.name is None else {"name": Known(error.name)}))
    if isinstance(value, Dyn) and value.maybe_unbound:
        checked = m.emit(ops.check_bound, [value, Known(name), Known(free)], type=_without_unbound(value), effect=Effect.RAISES)
        return Dyn(checked.value, checked.type, value.dims, ends=value.ends)
    return value


def _without_unbound(value: Dyn) -> Any:
    if isinstance(value.type, Union):
        found: Any = None
        for member in value.type.members:
            if not (isinstance(member, Type) and member.cls is type(UNBOUND)):
                found = member if found is None else join(found, member)
        return found if found is not None else ANY
    return value.type


@handles("GetLocal")
def get_local(m: Machine, slot: int) -> int | None:
    frame = m.frame
    value = frame.locals[slot]
    if type(value) is Dyn and not value.maybe_unbound:
        frame.stack.append(value)
        return None
    checked = _bound(m, value, frame.code.names[slot])
    if isinstance(checked, int):
        return checked
    if checked is not value:
        m.frame.locals[slot] = checked
    m.push(checked)
    return None


@handles("SetLocal")
def set_local(m: Machine, slot: int) -> None:
    frame = m.frame
    held = frame.locals
    old = held[slot]
    held[slot] = frame.stack.pop()
    if old is not None and lifetimes.matters(m, old):
        m.let_go.append(old)
    stored = held[slot]
    if type(stored) is Dyn:
        m.named(stored, frame.code.names[slot])


@handles("DelLocal")
def del_local(m: Machine, slot: int) -> int | None:
    frame = m.frame
    checked = _bound(m, frame.locals[slot], frame.code.names[slot])
    if isinstance(checked, int):
        return checked
    m.frame.locals[slot] = UNBOUND_VALUE
    if lifetimes.matters(m, checked):
        m.let_go.append(checked)
    return None


@handles("TakeLocal")
def take_local(m: Machine, slot: int) -> None:
    frame = m.frame
    value = frame.locals[slot]
    frame.stack.append(UNBOUND_VALUE if value is None else value)
    frame.locals[slot] = UNBOUND_VALUE


# ------------------------------------------------------------------------------------------------- cells


@handles("MakeCell")
def make_cell(m: Machine, slot: int) -> None:
    frame = m.frame
    value = frame.locals[slot]
    cell = UNBOUND_VALUE if value is None else value
    fixed = slot in _written_here(frame.code) and (slot, frame.pc) in _last_writes(frame.code) and not _is_unbound(cell)
    frame.locals[slot] = m.new(VObj("cell", CELL, (cell,), extra="frozen" if fixed else None))


def _is_unbound(value: V) -> bool:
    return isinstance(value, Known) and value.value is UNBOUND


def settle_cells(m: Machine, frame: Frame) -> None:
    """Freeze the cells of a frame that has ended: nobody can write to them any more."""
    for slot in _written_here(frame.code):
        cell = frame.locals[slot]
        if isinstance(cell, Ref):
            obj = m.state.heap[cell.aid]
            if obj.kind == "cell" and obj.extra is None and obj.node is None:
                m.state.heap[cell.aid] = obj.replace(extra="frozen")


_written_cache: dict[Any, tuple[frozenset[int], frozenset[tuple[int, int]]]] = {}


def _written_here(code: Any) -> frozenset[int]:
    """Return the slots of cells that only the code itself writes to (C code writes to those of class bodies)."""
    return _writes(code)[0]


def _last_writes(code: Any) -> frozenset[tuple[int, int]]:
    """Return where a cell is made or written to for the last time: pairs of slot and instruction."""
    return _writes(code)[1]


def _writes(code: Any) -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
    found = _written_cache.get(code.code)
    if found is None:
        inner = inner_writes(code.code)
        slots = frozenset(slot for slot in code.cells if code.names[slot] not in inner and not code.names[slot].startswith("__class"))
        writes = [k for k, i in enumerate(code.instructions) if i.op in ("SetCell", "DelCell") and i.arg in slots]
        last = [k for k, i in enumerate(code.instructions) if (i.op == "MakeCell" and i.arg in slots)] + writes
        reached = {k: _reachable(code, k) for k in last}
        found = _written_cache[code.code] = slots, frozenset(
            (code.instructions[k].arg, k) for k in last
            if not any(code.instructions[other].arg == code.instructions[k].arg and other in reached[k] for other in writes)
        )  # fmt: skip
    return found


def _reachable(code: Any, start: int) -> set[int]:
    """Return the instructions that may run after the one at start."""
    found: set[int] = set()
    todo = [start]
    while todo:
        at = todo.pop()
        handler = code.instructions[at].handler
        following = (*code.successors[at], handler.target) if handler else code.successors[at]
        for after in following:
            if after not in found:
                found.add(after)
                todo.append(after)
    return found


def inner_writes(code: Any) -> set[str]:
    """Collect the free variables that functions inside code assign to."""
    found: set[str] = set()
    for const in code.co_consts:
        if isinstance(const, type(code)):
            inner = normalize(const)
            found |= {inner.names[i.arg] for i in inner.instructions if i.op in ("SetCell", "DelCell") and inner.names[i.arg] in const.co_freevars}
            found |= inner_writes(const) & set(const.co_freevars)
    return found


@handles("CellRef")
def cell_ref(m: Machine, slot: int) -> None:
    value = m.frame.locals[slot]
    assert value is not None
    m.push(value)


@handles("GetCell")
def get_cell(m: Machine, slot: int) -> int | None:
    frame = m.frame
    cell, name = frame.locals[slot], frame.code.names[slot]
    free = slot >= len(frame.code.names) - frame.code.n_free
    assert cell is not None
    cell = m.resolve(cell)
    value: V
    if isinstance(cell, Ref):
        value = m.state.heap[cell.aid].cells[0]
    elif isinstance(cell, Known) and (frame.code.filename.startswith(m.package) or m.environment.static(cell)):
        try:
            value = Known(cell.value.cell_contents)  # type: ignore[attr-defined]
        except ValueError:
            value = UNBOUND_VALUE
    else:
        value = m.emit(ops.cell_get, [cell, Known(name), Known(free)], effect=m.environment.effect_of_read(("cell", id(getattr(cell, "value", None)), None)))
    checked = _bound(m, value, name, free)
    if isinstance(checked, int):
        return checked
    m.push(checked)
    return None


@handles("SetCell")
def set_cell(m: Machine, slot: int) -> None:
    frame = m.frame
    value, cell = frame.stack.pop(), frame.locals[slot]
    assert cell is not None
    _write_cell(m, m.resolve(cell), value, (slot, frame.pc) in _last_writes(frame.code))


def _write_cell(m: Machine, cell: V, value: V, last: bool) -> None:
    if isinstance(cell, Ref):
        obj = m.state.heap[cell.aid]
        if obj.node is None:
            m.put(cell, obj.replace(cells=(value,), extra="frozen" if last else obj.extra))
            return
        m.emit(ops.cell_set, [cell, value], type=Type(type(None)), effect=Effect.WRITES)
        m.put(cell, obj.replace(cells=(value,)))
        return
    if isinstance(cell, Known):
        m.environment.thaw(cell.value)
    m.emit(ops.cell_set, [cell, value], type=Type(type(None)), effect=Effect.WRITES)


@handles("DelCell")
def del_cell(m: Machine, slot: int) -> int | None:
    frame = m.frame
    cell = frame.locals[slot]
    status = get_cell(m, slot)
    if status is not None:
        return status
    m.pop()
    assert cell is not None
    _write_cell(m, m.resolve(cell), UNBOUND_VALUE, (slot, frame.pc) in _last_writes(frame.code))
    return None


# ------------------------------------------------------------------------------------------------- globals


def builtins_of(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the builtins of code that has namespace for its globals."""
    scope: Any = namespace.get("__builtins__", __builtins__)
    return scope if isinstance(scope, dict) else vars(scope)


@handles("GetGlobal")
def get_global(m: Machine, name: str) -> int | None:
    namespace = m.frame.namespace
    if m.frame.code.filename.startswith(m.package):
        # the code of a model stands for C code: user code cannot change the functions that it calls
        m.push(Known(namespace[name] if name in namespace else vars(builtins)[name]))
        return None
    thawed = id(namespace) in m.tables.thawed or (id(namespace), name) in m.tables.thawed_globals or ("item", id(namespace), name) in m.environment.volatile
    if not thawed and m.state.world < 2:
        value, holder = namespace.get(name, UNBOUND), namespace
        if value is UNBOUND:
            scope = builtins_of(namespace)
            value, holder = scope.get(name, UNBOUND), scope
        missing, fixed = holder is not namespace, m.environment.is_fixed
        if m.state.world and not (fixed("item", holder, name, value) and (not missing or fixed("item", namespace, name, UNBOUND))):
            revalidation.look(m)
        if missing:
            m.environment.guard("item", namespace, name, UNBOUND)
        if holder is not namespace and (id(holder) in m.tables.thawed or (id(holder), name) in m.tables.thawed_globals):
            value = UNBOUND
        if type(value) is ops.LAZY:
            m.push(opaque(m, Known(ops.load_global), [Known(namespace), Known(name)]))
            return None
        if value is not UNBOUND and not (m.environment.volatile and ("item", id(holder), name) in m.environment.volatile):
            if ("global", id(namespace), name) not in m.environment.read_static:
                m.environment.read_static |= {("global", id(holder), name), id(holder), ("global", id(namespace), name), id(namespace)}
            m.environment.guard("item", holder, name, value)
            m.push(Known(value))
            return None
    found = m.emit(ops.load_global, [Known(namespace), Known(name)], effect=m.environment.effect_of_read(("item", id(namespace), name)))
    builtin = _LOOKING.get(name)
    if builtin is None or (builtin is super and "__class__" not in m.frame.code.names):
        m.push(found)
        return None
    # if the call stayed in the residual, the builtin would inspect the frame of the residual
    same = m.emit(operator.is_, [found, Known(builtin)], type=Type(bool), effect=Effect.PURE)
    other = m.state.fork()
    other.frames[-1].stack.append(found)
    other.frames[-1].pc += 1
    branches.split(m, same, other)
    m.push(Known(builtin))
    return None


#: Builtins that inspect the frame of their caller, by name.
_LOOKING: Final = {fn.__name__: fn for fn in (locals, vars, dir, eval, exec, globals, super)}


@handles("SetGlobal")
def set_global(m: Machine, name: str) -> None:
    m.environment.thaw_global(m.frame.namespace, name)
    value = m.pop()
    m.emit(ops.store_global, [Known(m.frame.namespace), Known(name), value], type=Type(type(None)), effect=Effect.WRITES)


@handles("DelGlobal")
def del_global(m: Machine, name: str) -> None:
    m.environment.thaw_global(m.frame.namespace, name)
    m.emit(ops.delete_global, [Known(m.frame.namespace), Known(name)], type=Type(type(None)), effect=Effect.WRITES | Effect.RAISES)
