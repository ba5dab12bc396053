"""User-defined interpreters, applied to Python functions, inside and outside of traces."""

from collections.abc import Callable
from typing import Any

from hovis.backend.entry import prologue
from hovis.base import pytree
from hovis.base.function_wrapper import take_names
from hovis.errors import SpecError
from hovis.front import tracing
from hovis.front.jit import Jitted
from hovis.front.jit_cache.cache_keys import Key
from hovis.front.jit_cache.variants import Variant
from hovis.functional.argument_types import looked_at
from hovis.functional.nested_transforms import APPLYING, function_of
from hovis.functional.transformed import Transformed
from hovis.transforms import interpreter as evaluation


class Interpreter(evaluation.Interpreter):
    """Runs Functions. Called with a Python function, it returns a function that runs it by this interpreter. Override the methods that shall
    mean something else.

    >>> class Loud(Interpreter):
    ...     def call(self, op, callee, args, kwargs):
    ...         print(callee.__name__, *args)
    ...         return super().call(op, callee, args, kwargs)
    >>> Loud()(lambda x, y: x * y + 1.0)(2.0, 3.0)
    mul 2.0 3.0
    add 6.0 1.0
    7.0
    """

    def __call__(self, fn: Callable[..., Any], *specs: Any, **named: Any) -> Callable[..., Any]:
        """Return a function that runs fn by this interpreter.

        Without specs, fn is traced at each call for the arguments of the call.  With specs, it is traced once for them, and the
        returned function takes values of any kind for the unknown arguments.
        """
        if not callable(fn):
            raise SpecError(f"an interpreter takes a callable, not {type(fn).__name__}")
        return Interpreted(self, fn) if not specs and not named else Fixed(self, tracing.trace(fn, *specs, **named).passes())


class Fixed:
    """A trace that an interpreter runs."""

    def __init__(self, interpreter: Interpreter, trace: tracing.Trace) -> None:
        self.interpreter = interpreter
        self.trace = trace

    def __call__(self, *args: Any) -> Any:
        return self.interpreter.evaluate(self.trace.function, *args)


class Interpreted(Transformed):
    """A function that an interpreter runs."""

    __slots__ = ()

    def __init__(self, interpreter: Interpreter, fn: Any) -> None:
        super().__init__(fn, (interpreter,))
        take_names(self, fn)

    @property
    def naming(self) -> str:
        return "{}"

    @property
    def interpreter(self) -> Interpreter:
        """The interpreter that runs the function."""
        made: Interpreter = self.how[0]
        return made

    def eager(self) -> Callable[..., Any]:
        return _Eager(self)

    def derived(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Evaluate the Function of fn, which is traced separately, with the interpreter. This is used inside a trace."""
        fn = self.fn
        leaves: list[Any] = []
        tree = pytree.flatten((args, kwargs), leaves)

        def flat(*leaves: Any) -> Any:
            args, kwargs = pytree.rebuilt(tree, leaves)
            return fn(*args, **kwargs)

        function, operands = function_of(flat, *leaves)
        return self.interpreter.evaluate(function, *operands)


APPLYING.add(Interpreted.derived.__code__)


class _Eager(Jitted):
    """Traces of a function, cached by its arguments, down to their leaves."""

    def __init__(self, interpreted: Interpreted) -> None:
        super().__init__(interpreted.fn, (), tracing.Options(frozen=False))
        self.interpreter = interpreted.interpreter

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Key:
        keys = [looked_at(a, (k,), self._policy)[0] for k, a in enumerate(args)]
        return Key((*keys, *[(name, looked_at(v, (name,), self._policy)[0]) for name, v in kwargs.items()]))

    def _specs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        named = {name: looked_at(v, (name,), self._policy)[1] for name, v in kwargs.items()}
        return [looked_at(a, (k,), self._policy)[1] for k, a in enumerate(args)], named

    def _widen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._count_numbers(args, kwargs)

    def _variant(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        made = _Walked(self.trace(*args, **kwargs).passes(), self._function, self._key(args, kwargs), len(args), tuple(kwargs))
        made.interpreter = self.interpreter
        return made


class _Walked(Variant):
    """A single trace that an interpreter runs."""

    __slots__ = ("interpreter",)
    interpreter: Interpreter

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.picks is None:
            return self.call(*args, **kwargs)
        return self.interpreter.evaluate(self.trace.function, *prologue.leaves(self.trace.signature, tuple(self.picked(args, kwargs))))
