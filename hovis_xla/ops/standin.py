"""Functions of NumPy that are written in NumPy: a row runs their Python code on stand-ins for arrays.

    @model(np.ediff1d)
    def ediff1d(a):
        return a[1:] - a[:-1]

While lowering, shapes and dtypes are known and values are not.  Therefore such a function is plain NumPy code on :class:`StandIn`
objects: each operation on one is lowered by its own row, with NumPy's rules of dtypes, checks of indices, and treatment of views.
A stand-in has no value to inspect: code that needs one raises NotLowerable.
"""

import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy

from hovis.ir import operations
from hovis.ir.model import Op
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import ARRAY, BOOL, PYTHON, SCALAR, Known, NotLowerable, Num, NumberUnknown, Operand, ShapeUnknown, Struct, Val, num_of_value
from hovis_xla.ops.scalar.arithmetic import any_of
from hovis_xla.ops.scalar.python_numbers import L, Row

#: NumPy for models, untyped: its functions return stand-ins, which NumPy's static types do not cover.
np: Final[Any] = numpy

#: Arrays that a model computes while lowering become constants of the program up to this many bytes.
MOST_BYTES: Final = 1 << 22


class StandIn:
    """A number or an array of the program that is being lowered."""

    __slots__ = ("low", "val")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, low: L, val: Val) -> None:
        self.low = low
        self.val = val

    @property
    def shape(self) -> tuple[int, ...]:
        return self.val.num.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.tensor.size

    @property
    def dtype(self) -> "numpy.dtype[Any]":
        return self.val.num.dtype

    @property
    def tensor(self) -> T:
        return tensor(self.val)

    @property
    def number(self) -> type | None:
        """The class bool, int, float or complex of a Python number; None for anything else."""
        return self.val.num.python

    def call(self, fn: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Emit ``fn(*args)`` in the program and return its result."""
        return called(self.low, fn, args, named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("T", "real", "imag"):
            return self.call(getattr, self, name)
        method = getattr(np.ndarray if self.val.num.kind == ARRAY else self.dtype.type, name)
        return lambda *args, **named: self.call(method, self, *args, **named)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator["StandIn"]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        return self.call(operator.getitem, self, index)

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        return called(self.low, ufunc if method == "__call__" else getattr(ufunc, method), inputs, named)

    def __array_function__(self, fn: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        return called(self.low, fn, args, kwargs)

    def _unseen(self, *args: Any) -> Any:
        raise (NumberUnknown if self.number is int else NotLowerable)("a value is needed while compiling but is known only at run time")

    __bool__ = __int__ = __float__ = __complex__ = __array__ = _unseen

    def __index__(self) -> int:
        if self.shape or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        raise ShapeUnknown("a shape depends on a number that is known only at run time (jit(..., static=...) makes it known)")

    def refuse(self) -> None:
        """Bail out where this boolean (or an element of it) holds: Python does the call again, and raises or handles the case."""
        self.low.bail_if(any_of(builder.convert(self.tensor, BOOL)))


def _operator(fn: Callable[..., Any], swapped: bool = False) -> Callable[..., Any]:
    if swapped:
        return lambda self, other: self.call(fn, other, self)
    return lambda self, *others: self.call(fn, self, *others)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift", "matmul"):
    _fn = getattr(operator, _name)
    setattr(StandIn, f"__{_name.rstrip('_')}__", _operator(_fn))
    setattr(StandIn, f"__r{_name.rstrip('_')}__", _operator(_fn, swapped=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert"):
    setattr(StandIn, f"__{_name}__", _operator(getattr(operator, _name)))


# ------------------------------------------------------------------------------------------------- conversions


def value_of(low: L, operand: Operand) -> Any:
    """Convert an operand to the value that a model takes."""
    if isinstance(operand, Val):
        if operand.num.kind not in (ARRAY, SCALAR, PYTHON):
            raise NotLowerable("a number that may be Python's or NumPy's")
        return StandIn(low, operand)
    if isinstance(operand, Known):
        if type(operand.value) is np.ndarray and num_of_value(operand.value) is not None:
            return StandIn(low, low.val(operand))
        return operand.value
    if isinstance(operand, Struct):
        parts = [value_of(low, p) for p in operand.parts]
        if operand.callee is operations.make_tuple:
            return tuple(parts)
        if operand.callee is operations.make_list:
            return parts
        if operand.callee is slice:
            return slice(*parts)
    raise NotLowerable("a container as an argument of a NumPy function")


def operand_of(low: L, value: Any) -> Operand:
    """Convert the result of a model to an operand."""
    if isinstance(value, StandIn):
        return value.val
    if type(value) in (tuple, list, slice):
        items = [value.start, value.stop, value.step] if type(value) is slice else value
        parts = [operand_of(low, v) for v in items]
        if type(value) is not list and all(isinstance(p, Known) for p in parts):
            return Known(value)
        callee: Any = {tuple: operations.make_tuple, list: operations.make_list, slice: slice}[type(value)]
        return Struct(callee, tuple(parts), Op(callee, ()))
    if isinstance(value, np.ndarray):
        if value.nbytes > MOST_BYTES:
            raise NotLowerable("a constant array of megabytes")
        return Val(Num(ARRAY, value.dtype, value.shape), builder.constant(value).ir)
    return Known(value)


def called(low: L, fn: Callable[..., Any], args: Any, named: Any) -> Any:
    given = {name: operand_of(low, v) for name, v in named.items() if v is not np._NoValue}
    return value_of(low, low.call(fn, [operand_of(low, a) for a in args], given))


#: Function → its model.
MODELS: Final[dict[Any, Row]] = {}


def model(*fns: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: register the function below, which runs on stand-ins, as the lowering of ``fns``."""

    def register(written: Callable[..., Any]) -> Callable[..., Any]:
        assert MODELS.keys().isdisjoint(fns), "one of two models would be lost"
        MODELS.update(dict.fromkeys(fns, row_of(written)))
        return written

    return register


def row_of(written: Callable[..., Any]) -> Row:
    signature = inspect.signature(written)

    def row(low: L, *args: Operand, **named: Operand) -> Operand | None:
        try:
            signature.bind(*args, **named)
        except TypeError:
            return None
        given = [value_of(low, a) for a in args]
        options = {name: value_of(low, v) for name, v in named.items()}
        try:
            return operand_of(low, written(*given, **options))
        except (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError, AttributeError) as error:
            raise NotLowerable(f"{getattr(written, '__name__', 'a function')}: {error}") from error

    return row


# ------------------------------------------------------------------------------------------------- for models


def standing(*values: Any) -> StandIn:
    """Return the first stand-in among the values (in tuples and lists, too), for access to the program."""
    for value in values:
        if isinstance(value, StandIn):
            return value
        if isinstance(value, tuple | list):
            for item in value:
                if isinstance(item, StandIn):
                    return item
    raise NotLowerable("a call of NumPy on known values only")


def is_array(x: Any) -> bool:
    return isinstance(x, StandIn) and x.val.num.kind == ARRAY


def is_numpy(x: Any) -> bool:
    """Is x an array or a NumPy scalar of the program?"""
    return isinstance(x, StandIn) and x.val.num.kind != PYTHON


def wrap(low: L, t: T) -> StandIn:
    """Wrap a computed tensor: as an array, or as a scalar if it has no dimensions."""
    return StandIn(low, Val(Num(ARRAY if t.shape else SCALAR, t.dtype, t.shape), t.ir))


def zeros(x: StandIn, shape: Any, dtype: Any) -> StandIn:
    """Emit ``np.zeros`` in the program (a large one does not become a constant)."""
    found: StandIn = x.call(np.zeros, shape, dtype)
    return found


def numbers(x: StandIn, count: int) -> StandIn:
    """Emit ``np.arange(count)`` in the program."""
    found: StandIn = x.call(np.arange, count)
    return found


def as_python(truth: StandIn) -> StandIn:
    """``bool(truth)``: a Python bool in the program."""
    return StandIn(truth.low, Val(Num(PYTHON, BOOL), builder.convert(builder.reshape(truth.tensor, ()), BOOL).ir))


def arrayed(x: Any, low: Any = None) -> Any:
    """``np.asarray(x)``."""
    if isinstance(x, StandIn):
        return x if is_array(x) else x.call(np.asarray, x)
    return standing(x, low).call(np.asarray, x)


def axis_of(axis: Any, rank: int) -> int:
    """Return an axis counted from the front; ValueError if it is out of bounds."""
    found = operator.index(axis)
    if not -rank <= found < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    return found % rank


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Return one axis or several, counted from the front; None means all of them."""
    if axis is None:
        return tuple(range(rank))
    return tuple(axis_of(a, rank) for a in (axis if isinstance(axis, tuple | list) else (axis,)))


def cut(x: Any, axis: int, *bounds: int | None) -> Any:
    """``x[:, start:stop:step]`` along one axis."""
    return x[(slice(None),) * axis + (slice(*bounds),)]


def at(x: Any, axis: int, k: int) -> Any:
    """``x[:, k]`` along one axis."""
    return x[(slice(None),) * axis + (k,)]
