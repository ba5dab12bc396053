"""hovis: a partial evaluator for CPython bytecode.

    hovis.trace(pow, hovis.Int, hovis.const(3))     the SSA listing
    hovis.specialize(interpreter, program)          a compiled program
"""

from hovis.api import Options, Report, Trace, evaluate, explain, load, options, return_type, specialize, trace
from hovis.errors import HovisError, SpecError, TraceError, VerifierError, WriteError
from hovis.hints import boundary, dynamic, static, unroll
from hovis.ir import parse
from hovis.jit import jit
from hovis.library.core import Library, Primitive, primitive
from hovis.specs import (
    Any,
    Array,
    Bool,
    Bytes,
    Complex,
    Float,
    Instance,
    Int,
    NoneType,
    OneOf,
    Str,
    complex64,
    complex128,
    const,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from hovis.transforms import Interpreter

__all__ = [
    "Any", "Array", "Bool", "Bytes", "Complex", "Float", "HovisError", "Instance", "Int", "Interpreter", "Library", "NoneType", "OneOf", "Options",
    "Primitive", "Report", "SpecError", "Str", "Trace", "TraceError", "VerifierError", "WriteError", "boundary", "complex128", "complex64", "const",
    "dynamic", "evaluate", "explain", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "jit", "load", "options", "parse",
    "primitive", "return_type", "specialize", "static", "trace", "uint16", "uint32", "uint64", "uint8", "unroll",
]  # fmt: skip
