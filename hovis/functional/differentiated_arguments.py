"""The arguments with respect to which a function is differentiated: their positions, their leaves, and the error message if they hold no number."""

import types
from collections.abc import Sequence
from typing import Any, Final

from hovis.base import pytree
from hovis.errors import SpecError
from hovis.functional.nested_transforms import certain, is_followed, is_still, is_untouched, watch
from hovis.functional.transformed import Transformed
from hovis.library.numpy.adjoints.tangents import as_tangent, is_array, shape_of
from hovis.transforms.record.recorder import follow

#: An argument by its position, counted from the end if it is negative, or by the name of its parameter.
Argument = int | str
Argnums = Argument | Sequence[Argument]


def some(transform: str, fn: Any, primals: tuple[Any, ...]) -> None:
    """Raise SpecError if `fn` is not callable or there are no arguments."""
    if not callable(fn):
        raise SpecError(f"hovis.{transform} takes a callable, not {type(fn).__name__}")
    if not primals:
        raise SpecError(f"hovis.{transform} takes the arguments of the function, and got none")


class Wanted:
    """The arguments with respect to which a function is differentiated, as trees, and their real or complex leaves."""

    def __init__(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums) -> None:
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.single = isinstance(argnums, int | str)
        self.places = tuple([place(fn, args, kwargs, k) for k in ((argnums,) if isinstance(argnums, int | str) else argnums)])
        self.all: list[Any] = []
        self.tree = pytree.flatten(self._at_places(args, kwargs), self.all)
        self.at = [k for k in range(len(self.all)) if changes(certain(self.all[k]))]
        self.leaves = [self.all[k] for k in self.at]
        if not self.leaves:
            raise TypeError(no_leaf(fn, self.places, self.all, self.names()))

    def names(self) -> list[str]:
        """Return an expression for each leaf, including leaves that are no numbers."""
        return named_leaves(self.fn, self.places, self.tree.children)

    def _at_places(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return tuple([kwargs[k] if isinstance(k, str) else args[k] for k in self.places])

    def arguments(self, leaves: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return all arguments, positional and keyword, with these leaves in place of the original ones."""
        given = list(self.args)
        named = dict(self.kwargs)
        arguments = self._tree(leaves, self.all)
        for k in range(len(self.places)):
            at = self.places[k]
            if isinstance(at, str):
                named[at] = arguments[k]
            else:
                given[at] = arguments[k]
        return given, named

    def called(self, leaves: Sequence[Any]) -> tuple[Any, Any]:
        """Call the function with these leaves. Return its result, and the new contents of the containers of the arguments (see ``leave``), or
        None if no container has changed.
        """
        given, named = self.arguments(leaves)
        inner = pytree.holders(self._at_places(given, named), self.tree)
        before = [pytree.contents(holder) for holder in inner]
        for k in range(len(inner)):
            watch(inner[k], k)
        result = follow(self.fn, given, named)
        left = [None if is_untouched(inner[k], k) else unless_same(pytree.contents(inner[k]), before[k], is_followed(inner[k])) for k in range(len(inner))]
        changed = [one is not None for one in left]
        return result, (inner, left) if any(changed) else None

    def leave(self, left: Any) -> None:
        """Store into the caller's containers the contents that the function has left in the copies of them."""
        if left is not None:
            own = pytree.holders(self._at_places(self.args, self.kwargs), self.tree)
            for k in range(len(own)):
                found = left[1][k]
                if found is not None:
                    pytree.refill(own[k], found[0], [instead(child, left[0], own) for child in found[1]])

    def alike(self, tangents: Any) -> list[Any]:
        """Return the tangents of the leaves from `tangents`, trees of the same structure as the arguments; TypeError if the structure or a shape
        does not fit.
        """
        held: list[Any] = []
        pytree.flatten(tuple(tangents), held)
        if len(held) != len(self.all):
            raise TypeError(f"there are {len(held)} tangents for {len(self.all)} leaves of the arguments")
        found = []
        for k, (t, x) in enumerate(zip(held, self.all, strict=True)):
            if changes(x):
                found.append(follow(as_tangent, (t, x), {}))
                if shape_of(found[-1]) != shape_of(x):
                    raise TypeError(f"the tangent of {self.names()[k]}, whose shape is {shape_of(x)}, has the shape {shape_of(found[-1])}")
        return found

    def rebuilt(self, found: Sequence[Any]) -> Any:
        """Return trees of the structure of the arguments, with None in the place of leaves that are no real or complex numbers."""
        trees = self._tree(found, [None] * len(self.all))
        return trees[0] if self.single else trees

    def _tree(self, leaves: Sequence[Any], others: Sequence[Any]) -> Any:
        filled = list(others)
        for k in range(len(self.at)):
            filled[self.at[k]] = leaves[k]
        return pytree.rebuilt(self.tree, filled)


def unless_same(now: Any, before: Any, known: bool) -> Any:
    """Return `now`, the contents of a container, or None if it is known while tracing that they are the contents `before`."""
    if known and now[0] == before[0] and len(now[1]) == len(before[1]):
        still = [is_still(now[1][k], before[1][k]) for k in range(len(now[1]))]
        return None if all(still) else now
    return now


def instead(child: Any, inner: Sequence[Any], own: Sequence[Any]) -> Any:
    """Return the caller's own container if `child` is the copy of one, else `child` itself."""
    if not isinstance(child, int | float | complex) and not is_array(child):
        for k in range(len(inner)):
            if child is inner[k]:
                return own[k]
    return child


def place(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], k: Argument) -> Argument:
    """Return the place of an argument: its position, or the name by which it was passed; TypeError if it was not passed."""
    if isinstance(k, str):
        if k in kwargs:
            return k
        at = parameters(fn).index(k) if k in parameters(fn) else len(args)
        if at < len(args):
            return at
        raise TypeError(f"{name_of(fn)} is to be differentiated in its argument {k}, but no argument of that name was passed")
    at = k + len(args) if k < 0 else k
    if 0 <= at < len(args):
        return at
    if at >= 0 and at < len(parameters(fn)) and parameters(fn)[at] in kwargs:
        return parameters(fn)[at]
    raise TypeError(f"{name_of(fn)} is to be differentiated in its argument {k}, but got only {len(args)} by position")


def parameters(fn: Any) -> tuple[str, ...]:
    """Return the names of the parameters of fn that may be passed by position, as far as they are known."""
    while isinstance(fn, Transformed):
        fn = fn.fn
    bound = 0
    if isinstance(fn, types.MethodType):
        fn, bound = fn.__func__, 1
    elif not isinstance(fn, types.FunctionType):
        fn, bound = type(fn).__call__ if callable(fn) else None, 1
    code = getattr(fn, "__code__", None)
    return tuple(code.co_varnames[bound : code.co_argcount]) if code else ()


def changes(leaf: Any) -> bool:
    """Is the leaf a real or complex number, or an array of these?"""
    return leaf.dtype.kind in "fc" if is_array(leaf) else isinstance(leaf, float | complex)


def no_leaf(fn: Any, places: Sequence[Argument], leaves: Sequence[Any], names: Sequence[str]) -> str:
    """Return the error message for arguments that hold no real or complex number."""
    kinds = [f"{name} is {kind_of(leaf)}" for name, leaf in zip(names, leaves, strict=True)]
    told = ", ".join(kinds[:MOST_TOLD] + ["…"] * (len(kinds) > MOST_TOLD))
    return f"{name_of(fn)} can't be differentiated in its argument {places[0]}: there is no real number in it{': ' * bool(told)}{told}"


#: Maximal number of leaves that an error message lists.
MOST_TOLD: Final = 8


def kind_of(leaf: Any) -> str:
    """Return a description of the type of a leaf."""
    return f"an array of {leaf.dtype}" if is_array(leaf) else f"of the type {type(leaf).__name__}"


def named_leaves(fn: Any, places: Sequence[Argument], trees: Sequence[Any]) -> list[str]:
    """Return an expression for each leaf of these arguments, starting with the name of the parameter."""
    known = parameters(fn)
    found: list[str] = []
    for k, tree in zip(places, trees, strict=True):
        name = k if isinstance(k, str) else known[k] if k < len(known) else f"args[{k}]"
        found += pytree.paths(tree, name)
    return found


def name_of(fn: Any) -> str:
    """Return the name of a function, with its file and line."""
    code = getattr(fn, "__code__", None)
    name = getattr(fn, "__qualname__", None) or type(fn).__qualname__
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else str(name)
