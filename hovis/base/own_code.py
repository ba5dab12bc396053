"""What hovis's own code is to the engine that traces programs: each package and module that is not traced through says so itself."""
import os
import types
from typing import Final

_left: tuple[str, ...] = ()
_interpreters: tuple[str, ...] = ()
#: Code of such modules that is entered all the same.
ENTERED: Final = set[types.CodeType]()


def leave_as_calls(*places: str) -> None:
    """Calls of code in these files, or folders (``__file__``, ``__path__``), stay calls."""
    global _left
    _left += _beginnings(places)


def are_interpreters(*places: str) -> None:
    """The code in these files, or folders, interprets programs: it recurses, and yields, as these do."""
    global _interpreters
    _interpreters += _beginnings(places)


def _beginnings(places: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(place if place.endswith(".py") else place + os.sep for place in places)


def is_left(filename: str) -> bool:
    """Do calls of code in this file stay calls?"""
    return filename.startswith(_left)


def interprets(filename: str) -> bool:
    """Is it the file of an interpreter of hovis's own?"""
    return filename.startswith(_interpreters)
