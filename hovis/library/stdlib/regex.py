"""Rules and actions for regular expressions (CPython: Lib/re, Modules/_sre).

A known pattern is compiled while tracing; an unknown one is compiled at run time, in one call, so that the regex compiler
is not inlined.  A ``Match`` of a known pattern carries the pattern in its type, which tells what groups there are and which
of them take part in every match.  If the text is known as well and matching is quick, it is done while tracing: then all
properties of the match are known, and if the match escapes, the matching is repeated at run time.
"""

import functools
import re
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any, Final, NamedTuple

from hovis.base import interrupts
from hovis.base.warning_filters import warnings_are
from hovis.engine.calls import models
from hovis.engine.calls.inline_python import call_function
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import STRONG, Known, V, labels_of
from hovis.ir import operations
from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Const, Refined, Type, join
from hovis.lattice.inspection import is_a
from hovis.library.core import Library, Stand
from hovis.library.language.signatures.signature_language import ANYTHING, Answer, row
from hovis.library.language.signatures.type_queries import INT, NONE, PURE, RAISES, class_of, moderate, tuple_of
from hovis.library.language.stepping import END, Steps

PATTERNS: Final = Library("patterns")

PATTERN: Final = Type(re.Pattern)
MATCH: Final = Type(re.Match)
TEXTS: Final = (str, bytes)
ZERO: Final = Const(0)

#: The most steps of matching that are done while tracing, by an upper bound that is seldom reached.
STEPS: Final = 200_000
#: The most characters of a pattern that is compiled while tracing.
LONGEST: Final = 2_000

# ------------------------------------------------------------------------------------------------- properties of patterns

_parser: Final[Any] = getattr(re, "_parser", None)
_REPEATS: Final = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


class Shape(NamedTuple):
    """Static properties of a pattern.

    groups          the groups that take part in every match
    repeats         the number of repeats of variable length that backtracking may retry (infinity if they are nested)
    repeats_to_end  the same number if the match has to reach the end of the text
    """

    groups: frozenset[int]
    repeats: float
    repeats_to_end: float


@functools.lru_cache(256)
def shape(pattern: "re.Pattern[Any]") -> Shape:
    with warnings_are("ignore"):
        try:
            parsed = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
            return Shape(frozenset({0} | _taking_part(parsed)), _repeats(parsed, False)[0], _repeats(parsed, True)[0])
        except Exception as error:
            interrupts.let_through(error)
            return Shape(frozenset({0}), float("inf"), float("inf"))


def _taking_part(parsed: Iterable[Any]) -> set[int]:
    """Return the groups that take part in every match."""
    groups: set[int] = set()
    for op, argument in parsed:
        name = str(op)
        if name == "SUBPATTERN":
            groups |= {argument[0]} - {None} | _taking_part(argument[3])
        elif name == "ATOMIC_GROUP":
            groups |= _taking_part(argument)
        elif name == "ASSERT" or (name in _REPEATS and argument[0] > 0):
            groups |= _taking_part(argument[-1])
    return groups


def _repeats(parsed: Iterable[Any], fails: bool) -> tuple[float, bool]:
    """Return the number of repeats in a sequence that backtracking may retry, and whether the sequence may fail to match. fails: whether the
    rest of the pattern may fail to match.
    """
    total = 0.0
    mine = False
    for op, argument in reversed(list(parsed)):
        more, may = _repeats_of(str(op), argument, fails)
        total += more
        fails, mine = fails or may, mine or may
    return total, mine


def _repeats_of(name: str, argument: Any, fails: bool) -> tuple[float, bool]:
    if name == "SUBPATTERN":
        return _repeats(argument[3], fails)
    if name in _REPEATS:
        least, most, inner = argument
        return _repeats_of_repeat(least, most, inner, fails)
    if name == "ATOMIC_GROUP":
        return _repeats(argument, fails)
    if name in ("ASSERT", "ASSERT_NOT"):
        return 1 + _repeats(argument[1], True)[0], True
    if name == "BRANCH":
        found = [_repeats(one, fails) for one in argument[1]]
        return max((total for total, _ in found), default=0), any(may for _, may in found)
    if name == "GROUPREF_EXISTS":
        return sum(_repeats(one, True)[0] for one in argument[1:] if one is not None), True
    return float(name == "GROUPREF"), True


def _repeats_of_repeat(least: int, most: Any, inner: Iterable[Any], fails: bool) -> tuple[float, bool]:
    if most <= 1:
        within, may = _repeats(inner, fails)
        return fails + within, may and least > 0
    within, _ = _repeats(inner, True)
    if all(str(o) in _SINGLE for o, _ in inner):
        return float(fails), least > 0
    return float("inf") if within or most > FEW else most, least > 0


#: Operations that match one character.
_SINGLE: Final = frozenset({"LITERAL", "NOT_LITERAL", "IN", "ANY", "CATEGORY"})
#: A part of a pattern that may be repeated more often than this counts as an unlimited number of repeats.
FEW: Final = 3


def quick(pattern: "re.Pattern[Any]", text: Any, to_end: bool = False) -> bool:
    """Is the number of steps to match text bounded by STEPS? to_end: the match has to reach the end of the text."""
    known = shape(pattern)
    repeats = known.repeats_to_end if to_end else known.repeats
    return repeats < 12 and (len(text) + 2) ** min(repeats + 1, 12) <= STEPS


def plain(pattern: object) -> "re.Pattern[Any] | None":
    """Return pattern if it is a pattern that behaves the same everywhere, independent of the locale; else None."""
    if type(pattern) is not re.Pattern or type(pattern.pattern) not in TEXTS or pattern.flags & re.LOCALE:
        return None
    return pattern


# ------------------------------------------------------------------------------------------------- compiling


@functools.lru_cache(1024)
def compiled(pattern: str | bytes, flags: int) -> "re.Pattern[Any] | None":
    """Return the compiled pattern, or None if CPython raises or warns, or compiling has other effects."""
    if len(pattern) > LONGEST or flags & (re.DEBUG | re.LOCALE):
        return None
    try:
        with warnings_are("error"):
            return plain(re.compile(pattern, flags))
    except Exception as error:
        interrupts.let_through(error)
        return None


def compile_pattern(m: Machine, args: list[V], named: dict[str, V]) -> V | None:
    """``re._compile(pattern, flags)``, on which re.compile and the other functions of re are based."""
    if len(args) != 2 or named:
        return None
    pattern, flags = args
    if isinstance(pattern, Known) and isinstance(flags, Known) and is_a(flags.value, int):
        if type(pattern.value) is re.Pattern and not flags.value:
            return pattern
        if type(pattern.value) in TEXTS:
            found = compiled(pattern.value, int(flags.value))
            if found is not None:
                m.use(pattern, STRONG)
                m.use(flags, STRONG)
                return Known(found, labels_of(pattern, flags))
    return None


def _compile_rule(pattern: AbstractValue, flags: AbstractValue) -> Answer | None:
    """``re._compile``: it may warn, which may run the user's warning filters and hooks."""
    return Answer(PATTERN, ANYTHING)


_COMPILE: Final = getattr(re, "_compile", None)
if _COMPILE is not None:
    PATTERNS.action(_COMPILE)(compile_pattern)
    row(PATTERNS, _COMPILE, _compile_rule, False)


# ------------------------------------------------------------------------------------------------- methods of patterns


def _bounds(bounds: tuple[AbstractValue, ...]) -> Effect | None:
    """Return the effect of passing ints as bounds of a text, or None if they are not ints."""
    if not all(class_of(b) in (int, bool) for b in bounds):
        return None
    return PURE if all(map(moderate, bounds)) else RAISES


@functools.lru_cache(4096)
def _found(method: Callable[..., Any], pattern: "re.Pattern[Any]", text: Any, *bounds: int) -> Any:
    return method(pattern, text, *bounds)


def _known_text(method: Callable[..., Any], pattern: "re.Pattern[Any]", text: AbstractValue, bounds: tuple[AbstractValue, ...]) -> bool:
    if not isinstance(text, Const) or not all(isinstance(b, Const) for b in bounds):
        return False
    return quick(pattern, text.value, method is re.Pattern.fullmatch)


def _finding(method: Callable[..., Any]) -> Callable[..., Answer | None]:
    """Make the rule for match, fullmatch or search, whose result is a Match or None."""

    def rule(pattern: AbstractValue, string: AbstractValue, pos: AbstractValue = ZERO, endpos: AbstractValue | None = None) -> Answer | None:
        bounds = (pos,) if endpos is None else (pos, endpos)
        effect = _bounds(bounds)
        if class_of(pattern) is not re.Pattern or class_of(string) not in TEXTS or effect is None:
            return None
        known = plain(pattern.value) if isinstance(pattern, Const) else None
        kind = class_of(string)
        if known is None or type(known.pattern) is not kind:
            return Answer(join(MATCH, NONE), effect | RAISES)
        if effect is PURE and _known_text(method, known, string, bounds):
            found = _found(method, known, string.value, *(b.value for b in bounds))  # type: ignore[attr-defined]
            return Answer(Const(None) if found is None else Refined(re.Match, (known, kind, found)))
        return Answer(join(Refined(re.Match, (known, kind, None)), NONE), effect)

    return rule


for _method in (re.Pattern.match, re.Pattern.fullmatch, re.Pattern.search):
    row(PATTERNS, _method, _finding(_method), False)


if hasattr(re.Pattern, "prefixmatch"):

    @PATTERNS.action(re.Pattern.prefixmatch)
    def prefix_match(m: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """``prefixmatch``, the name of ``match`` since 3.15."""
        return m.call(m.known(re.Pattern.match), args, named)


def _splitting(pattern: AbstractValue, string: AbstractValue, *bounds: AbstractValue) -> Answer | None:
    """split and findall, whose result is a list."""
    effect = _bounds(bounds)
    if class_of(pattern) is not re.Pattern or class_of(string) not in TEXTS or effect is None or len(bounds) > 2:
        return None
    known = plain(pattern.value) if isinstance(pattern, Const) else None
    fits = known is not None and type(known.pattern) is class_of(string)
    return Answer(Type(list), effect if fits else effect | RAISES)


def _quick_to_split(pattern: Any, text: Any, *bounds: Any) -> bool:
    return plain(pattern) is not None and quick(pattern, text)


def split(pattern: AbstractValue, string: AbstractValue, maxsplit: AbstractValue = ZERO) -> Answer | None:
    return _splitting(pattern, string, maxsplit)


row(PATTERNS, re.Pattern.split, split, lambda pattern, string, maxsplit=0: _quick_to_split(pattern, string))
row(PATTERNS, re.Pattern.findall, _splitting, _quick_to_split)


def _replacing(result: Callable[[AbstractValue], AbstractValue]) -> Callable[..., Answer | None]:
    """Make the rule for sub or subn with a template."""

    def rule(pattern: AbstractValue, repl: AbstractValue, string: AbstractValue, count: AbstractValue = ZERO) -> Answer | None:
        kind = class_of(string)
        effect = _bounds((count,))
        if class_of(pattern) is not re.Pattern or kind not in TEXTS or class_of(repl) is not kind or effect is None:
            return None
        return Answer(result(Type(kind)), effect | RAISES)

    return rule


def _quick_to_replace(pattern: Any, repl: Any, text: Any, count: int = 0) -> bool:
    return _quick_to_split(pattern, text) and (len(text) + 1) * (len(repl) + 1) <= STEPS


row(PATTERNS, re.Pattern.sub, _replacing(lambda kind: kind), _quick_to_replace)
row(PATTERNS, re.Pattern.subn, _replacing(lambda kind: tuple_of(kind, INT)), _quick_to_replace)

#: The most matches that are traced one by one.
MOST: Final = 256
_PATTERN: Final[Any] = re.Pattern
SCANNER: Final[Any] = type(_PATTERN.scanner(re.compile(""), ""))


def matches(pattern: Any, string: Any) -> Any:
    """For models: the matches of finditer, one by one."""
    scanner = pattern.scanner(string)
    while (match := scanner.search()) is not None:
        yield match


@PATTERNS.action(matches)
def matches_in_known_text(m: Machine, args: list[V], named: dict[str, V]) -> V | int | None:
    known: list[Any] = [a.value for a in args if isinstance(a, Known)]
    if len(known) < len(args):
        return None
    pattern, text = known
    if plain(pattern) is None or not quick(pattern, text):
        return None
    every = _all(pattern, text)
    if len(every) > MOST:
        return None
    for value in args:
        m.use(value, STRONG)
    cells = [m.emit(operations.match_at, [*args, Known(k)], type=Refined(re.Match, (pattern, type(text), one)), effect=PURE) for k, one in enumerate(every)]
    return m.new(VObj("tuple", tuple, tuple(cells)))


@functools.lru_cache(256)
def _all(pattern: "re.Pattern[Any]", text: Any) -> "list[re.Match[Any]]":
    return list(pattern.finditer(text))


def _scanning(pattern: AbstractValue, string: AbstractValue) -> Answer | None:
    known = plain(pattern.value) if isinstance(pattern, Const) else None
    if known is None or class_of(string) is not type(known.pattern):
        return None
    return Answer(Refined(SCANNER, (known, type(known.pattern), None)))


row(PATTERNS, _PATTERN.scanner, _scanning, False)


@PATTERNS.action(SCANNER.search)
def next_match(m: Machine, args: list[V], named: dict[str, V]) -> V | None:
    kind = m.type_of(args[0])
    if not isinstance(kind, Refined) or len(args) != 1 or named:
        return None
    return m.emit(SCANNER.search, args, type=join(Refined(re.Match, kind.facts), NONE), effect=Effect.READS | Effect.WRITES)


@PATTERNS.stand(type(re.compile("").finditer("")), re.Pattern.finditer, "pattern string", when={"rest": None})
class Finditer(Steps):
    """``re.Pattern.finditer`` (pattern_finditer). The real iterator can be built only before the first step."""

    def __init__(self, pattern: Any, string: Any) -> None:
        self.pattern = pattern
        self.string = string
        self.rest: Any = None

    def step(self) -> Any:
        if self.rest is None:
            self.rest = iter(matches(self.pattern, self.string))
        return next(self.rest, END)


@PATTERNS.action(re.Pattern.finditer)
def find_each(m: Machine, args: list[V], named: dict[str, V]) -> V | int | None:
    """``re.Pattern.finditer`` of a known pattern, in text of its kind."""
    if len(args) != 2 or named or not isinstance(args[0], Known):
        return None
    pattern = plain(args[0].value)
    if pattern is None or m.class_of(args[1]) is not type(pattern.pattern):
        return None
    stand = m.library.models[Finditer]
    assert isinstance(stand, Stand)
    made = models.create(m, stand, args, {}, "value")
    return None if made is models.NOT_MINE else made


@PATTERNS.action(re.Pattern.sub)
def sub(m: Machine, args: list[V], named: dict[str, V]) -> V | int | None:
    """``re.Pattern.sub`` with a function."""
    return call_function(m, Known(replaced_text), replaced_text, args, {}) if _by_function(m, args, named) else None


@PATTERNS.action(re.Pattern.subn)
def subn(m: Machine, args: list[V], named: dict[str, V]) -> V | int | None:
    return call_function(m, Known(replaced), replaced, args, {}) if _by_function(m, args, named) else None


def _by_function(m: Machine, args: list[V], named: dict[str, V]) -> bool:
    """Is this a call of sub or subn of a known pattern, with a function that can be traced?"""
    if not 3 <= len(args) <= 4 or named or not isinstance(args[0], Known):
        return False
    pattern, repl = plain(args[0].value), args[1]
    function = is_a(repl.value, FunctionType | MethodType) if isinstance(repl, Known) else m.obj(repl, "function", "method") is not None
    counts = all(isinstance(a, Known) and type(a.value) is int and moderate(Const(a.value)) for a in args[3:])
    return pattern is not None and function and counts and m.class_of(args[2]) is type(pattern.pattern)


def replaced_text(pattern: Any, repl: Any, string: Any, count: int = 0) -> Any:
    return replaced(pattern, repl, string, count)[0]


def replaced(pattern: Any, repl: Any, string: Any, count: int = 0) -> Any:
    """``re.Pattern.subn``, where repl is a function (pattern_subx)."""
    pieces, end, done = [], 0, 0
    for match in matches(pattern, string):
        if count and done >= count:
            break  # with a negative count, there are no replacements
        done += 1
        start = match.start()
        if end < start:
            pieces.append(string[end:start])
        item = repl(match)
        if item is not None:
            pieces.append(item)
        end = match.end()
    if end < len(string):
        pieces.append(string[end:])
    return string[:0].join(pieces), done
