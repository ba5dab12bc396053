"""Rules for converting NumPy scalars and arrays to text. Scalars are formatted by C code, like Python numbers.

Conversion of arrays to text may run user code: a formatter set by ``np.set_printoptions(formatter=…)``.
"""

import builtins
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Array, Type
from hovis.library.core import Library, Primitive
from hovis.library.language.builtins import BUILTINS
from hovis.library.language.signatures.signature_language import ANYTHING
from hovis.library.language.signatures.type_queries import STR, class_of
from hovis.library.language.strings import STRINGS
from hovis.library.numpy.types.arrays import is_scalar

#: kind of a scalar's dtype -> the type of Python number as which it is formatted.
_AS_PYTHON: Final[dict[str, AbstractValue]] = {"f": Type(float), "i": Type(int), "u": Type(int), "b": Type(bool), "c": Type(complex)}


def _plain(a: AbstractValue) -> AbstractValue:
    """Replace the type of a NumPy scalar by that of the matching Python number."""
    cls = class_of(a)
    return _AS_PYTHON.get(np.dtype(cls).kind, a) if is_scalar(a) and cls is not None else a


def _row(library: Library, fn: Callable[..., Any], effect: Effect = Effect.PURE) -> Primitive:
    """Make a row with Python's rule, in which the type of each NumPy scalar is replaced by that of a Python number."""
    rule = library.primitives[fn]

    def result(*args: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        if not any(map(is_scalar, (*args, *named.values()))):
            return None
        return rule.result(*map(_plain, args), **{k: _plain(v) for k, v in named.items()})

    def effects(*args: AbstractValue, **named: AbstractValue) -> Effect:
        plain = {k: _plain(v) for k, v in named.items()}
        return effect | (rule.effect(*map(_plain, args), **plain) if callable(rule.effect) else rule.effect)

    return Primitive(fn, result, effect=effects, fold=False)


def _text_of_array(a: AbstractValue, spec: AbstractValue | None = None) -> AbstractValue | None:
    """Return the type of the text of an array or a scalar; its content is not known."""
    if is_scalar(a) and spec is None:
        return STR
    return STR if isinstance(a, Array) and a.cls is np.ndarray and spec is None else None


def _effect_of_text(a: AbstractValue, spec: AbstractValue | None = None) -> Effect:
    return Effect.READS if is_scalar(a) else ANYTHING


def _formatted_array(a: AbstractValue, spec: AbstractValue) -> AbstractValue | None:
    rule = _FORMAT.result(a, spec)
    return rule if rule is not None else STR if isinstance(a, Array) and a.cls is np.ndarray else None


_FORMAT: Final = _row(STRINGS, operations.format_value)

ROWS: Final[list[Primitive]] = [
    _row(BUILTINS, builtins.print, Effect.IO | Effect.RAISES),
    _row(STRINGS, builtins.format),
    _row(STRINGS, str.format),
    Primitive(operations.format_value, _formatted_array, lambda a, spec: ANYTHING if isinstance(a, Array) else _FORMAT.effect(a, spec), fold=False),  # type: ignore[operator]
    Primitive(str, _text_of_array, _effect_of_text, fold=False),
    Primitive(repr, _text_of_array, _effect_of_text, fold=False),
]
