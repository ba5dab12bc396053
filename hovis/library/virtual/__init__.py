"""Actions of builtins on virtual objects: whatever is possible on their cells is executed while tracing, and leaves nothing in the residual.

A rule that does not apply returns None; the call is then made on the real object.
"""

from hovis.library.virtual.base import VIRTUAL

# If there are several rules for a callable, the one that is imported first is tried first.
# isort: off
from hovis.library.virtual import adopted
from hovis.library.virtual.objects import queries, attributes
from hovis.library.virtual.containers import comparing, deepcopy
from hovis.library.virtual.objects import descriptors
from hovis.library.virtual.containers import dicts
from hovis.library.virtual.objects import singledispatch_, exceptions
from hovis.library.virtual import frame_inspection
from hovis.library.virtual.objects import generators
from hovis.library.virtual.containers import unknown_length_lists, heapq_
from hovis.library.virtual import hints, interpreter
from hovis.library.virtual.objects import enum_text
from hovis.library.virtual.containers import sorting, table_lookup, sequences, sets
from hovis.library.virtual.objects import special_methods
from hovis.library.virtual import standins
from hovis.library.virtual.containers import iteration, subscripts
from hovis.library.virtual.objects import text
from hovis.library.virtual import pytrees
# isort: on

__all__ = [
    "VIRTUAL", "adopted", "attributes", "comparing", "deepcopy", "descriptors", "dicts", "enum_text", "exceptions", "frame_inspection", "generators",
    "heapq_", "hints", "interpreter", "iteration", "pytrees", "queries", "sequences", "sets", "singledispatch_", "sorting", "special_methods",
    "standins", "subscripts", "table_lookup", "text", "unknown_length_lists",
]
