"""The public functions: trace, specialize, return_type, evaluate, explain, options."""

import ast
import copy
import functools
import inspect
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Final

from hovis.arguments.signature import Signature
from hovis.arguments.spec_parts import annotated, part_of
from hovis.backend.entry import prologue
from hovis.backend.module import standalone
from hovis.backend.source.head import Arrival
from hovis.backend.source.legalize import with_common_landings
from hovis.backend.text import Source, render
from hovis.base import deadline, files, gc_pause, own_code, progress
from hovis.base.deadline import OutOfTime
from hovis.base.once import COMPILER, alone, once
from hovis.bytecode.normalize import UNREADABLE
from hovis.diagnostics import explain as report
from hovis.diagnostics import html
from hovis.diagnostics.explain import Remark, Report
from hovis.engine import trace as engine
from hovis.engine.state.budget import OutOfFuel
from hovis.engine.state.specialization_tables import GiveUp
from hovis.engine.state.type_lookup import ENTERED_THROUGH
from hovis.engine.trace import Fixed, Leaf, Part
from hovis.errors import SpecError, TraceError, WriteError, said
from hovis.front import custom_rules, plugins, spec_trees
from hovis.front.item_types import lasts, told_of
from hovis.ir import Block, Function, Given, Location, Op, Return, show
from hovis.ir.model import callees
from hovis.ir.operations import PACKAGE
from hovis.lattice import AbstractValue, Const, Partial, Type
from hovis.library.core import Library
from hovis.library.standard import STANDARD, make_array
from hovis.passes import pipeline
from hovis.passes.functions.inlining import put_in
from hovis.transforms import interpreter

#: More instructions, and more time, than any trace comes to.
MOST_FUEL: Final = 1 << 60
MOST_SECONDS: Final = 1e9
#: Of how many losses an error speaks.
MOST_LOSSES: Final = 8
#: What is static and seldom written to through an argument; such a write is an opaque call.
_NEVER_PASSED: Final = (type, types.ModuleType, types.FunctionType, types.CellType, tuple, frozenset)

own_code.leave_as_calls(__file__)


class Options:
    """How to trace: an object with trace, specialize, return_type and jit; also a context manager.

    library    what calls mean (default: Python's builtins and NumPy)
    passes     the passes that ``compile`` runs ("default", "clean", or names; "default-loop_idioms-loop_versioning" is all but these two)
    strict     raise TraceError where anything is left as an opaque call ("whole": where the function itself would be)
    fuel       instructions that one trace may interpret, to begin with: each place of known data that it comes to allows for more
    known_sizes   a number that the shape of an array depends on chooses (see hovis.jit)
    frozen     the environment stays as it is (specialize); else reads of it are guards (jit)
    annotations   a parameter that is given no spec has the one that it is annotated with
    seconds    of work that a trace, or a first call of a jitted function, may take; what is not done by then is left to Python.
               None: 2 for a first call, 20 for a trace that is asked for by name, or what the environment variable
               HOVIS_TRACE_SECONDS says, and ten times that
    """

    def __init__(
        self,
        library: Library | None = None,
        passes: Any = "default",
        strict: bool | str = False,
        fuel: int = engine.FUEL,
        frozen: bool = True,
        known_sizes: bool = False,
        annotations: bool = False,
        seconds: float | None = None,
    ) -> None:
        if seconds is not None and not (issubclass(type(seconds), int | float) and seconds >= 0):
            raise ValueError(f"seconds is a number of seconds, or None, not {said(seconds)}")
        if library is not None and not isinstance(library, Library):
            raise SpecError(f"the library of options is a hovis.Library, not {type(library).__name__}")
        if not issubclass(type(fuel), int | float) or not 0 <= fuel < MOST_FUEL:
            raise SpecError(f"fuel is a number of instructions, not {said(fuel)}")
        self.library = library if library is not None else STANDARD
        self.passes = passes
        self.strict = strict
        self.fuel = fuel
        self.frozen = frozen
        self.known_sizes = known_sizes
        self.annotations = annotations
        self.seconds = None if seconds is None else min(seconds, MOST_SECONDS)
        #: keys of guards that have failed too often: what they stand for is read at run time (the jit's)
        self.volatile: frozenset[Any] = frozenset()

    def limit(self, times: float = deadline.ASKED_FOR) -> float:
        """How many seconds of work something may take: where nothing was said, so many times what a first call may."""
        return deadline.limit(times) if self.seconds is None else self.seconds

    def but(self, **changed: Any) -> "Options":
        """The same with some changed: another library, say."""
        made = copy.copy(self)
        made.__dict__.update(changed)
        return made

    def __enter__(self) -> "Options":
        self._token = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)

    def trace(self, fn: Callable[..., Any], /, *specs: Any, **named: Any) -> "Trace":
        """As :func:`hovis.trace`, with these options."""
        return _trace(fn, specs, named, self, getattr(type(fn), "takes_no_more", False))

    def specialize(self, fn: Callable[..., Any], /, *specs: Any, **named: Any) -> Callable[..., Any]:
        """As :func:`hovis.specialize`, with these options."""
        with at_work(fn, self):
            return _specialize(_trace(fn, specs, named, self))

    def return_type(self, fn: Callable[..., Any], /, *specs: Any, **named: Any) -> AbstractValue:
        """As :func:`hovis.return_type`, with these options."""
        return _trace(fn, specs, named, self).type


def options(**choices: Any) -> Options:
    """Options for tracing, see :class:`Options`."""
    return Options(**choices)


_current: ContextVar["Options | None"] = ContextVar("hovis_options", default=None)
_DEFAULT: Final = Options()


def current() -> Options:
    """The options in force."""
    return _current.get() or _DEFAULT


deadline.asked = lambda: current().seconds


class Trace:
    """What tracing a function gave: IR to look at, and the way to a residual.

    params      the parameters as the user passes them, known ones too
    functions   the residual Functions, the traced one first
    guards      what the residual takes for granted about its environment
    fallback    True if the whole function was left as one call of the original
    reasons     why things were left as they are, with their places (``hovis.explain`` prints them)
    """

    def __init__(self, fn: Any, signature: Signature, functions: list[Function], options: Options) -> None:
        self.fn = fn
        self.signature = signature
        self.functions = functions
        self.options = options
        self.fallback = False
        self.reasons: list[Remark] = []
        self.stats: dict[str, Any] = {}
        self.guards: tuple[Any, ...] = ()
        self.static: tuple[object, ...] = ()
        #: did tracing, or what is made of the trace, take longer than it may?
        self.late = False
        #: what calls go to in place of the original, where less is known of them
        #: makes the Trace that is run instead: this one is of what may be told beforehand
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
        return self._header()

    @property
    def results(self) -> list[Any]:
        """What the traced function returns, one value a return."""
        return [b.terminator.value for b in self.blocks if isinstance(b.terminator, Return)]

    @property
    def in_tree(self) -> tuple[Any, ...]:
        """The specs of the parameters, containers as they are: what could be given to another ``trace``."""
        return spec_trees.taken(self.params)

    @property
    def out_tree(self) -> Any:
        """The spec of the result, containers that the function makes as they are.

        >>> def halves(x, n): return {"half": x / 2, "rest": (n, x - x / 2)}
        >>> trace(halves, Type(float), 3).out_tree
        {'half': Float, 'rest': (const(3), Float)}
        """
        return spec_trees.given(self.results)

    @property
    def source_map(self) -> dict[tuple[str, int], list[Op]]:
        """The ops that each line of the user's source has become, by file and line: in what is inlined the innermost one.

        >>> def area(w, h):
        ...     scaled = w * 2
        ...     return scaled * h
        >>> found = trace(area, Type(int), Type(int)).source_map
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
        """What is known of the result."""
        values = self.results
        if values and all(isinstance(v, Const) and v == values[0] for v in values):
            kind: AbstractValue = self.options.library.of_value(values[0].value)
            return kind
        return self.function.type

    def _header(self) -> list[Any]:
        used = {id(v) for f in self.functions[:1] for v in _uses(f)}
        return [Const(self.fn), *(_shown(part, used) for part in self.signature.parts)]

    def show(self, locations: bool = False, full: bool = False, guards: bool = False) -> str:
        """The text of the IR.

        locations  each line with the place that it comes from
        full       nothing is cut, and all that ``hovis.parse`` needs is there
        guards     then what is checked on entry, and what is taken for granted, as comments
        """
        text = show(self.functions, params=self._header(), locations=locations, full=full)
        if guards:
            unknown = [(u.name, u.part) for u in self.signature.unknown]
            text += "".join(f"\n# {line}" for line in report.checks(unknown, self.static, self.guards))
        return text

    def __str__(self) -> str:
        return self.show()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.render(self.functions, self._header())

    def passes(self, names: Any = "default") -> "Trace":
        """The Trace after these passes."""
        function = pipeline.run(self.function, names)
        signature = self.signature.renamed(self.function.params, function.params)
        other = Trace(self.fn, signature, callees(function), self.options)
        other.fallback, other.reasons, other.stats = self.fallback, self.reasons, self.stats
        other.static, other.guards = self.static, self.guards
        return other

    def compile(self) -> Callable[..., Any]:
        """The residual: a Python function of the unknown arguments, which are parameters of the kinds, and with the defaults, that they have in the original.

        >>> def scaled(x, by, /, *more, offset=0): return (x * by + offset, *more)
        >>> inspect.signature(trace(scaled, Type(int), 3).compile())
        <Signature (x, /, *more, offset=0)>
        """
        if self._compiled is None and UNREADABLE is not None:
            self._compiled = self.text().load()
        if self._compiled is None:
            self._compiled = prologue.with_kinds(self.by_position(), self.signature.unknown)
        return self._compiled

    def by_position(self) -> Callable[..., Any]:
        """The residual as a function that is given all unknown arguments, in the order of the code's parameters."""
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
        """Become the Trace of one call of the original."""
        whole = _fallback(self.fn, self.signature, self.options, why)
        self.signature, self.functions, self.reasons = whole.signature, whole.functions, whole.reasons
        self.fallback = self.late = True

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.compile()(*args, **kwargs)

    @property
    def _function(self) -> Callable[..., Any]:
        """What a call of it is in a trace."""
        return self.compile()

    def source(self) -> str:
        """The residual as the text of a Python function.

        Known objects that can be imported are; what a comment at the top names has to be given.

        >>> def power(x, n):
        ...     r = 1
        ...     for _ in range(n):
        ...         r *= x
        ...     return r
        >>> print(trace(power, Type(int), 3).source().partition("def ")[2])
        power(x):
            if type(x) is not int:
                return original_power(x, 3)
            return x * x * x
        <BLANKLINE>
        """
        return self.text().text

    def text(self) -> Source:
        """The text, with the objects that have to be given."""
        chosen = self.options.passes
        function = pipeline.run(self.function, chosen.replace("default", "readable", 1) if isinstance(chosen, str) else chosen)
        # one try around many calls is short, but where others stand between them
        ways = [self._rendered(one) for one in (function, with_common_landings(function)) if one is not None]
        return min(ways, key=lambda source: source.text.count("\n"))

    def _rendered(self, function: Function) -> Source:
        signature = self.signature.renamed(self.function.params, function.params)
        target = python_function(self.fn)[0]
        namespace = target.__globals__ if target is not None else {}
        return render(function, namespace, lambda names: Arrival(self.fn, signature, self.static, names, not self.fallback))

    def module(self, refuse: bool = False) -> str:
        """The residual as the text of a module that imports without hovis.

        What the residual refers to is imported from its module, or written out.  A call that does not fit runs the
        original, which is imported then; with refuse it is a TypeError.  Raises WriteError where something can be neither.

        >>> def power(x, n):
        ...     r = 1
        ...     for _ in range(n):
        ...         r *= x
        ...     return r
        >>> print(trace(power, Type(int), 3).module(refuse=True))
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
            raise WriteError(f"{_name(self.fn)} was left as one call of the original: {why}.  There is nothing to write.")
        source = self.text()
        unknown = ", ".join(f"{u.name}: {report.fits(u.part)}" for u in self.signature.unknown)
        told = f"{source.name} for {unknown or 'no arguments'}, {standalone.WRITTEN}"
        target = python_function(self.fn)[0]
        return standalone.module(source, told, self.fn, unknown or "no arguments", getattr(target, "__globals__", {}), self._where, refuse)

    def save(self, path: "str | os.PathLike[str]", refuse: bool = False) -> None:
        """Write :meth:`module` to a file; :func:`hovis.load` gives the function back, in this process or another.

        The file is written whole or not at all.  WriteError if something can't be written into it, or if it is a source of the function
        or of a loaded module (but for those that hovis has written); OSError if the file can't be written: it is then as it was.

        >>> import tempfile
        >>> def scaled(x, by): return x * by
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trace(scaled, Type(int), 3).save(f"{folder}/tripled.py")
        ...     tripled = load(f"{folder}/tripled.py")
        >>> tripled(7)
        21
        """
        text = self.module(refuse)
        text += f"\n\n#: What hovis.load gives.\nRESIDUAL = {_identifier_of(text)}\n"
        files.write(path, text.encode(), self._sources())

    def _sources(self) -> Iterator[str]:
        """The files of what was traced, and those of all loaded modules that hovis has not written."""
        code = getattr(python_function(self.fn)[0], "__code__", None)
        yield from {file for file, _ in self.source_map} | ({code.co_filename} if code is not None else set())
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if type(file) is str and not str(getattr(module, "__doc__", None)).endswith(standalone.WRITTEN):
                yield file

    def _where(self, value: object) -> str:
        """The place of the user's source where value is used."""
        for function in self.functions:
            for op in function.ops():
                if op.location is not None and (op.callee is value or any(isinstance(v, Const) and v.value is value for v in op.operands())):
                    place = next((at for at in op.location.chain() if not at.file.startswith(PACKAGE)), op.location)
                    return f"{_near(place.file)}:{place.line}"
        code = getattr(python_function(self.fn)[0], "__code__", None)
        return f"{_near(code.co_filename)}:{code.co_firstlineno}" if code else _name(self.fn)


def _near(file: str) -> str:
    """A file as seen from here, if that is shorter."""
    return min(file, os.path.relpath(file), key=len) if os.path.isabs(file) else file


def _identifier_of(text: str) -> str:
    """The name of the last function of a module."""
    found = [statement.name for statement in ast.parse(text).body if isinstance(statement, ast.FunctionDef)]
    return found[-1]


def load(path: "str | os.PathLike[str]") -> Callable[..., Any]:
    """The function that :meth:`Trace.save` (or ``python -m hovis specialize``) has written to a file.

    The file is Python, and its code is run: load only what you trust.  It is run as it is now, whatever was in it before, and nothing is kept of it.
    OSError if the file can't be read, SpecError if it was not written by hovis, and whatever running it raises: ImportError, if what it refers to
    is not there any more.  The function belongs to no module that can be imported, so it can't be pickled.

    >>> import tempfile
    >>> def area(width, height): return width * height
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trace(area, Type(int), 2).save(f"{folder}/area.py")
    ...     double = load(f"{folder}/area.py")
    ...     trace(area, Type(int), 3).save(f"{folder}/area.py")
    ...     double(7), load(f"{folder}/area.py")(7)
    (14, 21)
    """
    file = os.fspath(path)
    try:
        found = getattr(files.run(file, f"hovis_kept_{os.path.splitext(os.path.basename(file))[0]}"), "RESIDUAL", None)
    except SyntaxError as error:
        raise SpecError(f"{file!r} is no Python file: {' '.join(str(error).split())}") from None
    if not callable(found):
        raise SpecError(f"{file!r} was not written by hovis: it has no RESIDUAL")
    return found  # type: ignore[no-any-return]


def _uses(function: Function) -> Any:
    for block in function.blocks:
        for op in block.all_ops():
            yield from op.operands()
        for name in ("value", "cond"):
            if hasattr(block.terminator, name):
                yield getattr(block.terminator, name)
        for edge in prologue.edges(block.terminator):
            yield from edge.args


def _shown(part: Part, used: set[int]) -> Any:
    """A part of the arguments as the printer takes it."""
    if isinstance(part, Fixed):
        return Const(part.value)
    if isinstance(part, Leaf):
        return part.param
    inner = [_shown(p, used) for p in part.parts]
    if isinstance(part, engine.Fresh):
        return Given(tuple(inner) if part.keys is None else dict(zip(part.keys, inner, strict=True)))
    whole = part.param if id(part.param) in used else None
    if part.kind == "dict":
        return Given(dict(zip(part.keys, inner, strict=True)), whole)
    if part.kind == "instance":
        return Given(Partial(part.cls, part.keys, inner), whole)
    return Given(inner if part.kind == "list" else tuple(inner), whole)


ENTERED_THROUGH.add(Trace)


# ------------------------------------------------------------------------------------------------- tracing


def trace(fn: Callable[..., Any], /, *specs: Any, **named: Any) -> Trace:
    """Trace fn for arguments of which the specs say what is known; fn is read, never run.

    Of what :func:`hovis.jit` gave the function behind it is traced, of a Trace its residual.
    ``library=`` says what calls mean, and ``annotations=True`` that a parameter without a spec has the one that it is
    annotated with, if fn has no such parameter (see Options).
    Further specs go into ``*args`` and ``**kwargs``; a parameter without a spec is unknown.  Unknown parameters keep their defaults.
    Raises SpecError (a TypeError) for too many specs, unknown names, and what is not a callable.

    >>> def double(x): return x + x
    >>> trace(double, Type(int)).type
    Int
    """
    return _trace(fn, specs, named, _chosen(fn, named), getattr(type(fn), "takes_no_more", False))


def _chosen(fn: Any, named: dict[str, Any]) -> Options:
    """The options in force, with those that are given among the specs, which are taken out."""
    kinds = {"library": Library, "annotations": bool}
    given = [name for name, kind in kinds.items() if isinstance(named.get(name), kind)]
    own = _parameters(fn) if given else ()
    changed = {name: named.pop(name) for name in given if name not in own}
    return current().but(**changed) if changed else current()


def _parameters(fn: Any) -> tuple[str, ...]:
    code = getattr(python_function(behind(fn))[0], "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def specialize(fn: Callable[..., Any], /, *specs: Any, **named: Any) -> Callable[..., Any]:
    """The residual of fn for these specs: a Python function of the unknown arguments.

    It has ``.trace``, ``.source()`` and ``__wrapped__``.  Called with arguments that do not fit it runs fn.

    >>> def power(x, n):
    ...     r = 1
    ...     for _ in range(n):
    ...         r *= x
    ...     return r
    >>> specialize(power, Type(int), 3)(5)
    125
    """
    chosen = _chosen(fn, named)
    with at_work(fn, chosen):
        return _specialize(_trace(fn, specs, named, chosen))


def return_type(fn: Callable[..., Any], /, *specs: Any, **named: Any) -> AbstractValue:
    """What is known of the result of fn for these specs."""
    return _trace(fn, specs, named, _chosen(fn, named)).type


def evaluate(trace: "Trace | Function", *unknown: Any) -> Any:
    """Run a trace by the reference semantics on the unknown arguments; TypeError if they do not fit."""
    if isinstance(trace, Function):
        return interpreter.evaluate(trace, *unknown)
    if not isinstance(trace, Trace):
        raise SpecError(f"hovis.evaluate takes a Trace or a Function, not {type(trace).__name__}")
    try:
        values = prologue.leaves(trace.signature, unknown)
    except SpecError as misfit:
        raise SpecError(f"{_name(trace.fn)}: {misfit}") from None
    return interpreter.evaluate(trace.function, *values)


def _specialize(traced: Trace) -> Callable[..., Any]:
    compiled: Any = traced.compile()
    compiled.trace = traced
    compiled.source = traced.source
    compiled.__signature__ = inspect.signature(compiled)
    compiled.__wrapped__ = traced.fn
    return compiled  # type: ignore[no-any-return]


def trace_call(fn: Any, specs: tuple[Any, ...], named: dict[str, Any], chosen: Options) -> Trace:
    """As :func:`trace`, for calls with just these arguments: ``*args`` and ``**kwargs`` have nothing else in them."""
    return _trace(fn, specs, named, chosen, closed=True)


@alone
def _trace(fn: Any, specs: tuple[Any, ...], named: dict[str, Any], chosen: Options, closed: bool = False, items: bool = True) -> Trace:
    if UNREADABLE is not None:
        _warn_of_this_python()
    if chosen.library is STANDARD:
        plugins.OFFERED.look()
    fn = behind(fn)
    function, bound = python_function(fn)

    def parts_of(spec: Any, name: str) -> Part:
        made: Part = _of_argument(fn, name, lambda: part_of(spec, name, make_array, items))
        return made

    told = (lambda name: noted(fn, function, name)) if chosen.annotations else None
    signature = Signature.of(fn, function, (*bound, *specs), named, parts_of, closed, told)
    signature.bound = bool(bound)
    if function is None:
        return _fallback(fn, signature, chosen, "it is not written in Python")
    itemized = told_of(signature) if items else []

    def looking() -> Trace:
        """The Trace that looks at items one by one; it has ways for items of other classes, too."""
        return _trace(fn, specs, named, chosen.but(strict=False), closed, False)

    if itemized and not chosen.frozen and not chosen.strict:
        return looking()
    try:
        with at_work(fn, chosen):
            traced = _followed(fn, function, signature, chosen)
            if itemized and not (chosen.frozen and lasts(itemized, traced.functions)):
                return looking()
            traced.runs = looking if itemized else None
            return traced
    except (GiveUp, OutOfTime) as reason:
        left = _fallback(fn, signature, chosen, str(reason))
        left.late = isinstance(reason, OutOfTime | OutOfFuel)
        return left


@once
def _warn_of_this_python() -> None:
    """Say once that nothing is traced on this Python."""
    warnings.warn(f"{UNREADABLE}: functions run as they are", RuntimeWarning, stacklevel=1)


def noted(fn: Any, function: types.FunctionType | None, name: str) -> Any:
    """The spec that a parameter of a function is annotated with; None, if it is not."""
    return _of_argument(fn, name, lambda: annotated(function, name) if function is not None else None)


def _followed(fn: Any, function: types.FunctionType, signature: Signature, chosen: Options) -> Trace:
    """The Trace of a Python function; GiveUp or OutOfTime with the reason if there is none."""
    deadline.check()
    try:
        result = engine.run(function, signature.parts, chosen.library, PACKAGE, chosen.fuel, chosen.frozen, chosen.known_sizes, chosen.volatile)
    except OutOfFuel as out:
        raise OutOfTime(deadline.why()) if out.late else out from None
    except (RecursionError, AssertionError, LookupError, TypeError, ValueError, AttributeError) as error:
        if os.environ.get("HOVIS_DEBUG"):
            raise
        raise GiveUp(f"tracing failed: {type(error).__name__}: {error}") from error
    start = engine.arranged(result, signature.leaf_params())
    if function is not fn:
        start.name = getattr(fn, "__name__", start.name)
    signature.replace(result.params)
    put_in(start)
    custom_rules.expanded(start)
    cleaned = pipeline.run(start, "clean")
    signature = signature.renamed(start.params, cleaned.params)
    signature.drop_unused_wholes(cleaned)
    functions = callees(cleaned)
    traced = Trace(fn, signature, functions, chosen)
    traced.reasons = [Remark(what, "", hint, where) for what, where, hint in result.reasons]
    found = result.engine
    assert found.start is not None
    traced.guards = tuple(guard for key, guard in found.guards.items() if key in found.start.reads)
    traced.stats = {**result.stats, "ops": sum(1 for f in functions for _ in f.ops())}
    traced.static = tuple(held for held in result.engine.static_objects.values() if not isinstance(held, _NEVER_PASSED))
    if chosen.strict is True:
        _complain(traced)
    return traced


def _of_argument(fn: Any, name: str, found: Callable[[], Any]) -> Any:
    """What is found of an argument; where nothing is, the message says of which."""
    try:
        return found()
    except SpecError as wrong:
        raise SpecError(f"{_name(fn)}, argument {name!r}: {wrong}") from None


@contextmanager
def at_work(fn: Any, chosen: Options) -> Iterator[None]:
    """Around what makes a trace, or something of one: it takes no longer than it may, and is told on a terminal."""
    code = getattr(fn, "__code__", None)
    where = f", {_near(code.co_filename)}:{code.co_firstlineno}" if code else ""
    with COMPILER, gc_pause.seldom(), progress.told(f"hovis: tracing {_name(fn)}{where}"), deadline.within(chosen.limit()):
        yield


def _complain(traced: Trace) -> None:
    """strict: what is left as a call, for whatever reason, is an error that says what ``explain`` says."""
    losses = [remark for remark in dict.fromkeys(_remarks(traced)[0]) if remark.loss]
    if losses:
        more = [f"and {len(losses) - MOST_LOSSES} more"] if len(losses) > MOST_LOSSES else []
        told = ["\n".join(remark.lines()) for remark in losses[:MOST_LOSSES]]
        raise TraceError("\n\n".join([f"{_name(traced.fn)} could not be specialized as a whole:", *told, *more, "Without strict=True these run as they are."]))


def behind(fn: Any) -> Any:
    """What is traced for fn: of a jitted function the function itself, of a Trace its residual."""
    while type(fn) in ENTERED_THROUGH:
        fn = fn._function
    if isinstance(fn, types.MethodType) and type(fn.__func__) in ENTERED_THROUGH:
        return types.MethodType(behind(fn.__func__), fn.__self__)
    return fn


def python_function(fn: Any) -> tuple[types.FunctionType | None, tuple[Any, ...]]:
    """The Python function behind fn, and the arguments that are bound to it."""
    if isinstance(fn, types.FunctionType):
        return fn, ()
    if isinstance(fn, types.MethodType) and isinstance(fn.__func__, types.FunctionType):
        return fn.__func__, (Const(fn.__self__),)
    if not callable(fn):
        raise SpecError(f"hovis.trace takes a callable, not {type(fn).__name__}: {said(fn)}")
    call = getattr(type(fn), "__call__", None)  # noqa: B004  # the function is wanted, not the answer
    if not isinstance(fn, type) and isinstance(call, types.FunctionType):
        return call, (Const(fn),)
    return None, ()


def _fallback(fn: Any, signature: Signature, chosen: Options, why: str) -> Trace:
    """One call of the original."""
    code = getattr(fn, "__code__", None)
    place = Location(code.co_filename, code.co_firstlineno, None, None, None, code.co_qualname, code.co_firstlineno) if code else None
    reason = Remark(f"{_name(fn)} was left as one call of the original", why, "", place)
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


def explain(traced: Any) -> Report:
    """What stayed dynamic, where and why: in a Trace, in what ``hovis.specialize`` gave, or in a jitted function so far."""
    found = traced if isinstance(traced, Trace) else getattr(traced, "trace", None)
    traces = [found] if isinstance(found, Trace) else getattr(traced, "traces", None)
    if traces is None:
        raise SpecError(f"hovis.explain takes a Trace, or what hovis.specialize or hovis.jit gave, not {type(traced).__name__}")
    if not traces:
        return Report([f"{traced!r} has not been called yet"], ())
    told = [_remarks(t) for t in traces]
    return Report([*map(_headline, traces), *getattr(traced, "notes", ())], [r for remarks, _ in told for r in remarks], sum(n for _, n in told))


def _headline(traced: Trace) -> str:
    parameters = [f"{u.name} :: {report.fits(u.part)}" for u in traced.signature.unknown]
    if traced.fallback:
        return f"{_name(traced.fn)}({', '.join(parameters)}): left as one call of the original"
    return report.headline(_name(traced.fn), parameters, traced.functions)


def _remarks(traced: Trace) -> tuple[list[Remark], int]:
    if traced.fallback:
        return traced.reasons, 0
    names = {id(u.part.param): u.name for u in traced.signature.unknown if isinstance(u.part, Leaf)}
    found, consequences = report.of_functions(traced.functions, traced.options.library, names)
    # where the engine said why a call was left, that is enough
    told = {remark.location for remark in traced.reasons if remark.loss}
    return traced.reasons + [r for r in found if r.location not in told or not r.loss], consequences


def _name(fn: Any) -> str:
    return str(getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or f"a {type(fn).__qualname__}")


__all__ = ["Options", "Report", "Trace", "Type", "evaluate", "explain", "load", "options", "return_type", "specialize", "trace"]
