"""``hovis_xla.jit``: plain Python and NumPy, compiled by XLA and specialized to the arguments of the calls."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from hovis.errors import said
from hovis.front import tracing
from hovis.front.jit_cache import nested_jit
from hovis_xla.front.aot import Compiled, Loaded, Lowered, load
from hovis_xla.front.array_interop import as_device, as_numpy
from hovis_xla.front.dispatch import TARGETS, Jitted
from hovis_xla.front.sanitizers import NanError, Nans, Overflows
from hovis_xla.jaxlib.adapter import DeviceArray
from hovis_xla.runtime.serialization import StorageError

#: Values of the option ``int_overflow``: what happens where an int needs more than 64 bits.
OVERFLOW: Final = ("replay", "raise")


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    static: Iterable[str] | str = (),
    int_overflow: str = "replay",
    exact: bool = False,
    strict: bool = False,
    target: str | None = None,
    debug_nans: bool | str = False,
    convert: bool = False,
    device_results: bool = False,
    seconds: float | None = None,
) -> Any:
    """Compile fn with XLA, specialized to the arguments of its calls; also a decorator, with or without options.

    static        names of parameters whose values are part of the key
    int_overflow  what happens where a Python int needs more than 64 bits: "replay" does the call in Python, "raise" raises OverflowError
    exact         no fused multiply-add, at the price of speed: elementwise arithmetic gives the same bits as NumPy's
    strict        raise TraceError where a function would run as residual Python because something in it cannot be lowered to XLA
    target        "xla": an executable even where Python would be quicker; "python": the residual alone; "auto" (or what the
                  environment variable HOVIS_TARGET says): whichever is quicker
    debug_nans    run op by op, and raise NanError on the line where the first NaN arises; "inf": the first NaN or infinity
    convert       fn gets arrays of other libraries (jax, torch, anything with __dlpack__ or __array__) as NumPy arrays; without
                  this, they are passed as they are, and fn handles them in Python
    device_results  as convert, and arrays of the result are jaxlib's (jax's, where jax has been imported): they can be passed to
                  the next call without a conversion
    seconds       how long a first call may work before XLA compiles (2, or what the environment variable HOVIS_TRACE_SECONDS
                  says); work that is not done by then is left to Python

    Raises SpecError if fn is not callable, or has no parameter of a name in static, ValueError for other values of options.  A
    call returns, changes and raises what fn does.

    >>> import numpy as np
    >>> @jit
    ... def halved(x):
    ...     while x.max() > 1.0:
    ...         x = x / 2.0
    ...     return x
    >>> halved(np.array([8.0, 4.0]))
    array([1. , 0.5])
    """
    if fn is None:
        return lambda wrapped: jit(
            wrapped, static=static, int_overflow=int_overflow, exact=exact, strict=strict, target=target, debug_nans=debug_nans,
            convert=convert, device_results=device_results, seconds=seconds,
        )  # fmt: skip
    if type(int_overflow) is not str or int_overflow not in OVERFLOW:
        raise ValueError(f"int_overflow is one of {', '.join(map(repr, OVERFLOW))}, not {said(int_overflow)}")
    if type(debug_nans) not in (bool, str) or debug_nans not in (False, True, "inf"):
        raise ValueError(f"debug_nans is False, True or 'inf', not {said(debug_nans)}")
    if target is not None and (type(target) is not str or target not in TARGETS):
        raise ValueError(f"target is one of {', '.join(map(repr, TARGETS))}, not {said(target)}")
    names = (static,) if isinstance(static, str) else tuple(static)
    watch = Nans(debug_nans == "inf") if debug_nans else Overflows() if int_overflow == "raise" else None
    return (Placing if device_results else Converting if convert else Jitted if watch is None else Watched)(fn, names, exact, strict, target, watch, seconds)


OPTIONS: Final[Mapping[str, nested_jit.Check]] = {
    **nested_jit.OPTIONS, "exact": nested_jit.is_switch, "debug_nans": nested_jit.is_off, "convert": nested_jit.is_off, "device_results": nested_jit.is_off,
    "target": lambda value, parameters: value is None or (type(value) is str and value in TARGETS),
    "int_overflow": lambda value, parameters: type(value) is str and value == "replay",
}  # fmt: skip
nested_jit.stands_for(jit, Jitted, OPTIONS)


class Watched(Jitted):
    """A Jitted whose operations are checked while they run (``debug_nans``, ``int_overflow``). Traced code calls it and does not inline it."""


class Converting(Jitted):
    """A Jitted that also takes arrays of other libraries: they are converted to NumPy arrays first."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*as_numpy(args), **as_numpy(kwargs))

    def trace(self, /, *args: Any, **kwargs: Any) -> tracing.Trace:
        """The Trace for arguments like these."""
        return super().trace(*as_numpy(args), **as_numpy(kwargs))


class Placing(Converting):
    """A Converting that returns jaxlib arrays in place of NumPy arrays."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        taken, named = as_numpy(args), as_numpy(kwargs)
        values = zip([*taken, *named.values()], [*args, *kwargs.values()], strict=True)
        given = {id(own): theirs for own, theirs in values if type(theirs) is DeviceArray}
        return as_device(lambda: Jitted.__call__(self, *taken, **named), given)


def compile(trace: tracing.Trace) -> Compiled:
    """Compile a Trace ahead of time: an executable that takes the unknown arguments.

    trace   the result of `hovis.trace`, for numbers and arrays of known shapes.  Raises SpecError if it is no Trace, TraceError
            with the reason and the source line if something in it cannot be lowered to XLA.

    >>> import hovis
    >>> compile(hovis.trace(lambda x: x * x + 1.0, hovis.Float))(3.0)
    10.0
    """
    return Lowered(trace).compile()


def hlo_stage(trace: tracing.Trace) -> str:
    """``--stage=hlo`` of the command line."""
    return Lowered(trace).as_text()


def loops_stage(trace: tracing.Trace) -> str:
    """``--stage=xla-loops`` of the command line: the Function as it is lowered."""
    return str(trace.passes("default").passes("xla-loops"))


__all__ = ["Compiled", "Jitted", "Loaded", "Lowered", "NanError", "StorageError", "compile", "hlo_stage", "jit", "load", "loops_stage"]
