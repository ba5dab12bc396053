"""The tables of a trace, which survive a restart, and the exceptions that ask for a restart."""

import sys
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final, NamedTuple

from hovis.engine.state import class_templates
from hovis.engine.state.frames_and_heap import Paths
from hovis.ir.model import Location
from hovis.lattice import ANY


class Restart(Exception):
    """A table has grown: code that was traced under its old contents has to be traced again."""


class Promote(Exception):
    """Unknown numbers in the arguments decide what is traced, so their values have to be known; args: the places of these numbers, each a
    parameter's position and the indices below it.
    """


class Joined(Exception):
    """Paths have to meet at a place that the chain has passed, and other entries before it; args: a list of these entries. All of them are traced
    again up to that place.
    """


class GiveUp(Exception):
    """The function as a whole is left as one call of the original; the argument gives the reason."""


class Unrolling(NamedTuple):
    """Limits for tracing a loop iteration by iteration.

    ops, steps  number of ops and of instructions in the iterations of a loop in one chain, before the loop is kept as a loop
    values      number of values of a slot that only counts, before the slot is forced to be unknown
    """

    ops: int
    steps: int
    values: int

    def for_parts(self, held: int) -> "Unrolling":
        """Return the limits for arguments whose structures have held parts: iterating over these is not counting."""
        return self._replace(ops=self.ops + 32 * held, steps=self.steps + 500 * held)


FREELY: Final = Unrolling(400, 20_000, 8)
#: For back ends that compile loops: unrolled code costs compile time there, and gains nothing.
SPARINGLY: Final = Unrolling(64, 2_000, 2)

#: The standard streams of the process: any code may redirect them at any time, unnoticed.
REDIRECTED: Final = ("stdin", "stdout", "stderr")


@dataclass(eq=False)
class Tables:
    """Tables that survive a restart. They only grow, except that a stronger use of a slot undoes its forcing, and for ``forget_uses``."""

    unrolling: Unrolling = FREELY
    #: the limits for a loop in which lists grow
    collecting: Unrolling = FREELY
    used: dict[Any, dict[int, int]] = field(default_factory=dict)
    forced: dict[Any, dict[int, int]] = field(default_factory=dict)
    #: forced slots that count the iterations of loops with an unknown trip count: the first value is as unknown as the others
    counted: set[Any] = field(default_factory=set)
    #: slots that vary independently of others -> the strength of use up to which they stay out of keys
    unkeyed: dict[int, int] = field(default_factory=dict)
    #: by site: lists (the path of the list, and the steps within an item) whose items are joined, however many there are
    stacks: dict[Any, set[tuple[int, tuple[Any, ...]]]] = field(default_factory=dict)
    merge: dict[int, set[int]] = field(default_factory=dict)
    #: codes whose recursion became too deep; in ``counting`` those where only numbers differed between the activations
    recursive: set[CodeType] = field(default_factory=set)
    counting: set[CodeType] = field(default_factory=set)
    #: codes that call themselves again and again with unchanged arguments
    endless: set[CodeType] = field(default_factory=set)
    #: for function_sharing: code → the places that call it; code and what is known of its arguments → call string of each inlined copy → its entry
    #: (None for a copy of an earlier trace);
    #: and the pairs of code and known arguments that are called instead of being inlined
    entered: dict[Any, set[tuple[int, int]]] = field(default_factory=dict)
    copies: dict[Any, dict[int, Any]] = field(default_factory=dict)
    shared: set[Any] = field(default_factory=set)
    #: the place that made generators → how often states were kept apart by the positions of these generators
    generator_splits: dict[Any, int] = field(default_factory=dict)
    #: "virtual": the trace has virtual generators; "real": a last attempt, in which all generators are real; "": neither
    generators: str = ""
    not_entered: dict[CodeType, str] = field(default_factory=dict)
    #: callees that an earlier trace of the function has found too expensive: not entered any more once the first attempt has failed
    expensive: frozenset[CodeType] = frozenset()
    #: those of the codes not entered that inspect the frames above them, or call a function that does
    frame_readers: set[CodeType] = field(default_factory=set)
    #: the code that has to be traced, if the traced function only calls it; else None
    wanted: CodeType | None = None
    not_virtual: set[Any] = field(default_factory=set)
    #: watched objects that are stored into somewhere
    rewritten: set[int] = field(default_factory=set)
    thawed: dict[int, object] = field(default_factory=dict)
    #: objects whose attributes the traced code stores by name: the id of the place of the attributes (type_lookup.attribute_place) → one of the
    #: objects, that place, and the stored names; all other attributes are still known
    stored: dict[int, tuple[object, object, set[str]]] = field(default_factory=dict)

    #: ids of instance dictionaries that the program has obtained → the objects whose attributes are in them
    owners: dict[int, object] = field(default_factory=dict)
    thawed_globals: set[tuple[int, str]] = field(default_factory=lambda: {(id(sys.__dict__), name) for name in REDIRECTED})
    #: (id of a class, name) → the type of the class attribute, for attributes that the traced code writes to
    thawed_attributes: dict[tuple[int, str], Any] = field(default_factory=dict)
    kept: dict[int, object] = field(default_factory=dict)
    #: the last attempt, which has to succeed: states are not kept apart by their known values
    coarse: bool = False
    #: whether the result of a look-up in a known table is known to be one of a few constants (``Dyn.among``)
    looked_up: bool = False
    watched: dict[int, dict[int, int]] = field(default_factory=dict)
    #: by site: slots that hold the same value as other slots in the first state that arrives, and a different value in a later one
    unshared: dict[Any, set[int]] = field(default_factory=dict)
    #: by call string: the pcs of looks (see ``Machine.look``); the paths on which the environment was found changed meet there
    looks: dict[int, set[int]] = field(default_factory=dict)
    paths: Paths = field(default_factory=Paths)
    contexts: Paths = field(default_factory=Paths)
    reasons: dict[Any, tuple[str, Location | None, str]] = field(default_factory=dict)
    #: loop headers whose iterations are kept apart at the request of the user
    unrolled: set[tuple[int, int]] = field(default_factory=set)
    #: headers of loops that are unrolled, with no merge point, but lie in a loop of the residual: they poll for signals
    polled: set[tuple[int, int]] = field(default_factory=set)
    static_size: int = 0
    answers: dict[Any, Any] = field(default_factory=dict)
    templates: dict[Any, class_templates.Template] = field(default_factory=dict)
    real_classes: dict[CodeType, str] = field(default_factory=dict)
    eager_classes: bool = False
    #: whether there are weak references to objects of the trace: a dead variable then still keeps its value alive
    weakly: bool = False
    #: whether the program compares tuples of the trace by identity: a join must not replace them by copies then
    tuples_seen: bool = False
    open_names: dict[CodeType, tuple[str, ...]] = field(default_factory=dict)
    #: bodies of classes → the methods that a decorator adds immediately (see class_statement.complete)
    added_methods: dict[CodeType, tuple[tuple[str, Any], ...]] = field(default_factory=dict)

    def stores(self, holder: object, place: object, name: str | None = None) -> bool:
        """Does the traced code store attribute name (None: any attribute) of the object holder? place: where its attributes are kept now.

        They may have been kept in the object itself when the store was found, because its dictionary may be created at any time.
        """
        found = [self.stored[id(one)][2] for one in (holder, place) if id(one) in self.stored]
        return any(name is None or name in names for names in found)

    def forget_uses(self) -> None:
        """Forget which slots are used, because a loop has got a head and the facts describe a program that is no longer traced. It happens once
        for each loop.
        """
        for learned in (self.used, self.forced, self.unkeyed, self.stacks):
            learned.clear()

    def learned(self) -> "Tables":
        """Return new tables with what is of use for another trace of the function: nothing that refers to entries, or that is a fact about values."""
        made = Tables(self.unrolling, self.collecting)
        made.extend(self)
        return made

    def extend(self, other: "Tables") -> None:
        """Take over what another trace of the function has learned, instead of what these tables hold."""
        for name in _LEARNED:
            setattr(self, name, _copied(getattr(other, name)))
        self.copies = {known: dict.fromkeys(copies) for known, copies in other.copies.items()}
        self.thawed_attributes = {place: held for place, held in other.thawed_attributes.items() if held.kind is ANY}


#: The tables that decide how precise a trace is, and not what it finds.
_LEARNED: Final = (
    "coarse", "contexts", "counted", "counting", "eager_classes", "endless", "entered", "forced", "frame_readers", "generator_splits", "generators",
    "kept", "looked_up", "looks", "merge", "not_entered", "not_virtual", "owners", "paths", "polled", "real_classes", "reasons", "recursive",
    "shared", "stacks", "static_size", "stored", "thawed", "thawed_globals", "tuples_seen", "unkeyed", "unrolled", "unshared", "used", "weakly",
)


def _copied(table: Any) -> Any:
    """Copy a table, and the tables in its rows."""
    if type(table) is dict:
        return {key: _copied(row) for key, row in table.items()}
    if type(table) is set:
        return set(table)
    return table.copy() if type(table) is Paths else table
