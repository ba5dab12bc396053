"""``hovis.primitive``: functions that stay calls in traces, with what transforms and compilers make of them."""

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
    """See :func:`primitive`.  What is said of one goes into the tables that NumPy's functions are in."""

    __slots__ = ()

    def defresult(self, result: TypeRule, dims: Callable[..., Any] | None = None, alone: bool = True) -> TypeRule:
        """``result(*types)`` gives the type of the result from those of the arguments; ``dims`` as in ``hovis.Primitive``, or ints.

        alone: it is a function of its arguments alone, which may be called at any time, and any number of times; else it may do
        anything besides, and is called in its turn, once.
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
        """It is done to each element by itself, and has these partial derivatives: ``partial(y, *args)``, y the result, or a number."""
        self.says("defelementwise", *partials)
        for one in {self, self.placed}:
            elementwise(one, *partials)
            by(each_element, one)

    def defvjp(self, *pulls: Any) -> None:
        """A function for each argument, from the cotangent of the result to its own: ``pull(g, y, *args)``."""
        self.says("defvjp", *pulls)
        for one in {self, self.placed}:
            pull(one, *pulls)

    def defjvp(self, *pushes: Any) -> None:
        """A function for each argument, from its tangent to that of the result: ``push(t, y, *args)``."""
        self.says("defjvp", *pushes)
        for one in {self, self.placed}:
            push(one, *pushes)

    def defbatch(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """``rule(lanes, which, *args)`` gives the results of all lanes, along axis 0; of which arguments there are lanes, ``which`` says."""
        self.says("defbatch", rule)
        return batched(*{self, self.placed})(rule)

    def deflowering(self, written: Callable[..., Any]) -> Callable[..., Any]:
        """What is compiled in its place by ``hovis_xla``: NumPy that says the same.  Without one the program calls the function itself."""
        self.says("deflowering", written)
        LOWERINGS[self] = LOWERINGS[self.placed] = written
        return written


def primitive(fn: Any = None, result: TypeRule | None = None, **options: Any) -> Any:
    """A function that stays a call in traces; a decorator.

    fn   a callable of numbers and arrays, which its rules get by position; SpecError for anything else

    What it gives is found by tracing it, unless ``defresult`` says so; ``defelementwise``, ``defvjp``, ``defjvp``,
    ``defbatch`` and ``deflowering`` of what comes out say what transforms and compilers make of it.  Where a rule is missing
    derivatives raise DerivativeError, and ``vmap`` calls it for one lane after the other.

    >>> from hovis import Float, grad, trace
    >>> @primitive
    ... def square(x): return x * x
    >>> square.defelementwise(lambda y, x: 2.0 * x)
    >>> grad(lambda x: 3.0 * square(x))(5.0)
    30.0
    >>> trace(lambda x: square(x) + 1.0, Float).ops[0].callee is square
    True

    ``primitive(fn, result, …)`` leaves fn as it is, and gives a Library of that one row, to be put in front of others.
    """
    if result is not None:
        return core.primitive(fn, result, **options)
    return Kept(fn)
