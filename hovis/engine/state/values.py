"""What the abstract interpreter computes with: values partly known.

    Known(value, labels)    a constant; labels say which entry constants it was computed from
    Ref(aid, labels)        an object of this trace: virtual, or known through a cache
    Dyn(value, type, …)     an SSA value; lost = the labels of constants that were joined away, or None

Labels serve quality alone (they say which constants deserve a place in a key): soundness never depends on them.
"""

import operator
from collections.abc import Iterable
from typing import Final

from hovis.ir.analysis.live_ranges import may_end_visibly
from hovis.ir.model import Op, Operand
from hovis.ir.operations import UNBOUND
from hovis.lattice import ANY, AbstractValue, Array, Const, Refined, Type
from hovis.lattice.constants import PLAIN, same_constant

#: Of an array these give the array itself.
IN_PLACE: Final = (
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow, operator.imatmul,
    operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift,
)  # fmt: skip

#: Which constants of entries a value was computed from: one label (a number), or several.
Labels = int | frozenset[int]
NO_LABELS: Final[Labels] = frozenset()


def each(labels: Labels) -> Iterable[int]:
    """The labels one by one."""
    return (labels,) if type(labels) is int else labels  # type: ignore[return-value]


def together(a: Labels, b: Labels) -> Labels:
    """The labels of both."""
    if a == b or not b:
        return a
    return frozenset(each(a)).union(each(b)) if a else b


def within(a: Labels, b: Labels) -> bool:
    """Are all labels of a among those of b?"""
    return a == b or not a or (type(b) is frozenset and b.issuperset(each(a)))


#: A list that the trace has made and that is real by now, where a back end compiles: it is gone through by positions.
OWN_LIST: Final = Refined(list, "made in the trace")

#: Somebody may see when the life of a value ends.  Of the result of an opaque call it is shown in any case; of what was taken out of
#: something, if a variable holds it; what was read, and may not be held by what it was read from any more, and what iterators give, is worth no variable.
ENDS: Final = 3
ENDS_TAKEN: Final = 2
ENDS_READ: Final = 1

#: How strongly a constant is used: it counts (weak), it is compared with others (a test), an array's shape hangs on it, where a
#: back end compiles for known ones (a size), or it chooses (strong).
WEAK: Final = 1
TEST: Final = 2
SIZE: Final = 3
STRONG: Final = 4


class Known:
    """A constant."""

    __slots__ = ("labels", "value")

    def __init__(self, value: object, labels: Labels = NO_LABELS) -> None:
        self.value = value
        self.labels = labels

    def __repr__(self) -> str:
        return f"Known({self.value!r})"


class Ref:
    """An object of this trace, by its number in the heap."""

    __slots__ = ("aid", "labels")

    def __init__(self, aid: int, labels: Labels = NO_LABELS) -> None:
        self.aid = aid
        self.labels = labels

    def __repr__(self) -> str:
        return f"Ref({self.aid})"


class Dyn:
    """An SSA value (or a constant whose contents are not to be trusted: a thawed static object).

    ``ends``: somebody may see when its life ends (see ENDS); None: the caller holds it.
    ``maybe_end``: it may be the END of an iterator (which no value of the user's is).
    ``among``: it is one of these constants, which were joined for good ("The Trick": see the_trick.dispatch).
    """

    __slots__ = ("among", "dims", "ends", "lost", "maybe_end", "maybe_unbound", "type", "value")

    def __init__(
        self,
        value: Operand,
        type: AbstractValue = ANY,
        dims: "tuple[V | None, ...] | None" = None,
        lost: Labels | None = None,
        maybe_unbound: bool = False,
        ends: int | None = 0,
        maybe_end: bool = False,
        among: tuple[object, ...] | None = None,
    ) -> None:
        self.among = among
        self.value = value
        self.type = type
        self.dims = dims
        self.lost = lost
        self.maybe_unbound = maybe_unbound
        self.ends = ends
        self.maybe_end = maybe_end

    def __repr__(self) -> str:
        return f"Dyn({self.type!r})"


V = Known | Ref | Dyn

NONE: Final = Known(None)
TRUE: Final = Known(True)
FALSE: Final = Known(False)
UNBOUND_VALUE: Final = Known(UNBOUND)
BOOL: Final = Type(bool)


def labels_of(*values: V) -> Labels:
    """The labels of known values together."""
    found = NO_LABELS
    for value in values:
        labels = value.lost if isinstance(value, Dyn) else value.labels
        if labels and labels is not found:
            found = together(found, labels) if found else labels
    return found


def lost_of(*values: V) -> Labels | None:
    """The labels that a result computed from values has lost, or None if something in it was never known."""
    found = NO_LABELS
    for value in values:
        labels = value.lost if isinstance(value, Dyn) else value.labels
        if labels is None:
            return None
        if labels:
            found = together(found, labels) if found else labels
    return found


def relabel(value: V, labels: Labels) -> V:
    """The same value with these labels added (what is read through a known container gets its labels too)."""
    if not labels or isinstance(value, Dyn):
        return value
    if within(labels, value.labels):
        return value
    labels = together(value.labels, labels)
    return Known(value.value, labels) if isinstance(value, Known) else Ref(value.aid, labels)


#: A value is known to be one of so many constants, not of more.
AMONG: Final = 32


def among(value: V) -> tuple[object, ...] | None:
    """The few constants that a value is one of."""
    if type(value) is Known:
        return (value.value,) if type(value.value) in PLAIN else None
    return value.among if type(value) is Dyn else None


def either(first: V, *others: V) -> tuple[object, ...] | None:
    """The few constants that one of these values is one of."""
    found = among(first)
    for value in others:
        more = among(value)
        if found is None or more is None:
            return None
        new = [x for x in more if not any(same_constant(x, other) for other in found)]
        found = (*found, *new) if new else found
        if len(found) > AMONG:
            return None
    return found


def operand_of(value: Known | Dyn) -> Operand:
    """The IR operand of a value that is no virtual object."""
    return Const(value.value) if isinstance(value, Known) else value.value


def is_same(a: "V", b: "V") -> bool:
    """Are both the same unknown object?  What changes an array in place gives the array."""
    return isinstance(a, Dyn) and isinstance(b, Dyn) and _changed(a.value) is _changed(b.value)


def _changed(value: Operand) -> Operand:
    while isinstance(value, Op) and isinstance(value.type, Array) and any(value.callee is one for one in IN_PLACE):
        value = value.args[0]
    return value


def ends_unseen(value: "V") -> bool:
    """Is it a number, a text or None, known or not: does nothing run when it is held no longer?"""
    if isinstance(value, Known):
        return not may_end_visibly(Type(type(value.value)))
    return isinstance(value, Dyn) and not may_end_visibly(value.type)
