"""Registry of hovis's own code for the engine: each package or module that is not traced through registers itself here."""
import os
import types
from typing import Final

_left: tuple[str, ...] = ()
_interpreters: tuple[str, ...] = ()
#: Code objects that are entered although their file is registered with :func:`leave_as_calls`.
ENTERED: Final = set[types.CodeType]()


def leave_as_calls(*places: str) -> None:
    """Register files or folders (``__file__``, ``__path__``) whose code is not entered: calls of it stay calls."""
    global _left
    _left += _beginnings(places)


def are_interpreters(*places: str) -> None:
    """Register files or folders whose code interprets programs: it recurses, and yields, as these programs do."""
    global _interpreters
    _interpreters += _beginnings(places)


def _beginnings(places: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(place if place.endswith(".py") else place + os.sep for place in places)


def is_left(filename: str) -> bool:
    """Do calls of code in this file stay calls?"""
    return filename.startswith(_left)


def interprets(filename: str) -> bool:
    """Is this a file of one of hovis's own interpreters?"""
    return filename.startswith(_interpreters)
