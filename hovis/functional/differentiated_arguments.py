"""The arguments that something is differentiated in: where they stand, their leaves, and what is said where there is none."""

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
    """SpecError if there is no function, or no argument in which anything could be differentiated."""
    if not callable(fn):
        raise SpecError(f"hovis.{transform} takes a callable, not {type(fn).__name__}")
    if not primals:
        raise SpecError(f"hovis.{transform} takes the arguments of the function, and got none")


class Wanted:
    """The arguments that something is differentiated in: trees, and of these the leaves that are real or complex."""

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
        """How each leaf is written, those that are no numbers as well."""
        return named_leaves(self.fn, self.places, self.tree.children)

    def _at_places(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return tuple([kwargs[k] if isinstance(k, str) else args[k] for k in self.places])

    def arguments(self, leaves: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """All arguments, with these leaves."""
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
        """What the function gives for these leaves, and what it leaves in the containers of the arguments (see ``leave``)."""
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
        """The containers of the arguments become what the function has made of those that stood for them."""
        if left is not None:
            own = pytree.holders(self._at_places(self.args, self.kwargs), self.tree)
            for k in range(len(own)):
                found = left[1][k]
                if found is not None:
                    pytree.refill(own[k], found[0], [instead(child, left[0], own) for child in found[1]])

    def alike(self, tangents: Any) -> list[Any]:
        """The tangents of the leaves, of trees like the arguments."""
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
        """Trees like the arguments, None where there is no number."""
        trees = self._tree(found, [None] * len(self.all))
        return trees[0] if self.single else trees

    def _tree(self, leaves: Sequence[Any], others: Sequence[Any]) -> Any:
        filled = list(others)
        for k in range(len(self.at)):
            filled[self.at[k]] = leaves[k]
        return pytree.rebuilt(self.tree, filled)


def unless_same(now: Any, before: Any, known: bool) -> Any:
    """What is in a container now; None if that is, for all that is known while tracing, what was there before."""
    if known and now[0] == before[0] and len(now[1]) == len(before[1]):
        still = [is_still(now[1][k], before[1][k]) for k in range(len(now[1]))]
        return None if all(still) else now
    return now


def instead(child: Any, inner: Sequence[Any], own: Sequence[Any]) -> Any:
    """A child of a container: if it is one of those that stood for the caller's own, that one."""
    if not isinstance(child, int | float | complex) and not is_array(child):
        for k in range(len(inner)):
            if child is inner[k]:
                return own[k]
    return child


def place(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], k: Argument) -> Argument:
    """Where an argument is: its position, or the name by which it was given."""
    if isinstance(k, str):
        if k in kwargs:
            return k
        at = parameters(fn).index(k) if k in parameters(fn) else len(args)
        if at < len(args):
            return at
        raise TypeError(f"{name_of(fn)} is to be differentiated in its argument {k}, and got none of that name")
    at = k + len(args) if k < 0 else k
    if 0 <= at < len(args):
        return at
    if at >= 0 and at < len(parameters(fn)) and parameters(fn)[at] in kwargs:
        return parameters(fn)[at]
    raise TypeError(f"{name_of(fn)} is to be differentiated in its argument {k}, and got {len(args)} by position")


def parameters(fn: Any) -> tuple[str, ...]:
    """The names of the parameters of fn that may be given by position, as far as they are known."""
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
    """Is it a real or complex number, or an array of these?"""
    return leaf.dtype.kind in "fc" if is_array(leaf) else isinstance(leaf, float | complex)


def no_leaf(fn: Any, places: Sequence[Argument], leaves: Sequence[Any], names: Sequence[str]) -> str:
    """What to say where there is nothing to differentiate in."""
    kinds = [f"{name} is {kind_of(leaf)}" for name, leaf in zip(names, leaves, strict=True)]
    told = ", ".join(kinds[:MOST_TOLD] + ["…"] * (len(kinds) > MOST_TOLD))
    return f"{name_of(fn)} can't be differentiated in its argument {places[0]}: there is no real number in it{': ' * bool(told)}{told}"


#: Of so many leaves an error speaks.
MOST_TOLD: Final = 8


def kind_of(leaf: Any) -> str:
    """What a leaf is, in words."""
    return f"an array of {leaf.dtype}" if is_array(leaf) else f"of the type {type(leaf).__name__}"


def named_leaves(fn: Any, places: Sequence[Argument], trees: Sequence[Any]) -> list[str]:
    """How the leaves of these arguments are written, from the names of the parameters."""
    known = parameters(fn)
    found: list[str] = []
    for k, tree in zip(places, trees, strict=True):
        name = k if isinstance(k, str) else known[k] if k < len(known) else f"args[{k}]"
        found += pytree.paths(tree, name)
    return found


def name_of(fn: Any) -> str:
    """What a function is called, and where it stands."""
    code = getattr(fn, "__code__", None)
    name = getattr(fn, "__qualname__", None) or type(fn).__qualname__
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else str(name)
