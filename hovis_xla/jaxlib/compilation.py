"""Compilation of StableHLO modules: compile options, executables, and loading executables from bytes."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hovis.base.once import once
from hovis_xla.jaxlib.adapter import DeviceList, XlaError, client, context, device, ir, programs, sharding, xla_client
from hovis_xla.jaxlib.buffers import Array, Aval, as_numpy, put

#: The shape and dtype of each input or output.
Shapes = Sequence[tuple[tuple[int, ...], Any]]

#: Loops that touch fewer bytes in an iteration become one native function; with the default of 0.10, somewhat larger loops are suddenly
#: much slower (see docs).
NATIVE_LOOP_BYTES: Final = 1 << 24

#: Optimization level of LLVM: lower than XLA's default. This compiles in a tenth less time, to code that is as fast.
LEVEL: Final = 2

#: The pass that hoists loop invariants.
INVARIANTS: Final = "while-loop-invariant-code-motion"
#: The pass that removes values which loops carry unnecessarily.  Both passes are repeated many times, and take a third of a quick compile.
ROUNDS: Final = "simplify-while-loops"

#: For small arrays: emit kernels in the same way as loops that become one native function.  The other emitters of XLA 0.10 make code
#: that is faster for long arrays, and take half as long again to compile; 0.12 does not have this option.
_AS_IN_LOOPS: Final = ("xla_cpu_use_fusion_emitters", False)
#: Operations that XLA leaves to a library of kernels cannot be part of a native loop: leave only matrix products to it, and no sums.
_OWN_SUMS: Final = ("xla_cpu_experimental_ynn_fusion_type", "LIBRARY_FUSION_TYPE_DOT")
#: With ``_TILES`` and ``_OWN_PRODUCTS``, XLA's own matrix products are computed in tiles that stay in registers, like those of a library, if
#: both matrices are in order (``dot_layout``).  ``_TILES`` is set in the same way as the loop threshold, and works with one thread only.
_TILES: Final = b"xla_force_enable_experimental_llvm_ir_gemm"
_OWN_PRODUCTS: Final = (("xla_cpu_experimental_ynn_fusion_type", ""), ("xla_cpu_multi_thread_eigen", False))
#: Number of modules into which the code for LLVM is split, to be compiled by as many threads.  XLA makes up to 32 by default, and starting
#: one takes as long as an unoptimized kernel.  If all is one loop, or a few kernels that compile quickly, fewer modules are ready as soon.
_PARTS: Final = "xla_cpu_parallel_codegen_split_count"
_THREADS: Final = os.cpu_count() or 1
_UNKNOWN: Final = "No such compile option"
#: A name that is not an option of any jaxlib.
_NO_OPTION: Final = "xla_that_nobody_knows"
#: Algebraic simplification after the barriers are removed (``fp_barriers``): with ``_AS_IN_LOOPS`` it would see single operations, which
#: otherwise have been fused into kernels by then.
_LATE_ALGEBRA: Final = "simplification after layout assignment"


def _handler(aval: Aval) -> Any:
    try:
        return xla_client.array_result_handler(aval, sharding(), True, True)
    except TypeError:  # 0.12 has no _skip_checks
        return xla_client.array_result_handler(aval, sharding(), True)


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

    exact   without the optimizations that change rounding
    stays   loop invariants stay in the loops
    small   the arrays are small, so kernels for long arrays are not worth their compile time
    native  its loops may become native code: no sum in them is left to a library
    tiles   no matrix product is left to a library either
    quick   compile in less than half the time, to code that takes several times as long
    """

    exact: bool = False
    stays: bool = False
    small: bool = False
    native: bool = False
    tiles: bool = False
    quick: bool = False


def _form(recipe: Recipe, overrides: Sequence[tuple[str, Any]] = ()) -> tuple[Any, bytes]:
    """Return the compile options and their serialized form: the loop threshold and the tiles can be set only by appending them to that form."""
    options = xla_client.CompileOptions()
    options.num_replicas = 1
    options.num_partitions = 1
    debug = options.executable_build_options.debug_options  # also writes the defaults into the form
    debug.xla_backend_optimization_level = 0 if recipe.exact or recipe.quick else LEVEL
    off = {INVARIANTS: recipe.stays or recipe.quick, ROUNDS: recipe.quick, _LATE_ALGEBRA: _AS_IN_LOOPS in overrides}
    if any(off.values()):
        debug.xla_disable_hlo_passes = ",".join(filter(None, [debug.xla_disable_hlo_passes, *(name for name, is_off in off.items() if is_off)]))
    extra = {b"xla_cpu_small_while_loop_byte_threshold": str(NATIVE_LOOP_BYTES).encode(), **({_TILES: b"true"} if recipe.tiles else {})}
    # CompileOptionsProto.executable_build_options = 3, .debug_options = 3, .xla_backend_extra_options = 500 (a map)
    return options, options.SerializeAsString() + b"".join(_field(3, _field(3, _field(500, _field(1, k) + _field(2, v)))) for k, v in extra.items())


def _options(recipe: Recipe, overrides: Sequence[tuple[str, Any]] = ()) -> Any:
    """Return the compile options for a recipe."""
    options, form = _form(recipe, overrides)
    parsed = options.ParseFromString(form)
    found = parsed if parsed is not None else options
    if overrides:
        found.env_option_overrides = list(overrides)
    return found


class Program:
    """A compiled module.  Called with one array or Python number for each input, it returns one array for each output.

    The caller must ensure that dtypes and shapes are right: XLA itself checks only the number of bytes.
    """

    def __init__(self, loaded: Any, inputs: Shapes, outputs: Shapes, blob: bytes | None = None) -> None:
        self.loaded = loaded
        #: the bytes that it was loaded from, because XLA serializes a loaded program without its machine code
        self._blob = blob
        programs.add(self)
        self._inputs = list(inputs)
        #: the fast way to run it: ``execute(buffers).consume_with_handlers(handlers)`` gives one buffer for each output
        self.execute = loaded.execute_sharded
        self.handlers = [_handler(Aval(*o)) for o in outputs]

    def __call__(self, args: Sequence[object]) -> list[Array]:
        buffers = [put(arg, *i) for i, arg in zip(self._inputs, args, strict=True)]
        return [as_numpy(r) for r in self.execute(buffers).consume_with_handlers(self.handlers)]

    def as_text(self) -> str:
        """The optimized HLO."""
        return str(self.loaded.get_hlo_text())

    def cost_analysis(self) -> dict[str, float]:
        """XLA's own estimate: flops, bytes accessed …"""
        return dict(self.loaded.cost_analysis())

    def memory_analysis(self) -> Any:
        """Sizes of code, arguments, results and temporaries."""
        return self.loaded.get_compiled_memory_stats()

    def serialize(self) -> bytes:
        """Return the machine code, which is valid only for this jaxlib on this kind of CPU."""
        return bytes(self.loaded.serialize() if self._blob is None else self._blob)


def _asked(recipe: Recipe) -> list[tuple[str, Any]]:
    """Return the additional options that a recipe asks for, whether or not this jaxlib knows them."""
    parts = max(1, _THREADS // 2) if recipe.quick else _THREADS
    own = _OWN_PRODUCTS if recipe.tiles else (_OWN_SUMS,) if recipe.native else ()
    return [*([_AS_IN_LOOPS] if recipe.small or recipe.quick else []), *own, *([(_PARTS, parts)] if recipe.small or recipe.quick else [])]


def options_of(recipe: Recipe) -> bytes:
    """Return all options that XLA gets for a recipe, including those read from its flags, as bytes: for this jaxlib, equal options give equal
    bytes.
    """
    asked = _asked(recipe)
    return _form(recipe, asked)[1] + repr(asked).encode()


def compile_module(
    module: Any, inputs: Shapes, outputs: Shapes, callbacks: Sequence[Callable[..., Any]] = (), recipe: Recipe = Recipe()  # it is frozen
) -> Program:
    """Compile a module whose ``main`` has these inputs and outputs."""
    more = {"host_callbacks": list(callbacks)} if callbacks else {}
    options = _options(recipe, [option for option in _asked(recipe) if _can_be_asked(option)])
    return Program(client().compile_and_load(module, executable_devices=_devices(), compile_options=options, **more), inputs, outputs)


def _devices() -> Any:
    return DeviceList((device(),))


@once
def _can_be_asked(option: tuple[str, Any]) -> bool:
    """Does this jaxlib know an option? It checks the option names in order before it compiles, and an option that it cannot know stops it there."""
    with context(), ir.Location.unknown(context()):
        module = ir.Module.parse("func.func @main() { return }")
        module.operation.attributes["sym_name"] = ir.StringAttr.get("options")
    options = _options(Recipe(), [option, (_NO_OPTION, True)])
    try:
        client().compile_and_load(module, executable_devices=_devices(), compile_options=options)
    except XlaError as error:
        if _UNKNOWN not in str(error):
            raise
        return _NO_OPTION in str(error)
    return True


def has_tiles() -> bool:
    """Can this jaxlib be kept from leaving matrix products to a library?"""
    return all(map(_can_be_asked, _OWN_PRODUCTS))


def deserialize(blob: bytes, inputs: Shapes, outputs: Shapes, callbacks: Sequence[Callable[..., Any]], recipe: Recipe) -> Program:
    """Load a Program from the bytes that :meth:`Program.serialize` returned."""
    loaded = client().deserialize_executable(blob, _devices(), _options(Recipe(recipe.exact)), list(callbacks))
    return Program(loaded, inputs, outputs, blob)
