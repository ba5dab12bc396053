"""Selection rules for operators, attributes, and the building and unpacking of containers."""

import operator
from typing import Final

from hovis.backend.assembler.encode import COPY, OP, POP_TOP, STRICT_BOOL, SUBSCRIPT, SWAP, Label, argument_of
from hovis.backend.assembler.selection.selection_rules import FIXED, Rule, chosen, constant_of, fixed, is_bool, known_value, name_of
from hovis.backend.assembler.selection.stack_code import StackCode, Writer
from hovis.bytecode.normalize import INDEXED
from hovis.ir import operations as ops
from hovis.ir.model import Op
from hovis.lattice import Const, inline_attributes

_BINARY: Final = {
    "add": "+", "and_": "&", "floordiv": "//", "lshift": "<<", "matmul": "@", "mul": "*", "mod": "%", "or_": "|", "pow": "**",
    "rshift": ">>", "sub": "-", "truediv": "/", "xor": "^",
}  # fmt: skip
for _name, _symbol in _BINARY.items():
    _argument = argument_of(f"a {_symbol} b", "BINARY_OP")
    fixed(getattr(operator, _name), 2, (OP["BINARY_OP"], _argument, -1))
    # NB_INPLACE_ADD is NB_ADD + 13 (Include/opcode.h)
    fixed(getattr(operator, "i" + _name.strip("_")), 2, (OP["BINARY_OP"], _argument + 13, -1))
for _name, _symbol in {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">="}.items():
    fixed(getattr(operator, _name), 2, (OP["COMPARE_OP"], argument_of(f"a {_symbol} b", "COMPARE_OP"), -1))

IS: Final = fixed(operator.is_, 2, (OP["IS_OP"], 0, -1))
IS_NOT: Final = fixed(operator.is_not, 2, (OP["IS_OP"], 1, -1))
fixed(operator.contains, 2, (OP["CONTAINS_OP"], 0, -1), order=(1, 0))
fixed(operator.neg, 1, (OP["UNARY_NEGATIVE"], 0, 0))
fixed(operator.invert, 1, (OP["UNARY_INVERT"], 0, 0))
# 5 is INTRINSIC_UNARY_POSITIVE
fixed(operator.pos, 1, (OP["UNARY_POSITIVE"], 0, 0) if "UNARY_POSITIVE" in OP else (OP["CALL_INTRINSIC_1"], 5, 0))
fixed(operator.getitem, 2, (*SUBSCRIPT, -1))
fixed(operator.setitem, 3, (OP["STORE_SUBSCR"], 0, -3), order=(2, 0, 1), result=False)
fixed(operator.delitem, 2, (OP["DELETE_SUBSCR"], 0, -2), result=False)
if not INDEXED:
    fixed(iter, 1, (OP["GET_ITER"], 0, 0))
fixed(slice, 2, (OP["BUILD_SLICE"], 2, -1))
fixed(slice, 3, (OP["BUILD_SLICE"], 3, -2))

_UNDER: Final = ((SWAP, 2, 0), (POP_TOP, 0, -1))
fixed(ops.exception_matches, 2, (OP["CHECK_EXC_MATCH"], 0, 0), *_UNDER)
fixed(ops.group_matches, 2, (OP["CHECK_EG_MATCH"], 0, 0), (OP["BUILD_TUPLE"], 2, -1))
# 1 is INTRINSIC_PREP_RERAISE_STAR
fixed(ops.prepare_reraise, 2, (OP["PREP_RERAISE_STAR"], 0, -1) if "PREP_RERAISE_STAR" in OP else (OP["CALL_INTRINSIC_2"], 1, -1))
fixed(ops.match_sequence, 1, (OP["MATCH_SEQUENCE"], 0, 1), *_UNDER)
fixed(ops.match_mapping, 1, (OP["MATCH_MAPPING"], 0, 1), *_UNDER)
fixed(ops.match_keys, 2, (OP["MATCH_KEYS"], 0, 1), (SWAP, 3, 0), (POP_TOP, 0, -1), (POP_TOP, 0, -1))
fixed(ops.list_extend, 2, (OP["LIST_EXTEND"], 1, -1), (POP_TOP, 0, -1), result=False)
fixed(ops.dict_update, 2, (OP["DICT_UPDATE"], 1, -1), (POP_TOP, 0, -1), result=False)
fixed(ops.raise_current, 0, (OP["RAISE_VARARGS"], 0, 0), result=False)
fixed(ops.raise_now, 1, (OP["RAISE_VARARGS"], 1, -1), result=False)
fixed(ops.raise_from, 2, (OP["RAISE_VARARGS"], 2, -2), result=False)
if "FORMAT_VALUE" in OP:
    fixed(ops.format_value, 1, (OP["FORMAT_VALUE"], 0, 0))
    fixed(ops.format_value, 2, (OP["FORMAT_VALUE"], 4, -1))
else:
    fixed(ops.format_value, 1, (OP["FORMAT_SIMPLE"], 0, 0))
    fixed(ops.format_value, 2, (OP["FORMAT_WITH_SPEC"], 0, -1))


def _truth(linear: StackCode, op: Op) -> None:
    if is_bool(op.args[0]):
        return
    if STRICT_BOOL:
        linear.do(OP["TO_BOOL"], 0, 0)
    else:
        linear.do(OP["UNARY_NOT"], 0, 0)
        linear.do(OP["UNARY_NOT"], 0, 0)


def _negation(linear: StackCode, op: Op) -> None:
    if STRICT_BOOL and not is_bool(op.args[0]):
        linear.do(OP["TO_BOOL"], 0, 0)
    linear.do(OP["UNARY_NOT"], 0, 0)


TRUTH: Final = Rule(_truth)
NOT: Final = Rule(_negation)
FIXED[id(bool), 1] = FIXED[id(operator.truth), 1] = TRUTH
FIXED[id(operator.not_), 1] = NOT


# ------------------------------------------------------------------------------------------------- attributes


def _load_attribute(linear: StackCode, op: Op) -> None:
    name = name_of(op.args[1])
    assert name is not None
    linear.attribute(name)


ATTRIBUTE: Final = Rule(_load_attribute, (0,))


def _store_attribute(linear: StackCode, op: Op) -> None:
    linear.do(OP["STORE_ATTR"], linear.pool.name(constant_of(op.args[1])), -2)


def _delete_attribute(linear: StackCode, op: Op) -> None:
    linear.do(OP["DELETE_ATTR"], linear.pool.name(constant_of(op.args[1])), -1)


_ATTRIBUTES: Final = {
    (id(getattr), 2): ATTRIBUTE,
    (id(setattr), 3): Rule(_store_attribute, (2, 0), result=False),
    (id(delattr), 2): Rule(_delete_attribute, (0,), result=False),
}


@chosen(object.__setattr__)
def _attribute_of_new_object(linear: StackCode, op: Op) -> Rule | None:
    """Return the rule for a store into an object that the residual has made, of a class that stores attributes as ``object`` does, else None."""
    made = op.args[0]
    if not isinstance(made, Op) or made.callee is not ops.make_object or not isinstance(made.args[0], Const) or len(op.args) != 3:
        return None
    plain = inline_attributes.in_class(constant_of(made.args[0]), "__setattr__") is object.__setattr__
    return _ATTRIBUTES[id(setattr), 3] if plain and name_of(op.args[1]) else None


@chosen(getattr, setattr, delattr)
def _attribute(linear: StackCode, op: Op) -> Rule | None:
    return _ATTRIBUTES.get((id(op.callee), len(op.args))) if len(op.args) > 1 and name_of(op.args[1]) else None


def _is_method(linear: StackCode, op: Op) -> None:
    """Read the attribute twice, as calls of it do, and push whether the results differ (a method is bound again each time); push False for an
    instance of another class, whose attributes may be anything.
    """
    cls, _, name = op.args
    other, ended = Label(), Label()
    linear.callee(type)
    linear.do(COPY, 3, 1)
    linear.call(1)
    linear.push(cls)
    linear.do(OP["IS_OP"], 0, -1)
    linear.macro(lambda writer: writer.asm.jump_if("FALSE", other))
    linear.do(COPY, 1, 1)
    linear.attribute(constant_of(name))
    linear.do(SWAP, 2, 0)
    linear.attribute(constant_of(name))
    linear.do(OP["IS_OP"], 1, -1)
    false = linear.pool.constant(False)

    def otherwise(writer: Writer) -> None:
        writer.asm.jump(ended)
        writer.asm.bind(other)
        writer.asm.do(POP_TOP, 0, -1)
        writer.asm.do(OP["LOAD_CONST"], false, 1)
        writer.asm.bind(ended)

    linear.macro(otherwise)


def _keeps(linear: StackCode, op: Op) -> None:
    """Push whether the class of the instance is the expected one."""
    linear.callee(type)
    linear.push(op.args[0])
    linear.call(1)
    linear.push(op.args[1])
    linear.do(OP["IS_OP"], 0, -1)


FIXED[id(ops.keeps), 2] = Rule(lambda linear, op: None, load=_keeps)

_IS_METHOD: Final = Rule(_is_method, (1,))


@chosen(ops.is_method_of)
def _method(linear: StackCode, op: Op) -> Rule | None:
    return _IS_METHOD if name_of(op.args[2]) else None


def _traceback(linear: StackCode, op: Op) -> None:
    linear.attribute("__traceback__")


FIXED[id(ops.traceback_of), 1] = Rule(_traceback)


# ------------------------------------------------------------------------------------------------- building


def _builds(opcode: str, divide: int = 1) -> Rule:
    def emit(linear: StackCode, op: Op) -> None:
        count = len(op.args)
        linear.do(OP[opcode], count // divide, 1 - count)

    return Rule(emit)


def _load_object(linear: StackCode, op: Op) -> None:
    """Allocate the object, then store attribute by attribute: these are instructions that CPython specializes."""
    cls, names, *values = op.args
    linear.at(op.location)
    linear.callee(object.__new__)
    linear.push(cls)
    linear.call(1)
    for name, value in zip(constant_of(names), values, strict=True):
        linear.push(value)
        linear.do(COPY, 2, 1)
        linear.do(OP["STORE_ATTR"], linear.pool.name(name), -2)


_MAKE_OBJECT: Final = Rule(lambda linear, op: None, load=_load_object)


@chosen(ops.make_object)
def _object(linear: StackCode, op: Op) -> Rule | None:
    """Return the rule for an object of a class that stores attributes as ``object`` does, else None."""
    names = known_value(op.args[1], tuple)
    if not isinstance(op.args[0], Const) or names is None or not all(type(name) is str and name.isidentifier() for name in names):
        return None
    return _MAKE_OBJECT if inline_attributes.in_class(constant_of(op.args[0]), "__setattr__") is object.__setattr__ else None


_BUILDS: Final = {
    id(ops.make_tuple): _builds("BUILD_TUPLE"),
    id(ops.make_list): _builds("BUILD_LIST"),
    id(ops.make_set): _builds("BUILD_SET"),
    id(ops.make_dict): _builds("BUILD_MAP", 2),
    id(ops.join_strings): _builds("BUILD_STRING"),
}


@chosen(ops.make_tuple, ops.make_list, ops.make_set, ops.make_dict, ops.join_strings)
def _build(linear: StackCode, op: Op) -> Rule | None:
    return _BUILDS[id(op.callee)]


def _in_order(linear: StackCode, count: int) -> None:
    """Build a tuple of count values on the stack, the first of which is on top."""
    for low in range(count // 2):
        deep, high = count - low, low + 1
        if high > 1:
            linear.do(SWAP, high, 0)
        linear.do(SWAP, deep, 0)
        if high > 1:
            linear.do(SWAP, high, 0)
    linear.do(OP["BUILD_TUPLE"], count, 1 - count)


def spread(linear: StackCode, op: Op) -> int:
    """Unpack with the first item on top of the stack; return the number of items."""
    if op.callee is ops.unpack:
        count: int = constant_of(op.args[1])
        linear.do(OP["UNPACK_SEQUENCE"], count, count - 1)
        return count
    before: int = constant_of(op.args[1])
    after: int = constant_of(op.args[2])
    linear.do(OP["UNPACK_EX"], before | after << 8, before + after)
    return before + after + 1


UNPACK: Final = Rule(lambda linear, op: _in_order(linear, spread(linear, op)), (0,))


@chosen(ops.unpack, ops.unpack_star)
def _unpack(linear: StackCode, op: Op) -> Rule | None:
    counts = [known_value(value, int) for value in op.args[1:]]
    return UNPACK if None not in counts and max(counts) < 256 else None


def _match_class(linear: StackCode, op: Op) -> None:
    linear.do(OP["LOAD_CONST"], linear.pool.constant(constant_of(op.args[3])), 1)
    linear.do(OP["MATCH_CLASS"], constant_of(op.args[2]), -2)


_MATCH_CLASS: Final = Rule(_match_class, (0, 1))


@chosen(ops.match_class)
def _choose_match_class(linear: StackCode, op: Op) -> Rule | None:
    return _MATCH_CLASS if known_value(op.args[2], int) is not None and known_value(op.args[3], tuple) is not None else None
