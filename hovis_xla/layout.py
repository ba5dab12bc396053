"""How the leaves of a call are found in its arguments: a plan, as plain data, and the function that is made of it.

    ["leaf", k]                  the k-th leaf (None: not used)
    ["list", [plan, …]]          also "tuple"
    ["dict", [key, …], [plan, …]]
    ["value", Keyed]             a known value

The function is generated Python, one line a container: a call with twenty arrays in a list of dicts costs 2 µs, not 90.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from hovis.engine.trace import Fixed, Leaf, Part, Structure
from hovis.lattice.constants import constant_key
from hovis.signature import Signature
from hovis_xla.interface import Keyed

#: The leaves of the arguments; None if they do not fit.
Taker = Callable[..., tuple[Any, ...] | None]

_CLASSES: Final = {"list": list, "tuple": tuple, "dict": dict}


def plan_of(signature: Signature) -> list[Any] | None:
    """One plan for each unknown argument; None if there is something in them that has none (an instance, a choice)."""
    order = {id(p): k for k, p in enumerate(signature.kept)}
    try:
        return [_plan(u.part, order) for u in signature.unknown]
    except _NoPlan:
        return None


class _NoPlan(Exception):
    pass


def _plan(part: Part, order: dict[int, int]) -> list[Any]:
    if isinstance(part, Fixed):
        return ["value", Keyed(part.value)]
    if isinstance(part, Leaf) and not part.choices:
        return ["leaf", order.get(id(part.param))]
    if not isinstance(part, Structure) or part.kind not in _CLASSES or id(part.param) in order:
        raise _NoPlan
    parts = [_plan(p, order) for p in part.parts]
    if part.kind != "dict":
        return [part.kind, parts]
    if any(type(k) is not str for k in part.keys):
        raise _NoPlan
    return ["dict", list(part.keys), parts]


def taker(plans: Sequence[list[Any]], checked: bool) -> Taker:
    """The function from the arguments to their leaves.  checked: does it see to structure and known values (else the key has)?"""
    writer = _Writer(checked)
    names = [writer.name() for _ in plans]
    for name, plan in zip(names, plans, strict=True):
        writer.take(name, plan)
    leaves = [writer.leaves[k] for k in sorted(writer.leaves)]
    body = [*writer.lines, f"return ({''.join(leaf + ', ' for leaf in leaves)})"]
    exec(f"def take({', '.join(names)}):\n" + "\n".join("    " + line for line in body), writer.scope)
    take: Taker = writer.scope["take"]
    return take


class _Writer:
    def __init__(self, checked: bool) -> None:
        self.checked = checked
        self.scope: dict[str, Any] = {"constant_key": constant_key}
        self.lines: list[str] = []
        self.leaves: dict[int, str] = {}
        self.names = 0

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def constant(self, value: object) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def refuse(self, condition: str) -> None:
        if self.checked:
            self.lines.append(f"if {condition}: return None")

    def take(self, name: str, plan: list[Any]) -> None:
        """Lines that take the value of this name apart."""
        kind = plan[0]
        if kind == "leaf":
            if plan[1] is not None:
                self.leaves[plan[1]] = name
        elif kind == "value":
            self.refuse(f"constant_key({name}) != {self.constant(plan[1].key)}")
        else:
            self._container(name, kind, plan)

    def _container(self, name: str, kind: str, plan: list[Any]) -> None:
        parts = plan[-1]
        self.refuse(f"type({name}) is not {kind} or len({name}) != {len(parts)}")
        if kind == "dict":
            self.refuse(f"tuple({name}) != {self.constant(tuple(plan[1]))}")
        inner = [self.name() for _ in parts]
        if inner and any(map(self._wanted, parts)):
            self.lines.append(f"{', '.join(inner)}, = {name}{'.values()' if kind == 'dict' else ''}")
            for one, part in zip(inner, parts, strict=True):
                self.take(one, part)

    def _wanted(self, plan: list[Any]) -> bool:
        """Is anything to be done with it?"""
        if plan[0] in ("leaf", "value"):
            return plan[1] is not None if plan[0] == "leaf" else self.checked
        return self.checked or any(map(self._wanted, plan[-1]))
