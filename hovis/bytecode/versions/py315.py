"""The opcode rows of CPython 3.15 that differ from other versions (``Python/bytecodes.c`` of that version).

GET_ITER pushes an iterator and NULL, or a list or tuple and an index: FOR_ITER, SEND and POP_ITER take both.  It also does what GET_YIELD_FROM_ITER did.
The two lowest bits of IMPORT_NAME tell whether the import is lazy (PEP 810).
"""

from hovis.bytecode.versions.opcode_rows import COMMON, SINCE_312, SINCE_313, SINCE_314, Row, Table, intrinsic, name, one, row

#: GET_ITER of a ``yield from``.
_YIELD_FROM = 3


def _get_iter(arg: int) -> Row:
    return row("GetYieldFromIter" if arg == _YIELD_FROM else "GetIter", "Null")


ROWS: Table = {
    **COMMON,
    **SINCE_312,
    **SINCE_313,
    **SINCE_314,
    "GET_ITER": _get_iter,
    "POP_ITER": row("Pop", "Pop"),
    "IMPORT_NAME": one("Import", name(2)),
    "TRACE_RECORD": intrinsic("trace_record", 0, 0),
}
