"""Rules for the builtin functions and the methods of numbers (CPython: Python/bltinmodule.c, Objects/longobject.c, floatobject.c)."""

import builtins
import types
from typing import Any, Final

from hovis.ir.model import Effect
from hovis.lattice import ANY, SOME, AbstractValue, Const, Partial, Type, join
from hovis.lattice.inspection import is_a
from hovis.library.core import Library
from hovis.library.language.arithmetic import common, divmod_, power
from hovis.library.language.operators import ABS, TRUE_CLASSES, fold_power, truth
from hovis.library.language.signatures.fold_limits import MAX_SIZE, short, small
from hovis.library.language.signatures.signature_language import ANYTHING, Answer, Fold, row, rows, signatures
from hovis.library.language.signatures.type_queries import BOOL, COMPLEX, FLOAT, INT, NONE, PURE, RAISES, atomic, class_of, items_of, looking_at, part, solid

BUILTINS: Final = Library("builtins")


# ------------------------------------------------------------------------------------------------- constant folding


def _fold_bytes(source: Any = b"", *codec: Any) -> bool:
    return 0 <= source <= MAX_SIZE if isinstance(source, int) else small(source)


def _fold_int(value: Any = 0, *base: Any, **named: Any) -> bool:
    return len(value) <= 600 if isinstance(value, str | bytes) else small(value)


def _fold_round(number: Any, digits: Any = None) -> bool:
    return small(number) and (digits is None or abs(digits) <= 400)


def _fold_to_bytes(number: Any, length: Any = 1, *order: Any, **named: Any) -> bool:
    return small(number) and length <= MAX_SIZE


def _known_size(*values: Any) -> bool:
    """Fold condition of operations whose cost doesn't depend on the size of their operands."""
    return True


_FOLDS: Final[dict[str, Fold]] = {
    "str": short,
    "repr": short,
    "ascii": short,
    "int": _fold_int,
    "pow": fold_power,
    "round": _fold_round,
    "len": _known_size,
    "range": _known_size,
    "slice": _known_size,
    "bytes": _fold_bytes,
    "to_bytes": _fold_to_bytes,
    "object": False,
    "iter": False,
    "enumerate": False,
    "map": False,
    "filter": False,
    "zip": False,
    "reversed": False,
}


# ------------------------------------------------------------------------------------------------- tables

rows(
    BUILTINS,
    builtins,
    """
    all         str|bytes|range|atoms -> bool
    any         str|bytes|range|atoms -> bool
    ascii       text -> str
    ascii       list|tuple|dict|set|frozenset -> str o
    bin         int -> str
    bytes       -> bytes
    bytes       bytes -> bytes
    bytes       int|range -> bytes !
    bytes       str codec onerror? -> bytes !
    chr         int -> str !
    complex     -> complex
    complex     number -> complex
    complex     str -> complex !
    complex     real real -> complex
    complex     any any? -> complex o
    enumerate   container start=int? -> enumerate
    enumerate   any start=any? -> enumerate o
    filter      any container -> filter
    filter      any any -> filter o
    frozenset   -> frozenset
    frozenset   str|bytes|range|atoms|flat -> frozenset
    frozenset   dict|set -> frozenset r
    frozenset   any -> frozenset o
    float       -> float
    float       real -> float
    float       str|bytes -> float !
    float       any -> float o
    hex         int -> str
    int         -> int
    int         int -> int
    int         float -> int !
    int         str|bytes base=int? -> int !
    int         any -> int o
    len         str|bytes|tuple|frozenset -> int
    len         range -> int !
    len         list|dict|set|dict_keys|dict_values|dict_items -> int r
    list        -> list
    list        frozen -> list
    list        mutable -> list r
    list        any -> list o
    map         any container container* -> map
    map         any any any* -> map o
    object      -> object
    oct         int -> str
    ord         str|bytes -> int !
    repr        text -> str
    repr        list|tuple|dict|set|frozenset -> str o
    round       int ndigits=int|none? -> int
    round       float ndigits=none? -> int !
    round       float ndigits=int -> float !
    set         -> set
    set         str|bytes|range -> set
    set         atoms|flat -> set
    set         dict|set|frozenset -> set r
    set         any -> set o
    sorted      str|bytes|range :key=none? :reverse=bool? -> list
    sorted      atoms|flat :key=none? :reverse=bool? -> list !
    sorted      any :key=any? :reverse=any? -> list o
    str         -> str
    str         text -> str
    str         list|tuple|dict|set|frozenset -> str o
    str         bytes codec onerror? -> str !
    zip         container* :strict=bool? -> zip
    zip         any* :strict=any? -> zip o
    """,
    _FOLDS,
)

rows(
    BUILTINS,
    int,
    """
    as_integer_ratio  -> (int,int)
    bit_count         -> int
    bit_length        -> int
    conjugate         -> int
    is_integer        -> bool
    to_bytes          length=index? byteorder=str? :signed=bool? -> bytes !
    """,
    _FOLDS,
    receiver="int",
)
rows(BUILTINS, int, "from_bytes bytes byteorder=str? :signed=bool? -> int !", {"from_bytes": short})

rows(
    BUILTINS,
    float,
    """
    as_integer_ratio  -> (int,int) !
    conjugate         -> float
    hex               -> str
    is_integer        -> bool
    """,
    receiver="float",
)
rows(BUILTINS, float, "fromhex str -> float !")
rows(BUILTINS, complex, "conjugate -> complex", receiver="complex")


# ------------------------------------------------------------------------------------------------- numbers


def _reduced(a: AbstractValue, b: AbstractValue, *more: AbstractValue, **named: AbstractValue) -> Answer | None:
    """``min`` and ``max`` of several numbers or several strings; with a complex number it raises, because these are not ordered."""
    classes = set(map(class_of, (a, b, *more)))
    if not classes <= {int, bool, float, complex} and classes not in ({str}, {bytes}):
        return None
    if any(name != "key" or class_of(value) is not type(None) for name, value in named.items()):
        return None
    ordered = [x for x in (a, b, *more) if class_of(x) is not complex]
    found = part(ordered[0]) if ordered else COMPLEX
    for other in ordered[1:]:
        found = join(found, part(other))
    return Answer(found, RAISES if complex in classes else PURE)


_smallest_item = signatures("str -> str !", "range|bytes -> int !")


def _extreme(*args: AbstractValue, **named: AbstractValue) -> Answer | None:
    return _smallest_item(*args, **named) if len(args) == 1 else _reduced(*args, **named)


_ZERO: Final = Const(0)


def _total(items: AbstractValue, start: AbstractValue = _ZERO) -> Answer | None:
    """``sum`` of a range, of bytes, or of a tuple of numbers of known length."""
    found = Answer(start)
    if class_of(start) not in (int, float):
        return None
    if class_of(items) in (range, bytes):
        return _added(found, INT)
    parts = items_of(items)
    if parts is None or len(parts) > 64:
        return None
    for one in parts:
        total = _added(found, one)
        if total is None:
            return None
        found = total
    return found


def _added(total: Answer, item: AbstractValue) -> Answer | None:
    """Return the type of a running total after one more number is added, or None; conversion of a large int to float may overflow."""
    found = common(total.type, item)
    return None if found is None or found.type is COMPLEX else Answer(found.type, found.effect | total.effect)


row(BUILTINS, abs, ABS)
row(BUILTINS, bool, lambda a=_ZERO: truth(a), True)
row(BUILTINS, divmod, divmod_)
row(BUILTINS, pow, lambda base, exp, mod=None: power(base, exp, mod), fold_power)
row(BUILTINS, min, _extreme)
row(BUILTINS, max, _extreme)
row(BUILTINS, sum, _total)


def _hashed(a: AbstractValue) -> Answer | None:
    return Answer(INT) if atomic(a) else None


row(BUILTINS, hash, _hashed)


# ------------------------------------------------------------------------------------------------- range, slice


def _range(*bounds: AbstractValue) -> Answer | None:
    if not 1 <= len(bounds) <= 3:
        return None
    if any(class_of(b) not in (int, bool) for b in bounds):
        return Answer(Type(range), ANYTHING)  # it calls their __index__
    step = bounds[2] if len(bounds) == 3 else Const(1)
    return Answer(Type(range), PURE if isinstance(step, Const) and step.value else RAISES)


def _slice(*bounds: AbstractValue) -> Answer | None:
    if not 1 <= len(bounds) <= 3:
        return None
    start, stop, step = (NONE, *bounds, NONE) if len(bounds) == 1 else (*bounds, NONE)[:3]
    return Answer(Partial(slice, ("start", "stop", "step"), map(part, (start, stop, step))))


row(BUILTINS, range, _range, True)
row(BUILTINS, slice, _slice, True)


# ------------------------------------------------------------------------------------------------- classes

#: Builtin classes whose instances have their true class as ``__class__``.
_HONEST: Final = frozenset({cls for cls in vars(builtins).values() if isinstance(cls, type)} - {super}) | TRUE_CLASSES
#: The type flag of heap types, which include all classes made by Python code (CPython: Py_TPFLAGS_HEAPTYPE).
_HEAP_TYPE: Final = 1 << 9


def _plain(cls: type) -> bool:
    """Is ``x.__class__`` of an instance certainly the class itself?"""
    if not cls.__flags__ & _HEAP_TYPE:
        return cls in _HONEST
    written = [c for c in cls.__mro__ if c.__flags__ & _HEAP_TYPE]
    honest = all(c in _HONEST for c in cls.__mro__ if c not in written)
    return honest and not any(name in c.__dict__ for c in written for name in ("__class__", "__getattribute__"))


def _classes(a: object) -> list[type] | None:
    """Return the classes in the second argument of isinstance, or None if one has its own ``__instancecheck__``."""
    if type(a) is type:
        return [a]
    members = a if type(a) is tuple else a.__args__ if type(a) is types.UnionType else None
    if members is None:
        return None
    found: list[type] = []
    for member in members:
        inner = _classes(member)
        if inner is None:
            return None
        found += inner
    return found


def _isinstance(a: AbstractValue, classes: AbstractValue) -> Answer | None:
    cls = class_of(a)
    wanted = _classes(classes.value) if isinstance(classes, Const) else None
    if cls is None or wanted is None or not _plain(cls):
        return None
    return Answer(Const(issubclass(cls, tuple(wanted))))


def _issubclass(a: AbstractValue, classes: AbstractValue) -> Answer | None:
    wanted = _classes(classes.value) if isinstance(classes, Const) else None
    if wanted is None or not isinstance(a, Const) or not is_a(a.value, type):
        return None
    return Answer(Const(issubclass(a.value, tuple(wanted))))


def _type(a: AbstractValue) -> Answer:
    cls = class_of(a)
    return Answer(SOME if cls is None else Const(cls))


def _callable(a: AbstractValue) -> Answer:
    cls = class_of(a)
    return Answer(BOOL if cls is None else Const(any("__call__" in c.__dict__ for c in cls.__mro__)))


row(BUILTINS, isinstance, _isinstance, True)
row(BUILTINS, issubclass, _issubclass, True)
row(BUILTINS, type, _type, True)
row(BUILTINS, callable, _callable, True)


# ------------------------------------------------------------------------------------------------- output


def _print(*args: AbstractValue, **named: AbstractValue) -> Answer | None:
    """``print`` of values that are converted to text without user code; it may raise, because ``sys.stdout`` may be closed."""
    if not all(map(solid, args)):
        return None
    for name, value in named.items():
        cls = class_of(value)
        accepted = {"sep": (str, type(None)), "end": (str, type(None)), "file": (type(None),), "flush": (bool, int)}.get(name, ())
        if cls not in accepted:
            return None
    return Answer(NONE, Effect.IO | RAISES | looking_at(*args))


row(BUILTINS, print, _print, False)


# ------------------------------------------------------------------------------------------------- exceptions

#: Exception classes whose constructors inspect their arguments, or choose a subclass.
_CONSTRUCTED: Final = (OSError, UnicodeError, SyntaxError, BaseExceptionGroup)

#: Exception classes that store their arguments unchanged.
PLAIN_EXCEPTIONS: Final = frozenset(
    cls for cls in vars(builtins).values() if isinstance(cls, type) and issubclass(cls, BaseException) and not issubclass(cls, _CONSTRUCTED)
)


def _constructor(cls: type) -> Any:
    return lambda *args: Answer(Type(cls))


for _cls in sorted(PLAIN_EXCEPTIONS, key=lambda cls: cls.__name__):
    row(BUILTINS, _cls, _constructor(_cls), False)


# ------------------------------------------------------------------------------------------------- attributes

#: Attributes of exact builtin types that are read without user code: descriptor -> type of the value.
ATTRIBUTES: Final[dict[object, AbstractValue]] = {
    owner.__dict__[name]: result
    for owner, names, result in (
        (int, "real imag numerator denominator", INT),
        (float, "real imag", FLOAT),
        (complex, "real imag", FLOAT),
        (range, "start stop step", INT),
        (slice, "start stop step", ANY),
    )
    for name in names.split()
}
