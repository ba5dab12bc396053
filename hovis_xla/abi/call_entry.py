"""How the host calls a program: it writes the leaves into memory that XLA reads, runs the program, and builds the result.

    leaves → checked → words and arrays → XLA → words and arrays → the result, with the types of the original

Memory for the inputs is allocated once and reused (a *frame*: the buffers of one call, and the arrays that share their
memory). A call therefore costs what XLA itself needs, about four microseconds, and two more.  For each executable this code
is generated as Python text, one line per leaf.

**Giving up.**  Whatever XLA can't do as Python does it (an exception, an integer past 64 bits, an index out of range)
sets one flag, the *bail*, and loops stop when it is set.  The call then yields :data:`BAILED`, and the residual Python does it from the start, which
raises the exception, with the user's line in its traceback, or computes the big integer.  Side effects that have already
been done are not repeated (``ordered_effects``).  Where ``integer_ranges`` proves that this can't happen, no test is emitted.
"""

import itertools
import math
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis_xla.abi import scalar_packing
from hovis_xla.abi.signature import Lowered, Template
from hovis_xla.analysis.ranges.integer_ranges import SMALL
from hovis_xla.emit.values import ARRAY, INT, INT64, PYTHON, Known, Num
from hovis_xla.jaxlib import adapter
from hovis_xla.jaxlib.adapter import XlaError
from hovis_xla.jaxlib.buffers import ALIGNMENT, as_numpy, pinned, put
from hovis_xla.jaxlib.compilation import Program


class _Bailed:
    def __repr__(self) -> str:
        return "BAILED"


#: The program has given up, or the leaves do not match it: Python has to do the call.
BAILED: Final = _Bailed()

#: Arrays of fewer bytes are copied into a frame; larger ones are read in place, if they are aligned.
COPIED_BELOW: Final = 1 << 18
#: ... and if they are not, they are copied as well, up to this many bytes.  XLA would copy them in a thread of its own, which takes longer.
KEPT_BELOW: Final = 1 << 23

#: jaxlib keeps objects of each call until ``let_go`` is called, as it is when Python collects garbage. Many loops trigger no garbage
#: collection; therefore it is also called after this many calls, counted over all programs.
CALLS: Final = 1024
_due: Final = itertools.cycle([False] * (CALLS - 1) + [True]).__next__

#: Calls for which Python has faster syntax.
_DISPLAYS: Final = {operations.make_tuple: "({},)", operations.make_list: "[{}]"}


#: Entries of programs with longer tapes, which do the calls in place of this one, and a function that is told whether a call was given up and
#: how many slots of each tape were filled; it may return an entry that does the call again.
Growth = tuple[Sequence[Callable[..., Any]], Callable[[bool, Sequence[int]], Callable[..., Any] | None]]


class Code:
    """The text of a function that is generated, and the objects that it refers to by name."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = scope
        self.lines: list[str] = []

    def constant(self, value: object) -> str:
        """Give an object a name, and return the name."""
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def function(self, names: Iterable[str]) -> Callable[..., Any]:
        """Make the function whose parameters have these names, and whose body is the lines."""
        exec(f"def generated({', '.join(names)}):\n" + "\n".join("    " + line for line in self.lines), self.scope)
        made: Callable[..., Any] = self.scope["generated"]
        return made


class Entrance(Code):
    """The text of the function from the leaves of a call to its result, or BAILED.

    general   the entry that is called when ints are too large for this program
    growth    given if its tapes may be too short: the entries to call instead, if any, and the function that is told how many slots were filled
    """

    def __init__(self, types: Sequence[Num | Known], lowered: Lowered, program: Program, general: Callable[..., Any], growth: Growth | None) -> None:
        super().__init__({
            "BAILED": BAILED, "XlaError": XlaError, "ndarray": np.ndarray, "as_numpy": as_numpy, "put": put, "let_go": adapter.let_go,
            "array": np.array, "free": [], "frame": self.frame, "execute": program.execute, "handlers": program.handlers, "failed": self.failed,
            "misfit": struct.error, "overlap": np.may_share_memory, "equal": _is_equal, "due": _due,
        })  # fmt: skip
        self.types = types
        self.general = general
        self.growth = growth
        self.leaves_given = ", ".join(f"v{k}" for k in range(len(types)))
        self.lowered = lowered
        self.inputs = self.input_names()
        self.arrays = [(name, num) for name, num in zip(self.inputs, lowered.inputs, strict=True) if not scalar_packing.is_scalar(num)]
        self.words = scalar_packing.words(lowered.inputs)

    def input_names(self) -> list[str]:
        """Return the names of the inputs: of leaves, of variables that outlive the call, and of constant arrays."""
        names = [f"v{k}" for k, t in enumerate(self.types) if isinstance(t, Num)]
        names += [f"u{k}" for k in range(len(self.lowered.variables))]
        return names + [self.constant(array) for array in self.lowered.constants]

    def entry(self) -> Callable[..., Any]:
        self.check()
        self.fill()
        self.run()
        self.results()
        return self.function(f"v{k}" for k in range(len(self.types)))

    # --------------------------------------------------------------------------------------------- inputs

    def check(self) -> None:
        """Write the tests that the leaves, and everything else that is read, are as they were when the program was compiled."""
        for k, one in enumerate(self.lowered.variables):
            self.lines += [f"try: u{k} = {self.constant(one.read)}(*{self.constant(one.where)})", "except Exception: return BAILED"]
        tests = [test for name, num in zip(self.inputs, self.lowered.inputs, strict=True) for test in leaf_tests(name, num, self.constant)]
        for read, where, value in self.lowered.environment:
            tests.append(f"{self.constant(read)}(*{self.constant(where)}) is not {self.constant(value)}")
        tests += self.own_memory()
        if tests:
            self.lines.append(f"if {' or '.join(tests)}: return BAILED")
        small = [f"{SMALL[0]} <= v{k} <= {SMALL[1]}" for k, num in enumerate(self.types) if num == INT] if self.lowered.narrow else []
        if small:
            self.lines.append(f"if not ({' and '.join(small)}): return {self.constant(self.general)}({self.leaves_given})")
        if self.growth is not None:
            self.lines.append(f"for longer in {self.constant(self.growth[0])}: return longer({self.leaves_given})")

    def frame(self) -> tuple[Any, ...]:
        """Allocate a frame: the buffers of one call, and the memory that the leaves are written into."""
        found: list[Any] = []
        buffers = []
        if self.words:
            memory, buffer = pinned((self.words,), INT64)
            buffers.append(buffer)
            found.append(memory.data.cast("B"))
        for _, num in self.arrays:
            pair: Any = pinned(num.shape, num.dtype) if _bytes(num) < KEPT_BELOW else (None, None)
            small = _bytes(num) < COPIED_BELOW
            found.append(pair[0] if small else pair)
            buffers.append(pair[1] if small else None)
        return buffers, *found

    def fill(self) -> None:
        """Write the lines that copy the leaves into a frame."""
        names = [f"b{k}" for k in range(len(self.arrays))]
        self.lines += ["try: here = free.pop()", "except IndexError: here = frame()"]
        self.lines.append(f"buffers, {'words, ' if self.words else ''}{''.join(n + ', ' for n in names)} = here")
        if self.words:
            values = [v for name, num in zip(self.inputs, self.lowered.inputs, strict=True) if scalar_packing.is_scalar(num) for v in _components(name, num)]
            pack = self.constant(struct.Struct(scalar_packing.layout(self.lowered.inputs)).pack_into)
            self.lines += [f"try: {pack}(words, 0, {', '.join(values)})", "except misfit:", "    free.append(here)", "    return BAILED"]
        for k, (memory, (name, num)) in enumerate(zip(names, self.arrays, strict=True)):
            if _bytes(num) < COPIED_BELOW:
                self.lines.append(f"{memory}[...] = {name}")
                continue
            buffer = f"buffers[{k + bool(self.words)}]"
            put = f"{buffer} = put({name}, {self.constant(num.shape)}, {self.constant(num.dtype)})"
            if _bytes(num) < KEPT_BELOW:
                apart = f"{name}.ctypes.data % {ALIGNMENT} or not {name}.flags.c_contiguous"
                self.lines.append(f"if {apart}: {memory}[0][...], {buffer} = {name}, {memory}[1]")
                put = f"else: {put}"
            self.lines.append(put)

    def run(self) -> None:
        self.lines += ["try: found = execute(buffers).consume_with_handlers(handlers)", "except XlaError as error: raise failed(error) from None"]

    def failed(self, error: BaseException) -> BaseException:
        """Return the exception to raise for a run that XLA has aborted: the exception object that a callback raised, if there is one, else
        ``error``.
        """
        failures = self.lowered.failures
        if failures:
            error = failures.pop()
            failures.clear()
        return error

    # --------------------------------------------------------------------------------------------- outputs

    def results(self) -> None:
        low = self.lowered
        self.sources: list[str] = []
        self.raw: list[str] = []
        words = [f"w{k}" for k in range(scalar_packing.words(low.outputs))]
        word, place = iter(words), itertools.count(int(bool(words)))
        for num in low.outputs:
            if scalar_packing.is_scalar(num):
                mine = list(itertools.islice(word, 2 if num.dtype.kind == "c" else 1))
                self.raw.append(mine[0])
                self.sources.append(self.scalar(num, mine))
            else:
                self.raw.append("")
                self.sources.append(f"as_numpy(found[{next(place)}])")
        if words:
            unpack = self.constant(struct.Struct(scalar_packing.layout(low.outputs)).unpack)
            self.lines.append(f"{', '.join(words)}, = {unpack}(found[0])")
        # once its outputs can be read, the program has finished, and the frame is free
        large = [k + bool(self.words) for k, (_, num) in enumerate(self.arrays) if _bytes(num) >= COPIED_BELOW]
        self.lines += [f"buffers[{k}] = None" for k in large] + ["let_go()" if large else "if due(): let_go()", "free.append(here)"]
        if self.growth is not None:
            counts = "".join(f"{self.raw[tape.output]}, " for tape in low.tapes)
            self.lines.append(f"longer = {self.constant(self.growth[1])}({self.raw[low.bail or 0]}, ({counts}))")
            self.lines.append(f"if longer is not None: return longer({self.leaves_given})")
        if low.bail is not None:
            self.lines.append(f"if {self.raw[low.bail]}: return BAILED")
        for j, template in enumerate(low.templates):
            self.template(j, template)

    def scalar(self, num: Num, words: list[str]) -> str:
        """Return the expression that builds one number from its words."""
        text = words[0] if len(words) == 1 else f"complex({', '.join(words)})"
        if num.kind == ARRAY:
            return f"array({text}, {self.constant(num.dtype)})"
        return text if num.kind == PYTHON else f"{self.constant(num.dtype.type)}({text})"

    def template(self, j: int, template: Template) -> None:
        """Write the lines that build the result."""
        low = self.lowered
        lines = self.leaves(j, template)
        # an array of the result that is bitwise equal to an argument or a constant may be the same object
        lines += [f"if equal(x{k}, {self.owned(owner)}): return BAILED" for k, owners in enumerate(template.owners) for owner in owners]
        lines += self.write_back()
        built: set[int] = set()
        result = self.tree(template.tree, lines, built)
        lines.append(f"return {result}")
        if low.choice is not None and j < len(low.templates) - 1:
            lines = [f"if {self.raw[low.choice]} == {j}:", *("    " + line for line in lines)]
        self.lines += lines

    def leaves(self, j: int, template: Template) -> list[str]:
        """Return lines that name the leaves of a result: outputs, arrays of the caller, and views of either."""
        lines: list[str] = []
        first = self.lowered.starts[j]
        named: dict[int, str] = {}

        def output(k: int) -> str:
            if k not in named:
                named[k] = f"y{k}"
                lines.append(f"y{k} = {self.sources[first + k]}")
            return named[k]

        for k, source in enumerate(template.sources):
            if source[0] == "out":
                lines.append(f"x{k} = {output(source[1])}")
                continue
            _, (kind, base), place, starts = source
            array = output(base) if kind == "out" else self.owned(base)
            view = f"{self.constant(place.host)}({array}, ({''.join(output(s) + ', ' for s in starts)}))"
            lines.append(f"x{k} = {array if place.own else view}")
        return lines

    def owned(self, owner: Any) -> str:
        """Return the name of an array of the caller: of an argument (by its number), or of a constant."""
        return f"v{owner}" if isinstance(owner, int) else self.constant(owner)

    def write_back(self) -> list[str]:
        """Return lines that store the new contents into the caller's arrays, and into variables that outlive the call."""
        stores = [f"{self.constant(one.write)}(*{self.constant(one.where)}, {self.sources[at]})" for at, one in self.lowered.kept]
        written = [(self.owned(owner), at) for at, owner in self.lowered.written]
        return stores + [f"{array}[...] = {self.sources[at]}" for array, at in written]

    def own_memory(self) -> list[str]:
        """Return tests for arrays of the caller that cannot be written, are not in C order where this is required, or share memory with others."""
        arrays: list[tuple[str, Any]] = [(f"v{k}", k) for k, t in enumerate(self.types) if isinstance(t, Num) and t.kind == ARRAY]
        arrays += [(self.owned(c), c) for c in self.lowered.constants]
        tests = [f"not v{k}.flags.c_contiguous" for k in self.lowered.contiguous]
        tests += [f"not {self.owned(owner)}.flags.writeable" for owner in self.lowered.into]
        tests += [f"{self.owned(a)} is {self.owned(b)}" for a, b in self.lowered.apart]
        done: list[Any] = []
        for _, owner in self.lowered.written:
            name = self.owned(owner)
            done.append(owner)
            tests += [f"overlap({name}, {other})" for other, o in arrays if not any(o is d for d in done)]
        return tests

    def tree(self, tree: Any, lines: list[str], built: set[int]) -> str:
        """Return the expression of a result. An object that is built has a line of its own, and is therefore one object wherever it occurs."""
        match tree:
            case ("leaf", at):
                return f"x{at}"
            case ("either", at):
                return f"(x{at} if x{at + 1} else x{at}.item())"
            case ("oneof", at, trees):
                *ways, last = [self.tree(t, lines, built) for t in trees]
                return "(" + "".join(f"{way} if x{at} == {k} else " for k, way in enumerate(ways)) + f"{last})"
            case ("argument", at):
                return f"v{at}"
            case ("known", known):
                return self.constant(known.value)
            case ("build", callee, parts, number):
                if number not in built:
                    built.add(number)
                    inner = ", ".join([self.tree(p, lines, built) for p in parts])
                    display = _DISPLAYS.get(callee.value) if parts else None
                    lines.append(f"r{number} = " + (display.format(inner) if display else f"{self.constant(callee.value)}({inner})"))
                return f"r{number}"
        raise AssertionError(tree)


def leaf_tests(name: str, num: Num, constant: Callable[[object], str]) -> list[str]:
    """Return conditions that hold if a leaf is not what the program was compiled for; ``constant`` gives names to objects."""
    if num.kind != ARRAY:
        return [f"type({name}) is not {constant(num.python if num.kind == PYTHON else num.dtype.type)}"]
    dtype = constant(num.dtype)
    return [f"type({name}) is not ndarray", f"{name}.dtype is not {dtype} and {name}.dtype != {dtype}", f"{name}.shape != {constant(num.shape)}"]


def _bytes(num: Num) -> int:
    return num.dtype.itemsize * math.prod(num.shape)


def _components(name: str, num: Num) -> list[str]:
    """Return the expressions of a scalar as ``struct`` takes them: the number, or its real and imaginary parts."""
    return [f"{name}.real", f"{name}.imag"] if num.dtype.kind == "c" else [name]


def _is_equal(a: np.ndarray[Any, Any], b: Any) -> bool:
    """Are the arrays bitwise equal? A comparison of the first elements nearly always finds a difference."""
    if type(b) is not np.ndarray or a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.size > 64 and a[(0,) * (a.ndim - 1)][:8].tobytes() != b[(0,) * (b.ndim - 1)][:8].tobytes():
        return False
    return a.tobytes() == b.tobytes()
