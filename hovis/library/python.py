"""Python itself as one Library: what operators, builtins and the standard library's C functions mean."""

from typing import Final

from hovis.library.builtins import ATTRIBUTES, BUILTINS
from hovis.library.containers import CONTAINERS
from hovis.library.core import Library
from hovis.library.iterators import ITERATOR_MODELS, ITERATORS
from hovis.library.math import MATH
from hovis.library.operators import OPERATORS
from hovis.library.strings import STRINGS


def _composed(first: Library, *others: Library) -> Library:
    for other in others:
        first = first | other
    return Library("python", first.primitives, first.models, first.actions)


PYTHON: Final = _composed(OPERATORS, BUILTINS, STRINGS, CONTAINERS, MATH, ITERATORS)

__all__ = ["ATTRIBUTES", "ITERATOR_MODELS", "PYTHON"]
