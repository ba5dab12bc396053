"""Builtins acting on virtual objects: what can be done on cells is done now, and leaves nothing in the residual.

Each rule answers None where it has nothing to say; the call is then made on the real object.
"""

from hovis.library.virtual.base import VIRTUAL

# Of several rules for one callable those that are imported first are asked first.
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
