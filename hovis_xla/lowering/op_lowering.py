"""Lowering of calls: by the row of the callee in :data:`ROWS`, by constant folding, or by a call of the host, in program order if it has
effects.

Values carry exact types of their own (``values.Num``); the types that the engine inferred are only compared with them.  A callee
without a row, or an operand that is no number where one is needed, raises :class:`NotLowerable`.
"""

import functools
import inspect
import operator
import os
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from hovis.base import deadline, interrupts
from hovis.base.once import once
from hovis.ir import operations
from hovis.ir.model import Effect, Function, Op
from hovis.ir.model import Operand as IrOperand
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a
from hovis.library.numpy.adjoints.cotangents import scatter
from hovis.library.numpy.rules.aliasing import IN_PLACE, is_numpy
from hovis.library.numpy.types import array_like
from hovis.library.tables.lowerings import LOWERINGS
from hovis_xla.abi import host_callbacks
from hovis_xla.analysis import persistent_scalars
from hovis_xla.analysis.growable_lists import ItemsSeen
from hovis_xla.analysis.primitive_effects import ENVIRONMENT
from hovis_xla.analysis.side_effects import acts, makes_text
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import as_val, describe, join_nums, num_of, same_slot, tensor, unify
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import (
    ARRAY,
    BOOL,
    EITHER,
    INT32,
    PYTHON,
    SCALAR,
    Bound,
    Known,
    NotLowerable,
    Num,
    NumberUnknown,
    OneOf,
    Operand,
    Ragged,
    Raises,
    ShapeUnknown,
    Stored,
    Struct,
    Val,
    view_roots,
)
from hovis_xla.lowering.host_effects import Effects
from hovis_xla.lowering.operands import as_told, is_raised, name_of
from hovis_xla.ops import FOLDABLE, ROWS, VIEWS
from hovis_xla.ops.indexing import out_argument, views
from hovis_xla.ops.memory import growable_lists, list_memory
from hovis_xla.ops.ragged import ragged_arrays, ragged_creation
from hovis_xla.ops.scalar import exceptions, sequences
from hovis_xla.ops.standin import row_of
from hovis_xla.prepare.pad_function import clipped

#: Calls that build a container of the result.
BUILDERS: Final = frozenset({operations.make_tuple, operations.make_list, operations.make_dict, operations.make_set, operations.make_object, clipped})


class Calls(Effects):
    """The part of a lowering that dispatches on callees. Rows use its methods :meth:`bail_if` and :meth:`val`."""

    @abstractmethod
    def inline(self, function: Function, args: list[Operand]) -> Operand:
        """Inline a call of a residual Function and return its result."""

    # --------------------------------------------------------------------------------------------- ops

    def lower_op(self, op: Op) -> None:
        deadline.check()
        outer, self.op = self.op, op
        try:
            with builder.at(op.location):
                args = [self.operand(a) for a in op.args]
                result = self._result(op, args)
                as_told(op.type, result)
                self.scope.env[op] = self.placed(op, result, args)
                self.work.add(op, result, args, self.rounds)
        except NotLowerable as error:
            error.location = error.location or op.location
            raise
        except ItemsSeen:
            raise
        except Exception as error:
            interrupts.let_through(error)
            if os.environ.get("HOVIS_DEBUG"):
                raise
            raise NotLowerable(f"{name_of(op.callee)}: {type(error).__name__}: {error}", op.location) from error
        finally:
            self.op = outer

    def _result(self, op: Op, args: list[Operand]) -> Operand:
        kwargs = {name: self.operand(v) for name, v in op.kwargs}
        callee = op.callee
        if isinstance(callee, Op) or not callable(callee):
            if isinstance(callee, Function):
                return self.inline(callee, args)
            found = self.operand(cast(IrOperand, callee))
            if isinstance(found, OneOf):
                return self.each_way(found, lambda member: self._of_known(member, args, kwargs, op))
            return self._of_known(found, args, kwargs, op)
        return self.call(callee, args, kwargs, op)

    def _of_known(self, callee: Operand, args: list[Operand], kwargs: dict[str, Operand], op: Op) -> Operand:
        """Lower a call whose callee is an operand: a bound method or a known callable."""
        if isinstance(callee, Bound):
            return self.call(callee.method, [callee.instance, *args], kwargs, op)
        if isinstance(callee, Known) and callable(callee.value):
            return self.call(callee.value, args, kwargs, op)
        raise NotLowerable("a call of an unknown function")

    def call(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None = None) -> Operand:
        """Return the result of a call, by the first rule that applies to it, or else computed from arrays and numbers."""
        if self.outliving and callee in persistent_scalars.CALLS and (found := self.of_outliving(callee, args)) is not None:
            return found
        if callee in ENVIRONMENT or callee is operations.poll:
            return self._of_environment(callee, args, op)
        if op is not None and acts(op):
            return self.act(callee, args, kwargs, op)
        if op is not None and makes_text(op) and not any(map(is_raised, args)):
            return Struct(functools.partial(callee, **self._all_known(kwargs)) if kwargs else callee, tuple(map(_as_it_is, args)), object())
        either = next((k for k, a in enumerate(args) if isinstance(a, Val) and a.num.kind == EITHER), None)
        if either is not None and callee not in BUILDERS and "out" not in kwargs and not _writes(callee, args):
            return self._both_ways(either, callee, args, kwargs, op)
        several = next((k for k, a in enumerate(args) if isinstance(a, OneOf)), None)
        if several is not None and callee not in BUILDERS:
            return self.each_way(cast(OneOf, args[several]), lambda m: self.call(callee, [*args[:several], m, *args[several + 1 :]], kwargs, op))
        if op is not None and op in self.listings:
            return growable_lists.make(self, self.listings[op], args)
        if callee in BUILDERS:
            return Struct(callee, tuple(args), object())
        if any(map(list_memory.is_listing, args)):
            grown = growable_lists.call(self, callee, args, kwargs)
            if grown is None:
                raise NotLowerable(f"{name_of(callee)} of a list that grows")
            return grown
        if isinstance(callee, type) and issubclass(callee, BaseException) and (found := exceptions.make(self, callee, args)) is not None:
            return found
        found = self._fold(callee, args, kwargs)
        return self._computed(callee, *self._as_arrays(callee, args, kwargs), op) if found is None else found

    def _of_environment(self, callee: Callable[..., Any], args: list[Operand], op: Op | None) -> Operand:
        """Lower a read of a global, a cell or an attribute, unless a change from outside may be what ends a loop."""
        if callee is operations.poll:
            raise NotLowerable("a loop that Ctrl-C may end, in code that catches the exception", op.location if op is not None else None)
        if op is not None and op.effect & Effect.CLOCK:
            name = next((arg.value for arg in args[1:] if isinstance(arg, Known)), "a variable")
            raise NotLowerable(f"a loop that reads {name}, which may be changed from outside to end the loop", op.location)
        return self.reread(callee, args)

    def _computed(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand:
        """Lower a call on arrays and numbers: as one on arrays of unknown size, as a view, by its row, or by a call of the host."""
        if ragged_arrays.concerns(args, kwargs) and callee not in _BY_PART:
            return ragged_arrays.call(self, callee, args, kwargs)
        sized = ragged_creation.shaped(self, callee, args, kwargs)
        if sized is not None:
            return sized
        if "out" in kwargs:
            return out_argument.store(self, callee, args, kwargs, self.call(callee, args, out_argument.without_out(self, callee, args, kwargs), op))
        found = views.view(self, callee, args, kwargs)
        if found is not None:
            return found
        found, reason = self._by_row(callee, args, kwargs)
        if found is not None:
            self.worked += callee not in VIEWS and isinstance(found, Val)
        elif not isinstance(reason, ShapeUnknown):
            found = host_callbacks.attempt(self, callee, args, kwargs, op)
        if found is None:
            what = ", ".join([describe(a) for a in args] + [f"{k}={describe(v)}" for k, v in kwargs.items()])
            chooses = is_numpy(callee) and any(map(_holds_number, (*args, *kwargs.values())))
            try:
                raise reason or (NumberUnknown if chooses else NotLowerable)(f"{name_of(callee)}({what})")
            finally:
                del reason  # its traceback refers to this frame: a cycle would keep all frames alive
        if callee in VIEWS and isinstance(found, Val) and found.num.kind == ARRAY:
            found = Val(found.num, found.ir, roots=view_roots(a for a in args if isinstance(a, Val) and a.num.kind == ARRAY) or found.roots)
        return found

    def _as_arrays(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand]) -> tuple[list[Operand], dict[str, Operand]]:
        """Return the arguments, with arrays in place of the ranges, tuples and lists that NumPy converts to arrays itself."""
        if not any(map(_is_sequence, (*args, *kwargs.values()))):
            return args, kwargs
        found, named, numeric = list(args), dict(kwargs), is_numpy(callee)
        if numeric or (callee is not operator.contains and any(isinstance(a, Val) and a.num.kind == ARRAY for a in args)):
            found = [sequences.with_ranges(a) for a in found]
        for k in array_like.converted(callee, len(args), kwargs):
            if k < len(found) and not (callee in array_like.FLAT and _is_nested(found[k])):
                found[k] = self._array_of(found[k])
        if callee in array_like.JOINING and found and isinstance(first := found[0], Struct) and first.callee in sequences.SEQUENCES:
            found[0] = Struct(first.callee, tuple(map(self._array_of, first.parts)), first.op)
        if numeric and "where" in named:
            named["where"] = self._array_of(named["where"])
        return found, named

    def _array_of(self, operand: Operand) -> Operand:
        """Convert a tuple or list of numbers to an array; return any other operand as it is."""
        if not (isinstance(operand, Struct) and operand.callee in sequences.SEQUENCES and operand.parts):
            return operand
        made, _ = self._by_row(np.array, [operand], {})
        return operand if made is None else made

    def _by_row(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand]) -> tuple[Operand | None, NotLowerable | None]:
        """Return the result that the row of a callee gives, or None and the reason why it gives none (None if no row applies)."""
        row = ROWS.get(callee) or (row_of(LOWERINGS[callee]) if callee in LOWERINGS else None)
        if row is None or not _binds(row, len(args), tuple(kwargs)):
            return None, None
        try:
            return row(self, *args, **kwargs), None
        except NotLowerable as reason:
            return None, reason

    def _both_ways(self, k: int, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand:
        """Lower a call on a number that may be Python's or NumPy's: lower it for each, and select between the results where they differ."""
        value = cast(Val, args[k])
        tag, outer, in_range = T(value.tag, BOOL, ()), self.bail, self.in_range_already
        found: list[Operand] = []
        bails: list[T | None] = []
        for kind in (PYTHON, SCALAR):
            self.bail, self.in_range_already = None, dict(in_range)  # indices that one of them has checked, the other has not
            plain = Val(Num(kind, value.num.dtype), value.ir)
            found.append(self.call(callee, [*args[:k], plain, *args[k + 1 :]], kwargs, op))
            bails.append(self.bail)
        self.bail, self.in_range_already = outer, in_range
        if any(b is not None for b in bails):
            python, scalar = (b if b is not None else builder.constant(False) for b in bails)
            self.bail_if(builder.select(tag, scalar, python))
        return self.pick(tag, found[1], found[0])

    def pick(self, tag: T, scalar: Operand, python: Operand) -> Operand:
        """Select one of two numbers at run time: ``scalar`` where ``tag`` holds, else ``python``."""
        if same_slot(python, scalar):
            return python
        if isinstance(python, Ragged) and isinstance(scalar, Ragged):
            found = ragged_arrays.one_of(tag, scalar, python)
            if found is not None:
                return found
        kinds = num_of(python), num_of(scalar)
        if kinds[0] is None or kinds[1] is None or join_nums(kinds[0], kinds[1]) is None:
            if isinstance(python, OneOf) or isinstance(scalar, OneOf):
                return self.choose(tag, scalar, python)
            return OneOf(builder.convert(tag, INT32).ir, (python, scalar))
        num = unify([python, scalar], "a result")
        a, b = as_val(python, num), as_val(scalar, num)
        value = a.ir if a.ir == b.ir else builder.select(tag, tensor(b), tensor(a)).ir
        if num.kind != EITHER:
            return Val(num, value)
        return Val(num, value, builder.select(tag, T(b.tag, BOOL, ()), T(a.tag, BOOL, ())).ir)

    def _fold(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand]) -> Operand | None:
        """Fold a call whose arguments became constants only during lowering, for example a shape and numbers computed from it; None if it can't
        be folded.
        """
        values = [a.value for a in args if isinstance(a, Known)]
        if len(values) < len(args) or kwargs or not (callee in FOLDABLE or isinstance(callee, np.ufunc)) or not all(map(_constant, values)):
            return None
        try:
            with np.errstate(all="raise"):
                found = callee(*values)
        except FloatingPointError:
            return None
        except Exception as error:
            interrupts.let_through(error)
            raise Raises(f"{name_of(callee)}({', '.join(map(describe, args))})", type(error)) from None
        return Known(found) if _constant(found) else None

    def _all_known(self, named: dict[str, Operand]) -> dict[str, Any]:
        found = {k: v.value for k, v in named.items() if isinstance(v, Known)}
        if len(found) < len(named):
            raise NotLowerable(f"the argument {next(iter(named.keys() - found.keys()))} is not known while compiling")
        return found


def _is_sequence(operand: Operand) -> bool:
    """Is the operand a tuple or list that is built here, or a known range?"""
    return (isinstance(operand, Struct) and operand.callee in sequences.SEQUENCES) or (isinstance(operand, Known) and type(operand.value) is range)


def _is_nested(operand: Operand) -> bool:
    """Does a tuple or list contain tuples or lists?"""
    parts = operand.parts if isinstance(operand, Struct) else operand.value if isinstance(operand, Known) and isinstance(operand.value, tuple | list) else ()
    return any(isinstance(part, Struct | tuple | list) or (isinstance(part, Known) and isinstance(part.value, tuple | list)) for part in parts)


def _as_it_is(operand: Operand) -> Operand:
    """Return the operand with its current content, which later stores do not change."""
    if isinstance(operand, Stored):
        return Val(operand.num, operand.ir)
    if isinstance(operand, Struct):
        return Struct(operand.callee, tuple(map(_as_it_is, operand.parts)), operand.op)
    return operand


@once
def _binds(row: Any, count: int, names: tuple[str, ...]) -> bool:
    """Does the row accept ``count`` positional arguments and keyword arguments with these names?"""
    try:
        inspect.signature(row).bind(None, *range(count), **dict.fromkeys(names))
    except TypeError:
        return False
    return True


#: Callees whose rows handle arrays of unknown size themselves.
_BY_PART: Final = frozenset({operator.getitem, operator.setitem, np.ufunc.at, scatter, operations.drop})


def _writes(callee: Any, args: list[Operand]) -> bool:
    """Does the call store into an array, or onto a tape?"""
    if callee in (operator.setitem, operations.put, operations.revise, np.ufunc.at, list.append):
        return True
    target = args[0] if args else None
    return callee in IN_PLACE and (isinstance(target, Stored) or (isinstance(target, Ragged) and target.write is not None))


def _constant(value: object) -> bool:
    if type(value) is int and value.bit_length() > 512:
        return False
    return is_immutable(value) or issubclass(type(value), np.generic | np.dtype) or (is_a(value, type) and issubclass(value, np.generic | int | float))


def _holds_number(operand: Operand) -> bool:
    """Is the operand, or a part of it, an unknown Python number: an int, or a float that may have been computed from one?"""
    if isinstance(operand, Struct | OneOf):
        return any(map(_holds_number, operand.parts if isinstance(operand, Struct) else operand.members))
    return isinstance(operand, Val) and operand.num.kind in (PYTHON, EITHER) and operand.num.dtype.kind in "if"
