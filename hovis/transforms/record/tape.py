"""Reverse mode of what has run: a tape of the calls in which something changed, run backwards.

What :mod:`hovis.transforms.reverse.sweep` can't write the reverse of, above all what goes through containers and objects that are
real, is recorded as it runs (:mod:`hovis.transforms.record.recorder`).  A number or an array that changes is in a box.

The cotangent of a number is in its box.  That of an array is where the array is: in the shadow of the memory that it shows, so
views need no record at all.  What a store overwrites is kept, and put back as the sweep passes it.
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
    """x as it is now: containers are copied."""
    kind = type(x)
    if kind is list:
        return [_kept(item) for item in x]
    return {key: _kept(item) for key, item in x.items()} if kind is dict else x


class Tape:
    """What a program has done that matters.

    runner    runs a Python function, and records what it does
    roots     the arrays that own memory in which something changes, by identity
    touched   those of them that are held outside of boxes
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
        """A call, as it is for the tapes around this one, which alone see what is done in it."""
        inner = OPEN.tapes[self.level :]
        del OPEN.tapes[self.level :]
        try:
            return record(callee, args, kwargs)
        finally:
            OPEN.tapes += inner

    def note(self, entry: Any) -> None:
        """Something that matters has been done."""
        self.entries.append(entry)

    def place(self) -> str:
        """Where the program is."""
        return where(self.location)

    # --------------------------------------------------------------------------------------------- boxes

    def boxed(self, x: Any) -> Box:
        """What begins to change."""
        if shadow_memory.is_array(bare(x)):
            root = shadow_memory.root_of(bare(x))
            self.roots[id(root)] = root
        return Box(x, self)

    def shown(self, x: Any) -> Any:
        """An array that shows memory in which something changes."""
        return Box(x, self)

    def seen(self, x: Any) -> Any:
        """x, in a box if it shows memory that something was stored into from outside of a box."""
        inner = bare(x)
        if shadow_memory.is_array(inner) and id(shadow_memory.root_of(inner)) in self.touched and not (type(x) is Box and x.tape.level >= self.level):
            if shadow_memory.repeats(inner):
                raise DerivativeError(f"{REPEATED} ({self.place()})")
            return Box(x, self)
        return x

    def seen_within(self, x: Any) -> Any:
        """The same of what is in a list or a tuple, which is copied if there is such."""
        kind = type(x)
        if kind is not list and kind is not tuple:
            return self.seen(x)
        items = [self.seen_within(item) for item in x]
        return x if all(a is b for a, b in zip(items, x, strict=True)) else kind(items)

    def opened(self, x: Any) -> Any:
        """x without the boxes of this tape: containers of boxes are copied."""
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
        """A call of something that is given what changes."""
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
        """A function of the program's own is followed; what an operator's method does not know is Python's to decide."""
        fn, given = python
        found = self.runner(fn, given, kwargs)
        return callee(*args, **kwargs) if found is NotImplemented else found

    def moved(self, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What moves values about does so with boxes; who may hold some now is remembered."""
        if callee is getattr and len(args) == 2 and type(args[0]) is Box and args[1] in RAW:
            advice = "np.lib.stride_tricks.sliding_window_view has one"
            raise DerivativeError(f"what is done by way of an array's {args[1]} has no derivative: {advice} ({self.place()})")
        for holder in (*args[:1], bound_to(callee)):
            if holder is not None and type(holder) is not Box:
                self.holders[id(holder)] = holder
        if is_in(callee, CALLING):
            args = tuple([self.followed(arg) for arg in args])
            kwargs = {name: self.followed(value) for name, value in kwargs.items()}
        return callee(*args, **kwargs)

    def followed(self, fn: Any) -> Any:
        """A Python function that is called by what moves values about."""
        if not isinstance(fn, types.FunctionType | types.MethodType):
            return fn
        return lambda *args, **kwargs: record(fn, args, kwargs)

    def made(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An instance of a class of the program's own."""
        instance: Any = object.__new__(cls)
        self.holders[id(instance)] = instance
        record(cls.__init__, (instance, *args), kwargs)  # type: ignore[misc]
        return instance

    def _item(self, base: Box, index: Any) -> Any:
        """A part of an array: a view, or what is added to in its place."""
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
        """x, in which arrays stand for lists that hold boxes: for x itself (1), or for what is in it (2)."""
        if not level or type(x) not in (list, tuple) or not has_box(x, self):
            return x
        return record(shadow_memory.array, (x,), {}) if level == 1 else [self._with_arrays(item, level - 1) for item in x]

    def _by_position(self, callee: Any, row: Derivative, boxed: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """What is passed by name and changes stands by position."""
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
        """What a call gave, in boxes as far as it changes; and what of that has a cotangent of its own, None if nothing."""
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
        """The cotangent of an array, to be added to; None if nothing has been."""
        inner = bare(x)
        shadow = self.shadows.get(id(shadow_memory.root_of(inner)))
        return None if shadow is None else shadow_memory.seen_as(shadow, inner)

    def shadow_for(self, x: Any) -> Any:
        """The cotangent of an array, to be added to."""
        root = shadow_memory.root_of(bare(x))
        if id(root) not in self.shadows:
            self.shadows[id(root)] = shadow_memory.shadow_of(root)
        return self.shadow(x)

    def taken(self, made: Any) -> Any:
        """The cotangent of what a call gave."""
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
        """One more share of the cotangent of an operand."""
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
        """What a rule gives, as it is or as part of another tape."""
        args = self.within(args)
        found: list[Box] = []
        boxes_in((*args, *kwargs.values()), found, 4)
        return self.runner(rule, args, kwargs) if found else rule(*args, **kwargs)

    def within(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Values as the tapes around this one know them: memory in which something changes for them is in their boxes."""
        for tape in OPEN.tapes[: self.level]:
            if tape.touched:
                values = tuple(map(tape.seen_within, values))
        return values

    def pulled(self, fn: Callable[[Any], Any], x: Any, g: Any) -> Any:
        """The cotangent of x, of which fn is a function."""
        with Tape(self.runner) as inner:
            box = inner.boxes_of(x)
            y = fn(box)
        inner.share(y, g)
        inner.sweep()
        return inner.taken(box)

    def boxes_of(self, x: Any) -> Any:
        """What changes in a value or a container of some, in boxes."""
        if isinstance(bare(x), tuple | list):
            return tuple([self.boxes_of(item) for item in x])
        if shadow_memory.is_array(bare(x)) and id(shadow_memory.root_of(bare(x))) in self.roots:
            x = self.outer(shadow_memory.copied, (x,), {})  # each has a cotangent of its own
        return self.boxed(x) if shadow_memory.varies(bare(x)) else x

    # --------------------------------------------------------------------------------------------- the ends

    def begin(self, original: Any) -> Box:
        """What is wanted, as it is to be given to the program: of an array a copy, which stands for it alone."""
        if not shadow_memory.is_array(bare(original)):
            return Box(original, self)
        twin = shadow_memory.twin_of(bare(original))
        self.outer(o.setitem, (twin, Ellipsis, original), {})
        made = self.boxed(twin)
        self.originals[id(shadow_memory.root_of(bare(made)))] = original, made.value
        return made

    def outside(self, box: Box) -> Any:
        """What is in a box, as the caller knows it."""
        original = self.originals.get(id(bare(box))) if shadow_memory.is_array(bare(box)) else None
        return box.value if original is None else original[0]

    def hand_back(self) -> None:
        """The caller sees what the program has stored; boxes are not to be seen."""
        for at, (original, copy) in self.originals.items():
            if at in self.stored:
                self.outer(o.setitem, (original, Ellipsis, copy), {})

    def _as_known_outside(self, root: Any) -> Any:
        """Memory, as the tapes around this one know it: in their boxes, where something changes in it for them."""
        for tape in OPEN.tapes[: self.level]:
            if id(root) in tape.roots:
                root = Box(root, tape)
        return root

    def sweep(self) -> None:
        """Run backwards; what was stored into is at the end what the program has made of it."""
        roots = [self._as_known_outside(root) for root in self.stored.values()]
        ends = [(root, self.outer(shadow_memory.copied, (root,), {})) for root in roots]
        try:
            while self.entries:
                self.entries.pop().reverse(self)
        finally:
            for root, end in ends:
                self.outer(o.setitem, (root, Ellipsis, end), {})


__all__ = ["Tape"]
