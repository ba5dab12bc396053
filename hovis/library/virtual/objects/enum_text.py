"""Folding of the text of known members of enumerations."""

import enum
from typing import Any, Final

from hovis.engine.machine.machine import Machine
from hovis.engine.state.type_lookup import find
from hovis.engine.state.values import Known
from hovis.ir import operations as ops
from hovis.library.language.operators import narrow
from hovis.library.virtual.base import Args, Named, action, use

_TEXTS: Final = ("__str__", "__repr__", "__format__")


def _plain(held: object) -> bool:
    """Is held a member of an enumeration whose text is made only by enum and the builtin classes?"""
    if not isinstance(held, enum.Enum):
        return False
    return all(getattr(find(type(held), name), "__module__", None) in ("enum", None) for name in _TEXTS)


def _text(fn: Any) -> Any:
    def text_of_member(m: Machine, args: Args, named: Named) -> Any:
        held: list[Any] = [a.value for a in args if isinstance(a, Known)]
        if len(held) < len(args) or not _plain(held[0]) or not all(type(spec) is str and narrow(spec) and not spec.endswith("n") for spec in held[1:]):
            return None
        try:
            text = fn(*held)
        except (ValueError, TypeError):
            return None
        use(m, *args)
        return Known(text) if type(text) is str else None

    return text_of_member


for _fn in (str, repr, format):
    action(_fn, counts=(1, 2 if _fn is format else 1))(_text(_fn))
action(ops.format_value, counts=(1, 2))(_text(format))
