"""NumPy scalars as text: it is made by C code, as that of Python's own numbers.

What ``np.set_printoptions(formatter=…)`` has put into the text of arrays may be user code.
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

#: What a scalar is formatted as, by the kind of its dtype.
_AS_PYTHON: Final[dict[str, AbstractValue]] = {"f": Type(float), "i": Type(int), "u": Type(int), "b": Type(bool), "c": Type(complex)}


def _plain(a: AbstractValue) -> AbstractValue:
    """A number of Python in the place of a NumPy scalar."""
    cls = class_of(a)
    return _AS_PYTHON.get(np.dtype(cls).kind, a) if is_scalar(a) and cls is not None else a


def _row(library: Library, fn: Callable[..., Any], effect: Effect = Effect.PURE) -> Primitive:
    """Python's rule, with a number of Python in the place of every NumPy scalar."""
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
    """The text of an array or a scalar; of what is written in it nothing is known."""
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
