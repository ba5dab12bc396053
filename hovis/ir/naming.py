"""Names of callables, classes and constants in the text of a Function, and the lookup of these names.

The printer uses this module to turn objects into text, and the parser to turn text into objects.  Nothing is imported, and
nothing is called except the constructors of numbers, ranges and slices.
"""

import builtins
import keyword
import operator
import struct
import sys
import sysconfig
import types
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from hovis.base.function_wrapper import Wrapper
from hovis.ir import operations
from hovis.lattice.inspection import attribute, bound_to, is_a

#: Binary operators and comparisons, which print as their symbol in parentheses.
SYMBOLS: Final[dict[Any, str]] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.matmul: "@",
    operator.lshift: "<<",
    operator.rshift: ">>",
    operator.and_: "&",
    operator.or_: "|",
    operator.xor: "^",
    operator.iadd: "+=",
    operator.isub: "-=",
    operator.imul: "*=",
    operator.itruediv: "/=",
    operator.ifloordiv: "//=",
    operator.imod: "%=",
    operator.ipow: "**=",
    operator.imatmul: "@=",
    operator.ilshift: "<<=",
    operator.irshift: ">>=",
    operator.iand: "&=",
    operator.ior: "|=",
    operator.ixor: "^=",
    operator.lt: "<",
    operator.le: "<=",
    operator.eq: "==",
    operator.ne: "!=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.is_: "is",
    operator.is_not: "is not",
}
BY_SYMBOL: Final = {symbol: callee for callee, symbol in SYMBOLS.items()}

_LITERALS: Final = frozenset({int, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented)})
NUMPY_SCALARS: Final = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
)
_NAN: Final = struct.pack("<d", float("nan"))


# ------------------------------------------------------------------------------------------------- arbitrary texts


def printable(text: str) -> str:
    """Return the text as one line, with unprintable characters escaped as in a literal.

    >>> print(printable("a\\nb\\u2028c"))
    a\\nb\\u2028c
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def is_name(text: str) -> bool:
    """Is text a name that Python reads back as this very text, and that may be assigned to?

    >>> [is_name(text) for text in ("x", "class", "x y", "\ufb01", "__debug__")]
    [True, False, False, False, False]
    """
    return text.isidentifier() and not keyword.iskeyword(text) and text != "__debug__" and (text.isascii() or unicodedata.normalize("NFKC", text) == text)


def identifier(text: str) -> str:
    """Return a valid identifier that is similar to text.

    >>> identifier("n"), identifier("<lambda>"), identifier("class"), identifier("")
    ('n', '_lambda_', '_class', '_')
    """
    for like in (text, "".join(c if is_name("a" + c) else "_" for c in text) or "_"):
        for made in (like, "_" + like):
            if is_name(made):
                return made
    return "_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in text)


# ------------------------------------------------------------------------------------------------- constants


def literal(value: object) -> str | None:
    """Return the text of a constant that is written out: None, numbers, strings, bytes, and tuples of these; None for other objects."""
    kind = type(value)
    if kind is int:
        return _int_text(value)  # type: ignore[arg-type]
    if kind in _LITERALS:
        return repr(value)
    if kind is float or kind is complex:
        return repr(value) if _plain_nans(value) else None
    if kind is tuple:
        assert isinstance(value, tuple)
        parts = [literal(item) for item in value]
        if None in parts:
            return None
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(map(str, parts))})"
    if kind is range or kind is slice:
        inner = literal((value.start, value.stop, value.step))  # type: ignore[attr-defined]
        return None if inner is None else kind.__name__ + inner
    if kind.__module__ == "numpy" and kind.__name__.rstrip("_") in NUMPY_SCALARS:
        return repr(value) if repr(value).startswith("np.") and _plain_nans(value.item()) else None  # type: ignore[attr-defined]
    return repr(value) if value is operations.END or value is operations.UNBOUND else None


def _int_text(value: int) -> str:
    limit = sys.get_int_max_str_digits()
    return hex(value) if limit and value.bit_length() > 3 * limit else repr(value)


def _plain_nans(value: Any) -> bool:
    """Does ``repr`` show the whole value? (NaNs have payloads, and complex zeros have signs, which ``repr`` loses.)"""
    if type(value) is complex:
        return complex(repr(value)) == value and _bits(complex(repr(value))) == _bits(value)
    return value == value or _bits(float(value)) == _NAN


def _bits(value: complex | float) -> bytes:
    return struct.pack("<dd", value.real, value.imag) if isinstance(value, complex) else struct.pack("<d", value)


# ------------------------------------------------------------------------------------------------- callables


_OPERATORS: Final = frozenset(map(type, SYMBOLS))


def name_of(value: object) -> str | None:
    """Return the name by which a function, class or module prints, or None if it has none, or is another kind of object."""
    if is_a(value, types.ModuleType):
        return value.__name__
    if type(value) in _OPERATORS and (symbol := SYMBOLS.get(value)) is not None:
        return f"({symbol})"
    bound = bound_to(value)
    if bound is not None and not isinstance(bound, types.ModuleType):
        return _bound_name(value, bound)
    if not is_named(value):
        # wrappers that transforms and rules make from a function print under its name
        return attribute(value, "__name__") if callable(value) and is_a(value, Wrapper) and type(value).goes_by_name else None
    qualname = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(qualname, str):
        return None
    if builtins.__dict__.get(qualname) is value:
        return qualname
    owner = getattr(value, "__objclass__", value)
    return _public(getattr(owner, "__module__", None), qualname, value)


_NAMED: Final = (
    type, types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, type(lru_cache(len)),
)  # fmt: skip


def is_named(value: object) -> bool:
    """Is value a class, or a function of any kind, so that it has a name of its own?"""
    if issubclass(type(value), _NAMED):
        return True
    return callable(value) and type(value).__module__ == "numpy" and isinstance(getattr(value, "__name__", None), str)


def _bound_name(value: Any, bound: object) -> str | None:
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        return None
    if is_named(bound):
        owner = name_of(bound)
        return f"{owner}.{name}" if owner else None
    parts = type(bound).__module__.split(".")
    for count in range(1, len(parts) + 1):
        module = ".".join(parts[:count])
        if getattr(sys.modules.get(module), name, None) == value:
            return f"{module}.{name}"
    if isinstance(value, types.MethodType | types.BuiltinMethodType):
        return str(getattr(value, "__qualname__", name))
    return None


def _public(module: object, qualname: str, value: object) -> str:
    """Return the qualified name, with the module if that is informative."""
    if not isinstance(module, str) or module in ("builtins", "_operator", "__main__"):
        return qualname
    if module.startswith("_"):
        shown = module.lstrip("_")
        module = shown if getattr(sys.modules.get(shown), qualname, None) is value else module
    return f"{module}.{qualname}" if _is_library(module) else qualname


@lru_cache(maxsize=1024)
def _is_library(module: str) -> bool:
    """Is this a module of the standard library or an installed one (and not user code, nor hovis itself)?"""
    top = module.partition(".")[0]
    if top in ("hovis", "hovis_xla"):
        return False
    file = getattr(sys.modules.get(top), "__file__", None)
    if file is None:
        return top in sys.stdlib_module_names
    if "site-packages" in file or "dist-packages" in file:
        return True
    return top in sys.stdlib_module_names and file.startswith(sysconfig.get_paths()["stdlib"])


# ------------------------------------------------------------------------------------------------- lookup

MISSING: Final = object()
#: Names with more parts than this are not looked up.
MOST_DOTS: Final = 64

_EMPTY: Final[dict[Any, Any]] = {}
_ITERABLES: Final[tuple[Any, ...]] = ((), [], _EMPTY, set(), "", b"", bytearray(), range(0), _EMPTY.keys(), _EMPTY.values(), _EMPTY.items())
#: Builtin classes that no module has as an attribute of their printed name.
_HIDDEN_CLASSES: Final[dict[str, type]] = {
    cls.__qualname__: cls
    for cls in (
        *(found for found in vars(types).values() if isinstance(found, type)),
        *map(type, map(iter, _ITERABLES)),
        *map(type, _ITERABLES),
        type(iter("\u0100")),
        type(iter(int, 0)),
        type(reversed(())),
        type(reversed([])),
    )
}


def lookup(name: str, names: Mapping[str, object]) -> object:
    """Return the object with a printed name: from names, then builtins, operator, hovis, numpy and imported modules; MISSING if there is none."""
    if name in names:
        return names[name]
    if name.startswith("(") and name[1:-1] in BY_SYMBOL:
        return BY_SYMBOL[name[1:-1]]
    for scope in (vars(builtins), vars(operator), vars(operations)):
        if name in scope and not name.startswith("_"):
            return scope[name]
    first, *rest = name.split(".")
    if len(rest) > MOST_DOTS:
        return MISSING
    if first in names:
        return _attributes(names[first], rest)
    if first in vars(builtins):
        return _attributes(vars(builtins)[first], rest)
    for cut in range(len(rest) + 1, 0, -1):
        module = sys.modules.get(".".join([first, *rest][:cut]))
        if module is not None:
            return _attributes(module, [first, *rest][cut:])
    if not rest:
        if name in _HIDDEN_CLASSES:
            return _HIDDEN_CLASSES[name]
        return vars(sys.modules["numpy"]).get(name, MISSING) if "numpy" in sys.modules else MISSING
    return MISSING


def _attributes(value: object, path: list[str]) -> object:
    for name in path:
        # the dictionary: getattr on a module may import a submodule
        value = vars(value).get(name, MISSING) if isinstance(value, types.ModuleType) else _attribute(value, name)
    return value


def _attribute(value: object, name: str) -> object:
    try:
        return getattr(value, name, MISSING)
    except Exception:
        return MISSING
