"""Rules for calls of builtins, most of them written as text: ``"str int -> str !"``.

A *rule* maps the abstract arguments of a call to an :class:`Answer` (the type of the result and the effect), or to
None if nothing is known, which makes the call opaque.  A row of a table is a name and a signature:

    signature = parameter … "->" result ["!"] ["r"] ["w"] ["i"] ["o"]  ! may raise, r reads, w writes mutable memory, i has another effect,
                                                                       o runs code of the user's: only the class is known
    parameter = [[":"] name "="] kind {"|" kind} ["?" | "*"]           : keyword only, ? optional, * any number
    result    = class {"|" class} | "(" class "," … ")" | "any"

Several rows of the same name are tried in order.  Kinds stand for *exact* classes, not for subclasses (but ``list+`` does); a kind may add
an effect: ``index`` and ``real`` may raise OverflowError for an int, unless it is known to be small enough.
"""

import datetime
import io
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any as Anything
from typing import Final, NamedTuple

from hovis.ir.model import Effect
from hovis.lattice import ANY, AbstractValue, Const, Partial, Type, Union, join
from hovis.library.core import Library, Primitive
from hovis.library.language.signatures.fold_limits import small
from hovis.library.language.signatures.type_queries import PURE, RAISES, READS, WRITES, atomic, class_of, flat, looking_at, moderate, printable, solid, tuple_of


class Answer(NamedTuple):
    """The answer of a rule for a call: the type of the result, and the effect."""

    type: AbstractValue
    effect: Effect = PURE


Rule = Callable[..., Answer | None]


# ------------------------------------------------------------------------------------------------- kinds

Kind = Callable[[AbstractValue], Effect | None]


def _exactly(*classes: type) -> Kind:
    accepted = frozenset(classes)
    return lambda a: PURE if class_of(a) in accepted else None


def _number(*classes: type) -> Kind:
    """Make the kind of numbers that C code converts to double or to Py_ssize_t; a large int may raise."""
    accepted = frozenset(classes)

    def fits(a: AbstractValue) -> Effect | None:
        cls = class_of(a)
        if cls not in accepted:
            return None
        return RAISES if cls is int and not moderate(a) else PURE

    return fits


def _derived(base: type) -> Kind:
    """Make the kind of instances of a class and of classes derived from it, for what C code does with them without asking their classes."""

    def fits(a: AbstractValue) -> Effect | None:
        cls = class_of(a)
        return PURE if cls is not None and issubclass(cls, base) else None

    return fits


def _when(test: Callable[[AbstractValue], bool]) -> Kind:
    return lambda a: PURE if test(a) else None


def _slice(a: AbstractValue) -> Effect | None:
    """The kind of slices with int or None bounds; a step that may be 0 raises."""
    if isinstance(a, Const) and type(a.value) is slice:
        parts: tuple[AbstractValue, ...] = (Const(a.value.start), Const(a.value.stop), Const(a.value.step))
    elif isinstance(a, Partial) and a.cls is slice:
        parts = a.parts
    else:
        return None
    if not all(_members_in(p, (int, bool, type(None))) for p in parts):
        return None
    step = parts[2]
    return PURE if class_of(step) is type(None) or (isinstance(step, Const) and step.value) else RAISES


def _members_in(a: AbstractValue, classes: tuple[type, ...]) -> bool:
    return all(class_of(m) in classes for m in (a.members if isinstance(a, Union) else (a,)))


def _constant(*values: object) -> Kind:
    return lambda a: PURE if isinstance(a, Const) and type(a.value) is str and a.value in values else None


VIEWS: Final[tuple[type, ...]] = (type({}.keys()), type({}.values()), type({}.items()))
STR_ITERATORS: Final[tuple[type, ...]] = (type(iter("a")), type(iter("é")))
RANGE_ITERATORS: Final[tuple[type, ...]] = (type(iter(range(1))), type(iter(range(2**200))))

_NAMED: Final[tuple[type, ...]] = (
    *(int, float, bool, complex, str, bytes, tuple, list, dict, set, frozenset, range, slice, object),
    *(map, filter, zip, enumerate, *VIEWS),
    *(bytearray, memoryview, io.BytesIO, io.StringIO, struct.Struct, datetime.date, datetime.timedelta),
)
CLASSES: Final[dict[str, type]] = {cls.__name__: cls for cls in _NAMED} | {"none": type(None)}

KINDS: Final[dict[str, Kind]] = {name: _exactly(cls) for name, cls in CLASSES.items()} | {
    "any": lambda a: PURE,
    "int": _exactly(int, bool),
    "index": _number(int, bool),
    "real": _number(int, bool, float),
    "number": _number(int, bool, float, complex),
    "atom": _when(atomic),
    "tuple_of_atoms": _when(lambda a: class_of(a) is tuple and atomic(a)),
    "set_of_atoms": _when(lambda a: class_of(a) is frozenset and atomic(a)),
    "atoms": _when(lambda a: class_of(a) in (tuple, frozenset) and atomic(a)),
    "text": lambda a: None if not solid(a) else looking_at(a) if printable(a) else looking_at(a) | RAISES,
    "solid": lambda a: looking_at(a) if solid(a) else None,
    "flat": lambda a: looking_at(a) if flat(a) else None,
    "list_of_atoms": lambda a: READS if class_of(a) is list and flat(a) else None,
    "sequence_of_atoms": lambda a: looking_at(a) if class_of(a) in (list, tuple) and flat(a) else None,
    "key": _when(atomic),
    "slice": _slice,
    "container": _exactly(list, tuple, str, bytes, range, dict, set, frozenset, *VIEWS),
    "frozen": _exactly(tuple, str, bytes, range, frozenset),
    "mutable": _exactly(list, dict, set, *VIEWS),
    **{f"{cls.__name__}+": _derived(cls) for cls in (list, dict, set)},
    "buffer": _exactly(bytes, bytearray, memoryview),
    "codec": _constant("utf-8", "utf8", "ascii", "latin-1", "latin1"),
    "onerror": _constant("strict", "ignore", "replace"),
}


# ------------------------------------------------------------------------------------------------- signatures


class Parameter(NamedTuple):
    """One parameter of a signature."""

    name: str
    kinds: tuple[Kind, ...]
    optional: bool
    many: bool
    keyword_only: bool

    def fits(self, a: AbstractValue) -> Effect | None:
        """Return the effect of accepting a, or None if it is of none of the kinds."""
        for kind in self.kinds:
            effect = kind(a)
            if effect is not None:
                return effect
        return None


def _parameter(text: str) -> Parameter:
    name, _, kinds = text.rpartition("=")
    optional, many = kinds.endswith("?"), kinds.endswith("*")
    kinds = kinds.rstrip("?*")
    return Parameter(name.lstrip(":"), tuple(KINDS[k] for k in kinds.split("|")), optional, many, name.startswith(":"))


def _result(text: str) -> AbstractValue:
    if text == "any":
        return ANY
    if text.startswith("("):
        return tuple_of(*map(_result, text.strip("()").split(",")))
    first, *others = (Type(CLASSES[name]) for name in text.split("|"))
    found: AbstractValue = first
    for other in others:
        found = join(found, other)
    return found


#: The effect of an opaque call of which only the class of the result is known.
ANYTHING: Final = Effect.OPAQUE | RAISES | READS | WRITES

_FLAGS: Final = {"!": RAISES, "r": READS, "w": WRITES, "i": Effect.IO, "o": ANYTHING}


class Signature:
    """A rule written as text."""

    __slots__ = ("effect", "parameters", "result", "text")

    def __init__(self, text: str) -> None:
        left, right = text.split("->")
        result, *flags = right.split()
        self.text = text
        self.parameters = tuple(map(_parameter, left.split()))
        self.result = _result(result)
        self.effect = PURE
        for flag in "".join(flags):
            self.effect |= _FLAGS[flag]

    def __call__(self, *args: AbstractValue, **named: AbstractValue) -> Answer | None:
        effect = self.effect
        for taken in self._bind(args, named):
            if taken is None:
                return None
            effect |= taken
        return Answer(self.result, effect)

    def _bind(self, args: tuple[AbstractValue, ...], named: dict[str, AbstractValue]) -> Iterator[Effect | None]:
        """Yield the effect of each argument; None means that the arguments do not fit."""
        position = 0
        for parameter in self.parameters:
            if parameter.many:
                yield from map(parameter.fits, args[position:])
                position = len(args)
            elif position < len(args) and not parameter.keyword_only:
                yield parameter.fits(args[position])
                position += 1
            elif parameter.name in named:
                yield parameter.fits(named.pop(parameter.name))
            elif not parameter.optional:
                yield None
        if named or position < len(args):
            yield None


def first_of(*rules: Rule) -> Rule:
    """Combine rules to one that returns the first answer that is not None."""
    if len(rules) == 1:
        return rules[0]

    def rule(*args: AbstractValue, **named: AbstractValue) -> Answer | None:
        for one in rules:
            answer = one(*args, **named)
            if answer is not None:
                return answer
        return None

    return rule


def signatures(*texts: str) -> Rule:
    """Make a rule from signatures, which are tried in order."""
    return first_of(*map(Signature, texts))


#: A call with more combinations of union members than this is opaque.
MAX_COMBINATIONS: Final = 64


def memberwise(rule: Rule) -> Rule:
    """Extend the rule to unions: it must answer for each combination of their members, and the answers are joined."""

    def over_members(*args: AbstractValue, **named: AbstractValue) -> Answer | None:
        found: Answer | None = None
        for count, values in enumerate(product(*map(_members, (*args, *named.values())))):
            answer = rule(*values[: len(args)], **dict(zip(named, values[len(args) :], strict=True)))
            if answer is None or count >= MAX_COMBINATIONS:
                return None
            found = answer if found is None else Answer(join(found.type, answer.type), found.effect | answer.effect)
        return found

    def one(*args: AbstractValue, **named: AbstractValue) -> Answer | None:
        if any(isinstance(a, Union) for a in args) or any(isinstance(a, Union) for a in named.values()):
            return over_members(*args, **named)
        return rule(*args, **named)

    return one


def _members(a: AbstractValue) -> Iterable[AbstractValue]:
    return a.members if isinstance(a, Union) else (a,)


# ------------------------------------------------------------------------------------------------- rows

Fold = bool | Callable[..., bool]


def row(library: Library, fn: Callable[..., Anything], rule: Rule, fold: Fold = small, name: object = None) -> None:
    """Add a primitive with this rule to library, under the key name if it is given, else fn."""
    answer = memberwise(rule)

    def result(*args: AbstractValue, **named: AbstractValue) -> AbstractValue | None:
        found = answer(*args, **named)
        return None if found is None else found.type

    def effect(*args: AbstractValue, **named: AbstractValue) -> Effect:
        found = answer(*args, **named)
        return Effect.OPAQUE if found is None else found.effect

    library.primitives[fn if name is None else name] = Primitive(fn, result, effect=effect, fold=fold)


def rows(library: Library, owner: Anything, table: str, folds: Mapping[str, Fold] | None = None, receiver: str = "") -> None:
    """Add primitives from a table: each line is the name of an attribute of owner, followed by a signature.

    ``receiver`` is the kind of the first parameter that all of them share.  Names that do not exist in this Python version are skipped.
    """
    found: dict[str, list[str]] = {}
    for line in table.strip().splitlines():
        name, _, signature = line.strip().partition(" ")
        found.setdefault(name, []).append(f"{receiver} {signature}")
    for name, texts in found.items():
        if hasattr(owner, name):
            row(library, getattr(owner, name), signatures(*texts), (folds or {}).get(name, small))
