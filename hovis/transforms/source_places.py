"""Describe where in the user's source an op stands, in readable form."""

import os

from hovis.ir.model import Location, Op
from hovis.ir.operations import PACKAGE


def place(op: Op) -> str:
    """Return the file and line of the user code that op comes from."""
    return where(op.location)


def where(location: Location | None) -> str:
    """Return the file and line of the user code at a location."""
    for at in location.chain() if location is not None else ():
        if not at.file.startswith(PACKAGE):
            return f"{min(at.file, os.path.relpath(at.file), key=len) if os.path.isabs(at.file) else at.file}:{at.line}"
    return "a place that is not known"


def told(op: Op) -> str:
    """Return the name of the callee of op, with its place in the user's source."""
    name = getattr(op.callee, "__qualname__", None) or getattr(op.callee, "__name__", None) or repr(op.callee)
    module = getattr(op.callee, "__module__", None)
    whole = f"{module}.{name}" if module and module not in ("builtins", "_operator") else str(name)
    return f"{whole} ({place(op)})"
