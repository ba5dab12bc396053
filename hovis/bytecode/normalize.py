"""Normalisation of a code object to :class:`~hovis.bytecode.instructions.Code`, on any supported version of CPython.

    co_code --decode--> Raw --rows of this version's table--> Step --layout: NULLs erased--> Step --thread--> Code
"""

import importlib
import itertools
import sys
from collections.abc import Sequence
from types import CodeType
from typing import Any

from hovis.base.once import COMPILER
from hovis.bytecode.decode import Raw, decode
from hovis.bytecode.instructions import JUMPS, TERMINAL, Code, Instruction, localsplus
from hovis.bytecode.jump_threading import thread
from hovis.bytecode.stack_layout import NULL, Layout, Step, UnknownLayout, erase, simulate
from hovis.bytecode.versions import UNREADABLE
from hovis.bytecode.versions.opcode_rows import ENTERING, Row, Table, always, one

#: The rows for the running Python; empty if it is not supported.
TABLE: Table = importlib.import_module(f"hovis.bytecode.versions.py3{sys.version_info.minor}").ROWS if UNREADABLE is None else {}

#: Does each call of locals() return a new dict (PEP 667)?
FRESH_LOCALS = sys.version_info >= (3, 13)

#: Are pending signal handlers called before a jump back is taken, so that exceptions of them are caught where those of the jump are? Else they are
#: called at its target, where the exceptions of the instruction before the target are caught.  (Python/ceval.c: CHECK_EVAL_BREAKER comes after JUMPBY
#: before 3.13.)
LOOKS_BEFORE = sys.version_info >= (3, 13)

#: Does a frame that ends release its values from the last one to the first, the top of the stack first? (_PyFrame_ClearLocals in Python/frame.c: before
#: 3.14, the variables come first, in their order.)
LAST_FIRST = sys.version_info >= (3, 14)

#: Do FOR_ITER and SEND take an iterator with NULL above it, or a list or tuple with an index (3.15)?
INDEXED = sys.version_info >= (3, 15)

#: Does the code that makes annotations get the name of its function only when that is made? (Before, there is none; later, it is compiled so.)
ANNOTATE_NAMED_LATER = sys.version_info[:2] == (3, 14)

#: Opcodes of calls, which check for signals at the beginning or the end of the call.
_CALLS = frozenset({"CALL", "CALL_FUNCTION_EX", "CALL_KW"})

#: The slot of the argument of a generator expression. (3.15 makes an iterator of it in the generator expression, before that becomes a generator, and
#: leaves it on the stack: here it stays in the slot until then, so that a generator begins with an empty stack.)
_ITERABLE = 0

#: Ops whose result is always a bool; so is that of Match for a mapping or a sequence.
_BOOLS = frozenset({"Is", "Contains", "Not", "ExcMatch", "ToBool"})

#: The reason for code that the engine traces only when a class is created.
CLASS_BODY = "it is the code of a module or of a class body"
_NAMES = frozenset({"GetName", "SetName", "DelName", "Locals", "GetNameOr"})
_HARMLESS = frozenset({"stopiteration_error", "async_gen_wrap", "setup_annotations"})
_RESTORING = frozenset({"SWAP", "STORE_FAST", "STORE_FAST_STORE_FAST"})
#: The number of an intrinsic (CPython: Include/internal/pycore_intrinsics.h).
_STOPITERATION_ERROR = 3  # Include/internal/pycore_intrinsics.h

#: Maximal number of code objects whose normalised form is kept; the oldest are dropped first.
_LIMIT = 4096
_known: dict[int, Code] = {}


def normalize(code: CodeType) -> Code:
    """Return the normalised form of ``code``, made once for each code object.

    The key is the identity, because equal code objects may come from different places; each Code holds its code object, so
    that no other object can get the same ``id``.
    """
    found = _known.get(id(code))
    if found is None:
        found = _normalize(code)
        with COMPILER:
            while len(_known) >= _LIMIT:
                _known.pop(next(iter(_known)))
            _known[id(code)] = found
    return found


def _normalize(code: CodeType) -> Code:
    if UNREADABLE:
        return Code(code, (), (), UNREADABLE)
    try:
        expansion = Expansion(code)
        instructions, depth = thread(_emit(expansion.steps, expansion.layouts()))
    except UnknownLayout:
        return Code(code, (), (), "its bytecode is not in the form that the compiler writes")
    return Code(code, instructions, depth, _unsupported(code, instructions))


def _unsupported(code: CodeType, instructions: Sequence[Instruction]) -> str | None:
    if code.co_flags & 0x180:  # CO_COROUTINE, and CO_ITERABLE_COROUTINE, which may await one
        return "it is a coroutine"
    if code.co_flags & 0x200:  # CO_ASYNC_GENERATOR
        return "it is an asynchronous generator"
    for op, arg, *_ in instructions:
        if op == "ImportStar":
            return "it imports *"
        if op == "Intrinsic" and arg[0] not in _HARMLESS:
            return f"it uses {arg[0]}"
    return CLASS_BODY if any(i.op in _NAMES or i.arg == ("setup_annotations", 0, 0) for i in instructions) else None


def _without_wrappers(raws: list[Raw]) -> list[Raw]:
    """Redirect instructions past handlers that the compiler adds since 3.12. Two in the code of a generator do what genobject.c did before: a
    StopIteration that leaves it becomes a RuntimeError, and one out of the receiver of a ``yield from`` becomes its result; the engine does
    that. A third restores the variables of an inlined comprehension: if nothing else in the code handles the exception, nobody reads them any
    more.
    """
    for raw in raws:
        while raw.handler >= 0:
            handler = raws[raw.handler]
            if handler.name == "CLEANUP_THROW":
                raw.handler, raw.entry = handler.handler, handler.entry
            elif (handler.name == "CALL_INTRINSIC_1" and handler.arg == _STOPITERATION_ERROR) or _only_restores(raws, raw.handler):
                raw.handler, raw.entry = -1, None
            else:
                break
    return raws


def _only_restores(raws: list[Raw], at: int) -> bool:
    """Is ``at`` the handler of an inlined comprehension (PEP 709), and does the exception leave the code from there?"""
    while at >= 0 and [raw.name for raw in raws[at : at + 2]] == ["SWAP", "POP_TOP"]:
        outer = raws[at].handler
        at += 2
        while raws[at].name in _RESTORING:
            at += 1
        if raws[at].name != "RERAISE":
            return False
        at = outer
    return at < 0


#: What the compiler emits where a ``with`` statement begins (3.14): ``__exit__`` and its receiver go below the manager, then ``__enter__`` is called.
_ENTERING = (("COPY", 1), ("LOAD_SPECIAL", 1), ("SWAP", 2), ("SWAP", 3), ("LOAD_SPECIAL", 0), ("CALL", 0))


def _entered_at_once(raws: list[Raw]) -> list[Raw]:
    """Make one instruction of those with which a ``with`` statement begins."""
    for at, raw in enumerate(raws):
        if raw.name == "LOAD_SPECIAL" and raw.arg == 1 and tuple([(one.name, one.arg) for one in raws[at - 1 : at + 5]]) == _ENTERING:
            raws[at - 1].name, raws[at - 1].arg = "LOAD_SPECIAL", ENTERING
            for one in raws[at : at + 5]:
                one.name = "NOP"
    return raws


def _has_slice(held: object) -> bool:
    return type(held) is slice or (type(held) is tuple and any(map(_has_slice, held)))


def _built(held: Any) -> Row:
    """Return the steps that build a constant slice, or a constant tuple with one, as the compiler did before 3.14."""
    if type(held) is slice:
        parts = (held.start, held.stop) if held.step is None else (held.start, held.stop, held.step)
        return (*[("Const", always(part)) for part in parts], ("BuildSlice", always(len(parts))))
    if not _has_slice(held):
        return one("Const", always(held))
    return (*itertools.chain.from_iterable(map(_built, held)), ("Build", always(("tuple", len(held)))))


class Expansion:
    """The steps of a code object: each CPython instruction is expanded by its row, then jumps are resolved to steps."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.raws = _entered_at_once(_without_wrappers(decode(code)))
        self.steps: list[Step] = []
        self._at = 0
        self._targets = {raw.target for raw in self.raws} | {raw.handler for raw in self.raws}
        self.starts: list[int] = []
        self._sends: dict[int, Step] = {}  # target -> the Send that pops its receiver when it goes there
        self._ends: dict[int, int] = {}  # target -> the EndSend put before it
        for raw in self.raws:
            self._expand(raw)
            self._at += 1
        self._resolve()

    def layouts(self) -> list[Layout | None]:
        """Compute the stack layout before each step; None if it is unreachable."""
        free = len(self.code.co_freevars)
        return simulate(self.steps, ((1 << free) - 1) << (len(localsplus(self.code)) - free))

    def keywords(self) -> tuple[str, ...]:
        """Return the names that a KW_NAMES gives for the call being expanded, or ()."""
        at = self._at - 1
        while self.raws[at].name == "PRECALL":
            at -= 1
        raw = self.raws[at]
        names: tuple[str, ...] = self.code.co_consts[raw.arg] if raw.name == "KW_NAMES" else ()
        return names

    def take_constant(self) -> Any:
        """Remove the previous step, which pushes a constant, and return the constant."""
        step = self.steps.pop()
        if step.op != "Const":
            raise UnknownLayout
        return step.arg

    def _expand(self, raw: Raw) -> None:
        if self._at in self._sends:
            self._end_send(self._sends[self._at])
        self.starts.append(len(self.steps))
        row = TABLE.get(raw.name)
        if row is None:
            raise UnknownLayout
        before = self.raws[self._at - 1].name if self._at else ""
        if raw.name == "RETURN_GENERATOR" and before == "GET_ITER":
            self.steps += [Step("Pop", None, raw), Step("SetLocal", _ITERABLE, raw)]
        if raw.name == "LOAD_CONST" and _has_slice(self.code.co_consts[raw.arg]):
            row = _built(self.code.co_consts[raw.arg])
        for op, recipe in row if type(row) is tuple else row(raw.arg):  # type: ignore[operator]
            arg = recipe(self, raw.arg)
            if op == "Truth":
                if self._surely_bool():
                    continue
                op = "ToBool"
            step = Step(op, arg, raw)
            if raw.target is not None and op in JUMPS:
                step.target = raw.target + (arg if op == "ForIter" else 0)
                if raw.target <= self._at and "NO_INTERRUPT" not in raw.name:
                    step.polled = self._polled_at(raw, raw.target)
                if op == "Send" and arg:
                    self._sends[step.target] = step
            self.steps.append(step)
        if before == "RETURN_GENERATOR" and self.raws[self._at - 2].name == "GET_ITER":
            self.steps += [Step("GetLocal", _ITERABLE, raw), Step("Null", None, raw)]

    def _polled_at(self, jump: Raw, head: int) -> Raw:
        """Return the instruction whose exception handler CPython uses for exceptions that a signal handler raises at a jump back, or in the
        calls of the loop, which may be inlined.

        Not every jump inside a try statement is covered by its handler: before 3.13 jumps to its first instruction are not, since then some of the last.
        """
        first = self.raws[head]
        within = first.entry is not None and any(
            one.name in _CALLS and one.entry is not None and one.entry.target == first.entry.target for one in self.raws[head : self._at]
        )
        return first if within else jump if LOOKS_BEFORE else self.raws[head - 1]

    def _surely_bool(self) -> bool:
        """Whether the top of the stack is a bool, as far as the step before shows."""
        if not self.steps or self._at in self._targets:
            return False
        before = self.steps[-1]
        return before.op in _BOOLS or (before.op == "Match" and before.arg[0] in ("mapping", "sequence"))

    def _end_send(self, send: Step) -> None:
        """Put an EndSend before the target of a SEND that pops its receiver, for that edge alone."""
        if self.steps[-1].op not in TERMINAL:
            self.steps.append(Step("Jump", None, send.raw, self._at))
        self._ends[self._at] = len(self.steps)
        self.steps.append(Step("EndSend", None, send.raw))

    def _resolve(self) -> None:
        for step in self.steps:
            if step.op == "Send" and step.arg:
                step.target = self._ends[step.target]
            elif step.target >= 0:
                step.target = self.starts[step.target]
            if step.raw.handler >= 0:
                step.handler = self.starts[step.raw.handler]
            if step.polled is not None and step.polled.handler >= 0:
                step.poll = self.starts[step.polled.handler]


def _emit(steps: Sequence[Step], layouts: Sequence[Layout | None]) -> list[Step]:
    """Return the reachable steps without NULLs, with all indexes renumbered to those of the result."""
    emitted: list[Step] = []
    index = []
    for step, layout in zip(steps, layouts):
        index.append(len(emitted))
        erased = None if layout is None else erase(step, layout)
        if layout is not None and erased is not None:
            stack, entry = layout.stack, step.raw.entry
            step.op, step.arg = erased
            step.depth = len(stack) - stack.count(NULL)
            step.handler_depth = 0 if entry is None else layout.height(entry.depth)
            if step.polled is not None and step.polled.entry is not None:
                step.poll_depth = layout.height(step.polled.entry.depth)
            emitted.append(step)
    for step in emitted:
        if step.target >= 0:
            step.target = index[step.target]
        if step.handler >= 0:
            step.handler = index[step.handler]
        if step.poll >= 0:
            step.poll = index[step.poll]
    return emitted
