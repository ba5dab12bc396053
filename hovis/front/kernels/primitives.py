"""``hovis.primitive``: functions that stay calls in traces, with rules for transforms and compilers."""

from collections.abc import Callable
from typing import Any

from hovis.engine.machine.machine import Machine
from hovis.engine.state.values import Known
from hovis.front.custom_rules import Kernel
from hovis.ir.model import Effect
from hovis.library import core
from hovis.library.core import TypeRule
from hovis.library.numpy.batching.elementwise import each_element
from hovis.library.numpy.derivatives.elementwise import elementwise
from hovis.library.standard import STANDARD
from hovis.library.tables.batching import batched, by
from hovis.library.tables.derivatives import pull, push
from hovis.library.tables.lowerings import LOWERINGS


class Kept(Kernel):
    """See :func:`primitive`. The rules of a primitive go into the same tables as those of NumPy's functions."""

    __slots__ = ()

    def defresult(self, result: TypeRule, dims: Callable[..., Any] | None = None, alone: bool = True) -> TypeRule:
        """Set the type rule: ``result(*types)`` returns the type of the result from those of the arguments; ``dims`` as in ``hovis.Primitive``,
        or ints.

        alone: the result depends only on the arguments and there are no side effects, so the function may be called at any time and any number of
        times; else it may have any side effects, and is called once, in program order.
        """

        self.says("defresult", result, dims, alone)

        def sizes(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
            assert dims is not None
            found = dims(m, args, named)
            return found and tuple([Known(d) if type(d) is int else d for d in found])

        effect = Effect.PURE if alone else Effect.OPAQUE
        for one in {self, self.placed}:
            STANDARD.primitive(one, result, effect=effect, fold=False, dims=sizes if dims is not None else None)
        return result

    def defelementwise(self, *partials: Any) -> None:
        """Declare that the function acts on each element separately, and has these partial derivatives: ``partial(y, *args)``, y the result, or
        a number.
        """
        self.says("defelementwise", *partials)
        for one in {self, self.placed}:
            elementwise(one, *partials)
            by(each_element, one)

    def defvjp(self, *pulls: Any) -> None:
        """Set the reverse-mode rules: a function for each argument, from the cotangent of the result to that of the argument: ``pull(g, y,
        *args)``.
        """
        self.says("defvjp", *pulls)
        for one in {self, self.placed}:
            pull(one, *pulls)

    def defjvp(self, *pushes: Any) -> None:
        """Set the forward-mode rules: a function for each argument, from the tangent of the argument to that of the result: ``push(t, y,
        *args)``.
        """
        self.says("defjvp", *pushes)
        for one in {self, self.placed}:
            push(one, *pushes)

    def defbatch(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the batching rule: ``rule(lanes, which, *args)`` returns the results of all lanes, along axis 0; ``which`` says which arguments
        have lanes.
        """
        self.says("defbatch", rule)
        return batched(*{self, self.placed})(rule)

    def deflowering(self, written: Callable[..., Any]) -> Callable[..., Any]:
        """Set the code that ``hovis_xla`` compiles in its place: NumPy code with the same meaning. Without it the program calls the function
        itself.
        """
        self.says("deflowering", written)
        LOWERINGS[self] = LOWERINGS[self.placed] = written
        return written


def primitive(fn: Any = None, result: TypeRule | None = None, **options: Any) -> Any:
    """A function that stays a call in traces; a decorator.

    fn   a callable of numbers and arrays, which its rules get by position; SpecError for anything else

    The type of its result is found by tracing fn, unless ``defresult`` gives it.  The methods ``defelementwise``, ``defvjp``, ``defjvp``,
    ``defbatch`` and ``deflowering`` of the returned function set the rules for transforms and compilers.  Without a rule,
    derivatives raise DerivativeError, and ``vmap`` calls it for one lane after the other.

    >>> from hovis import Float, grad, trace
    >>> @primitive
    ... def square(x): return x * x
    >>> square.defelementwise(lambda y, x: 2.0 * x)
    >>> grad(lambda x: 3.0 * square(x))(5.0)
    30.0
    >>> trace(lambda x: square(x) + 1.0, Float).ops[0].callee is square
    True

    ``primitive(fn, result, …)`` leaves fn unchanged, and returns a Library with this single row, to be put in front of others.
    """
    if result is not None:
        return core.primitive(fn, result, **options)
    return Kept(fn)
