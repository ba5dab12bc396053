"""The opcode rows of CPython 3.13 that differ from other versions (``Python/bytecodes.c`` of that version).

The stack layout of a call is ``[callable, NULL or self, arguments]``.  Truth tests take only bools, after a TO_BOOL.  FOR_ITER
pops an exhausted iterator and continues after its END_FOR and POP_TOP.
"""

from hovis.bytecode.versions.opcode_rows import COMMON, RETURN_CONST, SINCE_312, SINCE_313, UNTIL_313, UNTIL_314, Table

ROWS: Table = {**COMMON, **UNTIL_314, **UNTIL_313, **SINCE_312, **SINCE_313, "RETURN_CONST": RETURN_CONST}
