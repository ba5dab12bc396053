"""Specs: how a user describes an argument (docs/semantics.md).

    Int Float Bool Complex Str Bytes NoneType, or a class     an unknown value of exactly this class
    Array(dtype, shape), float64[3, :]                        an unknown ndarray
    const(v), or any bare value                               a known value
    [Int, 3], {"w": Float, "act": "relu"}, Instance(C, …)     a container whose structure is known
    Point(Int, 3)                                             the same, of a named tuple or a dataclass
    OneOf(1, 2, 4)                                            one of a few values
    Int | None, float64[3] | Float                            one of several kinds
    int | None, list[int], Literal["a"]                       type hints (hovis/arguments/type_hints.py)
    Any                                                       nothing is known

``spec_parts`` converts them to the parts that the engine takes.
"""

from operator import index
from typing import Any as Anything
from typing import Final

from hovis.errors import SpecError, said
from hovis.lattice import ANY, Const, Either, Type

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

    value   any object; it is never copied.  Raises nothing; errors are raised where the spec is used.

    >>> const(3)
    const(3)
    >>> from hovis import return_type
    >>> return_type(lambda cls, x: cls(x), const(int), Float)
    Int
    """
    return Const(value)


class Spec:
    """Base class of the specs that are not elements of the lattice; defines their ``|``."""

    __slots__ = ()
    __array_ufunc__ = None

    def __or__(self, other: object) -> Either:
        return Either((self, other))

    def __ror__(self, other: object) -> Either:
        return Either((other, self))


class Array(Spec):
    """The spec of an unknown ``numpy.ndarray``: a dtype and a shape.

    dtype    the name of a NumPy dtype, or anything that ``numpy.dtype`` accepts
    shape    a tuple of dimensions, each an int, or None or ``:`` if it is unknown, or a name (str), which stands for the same number everywhere
    layout   the memory layout: "C" (row-major), "F" (column-major) or "" (unknown)

    Raises SpecError for negative dimensions and for other layouts; `trace` and the like raise it if the dtype is invalid.

    >>> Array("float64", (3, None))
    float64[3, :]
    """

    __slots__ = ("dtype", "layout", "shape")

    def __init__(self, dtype: Anything, shape: Anything = (), layout: str = "") -> None:
        self.dtype = dtype
        self.shape = tuple(map(_dimension, shape if isinstance(shape, tuple | list) else (shape,)))
        self.layout = layout
        if type(layout) is not str or layout not in ("", "C", "F"):
            raise SpecError(f'the layout of an array is "C", "F" or "" (unknown), not {said(layout)}')

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
        raise SpecError(f"a dimension must be an int, a name, or None (or `:`) if it is unknown; not {said(dim)}")
    return size


class DType(Spec):
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


class OneOf(Spec):
    """The spec of a value that is one of a few known values or, with specs among them, of one of several kinds.

    values   constants or specs, at least one (else SpecError).  A class is a value here, like any other object:
             ``OneOf(int, float)`` is one of these two classes.

    >>> OneOf(1, 2), OneOf([Int, Int], None)
    (OneOf(1, 2), OneOf([Int, Int], None))
    """

    __slots__ = ("values",)

    def __init__(self, *values: object) -> None:
        if not values:
            raise SpecError("OneOf takes at least one value")
        self.values = values

    def __repr__(self) -> str:
        return f"OneOf({', '.join(map(repr, self.values))})"


class Instance(Spec):
    """The spec of an instance of exactly this class, of which some attributes are known by specs.

    cls      the class; SpecError if it is not a class
    fields   attributes by name: a spec, or the value itself.  An argument that has other attributes does not fit; the
             original is called with it.

    >>> from hovis import trace
    >>> class Point: pass
    >>> trace(lambda p: p.x + 1, Instance(Point, x=Int)).type
    Int
    """

    __slots__ = ("cls", "fields")

    def __init__(self, cls: type, /, **fields: object) -> None:
        if not isinstance(cls, type):
            raise SpecError(f"Instance takes a class, then specs of attributes by name; not {said(cls)}")
        self.cls = cls
        self.fields = fields

    def __repr__(self) -> str:
        return f"Instance({self.cls.__qualname__}, {', '.join(f'{k}={v!r}' for k, v in self.fields.items())})"


class Empty:
    """The spec of an empty container of class ``kind``, as cache keys and hints use it; ``[]`` and ``{}`` themselves are constants."""

    def __init__(self, kind: type) -> None:
        self.kind = kind


class Promotable:
    """The spec of an unknown number whose value the tracer asks for (by Promote) if a decision depends on it; used by ``jit``."""

    __slots__ = ("cls",)

    def __init__(self, cls: type) -> None:
        self.cls = cls


def is_named_tuple(kind: type) -> bool:
    """Is kind a plain named tuple class: a tuple with names for its items, and nothing more?"""
    if not issubclass(kind, tuple) or not hasattr(kind, "_fields") or kind.__dictoffset__:
        return False
    return all(getattr(kind, name) is getattr(tuple, name) for name in ("__getitem__", "__len__", "__iter__"))


__all__ = ["Any", "Array", "Bool", "Bytes", "Complex", "DType", "Float", "Instance", "Int", "NoneType", "OneOf", "Str", "const", "is_named_tuple"]
