"""Batching of a Function whose lanes stay together: it takes one value for each lane, along axis 0 of arrays.

Ops whose operands are the same in all lanes are executed once, unchanged; the others are replaced by the rows of
:mod:`hovis.library.tables.batching`.  Branches have to be the same in all lanes.  Arrays that are stored into lane by lane have one part per
lane from their creation on.
"""

import inspect
import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hovis.ir.model import Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Operand, Param, Raise, Return, Value, edges
from hovis.ir.operations import drop, keep, make_tuple
from hovis.lattice import Array, Const, Partial, Type, Union
from hovis.library.numpy import batching as _rows  # noqa: F401  # imported for its side effect: it registers the rows
from hovis.library.numpy.adjoints.tangents import is_whole
from hovis.library.numpy.batching.base import NUMBER, copied, fitted, is_of_python, lane_by_lane, of_python, own, shaped, spread
from hovis.library.numpy.batching.manipulation import FLAT, LANE_VIEWS, nested
from hovis.library.numpy.batching.scalar_promotion import OF_ELEMENTS, fitting, held
from hovis.library.numpy.rules.aliasing import is_in
from hovis.library.standard import STANDARD
from hovis.library.tables.batching import BATCHING
from hovis.transforms.aliasing import PLAIN, Groups, in_place, is_array, is_view, stores_parts_of_itself
from hovis.transforms.rule_tracing import CONTAINERS, Writer, declines, refusal, traced
from hovis.transforms.vmap.divergence import Diverging, Spreading, Which, any_of, told, writes_first_operand
from hovis.transforms.vmap.lane_types import PYTHON, array_of, is_number, may_be_of_python, one_kind, parts_of, rank_of


def not_in_place(op: Op) -> Op:
    """Return the out-of-place form of op (``a + b`` for ``a += b``), whose result is to be stored; raise Diverging if the array may be unable to
    take it.
    """
    if not in_place(op) or op.type != op.args[0].type or rank_of(op.args[1]) > rank_of(op.args[0]):  # type: ignore[union-attr]
        raise Diverging(told(op, "is done lane by lane"))
    return Op(PLAIN[op.callee], op.args, type=op.type, dims=op.dims, effect=op.effect & ~Effect.WRITES, location=op.location)


# ------------------------------------------------------------------------------------------------- rows


def _row(callee: Any) -> Any:
    """Return the batching row of a callable; None if it has none, or is not hashable."""
    try:
        return BATCHING.get(callee)
    except TypeError:
        return None


def _binds(row: Any, *args: Any, **named: Any) -> bool:
    """Does row accept a call with these arguments?"""
    try:
        inspect.signature(row).bind(*args, **named)
    except TypeError:
        return False
    return True


def users(function: Function) -> dict[Value, list[Op | None]]:
    """Return the ops that use each value; None in the list is a use by a terminator or an edge."""
    found: dict[Value, list[Op | None]] = {}
    for block in function.blocks:
        asked: list[tuple[Any, Op | None]] = [(v, op) for op in block.all_ops() if op.callee not in (drop, keep) for v in op.operands()]
        asked += [(v, None) for edge in edges(block.terminator) for v in edge.args]
        asked += [(getattr(block.terminator, name), None) for name in ("cond", "value") if hasattr(block.terminator, name)]
        for value, op in asked:
            if isinstance(value, Op | Param):
                found.setdefault(value, []).append(op)
    return found


def is_of_numbers(op: Op) -> bool:
    """Does op call a callable that has a batching row, with numbers or arrays only? If so it only computes, even if tracing does not know what."""
    kinds = [a.type for a in op.operands() if isinstance(a, Op | Param) and not (isinstance(a, Op) and a.callee in CONTAINERS)]
    numbers = all(is_number(member) for kind in kinds for member in (kind.members if isinstance(kind, Union) else (kind,)))
    return numbers and _row(op.callee) is not None


# ------------------------------------------------------------------------------------------------- writing


class Batching:
    """Writes the batched Function."""

    def __init__(self, function: Function, spreading: Spreading, lanes: int, mapped: list[Param]) -> None:
        self.old = function
        self.of = spreading.of
        self.groups = Groups(function)
        self.users = users(function)
        self.own = spreading.own
        self.lanes = lanes
        self.mapped = mapped
        self.new: dict[Value, Operand] = {}
        self.blocks = {block: Block(tuple(self._param(p) for p in block.params)) for block in function.blocks}
        self.function = Function(function.name, [], function.location)

    def _param(self, param: Param) -> Param:
        if self.of(param) and param not in self.mapped:
            kind, dims = self.lanes_of(param)
            made = Param(kind, dims, param.name)
        else:
            made = Param(param.type, param.dims, param.name)
        self.new[param] = made
        return made

    def lanes_of(self, value: Param | Op) -> tuple[Array, tuple[Operand, ...]]:
        """Return the type and the dims of the array that holds a value in all lanes."""
        return array_of(value, self.lanes)

    def begin(self) -> None:
        """Add the parameters for the arrays of the mapped values."""
        start = self.blocks[self.old.blocks[0]]
        given = []
        for param in self.mapped:
            kind, dims = self.lanes_of(param)
            given.append(Param(kind, dims, param.name))
            self.new[param] = given[-1]
        start.params = (*start.params, *given)

    def run(self) -> Function:
        """Write all blocks, with the lanes together, and return the Function."""
        self.begin()
        for block in self.old.blocks:
            new = self.blocks[block]
            self.function.blocks.append(new)
            writer = Writer(self.function, new)
            for op in block.ops:
                self.op(writer, op)
            writer.location = None
            writer.block.terminator = self.terminator(writer, block.terminator)
        return self.function

    def value(self, operand: Operand) -> Operand:
        return self.new[operand] if isinstance(operand, Op | Param) else operand

    def op(self, writer: Writer, op: Op) -> None:
        writer.location = op.location
        if op.callee is drop or op.callee is keep:
            return
        args, named = tuple(map(self.value, op.args)), tuple((name, self.value(a)) for name, a in op.kwargs)
        flags = tuple(map(self.of, op.args))
        if op.callee not in CONTAINERS and (any(map(any_of, flags)) or any(any_of(self.of(a)) for _, a in op.kwargs)):
            self.new[op] = self.lanewise(writer, op, flags, args, dict(named))
            return
        again = Op(op.callee, args, named, op.type, op.dims and tuple(map(self.value, op.dims)), op.effect, op.location, op.name)
        writer.block.ops.append(again)
        self.new[op] = again if op not in self.own else writer.rule(own, Const(self.lanes), again)

    def lanewise(self, writer: Writer, op: Op, flags: tuple[Which, ...], args: tuple[Operand, ...], named: Mapping[str, Operand]) -> Operand:
        """Emit an op on operands that differ between lanes, and return its result for all lanes; raise Diverging if there is no way to do it."""
        if isinstance(op.callee, Function | Op | Param):
            raise Diverging(told(op, "is called with what differs from lane to lane"))
        if op.callee in PLAIN and is_array(op.args[0]):
            return self._changed(writer, op, flags, args)
        if op.effect & Effect.WRITES and not writes_first_operand(op):
            raise Diverging(told(op, "is done lane by lane"))
        if is_view(op) and op.callee is operator.getitem and any_of(flags[1]) and self.groups.is_stored(op) and not self._put_back(op):
            raise Diverging(told(op, "shows another part of an array in each lane, and that is stored into"))
        if op.callee in FLAT and self.groups.is_stored(op.args[0]):
            raise Diverging(told(op, "shows an array that is stored into or a copy of it, as that lies in memory"))
        if op.callee in PLAIN and not is_array(op.args[0]):
            # numbers are immutable: the in-place operator is the plain one
            op = replace(op, callee=PLAIN[op.callee])
        if self.groups.is_stored(op) and (op in self.groups.loose or (is_view(op) and op.callee not in LANE_VIEWS)):
            raise Diverging(told(op, "shows memory that is stored into"))
        part = self._part(writer, op, args)
        if part is not None:
            return part
        if isinstance(op.type, Union) and one_kind(op.type) is None:
            raise Diverging(told(op, "gives numbers of several kinds"))
        if op.callee is operator.setitem:
            value, differs = self.stored(writer, op, args[2])
            args, flags = (*args[:2], value), (*flags[:2], differs)
        elif is_in(op.callee, OF_ELEMENTS) and isinstance(op.type, Array):
            args = (self._held(writer, op.args[0], args[0], str(op.type.dtype), isinstance(flags[0], tuple)), *args[1:])
        else:
            fits = fitting(op.callee, op.type, list(map(_type_of, op.args)))
            args = tuple([arg if to is None or not flag else writer.rule(fitted, arg, Const(to)) for arg, flag, to in zip(args, flags, fits, strict=True)])
        found = self._computed(writer, op, flags, args, named)
        # a number in each lane is no view: the result must not share memory with the array
        return writer.rule(copied, found) if op.callee is operator.getitem and not is_array(op) and self.groups.is_stored(op.args[0]) else found

    def stored(self, writer: Writer, op: Op, value: Operand) -> tuple[Operand, bool]:
        """Return the value that ``a[index] = value`` stores in all lanes, converted where its numbers have to fit into the array, and whether it
        differs between lanes.
        """
        which = self.of(op.args[2])
        if not isinstance(kind := getattr(op.args[0], "type", None), Array):
            return value, any_of(which)
        indices = op.args[1].args if isinstance(op.args[1], Op) and op.args[1].callee in CONTAINERS else op.args[1:2]
        if stores_parts_of_itself(op, self.groups):
            raise Diverging(told(op, "stores a list of parts of an array into that array"))
        value = self._held(writer, op.args[2], value, str(kind.dtype), not any(map(is_array, indices)))
        return (writer.rule(nested, Const(self.lanes), Const(which), value), True) if isinstance(which, tuple) else (value, which)

    def _held(self, writer: Writer, old: Operand, new: Operand, dtype: str, alone: bool) -> Operand:
        """Return new, converted to this dtype where its numbers have to fit into an array of it; alone: they are stored one by one."""
        if isinstance(self.of(old), tuple):
            if not isinstance(new, Op) or new.callee not in CONTAINERS:
                raise Diverging("a container of what differs from lane to lane is passed on")
            parts = [self._held(writer, part, one, dtype, True) for part, one in zip(old.args, new.args, strict=True)]  # type: ignore[union-attr]
            return writer.op(new.callee, *parts, type=new.type)
        to = held(_type_of(old), dtype, alone)
        return new if to is None else writer.rule(fitted, new, Const(to))

    def _changed(self, writer: Writer, op: Op, flags: tuple[Which, ...], args: tuple[Operand, ...]) -> Operand:
        """Emit ``a *= b``: the result of ``a * b`` in each lane is stored into a."""
        plain = not_in_place(op)
        found = self.lanewise(writer, plain, flags, args, {})
        store = Op(operator.setitem, (op.args[0], Const(...), plain), type=Type(type(None)), effect=op.effect, location=op.location)
        self._computed(writer, store, (True, False, True), (args[0], Const(...), found), {})
        return args[0]

    def _computed(self, writer: Writer, op: Op, flags: tuple[Which, ...], args: tuple[Operand, ...], named: Mapping[str, Operand]) -> Operand:
        """Emit the batching row of a callable; if none applies, do one lane after the other."""
        row = _row(op.callee)
        if may_be_of_python(op.type) and is_of_python(op.callee):
            row = of_python(op.callee)
        if row is not None and not any(any_of(self.of(a)) for _, a in op.kwargs) and _binds(row, self.lanes, flags, *args, **named):
            function, values = traced(row, [Const(self.lanes), Const(flags), *args], dict(named))
            if refusal(function) is None and not declines(function) and self._is_what(op, function):
                return writer.inline(function, values)
        return self.apart(writer, op, args, named)

    def _put_back(self, view: Op) -> bool:
        """Is view, a part of an array, only changed in place and stored where it was?"""
        match self.users.get(view):
            case [Op() as changed, Op(callee=operator.setitem, args=(array, index, stored))] if in_place(changed) and changed.args[0] is view:
                return array is view.args[0] and index is view.args[1] and stored is view
        return False

    def _is_what(self, op: Op, function: Function) -> bool:
        """Can the batching row of op, traced as function, return an array of the type and the shape that op has in all lanes?"""
        if not is_number(op.type):
            return True
        kind, dims = self.lanes_of(op)
        ends = [block.terminator.value for block in function.blocks if isinstance(block.terminator, Return)]
        end: Any
        for end in ends:
            found = STANDARD.of_value(end.value) if isinstance(end, Const) else end.type
            if isinstance(found, Array) and found != kind:
                return False
            if isinstance(end, Param | Op) and end.dims is not None and not all(map(_may_be, end.dims, dims)):
                return False
        return True

    def _part(self, writer: Writer, op: Op, args: tuple[Operand, ...]) -> Operand | None:
        """Return an item that is taken out of a container, with its lanes; None if op takes no item, or takes it from an array."""
        if op.callee is not operator.getitem:
            return None
        of = op.args[0]
        kind = STANDARD.of_value(of.value) if isinstance(of, Const) else getattr(of, "type", None)
        if isinstance(kind, Array):
            return None
        if not isinstance(kind, Partial) or not issubclass(kind.cls, tuple) or not isinstance(args[1], Const):
            raise Diverging(told(op, "takes out of a container what differs from lane to lane"))
        made, dims = self.lanes_of(op)
        return writer.op(operator.getitem, *args, type=made, dims=dims)

    def apart(self, writer: Writer, op: Op, args: tuple[Operand, ...], named: Mapping[str, Operand]) -> Operand:
        """Emit an op on one lane after the other; its results are numbers, or arrays of one shape."""
        kind, dims = self.lanes_of(op)
        if op.effect & Effect.WRITES or not all(isinstance(d, Const) and isinstance(d.value, int) for d in dims):
            raise Diverging(told(op, "is done lane by lane"))
        if any(isinstance(getattr(a, "type", None), Union) and any_of(self.of(a)) for a in op.operands()):
            raise Diverging(told(op, "is given what is a number of Python's in some lanes and one of NumPy's in others"))
        which = tuple(map(self._form, op.args)), tuple(self._form(a) for _, a in op.kwargs)
        made = writer.rule(lane_by_lane, Const(self.lanes), Const(op.callee), Const(which), Const(str(kind.dtype)), *args, **named)
        return writer.rule(shaped, made, Const(tuple([d.value for d in dims])))  # type: ignore[union-attr]

    def _form(self, operand: Operand) -> Any:
        """Return how the value of operand in a single lane is found, in the form that ``lane_by_lane`` takes."""
        which = self.of(operand)
        if isinstance(which, tuple):
            return tuple(map(self._form, operand.args))  # type: ignore[union-attr]
        return NUMBER if which and getattr(operand, "type", None) in PYTHON else which

    def terminator(self, writer: Writer, old: Any) -> Any:
        match old:
            case Return():
                return Return(self.result(writer, old.value))
            case Jump():
                return Jump(self.edge(writer, old.edge), old.location)
            case Branch():
                if self.of(old.cond):
                    raise Diverging("lanes go different ways")
                return Branch(self.value(old.cond), self.edge(writer, old.true), self.edge(writer, old.false), old.location)
            case Raise() if not self.of(old.value):
                return Raise(self.value(old.value), old.again, old.location)
            case Invoke():
                raise Diverging(told(old.op, "may raise what is caught here"))
        raise Diverging("what is raised differs from lane to lane")

    def edge(self, writer: Writer, old: Edge) -> Edge:
        args = []
        for param, arg in zip(old.block.params, old.args, strict=True):
            given = self.value(arg)
            if self.of(param):
                if isinstance(self.of(arg), tuple):
                    raise Diverging("a container of what differs from lane to lane is passed on")
                if not self.of(arg) and self.groups.is_stored(arg):
                    raise Diverging("an array that is stored into is the same in all lanes on one way, and differs on another")
                kind, _ = self.lanes_of(param)
                given = writer.rule(own if not self.of(arg) else _as, Const(self.lanes), given, Const(kind.dtype.str))  # type: ignore[attr-defined]
            args.append(given)
        return Edge(self.blocks[old.block], tuple(args))

    def result(self, writer: Writer, value: Any) -> Operand:
        """Emit the leaves of the result, for all lanes, and its tree."""
        leaves, tree = parts_of(value)
        if not all(isinstance(part, Const) or is_whole(part.type) for part in parts_of(leaves)):
            raise Diverging("of a part of what a function gives it is not known that it is no tree")
        found = [writer.rule(spread, Const(self.lanes), self.value(part), Const(any_of(self.of(part)))) for part in parts_of(leaves)]
        return writer.op(make_tuple, writer.op(make_tuple, *found, type=Type(tuple)), self.value(tree), type=Type(tuple))


def _type_of(operand: Any) -> Any:
    """Return the type of operand; for a constant, the type without the value."""
    if not isinstance(operand, Const):
        return operand.type
    kind = STANDARD.of_value(operand.value)
    return kind if isinstance(kind, Array) else Type(type(operand.value))


def _may_be(one: Operand, other: Operand) -> bool:
    """Can two dims be equal?"""
    sizes = [d.value for d in (one, other) if isinstance(d, Const) and isinstance(d.value, int)]
    return len(sizes) < 2 or sizes[0] == sizes[1]


def _as(lanes: int, x: Any, dtype: str) -> Any:
    """Return lanes of this dtype."""
    return x if x.dtype.str == dtype else x.astype(dtype)
