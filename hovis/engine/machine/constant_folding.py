"""Folding: doing a pure operation on known values now, within bounds."""

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

#: Never folded: what these do is not a matter of their arguments alone.
UNFOLDABLE: Final = Effect.WRITES | Effect.IO | Effect.RANDOM | Effect.CLOCK | Effect.OPAQUE

#: Operations that compare their operands: these belong into keys (as does what is looked up, and strings).
TESTS: Final[frozenset[Callable[..., object]]] = frozenset({operator.eq, operator.ne, operator.contains, operator.is_, operator.is_not})

#: Exceptions that are built anew from their arguments alone.
REBUILT: Final = frozenset(
    value
    for value in vars(builtins).values()
    if isinstance(value, type)
    and issubclass(value, Exception)
    and not issubclass(value, OSError | UnicodeError | ImportError | SyntaxError | NameError | AttributeError | Warning)
)

_NUMBERS: Final = frozenset({int, float, bool, complex, str, bytes, type(None)})
#: Bits of an int that may be folded: writing out a larger one takes longer than computing it.
_LARGE: Final = 200_000
NO_CONSTANT: Final = object()


_NUMERIC: Final = frozenset({int, float})
_COMPARED: Final = frozenset({int, float, bool, str})
#: Operators that are quickly done on small operands of the same type, whatever these are, and on which types.
_QUICK: Final[dict[Callable[..., Any], frozenset[type]]] = {
    **dict.fromkeys((operator.add, operator.sub, operator.mul), _NUMERIC),
    **dict.fromkeys((operator.and_, operator.or_, operator.xor), frozenset({int, bool})),
    **dict.fromkeys((operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge), _COMPARED),
}
#: Small: beyond this, or beyond so many characters, an operation takes the long way.
_SMALL: Final = 1 << 64
_FEW: Final = 256


def quick(m: Machine, fn: Callable[..., Any], a: V, b: V) -> Known | None:
    """What ``fold`` would give for two small known operands of one of Python's own types; None: the long way."""
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
    """The result of a primitive on known values; None: not to be had now."""
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
    """What rules are told of a container of this trace whose contents are known."""
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
    """The operation is known to raise: so does the program, here."""
    if type(error) in REBUILT and is_immutable(error.args) and not isinstance(error, Warning):
        return m.raise_new(type(error), *error.args)
    return None


def constant_form(m: Machine, value: V) -> V:
    """A virtual tuple or slice of constants as the constant that it is."""
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        if obj.kind in ("tuple", "slice") and obj.cls in (tuple, slice):
            cells = [constant_form(m, c) for c in obj.cells]
            if all(isinstance(c, Known) and is_immutable(c.value) for c in cells):
                held = [c.value for c in cells]  # type: ignore[union-attr]
                return Known(tuple(held) if obj.kind == "tuple" else slice(*held), labels_of(value, *cells))
    return value


def reify(m: Machine, value: V, depth: int = 5) -> Any:
    """The value itself, if it is known and immutable all the way down or a virtual container of such: a copy then."""
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


#: Known containers that anybody could change, and how long they may be to be looked at as a whole.
_OPENED: Final = frozenset({list, dict})
_OPENED_ITEMS: Final = 1_000


def _looked_at(m: Machine, value: V) -> Any:
    """Like reify; a known list or dict of constants itself, of which is not said yet that it is read."""
    if isinstance(value, Known) and type(value.value) in _OPENED:
        return value.value if _constants_in(value.value) and id(value.value) not in m.tables.thawed else NO_CONSTANT
    return reify(m, value)


def _constants_in(held: Any) -> bool:
    """Are these constants, and not too many?"""
    if len(held) > _OPENED_ITEMS:
        return False
    return all(type(x) in PLAIN or is_immutable(x) for x in (held.values() if type(held) is dict else held))


def _read(m: Machine, value: V) -> bool:
    """Says of a known container that it is read; False: that cannot be relied upon."""
    return not isinstance(value, Known) or type(value.value) not in _OPENED or m.environment.static(value)


def look(m: Machine, values: "list[V]") -> "list[Any] | None":
    """The values themselves, known all the way down, for something that only looks at them."""
    found = [_looked_at(m, value) for value in values]
    if any(one is NO_CONSTANT for one in found) or not all(_read(m, value) for value in values):
        return None
    return found


#: What has the same hash in every process: sets of it are iterated over in the same order.
_SAME_HASH: Final = frozenset({int, bool, float, complex})


def _reify_set(obj: VObj) -> Any:
    """A set whose order of iteration may be relied on."""
    if not all(type(item) in _SAME_HASH for item in obj.keys):
        return NO_CONSTANT
    return (obj.extra or History(obj.keys)).replay()


def virtual(m: Machine, result: Any, labels: Labels) -> V | None:
    """A folded result as an engine value: constants, or fresh containers of them; None if it is neither."""
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
