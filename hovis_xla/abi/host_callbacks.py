"""Calls that XLA has no operation for, done by NumPy itself while the compiled program waits.

The way out for pure functions without a row in ``ops``, or whose row says "not for these": the program calls the host
with the operands, and takes what the very function gives.  Its result has to be made of numbers and arrays whose dtypes
and shapes are known beforehand; what they are is asked of the function itself, on stand-ins of the same dtypes and
shapes (``result_of``).  At run time they are looked at again: a result of another kind, and any exception, makes the
program give up, and Python does the call again.
"""

import math
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import numpy as np

from hovis.base import interrupts
from hovis.base.warning_filters import warnings_are
from hovis.front.kernels.primitives import Kept
from hovis.ir import operations
from hovis.ir.model import Effect, Op
from hovis.lattice import AbstractValue, Partial, Union
from hovis.lattice.inspection import bound_to, is_a
from hovis.library.numpy.rules.ufuncs import OPERATORS
from hovis_xla.abi.bailout import to_python
from hovis_xla.abi.primitive_results import MOST_PARTS, Tree, promised
from hovis_xla.analysis.primitive_effects import is_alone
from hovis_xla.analysis.stored_arrays import goes_by_memory
from hovis_xla.emit import custom_calls
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import BOOL, EITHER, Known, NotLowerable, Num, Operand, Struct, Val, named_tuple, num_of_value

#: Lowering; it has ``callbacks``, ``failures``, ``hosted``, ``bail_if`` and ``val``.
L = Any

#: A function is asked on stand-ins of at most so many elements.
MOST_ELEMENTS: Final = 1 << 22

#: Dimensions above this are made smaller where a function is asked.
_SMALL: Final = 6

#: What may stand in the effects of a pure call.
_PURE: Final = Effect.READS | Effect.RAISES
#: What must not, where a primitive is called that writes to nothing but what it makes.
_DOING: Final = Effect.OPAQUE | Effect.IO | Effect.RANDOM | Effect.CLOCK

#: These look at where an array lies, not at what is in it.
_OF_MEMORY: Final = frozenset({np.may_share_memory, np.shares_memory, np.isfortran})

_CONTAINERS: Final[dict[Callable[..., object], Callable[..., Any]]] = {
    operations.make_tuple: lambda *parts: tuple(parts),
    operations.make_list: lambda *parts: list(parts),
    slice: slice,
}
_BUILDERS: Final[dict[type, Callable[..., object]]] = {tuple: operations.make_tuple, list: operations.make_list}


class HostCall:
    """A callback that calls ``fn`` with operands put in their places, and gives a truth (failed?) and the parts of the result."""

    def __init__(self, fn: Callable[..., Any], args: Tree, names: Sequence[str], nums: Sequence[Num], tree: Tree, results: Sequence[Num]) -> None:
        self.fn = fn
        self.args = args
        self.names = tuple(names)
        self.nums = tuple(nums)
        self.tree = tree
        self.results = tuple(results)
        self.failures: list[BaseException] = []

    def __call__(self, *values: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        try:
            given = [_given(num, value) for num, value in zip(self.nums, values, strict=True)]
            leaves: list[np.ndarray[Any, Any]] = []
            fits = take(self.tree, apply(self.fn, self.args, self.names, given), self.results, leaves)
        except BaseException as error:
            if not isinstance(error, Exception) or interrupts.is_from_outside(error):
                self.failures.append(error)
                raise
            fits = False  # Python will raise it
        if not fits:
            leaves = [np.zeros(r.shape, r.dtype) for r in self.results]
        return (np.asarray(not fits), *leaves)


def take(tree: Tree, value: Any, results: Sequence[Num], leaves: list[np.ndarray[Any, Any]]) -> bool:
    """Collect the parts of a result; False if it is not what was promised."""
    if tree[0] == "known":
        return value is tree[1]
    if tree[0] == "build":
        return type(value) is tree[1] and len(value) == len(tree[2]) and all(take(t, v, results, leaves) for t, v in zip(tree[2], value, strict=True))
    if num_of_value(value) != results[tree[1]]:
        return False
    leaves.append(np.asarray(value, results[tree[1]].dtype, order="C"))
    return True


def _given(num: Num, value: np.ndarray[Any, Any]) -> Any:
    """An operand as the function would have got it; arrays are read-only and live as long as the call."""
    return to_python(num, value if num.kind == "array" else np.array(value))


def apply(fn: Callable[..., Any], args: Tree, names: Sequence[str], given: Sequence[Any]) -> Any:
    """Call fn; the last of args go to names."""
    values = [_place(a, given) for a in args]
    plain = len(values) - len(names)
    return fn(*values[:plain], **dict(zip(names, values[plain:], strict=True)))


def _place(tree: Tree, given: Sequence[Any]) -> Any:
    if tree[0] == "leaf":
        return given[tree[1]]
    return tree[1] if tree[0] == "known" else _CONTAINERS[tree[1]](*(_place(p, given) for p in tree[2]))


# ------------------------------------------------------------------------------------------------- what the result is


def result_of(
    fn: Callable[..., Any], args: Tree, names: Sequence[str], nums: Sequence[Num], general: bool = False
) -> tuple[Tree, list[Num]] | None:
    """What fn gives for operands like these, by calling it on stand-ins: small ones, if the dimensions of the result can be
    told from theirs, else ones of full size.  general: of values with no pattern, whatever it gives for others."""
    by_size = [_asked(fn, args, names, [_shrunk(n, small) for n in nums], general) for small in _small_sizes(nums)]
    if len(by_size) == 2 and None not in by_size:
        (tree, a), (other, b) = cast(Any, by_size)
        grown = [_grown(x, y, _small_sizes(nums)) for x, y in zip(a, b, strict=True)] if tree == other and len(a) == len(b) else [None]
        if None not in grown:
            return tree, cast(list[Num], grown)
    return _asked(fn, args, names, nums, general) if sum(_size(n) for n in nums) <= MOST_ELEMENTS else None


def _small_sizes(nums: Sequence[Num]) -> list[dict[int, int]]:
    """Two ways to make large dimensions small, in the same order; none if they are small."""
    large = sorted({d for n in nums for d in n.shape if d > _SMALL})
    return [{d: _SMALL + 1 + step * k for k, d in enumerate(large)} for step in (2, 3)] if large else []


def _shrunk(num: Num, small: dict[int, int]) -> Num:
    return Num(num.kind, num.dtype, tuple(small.get(d, d) for d in num.shape))


def _grown(a: Num, b: Num, sizes: list[dict[int, int]]) -> Num | None:
    """The real result, from those for two ways of making dimensions small."""
    real = {(sizes[0][d], sizes[1][d]): d for d in sizes[0]}
    shape: list[int] = []
    if (a.kind, a.dtype, len(a.shape)) != (b.kind, b.dtype, len(b.shape)):
        return None
    for x, y in zip(a.shape, b.shape, strict=True):
        found = real.get((x, y), x if x == y and x <= _SMALL else None)
        if found is None:
            return None
        shape.append(found)
    return Num(a.kind, a.dtype, tuple(shape))


def _asked(fn: Callable[..., Any], args: Tree, names: Sequence[str], nums: Sequence[Num], general: bool) -> tuple[Tree, list[Num]] | None:
    """What fn gives for two sets of stand-ins.

    Nothing, if the two results differ in kind (a shape that depends on values), if they may be views of an operand, or if they
    are not made of numbers and arrays.
    """
    found: list[tuple[Tree, list[Num]]] = []
    for sample in (_scattered, _ones, _unit):
        if found and (general or sample is _unit):
            break  # unit matrices are for those that want a certain kind
        given = [sample(n) for n in nums]
        leaves: list[Any] = []
        try:
            with np.errstate(all="ignore"), warnings_are("ignore"):
                tree = _tree(apply(fn, args, names, given), leaves)
        except Exception as error:
            interrupts.let_through(error)
            continue  # perhaps it raises for these values only
        if tree is None or len(leaves) > MOST_PARTS or _share(leaves, given):
            return None
        found.append((tree, [cast(Num, num_of_value(v)) for v in leaves]))
    return found[0] if found and found.count(found[0]) == len(found) else None


def _share(leaves: Sequence[Any], given: Sequence[Any]) -> bool:
    """May arrays of a result be views of the operands, or of each other?"""
    arrays = [v for v in leaves if isinstance(v, np.ndarray)]
    others = [[*(g for g in given if isinstance(g, np.ndarray)), *arrays[:k]] for k in range(len(arrays))]
    return any(np.may_share_memory(v, w) for v, rest in zip(arrays, others, strict=True) for w in rest)


def _size(num: Num) -> int:
    return math.prod(num.shape)


def _ones(num: Num) -> Any:
    return _given(num, np.ones(num.shape, num.dtype))


def _scattered(num: Num) -> Any:
    """Values that differ, none of them integral if it can be, with no pattern in them; truths of both kinds."""
    values = (np.sin(np.arange(1, _size(num) + 1) * 12.9898) * 43758.5453 % 5).reshape(num.shape)
    return _given(num, np.arange(values.size).reshape(num.shape) % 2 == 1 if num.dtype == BOOL else values.astype(num.dtype))


def _unit(num: Num) -> Any:
    """Unit matrices."""
    return _given(num, np.broadcast_to(np.eye(num.shape[-2], num.shape[-1]), num.shape).astype(num.dtype)) if len(num.shape) > 1 else _ones(num)


def _tree(value: Any, leaves: list[Any]) -> Tree | None:
    if value is None:
        return "known", None
    if isinstance(value, tuple | list):
        parts = [_tree(v, leaves) for v in value]
        named = isinstance(value, tuple) and hasattr(type(value), "_fields")
        return None if None in parts or not (type(value) in _BUILDERS or named) else ("build", type(value), tuple(parts))
    if num_of_value(value) is None:
        return None
    leaves.append(value)
    return "leaf", len(leaves) - 1


class Lent:
    """A primitive of the user's own, for the program to call: with arrays that are copies, for whoever keeps one, and read-only.

    Arrays and tuples that it gives have to be its own: where others hold one, too, the program gives up, and Python says which one it is.
    """

    def __init__(self, fn: Callable[..., Any], tree: Tree) -> None:
        self.fn = fn
        self.tree = tree

    def __call__(self, *args: Any) -> Any:
        found = [self.fn(*map(_copied, args))]
        if not is_own(found, 0, self.tree):
            raise ValueError("an object of somebody else's")
        return found[0]


#: How many hold what is in a list or in a tuple alone, as ``sys.getrefcount`` counts.
HELD: Final = 2


def is_own(holder: Any, at: int, tree: Tree) -> bool:
    """Is this part of a result new, with all that is in it?  No variable may hold it while those that do are counted."""
    if tree[0] == "known" or not isinstance(holder[at], np.ndarray | tuple):
        return True
    if sys.getrefcount(holder[at]) > HELD:
        return False
    part = holder[at]
    if isinstance(part, np.ndarray):
        return part.base is None
    return tree[0] == "build" and len(part) == len(tree[2]) and all(is_own(part, k, t) for k, t in enumerate(tree[2]))


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
    return value


# ------------------------------------------------------------------------------------------------- lowering


def _varies(kind: AbstractValue) -> bool:
    """May it be of one type or another, as it happens?"""
    return isinstance(kind, Union) or (isinstance(kind, Partial) and any(map(_varies, kind.parts)))


def is_hostable(callee: Any, op: Op | None) -> bool:
    """May the host do this call at any time, any number of times, with copies of its arguments?"""
    if op is None or _varies(op.type):
        return False
    if isinstance(callee, Kept):
        return not op.effect & _DOING and is_alone(op)
    if op.effect & ~_PURE:
        return False
    try:
        if callee in _OF_MEMORY or goes_by_memory(op):
            return False
        if callee in OPERATORS or callee is operator.getitem:
            return True
    except TypeError:
        return False
    if isinstance(callee, np.ufunc) or isinstance(bound_to(callee), np.ufunc):
        return True
    module = getattr(callee, "__module__", None) or getattr(getattr(callee, "__objclass__", None), "__module__", None) or ""
    return module.split(".")[0] not in ("", "hovis", "hovis_xla", "builtins", "operator", "_operator")


def attempt(low: L, callee: Any, args: list[Operand], kwargs: dict[str, Operand], op: Op | None, general: bool = False) -> Operand | None:
    """The call as one that the host does, if it can be."""
    if not is_hostable(callee, op):
        return None
    values: list[Val] = []
    trees = [_operand(low, a, values) for a in (*args, *kwargs.values())]
    if None in trees or not any(v.num.kind != "python" or isinstance(callee, Kept) for v in values):
        return None
    known = tuple(trees)
    if isinstance(callee, Kept):
        told = promised(callee, args, cast(Op, op)) if not kwargs else None
        return None if told is None else call(low, Lent(callee, told[0]), known, (), values, *told)
    found = result_of(callee, known, tuple(kwargs), [v.num for v in values], general)
    return None if found is None else call(low, callee, known, tuple(kwargs), values, *found)


def _operand(low: L, operand: Operand, values: list[Val]) -> Tree | None:
    """Where an operand stands among the arguments."""
    if isinstance(operand, Struct):
        parts = [_operand(low, p, values) for p in operand.parts]
        return None if None in parts or operand.callee not in _CONTAINERS else ("build", operand.callee, tuple(parts))
    if isinstance(operand, Known) and not is_a(operand.value, np.ndarray):
        return "known", operand.value
    if isinstance(operand, Known | Val):
        value = low.val(operand)
        if value.num.kind != EITHER:
            values.append(value)
            return "leaf", len(values) - 1
    return None


def call(low: L, fn: Callable[..., Any], args: Tree, names: Sequence[str], values: Sequence[Val], tree: Tree, results: Sequence[Num]) -> Operand:
    """Emit a call by the host whose result is known to be this."""
    callback = HostCall(fn, args, names, [v.num for v in values], tree, results)
    callback.failures = low.failures
    low.callbacks.append(callback)
    flag, *made = custom_calls.host_call([tensor(v) for v in values], len(low.callbacks) - 1, [(BOOL, ()), *((r.dtype, r.shape) for r in results)])
    low.hosted.append(low.op)
    low.bail_if(flag)
    return rebuilt(tree, [Val(num, t.ir) for num, t in zip(results, made, strict=True)])


def rebuilt(tree: Tree, leaves: Sequence[Val]) -> Operand:
    if tree[0] == "leaf":
        return leaves[tree[1]]
    if tree[0] == "known":
        return Known(tree[1])
    return Struct(_BUILDERS.get(tree[1]) or named_tuple(tree[1]), tuple(rebuilt(p, leaves) for p in tree[2]))


def only_hosted(worked: int, hosted: Sequence[Any]) -> None:
    """A program that does nothing itself costs more than Python."""
    if hosted and not worked:
        raise NotLowerable("all of its work is done by functions that XLA does not have", hosted[0].location if hosted[0] is not None else None)


__all__ = ["HostCall", "T", "attempt", "call", "only_hosted", "result_of"]
