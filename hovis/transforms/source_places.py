"""Where in the user's source an op stands, for people to read."""

import os

from hovis.ir.model import Location, Op
from hovis.ir.operations import PACKAGE


def place(op: Op) -> str:
    """The file and the line of the user's own code that an op comes from."""
    return where(op.location)


def where(location: Location | None) -> str:
    """The file and the line of the user's own code that is at a location."""
    for at in location.chain() if location is not None else ():
        if not at.file.startswith(PACKAGE):
            return f"{min(at.file, os.path.relpath(at.file), key=len) if os.path.isabs(at.file) else at.file}:{at.line}"
    return "a place that is not known"


def told(op: Op) -> str:
    """What an op calls, and where."""
    name = getattr(op.callee, "__qualname__", None) or getattr(op.callee, "__name__", None) or repr(op.callee)
    module = getattr(op.callee, "__module__", None)
    whole = f"{module}.{name}" if module and module not in ("builtins", "_operator") else str(name)
    return f"{whole} ({place(op)})"
