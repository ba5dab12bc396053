"""Stand-ins for the read-only view of a dict, and for an empty ``weakref.WeakKeyDictionary``."""

import types
import weakref
from typing import Any, Final

from hovis.library.core import Library, leave, real

WRAPPERS: Final = Library("wrappers")


@WRAPPERS.stand(types.MappingProxyType, types.MappingProxyType, "mapping", frozen=True)
class MappingProxy:
    """``types.MappingProxyType`` (CPython: Objects/descrobject.c)."""

    def __init__(self, mapping: Any, /) -> None:
        if type(mapping) is not dict:
            leave()
        self.mapping = mapping

    def __getitem__(self, key: Any) -> Any:
        return self.mapping[key]

    def __contains__(self, key: Any) -> bool:
        return key in self.mapping

    def __len__(self) -> int:
        return len(self.mapping)

    def __iter__(self) -> Any:
        return iter(self.mapping)

    def __reversed__(self) -> Any:
        return reversed(self.mapping)

    def get(self, key: Any, default: Any = None, /) -> Any:
        return self.mapping.get(key, default)

    def keys(self) -> Any:
        return self.mapping.keys()

    def values(self) -> Any:
        return self.mapping.values()

    def items(self) -> Any:
        return self.mapping.items()

    def copy(self) -> Any:
        return self.mapping.copy()

    def __eq__(self, other: Any) -> Any:
        return self.mapping == other

    def __ne__(self, other: Any) -> Any:
        return self.mapping != other

    def __or__(self, other: Any) -> Any:
        return self.mapping | other

    def __repr__(self) -> str:
        return f"mappingproxy({self.mapping!r})"

    def __hash__(self) -> int:
        return hash(real(self))


@WRAPPERS.stand(weakref.WeakKeyDictionary, weakref.WeakKeyDictionary, eager=True)
class WeakKeyDictionary:
    """An empty ``weakref.WeakKeyDictionary``; items are stored only in the real object."""

    def __init__(self, dict: Any = None) -> None:
        if dict is not None:
            leave()

    def clear(self) -> None:
        pass

    def __len__(self) -> int:
        return 0
