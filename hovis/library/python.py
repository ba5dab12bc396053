"""The library of Python itself: rules for operators, builtins and the C functions of the standard library."""

from typing import Final

from hovis.library.language.builtins import ATTRIBUTES, BUILTINS
from hovis.library.language.containers import CONTAINERS
from hovis.library.language.ir_operations import OPERATIONS
from hovis.library.language.item_types import ITEMIZED
from hovis.library.language.iterable_models import REDUCTIONS
from hovis.library.language.math import MATH
from hovis.library.language.operators import OPERATORS
from hovis.library.language.strings import STRINGS
from hovis.library.stdlib.c_functions import C_FUNCTIONS
from hovis.library.stdlib.collections_ import COLLECTIONS
from hovis.library.stdlib.collections_deque import DEQUES
from hovis.library.stdlib.compile_time_calls import AHEAD
from hovis.library.stdlib.functools_caches import CACHES
from hovis.library.stdlib.functools_callables import CALLABLES
from hovis.library.stdlib.iterators import ITERATORS
from hovis.library.stdlib.itertools_.combinatoric import CHOICES
from hovis.library.stdlib.itertools_.infinite import INFINITE
from hovis.library.stdlib.itertools_.terminating import ITERTOOLS
from hovis.library.stdlib.mappings import WRAPPERS
from hovis.library.stdlib.regex import PATTERNS
from hovis.library.stdlib.regex_matches import MATCHES
from hovis.library.stdlib.template_strings import TEMPLATES
from hovis.library.stdlib.time_and_random import CLOCKS

_BUILTIN: Final = ITEMIZED | OPERATORS | BUILTINS | STRINGS | CONTAINERS | OPERATIONS | MATH | REDUCTIONS | ITERATORS
_OBJECTS: Final = TEMPLATES | CALLABLES | CACHES | WRAPPERS | COLLECTIONS | DEQUES | PATTERNS | MATCHES
_LIBRARIES: Final = ITERTOOLS | INFINITE | CHOICES | _OBJECTS | AHEAD | CLOCKS | C_FUNCTIONS
PYTHON: Final = _BUILTIN | _LIBRARIES
PYTHON.name = "python"

__all__ = ["ATTRIBUTES", "PYTHON"]
