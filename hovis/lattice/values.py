"""The lattice of abstract values, which represent the knowledge about a Python value.

    Bottom  ⊑  Const  ⊑  Partial  ⊑  Type (and its refinements)  ⊑  Union  ⊑  Raised  ⊑  Some  ⊑  Any

A ``Type`` means *exactly* this class, never a subclass of it.  The join is the least upper bound: all that is true
of the values of the join is true of the values of both sides.
"""

import typing
from collections.abc import Callable, Hashable, Iterable
from typing import Final, overload

from hovis.lattice.alternatives import Either
from hovis.lattice.constants import constant_key, same_constant

#: A Union of more members than this is generalized to Any (or Some, or Raised), which keeps the lattice finite.
UNION_CAP: Final = 8

PUBLIC_NAMES: Final = {
    int: "Int",
    float: "Float",
    bool: "Bool",
    complex: "Complex",
    str: "Str",
    bytes: "Bytes",
    type(None): "None",
}


class AbstractValue:
    """An element of the lattice: it describes a set of Python values, and has a printed form."""

    __slots__ = ()
    #: makes the operators of NumPy defer to ``__ror__`` in ``array | Int``
    __array_ufunc__ = None

    @overload
    def __or__(self, other: "AbstractValue") -> "AbstractValue": ...
    @overload
    def __or__(self, other: object) -> "AbstractValue | Either": ...
    def __or__(self, other: object) -> "AbstractValue | Either":
        """Return the join: ``Int | Float``, ``Int | None``, ``Int | str``; with an operand that is no element of the lattice, an ``Either``.

        >>> Type(int) | None, Type(int) | str
        (Int | None, Int | Str)
        """
        known = self._lifted(other)
        return Either((self, other)) if known is None else _told(join(self, known))

    def __ror__(self, other: object) -> "AbstractValue | Either":
        known = self._lifted(other)
        return Either((other, self)) if known is None else _told(join(known, self))

    @staticmethod
    def _lifted(other: object) -> "AbstractValue | None":
        """Return the abstract value of the other operand of ``|``, or None if it has none here."""
        if isinstance(other, AbstractValue):
            return other
        if other is None:
            return Type(type(None))
        return Type(other) if type(other) is type else None


class Bottom(AbstractValue):
    """No value at all: the type of an expression that never returns."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Bottom"


class Any(AbstractValue):
    """Nothing is known: every value fits."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Any"


class Some(Any):
    """Any value except None: for example, the class of an unknown value."""

    __slots__ = ()


class Raised(Some):
    """An exception of unknown class, as a handler catches it."""

    __slots__ = ()


class Untested(Any):
    """Nothing is verified, but a kind has been declared, which can be tested. Every value fits.

    kind   the declared Type, or a Union of Types
    """

    __slots__ = ("kind",)

    def __init__(self, kind: AbstractValue) -> None:
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Untested) and self.kind == other.kind

    def __hash__(self) -> int:
        return hash(("untested", self.kind))

    def __repr__(self) -> str:
        return f"{self.kind!r}?"


class Const(AbstractValue):
    """A known value.  Two Consts are equal if they are the same constant (type and bits, else identity)."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and same_constant(self.value, other.value)

    def __hash__(self) -> int:
        return hash(constant_key(self.value))

    def __repr__(self) -> str:
        return f"const({getattr(self.value, '__qualname__', None) or repr(self.value)})"


class Type(AbstractValue):
    """An unknown value whose exact class is ``cls``."""

    __slots__ = ("cls",)

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.cls is other.cls

    def __hash__(self) -> int:
        return hash(self.cls)

    def __repr__(self) -> str:
        return PUBLIC_NAMES.get(self.cls) or self.cls.__qualname__


class Array(Type):
    """An unknown ``numpy.ndarray`` of known dtype and rank; ``cls`` is the exact class.

    The dimensions are not part of the type: they are values, and are kept beside it.
    ``layout`` is "C", "F" or "" (unknown); ``place`` is reserved for the device.
    """

    __slots__ = ("_hash", "dtype", "layout", "place", "rank")

    def __init__(self, cls: type, dtype: object, rank: int, layout: str = "", place: object = None) -> None:
        super().__init__(cls)
        self.dtype = dtype
        self.rank = rank
        self.layout = layout
        self.place = place
        self._hash = 0

    def _facets(self) -> tuple[object, ...]:
        return self.cls, self.dtype, self.rank, self.layout, self.place

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Array) and self._facets() == other._facets())

    def __hash__(self) -> int:
        # cached, because each op on arrays needs the hash to look up the earlier answer of its rule
        if not self._hash:
            self._hash = hash(self._facets())
        return self._hash

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join([':'] * self.rank)}]"


class Refined(Type):
    """An unknown value of an exact class about which a library knows more: facts of its own, which are hashable.

    told   computes the facts of a value; a Refined that is used as a spec needs it, because arguments are checked against the facts

    >>> Refined(bytes, 3, len)
    bytes(3)
    """

    __slots__ = ("facts", "told")

    def __init__(self, cls: type, facts: Hashable, told: Callable[[object], Hashable] | None = None) -> None:
        super().__init__(cls)
        self.facts = facts
        self.told = told

    def __repr__(self) -> str:
        return super().__repr__() if self.told is None else f"{self.cls.__name__}({self.facts!r})"

    def fits(self, value: object) -> bool:
        """Whether value is of this class and has these facts."""
        return type(value) is self.cls and (self.told is None or self.told(value) == self.facts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refined) and self.cls is other.cls and self.facts == other.facts

    def __hash__(self) -> int:
        return hash((self.cls, self.facts))


class Items(Refined):
    """An unknown container of a builtin class whose items have known classes: ``list[int]``, ``dict[str, float]``.

    items   type of the items of a list, a set or a tuple, or of the values of a dict
    keys    type of the keys of a dict; None for the other classes
    """

    __slots__ = ("items", "keys")

    def __init__(self, cls: type, items: AbstractValue, keys: "AbstractValue | None" = None) -> None:
        super().__init__(cls, ("items", items, keys), self.fits)
        self.items = items
        self.keys = keys

    def fits(self, value: object) -> bool:
        """Whether value is of this class, and its items (and keys) are of the given classes."""
        if type(value) is not self.cls:
            return False
        held: typing.Any = value
        if self.keys is None:
            return self._are(self.items, held)
        return self._are(self.keys, held) and self._are(self.items, held.values())

    def _are(self, kind: AbstractValue, held: Iterable[object]) -> bool:
        if isinstance(kind, Items):
            return all(map(kind.fits, held))
        return isinstance(kind, Untested) or self.classes(kind).issuperset(map(type, held))

    def is_untested(self) -> bool:
        """Whether the classes of the items have been declared but not tested."""
        return isinstance(self.items, Any)

    def untested(self) -> "Items":
        """Return the same container type with items (and keys) whose classes have not been tested."""
        def of(kind: AbstractValue) -> AbstractValue:
            members = frozenset(one.untested() if isinstance(one, Items) else one for one in _members(kind))
            return kind if isinstance(kind, Any) else Untested(next(iter(members)) if len(members) == 1 else Union(members))

        return Items(self.cls, of(self.items), None if self.keys is None else of(self.keys))

    @staticmethod
    def classes(items: AbstractValue) -> frozenset[type]:
        """Return the classes that items may have."""
        return frozenset(member.cls for member in _members(items) if isinstance(member, Type))

    def __repr__(self) -> str:
        inner = repr(self.items) if self.keys is None else f"{self.keys!r}, {self.items!r}"
        return f"{self.cls.__qualname__}[{inner}{', ...' if self.cls is tuple else ''}]"


class Partial(AbstractValue):
    """A container whose structure is known and whose parts are abstract values.

    ``cls`` is tuple, list, dict or the class of an instance; ``keys`` are the positions, keys or attribute names.
    """

    __slots__ = ("cls", "keys", "parts")

    def __init__(self, cls: type, keys: Iterable[object], parts: Iterable[AbstractValue]) -> None:
        self.cls = cls
        self.keys = tuple(keys)
        self.parts = tuple(parts)

    def _same_frame(self, other: object) -> bool:
        return isinstance(other, Partial) and self.cls is other.cls and same_constant(self.keys, other.keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partial) and self._same_frame(other) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((self.cls, self.parts))

    def __repr__(self) -> str:
        if self.cls is tuple:
            inner = ", ".join(map(repr, self.parts))
            return f"({inner},)" if len(self.parts) == 1 else f"({inner})"
        if self.cls is list:
            return f"[{', '.join(map(repr, self.parts))}]"
        if self.cls is dict:
            return "{" + ", ".join(f"{k!r}: {v!r}" for k, v in zip(self.keys, self.parts, strict=True)) + "}"
        return f"{self.cls.__qualname__}({', '.join(f'{k}={v!r}' for k, v in zip(self.keys, self.parts, strict=True))})"


class Union(AbstractValue):
    """One of a few types, never a constant.  Made only by :func:`join`."""

    __slots__ = ("members",)

    def __init__(self, members: frozenset[AbstractValue]) -> None:
        self.members = members

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Union) and self.members == other.members

    def __hash__(self) -> int:
        return hash(self.members)

    def __repr__(self) -> str:
        return " | ".join(sorted(map(repr, self.members), key=member_order))


_ORDER = {name: k for k, name in enumerate(["Bool", "Int", "Float", "Complex", "Str", "Bytes"])}


def member_order(name: str) -> tuple[int, str]:
    """Return the sort key of a member's name: numbers first and None last, whatever the order of joining."""
    return (99 if name == "None" else _ORDER.get(name, 50)), name


BOTTOM: Final = Bottom()
ANY: Final = Any()
SOME: Final = Some()
RAISED: Final = Raised()


def of_value(value: object) -> AbstractValue:
    """The type of a known value (arrays: see the NumPy library, which knows of dtypes)."""
    return Type(type(value))


def forget(a: AbstractValue) -> AbstractValue:
    """Generalize a Const or Partial to the Type of its values; return any other element unchanged."""
    if isinstance(a, Const):
        return of_value(a.value)
    return Type(a.cls) if isinstance(a, Partial) else a


def join(a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """Return the least upper bound of a and b.

    >>> join(Type(int), Type(float))
    Int | Float
    >>> join(Const(1), Const(1)), join(Const(1), Const(2)), join(Const(1), Const(True))
    (const(1), Int, Bool | Int)
    """
    if a is b or a == b:
        return a
    if isinstance(a, Bottom):
        return b
    if isinstance(b, Bottom):
        return a
    if isinstance(a, Any) or isinstance(b, Any):
        return _top(a, b)
    if isinstance(a, Partial) and isinstance(b, Partial) and a._same_frame(b):
        return Partial(a.cls, a.keys, map(join, a.parts, b.parts))
    return _union({*_members(forget(a)), *_members(forget(b))})


def _told(a: AbstractValue) -> AbstractValue:
    """Generalize a type that a user has written with ``|``: only tracing derives that a value is not None, or is an exception."""
    return ANY if isinstance(a, Some) else a


def _top(*values: AbstractValue) -> Any:
    """Return the least of RAISED, SOME and ANY that covers all values."""
    return next((top for top in (RAISED, SOME) if all(_within(a, top) for a in values)), ANY)


def _within(a: AbstractValue, top: Any) -> bool:
    """Whether every value that fits a also fits top, which is RAISED or SOME."""
    if isinstance(a, Any):
        return isinstance(a, type(top))
    classes = [m.cls for m in _members(forget(a)) if isinstance(m, Type)]
    return all(issubclass(cls, BaseException) if isinstance(top, Raised) else cls is not type(None) for cls in classes)


def _members(a: AbstractValue) -> Iterable[AbstractValue]:
    return a.members if isinstance(a, Union) else (a,)


def _union(members: set[AbstractValue]) -> AbstractValue:
    arrays = [m for m in members if isinstance(m, Array)]
    for k, one in enumerate(arrays):
        for other in arrays[:k]:
            if (one.cls, one.dtype, one.rank, one.place) == (other.cls, other.dtype, other.rank, other.place):
                return _union(members - {one, other} | {Array(one.cls, one.dtype, one.rank, "", one.place)})
    refined = [m for m in members if isinstance(m, Refined)]
    if len(refined) > 1:
        # if several members refine one class, only that class is kept
        classes = [m.cls for m in refined]
        members = {Type(m.cls) if isinstance(m, Refined) and classes.count(m.cls) > 1 else m for m in members}
    # the bare class covers all its arrays and refinements, which are dropped
    members = {m for m in members if not (type(m) in (Array, Refined, Items) and Type(m.cls) in members)}  # type: ignore[attr-defined]
    if len(members) == 1:
        return members.pop()
    return Union(frozenset(members)) if len(members) <= UNION_CAP else _top(*members)
