"""Caches of functools, as Python code that stands for them (CPython: Modules/_functoolsmodule.c, Lib/functools.py)."""

import functools
from typing import Any, Final

from hovis.library.core import Library, leave, settled

CACHES: Final = Library("caches")

_WRAPPER: Final[Any] = functools._lru_cache_wrapper
#: Stands between the positional and the keyword arguments in a key.
_MARK: Final[Any] = object


@CACHES.stand(_WRAPPER, _WRAPPER, "function limit typed info", when={"hits": 0, "misses": 0}, dictionary=True)
class LruCache:
    """What ``lru_cache`` makes of a function; once it has been called it cannot be built any more."""

    def __init__(self, user_function: Any, maxsize: Any, typed: Any, cache_info_type: Any) -> None:
        if not settled(maxsize) or not (maxsize is None or type(maxsize) is int) or not settled(typed) or not callable(user_function):
            leave()
        self.function = user_function
        self.limit = maxsize
        self.typed = typed
        self.info = cache_info_type
        self.hits = 0
        self.misses = 0
        #: the entry used last comes last
        self.cache: dict[Any, Any] = {}

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        if self.limit is not None and self.limit <= 0:
            self.misses += 1
            return self.function(*args, **named)
        key = _key(args, named, self.typed)
        if not settled(key):
            leave()
        if key in self.cache:
            self.hits += 1
            found = self.cache[key]
            if self.limit is not None:
                del self.cache[key]
                self.cache[key] = found
            return found
        self.misses += 1
        found = self.function(*args, **named)
        if key not in self.cache:
            if self.limit is not None and len(self.cache) >= self.limit:
                del self.cache[next(iter(self.cache))]
            self.cache[key] = found
        return found

    def cache_info(self) -> Any:
        return self.info(self.hits, self.misses, self.limit, len(self.cache))

    def cache_clear(self) -> None:
        self.hits = 0
        self.misses = 0
        self.cache.clear()


def _key(args: Any, named: Any, typed: Any) -> Any:
    """lru_cache_make_key."""
    if not typed and not named and len(args) == 1 and (type(args[0]) is int or type(args[0]) is str):
        return args[0]
    key = args
    if named:
        key += (_MARK,)
        for item in named.items():
            key += item
    if typed:
        for arg in args:
            key += (type(arg),)
        for value in named.values():
            key += (type(value),)
    return key


@CACHES.model(functools.cached_property.__get__, eager=True)
def cached_property_get(self: Any, instance: Any, owner: Any = None) -> Any:
    """Without the lock that some versions take: nobody sees it."""
    if instance is None:
        return self
    name = self.attrname
    if name is None:
        raise TypeError("Cannot use cached_property instance without calling __set_name__ on it.")
    try:
        held = instance.__dict__
    except AttributeError:
        raise TypeError(f"No '__dict__' attribute on {type(instance).__name__!r} instance to cache {name!r} property.") from None
    found = held.get(name, _MARK)
    if found is _MARK:
        found = self.func(instance)
        try:
            held[name] = found
        except TypeError:
            told = f"The '__dict__' attribute on {type(instance).__name__!r} instance does not support item assignment for caching {name!r} property."
            raise TypeError(told) from None
    return found
