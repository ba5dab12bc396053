"""Operands of the lowering: numbers and arrays in XLA, and everything that is known before the program runs.

    Val       an XLA value, with its kind in Python: a Python number, a NumPy scalar or an array
    Known     any Python object; no XLA value is made for it until one is needed
    Struct    a tuple, list, dict or object of the result, with its parts: the host builds it after the call
    OneOf     one of several of these; a number selects it
    UNDEF     the content of a slot on a path that does not define it
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

import numpy as np

from hovis.base.once import once
from hovis.ir import operations
from hovis.ir.model import Location
from hovis.lattice import AbstractValue, Array, Const, Type, Union
from hovis.lattice.inspection import is_a

PYTHON: Final = "python"
SCALAR: Final = "scalar"
ARRAY: Final = "array"
#: A Python number or a NumPy scalar, with a boolean that says which: ``total = 0.0`` before ``total = total + v[i]``.
EITHER: Final = "either"

#: The dtype that represents each class of Python numbers.
CARRIERS: Final[dict[type, np.dtype[Any]]] = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}
PYTHON_OF: Final = {dtype: cls for cls, dtype in CARRIERS.items()}

INT64: Final = np.dtype(np.int64)
INT32: Final = np.dtype(np.int32)
UINT64: Final = np.dtype(np.uint64)
FLOAT64: Final = np.dtype(np.float64)
COMPLEX128: Final = np.dtype(np.complex128)
BOOL: Final = np.dtype(bool)


class NotLowerable(Exception):
    """Raised if something cannot be expressed in compiled code; the function then runs as residual Python. Says what, and where."""

    def __init__(self, what: str, location: Location | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.location = location

    def bare(self) -> Self:
        """Return the exception without its traceback, context and cause, which hold the frames of user functions and all their objects."""
        self.__traceback__ = self.__context__ = self.__cause__ = None
        return self

    def __str__(self) -> str:
        if self.location is None:
            return self.what
        return f"{self.what} ({self.location.file}:{self.location.line}, in {self.location.function})"


class Late(NotLowerable):
    """Raised if finding out whether the function can be compiled would take longer than a first call may take."""


class Raises(NotLowerable):
    """Raised where the original program always raises an exception of class ``cls``: no program continues on this path."""

    def __init__(self, what: str, cls: type[BaseException], location: Location | None = None) -> None:
        super().__init__(what, location)
        self.cls = cls


class NumberUnknown(NotLowerable):
    """The lowering depends on an int whose value is not known; it might succeed if it were."""


class ShapeUnknown(NotLowerable):
    """A shape depends on a number whose value is not known; the lowering might succeed if it were."""


@dataclass(frozen=True, slots=True)
class Num:
    """The type of a number or an array: ``kind`` PYTHON, SCALAR, ARRAY or EITHER; its dtype; its shape."""

    kind: str
    dtype: "np.dtype[Any]"
    shape: tuple[int, ...] = ()

    @property
    def python(self) -> type | None:
        """bool, int, float or complex for a Python number, else None."""
        return PYTHON_OF[self.dtype] if self.kind == PYTHON else None

    def __str__(self) -> str:
        if self.kind == EITHER:
            return f"{Num(PYTHON, self.dtype)} | {Num(SCALAR, self.dtype)}"
        if self.kind == PYTHON:
            return PYTHON_OF[self.dtype].__name__.capitalize()
        return str(self.dtype) if self.kind == SCALAR else f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def python_num(cls: type) -> Num:
    """Return the Num of a Python number of this class."""
    return Num(PYTHON, CARRIERS[cls])


INT: Final = python_num(int)
FLOAT: Final = python_num(float)
TRUTH: Final = python_num(bool)
COMPLEX: Final = python_num(complex)


@dataclass(frozen=True, slots=True)
class Owned:
    """A root: memory that the caller knows, of an argument (by its number) or of a constant (by its id). ``view``: only a part of it, or another
    view of it.
    """

    argument: int | None
    constant: int | None = None
    view: bool = False


@dataclass(frozen=True, slots=True)
class Carried:
    """A root: the memory of a value that a loop carries, by its number among these. ``view``: only a part of it, or another view of it."""

    loop: object
    number: int
    view: bool = False


_numbers = itertools.count()


@dataclass(frozen=True, slots=True, eq=False)
class Val:
    """An XLA value (``ir``: an MLIR value of the dtype and shape of ``num``).

    ``tag`` (of an EITHER) is an MLIR boolean: is it a NumPy scalar?  ``roots`` are the arrays whose memory it may share in the original
    program: those that it may be a view of, otherwise itself.  ``place`` (of an array) is its place in memory, if that is known exactly.
    """

    num: Num
    ir: Any
    tag: Any = None
    roots: frozenset[object] = field(default_factory=lambda: frozenset({next(_numbers)}))
    place: Any = None


class Stored(Val):
    """A mutable array: ``ir`` reads its current content on each access."""

    __slots__ = ("read",)
    read: Callable[[Any], Any]

    def __init__(self, num: Num, place: Any, read: Callable[[Any], Any]) -> None:
        for name, value in {"num": num, "tag": None, "roots": frozenset({place.location}), "place": place, "read": read}.items():
            object.__setattr__(self, name, value)

    @property
    def ir(self) -> Any:
        return self.read(self.place)


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A Python object that is known before the program runs."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """A placeholder, as a known object, for an argument that the result may hold and that is not used otherwise."""

    argument: int


def is_handle(operand: object) -> bool:
    return isinstance(operand, Known) and is_a(operand.value, Handle)


def holds_handle(operand: object) -> bool:
    """Does the operand contain a placeholder for an argument?"""
    parts = operand.parts if isinstance(operand, Struct) else operand.members if isinstance(operand, OneOf) else ()
    return is_handle(operand) or any(map(holds_handle, parts))


@dataclass(frozen=True, slots=True, eq=False)
class Raised:
    """A placeholder for a caught exception: its class."""

    cls: type[BaseException]


@once
def raised(cls: type[BaseException]) -> Known:
    """Return the operand for a caught exception of this class."""
    return Known(Raised(cls))


#: Default values of optional arguments of NumPy functions.
NONE: Final = Known(None)
FALSE: Final = Known(False)
TRUE: Final = Known(True)
ZERO: Final = Known(0)
LAST: Final = Known(-1)


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """The result of a constructor call (``make_tuple``, ``make_dict`` …) that the host repeats after the run.

    ``op`` is its identity: Structs with the same ``op`` are one object, wherever they stand in the result.
    """

    callee: Callable[..., object]
    parts: "tuple[Operand, ...]"
    op: object = None


@once
def named_tuple(cls: type) -> Callable[..., object]:
    """Return a constructor of the named tuple ``cls``, for use as the callee of a Struct."""

    def build(*parts: object) -> object:
        return tuple.__new__(cls, parts)

    build.__name__ = cls.__name__
    build.named = cls  # type: ignore[attr-defined]
    return build


def is_sequence(struct: Struct) -> bool:
    """Is the Struct a list or a tuple, named or not?"""
    return struct.callee in (operations.make_tuple, operations.make_list) or hasattr(struct.callee, "named")


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A method of an array or of a ufunc that was looked up and not yet called."""

    method: Callable[..., object]
    instance: "Val | Ragged | Known"


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """One of several operands, none of which is a OneOf; ``which`` (an MLIR i32) selects it at run time."""

    which: Any
    members: "tuple[Operand, ...]"


def _as_it_is(base: Val) -> Val:
    return base


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """An array whose size is known only at run time, padded to a known size: a part of an array, or one with memory of its own.

    ``counts`` says which elements of each dimension are valid (``ops/ragged/extents``).  ``shown`` computes the padded array from ``base``; the
    padding may be anything.  ``write`` stores into ``base``.  ``own``: whether it has memory of its own, which is all of ``base``.
    """

    full: Num
    base: Val
    counts: "tuple[Any, ...]"
    shown: Callable[[Val], Val] = _as_it_is
    write: Callable[[Val, Any], None] | None = None
    own: bool = True

    def read(self) -> Val:
        return self.shown(self.base)


def view_roots(arrays: "Iterable[Val]") -> frozenset[object]:
    """Return the roots of a view of one of these arrays."""
    return frozenset(map(_seen, frozenset[object]().union(*(a.roots for a in arrays))))


def _seen(root: object) -> object:
    """Return the root of a view of this root."""
    return replace(root, view=True) if isinstance(root, Owned | Carried) else root


def roots_behind(roots: frozenset[object], loop: object, carried: "Sequence[frozenset[object]]") -> frozenset[object]:
    """Return the roots as they are after the loop: those of values that ``loop`` carries are replaced by the roots in ``carried``."""
    found: set[object] = set()
    for root in roots:
        if isinstance(root, Carried) and root.loop is loop:
            found |= set(map(_seen, carried[root.number])) if root.view else carried[root.number]
        else:
            found.add(root)
    return frozenset(found)


def roots_carried(starts: "Sequence[frozenset[object]]", ends: "Sequence[frozenset[object]]", loop: object) -> "list[frozenset[object]]":
    """Compute the roots of all values that a loop carries, at its header: the fixpoint of the initial roots (``starts``) and those at the end of
    an iteration (``ends``).
    """
    found = list(starts)
    while True:
        after = [a | roots_behind(b, loop, found) for a, b in zip(starts, ends, strict=True)]
        if after == found:
            return found
        found = after


class _Undefined:
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNDEF"


UNDEF: Final = _Undefined()

Operand = Val | Known | Struct | Bound | OneOf | Ragged
Slot = Val | Known | Struct | Bound | OneOf | Ragged | _Undefined


def num_of_dtype(dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> Num:
    """Return the Num of a result of NumPy: an array, or a scalar if the shape is empty."""
    return Num(ARRAY if shape else SCALAR, dtype, shape)


def num_of_value(value: Any) -> Num | None:
    """Return the Num of a known value, or None if it is neither a number nor an array of numbers."""
    if type(value) in CARRIERS:
        return python_num(type(value))
    if issubclass(type(value), np.generic) and _supported(value.dtype):
        return Num(SCALAR, value.dtype)
    if type(value) is np.ndarray and _supported(value.dtype):
        return Num(ARRAY, value.dtype, value.shape)
    return None


def _supported(dtype: "np.dtype[Any]") -> bool:
    return dtype.kind in "biufc" and dtype.isnative and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def num_of_type(t: AbstractValue, dims: Any = None) -> Num | None:
    """Return the Num of a value of this type; None if it is not a number or an array, or if one of its dimensions is not known."""
    if isinstance(t, Array):
        shape = tuple(d.value if isinstance(d, Const) else d for d in dims) if dims is not None else ()
        sizes = tuple(d for d in shape if isinstance(d, int))
        dtype: Any = t.dtype
        if t.cls is not np.ndarray or len(sizes) < t.rank or len(shape) > t.rank:
            return None
        return Num(ARRAY, np.dtype(dtype), sizes) if _supported(np.dtype(dtype)) else None
    if isinstance(t, Const):
        return num_of_value(t.value)
    if isinstance(t, Type):
        if t.cls in CARRIERS:
            return python_num(t.cls)
        if issubclass(t.cls, np.generic) and t.cls in np.sctypeDict.values() and _supported(np.dtype(t.cls)):
            return Num(SCALAR, np.dtype(t.cls))
    return None


def either_of(t: AbstractValue) -> Num | None:
    """Return the EITHER Num for a Union of a Python number and a NumPy scalar of the same dtype; None for another type."""
    if not isinstance(t, Union) or len(t.members) != 2:
        return None
    nums = [num_of_type(m) for m in t.members]
    kinds = {n.kind for n in nums if n is not None}
    dtypes = {n.dtype for n in nums if n is not None}
    return Num(EITHER, dtypes.pop()) if kinds == {PYTHON, SCALAR} and len(dtypes) == 1 else None


def abstract(operand: Operand) -> AbstractValue | None:
    """Return the lattice value of an operand for the rules of the NumPy library, or None if there is none."""
    if isinstance(operand, Known):
        return Const(operand.value)
    if not isinstance(operand, Val):
        return None
    num = operand.num
    if num.kind == ARRAY:
        return Array(np.ndarray, num.dtype, len(num.shape))
    return Type(PYTHON_OF[num.dtype] if num.kind == PYTHON else num.dtype.type)


def is_numpy(operand: Operand) -> bool:
    """Is the operand an array or a NumPy scalar?"""
    if isinstance(operand, Val):
        return operand.num.kind != PYTHON
    return isinstance(operand, Known) and is_a(operand.value, np.ndarray | np.generic)


def is_array(operand: object) -> bool:
    """Is the operand an array in the program?"""
    return isinstance(operand, Val) and operand.num.kind == ARRAY
