"""``hovis.jit``: residuals made when they are first needed, kept by what the arguments are.

The key is made of the arguments' types, of the values of strings, bools, None, functions and classes, of the shape
of tuples and of dicts with string keys, and of what the user names static.  Numbers, arrays and all else are unknown.
Folded reads of the environment are guards: when one does not hold any more, the function is traced again.
"""

import functools
import inspect
import threading
import types
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from hovis import api
from hovis.backend.load import hide
from hovis.engine.calls import ENTERED_THROUGH
from hovis.engine.environment import Guard, compile_guards, failing
from hovis.engine.machine import Promote
from hovis.errors import SpecError
from hovis.ir.operations import UNBOUND
from hovis.lattice import Const, Type
from hovis.lattice.constants import constant_key
from hovis.signature import own_signature
from hovis.specs import Any as Unknown
from hovis.specs import Array, Promotable

#: Residuals that one function keeps; the oldest go first.
VARIANTS: Final = 64
#: Values of a number that chooses, before it is unknown after all.
PROMOTED: Final = 8
#: Changes of one thing in the environment, before it is read at run time.
PATIENCE: Final = 4

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_CONSTANT: Final = (str, bytes, bool, type(None), type, types.FunctionType, types.BuiltinFunctionType)
_NUMBERS: Final = (int, float, complex)
_TYPED: Final = (list, set, bytearray)
#: Kinds of leaves: what the key of one begins with.
_VALUE, _TYPE, _SHAPE = "value", "type", "shape"


def jit(fn: Callable[..., Any] | None = None, *, static: Iterable[str] | str = (), strict: bool = False, **choices: Any) -> Any:
    """fn, specialized by itself to what it is called with; also a decorator, with or without options.

    static     names of parameters whose values are part of the key
    strict     raise TraceError where anything is left as an opaque call
    Other options are those of :class:`hovis.Options`.

    >>> @jit
    ... def double(x): return x + x
    >>> double(4), double(1.5), double("ab")
    (8, 3.0, 'abab')
    """
    if fn is None:
        return lambda wrapped: jit(wrapped, static=static, strict=strict, **choices)
    names = (static,) if isinstance(static, str) else tuple(static)
    return Jitted(fn, names, api.Options(strict=strict, frozen=False, **choices))


class Jitted:
    """A function that is compiled for what it is called with.  Use :func:`jit`."""

    def __init__(self, fn: Callable[..., Any], static: tuple[str, ...], options: api.Options) -> None:
        functools.update_wrapper(self, fn)
        self.__wrapped__ = fn
        self._options = options
        self._lock = threading.RLock()
        self._variants: dict[Hashable, Variant] = {}
        self._seen: dict[Hashable, set[Hashable]] = {}
        self._made = 0
        #: guards that have failed, and how often, by their keys
        self._failed: dict[Any, tuple[Guard, int]] = {}
        self._promoted: tuple[tuple[int, ...], ...] = ()
        self._dynamic: frozenset[tuple[int, ...]] = frozenset()
        self._signature = signature_of(fn)
        self._static = self._positions(static)

    def _positions(self, static: tuple[str, ...]) -> frozenset[Any]:
        if not static:
            return frozenset()
        names = list(self._signature.parameters) if self._signature else _names_of(self.__wrapped__)
        for name in static:
            if name not in names:
                raise SpecError(f"{self.__wrapped__!r} has no parameter {name!r} that could be static")
        return frozenset(static) | {names.index(name) for name in static}

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = self._key(args, kwargs)
        variant = self._variants.get(key)
        if variant is None or not variant.holds():
            variant = self._compile(key, args, kwargs)
        try:
            return variant.run(args, kwargs)
        except BaseException:
            hide()
            raise

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hashable:
        static = self._static
        key: tuple[Hashable, ...] = tuple([_leaf_key(a, k in static) for k, a in enumerate(args)])
        if kwargs:
            key += tuple((name, _leaf_key(v, name in static)) for name, v in kwargs.items())
        for place in self._promoted:
            key += (constant_key(self._at(place, args, kwargs)),)
        return key

    def _at(self, place: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The part of the arguments at a place; UNBOUND if there is none."""
        value: Any = self._places().whole(place[0], args, kwargs)
        for index in place[1:]:
            parts = list(value.values()) if isinstance(value, dict) else value
            value = parts[index] if isinstance(parts, (list, tuple)) and index < len(parts) else UNBOUND
        return value

    def _compile(self, key: Hashable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        with self._lock:
            found = self._variants.get(key)
            if found is not None and found.holds():
                return found
            if found is not None:
                self._changed(found)
            self._signature = signature_of(self.__wrapped__)
            traced = self.trace(*args, **kwargs)
            key = self._key(args, kwargs)
            made = Variant(traced, self.__wrapped__, key)
            self._made += 1
            table = {k: v for k, v in self._variants.items() if k != key}
            while len(table) >= VARIANTS:
                del table[next(iter(table))]
            self._variants = {**table, key: made}
            return made

    def _changed(self, variant: "Variant") -> None:
        """Something that a residual relies on has changed; what does so again and again is read at run time in the end."""
        for guard in failing(variant.trace.guards):
            if guard.kind == "function" and guard.holder is self.__wrapped__:
                continue
            key = (guard.kind, id(guard.holder), guard.name)
            count = self._failed[key][1] if key in self._failed else 0
            self._failed[key] = guard, count + 1
            if count + 1 >= PATIENCE:
                self._options.volatile |= {key}

    def trace(self, *args: Any, **kwargs: Any) -> api.Trace:
        """The Trace for arguments like these.  Numbers that turn out to choose become known, a few values of each."""
        while True:
            try:
                return self._trace(args, kwargs)
            except Promote as promoted:
                (place,) = promoted.args
                seen = self._seen.setdefault(place, set())
                seen.add(constant_key(self._at(place, args, kwargs)))
                if len(seen) > PROMOTED or place in self._dynamic:
                    self._dynamic |= {place}
                    self._promoted = tuple(p for p in self._promoted if p != place)
                elif place not in self._promoted:
                    self._promoted = (*self._promoted, place)

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> api.Trace:
        places = self._places()
        specs = [self._spec(places.of_position(k), a, k in self._static) for k, a in enumerate(args)]
        named = {n: self._spec(places.of_name(n, kwargs), v, n in self._static) for n, v in kwargs.items()}
        given, extra = self._with_defaults(specs, named)
        try:
            return self._options.trace(self.__wrapped__, *given, **extra)
        except SpecError:
            traced = self._options.trace(_caller(self.__wrapped__))
            traced.fallback = True
            return traced

    def _spec(self, place: tuple[int, ...], value: Any, static: bool) -> Any:
        """What the key says of an argument, as a spec."""
        kind = type(value)
        if static or kind in _CONSTANT or place in self._promoted:
            return Const(value)
        if kind in _NUMBERS:
            return Type(kind) if place in self._dynamic else Promotable(kind)
        if kind is tuple and value:
            return tuple(self._spec((*place, k), v, False) for k, v in enumerate(value))
        if _is_config(value) and value:
            return {key: self._spec((*place, k), v, False) for k, (key, v) in enumerate(value.items())}
        return _leaf_spec(value)

    def _with_defaults(self, specs: list[Any], named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Parameters that are not passed are known by their defaults; ``*args`` and ``**kwargs`` that are empty, too."""
        if self._signature is None:
            return specs, named
        extra = {}
        for k, p in enumerate(self._signature.parameters.values()):
            if p.default is not inspect.Parameter.empty and k >= len(specs) and p.name not in named and p.kind is not inspect.Parameter.POSITIONAL_ONLY:
                extra[p.name] = Const(p.default)
        return specs, {**extra, **named}

    def _places(self) -> "Places":
        return Places(self.__wrapped__, self._signature)

    @property
    def traces(self) -> list[api.Trace]:
        """The Traces of the residuals that are kept, for ``hovis.explain``."""
        return [variant.trace for variant in self._variants.values()]

    def cache_info(self) -> dict[str, int]:
        """How many residuals are kept, and how many were made."""
        return {"kept": len(self._variants), "made": self._made}

    def clear_cache(self) -> None:
        """Forget all residuals."""
        with self._lock:
            self._variants = {}

    def __repr__(self) -> str:
        return f"<hovis.jit of {self.__wrapped__!r}>"


ENTERED_THROUGH.add(Jitted)


def signature_of(fn: Any) -> inspect.Signature | None:
    """The signature that fn binds a call by, as it is now (whatever it wraps or says of itself); None if it has none."""
    try:
        function, bound = api.python_function(fn)
    except SpecError:
        return None
    if function is None:
        return None
    parameters = list(own_signature(function).parameters.values())
    return inspect.Signature(parameters[len(bound) :] if parameters and parameters[0].kind in _POSITIONAL else parameters)


def _names_of(fn: Any) -> list[str]:
    """The parameters of what is not written in Python, if it tells them."""
    try:
        return list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        return []


class Places:
    """Where the engine finds what a call passes: parameters in the order of the code's locals, then what is in them."""

    __slots__ = ("bound", "by_name", "double", "names", "plain", "star")

    def __init__(self, fn: Any, signature: inspect.Signature | None) -> None:
        given = list(signature.parameters.values()) if signature else []
        function, bound = api.python_function(fn) if signature else (None, ())
        self.bound = len(bound)
        plain = [p for p in given if p.kind in _POSITIONAL]
        named = [p.name for p in given if p.kind is inspect.Parameter.KEYWORD_ONLY]
        hidden = self.bound if function and function.__code__.co_argcount else 0
        self.names: list[str | None] = [*[None] * hidden, *(p.name for p in plain), *named]
        self.plain = hidden + len(plain)
        self.star = len(self.names)
        self.double = self.star + any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in given)
        self.by_name = {p.name for p in plain if p.kind is not inspect.Parameter.POSITIONAL_ONLY} | set(named)

    def of_position(self, k: int) -> tuple[int, ...]:
        """The place of the k-th argument of a call."""
        k += self.bound
        return (k,) if k < self.plain else (self.star, k - self.plain)

    def of_name(self, name: str, kwargs: dict[str, Any]) -> tuple[int, ...]:
        """The place of an argument passed by name."""
        return (self.names.index(name),) if name in self.by_name else (self.double, self._rest(kwargs).index(name))

    def _rest(self, kwargs: dict[str, Any]) -> list[str]:
        return [name for name in kwargs if name not in self.by_name]

    def whole(self, head: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What is passed for a parameter; UNBOUND if nothing is."""
        if head >= self.star:
            if head == self.double:
                return tuple(kwargs[name] for name in self._rest(kwargs))
            return args[self.plain - self.bound :] if self.plain >= self.bound else (UNBOUND, *args)
        if head < self.plain and 0 <= head - self.bound < len(args):
            return args[head - self.bound]
        name = self.names[head]
        return kwargs.get(name, UNBOUND) if name in self.by_name else UNBOUND


def _caller(fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn behind a signature that takes anything: its own complaint is what a misfit call should get."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return call


class Variant:
    """One residual, what it is valid for, and how to call it."""

    __slots__ = ("call", "holds", "key", "original", "positions", "trace")

    def __init__(self, traced: api.Trace, original: Callable[..., Any], key: Hashable) -> None:
        self.trace = traced
        self.original = original
        self.key = key
        self.call = traced.compile()
        self.holds = compile_guards(traced.guards)
        self.positions = traced.signature.names()

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the residual with the unknown ones of these arguments."""
        if self.trace.fallback:
            return self.original(*args, **kwargs)
        taken = [args[k] if type(k) is int and k < len(args) else kwargs.get(name, UNBOUND) for k, name in self.positions]
        if UNBOUND in map(_same, taken):
            return self.original(*args, **kwargs)
        return self.call(*taken)


def _same(value: object) -> object:
    return value if value is UNBOUND else None


# ------------------------------------------------------------------------------------------------- keys and specs


def _leaf_key(value: Any, static: bool) -> Any:
    kind: Any = type(value)
    if kind is int or kind is float:
        return (_VALUE, constant_key(value)) if static else kind
    if static or kind in _CONSTANT:
        return _VALUE, constant_key(value), _Held(value) if kind not in _CONSTANT else None
    if kind is tuple:
        return (tuple, *[_leaf_key(v, False) for v in value])
    if _is_config(value):
        return (dict, tuple(value), *[_leaf_key(v, False) for v in value.values()])
    if hasattr(value, "dtype") and hasattr(value, "shape") and kind.__module__ == "numpy":
        return kind, value.dtype.str, len(value.shape)
    return kind


class _Held:
    """Keeps an object that a key names by its id."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and self.value is other.value

    def __hash__(self) -> int:
        return 0


def _is_config(value: Any) -> bool:
    return type(value) is dict and len(value) <= 64 and all(type(k) is str for k in value)


def _leaf_spec(value: Any) -> Any:
    kind = type(value)
    if kind is tuple:
        return Const(())
    if kind in _TYPED or kind is dict:
        return Type(kind)
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray" and value.dtype.kind in "biufc" and value.dtype.isnative:
        return Array(value.dtype, (None,) * value.ndim)
    if kind.__module__ == "numpy" and hasattr(value, "dtype"):
        return Type(kind)
    return Unknown
