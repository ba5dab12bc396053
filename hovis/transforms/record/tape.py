"""Reverse mode for programs that have run: a tape of the calls in which something changed, run backwards.

Programs that :mod:`hovis.transforms.reverse.sweep` can't transform, above all because values pass through containers and objects that exist
at run time, are recorded as they run (:mod:`hovis.transforms.record.recorder`).  A number or an array that changes is in a box.

The cotangent of a number is in its box.  That of an array is tied to its memory: it is in the shadow of the memory that the array shows,
therefore views need no record at all.  Elements that a store overwrites are saved, and restored when the sweep passes the store.
"""

import operator as o
import types
from collections.abc import Callable
from typing import Any, Self

from hovis.errors import DerivativeError
from hovis.ir.model import Location, Op
from hovis.lattice.inspection import bound_to
from hovis.library.numpy.adjoints import shadow_memory
from hovis.library.numpy.adjoints.cotangents import alike
from hovis.library.numpy.adjoints.tangents import added
from hovis.library.tables.derivatives import TABLE, Derivative
from hovis.transforms import derivative_rules
from hovis.transforms.aliasing import PLAIN
from hovis.transforms.record.boxes import OPEN, RAW, Box, bare, bared, boxes_in, has_box, record
from hovis.transforms.record.call_kinds import CALLING, Entered, is_in
from hovis.transforms.record.tape_calls import Call, Item
from hovis.transforms.record.tape_stores import REPEATED, store, store_one_by_one, store_where_told, write_all
from hovis.transforms.source_places import where


def _kept(x: Any) -> Any:
    """Return x as it is now: lists and dicts are copied, at any depth."""
    kind = type(x)
    if kind is list:
        return [_kept(item) for item in x]
    return {key: _kept(item) for key, item in x.items()} if kind is dict else x


class Tape:
    """The record of what a program has done with values that change.

    runner    runs a Python function, and records what it does
    roots     the arrays that own memory in which something changes, by id
    touched   those of them that are referenced outside of boxes
    """

    def __init__(self, runner: Callable[..., Any]) -> None:
        self.runner = runner
        self.level = 0
        self.entries: list[Any] = []
        self.roots: dict[int, Any] = {}
        self.touched: dict[int, Any] = {}
        self.stored: dict[int, Any] = {}
        self.repeated: dict[int, Any] = {}
        self.shadows: dict[int, Any] = {}
        self.holders: dict[int, Any] = {}
        self.originals: dict[int, tuple[Any, Any]] = {}
        self.location: Location | None = None

    def __enter__(self) -> Self:
        self.level = len(OPEN.tapes)
        OPEN.tapes.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        OPEN.tapes.pop()

    def outer(self, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call callee for the tapes around this one alone: this tape and those within it do not see the call."""
        inner = OPEN.tapes[self.level :]
        del OPEN.tapes[self.level :]
        try:
            return record(callee, args, kwargs)
        finally:
            OPEN.tapes += inner

    def note(self, entry: Any) -> None:
        """Append an entry to the tape."""
        self.entries.append(entry)

    def place(self) -> str:
        """Return the current source location of the program, as text."""
        return where(self.location)

    # --------------------------------------------------------------------------------------------- boxes

    def boxed(self, x: Any) -> Box:
        """Return a box for x, which begins to change; the root of an array is added to ``roots``."""
        if shadow_memory.is_array(bare(x)):
            root = shadow_memory.root_of(bare(x))
            self.roots[id(root)] = root
        return Box(x, self)

    def shown(self, x: Any) -> Any:
        """Return a box for an array that shows memory in which something changes."""
        return Box(x, self)

    def seen(self, x: Any) -> Any:
        """Return x, in a box if it shows memory that something was stored into from outside of a box. Raise DerivativeError if such an array
        shows some of its memory several times.
        """
        inner = bare(x)
        if shadow_memory.is_array(inner) and id(shadow_memory.root_of(inner)) in self.touched and not (type(x) is Box and x.tape.level >= self.level):
            if shadow_memory.repeats(inner):
                raise DerivativeError(f"{REPEATED} ({self.place()})")
            return Box(x, self)
        return x

    def seen_within(self, x: Any) -> Any:
        """Apply ``seen`` to x or, if x is a list or a tuple, to its items, at any depth; a list or tuple in which one changes is copied."""
        kind = type(x)
        if kind is not list and kind is not tuple:
            return self.seen(x)
        items = [self.seen_within(item) for item in x]
        return x if all(a is b for a, b in zip(items, x, strict=True)) else kind(items)

    def opened(self, x: Any) -> Any:
        """Return x without the boxes of this tape; containers of boxes are copied."""
        kind = type(x)
        if kind is Box:
            return x.value if x.tape is self else x
        if kind is list:
            return [self.opened(item) for item in x]
        if kind is dict:
            return {key: self.opened(item) for key, item in x.items()}
        if kind is slice:
            return slice(self.opened(x.start), self.opened(x.stop), self.opened(x.step))
        if issubclass(kind, tuple) and has_box(x, self):
            items = [self.opened(item) for item in x]
            return tuple(items) if kind is tuple else tuple.__new__(kind, items)
        return x

    # --------------------------------------------------------------------------------------------- calls

    def call(self, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do and record a call with arguments that change: a read, a store, or a numeric function. Raise DerivativeError if it has no
        derivative.
        """
        if is_in(callee, shadow_memory.INSTEAD):
            return shadow_memory.INSTEAD[callee](record, *args, **kwargs)
        if callee is o.getitem and type(args[0]) is Box and shadow_memory.is_array(bare(args[0])):
            return self._item(args[0], args[1])
        if callee is o.setitem:
            if shadow_memory.is_in_parts(bare(args[0]), bare(args[1]), bared(args[2])):
                part = record(o.getitem, (args[0], args[1]), {})
                for k, value in enumerate(args[2]):
                    record(o.setitem, (part, k, value), {})
            else:
                store(self, args[0], args[1], args[2])
            return None
        written = shadow_memory.written(callee, args, kwargs)
        if written is not None:
            into, instead, given, named, result = written
            write_all(self, into, record(instead, given, named))
            return result
        if is_in(callee, PLAIN):
            found = record(PLAIN[callee], args, {})
            if not shadow_memory.is_array(bare(args[0])):
                return found
            write_all(self, args[0], found)
            return args[0]
        sign = shadow_memory.scattered(callee, args)
        if sign:
            store(self, args[1], args[2], args[3], sign, lambda: self.outer(callee, tuple(map(self.opened, args)), {}))
            return None
        if callee is shadow_memory.AT:
            store_one_by_one(self, *args)
            return None
        if is_in(callee, shadow_memory.PLACING):
            store_where_told(self, callee, args, kwargs)
            return None
        return self._numeric(callee, list(args), kwargs)

    def entered(self, callee: Any, python: Entered, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Follow a function of user code. If an operator's method returns NotImplemented, leave the operator to Python."""
        fn, given = python
        found = self.runner(fn, given, kwargs)
        return callee(*args, **kwargs) if found is NotImplemented else found

    def moved(self, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call something that only moves values about, boxes included, and remember the objects that may hold boxes now."""
        if callee is getattr and len(args) == 2 and type(args[0]) is Box and args[1] in RAW:
            advice = "np.lib.stride_tricks.sliding_window_view has one"
            raise DerivativeError(f"the use of an array's {args[1]} has no derivative: {advice} ({self.place()})")
        for holder in (*args[:1], bound_to(callee)):
            if holder is not None and type(holder) is not Box:
                self.holders[id(holder)] = holder
        if is_in(callee, CALLING):
            args = tuple([self.followed(arg) for arg in args])
            kwargs = {name: self.followed(value) for name, value in kwargs.items()}
        return callee(*args, **kwargs)

    def followed(self, fn: Any) -> Any:
        """Return fn, an argument of a callable such as ``map``, as a function whose calls are recorded, if it is a Python function."""
        if not isinstance(fn, types.FunctionType | types.MethodType):
            return fn
        return lambda *args, **kwargs: record(fn, args, kwargs)

    def made(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a new instance of a user class; its ``__init__`` is recorded."""
        instance: Any = object.__new__(cls)
        self.holders[id(instance)] = instance
        record(cls.__init__, (instance, *args), kwargs)  # type: ignore[misc]
        return instance

    def _item(self, base: Box, index: Any) -> Any:
        """Return ``base[index]``: a view, or a copy, whose cotangent is to be added to that part of the array."""
        index = self.opened(index)
        y = self.outer(o.getitem, (base.value, index), {})
        made, own = self._results(y)
        if own is not None:
            self.note(Item(base.value, index, own))
        return made

    def _numeric(self, callee: Any, boxed: list[Any], kwargs: dict[str, Any]) -> Any:
        row = TABLE.of(callee)
        if row is None:
            raise DerivativeError(derivative_rules.unknown(Op(callee, (), location=self.location)))
        if not row.constant:
            boxed, kwargs = self._by_position(callee, row, boxed, kwargs)
        level = shadow_memory.takes_lists(callee)
        boxed = [self._with_arrays(_kept(arg), level) for arg in boxed]
        args = [self.opened(arg) for arg in boxed]
        y = self.outer(callee, tuple(args), {name: self.opened(value) for name, value in kwargs.items()})
        if row.constant:
            return y
        made, own = self._results(y)
        if own is not None:
            self.note(Call(callee, row, boxed, args, kwargs, y, own, self.location))
        return made

    def _with_arrays(self, x: Any, level: int) -> Any:
        """Return x with arrays in place of lists that hold boxes: of x itself (level 1), or of the items of x (level 2)."""
        if not level or type(x) not in (list, tuple) or not has_box(x, self):
            return x
        return record(shadow_memory.array, (x,), {}) if level == 1 else [self._with_arrays(item, level - 1) for item in x]

    def _by_position(self, callee: Any, row: Derivative, boxed: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Move the keyword arguments that hold boxes to their positions. Return the positional and the remaining keyword arguments."""
        named = [name for name, value in kwargs.items() if has_box(value, self)]
        if not named:
            return boxed, kwargs
        op = Op(callee, (), location=self.location)
        rest = dict(kwargs)
        if any(name not in row.parameters for name in named):
            raise DerivativeError(derivative_rules.unknown(op))
        last = max(row.parameters.index(name) for name in named)
        for parameter in row.parameters[len(boxed) : last + 1]:
            if parameter not in rest:
                raise DerivativeError(derivative_rules.unknown(op))
            boxed = [*boxed, rest.pop(parameter)]
        return boxed, rest

    def _results(self, y: Any) -> tuple[Any, Any]:
        """Return the result y of a call, with boxes for the parts that change, and which of these boxes have a cotangent of their own (None:
        none).
        """
        inner = bare(y)
        kind: Any = type(inner)
        if shadow_memory.is_array(inner):
            if not shadow_memory.varies(inner):
                return y, None
            root = shadow_memory.root_of(inner)
            if shadow_memory.repeats(inner):
                self.repeated[id(root)] = root
                y = self.outer(shadow_memory.copied, (y,), {})
                root = shadow_memory.root_of(bare(y))
            elif id(root) in self.roots:
                return Box(y, self), None
            self.roots[id(root)] = root
            box = Box(y, self)
            return box, box
        if issubclass(kind, tuple) or kind is list:
            pairs = [self._results(part) for part in inner]
            parts, own = [made for made, _ in pairs], tuple([of for _, of in pairs])
            made = parts if kind is list else tuple(parts) if kind is tuple else tuple.__new__(kind, parts)
            return made, own if any(of is not None for of in own) else None
        if not shadow_memory.varies(inner):
            return y, None
        box = Box(y, self)
        return box, box

    # --------------------------------------------------------------------------------------------- the sweep

    def shadow(self, x: Any) -> Any:
        """Return the cotangent of an array, to be added to in place; None if nothing has been added yet."""
        inner = bare(x)
        shadow = self.shadows.get(id(shadow_memory.root_of(inner)))
        return None if shadow is None else shadow_memory.seen_as(shadow, inner)

    def shadow_for(self, x: Any) -> Any:
        """Return the cotangent of an array, to be added to in place; it is made if there is none."""
        root = shadow_memory.root_of(bare(x))
        if id(root) not in self.shadows:
            self.shadows[id(root)] = shadow_memory.shadow_of(root)
        return self.shadow(x)

    def taken(self, made: Any) -> Any:
        """Return the cotangent of the result of a call: a copy for an array, a tuple for several results, None if there is none."""
        if type(made) is Box:
            if not shadow_memory.is_array(bare(made)):
                return made.change
            if id(shadow_memory.root_of(bare(made))) not in self.shadows:
                return None
            return self.outer(shadow_memory.copied, (self.shadow(made),), {})
        if isinstance(made, tuple | list):
            return tuple([self.taken(part) for part in made])
        return None

    def share(self, operand: Any, g: Any) -> None:
        """Add g to the cotangent of an operand, a box or a container of boxes."""
        if g is None or not has_box(operand, self):
            return
        if type(operand) is not Box:
            for part, share in zip(operand.values() if isinstance(operand, dict) else operand, g, strict=False):
                if has_box(part, self):
                    self.share(part, share)
            return
        if operand.tape is not self:
            return
        g = self.run(alike, g, operand.value)
        inner = bare(operand)
        if not shadow_memory.is_array(inner):
            operand.change = g if operand.change is None else self.run(added, operand.change, g)
            return
        self.outer(o.iadd, (self.shadow_for(inner), g), {})

    def run(self, rule: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the result of a rule; the call is recorded if boxes of other tapes are among its arguments."""
        args = self.within(args)
        found: list[Box] = []
        boxes_in((*args, *kwargs.values()), found, 4)
        return self.runner(rule, args, kwargs) if found else rule(*args, **kwargs)

    def within(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return these values as the tapes around this one know them: arrays whose memory changes for one of these tapes are in a box of it."""
        for tape in OPEN.tapes[: self.level]:
            if tape.touched:
                values = tuple(map(tape.seen_within, values))
        return values

    def pulled(self, fn: Callable[[Any], Any], x: Any, g: Any) -> Any:
        """Return the cotangent of x, given the cotangent g of ``fn(x)``."""
        with Tape(self.runner) as inner:
            box = inner.boxes_of(x)
            y = fn(box)
        inner.share(y, g)
        inner.sweep()
        return inner.taken(box)

    def boxes_of(self, x: Any) -> Any:
        """Return x with boxes for what can change in it; a list or a tuple becomes a tuple."""
        if isinstance(bare(x), tuple | list):
            return tuple([self.boxes_of(item) for item in x])
        if shadow_memory.is_array(bare(x)) and id(shadow_memory.root_of(bare(x))) in self.roots:
            x = self.outer(shadow_memory.copied, (x,), {})  # the copy has a cotangent of its own
        return self.boxed(x) if shadow_memory.varies(bare(x)) else x

    # --------------------------------------------------------------------------------------------- begin and end of a run

    def begin(self, original: Any) -> Box:
        """Return the box for a wanted argument that is passed to the program; an array is copied, so that its memory stands for it alone."""
        if not shadow_memory.is_array(bare(original)):
            return Box(original, self)
        twin = shadow_memory.twin_of(bare(original))
        self.outer(o.setitem, (twin, Ellipsis, original), {})
        made = self.boxed(twin)
        self.originals[id(shadow_memory.root_of(bare(made)))] = original, made.value
        return made

    def outside(self, box: Box) -> Any:
        """Return the value in a box as the caller knows it: for the copy of an array that ``begin`` made, the original."""
        original = self.originals.get(id(bare(box))) if shadow_memory.is_array(bare(box)) else None
        return box.value if original is None else original[0]

    def hand_back(self) -> None:
        """Copy what the program has stored into the copies that ``begin`` made back to the caller's arrays. The caller sees no boxes."""
        for at, (original, copy) in self.originals.items():
            if at in self.stored:
                self.outer(o.setitem, (original, Ellipsis, copy), {})

    def _as_known_outside(self, root: Any) -> Any:
        """Return root, an array that owns memory, as the tapes around this one know it: in a box of the tape for which something changes in it."""
        for tape in OPEN.tapes[: self.level]:
            if id(root) in tape.roots:
                root = Box(root, tape)
        return root

    def sweep(self) -> None:
        """Run the tape backwards. In the end, arrays that were stored into contain again what the program has left in them."""
        roots = [self._as_known_outside(root) for root in self.stored.values()]
        ends = [(root, self.outer(shadow_memory.copied, (root,), {})) for root in roots]
        try:
            while self.entries:
                self.entries.pop().reverse(self)
        finally:
            for root, end in ends:
                self.outer(o.setitem, (root, Ellipsis, end), {})


__all__ = ["Tape"]
