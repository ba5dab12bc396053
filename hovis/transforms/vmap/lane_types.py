"""Types of lanes: the array that holds a value in all lanes, and the kinds of numbers that it may hold."""

from typing import Any, Final

from hovis.ir.model import Effect, Op, Operand, Param
from hovis.lattice import Array, Const, Type, Union
from hovis.lattice.constants import constant_key
from hovis.library.standard import STANDARD, make_array
from hovis.transforms.vmap.divergence import Diverging

PYTHON: Final = tuple(map(Type, (float, int, bool, complex)))
_DTYPES: Final[dict[type, str]] = {float: "float64", int: "int64", bool: "bool", complex: "complex128"}


def one_kind(kind: Union) -> Type | None:
    """Return the type of a number that may be Python's or NumPy's, if all of its types have one dtype in an array, else None."""
    members = [one for one in kind.members if isinstance(one, Type) and not isinstance(one, Array)]
    dtypes = {_DTYPES.get(one.cls, one.cls.__name__ if one.cls.__module__ == "numpy" else None) for one in members}
    return members[0] if len(members) == len(kind.members) and len(dtypes) == 1 and None not in dtypes else None


def may_be_of_python(kind: Any) -> bool:
    """May a value of this type be a Python number?"""
    return any(one in PYTHON for one in (kind.members if isinstance(kind, Union) else (kind,)))


def form(value: Operand) -> Any:
    """Return a value that is built from constants as a key that can be compared; raise Diverging if it is built from anything else."""
    if isinstance(value, Const):
        return constant_key(value.value)
    if isinstance(value, Op) and value.effect == Effect.PURE and not value.kwargs:
        return value.callee, tuple(map(form, value.args))
    raise Diverging("the structure of what a function gives is not known")


def array_of(value: Param | Op, lanes: int) -> tuple[Array, tuple[Operand, ...]]:
    """Return the type and the dims of the array that holds a value in all lanes; raise Diverging if it is no number and no array."""
    kind = value.type
    if isinstance(kind, Union) and (one := one_kind(kind)) is not None:
        kind = one
    if isinstance(kind, Array):
        dims = value.dims or (Const(None),) * kind.rank
        return make_array(kind.dtype, kind.rank + 1), (Const(lanes), *[d if isinstance(d, Const) else Const(None) for d in dims])
    dtype = _DTYPES.get(kind.cls, kind.cls.__name__ if kind.cls.__module__ == "numpy" else "") if isinstance(kind, Type) else ""
    if not dtype:
        raise Diverging(f"{value.name or 'a value'} differs from lane to lane, and is no number and no array: {kind}")
    return make_array(dtype, 1), (Const(lanes),)


def rank_of(operand: Any) -> int:
    """Return the number of axes of operand; 0 if it is no array."""
    kind = STANDARD.of_value(operand.value) if isinstance(operand, Const) else operand.type
    return kind.rank if isinstance(kind, Array) else 0


def is_number(kind: Any) -> bool:
    return isinstance(kind, Array) or (isinstance(kind, Type) and (kind.cls in _DTYPES or kind.cls.__module__ == "numpy"))


def parts_of(value: Any) -> Any:
    """Return the items of a tuple."""
    return value.args if isinstance(value, Op) else tuple([Const(item) for item in value.value])


def is_none(operand: Operand) -> bool:
    """Is operand the constant None?"""
    return isinstance(operand, Const) and operand.value is None
