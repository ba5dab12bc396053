"""The tests of match statements."""

import types
from typing import Any

from hovis.ir.operations.sentinels import END


def match_sequence(subject: object) -> bool:
    """MATCH_SEQUENCE: the flag of the type."""
    return bool(type(subject).__flags__ & (1 << 5))


def match_mapping(subject: object) -> bool:
    """MATCH_MAPPING: the flag of the type."""
    return bool(type(subject).__flags__ & (1 << 6))


def match_class(subject: object, cls: Any, count: int, names: tuple[str, ...]) -> tuple[object, ...] | None:
    """MATCH_CLASS: the attributes that a class pattern asks for, None if it does not match."""
    scope: dict[str, Any] = {"cls": cls}
    patterns = [f"a{k}" for k in range(count)] + [f"{name}=b{k}" for k, name in enumerate(names)]
    found = [f"a{k}" for k in range(count)] + [f"b{k}" for k in range(len(names))]
    key = (count, names)
    code = _class_patterns.get(key)
    if code is None:
        shown = f"({', '.join(found)}{',' if found else ''})"
        text = f"def matching(subject):\n match subject:\n  case cls({', '.join(patterns)}):\n   return {shown}\n return None"
        code = _class_patterns[key] = compile(text, "<hovis>", "exec")
    exec(code, scope)
    result: tuple[object, ...] | None = scope["matching"](subject)
    return result


_class_patterns: dict[Any, types.CodeType] = {}


def match_keys(subject: Any, keys: tuple[object, ...]) -> tuple[object, ...] | None:
    """MATCH_KEYS: the values of these keys, None if one is missing."""
    seen: set[object] = set()
    found = []
    for key in keys:
        if key in seen:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        seen.add(key)
        value = subject.get(key, END)
        if value is END:
            return None
        found.append(value)
    return tuple(found)
