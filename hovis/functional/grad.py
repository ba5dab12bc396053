"""Derivatives of Python functions: ``grad``, ``value_and_grad``, ``jvp`` and Jacobians.

They return ordinary callables.  A call outside of a trace runs residual Python, which is made when it is first needed and
cached by the kinds of the arguments; a call inside a trace is traced through.
"""

from collections.abc import Callable, Sequence
from typing import Any

from hovis.base import pytree
from hovis.base.function_wrapper import take_names
from hovis.errors import SpecError, said
from hovis.functional.differentiated_arguments import Argnums, Argument, Wanted, name_of, some
from hovis.functional.nested_transforms import through
from hovis.functional.transformed import Transformed
from hovis.library.numpy.adjoints.tangents import assembled, directions, is_array, shape_of, size_of, sized, tangent, unit
from hovis.transforms.record.recorder import follow

# ------------------------------------------------------------------------------------------------- public


def grad(fn: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a function whose result is a real number, in these arguments.

    fn        a callable of trees of numbers and arrays; its result is a float, or an array of one element
    argnums   the position or the name of a parameter: the gradient has the structure of that argument; several of them: a tuple of gradients
    has_aux   fn returns a pair, whose second item is passed on: (gradient, aux)

    Raises SpecError if fn is not callable or argnums names no argument.  A call of the gradient raises TypeError if the result is not a real number or
    an argument holds no real number (ints do not count), DerivativeError if something in fn has no derivative, and anything that fn raises.

    >>> grad(lambda x: x * x * x)(2.0)
    12.0
    >>> grad(lambda x, *, scale: x * scale, ("x", "scale"))(2.0, scale=5.0)
    (5.0, 2.0)
    """
    return Gradient(fn, argnums, has_aux, False)


def value_and_grad(fn: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """As :func:`grad`, with what fn returns: (value, gradient); with has_aux ((value, aux), gradient).

    Raises what `grad` raises.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    return Gradient(fn, argnums, has_aux, True)


def jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The result of fn for these arguments, and its tangent for these tangents of the arguments: (result, tangent), with has_aux (result,
    tangent, aux).

    primals    the arguments, a tuple of trees of numbers and arrays
    tangents   the direction: as many trees of the same structure, numbers and arrays of the same shapes (None: zero)
    has_aux    fn returns a pair, whose second item is passed on

    Raises SpecError if fn is not callable or there are no arguments, TypeError if tangents do not fit primals, DerivativeError if something in fn
    has no derivative, and anything that fn raises.

    >>> jvp(lambda x, y: x * y, (2.0, 5.0), (1.0, 0.0))
    (10.0, 5.0)
    """
    if not (isinstance(primals, tuple | list) and isinstance(tangents, tuple | list)):
        raise SpecError("hovis.jvp takes the arguments as one tuple, and their tangents as another")
    at = tuple(primals)
    some("jvp", fn, at)
    return Push(fn, has_aux)(at, tuple(tangents))


def _named(argnums: Argnums) -> Argument | tuple[Argument, ...]:
    """Return argnums as they are stored; SpecError if they name no argument."""
    if not isinstance(argnums, int | str | tuple | list | range):
        raise SpecError(f"argnums is a position, a name, or a sequence of these, not {said(argnums)}")
    found = argnums if isinstance(argnums, int | str) else tuple(argnums)
    if found == ():
        raise SpecError("argnums names no argument to differentiate in")
    return found


def jacfwd(fn: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Jacobian of a function of arrays, column by column (forward mode): of each array of the result by each array of the arguments.

    For a result of shape r and an argument of shape a its shape is r + a.  For argnums and has_aux see :func:`grad`; it raises
    the same errors.

    >>> jacfwd(lambda x: x * x)(3.0)
    6.0
    """
    return Jacobian(fn, argnums, has_aux, True)


def jacrev(fn: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Jacobian of a function of arrays, row by row (reverse mode): quicker than :func:`jacfwd` where the result is smaller than the arguments.

    For a result of shape r and an argument of shape a its shape is r + a.  For argnums and has_aux see :func:`grad`; it raises
    the same errors.

    >>> jacrev(lambda x: x * x)(3.0)
    6.0
    """
    return Jacobian(fn, argnums, has_aux, False)


def hessian(fn: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The second derivatives of a function whose result is a real number: the Jacobian of its gradient.

    For an argument of shape a its shape is a + a.  For argnums see :func:`grad`; it raises the same errors.

    >>> hessian(lambda x: x * x * x)(2.0)
    12.0
    """
    return jacfwd(grad(fn, argnums), argnums)


# ------------------------------------------------------------------------------------------------- the callables


class Gradient(Transformed):
    """See :func:`grad` and :func:`value_and_grad`."""

    __slots__ = ()

    def __init__(self, fn: Any, argnums: Argnums, has_aux: bool, with_value: bool) -> None:
        if not callable(fn):
            raise SpecError(f"hovis.grad takes a callable, not {type(fn).__name__}")
        super().__init__(fn, (_named(argnums), has_aux, with_value))
        take_names(self, fn)

    @property
    def naming(self) -> str:
        return "value_and_grad({})" if self.how[2] else "grad({})"

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        argnums, has_aux, with_value = how
        wanted = Wanted(fn, args, kwargs, argnums)

        def flat(*leaves: Any) -> Any:
            result, left = wanted.called(leaves)
            if has_aux:
                value, aux = result
                return real_scalar(value, fn), aux, left
            return real_scalar(result, fn), None, left

        value, aux, left, *found = through("reverse", (1,), flat, tuple(wanted.leaves), ())
        wanted.leave(left)
        gradient = wanted.rebuilt(found)
        if with_value:
            return ((value, aux) if has_aux else value), gradient
        return (gradient, aux) if has_aux else gradient


class Push(Transformed):
    """See :func:`jvp`."""

    __slots__ = ()
    called = "jvp"

    def __init__(self, fn: Any, has_aux: bool) -> None:
        super().__init__(fn, (has_aux,))

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        primals, tangents = args
        wanted = Wanted(fn, primals, kwargs, tuple(range(len(primals))))
        result, aux, change, left = pushed(wanted, wanted.alike(tangents), how[0])
        wanted.leave(left)
        return (result, change, aux) if how[0] else (result, change)


class Jacobian(Transformed):
    """See :func:`jacfwd` and :func:`jacrev`."""

    __slots__ = ()
    called = "jacobian"

    def __init__(self, fn: Any, argnums: Argnums, has_aux: bool, is_forward: bool) -> None:
        if not callable(fn):
            raise SpecError(f"hovis.{'jacfwd' if is_forward else 'jacrev'} takes a callable, not {type(fn).__name__}")
        super().__init__(fn, (_named(argnums), has_aux, is_forward))
        take_names(self, fn)

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        argnums, has_aux, is_forward = how
        wanted = Wanted(fn, args, kwargs, argnums)
        result = follow(fn, args, kwargs)
        value = result[0] if has_aux else result
        outputs: list[Any] = []
        tree = pytree.flatten(value, outputs)
        rows = (columns if is_forward else lines)(fn, wanted, args, kwargs, how, outputs)
        found = pytree.rebuilt(tree, [wanted.rebuilt(row) for row in rows])
        return (found, result[1]) if has_aux else found


def columns(fn: Any, wanted: Wanted, args: tuple[Any, ...], kwargs: dict[str, Any], how: Any, outputs: list[Any]) -> list[list[Any]]:
    """Compute the Jacobian, for each output and each leaf, by forward mode: one push for each element of the leaves, all elements of a leaf
    together.
    """
    argnums, has_aux, _ = how
    found: list[list[Any]] = [[] for _ in outputs]
    for j, leaf in enumerate(wanted.leaves):

        def push(direction: Any, j: int = j) -> Any:
            mine = Wanted(fn, args, kwargs, argnums)
            tangents = [direction if k == j else unit(other, -1) for k, other in enumerate(mine.leaves)]
            leaves: list[Any] = []
            tree = pytree.flatten(pushed(mine, tangents, has_aux)[2], leaves)
            return tuple(leaves), tree

        pushes = in_all_directions(push, leaf)
        for o, output in enumerate(outputs):
            found[o].append(assembled(pushes, o, output, leaf, -1))
    return found


def lines(fn: Any, wanted: Wanted, args: tuple[Any, ...], kwargs: dict[str, Any], how: Any, outputs: list[Any]) -> list[list[Any]]:
    """Compute the Jacobian, for each output and each leaf, by reverse mode: one pull for each element of the outputs."""
    argnums, has_aux, _ = how
    others = tuple(outputs)
    found = []
    for o, output in enumerate(outputs):

        def pull(direction: Any, o: int = o) -> Any:
            mine = Wanted(fn, args, kwargs, argnums)

            def flat(*leaves: Any) -> Any:
                result = follow(fn, *mine.arguments(leaves))
                held: list[Any] = []
                pytree.flatten(result[0] if has_aux else result, held)
                return tuple(held)

            seeds = [direction if k == o else unit(other, -1) for k, other in enumerate(others)]
            return through("reverse", (len(others), True), flat, tuple(mine.leaves), tuple(seeds))[len(others) :], None

        pulls = in_all_directions(pull, output)
        found.append([assembled(pulls, j, output, leaf, 0) for j, leaf in enumerate(wanted.leaves)])
    return found


def in_all_directions(way: Any, x: Any) -> Any:
    """Return the leaves of ``way(direction)[0]`` for each element of x: batched over all elements, or as a list with an entry for each element."""
    count = size_of(x)
    if is_array(x) and sized(x) and count > 1:
        together = through("directions", (count, True), way, (unit(x, -1),), (directions(x),))
        if together is not None:
            return together[0]
    found = []
    for e in range(count):
        found.append(way(unit(x, e))[0])
    return found


def pushed(wanted: Wanted, tangents: Sequence[Any], has_aux: bool) -> tuple[Any, Any, Any, Any]:
    """Return the result, the auxiliary value, the tangent of the result, and the new contents of the containers of the arguments."""

    def flat(*leaves: Any) -> Any:
        result, left = wanted.called(leaves)
        return (*result, left) if has_aux else (result, None, left)

    (result, aux, left), change = through("forward", (), flat, tuple(wanted.leaves), tuple(tangents))
    return result, aux, tangent(result) if change is None else change[0], left


def real_scalar(value: Any, fn: Any) -> Any:
    """Return the result of a function if it is one real number; TypeError otherwise, because the function has no gradient."""
    if is_array(value):
        if value.dtype.kind in "fiu" and shape_of(value) == ():
            return value
        raise TypeError(f"{name_of(fn)} has no gradient: its result is an array of {value.dtype} of shape {value.shape}, and would have to be one real number")
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        return value  # an int does not depend on real arguments: its gradient is zero
    raise TypeError(f"{name_of(fn)} has no gradient: its result is of the type {type(value).__name__}, and would have to be one real number")
