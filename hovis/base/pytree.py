"""Pytrees: arguments and results as trees of containers, instances and registered classes, with values as leaves.

Tuples (also named tuples), lists, dicts, None and instances of plain classes (also dataclasses) are nodes; so are instances
of any other class that was registered.  All of this is Python that the engine traces through.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from types import MemberDescriptorType
from typing import Any, Final, NamedTuple

from hovis.errors import SpecError, said

#: class -> (flatten, unflatten), for each registered class
NODES: Final[dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]]] = {}


def register_pytree(cls: type, flatten: Callable[[Any], tuple[Sequence[Any], Any]], unflatten: Callable[[Any, Sequence[Any]], Any]) -> type:
    """Register how instances of cls are flattened and rebuilt, for transforms, `jit` and specs.

    cls         the class (instances of subclasses are not included); SpecError for anything else.  It is returned.
    flatten     maps an instance to its children and its auxiliary data (which has no derivative)
    unflatten   maps the auxiliary data and as many children to an instance

    If a class is registered again, the new functions are used from then on.  Exceptions of flatten and unflatten reach
    the caller of whatever flattens or rebuilds the instance.

    >>> class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> register_pytree(Pair, lambda p: ((p.a, p.b), None), lambda _, children: Pair(*children)).__name__
    'Pair'
    """
    if not isinstance(cls, type):
        raise SpecError(f"hovis.register_pytree takes a class, not {said(cls)}")
    NODES[cls] = flatten, unflatten
    return cls


class Leaf(NamedTuple):
    """A place in a tree that holds a value."""


class Node(NamedTuple):
    """An inner node of a tree: its kind and class, what else is needed to rebuild it, and the trees of its children."""

    kind: str
    cls: type
    extra: Any
    children: tuple[Any, ...]


LEAF: Final = Leaf()


def children_of(x: Any) -> tuple[str, Any, Any] | None:
    """Return the kind of a node, its extra data and its children; None for a leaf."""
    cls = type(x)
    if cls in NODES:
        children, extra = NODES[cls][0](x)
        return "registered", extra, children
    if cls is tuple or cls is list:
        return "sequence", None, x
    if cls is dict:
        return "dict", tuple(x), tuple(x.values())
    if isinstance(x, tuple):
        return "named", None, x
    names = attributes(x)
    return None if names is None else ("instance", names, tuple([getattr(x, name) for name in names]))


def attributes(x: Any) -> tuple[str, ...] | None:
    """Return the names of the attributes of an instance of a plain Python class; None for any other object."""
    cls: Any = type(x)
    if not cls.__flags__ & _HEAP or isinstance(x, type | BaseException | Enum) or cls.__getattribute__ is not object.__getattribute__:
        return None
    if cls.__module__.partition(".")[0] in _FOREIGN or any(base.__flags__ & _HEAP == 0 for base in cls.__mro__[:-1]):
        return None
    slots = [name for base in reversed(cls.__mro__) for name, held in vars(base).items() if type(held) is MemberDescriptorType]
    return (*[name for name in slots if hasattr(x, name)], *getattr(x, "__dict__", ()))


#: Packages whose instances are leaves: they have methods, and no data that is differentiated.
_FOREIGN: Final = ("functools", "types", "typing", "hovis", "hovis_xla")
#: Flag of classes that Python code defines (CPython: Py_TPFLAGS_HEAPTYPE).
_HEAP: Final = 1 << 9


def make_instance(cls: type, names: Sequence[str], values: Sequence[Any]) -> Any:
    """Create an instance of cls with these attributes, without running any code of the class."""
    made: Any = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def flatten(x: Any, leaves: list[Any]) -> Any:
    """Return the tree of x, and append its leaves to ``leaves``."""
    found = children_of(x)
    if found is None:
        leaves.append(x)
        return LEAF
    kind, extra, children = found
    return Node(kind, type(x), extra, tuple([flatten(child, leaves) for child in children]))


def holders(x: Any, tree: Any) -> list[Any]:
    """List the mutable containers and instances in a tree, in order."""
    if tree is LEAF or tree.kind == "registered":
        return []
    if tree.kind == "sequence" or tree.kind == "named":
        children = list(x)
    elif tree.kind == "dict":
        children = list(x.values())
    else:
        children = [getattr(x, name) for name in tree.extra]
    found = [] if isinstance(x, tuple) else [x]
    for k in range(len(children)):
        found += holders(children[k], tree.children[k])
    return found


def contents(x: Any) -> tuple[Any, Any]:
    """Return the current contents of one of the ``holders``: the names of its children (None for a list), and the children."""
    if isinstance(x, list):
        return None, tuple(x)
    if isinstance(x, dict):
        return tuple(x), tuple(x.values())
    names = names_in(x)
    return names, tuple([getattr(x, name) for name in names])


def names_in(x: Any) -> tuple[str, ...]:
    """Return the names of the attributes of an instance of a plain class."""
    return (attributes(x) or ()) if hasattr(type(x), "__slots__") else tuple(x.__dict__)


def refill(x: Any, extra: Any, children: Sequence[Any]) -> None:
    """Replace the contents of one of the ``holders``."""
    if isinstance(x, list):
        x[:] = children
        return
    if isinstance(x, dict):
        if tuple(x) != extra:
            x.clear()
        for k in range(len(extra)):
            x[extra[k]] = children[k]
        return
    for name in names_in(x):
        if name not in extra:
            object.__delattr__(x, name)
    for k in range(len(extra)):
        object.__setattr__(x, extra[k], children[k])


def paths(tree: Any, at: str) -> list[str]:
    """Return the expression of each leaf of a tree whose root is written as ``at``: ``d['w'][0]``, ``layer.bias``.

    >>> paths(flatten({"w": [1.0, 2.0], "b": 0.0}, []), "d")
    ["d['w'][0]", "d['w'][1]", "d['b']"]
    """
    if tree is LEAF:
        return [at]
    if tree.kind == "dict":
        steps = [f"[{key!r}]" for key in tree.extra]
    elif tree.kind == "instance":
        steps = [f".{name}" for name in tree.extra]
    elif tree.kind == "named":
        steps = [f".{name}" for name in tree.cls._fields]
    else:
        steps = [f"[{k}]" for k in range(len(tree.children))]
    found: list[str] = []
    for step, child in zip(steps, tree.children, strict=True):
        found += paths(child, at + step)
    return found


def unflatten(tree: Any, leaves: Iterator[Any]) -> Any:
    """Rebuild a tree with the next leaves of the iterator."""
    if tree is LEAF:
        return next(leaves)
    children = [unflatten(child, leaves) for child in tree.children]
    if tree.kind == "sequence":
        return children if tree.cls is list else tuple(children)
    if tree.kind == "dict":
        found = {}
        for k in range(len(children)):  # with zip, tracing would take eight times as many steps
            found[tree.extra[k]] = children[k]
        return found
    if tree.kind == "named":
        return tree.cls(*children)
    if tree.kind == "registered":
        return NODES[tree.cls][1](tree.extra, children)
    return make_instance(tree.cls, tree.extra, children)


def rebuilt(tree: Any, leaves: Sequence[Any]) -> Any:
    """Rebuild a tree with these leaves, in their order."""
    return unflatten(tree, iter(leaves))
