"""Serialization of executables: a header of JSON, then the machine code as XLA gives it.

    magic, digest of the rest, length of the header, header, code

Nothing is unpickled and nothing is imported by name: a header holds numbers, strings, tuples, shapes and arrays, and the
results of a stored executable hold nothing else besides what it computes.  The digest detects damage, not malice: the
machine code is executed, therefore load only files that you would execute.
"""

import base64
import builtins
import hashlib
import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

import numpy as np

from hovis.base.once import once
from hovis.errors import HovisError
from hovis.ir import operations
from hovis_xla.abi import scalar_packing
from hovis_xla.abi.host_callbacks import HostCall
from hovis_xla.abi.ordered_effects import Act
from hovis_xla.abi.signature import Keyed, Lowered, Template
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import Location, Place
from hovis_xla.emit.values import ARRAY, EITHER, PYTHON, SCALAR, Known, Num, Owned
from hovis_xla.emit.view_steps import Box, Diagonal, Part, Reshaped, Step, Windows
from hovis_xla.jaxlib import adapter, compilation
from hovis_xla.jaxlib.disk_cache import circumstances
from hovis_xla.runtime.executable import Executable

MAGIC: Final = b"hovis_xla 5\n"
_DIGEST: Final = hashlib.sha256().digest_size
#: Bytes of the length of a file's header.
_LENGTH: Final = 8

_NUMBERS: Final = (PYTHON, SCALAR, ARRAY, EITHER)

#: Constructors that may stand in a stored result.
_BUILDERS: Final[dict[str, Callable[..., object]]] = {
    f.__name__: f for f in (operations.make_tuple, operations.make_list, operations.make_dict, operations.make_set, slice)
}


class StorageError(HovisError, ValueError):
    """Bytes that are no executable of this machine, or an executable that can't be stored.

    >>> from hovis_xla import load
    >>> try: load(b"nothing of the kind")
    ... except StorageError as error: print(type(error).__name__)
    StorageError
    """


# ------------------------------------------------------------------------------------------------- values


def encode(value: Any) -> Any:
    """Encode a known value as JSON; :func:`decode` gives a value of the same type and bits."""
    if value is None or type(value) in (bool, str) or (type(value) is int and value.bit_length() <= 512):
        return value
    if type(value) is float:
        return ["float", _bytes(np.float64(value).tobytes())]
    if type(value) is complex:
        return ["complex", _bytes(np.complex128(value).tobytes())]
    if type(value) is bytes:
        return ["bytes", _bytes(value)]
    if type(value) is tuple:
        return ["tuple", *map(encode, value)]
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return ["scalar", value.dtype.str, _bytes(value.tobytes())]
    if isinstance(value, np.dtype) and value.kind in "biufc":
        return ["dtype", value.str]
    raise StorageError(f"the executable can't be stored: its result or its arguments contain {value!r}, not only numbers, strings and tuples")


def decode(form: Any) -> Any:
    """Decode a value that :func:`encode` has encoded."""
    if not isinstance(form, list):
        return form
    match form:
        case ["float", data]:
            return float(_array(data, "<f8", ())[()])
        case ["complex", data]:
            return complex(_array(data, "<c16", ())[()])
        case ["bytes", data]:
            return base64.b64decode(data)
        case ["tuple", *items]:
            return tuple(map(decode, items))
        case ["scalar", dtype, data]:
            return _array(data, dtype, ())[()]
        case ["dtype", name]:
            return _dtype_of(name)
    raise StorageError("this executable is damaged: its header is not valid")


def _bytes(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _array(data: str, dtype: str, shape: Any) -> Any:
    return np.frombuffer(base64.b64decode(data), _dtype_of(dtype)).reshape(tuple(shape)).copy()


def _num(num: Num) -> Any:
    return [num.kind, num.dtype.str, list(num.shape)]


def _num_of(form: Any) -> Num:
    kind, dtype, shape = form
    made = Num(kind, _dtype_of(dtype), tuple(shape))
    if kind not in _NUMBERS or not all(type(size) is int and size >= 0 for size in shape):
        raise StorageError("this executable is damaged: its header is not valid")
    return made


def _dtype_of(name: Any) -> "np.dtype[Any]":
    """Return a dtype of numbers, by its name: an executable holds no others."""
    made = np.dtype(name) if type(name) is str else None
    if made is None or made.kind not in "biufc":
        raise StorageError("this executable is damaged: its header is not valid")
    return made


# ------------------------------------------------------------------------------------------------- results, plans


def _tree(tree: Any) -> Any:
    if tree[0] == "known":
        return ["known", encode(tree[1].value)]
    if tree[0] == "build":
        name = getattr(tree[1].value, "__name__", "")
        if _BUILDERS.get(name) is not tree[1].value:
            raise StorageError("the executable can't be stored: its result holds an instance of a class")
        return ["build", name, [_tree(p) for p in tree[2]], tree[3]]
    if tree[0] == "oneof":
        return ["oneof", tree[1], [_tree(t) for t in tree[2]]]
    return list(tree)


def _tree_of(form: Any) -> Any:
    if form[0] == "known":
        return "known", Keyed(decode(form[1]))
    if form[0] == "build":
        return "build", Keyed(_BUILDERS[form[1]]), tuple(_tree_of(p) for p in form[2]), form[3]
    if form[0] == "oneof":
        return "oneof", form[1], tuple(map(_tree_of, form[2]))
    return tuple(form)


def _template(template: Template, constants: list[Any]) -> Any:
    places = {id(c): k for k, c in enumerate(constants)}
    owners = [[[o.argument, None if o.constant is None else places[o.constant], o.view] for o in some] for some in template.owners]
    return [_tree(template.tree), [_num(n) for n in template.nums], owners, [_source(s, constants) for s in template.sources]]


def _template_of(form: Any, constants: list[Any]) -> Template:
    tree, nums, owners, sources = form
    made = tuple(frozenset(Owned(a, None if c is None else id(constants[c]), view) for a, c, view in some) for some in owners)
    return Template(_tree_of(tree), tuple(map(_num_of, nums)), None, made, tuple(_source_of(s, constants) for s in sources))


def _owner(owner: Any, constants: list[Any]) -> Any:
    return owner if isinstance(owner, int) else ["constant", next(k for k, c in enumerate(constants) if c is owner)]


def _owner_of(form: Any, constants: list[Any]) -> Any:
    return form if isinstance(form, int) else constants[form[1]]


def _source(source: Any, constants: list[Any]) -> Any:
    if source[0] == "out":
        return list(source)
    _, (kind, base), place, starts = source
    return ["view", kind, base if kind == "out" else _owner(base, constants), place.own, [_step(s) for s in place.steps], starts]


def _source_of(form: Any, constants: list[Any]) -> Any:
    if form[0] == "out":
        return tuple(form)
    _, kind, base, own, steps, starts = form
    place = Place(Location(np.dtype(bool), ()), tuple(map(_step_of, steps)), own)
    return "view", (kind, base if kind == "out" else _owner_of(base, constants)), place, starts


def _step(step: Step) -> Any:
    if isinstance(step, Box):
        return ["Box", [s if isinstance(s, int) else None for s in step.starts], step.counts, step.strides, step.axes, step.shape, step.writable]
    return [type(step).__name__, *(getattr(step, f.name) for f in fields(step))]


def _step_of(form: Any) -> Step:
    name, *values = form
    plain: list[Any] = [tuple(v) if isinstance(v, list) else v for v in values]
    if name == "Box":
        plain[0] = tuple(T(None, np.dtype(np.int64), ()) if s is None else s for s in plain[0])
    kinds: dict[str, Callable[..., Step]] = {"Box": Box, "Reshaped": Reshaped, "Part": Part, "Diagonal": Diagonal, "Windows": Windows}
    return kinds[name](*plain)


def _plan(plan: Any) -> Any:
    match plan:
        case ["value", known]:
            return ["value", encode(known.value)]
        case ["leaf", place, wanted]:
            return ["leaf", place, _num(wanted) if isinstance(wanted, Num) else None]
        case ["dict", keys, parts]:
            return ["dict", [encode(k) for k in keys], [_plan(p) for p in parts]]
        case [("list" | "tuple") as kind, parts]:
            return [kind, [_plan(p) for p in parts]]
    raise StorageError("the executable can't be stored: an argument is an instance of a class")


def _plan_of(form: Any) -> Any:
    match form:
        case ["value", known]:
            return ["value", Keyed(decode(known))]
        case ["leaf", (int() | None) as place, wanted]:
            return ["leaf", place, None if wanted is None else _num_of(wanted)]
        case ["dict", keys, parts]:
            return ["dict", [decode(k) for k in keys], [_plan_of(p) for p in parts]]
        case [("list" | "tuple") as kind, parts]:
            return [kind, [_plan_of(p) for p in parts]]
    raise StorageError("this executable is damaged: its header is not valid")


def _callback(made: Any) -> Any:
    return _host_call(made) if isinstance(made, HostCall) else _printer(made)


def _callback_of(form: Any, failures: list[BaseException]) -> Callable[..., Any]:
    return _host_call_of(form, failures) if isinstance(form, dict) else _printer_of(form, failures)


@once
def _functions() -> dict[str, Callable[..., Any]]:
    """Return the functions that a stored executable may call on the host, by name."""
    rooms: dict[str, Any] = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft, "numpy.ndarray": np.ndarray, "numpy.generic": np.generic}
    return {f"{room}.{name}": fn for room, owner in rooms.items() for name, fn in vars(owner).items() if callable(fn) and not isinstance(fn, type)}


def _host_call(made: HostCall) -> Any:
    name = next((name for name, fn in _functions().items() if fn is made.fn), None)
    if name is None:
        raise StorageError(f"the executable can't be stored: it calls {made.fn!r} on the host")
    nums, results = list(map(_num, made.nums)), list(map(_num, made.results))
    return {"fn": name, "args": list(map(_place, made.args)), "names": list(made.names), "nums": nums, "tree": _place(made.tree), "results": results}


def _host_call_of(form: Any, failures: list[BaseException]) -> HostCall:
    args, nums, results = tuple(map(_place_of, form["args"])), list(map(_num_of, form["nums"])), list(map(_num_of, form["results"]))
    made = HostCall(_functions()[form["fn"]], args, form["names"], nums, _place_of(form["tree"]), results)
    made.failures = failures
    return made


#: Constructors of the arguments and the result of a call on the host, by name.
_KINDS: Final[dict[str, Any]] = {**_BUILDERS, "tuple": tuple, "list": list}


def _place(tree: Any) -> Any:
    if tree[0] == "known":
        return ["known", encode(tree[1])]
    if tree[0] == "leaf":
        return list(tree)
    name = next((name for name, made in _KINDS.items() if made is tree[1]), None)
    if name is None:
        raise StorageError(f"the executable can't be stored: a call on the host takes or returns a {tree[1].__name__}")
    return ["build", name, [_place(p) for p in tree[2]]]


def _place_of(form: Any) -> Any:
    if form[0] == "build":
        return "build", _KINDS[form[1]], tuple(map(_place_of, form[2])), object()
    return ("known", decode(form[1])) if form[0] == "known" else tuple(form)


def _printer(act: Any) -> Any:
    """Encode a print; raise StorageError for any other act, which can't be found by a name."""
    if act.fn is not builtins.print:
        raise StorageError(f"the executable can't be stored: it calls {getattr(act, 'fn', act)!r} on the host")
    return [list(map(_place, act.args)), list(act.names), list(map(_num, act.nums))]


def _printer_of(form: Any, failures: list[BaseException]) -> Act:
    args, names, nums = form
    made = Act(builtins.print, list(map(_place_of, args)), names, list(map(_num_of, nums)))
    made.failures = failures
    return made


# ------------------------------------------------------------------------------------------------- whole executables


def dump(executable: Executable, arguments: list[tuple[str, Any]]) -> bytes:
    """Serialize an executable, with the name and the plan (``argument_plan``) of each of its arguments."""
    executable = executable.general
    program, low = executable.program, executable.lowered
    if low.record is not None and low.bail is not None:
        raise StorageError("the executable can't be stored: it prints, and Python may have to repeat a call that has printed")
    if low.variables:
        raise StorageError("the executable can't be stored: it stores into variables that outlive the call")
    header = {
        **circumstances(executable.exact),
        "name": executable.name,
        "arguments": [[name, _plan(plan)] for name, plan in arguments],
        "types": [_num(t) if isinstance(t, Num) else ["known", encode(t.value)] for t in executable.types],
        "inputs": [_num(n) for n in low.inputs],
        "outputs": [_num(n) for n in low.outputs],
        "templates": [_template(t, low.constants) for t in low.templates],
        "starts": low.starts,
        "written": [[at, _owner(owner, low.constants)] for at, owner in low.written],
        "contiguous": low.contiguous,
        "into": [_owner(owner, low.constants) for owner in low.into],
        "apart": [[_owner(owner, low.constants) for owner in pair] for pair in low.apart],
        "bail": low.bail,
        "choice": low.choice,
        "constants": [[a.dtype.str, list(a.shape), _bytes(a.tobytes())] for a in low.constants],
        "callbacks": [_callback(c) for c in low.callbacks],
    }
    text = json.dumps(header).encode()
    rest = len(text).to_bytes(_LENGTH, "big") + text + program.serialize()
    return MAGIC + hashlib.sha256(rest).digest() + rest


def restore(blob: bytes) -> tuple[Executable, list[tuple[str, Any]]]:
    """Deserialize the bytes of :func:`dump`; StorageError if they are damaged, or made elsewhere."""
    header, code = _open(blob)
    try:
        _refuse_foreign(header)
        return _restored(header, code)
    except StorageError:
        raise
    except adapter.XlaError as error:
        raise StorageError(f"XLA can't load this executable: {str(error).splitlines()[0]}") from None
    except Exception:  # a damaged header may hold anything, nested arbitrarily deep
        raise StorageError("this executable is damaged: its header is not valid") from None


def _restored(header: dict[str, Any], code: bytes) -> tuple[Executable, list[tuple[str, Any]]]:
    constants = [_array(data, dtype, shape) for dtype, shape, data in header["constants"]]
    failures: list[BaseException] = []
    callbacks: list[Callable[..., Any]] = [_callback_of(form, failures) for form in header["callbacks"]]
    inputs, outputs = ([_num_of(n) for n in header[k]] for k in ("inputs", "outputs"))
    templates = [_template_of(t, constants) for t in header["templates"]]
    lowered = Lowered(None, inputs, outputs, templates, header["starts"], header["bail"], header["choice"], constants, callbacks, failures)
    lowered.written = [(at, _owner_of(owner, constants)) for at, owner in header["written"]]
    lowered.contiguous = header["contiguous"]
    lowered.into = [_owner_of(owner, constants) for owner in header["into"]]
    lowered.apart = [(_owner_of(a, constants), _owner_of(b, constants)) for a, b in header["apart"]]
    types = [Known(decode(t[1])) if t[0] == "known" else _num_of(t) for t in header["types"]]
    exact = header["options"]["exact"]
    _check(header, lowered)
    program = compilation.deserialize(code, scalar_packing.interface(inputs), scalar_packing.interface(outputs), callbacks, compilation.Recipe(exact))
    return Executable(header["name"], types, lowered, exact, program), [(name, _plan_of(plan)) for name, plan in header["arguments"]]


def _check(header: dict[str, Any], low: Lowered) -> None:
    """Raise StorageError if what a header says of its program is inconsistent."""
    outputs = [*(at for at, _ in low.written), *(k for k in (low.bail, low.choice) if k is not None)]
    holds = (
        type(header["name"]) is str
        and all(type(name) is str for name, _ in header["arguments"])
        and all(type(k) is int and k >= 0 for k in [*outputs, *low.starts, *low.contiguous])
        and len(low.starts) == len(low.templates)
        and max(low.starts, default=0) <= len(low.outputs) > max(outputs, default=-1)
    )
    if not holds:
        raise StorageError("this executable is damaged: its header is not valid")


def _open(blob: bytes) -> tuple[dict[str, Any], bytes]:
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise TypeError(f"load takes the bytes of serialize(), not {type(blob).__name__}")
    blob = bytes(blob)
    start = len(MAGIC) + _DIGEST
    if not blob.startswith(MAGIC):
        raise StorageError("these bytes are not an executable of this version of hovis_xla")
    rest = blob[start:]
    if hashlib.sha256(rest).digest() != blob[len(MAGIC) : start]:
        raise StorageError("this executable is damaged: its digest does not match")
    length = int.from_bytes(rest[:_LENGTH], "big")
    try:
        header = json.loads(rest[_LENGTH : _LENGTH + length])
    except (ValueError, RecursionError):
        header = None
    if length > len(rest) - _LENGTH or type(header) is not dict:
        raise StorageError("this executable is damaged: its header is not valid")
    return header, rest[_LENGTH + length :]


def _refuse_foreign(header: dict[str, Any]) -> None:
    here = circumstances(header["options"]["exact"])
    names = {"jaxlib": "jaxlib", "cpu": "a CPU with features", "flags": "XLA_FLAGS", "options": "compile options"}
    for key, wanted in here.items():
        if header[key] != wanted:
            raise StorageError(f"this executable was made for {names[key]} {header[key]!r}; here it is {wanted!r}. Compile it again.")
