"""MLIR and the client of jaxlib, whose interfaces are private and change between versions.

Written for jaxlib 0.10.2 (Python 3.11) and 0.12 (Python 3.12 and later).  This module holds the MLIR context and the client;
``buffers`` transfers arrays, ``compilation`` compiles modules, and ``self_test`` checks whether a new jaxlib behaves as expected.

jax itself is never imported.
"""

import ctypes
import gc
import importlib.metadata
import os
import weakref
from collections.abc import Callable
from typing import Any, Final

from hovis.base.once import forget, once

# set before jaxlib is imported, which otherwise writes messages to stderr
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from jaxlib import _jax, xla_client
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, func, mhlo, sdy, stablehlo

__all__ = ["DeviceArray", "DeviceList", "XlaError", "attributes_of", "chlo", "context", "func", "ir", "stablehlo", "use_lapack", "version", "xla_client"]

XlaError: Final = _jax.JaxRuntimeError

#: An array on a device; jax calls it jax.Array.
DeviceArray: Final = _jax.ArrayImpl
DeviceList: Final = _jax.DeviceList


def version() -> str:
    """The version of jaxlib."""
    return importlib.metadata.version("jaxlib")


# ------------------------------------------------------------------------------------------------- MLIR


class _Context(ir.Context):  # type: ignore[misc]
    """An MLIR context that, unlike the subclass of jaxlib, does not load every dialect there is."""

    def __init__(self) -> None:
        super(ir.Context, self).__init__()


@once
def _thread_pool() -> Any:
    """Return the thread pool of all contexts. A context does not keep it alive."""
    return ir.ThreadPool()


@once
def context() -> Any:
    """Return the MLIR context of this process."""
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
    return dict(op.attributes.items())


def text_of(module: Any, locations: bool = False) -> str:
    """Return a module as StableHLO text."""
    return str(module.operation.get_asm(enable_debug_info=locations))


# ------------------------------------------------------------------------------------------------- client


#: Has this process begun to create a client?
_used = False
#: Was it forked from one that had?
_left_behind = False

AFTER_FORK: Final = (
    'XLA does not survive a fork, and this process was forked from one that had used it. It can use XLA if it is started by "spawn" or "forkserver" '
    "(multiprocessing.set_start_method, mp_context=), or if it is forked before the first call."
)


def is_left_behind() -> bool:
    """Was this process forked from one that had used XLA? It has none of XLA's threads, and any call of XLA might wait forever."""
    return _left_behind


def _refuse_after_fork() -> None:
    if _left_behind:
        raise XlaError(AFTER_FORK)


def _leave_behind() -> None:
    """In the child of a fork: never use XLA's objects again, and keep them alive forever, because their finalizers might wait for a thread as
    well.
    """
    global _left_behind
    if not _used or _left_behind:
        return
    _left_behind = True
    gc.callbacks.remove(_after_garbage)
    for held in (*forget(client, device, sharding, context, _thread_pool), *(program.loaded for program in list(programs))):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_behind)


#: The programs that have been loaded (``compilation.Program``).
programs: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


@once
def client() -> Any:
    """Return the CPU client. It is synchronous, which makes small calls four times faster."""
    global _used
    _refuse_after_fork()
    _used = True
    return xla_client.make_cpu_client(asynchronous=False)


@once
def device() -> Any:
    return client().devices()[0]


class _Sharding(xla_client.SingleDeviceSharding):  # type: ignore[misc]
    """A sharding with the two attributes that jaxlib 0.10 reads."""

    memory_kind = None

    def _to_xla_hlo_sharding(self, rank: int) -> Any:
        return xla_client.HloSharding.replicate()


@once
def sharding() -> Any:
    return _Sharding(device())


#: Release the arrays whose memory deleted buffers have used, and which are kept alive until then: after a call, and when Python collects garbage.
let_go: Final[Callable[[], None]] = _jax.collect_garbage


def _after_garbage(phase: str, _: object) -> None:
    if phase == "stop":
        let_go()


gc.callbacks.append(_after_garbage)


#: The custom call that runs a Python callable; its attribute ``index`` picks one of ``callbacks``.
CALLBACK_TARGET: Final = "xla_ffi_python_cpu_callback"


@once
def use_lapack() -> None:
    """Register the LAPACK routines with XLA (this imports scipy)."""
    from jaxlib import lapack  # noqa: PLC0415  # scipy is imported only where linear algebra is used

    lapack._lapack.initialize()
    for name, capsule, api in lapack.registrations()["cpu"]:
        xla_client.register_custom_call_target(name, capsule, platform="cpu", api_version=api)
