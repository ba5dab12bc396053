"""Repair of tracebacks out of residuals: insert the frames of inlined functions.

A residual is one code object, that of the outermost user function.  When an exception passes through it, a table maps the
raising instruction to the inlined calls around it; for each of them an entry is inserted into the traceback, with a frame
whose code has the right file, name and lines.  Entries of hovis' own helpers are removed.
"""

import bisect
import functools
import sys
from collections.abc import Callable, Generator
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import TYPE_CHECKING, Final

from hovis.bytecode.decode import location_of
from hovis.bytecode.resumption.continuation import MODELS
from hovis.bytecode.versions import UNREADABLE
from hovis.ir.model import Location
from hovis.ir.operations import PACKAGE, PACKAGES

if TYPE_CHECKING or UNREADABLE is None:  # see hovis.bytecode.decode
    from bytecode import ConcreteBytecode, ConcreteInstr

#: File names of the code that helpers in hovis.ir.operations compile temporarily, and of continued models.
_SCRATCH: Final = frozenset({"<hovis>", MODELS})

#: Marker in the constants of the code of every inserted frame.
_PUT_BACK: Final = "hovis: an inlined call"


def _stub() -> Generator[None]:
    yield


_getframe: Final = sys._getframe


def outline(location: Location | None) -> tuple[Location, ...]:
    """Return the call chain of location without the places inside hovis itself, outermost first."""
    if location is None:
        return ()
    return tuple(at for at in location.chain() if not at.file.startswith(PACKAGE))[::-1]


@functools.lru_cache(maxsize=4096)
def _stub_code(file: str, function: str, first_line: int, position: tuple[int | None, int | None, int | None, int | None]) -> CodeType:
    code = ConcreteBytecode.from_code(_stub.__code__, extended_arg=True)
    place = location_of(position)
    code[:] = [ConcreteInstr(one.name, one.arg, location=place) for one in code]
    code.filename, code.name, code.qualname, code.first_lineno = file, function.rpartition(".")[2], function, first_line
    code.consts = [None, _PUT_BACK]
    return code.to_code(_stub.__code__.co_stacksize, compute_exception_stack_depths=False)


def _scope(file: str, frame: FrameType) -> dict[str, object]:
    """Return the globals for code of the given file (empty if no loaded module has that file). Tracebacks look there for source lines, and for
    names similar to a missing one.
    """
    if frame.f_code.co_filename == file:
        return frame.f_globals
    module = sys.modules.get(_home(file))
    return {} if module is None else vars(module)


@functools.lru_cache(maxsize=1024)
def _home(file: str) -> str:
    """Return the name of the loaded module whose ``__file__`` is file, or an empty string."""
    found = (name for name, module in list(sys.modules.items()) if getattr(module, "__dict__", {}).get("__file__") == file)
    return next(found, "")


class _Inlined:
    """An inlined call that appears in the tracebacks of one residual."""

    __slots__ = ("at", "line", "stub")

    def __init__(self, at: Location) -> None:
        self.at = at
        self.line = at.first_line if at.line is None else at.line
        #: generator function whose frames have the location ``at``
        self.stub: FunctionType | None = None

    def entry(self, rest: TracebackType | None, frame: FrameType) -> TracebackType:
        """Create the traceback entry of this call, followed by rest; frame is that of the residual."""
        watching = sys.gettrace()
        if watching is not None:
            # hide the creation of the frame from a debugger
            sys.settrace(None)
        # a generator's frame has no caller; a function's frame would keep its callers' frames alive, and with them the exception
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
    """Listener that a residual calls with each exception that passes through it; repairs the traceback in place."""

    __slots__ = ("chains", "starts")

    def __init__(self) -> None:
        #: offsets in bytes where the inlined calls change; ``chains``, from each offset on: does the residual have an entry of its own,
        #: and the inlined calls, outermost first
        self.starts: list[int] = []
        self.chains: list[tuple[bool, tuple[_Inlined, ...]]] = []

    def fill(self, offsets: list[int], places: list[object], chain: Callable[[object], tuple[bool, tuple[Location, ...]]]) -> None:
        """Record which inlined calls surround each instruction; chain gives them for the place of an instruction."""
        last: object = self
        for offset, place in zip(offsets, places, strict=False):
            if place is not last:
                last = place
                self.starts.append(2 * offset)
                shown, calls = chain(place)
                self.chains.append((shown, tuple(map(_Inlined, calls))))

    def __call__(self, exception: BaseException) -> None:
        """Repair the traceback of exception, and of its causes or contexts that were caught in the same frame. The residual's own entries stand
        first, followed by those of the functions it called and those that were inserted earlier.
        """
        frame = _getframe(1)
        trace = exception.__traceback__
        if trace is None or trace.tb_frame is not frame:
            return
        exception.__traceback__ = self._repair(trace, frame)
        # exceptions that were caught here before may not have been repaired yet
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
        """Return the traceback with the entries of this frame corrected. An entry that has been corrected already has an odd ``tb_lasti``."""
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
        """Replace one entry by its correct ones: the entry itself (unless its place is not in user code), followed by those of the inlined
        calls. Return the new chain and the last correct entry (None if there is none).
        """
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
    """Listener called with an exception that is caught in an inlined call: removes the entries of the surrounding calls, which are not in its
    traceback (yet).
    """

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
    """Listener called with an exception that leaves inlined calls: adds the entries of the calls that it passes to its traceback."""

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
    """Remove the leading entries of hovis itself from the traceback of the exception that is being handled; a bare ``raise`` adds none."""
    exception = sys.exception()
    assert exception is not None
    exception.__traceback__ = _without_helpers(exception.__traceback__)


def _without_helpers(trace: TracebackType | None) -> TracebackType | None:
    """Return the part of the traceback after the leading entries of hovis itself."""
    inside = False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(PACKAGES) or (inside and file in _SCRATCH):
            inside = True
            trace = trace.tb_next
        else:
            break
    return trace
