"""Rules for the methods of regular expression matches (CPython: Modules/_sre): groups and positions, with the facts implied by the pattern."""

import operator
import re
from collections.abc import Callable
from typing import Any, Final

from hovis.engine.machine.constant_folding import virtual
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import Dyn, Known, Ref, V
from hovis.lattice import ANY, AbstractValue, Const, Refined, Type, join
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a
from hovis.library.core import Library
from hovis.library.language.signatures.signature_language import Answer, row
from hovis.library.language.signatures.type_queries import BYTES, INT, NONE, PURE, RAISES, STR, class_of, tuple_of
from hovis.library.stdlib.regex import PATTERN, ZERO, shape
from hovis.library.virtual.base import action

MATCHES: Final = Library("matches")
_NO_DEFAULT: Final = Const(None)

Facts = tuple["re.Pattern[Any]", type, "re.Match[Any] | None"]


def facts_of(match: AbstractValue) -> Facts | None:
    found: Any = match.facts if isinstance(match, Refined) and match.cls is re.Match else None
    return found  # type: ignore[no-any-return]


def _number(pattern: "re.Pattern[Any]", group: AbstractValue) -> int | None:
    """Return the number of a known group of the pattern, or None."""
    if not isinstance(group, Const):
        return None
    if type(group.value) is str:
        return pattern.groupindex.get(group.value)
    return int(group.value) if is_a(group.value, int) and 0 <= group.value <= pattern.groups else None


def _text_of(facts: Facts, number: int) -> AbstractValue:
    pattern, kind, found = facts
    if found is not None:
        return Const(found.group(number))
    return Type(kind) if number in shape(pattern).groups else join(Type(kind), NONE)


_ANY_TEXT: Final = join(join(STR, BYTES), NONE)


def group(match: AbstractValue, *groups: AbstractValue) -> Answer | None:
    """``match.group(…)``, and ``match[…]``."""
    if class_of(match) is not re.Match or not all(class_of(g) in (int, bool, str) for g in groups):
        return None
    facts = facts_of(match)
    wanted = groups or (Const(0),)
    numbers = [_number(facts[0], g) for g in wanted] if facts else []
    if facts and None not in numbers:
        parts = [_text_of(facts, n) for n in numbers]  # type: ignore[arg-type]
        if all(isinstance(p, Const) for p in parts):
            return Answer(parts[0] if len(parts) == 1 else Const(tuple(p.value for p in parts)))  # type: ignore[attr-defined]
        return Answer(parts[0] if len(parts) == 1 else tuple_of(*parts))
    some = join(Type(facts[1]), NONE) if facts else _ANY_TEXT
    return Answer(some if len(wanted) == 1 else tuple_of(*[some] * len(wanted)), RAISES)


def groups_of(match: AbstractValue, default: AbstractValue = _NO_DEFAULT) -> Answer | None:
    facts = facts_of(match)
    if facts is None:
        return Answer(Type(tuple)) if class_of(match) is re.Match else None
    if facts[2] is not None and isinstance(default, Const) and is_immutable(default.value):
        return Answer(Const(facts[2].groups(default.value)))
    kind, always = Type(facts[1]), shape(facts[0]).groups
    other = Type(type(default.value)) if isinstance(default, Const) else default
    return Answer(tuple_of(*[kind if n in always else join(kind, other) for n in range(1, facts[0].groups + 1)]))


def _place(method: Callable[..., Any], kind: AbstractValue) -> Callable[..., Answer | None]:
    """Make the rule for start, end or span."""

    def rule(match: AbstractValue, group: AbstractValue = ZERO) -> Answer | None:
        if class_of(match) is not re.Match or class_of(group) not in (int, bool, str):
            return None
        facts = facts_of(match)
        number = _number(facts[0], group) if facts else None
        if facts and number is not None:
            return Answer(kind if facts[2] is None else Const(method(facts[2], number)))
        return Answer(kind, RAISES)

    return rule


row(MATCHES, re.Match.group, group, False)
row(MATCHES, re.Match.groups, groups_of, False)
row(MATCHES, re.Match.start, _place(re.Match.start, INT), False)
row(MATCHES, re.Match.end, _place(re.Match.end, INT), False)
row(MATCHES, re.Match.span, _place(re.Match.span, tuple_of(INT, INT)), False)
row(MATCHES, re.Match.groupdict, lambda match, default=None: Answer(Type(dict)) if class_of(match) is re.Match else None, False)
row(MATCHES, re.Match.expand, lambda match, template: _expanded(match, template), False)


def _expanded(match: AbstractValue, template: AbstractValue) -> Answer | None:
    facts = facts_of(match)
    return Answer(Type(facts[1]), RAISES) if facts and class_of(template) is facts[1] else None


@action(operator.getitem, counts=(2, 2))
def item_of_match(m: Machine, args: list[V], named: dict[str, V]) -> V | int | None:
    """``match[group]``."""
    if m.class_of(args[0]) is not re.Match or isinstance(args[0], Known | Ref):
        return None
    answer = group(m.type_of(args[0]), m.type_of(args[1]))
    if answer is None:
        return None
    if isinstance(answer.type, Const):
        return Known(answer.type.value)
    return m.emit(operator.getitem, args, type=answer.type, effect=answer.effect)


@MATCHES.action(re.Match.groupdict)
def named_groups(m: Machine, args: list[V], named: dict[str, V]) -> V | None:
    """``match.groupdict()`` as a virtual dict, with the known types of the groups."""
    facts = facts_of(m.type_of(args[0])) if len(args) == 1 and not named else None
    if facts is None:
        return None
    if facts[2] is not None:
        return virtual(m, facts[2].groupdict(), frozenset())
    keys = list(facts[0].groupindex)
    cells = [m.emit(re.Match.group, [args[0], Known(key)], type=_text_of(facts, facts[0].groupindex[key]), effect=PURE) for key in keys]
    return m.new(VObj("dict", dict, tuple(cells), tuple(keys)))


def _attribute(name: str) -> Callable[[Any, Any], V | None]:
    """Make the rule for an attribute of a Match."""

    def read(m: Any, value: Dyn) -> V | None:
        facts = facts_of(value.type)
        if facts is not None and facts[2] is not None:
            return Known(getattr(facts[2], name))
        if facts is not None and name == "re":
            return Known(facts[0])
        kind = {"string": Type(facts[1]) if facts else ANY, "re": PATTERN, "pos": INT, "endpos": INT}.get(name, join(INT if name == "lastindex" else STR, NONE))
        made: V = m.emit(getattr, [value, Known(name)], type=kind, effect=PURE)
        return made

    return read


for _name in ("string", "re", "pos", "endpos", "lastindex", "lastgroup"):
    MATCHES.attributes[re.Match, _name] = _attribute(_name)
