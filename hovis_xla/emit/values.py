"""What flows through the lowering: numbers and arrays in XLA, and everything that is known before it runs.

    Val       an XLA value, with what it is to Python: a Python number, a NumPy scalar or an array
    Known     any Python object; no XLA value stands for it until one is needed
    Struct    a tuple, list, dict or object of the result, with its parts: it is built by the host, after the call
    OneOf     one of several of these; a number says which
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
#: A number that is Python's or NumPy's, and a truth beside it says which: ``total = 0.0`` before ``total = total + v[i]``.
EITHER: Final = "either"

#: Python's numbers and what carries them.
CARRIERS: Final[dict[type, np.dtype[Any]]] = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}
PYTHON_OF: Final = {dtype: cls for cls, dtype in CARRIERS.items()}

INT64: Final = np.dtype(np.int64)
INT32: Final = np.dtype(np.int32)
FLOAT64: Final = np.dtype(np.float64)
COMPLEX128: Final = np.dtype(np.complex128)
BOOL: Final = np.dtype(bool)


class NotLowerable(Exception):
    """Something has no place in compiled code; the function runs as residual Python.  Says what, and where."""

    def __init__(self, what: str, location: Location | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.location = location

    def bare(self) -> Self:
        """Itself, to be kept: without its traceback, which holds the frames of the user's functions and all that is in them."""
        self.__traceback__ = self.__context__ = self.__cause__ = None
        return self

    def __str__(self) -> str:
        if self.location is None:
            return self.what
        return f"{self.what} ({self.location.file}:{self.location.line}, in {self.location.function})"


class Late(NotLowerable):
    """It would take longer to find out whether it can be compiled than a first call may take."""


class Raises(NotLowerable):
    """The original raises here, always, an exception of a class: no program comes further on this path."""

    def __init__(self, what: str, cls: type[BaseException], location: Location | None = None) -> None:
        super().__init__(what, location)
        self.cls = cls


class NumberUnknown(NotLowerable):
    """What is done here depends on an int: it may be lowered if that were known."""


class ShapeUnknown(NotLowerable):
    """A shape depends on a number: it could be lowered if that were known."""


@dataclass(frozen=True, slots=True)
class Num:
    """What a number or an array is: ``kind`` PYTHON, SCALAR or ARRAY; its dtype; its shape."""

    kind: str
    dtype: "np.dtype[Any]"
    shape: tuple[int, ...] = ()

    @property
    def python(self) -> type | None:
        """bool, int, float or complex, if it is a Python number."""
        return PYTHON_OF[self.dtype] if self.kind == PYTHON else None

    def __str__(self) -> str:
        if self.kind == EITHER:
            return f"{Num(PYTHON, self.dtype)} | {Num(SCALAR, self.dtype)}"
        if self.kind == PYTHON:
            return {bool: "Bool", int: "Int", float: "Float", complex: "Complex"}[PYTHON_OF[self.dtype]]
        return str(self.dtype) if self.kind == SCALAR else f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def python_num(cls: type) -> Num:
    """The Num of a Python number."""
    return Num(PYTHON, CARRIERS[cls])


INT: Final = python_num(int)
FLOAT: Final = python_num(float)
TRUTH: Final = python_num(bool)
COMPLEX: Final = python_num(complex)


@dataclass(frozen=True, slots=True)
class Owned:
    """Memory that the caller knows: that of an argument (by its number) or of a constant; ``view``: a part of it, or another
    way to look at it."""

    argument: int | None
    constant: int | None = None
    view: bool = False


@dataclass(frozen=True, slots=True)
class Carried:
    """Memory of what goes round in a loop, by its number among all of that; ``view``: a part of it, or another way to look at it."""

    loop: object
    number: int
    view: bool = False


_numbers = itertools.count()


@dataclass(frozen=True, slots=True, eq=False)
class Val:
    """An XLA value (``ir``: an MLIR value of the same dtype and shape).

    ``tag`` (of an EITHER) is an MLIR truth: NumPy's?  ``roots`` says which arrays its memory may be part of in the original
    program: those it is a view of, else itself.  ``place`` (of an array) is where that is, if it is known exactly.
    """

    num: Num
    ir: Any
    tag: Any = None
    roots: frozenset[object] = field(default_factory=lambda: frozenset({next(_numbers)}))
    place: Any = None


class Stored(Val):
    """An array that may be stored into: what is in it is read when it is asked for."""

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
    """A Python object, known before the program runs."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """What stands, as a known object, for an argument that the result may hold, and that nothing is done with."""

    argument: int


def is_handle(operand: object) -> bool:
    return isinstance(operand, Known) and is_a(operand.value, Handle)


def holds_handle(operand: object) -> bool:
    """Is there such an argument in what is put together?"""
    parts = operand.parts if isinstance(operand, Struct) else operand.members if isinstance(operand, OneOf) else ()
    return is_handle(operand) or any(map(holds_handle, parts))


@dataclass(frozen=True, slots=True, eq=False)
class Raised:
    """What stands for an exception that is caught: its class."""

    cls: type[BaseException]


_RAISED: Final[dict[type, Known]] = {}


def raised(cls: type[BaseException]) -> Known:
    """An exception of a class, as an operand."""
    return _RAISED.setdefault(cls, Known(Raised(cls)))


#: Defaults of optional arguments of NumPy's functions.
NONE: Final = Known(None)
FALSE: Final = Known(False)
TRUE: Final = Known(True)
ZERO: Final = Known(0)
LAST: Final = Known(-1)


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """The result of a constructor call (``make_tuple``, ``make_dict`` …) that the host does again after the run.

    ``op`` is its identity: where it is the same, it is the same object wherever it stands in the result.
    """

    callee: Callable[..., object]
    parts: "tuple[Operand, ...]"
    op: object = None


@once
def named_tuple(cls: type) -> Callable[..., object]:
    """The constructor of a named tuple, as the callee of a Struct."""

    def build(*parts: object) -> object:
        return tuple.__new__(cls, parts)

    build.__name__ = cls.__name__
    build.named = cls  # type: ignore[attr-defined]
    return build


def is_sequence(struct: Struct) -> bool:
    """A tuple, named or not, or a list?"""
    return struct.callee in (operations.make_tuple, operations.make_list) or hasattr(struct.callee, "named")


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A method of an array, or of a ufunc, that has been looked up and not yet called."""

    method: Callable[..., object]
    instance: "Val | Ragged | Known"


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """One of several operands, none of which is one of several itself; ``which`` (an MLIR i32) says which, at run time."""

    which: Any
    members: "tuple[Operand, ...]"


def _as_it_is(base: Val) -> Val:
    return base


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """An array of which the size is only known at run time, at the width of some whole: a part of an array, or one of its own.

    ``counts`` says which elements of each dimension count (``ops/ragged/extents``).  ``shown`` gives it out of what is in ``base``, the
    rest being anything; ``write`` stores into that.  ``own``: it is memory of its own, and all of base.
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
    """The roots of a view of one of these."""
    return frozenset(map(_seen, frozenset[object]().union(*(a.roots for a in arrays))))


def _seen(root: object) -> object:
    """The root of a view."""
    return replace(root, view=True) if isinstance(root, Owned | Carried) else root


def roots_behind(roots: frozenset[object], loop: object, carried: "Sequence[frozenset[object]]") -> frozenset[object]:
    """Roots, with those of what goes round in a loop, as they are known behind it, in place of that."""
    found: set[object] = set()
    for root in roots:
        if isinstance(root, Carried) and root.loop is loop:
            found |= set(map(_seen, carried[root.number])) if root.view else carried[root.number]
        else:
            found.add(root)
    return frozenset(found)


def roots_carried(starts: "Sequence[frozenset[object]]", ends: "Sequence[frozenset[object]]", loop: object) -> "list[frozenset[object]]":
    """The roots of all that goes round, at the head: those with which it comes in, and those of what a round makes of it."""
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
    """What a computation of NumPy gives: an array, or a scalar if there is nothing left of its shape."""
    return Num(ARRAY if shape else SCALAR, dtype, shape)


def num_of_value(value: Any) -> Num | None:
    """What a known value is, if it is a number or an array of numbers."""
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
    """What a value of this type is; None if it is no number, or if a dimension of it is not known."""
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
    """What a Union of a Python number and the NumPy scalar with the same bits is."""
    if not isinstance(t, Union) or len(t.members) != 2:
        return None
    nums = [num_of_type(m) for m in t.members]
    kinds = {n.kind for n in nums if n is not None}
    dtypes = {n.dtype for n in nums if n is not None}
    return Num(EITHER, dtypes.pop()) if kinds == {PYTHON, SCALAR} and len(dtypes) == 1 else None


def abstract(operand: Operand) -> AbstractValue | None:
    """The lattice type of an operand, as the rules of the NumPy library want it."""
    if isinstance(operand, Known):
        return Const(operand.value)
    if not isinstance(operand, Val):
        return None
    num = operand.num
    if num.kind == ARRAY:
        return Array(np.ndarray, num.dtype, len(num.shape))
    return Type(PYTHON_OF[num.dtype] if num.kind == PYTHON else num.dtype.type)


def is_numpy(operand: Operand) -> bool:
    """An array or a NumPy scalar?"""
    if isinstance(operand, Val):
        return operand.num.kind != PYTHON
    return isinstance(operand, Known) and is_a(operand.value, np.ndarray | np.generic)


def is_array(operand: object) -> bool:
    """An array of the program?"""
    return isinstance(operand, Val) and operand.num.kind == ARRAY
