"""The opcode rows of CPython 3.14 that differ from other versions (``Python/bytecodes.c`` of that version).

An exhausted iterator is popped by POP_ITER, behind its END_FOR.  The manager of a ``with`` statement is looked up by two LOAD_SPECIAL, which push a
callable and its receiver, or NULL: ``normalize`` makes one instruction of them.  CALL_FUNCTION_EX takes keyword arguments, or NULL.
"""

from hovis.bytecode.versions.opcode_rows import COMMON, SINCE_312, SINCE_313, SINCE_314, UNTIL_314, Table, row

ROWS: Table = {**COMMON, **UNTIL_314, **SINCE_312, **SINCE_313, **SINCE_314, "POP_ITER": row("Pop")}
