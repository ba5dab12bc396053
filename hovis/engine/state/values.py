"""Values of the abstract interpreter, which are partly known.

    Known(value, labels)    a constant; labels say which entry constants it was computed from
    Ref(aid, labels)        an object of this trace: virtual, or real with cached contents
    Dyn(value, type, …)     an SSA value; lost = the labels of constants that were joined away, or None

Labels only improve the result (they decide which constants become part of a key): soundness never depends on them.
"""

import operator
from collections.abc import Iterable
from typing import Final

from hovis.ir.analysis.live_ranges import may_end_visibly
from hovis.ir.model import Op, Operand
from hovis.ir.operations import UNBOUND
from hovis.lattice import ANY, AbstractValue, Array, Const, Refined, Type
from hovis.lattice.constants import PLAIN, same_constant

#: Operators that, applied to an array, change it in place and return it.
IN_PLACE: Final = (
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow, operator.imatmul,
    operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift,
)  # fmt: skip

#: The constants of entries from which a value was computed: one label (a number), or a set of labels.
Labels = int | frozenset[int]
NO_LABELS: Final[Labels] = frozenset()


def each(labels: Labels) -> Iterable[int]:
    """Return the labels one by one."""
    return (labels,) if type(labels) is int else labels  # type: ignore[return-value]


def together(a: Labels, b: Labels) -> Labels:
    """Return the union of both sets of labels."""
    if a == b or not b:
        return a
    return frozenset(each(a)).union(each(b)) if a else b


def within(a: Labels, b: Labels) -> bool:
    """Are all labels of a among those of b?"""
    return a == b or not a or (type(b) is frozenset and b.issuperset(each(a)))


#: The type of a list that was made in the trace and is real by now, for a back end that compiles: it is iterated over by positions.
OWN_LIST: Final = Refined(list, "made in the trace")

#: How visible the end of a value's life may be (0: not at all).  ENDS: the result of an opaque call, whose end is placed exactly in any case.
#: ENDS_TAKEN: a value that was taken out of a container; its end is placed exactly if a variable holds it.  ENDS_READ: a value that was read from an
#: object which may not hold it any more, or that an iterator gave; no variable is kept alive for it.
ENDS: Final = 3
ENDS_TAKEN: Final = 2
ENDS_READ: Final = 1

#: How strongly a constant is used: it counts (WEAK), it is compared with others (TEST), an array's shape depends on it and the back end
#: compiles for known shapes (SIZE), or it chooses, for example as an index, a key or a callee (STRONG).
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

    ``dims``: the dimensions of an array.
    ``lost``: the labels of constants that were joined away, or None.
    ``ends``: how visible the end of its life may be (see ENDS); None: the caller holds it.
    ``maybe_end``: it may be the END of an iterator (which is never a value of user code).
    ``among``: it is one of these constants, which stay joined ("The Trick": see the_trick.dispatch).
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
    """Return the union of the labels of values; for a Dyn, of its lost labels."""
    found = NO_LABELS
    for value in values:
        labels = value.lost if isinstance(value, Dyn) else value.labels
        if labels and labels is not found:
            found = together(found, labels) if found else labels
    return found


def lost_of(*values: V) -> Labels | None:
    """Return the labels that a result computed from values has lost, or None if one of the values was never known."""
    found = NO_LABELS
    for value in values:
        labels = value.lost if isinstance(value, Dyn) else value.labels
        if labels is None:
            return None
        if labels:
            found = together(found, labels) if found else labels
    return found


def relabel(value: V, labels: Labels) -> V:
    """Return value with labels added (a value that is read through a known container also gets the labels of the container)."""
    if not labels or isinstance(value, Dyn):
        return value
    if within(labels, value.labels):
        return value
    labels = together(value.labels, labels)
    return Known(value.value, labels) if isinstance(value, Known) else Ref(value.aid, labels)


#: Maximum number of constants in ``Dyn.among``.
AMONG: Final = 32


def among(value: V) -> tuple[object, ...] | None:
    """Return the few constants that value is one of, or None if these are not known."""
    if type(value) is Known:
        return (value.value,) if type(value.value) in PLAIN else None
    return value.among if type(value) is Dyn else None


def either(first: V, *others: V) -> tuple[object, ...] | None:
    """Return the few constants that one of these values is one of, or None if these are not known, or too many."""
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
    """Return the IR operand of a value that is not an object of the trace."""
    return Const(value.value) if isinstance(value, Known) else value.value


def is_same(a: "V", b: "V") -> bool:
    """Are a and b the same unknown object? An op that changes an array in place returns that array."""
    return isinstance(a, Dyn) and isinstance(b, Dyn) and _changed(a.value) is _changed(b.value)


def _changed(value: Operand) -> Operand:
    while isinstance(value, Op) and isinstance(value.type, Array) and any(value.callee is one for one in IN_PLACE):
        value = value.args[0]
    return value


def ends_unseen(value: "V") -> bool:
    """Does nothing run when value is dropped, because it is a number, a text or None, known or not?"""
    if isinstance(value, Known):
        return not may_end_visibly(Type(type(value.value)))
    return isinstance(value, Dyn) and not may_end_visibly(value.type)
