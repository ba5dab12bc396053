"""Actions for repr, str, format and ``%`` of user objects: their methods are traced, in CPython's order of calls."""

import enum
import operator
import re
import string
import sys
from typing import Any, Final

from hovis.engine.calls import builtin_payload, operators
from hovis.engine.calls.inline_python import call_function
from hovis.engine.machine.machine import Machine
from hovis.engine.state.heap import VObj, reachable
from hovis.engine.state.type_lookup import is_python_class
from hovis.engine.state.values import Known, Ref, V
from hovis.ir.model import Effect
from hovis.lattice import Type
from hovis.lattice.inspection import is_a
from hovis.library.language import container_models
from hovis.library.language.signatures.fold_limits import small
from hovis.library.virtual.base import Args, Named, action, use
from hovis.library.virtual.containers.comparing import FEW, user_code

_REPRS: Final = {list: container_models.repr_list, tuple: container_models.repr_tuple, dict: container_models.repr_dict}


def _enter(m: Machine, model: Any, args: Args) -> Any:
    return call_function(m, Known(model), model, args, {}, "value")


@action(repr, str, counts=(1, 1))
def text_of_container(m: Machine, args: Args, named: Named) -> Any:
    """The text of a virtual container that contains user objects, none of which can reach the container."""
    obj = m.obj(args[0], "list", "tuple", "dict")
    if obj is None or obj.node is not None or obj.cls not in _REPRS or len(obj.cells) > FEW or not user_code(m, *obj.cells):
        return None
    assert isinstance(args[0], Ref)
    if args[0].aid in reachable(m.state.heap, [c.aid for c in obj.cells if isinstance(c, Ref)]):
        return None
    use(m, args[0])
    return _enter(m, _REPRS[obj.cls], args)


@action(format, counts=(1, 2))
def format_object(m: Machine, args: Args, named: Named) -> Any:
    if not isinstance(args[0], Ref) or not _is_users(m, args[0]):
        return None
    status = operators.format_value(m, args[0], args[1] if len(args) == 2 else Known(""))
    return m.pop() if status is None else status


def _is_users(m: Machine, value: V) -> bool:
    """Is value a virtual instance of a class written in Python, or a member of an enumeration?"""
    if isinstance(value, Known):
        return is_a(value.value, enum.Enum)
    cls = m.class_of(value)
    if not isinstance(value, Ref) or m.obj(value, "instance") is None or cls is None:
        return False
    return is_python_class(cls) and builtin_payload.held(m, value) is None


#: A conversion of ``%`` without a mapping key or a ``*``; the groups are flags with width and precision, and the letter.
_CONVERSION: Final = re.compile(r"%([#0\- +]*\d*(?:\.\d*)?)([diouxXeEfFgGcrsa%])")
_CONVERT: Final = {"s": str, "r": repr, "a": ascii}


@action(operator.mod, counts=(2, 2))
def percent(m: Machine, args: Args, named: Named) -> Any:
    template = args[0].value if isinstance(args[0], Known) else None
    if type(template) is not str:
        return None
    whole = m.obj(args[1], "tuple")
    values = list(whole.cells) if whole is not None and whole.cls is tuple else [args[1]]
    pieces = _taken_apart(m, template, values) if any(_is_users(m, v) for v in values) else None
    if pieces is None:
        return None
    use(m, args[0])
    return _enter(m, container_models.percent, [Known(tuple(pieces)), m.new(VObj("tuple", tuple, tuple(values)))])


def _taken_apart(m: Machine, template: str, values: list[V]) -> list[tuple[str, str, Any]] | None:
    pieces: list[tuple[str, str, Any]] = []
    end = used = 0
    for found in _CONVERSION.finditer(template):
        text, end = template[end : found.start()], found.end()
        if "%" in text:
            return None
        flags, letter = found.groups()
        if letter == "%":
            if flags:
                return None
            pieces.append((text + "%", "", None))
            continue
        if used == len(values):
            return None
        mine = _is_users(m, values[used])
        used += 1
        if mine and (letter not in _CONVERT or (flags and _alone(template, found.end()))):
            return None
        pieces.append((text, f"%{flags}{'s' if mine else letter}", _CONVERT[letter] if mine else None))
    if "%" in template[end:] or used != len(values):
        return None
    return [*pieces, (template[end:], "", None)]


def _alone(template: str, end: int) -> bool:
    """Does the template consist only of conversions, the last of which ends at end? The result may be of a subclass of str."""
    return end == len(template) and not _CONVERSION.sub("", template)


@action(str.translate, counts=(2, 2))
def translate(m: Machine, args: Args, named: Named) -> Any:
    """``str.translate`` by a known table, from ints to ints, strings and None."""
    table = args[1].value if isinstance(args[1], Known) else None
    if type(table) is not dict or m.class_of(args[0]) is not str or not all(map(_is_entry, table.items())) or not m.environment.static(args[1]):
        return None
    if isinstance(args[0], Known) and small(args[0].value) and len(table) <= FEW_ENTRIES:
        use(m, args[0])
        return Known(args[0].value.translate(table), args[0].labels)  # type: ignore[attr-defined]
    return m.emit(str.translate, args, type=Type(str), effect=Effect.READS)


#: The most entries of a translation table with which known text is translated while tracing.
FEW_ENTRIES: Final = 1_000


def _is_entry(entry: tuple[object, object]) -> bool:
    key, value = entry
    if type(key) is not int:
        return False
    return value is None or type(value) is str or (type(value) is int and 0 <= value <= sys.maxunicode)


@action(str.format)
def format_template(m: Machine, args: Args, named: Named) -> Any:
    template = args[0].value if args and isinstance(args[0], Known) else None
    if type(template) is not str or not any(_is_users(m, v) for v in (*args[1:], *named.values())):
        return None
    found = _fields(template, args[1:], named)
    if found is None:
        return None
    pieces, values = found
    use(m, args[0])
    return _enter(m, container_models.filled, [Known(tuple(pieces)), m.new(VObj("tuple", tuple, tuple(values)))])


def _fields(template: str, args: Args, named: Named) -> tuple[list[tuple[str, bool, Any, str]], list[V]] | None:
    """Parse a template with plain fields. Return its pieces, and the values in order of use; None if it is malformed or has other fields."""
    pieces: list[tuple[str, bool, Any, str]] = []
    values: list[V] = []
    try:
        for text, name, spec, conversion in string.Formatter().parse(template):
            if name is None:
                pieces.append((text, False, None, ""))
                continue
            spec = spec or ""
            value = args[len(values)] if name == "" else args[int(name)] if name.isdecimal() else named[name]
            if "{" in spec or (conversion and conversion not in _CONVERT):
                return None
            pieces.append((text, True, _CONVERT[conversion] if conversion else None, spec))
            values.append(value)
    except (ValueError, KeyError, IndexError):
        return None
    auto = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None and (name == "" or name.isdecimal())]
    if "" in auto and (set(auto) != {""} or len(auto) != len(values)):
        return None
    return pieces, values
