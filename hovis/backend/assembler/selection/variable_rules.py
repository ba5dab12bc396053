"""Selection rules for calls, and for variables: closure cells, globals, imports, names that may be unbound."""

import builtins
import sys
from types import CellType, CodeType, FunctionType, MethodType
from typing import Final

from hovis.backend.assembler.encode import COPY, KEYWORDS_OR_NULL, OP, POP_TOP, SUBSCRIPT, SWAP, Label
from hovis.backend.assembler.selection.selection_rules import FIXED, Rule, chosen, constant_of, is_constant, known_value, name_of
from hovis.backend.assembler.selection.stack_code import StackCode, Writer
from hovis.bytecode.normalize import INDEXED
from hovis.ir import operations as ops
from hovis.ir.model import Caught, Op, Operand
from hovis.lattice import Array, Const, Partial, Type, Union

#: The bits of an IMPORT_NAME in a function, whose imports are never lazy (3.15).
_EAGER: Final = 2

# ------------------------------------------------------------------------------------------------- calls


def _load_star(linear: StackCode, op: Op) -> None:
    linear.callee(op.args[0])
    linear.push(op.args[1])
    if len(op.args) == 3:
        linear.do(OP["BUILD_MAP"], 0, 1)
        linear.push(op.args[2])


def _call_star(linear: StackCode, op: Op) -> None:
    if len(op.args) == 3:
        linear.do(OP["DICT_MERGE"], 1, -1)
        linear.do(OP["CALL_FUNCTION_EX"], 1, -3)
    elif KEYWORDS_OR_NULL:
        linear.do(OP["PUSH_NULL"], 0, 1)
        linear.do(OP["CALL_FUNCTION_EX"], 0, -3)
    else:
        linear.do(OP["CALL_FUNCTION_EX"], 0, -2)


FIXED[id(ops.apply_positional), 2] = FIXED[id(ops.apply), 3] = Rule(_call_star, load=_load_star)


def _load_look(linear: StackCode, op: Op) -> None:
    linear.callee(op.args[0].value.hold)  # type: ignore[union-attr]


FIXED[id(ops.unchanged), 1] = Rule(lambda linear, op: linear.call(0), load=_load_look)

#: Helpers that are equivalent to a single call of another callable.
ALIASES: Final[dict[int, object]] = {id(ops.bind): MethodType, id(ops.current_exception): sys.exception}


def _call_cell_type(linear: StackCode, op: Op) -> None:
    linear.call(0 if is_constant(op.args[0], ops.UNBOUND) else 1)


def _load_cell_type(linear: StackCode, op: Op) -> None:
    linear.callee(CellType)
    if not is_constant(op.args[0], ops.UNBOUND):
        linear.push(op.args[0])


_MAKE_CELL: Final = Rule(_call_cell_type, load=_load_cell_type)


def _is_bound(value: Operand) -> bool:
    """Is value certainly not UNBOUND?"""
    if isinstance(value, Const):
        return value.value is not ops.UNBOUND
    if isinstance(value, Caught):
        return True
    kind = value.type
    members = kind.members if isinstance(kind, Union) else (kind,)
    return all(isinstance(m, Array | Partial) or (type(m) is Type and m.cls is not type(ops.UNBOUND)) for m in members)


@chosen(ops.make_cell)
def _make_cell(linear: StackCode, op: Op) -> Rule | None:
    return _MAKE_CELL if is_constant(op.args[0], ops.UNBOUND) or _is_bound(op.args[0]) else None


def _load_function(linear: StackCode, op: Op) -> None:
    code, namespace, name, _, defaults, _, _, *cells = op.args
    linear.callee(FunctionType)
    for value in (code, namespace, name, defaults):
        linear.push(value)
    for cell in cells:
        linear.push(cell)
    if cells:
        linear.do(OP["BUILD_TUPLE"], len(cells), 1 - len(cells))
    else:
        linear.constant(None)


_MAKE_FUNCTION: Final = Rule(lambda linear, op: linear.call(5), load=_load_function)


@chosen(ops.make_function)
def _make_function(linear: StackCode, op: Op) -> Rule | None:
    """Return the rule for a function with the qualified name of its code, and without keyword-only defaults and annotations; None for others."""
    code, _, _, qualname, _, named, annotations, *_ = op.args
    made_of = known_value(code, CodeType)
    plain = made_of is not None and known_value(qualname, str) == made_of.co_qualname
    return _MAKE_FUNCTION if plain and is_constant(named, None) and is_constant(annotations, None) else None


# ------------------------------------------------------------------------------------------------- variables


def _load_cell(linear: StackCode, op: Op) -> None:
    cell, name = op.args[0], op.args[1]
    linear.cell(OP["LOAD_DEREF"], linear.user_cells[id(constant_of(cell)), constant_of(name)], 1)


def _store_cell(linear: StackCode, op: Op) -> None:
    linear.cell(OP["STORE_DEREF"], linear.user_cells[id(constant_of(op.args[0])), None], -1)


_CELL_GET: Final = Rule(_load_cell, ())
_CELL_SET: Final = Rule(_store_cell, (1,), result=False)


@chosen(ops.cell_get)
def _cell_get(linear: StackCode, op: Op) -> Rule | None:
    """Return the rule for reading a closure cell of the user's, which becomes one of the residual's own under its own name; None if that is
    impossible.
    """
    cell, name, free = op.args
    known = known_value(cell, CellType)
    return _CELL_GET if known is not None and is_constant(free, True) and linear.user_cell(known, known_value(name, str)) else None


@chosen(ops.cell_set)
def _cell_set(linear: StackCode, op: Op) -> Rule | None:
    known = known_value(op.args[0], CellType)
    return _CELL_SET if known is not None and _is_bound(op.args[1]) and linear.user_cell(known, None) else None


def _on_global(opcode: str, shift: int, effect: int, result: bool = True) -> Rule:
    def emit(linear: StackCode, op: Op) -> None:
        linear.do(OP[opcode], linear.pool.name(constant_of(op.args[1])) << shift, effect)

    return Rule(emit, (2,) if effect < 0 else (), result)


_GLOBALS: Final = {
    id(ops.load_global): _on_global("LOAD_GLOBAL", 1, 1),
    id(ops.store_global): _on_global("STORE_GLOBAL", 0, -1, result=False),
    id(ops.delete_global): _on_global("DELETE_GLOBAL", 0, 0, result=False),
}


def _load_foreign(linear: StackCode, op: Op) -> None:
    """Load a global of another namespace as an item of its dictionary, or of that of the builtins; call the helper if neither has the name, or if that
    may be of a lazy import.
    """
    done = Label()
    namespace, name = op.args
    for place in (namespace, Const(vars(builtins))) if ops.LAZY is None else ():
        _load_item(linear, place, name, done)
    linear.callee(ops.load_global)
    linear.push(namespace)
    linear.push(name)
    linear.call(2)
    linear.macro(lambda writer: writer.asm.bind(done))


def _load_item(linear: StackCode, place: Operand, name: Operand, done: Label) -> None:
    """Load an item of a dictionary, and jump to done if it is there."""
    missing = Label()

    def otherwise(writer: Writer) -> None:
        writer.asm.jump(done)
        writer.asm.bind(missing)
        writer.asm.depth -= 1

    linear.push(name)
    linear.push(place)
    linear.do(OP["CONTAINS_OP"], 0, -1)
    linear.macro(lambda writer: writer.asm.jump_if("FALSE", missing))
    linear.push(place)
    linear.push(name)
    linear.do(*SUBSCRIPT, -1)
    linear.macro(otherwise)


#: Rules for globals of other namespaces.
_FOREIGN: Final = {
    id(ops.load_global): Rule(_load_foreign, (), may_call=True),
    id(ops.store_global): Rule(lambda linear, op: linear.do(OP["STORE_SUBSCR"], 0, -3), (2, 0, 1), result=False),
}


@chosen(ops.load_global, ops.store_global, ops.delete_global)
def _global(linear: StackCode, op: Op) -> Rule | None:
    """Return the rule for a global of the residual's own namespace, or for loading or storing one of another namespace."""
    if is_constant(op.args[0], linear.namespace) and name_of(op.args[1]):
        return _GLOBALS[id(op.callee)]
    namespace = known_value(op.args[0], dict)
    scope = None if namespace is None else namespace.get("__builtins__", builtins)
    if known_value(op.args[1], str) is None or (scope is not builtins and scope is not vars(builtins)):
        return None
    return _FOREIGN.get(id(op.callee))


def _import_name(linear: StackCode, op: Op) -> None:
    at = linear.pool.name(constant_of(op.args[1]))
    linear.do(OP["IMPORT_NAME"], at << 2 | _EAGER if INDEXED else at, -1)


_IMPORT_NAME: Final = Rule(_import_name, (3, 2))


@chosen(ops.import_name)
def _choose_import_name(linear: StackCode, op: Op) -> Rule | None:
    return _IMPORT_NAME if is_constant(op.args[0], linear.namespace) and known_value(op.args[1], str) is not None else None


def _import_from(linear: StackCode, op: Op) -> None:
    linear.do(OP["IMPORT_FROM"], linear.pool.name(constant_of(op.args[1])), 1)
    linear.do(SWAP, 2, 0)
    linear.do(POP_TOP, 0, -1)


_IMPORT_FROM: Final = Rule(_import_from, (0,))


@chosen(ops.import_from)
def _choose_import_from(linear: StackCode, op: Op) -> Rule | None:
    return _IMPORT_FROM if known_value(op.args[1], str) is not None else None


def _check_bound(linear: StackCode, op: Op) -> None:
    bound = Label()
    linear.do(COPY, 1, 1)
    linear.constant(ops.UNBOUND)
    linear.do(OP["IS_OP"], 0, -1)
    linear.macro(lambda writer: writer.asm.jump_if("FALSE", bound))
    linear.do(POP_TOP, 0, -1)
    linear.callee(ops.unbound)
    for value in op.args[1:]:
        linear.push(value)
    linear.call(len(op.args) - 1)
    linear.do(OP["RAISE_VARARGS"], 1, -1)

    def end(writer: Writer) -> None:
        writer.asm.bind(bound)
        writer.asm.grow(1)

    linear.macro(end)


_CHECK_BOUND: Final = Rule(_check_bound, (0,))


@chosen(ops.check_bound)
def _choose_check_bound(linear: StackCode, op: Op) -> Rule | None:
    return _CHECK_BOUND if len(op.args) == 3 and all(isinstance(value, Const) for value in op.args[1:]) else None
