"""Calls for which XLA has no operation, done on the host by NumPy while the compiled program waits.

This is the fallback for pure functions without a row in ``ops``, or whose row rejects these operands: the program calls the host
with the operands, and uses the result of the original function.  The result has to consist of numbers and arrays whose dtypes
and shapes are known beforehand; they are found by calling the function itself on stand-ins of the same dtypes and
shapes (``result_of``).  At run time they are checked: if the result is of another kind, or the function raises any exception, the
program gives up, and Python does the call again.
"""

import itertools
import math
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from hovis_xla.abi.callback import Callback, Tree, arguments, to_python
from hovis_xla.abi.primitive_results import MOST_PARTS, promised
from hovis_xla.analysis.primitive_effects import is_alone
from hovis_xla.analysis.stored_arrays import goes_by_memory
from hovis_xla.emit import custom_calls
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.values import BOOL, EITHER, Handle, Known, NotLowerable, Num, Operand, Raised, Struct, Val, named_tuple, num_of_value

#: Lowering; it has ``callbacks``, ``failures``, ``hosted``, ``bail_if`` and ``argument_tree``.
L = Any

#: A function is called on stand-ins of at most this many elements in all.
MOST_ELEMENTS: Final = 1 << 22

#: Larger dimensions are made smaller in stand-ins.
_SMALL: Final = 6

#: The effects that a pure call may have.
_PURE: Final = Effect.READS | Effect.RAISES
#: The effects that a primitive must not have, if it writes to nothing but objects that it has made.
_DOING: Final = Effect.OPAQUE | Effect.IO | Effect.RANDOM | Effect.CLOCK

#: Functions that depend on where an array is in memory, and not on its elements.
_OF_MEMORY: Final = frozenset({np.may_share_memory, np.shares_memory, np.isfortran})

#: Calls that build arguments.
_CONTAINERS: Final = frozenset({operations.make_tuple, operations.make_list, slice})
_BUILDERS: Final[dict[type, Callable[..., object]]] = {tuple: operations.make_tuple, list: operations.make_list}


@dataclass(eq=False)
class HostCall(Callback):
    """A callback that returns a flag (has it failed?) and the parts of the result, whose structure is ``tree``."""

    tree: Tree
    results: Sequence[Num]

    def __call__(self, *values: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        try:
            plain, named = self.arguments(values)
            leaves: list[np.ndarray[Any, Any]] = []
            fits = take(self.tree, self.fn(*plain, **named), self.results, leaves)
        except BaseException as error:
            if not isinstance(error, Exception) or interrupts.is_from_outside(error):
                self.failures.append(error)
                raise
            fits = False  # Python will raise it
        if not fits:
            leaves = [np.zeros(r.shape, r.dtype) for r in self.results]
        return (np.asarray(not fits), *leaves)


def take(tree: Tree, value: Any, results: Sequence[Num], leaves: list[np.ndarray[Any, Any]]) -> bool:
    """Collect the leaves of a result; return False if the result is not as ``tree`` and ``results`` promise."""
    if tree[0] == "known":
        return value is tree[1]
    if tree[0] == "build":
        return type(value) is tree[1] and len(value) == len(tree[2]) and all(take(t, v, results, leaves) for t, v in zip(tree[2], value, strict=True))
    if num_of_value(value) != results[tree[1]]:
        return False
    leaves.append(np.asarray(value, results[tree[1]].dtype, order="C"))
    return True


# ------------------------------------------------------------------------------------------------- types of the result


def result_of(
    fn: Callable[..., Any], args: Tree, names: Sequence[str], nums: Sequence[Num], general: bool = False
) -> tuple[Tree, list[Num]] | None:
    """Find the structure and the types of the result of ``fn`` by calling it on stand-ins: small ones, if the dimensions of the result can be
    derived from theirs, else ones of full size. Return None if they cannot be found. ``general``: ask for values without a pattern only,
    whatever the result is for others.
    """
    sizes = _small_sizes(nums)
    by_size = [_asked(fn, args, names, [replace(n, shape=tuple(small.get(d, d) for d in n.shape)) for n in nums], general) for small in sizes]
    if by_size and None not in by_size:
        (tree, a), (other, b) = cast(Any, by_size)
        grown = [_grown(x, y, sizes) for x, y in zip(a, b, strict=True)] if tree == other else [None]
        if None not in grown:
            return tree, cast(list[Num], grown)
    return _asked(fn, args, names, nums, general) if sum(math.prod(n.shape) for n in nums) <= MOST_ELEMENTS else None


def _small_sizes(nums: Sequence[Num]) -> list[dict[int, int]]:
    """Return two mappings of the large dimensions to small ones, in the same order; an empty list if all dimensions are small."""
    large = sorted({d for n in nums for d in n.shape if d > _SMALL})
    return [{d: _SMALL + 1 + step * k for k, d in enumerate(large)} for step in (2, 3)] if large else []


def _grown(a: Num, b: Num, sizes: list[dict[int, int]]) -> Num | None:
    """Compute the ``Num`` of the real result from the results for two sets of small dimensions; None if it cannot be derived."""
    real = {(d, d): d for d in range(_SMALL + 1)} | {(sizes[0][d], sizes[1][d]): d for d in sizes[0]}
    if (a.kind, a.dtype, len(a.shape)) != (b.kind, b.dtype, len(b.shape)):
        return None
    shape = [real.get(pair) for pair in zip(a.shape, b.shape, strict=True)]
    return None if None in shape else replace(a, shape=tuple(cast(list[int], shape)))


def _asked(fn: Callable[..., Any], args: Tree, names: Sequence[str], nums: Sequence[Num], general: bool) -> tuple[Tree, list[Num]] | None:
    """Find the structure and the types of the result of ``fn`` by calling it on two sets of stand-ins.

    Return None if the two results differ in kind (a shape that depends on values), if they may be views of an operand, or if they
    do not consist of numbers and arrays. Unit matrices are a third set, for functions that raise for both others.
    """
    found: list[tuple[Tree, list[Num]]] = []
    for sample in (_scattered, _ones, _unit):
        if found and (general or sample is _unit):
            break  # unit matrices are for functions that accept only certain matrices
        given = [sample(n) for n in nums]
        leaves: list[Any] = []
        try:
            with np.errstate(all="ignore"), warnings_are("ignore"):
                plain, named = arguments(args, names, given)
                tree = _tree(fn(*plain, **named), leaves)
        except Exception as error:
            interrupts.let_through(error)
            continue  # perhaps it raises for these values only
        if tree is None or len(leaves) > MOST_PARTS or _share(leaves, given):
            return None
        found.append((tree, [cast(Num, num_of_value(v)) for v in leaves]))
    return found[0] if found and found.count(found[0]) == len(found) else None


def _share(leaves: Sequence[Any], given: Sequence[Any]) -> bool:
    """May arrays of the result be views of the operands, or of each other?"""
    arrays = [v for v in leaves if isinstance(v, np.ndarray)]
    pairs = itertools.chain(itertools.product(arrays, given), itertools.combinations(arrays, 2))
    return any(itertools.starmap(np.may_share_memory, pairs))


def _ones(num: Num) -> Any:
    return to_python(num, np.ones(num.shape, num.dtype))


def _scattered(num: Num) -> Any:
    """Make distinct values without a pattern, not integral where the dtype allows it; bools of both values."""
    values = (np.sin(np.arange(1, math.prod(num.shape) + 1) * 12.9898) * 43758.5453 % 5).reshape(num.shape)
    return to_python(num, np.arange(values.size).reshape(num.shape) % 2 == 1 if num.dtype == BOOL else values.astype(num.dtype))


def _unit(num: Num) -> Any:
    """Make unit matrices."""
    return to_python(num, np.broadcast_to(np.eye(num.shape[-2], num.shape[-1]), num.shape).astype(num.dtype)) if len(num.shape) > 1 else _ones(num)


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


def lent(fn: Callable[..., Any], tree: Tree) -> Callable[..., Any]:
    """Return a user-defined primitive as the program calls it: with arrays that are read-only copies, because the primitive may keep them.

    Arrays and tuples in its result must not be referenced elsewhere: otherwise the program gives up, because only Python knows which object it is.
    """

    def call(*args: Any) -> Any:
        found = [fn(*map(_copied, args))]
        if not is_own(found, 0, tree):
            raise ValueError("the result of a call on the host contains an object that is referenced elsewhere")
        return found[0]

    return call


#: Result of ``sys.getrefcount`` for an object that is referenced by one list or tuple only.
HELD: Final = 2


def is_own(holder: Any, at: int, tree: Tree) -> bool:
    """Is this part of a result, with everything in it, new and not referenced elsewhere? No variable may hold it while its references are
    counted.
    """
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
    """Is the type, or the type of a part, a union?"""
    return isinstance(kind, Union) or (isinstance(kind, Partial) and any(map(_varies, kind.parts)))


def is_hostable(callee: Any, op: Op | None) -> bool:
    """May the host do this call at any time, any number of times, and with copies of its arguments?"""
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
    """Emit the call as one that the host does, or return None if it cannot be done there."""
    operands = [*args, *kwargs.values()]
    if not is_hostable(callee, op) or not all(map(_may_be_passed, operands)):
        return None
    values: list[Val] = []
    known = tuple(low.argument_tree(operand, values, callee, True) for operand in operands)
    if not any(v.num.kind != "python" or isinstance(callee, Kept) for v in values):
        return None
    if isinstance(callee, Kept):
        told = promised(callee, args, cast(Op, op)) if not kwargs else None
        return None if told is None else call(low, lent(callee, told[0]), known, (), values, *told)
    found = result_of(callee, known, tuple(kwargs), [v.num for v in values], general)
    return None if found is None else call(low, callee, known, tuple(kwargs), values, *found)


def _may_be_passed(operand: Operand) -> bool:
    """Can an operand be an argument of a call that the host may do at any time?"""
    if isinstance(operand, Struct):
        return operand.callee in _CONTAINERS and all(map(_may_be_passed, operand.parts))
    if isinstance(operand, Known):
        return not is_a(operand.value, Raised | Handle)
    return isinstance(operand, Val) and operand.num.kind != EITHER


def call(low: L, fn: Callable[..., Any], args: Tree, names: Sequence[str], values: Sequence[Val], tree: Tree, results: Sequence[Num]) -> Operand:
    """Emit a call by the host whose result has the structure ``tree`` and the leaves ``results``."""
    low.callbacks.append(HostCall(fn, args, names, [v.num for v in values], tree, results, failures=low.failures))
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
    """Raise ``NotLowerable`` if the host does all of the work: a program that does nothing itself costs more than Python."""
    if hosted and not worked:
        raise NotLowerable("all of its work is done by functions that XLA does not have", hosted[0].location if hosted[0] is not None else None)
