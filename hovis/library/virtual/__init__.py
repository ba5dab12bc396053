"""Builtins acting on virtual objects: what can be done on cells is done now, and leaves nothing in the residual.

Each rule answers None where it has nothing to say; the call is then made on the real object.
"""

from hovis.library.virtual import (
    asking,
    attributes,
    comparing,
    copying,
    descriptors,
    dicts,
    dispatching,
    exceptions,
    frames,
    generators,
    heaps,
    hints,
    interpreting,
    members,
    ordering,
    picking,
    sequences,
    sets,
    specials,
    standing,
    stepping,
    subscripts,
    text,
)
from hovis.library.virtual.base import VIRTUAL

__all__ = [
    "VIRTUAL",
    "asking",
    "attributes",
    "comparing",
    "copying",
    "descriptors",
    "dicts",
    "dispatching",
    "exceptions",
    "frames",
    "generators",
    "heaps",
    "hints",
    "interpreting",
    "members",
    "ordering",
    "picking",
    "sequences",
    "sets",
    "specials",
    "standing",
    "stepping",
    "subscripts",
    "text",
]
