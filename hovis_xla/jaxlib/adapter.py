"""The only module that touches jaxlib: its interfaces are private and change between versions.

Written for jaxlib 0.10.2 (Python 3.11) and 0.12 (Python 3.12 and later).  :func:`self_test` compiles and runs one small
program of each kind that the rest of the package relies on; the tests call it, and so may you on a new jaxlib.

jax itself is never imported.  jaxlib would import it in some calls if it were installed; those calls are avoided here:
arrays go in by ``batched_device_put`` and come out by ``memoryview``, which says where they are as well (``unsafe_buffer_pointer`` imports jax).
"""

import ctypes
import gc
import importlib.metadata
import io
import os
import re
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hovis.base.once import forget, once

# before jaxlib is imported: else it writes its greetings to stderr
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import numpy as np
from jaxlib import _jax, xla_client
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, func, mhlo, sdy, stablehlo

__all__ = [
    "DeviceArray", "Program", "XlaError", "attributes_of", "chlo", "compile_module", "context", "func", "ir",
    "self_test", "stablehlo", "use_lapack", "version",
]  # fmt: skip

XlaError: Final = _jax.JaxRuntimeError

#: An array on a device; jax calls it jax.Array.
DeviceArray: Final = _jax.ArrayImpl

#: The dtypes that such an array may have, of NumPy's.
DTYPES: Final = frozenset("?bBhHiIlLqQefdFD")

#: Loops that touch fewer bytes an iteration become one native function; see docs: the default of 0.10 is a cliff.
NATIVE_LOOP_BYTES: Final = 1 << 24

#: How hard LLVM tries: less than XLA asks for by itself, which compiles in a tenth less time, to code that is as fast.
LEVEL: Final = 2

#: The pass that takes out of loops what no round changes.
INVARIANTS: Final = "while-loop-invariant-code-motion"
#: The one that takes out of them what goes round in vain.  Both are done again and again, and take a third of a quick compile.
ROUNDS: Final = "simplify-while-loops"

#: Where arrays are small, kernels are written as loops are that become one native function.  What else XLA 0.10 has for them goes
#: through long arrays quicker, and takes half as long again to compile; of 0.12 it can't be asked.
_AS_IN_LOOPS: Final = ("xla_cpu_use_fusion_emitters", False)
#: What XLA leaves to a library of kernels is no part of a native loop: let it be products of matrices alone, and no sums.
_OWN_SUMS: Final = ("xla_cpu_experimental_ynn_fusion_type", "LIBRARY_FUSION_TYPE_DOT")
#: With that and these, XLA's own products of matrices are made of tiles that stay in registers, as a library's are, where both matrices
#: are in order (``dot_layout``); the first is asked for as the loop threshold is, and of one thread only.
_TILES: Final = b"xla_force_enable_experimental_llvm_ir_gemm"
_OWN_PRODUCTS: Final = (("xla_cpu_experimental_ynn_fusion_type", ""), ("xla_cpu_multi_thread_eigen", False))
#: Into how many modules LLVM's share is cut up, for as many threads.  XLA makes up to 32 of all, and to begin one takes as long as a
#: kernel that is not optimized.  Where it all is one loop, or a few kernels that are compiled quickly, fewer are made as soon.
_PARTS: Final = "xla_cpu_parallel_codegen_split_count"
_THREADS: Final = os.cpu_count() or 1
_UNKNOWN: Final = "No such compile option"
#: No option of any jaxlib.
_NO_OPTION: Final = "xla_that_nobody_knows"
#: Algebra once the barriers are gone (``fp_barriers``): it would see single operations, which otherwise are kernels by then.
_LATE_ALGEBRA: Final = "simplification after layout assignment"

#: Arrays of fewer bytes are copied out of XLA's memory; larger ones keep it alive.
COPY_BELOW: Final = 1 << 16

#: What XLA wants of the address of an array, to use it as it is.
ALIGNMENT: Final = 64

Array = np.ndarray[Any, Any]


def version() -> str:
    """The version of jaxlib."""
    return importlib.metadata.version("jaxlib")


# ------------------------------------------------------------------------------------------------- MLIR


class _Context(ir.Context):  # type: ignore[misc]
    """jaxlib's own subclass loads every dialect there is; this one does not."""

    def __init__(self) -> None:
        super(ir.Context, self).__init__()


@once
def _thread_pool() -> Any:
    """One for all contexts.  A context does not keep it alive."""
    return ir.ThreadPool()


@once
def context() -> Any:
    """The MLIR context of this process."""
    _refuse_after_fork()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made = _Context()
    made.append_dialect_registry(registry)
    made.load_all_available_dialects()
    made.set_thread_pool(_thread_pool())
    sdy.register_dialect(made)
    mhlo.register_mhlo_dialect(made)
    chlo.register_dialect(made)
    stablehlo.register_dialect(made)
    return made


def attributes_of(op: Any) -> dict[str, Any]:
    """The attributes of an operation, by name."""
    named = [op.attributes[k] for k in range(len(op.attributes))]
    return {found.name: found.attr for found in named}


def text_of(module: Any, locations: bool = False) -> str:
    """StableHLO as text."""
    out = io.StringIO()
    module.operation.print(file=out, enable_debug_info=locations)
    return out.getvalue()


# ------------------------------------------------------------------------------------------------- client


#: Has this process begun to make a client?
_used = False
#: Was it forked from one that had?
_left_behind = False

AFTER_FORK: Final = (
    'XLA does not survive a fork, and this process was forked from one that had used it. It can use XLA if it is started by "spawn" or "forkserver" '
    "(multiprocessing.set_start_method, mp_context=), or if it is forked before the first call."
)


def is_left_behind() -> bool:
    """Is there no XLA in this process, because it was forked from one that had used it?  Its threads are not here, so that any call might wait forever."""
    return _left_behind


def _refuse_after_fork() -> None:
    if _left_behind:
        raise XlaError(AFTER_FORK)


def _leave_behind() -> None:
    """In the child of a fork: nothing of XLA's is ever used again, nor ended, for that might wait for a thread as well."""
    global _left_behind
    if not _used or _left_behind:
        return
    _left_behind = True
    gc.callbacks.remove(_after_garbage)
    for held in (*forget(client, _device, _sharding, context, _thread_pool), *(program._loaded for program in list(_programs))):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_behind)


@once
def client() -> Any:
    """The CPU client.  A synchronous one: small calls are four times faster."""
    global _used
    _refuse_after_fork()
    _used = True
    return xla_client.make_cpu_client(asynchronous=False)


@once
def _device() -> Any:
    return client().devices()[0]


class _Sharding(xla_client.SingleDeviceSharding):  # type: ignore[misc]
    """jaxlib 0.10 asks a sharding for these two attributes."""

    memory_kind = None

    def _to_xla_hlo_sharding(self, rank: int) -> Any:
        return xla_client.HloSharding.replicate()


@once
def _sharding() -> Any:
    return _Sharding(_device())


class _Aval:
    """What jaxlib reads of an abstract value: shape and dtype."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.weak_type = False


def _handler(aval: _Aval) -> Any:
    try:
        return xla_client.array_result_handler(aval, _sharding(), True, True)
    except TypeError:  # 0.12 has no _skip_checks
        return xla_client.array_result_handler(aval, _sharding(), True)


def _varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def _field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a module is compiled.

    exact   without the optimizations that change roundings
    stays   what no round of a loop changes stays in it
    small   arrays are, so the kernels for long ones are not worth their compile
    native  its loops may become native code: no sum in them is left to a library
    tiles   nor is a product of matrices
    quick   in less than half the time, to code that takes several times as long
    """

    exact: bool = False
    stays: bool = False
    small: bool = False
    native: bool = False
    tiles: bool = False
    quick: bool = False


def _form(recipe: Recipe, overrides: Sequence[tuple[str, Any]] = ()) -> tuple[Any, bytes]:
    """Compile options, and their serialized form: the loop threshold and the tiles can be set only by appending them to that."""
    exact, stays, as_in_loops, quick = recipe.exact, recipe.stays, _AS_IN_LOOPS in overrides, recipe.quick
    options = xla_client.CompileOptions()
    options.num_replicas = 1
    options.num_partitions = 1
    debug = options.executable_build_options.debug_options  # also writes the defaults into the form
    debug.xla_backend_optimization_level = 0 if exact or quick else LEVEL
    off = [debug.xla_disable_hlo_passes, INVARIANTS if stays or quick else "", ROUNDS if quick else "", _LATE_ALGEBRA if as_in_loops else ""]
    if any(off[1:]):
        debug.xla_disable_hlo_passes = ",".join(filter(None, off))
    extra = {b"xla_cpu_small_while_loop_byte_threshold": str(NATIVE_LOOP_BYTES).encode(), **({_TILES: b"true"} if recipe.tiles else {})}
    # CompileOptionsProto.executable_build_options = 3, .debug_options = 3, .xla_backend_extra_options = 500 (a map)
    return options, options.SerializeAsString() + b"".join(_field(3, _field(3, _field(500, _field(1, k) + _field(2, v)))) for k, v in extra.items())


def _options(recipe: Recipe, overrides: Sequence[tuple[str, Any]] = ()) -> Any:
    """Compile options."""
    options, form = _form(recipe, overrides)
    parsed = options.ParseFromString(form)
    found = parsed if parsed is not None else options
    if overrides:
        found.env_option_overrides = list(overrides)
    return found


class _Memory:
    """XLA's memory as NumPy asks for it; it lives as long as an array that stands on it."""

    __slots__ = ("__array_interface__", "_buffer")

    def __init__(self, buffer: Any, view: Array) -> None:
        self._buffer = buffer
        self.__array_interface__ = {"version": 3, "shape": view.shape, "typestr": view.dtype.str, "data": (view.ctypes.data, False)}


def as_numpy(buffer: Any) -> Array:
    """A buffer as an array of the caller's own: writable, sharing no memory with anything else."""
    view = np.asarray(memoryview(buffer))
    if view.nbytes < COPY_BELOW:
        return view.copy()
    return np.asarray(_Memory(buffer, view))


def device_array(array: Array, alone: bool) -> Any:
    """An array of jaxlib's with what is in one of NumPy's: the same memory if nobody else has it (``alone``), else a copy.

    Where jax has been imported, it is an array of jax.
    """
    base: Any = array.base
    buffer = base._buffer if alone and type(base) is _Memory else None
    if buffer is None or (buffer.aval.shape, buffer.aval.dtype) != (array.shape, array.dtype) or not array.flags.c_contiguous:
        own = array if alone and base is None else array.copy("C")
        buffer = put(own, own.shape, own.dtype)
    jax: Any = sys.modules.get("jax")
    return jax.dlpack.from_dlpack(buffer) if hasattr(jax, "dlpack") else buffer


def put(array: object, shape: tuple[int, ...], dtype: Any) -> Any:
    """A buffer with what is in an array: its very memory if that is aligned and in C order, else a copy."""
    return xla_client.batched_device_put(_Aval(shape, dtype), _sharding(), [array], [_device()], True, enable_x64=True)


#: Buffers that are gone keep the arrays that they stood on until this is called: after a call, and when Python collects garbage.
let_go: Final[Callable[[], None]] = _jax.collect_garbage


def _after_garbage(phase: str, _: object) -> None:
    if phase == "stop":
        let_go()


gc.callbacks.append(_after_garbage)


def pinned(shape: tuple[int, ...], dtype: Any) -> tuple[Array, Any]:
    """An array, and a buffer that is the same memory: what is written into the array XLA reads at its next run."""
    array = aligned(shape, np.dtype(dtype))
    buffer = put(array, shape, dtype)
    if array.nbytes and np.asarray(memoryview(buffer)).ctypes.data != array.ctypes.data:
        raise XlaError("this jaxlib copies aligned arrays on their way in")
    return array, buffer


def aligned(shape: tuple[int, ...], dtype: Any) -> Array:
    """A new array whose memory XLA can use as it is."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    found: Array = raw[start : start + size].view(dtype).reshape(shape)
    return found


class Program:
    """A compiled module.  Called with one array or Python number for each input, it returns one array for each output.

    The caller has to see to dtypes and shapes: XLA itself looks at the number of bytes only.
    """

    def __init__(self, loaded: Any, inputs: Sequence[tuple[tuple[int, ...], Any]], outputs: Sequence[tuple[tuple[int, ...], Any]]) -> None:
        self._loaded = loaded
        _programs.add(self)
        self._inputs = list(inputs)
        #: the quick way in: ``execute(buffers).consume_with_handlers(handlers)`` gives one buffer for each output
        self.execute = loaded.execute_sharded
        self.handlers = [_handler(_Aval(*o)) for o in outputs]

    def __call__(self, args: Sequence[object]) -> list[Array]:
        buffers = [put(arg, *i) for i, arg in zip(self._inputs, args, strict=True)]
        return [as_numpy(r) for r in self.execute(buffers).consume_with_handlers(self.handlers)]

    def as_text(self) -> str:
        """The optimized HLO."""
        text: str = self._loaded.get_hlo_text()
        return text

    def cost_analysis(self) -> dict[str, float]:
        """XLA's own estimate: flops, bytes accessed …"""
        return dict(self._loaded.cost_analysis())

    def memory_analysis(self) -> Any:
        """Sizes of code, arguments, results and temporaries."""
        return self._loaded.get_compiled_memory_stats()

    def serialize(self) -> bytes:
        """The machine code; good for this jaxlib on this kind of CPU only."""
        blob: bytes = self._loaded.serialize()
        return blob


def _asked(recipe: Recipe) -> list[tuple[str, Any]]:
    """The options besides that a recipe asks for, whether this jaxlib knows them or not."""
    parts = max(1, _THREADS // 2) if recipe.quick else _THREADS
    own = _OWN_PRODUCTS if recipe.tiles else (_OWN_SUMS,) if recipe.native else ()
    return [*([_AS_IN_LOOPS] if recipe.small or recipe.quick else []), *own, *([(_PARTS, parts)] if recipe.small or recipe.quick else [])]


def options_of(recipe: Recipe) -> bytes:
    """All that XLA is told of how to compile, what it has read of its flags included: for this jaxlib, equal if that is."""
    asked = _asked(recipe)
    return _form(recipe, asked)[1] + repr(asked).encode()


_programs: Final[weakref.WeakSet[Program]] = weakref.WeakSet()


def compile_module(
    module: Any,
    inputs: Sequence[tuple[tuple[int, ...], Any]],
    outputs: Sequence[tuple[tuple[int, ...], Any]],
    callbacks: Sequence[Callable[..., Any]] = (),
    recipe: Recipe = Recipe(),  # it is frozen
) -> Program:
    """Compile a module whose ``main`` has these inputs and outputs (shape and dtype of each)."""
    devices = _jax.DeviceList((_device(),))
    more = {"host_callbacks": list(callbacks)} if callbacks else {}
    options = _options(recipe, [option for option in _asked(recipe) if _can_be_asked(option)])
    loaded = client().compile_and_load(module, executable_devices=devices, compile_options=options, **more)
    return Program(loaded, inputs, outputs)


@once
def _can_be_asked(option: tuple[str, Any]) -> bool:
    """Does this jaxlib know an option?  It looks at their names, in order, before it compiles; one that it can't know keeps it from that."""
    with context(), ir.Location.unknown(context()):
        module = ir.Module.parse("func.func @main() { return }")
        module.operation.attributes["sym_name"] = ir.StringAttr.get("options")
    options = _options(Recipe(), [option, (_NO_OPTION, True)])
    try:
        client().compile_and_load(module, executable_devices=_jax.DeviceList((_device(),)), compile_options=options)
    except XlaError as error:
        if _UNKNOWN not in str(error):
            raise
        return _NO_OPTION in str(error)
    return True


def has_tiles() -> bool:
    """Can this jaxlib be kept from leaving products of matrices to a library?"""
    return all(map(_can_be_asked, _OWN_PRODUCTS))


def deserialize(blob: bytes, inputs: Any, outputs: Any, callbacks: Sequence[Callable[..., Any]], recipe: Recipe) -> Program:
    """The Program of :meth:`Program.serialize`."""
    devices = _jax.DeviceList((_device(),))
    loaded = client().deserialize_executable(blob, devices, _options(Recipe(recipe.exact)), list(callbacks))
    return Program(loaded, inputs, outputs)


#: The custom call that runs a Python callable; its attribute ``index`` picks one of ``callbacks``.
CALLBACK_TARGET: Final = "xla_ffi_python_cpu_callback"


@once
def use_lapack() -> None:
    """Make the LAPACK routines known to XLA (this imports scipy)."""
    from jaxlib import lapack  # noqa: PLC0415  # scipy is imported only where linear algebra is used

    lapack._lapack.initialize()
    for name, capsule, api in lapack.registrations()["cpu"]:
        xla_client.register_custom_call_target(name, capsule, platform="cpu", api_version=api)


# ------------------------------------------------------------------------------------------------- self-test

_LOOP = """
func.func @main(%a: tensor<100000xi64>, %n: tensor<i64>) -> tensor<100000xi64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i64>, tensor<100000xi64>
  cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i64>
    %u = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<100000xi64>, tensor<i64>) -> tensor<1xi64>
    %v = stablehlo.dynamic_slice %x, %j, sizes = [1] : (tensor<100000xi64>, tensor<i64>) -> tensor<1xi64>
    %b:2 = func.call @bar(%u, %v) {mhlo.frontend_attributes = {inlineable = "false"}} : (tensor<1xi64>, tensor<1xi64>) -> (tensor<1xi64>, tensor<1xi64>)
    %y = stablehlo.dynamic_update_slice %x, %b#1, %i : (tensor<100000xi64>, tensor<1xi64>, tensor<i64>) -> tensor<100000xi64>
    %z = stablehlo.dynamic_update_slice %y, %b#0, %j : (tensor<100000xi64>, tensor<1xi64>, tensor<i64>) -> tensor<100000xi64>
    stablehlo.return %j, %z : tensor<i64>, tensor<100000xi64>
  }
  return %r#1 : tensor<100000xi64>
}
func.func private @bar(%a: tensor<1xi64>, %b: tensor<1xi64>) -> (tensor<1xi64>, tensor<1xi64>) { return %a, %b : tensor<1xi64>, tensor<1xi64> }
"""


#: A round touches more bytes than 0.10 takes for a small loop, and fewer than our threshold.
_WIDE_LOOP = """
func.func @main(%a: tensor<4000xf64>, %n: tensor<i64>) -> tensor<4000xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i64>, tensor<4000xf64>
  cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i64>
    %y = stablehlo.add %x, %a : tensor<4000xf64>
    stablehlo.return %j, %y : tensor<i64>, tensor<4000xf64>
  }
  return %r#1 : tensor<4000xf64>
}
"""


def _is_native(text: str) -> bool:
    with context(), ir.Location.unknown(context()):
        module = ir.Module.parse(text)
        module.operation.attributes["sym_name"] = ir.StringAttr.get("self_test_wide")
    shape = ((4000,), np.float64)
    return "xla_cpu_small_call" in compile_module(module, [shape, ((), np.int64)], [shape]).as_text()


def self_test() -> dict[str, bool]:
    """What this jaxlib does as the package expects: each entry has to be True.

    On a jaxlib that fails the last three, loops are slow and right; the others are about results (``jaxlib_checks``).
    """
    with context(), ir.Location.unknown(context()):
        module = ir.Module.parse(_LOOP)
        module.operation.attributes["sym_name"] = ir.StringAttr.get("self_test")
    shape = ((100000,), np.int64)
    program = compile_module(module, [shape, ((), np.int64)], [shape])
    source = np.arange(100000)
    (result,) = program([source, 99999])
    array, buffer = pinned((2,), np.float64)
    array[:] = 1.0, 2.0
    copies = re.findall(r"= s64\[100000\]\S* copy\(", program.as_text())
    return {
        "runs": bool((result == np.roll(source, -1)).all()),
        "results are writable": bool(result.flags.writeable),
        "inputs are left alone": bool((source == np.arange(100000)).all()),
        "aligned arrays are not copied": np.array(buffer).tolist() == [1.0, 2.0],
        "a loop becomes one native function": "xla_cpu_small_call" in program.as_text(),
        "the threshold for that can be set": _is_native(_WIDE_LOOP),
        "a barrier keeps stores in place": len(copies) <= 1 and 'inlineable="false"' in program.as_text(),
    }
