"""Mapping of functions over an axis of their arguments: ``vmap``. It is traced through like the derivatives (:mod:`hovis.functional.grad`)."""

import functools
import weakref
from collections.abc import Callable
from typing import Any, Final

from hovis.backend.tracebacks import hide
from hovis.base import pytree
from hovis.base.function_wrapper import take_names
from hovis.base.hints import dynamic
from hovis.errors import DerivativeError, RunningAway, SpecError, TransformError
from hovis.functional.differentiated_arguments import kind_of, name_of, named_leaves
from hovis.functional.nested_transforms import APPLYING, TRANSFORMS, Transform, through, whole
from hovis.functional.transformed import Eager, Transformed
from hovis.ir.model import Function
from hovis.lattice.constants import is_immutable
from hovis.library.numpy.adjoints.tangents import is_array
from hovis.library.numpy.batching.base import begun, element, first, gone_on, last, of_lane
from hovis.transforms.record.recorder import follow
from hovis.transforms.vmap.strategy import batch, changes_nothing, no_lanes


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """fn for arrays of arguments: its results for each element, stacked along a new axis.

    in_axes   the axis of each argument over which fn is mapped, None for an argument that is the same in all calls: an int for
              all arguments, or one entry for each; for an argument that is a tree, an axis for all its leaves, or a tree of axes
    out_axes  the position of the new axis in the result; an int, or a tree of ints

    All lanes are computed together, on arrays; where lanes diverge, each block is run for the lanes that have reached it.  Functions
    that can't be batched (results of several types, calls of unknown functions, stores into objects that all lanes share) are run for
    one lane after the other.  A call raises ValueError if an argument has no such axis or the axes have different sizes,
    TypeError if in_axes or out_axes do not have the tree structure of the arguments or results, TransformError with the line for functions
    that print, and anything that fn raises.

    >>> import numpy as np
    >>> vmap(lambda x, y: x * y + 1.0, in_axes=(0, None))(np.arange(3.0), 10.0)
    array([ 1., 11., 21.])
    """
    return Mapped(fn, in_axes, out_axes)


def directions(function: Function, places: list[int], lanes: int, *mapped: bool) -> Function:
    """Transform like ``batch``; a Function that can't be batched becomes one that returns None, and its derivatives are taken one after the
    other.
    """
    try:
        return batch(function, places, lanes, *mapped)
    except TransformError:
        return no_lanes(function, places, mapped)


TRANSFORMS["batch"] = Transform(batch, optional=True, final=True)
#: The transform for calls outside of a trace.
WATCHED: Final = "watched batch"
TRANSFORMS[WATCHED] = Transform(functools.partial(batch, watched=True), optional=True, final=True)
TRANSFORMS["directions"] = Transform(directions, optional=True)


class Mapped(Transformed):
    """See :func:`vmap`."""

    __slots__ = ()
    called = "vmap"

    def __init__(self, fn: Any, in_axes: Any, out_axes: Any) -> None:
        if not callable(fn):
            raise SpecError(f"hovis.vmap takes a callable, not {type(fn).__name__}")
        super().__init__(fn, (_chosen(in_axes), _chosen(out_axes)))
        take_names(self, fn)

    def derived(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return in_lanes("batch", self.fn, _tree(self.how[0]), _tree(self.how[1]), args, kwargs)

    @staticmethod
    def of(how: Any, fn: Any, data: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return in_lanes(WATCHED, fn, _tree(how[0]), _tree(how[1]), args, kwargs)

    def carried_out(self, eager: Eager, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call by its residual; if that raises and has changed nothing, run it again, one lane after the other.

        Then the exception is that of the first lane that raises, as in a loop; and ints may have any size.
        """
        try:
            if not self.skips(eager):
                return eager(*args, **kwargs)
        except RunningAway:
            skipped, _ = _AWAY.get(eager, (0, 0))
            _AWAY[eager] = min(2 * skipped + 1, MOST_SKIPPED), min(2 * skipped + 1, MOST_SKIPPED)
        except Exception as error:
            trace = eager.traced(args, kwargs)
            refused = isinstance(error, TransformError) and not isinstance(error, DerivativeError)
            if refused or trace is None or not changes_nothing(trace.function):
                raise
        try:
            return self.derived(args[2:], kwargs)
        except BaseException:
            hide()
            raise


    @staticmethod
    def skips(eager: Eager) -> bool:
        """Is the residual skipped for this call, because running one lane after the other was quicker the last time? Each time that this is
        found again, about twice as many calls skip it.
        """
        skipped, left = _AWAY.get(eager, (0, 0))
        if left:
            _AWAY[eager] = skipped, left - 1
        return left > 0


#: For each residual: the number of calls that run one lane after the other before all lanes are tried together again, and how many of these are left.
_AWAY: Final[weakref.WeakKeyDictionary[Eager, tuple[int, int]]] = weakref.WeakKeyDictionary()
MOST_SKIPPED: Final = 63


class Axes:
    """A known tree of axes; two are equal if their ``repr`` is equal."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def __hash__(self) -> int:
        return hash(repr(self.tree))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axes) and repr(self.tree) == repr(other.tree)


def _chosen(tree: Any) -> Any:
    """Return a tree of axes as it is stored."""
    return tree if is_immutable(tree) else Axes(tree)


def _tree(chosen: Any) -> Any:
    """Return a stored tree of axes as the user gave it."""
    return chosen.tree if isinstance(chosen, Axes) else chosen


def in_lanes(transform: str, fn: Any, in_axes: Any, out_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call: all lanes together if possible, else one after the other."""
    axes: list[Any] = []
    each_axis(in_axes if isinstance(in_axes, tuple | list) else (in_axes,) * len(args), args, axes)
    found: list[Any] = []
    tree = pytree.flatten((args, kwargs), found)
    axes += [0] * (len(found) - len(axes))
    lanes = count(fn, tree, found, axes)
    mapped = tuple([axis is not None for axis in axes])
    arrays = [leaf if axis is None else first(leaf, axis) for leaf, axis in zip(found, axes, strict=True)]
    leaves = tuple([element(array) if flag else array for array, flag in zip(arrays, mapped, strict=True)])

    def flat(*values: Any) -> Any:
        ours, named = pytree.rebuilt(tree, values)
        result: list[Any] = []
        shape = pytree.flatten(follow(fn, ours, named), result)
        return tuple(result), shape

    together = through(transform, (lanes, *mapped), flat, leaves, tuple([a for a, flag in zip(arrays, mapped, strict=True) if flag]))
    if together is None and transform == WATCHED:
        # tracing the loop over the lanes would gain nothing
        raise RunningAway
    results, shape = each(flat, lanes, arrays, mapped) if together is None else together
    places: list[Any] = []
    each_axis(out_axes, pytree.rebuilt(shape, results), places)
    return pytree.rebuilt(shape, [last(result, axis) for result, axis in zip(results, places, strict=True)])


APPLYING.update((in_lanes.__code__, _chosen.__code__, _tree.__code__))
APPLYING.add(Mapped.derived.__code__)


def each_axis(axes: Any, x: Any, found: list[Any]) -> None:
    """Append to `found` the axis of each leaf of x, from a tree of axes or one axis for all; TypeError if the trees do not fit."""
    if axes is None or isinstance(axes, int):
        leaves: list[Any] = []
        pytree.flatten(x, leaves)
        found.extend([axes] * len(leaves))
        return
    ours, others = pytree.children_of(axes), pytree.children_of(x)
    if ours is None or others is None or len(ours[2]) != len(others[2]):
        raise TypeError("hovis.vmap: in_axes must have the structure of the arguments, and out_axes that of the result")
    for part, child in zip(ours[2], others[2], strict=True):
        each_axis(part, child, found)


def count(fn: Any, tree: Any, leaves: list[Any], axes: list[Any]) -> int:
    """Return the number of lanes; ValueError if an argument has no such axis, or if the sizes differ."""
    first_at = None
    for k, (leaf, axis) in enumerate(zip(leaves, axes, strict=True)):
        if axis is None:
            continue
        if not is_array(leaf) or not -leaf.ndim <= axis < leaf.ndim:
            rank = leaf.ndim if is_array(leaf) else 0
            raise ValueError(f"hovis.vmap: {name_of(fn)} is to be mapped over axis {axis} of {named(fn, tree)[k]}, whose rank is {rank}: it is {kind_of(leaf)}")
        if first_at is None:
            first_at = k
        elif leaf.shape[axis] != leaves[first_at].shape[axes[first_at]]:
            names, sizes = named(fn, tree), (leaves[first_at].shape[axes[first_at]], leaf.shape[axis])
            told = f"{sizes[0]} ({names[first_at]}) and {sizes[1]} ({names[k]})"
            raise ValueError(f"hovis.vmap: {name_of(fn)} is to be mapped over axes of different sizes: {told}")
    if first_at is None:
        raise ValueError(f"hovis.vmap: none of the arguments of {name_of(fn)} is to be mapped over")
    return leaves[first_at].shape[axes[first_at]]  # type: ignore[no-any-return]


def named(fn: Any, tree: Any) -> list[str]:
    """Return an expression for each leaf of the arguments."""
    args, kwargs = tree.children
    names = named_leaves(fn, range(len(args.children)), args.children)
    for name, child in zip(kwargs.extra, kwargs.children, strict=True):
        names += pytree.paths(child, name)
    return names


def each(flat: Any, lanes: int, arrays: list[Any], mapped: tuple[bool, ...]) -> Any:
    """Compute the results for one lane after the other; there is at least one lane."""
    results, shape = flat(*[of_lane(array, flag, 0) for array, flag in zip(arrays, mapped, strict=True)])
    outs = [follow(begun, (lanes, whole(result)), {}) for result in results]
    # all iterations are alike: one is traced for all of them
    for k in range(1, dynamic(lanes)):
        results, other = flat(*[of_lane(array, flag, k) for array, flag in zip(arrays, mapped, strict=True)])
        if other != shape:
            raise ValueError("hovis.vmap: results of different structures can't be put together")
        outs = [follow(gone_on, (out, k, whole(result)), {}) for out, result in zip(outs, results, strict=True)]
    return tuple(outs), shape
