"""The opcode rows of CPython 3.12 that differ from other versions (``Python/bytecodes.c`` of that version).

The stack layout of a call is that of 3.11.  FOR_ITER pops an exhausted iterator and continues after its END_FOR; SEND leaves that to END_SEND.
"""

from hovis.bytecode.versions.opcode_rows import (
    COMMON,
    RETURN_CONST,
    SINCE_312,
    UNTIL_313,
    UNTIL_314,
    Table,
    always,
    compare,
    format_value,
    load_attr,
    load_global,
    load_super_attr,
    number,
    one,
    row,
)

ROWS: Table = {
    **COMMON,
    **UNTIL_314,
    **UNTIL_313,
    **SINCE_312,
    "RETURN_CONST": RETURN_CONST,
    "KW_NAMES": (),  # read by the CALL that follows
    "LOAD_CLOSURE": one("CellRef", number),
    "LOAD_GLOBAL": load_global(null_first=True),
    "LOAD_ATTR": load_attr("NullUnder"),
    "LOAD_SUPER_ATTR": load_super_attr("NullUnder"),
    "COMPARE_OP": one("Compare", compare(4)),
    "FORMAT_VALUE": format_value,
    "FOR_ITER": one("ForIter", always(1)),
    "END_FOR": row("Pop", "Pop"),
}
