"""The arguments of a call as a graph of objects, which may be referenced from several places, and leaves."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from hovis.base.adopted_objects import Adopted
from hovis.base.function_wrapper import Wrapper
from hovis.front.jit_cache.cache_keys import KNOWN, Path
from hovis.lattice import Const
from hovis.lattice.inspection import is_a
from hovis_xla.abi.argument_specs import MOST, NUMBERS, LeftWhole, Walk, attributes, is_known, structure

_KINDS: Final[dict[Any, str]] = {list: "list", dict: "dict", set: "set"}


class Graph:
    """The arguments of a call as a graph: its objects and its leaves, each once. Making it raises LeftWhole if the arguments cannot be adopted."""

    def __init__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], policy: Mapping[Path, str]) -> None:
        self._walk = Walk(policy)
        self._known: dict[int, tuple[Any, ...]] = {}
        #: kind, class, keys and parts of each object
        self.objects: list[tuple[str, type, tuple[Any, ...], tuple[Any, ...]]] = []
        self.wholes: list[Any] = []
        self.leaves: list[Any] = []
        self.specs: list[Any] = []
        self.positional = tuple([self._part(value, (k,)) for k, value in enumerate(args)])
        self.named = tuple([(name, self._part(value, (name,))) for name, value in kwargs.items()])

    def adopted(self) -> Adopted:
        """Return the description of the graph that a trace needs."""
        return Adopted(tuple(self.objects), self.positional, self.named)

    def forget(self) -> None:
        """Drop the references to the objects themselves, which belong to the caller."""
        self.wholes.clear()
        self.leaves.clear()
        self._known.clear()

    def _part(self, value: Any, path: Path) -> tuple[Any, ...]:
        found = self._known.get(id(value))
        if found is not None:
            return found
        kind: Any = type(value)
        shape = None if kind in NUMBERS or is_known(value) or self._walk.policy.get(path) is KNOWN else structure(value)
        if issubclass(kind, tuple) and shape is not None:
            return "tuple", kind, tuple([self._part(v, (*path, k)) for k, v in enumerate(value)])
        if (kind is set and not value) or shape is not None:
            return self._object(value, path, shape[1] if shape is not None else [])
        _, spec = self._walk.part(value, path)
        if isinstance(spec, Const):
            return "known", spec.value
        made = "leaf", len(self.leaves)
        self.leaves.append(value)
        self.specs.append(spec)
        if is_a(value, np.ndarray):
            self._known[id(value)] = made
        return made

    def _object(self, value: Any, path: Path, parts: list[Any]) -> tuple[Any, ...]:
        kind = type(value)
        k = len(self.objects)
        self._known[id(value)] = made = "object", k
        keys: tuple[Any, ...] = tuple(value) if kind is dict else () if kind in _KINDS else tuple(attributes(value) or ())
        if hasattr(kind, "__del__"):
            raise LeftWhole
        self.wholes.append(value)
        self.objects.append(("", kind, (), ()))
        if len(self.wholes) + len(self.leaves) + len(parts) > MOST:
            raise LeftWhole
        fixed = keys.index("how") if isinstance(value, Wrapper) else None
        inner = tuple([("known", v) if j == fixed else self._part(v, (*path, j)) for j, v in enumerate(parts)])
        self.objects[k] = _KINDS.get(kind, "instance"), kind, keys, inner
        return made
