"""Objects of the trace: virtual ones, and real ones whose contents are known at present.

A :class:`VObj` is treated as immutable: a write makes a new one in the state's heap, so forking a state is copying
a dict.  ``node`` is None while the object is virtual, else the SSA value of the real object, whose contents the
cells then cache.  Two objects can be joined cell by cell if their *shapes* are equal.
"""

import collections
from collections.abc import Hashable
from types import CodeType
from typing import Any, Final

from hovis.engine.state.class_templates import ALL, parts
from hovis.engine.state.values import Known, Ref, V
from hovis.ir.model import Operand
from hovis.lattice import AbstractValue, Type
from hovis.lattice.constants import ATOMS, constant_key

#: Kinds whose contents cannot change: an escape does not make their cells uncertain.
IMMUTABLE: Final = frozenset(
    {"tuple", "slice", "range", "method", "function", "super", "partial", "view", "property", "staticmethod", "classmethod"}
)

#: Containers of constants that are at least this long are joined as a unit.
BULK: Final = 16


def may_be_one(one: "VObj", other: "VObj") -> bool:
    """May two real objects of the heap alias: two that the caller passed, or one that is the content of another?"""
    if one.inner or other.inner or not (one.argument and other.argument):
        return one.inner or other.inner
    return one.cls is other.cls or _is_dict_of(one, other) or _is_dict_of(other, one)


def _is_dict_of(one: "VObj", other: "VObj") -> bool:
    """May one, a dict, be the ``__dict__`` of the instance other?"""
    return one.cls is dict and other.kind == "instance" and other.cls.__dictoffset__ != 0


#: The fields that some exceptions have besides their arguments.
FIELDS: Final[dict[type, tuple[str, ...]]] = {
    StopIteration: ("value",),
    SystemExit: ("code",),
    NameError: ("name",),
    AttributeError: ("name", "obj"),
}


def fields_of(cls: type) -> tuple[str, ...]:
    """Return the fields of an exception class, except its arguments."""
    return tuple(field for base, fields in FIELDS.items() if issubclass(cls, base) for field in fields)


#: The key under which an instance of a subclass of a builtin class holds the data that C code keeps in it (see builtin_payload).
STORED: Final = "<stored>"


#: Kinds that hold items: the items live at least as long as the container.
CONTAINERS: Final = frozenset({"tuple", "list", "dict", "set", "instance"})


_HOLDERS: Final = frozenset({tuple, list, dict, set, frozenset, collections.deque, collections.OrderedDict, collections.defaultdict, collections.Counter})


def holds(kind: AbstractValue) -> bool:
    """Is a value of this type a container with unknown items?"""
    return type(kind) is Type and kind.cls in _HOLDERS


class VObj:
    """An object of the trace: its kind and class, its fixed data, and its cells.

    kind      tuple list dict set view instance exception cell function method slice range super *_iter generator model
              objects (a set of objects that are equal only to themselves, which are the cells) property staticmethod classmethod class (see class_templates)
    cls       the exact class
    keys      dict: the keys; instance: the attribute names in order; set: the elements (it has no cells)
    cells     the values
    extra     fixed data that is part of the shape (a function's code, a generator's pc, …)
    argument  the caller passed it: after an opaque call, what was known of it is not forgotten but tested again
    forgotten True: the cells must not be used any more; "suspect": they may be used after a test
    lent      the code of the residual function to which a caller has lent the object: the function may read it, but neither write to it nor
              let it escape (see inline_python)
    released  the cells whose values may end visibly are marked (see finalizers)
    adopted   the number of the caller's object that it represents until the end of the trace (see virtual/adopted): it is not built
    seen      it is real, and its identity is observed: its place in memory must not be reused before it ends in CPython
    """

    __slots__ = (
        "_bulk", "_holding", "_refs", "_shape", "adopted", "argument", "cells", "cls", "extra", "forgotten", "keys", "kind", "lent", "node", "released", "seen",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        cls: type,
        cells: tuple[V, ...] = (),
        keys: tuple[Any, ...] = (),
        extra: Any = None,
        node: Operand | None = None,
        forgotten: "bool | str" = False,
        argument: bool = False,
    ) -> None:
        self.kind = kind
        self.cls = cls
        self.cells = cells
        self.keys = keys
        self.extra = extra
        self.node = node
        self.forgotten = forgotten
        self.argument = argument
        self.lent: CodeType | None = None
        self.adopted: int | None = None
        self.released = self.seen = False
        self._bulk: bool | None = None
        self._holding: tuple[V, ...] | None = None
        self._refs: tuple[int, ...] | None = None
        self._shape: Hashable = None

    @property
    def bulk(self) -> bool:
        """Does the object hold many constants and nothing else (for example, a jump table)? Until it is written to, it is joined as a unit."""
        cells = self.cells
        if len(cells) < BULK:
            return False
        if self._bulk is None:
            self._bulk = all(type(c) is Known and type(c.value) in ATOMS for c in cells)
        return self._bulk

    @property
    def holding(self) -> tuple[V, ...]:
        """The cells that are not constants, in the reverse order of their release."""
        if self._holding is None:
            # the last item of these is released first (list_dealloc, tuple_dealloc)
            cells = self.cells if self.kind in ("list", "tuple") else self.cells[::-1]
            self._holding = tuple([cell for cell in cells if type(cell) is not Known])
        return self._holding

    @property
    def refs(self) -> tuple[int, ...]:
        """The numbers of the objects in the cells."""
        if self._refs is None:
            self._refs = () if self.bulk else tuple([cell.aid for cell in self.cells if type(cell) is Ref])
        return self._refs

    def replace(self, **changes: Any) -> "VObj":
        """Return a copy with some fields changed."""
        made = VObj.__new__(VObj)
        made.kind, made.cls, made.cells, made.keys, made.extra = self.kind, self.cls, self.cells, self.keys, self.extra
        made.node, made.forgotten, made.argument, made.lent, made.adopted = self.node, self.forgotten, self.argument, self.lent, self.adopted
        made.seen = self.seen
        made._bulk = made._holding = made._refs = made._shape = None
        made.released = False
        for name, value in changes.items():
            setattr(made, name, value)
        return made

    def ended(self) -> "VObj":
        """Return what becomes of a generator at its end."""
        return self.replace(cells=(), extra=("finished", self.extra[1], None, 0, 0, self.extra[5], False))

    def filled(self, cells: tuple[V, ...], node: Operand | None) -> "VObj":
        """Return a copy of the same shape with these cells and this node."""
        made = self.replace(cells=cells, node=node)
        made._shape = self._shape
        return made

    @property
    def watched(self) -> bool:
        """Is this a real object whose own end may be visible?

        It may be visible because a generator has something to close, because of a weak reference to an instance, because of the unknown contents
        of a container that is not known any more, or because another object gets the same place in memory.
        """
        if self.node is None or self.argument:
            return False
        if self.seen:
            return True
        if self.kind == "generator":
            return bool(self.extra[1].guarded)
        return (self.forgotten is True and self.kind in CONTAINERS) or (self.kind == "instance" and self.cls.__weakrefoffset__ != 0)

    def shape(self) -> Hashable:
        """Return the shape. Objects of equal shape can be joined cell by cell."""
        if self._shape is None:
            keys = tuple(map(constant_key, self.keys)) if self.kind == "dict" or self.kind == "set" else self.keys
            self._shape = self.kind, self.cls, len(self.cells), keys, extra_key(self.extra), self.forgotten, self.adopted, self.seen
        return self._shape

    @property
    def sited(self) -> bool:
        """Does the extra say where the object was made (in its second element)?"""
        return self.kind == "model" or self.inner

    def made_at(self, site: int) -> "VObj":
        return self.replace(extra=(self.extra[0], site, *self.extra[2:])) if self.sited else self

    def form(self) -> Hashable:
        """Return the shape without the site where the object was made."""
        shape: Any = self.shape()
        if not self.sited:
            return shape  # type: ignore[no-any-return]
        what, _, *more = shape[4]
        return (*shape[:4], (what, *more), *shape[5:])

    @property
    def immutable(self) -> bool:
        if self.kind == "model":
            return bool(self.extra[0].frozen)
        return self.kind in IMMUTABLE or (self.kind == "cell" and self.extra == "frozen")

    @property
    def inner(self) -> bool:
        """Is this the ``content`` of another object? (Its extra then is "content", the site, and the class of that object.)"""
        return self.kind in ("list", "dict") and self.extra is not None and self.extra[0] == "content"

    @property
    def content(self) -> "V | None":
        """The list or dict with the contents of a real object behind a stand-in, or of an instance of a subclass of these; else None."""
        if self.kind == "model" and self.extra[0].content in self.keys:
            return self.cells[self.keys.index(self.extra[0].content)]
        if self.kind == "instance" and STORED in self.keys and issubclass(self.cls, list | dict):
            return self.cells[self.keys.index(STORED)]
        return None

    @property
    def closure(self) -> "tuple[V, ...]":
        """The closure of a function."""
        return self.cells[3 : len(self.cells) - len(self.keys)]

    def find(self, key: object) -> int:
        """Return the position of a key or attribute, or -1 if it is missing. Dict keys are compared as a dict does."""
        if self.kind == "dict":
            for k, other in enumerate(self.keys):
                if other is key or other == key:
                    return k
            return -1
        return self.keys.index(key) if key in self.keys else -1

    def with_cell(self, index: int, value: V) -> "VObj":
        """Return a copy with one cell changed."""
        return self.filled((*self.cells[:index], value, *self.cells[index + 1 :]), self.node)

    def with_new(self, key: object, value: V) -> "VObj":
        """Return a copy with one additional key."""
        return self.replace(keys=(*self.keys, key), cells=(*self.cells, value))

    def with_named(self, key: object, value: V) -> "VObj":
        """Return a copy in which key has this value, whether or not the key existed before."""
        index = self.find(key)
        return self.with_cell(index, value) if index >= 0 else self.with_new(key, value)

    def without(self, index: int) -> "VObj":
        """Return a copy with one cell (and its key) removed."""
        keys = (*self.keys[:index], *self.keys[index + 1 :]) if self.keys else ()
        return self.replace(keys=keys, cells=(*self.cells[:index], *self.cells[index + 1 :]))

    def __repr__(self) -> str:
        return f"<{self.kind} {self.cls.__name__} {self.cells}>"


class History:
    """The construction of a set: the elements that were added first (or an existing set), and the operations applied to it afterwards.

    ``steps``: pairs of a function and its other operands, which are constants or histories.  A function that returns None has
    changed the set in place.
    """

    __slots__ = ("base", "key", "steps")

    def __init__(self, base: Any, steps: tuple[tuple[Any, tuple[Any, ...]], ...] = ()) -> None:
        self.base = base
        self.steps = steps
        first: Any = tuple(map(constant_key, base)) if type(base) is tuple else id(base)
        self.key: Hashable = (first, tuple((id(fn), *map(_operand_key, operands)) for fn, operands in steps))

    def then(self, fn: Any, operands: tuple[Any, ...]) -> "History":
        """Return the history with one more step."""
        return History(self.base, (*self.steps, (fn, operands)))

    def replay(self) -> Any:
        """Build the set by replaying its history."""
        made = set() if type(self.base) is tuple else self.base
        for item in self.base if type(self.base) is tuple else ():
            made.add(item)
        for fn, operands in self.steps:
            result = fn(made, *(x.replay() if type(x) is History else x for x in operands))
            made = made if result is None else result
        return made


class OfTheTrace:
    """A marker callee, emitted where a set with the iteration order of the trace has to be built: the set must then be real from the beginning.

    site: where the set got this order
    """

    __slots__ = ("site",)

    def __init__(self, site: Hashable) -> None:
        self.site = site


def _operand_key(operand: Any) -> Hashable:
    return operand.key if type(operand) is History else constant_key(operand)


def extra_key(extra: Any) -> Hashable:
    """Return a hashable key for fixed data; data that may not be hashable is identified by its id."""
    if type(extra) is History:
        return extra.key
    if isinstance(extra, tuple):
        return tuple(x if isinstance(x, int | str | bool | type(None)) else extra_key(x) if type(x) is tuple else id(x) for x in extra)
    return extra if isinstance(extra, int | str | type(None)) else id(extra)


def alike(heap: dict[int, VObj], one: int, others: dict[int, VObj], other: int) -> bool:
    """Do object one of heap and object other of the heap others have the same shape?"""
    a, b = heap[one], others[other]
    if a is b and a.kind != "model":
        return True
    return a.kind == b.kind and len(a.cells) == len(b.cells) and (a.lent is None) == (b.lent is None) and shape_in(heap, one) == shape_in(others, other)


def shape_in(heap: dict[int, VObj], aid: int) -> Hashable:
    """Return the shape of an object, together with the shape of its content if it has one."""
    obj = heap[aid]
    content = obj.content
    return (obj.shape(), heap[content.aid].shape()) if isinstance(content, Ref) else obj.shape()


def form_in(heap: dict[int, VObj], aid: int) -> Hashable:
    """Return the shape of an object and of its content, without the sites where they were made."""
    obj = heap[aid]
    content = obj.content
    return (obj.form(), heap[content.aid].form()) if isinstance(content, Ref) else obj.form()


def reachable(heap: dict[int, VObj], aids: list[int]) -> set[int]:
    """Return all objects that can be reached from aids through cells, including aids."""
    found: set[int] = set()
    reach(heap, aids, found)
    return found


def reach(heap: dict[int, VObj], aids: list[int], found: set[int]) -> None:
    """Add all objects that can be reached from aids through cells, including aids. found: the objects that were reached before."""
    todo = [aid for aid in aids if aid not in found]
    while todo:
        aid = todo.pop()
        if aid not in found:
            found.add(aid)
            obj = heap[aid]
            if ALL and not obj.bulk:
                todo += parts(heap, obj)
            else:
                todo += obj.refs
