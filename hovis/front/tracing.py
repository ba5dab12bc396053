"""The public functions: trace, specialize, return_type, evaluate, explain, options."""

import copy
import inspect
import os
import types
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from hovis.arguments.signature import Signature
from hovis.arguments.spec_parts import annotated, part_of
from hovis.backend.entry import prologue
from hovis.base import deadline, interrupts, own_code
from hovis.base.deadline import OutOfTime
from hovis.base.once import alone, once
from hovis.bytecode.versions import UNREADABLE
from hovis.diagnostics import explain as report
from hovis.diagnostics.explain import Remark, Report
from hovis.engine import learned as learning
from hovis.engine import trace as engine
from hovis.engine.environment.fixed_facts import FixedFacts
from hovis.engine.speculation.assumptions import Assumptions
from hovis.engine.speculation.examples import Examples
from hovis.engine.speculation.type_feedback import Feedback
from hovis.engine.state.budget import OutOfFuel
from hovis.engine.state.specialization_tables import GiveUp
from hovis.engine.trace import Fixed, Leaf, Part
from hovis.errors import SpecError, TraceError, said
from hovis.front import plugins
from hovis.front.callables import behind, name_of, python_function
from hovis.front.item_types import lasts, told_of
from hovis.front.jit_cache.adaptive import adaptive
from hovis.front.kernels.kernel_calls import expanded
from hovis.front.loading import load
from hovis.front.traces import Trace, at_work, one_call
from hovis.ir import Function
from hovis.ir.model import callees
from hovis.ir.operations import PACKAGE
from hovis.lattice import AbstractValue, Type
from hovis.library.core import Library
from hovis.library.standard import STANDARD, make_array
from hovis.passes import pipeline
from hovis.passes.functions.inlining import put_in
from hovis.transforms import interpreter

#: Upper limits for the options: more instructions, and more time, than any trace needs.
MOST_FUEL: Final = 1 << 60
MOST_SECONDS: Final = 1e9
#: Classes of known objects that are rarely modified through an argument; such a write is an opaque call.
_NEVER_PASSED: Final = (type, types.ModuleType, types.FunctionType, types.CellType, tuple, frozenset)
#: Maximal number of losses that an error message lists.
MOST_LOSSES: Final = 8


own_code.leave_as_calls(__file__)


class Options:
    """Options for tracing: an object with trace, specialize and return_type; also a context manager.

    library    defines the meaning of calls (default: Python's builtins and NumPy)
    passes     the passes that ``compile`` runs ("default", "clean", or names; "default-loop_idioms-loop_versioning" is all but these two)
    strict     raise TraceError where anything is left as an opaque call ("whole": where the function itself would be)
    fuel       instructions that one trace may interpret at first: each place in known data that it reaches allows for more
    known_sizes   a number that determines the shape of an array counts as one that decides a branch (see hovis.jit)
    frozen     the environment is assumed not to change (specialize); else reads of it become guards (jit)
    annotations   the spec of a parameter without a spec is its annotation
    seconds    limit, in seconds of work, for a trace or for the first call of a jitted function; what is not done by then is left to Python.
               None: the value of the environment variable HOVIS_TRACE_SECONDS (default 2) for a first call, and ten times that
               for an explicit trace
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
            raise ValueError(f"seconds must be a number of seconds, or None, not {said(seconds)}")
        if library is not None and not isinstance(library, Library):
            raise SpecError(f"the library of options must be a hovis.Library, not {type(library).__name__}")
        if not issubclass(type(fuel), int | float) or not 0 <= fuel < MOST_FUEL:
            raise SpecError(f"fuel must be a number of instructions, not {said(fuel)}")
        self.library = library if library is not None else STANDARD
        self.passes = passes
        self.strict = strict
        self.fuel = fuel
        self.frozen = frozen
        self.known_sizes = known_sizes
        self.annotations = annotations
        self.seconds = None if seconds is None else min(seconds, MOST_SECONDS)
        #: the arguments of the call for which a trace is made; and the places where residuals were left too often, None if they must not be left
        #: for the original code (used by jit, and by what adapts a residual)
        self.examples: tuple[tuple[Any, ...], dict[str, Any]] | None = None
        self.refuted: frozenset[tuple[types.CodeType, int]] | None = None
        #: what was seen in calls of the function (used by what gives examples)
        self.feedback: Feedback | None = None
        #: what needs no test although the environment is not frozen (used by what adapts a residual)
        self.fixed: FixedFacts | None = None
        #: keys of guards that have failed too often: their values are read at run time (used by jit)
        self.volatile: frozenset[Any] = frozenset()
        #: what traces for other arguments have learned (used by jit)
        self.learned = None if frozen else learning.Learned()

    def limit(self, times: float = deadline.ASKED_FOR) -> float:
        """Return how many seconds of work something may take: the option, or else the limit of a first call multiplied by ``times``."""
        return deadline.limit(times) if self.seconds is None else self.seconds

    def assumptions(self, signature: Signature) -> Assumptions | None:
        """Return what is assumed of a call like the example."""
        if self.examples is None or self.refuted is None:
            return None
        args, kwargs = self.examples
        found = Examples()
        for unknown, (place, _) in zip(signature.unknown, signature.names()):
            if type(place) is int and place < len(args):
                found.put_part(unknown.part, args[place])
            elif unknown.name in kwargs:
                found.put_part(unknown.part, kwargs[unknown.name])
        return Assumptions(found, self.refuted, self.feedback)

    def but(self, **changed: Any) -> "Options":
        """Return a copy with some options changed: another library, for example."""
        made = copy.copy(self)
        made.__dict__.update(changed)
        return made

    def forget_calls(self) -> None:
        """Drop what is only for one trace: the arguments of a call, and what was seen in calls. The Trace keeps its options."""
        self.examples = self.feedback = None

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
            return _specialize(_trace(fn, specs, named, self), specs, named)

    def return_type(self, fn: Callable[..., Any], /, *specs: Any, **named: Any) -> AbstractValue:
        """As :func:`hovis.return_type`, with these options."""
        return _trace(fn, specs, named, self).type


def options(**choices: Any) -> Options:
    """Make options for tracing: an object with ``trace``, ``specialize`` and ``return_type``; also a context manager.

    choices   see :class:`Options`.  Raises TypeError for an unknown option, ValueError for negative seconds,
              SpecError if library is not a Library.

    >>> from hovis import Float
    >>> with options(seconds=5.0):
    ...     fast = options(strict=True).specialize(lambda x, n: x ** n, Float, 2)
    >>> fast(3.0)
    9.0
    """
    return Options(**choices)


_current: ContextVar["Options | None"] = ContextVar("hovis_options", default=None)
_DEFAULT: Final = Options()


def current() -> Options:
    """Return the options in force."""
    return _current.get() or _DEFAULT


deadline.asked = lambda: current().seconds


# ------------------------------------------------------------------------------------------------- tracing


def trace(fn: Callable[..., Any], /, *specs: Any, **named: Any) -> Trace:
    """Trace fn for arguments that are known as far as the specs say; fn is read, never run.

    For a result of :func:`hovis.jit` the original function is traced, for a Trace its residual.
    ``library=`` defines the meaning of calls, and ``annotations=True`` takes the annotation of a parameter without a spec
    as its spec; both only if fn has no parameter of that name (see Options).
    Further specs go into ``*args`` and ``**kwargs``; a parameter without a spec is unknown.  Unknown parameters keep their defaults.
    Raises SpecError (a TypeError) for too many specs, for unknown names, and if fn is not callable.

    >>> from hovis import Int
    >>> def double(x): return x + x
    >>> trace(double, Int).type
    Int
    """
    return _trace(fn, specs, named, _chosen(fn, named), getattr(type(fn), "takes_no_more", False))


def _chosen(fn: Any, named: dict[str, Any]) -> Options:
    """Return the options in force, changed by those among the named specs, which are removed there."""
    kinds = {"library": Library, "annotations": bool}
    given = [name for name, kind in kinds.items() if isinstance(named.get(name), kind)]
    own = _parameters(fn) if given else ()
    changed = {name: named.pop(name) for name in given if name not in own}
    return current().but(**changed) if changed else current()


def _parameters(fn: Any) -> tuple[str, ...]:
    code = getattr(python_function(behind(fn))[0], "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def specialize(fn: Callable[..., Any], /, *specs: Any, **named: Any) -> Callable[..., Any]:
    """Return the residual of fn for these specs: a Python function of the unknown arguments.

    fn             a callable; SpecError for anything else
    specs, named   what is known of the arguments, as for :func:`trace`: a spec, a type, a hint, or a known value

    The residual has ``.trace``, ``.source()`` and ``__wrapped__``.  A call with arguments that do not fit runs fn.  If opaque calls are left, the
    residual is made again for the arguments of real calls (docs/semantics.md, "Assumptions and side exits").  Raises SpecError for
    more specs than parameters and for unknown names; TraceError under ``options(strict=True)``.  A call raises what fn raises.
    Source: Futamura, Partial Evaluation of Computation Process (1971).

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
        return _specialize(_trace(fn, specs, named, chosen), specs, named)


def return_type(fn: Callable[..., Any], /, *specs: Any, **named: Any) -> AbstractValue:
    """Return the type of the result of fn for these specs.

    Takes and raises what :func:`trace` does.

    >>> from hovis import Int
    >>> return_type(lambda x: x / 2, Int)
    Float
    """
    return _trace(fn, specs, named, _chosen(fn, named)).type


def evaluate(trace: "Trace | Function", *unknown: Any) -> Any:
    """Run a trace by the reference semantics on the unknown arguments: op by op, as its listing says.

    trace     a Trace or a Function; SpecError for anything else
    unknown   the arguments that are not known, by position; SpecError (a TypeError) if they do not fit

    It raises what the function raises.

    >>> from hovis import Int, trace
    >>> evaluate(trace(lambda x, n: x * n, Int, 3), 4)
    12
    """
    if isinstance(trace, Function):
        return interpreter.evaluate(trace, *unknown)
    if not isinstance(trace, Trace):
        raise SpecError(f"hovis.evaluate takes a Trace or a Function, not {type(trace).__name__}")
    try:
        values = prologue.leaves(trace.signature, unknown)
    except SpecError as misfit:
        raise SpecError(f"{name_of(trace.fn)}: {misfit}") from None
    return interpreter.evaluate(trace.function, *values)


def _specialize(traced: Trace, specs: tuple[Any, ...], named: dict[str, Any]) -> Callable[..., Any]:
    compiled: Any = adaptive(traced.compile(), traced, lambda chosen: _trace(traced.fn, specs, named, chosen))
    compiled.trace, traced.assumed, traced.fixed = traced, (), None  # it would keep what it refers to
    compiled.source = traced.source
    compiled.__signature__ = inspect.signature(compiled)
    compiled.__wrapped__ = traced.fn
    return compiled  # type: ignore[no-any-return]


def trace_call(fn: Any, specs: tuple[Any, ...], named: dict[str, Any], chosen: Options) -> Trace:
    """As :func:`trace`, for calls with exactly these arguments: ``*args`` and ``**kwargs`` hold nothing else."""
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
        return one_call(fn, signature, chosen, "it is not written in Python")
    itemized = told_of(signature) if items else []

    def looking() -> Trace:
        """Return the Trace that tests items one by one; it also handles items of other classes."""
        plain = chosen.but(strict=False)
        try:
            return _trace(fn, specs, named, plain, closed, False)
        finally:
            plain.forget_calls()

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
        left = one_call(fn, signature, chosen, str(reason))
        left.late = isinstance(reason, OutOfTime | OutOfFuel)
        return left


@once
def _warn_of_this_python() -> None:
    """Warn once that nothing is traced on this Python."""
    warnings.warn(f"{UNREADABLE}: functions run as they are", RuntimeWarning, stacklevel=1)


def noted(fn: Any, function: types.FunctionType | None, name: str) -> Any:
    """Return the spec of a parameter's annotation, or None if it has no annotation."""
    return _of_argument(fn, name, lambda: annotated(function, name) if function is not None else None)


def _followed(fn: Any, function: types.FunctionType, signature: Signature, chosen: Options) -> Trace:
    """Trace a Python function; raise GiveUp or OutOfTime, with the reason, if that fails."""
    deadline.check()
    try:
        how = chosen.fuel, chosen.frozen, chosen.known_sizes, chosen.volatile
        learned = chosen.learned
        if learned is None and chosen.library is STANDARD:  # another library may hold the function itself
            learned = learning.of(function, signature.parts, (chosen.fuel, chosen.known_sizes, chosen.limit()))
        assumed = chosen.assumptions(signature)
        result = engine.run(function, signature.parts, chosen.library, PACKAGE, *how, learned=learned, assumptions=assumed, fixed=chosen.fixed)
    except OutOfFuel as out:
        raise OutOfTime(deadline.why()) if out.late else out from None
    except (RecursionError, AssertionError, LookupError, TypeError, ValueError, AttributeError) as error:
        interrupts.let_through(error)
        if os.environ.get("HOVIS_DEBUG"):
            raise
        raise GiveUp(f"tracing failed: {type(error).__name__}: {error}") from error
    start = engine.arranged(result, signature.leaf_params())
    if function is not fn:
        start.name = getattr(fn, "__name__", start.name)
    signature.replace(result.params)
    put_in(start)
    expanded(start)
    cleaned = pipeline.run(start, "clean")
    signature = signature.renamed(start.params, cleaned.params)
    signature.drop_unused_wholes(cleaned)
    functions = callees(cleaned)
    traced = Trace(fn, signature, functions, chosen)
    traced.reasons = [Remark(what, "", hint, where) for what, where, hint in result.reasons]
    traced.guards = result.guards
    if chosen.frozen:
        traced.assumed, traced.fixed = result.assumed, result.fixed([function, *(part.value for part in signature.parts if isinstance(part, Fixed))])
    traced.kept = result.kept
    traced.stats = {**result.stats, "ops": sum(1 for f in functions for _ in f.ops())}
    traced.static = tuple(held for held in result.engine.environment.static_objects.values() if not isinstance(held, _NEVER_PASSED))
    if chosen.strict is True:
        _complain(traced)
    return traced


def _of_argument(fn: Any, name: str, found: Callable[[], Any]) -> Any:
    """Return ``found()``; a SpecError that it raises is extended by the function and the argument."""
    try:
        return found()
    except SpecError as wrong:
        raise SpecError(f"{name_of(fn)}, argument {name!r}: {wrong}") from None


def _complain(traced: Trace) -> None:
    """Raise TraceError, with the text of ``explain``, if anything is left as a call for whatever reason (``strict``)."""
    losses = [remark for remark in dict.fromkeys(_remarks(traced)[0]) if remark.loss]
    if losses:
        more = [f"and {len(losses) - MOST_LOSSES} more"] if len(losses) > MOST_LOSSES else []
        told = ["\n".join(remark.lines()) for remark in losses[:MOST_LOSSES]]
        head = f"{name_of(traced.fn)} could not be specialized as a whole:"
        raise TraceError("\n\n".join([head, *told, *more, "Without strict=True these run as they are."]))


def explain(traced: Any) -> Report:
    """Report what stayed dynamic, where and why: in a Trace, in a result of ``hovis.specialize``, or in a jitted function so far.

    traced   one of these; SpecError for anything else.  The Report prints as text for people.

    >>> from hovis import Int, trace
    >>> print(explain(trace(lambda x: x + 1, Int)))
    <lambda>(x :: Int): 1 operation in 1 block
    <BLANKLINE>
    Everything was specialized.
    """
    found = traced if isinstance(traced, Trace) else getattr(traced, "trace", None)
    traces = [found] if isinstance(found, Trace) else getattr(traced, "traces", None)
    if traces is None:
        raise SpecError(f"hovis.explain takes a Trace, or a result of hovis.specialize or hovis.jit, not {type(traced).__name__}")
    if not traces:
        return Report([f"{traced!r} has not been called yet"], ())
    told = [_remarks(t) for t in traces]
    return Report([*map(_headline, traces), *getattr(traced, "notes", ())], [r for remarks, _ in told for r in remarks], sum(n for _, n in told))


def _headline(traced: Trace) -> str:
    parameters = [f"{u.name} :: {report.fits(u.part)}" for u in traced.signature.unknown]
    if traced.fallback:
        return f"{name_of(traced.fn)}({', '.join(parameters)}): left as one call of the original"
    return report.headline(name_of(traced.fn), parameters, traced.functions)


def _remarks(traced: Trace) -> tuple[list[Remark], int]:
    if traced.fallback:
        return traced.reasons, 0
    names = {id(u.part.param): u.name for u in traced.signature.unknown if isinstance(u.part, Leaf)}
    found, consequences = report.of_functions(traced.functions, traced.options.library, names)
    # if the engine has recorded why a call was left, no second remark is needed
    told = {remark.location for remark in traced.reasons if remark.loss}
    return traced.reasons + [r for r in found if r.location not in told or not r.loss], consequences


__all__ = ["Options", "Report", "Trace", "Type", "evaluate", "explain", "load", "options", "return_type", "specialize", "trace"]
