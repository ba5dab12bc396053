"""Inverses of functions: ``inverse``. It is traced through like the derivatives (:mod:`hovis.functional.grad`), and composes with them."""

from collections.abc import Callable
from typing import Any, Final

from hovis.base import pytree
from hovis.base.function_wrapper import take_names
from hovis.errors import SpecError
from hovis.front import tracing
from hovis.functional.differentiated_arguments import name_of, place
from hovis.functional.nested_transforms import APPLYING, TRANSFORMS, Transform, through
from hovis.functional.transformed import Transformed
from hovis.library.core import Library
from hovis.library.tables import inverses
from hovis.transforms.inverse import inverted


def inverse(fn: Callable[..., Any], argnum: int = 0, like: Any = None) -> Callable[..., Any]:
    """The function from the result of fn to its argument at this position; the other arguments are unchanged.

    argnum  the position of the wanted argument; the result of fn is passed in its place
    like    a value of the structure and types of that argument (the numbers do not matter), if these differ from those of the result

    For functions that are not one-to-one, the result is the principal value.  The unknown may be anywhere in the formula, but it
    must occur only once; arrays may be split and joined.  Raises InverseError, which names the line, for an operation
    that can't be inverted.

    >>> import math
    >>> inverse(lambda x: math.exp(2.0 * x + 1.0))(math.e)
    0.0
    >>> inverse(lambda x, k: x * k, 1)(3.0, 12.0)
    4.0
    """
    return Inverse(fn, argnum, like)


def define_inverse(fn: Any, *rules: Callable[..., Any] | None) -> None:
    """Say how the arguments of fn are found from its result.

    fn      a callable, which is not entered any more while an inverse is computed
    rules   for a function of one argument: its inverse.  For others one rule for each argument (None: there is none): a
            function of the result and of all arguments, which must not use the value passed for the argument that it computes.

    Raises SpecError if fn is not callable, or if there is no rule.

    >>> from hovis import inverse
    >>> def shifted(x): return x + 10.0 if x >= 0 else x
    >>> define_inverse(shifted, lambda y: y - 10.0)
    >>> inverse(lambda x: 2.0 * shifted(x))(26.0)
    3.0
    """
    if not callable(fn) or not rules:
        raise SpecError("hovis.define_inverse takes a function, and a rule for each of its arguments")
    inverses.inverse(fn, *rules)
    OWN.primitive(fn, lambda *types, **named: tracing.return_type(fn, *types, **named))


#: The functions with inverses defined by users: they are not entered while an inverse is computed.
OWN: Final = Library("inverses")
TRANSFORMS["inverse"] = Transform(inverted, lambda library: OWN | library)


class Inverse(Transformed):
    """See :func:`inverse`."""

    __slots__ = ()
    called = "inverse"

    def __init__(self, fn: Any, argnum: int, like: Any) -> None:
        if not callable(fn):
            raise SpecError(f"hovis.inverse takes a callable, not {type(fn).__name__}")
        super().__init__(fn, (argnum, like))
        take_names(self, fn)

    def derived(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        fn = self.fn
        argnum, like = self.how
        at = int(place(fn, args, {}, argnum))
        before, after = args[:at], args[at + 1 :]
        result: list[Any] = []
        pytree.flatten(args[at], result)
        leaves: list[Any] = []
        tree = pytree.flatten(args[at] if like is None else like, leaves)

        def flat(*wanted: Any) -> Any:
            argument = pytree.rebuilt(tree, wanted)
            given: list[Any] = []
            pytree.flatten(fn(*before, argument, *after, **kwargs), given)
            return tuple(given)

        found = through("inverse", (len(result), name_of(fn)), flat, tuple(leaves), tuple(result))
        return pytree.rebuilt(tree, found)


APPLYING.add(Inverse.derived.__code__)
