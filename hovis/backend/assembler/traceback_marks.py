"""Places where a traceback would be wrong: ops of inlined code, and calls of helpers of hovis."""

from types import FunctionType
from typing import Final

from hovis.backend.assembler.liveness import Flow, Sightings
from hovis.backend.assembler.selection.selection_rules import Rule
from hovis.backend.tracebacks import outline
from hovis.ir.model import Function, Location, Op, Operand, Raise, Value
from hovis.ir.operations import PACKAGE, bind, current_exception, drop, keep, make_exception, with_attribute

#: Helpers that are never called.
_SILENT: Final = (drop, keep, current_exception, bind, make_exception, with_attribute)


class Marks:
    """The ops in inlined code, and those that call a helper of hovis: there tracebacks have to be repaired."""

    def __init__(self, function: Function, flow: Flow, mends: bool) -> None:
        self._flow = flow
        self._mends = mends
        at = function.location
        #: a function of hovis itself has no entry of its own in a traceback
        self._hidden = at is not None and at.file.startswith(PACKAGE)
        self._outlines: dict[int, tuple[Location, ...]] = {}
        self._sightings: Sightings | None = None
        #: ops that became instructions: their callee is not called
        self.ruled: dict[Op, Rule | None] = {}

    def outline(self, place: object) -> tuple[Location, ...]:
        """Return the user's calls around a place, outermost first."""
        if not isinstance(place, Location):
            return ()
        found = self._outlines.get(id(place))
        if found is None:
            found = self._outlines[id(place)] = outline(place)
        return found

    def inner(self, place: object) -> tuple[bool, tuple[Location, ...]]:
        """Return whether the residual itself has a traceback entry at place, and the inlined calls around place, outermost first."""
        if self.foremost(place):
            return False, ()
        return (False, self.outline(place)) if self._hidden and self.outline(place) else (True, self.outline(place)[1:])

    def foremost(self, place: object) -> bool:
        """Is place in hovis itself, without user code around it (the call of an original)?"""
        return isinstance(place, Location) and not self.outline(place)

    def inlined(self, location: Location | None) -> bool:
        """Is location in a function that was inlined?"""
        if location is None:
            return False
        return (location.caller is not None and len(self.outline(location)) > 1) or (self._hidden and bool(self.outline(location)))

    def marked(self, op: Op) -> bool:
        """Would a traceback that begins at op be wrong?"""
        if self.inlined(op.location) or self.foremost(op.location):
            return True
        callee = op.callee
        if type(callee) is not FunctionType or not callee.__code__.co_filename.startswith(PACKAGE) or callee in _SILENT:
            return False
        rule = self.ruled.get(op)
        return rule is None or rule.may_call

    def any(self) -> bool:
        """Does the function contain any op whose traceback has to be repaired?"""
        return self._mends and any(
            any(map(self.marked, block.all_ops())) or (isinstance(block.terminator, Raise) and self.inlined(block.terminator.location))
            for block in self._flow.order
        )

    def watched(self, op: Op, exception: Value | None = None) -> bool:
        """Is op marked, and may the traceback of its exception be inspected? exception is the value that holds the exception (None: op itself)."""
        return self.marked(op) and self._seen().of(op if exception is None else exception)

    def trimmed(self, exit: Op, value: Operand) -> int | None:
        """As ``Sightings.trimmed``."""
        return self._seen().trimmed(exit, value)

    def _seen(self) -> Sightings:
        if self._sightings is None:
            self._sightings = Sightings(self._flow)
        return self._sightings
