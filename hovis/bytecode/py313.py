"""The opcode rows of CPython 3.13 that differ from other versions (``Python/bytecodes.c`` of that version).

The stack layout of a call is ``[callable, NULL or self, arguments]``.  Truth tests take only bools, after a TO_BOOL.  FOR_ITER
pops an exhausted iterator and continues after its END_FOR and POP_TOP.
"""

from hovis.bytecode.opcode_rows import (
    COMMON,
    CONVERSIONS,
    FUNCTION_ATTRIBUTES,
    SINCE_312,
    Row,
    Site,
    Table,
    always,
    compare,
    high,
    load_attr,
    load_global,
    load_super_attr,
    low,
    one,
    row,
)


def _call_kw(site: Site, arg: int) -> tuple[int, tuple[str, ...]]:
    return arg, site.take_constant()


def _compare(arg: int) -> Row:
    """COMPARE_OP: bit 4 says that the result is converted to a bool."""
    plain = one("Compare", compare(5))
    return plain + row("ToBool") if arg & 16 else plain


ROWS: Table = {
    **COMMON,
    **SINCE_312,
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
