"""Stand-ins for the dict subclasses of collections.

The items are stored in a dict that only the stand-in refers to (its content); the methods do on it what CPython's
Modules/_collectionsmodule.c, Objects/odictobject.c and Lib/collections do.  Where a key is not known, the real object is
built, and its method is called.
"""

import collections
import operator
from collections.abc import Mapping
from typing import Any, Final

from hovis.ir.operations.wording import message_of
from hovis.library.core import Library, acted, leave, real, seen, settled
from hovis.library.language.stepping import END, Steps
from hovis.library.stdlib.iterators import MISSING

COLLECTIONS: Final = Library("collections")


class Dict:
    """The methods that subclasses of dict inherit."""

    data: Any

    def __getitem__(self, key: Any) -> Any:
        if not settled(key):
            return real(self)[key]
        if key in self.data:
            return self.data[key]
        return self.__missing__(key)

    def __missing__(self, key: Any) -> Any:
        raise KeyError(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if settled(key):
            self.data[key] = value
        else:
            real(self)[key] = value

    def __delitem__(self, key: Any) -> None:
        if settled(key):
            del self.data[key]
        else:
            del real(self)[key]

    def __contains__(self, key: Any) -> bool:
        return key in self.data if settled(key) else key in real(self)

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Any:
        return iter(self.data)

    def get(self, key: Any, default: Any = None, /) -> Any:
        return self.data.get(key, default) if settled(key) else real(self).get(key, default)

    def setdefault(self, key: Any, default: Any = None, /) -> Any:
        return self.data.setdefault(key, default) if settled(key) else real(self).setdefault(key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        return self.data.pop(key, *default) if settled(key) else real(self).pop(key, *default)

    def popitem(self) -> Any:
        return self.data.popitem()

    def update(self, /, *args: Any, **named: Any) -> None:
        self.data.update(*args, **named)

    def clear(self) -> None:
        self.data.clear()

    def keys(self) -> Any:
        return self.data.keys()

    def values(self) -> Any:
        return self.data.values()

    def items(self) -> Any:
        return self.data.items()


@COLLECTIONS.stand(collections.defaultdict, collections.defaultdict, "factory data", eager=True, content="data", fill=dict.update)
class Defaultdict(Dict):
    def __init__(self, factory: Any = None, /, *args: Any, **named: Any) -> None:
        if factory is not None and not callable(factory):
            raise TypeError("first argument must be callable or None")
        if args and not seen(args[0]):
            leave()
        self.factory = factory
        self.data = dict(*args, **named)

    @property
    def default_factory(self) -> Any:
        return self.factory

    def __missing__(self, key: Any) -> Any:
        if self.factory is None:
            raise KeyError(key)
        value = self.factory()
        self[key] = value
        return value

    def copy(self) -> Any:
        return Defaultdict(self.factory, self.data)

    def __copy__(self) -> Any:
        return Defaultdict(self.factory, self.data)


@COLLECTIONS.stand(collections.Counter, collections.Counter, "data", eager=True, content="data", fill=dict.update)
class Counter(Dict):
    """``collections.Counter``. Methods that are not here are those of the real class, which are Python code."""

    def __init__(self, iterable: Any = None, /, **kwds: Any) -> None:
        self.data = {}
        self.update(iterable, **kwds)

    def __missing__(self, key: Any) -> int:
        return 0

    def update(self, iterable: Any = None, /, **kwds: Any) -> None:
        if iterable is not None:
            if not seen(iterable):
                real(self).update(iterable)
            elif not isinstance(iterable, Mapping):
                for item in iterable:
                    self[item] = self.get(item, 0) + 1
            elif self.data:
                for item, number in iterable.items():
                    self[item] = number + self.get(item, 0)
            else:
                self.data.update(iterable)
        if kwds:
            self.update(kwds)

    def __delitem__(self, item: Any) -> None:
        if item in self:
            if settled(item):
                del self.data[item]
            else:
                del real(self)[item]

    def most_common(self, n: Any = None) -> Any:
        found = sorted(self.data.items(), key=operator.itemgetter(1), reverse=True)
        if n is None:
            return found
        if not settled(n) or not _ints(found):
            return real(self).most_common(n)
        return found[:n] if n >= 0 else []


def _ints(pairs: Any) -> bool:
    """Are the counts of the pairs ints, so that comparing them runs no user code?"""
    for pair in pairs:
        if type(pair[1]) is not int:
            return False
    return True


_AT_MOST: Final = message_of(lambda: collections.OrderedDict((), ())).removesuffix("2")  # type: ignore[call-overload]


@COLLECTIONS.stand(collections.OrderedDict, collections.OrderedDict, "data", eager=True, content="data", fill=dict.update)
class Ordered(Dict):
    def __init__(self, /, *args: Any, **named: Any) -> None:
        if len(args) > 1:
            raise TypeError(f"{_AT_MOST}{len(args)}")
        if args and not seen(args[0]):
            leave()
        #: a token shared by the active iterators; a change sets it to None, which invalidates them, and the next iterator makes a new one
        self.token: Any = None
        self.data = dict(*args, **named)

    def move_to_end(self, key: Any, last: Any = True) -> None:
        if not settled(key):
            real(self).move_to_end(key, last)
            return
        value = self.data[key]
        self.token = None
        del self.data[key]
        if last:
            self.data[key] = value
        else:
            rest = [*self.data.items()]
            self.data.clear()
            self.data[key] = value
            for other, kept in rest:
                self.data[other] = kept

    def __setitem__(self, key: Any, value: Any) -> None:
        if settled(key):
            self.changed(key)
            self.data[key] = value
        else:
            real(self)[key] = value

    def changed(self, key: Any) -> None:
        """Invalidate active iterators if key is new."""
        if key not in self.data:
            self.token = None

    def __delitem__(self, key: Any) -> None:
        if settled(key):
            del self.data[key]
            self.token = None
        else:
            del real(self)[key]

    def popitem(self, last: Any = True) -> Any:
        if not self.data:
            raise KeyError("dictionary is empty")
        self.token = None
        keys = [*self.data]
        key = keys[-1] if last else keys[0]
        return key, self.data.pop(key)

    def pop(self, key: Any, default: Any = MISSING) -> Any:
        if not settled(key):
            return real(self).pop(key) if default is MISSING else real(self).pop(key, default)
        if key in self.data:
            self.token = None
        return self.data.pop(key) if default is MISSING else self.data.pop(key, default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if not settled(key):
            return real(self).setdefault(key, default)
        self.changed(key)
        return self.data.setdefault(key, default)

    def clear(self) -> None:
        self.token = None
        self.data.clear()

    def update(self, /, *args: Any, **named: Any) -> None:
        size = len(self.data)
        self.data.update(*args, **named)
        if len(self.data) != size:
            self.token = None

    def copy(self) -> Any:
        return Ordered(self.data)

    def __copy__(self) -> Any:
        return Ordered(self.data)

    def __reversed__(self) -> Any:
        return reversed(real(self))

    def __iter__(self) -> Any:
        return OrderedIterator(self, [*self.data], "keys")

    def keys(self) -> Any:
        return OrderedKeys(self)

    def values(self) -> Any:
        return OrderedValues(self)

    def items(self) -> Any:
        return OrderedItems(self)

    def __eq__(self, other: Any) -> Any:
        kind: Any = type(other)
        if acted(other) and kind is collections.OrderedDict:
            return self.data == other.data and [*self.data] == [*other.data]
        if kind is dict:
            return self.data == other
        return real(self) == other

    def __ne__(self, other: Any) -> Any:
        return not self == other

    __hash__ = None  # type: ignore[assignment]


class _View:
    view = ""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __len__(self) -> int:
        return len(self.source)

    def __iter__(self) -> Any:
        return OrderedIterator(self.source, [*self.source.data], self.view)


@COLLECTIONS.stand(type(collections.OrderedDict().keys()), collections.OrderedDict.keys, "source")
class OrderedKeys(_View):
    view = "keys"

    def __contains__(self, key: Any) -> bool:
        return key in self.source


@COLLECTIONS.stand(type(collections.OrderedDict().values()), collections.OrderedDict.values, "source")
class OrderedValues(_View):
    view = "values"


@COLLECTIONS.stand(type(collections.OrderedDict().items()), collections.OrderedDict.items, "source")
class OrderedItems(_View):
    view = "items"


@COLLECTIONS.stand(type(iter(collections.OrderedDict())))
class OrderedIterator(Steps):
    """An iterator over the keys that existed when it began. Like CPython's, it raises RuntimeError if keys were added or removed since
    (odictiter_nextkey).
    """

    def __init__(self, source: Any, keys: Any, view: str) -> None:
        if source.token is None:
            source.token = []
        self.source = source
        self.token = source.token
        self.rest = keys
        self.view = view

    def step(self) -> Any:
        if not self.rest:
            return END
        if self.token is not self.source.token:
            self.rest = []
            raise RuntimeError("OrderedDict mutated during iteration")
        key = self.rest.pop(0)
        if self.view == "keys":
            return key
        value = self.source.data[key]
        return value if self.view == "values" else (key, value)
