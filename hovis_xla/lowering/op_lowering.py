"""What a call gives: looked up in :data:`ROWS`, folded, made by the host, or done by the host in its turn.

Values carry exact types of their own (``values.Num``); what the engine knew is only checked against.  Whatever has no row,
or is no number where one is needed, raises :class:`NotLowerable`.
"""

import functools
import inspect
import operator
import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import numpy as np

from hovis.base import deadline, interrupts
from hovis.base.once import once
from hovis.front.kernels.primitives import Kept
from hovis.ir import operations
from hovis.ir.model import Effect, Function, Op, Param
from hovis.ir.model import Operand as IrOperand
from hovis.lattice import AbstractValue, Array, Const, Partial, Type
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a
from hovis.library.numpy.adjoints.cotangents import scatter
from hovis.library.numpy.rules.aliasing import IN_PLACE
from hovis.library.numpy.types import array_like
from hovis.library.tables.lowerings import LOWERINGS
from hovis_xla.abi import host_callbacks, primitive_calls
from hovis_xla.abi.ordered_effects import Act, Reread
from hovis_xla.abi.run_record import Record
from hovis_xla.analysis import persistent_scalars
from hovis_xla.analysis.growable_lists import ItemsSeen, Listing
from hovis_xla.analysis.integer_ranges import Ranges, limits, limits_of
from hovis_xla.analysis.intervals import RESULTS, Interval
from hovis_xla.analysis.persistent_scalars import Variable
from hovis_xla.analysis.primitive_effects import ACTS, ENVIRONMENT
from hovis_xla.analysis.side_effects import acts, makes_text
from hovis_xla.analysis.speculative_loads import read_if
from hovis_xla.emit import builder, custom_calls
from hovis_xla.emit.block_slots import TAG, as_val, join_nums, num_of, same_slot, tensor, unify
from hovis_xla.emit.builder import T, tensor_type
from hovis_xla.emit.locations import Location
from hovis_xla.emit.values import (
    ARRAY,
    BOOL,
    EITHER,
    INT32,
    PYTHON,
    SCALAR,
    Bound,
    Handle,
    Known,
    NotLowerable,
    Num,
    NumberUnknown,
    OneOf,
    Operand,
    Ragged,
    Raised,
    Raises,
    ShapeUnknown,
    Stored,
    Struct,
    Val,
    abstract,
    is_handle,
    num_of_type,
    num_of_value,
    view_roots,
)
from hovis_xla.jaxlib.adapter import ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo
from hovis_xla.lowering.array_values import Arrays
from hovis_xla.lowering.carried_kinds import WHICH
from hovis_xla.ops import FOLDABLE, ROWS, VIEWS
from hovis_xla.ops.indexing import out_argument, views
from hovis_xla.ops.memory import growable_lists, list_memory
from hovis_xla.ops.ragged import ragged_arrays, ragged_creation
from hovis_xla.ops.scalar import exceptions, sequences
from hovis_xla.ops.standin import row_of
from hovis_xla.prepare.pad_function import clipped

#: Calls that build a container of the result.
BUILDERS: Final = frozenset({operations.make_tuple, operations.make_list, operations.make_dict, operations.make_set, operations.make_object, clipped})


class Calls(Arrays):
    """The part of a lowering that looks up callees.  Rows use its methods :meth:`bail_if`, :meth:`val` and :meth:`number`."""

    ranges: Ranges
    used: set[Any]
    environment: list[tuple[Callable[..., Any], tuple[Any, ...], object]]
    callbacks: list[Callable[..., Any]]
    failures: list[BaseException]
    #: ops that the host does, and how many the program does itself
    hosted: list[Op | None]
    worked: int
    #: what a run does that can be seen from outside
    record: Record
    #: may an act change what is read of the environment?
    rereads: bool
    op: Op | None
    #: lists that grow, by the ops that make them
    listings: dict[Op, Listing]
    #: variables that outlive the call, by what they are known by
    outliving: dict[Any, Location]

    @abstractmethod
    def inline(self, function: Function, args: list[Operand]) -> Operand:
        """What a call of a residual Function gives."""

    # --------------------------------------------------------------------------------------------- values

    def operand(self, value: IrOperand) -> Operand:
        if isinstance(value, Const):
            return Known(value.value)
        found = self.env.get(value)
        if found is None:
            raise NotLowerable("a value that is made only where an exception was caught", self.op.location if self.op else None)
        return found

    def condition(self, value: Operand) -> "T | bool":
        if isinstance(value, OneOf):
            value = self.each_way(value, lambda member: self.call(operator.truth, [member], {}))
        if isinstance(value, Known):
            return bool(value.value)
        if isinstance(value, Val) and not value.num.shape:
            return builder.convert(tensor(value), BOOL)
        raise NotLowerable("a test of something that is no truth", self.op.location if self.op else None)

    def val(self, operand: Operand) -> Val:
        """An operand as an XLA value; arrays that are constants are read at every call."""
        if isinstance(operand, Val):
            return operand
        if isinstance(operand, Known):
            num = num_of_value(operand.value)
            if num is not None and num.kind == ARRAY:
                return self.constant_array(operand.value, num)
            if num is not None:
                try:
                    return as_val(operand, num)
                except OverflowError:
                    raise NotLowerable("an integer of more than 64 bits") from None
        raise NotLowerable(f"a number is wanted where there is {_what(operand)}")

    def number(self, operand: Operand, num: Num) -> T:
        """An operand as a tensor of just this kind."""
        value = self.val(operand)
        assert value.num == num, (value.num, num)
        return tensor(value)
    def interval(self, operand: Operand) -> "Interval | None":
        """What an integer operand of the current operation can be; None, if it is no integer."""
        if isinstance(operand, Known):
            return limits_of(operand.value)
        if not isinstance(operand, Val) or operand.num.shape:
            return None
        for value in self._operands():
            found = self.env.get(value)
            if found is operand or (isinstance(found, Val) and found.ir == operand.ir):
                assert self.op is not None
                asked = self.op.args[0] if self.op.callee is read_if else None
                known = self.ranges.at(value, self.ranges.home[self.op], asked)
                if known is not None:
                    return known
        return limits(Type(operand.num.dtype.type)) if operand.num.dtype.kind in "biu" else None

    def _operands(self) -> "list[Op | Param]":
        """The values that the current operation is given, those in a tuple and in slices as well."""
        todo = list(self.op.args) if self.op is not None and self.op in self.ranges.home else []
        found: list[Op | Param] = []
        while todo:
            value = todo.pop()
            if isinstance(value, Op) and value.callee in (operations.make_tuple, slice):
                todo += value.args
            elif isinstance(value, Op | Param):
                found.append(value)
        return found

    # --------------------------------------------------------------------------------------------- giving up

    def bail_if(self, condition: T) -> None:
        """Where condition holds, the call is done again by Python."""
        self.bail = condition if self.bail is None else builder.or_(self.bail, condition)

    def raise_if(self, condition: T, cls: type[BaseException]) -> None:
        """Where condition holds, the original raises: caught by a handler that is compiled, or done again by Python."""
        if self.catching is None:
            self.bail_if(condition)
        else:
            self.catching.append((condition, cls))

    def give_up(self) -> None:
        self.bail_if(builder.constant(True))

    def _act(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op) -> Operand:
        """A call that the host makes in its turn: of numbers, of what is known, and of containers and texts of these."""
        if isinstance(callee, Kept):
            if kwargs:
                raise NotLowerable(f"an argument of {_name(callee)} by a name of which nothing is known")
            return primitive_calls.act(self, op, args)
        lends = callee in ACTS
        leaves: list[Val] = []
        trees = [self._tree_of_act(a, leaves, callee, lends) for a in (*args, *kwargs.values())]
        wanted = op in self.used and op.type not in (Type(type(None)), Const(None))
        num = num_of_type(op.type) if wanted else None
        if wanted and (num is None or num.kind == ARRAY):
            raise NotLowerable(f"the result of {_name(callee)} is used")
        act = Act(callee, trees, list(kwargs), [v.num for v in leaves], num, op.location)
        act.record, act.failures = self.record, self.failures
        (found,) = self._in_turn([tensor(v) for v in leaves], act, [num] if num is not None else []) or (None,)
        return Known(None) if found is None or num is None else Val(num, found.ir)

    def _tree_of_act(self, operand: Operand, leaves: list[Val], callee: Callable[..., Any] | str, lends: bool) -> Any:
        """How the host puts an operand together; lends: it may be an array, which is a copy, as nobody writes to it."""
        if isinstance(operand, Struct):
            parts = tuple(self._tree_of_act(p, leaves, callee, lends) for p in operand.parts)
            return "build", operand.callee, parts, operand.op or operand
        if isinstance(operand, OneOf):
            leaves.append(Val(WHICH, operand.which))
            at = len(leaves) - 1
            return "oneof", at, tuple(self._tree_of_act(m, leaves, callee, lends) for m in operand.members)
        if isinstance(operand, Known) and not is_a(operand.value, np.ndarray | Raised | Handle):
            return "known", operand.value
        if not isinstance(operand, Known | Val) or _is_raised(operand) or is_handle(operand):
            raise NotLowerable(f"{_name(callee)} of {_what(operand)}")
        value = self.val(operand)
        if value.num.kind == EITHER:
            leaves += [Val(Num(SCALAR, value.num.dtype), value.ir), Val(TAG, value.tag)]
            return "either", len(leaves) - 2
        if value.num.kind == ARRAY and not lends:
            raise NotLowerable(f"{_name(callee)} of an array, which it might write to")
        leaves.append(value)
        return "leaf", len(leaves) - 1

    def _in_turn(self, values: list[T], callback: Callable[..., Any], results: Sequence[Num]) -> list[T]:
        """Call the host, after everything that was done before; not at all, if the call is to be done again."""
        self.callbacks.append(callback)
        if self.token is None:
            raise NotLowerable("an effect where none was expected")
        number = len(self.callbacks) - 1
        self.acted = True
        kinds = [(r.dtype, r.shape) for r in results]
        if self.bail is None:
            self.token, found = custom_calls.callback(self.token, values, number, kinds)
            return found
        made = hlo.IfOp([hlo.TokenType.get(), *(tensor_type(*k) for k in kinds)], builder.not_(self.bail).ir)
        for region, does in zip(made.regions, (True, False), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                token, found = custom_calls.callback(self.token, values, number, kinds) if does else (self.token, [builder.zeros(*k) for k in kinds])
                hlo.return_([token, *(f.ir for f in found)])
        self.token = made.results[0]
        return [T(r, *k) for r, k in zip(list(made.results)[1:], kinds, strict=True)]

    def in_range(self, callee: Callable[..., Any]) -> bool:
        """Is the result of the current op, if that is this one on Ints, certainly within 64 bits?"""
        if self.op is None or self.op not in self.ranges.home:
            return False
        # the products that make up a power are no larger than it can be
        mine = RESULTS.get(self.op.callee) in (RESULTS[callee], RESULTS[operator.pow] if callee is operator.mul else None)
        return mine and self.ranges.has_room(self.op)

    # --------------------------------------------------------------------------------------------- ops

    def lower_op(self, op: Op) -> None:
        deadline.check()
        outer, self.op = self.op, op
        try:
            with builder.at(op.location):
                args = [self.operand(a) for a in op.args]
                result = self._result(op, args)
                _as_told(op.type, result)
                self.env[op] = self.placed(op, result, args)
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
            raise NotLowerable(f"{_name(op.callee)}: {type(error).__name__}: {error}", op.location) from error
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
        """A call of something that was looked up here."""
        if isinstance(callee, Bound):
            return self.call(callee.method, [callee.instance, *args], kwargs, op)
        if isinstance(callee, Known) and callable(callee.value):
            return self.call(callee.value, args, kwargs, op)
        raise NotLowerable("a call of something that is not known")

    def call(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None = None) -> Operand:
        """What a call gives: by the first rule that it is a matter of, or computed."""
        for rule in _RULES:
            found = rule(self, callee, args, kwargs, op)
            if found is not None:
                return found
        return self._computed(callee, *self._as_arrays(callee, args, kwargs), op)

    def _of_scalar_that_lasts(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand | None:
        return self._outliving(callee, args) if self.outliving and callee in persistent_scalars.CALLS else None

    def _of_environment(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand | None:
        if callee is operations.poll:
            raise NotLowerable("a loop that Ctrl-C may end, which is caught here", op.location if op is not None else None)
        if callee not in ENVIRONMENT:
            return None
        if op is not None and op.effect & Effect.CLOCK:
            name = next((arg.value for arg in args[1:] if isinstance(arg, Known)), "a variable")
            raise NotLowerable(f"{name}, which may be changed meanwhile to end the loop", op.location)
        return self._environment(callee, args)

    def _of_act(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand | None:
        return self._act(callee, args, kwargs, op) if op is not None and acts(op) else None

    def _of_text(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand | None:
        if op is None or not makes_text(op) or any(map(_is_raised, args)):
            return None
        return Struct(functools.partial(callee, **self._all_known(kwargs)) if kwargs else callee, tuple(map(_as_it_is, args)), object())

    def _of_either_number(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand | None:
        either = next((k for k, a in enumerate(args) if isinstance(a, Val) and a.num.kind == EITHER), None)
        if either is None or callee in BUILDERS or "out" in kwargs or _writes(callee, args):
            return None
        return self._both_ways(either, callee, args, kwargs, op)

    def _of_one_of_several(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand | None:
        several = next((k for k, a in enumerate(args) if isinstance(a, OneOf)), None)
        if several is None or callee in BUILDERS:
            return None
        return self.each_way(cast(OneOf, args[several]), lambda m: self.call(callee, [*args[:several], m, *args[several + 1 :]], kwargs, op))

    def _of_container(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand | None:
        if op is not None and op in self.listings:
            return growable_lists.make(self, self.listings[op], args)
        if callee in BUILDERS:
            return Struct(callee, tuple(args), object())
        if not any(map(list_memory.is_listing, args)):
            return None
        grown = growable_lists.call(self, callee, args, kwargs)
        if grown is None:
            raise NotLowerable(f"{_name(callee)} of a list that grows")
        return grown

    def _of_exception(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand | None:
        return exceptions.make(self, callee, args) if isinstance(callee, type) and issubclass(callee, BaseException) else None

    def _of_constants(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand | None:
        return self._fold(callee, args, kwargs)

    def _computed(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand:
        """What a call of arrays and numbers gives: by their shapes, as a view, or by its row."""
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
            what = ", ".join([_what(a) for a in args] + [f"{k}={_what(v)}" for k, v in kwargs.items()])
            chooses = _of_numpy(callee) and any(map(_holds_number, (*args, *kwargs.values())))
            raise reason or (NumberUnknown if chooses else NotLowerable)(f"{_name(callee)}({what})")
        if callee in VIEWS and isinstance(found, Val) and found.num.kind == ARRAY:
            found = Val(found.num, found.ir, roots=view_roots(a for a in args if isinstance(a, Val) and a.num.kind == ARRAY) or found.roots)
        return found

    def _as_arrays(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand]) -> tuple[list[Operand], dict[str, Operand]]:
        """The arguments, with arrays for the ranges, tuples and lists that NumPy makes arrays of itself."""
        if not any(map(_is_sequence, (*args, *kwargs.values()))):
            return args, kwargs
        found, named, numeric = list(args), dict(kwargs), _of_numpy(callee)
        if numeric or (callee is not operator.contains and any(isinstance(a, Val) and a.num.kind == ARRAY for a in args)):
            found = [sequences.with_ranges(a) for a in found]
        for k in array_like.positions(callee):
            if k < len(found):
                found[k] = self._array_of(found[k])
        if callee in array_like.JOINING and found and isinstance(first := found[0], Struct) and first.callee in sequences.SEQUENCES:
            found[0] = Struct(first.callee, tuple(map(self._array_of, first.parts)), first.op)
        if numeric and "where" in named:
            named["where"] = self._array_of(named["where"])
        return found, named

    def _array_of(self, operand: Operand) -> Operand:
        """An array in the place of a tuple or a list of numbers."""
        if not (isinstance(operand, Struct) and operand.callee in sequences.SEQUENCES and operand.parts):
            return operand
        made, _ = self._by_row(np.array, [operand], {})
        return operand if made is None else made

    def _by_row(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand]) -> tuple[Operand | None, NotLowerable | None]:
        """What the row of a callee gives, or why it does not."""
        row = _lookup(ROWS, callee) or _offered(callee)
        if row is None or not _binds(row, len(args), tuple(kwargs)):
            return None, None
        try:
            return row(self, *args, **kwargs), None
        except NotLowerable as reason:
            return None, reason

    def _both_ways(self, k: int, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None) -> Operand:
        """A call with a number that is Python's or NumPy's: done as each, and what differs is selected."""
        value = cast(Val, args[k])
        tag, outer, in_range = T(value.tag, BOOL, ()), self.bail, self.in_range_already
        found: list[Operand] = []
        bails: list[T | None] = []
        for kind in (PYTHON, SCALAR):
            self.bail, self.in_range_already = None, dict(in_range)  # what one of them has looked at, the other has not
            plain = Val(Num(kind, value.num.dtype), value.ir)
            found.append(self.call(callee, [*args[:k], plain, *args[k + 1 :]], kwargs, op))
            bails.append(self.bail)
        self.bail, self.in_range_already = outer, in_range
        if any(b is not None for b in bails):
            python, scalar = (b if b is not None else builder.constant(False) for b in bails)
            self.bail_if(builder.select(tag, scalar, python))
        return self._either(tag, found[0], found[1])

    def pick(self, condition: T, yes: Operand, no: Operand) -> Operand:
        """One of two numbers."""
        return self._either(condition, no, yes)

    def _either(self, tag: T, python: Operand, scalar: Operand) -> Operand:
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
        """Calls on constants that have become known only here: a shape, and what is computed from it."""
        values = [a.value for a in args if isinstance(a, Known)]
        if len(values) < len(args) or kwargs or not _is_foldable(callee) or not all(map(_constant, values)):
            return None
        try:
            with np.errstate(all="raise"):
                found = callee(*values)
        except FloatingPointError:
            return None
        except Exception as error:
            interrupts.let_through(error)
            raise Raises(f"{_name(callee)}({', '.join(map(_what, args))})", type(error)) from None
        return Known(found) if _constant(found) else None

    def _all_known(self, named: dict[str, Operand]) -> dict[str, Any]:
        found = {k: v.value for k, v in named.items() if isinstance(v, Known)}
        if len(found) < len(named):
            raise NotLowerable(f"an argument {next(iter(named.keys() - found.keys()))} that is not known")
        return found

    def outlives(self, key: Any, variable: Variable, value: Any) -> None:
        """A variable that outlives the call, of which the program is given what it holds."""
        num = variable.num
        location = self.outliving[key] = Location(num.dtype, (), True, owner=variable)
        self.memory.bottom[location] = T(value, num.dtype, ())

    def _outliving(self, callee: Callable[..., Any], args: list[Operand]) -> Operand | None:
        """A read of such a variable, or a store into it."""
        location = self.outliving.get(persistent_scalars.key_of(callee, [a.value if isinstance(a, Known) else None for a in args]))
        if location is None:
            return None
        num = location.owner.num
        if callee in persistent_scalars.READS:
            return Val(num, self.memory.read(location).ir)
        if num_of(args[-1]) != num:
            raise NotLowerable("a variable that outlives the call, and becomes a value of another kind")
        self.memory.write(location, tensor(as_val(args[-1], num)))
        return Known(None)

    def _environment(self, callee: Callable[..., Any], args: list[Operand]) -> Operand:
        """A global or cell that is read again after a call that could have changed it.

        What it holds now is taken for granted, and checked at every call, or, behind an act, at that place.
        """
        values = [a.value for a in args if isinstance(a, Known)]
        if len(values) < len(args):
            raise NotLowerable("a variable that is not known")
        try:
            found = callee(*values)
        except (NameError, AttributeError) as missing:
            raise NotLowerable(f"what is not there now ({missing})") from None
        if not self.acted and not self.rereads:
            self.environment.append((callee, tuple(values), found))
        else:
            site = self.op.location if self.op is not None else None
            self.bail_if(self._in_turn([], Reread(callee, values, found, site, self.record if self.rereads else None), [TAG])[0])
        return Known(found)


def _is_sequence(operand: Operand) -> bool:
    """A tuple or a list that is put together here, or a range?"""
    return (isinstance(operand, Struct) and operand.callee in sequences.SEQUENCES) or (isinstance(operand, Known) and type(operand.value) is range)


def _is_raised(operand: Operand) -> bool:
    return isinstance(operand, Known) and is_a(operand.value, Raised)


#: What a call may be a matter of, before it is computed, in this order.
_RULES: Final = (
    Calls._of_scalar_that_lasts, Calls._of_environment, Calls._of_act, Calls._of_text, Calls._of_either_number, Calls._of_one_of_several,
    Calls._of_container, Calls._of_exception, Calls._of_constants,
)  # fmt: skip


def _as_it_is(operand: Operand) -> Operand:
    """An operand that later stores do not change."""
    if isinstance(operand, Stored):
        return Val(operand.num, operand.ir)
    if isinstance(operand, Struct):
        return Struct(operand.callee, tuple(map(_as_it_is, operand.parts)), operand.op)
    return operand


def _offered(callee: object) -> Any:
    """The row of a primitive of a third party that says what it is in NumPy."""
    written = _lookup(LOWERINGS, callee)
    return None if written is None else row_of(written)


def _lookup(table: dict[Any, Any], key: object) -> Any:
    try:
        return table.get(key)
    except TypeError:
        return None


@once
def _binds(row: Any, count: int, names: tuple[str, ...]) -> bool:
    """Does the row take so many arguments, and these by name?"""
    try:
        inspect.signature(row).bind(None, *range(count), **dict.fromkeys(names))
    except TypeError:
        return False
    return True


def _is_foldable(callee: object) -> bool:
    try:
        return callee in FOLDABLE or isinstance(callee, np.ufunc)
    except TypeError:
        return False


#: Rows that know of parts of unknown size themselves.
_BY_PART: Final = frozenset({operator.getitem, operator.setitem, np.ufunc.at, scatter, operations.drop})
_IN_PLACE: Final[dict[Any, bool]] = dict.fromkeys(IN_PLACE, True)


def _writes(callee: Any, args: list[Operand]) -> bool:
    """Does the call store into an array, or onto a tape?"""
    if callee in (operator.setitem, operations.put, operations.revise, np.ufunc.at, list.append):
        return True
    target = args[0] if args else None
    return _lookup(_IN_PLACE, callee) is True and (isinstance(target, Stored) or (isinstance(target, Ragged) and target.write is not None))


def _constant(value: object) -> bool:
    if type(value) is int and value.bit_length() > 512:
        return False
    return is_immutable(value) or issubclass(type(value), np.generic | np.dtype) or (is_a(value, type) and issubclass(value, np.generic | int | float))


def _name(callee: object) -> str:
    if isinstance(callee, str):
        return callee
    name = getattr(callee, "__qualname__", None) or getattr(callee, "__name__", None) or repr(callee)
    module = getattr(callee, "__module__", None)
    return name if module in (None, "builtins", "_operator") else f"{module}.{name}"


def where_called(op: Op) -> str:
    """What is called, and where."""
    at = op.location
    return _name(op.callee) if at is None else f"{_name(op.callee)} ({at.file}:{at.line})"


def _holds_number(operand: Operand) -> bool:
    """Is it a number of Python's that is not known (an int, or what has become of one), or is there one in it?"""
    if isinstance(operand, Struct | OneOf):
        return any(map(_holds_number, operand.parts if isinstance(operand, Struct) else operand.members))
    return isinstance(operand, Val) and operand.num.kind in (PYTHON, EITHER) and operand.num.dtype.kind in "if"


def _of_numpy(callee: Any) -> bool:
    """Is it a function of NumPy's, or a method of an array?"""
    return (getattr(callee, "__module__", None) or getattr(getattr(callee, "__objclass__", None), "__module__", None) or "").partition(".")[0] == "numpy"


def _what(operand: Operand) -> str:
    if isinstance(operand, Val):
        return str(operand.num)
    if isinstance(operand, Known):
        text = repr(operand.value) if is_immutable(operand.value) else ""
        return text if 0 < len(text) <= 40 else f"a {type(operand.value).__name__}"
    if isinstance(operand, OneOf):
        return " or ".join(map(_what, operand.members))
    return "a container" if isinstance(operand, Struct) else "a method"


def _as_told(told: AbstractValue, found: Operand) -> None:
    """Refuse a result of another dtype or class than the library has found for the op: NumPy itself was asked there."""
    if isinstance(found, Struct) and isinstance(told, Partial) and len(told.parts) == len(found.parts):
        for part, operand in zip(told.parts, found.parts, strict=True):
            _as_told(part, operand)
    elif isinstance(found, Val) and found.num.kind != EITHER and (isinstance(told, Array) or type(told) is Type):
        seen = abstract(found)
        if not isinstance(seen, Type) or _facets(told) != _facets(seen):
            raise NotLowerable(f"what is {told} comes out as {seen}")


def _facets(kind: Type) -> tuple[object, ...]:
    """What is known of a value, but for the order of an array in memory."""
    return (kind.cls, kind.dtype, kind.rank) if isinstance(kind, Array) else (kind.cls,)
