"""The rows of each version of CPython: how its opcodes are expressed in normalised steps."""

import sys
from typing import Final

#: The last minor version of CPython 3 with a table; the first one is 11.
LAST: Final = 15

#: The reason why nothing is traced on the running Python; None if hovis can read its bytecode.
UNREADABLE: str | None = None
if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info[:2] <= (3, LAST):
    UNREADABLE = f"hovis reads the bytecode of CPython 3.11 to 3.{LAST}, not of {sys.implementation.name} {sys.version.split()[0]}"
