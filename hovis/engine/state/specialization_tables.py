"""What a trace learns: tables that survive a restart, and what asks for one."""

import sys
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final, NamedTuple

from hovis.engine.state import class_templates
from hovis.engine.state.frames_and_heap import Paths
from hovis.ir.model import Location


class Restart(Exception):
    """A table has grown: what was traced under its old contents has to be traced again."""


class Promote(Exception):
    """Unknown numbers of the arguments choose: these are their places, each a parameter's position and indices below."""


class Joined(Exception):
    """Paths are to meet at a place that the chain has come past, and other entries (given) before it: they are followed again, up to there."""


class GiveUp(Exception):
    """The function as a whole is left as one call of the original; the argument says why."""


class Unrolling(NamedTuple):
    """How far loops are followed round by round.

    ops, steps  ops and instructions of the rounds of a loop in one chain, before it is rolled
    values      of a slot that only counts, before it is forced to be unknown
    """

    ops: int
    steps: int
    values: int

    def for_parts(self, held: int) -> "Unrolling":
        """With so many parts in the arguments' structures: what goes over these is no counting."""
        return self._replace(ops=self.ops + 32 * held, steps=self.steps + 500 * held)


FREELY: Final = Unrolling(400, 20_000, 8)
#: For back ends that compile loops: what is written out there costs time, and gains nothing.
SPARINGLY: Final = Unrolling(64, 2_000, 2)

#: The streams of the process: anybody may redirect them at any time, and says so to nobody.
REDIRECTED: Final = ("stdin", "stdout", "stderr")


@dataclass(eq=False)
class Tables:
    """What survives a restart; everything in here only grows, but for forced slots that are freed by a stronger use, and what is forgotten."""

    unrolling: Unrolling = FREELY
    #: the same where lists grow meanwhile
    collecting: Unrolling = FREELY
    used: dict[Any, dict[int, int]] = field(default_factory=dict)
    forced: dict[Any, dict[int, int]] = field(default_factory=dict)
    #: forced slots of loops that count rounds without a known end: the first value is as unknown as the others
    counted: set[Any] = field(default_factory=set)
    #: slots that vary independently of others -> the strength of use up to which they stay out of keys
    unkeyed: dict[int, int] = field(default_factory=dict)
    #: by site: lists (where they are reached from, and the steps within an item) whose items are joined, however many there are
    stacks: dict[Any, set[tuple[int, tuple[Any, ...]]]] = field(default_factory=dict)
    merge: dict[int, set[int]] = field(default_factory=dict)
    #: codes whose recursion ran too deep; or where only numbers differed between the activations
    recursive: set[CodeType] = field(default_factory=set)
    counting: set[CodeType] = field(default_factory=set)
    #: codes that call themselves whatever they are given
    endless: set[CodeType] = field(default_factory=set)
    #: codes → from where they are called; with what is known of the arguments, in which call strings, by which entry (see function_sharing)
    entered: dict[Any, set[tuple[int, int]]] = field(default_factory=dict)
    copies: dict[Any, dict[int, Any]] = field(default_factory=dict)
    shared: set[Any] = field(default_factory=set)
    #: the place that made generators → how often states were told apart by where these stand
    generator_splits: dict[Any, int] = field(default_factory=dict)
    #: "virtual": there are some; "real": in a last attempt none of them is
    generators: str = ""
    not_entered: dict[CodeType, str] = field(default_factory=dict)
    #: what an earlier trace of the function for other arguments has found to cost too much: not entered once the first attempt has failed
    expensive: frozenset[CodeType] = frozenset()
    #: those of them that look at the frames above them, or call what does
    frame_readers: set[CodeType] = field(default_factory=set)
    #: the code that has to be traced, where it is called by what is
    wanted: CodeType | None = None
    not_virtual: set[Any] = field(default_factory=set)
    #: objects that were watched, and are stored into somewhere
    rewritten: set[int] = field(default_factory=set)
    thawed: dict[int, object] = field(default_factory=dict)
    #: objects of which the traced code stores attributes by name, by what these are kept in (type_lookup.attribute_place) → one of them, what that is,
    #: and these names; the other attributes are known still
    stored: dict[int, tuple[object, object, set[str]]] = field(default_factory=dict)

    #: dictionaries that the program has asked for, by id → the objects whose attributes they are
    owners: dict[int, object] = field(default_factory=dict)
    thawed_globals: set[tuple[int, str]] = field(default_factory=lambda: {(id(sys.__dict__), name) for name in REDIRECTED})
    #: (class, name) → of what type the attributes of classes are that the traced code writes to
    thawed_attributes: dict[tuple[int, str], Any] = field(default_factory=dict)
    kept: dict[int, object] = field(default_factory=dict)
    #: the last attempt, which has to succeed: no states are told apart by what is known in them
    coarse: bool = False
    #: something is one of a few constants because it was looked up in a known table
    looked_up: bool = False
    watched: dict[int, dict[int, int]] = field(default_factory=dict)
    #: slots that hold one value with others when a state arrives first, and another one later, by site
    unshared: dict[Any, set[int]] = field(default_factory=dict)
    #: where the residual looks at the environment again: ways meet there on which it has been found to be another
    looks: dict[int, set[int]] = field(default_factory=dict)
    paths: Paths = field(default_factory=Paths)
    contexts: Paths = field(default_factory=Paths)
    reasons: dict[Any, tuple[str, Location | None, str]] = field(default_factory=dict)
    #: loop heads whose rounds are told apart, as the user wishes
    unrolled: set[tuple[int, int]] = field(default_factory=set)
    #: heads of loops where no paths meet, which are gone through round by round, and yet are part of a loop that stays one: signals are looked for
    polled: set[tuple[int, int]] = field(default_factory=set)
    static_size: int = 0
    answers: dict[Any, Any] = field(default_factory=dict)
    templates: dict[Any, class_templates.Template] = field(default_factory=dict)
    real_classes: dict[CodeType, str] = field(default_factory=dict)
    eager_classes: bool = False
    #: are there weak references to objects of the trace?  Then a variable that nobody reads any more keeps what it holds
    weakly: bool = False
    #: is it asked whether two tuples of the trace are one?  Then where ways meet they are no copies
    tuples_seen: bool = False
    open_names: dict[CodeType, tuple[str, ...]] = field(default_factory=dict)
    #: bodies of classes → the methods that a decorator adds at once (see class_statement.complete)
    added_methods: dict[CodeType, tuple[tuple[str, Any], ...]] = field(default_factory=dict)

    def stores(self, holder: object, place: object, name: str | None = None) -> bool:
        """Does the traced code store an attribute of an object by that name (None: by any)?  place: what its attributes are kept in now.

        They may have been kept in the object itself when a store was found: its dictionary may be made at any time.
        """
        found = [self.stored[id(one)][2] for one in (holder, place) if id(one) in self.stored]
        return any(name is None or name in names for names in found)

    def forget_uses(self) -> None:
        """Forget which slots are used: a loop has got a head, once for each loop, so that what was learned is of a program that is not traced."""
        for learned in (self.used, self.forced, self.unkeyed, self.stacks):
            learned.clear()
