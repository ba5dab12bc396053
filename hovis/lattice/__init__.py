"""F0: what may be known of a value, before anything is known of programs."""

from hovis.lattice.values import (
    ANY,
    BOTTOM,
    AbstractValue,
    Any,
    Array,
    Bottom,
    Const,
    Partial,
    Refined,
    Type,
    Union,
    contains,
    forget,
    join,
    leq,
    of_value,
)

__all__ = [
    "ANY",
    "BOTTOM",
    "AbstractValue",
    "Any",
    "Array",
    "Bottom",
    "Const",
    "Partial",
    "Refined",
    "Type",
    "Union",
    "contains",
    "forget",
    "join",
    "leq",
    "of_value",
]
