"""The opcode rows of CPython 3.11 that differ from other versions (``Python/ceval.c`` and ``Lib/opcode.py`` of that version).

The stack layout of a call is ``[NULL, callable, arguments]`` or ``[method, self, arguments]``.  Truth tests take any value; SEND
and FOR_ITER pop an exhausted iterator.
"""

from hovis.bytecode.versions.opcode_rows import (
    COMMON,
    UNTIL_313,
    UNTIL_314,
    Table,
    always,
    branch,
    compare,
    format_value,
    from_cell,
    intrinsic,
    load_global,
    name,
    number,
    one,
    row,
)

_JUMPS: Table = {
    f"POP_JUMP_{way}_IF_{test}": branch(test.lower())
    for way in ("FORWARD", "BACKWARD")
    for test in ("TRUE", "FALSE", "NONE", "NOT_NONE")
}

ROWS: Table = {
    **COMMON,
    **UNTIL_314,
    **UNTIL_313,
    **_JUMPS,
    "PRECALL": (),
    "KW_NAMES": (),  # read by the CALL that follows
    "LOAD_CLOSURE": one("CellRef", number),
    "LOAD_CLASSDEREF": row("Locals", ("GetNameOr", from_cell)),
    "LOAD_GLOBAL": load_global(null_first=True),
    "LOAD_ATTR": one("GetAttr", name()),
    "LOAD_METHOD": row(("GetMethod", name()), "NullUnder"),
    "UNARY_POSITIVE": one("Unary", always("pos")),
    "COMPARE_OP": one("Compare", compare(0)),
    "FORMAT_VALUE": format_value,
    "LIST_TO_TUPLE": row("ListToTuple"),
    "JUMP_IF_TRUE_OR_POP": row(("Copy", always(1)), "Truth", ("Branch", always("true")), "Pop"),
    "JUMP_IF_FALSE_OR_POP": row(("Copy", always(1)), "Truth", ("Branch", always("false")), "Pop"),
    "FOR_ITER": one("ForIter", always(0)),
    "SEND": one("Send", always(True)),
    "PREP_RERAISE_STAR": row("PrepReraiseStar"),
    "IMPORT_STAR": row("ImportStar"),
    "PRINT_EXPR": intrinsic("print_expr", 1, 0),
    "ASYNC_GEN_WRAP": intrinsic("async_gen_wrap", 1, 1),
}
