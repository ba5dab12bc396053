"""Libraries to choose from: ``hovis.options(library=mine | hovis.numpy | hovis.python)``."""

import operator
from typing import Final

from hovis.library.core import Library
from hovis.library.numpy import NUMPY
from hovis.library.numpy.models.engine_actions import ACTIONS, METHODS, subscripted
from hovis.library.numpy.models.nditer import WALKS
from hovis.library.numpy.models.traced_functions import ENTERING
from hovis.library.numpy.types.attributes import ABSTRACTIONS, FIXED, array_attributes
from hovis.library.python import PYTHON
from hovis.library.standard import STANDARD
from hovis.library.virtual import VIRTUAL

#: NumPy's functions and arrays; it comes before Python's library, which has the rest.
numpy: Final = WALKS | Library(
    "numpy",
    NUMPY.primitives,
    actions={**ENTERING, **ACTIONS, **{fn: subscripted(fn) for fn in (operator.getitem, operator.setitem)}},
    abstractions=ABSTRACTIONS,
    attributes={**METHODS, **array_attributes()},
    fixed=FIXED,
)
numpy.name = "numpy"

#: Python's own functions and classes, and hovis's own functions.
python: Final = VIRTUAL | PYTHON
python.name = "python"
python.actions.update({fn: act for fn, act in STANDARD.actions.items() if fn not in numpy.actions})
python.attributes.update({key: rule for key, rule in STANDARD.attributes.items() if key not in numpy.attributes})
python.always.update(STANDARD.always)
python.raises.update(STANDARD.raises)
