"""F1: the IR, its builder, its text form, and its verifier."""

from hovis.ir.builder import Builder
from hovis.ir.model import (
    CAUGHT,
    LASTING,
    MARKED,
    Block,
    Branch,
    Caught,
    Edge,
    Effect,
    Function,
    Invoke,
    Jump,
    Location,
    Op,
    Operand,
    Param,
    Raise,
    Return,
    Terminator,
    Value,
    callees,
    edges,
)
from hovis.ir.parser import parse
from hovis.ir.printer import Given, names_of, show
from hovis.ir.verifier import verify

Function.__str__ = show  # type: ignore[method-assign, assignment]
Function.__repr__ = show  # type: ignore[method-assign, assignment]

__all__ = [
    "CAUGHT",
    "LASTING",
    "MARKED",
    "Block",
    "Branch",
    "Builder",
    "Caught",
    "Edge",
    "Effect",
    "Function",
    "Given",
    "Invoke",
    "Jump",
    "Location",
    "Op",
    "Operand",
    "Param",
    "Raise",
    "Return",
    "Terminator",
    "Value",
    "callees",
    "edges",
    "names_of",
    "parse",
    "show",
    "verify",
]
