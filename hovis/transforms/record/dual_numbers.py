"""Forward mode for programs that are recorded as they run: the tangent of each value that changes is computed with it, call by call.

Programs that :mod:`hovis.transforms.forward.jvp` can't transform are run as for reverse mode (:mod:`hovis.transforms.record.tape`), but
instead of being put on the tape, each entry is processed at once: the tangent of a number is in its box, that of an array in the shadow of
the memory that it shows.  No entries are kept, and no overwritten values have to be restored.
"""

import operator as o
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hovis.errors import Declined, DerivativeError
from hovis.ir.model import Op
from hovis.library.numpy.adjoints import shadow_memory
from hovis.library.numpy.adjoints.cotangents import alike, scatter
from hovis.library.numpy.adjoints.tangents import added, tangent
from hovis.transforms import derivative_rules
from hovis.transforms.record.boxes import OPEN, Box, bare, has_box
from hovis.transforms.record.tape import Tape
from hovis.transforms.record.tape_calls import Call, Item
from hovis.transforms.record.tape_stores import Store
from hovis.transforms.record.unbox import members


class Duals(Tape):
    """A tape for forward mode: it keeps no entries, but computes the tangent of each result at once."""

    def note(self, entry: Any) -> None:
        """Apply an entry to the tangents at once. For the tapes around this one, tangents are ordinary values."""
        with self._around():
            if isinstance(entry, Call):
                self._call(entry)
            elif isinstance(entry, Item):
                self._take(entry)
            else:
                assert isinstance(entry, Store)
                self._put(entry)

    @contextmanager
    def _around(self) -> Iterator[None]:
        tapes = OPEN.tapes
        OPEN.tapes = tapes[: self.level]
        try:
            yield
        finally:
            OPEN.tapes = tapes

    # --------------------------------------------------------------------------------------------- entries

    def _call(self, call: Call) -> None:
        op = Op(call.callee, (), location=call.location)
        total = None
        for k, operand in enumerate(call.boxed):
            t = self.change(operand)
            if t is not None and call.flows(k):
                try:
                    total = self.run(added, total, self._pushed(call, op, k, t))
                except Declined as why:
                    raise DerivativeError(derivative_rules.not_for(str(why), op)) from None
        self.move(call.made, total)

    def _pushed(self, call: Call, op: Op, k: int, t: Any) -> Any:
        row, args = call.row, call.args
        if row.every_push is not None:
            return self.run(row.every_push, k, t, call.y, *args, **call.kwargs)
        rule = row.pushes[k] if k < len(row.pushes) else None
        if rule is None and row.definition is not None:
            definition, within = row.definition, self.within(tuple(args))
            return self.pushed(lambda x: definition(*within[:k], x, *within[k + 1 :], **call.kwargs), args[k], t)
        if rule is None:
            raise DerivativeError(derivative_rules.unknown(op, k) if row.every_pull is None else derivative_rules.backwards(op))
        return self.run(rule, t, call.y, *args, **call.kwargs)

    def pushed(self, fn: Callable[[Any], Any], x: Any, t: Any) -> Any:
        """Return the tangent of ``fn(x)``, given the tangent t of x."""
        with Duals(self.runner) as inner:
            box = inner.boxes_of(x)
            inner.move(box, t)
            return inner.change(fn(box))

    def _take(self, item: Item) -> None:
        shadow = self.shadow(item.base)
        if shadow is not None:
            self.move(item.made, self.outer(o.getitem, (shadow, item.index), {}))

    def _put(self, store: Store) -> None:
        t = self.change(store.value)
        if t is None and (store.sign or self.shadow(store.target) is None):
            return
        shadow = self.shadow_for(store.target)
        if store.sign:
            self.outer(scatter, (shadow, store.index, t if store.sign > 0 else self.outer(o.neg, (t,), {})), {})
        else:
            self.outer(o.setitem, (shadow, store.index, 0.0 if t is None else t), {})

    # --------------------------------------------------------------------------------------------- tangents

    def move(self, made: Any, t: Any) -> None:
        """Set the tangent of made, a box or a tuple or list of boxes, to t; nothing is set if t is None."""
        if t is None:
            return
        if isinstance(made, tuple | list):
            for part, its in zip(made, t, strict=False):
                self.move(part, its)
        elif made is not None:
            t = self.run(alike, t, made.value)
            if shadow_memory.is_array(bare(made)):
                self.outer(o.setitem, (self.shadow_for(made.value), Ellipsis, t), {})
            else:
                made.change = t

    def change(self, x: Any) -> Any:
        """Return the tangent of x, a value or a container of values; None if nothing in x changes."""
        if type(x) is Box:
            return self.taken(x) if x.tape is self else None
        return self.beside(x) if has_box(x, self) else None

    def beside(self, x: Any) -> Any:
        """Return a tangent for each value in x, a value or a container, in the structure of x; zero for values that do not change."""
        kind = type(x)
        if isinstance(x, dict):
            return {key: self.beside(item) for key, item in x.items()}
        if kind is list:
            return [self.beside(item) for item in x]
        if issubclass(kind, tuple):
            items = [self.beside(item) for item in x]
            return tuple(items) if kind is tuple else tuple.__new__(kind, items)
        found = self.change(x)
        if found is not None:
            return found
        return 0.0 if type(x) in (int, bool) else self.run(tangent, self.opened(x))

    def changes(self, x: Any, done: dict[int, Any]) -> Any:
        """Return the tangent of a result x, in the structure of x, with None for anything that is not a number; ``done`` maps the ids of objects
        to their tangents.
        """
        kind = type(x)
        if kind is Box:
            found = self.change(x)
            return self.run(tangent, self.opened(x)) if found is None else found
        if id(x) in done:
            return done[id(x)]
        if isinstance(x, dict):
            made = done[id(x)] = {}
            made.update({key: self.changes(item, done) for key, item in x.items()})
            return made
        if kind is list:
            several = done[id(x)] = []
            several += [self.changes(item, done) for item in x]
            return several
        if issubclass(kind, tuple):
            items = [self.changes(item, done) for item in x]
            return tuple(items) if kind is tuple else tuple.__new__(kind, items)
        held = members(x)
        if held is None:
            return tangent(x)
        like = done[id(x)] = object.__new__(kind)
        for name, item in held.items():
            object.__setattr__(like, name, self.changes(item, done))
        return like
