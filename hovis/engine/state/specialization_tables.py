"""What a trace learns: tables that survive a restart, and what asks for one."""

import sys
from types import CodeType
from typing import Any, Final, NamedTuple

from hovis.engine.state import class_templates
from hovis.engine.state.frames_and_heap import Paths
from hovis.ir.model import Location


class Restart(Exception):
    """A table has grown: what was traced under its old contents has to be traced again."""


class Promote(Exception):
    """Unknown numbers of the arguments choose: these are their places, each a parameter's position and indices below."""


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


class Tables:
    """What survives a restart; everything in here only grows, but for forced slots that are freed by a stronger use."""

    def __init__(self, unrolling: Unrolling = FREELY, collecting: Unrolling = FREELY) -> None:
        self.unrolling = unrolling
        #: the same where lists grow meanwhile
        self.collecting = collecting
        self.used: dict[Any, dict[int, int]] = {}
        self.forced: dict[Any, dict[int, int]] = {}
        #: forced slots of loops that count rounds without a known end: the first value is as unknown as the others
        self.counted: set[Any] = set()
        #: slots that vary independently of others -> the strength of use up to which they stay out of keys
        self.unkeyed: dict[int, int] = {}
        #: by site: lists (where they are reached from, and the steps within an item) whose items are joined, however many there are
        self.stacks: dict[Any, set[tuple[int, tuple[Any, ...]]]] = {}
        self.merge: dict[int, set[int]] = {}
        #: codes whose recursion ran too deep; or where only numbers differed between the activations
        self.recursive: set[CodeType] = set()
        self.counting: set[CodeType] = set()
        #: codes that call themselves whatever they are given
        self.endless: set[CodeType] = set()
        #: codes → from where they are called; with what is known of the arguments, in which call strings, by which entry (see function_sharing)
        self.entered: dict[Any, set[tuple[int, int]]] = {}
        self.copies: dict[Any, dict[int, Any]] = {}
        self.shared: set[Any] = set()
        #: the place that made generators → how often states were told apart by where these stand
        self.generator_splits: dict[Any, int] = {}
        #: "virtual": there are some; "real": in a last attempt none of them is
        self.generators = ""
        self.not_entered: dict[CodeType, str] = {}
        #: those of them that look at the frames above them, or call what does
        self.frame_readers: set[CodeType] = set()
        #: the code that has to be traced, where it is called by what is
        self.wanted: CodeType | None = None
        self.not_virtual: set[Any] = set()
        #: objects that were watched, and are stored into somewhere
        self.rewritten: set[int] = set()
        self.thawed: dict[int, object] = {}
        self.thawed_globals: set[tuple[int, str]] = {(id(sys.__dict__), name) for name in REDIRECTED}
        #: (class, name) → of what type the attributes of classes are that the traced code writes to
        self.thawed_attributes: dict[tuple[int, str], Any] = {}
        self.kept: dict[int, object] = {}
        #: the last attempt, which has to succeed: no states are told apart by what is known in them
        self.coarse = False
        #: something is one of a few constants because it was looked up in a known table
        self.looked_up = False
        self.watched: dict[int, dict[int, int]] = {}
        #: slots that hold one value with others when a state arrives first, and another one later, by site
        self.unshared: dict[Any, set[int]] = {}
        #: where the residual looks at the environment again: ways meet there on which it has been found to be another
        self.looks: dict[int, set[int]] = {}
        self.paths = Paths()
        self.contexts = Paths()
        self.reasons: dict[Any, tuple[str, Location | None, str]] = {}
        #: loop heads whose rounds are told apart, as the user wishes
        self.unrolled: set[tuple[int, int]] = set()
        #: heads of loops where no paths meet, which are gone through round by round, and yet are part of a loop that stays one: signals are looked for
        self.polled: set[tuple[int, int]] = set()
        self.static_size = 0
        self.answers: dict[Any, Any] = {}
        self.templates: dict[Any, class_templates.Template] = {}
        self.real_classes: dict[CodeType, str] = {}
        self.eager_classes = False
        #: are there weak references to objects of the trace?  Then a variable that nobody reads any more keeps what it holds
        self.weakly = False
        #: is it asked whether two tuples of the trace are one?  Then where ways meet they are no copies
        self.tuples_seen = False
        self.open_names: dict[CodeType, tuple[str, ...]] = {}
        #: bodies of classes → the methods that a decorator adds at once (see class_statement.complete)
        self.added_methods: dict[CodeType, tuple[tuple[str, Any], ...]] = {}
