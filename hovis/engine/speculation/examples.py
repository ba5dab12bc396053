"""Examples of unknown values, from the arguments of a real call: their parts, the contents of objects of the environment, what is computed from these."""

import operator
from types import BuiltinFunctionType, CellType, FunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any, Final

from hovis.base.warning_filters import warnings_are
from hovis.engine.state.values import Dyn, Known
from hovis.ir import operations
from hovis.ir.model import Op, Param
from hovis.lattice import Const, inline_attributes

#: The example of a value of which nothing is known.
NOTHING: Final = object()
#: The most keys of a dictionary that is looked into, and their classes.
LOOKED_THROUGH: Final = 2000
_PLAIN_KEYS: Final = frozenset({str, int, float, bytes, bool, type(None)})
#: The most items of a container that are looked at for their class.
ITEMS: Final = 32
#: Ops on numbers and texts, which are computed for examples.
_COMPUTED: Final = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.neg, operator.pos})
#: Callees that can be keys of a table.
_HASHABLE: Final = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, FunctionType, type)
#: Functions that compute on small data in no time, and give small results.
_QUICK: Final = frozenset({
    abs, ord, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.not_, operator.and_, operator.or_,
    operator.xor, operator.invert,
    str.upper, str.lower, str.strip, str.lstrip, str.rstrip, str.split, str.rsplit, str.splitlines, str.partition, str.rpartition, str.title,
    str.capitalize, str.casefold, str.swapcase, str.find, str.rfind, str.index, str.count, str.startswith, str.endswith, str.removeprefix,
    str.removesuffix, str.isdigit, str.isalpha, str.isalnum, str.isidentifier, str.isspace, str.isupper, str.islower, str.isnumeric, str.isdecimal,
    bytes.strip, bytes.split, bytes.find, bytes.startswith, bytes.endswith,
})  # fmt: skip
#: Texts up to this length are computed with.
_LONG: Final = 1000
#: Numbers up to here are computed with.
_LARGE: Final = 1 << 64


class Examples:
    """Examples of the SSA values of a trace, by their identity."""

    __slots__ = ("_found", "_varying")

    def __init__(self) -> None:
        self._found: dict[int, tuple[object, object]] = {}
        #: values that are others on other paths, or in each iteration of a loop, by identity
        self._varying: dict[int, object] = {}

    def clear(self) -> None:
        """Forget all examples, which hold objects of the user."""
        self._found.clear()
        self._varying.clear()

    def put(self, value: object, example: object) -> None:
        """Record an example of an SSA value."""
        self._found[id(value)] = value, example

    def pass_on(self, value: Any, param: object) -> None:
        """Record an example of a parameter of a block, to which value is passed first."""
        if type(value) in (Dyn, Known, Op, Param):
            self.put(param, self.of(value))
            if self.varies(value):
                self._varying[id(param)] = param

    def joins(self, value: Any, param: object) -> bool:
        """Record that value is passed to a parameter as well; return whether its example does not stand for all values any more."""
        if getattr(value, "value", value) is param or id(param) in self._varying or self.of(param) is NOTHING:
            return False
        if self.of(value) is self.of(param) and not self.varies(value):
            return False
        self._varying[id(param)] = param
        return True

    def varies(self, value: Any) -> bool:
        """May the value be another one on other paths, or in each iteration of a loop, so that its example does not stand for all of them?"""
        if isinstance(value, Dyn):
            value = value.value
        if id(value) in self._varying:
            return True
        if not isinstance(value, Op):
            return False
        if not any(map(self.varies, value.args)) and (value.callee is not next or self.of(value) is operations.END):
            return False
        self._varying[id(value)] = value
        return True

    def put_part(self, part: Any, example: Any) -> None:
        """Record an example of a part of the arguments, and of its parts."""
        param = getattr(part, "param", None)
        if param is not None:
            self.put(param, example)
        keys, parts = getattr(part, "keys", None), getattr(part, "parts", ())
        if type(example) is dict and keys is not None:
            for key, inner in zip(keys, parts, strict=False):
                self.put_part(inner, _part(example, key))
        elif type(example) in (list, tuple) and len(parts) == len(example):
            for item, inner in zip(example, parts, strict=True):
                self.put_part(inner, item)

    def of(self, value: Any) -> object:
        """Return an example of an SSA value or of an engine value; NOTHING if there is none."""
        if isinstance(value, Dyn):
            value = value.value
        if isinstance(value, Const | Known):
            return value.value
        found = self._found.get(id(value))
        if found is None:
            example = self._computed(value) if isinstance(value, Op) else NOTHING
            self._found[id(value)] = found = value, example
        return found[1]

    def _computed(self, op: Op) -> object:
        callee = op.callee
        rule = _RULES.get(callee) if type(callee) in _HASHABLE else None
        if op.kwargs or (rule is None and not (type(callee) in _HASHABLE and callee in _QUICK)):
            return NOTHING
        given = [self.of(arg) for arg in op.args]
        if any(one is NOTHING for one in given):
            return NOTHING
        if rule is None:
            if not all(map(_is_small, given)):
                return NOTHING
            rule = callee
        try:
            with warnings_are("error"):
                return rule(*given)  # type: ignore[operator]
        except (LookupError, ArithmeticError, TypeError, ValueError, RuntimeError, MemoryError, Warning):
            return NOTHING


def _attribute(held: object, name: object, *_: object) -> object:
    if type(name) is not str or not inline_attributes.can_read(type(held), name):
        return NOTHING
    return inline_attributes.read(held, name, NOTHING)


def _in_dict(held: dict[Any, Any], key: object) -> object:
    """Return an item of a dictionary. (If a key is not a plain text or number, comparing it may run code of the user.)"""
    return held.get(key, NOTHING) if _is_plain(held) else NOTHING


def _is_plain(held: dict[Any, Any]) -> bool:
    """Are all keys of a dictionary, which is not too large, plain texts and numbers?"""
    try:
        return len(held) <= LOOKED_THROUGH and all(type(one) in _PLAIN_KEYS for one in held)
    except RuntimeError:  # another thread adds an item
        return False


def _part(held: object, key: object, *_: object) -> object:
    if type(held) is dict and type(key) in _PLAIN_KEYS:
        return _in_dict(held, key)
    if type(held) in (list, tuple) and type(key) is int:
        return held[key]  # type: ignore[index]
    return NOTHING


class _Iterator:
    """The example of an iterator: what it iterates over."""

    __slots__ = ("items",)

    def __init__(self, items: Any) -> None:
        self.items = items


def _iterator(held: object) -> object:
    if isinstance(held, _Iterator):
        return held
    return _Iterator(held) if type(held) in (list, tuple, dict, set, frozenset, range, str, bytes, *_VIEWS) else NOTHING


def _enumerated(held: object, start: object = 0) -> object:
    source = _iterator(held)
    return _Iterator([(0, item) for item in _first(source)]) if isinstance(source, _Iterator) else NOTHING


def _zipped(*held: object) -> object:
    sources = [_iterator(one) for one in held]
    if not all(isinstance(one, _Iterator) for one in sources):
        return NOTHING
    return _Iterator(list(zip(*map(_first, sources), strict=False)))


def _first(source: Any) -> list[object]:
    """Return the first items of an iterator."""
    return [item for item, _ in zip(source.items, range(ITEMS), strict=False)]


def _is_small(held: Any) -> bool:
    """Is an example plain data that is quickly computed with?"""
    if type(held) in (list, tuple, set, frozenset):
        return len(held) <= ITEMS and all(map(_is_small, held))
    if type(held) in (str, bytes):
        return len(held) <= _LONG
    return type(held) in (float, bool, complex, type(None)) or (type(held) is int and abs(held) <= _LARGE)


def _next(held: object, *_: object) -> object:
    """Return the first item if all items are of one class; END if there is none."""
    if not isinstance(held, _Iterator):
        return NOTHING
    found = _first(held)
    if not found:
        return operations.END
    return found[0] if found and all(type(item) is type(found[0]) for item in found) else NOTHING


def _on_numbers(compute: Any) -> Any:
    def rule(*given: Any) -> object:
        for one in given:
            if type(one) not in (int, float, bool, complex) or (type(one) is int and abs(one) > _LARGE):
                return NOTHING
        return compute(*given)

    return rule


def _contents(held: Any, *_: object) -> object:
    return held.cell_contents if type(held) is CellType else NOTHING


def _keys(held: object) -> object:
    return list(held) if type(held) is dict and len(held) <= ITEMS else held


def _is_instance(held: object, classes: Any) -> object:
    plain = all(type(cls) is type for cls in (classes if type(classes) is tuple else (classes,)))
    return issubclass(type(held), classes) if plain else NOTHING


def _contains(held: Any, item: object) -> object:
    if type(held) is dict:
        return item in held if type(item) in _PLAIN_KEYS and _is_plain(held) else NOTHING
    return item in held if _is_small(held) and _is_small(item) else NOTHING


_EMPTY: Final[dict[str, Any]] = {}
_CONTAINERS: Final = (dict, list, tuple, set, frozenset, str, bytes)
_VIEWS: Final = (type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()))
_RULES: Final[dict[Any, Any]] = {
    operator.contains: _contains,
    getattr: _attribute,
    operations.own_attribute: _attribute,
    operator.getitem: _part,
    dict.get: _part,
    dict.__getitem__: _part,
    list.__getitem__: _part,
    tuple.__getitem__: _part,
    operations.load_global: lambda held, name: _part(held, name) if type(held) is dict else NOTHING,
    operations.cell_get: _contents,
    iter: _iterator,
    enumerate: _enumerated,
    zip: _zipped,
    operations.unpack: lambda held, count: tuple(held) if type(held) in (list, tuple) else NOTHING,
    type: lambda held: type(held),
    len: lambda held: len(held) if type(held) in _CONTAINERS else NOTHING,
    isinstance: _is_instance,
    operator.is_: operator.is_,
    operations.make_set: lambda *held: set(held) if all(map(_is_small, held)) and not any(type(one) in (list, set) for one in held) else NOTHING,
    operator.is_not: operator.is_not,
    set: lambda *held: set(*held) if all(map(_is_small, map(_keys, held))) else NOTHING,
    bool: lambda held: bool(held) if type(held) in _CONTAINERS or _is_small(held) else NOTHING,
    str: lambda *held: str(*held) if all(map(_is_small, held)) else NOTHING,
    int: lambda *held: int(*held) if all(map(_is_small, held)) else NOTHING,
    float: lambda *held: float(*held) if all(map(_is_small, held)) else NOTHING,
    next: _next,
    dict.keys: lambda held: held.keys() if type(held) is dict else NOTHING,
    dict.values: lambda held: held.values() if type(held) is dict else NOTHING,
    dict.items: lambda held: held.items() if type(held) is dict else NOTHING,
    **{compute: _on_numbers(compute) for compute in _COMPUTED},
    operator.sub: lambda *held: operator.sub(*held) if all(type(one) is set and _is_small(one) for one in held) else _on_numbers(operator.sub)(*held),
}
