"""Descriptions of what a residual checks on entry and what it assumes."""

from collections.abc import Iterable

from hovis.engine.environment.guards import Guard
from hovis.engine.trace import Fixed, Leaf, Part
from hovis.ir import naming
from hovis.ir.operations import UNBOUND
from hovis.lattice import Array, Const


def checks(unknown: Iterable[tuple[str, Part]], static: Iterable[object], guards: Iterable[Guard]) -> list[str]:
    """List what a residual checks on entry and what it assumes, one line each."""
    lines = [f"entry: {name} :: {fits(part)}" for name, part in unknown]
    lines += [f"frozen: {short(value)}" for value in static]
    return [naming.printable(line) for line in [*lines, *(f"guard: {_guard(guard)}" for guard in guards)]]


def fits(part: Part) -> str:
    """Describe the arguments that fit a part, in the notation of specs."""
    if isinstance(part, Fixed):
        return f"const({short(part.value)})"
    if isinstance(part, Leaf):
        kind = part.param.type
        if part.choices:
            return f"OneOf({', '.join(map(short, part.choices))})"
        if isinstance(kind, Array):
            dims = part.param.dims or (Const(None),) * kind.rank
            shown = [str(d.value) if isinstance(d, Const) and d.value is not None else ":" for d in dims]
            return f"{kind.dtype}[{', '.join(shown)}]"
        return str(kind)
    inner = [fits(p) for p in part.parts]
    keys = part.keys or ()
    if getattr(part, "kind", "") == "instance":
        return f"{part.cls.__qualname__}({', '.join(f'{k}={v}' for k, v in zip(keys, inner, strict=True))})"  # type: ignore[union-attr]
    if keys:
        return "{" + ", ".join(f"{k!r}: {v}" for k, v in zip(keys, inner, strict=True)) + "}"
    if getattr(part, "kind", "tuple") == "list":
        return f"[{', '.join(inner)}]"
    return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"


def _guard(guard: Guard) -> str:
    """Describe a guard in words."""
    holder, name, value = guard.holder, guard.name, short(guard.value)
    match guard.kind:
        case "item":
            scope = holder.get("__name__") if isinstance(holder, dict) else None
            return f"{name} in {f'module {scope}' if scope else short(holder)} is {value}"
        case "attribute" if guard.value is UNBOUND:
            return f"{short(holder)} itself has no {name}"
        case "attribute":
            return f"{short(holder)}.{name} is {value}"
        case "class":
            found = guard.value[-1][1] if guard.value else UNBOUND
            return f"{short(holder)} has no {name}" if found is UNBOUND else f"{short(holder)}.{name} is {short(found)}"
        case "index" | "slot":
            return f"{short(holder)} has {value} at {name}"
        case "items" | "dict":
            return f"{short(holder)} has the same contents as while tracing"
        case "type":
            return f"{short(holder)} is an instance of {value}"
        case "asked":
            cls, answer = guard.value
            return f"{short(cls)} is {'a' if answer else 'no'} subclass of {short(holder)}"
        case "cell":
            return f"a closure's variable is {value}"
        case "names":
            return f"{short(holder)} is named {guard.value[1]}"
        case "library":
            return f"{short(holder)} reads the same values as while tracing"
        case _:
            return f"{short(holder)} still has its {'code' if guard.kind == 'function' else guard.kind}"


def short(value: object) -> str:
    """Describe a value briefly, without running user code."""
    text = naming.literal(value)
    if text is not None:
        return text if len(text) <= 40 else text[:39] + "…"
    return naming.name_of(value) or f"a {type(value).__qualname__}"
