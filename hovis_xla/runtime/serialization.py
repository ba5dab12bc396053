"""Serialization of executables: a header of JSON, then the machine code as XLA gives it.

    magic, digest of the rest, header (one line), code

Nothing is unpickled and nothing is imported by name: a header holds numbers, strings, tuples, shapes, arrays, and the names of functions of NumPy
and of a few builtins; the results of a stored executable hold nothing else besides what it computes.  The digest detects damage, not malice: the
machine code is executed, therefore load only files that you would execute.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Final

import numpy as np

from hovis.base.once import once
from hovis.errors import HovisError
from hovis.ir import model, operations
from hovis.lattice import Const
from hovis_xla.abi import scalar_packing
from hovis_xla.abi.host_callbacks import HostCall
from hovis_xla.abi.ordered_effects import Act
from hovis_xla.abi.signature import Lowered, Template
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import Location, Place
from hovis_xla.emit.values import ARRAY, EITHER, PYTHON, SCALAR, Known, Num
from hovis_xla.emit.view_steps import Box, Diagonal, Part, Reshaped, Windows
from hovis_xla.jaxlib import adapter, compilation
from hovis_xla.jaxlib.disk_cache import circumstances
from hovis_xla.runtime.executable import Executable

MAGIC: Final = b"hovis_xla 5\n"
_START: Final = len(MAGIC) + hashlib.sha256().digest_size

_NUMBERS: Final = (PYTHON, SCALAR, ARRAY, EITHER)

#: The classes whose instances a header may hold, with the attributes that are stored.
_RECORDS: Final[dict[type, tuple[str, ...]]] = {
    **{cls: tuple(f.name for f in fields(cls)) for cls in (Num, Known, Template, Place, Box, Reshaped, Part, Diagonal, Windows)},
    Const: ("value",),
    T: T._fields,
    HostCall: ("fn", "args", "names", "nums", "tree", "results"),
    Act: ("fn", "args", "names", "nums", "result"),
}
_CLASSES: Final = {cls.__name__: cls for cls in _RECORDS}

#: The attributes of a Lowered that are stored, besides its constants.
_STORED: Final = ("inputs", "outputs", "templates", "starts", "bail", "choice", "callbacks", "written", "contiguous", "into", "apart")

#: Callables that may stand in a stored result or in a call on the host, besides the functions of NumPy.
_BUILDERS: Final[tuple[Callable[..., Any], ...]] = (
    operations.make_tuple, operations.make_list, operations.make_dict, operations.make_set, slice, tuple, list, dict, print,
)  # fmt: skip


class StorageError(HovisError, ValueError):
    """Bytes that are no executable of this machine, or an executable that can't be stored.

    >>> from hovis_xla import load
    >>> try: load(b"nothing of the kind")
    ... except StorageError as error: print(type(error).__name__)
    StorageError
    """


# ------------------------------------------------------------------------------------------------- values


@once
def _functions() -> dict[str, Callable[..., Any]]:
    """Return the callables that a header may name."""
    rooms: dict[str, Any] = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft, "numpy.ndarray": np.ndarray, "numpy.generic": np.generic}
    found = {f"{room}.{name}": fn for room, owner in rooms.items() for name, fn in vars(owner).items() if callable(fn) and not isinstance(fn, type)}
    return found | {fn.__name__: fn for fn in _BUILDERS}


def encode(value: Any, constants: Sequence[np.ndarray[Any, Any]] | None = None) -> Any:
    """Encode a value as JSON; :func:`decode` gives a value of the same type and bits. Of ``constants``, the number is stored; None: it is a known
    value, which may be no list, because a copy of a list is another object.
    """
    cls = type(value)
    if value is None or cls in (bool, str) or (cls is int and value.bit_length() <= 512):
        return value
    if cls is tuple or (cls is list and constants is not None):
        return [cls.__name__, *(encode(part, constants) for part in value)]
    if cls in _RECORDS:
        return [cls.__name__, *(encode(getattr(value, name), None if cls is Const else constants) for name in _RECORDS[cls])]
    if isinstance(value, Location | model.Location | adapter.ir.Value):
        return None  # only the lowering needs it
    if cls is bytes:
        return ["bytes", base64.b64encode(value).decode()]
    if cls in (float, complex):
        return ["number", *_content(np.asarray(value))]
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return ["scalar", *_content(np.asarray(value))]
    if isinstance(value, np.dtype) and value.kind in "biufc":
        return ["dtype", value.str]
    named = [("constant", enumerate(constants or ())), ("function", _functions().items())]
    found = next(([kind, name] for kind, known in named for name, one in known if one is value), None)
    if found is None:
        raise StorageError(f"the executable can't be stored: it holds {value!r}, which is no number, string, tuple or function of NumPy")
    return found


def decode(form: Any, constants: Sequence[np.ndarray[Any, Any]] = ()) -> Any:
    """Decode a value that :func:`encode` has encoded."""
    if not isinstance(form, list):
        return form
    match form:
        case ["bytes", data]:
            return base64.b64decode(data)
        case ["number", *content]:
            return _array(*content).item()
        case ["scalar", *content]:
            return _array(*content)[()]
        case ["dtype", name]:
            return _dtype(name)
        case ["constant", number]:
            return constants[number]
        case ["function", name]:
            return _functions()[name]
        case ["list", *parts]:
            return [decode(part, constants) for part in parts]
        case ["tuple", *parts]:
            return tuple([decode(part, constants) for part in parts])
    cls = _CLASSES[form[0]]
    made = cls(**dict(zip(_RECORDS[cls], [decode(part, constants) for part in form[1:]], strict=True)))
    if isinstance(made, Num) and not (made.kind in _NUMBERS and all(type(size) is int and size >= 0 for size in made.shape)):
        raise ValueError(made)
    return made


def _content(array: np.ndarray[Any, Any]) -> list[Any]:
    return [array.dtype.str, list(array.shape), base64.b64encode(array.tobytes()).decode()]


def _array(dtype: str, shape: list[int], data: str) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(data), _dtype(dtype)).reshape(shape).copy()


def _dtype(name: str) -> "np.dtype[Any]":
    """Return a dtype of numbers, by its name: an executable holds no others."""
    made = np.dtype(name)
    if type(name) is not str or made.kind not in "biufc":
        raise ValueError(name)
    return made


def _plan(plan: Any) -> Any:
    """Return a plan (``argument_plan``) as it is stored; ValueError if it takes instances apart. Loaded executables test only numbers."""
    match plan:
        case ["value", Const()]:
            return plan
        case ["leaf", (int() | None) as place, test] if not isinstance(test, frozenset):
            return ["leaf", place, test if isinstance(test, Num) else None]
        case ["container", cls, list(keys), list(parts)] if cls in (list, tuple, dict):
            return ["container", cls, keys, list(map(_plan, parts))]
    raise ValueError(plan)


# ------------------------------------------------------------------------------------------------- whole executables


def dump(executable: Executable, arguments: list[tuple[str, Any]]) -> bytes:
    """Serialize an executable, with the name and the plan (``argument_plan``) of each of its arguments."""
    executable = executable.general
    program, low = executable.program, executable.lowered
    if low.record is not None and low.bail is not None:
        raise StorageError("the executable can't be stored: it prints, and Python may have to repeat a call that has printed")
    if low.variables:
        raise StorageError("the executable can't be stored: it stores into variables that outlive the call")
    try:
        plans = [(name, _plan(plan)) for name, plan in arguments]
    except ValueError:
        raise StorageError("the executable can't be stored: an argument is an instance, a named tuple or a set, or one of several kinds") from None
    header = {
        **circumstances(executable.exact),
        "name": executable.name,
        "arguments": [[name, encode(plan, ())] for name, plan in plans],
        "types": encode(executable.types, ()),
        "constants": [_content(array) for array in low.constants],
        **{name: encode(getattr(low, name), low.constants) for name in _STORED},
    }
    rest = json.dumps(header).encode() + b"\n" + program.serialize()
    return MAGIC + hashlib.sha256(rest).digest() + rest


def restore(blob: bytes) -> tuple[Executable, list[tuple[str, Any]]]:
    """Deserialize the bytes of :func:`dump`; StorageError if they are damaged, or made elsewhere."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise TypeError(f"load takes the bytes of serialize(), not {type(blob).__name__}")
    blob = bytes(blob)
    if not blob.startswith(MAGIC):
        raise StorageError("these bytes are not an executable of this version of hovis_xla")
    if hashlib.sha256(blob[_START:]).digest() != blob[len(MAGIC) : _START]:
        raise StorageError("this executable is damaged: its digest does not match")
    header, _, code = blob[_START:].partition(b"\n")
    try:
        return _restored(json.loads(header), code)
    except StorageError:
        raise
    except adapter.XlaError as error:
        raise StorageError(f"XLA can't load this executable: {str(error).splitlines()[0]}") from None
    except Exception:  # a damaged header may hold anything, nested arbitrarily deep
        raise StorageError("this executable is damaged: its header is not valid") from None


def _restored(header: dict[str, Any], code: bytes) -> tuple[Executable, list[tuple[str, Any]]]:
    exact = header["options"]["exact"]
    names = {"jaxlib": "jaxlib", "cpu": "a CPU with features", "flags": "XLA_FLAGS", "options": "compile options"}
    for key, wanted in circumstances(exact).items():
        if header[key] != wanted:
            raise StorageError(f"this executable was made for {names[key]} {header[key]!r}; here it is {wanted!r}. Compile it again.")
    constants = [_array(*content) for content in header["constants"]]
    low = Lowered(None, constants=constants, **{name: decode(header[name], constants) for name in _STORED})
    callback: Any
    for callback in low.callbacks:
        callback.failures = low.failures
    arguments = [(name, _plan(decode(plan))) for name, plan in header["arguments"]]
    _check(header["name"], arguments, low)
    inputs, outputs = scalar_packing.interface(low.inputs), scalar_packing.interface(low.outputs)
    program = compilation.deserialize(code, inputs, outputs, low.callbacks, compilation.Recipe(exact))
    return Executable(header["name"], decode(header["types"]), low, exact, program), arguments


def _check(name: str, arguments: list[tuple[str, Any]], low: Lowered) -> None:
    """Raise ValueError if what a header says of its program is inconsistent."""
    outputs = [*(at for at, _ in low.written), *(k for k in (low.bail, low.choice) if k is not None)]
    holds = (
        all(type(text) is str for text in (name, *(argument for argument, _ in arguments)))
        and all(isinstance(template, Template) for template in low.templates)
        and all(type(k) is int and k >= 0 for k in [*outputs, *low.starts, *low.contiguous])
        and len(low.starts) == len(low.templates)
        and max(low.starts, default=0) <= len(low.outputs) > max(outputs, default=-1)
    )
    if not holds:
        raise ValueError(name)
