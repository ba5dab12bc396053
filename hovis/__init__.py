"""hovis: a partial evaluator for CPython bytecode.

    hovis.trace(pow, hovis.Int, hovis.const(3))     the SSA listing
    hovis.specialize(interpreter, program)          a compiled program
"""

from hovis.api import Options, Report, Trace, evaluate, explain, load, options, return_type, specialize, trace
from hovis.checkpointing import checkpoint
from hovis.custom import custom_jvp, custom_vjp, primitive, stop_gradient
from hovis.derive import grad, hessian, jacfwd, jacrev, jvp, value_and_grad
from hovis.errors import DerivativeError, HovisError, InverseError, ParseError, SpecError, TraceError, TransformError, VerifierError, WriteError
from hovis.hints import boundary, dynamic, static, unroll
from hovis.interpreting import Interpreter
from hovis.inversion import define_inverse, inverse
from hovis.ir import parse
from hovis.jit import jit
from hovis.lattice import Refined
from hovis.libraries import numpy, python
from hovis.library.core import Library, Primitive
from hovis.mapping import vmap
from hovis.pullbacks import linearize, vjp
from hovis.pytree import register_pytree
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

__version__ = "0.1.0"

__all__ = [
    "Any", "Array", "Bool", "Bytes", "Complex", "DerivativeError", "Float", "HovisError", "Instance", "Int", "Interpreter", "InverseError", "Library",
    "NoneType", "OneOf", "Options", "ParseError", "Primitive", "Refined", "Report", "SpecError", "Str", "Trace", "TraceError", "TransformError",
    "VerifierError", "WriteError", "boundary", "checkpoint", "complex128", "complex64", "const", "custom_jvp", "custom_vjp", "define_inverse", "dynamic",
    "evaluate", "explain", "float16", "float32", "float64", "grad", "hessian", "int16", "int32", "int64", "int8", "inverse", "jacfwd", "jacrev", "jit",
    "jvp", "linearize", "load", "numpy", "options", "parse", "primitive", "python", "register_pytree", "return_type", "specialize", "static",
    "stop_gradient", "trace", "uint16", "uint32", "uint64", "uint8", "unroll", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
