"""hovis: a partial evaluator for CPython bytecode.

    hovis.trace(pow, hovis.Int, hovis.const(3))     the SSA listing
    hovis.specialize(interpreter, program)          a compiled program
"""

from hovis.arguments.specs import (
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
from hovis.base.hints import boundary, dynamic, static, unroll
from hovis.base.pytree import register_pytree
from hovis.errors import DerivativeError, HovisError, InverseError, ParseError, SpecError, TraceError, TransformError, VerifierError, WriteError
from hovis.front.custom_rules import custom_jvp, custom_vjp, stop_gradient
from hovis.front.jit import jit
from hovis.front.kernels.primitives import primitive
from hovis.front.libraries import numpy, python
from hovis.front.tracing import Options, Report, Trace, evaluate, explain, load, options, return_type, specialize, trace
from hovis.functional.checkpoint import checkpoint
from hovis.functional.grad import grad, hessian, jacfwd, jacrev, jvp, value_and_grad
from hovis.functional.interpreter import Interpreter
from hovis.functional.inverse import define_inverse, inverse
from hovis.functional.vjp import linearize, vjp
from hovis.functional.vmap import vmap
from hovis.ir import parse
from hovis.lattice import Refined
from hovis.library.core import Library, Primitive

__version__ = "0.1.0"

__all__ = [
    "Any", "Array", "Bool", "Bytes", "Complex", "DerivativeError", "Float", "HovisError", "Instance", "Int", "Interpreter", "InverseError", "Library",
    "NoneType", "OneOf", "Options", "ParseError", "Primitive", "Refined", "Report", "SpecError", "Str", "Trace", "TraceError", "TransformError",
    "VerifierError", "WriteError", "boundary", "checkpoint", "complex128", "complex64", "const", "custom_jvp", "custom_vjp", "define_inverse", "dynamic",
    "evaluate", "explain", "float16", "float32", "float64", "grad", "hessian", "int16", "int32", "int64", "int8", "inverse", "jacfwd", "jacrev", "jit",
    "jvp", "linearize", "load", "numpy", "options", "parse", "primitive", "python", "register_pytree", "return_type", "specialize", "static",
    "stop_gradient", "trace", "uint16", "uint32", "uint64", "uint8", "unroll", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
