"""What the callables that Python has an instruction for become; everything else is a call."""

import operator
import sys
from collections.abc import Callable, Sequence
from types import CellType, MethodType
from typing import TYPE_CHECKING, Any, Final, Protocol

from hovis.backend.assembler.encode import COPY, OP, POP_TOP, STRICT_BOOL, SWAP, YIELD, YIELD_FROM, Assembly, Label, Region, argument_of
from hovis.backend.tracebacks import Trim, Untrim, outline
from hovis.ir import operations as ops
from hovis.ir.model import Caught, Op, Operand
from hovis.lattice import Array, Const, Partial, Type, Union

if TYPE_CHECKING:
    from hovis.backend.assembler.instruction_selection import Linear


class Writer(Protocol):
    """What a macro may use of the emitter."""

    asm: Assembly

    def mend(self) -> None:
        """Repair the traceback of the exception on top of the stack."""

    def within(self, raised: Label | None) -> None:
        """From here on an exception goes to a label, with nothing beneath it (None: where it goes otherwise)."""


class Rule:
    """What a known callee becomes: its operands in the order they are pushed, what pushes them if that is not all, what follows."""

    __slots__ = ("emit", "load", "order", "result")

    def __init__(
        self,
        emit: "Callable[[Linear, Op], None]",
        order: Sequence[int] | None = None,
        result: bool = True,
        load: "Callable[[Linear, Op], None] | None" = None,
    ) -> None:
        self.emit, self.order, self.result, self.load = emit, order, result, load


#: (id of the callee, number of arguments) -> rule
FIXED: Final[dict[tuple[int, int], Rule]] = {}
#: id of the callee -> the rule for this op, if there is one
CHOSEN: "Final[dict[int, Callable[[Linear, Op], Rule | None]]]" = {}


def is_constant(value: Operand, wanted: object) -> bool:
    """Is it this very object?"""
    return isinstance(value, Const) and value.value is wanted


def is_bool(value: Operand) -> bool:
    """Is it certainly True or False?"""
    if isinstance(value, Const):
        return type(value.value) is bool
    return not isinstance(value, Caught) and type(value.type) is Type and value.type.cls is bool


def _known_value(value: Operand, kind: type) -> Any:
    """The constant of this exact type that value is, else None."""
    return value.value if isinstance(value, Const) and type(value.value) is kind else None


def constant_of(value: Operand) -> Any:
    """The constant that value is: a rule has looked."""
    assert isinstance(value, Const)
    return value.value


# ------------------------------------------------------------------------------------------------- fixed instructions
# All these callees live as long as their modules: their ids are good keys.


def _fixed(callee: object, count: int, *code: tuple[int, int, int], order: Sequence[int] | None = None, result: bool = True) -> Rule:
    """callee with count arguments is these instructions (opcode, argument, stack effect)."""

    def emit(linear: "Linear", op: Op) -> None:
        for one in code:
            linear.do(*one)

    rule = FIXED[id(callee), count] = Rule(emit, order, result)
    return rule


def _chosen(*callees: object) -> "Callable[[Callable[[Linear, Op], Rule | None]], Callable[[Linear, Op], Rule | None]]":
    """Decorator: the function below looks at an op of these callees and gives its rule."""

    def register(choose: "Callable[[Linear, Op], Rule | None]") -> "Callable[[Linear, Op], Rule | None]":
        for callee in callees:
            CHOSEN[id(callee)] = choose
        return choose

    return register


_BINARY: Final = {
    "add": "+", "and_": "&", "floordiv": "//", "lshift": "<<", "matmul": "@", "mul": "*", "mod": "%", "or_": "|", "pow": "**",
    "rshift": ">>", "sub": "-", "truediv": "/", "xor": "^",
}  # fmt: skip
for _name, _symbol in _BINARY.items():
    _argument = argument_of(f"a {_symbol} b", "BINARY_OP")
    _fixed(getattr(operator, _name), 2, (OP["BINARY_OP"], _argument, -1))
    # NB_INPLACE_ADD is NB_ADD + 13 (Include/opcode.h)
    _fixed(getattr(operator, "i" + _name.strip("_")), 2, (OP["BINARY_OP"], _argument + 13, -1))
for _name, _symbol in {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">="}.items():
    _fixed(getattr(operator, _name), 2, (OP["COMPARE_OP"], argument_of(f"a {_symbol} b", "COMPARE_OP"), -1))

IS: Final = _fixed(operator.is_, 2, (OP["IS_OP"], 0, -1))
IS_NOT: Final = _fixed(operator.is_not, 2, (OP["IS_OP"], 1, -1))
_fixed(operator.contains, 2, (OP["CONTAINS_OP"], 0, -1), order=(1, 0))
_fixed(operator.neg, 1, (OP["UNARY_NEGATIVE"], 0, 0))
_fixed(operator.invert, 1, (OP["UNARY_INVERT"], 0, 0))
# 5 is INTRINSIC_UNARY_POSITIVE
_fixed(operator.pos, 1, (OP["UNARY_POSITIVE"], 0, 0) if "UNARY_POSITIVE" in OP else (OP["CALL_INTRINSIC_1"], 5, 0))
_fixed(operator.getitem, 2, (OP["BINARY_SUBSCR"], 0, -1))
_fixed(operator.setitem, 3, (OP["STORE_SUBSCR"], 0, -3), order=(2, 0, 1), result=False)
_fixed(operator.delitem, 2, (OP["DELETE_SUBSCR"], 0, -2), result=False)
_fixed(iter, 1, (OP["GET_ITER"], 0, 0))
_fixed(slice, 2, (OP["BUILD_SLICE"], 2, -1))
_fixed(slice, 3, (OP["BUILD_SLICE"], 3, -2))

_UNDER: Final = ((SWAP, 2, 0), (POP_TOP, 0, -1))
_fixed(ops.exception_matches, 2, (OP["CHECK_EXC_MATCH"], 0, 0), *_UNDER)
_fixed(ops.group_matches, 2, (OP["CHECK_EG_MATCH"], 0, 0), (OP["BUILD_TUPLE"], 2, -1))
# 1 is INTRINSIC_PREP_RERAISE_STAR
_fixed(ops.prepare_reraise, 2, (OP["PREP_RERAISE_STAR"], 0, -1) if "PREP_RERAISE_STAR" in OP else (OP["CALL_INTRINSIC_2"], 1, -1))
_fixed(ops.match_sequence, 1, (OP["MATCH_SEQUENCE"], 0, 1), *_UNDER)
_fixed(ops.match_mapping, 1, (OP["MATCH_MAPPING"], 0, 1), *_UNDER)
_fixed(ops.match_keys, 2, (OP["MATCH_KEYS"], 0, 1), (SWAP, 3, 0), (POP_TOP, 0, -1), (POP_TOP, 0, -1))
_fixed(ops.list_extend, 2, (OP["LIST_EXTEND"], 1, -1), (POP_TOP, 0, -1), result=False)
_fixed(ops.dict_update, 2, (OP["DICT_UPDATE"], 1, -1), (POP_TOP, 0, -1), result=False)
_fixed(ops.raise_current, 0, (OP["RAISE_VARARGS"], 0, 0), result=False)
_fixed(ops.raise_now, 1, (OP["RAISE_VARARGS"], 1, -1), result=False)
_fixed(ops.raise_from, 2, (OP["RAISE_VARARGS"], 2, -2), result=False)
if "FORMAT_VALUE" in OP:
    _fixed(ops.format_value, 1, (OP["FORMAT_VALUE"], 0, 0))
    _fixed(ops.format_value, 2, (OP["FORMAT_VALUE"], 4, -1))
else:
    _fixed(ops.format_value, 1, (OP["FORMAT_SIMPLE"], 0, 0))
    _fixed(ops.format_value, 2, (OP["FORMAT_WITH_SPEC"], 0, -1))


def _truth(linear: "Linear", op: Op) -> None:
    if is_bool(op.args[0]):
        return
    if STRICT_BOOL:
        linear.do(OP["TO_BOOL"], 0, 0)
    else:
        linear.do(OP["UNARY_NOT"], 0, 0)
        linear.do(OP["UNARY_NOT"], 0, 0)


def _negation(linear: "Linear", op: Op) -> None:
    if STRICT_BOOL and not is_bool(op.args[0]):
        linear.do(OP["TO_BOOL"], 0, 0)
    linear.do(OP["UNARY_NOT"], 0, 0)


TRUTH: Final = Rule(_truth)
NOT: Final = Rule(_negation)
FIXED[id(bool), 1] = FIXED[id(operator.truth), 1] = TRUTH
FIXED[id(operator.not_), 1] = NOT


# ------------------------------------------------------------------------------------------------- attributes


def _name_of(value: Operand) -> str | None:
    name = _known_value(value, str)
    return name if name is not None and name.isidentifier() else None


def _load_attribute(linear: "Linear", op: Op) -> None:
    name = _name_of(op.args[1])
    assert name is not None
    linear.attribute(name)


ATTRIBUTE: Final = Rule(_load_attribute, (0,))


def _store_attribute(linear: "Linear", op: Op) -> None:
    linear.do(OP["STORE_ATTR"], linear.pool.name(constant_of(op.args[1])), -2)


def _delete_attribute(linear: "Linear", op: Op) -> None:
    linear.do(OP["DELETE_ATTR"], linear.pool.name(constant_of(op.args[1])), -1)


_ATTRIBUTES: Final = {
    (id(getattr), 2): ATTRIBUTE,
    (id(setattr), 3): Rule(_store_attribute, (2, 0), result=False),
    (id(delattr), 2): Rule(_delete_attribute, (0,), result=False),
}


@_chosen(getattr, setattr, delattr)
def _attribute(linear: "Linear", op: Op) -> Rule | None:
    return _ATTRIBUTES.get((id(op.callee), len(op.args))) if len(op.args) > 1 and _name_of(op.args[1]) else None


def _traceback(linear: "Linear", op: Op) -> None:
    linear.attribute("__traceback__")


FIXED[id(ops.traceback_of), 1] = Rule(_traceback)


# ------------------------------------------------------------------------------------------------- building


def _builds(opcode: str, divide: int = 1) -> Rule:
    def emit(linear: "Linear", op: Op) -> None:
        count = len(op.args)
        linear.do(OP[opcode], count // divide, 1 - count)

    return Rule(emit)


_BUILDS: Final = {
    id(ops.make_tuple): _builds("BUILD_TUPLE"),
    id(ops.make_list): _builds("BUILD_LIST"),
    id(ops.make_set): _builds("BUILD_SET"),
    id(ops.make_dict): _builds("BUILD_MAP", 2),
    id(ops.join_strings): _builds("BUILD_STRING"),
}


@_chosen(ops.make_tuple, ops.make_list, ops.make_set, ops.make_dict, ops.join_strings)
def _build(linear: "Linear", op: Op) -> Rule | None:
    return _BUILDS[id(op.callee)]


def _in_order(linear: "Linear", count: int) -> None:
    """A tuple of count values of which the first is on top."""
    for low in range(count // 2):
        deep, high = count - low, low + 1
        if high > 1:
            linear.do(SWAP, high, 0)
        linear.do(SWAP, deep, 0)
        if high > 1:
            linear.do(SWAP, high, 0)
    linear.do(OP["BUILD_TUPLE"], count, 1 - count)


def spread(linear: "Linear", op: Op) -> int:
    """Unpack, so that the first item is on top; gives their number."""
    if op.callee is ops.unpack:
        count: int = constant_of(op.args[1])
        linear.do(OP["UNPACK_SEQUENCE"], count, count - 1)
        return count
    before: int = constant_of(op.args[1])
    after: int = constant_of(op.args[2])
    linear.do(OP["UNPACK_EX"], before | after << 8, before + after)
    return before + after + 1


UNPACK: Final = Rule(lambda linear, op: _in_order(linear, spread(linear, op)), (0,))


@_chosen(ops.unpack, ops.unpack_star)
def _unpack(linear: "Linear", op: Op) -> Rule | None:
    counts = [_known_value(value, int) for value in op.args[1:]]
    return UNPACK if None not in counts and max(counts) < 256 else None


def _match_class(linear: "Linear", op: Op) -> None:
    linear.do(OP["LOAD_CONST"], linear.pool.constant(constant_of(op.args[3])), 1)
    linear.do(OP["MATCH_CLASS"], constant_of(op.args[2]), -2)


_MATCH_CLASS: Final = Rule(_match_class, (0, 1))


@_chosen(ops.match_class)
def _choose_match_class(linear: "Linear", op: Op) -> Rule | None:
    return _MATCH_CLASS if _known_value(op.args[2], int) is not None and _known_value(op.args[3], tuple) is not None else None


# ------------------------------------------------------------------------------------------------- calls


def _load_star(linear: "Linear", op: Op) -> None:
    linear.callee(op.args[0])
    linear.push(op.args[1])
    if len(op.args) == 3:
        linear.do(OP["BUILD_MAP"], 0, 1)
        linear.push(op.args[2])


def _call_star(linear: "Linear", op: Op) -> None:
    if len(op.args) == 3:
        linear.do(OP["DICT_MERGE"], 1, -1)
        linear.do(OP["CALL_FUNCTION_EX"], 1, -3)
    else:
        linear.do(OP["CALL_FUNCTION_EX"], 0, -2)


FIXED[id(ops.apply_positional), 2] = FIXED[id(ops.apply), 3] = Rule(_call_star, load=_load_star)



def _load_look(linear: "Linear", op: Op) -> None:
    linear.callee(op.args[0].value.hold)  # type: ignore[union-attr]


FIXED[id(ops.unchanged), 1] = Rule(lambda linear, op: linear.call(0), load=_load_look)

#: Helpers that are one call of something else.
ALIASES: Final[dict[int, object]] = {id(ops.bind): MethodType, id(ops.current_exception): sys.exception}


def _call_cell_type(linear: "Linear", op: Op) -> None:
    linear.call(0 if is_constant(op.args[0], ops.UNBOUND) else 1)


def _load_cell_type(linear: "Linear", op: Op) -> None:
    linear.callee(CellType)
    if not is_constant(op.args[0], ops.UNBOUND):
        linear.push(op.args[0])


_MAKE_CELL: Final = Rule(_call_cell_type, load=_load_cell_type)


def _is_bound(value: Operand) -> bool:
    """Is it certainly not UNBOUND?"""
    if isinstance(value, Const):
        return value.value is not ops.UNBOUND
    if isinstance(value, Caught):
        return True
    kind = value.type
    members = kind.members if isinstance(kind, Union) else (kind,)
    return all(isinstance(m, Array | Partial) or (type(m) is Type and m.cls is not type(ops.UNBOUND)) for m in members)


@_chosen(ops.make_cell)
def _make_cell(linear: "Linear", op: Op) -> Rule | None:
    return _MAKE_CELL if is_constant(op.args[0], ops.UNBOUND) or _is_bound(op.args[0]) else None


# ------------------------------------------------------------------------------------------------- variables


def _load_cell(linear: "Linear", op: Op) -> None:
    cell, name = op.args[0], op.args[1]
    linear.cell(OP["LOAD_DEREF"], linear.user_cells[id(constant_of(cell)), constant_of(name)], 1)


def _store_cell(linear: "Linear", op: Op) -> None:
    linear.cell(OP["STORE_DEREF"], linear.user_cells[id(constant_of(op.args[0])), None], -1)


_CELL_GET: Final = Rule(_load_cell, ())
_CELL_SET: Final = Rule(_store_cell, (1,), result=False)


@_chosen(ops.cell_get)
def _cell_get(linear: "Linear", op: Op) -> Rule | None:
    """A closure cell of the user's becomes one of the residual's own, under its own name."""
    cell, name, free = op.args
    known = _known_value(cell, CellType)
    return _CELL_GET if known is not None and is_constant(free, True) and linear.user_cell(known, _known_value(name, str)) else None


@_chosen(ops.cell_set)
def _cell_set(linear: "Linear", op: Op) -> Rule | None:
    known = _known_value(op.args[0], CellType)
    return _CELL_SET if known is not None and _is_bound(op.args[1]) and linear.user_cell(known, None) else None


def _on_global(opcode: str, shift: int, effect: int, result: bool = True) -> Rule:
    def emit(linear: "Linear", op: Op) -> None:
        linear.do(OP[opcode], linear.pool.name(constant_of(op.args[1])) << shift, effect)

    return Rule(emit, (2,) if effect < 0 else (), result)


_GLOBALS: Final = {
    id(ops.load_global): _on_global("LOAD_GLOBAL", 1, 1),
    id(ops.store_global): _on_global("STORE_GLOBAL", 0, -1, result=False),
    id(ops.delete_global): _on_global("DELETE_GLOBAL", 0, 0, result=False),
}


@_chosen(ops.load_global, ops.store_global, ops.delete_global)
def _global(linear: "Linear", op: Op) -> Rule | None:
    """Only where the namespace is the residual's own."""
    return _GLOBALS[id(op.callee)] if is_constant(op.args[0], linear.namespace) and _name_of(op.args[1]) else None


def _import_name(linear: "Linear", op: Op) -> None:
    linear.do(OP["IMPORT_NAME"], linear.pool.name(constant_of(op.args[1])), -1)


_IMPORT_NAME: Final = Rule(_import_name, (3, 2))


@_chosen(ops.import_name)
def _choose_import_name(linear: "Linear", op: Op) -> Rule | None:
    return _IMPORT_NAME if is_constant(op.args[0], linear.namespace) and _known_value(op.args[1], str) is not None else None


def _import_from(linear: "Linear", op: Op) -> None:
    linear.do(OP["IMPORT_FROM"], linear.pool.name(constant_of(op.args[1])), 1)
    linear.do(SWAP, 2, 0)
    linear.do(POP_TOP, 0, -1)


_IMPORT_FROM: Final = Rule(_import_from, (0,))


@_chosen(ops.import_from)
def _choose_import_from(linear: "Linear", op: Op) -> Rule | None:
    return _IMPORT_FROM if _known_value(op.args[1], str) is not None else None


def _check_bound(linear: "Linear", op: Op) -> None:
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


@_chosen(ops.check_bound)
def _choose_check_bound(linear: "Linear", op: Op) -> Rule | None:
    return _CHECK_BOUND if len(op.args) == 3 and all(isinstance(value, Const) for value in op.args[1:]) else None


# ------------------------------------------------------------------------------------------------- exceptions


def _enter(linear: "Linear", op: Op) -> None:
    linear.do(OP["PUSH_EXC_INFO"], 0, 1)
    linear.handlers(1)
    linear.do(POP_TOP, 0, -1)


def _leave(linear: "Linear", op: Op) -> None:
    linear.handlers(-1)
    linear.do(OP["POP_EXCEPT"], 0, -1)


FIXED[id(ops.enter_handler), 1] = Rule(_enter, result=False)
FIXED[id(ops.leave_handler), 0] = Rule(_leave, result=False)


def _yield(linear: "Linear", op: Op) -> None:
    linear.do(OP["YIELD_VALUE"], YIELD, 0)
    linear.do(OP["RESUME"], 1, 0)


FIXED[id(ops.yield_), 1] = Rule(_yield)
_fixed(ops.yield_from_iter, 1, (OP["GET_YIELD_FROM_ITER"], 0, 0))


def _yield_from(linear: "Linear", op: Op) -> None:
    """The loop that the compiler makes of it; its rest begins at the yield."""

    def loop(writer: Writer) -> None:
        asm, outer = writer.asm, writer.asm.region
        ended, thrown, within = Label(), Label(), Label()
        if op.callee is ops.yield_rest:
            asm.jump(within)
        again = asm.send(ended)
        if "CLEANUP_THROW" in OP:
            asm.region = Region(thrown, asm.depth)
        asm.bind(within)
        asm.do(OP["YIELD_VALUE"], YIELD_FROM)
        asm.do(OP["RESUME"], 2)
        asm.region = outer
        asm.send_again(again)
        if "CLEANUP_THROW" in OP:
            asm.bind(thrown)
            asm.grow(1)
            asm.do(OP["CLEANUP_THROW"], 0, -1)
        asm.bind(ended)
        if "END_SEND" in OP:
            asm.do(OP["END_SEND"], 0, -1)
        else:
            asm.depth -= 1

    linear.constant(None)
    linear.macro(loop)


FIXED[id(ops.yield_from), 1] = FIXED[id(ops.yield_rest), 1] = Rule(_yield_from)


def _raised(linear: "Linear", op: Op) -> None:
    """``raise`` it, with a handler right behind: the exception has the residual's own entry and its context."""
    caught = Label()
    mend = linear.watched(op)

    def raise_here(writer: Writer) -> None:
        asm = writer.asm
        outer = asm.region
        asm.region = Region(caught, asm.depth - 1)
        asm.do(OP["RAISE_VARARGS"], 1, -1)
        asm.region = outer
        asm.bind(caught)
        asm.grow(1)
        if mend:
            writer.mend()

    linear.macro(raise_here)


FIXED[id(ops.raised), 1] = Rule(_raised)


def _caught_at(linear: "Linear", op: Op) -> None:
    if linear.watched(op):
        linear.tell(Trim(constant_of(op.args[1]) - 1))


def _passed(linear: "Linear", op: Op) -> None:
    around = outline(op.location)[constant_of(op.args[1]) - 1 : -1]
    if linear.trims and around:
        linear.tell(Untrim(around))


FIXED[id(ops.caught_at), 2] = Rule(_caught_at, (0,))
FIXED[id(ops.passed), 2] = Rule(_passed, (0,))
