"""Rules for the functions of ``operator`` on exact builtin types (CPython: Objects/abstract.c and the types' slots)."""

import functools
import operator
import types
from collections.abc import Callable
from typing import Any, Final

from hovis.lattice import ANY, AbstractValue, Const, Items, Type, join
from hovis.lattice import Any as AnyType
from hovis.lattice.constants import ATOMS
from hovis.library.core import Library
from hovis.library.language.arithmetic import RANK, binary_power, bitwise, common, divided, shifted, subtract, truediv, united
from hovis.library.language.signatures.fold_limits import MAX_BITS, MAX_SIZE, short, small
from hovis.library.language.signatures.signature_language import ANYTHING, Answer, Rule, first_of, row, rows, signatures
from hovis.library.language.signatures.type_queries import (
    BOOL,
    INT,
    LIST,
    MAX_PARTS,
    PURE,
    RAISES,
    READS,
    STR,
    TUPLE,
    atomic,
    class_of,
    items_of,
    looking_at,
    moderate,
    part,
    solid,
    tuple_of,
    values_of,
)

OPERATORS: Final = Library("operators")


# ------------------------------------------------------------------------------------------------- sequences


def _concatenated(a: AbstractValue, b: AbstractValue) -> Answer | None:
    cls = class_of(a)
    if cls is not class_of(b):
        return None
    if cls is tuple:
        one, other = items_of(a), items_of(b)
        return Answer(TUPLE if one is None or other is None else tuple_of(*one, *other))
    if cls is list:
        return Answer(LIST, READS)
    return Answer(Type(cls)) if cls is str or cls is bytes else None


_SEQUENCES: Final = (str, bytes, tuple, list)


def _repeated(a: AbstractValue, b: AbstractValue) -> Answer | None:
    """The product of a sequence and an int, in either order."""
    sequence, times = (a, b) if class_of(a) in _SEQUENCES else (b, a)
    cls = class_of(sequence)
    if cls not in _SEQUENCES or class_of(times) not in (int, bool):
        return None
    assert cls is not None
    modest = class_of(times) is bool or (moderate(times) and isinstance(times, Const) and abs(times.value) <= MAX_SIZE)  # type: ignore[arg-type]
    return Answer(Type(cls), (PURE if modest else RAISES) | (READS if cls is list else PURE))


_shown = signatures("str solid -> str !", "bytes solid -> bytes !", "str list|set|frozenset -> str o")

#: The letters with which a conversion of ``%`` can end.
_LETTERS: Final = frozenset("diouxXeEfFgGcrsa")


def _formatted(template: AbstractValue, values: AbstractValue) -> Answer | None:
    """``template % values``. It may run user code. None if the template may be a single conversion, whose result may be of a subclass of str."""
    found = _shown(template, values)
    if found is not None or class_of(values) not in (tuple, dict) or not isinstance(template, Const) or type(template.value) is not str:
        return found
    text = template.value
    return Answer(STR, ANYTHING) if text and (text[0] != "%" or text[-1] not in _LETTERS) else None


def contents(a: AbstractValue) -> AbstractValue:
    """Return the type of an item of the tuple ``a`` at an unknown index."""
    items = items_of(a)
    if not items:
        return a.items if isinstance(a, Items) else ANY
    return items[0] if len(items) == 1 else functools.reduce(join, map(one_of_many, items))


def one_of_many(a: AbstractValue) -> AbstractValue:
    """Return the type of a known value that is one of several in a table: for a tuple, the types of its items."""
    items = items_of(a) if isinstance(a, Const) else None
    return part(a) if not items or len(items) > MAX_PARTS else tuple_of(*map(one_of_many, items))


def _tuple_item(a: AbstractValue, index: AbstractValue) -> Answer | None:
    if class_of(a) is not tuple or class_of(index) not in (int, bool):
        return None
    items = items_of(a)
    if items is not None and isinstance(index, Const):
        at = int(index.value)  # type: ignore[call-overload]
        return Answer(items[at]) if -len(items) <= at < len(items) else Answer(ANY, RAISES)
    return Answer(contents(a) if items is None or len(items) <= 64 else ANY, RAISES)


def _item_of_trace(a: AbstractValue, key: AbstractValue) -> Answer | None:
    """An item of a list or dict of the trace that contains only atoms."""
    index = class_of(key) in (int, bool) if class_of(a) is list else class_of(a) is dict and atomic(key)
    found = values_of(a) if index else ANY
    return None if isinstance(found, AnyType) else Answer(found, READS | RAISES)


GETITEM: Final = first_of(
    _tuple_item,
    _item_of_trace,
    signatures(
        "str index -> str !",
        "str slice -> str",
        "bytes index -> int !",
        "bytes slice -> bytes",
        "range int -> int !",
        "range slice -> range",
        "tuple slice -> tuple",
        "list index -> any r!",
        "list slice -> list r",
        "dict key -> any r!",
    ),
)

SETITEM: Final = signatures("list index any -> none w!", "dict key any -> none w", "list|dict any any -> none o")
DELITEM: Final = signatures("list index -> none w!", "list slice -> none w!", "dict key -> none w!", "list|dict any -> none o")


def _outside(a: AbstractValue, item: AbstractValue) -> Answer | None:
    """A container is none of the atoms in a tuple, and equal to none."""
    return Answer(Const(False)) if class_of(a) is tuple and atomic(a) and class_of(item) in _UNLIKE_ATOMS else None


#: Classes whose instances are equal to no atom. (A set may be equal to a frozenset.)
_UNLIKE_ATOMS: Final = (list, dict)
_CONTAINS: Final = signatures(
    "str str -> bool",
    "bytes bytes -> bool",
    "bytes int -> bool !",
    "range int -> bool",
    "atoms key -> bool",
    "sequence_of_atoms solid -> bool",
    "dict key -> bool r",
    "set key -> bool r",
    "list|tuple|dict|set|frozenset any -> bool o",
)
CONTAINS: Final = first_of(_outside, _CONTAINS)


# ------------------------------------------------------------------------------------------------- comparison, truth

#: Classes whose ``==`` returns a bool or NotImplemented, whatever the other operand is.
_HONEST: Final = frozenset({*ATOMS, tuple, list, dict, set, frozenset})


def _equal(a: AbstractValue, b: AbstractValue) -> Answer | None:
    if solid(a) and solid(b):
        return Answer(BOOL, looking_at(a, b))
    return Answer(BOOL, ANYTHING) if class_of(a) in _HONEST and class_of(b) in _HONEST else None


def _ordered(a: AbstractValue, b: AbstractValue) -> Answer | None:
    one, other = class_of(a), class_of(b)
    if one in (set, frozenset) and other in (set, frozenset) and not (atomic(a) and atomic(b)):
        return Answer(BOOL, ANYTHING)
    if RANK.get(one, 3) < 3 and RANK.get(other, 3) < 3:
        return Answer(BOOL)
    if one is not other or one not in (str, bytes, tuple, frozenset, list, set) or not (solid(a) and solid(b)):
        return None
    return Answer(BOOL, looking_at(a, b) | (RAISES if one in (tuple, list) else PURE))


_SINGLETONS: Final = (type(None), type(Ellipsis), type(NotImplemented))


def identical(a: AbstractValue, b: AbstractValue) -> bool | None:
    """Is ``a`` the same object as ``b``? None if that is not known."""
    if isinstance(a, Const) and isinstance(b, Const):
        return a.value is b.value
    one, other = class_of(a), class_of(b)
    if one is None or other is None:
        return None
    if one is not other:
        return False
    return True if one in _SINGLETONS else None


def _is(a: AbstractValue, b: AbstractValue) -> Answer:
    known = identical(a, b)
    return Answer(BOOL if known is None else Const(known))


def _is_not(a: AbstractValue, b: AbstractValue) -> Answer:
    known = identical(a, b)
    return Answer(BOOL if known is None else Const(not known))


TRUE_CLASSES: Final = frozenset(
    {
        object,
        type,
        types.FunctionType,
        types.BuiltinFunctionType,
        types.MethodType,
        types.ModuleType,
        types.CodeType,
        types.CellType,
        types.GeneratorType,
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        type(Ellipsis),
        slice,
        map,
        filter,
        zip,
        enumerate,
    }
)


def truth(a: AbstractValue) -> Answer | None:
    """``bool(a)``."""
    cls = class_of(a)
    if cls is type(None):
        return Answer(Const(False))
    if cls in TRUE_CLASSES:
        return Answer(Const(True))
    items = items_of(a)
    if items is not None:
        return Answer(Const(bool(items)))
    if cls in (int, float, bool, complex, str, bytes, tuple, range, frozenset):
        return Answer(BOOL)
    return Answer(BOOL, READS) if cls in (list, dict, set) else None


def _not(a: AbstractValue) -> Answer | None:
    found = truth(a)
    if found is None or not isinstance(found.type, Const):
        return found
    return Answer(Const(not found.type.value))


# ------------------------------------------------------------------------------------------------- constant folding


def fold_power(base: Any, exponent: Any, modulus: Any = None) -> bool:
    """Is the power small enough to be folded?"""
    if not small(base, exponent, modulus):
        return False
    if modulus is not None:
        return all(type(x) is not int or x.bit_length() <= 1024 for x in (base, exponent, modulus))
    if not isinstance(base, int) or not isinstance(exponent, int):
        return True
    return base.bit_length() * abs(exponent) <= MAX_BITS


def _fold_shift(value: Any, by: Any) -> bool:
    return small(value, by) and by <= MAX_BITS


def _fold_product(a: Any, b: Any) -> bool:
    for sequence, times in ((a, b), (b, a)):
        if isinstance(sequence, _SEQUENCES) and isinstance(times, int):
            return small(a) and small(b) and len(sequence) * min(times, MAX_SIZE) <= MAX_SIZE // 8
    return small(a, b)


def fold_percent(template: Any, values: Any) -> bool:
    """May ``%`` be folded: arithmetic on small numbers, or formatting without large field widths?"""
    if not isinstance(template, str | bytes):
        return small(template, values)
    text = template if isinstance(template, str) else template.decode("latin-1")
    return short(template, values) and "*" not in text and narrow(text)


def narrow(text: str) -> bool:
    """Is each number in text (the width of a field) at most 4 digits long?"""
    run = 0
    for character in text:
        run = run + 1 if character.isdigit() else 0
        if run > 4:
            return False
    return True


def _fold_item(a: Any, index: Any) -> bool:
    return isinstance(a, range) or type(index) is not slice or small(a)


def _fold_contains(a: Any, item: Any) -> bool:
    return (type(a) is range and type(item) in (int, bool)) or small(a, item)


# ------------------------------------------------------------------------------------------------- tables

ADD: Final = first_of(common, _concatenated)
MULTIPLY: Final = first_of(common, _repeated)
MODULO: Final = first_of(divided, _formatted)
_LIST_EXTENDED: Final = signatures("list list|tuple|str|bytes|range|dict|set|frozenset -> list wr")
_LIST_REPEATED: Final = signatures("list index -> list w!")

_BINARY: Final[list[tuple[str, Rule, Callable[..., bool]]]] = [
    ("add", ADD, small),
    ("sub", subtract, small),
    ("mul", MULTIPLY, _fold_product),
    ("truediv", truediv, small),
    ("floordiv", divided, small),
    ("mod", MODULO, fold_percent),
    ("pow", binary_power, fold_power),
    ("lshift", shifted, _fold_shift),
    ("rshift", shifted, small),
    ("and_", bitwise, small),
    ("or_", united, small),
    ("xor", bitwise, small),
    ("concat", _concatenated, small),
]

#: In-place operators that write to lists; on immutable operands they are the same as the binary operators.
_IN_PLACE: Final[dict[str, Rule]] = {"iadd": _LIST_EXTENDED, "imul": _LIST_REPEATED, "iconcat": _LIST_EXTENDED}


def _not_a_list(rule: Rule) -> Rule:
    return lambda a, b: None if class_of(a) is list else rule(a, b)


for _name, _rule, _fold in _BINARY:
    row(OPERATORS, getattr(operator, _name), _rule, _fold)
    _in_place = "i" + _name.rstrip("_")
    row(OPERATORS, getattr(operator, _in_place), first_of(_not_a_list(_rule), *filter(None, [_IN_PLACE.get(_in_place)])), _fold)

_ORDERINGS: Final = (operator.lt, operator.le, operator.gt, operator.ge)

for _ordering in _ORDERINGS:
    row(OPERATORS, _ordering, _ordered)
for _equality in (operator.eq, operator.ne):
    row(OPERATORS, _equality, _equal)

row(OPERATORS, operator.is_, _is, True)
row(OPERATORS, operator.is_not, _is_not, True)
row(OPERATORS, operator.truth, truth, True)
row(OPERATORS, operator.not_, _not, True)
row(OPERATORS, operator.getitem, GETITEM, _fold_item)
row(OPERATORS, operator.setitem, SETITEM, False)
row(OPERATORS, operator.delitem, DELITEM, False)
row(OPERATORS, operator.contains, CONTAINS, _fold_contains)

ABS: Final = signatures("int -> int", "float -> float", "complex -> float !")

rows(
    OPERATORS,
    operator,
    """
    neg          int -> int
    neg          float -> float
    neg          complex -> complex
    pos          int -> int
    pos          float -> float
    pos          complex -> complex
    index        int -> int
    length_hint  str|bytes|tuple|frozenset index? -> int
    length_hint  list|dict|set|dict_keys|dict_values|dict_items index? -> int r
    """,
)
row(OPERATORS, operator.invert, lambda a: Answer(INT) if class_of(a) is int else None)  # of a bool it is deprecated, and emits a warning
row(OPERATORS, operator.abs, ABS)
