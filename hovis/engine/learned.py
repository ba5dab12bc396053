"""Memory of earlier traces of a function, for later traces of it with the same known arguments and the same budget.

While the Trace of the latest one exists, its tables are remembered: a trace that begins with them takes about a tenth of the time. When it is gone,
only the callees that were too expensive to trace are remembered.
"""

import types
import weakref
from collections.abc import Sequence
from typing import Any, Final

from hovis.engine.state import budget
from hovis.engine.state.specialization_tables import Tables
from hovis.engine.trace import Fixed, Fresh, Leaf, Part
from hovis.ir.model import Param
from hovis.lattice import Any as AnyType
from hovis.lattice import Array, Const, Type
from hovis.lattice.constants import ATOMS, constant_key

#: Kinds of traces of one function that are remembered, the latest ones.
KINDS: Final = 4
#: Traces with fewer steps are done again from the beginning.
BRIEF: Final = 2_000


class Kept:
    """The tables of a trace, and the digest of the known data that it was made from. Owned by the Trace: both hold objects of the user."""

    __slots__ = ("__weakref__", "digest", "tables")

    def __init__(self, tables: Tables, digest: int) -> None:
        self.tables, self.digest = tables, digest


class Learned:
    """Memory of the traces of one function for one kind of arguments."""

    __slots__ = ("callees", "kept")

    def __init__(self) -> None:
        #: the codes of callees that were found too expensive to be entered
        self.callees: weakref.WeakSet[types.CodeType] = weakref.WeakSet()
        self.kept: weakref.ref[Kept] | None = None

    def begin(self, tables: Tables, roots: Sequence[object]) -> None:
        """Extend the new tables of a trace, with known data reached from roots, by what is known from earlier traces."""
        kept = self.kept() if self.kept is not None else None
        if kept is not None and kept.digest == digest(roots):
            tables.extend(kept.tables)
        else:
            tables.expensive = frozenset(self.callees)

    def add_callees(self, tables: Tables) -> None:
        """Remember the callees that a trace has found too expensive."""
        self.callees |= budget.too_expensive(tables)

    def keep(self, tables: Tables, roots: Sequence[object], steps: int) -> Kept | None:
        """Remember what a complete trace of this many steps has learned, as long as the caller keeps the result."""
        late = budget.LATE in tables.not_entered.values()  # with more time, more might be entered
        if late or (steps < BRIEF and self.kept is None):
            return None
        kept = Kept(tables.learned(), digest(roots))
        self.kept = weakref.ref(kept)
        return kept


_found: Final[weakref.WeakKeyDictionary[types.FunctionType, dict[Any, Learned]]] = weakref.WeakKeyDictionary()


def of(function: types.FunctionType, parts: Sequence[Part], limits: Any) -> Learned | None:
    """Return the memory of traces of the function with these arguments and limits, to read and to extend.

    None if it cannot be told later whether the known arguments are the same.
    """
    try:
        key = limits, tuple(map(_key_of, parts))
    except TypeError:
        return None
    kinds = _found.setdefault(function, {})
    kinds[key] = found = kinds.pop(key, None) or Learned()
    while len(kinds) > KINDS:
        del kinds[next(iter(kinds))]
    return found


def digest(roots: Sequence[object]) -> int:
    """Compute a number that changes, as a rule, if the known data reached from roots do. What is learned from other data is only of less use."""
    found = 0
    for held, parts in budget.places_of(roots):
        found = hash((found, id(held), *map(id, parts)))
    return found


class _Same:
    """The identity of an object, by a weak reference: a class that is kept alive would keep its methods alive, which are keys of the table."""

    __slots__ = ("at", "held")

    def __init__(self, value: object) -> None:
        self.at, self.held = id(value), weakref.ref(value)

    def __hash__(self) -> int:
        return self.at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.held() is not None and self.held() is other.held()


def _key_of(part: Part) -> Any:
    """Return a key by which the known values in an argument can be compared; TypeError if there is none."""
    if isinstance(part, Fixed):
        return _constant(part.value)
    if isinstance(part, Leaf):
        return _type_of(part.param)
    names = None if part.keys is None else tuple(map(_constant, part.keys))
    return type(part), None if isinstance(part, Fresh) else (part.kind, _Same(part.cls)), names, tuple(map(_key_of, part.parts))


def _type_of(param: Param) -> Any:
    """Return the type and dimensions of an unknown argument; TypeError if the type holds known values."""
    known = param.type
    if type(known) is AnyType:
        return None
    if type(known) is Type:
        return _Same(known.cls)
    if type(known) is not Array:
        raise TypeError
    dims = None if param.dims is None else tuple([_constant(dim.value) if isinstance(dim, Const) else None for dim in param.dims])
    return _Same(known.cls), known.dtype, known.rank, known.layout, dims


def _constant(value: object) -> Any:
    plain = type(value) in ATOMS or (type(value) is tuple and all(type(one) in ATOMS for one in value))
    return constant_key(value) if plain else _Same(value)
