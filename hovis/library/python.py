"""Python itself as one Library: what operators, builtins and the standard library's C functions mean."""

from typing import Final

from hovis.library.ahead import AHEAD
from hovis.library.builtins import ATTRIBUTES, BUILTINS
from hovis.library.caching import CACHES
from hovis.library.callables import CALLABLES
from hovis.library.choices import CHOICES
from hovis.library.clocks import CLOCKS
from hovis.library.collecting import COLLECTIONS
from hovis.library.combining import ITERTOOLS
from hovis.library.containers import CONTAINERS
from hovis.library.itemized import ITEMIZED
from hovis.library.iterators import ITERATORS
from hovis.library.math import MATH
from hovis.library.operators import OPERATORS
from hovis.library.patterns import PATTERNS
from hovis.library.reductions import REDUCTIONS
from hovis.library.strings import STRINGS
from hovis.library.wrapping import WRAPPERS

_BUILTIN: Final = ITEMIZED | OPERATORS | BUILTINS | STRINGS | CONTAINERS | MATH | REDUCTIONS | ITERATORS
PYTHON: Final = _BUILTIN | ITERTOOLS | CHOICES | CALLABLES | CACHES | WRAPPERS | COLLECTIONS | PATTERNS | AHEAD | CLOCKS
PYTHON.name = "python"

__all__ = ["ATTRIBUTES", "PYTHON"]
