"""The result of tracing: a Trace, with its residual and its text, or a function left as one call."""

import ast
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from hovis.arguments.signature import Signature
from hovis.backend.entry import prologue
from hovis.backend.module import standalone
from hovis.backend.source.head import Arrival
from hovis.backend.source.legalize import with_common_landings
from hovis.backend.text import Source, render
from hovis.base import deadline, files, gc_pause, own_code, progress
from hovis.base.deadline import OutOfTime
from hovis.base.once import COMPILER
from hovis.bytecode.versions import UNREADABLE
from hovis.diagnostics import explain as report
from hovis.diagnostics import html
from hovis.diagnostics.explain import Remark
from hovis.engine import trace as engine
from hovis.engine.environment.fixed_facts import FixedFacts
from hovis.engine.state.type_lookup import ENTERED_THROUGH
from hovis.engine.trace import Fixed, Leaf, Part
from hovis.errors import TraceError, WriteError
from hovis.front import spec_trees
from hovis.front.callables import name_of, near, python_function
from hovis.ir import Block, Function, Given, Location, Op, Return, show
from hovis.ir.analysis.control_flow import uses
from hovis.ir.model import Value, callees
from hovis.ir.operations import PACKAGE
from hovis.lattice import AbstractValue, Const, Partial
from hovis.passes import pipeline
from hovis.transforms import interpreter

if TYPE_CHECKING:
    from hovis.front.tracing import Options

own_code.leave_as_calls(__file__)


class Trace:
    """The result of tracing a function: its IR, and methods that make the residual.

    params      the parameters as the user passes them, including known ones
    functions   the residual Functions, the traced one first
    guards      what the residual assumes about its environment
    fallback    True if the whole function was left as one call of the original
    reasons     the reasons why things were left for run time, with their places (``hovis.explain`` prints them)
    """

    def __init__(self, fn: Any, signature: Signature, functions: list[Function], options: "Options") -> None:
        self.fn = fn
        self.signature = signature
        self.functions = functions
        self.options = options
        self.fallback = False
        self.reasons: list[Remark] = []
        self.stats: dict[str, Any] = {}
        self.guards: tuple[Any, ...] = ()
        #: what is relied on without a guard, since the environment is taken as frozen
        self.assumed: tuple[Any, ...] = ()
        self.fixed: FixedFacts | None = None
        self.static: tuple[object, ...] = ()
        #: what tracing has learned, for later traces of the function as long as this one exists
        self.kept: object = None
        #: did tracing, or the later work on the trace, exceed the time limit?
        self.late = False
        #: makes the Trace that is run instead of this one, which relies on declared item classes and is only shown; None: this one is run
        self.runs: Callable[[], Trace] | None = None
        self._by_position: Callable[..., Any] | None = None
        self._compiled: Callable[..., Any] | None = None

    @property
    def function(self) -> Function:
        """The traced function's IR."""
        return self.functions[0]

    @property
    def blocks(self) -> list[Block]:
        return self.function.blocks

    @property
    def ops(self) -> list[Op]:
        """All ops of the traced function in order, those of Invokes included."""
        return list(self.function.ops())

    @property
    def params(self) -> list[Any]:
        """The parameters as they print in the first header."""
        used = uses(self.function)
        return [Const(self.fn), *(_shown(part, used) for part in self.signature.parts)]

    @property
    def results(self) -> list[Any]:
        """The values that the traced function returns, one for each Return."""
        return [b.terminator.value for b in self.blocks if isinstance(b.terminator, Return)]

    @property
    def in_tree(self) -> tuple[Any, ...]:
        """The specs of the parameters, containers as they are; they can be given to another ``trace``."""
        return spec_trees.taken(self.params)

    @property
    def out_tree(self) -> Any:
        """The spec of the result; containers that the function makes are shown with their contents.

        >>> from hovis import Float, trace
        >>> def halves(x, n): return {"half": x / 2, "rest": (n, x - x / 2)}
        >>> trace(halves, Float, 3).out_tree
        {'half': Float, 'rest': (const(3), Float)}
        """
        return spec_trees.given(self.results)

    @property
    def source_map(self) -> dict[tuple[str, int], list[Op]]:
        """The ops that each line of user code has become, by file and line; an inlined op belongs to the innermost line.

        >>> from hovis import Int, trace
        >>> def area(w, h):
        ...     scaled = w * 2
        ...     return scaled * h
        >>> found = trace(area, Int, Int).source_map
        >>> [[str(op.callee.__name__) for op in ops] for _, ops in sorted(found.items())]
        [['mul'], ['mul']]
        """
        found: dict[tuple[str, int], list[Op]] = {}
        for function in self.functions:
            for op in function.ops():
                if op.location is not None and op.location.line is not None:
                    found.setdefault((op.location.file, op.location.line), []).append(op)
        return found

    @property
    def consts(self) -> list[object]:
        """The known objects that the residual refers to."""
        found: dict[int, object] = {}
        for function in self.functions:
            for op in function.ops():
                for operand in op.operands():
                    if isinstance(operand, Const):
                        found[id(operand.value)] = operand.value
        return list(found.values())

    @property
    def type(self) -> AbstractValue:
        """The type of the result, with what else is known of it."""
        values = self.results
        if values and all(isinstance(v, Const) and v == values[0] for v in values):
            kind: AbstractValue = self.options.library.of_value(values[0].value)
            return kind
        return self.function.type

    def show(self, locations: bool = False, full: bool = False, guards: bool = False) -> str:
        """Return the text of the IR.

        locations  show the source location of each line
        full       nothing is shortened, and everything that ``hovis.parse`` needs is included
        guards     append the checks on entry and the assumptions, as comments
        """
        text = show(self.functions, params=self.params, locations=locations, full=full)
        if guards:
            unknown = [(u.name, u.part) for u in self.signature.unknown]
            text += "".join(f"\n# {line}" for line in report.checks(unknown, self.static, self.guards))
        return text

    def __str__(self) -> str:
        return self.show()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.render(self.functions, self.params)

    def passes(self, names: Any = "default") -> "Trace":
        """Return the Trace after these passes."""
        function = pipeline.run(self.function, names)
        return with_function(self, function, self.signature.renamed(self.function.params, function.params))

    def compile(self) -> Callable[..., Any]:
        """Return the residual: a Python function of the unknown arguments, whose parameters have the same kinds and defaults as in the original.

        >>> from hovis import Int, trace
        >>> import inspect
        >>> def scaled(x, by, /, *more, offset=0): return (x * by + offset, *more)
        >>> inspect.signature(trace(scaled, Int, 3).compile())
        <Signature (x, /, *more, offset=0)>
        """
        if self._compiled is None and UNREADABLE is not None:
            self._compiled = self.text().load()
        if self._compiled is None:
            self._compiled = prologue.with_kinds(self.by_position(), self.signature.unknown)
        return self._compiled

    def by_position(self) -> Callable[..., Any]:
        """Return the residual as a function that takes all unknown arguments by position, in the order of the code's parameters."""
        if UNREADABLE is not None:  # then nothing is assembled, either
            return functools.partial(interpreter.evaluate, self.function)
        if self._by_position is None and self.runs is not None:
            self._by_position = self.runs().by_position()
        if self._by_position is None:
            try:
                with at_work(self.fn, self.options), deadline.unbounded() if self.fallback else nullcontext():
                    function = pipeline.run(self.function, self.options.passes)
                    self._by_position = prologue.compile_residual(self.fn, self.signature, function, self.static, self.fallback)
            except OutOfTime as reason:
                self._leave(str(reason))
                return self.by_position()
        return self._by_position

    def _leave(self, why: str) -> None:
        """Turn this into the Trace of one call of the original."""
        whole = one_call(self.fn, self.signature, self.options, why)
        self.signature, self.functions, self.reasons = whole.signature, whole.functions, whole.reasons
        self.fallback = self.late = True

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.compile()(*args, **kwargs)

    @property
    def _function(self) -> Callable[..., Any]:
        """The residual, which is traced where this Trace is called in a trace, or traced itself."""
        return self.compile()

    def source(self) -> str:
        """Return the residual as the text of a Python function.

        Known objects are imported where possible; the caller has to supply the objects that a comment at the top names.

        >>> from hovis import Int, trace
        >>> def power(x, n):
        ...     r = 1
        ...     for _ in range(n):
        ...         r *= x
        ...     return r
        >>> print(trace(power, Int, 3).source().partition("def ")[2])
        power(x):
            if type(x) is not int:
                return original_power(x, 3)
            return x * x * x
        <BLANKLINE>
        """
        return self.text().text

    def text(self) -> Source:
        """Return the source text, with the objects that must be supplied."""
        chosen = self.options.passes
        function = pipeline.run(self.function, chosen.replace("default", "readable", 1) if isinstance(chosen, str) else chosen)
        # one try around many calls makes the text shorter, except if other calls are between them
        ways = [self._rendered(one) for one in (function, with_common_landings(function)) if one is not None]
        return min(ways, key=lambda source: source.text.count("\n"))

    def _rendered(self, function: Function) -> Source:
        signature = self.signature.renamed(self.function.params, function.params)
        target = python_function(self.fn)[0]
        namespace = target.__globals__ if target is not None else {}
        return render(function, namespace, lambda names: Arrival(self.fn, signature, self.static, names, not self.fallback))

    def module(self, refuse: bool = False) -> str:
        """Return the residual as the text of a module that imports without hovis.

        Objects that the residual refers to are imported from their modules, or written out.  A call that does not fit imports and
        runs the original; with refuse it raises TypeError.  Raises WriteError for an object that can be neither imported nor written out.

        >>> from hovis import Int, trace
        >>> def power(x, n):
        ...     r = 1
        ...     for _ in range(n):
        ...         r *= x
        ...     return r
        >>> print(trace(power, Int, 3).module(refuse=True))
        \"\"\"power for x: Int, written by hovis.\"\"\"
        <BLANKLINE>
        <BLANKLINE>
        def power(x):
            if type(x) is not int:
                raise TypeError('power was specialized for x: Int: it takes no other arguments')
            return x * x * x
        <BLANKLINE>
        """
        if self.fallback:
            why = self.reasons[0].why if self.reasons else "it can't be traced"
            raise WriteError(f"{name_of(self.fn)} was left as one call of the original: {why}.  There is nothing to write.")
        source = self.text()
        unknown = ", ".join(f"{u.name}: {report.fits(u.part)}" for u in self.signature.unknown)
        told = f"{source.name} for {unknown or 'no arguments'}, {standalone.WRITTEN}"
        target = python_function(self.fn)[0]
        return standalone.module(source, told, self.fn, unknown or "no arguments", getattr(target, "__globals__", {}), self._where, refuse)

    def save(self, path: "str | os.PathLike[str]", refuse: bool = False) -> None:
        """Write :meth:`module` to a file; :func:`hovis.load` gives the function back, in this process or another.

        The file is written whole or not at all.  Raises WriteError if the residual can't be written as a module, or if the file is a source of the
        function or of a loaded module (except modules that hovis has written); OSError if the file can't be written: then it is unchanged.

        >>> from hovis import Int, load, trace
        >>> import tempfile
        >>> def scaled(x, by): return x * by
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trace(scaled, Int, 3).save(f"{folder}/tripled.py")
        ...     tripled = load(f"{folder}/tripled.py")
        >>> tripled(7)
        21
        """
        text = self.module(refuse)
        text += f"\n\n#: What hovis.load gives.\nRESIDUAL = {_identifier_of(text)}\n"
        files.write(path, text.encode(), self._sources())

    def _sources(self) -> Iterator[str]:
        """Yield the files of what was traced, and of all loaded modules that hovis has not written."""
        code = getattr(python_function(self.fn)[0], "__code__", None)
        yield from {file for file, _ in self.source_map} | ({code.co_filename} if code is not None else set())
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if type(file) is str and not str(getattr(module, "__doc__", None)).endswith(standalone.WRITTEN):
                yield file

    def _where(self, value: object) -> str:
        """Return the place in the user's source where value is used."""
        for function in self.functions:
            for op in function.ops():
                if op.location is not None and (op.callee is value or any(isinstance(v, Const) and v.value is value for v in op.operands())):
                    place = next((at for at in op.location.chain() if not at.file.startswith(PACKAGE)), op.location)
                    return f"{near(place.file)}:{place.line}"
        code = getattr(python_function(self.fn)[0], "__code__", None)
        return f"{near(code.co_filename)}:{code.co_firstlineno}" if code else name_of(self.fn)


def with_function(traced: Trace, function: Function, signature: Signature) -> Trace:
    """Return a Trace that has this function, with its callees, in place of the traced one."""
    other = Trace(traced.fn, signature, callees(function), traced.options)
    other.fallback, other.reasons, other.stats = traced.fallback, traced.reasons, traced.stats
    other.static, other.guards, other.kept = traced.static, traced.guards, traced.kept
    return other


def one_call(fn: Any, signature: Signature, chosen: "Options", why: str) -> Trace:
    """Build the Trace that is one call of the original, for the reason ``why``; raise TraceError if ``strict`` is set."""
    code = getattr(fn, "__code__", None)
    place = Location(code.co_filename, code.co_firstlineno, None, None, None, code.co_qualname, code.co_firstlineno) if code else None
    reason = Remark(f"{name_of(fn)} was left as one call of the original", why, "", place)
    if chosen.strict:
        raise TraceError("\n".join([*reason.lines(), "  Without strict=True it runs as it is."]))
    signature.wholes()
    params = tuple(signature.leaf_params())
    function = Function(getattr(fn, "__name__", "call"), [Block(params)])
    op = prologue.call_of_original(fn, signature, {id(u.part): u.part.param for u in signature.unknown if isinstance(u.part, Leaf)})
    function.blocks[0].ops.append(op)
    function.blocks[0].terminator = Return(op)
    traced = Trace(fn, signature, [function], chosen)
    traced.fallback = True
    traced.reasons = [reason]
    return traced


@contextmanager
def at_work(fn: Any, chosen: "Options") -> Iterator[None]:
    """Context manager for making a trace, or something of one: it limits the time, and shows progress on a terminal."""
    code = getattr(fn, "__code__", None)
    where = f", {near(code.co_filename)}:{code.co_firstlineno}" if code else ""
    with COMPILER, gc_pause.seldom(), progress.told(f"hovis: tracing {name_of(fn)}{where}"), deadline.within(chosen.limit()):
        yield


def _identifier_of(text: str) -> str:
    """Return the name of the last function in the text of a module."""
    found = [statement.name for statement in ast.parse(text).body if isinstance(statement, ast.FunctionDef)]
    return found[-1]


def _shown(part: Part, used: Mapping[Value, int]) -> Any:
    """Convert a part of the arguments for the printer."""
    if isinstance(part, Fixed):
        return Const(part.value)
    if isinstance(part, Leaf):
        return part.param
    inner = [_shown(p, used) for p in part.parts]
    if isinstance(part, engine.Fresh):
        return Given(tuple(inner) if part.keys is None else dict(zip(part.keys, inner, strict=True)))
    whole = part.param if part.param in used else None
    if part.kind == "dict":
        return Given(dict(zip(part.keys, inner, strict=True)), whole)
    if part.kind == "instance":
        return Given(Partial(part.cls, part.keys, inner), whole)
    return Given(inner if part.kind == "list" else tuple(inner), whole)


ENTERED_THROUGH.add(Trace)
