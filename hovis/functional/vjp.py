"""``vjp`` and ``linearize``: the result of a function, and a function for its cotangents or tangents that uses values computed once and kept.

In a trace a function is split into two halves (:mod:`hovis.transforms.reverse.split_vjp`) if possible; the user gets the second half, with
the values that the first half has kept for it.  Otherwise the function is run again.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from hovis.backend.assembler.assemble import assemble
from hovis.base import pytree
from hovis.engine.calls.subtrace import Mirror
from hovis.engine.machine.call_results import finish
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import GiveUp
from hovis.engine.state.values import Known
from hovis.errors import DerivativeError
from hovis.front.outcome import COMPUTED, filled, outcome
from hovis.functional.differentiated_arguments import Wanted, changes, some
from hovis.functional.grad import pushed
from hovis.functional.nested_transforms import remembered, through
from hovis.functional.transformed import Transformed
from hovis.ir.model import Function
from hovis.library.numpy.adjoints.tangents import as_tangent, gradient, own, shape_of, tangent
from hovis.library.standard import STANDARD
from hovis.passes import pipeline
from hovis.transforms.record.recorder import follow
from hovis.transforms.reverse import split_vjp


def vjp(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The result of fn for these arguments, and the function from the cotangents of the result to those of the arguments (a tuple).

    primals   the arguments, trees of numbers and arrays
    has_aux   fn returns a pair, whose second item is passed on: (result, function, aux)

    The function takes a tree like the result, with numbers and arrays of the same shapes; it can be called any number of times.
    Raises SpecError if fn is not callable or there are no arguments, TypeError if one of them holds no real number or the cotangents do not
    fit, DerivativeError if something in fn has no derivative, and anything that fn raises.

    >>> y, pull = vjp(lambda x, w: x * w, 2.0, 5.0)
    >>> y, pull(1.0)
    (10.0, (5.0, 2.0))
    """
    some("vjp", fn, primals)
    return Halved(fn, "pull", has_aux)(*primals)


def linearize(fn: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The result of fn for these arguments, and the function from tangents of the arguments to the tangent of the result.

    primals   the arguments, trees of numbers and arrays

    The function takes a tree for each argument, with numbers and arrays of the same shapes; it can be called any number of times.
    Raises the same errors as :func:`vjp`.

    >>> y, push = linearize(lambda x: x * x, 3.0)
    >>> y, push(1.0)
    (9.0, 6.0)
    """
    some("linearize", fn, primals)
    found: tuple[Any, Callable[..., Any]] = Halved(fn, "push", False)(*primals)
    return found


class Halved(Transformed):
    """See :func:`vjp` and :func:`linearize`."""

    __slots__ = ()

    def __init__(self, fn: Any, way: str, has_aux: bool) -> None:
        super().__init__(fn, (way, has_aux))

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        way, has_aux = how
        wanted = Wanted(fn, args, kwargs, tuple(range(len(args))))

        def flat(*leaves: Any) -> Any:
            result, left = wanted.called(leaves)
            main, aux = result if has_aux else (result, None)
            found: list[Any] = []
            more: list[Any] = []
            trees = pytree.flatten(main, found), pytree.flatten(aux, more), left is None
            return tuple(found), tuple(more), trees

        there, back, plans, trees, operands = halves_of(way, flat, *wanted.leaves)
        if there is None:
            # copies of the present state: the function changes the caller's own objects
            kept = copies(args)
            result = follow(fn, args, kwargs)
            again = Pullback(fn, kept, has_aux) if way == "pull" else Linear(fn, kept)
            return (result[0], again, result[1]) if has_aux else (result, again)
        found = there(*operands)
        outputs = filled(plans[0], found)
        count = len([known for known in plans[0] if known is COMPUTED])
        value, kept = pytree.rebuilt(trees[0], outputs), found[-1]
        second: Transformed
        if way == "pull":
            second = Pulled(back, (wanted.tree, plans[0], trees[0]), (tuple(wanted.all), tuple(outputs), kept))
        else:
            second = Pushed(back, (wanted.tree, plans[0], trees[0]), (tuple(wanted.all), tuple(outputs), kept))
        return (value, second, pytree.rebuilt(trees[1], filled(plans[1], found, count))) if has_aux else (value, second)


class Half(Transformed):
    """A second half, which is given the values that the first half has kept."""

    __slots__ = ()


class Pulled(Half):
    """The second half of ``vjp``: from cotangents of a result to those of the arguments."""

    __slots__ = ()

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        (tree, plan, _), (held, outputs, kept) = how, data
        given: list[Any] = []
        pytree.flatten(_cotangent(args), given)
        seeds = fitting("cotangent", given, outputs)
        found = fn(kept, *[seed for seed, known in zip(seeds, plan, strict=True) if known is COMPUTED])
        rest = [follow(gradient, (g, x), {}) for g, x in zip(found, [leaf for leaf in held if changes(leaf)], strict=True)]
        rest.reverse()
        return pytree.rebuilt(tree, [rest.pop() if changes(leaf) else None for leaf in held])


class Pushed(Half):
    """The second half of ``linearize``: from tangents of the arguments to that of a result."""

    __slots__ = ()

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        (_, plan, tree), (held, outputs, kept) = how, data
        given: list[Any] = []
        pytree.flatten(args, given)
        tangents = fitting("tangent", given, held)
        found = fn(kept, *[t for t, leaf in zip(tangents, held, strict=True) if changes(leaf)])
        moved = filled(plan, found)
        return pytree.rebuilt(tree, [t if known is COMPUTED else tangent(y) for t, known, y in zip(moved, plan, outputs, strict=True)])


def _cotangent(args: tuple[Any, ...]) -> Any:
    """Return the one argument of a pullback; TypeError if there are more or none."""
    if len(args) != 1:
        raise TypeError(f"the function that hovis.vjp returns takes one argument, the cotangent of the result, but got {len(args)}")
    return args[0]


def fitting(what: str, given: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
    """Return tangents or cotangents for these leaves, converted to their types (None for a leaf that has none); TypeError if number or shapes do
    not fit.
    """
    if len(given) != len(leaves):
        raise TypeError(f"there are {len(given)} {what}s for {len(leaves)} leaves")
    found = [follow(as_tangent, (t, x), {}) if changes(x) else None for t, x in zip(given, leaves, strict=True)]
    for t, x in zip(found, leaves, strict=True):
        if changes(x) and shape_of(t) != shape_of(x):
            raise TypeError(f"the {what} of a value of shape {shape_of(x)} has the shape {shape_of(t)}")
    return found


# ------------------------------------------------------------------------------------------------- halves, in a trace


def halves_of(way: str, fn: Any, *leaves: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return the two halves of `fn` for a call with these `leaves`, the leaves and the trees of its result, and the arguments of the first half;
    None for each if it can't be split. Outside of a trace it can't.
    """
    return None, None, None, None, None


def _halves_of(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    way, fn, *leaves = args
    try:
        mirror = Mirror(m, fn, leaves, len(leaves))
        found = remembered(m, mirror, ("halves", way.value), m.library, functools.partial(_halves, way.value, mirror))
    except (GiveUp, DerivativeError):
        # the error for a missing derivative is raised when the function is run again
        found = None
    except TypeError as wrong:
        return m.raise_new(type(wrong), str(wrong))
    parts: list[Any] = [Known(None)] * 5
    if found is not None:
        parts = [*map(Known, found), m.new(VObj("tuple", tuple, tuple(mirror.given)))]
    return finish(m, m.new(VObj("tuple", tuple, tuple(parts))), "value")


STANDARD.actions[halves_of] = _halves_of


def _halves(way: str, mirror: Mirror, function: Function) -> tuple[Any, Any, Any, Any] | None:
    """Return both halves as Python functions, the leaves of the result of the Function, and their trees; None if it can't be split."""
    found = outcome(function)
    if found is None or not found.computed[0] or not found.tree[2]:
        return None
    places = [k for k, param in enumerate(mirror.params) if param in mirror.leaves]
    made = pipeline.run(found.function, ["dce"])
    pair = (split_vjp.pulling if way == "pull" else split_vjp.pushing)(made, places, len(found.computed[0]))
    if pair is None:
        return None
    there, back = (assemble(one, mirror.namespace, mends=False) for one in pair)
    return there, back, tuple(found.plans), found.tree


# ------------------------------------------------------------------------------------------------- by running it again


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copy arguments, for a function that may change them."""
    leaves: list[Any] = []
    tree = pytree.flatten(args, leaves)
    copied: tuple[Any, ...] = pytree.rebuilt(tree, [follow(own, (leaf,), {}) for leaf in leaves])
    return copied


class Pullback(Transformed):
    """The function from cotangents of a result to those of the arguments that runs the original function again for each call."""

    __slots__ = ()

    def __init__(self, fn: Any, primals: tuple[Any, ...], has_aux: bool) -> None:
        super().__init__(fn, (has_aux,), primals)

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        has_aux, primals = how[0], copies(data)
        wanted = Wanted(fn, primals, {}, tuple(range(len(primals))))
        seeds: list[Any] = []
        pytree.flatten(_cotangent(args), seeds)

        def flat(*leaves: Any) -> Any:
            result = follow(fn, *wanted.arguments(leaves))
            found: list[Any] = []
            pytree.flatten(result[0] if has_aux else result, found)
            return tuple(found)

        found = through("reverse", (len(seeds), True), flat, tuple(wanted.leaves), tuple(seeds))
        return wanted.rebuilt(found[len(seeds) :])


class Linear(Transformed):
    """The function from tangents of the arguments to that of a result that runs the original function again for each call."""

    __slots__ = ()

    def __init__(self, fn: Any, primals: tuple[Any, ...]) -> None:
        super().__init__(fn, (), primals)

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        wanted = Wanted(fn, copies(data), {}, tuple(range(len(data))))
        return pushed(wanted, wanted.alike(args), False)[2]
