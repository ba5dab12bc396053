"""Constant folding: do a pure operation on known values while tracing, within bounds."""

import builtins
import operator
from collections.abc import Callable
from typing import Any, Final

from hovis.base import interrupts
from hovis.base.warning_filters import warnings_are
from hovis.engine.machine.machine import Machine
from hovis.engine.state import class_templates
from hovis.engine.state.heap import History, VObj
from hovis.engine.state.type_lookup import has_dict
from hovis.engine.state.values import STRONG, TEST, Dyn, Known, Labels, Ref, V, labels_of
from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Const, Partial, Type
from hovis.lattice.constants import PLAIN, is_immutable
from hovis.lattice.inspection import is_a

#: Operations with these effects are never folded: their results do not depend on their arguments alone.
UNFOLDABLE: Final = Effect.WRITES | Effect.IO | Effect.RANDOM | Effect.CLOCK | Effect.OPAQUE

#: Operations that compare their operands, which therefore belong in keys (as do operands of lookups, and strings).
TESTS: Final[frozenset[Callable[..., object]]] = frozenset({operator.eq, operator.ne, operator.contains, operator.is_, operator.is_not})

#: Exceptions that can be rebuilt from their arguments alone.
REBUILT: Final = frozenset(
    value
    for value in vars(builtins).values()
    if isinstance(value, type)
    and issubclass(value, Exception)
    and not issubclass(value, OSError | UnicodeError | ImportError | SyntaxError | NameError | AttributeError | Warning)
)

_NUMBERS: Final = frozenset({int, float, bool, complex, str, bytes, type(None)})
#: The most bits of an int that is folded: writing out a larger one takes longer than computing it.
_LARGE: Final = 200_000
NO_CONSTANT: Final = object()


_NUMERIC: Final = frozenset({int, float})
_COMPARED: Final = frozenset({int, float, bool, str})
#: Operators that are fast on small operands of the same type, whatever their values, with the operand types.
_QUICK: Final[dict[Callable[..., Any], frozenset[type]]] = {
    **dict.fromkeys((operator.add, operator.sub, operator.mul), _NUMERIC),
    **dict.fromkeys((operator.and_, operator.or_, operator.xor), frozenset({int, bool})),
    **dict.fromkeys((operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge), _COMPARED),
}
#: Bounds of small ints and of the total length of small strings: operations on larger operands are folded by ``fold``.
_SMALL: Final = 1 << 64
_FEW: Final = 256


def quick(m: Machine, fn: Callable[..., Any], a: V, b: V) -> Known | None:
    """Fold an operation on two small known operands of the same builtin type as ``fold`` would, but faster; None: ``fold`` has to do it."""
    if type(a) is not Known or type(b) is not Known:
        return None
    x: Any = a.value
    y: Any = b.value
    kind = type(x)
    kinds = _QUICK.get(fn)
    if kinds is None or kind is not type(y) or kind not in kinds:
        return None
    if not (-_SMALL < x < _SMALL and -_SMALL < y < _SMALL if kind is int else kind is not str or len(x) + len(y) < _FEW):
        return None
    rule = m.library.primitives.get(fn)
    if rule is None or not rule.fold:
        return None
    labels = labels_of(a, b)
    if labels:
        if fn in TESTS:
            m.mark(labels, TEST)
        elif kind is str:
            m.mark(labels, STRONG)
    return Known(fn(x, y), labels)


def fold(m: Machine, rule: Any, args: list[V], kwargs: dict[str, V]) -> "V | int | None":
    """Fold a primitive on known values. Return its result, a control code if it is known to raise, or None if it cannot be folded."""
    if not rule.fold or Dyn in map(type, args):
        return None
    values = [_looked_at(m, a) for a in args]
    if any(v is NO_CONSTANT for v in values):
        return None
    named = {name: _looked_at(m, v) for name, v in kwargs.items()}
    if any(v is NO_CONSTANT for v in named.values()):
        return None
    if not _may_fold(m, rule, args, kwargs, values, named):
        return None
    if not all(_read(m, a) for a in args) or not all(_read(m, v) for v in kwargs.values()):
        return None
    labels = labels_of(*args, *kwargs.values())
    if labels:
        if rule.fn in TESTS:
            m.mark(labels, TEST)
        elif rule.fn is operator.getitem or any(type(v) is str for v in values):
            m.mark(labels, STRONG)
    try:
        result = _run(rule.fn, values, named)
    except Exception as error:
        interrupts.let_through(error)
        return _known_raise(m, error)
    return virtual(m, result, labels)


def _may_fold(m: Machine, rule: Any, args: list[V], kwargs: dict[str, V], values: list[Any], named: dict[str, Any]) -> bool:
    types = [_whole(value) if isinstance(a, Ref) or type(value) in _OPENED else m.type_of(a) for a, value in zip(args, values, strict=True)]
    named_types = {name: m.type_of(v) for name, v in kwargs.items()}
    try:
        if rule.result(*types, **named_types) is None:
            return False
        effect = rule.effect if isinstance(rule.effect, Effect) else rule.effect(*types, **named_types)
        if effect & UNFOLDABLE:
            return False
        return rule.fold is True or bool(rule.fold(*values, **named))
    except TypeError:
        return False


def _whole(value: Any, depth: int = 5) -> AbstractValue:
    """Return the type of a container of this trace whose contents are known, for rules of libraries."""
    if type(value) is set:
        return Type(set)
    if type(value) not in (list, tuple, dict) or not depth:
        return Const(value)
    keys = value if type(value) is dict else range(len(value))
    parts = value.values() if type(value) is dict else value
    return Partial(type(value), keys, [_whole(part, depth - 1) for part in parts])


def _run(fn: Callable[..., Any], values: list[Any], named: dict[str, Any]) -> Any:
    if all(type(v) in _NUMBERS for v in values):
        return fn(*values, **named)
    with warnings_are("error"):
        return fn(*values, **named)


def _known_raise(m: Machine, error: Exception) -> int | None:
    """Raise the exception that a folded operation has raised; None if it cannot be rebuilt from its arguments."""
    if type(error) in REBUILT and is_immutable(error.args) and not isinstance(error, Warning):
        return m.raise_new(type(error), *error.args)
    return None


def constant_form(m: Machine, value: V) -> V:
    """Return a virtual tuple or slice of constants as a constant, and any other value unchanged."""
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        if obj.kind in ("tuple", "slice") and obj.cls in (tuple, slice):
            cells = [constant_form(m, c) for c in obj.cells]
            if all(isinstance(c, Known) and is_immutable(c.value) for c in cells):
                held = [c.value for c in cells]  # type: ignore[union-attr]
                return Known(tuple(held) if obj.kind == "tuple" else slice(*held), labels_of(value, *cells))
    return value


def reify(m: Machine, value: V, depth: int = 5) -> Any:
    """Return the Python object of value if it is known and deeply immutable, or a copy if it is a virtual container of such objects; else
    NO_CONSTANT.
    """
    if isinstance(value, Known):
        held = value.value
        if class_templates.ALL and class_templates.of(held) is not None:
            return NO_CONSTANT
        if type(held) in PLAIN or is_immutable(held):
            return held
        return held if is_a(held, type) or (callable(held) and not has_dict(type(held))) else NO_CONSTANT
    if not isinstance(value, Ref) or not depth:
        return NO_CONSTANT
    obj = m.obj(value, "tuple", "list", "dict", "set", "slice", "range")
    if obj is None or obj.cls.__module__ != "builtins":
        return NO_CONSTANT
    if obj.kind == "set":
        return _reify_set(obj)
    cells = [reify(m, c, depth - 1) for c in obj.cells]
    if any(c is NO_CONSTANT for c in cells):
        return NO_CONSTANT
    if obj.kind == "dict":
        return dict(zip(obj.keys, cells, strict=True))
    if obj.kind in ("slice", "range"):
        return obj.cls(*cells)
    return obj.cls(cells)


#: Known containers that are mutable, so their contents are read as a whole under a guard; and the most items that they may have for this.
_OPENED: Final = frozenset({list, dict})
_OPENED_ITEMS: Final = 1_000


def _looked_at(m: Machine, value: V) -> Any:
    """Return the Python object of value as reify does; a known list or dict of constants is returned itself, and its read is not recorded yet."""
    if isinstance(value, Known) and type(value.value) in _OPENED:
        return value.value if _constants_in(value.value) and id(value.value) not in m.tables.thawed else NO_CONSTANT
    return reify(m, value)


def _constants_in(held: Any) -> bool:
    """Are all elements of held constants, and not more than _OPENED_ITEMS?"""
    if len(held) > _OPENED_ITEMS:
        return False
    return all(type(x) in PLAIN or is_immutable(x) for x in (held.values() if type(held) is dict else held))


def _read(m: Machine, value: V) -> bool:
    """Record that the contents of a known list or dict are read; False if they cannot be relied upon."""
    return not isinstance(value, Known) or type(value.value) not in _OPENED or m.environment.static(value)


def look(m: Machine, values: "list[V]") -> "list[Any] | None":
    """Return the Python objects of values, for code that only reads them; None if one is not known all the way down."""
    found = [_looked_at(m, value) for value in values]
    if any(one is NO_CONSTANT for one in found) or not all(_read(m, value) for value in values):
        return None
    return found


#: Classes of objects that have the same hash in every process: sets of them have the same iteration order.
_SAME_HASH: Final = frozenset({int, bool, float, complex})


def _reify_set(obj: VObj) -> Any:
    """Rebuild a set whose iteration order can be relied upon; NO_CONSTANT if it cannot."""
    if not all(type(item) in _SAME_HASH for item in obj.keys):
        return NO_CONSTANT
    return (obj.extra or History(obj.keys)).replay()


def virtual(m: Machine, result: Any, labels: Labels) -> V | None:
    """Return a folded result as an engine value: a constant, or a new virtual container of constants; None if it is neither."""
    if is_immutable(result):
        if type(result) is int and result.bit_length() > _LARGE:
            return None
        return Known(result, labels)
    if isinstance(result, type):
        return Known(result, labels)
    kind = type(result)
    if kind is tuple or kind is list:
        cells = [virtual(m, item, labels) for item in result]
        return None if any(c is None for c in cells) else m.new(VObj(kind.__name__, kind, tuple(cells)), labels)  # type: ignore[arg-type]
    if kind is dict and all(is_immutable(key) for key in result):
        cells = [virtual(m, item, labels) for item in result.values()]
        return None if any(c is None for c in cells) else m.new(VObj("dict", dict, tuple(cells), tuple(result)), labels)  # type: ignore[arg-type]
    return None
