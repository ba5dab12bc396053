"""What a user says of an argument: specs (docs/semantics.md).

    Int Float Bool Complex Str Bytes NoneType, or a class     an unknown value of exactly this class
    Array(dtype, shape), float64[3, :]                        an unknown ndarray
    const(v), or any bare value                               a known value
    [Int, 3], {"w": Float, "act": "relu"}, Instance(C, …)     a container whose structure is known
    Point(Int, 3)                                             the same, of a named tuple or a dataclass
    OneOf(1, 2, 4)                                            one of a few values
    Any                                                       nothing is known
"""

import dataclasses
from collections.abc import Callable
from operator import index
from typing import Any as Anything
from typing import Final

from hovis.engine.trace import Fixed, Leaf, Part, Structure
from hovis.errors import SpecError
from hovis.ir.model import Operand, Param
from hovis.lattice import ANY, AbstractValue, Const, Refined, Type, join
from hovis.lattice import Array as ArrayType

Int: Final = Type(int)
Float: Final = Type(float)
Bool: Final = Type(bool)
Complex: Final = Type(complex)
Str: Final = Type(str)
Bytes: Final = Type(bytes)
NoneType: Final = Type(type(None))
Any: Final = ANY


def const(value: object) -> Const:
    """The spec of a known value: ``const(int)`` is the class itself, not an unknown int.

    >>> const(3)
    const(3)
    """
    return Const(value)


class Array:
    """The spec of an unknown ``numpy.ndarray``: a dtype and a shape, in which None (or ``:``) is an unknown dimension.

    ``layout`` is "C", "F" or "" (unknown).

    >>> Array("float64", (3, None))
    float64[3, :]
    """

    __slots__ = ("dtype", "layout", "shape")

    def __init__(self, dtype: Anything, shape: Anything = (), layout: str = "") -> None:
        self.dtype = dtype
        self.shape = tuple(map(_dimension, shape if isinstance(shape, tuple | list) else (shape,)))
        self.layout = layout
        if layout not in ("", "C", "F"):
            raise SpecError(f'the layout of an array is "C", "F" or "" (unknown), not {layout!r}')

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(':' if d is None else str(d) for d in self.shape)}]"


def _dimension(dim: Anything) -> Anything:
    if dim is None or isinstance(dim, slice | str):
        return None if isinstance(dim, slice) else dim
    try:
        size = index(dim)
    except TypeError:
        size = -1
    if size < 0:
        raise SpecError(f"a dimension is an int, or None (or `:`) where it is unknown, or a name; not {dim!r}")
    return size


class DType:
    """A NumPy dtype by name, to be indexed with a shape: ``float64[3, :]``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, shape: Anything) -> Array:
        return Array(self.name, shape if isinstance(shape, tuple) else (shape,))

    def __repr__(self) -> str:
        return self.name


float16, float32, float64 = DType("float16"), DType("float32"), DType("float64")
int8, int16, int32, int64 = DType("int8"), DType("int16"), DType("int32"), DType("int64")
uint8, uint16, uint32, uint64 = DType("uint8"), DType("uint16"), DType("uint32"), DType("uint64")
complex64, complex128, bool_ = DType("complex64"), DType("complex128"), DType("bool")


class OneOf:
    """The spec of a value that is one of a few known ones."""

    __slots__ = ("values",)

    def __init__(self, *values: object) -> None:
        if not values:
            raise SpecError("OneOf takes at least one value")
        self.values = values

    def __repr__(self) -> str:
        return f"OneOf({', '.join(map(repr, self.values))})"


class Instance:
    """The spec of an instance of ``cls`` whose attributes are known by these specs."""

    __slots__ = ("cls", "fields")

    def __init__(self, cls: type, /, **fields: object) -> None:
        if not isinstance(cls, type):
            raise SpecError(f"Instance takes a class, then specs of attributes by name; not {cls!r}")
        self.cls = cls
        self.fields = fields

    def __repr__(self) -> str:
        return f"Instance({self.cls.__qualname__}, {', '.join(f'{k}={v!r}' for k, v in self.fields.items())})"


class Empty:
    """A list or dict in which nothing is yet.  What keys say of arguments is told by this; ``[]`` and ``{}`` are constants."""

    def __init__(self, kind: type) -> None:
        self.kind = kind


class Promotable:
    """The spec of an unknown number that the tracer asks for (by Promote) if it turns out to choose: the jit's."""

    __slots__ = ("cls",)

    def __init__(self, cls: type) -> None:
        self.cls = cls


#: What turns a dtype into the lattice type of an array: the NumPy library's part.
ArrayMaker = Callable[[Anything, int, str], ArrayType]


def is_spec(value: object) -> bool:
    """Is value a spec, or a container that holds one?"""
    if isinstance(value, (AbstractValue, Array, OneOf, Instance, DType, Promotable, Empty, type)):
        return True
    if type(value) in (list, tuple) or is_named_tuple(type(value)):
        return any(map(is_spec, value))  # type: ignore[call-overload]
    if type(value) is dict:
        return any(map(is_spec, value.values()))
    # a class in a field is a value like others
    return _is_record(value) and any(is_spec(field) and not isinstance(field, type) for field in vars(value).values())


def is_named_tuple(kind: type) -> bool:
    """Is it a class of tuples with names for the items, and nothing more?"""
    if not issubclass(kind, tuple) or not hasattr(kind, "_fields") or kind.__dictoffset__:
        return False
    return all(getattr(kind, name) is getattr(tuple, name) for name in ("__getitem__", "__len__", "__iter__"))


def _is_record(value: object) -> bool:
    """Is it an instance of a dataclass that has its fields in its dictionary?"""
    kind = type(value)
    return dataclasses.is_dataclass(kind) and kind.__dictoffset__ != 0 and kind.__getattribute__ is object.__getattribute__


def part_of(spec: object, name: str, make_array: ArrayMaker) -> Part:
    """A spec as the engine takes it."""
    if isinstance(spec, Const):
        return Fixed(spec.value)
    if isinstance(spec, Refined) and spec.told is None:
        raise SpecError(f"hovis.Refined({spec.cls.__name__}, {spec.facts!r}) can't be told of an argument: it needs a function that gives the facts of a value")
    if isinstance(spec, AbstractValue):
        return Leaf(Param(spec, None, name))
    if isinstance(spec, Array):
        dims: tuple[Operand, ...] = tuple(Const(d if isinstance(d, int) else None) for d in spec.shape)
        return Leaf(Param(_array(spec, make_array), dims, name))
    if isinstance(spec, DType):
        raise SpecError(f"{spec!r} needs a shape: {spec!r}[3, :], {spec!r}[()]; the class of a scalar is numpy.{spec!r}")
    if isinstance(spec, Promotable):
        return Leaf(Param(Type(spec.cls), None, name), promotable=True)
    if isinstance(spec, Empty):
        return Structure(spec.kind.__name__, spec.kind, (), (), Param(Type(spec.kind), None, name))
    if isinstance(spec, OneOf):
        kind: AbstractValue = Type(type(spec.values[0]))
        for value in spec.values[1:]:
            kind = join(kind, Type(type(value)))
        return Leaf(Param(kind, None, name), choices=spec.values)
    if isinstance(spec, type):
        return Leaf(Param(Type(spec), None, name))
    if isinstance(spec, Instance):
        parts = tuple(part_of(s, f"{name}_{k}", make_array) for k, s in spec.fields.items())
        return Structure("instance", spec.cls, tuple(spec.fields), parts, Param(Type(spec.cls), None, name))
    if is_spec(spec):
        return _structure(spec, name, make_array)
    return Fixed(spec)


def _array(spec: Array, make_array: ArrayMaker) -> ArrayType:
    try:
        return make_array(spec.dtype, len(spec.shape), spec.layout)
    except TypeError as error:
        raise SpecError(f"{spec!r}: {error}") from None


def _structure(spec: Anything, name: str, make_array: ArrayMaker) -> Part:
    kind = type(spec)
    whole = Param(Type(kind), None, name)
    if _is_record(spec):
        fields = vars(spec)
        parts = tuple(Fixed(s) if isinstance(s, type) else part_of(s, f"{name}_{k}", make_array) for k, s in fields.items())
        return Structure("instance", kind, tuple(fields), parts, whole)
    if kind is dict:
        parts = tuple(part_of(s, f"{name}_{k}", make_array) for k, s in spec.items())
        return Structure("dict", dict, tuple(spec), parts, whole)
    parts = tuple(part_of(s, f"{name}_{k}", make_array) for k, s in enumerate(spec))
    return Structure("list" if kind is list else "tuple", kind, (), parts, whole)


__all__ = ["Any", "Array", "Bool", "Bytes", "Complex", "DType", "Float", "Instance", "Int", "NoneType", "OneOf", "Str", "const", "is_spec", "part_of"]
