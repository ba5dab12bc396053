"""Programs for inspection, storage and direct calls: lowered, compiled, and loaded from bytes."""

import functools
from collections.abc import Callable
from typing import Any

from hovis.backend.entry.prologue import absent
from hovis.errors import SpecError, TraceError
from hovis.front import traces, tracing
from hovis_xla.abi.argument_plan import plan_of, taker
from hovis_xla.abi.call_entry import BAILED
from hovis_xla.abi.errstate import is_watched
from hovis_xla.front.residuals import replaying
from hovis_xla.jaxlib import adapter
from hovis_xla.jaxlib.hlo_text import Loops
from hovis_xla.partition.decide import decide
from hovis_xla.runtime import serialization
from hovis_xla.runtime.executable import Executable
from hovis_xla.runtime.serialization import StorageError


class Lowered:
    """A StableHLO program that is not compiled yet."""

    def __init__(self, traced: tracing.Trace, exact: bool = False) -> None:
        if not isinstance(traced, tracing.Trace):
            raise SpecError(f"hovis_xla.Lowered takes a Trace, not a {type(traced).__name__}")
        if adapter.is_left_behind():
            raise TraceError(adapter.AFTER_FORK)
        with traces.at_work(traced.fn, traced.options):
            decision = decide(traced.function, None, exact)
        if decision.executable is None:
            raise TraceError(str(decision))
        self._traced = traced
        self._executable = decision.executable

    def as_text(self, locations: bool = False) -> str:
        """StableHLO; with locations, the user's file and line at each operation."""
        return self._executable.stablehlo(locations)

    def compile(self) -> "Compiled":
        """Compile the program with XLA."""
        return Compiled(self._traced, self._executable)


class Compiled:
    """An executable that takes the unknown arguments of its trace, as ``Trace.compile()`` does."""

    def __init__(self, traced: tracing.Trace, executable: Executable) -> None:
        if not (issubclass(type(traced), tracing.Trace) and issubclass(type(executable), Executable)):
            raise SpecError("hovis_xla.Compiled is made by hovis_xla.compile")
        self.trace = traced
        self.executable = executable
        self._take = taker(plan_of(traced.signature))
        _ = executable.program
        functools.update_wrapper(self, traced.fn, updated=())

    def __call__(self, *unknown: Any) -> Any:
        if not is_watched():
            values = self._take(*self._filled(unknown)) if len(unknown) <= len(self.trace.signature.unknown) else None
            result = BAILED if values is None else self.executable(values)
            if result is not BAILED:
                return result
        if self.executable.log.done:
            return replaying(self.trace, self.executable.log)(*unknown)
        return self.trace.by_position()(*self._filled(unknown))

    def _filled(self, unknown: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments, followed by the defaults of those that are not given."""
        return unknown + tuple(map(absent, self.trace.signature.unknown[len(unknown) :]))

    def as_text(self) -> str:
        """The optimized HLO."""
        return self.executable.program.as_text()

    @property
    def loops(self) -> Loops:
        """How many loops are native code, how many are not, and how many arrays are copied in each iteration."""
        return self.executable.loops

    def cost_analysis(self) -> dict[str, float]:
        """XLA's own estimate: flops, bytes accessed …"""
        return self.executable.program.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes of code, arguments, results and temporaries."""
        return self.executable.program.memory_analysis()

    def serialize(self) -> bytes:
        """The executable as bytes for :func:`load`; for the same jaxlib on the same kind of CPU.

        Values that the trace read from its environment are frozen in it, arrays included.  Raises StorageError if the result or the
        arguments hold something that cannot be stored: instances, classes, functions that are not NumPy's.
        """
        signature = self.trace.signature
        return serialization.dump(self.executable, [(u.name, plan) for u, plan in zip(signature.unknown, plan_of(signature), strict=True)])


class Loaded:
    """An executable loaded from bytes. It has no Python code of the function: calls that XLA gives up go to ``fallback``, or raise."""

    def __init__(self, blob: bytes, fallback: Callable[..., Any] | None) -> None:
        self.executable, arguments = serialization.restore(blob)
        self.fallback = fallback
        self.__name__ = self.executable.name
        self._names = [name for name, _ in arguments]
        try:
            self._take = taker([plan for _, plan in arguments])
        except (TypeError, RecursionError, MemoryError):
            raise StorageError("this executable is damaged: its header is not valid") from None

    def __call__(self, *unknown: Any) -> Any:
        if len(unknown) != len(self._names):
            raise SpecError(f"{self.__name__} takes {len(self._names)} arguments ({', '.join(self._names)}), not {len(unknown)}")
        if adapter.is_left_behind() and self.fallback is None:
            raise TraceError(adapter.AFTER_FORK)
        values = None if self.fallback is not None and is_watched() else self._take(*unknown)
        result = BAILED if values is None else self.executable(values)
        if result is not BAILED:
            return result
        if self.fallback is not None:
            return self.fallback(*unknown)
        if values is None or not self.executable.fits(values):
            raise SpecError(f"the arguments do not fit the types and shapes that {self.__name__} was compiled for")
        raise TraceError(f"{self.__name__} raises an exception here or needs an int of more than 64 bits: only Python can do this call; pass load a fallback")

    def as_text(self) -> str:
        """The optimized HLO."""
        return self.executable.program.as_text()

    def __repr__(self) -> str:
        return f"<hovis_xla executable {self.__name__}({', '.join(self._names)})>"


def load(blob: bytes, fallback: Callable[..., Any] | None = None) -> Loaded:
    """The executable of ``serialize()``, as a function of the unknown arguments.

    fallback      the original function (or anything that takes the same arguments), for calls that XLA gives up: exceptions,
                  ints of more than 64 bits, arguments that do not fit.  Without it such calls raise.

    Raises only StorageError if the bytes are damaged, or made for another jaxlib, CPU or XLA_FLAGS; TypeError if blob holds no bytes.
    The bytes hold machine code, which will be run: load only what you trust.  The digest in them detects damage, not malice.

    >>> import hovis
    >>> from hovis_xla import compile
    >>> load(compile(hovis.trace(lambda x: x * 2.0, hovis.Float)).serialize())(4.0)
    8.0
    """
    return Loaded(blob, fallback)
