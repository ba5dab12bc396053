"""Helpers shared by the actions: which objects may be acted on, and when a key is known."""

import sys
from collections.abc import Callable
from typing import Any, Final

from hovis.engine.calls import enums
from hovis.engine.control import iteration
from hovis.engine.machine.constant_folding import NO_CONSTANT, reify
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj, reachable
from hovis.engine.state.type_lookup import lookup
from hovis.engine.state.values import STRONG, Known, Labels, Ref, V, labels_of
from hovis.lattice import AbstractValue, Const
from hovis.lattice.constants import is_immutable, is_key
from hovis.library.core import Library
from hovis.library.language.operators import one_of_many

VIRTUAL: Final = Library("virtual")

Args = list[V]
Named = dict[str, V]
Rule = Callable[[Machine, Args, Named], Any]


def action(*fns: Callable[..., object], counts: "tuple[int, int] | None" = None) -> Callable[[Rule], Rule]:
    """Decorator: register the function as the action for fns, to be tried after those registered before it.

    ``counts``: the least and the greatest number of arguments, all positional.  A call with other arguments is left to the
    real callable, which raises its own error.
    """

    def register(rule: Rule) -> Rule:
        added = rule if counts is None else _binding(rule, *counts)
        for fn in fns:
            before = VIRTUAL.actions.get(fn)
            VIRTUAL.action(fn)(added if before is None else _either(before, added))
        return rule

    return register


def _either(first: Rule, second: Rule) -> Rule:
    def rule(m: Machine, args: Args, named: Named) -> Any:
        found = first(m, args, named)
        return second(m, args, named) if found is None else found

    return rule


def _binding(rule: Rule, least: int, most: int) -> Rule:
    return lambda m, args, named: rule(m, args, named) if least <= len(args) <= most and not named else None


def pushed(m: Machine, run: Callable[[], Any]) -> Any:
    """Run a routine of the engine and return its result as an action does: the value that it has pushed, else its status."""
    height = len(m.frame.stack)
    status = run()
    return m.pop() if status is None and len(m.frame.stack) > height else status


#: The most cells of a virtual container; larger ones are real.
CELLS: Final = 1_024


def own(m: Machine, value: V, *kinds: str) -> VObj | None:
    """Return the virtual object if value is one of these kinds and has not escaped, so that strong updates are allowed; else None."""
    obj = m.obj(value, *kinds)
    return obj if obj is not None and obj.node is None else None


def plain(obj: VObj, name: str, cls: type) -> bool:
    """Does the object's class inherit this special method from the builtin class cls unchanged?"""
    return obj.cls is cls or lookup(obj.cls, name) is cls.__dict__.get(name)


def out_of_range(m: Machine, index: int, complaint: str) -> int:
    """Raise the IndexError for an index out of range in the traced code."""
    if not -sys.maxsize - 1 <= index <= sys.maxsize:
        complaint = "cannot fit 'int' into an index-sized integer"
    return m.raise_new(IndexError, complaint)


def known_key(key: V) -> bool:
    """Is key known, and can it be looked up while tracing?"""
    return isinstance(key, Known) and (is_key(key.value) or enums.by_identity(key.value))


def as_constant(m: Machine, key: V) -> "V | None":
    """Return a virtual tuple of known items as a known tuple, and any other key unchanged; None for other virtual objects."""
    if isinstance(key, Ref):
        obj = m.obj(key, "tuple")
        if obj is not None and obj.cls is tuple:
            found = reify(m, key)
            return None if found is NO_CONSTANT else Known(found, labels_of(key, *obj.cells))
        return None
    return key


def use(m: Machine, *values: V) -> None:
    for value in values:
        m.use(value, STRONG)


def kind_of(m: Machine, item: object) -> AbstractValue:
    """Return the type of an item of a known table of which any item may be selected."""
    return one_of_many(Const(item)) if type(item) is tuple else m.library.of_value(item)


def tuple_of(m: Machine, cells: tuple[V, ...], labels: Labels) -> V:
    """Make a tuple of these cells; the empty tuple is a constant, because there is only one."""
    return m.new(VObj("tuple", tuple, cells), labels) if cells else Known((), labels)


def is_whole(window: slice, size: int) -> bool:
    """Does slicing a tuple of this size with window return the tuple itself (tuplesubscript)?"""
    return window.indices(size) == (0, size, 1)


def slice_of(m: Machine, key: V) -> slice | None:
    """Return the slice if key is a known slice of ints and None whose step is not 0; else None."""
    if isinstance(key, Ref):
        obj = m.obj(key, "slice")
        if obj is not None and all(isinstance(c, Known) and (c.value is None or type(c.value) is int) for c in obj.cells):
            if isinstance(obj.cells[2], Known) and obj.cells[2].value == 0:
                return None
            for c in obj.cells:
                m.use(c, STRONG)
            held: Any = [c.value for c in obj.cells if isinstance(c, Known)]
            return slice(*held)
    if isinstance(key, Known) and type(key.value) is slice and is_immutable(key.value) and key.value.step != 0:
        return key.value
    return None


def is_iterator(m: Machine, value: Ref) -> bool:
    return m.state.heap[value.aid].kind in ("generator", "sequence_iter", "range_iter", "dict_iter", "range", "instance", "set", "model")


def settle_iterators(m: Machine, source: V) -> None:
    """Materialize the active iterators over source, and source itself, if it is a dict: an item is about to be removed from it."""
    heap = m.state.heap
    if not isinstance(source, Ref) or heap[source.aid].kind != "dict":
        return
    over = [aid for aid, obj in heap.items() if obj.kind == "dict_iter" and obj.node is None and _leads_to(obj.cells[0], source.aid)]
    if over:
        roots = [value.aid for _, value in m.state.roots() if isinstance(value, Ref)]
        for aid in sorted(reachable(heap, roots).intersection(over)):
            position = heap[aid].cells[1]
            if not (isinstance(position, Known) and position.value == iteration.EXHAUSTED):
                m.operand(Ref(aid))


def _leads_to(value: V, aid: int) -> bool:
    return isinstance(value, Ref) and value.aid == aid
