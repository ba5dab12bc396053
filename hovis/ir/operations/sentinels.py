"""Sentinels for missing values, and the paths of hovis's own packages."""

import os
from pathlib import Path
from typing import Final


class _Sentinel:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


#: The folder of the package hovis.
PACKAGE: Final = str(Path(__file__).resolve().parents[2]) + os.sep

#: The folders of hovis and hovis_xla, whose frames are not user code.
PACKAGES: Final = (PACKAGE, str(Path(__file__).resolve().parents[2]) + "_xla" + os.sep)


#: The result of ``next(iterator, END)`` if the iterator is exhausted.
END: Final = _Sentinel("END")


#: The contents of an unbound local variable or an empty cell.
UNBOUND: Final = _Sentinel("UNBOUND")
