"""Type feedback: of what classes the operands of instructions are, and which callables are called, in real calls of a function.

``observe`` calls a function once, under a trace function (``sys.settrace``) that reads the operands from the memory of each frame before an
instruction is executed: the frame's slots and its stack are an array of pointers (``localsplus`` in Include/internal/pycore_frame.h).  What is found
is kept by call path, since a function may be called with one class here, and with another one there (Grove et al., "Profile-guided receiver class
prediction", OOPSLA 1995).

The call must not differ from others.  Classes and callables are held weakly.  Only the main thread observes (CPython 3.12 crashes if
several threads trace), and not near the limit of recursion, or where another trace function is set; and it stops as soon as code is entered that may ask
for trace functions.  A frame that is left or suspended has no trace function any more.
"""

import bisect
import contextlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any, Final

from hovis.base import own_code
from hovis.base.once import once
from hovis.bytecode.decode import decode
from hovis.bytecode.versions import UNREADABLE
from hovis.engine.speculation.observed_operands import Operands, observed
from hovis.ir.operations import PACKAGE
from hovis.lattice import inline_attributes
from hovis.lattice.attribute_slots import WORD, object_at, word
from hovis.lattice.object_words import IS_CPYTHON

own_code.leave_as_calls(__file__)

#: The number of instructions that are observed in all; and how often one is, on each call path.
MOST: Final = 30_000
OFTEN: Final = 32
#: The most classes of an operand that are told apart.
KINDS: Final = 3
#: Calls are observed up to this depth.
DEEP: Final = 100
#: Names in code that may ask for trace functions, or set one.
_ASKING: Final = frozenset({"settrace", "gettrace", "call_tracing", "f_trace", "f_trace_lines", "f_trace_opcodes", "breakpoint", "set_trace"})
#: Offset of the pointer to the interpreter's frame in a frame object, behind that to the outer frame; the offsets at which its slots may begin.
_FRAME: Final = 3 * WORD
#: The bits of a pointer that are no part of an address.
_TAGS: Final = 3
_SLOTS: Final = range(6 * WORD, 16 * WORD, WORD)


class Seen:
    """What was seen of an instruction on a call path: the classes of each operand, and the callee, or the class of the attribute that a store
    replaces, if it was always the same. Classes are told by their addresses; none: too many, or NULL.
    """

    __slots__ = ("_feedback", "_latest", "_other", "_places", "count")

    def __init__(self, feedback: "Feedback", places: tuple[int, ...], other: Callable[[], object] | None) -> None:
        self._feedback = feedback
        self.count, self._latest, self._other = 1, places, other
        self._places: tuple[tuple[int, ...], ...] = tuple([(place,) if place else () for place in places])

    def add(self, places: tuple[int, ...], other: Callable[[], object] | None) -> None:
        """Add what was seen once more."""
        self.count += 1
        if places != self._latest:
            self._latest = places
            self._places = tuple([_together(mine, (place,)) if place else () for mine, place in zip(self._places, places, strict=True)])
        if other is not self._other:
            self._other = None

    def with_others(self, more: "Seen") -> "Seen":
        """Return what was seen on this path and on another one."""
        made = Seen(self._feedback, self._latest, self._other if self._other is more._other else None)
        made.count = self.count + more.count
        made._places = tuple(map(_together, self._places, more._places))
        return made

    @property
    def kinds(self) -> tuple[tuple[type, ...], ...]:
        """The classes of each operand; none: too many, or one of them is gone."""
        return tuple(map(self._feedback.classes, self._places))

    @property
    def callee(self) -> Any:
        """The callee of a call; None if there were several, or if it is gone."""
        return None if self._other is None else self._other()

    @property
    def replaced(self) -> type | None:
        """The class of the value that a store into an attribute replaces; None if there were several, or if it is gone."""
        return self.callee  # type: ignore[no-any-return]


def _together(mine: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    if not mine or not others:
        return ()
    found = mine + tuple([place for place in others if place not in mine])
    return found if len(found) <= KINDS else ()


class _Path:
    """A call path: the calls that have led to a code object. ``trace`` is the trace function of its frames."""

    __slots__ = ("_feedback", "_observed", "_offsets", "depth", "inner", "seen", "trace")

    def __init__(self, feedback: "Feedback", code: CodeType | None, depth: int) -> None:
        self._feedback, self.depth = feedback, depth
        self._observed, self._offsets = ({}, [-1]) if code is None else observed(code)
        #: the paths that lead on from here, by the offset of the call and the code that is called
        self.inner: dict[tuple[int, CodeType], _Path] = {}
        self.seen: dict[int, Seen] = {}
        self.trace: Callable[[FrameType, str, Any], None] = self._step

    def _step(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "return":
            _forget(frame)  # a generator may go on under another trace function
        if event != "opcode":
            return
        feedback = self._feedback
        try:
            feedback.left -= 1
            operands = self._observed.get(frame.f_lasti)
            if operands is not None:
                seen = self.seen.get(frame.f_lasti)
                if seen is None or seen.count < OFTEN:
                    self._look(frame, operands, seen)
        except Exception:  # the program must not see it
            feedback.left = -1
        if feedback.left < 0:
            feedback.stop(frame)

    def called(self, lasti: int, code: CodeType) -> "_Path":
        """Return the path of a frame that this one calls. lasti: where this one stands, perhaps in the cache of the instruction."""
        key = self._offsets[bisect.bisect_right(self._offsets, lasti) - 1], code
        found = self.inner.get(key)
        if found is None:
            found = self.inner[key] = _Path(self._feedback, code, self.depth + 1)
        return found

    def _look(self, frame: FrameType, operands: Operands, seen: Seen | None) -> None:
        """Record the operands of the instruction that the frame is about to execute."""
        feedback = self._feedback
        slots = word(id(frame) + _FRAME) + feedback.offset
        first = slots + WORD * (operands.at - operands.number + 1)
        places = tuple([feedback.class_at(_pointer(at)) for at in range(first, first + WORD * operands.number, WORD)])
        other = None
        if operands.callee is not None and not _pointer(slots + WORD * operands.bound):
            other = feedback.callee_at(_pointer(slots + WORD * operands.callee))
        elif operands.stored is not None:
            other = feedback.class_of_old(object_at(_pointer(slots + WORD * operands.at)), operands.stored)
        if seen is None:
            self.seen[frame.f_lasti] = Seen(feedback, places, other)
        else:
            seen.add(places, other)


class Feedback:
    """What was seen in calls of a function, which ``observe`` makes."""

    __slots__ = ("_anywhere", "_held", "_paths", "active", "left", "offset", "root")

    def __init__(self) -> None:
        #: the number of instructions that are still observed; the offset of the slots in the interpreter's frames
        self.left = MOST
        self.offset = 0
        #: the trace function of the observed call
        self.active: object = None
        self.root = _Path(self, None, 0)
        #: weak references to classes and callables, by their addresses
        self._held: dict[int, Callable[[], object]] = {}
        #: what was seen in each code, whatever the path
        self._anywhere: dict[CodeType, dict[int, Seen]] | None = None
        self._paths: dict[CodeType, _Path | None] | None = None

    def begin(self, offset: int) -> Callable[[FrameType, str, Any], Any]:
        """Prepare for another call, and return the trace function. offset: see the attribute."""
        self.left, self.offset = MOST, offset
        self._anywhere = self._paths = None
        enter = self.active = self.enter
        return enter

    def stop(self, frame: FrameType | None) -> None:
        """Observe no more. frame: the innermost one."""
        if sys.gettrace() is self.active:
            with contextlib.suppress(Exception):  # an audit hook may refuse it
                sys.settrace(None)
        while frame is not None:
            _forget(frame)
            frame = frame.f_back

    def class_at(self, pointer: int) -> int:
        """Return the address of the class of the object at an address; 0 for NULL."""
        if not pointer:
            return 0
        place = word(pointer + WORD)
        if place not in self._held:
            self._hold(place, object_at(place))
        return place

    def _hold(self, place: int, held: object) -> Callable[[], object]:
        found = self._held.get(place)
        if found is None or found() is not held:  # another one was there
            found = self._held[place] = weakref.ref(held)
        return found

    def classes(self, places: Sequence[int]) -> tuple[type, ...]:
        """Return the classes at these addresses; none if one of them is gone."""
        found = [self._held[place]() for place in places]
        return () if any(cls is None for cls in found) else tuple(found)  # type: ignore[arg-type]

    def callee_at(self, pointer: int) -> Callable[[], object] | None:
        """Return a reference to the callable at an address, if it may be assumed to be called again."""
        callee = object_at(pointer)
        kind = type(callee)
        if kind is FunctionType or (kind is BuiltinFunctionType and type(callee.__self__) is ModuleType) or isinstance(callee, type):  # type: ignore[attr-defined]
            return self._hold(pointer, callee)
        return None

    def class_of_old(self, target: object, name: str) -> Callable[[], object] | None:
        """Return a reference to the class of the value of an attribute that is about to be replaced; None if there is none, or reading it may run
        code.
        """
        cls = type(target)
        if type(cls) is not type or not inline_attributes.can_read(cls, name):
            return None
        old = inline_attributes.read(target, name, None)
        return None if old is None else self._hold(id(type(old)), type(old))

    def enter(self, frame: FrameType, event: str, arg: object) -> Any:
        """Begin to observe a frame, or go on with it: the trace function of the thread."""
        code = frame.f_code
        try:
            if code.co_filename.startswith(PACKAGE):
                return None
            outer = frame.f_back
            path = None if outer is None else getattr(outer.f_trace, "__self__", None)
            inner = path.called(outer.f_lasti, code) if type(path) is _Path and outer is not None else self.root.called(-1, code)
            if inner.depth > DEEP or not _ASKING.isdisjoint(code.co_names):
                self.stop(frame)
                return None
        except Exception:  # of code whose constants have no hash, for example
            self.stop(frame)
            return None
        frame.f_trace = inner.trace  # (3.12 and 3.13 trace no instructions of a frame without)
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return inner.trace

    def seen(self, calls: Sequence[tuple[CodeType, int]]) -> Seen | None:
        """Return what was seen of an instruction. calls: the code and the offset of each call that leads to it, and at last of itself."""
        (code, at), *rest = calls
        path = self._only(code)  # of several, the residual may be one for all
        for code, offset in rest:
            path = path and path.inner.get((at, code))
            at = offset
        found = path and path.seen.get(at)
        if found:
            return found
        if self._anywhere is None:
            self._anywhere = _merged(self.root)
        return self._anywhere.get(code, {}).get(at)


    def _only(self, code: CodeType) -> _Path | None:
        """Return the path on which a code object was called, if there was only one."""
        if self._paths is None:
            self._paths = {}
            for code_, path in _paths(self.root):
                self._paths[code_] = None if code_ in self._paths else path
        return self._paths.get(code)


def _pointer(address: int) -> int:
    """Return the address of the object that a slot of an interpreter's frame refers to; 0 for NULL, and for an integer that is no object.

    Since 3.14 the lowest two bits tell what kind of reference it is (Include/internal/pycore_stackref.h).
    """
    found = word(address)
    return 0 if found & _TAGS == _TAGS else found & ~_TAGS


def _forget(frame: FrameType) -> None:
    """Let a frame have no trace function of an observed call any more."""
    if type(getattr(frame.f_trace, "__self__", None)) is _Path:
        frame.f_trace = None
        frame.f_trace_lines, frame.f_trace_opcodes = True, False


def _paths(root: _Path) -> Iterator[tuple[CodeType, _Path]]:
    """Yield all paths, with the code that each has led to."""
    todo = list(root.inner.items())
    while todo:
        (_, code), path = todo.pop()
        todo += list(path.inner.items())
        yield code, path


def _merged(root: _Path) -> dict[CodeType, dict[int, Seen]]:
    """Return what was seen in each code object on all paths."""
    found: dict[CodeType, dict[int, Seen]] = {}
    for code, path in _paths(root):
        whole = found.setdefault(code, {})
        for offset, seen in list(path.seen.items()):
            whole[offset] = whole[offset].with_others(seen) if offset in whole else seen
    return found


def observe(feedback: Feedback, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function, and return its result; add what is seen to the feedback, if the call can be observed."""
    offset = _offset()
    if offset and sys.gettrace() is None and feedback.active is None and threading.get_ident() == threading.main_thread().ident and not _is_deep():
        return _observe(feedback, function, args, kwargs, offset)
    return function(*args, **kwargs)


def _is_deep() -> bool:
    """Is the stack so deep that observing would make a difference?"""
    left = sys.getrecursionlimit() - 2 * DEEP
    frame: FrameType | None = sys._getframe()
    while frame is not None and left > 0:
        left, frame = left - 1, frame.f_back
    return left <= 0


def _observe(feedback: Feedback, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], offset: int) -> Any:
    here, enter = sys._getframe(), feedback.begin(offset)
    here.f_trace_opcodes = True  # (3.12 traces instructions only if a frame asks for it before)
    with contextlib.suppress(Exception):  # an audit hook may refuse it
        sys.settrace(enter)
    here.f_trace_opcodes = False
    try:
        return function(*args, **kwargs)
    finally:
        feedback.stop(None)
        feedback.active = None
        del here  # the frame would hold itself


@once
def _offset() -> int | None:
    """Return the offset of the slots in the interpreter's frames, by experiment; None if operands cannot be observed."""
    offset = _first_slot(object(), object()) if IS_CPYTHON and UNREADABLE is None else None
    if offset is None:
        return None
    feedback = Feedback()
    elsewhere = _sample.__code__.replace(co_filename="<sample>")
    _observe(feedback, FunctionType(elsewhere, {}), [[1, 2], _inner], {}, offset)
    names = {raw.offset: raw.name for raw in decode(elsewhere)}
    seen = {(names[at], *one.kinds, one.callee) for at, one in _merged(feedback.root).get(elsewhere, {}).items()}
    steps = {(name, (GeneratorType,), None) for name in ("GET_ITER", "FOR_ITER")}
    return offset if seen == {("CALL", (list,), _inner), ("BINARY_OP", (float,), (int,), None), *steps} else None


def _sample(items: list[int], inner: Callable[[list[int]], Iterator[int]]) -> None:
    total = 0.5
    for item in inner(items):
        total += item


def _inner(items: list[int]) -> Iterator[int]:
    yield from iter(items)


def _first_slot(first: object, second: object) -> int | None:
    frame = sys._getframe()
    if word(id(frame) + 2 * WORD) not in (0, id(frame.f_back)):  # it is filled in when the frame ends
        return None
    inner = word(id(frame) + _FRAME)
    for at in _SLOTS:
        if _pointer(inner + at) == id(first) and _pointer(inner + at + WORD) == id(second):
            return at
    return None
