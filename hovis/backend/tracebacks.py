"""Tracebacks out of residuals: the frames of inlined functions are put back.

A residual is one code object, that of the outermost user function.  When an exception passes, a table tells for the
raising instruction which inlined calls it stood in; for each an entry is inserted into the traceback, over a frame
whose code has the right file, name and lines.  Entries of hovis' own helpers are taken out.
"""

import bisect
import functools
import sys
from collections.abc import Callable, Generator
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Final

from hovis.backend.line_table import one_position
from hovis.ir.model import Location
from hovis.ir.operations import PACKAGE, PACKAGES

#: What the helpers in hovis.ir.operations compile on the way.
_SCRATCH: Final = frozenset({"<string>", "<match>"})

#: Stands in the constants of the code of every frame that was put back.
_PUT_BACK: Final = "hovis: an inlined call"


def _stub() -> Generator[None]:
    yield


_getframe: Final = sys._getframe


def outline(location: Location | None) -> tuple[Location, ...]:
    """The location's chain without what lies in hovis itself, outermost first."""
    if location is None:
        return ()
    return tuple(at for at in location.chain() if not at.file.startswith(PACKAGE))[::-1]


@functools.lru_cache(maxsize=4096)
def _stub_code(file: str, function: str, first_line: int, position: tuple[int | None, int | None, int | None, int | None]) -> CodeType:
    template = _stub.__code__
    return template.replace(
        co_filename=file,
        co_name=function.rpartition(".")[2],
        co_qualname=function,
        co_firstlineno=first_line,
        co_linetable=one_position(len(template.co_code) // 2, first_line, position),
        co_consts=(None, _PUT_BACK),
    )


def _scope(file: str, frame: FrameType) -> dict[str, object]:
    """The globals of code that stands in a file: where its lines are looked for, and names like one that is missing."""
    if frame.f_code.co_filename == file:
        return frame.f_globals
    module = sys.modules.get(_home(file))
    return {} if module is None else vars(module)


@functools.lru_cache(maxsize=1024)
def _home(file: str) -> str:
    """The name of the module that is loaded from a file."""
    found = (name for name, module in list(sys.modules.items()) if getattr(module, "__dict__", {}).get("__file__") == file)
    return next(found, "")


class _Inlined:
    """An inlined call that stands in tracebacks of one residual."""

    __slots__ = ("at", "line", "stub")

    def __init__(self, at: Location) -> None:
        self.at = at
        self.line = at.first_line if at.line is None else at.line
        #: makes frames that say ``at``
        self.stub: FunctionType | None = None

    def entry(self, rest: TracebackType | None, frame: FrameType) -> TracebackType:
        """A traceback entry, put in by the residual with that frame."""
        watching = sys.gettrace()
        if watching is not None:
            # a debugger is not to see how the frame comes about
            sys.settrace(None)
        # the frame of a generator has no caller: that of a function would keep these frames alive, and the exception with them
        made = (self.stub or self._stub(frame))().gi_frame
        if watching is not None:
            sys.settrace(watching)
        return TracebackType(rest, made, 0, self.line)

    def _stub(self, frame: FrameType) -> FunctionType:
        at = self.at
        scope = _scope(at.file, frame)
        stub = FunctionType(_stub_code(at.file, at.function, at.first_line, (at.line, at.end_line, at.col, at.end_col)), scope)
        if scope:
            self.stub = stub
        return stub


def _put_back(code: CodeType) -> bool:
    return code.co_consts[-1:] == (_PUT_BACK,)


class Tracebacks:
    """Called by a residual with an exception that passes through it: repairs the traceback in place."""

    __slots__ = ("chains", "starts")

    def __init__(self) -> None:
        #: offsets in bytes where the inlined calls change, and from there on: has the residual an entry of its own, and
        #: what are the calls, outermost first
        self.starts: list[int] = []
        self.chains: list[tuple[bool, tuple[_Inlined, ...]]] = []

    def fill(self, offsets: list[int], places: list[object], chain: Callable[[object], tuple[bool, tuple[Location, ...]]]) -> None:
        """Remember which instruction stands where."""
        last: object = self
        for offset, place in zip(offsets, places, strict=False):
            if place is not last:
                last = place
                self.starts.append(2 * offset)
                shown, calls = chain(place)
                self.chains.append((shown, tuple(map(_Inlined, calls))))

    def __call__(self, exception: BaseException) -> None:
        """The residual's own entries stand first, those of what it called (or put back earlier) behind."""
        frame = _getframe(1)
        trace = exception.__traceback__
        if trace is None or trace.tb_frame is not frame:
            return
        exception.__traceback__ = self._repair(trace, frame)
        # what was caught here on the way may never have been looked at so far
        at = exception.__cause__ or exception.__context__
        seen = {id(exception)}
        while at is not None and id(at) not in seen:
            seen.add(id(at))
            trace = at.__traceback__
            if trace is None or trace.tb_frame is not frame:
                break
            at.__traceback__ = self._repair(trace, frame)
            at = at.__cause__ or at.__context__

    def _repair(self, trace: TracebackType, frame: FrameType) -> TracebackType | None:
        """The traceback with the entries of this frame set right; those that have been are told by an odd offset."""
        first: TracebackType | None = trace
        before: TracebackType | None = None
        at: TracebackType | None = trace
        while at is not None and (at.tb_frame is frame or _put_back(at.tb_frame.f_code)):
            if at.tb_frame is frame and not at.tb_lasti & 1:
                right, last = self._right(at)
                if before is None:
                    first = right
                else:
                    before.tb_next = right
                if last is None:
                    at = right
                    continue
                at = last
            before, at = at, at.tb_next
        return first

    def _right(self, at: TracebackType) -> tuple[TracebackType | None, TracebackType | None]:
        """An entry with those of the inlined calls behind it; without itself, where it is none of the user's.  And the last one of these."""
        rest = at.tb_next if at.tb_next is None else _without_helpers(at.tb_next)
        frame = at.tb_frame
        shown, chain = self.chains[bisect.bisect_right(self.starts, at.tb_lasti) - 1]
        last: TracebackType | None = None
        for place in reversed(chain):
            rest = place.entry(rest, frame)
            last = last or rest
        if shown:
            rest = TracebackType(rest, frame, at.tb_lasti | 1, at.tb_lineno or frame.f_code.co_firstlineno)
            last = last or rest
        return rest, last


class Trim:
    """Called with an exception that is caught in an inlined call: the calls around that are not in its traceback (yet)."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, exception: BaseException) -> None:
        trace = exception.__traceback__
        if trace is not None and trace.tb_frame is _getframe(1):
            for _ in range(self.count):
                if trace is not None:
                    trace = trace.tb_next
            exception.__traceback__ = trace


class Untrim:
    """Called with an exception that leaves inlined calls: those that it passes stand in its traceback now."""

    __slots__ = ("chain",)

    def __init__(self, chain: tuple[Location, ...]) -> None:
        self.chain = tuple(map(_Inlined, chain))

    def __call__(self, exception: BaseException) -> None:
        trace, frame = exception.__traceback__, _getframe(1)
        if trace is None or trace.tb_frame is not frame:
            for at in reversed(self.chain):
                trace = at.entry(trace, frame)
            exception.__traceback__ = trace


def hide() -> None:
    """The exception that is being handled loses the entries of hovis itself in front; a bare raise adds none."""
    exception = sys.exception()
    assert exception is not None
    trace = exception.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(PACKAGES):
        trace = trace.tb_next
    exception.__traceback__ = trace


def _without_helpers(trace: TracebackType | None) -> TracebackType | None:
    """What comes behind the entries of hovis itself."""
    inside = False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(PACKAGES) or (inside and file in _SCRATCH):
            inside = True
            trace = trace.tb_next
        else:
            break
    return trace
