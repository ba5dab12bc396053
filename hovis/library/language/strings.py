"""Rules for the methods of str and bytes, and for formatting (CPython: Objects/unicodeobject.c, bytesobject.c, Python/formatter_unicode.c)."""

import os
import re
import string
from typing import Any, Final

from hovis.ir import operations
from hovis.lattice import AbstractValue, Const
from hovis.library.core import Library
from hovis.library.language.operators import narrow
from hovis.library.language.signatures.fold_limits import MAX_SIZE, short, small
from hovis.library.language.signatures.signature_language import ANYTHING, Answer, Fold, row, rows
from hovis.library.language.signatures.type_queries import PURE, RAISES, READS, STR, class_of, looking_at, printable, solid

STRINGS: Final = Library("strings")

# ------------------------------------------------------------------------------------------------- constant folding


def _fold_width(text: Any, width: Any = 0, *fill: Any) -> bool:
    return small(text, *fill) and width <= MAX_SIZE


def _fold_tabs(text: Any, tabsize: Any = 8) -> bool:
    return small(text) and len(text) * tabsize <= MAX_SIZE


def _fold_replace(text: Any, old: Any, new: Any, *count: Any, **named: Any) -> bool:
    return small(text, old, new) and (len(text) + 1) * (len(new) + 1) <= MAX_SIZE


def _fold_join(separator: Any, parts: Any) -> bool:
    return small(separator, parts) and hasattr(parts, "__len__") and len(separator) * len(parts) <= MAX_SIZE


def _fold_format(template: Any, *args: Any, **named: Any) -> bool:
    plain = isinstance(template, str) and narrow(template) and not re.search(r"\{[^}]*\{|[:%]\D*n\}", template)
    return plain and short(template, *args, **named)


_FOLDS: Final[dict[str, Fold]] = {
    "center": _fold_width,
    "ljust": _fold_width,
    "rjust": _fold_width,
    "zfill": _fold_width,
    "expandtabs": _fold_tabs,
    "replace": _fold_replace,
    "join": _fold_join,
}

# ------------------------------------------------------------------------------------------------- str

rows(
    STRINGS,
    str,
    """
    capitalize    -> str
    casefold      -> str
    center        index -> str
    center        index str -> str !
    count         str index|none? index|none? -> int
    encode        encoding=codec? errors=onerror? -> bytes !
    endswith      str|tuple index|none? index|none? -> bool !
    expandtabs    tabsize=index? -> str !
    find          str index|none? index|none? -> int
    index         str index|none? index|none? -> int !
    isalnum       -> bool
    isalpha       -> bool
    isascii       -> bool
    isdecimal     -> bool
    isdigit       -> bool
    isidentifier  -> bool
    islower       -> bool
    isnumeric     -> bool
    isprintable   -> bool
    isspace       -> bool
    istitle       -> bool
    isupper       -> bool
    join          str -> str
    join          list|dict|set|dict_keys|dict_values|dict_items -> str !r
    join          tuple|frozenset -> str !
    join          any -> str o
    ljust         index -> str
    ljust         index str -> str !
    lower         -> str
    lstrip        str|none? -> str
    partition     str -> (str,str,str) !
    removeprefix  str -> str
    removesuffix  str -> str
    replace       str str index? -> str
    rfind         str index|none? index|none? -> int
    rindex        str index|none? index|none? -> int !
    rjust         index -> str
    rjust         index str -> str !
    rpartition    str -> (str,str,str) !
    rsplit        sep=str|none? maxsplit=index? -> list !
    rstrip        str|none? -> str
    split         sep=none? maxsplit=index? -> list
    split         sep=str maxsplit=index? -> list !
    splitlines    keepends=bool? -> list
    startswith    str|tuple index|none? index|none? -> bool !
    strip         str|none? -> str
    swapcase      -> str
    title         -> str
    translate     any -> str o
    upper         -> str
    zfill         index -> str
    """,
    _FOLDS,
    receiver="str",
)

# ------------------------------------------------------------------------------------------------- bytes

rows(
    STRINGS,
    bytes,
    """
    capitalize    -> bytes
    center        index bytes? -> bytes !
    count         bytes|int index|none? index|none? -> int !
    decode        encoding=codec? errors=onerror? -> str !
    endswith      bytes|tuple index|none? index|none? -> bool !
    expandtabs    tabsize=index? -> bytes !
    find          bytes|int index|none? index|none? -> int !
    hex           sep=str|bytes? bytes_per_sep=int? -> str !
    index         bytes|int index|none? index|none? -> int !
    isalnum       -> bool
    isalpha       -> bool
    isascii       -> bool
    isdigit       -> bool
    islower       -> bool
    isspace       -> bool
    istitle       -> bool
    isupper       -> bool
    ljust         index bytes? -> bytes !
    lower         -> bytes
    lstrip        bytes|none? -> bytes
    partition     bytes -> (bytes,bytes,bytes) !
    removeprefix  bytes -> bytes
    removesuffix  bytes -> bytes
    replace       bytes bytes index? -> bytes
    rfind         bytes|int index|none? index|none? -> int !
    rindex        bytes|int index|none? index|none? -> int !
    rjust         index bytes? -> bytes !
    rpartition    bytes -> (bytes,bytes,bytes) !
    rsplit        sep=bytes|none? maxsplit=index? -> list !
    rstrip        bytes|none? -> bytes
    split         sep=bytes|none? maxsplit=index? -> list !
    splitlines    keepends=bool? -> list
    startswith    bytes|tuple index|none? index|none? -> bool !
    strip         bytes|none? -> bytes
    swapcase      -> bytes
    title         -> bytes
    upper         -> bytes
    zfill         index -> bytes
    """,
    _FOLDS,
    receiver="bytes",
)

rows(STRINGS, os, "fspath str -> str \n fspath bytes -> bytes")
rows(STRINGS, str, "maketrans dict|str str? str? -> dict !r")
rows(STRINGS, bytes, "maketrans bytes bytes -> bytes ! \n fromhex str -> bytes !")

# ------------------------------------------------------------------------------------------------- formatting

#: Format specifications that are valid for every value of the type, and do not depend on the locale.
_SPECS: Final[dict[type, re.Pattern[str]]] = {
    float: re.compile(r"(?:[^{}]?[<>=^])?[-+ ]?#?0?\d{0,4}[,_]?(?:\.\d{1,3})?[eEfFgG%]?"),
    int: re.compile(r"(?:[^{}]?[<>=^])?[-+ ]?#?0?\d{0,4}_?[bxXo]"),
    bool: re.compile(r"(?:[^{}]?[<>=^])?[-+ ]?#?0?\d{0,4}_?[bxXod]|"),
    str: re.compile(r"(?:[^{}]?[<>^])?\d{0,4}(?:\.\d{1,4})?s?"),
    complex: re.compile(r"(?:[^{}]?[<>^])?[-+ ]?#?(?:[1-9]\d{0,3})?,?(?:\.\d{1,3})?[eEfFgG]?"),
    bytes: re.compile(""),
    type(None): re.compile(""),
}


def formatted(value: AbstractValue, spec: AbstractValue | None = None) -> Answer | None:
    """``format(value, spec)``; it may raise unless spec is known to be valid for the type of value."""
    cls = class_of(value)
    if spec is None:
        spec = Const("")
    if cls not in _SPECS or class_of(spec) is not str:
        effect = looking_at(value) | (PURE if printable(value) else RAISES)
        if solid(value) and spec == Const(""):
            return Answer(STR, effect)
        return Answer(STR, ANYTHING) if cls in (list, tuple, dict, set, frozenset) and spec == Const("") else None
    if not isinstance(spec, Const):
        return Answer(STR, RAISES | READS)
    text = str(spec.value)
    if text.endswith("n"):
        return Answer(STR, RAISES | READS)  # it depends on the locale
    known = _SPECS[cls].fullmatch(text) if text else printable(value)
    return Answer(STR, PURE if known else RAISES)


def fold_formatted(value: Any, spec: Any = "") -> bool:
    """May formatting be folded: no large field widths, and independent of the locale?"""
    return short(value, spec) and narrow(spec) and not spec.endswith("n")


def _format_method(template: AbstractValue, *args: AbstractValue, **named: AbstractValue) -> Answer | None:
    if class_of(template) is not str:
        return None
    if not all(map(solid, (*args, *named.values()))):
        return Answer(STR, ANYTHING) if _has_text(template) else None
    return Answer(STR, RAISES | READS)


def _has_text(template: AbstractValue) -> bool:
    """Does a template contain text besides fields? The result of a single field is that of ``__format__``, which may be of a subclass of str."""
    try:
        return isinstance(template, Const) and any(text for text, *_ in string.Formatter().parse(str(template.value)))
    except ValueError:
        return False


row(STRINGS, str.format, _format_method, _fold_format)
row(STRINGS, format, formatted, fold_formatted)
row(STRINGS, operations.format_value, formatted, fold_formatted)
#: The parts are instances of str, perhaps of a subclass; the result is an exact str.
row(STRINGS, operations.join_strings, lambda *parts: Answer(STR))
