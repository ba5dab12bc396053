"""User-defined primitives that are called in program order, with arrays that they may store into, and results of several parts.

A primitive is passed copies.  What it stores into a copy is stored into the array of the program after the call.  An array of the caller
that it may keep is passed itself, and an argument that it returns becomes the program's array.  If it may reach arrays of the caller in
other ways than through its arguments, their contents are updated from the program before the call, and read
again after it; if the call of the program is given up, they are restored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from hovis.front.kernels.primitives import Kept
from hovis.ir import operations
from hovis.ir.analysis.control_flow import operands
from hovis.ir.model import Location, Op
from hovis_xla.abi.callback import Tree
from hovis_xla.abi.host_callbacks import is_own, rebuilt, take
from hovis_xla.abi.ordered_effects import Act, Redo
from hovis_xla.abi.primitive_results import promised
from hovis_xla.abi.run_record import Done, Record
from hovis_xla.analysis.primitive_effects import Conduct, conduct_of
from hovis_xla.analysis.stored_arrays import may_share
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import Location as Memory
from hovis_xla.emit.values import ARRAY, Known, NotLowerable, Num, OneOf, Operand, Stored, Struct, Val, is_array

#: Lowering
L = Any

#: Constructors of objects that the primitive might change or keep.
_CHANGEABLE = (operations.make_list, operations.make_dict, operations.make_set, operations.make_object)


@dataclass(slots=True)
class Around:
    """An array of the caller. ``owner``: an argument, by its number, or a constant; ``num``: its type; ``brought``: does the program pass its
    present content?
    """

    owner: Any
    num: Num
    brought: bool


@dataclass(eq=False, kw_only=True)
class Deed(Act):
    """A callback that calls a primitive.

    tree     the structure of the result that is passed to the program, with leaves of the types ``results``; None: no result
    stored   the arguments whose contents after the call are passed to the program
    around   arrays of the caller that it may reach
    callers  the arguments that are the caller's own arrays, with the numbers of the caller's arguments
    itself   the argument that it returns
    """

    record: Record
    tree: Tree | None
    results: Sequence[Num]
    stored: Sequence[int]
    around: Sequence[Around]
    callers: Mapping[int, int]
    itself: int | None

    def run(self, values: Sequence[np.ndarray[Any, Any]]) -> Sequence[np.ndarray[Any, Any]]:
        count = len(self.nums)
        plain, _ = self.arguments(list(map(np.array, values[:count])))
        reached = self._reached(values[count:])
        for k, number in self.callers.items():
            plain[k] = self.record.leaves[number]
            if type(plain[k]) is not np.ndarray:
                raise Redo
        before = [array.copy() for array in reached]
        try:
            found = [self.fn(*plain)]
        except BaseException as error:
            self._note(None, error, plain, reached, before)
        leaves: list[np.ndarray[Any, Any]] = []
        tree = self.tree
        if self.itself is not None:
            fits = found[0] is plain[self.itself]
        else:
            fits = tree is None or (is_own(found, 0, tree) and take(tree, found[0], self.results, leaves))
        self._note(found[0], None, plain, reached, before, fits)
        return *leaves, *[plain[k] for k in self.stored], *reached

    def _reached(self, contents: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """Return the caller's arrays, updated to the contents that the program has computed."""
        brought = iter(contents)
        found: list[np.ndarray[Any, Any]] = []
        for one in self.around:
            array = self.record.leaves[one.owner] if isinstance(one.owner, int) else one.owner
            if type(array) is not np.ndarray or array.shape != one.num.shape or array.dtype != one.num.dtype:
                raise Redo
            self.record.saves(array)
            if one.brought:
                content = np.asarray(next(brought))
                if array.flags.writeable:
                    array[...] = content
                elif array.tobytes() != content.tobytes():
                    raise Redo
            found.append(array)
        return found

    def _note(
        self, value: Any, error: BaseException | None, plain: Sequence[Any], reached: Sequence[np.ndarray[Any, Any]],
        before: Sequence[np.ndarray[Any, Any]], fits: bool = False,
    ) -> None:  # fmt: skip
        """Record what has been done; raise ``Redo`` where the program cannot continue, and Python does the call again."""
        changed = [(array, array.copy()) for array, was in zip(reached, before, strict=True) if array.tobytes() != was.tobytes()]
        trace = None if error is None or error.__traceback__ is None else error.__traceback__.tb_next  # without this callback
        itself = self.itself if error is None and self.itself is not None and value is plain[self.itself] else None
        self.record.append(Done(self.site, value, error, trace, [(k, plain[k].copy()) for k in self.stored], changed, itself))
        if not fits:
            raise Redo from None


# ------------------------------------------------------------------------------------------------- lowering


def act(low: L, op: Op, args: list[Operand]) -> Operand:
    """Emit a call of a primitive by the host, in program order."""
    callee = cast(Kept, op.callee)
    name = callee.__qualname__
    conduct = conduct_of(op) or Conduct()
    callers = {k: number for k in conduct.kept if (number := _callers(args[k])) is not None}
    _check_kept(low, op, args, conduct, name, callers)
    leaves: list[Val] = []
    trees = [_tree(operand, leaves, low, name) for operand in args]
    itself = conduct.itself if op in low.scope.used and conduct.itself is not None and is_array(args[conduct.itself]) else None
    wanted = op in low.scope.used and itself is None
    told = promised(callee, args, op) if wanted else None
    if wanted and told is None:
        raise NotLowerable(f"the result of {name} is used, but its type and shape are not known; declare them with {name}.defresult(…, dims=…, alone=False)")
    reached = conduct.reaches is not None or any(isinstance(args[k], Stored) for k in callers)
    around, contents = _around(low) if reached else ([], [])
    stored = sorted(conduct.written - conduct.kept.keys())
    places = [_stored(args, k, name) for k in stored]
    tree, nums = told or (None, [])
    deed = Deed(
        callee, trees, (), [v.num for v in leaves], failures=low.failures, record=low.record, site=op.location, tree=tree, results=nums, stored=stored,
        around=[one for one, _ in around], callers=callers, itself=itself,
    )  # fmt: skip
    results = [*nums, *(args[k].num for k in stored), *(one.num for one, _ in around)]  # type: ignore[union-attr]
    found = low.in_turn([*map(tensor, leaves), *contents], deed, results)
    made = found[: len(nums)]
    for place, t in zip(places, found[len(nums) :], strict=False):
        low.write(place, t)
    for (_, location), t in zip(around, found[len(nums) + len(stored) :], strict=True):
        low.memory.content[location] = t
    if itself is not None:
        return args[itself]
    return Known(None) if tree is None else rebuilt(tree, [Val(num, t.ir) for num, t in zip(nums, made, strict=True)])


def _around(low: L) -> tuple[list[tuple[Around, Memory]], list[T]]:
    """Return the caller's arrays, and the contents of those that the program has changed."""
    found: list[tuple[Around, Memory]] = []
    contents: list[T] = []
    for location, before in list(low.memory.bottom.items()):
        if isinstance(location.owner, int | np.ndarray):
            content = low.memory.read(location)
            brought = content.ir != before.ir
            contents += [content] if brought else []
            found.append((Around(location.owner, Num(ARRAY, location.dtype, location.shape), brought), location))
    return found, contents


def _check_kept(low: L, op: Op, args: Sequence[Operand], conduct: Conduct, name: str, callers: Mapping[int, int]) -> None:
    """Refuse a call after which the primitive might share an array with the program. Raises ``NotLowerable``."""
    for k, where in conduct.kept.items():
        given = op.args[k]
        if k in callers:
            continue
        if isinstance(args[k], Known | Val) and not is_array(args[k]) and not isinstance(getattr(args[k], "value", None), np.ndarray):
            continue  # a number, whether it is known or not
        if not is_array(args[k]):
            raise NotLowerable(f"{name} may keep or change an object inside its argument {k + 1}{_at(where)}")
        if not (isinstance(given, Op) and not may_share(given) and _is_for(given, op, low)):
            raise NotLowerable(f"{name} may keep the array that it is given{_at(where)}; pass it a copy that is used nowhere else")
    if conduct.given_back and op in low.scope.used and (conduct.itself is None or not is_array(args[conduct.itself])):
        raise NotLowerable(f"{name} may return an array that it is given, or a view of one, and its result is not always that array itself")
    arrays = [a.place.location for a in args if isinstance(a, Val) and a.place is not None and a.num.kind == ARRAY]
    if conduct.written and len(set(map(id, arrays))) < len(arrays):
        raise NotLowerable(f"{name} writes to an array that is passed to it as two arguments")


def _callers(operand: Operand) -> int | None:
    """Return the number of the argument that is this very array, or None."""
    place = operand.place if isinstance(operand, Val) and operand.num.kind == ARRAY else None
    return place.location.owner if place is not None and place.own and not place.steps and isinstance(place.location.owner, int) else None


def _is_for(given: Op, op: Op, low: L) -> bool:
    """Is the value ``given`` made for ``op`` alone: in the same block, and without another use?"""
    together = any(given in block.ops and op in block.all_ops() for block in low.scope.order)
    return together and sum(value is given for block in low.scope.order for value in operands(block)) == 1


def _at(where: Location | None) -> str:
    return "" if where is None else f" ({where.file}:{where.line})"


def _stored(args: Sequence[Operand], k: int, name: str) -> Any:
    operand = args[k]
    if not isinstance(operand, Stored):
        raise NotLowerable(f"{name} writes to its argument {k + 1}, which is not a single array")
    return operand.place


def _tree(operand: Operand, leaves: list[Val], low: L, name: str) -> Tree:
    """Return how the host builds an argument, and collect its values. Raises ``NotLowerable`` if the primitive might change or keep it."""
    if isinstance(operand, Struct):
        if operand.callee in _CHANGEABLE:
            raise NotLowerable(f"{name} might change or keep the {operand.callee.__name__.removeprefix('make_')} that is passed to it")
        return "build", operand.callee, tuple(_tree(p, leaves, low, name) for p in operand.parts), id(operand.op or operand)
    lends = not isinstance(operand, OneOf) or any(map(is_array, operand.members))
    return cast(Tree, low.argument_tree(operand, leaves, name, lends))
