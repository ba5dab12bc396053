"""Rows of the version tables: the normalised steps of each CPython opcode.

A row is a tuple of steps ``(op, recipe)``; the recipe computes the step's ``arg`` from the CPython instruction.  A row
that depends on the oparg is a function from the oparg to a row.  Steps are normalised ops, and these, which are removed later:

    Null        a NULL is pushed
    NullUnder   a NULL is put below the top of the stack
    Truth       becomes ToBool, unless the top of the stack is a bool for certain

The NULLs are those of CPython's call protocol; ``stack_layout.py`` erases them.  ``Call`` counts all its arguments here.
"""

import dis
import opcode
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, Protocol, TypeAlias

from hovis.bytecode.instructions import localsplus


class Site(Protocol):
    """Queries that a recipe may make about the instruction being expanded."""

    code: CodeType

    def keywords(self) -> tuple[str, ...]:
        """Return the names that a KW_NAMES just before gives for this call."""

    def take_constant(self) -> Any:
        """Remove the previous step, which pushes a constant, and return the constant."""


Recipe: TypeAlias = Callable[[Site, int], Any]
Row: TypeAlias = tuple[tuple[str, Recipe], ...]
Table: TypeAlias = Mapping[str, Row | Callable[[int], Row]]


def always(value: object) -> Recipe:
    """Return a recipe that gives value for any oparg."""
    return lambda site, arg: value


def number(site: Site, arg: int) -> int:
    """Return the oparg itself."""
    return arg


def flag(site: Site, arg: int) -> bool:
    """Return the lowest bit of the oparg."""
    return bool(arg & 1)


def constant(site: Site, arg: int) -> Any:
    """Return the constant in co_consts at the oparg."""
    return site.code.co_consts[arg]


def name(shift: int = 0) -> Recipe:
    """Return a recipe for the name in co_names at the oparg, whose lowest ``shift`` bits are flags."""
    return lambda site, arg: site.code.co_names[arg >> shift]


def with_number(kind: object) -> Recipe:
    """Return a recipe for the pair of a kind and the oparg."""
    return lambda site, arg: (kind, arg)


def row(*steps: str | tuple[str, Recipe]) -> Row:
    """Build a row; a step given by its name alone has no arg."""
    return tuple((step, always(None)) if isinstance(step, str) else step for step in steps)


def one(op: str, recipe: Recipe = always(None)) -> Row:  # noqa: B008
    """Build a row of one step."""
    return ((op, recipe),)


def high(site: Site, arg: int) -> int:
    """Return the first slot of an instruction that names two."""
    return arg >> 4


def low(site: Site, arg: int) -> int:
    """Return the second slot of an instruction that names two."""
    return arg & 15


def call(site: Site, arg: int) -> tuple[int, tuple[str, ...]]:
    """Return the number of all arguments, and the names of the keyword arguments, which are the last ones."""
    return arg, site.keywords()


def compare(shift: int) -> Recipe:
    """Return a recipe for the comparison operator, whose number lies above the ``shift`` bits of the inline cache."""
    return lambda site, arg: dis.cmp_op[arg >> shift]


#: Include/opcode.h, NB_*; the in-place ones follow in the same order.
OPERATORS = ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^")

#: NB_SUBSCR: BINARY_OP for a subscript, since 3.14.
SUBSCRIPT = 2 * len(OPERATORS)


def binary(arg: int) -> Row:
    """BINARY_OP: an operator, or its in-place form, or a subscript."""
    if arg == SUBSCRIPT:
        return row("GetItem")
    inplace, index = divmod(arg, len(OPERATORS))
    return one("Inplace" if inplace else "Binary", always(OPERATORS[index]))


#: FORMAT_VALUE and CONVERT_VALUE.
CONVERSIONS = {1: "s", 2: "r", 3: "a"}


def format_value(arg: int) -> Row:
    """FORMAT_VALUE: bits 0 and 1 convert the value, bit 2 says that a specification lies above it."""
    has_spec = bool(arg & 4)
    last = one("Format", always(has_spec))
    if not arg & 3:
        return last
    convert = one("Convert", always(CONVERSIONS[arg & 3]))
    if not has_spec:
        return convert + last
    swap = one("Swap", always(2))
    return swap + convert + swap + last


#: Bits of MAKE_FUNCTION and of SET_FUNCTION_ATTRIBUTE.
FUNCTION_ATTRIBUTES = {1: "defaults", 2: "kwdefaults", 4: "annotations", 8: "closure", 16: "annotate"}


def make_function(site: Site, arg: int) -> tuple[str, ...]:
    """Return the names of the attributes whose values lie below the code on the stack, deepest first."""
    return tuple(attr for bit, attr in FUNCTION_ATTRIBUTES.items() if arg & bit)


def load_global(null_first: bool) -> Callable[[int], Row]:
    """LOAD_GLOBAL: bit 0 says that a NULL is pushed with the value, ``null_first`` that it goes below it."""
    get = one("GetGlobal", name(1))
    with_null = row("Null") + get if null_first else get + row("Null")
    return lambda arg: with_null if arg & 1 else get


def from_cell(site: Site, arg: int) -> tuple[str, str, int]:
    """Return the arg of GetNameOr for a free variable of a class body."""
    return localsplus(site.code)[arg], "cell", arg


def branch(condition: str) -> Row:
    """Build the row of a jump that pops the value it tests; for true and false the value is first made a bool."""
    test = one("Branch", always(condition))
    return test if "none" in condition else row("Truth") + test


def intrinsic(name: str, pops: int, pushes: int) -> Row:
    """Build the row of an opcode for which the engine has no op."""
    return one("Intrinsic", always((name, pops, pushes)))


#: Include/internal/pycore_intrinsics.h (3.12+), one argument.
INTRINSICS_1: dict[int, Row] = {
    1: intrinsic("print", 1, 1),
    2: row("ImportStar", ("Const", always(None))),
    3: intrinsic("stopiteration_error", 1, 1),
    4: intrinsic("async_gen_wrap", 1, 1),
    5: one("Unary", always("pos")),
    6: row("ListToTuple"),
    7: intrinsic("typevar", 1, 1),
    8: intrinsic("paramspec", 1, 1),
    9: intrinsic("typevartuple", 1, 1),
    10: intrinsic("subscript_generic", 1, 1),
    11: intrinsic("typealias", 1, 1),
}

#: The same, two arguments.
INTRINSICS_2: dict[int, Row] = {
    1: row("PrepReraiseStar"),
    2: intrinsic("typevar_with_bound", 2, 1),
    3: intrinsic("typevar_with_constraints", 2, 1),
    4: intrinsic("set_function_type_params", 2, 1),
    5: intrinsic("set_typeparam_default", 2, 1),
}

#: 3.12 and 3.13.
RETURN_CONST: Row = row(("Const", constant), "Return")

#: The rows that all versions share.
COMMON: dict[str, Row | Callable[[int], Row]] = {
    # No effect at run time.  The decoder has handled the first two.
    "CACHE": (),
    "EXTENDED_ARG": (),
    "NOP": (),
    "RESUME": (),
    "COPY_FREE_VARS": (),
    "RETURN_GENERATOR": row("MakeGenerator"),
    "PUSH_NULL": row("Null"),
    # Constants, locals, cells, names.
    "LOAD_CONST": one("Const", constant),
    "LOAD_FAST": one("GetLocal", number),
    "STORE_FAST": one("SetLocal", number),
    "DELETE_FAST": one("DelLocal", number),
    "MAKE_CELL": one("MakeCell", number),
    "LOAD_DEREF": one("GetCell", number),
    "STORE_DEREF": one("SetCell", number),
    "DELETE_DEREF": one("DelCell", number),
    "STORE_GLOBAL": one("SetGlobal", name()),
    "DELETE_GLOBAL": one("DelGlobal", name()),
    "LOAD_NAME": one("GetName", name()),
    "STORE_NAME": one("SetName", name()),
    "DELETE_NAME": one("DelName", name()),
    # The stack.
    "POP_TOP": row("Pop"),
    "COPY": one("Copy", number),
    "SWAP": one("Swap", number),
    # Operators.
    "UNARY_NEGATIVE": one("Unary", always("neg")),
    "UNARY_INVERT": one("Unary", always("invert")),
    "UNARY_NOT": row("Truth", "Not"),
    "BINARY_OP": binary,
    "IS_OP": one("Is", flag),
    "CONTAINS_OP": one("Contains", flag),
    # Attributes and items.
    "STORE_ATTR": one("SetAttr", name()),
    "DELETE_ATTR": one("DelAttr", name()),
    "STORE_SUBSCR": row("SetItem"),
    "DELETE_SUBSCR": row("DelItem"),
    # Containers.
    "BUILD_SLICE": one("BuildSlice", number),
    "BUILD_TUPLE": one("Build", with_number("tuple")),
    "BUILD_LIST": one("Build", with_number("list")),
    "BUILD_SET": one("Build", with_number("set")),
    "BUILD_STRING": one("Build", with_number("string")),
    "BUILD_MAP": one("Build", with_number("map")),
    "LIST_APPEND": one("Append", with_number("list")),
    "SET_ADD": one("Append", with_number("set")),
    "MAP_ADD": one("Append", with_number("map")),
    "LIST_EXTEND": one("Extend", with_number("list")),
    "SET_UPDATE": one("Extend", with_number("set")),
    "DICT_UPDATE": one("Extend", with_number("dict_update")),
    "DICT_MERGE": one("Extend", with_number("dict_merge")),
    "UNPACK_SEQUENCE": one("Unpack", number),
    "UNPACK_EX": one("UnpackEx", lambda site, arg: (arg & 255, arg >> 8)),
    # Calls and functions.
    "CALL": one("Call", call),
    "MAKE_FUNCTION": one("MakeFunction", make_function),
    "LOAD_BUILD_CLASS": row("BuildClass"),
    "IMPORT_FROM": one("ImportFrom", name()),
    # Control.
    "JUMP_FORWARD": row("Jump"),
    "JUMP_BACKWARD": row("Jump"),
    "JUMP_BACKWARD_NO_INTERRUPT": row("Jump"),
    "RETURN_VALUE": row("Return"),
    # Exceptions.
    "RAISE_VARARGS": one("Raise", number),
    "RERAISE": one("Reraise", number),
    "PUSH_EXC_INFO": row("PushExc"),
    "POP_EXCEPT": row("PopExc"),
    "CHECK_EXC_MATCH": row("ExcMatch"),
    "CHECK_EG_MATCH": row("EgMatch"),
    "WITH_EXCEPT_START": row("WithExitExc"),
    # Matching.
    "MATCH_CLASS": one("Match", with_number("class")),
    "MATCH_MAPPING": one("Match", always(("mapping", 0))),
    "MATCH_SEQUENCE": one("Match", always(("sequence", 0))),
    "MATCH_KEYS": one("Match", always(("keys", 0))),
    "GET_LEN": row("GetLen"),
    # Generators.
    "YIELD_VALUE": row("Yield"),
    # Opcodes for which there is no normalised op.
    "GET_AWAITABLE": intrinsic("get_awaitable", 1, 1),
    "GET_AITER": intrinsic("get_aiter", 1, 1),
    "GET_ANEXT": intrinsic("get_anext", 1, 2),
    "END_ASYNC_FOR": intrinsic("end_async_for", 2, 0),
    "SETUP_ANNOTATIONS": intrinsic("setup_annotations", 0, 0),
}

#: The rows that 3.13 was the last to have.
UNTIL_313: dict[str, Row | Callable[[int], Row]] = {
    "LOAD_ASSERTION_ERROR": one("Const", always(AssertionError)),
    "BINARY_SUBSCR": row("GetItem"),
    "BUILD_CONST_KEY_MAP": one("Build", lambda site, arg: ("constmap", site.take_constant())),
    "BEFORE_WITH": row("WithEnter"),
    "BEFORE_ASYNC_WITH": intrinsic("before_async_with", 1, 2),
    "CALL_FUNCTION_EX": one("CallEx", flag),
}

#: The rows that 3.14 was the last to have.
UNTIL_314: dict[str, Row | Callable[[int], Row]] = {
    "GET_ITER": row("GetIter"),
    "GET_YIELD_FROM_ITER": row("GetYieldFromIter"),
    "IMPORT_NAME": one("Import", name()),
}

#: The rows that 3.12 introduced and later versions kept.
SINCE_312: dict[str, Row | Callable[[int], Row]] = {
    "LOAD_FAST_CHECK": one("GetLocal", number),
    "LOAD_FAST_AND_CLEAR": one("TakeLocal", number),
    "LOAD_LOCALS": row("Locals"),
    "LOAD_FROM_DICT_OR_DEREF": one("GetNameOr", from_cell),
    "LOAD_FROM_DICT_OR_GLOBALS": one("GetNameOr", lambda site, arg: (site.code.co_names[arg], "global", None)),
    "BINARY_SLICE": row(("BuildSlice", always(2)), "GetItem"),
    "STORE_SLICE": row(("BuildSlice", always(2)), "SetItem"),
    "POP_JUMP_IF_TRUE": branch("true"),
    "POP_JUMP_IF_FALSE": branch("false"),
    "POP_JUMP_IF_NONE": branch("none"),
    "POP_JUMP_IF_NOT_NONE": branch("not_none"),
    "SEND": one("Send", always(False)),
    "END_SEND": row("EndSend"),
    "CLEANUP_THROW": row("CleanupThrow"),
    "CALL_INTRINSIC_1": lambda arg: INTRINSICS_1[arg],
    "CALL_INTRINSIC_2": lambda arg: INTRINSICS_2[arg],
}


def load_attr(null: str) -> Callable[[int], Row]:
    """LOAD_ATTR since 3.12: bit 0 says that a method call follows."""
    method = row(("GetMethod", name(1)), null)
    plain = one("GetAttr", name(1))
    return lambda arg: method if arg & 1 else plain


def load_super_attr(null: str) -> Callable[[int], Row]:
    """LOAD_SUPER_ATTR: bit 0 says that a method call follows, bit 1 that super() was given its two arguments."""
    plain = one("GetSuper", lambda site, arg: (site.code.co_names[arg >> 2], bool(arg & 1), bool(arg & 2)))
    return lambda arg: plain + row(null) if arg & 1 else plain


def _call_kw(site: Site, arg: int) -> tuple[int, tuple[str, ...]]:
    return arg, site.take_constant()


def _compare(arg: int) -> Row:
    """COMPARE_OP since 3.13: bit 4 says that the result is converted to a bool."""
    plain = one("Compare", compare(5))
    return plain + row("ToBool") if arg & 16 else plain


#: The rows that 3.13 introduced and later versions kept.
SINCE_313: dict[str, Row | Callable[[int], Row]] = {
    "CALL_KW": one("Call", _call_kw),
    "SET_FUNCTION_ATTRIBUTE": one("SetFunctionAttr", lambda site, arg: FUNCTION_ATTRIBUTES[arg]),
    "LOAD_FAST_LOAD_FAST": row(("GetLocal", high), ("GetLocal", low)),
    "STORE_FAST_LOAD_FAST": row(("SetLocal", high), ("GetLocal", low)),
    "STORE_FAST_STORE_FAST": row(("SetLocal", high), ("SetLocal", low)),
    "LOAD_GLOBAL": load_global(null_first=False),
    "LOAD_ATTR": load_attr("Null"),
    "LOAD_SUPER_ATTR": load_super_attr("Null"),
    "TO_BOOL": row("Truth"),
    "COMPARE_OP": _compare,
    "CONVERT_VALUE": one("Convert", lambda site, arg: CONVERSIONS[arg]),
    "FORMAT_SIMPLE": one("Format", always(False)),
    "FORMAT_WITH_SPEC": one("Format", always(True)),
    "FOR_ITER": one("ForIter", always(2)),
    "END_FOR": row("Pop"),
}


def _interpolation(arg: int) -> Row:
    """BUILD_INTERPOLATION: bit 0 says that a specification lies on top; the conversion is above bit 1."""
    return one("Build", always(("interpolation", (CONVERSIONS.get(arg >> 2), bool(arg & 1)))))


#: The arg of the LOAD_SPECIAL that stands for all instructions with which a ``with`` statement begins (see ``normalize``).
ENTERING = -1


def _load_special(arg: int) -> Row:
    """LOAD_SPECIAL: a special method and its receiver, or NULL."""
    return row("WithEnter", "NullUnder") if arg == ENTERING else intrinsic("load_special", 1, 2)


#: The rows that 3.14 introduced and 3.15 kept.
SINCE_314: dict[str, Row | Callable[[int], Row]] = {
    "NOT_TAKEN": (),
    "LOAD_FAST_BORROW": one("GetLocal", number),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": row(("GetLocal", high), ("GetLocal", low)),
    "LOAD_SMALL_INT": one("Const", number),
    "LOAD_COMMON_CONSTANT": one("Const", lambda site, arg: opcode._common_constants[arg]),  # type: ignore[attr-defined]
    "LOAD_SPECIAL": _load_special,
    "CALL_FUNCTION_EX": one("CallEx", always(True)),
    "BUILD_TEMPLATE": one("Build", always(("template", 2))),
    "BUILD_INTERPOLATION": _interpolation,
}
