"""What stands where there is no value."""

import os
from pathlib import Path
from typing import Final


class _Sentinel:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


#: Where hovis itself lives.
PACKAGE: Final = str(Path(__file__).resolve().parents[2]) + os.sep

#: The same, with that of the package beside it: no frame of theirs is the user's.
PACKAGES: Final = (PACKAGE, str(Path(__file__).resolve().parents[2]) + "_xla" + os.sep)


#: What ``next(iterator, END)`` gives when the iterator is exhausted.
END: Final = _Sentinel("END")


#: The contents of a local or a cell that is not bound.
UNBOUND: Final = _Sentinel("UNBOUND")
