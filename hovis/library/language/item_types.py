"""Rules for builtins applied to containers whose item classes are known (see ``hovis/front/item_types.py``)."""

import functools
from typing import Any, Final

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Const, Items, Partial, Type, join
from hovis.library.core import Library
from hovis.library.language.signatures.signature_language import Answer, row
from hovis.library.language.signatures.type_queries import class_of

ITEMIZED: Final = Library("items")

_READS, _RAISES, _WRITES = Effect.READS, Effect.RAISES, Effect.WRITES
_INT: Final = Type(int)
_NONE, _NO, _ZERO = Const(None), Const(False), Const(0)
_VIEWS: Final[dict[str, type]] = {name: type(getattr({}, name)()) for name in ("keys", "values", "items")}
_REVERSED: Final[dict[type, type]] = {
    list: type(reversed([])), tuple: type(reversed(())), dict: type(reversed({})), **{cls: type(reversed(getattr({}, name)())) for name, cls in _VIEWS.items()},
}  # fmt: skip
#: dict view class -> class of its iterator
_STEPPING: Final[dict[type, type]] = {cls: type(iter(getattr({}, name)())) for name, cls in _VIEWS.items()}
_ITERATORS: Final = frozenset({enumerate, zip, *_STEPPING.values(), *_REVERSED.values(), *(type(iter(cls())) for cls in (list, tuple, set, dict))})
_CONTAINERS: Final = (list, tuple, set, frozenset, dict, *_VIEWS.values())
_NUMBERS: Final = frozenset({int, float, bool})
_TEXTS: Final[tuple[frozenset[type], ...]] = (frozenset({str}), frozenset({bytes}))
_HASHED: Final = frozenset({int, float, bool, str, bytes, type(None), complex})


def _item(a: AbstractValue) -> AbstractValue | None:
    """Return the type of an item of an iterable, or None if it is not known."""
    if isinstance(a, Items):
        return a.keys or a.items
    cls = class_of(a)
    return _INT if cls in (range, bytes) else Type(str) if cls is str else None


def _held(a: AbstractValue) -> AbstractValue | None:
    """Return the type of an item of a container, which iteration does not consume; None for iterators and unknown items."""
    return _item(a) if isinstance(a, Items) and a.cls in _CONTAINERS else None


def _tuple(*parts: AbstractValue) -> AbstractValue:
    return Partial(tuple, range(len(parts)), parts)


def _view(name: str, a: AbstractValue) -> Answer | None:
    if not isinstance(a, Items) or a.cls is not dict or a.keys is None:
        return None
    return Answer(Items(_VIEWS[name], {"keys": a.keys, "values": a.items, "items": _tuple(a.keys, a.items)}[name]))


def _iter(a: AbstractValue) -> Answer | None:
    if isinstance(a, Items) and a.cls in _STEPPING:
        return Answer(Items(_STEPPING[a.cls], a.items), _READS)
    return Answer(a) if isinstance(a, Items) and a.cls in _ITERATORS else None


def _next(a: AbstractValue, *default: AbstractValue) -> Answer | None:
    if not isinstance(a, Items) or a.cls not in _ITERATORS or len(default) > 1:
        return None
    return Answer(functools.reduce(join, default, a.items), _READS | _WRITES | _RAISES)


def _enumerate(a: AbstractValue, start: AbstractValue = _INT) -> Answer | None:
    item = _item(a) if isinstance(a, Items) and class_of(start) is int else None
    return None if item is None else Answer(Items(enumerate, _tuple(_INT, item)), _READS)


def _zip(*given: AbstractValue, strict: AbstractValue = _NO) -> Answer | None:
    items = [_item(a) for a in given]
    found = [item for item in items if item is not None]
    known = len(found) == len(items) and any(isinstance(a, Items) for a in given) and class_of(strict) is bool
    return Answer(Items(zip, _tuple(*found)), _READS) if known else None


def _reversed(a: AbstractValue) -> Answer | None:
    item = _held(a)
    return Answer(Items(_REVERSED[a.cls], item), _READS) if item is not None and isinstance(a, Items) and a.cls in _REVERSED else None


def _classes(item: AbstractValue | None) -> frozenset[type]:
    return frozenset() if item is None or isinstance(item, Partial) else Items.classes(item)


def _are_ordered(item: AbstractValue | None) -> bool:
    classes = _classes(item)
    return bool(classes) and (classes <= _NUMBERS or classes in _TEXTS)


def _is_none(value: AbstractValue) -> bool:
    return class_of(value) is type(None)


def _sorted(a: AbstractValue, *, key: AbstractValue = _NONE, reverse: AbstractValue = _NO) -> Answer | None:
    item = _held(a)
    known = item is not None and _are_ordered(item) and _is_none(key) and class_of(reverse) is bool
    return Answer(Items(list, item), _READS) if known and item is not None else None


def _sum(a: AbstractValue, start: AbstractValue = _ZERO) -> Answer | None:
    classes = _classes(_held(a))
    if not classes or not classes <= _NUMBERS or class_of(start) not in (int, float):
        return None
    if class_of(start) is float or classes <= {int, bool}:
        found: AbstractValue = Type(class_of(start) or int)
    else:
        found = join(_INT, Type(float))  # the int start is the result if there are no items
    return Answer(found, _READS | _RAISES if len({*classes, class_of(start)}) > 1 else _READS)


def _extreme(a: AbstractValue, *, key: AbstractValue = _NONE, **default: AbstractValue) -> Answer | None:
    item = _held(a)
    if item is None or not _are_ordered(item) or not _is_none(key) or not default.keys() <= {"default"}:
        return None
    return Answer(functools.reduce(join, default.values(), item), _READS if default else _READS | _RAISES)


def _made(cls: type, a: AbstractValue) -> Answer | None:
    item = _item(a) if isinstance(a, Items) else None
    if item is None or (cls in (set, frozenset) and not (_classes(item) and _classes(item) <= _HASHED)):
        return None
    return Answer(Items(cls, item), _READS if _held(a) is not None else _READS | _WRITES | _RAISES)


_RULES: Final[dict[Any, Any]] = {
    **{getattr(dict, name): functools.partial(_view, name) for name in _VIEWS},
    **{cls: functools.partial(_made, cls) for cls in (list, tuple, set, frozenset)},
    iter: _iter, next: _next, enumerate: _enumerate, zip: _zip, reversed: _reversed, sorted: _sorted, sum: _sum, min: _extreme, max: _extreme,
}  # fmt: skip
for _fn, _rule in _RULES.items():
    row(ITEMIZED, _fn, _rule, False)
