"""Stand-ins for the caches of functools (CPython: Modules/_functoolsmodule.c, Lib/functools.py).

The contents and the counters of a cache that existed before the trace can be observed from outside, so calls of it stay in the
residual.  Their result is predicted: it is probably the entry that the cache holds now, or the result of tracing the wrapped
function.
"""

import functools
import gc
from collections.abc import Iterator
from types import FunctionType
from typing import Any, Final

from hovis.engine import trace as engine
from hovis.engine.calls.subtrace import Mirror
from hovis.engine.machine.machine import Machine
from hovis.engine.state.specialization_tables import GiveUp, Promote
from hovis.engine.state.values import Known, labels_of
from hovis.ir.model import Return
from hovis.lattice import Const
from hovis.lattice.constants import constant_key, is_immutable, same_constant
from hovis.library.core import Library, leave, settled
from hovis.library.language.signatures.fold_limits import weight

CACHES: Final = Library("caches")

_WRAPPER: Final[Any] = functools._lru_cache_wrapper
#: Separates the positional from the keyword arguments in a key.
_MARK: Final[Any] = object

#: The most entries of a cache that is searched, and the most parts of a predicted result, with which the real one is compared.
MOST_ENTRIES: Final = 4_096
MOST_PARTS: Final = 64
#: The most instructions that a trace may interpret in all to predict results of cached functions, and how deeply the predictions may nest.
MOST_STEPS: Final = 10_000
DEEPEST: Final = 40


#: The key of the `_Guesses` of a trace in ``tables.answers``.
_GUESSES: Final = "guesses"


class _Guesses:
    """The results of cached functions that a trace has computed so far, and what is left of its budget for that."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.left = MOST_STEPS
        self.depth = 0


def _expected(m: Machine, cache: Known, args: list[Any], named: dict[str, Any]) -> Known | None:
    """Return the probable result of a call of a cache, or None: a constant, or (where guards are tested again) an object that the cache holds."""
    given, called = [v.value for v in args], {name: v.value for name, v in named.items()}
    if not all(map(is_immutable, (*given, *called.values()))):
        return None
    guesses = m.tables.answers.setdefault(_GUESSES, _Guesses())
    key = (id(cache.value), constant_key(tuple(given)), tuple((name, constant_key(value)) for name, value in called.items()))
    if key not in guesses.known:
        guesses.known[key] = None  # no prediction for recursive calls
        guesses.known[key] = _held(cache.value, given, called, m.environment.frozen) or _given(m, guesses, cache.value, given, called)
    found = guesses.known[key]
    return None if found is None else Known(found.value, labels_of(*args, *named.values()))


def _held(cache: Any, given: list[Any], named: dict[str, Any], frozen: bool) -> Known | None:
    """Return the cached result for these arguments, or None. The cache is not called, because the call would be counted."""
    wanted = [_key(tuple(given), named, typed) for typed in (False, True)]
    for key, value in _entries(cache):
        if any(_is_key(key, one) for one in wanted):
            return Known(value) if is_immutable(value) or not frozen else None
    return None


def _entries(cache: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the entries of a cache implemented in C, from the objects that it refers to: a dict followed by the function, and before these all
    links if the cache is bounded.

    The entries may be wrong, because a predicted result is compared with the real one at run time.
    """
    shown, fn = gc.get_referents(cache), getattr(cache, "__wrapped__", None)
    at = next((k for k in reversed(range(len(shown) - 1)) if type(shown[k]) is dict and shown[k + 1] is fn), 0)
    if at and len(shown[at]) <= MOST_ENTRIES:
        links = shown[1:at]  # of each link its key, its result and its class
        yield from zip(links[::3], links[1::3], strict=False) if links else shown[at].items()


def _is_key(held: Any, wanted: Any) -> bool:
    if type(held) is not tuple or type(wanted) is not tuple:
        return same_constant(held, wanted)
    return len(held) == len(wanted) and all(two is _MARK or same_constant(one, two) for one, two in zip(held, wanted, strict=True))


def _given(m: Machine, guesses: _Guesses, cache: Any, given: list[Any], named: dict[str, Any]) -> Known | None:
    """Trace the function behind a cache for these arguments, and return its result if it is a constant; else None."""
    fn = getattr(cache, "__wrapped__", None)
    values = _by_position(fn, given, named) if type(fn) is FunctionType else None
    if values is None or guesses.left <= 0 or guesses.depth >= DEEPEST:
        return None
    inner = engine.engine_for(m.library, m.package, frozen=True)
    inner.guesses, inner.tables.answers[_GUESSES] = True, guesses
    guesses.depth += 1
    try:
        mirror = Mirror(m, Known(fn), list(map(Known, values)))
        functions = engine.follow(inner, functools.partial(mirror.initial, inner), guesses.left).functions
    except (GiveUp, Promote, RecursionError):
        return None
    finally:
        guesses.depth -= 1
        guesses.left -= inner.effort.steps
    ends = [block.terminator.value for block in functions[0].blocks if isinstance(block.terminator, Return)]
    found = ends[0] if ends else None
    if not isinstance(found, Const) or functions[0].is_generator or not all(isinstance(end, Const) and same_constant(end.value, found.value) for end in ends):
        return None
    return Known(found.value) if is_immutable(found.value) and weight(found.value) <= MOST_PARTS else None


def _by_position(fn: FunctionType, given: list[Any], named: dict[str, Any]) -> list[Any] | None:
    """Return the arguments of a call as positional arguments, or None if that is not possible."""
    code, defaults = fn.__code__, fn.__defaults__ or ()
    values, left = list(given), dict(named)
    for at in range(len(given), code.co_argcount):
        name, default = code.co_varnames[at], at - code.co_argcount + len(defaults)
        if name in left:
            values.append(left.pop(name))
        elif left and default >= 0:
            values.append(defaults[default])
    return None if left else values


@CACHES.stand(_WRAPPER, _WRAPPER, "function limit typed info", when={"hits": 0, "misses": 0}, dictionary=True, expected=_expected)
class LruCache:
    """A function wrapped by ``functools.lru_cache``; the real object can be built only before its first call."""

    def __init__(self, user_function: Any, maxsize: Any, typed: Any, cache_info_type: Any) -> None:
        if not settled(maxsize) or not (maxsize is None or type(maxsize) is int) or not settled(typed) or not callable(user_function):
            leave()
        self.function = user_function
        self.limit = maxsize
        self.typed = typed
        self.info = cache_info_type
        self.hits = 0
        self.misses = 0
        #: the entries, the most recently used one last
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
    """Return the key of a call (lru_cache_make_key)."""
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
    """``functools.cached_property.__get__``, without the lock of some versions, which is not observable."""
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
