"""The normalised instructions: one small set for all supported versions of CPython.

:data:`OPS` expresses the about 135 opcodes of CPython's ``Python/bytecodes.c`` (3.12+) and ``Python/ceval.c`` (3.11).
The stack picture of an op is also its definition: :func:`effect` counts the words on both sides of the arrow.
"""

from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, Final, NamedTuple, TypeAlias

from hovis.bytecode import blocks

Position: TypeAlias = tuple[int | None, int | None, int | None, int | None]


class Handler(NamedTuple):
    """The target of an exception edge: cut the stack to ``depth``, push the last offset if ``lasti``, push the exception."""

    target: int
    depth: int
    lasti: bool


class Instruction(NamedTuple):
    """One normalised instruction; ``offset`` is that of the CPython instruction it came from.

    polls: it jumps back, and CPython calls the handlers of pending signals there; ``poll`` is the exception handler for what they raise.
    """

    op: str
    arg: Any
    position: Position
    handler: Handler | None
    offset: int
    polls: bool = False
    poll: Handler | None = None


#: ``stack before -> stack after: meaning``; the top of the stack is on the right, ``*`` stands for a number of values that depends on ``arg``.
OPS: dict[str, str] = {
    # Constants and locals; a slot is an index into Code.names.
    "Const": "-> k: the constant itself",
    "GetLocal": "-> v: the slot, UnboundLocalError if it is unbound",
    "SetLocal": "v ->: the slot; may put back what TakeLocal took: a cell, or nothing",
    "DelLocal": "->: unbind the slot, UnboundLocalError if it is unbound",
    "TakeLocal": "-> v: whatever the slot holds, a cell or nothing too, leaving it unbound",
    "MakeCell": "->: wrap the slot's value, if it has one, in a new cell",
    "GetCell": "-> v: the cell's contents; if empty, UnboundLocalError for an own cell, NameError for a free one",
    "SetCell": "v ->: the contents of the slot's cell",
    "DelCell": "->: empty the slot's cell; an empty one as for GetCell",
    "CellRef": "-> cell: the slot's cell itself",
    # Names.
    "GetGlobal": "-> v: a global or a builtin",
    "SetGlobal": "v ->: a global",
    "DelGlobal": "->: a global",
    "GetName": "-> v: a name of a class body: local, global or builtin",
    "SetName": "v ->: a name of a class body",
    "DelName": "->: a name of a class body",
    "Locals": "-> mapping: the namespace of a class body",
    "GetNameOr": "mapping -> v: (name, 'global' | 'cell', slot or None): from the mapping, else from there",
    # The stack.
    "Pop": "v ->: drop",
    "Copy": "-> v: push again what is arg deep, 1 being the top",
    "Swap": "->: the top and what is arg deep, 2 being the one below the top",
    # Operators.
    "Unary": "v -> r: 'neg', 'pos' or 'invert'",
    "Not": "bool -> bool",
    "ToBool": "v -> bool",
    "Binary": "a b -> r: an operator such as '+'",
    "Inplace": "a b -> r: the same, in place",
    "Compare": "a b -> r: an ordering or equality such as '<='; the result may be anything",
    "Is": "a b -> bool: arg inverts",
    "Contains": "item container -> bool: arg inverts",
    # Attributes and items.
    "GetAttr": "o -> v",
    "GetMethod": "o -> v: as GetAttr, and a Call follows",
    "GetSuper": "super cls self -> v: (name, is_method, two_arg), the attribute of super()",
    "SetAttr": "value o ->",
    "DelAttr": "o ->",
    "GetItem": "o k -> v",
    "SetItem": "value o k ->",
    "DelItem": "o k ->",
    # Containers.
    "BuildSlice": "* -> slice: of arg parts",
    "Build": "* -> v: (kind, n); 'tuple', 'list', 'set', 'string': n values; 'map': n pairs; 'constmap': n is the keys; 'template': 2; "
    "'interpolation': (conversion, is there a specification?)",
    "Append": "* ->: (kind, i): 'list', 'set': a value, 'map': a key and a value, to what is then i deep",
    "Extend": "v ->: ('list' | 'set' | 'dict_update' | 'dict_merge', i): what is then i deep, by v",
    "ListToTuple": "list -> tuple",
    "Unpack": "seq -> *: exactly arg values, the first on top",
    "UnpackEx": "seq -> *: (before, after), with a list between, the first on top",
    "Convert": "v -> str: 's', 'r' or 'a'",
    "Format": "* -> str: a value, and a specification if arg",
    # Calls and functions.
    "Call": "* -> r: (n positional, names of keywords): callable, positionals, values of the keywords",
    "CallEx": "* -> r: callable, iterable of positionals, a mapping if arg",
    "MakeFunction": "* -> f: the values of the attributes in arg, deepest first, then the code",
    "SetFunctionAttr": "v f -> f: one attribute: 'defaults', 'kwdefaults', 'annotations', 'annotate' or 'closure'",
    "BuildClass": "-> f: builtins.__build_class__",
    "Import": "level fromlist -> module",
    "ImportFrom": "module -> module v",
    "ImportStar": "module ->: all its names",
    # Control.
    "Jump": "->: to arg",
    "Branch": "v ->: (cond, L): to L if the bool is 'true' or 'false', or the value is 'none' or 'not_none'",
    "GetIter": "o -> it",
    "ForIter": "it -> it v: or to arg without the iterator, if that has ended",
    "Return": "v ->",
    # Exceptions.
    "Raise": "* ->: arg of exception and cause",
    "Reraise": "exc ->: with the traceback reset to the offset that is arg below it, if arg is not 0",
    "PushExc": "exc -> previous exc: now it is the one being handled",
    "PopExc": "previous ->: handled",
    "ExcMatch": "exc cls -> exc bool",
    "EgMatch": "exc cls -> rest match",
    "PrepReraiseStar": "original excs -> exc",
    "WithEnter": "manager -> exit r",
    "WithExitExc": "exit lasti previous exc -> exit lasti previous exc r",
    # Matching.
    "Match": "* -> *: ('class', n): o cls names -> values or None; 'mapping', 'sequence': o -> o bool; "
    "'keys': o keys -> o keys values or None",
    "GetLen": "o -> o n",
    # Generators.
    "MakeGenerator": "-> sent: the frame becomes a generator, which is the result of the call; resumed, it goes on behind",
    "Yield": "v -> sent",
    "Send": "receiver v -> receiver r: or to arg with [receiver, returned value], if the receiver has ended",
    "EndSend": "receiver v -> v",
    "GetYieldFromIter": "o -> it",
    "CleanupThrow": "receiver sent exc -> none v: never reached, see normalize",
    # The rest.
    "Intrinsic": "* -> *: (name, n popped, n pushed)",
}

#: The kinds of Build that do not take a number of values.
_BUILT: dict[str, Callable[[Any], int]] = {
    "constmap": len,
    "map": lambda pairs: 2 * pairs,
    "interpolation": lambda arg: 2 + arg[1],
}

#: The ops whose effect depends on ``arg``: how many values each pops and pushes.
_VARIABLE: dict[str, Callable[[Any], tuple[int, int]]] = {
    "BuildSlice": lambda n: (n, 1),
    "Build": lambda arg: (_BUILT[arg[0]](arg[1]) if arg[0] in _BUILT else arg[1], 1),
    "Append": lambda arg: (2 if arg[0] == "map" else 1, 0),
    "Unpack": lambda n: (1, n),
    "UnpackEx": lambda arg: (1, arg[0] + 1 + arg[1]),
    "Format": lambda has_spec: (1 + has_spec, 1),
    "Call": lambda arg: (1 + arg[0] + len(arg[1]), 1),
    "CallEx": lambda has_kwargs: (2 + has_kwargs, 1),
    "MakeFunction": lambda attrs: (1 + len(attrs), 1),
    "Raise": lambda n: (n, 0),
    "Match": lambda arg: {"class": (3, 1), "mapping": (1, 2), "sequence": (1, 2), "keys": (2, 3)}[arg[0]],
    "Intrinsic": lambda arg: (arg[1], arg[2]),
}


def _fixed() -> dict[str, tuple[int, int]]:
    pictures = {op: line.partition(":")[0].split("->") for op, line in OPS.items() if op not in _VARIABLE}
    return {op: (len(before.split()), len(after.split())) for op, (before, after) in pictures.items()}


_FIXED = _fixed()

#: The ops that never continue with the next instruction.
TERMINAL = frozenset({"Jump", "Return", "Raise", "Reraise"})

#: The ops that raise, and that with which an exception handler begins.
RAISING = frozenset({"Raise", "Reraise", "PushExc"})

#: The ops whose ``arg`` has a jump target.
JUMPS = frozenset({"Jump", "Branch", "ForIter", "Send"})


def effect(op: str, arg: Any) -> tuple[int, int]:
    """Return how many values an op pops and pushes when it continues with the next instruction."""
    fixed = _FIXED.get(op)
    return fixed if fixed is not None else _VARIABLE[op](arg)


#: Name of the free variable of a residual that holds the marker for "no value", if the residual treats that marker as a value of its own.
NO_VALUE: Final = ".unbound"


class Code:
    """A normalised code object. Its analyses, ``reads_locals`` to ``pdom_depth``, are computed on first access.

    A slot is an index into ``names``: CPython's *localsplus* (``Objects/codeobject.c``), that is ``co_varnames``, then
    the cell variables not among them, then the free variables, which fill the last ``n_free`` slots.
    """

    __slots__ = (
        "argcount", "cells", "code", "depth", "filename", "first_line", "given_name", "given_qualname", "guarded", "handling", "has_varargs",
        "has_varkwargs", "head_tests", "instructions", "ipdom", "is_async_generator", "is_coroutine", "is_generator", "kwonlyargcount", "live",
        "loop_heads", "looping", "n_free", "n_params", "name", "names", "natural_loops", "pdom_depth", "posonlyargcount", "qualname", "reads_locals",
        "successors", "tells_unbound", "unsupported",
    )  # fmt: skip

    #: May the code read all its variables, by ``locals()`` or a builtin that uses it?  Then all variables are live.
    reads_locals: bool
    #: The successors of each instruction on normal edges; exception edges are in ``Instruction.handler``.
    successors: list[tuple[int, ...]]
    #: The live slots before each instruction, as a bit mask; exception edges are included.
    live: list[int]
    #: Before each instruction, the stack positions where the open handlers have saved the exceptions handled before them, the innermost last.
    handling: list[tuple[int, ...]]
    #: May closing a suspended generator run code: is there a Yield that a handler covers, or a Send?
    guarded: bool
    #: The loop headers: the targets of back edges.
    loop_heads: frozenset[int]
    #: The instructions between the target of a back edge and its source.
    looping: frozenset[int]
    #: Maps the Branch of the first test in a loop, which leaves or continues it, to the header of that loop.
    head_tests: dict[int, int]
    #: Maps these headers to the instructions of their natural loops.
    natural_loops: dict[int, frozenset[int]]
    #: The immediate post-dominator of each instruction on normal edges; None if that is the exit, or if no Return is reached.
    ipdom: list[int | None]
    #: The depth of each instruction in the tree of ``ipdom``, whose root is the exit; 0 if no Return is reached.
    pdom_depth: list[int]

    def __init__(
        self, code: CodeType, instructions: Sequence[Instruction], depth: Sequence[int], unsupported: str | None
    ) -> None:
        self.code = code
        self.instructions = tuple(instructions)
        #: The stack depth before each instruction.
        self.depth = list(depth)
        #: The reason why the engine can't trace this code, as a sentence; None if it can.
        self.unsupported = unsupported
        self.name, self.qualname = code.co_name, code.co_qualname
        #: The names of the generators that it creates.
        self.given_name, self.given_qualname = self.name, self.qualname
        self.filename, self.first_line = code.co_filename, code.co_firstlineno
        self.names = localsplus(code)
        self.n_free = len(code.co_freevars)
        #: Is it a residual that treats "no value" as a value of its own (see NO_VALUE)?
        self.tells_unbound = NO_VALUE in code.co_freevars
        self.cells = frozenset(i.arg for i in self.instructions if i.op == "MakeCell")
        self.argcount, self.posonlyargcount = code.co_argcount, code.co_posonlyargcount
        self.kwonlyargcount = code.co_kwonlyargcount
        flags = code.co_flags  # Include/cpython/code.h, CO_*
        self.has_varargs, self.has_varkwargs = bool(flags & 0x04), bool(flags & 0x08)
        self.n_params = self.argcount + self.kwonlyargcount + self.has_varargs + self.has_varkwargs
        self.is_generator, self.is_coroutine = bool(flags & 0x20), bool(flags & 0x80)
        self.is_async_generator = bool(flags & 0x200)

    def renamed(self, name: str, qualname: str) -> "Code":
        """Return a copy for a generator that was given another name and qualified name."""
        other = Code(self.code, self.instructions, self.depth, self.unsupported)
        other.given_name, other.given_qualname = name, qualname
        return other

    def __getattr__(self, name: str) -> Any:
        """Compute an analysis on first access; called only while its slot is empty."""
        found = blocks.analyze(name, self)
        if found is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        for key, value in found.items():
            setattr(self, key, value)
        return found[name]

    def meet(self, a: int, b: int) -> int | None:
        """Return the nearest common post-dominator of instructions ``a`` and ``b``, where their paths join; None is the function's exit.

        An instruction that reaches no Return is ignored: the result is the other one.
        """
        depth, up = self.pdom_depth, self.ipdom
        if not depth[a] or not depth[b]:
            return a if depth[a] else b if depth[b] else None
        x: int | None = a
        y: int | None = b
        while x != y:
            if x is None or y is None:
                return None
            if depth[x] >= depth[y]:
                x = up[x]
            else:
                y = up[y]
        return x

    def __repr__(self) -> str:
        return f"<Code {self.qualname}, {len(self.instructions)} instructions>"

    def __str__(self) -> str:
        """Return a listing: index, line, op, arg, and the handler with the depth it unwinds to."""
        return "\n".join(
            f"{index:4} {instruction.position[0] or '':>5}  {instruction.op:16} "
            + ("" if instruction.arg is None and instruction.op != "Const" else repr(instruction.arg))
            + (f"  ! {instruction.handler.target} at {instruction.handler.depth}" if instruction.handler else "")
            for index, instruction in enumerate(self.instructions)
        )


def localsplus(code: CodeType) -> tuple[str, ...]:
    """Return the names of the slots of a frame, in CPython's numbering."""
    own = code.co_varnames
    return own + tuple(name for name in code.co_cellvars if name not in own) + code.co_freevars
