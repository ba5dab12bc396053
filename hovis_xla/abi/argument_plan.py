"""Plans of where the leaves of a call are in its arguments, as plain data, and the functions that are generated from them.

    ["leaf", k, Num | class | None]     the k-th leaf (None: not used), and what it has to be
    ["list", [plan, …]]                 also "tuple"
    ["dict", [key, …], [plan, …]]
    ["named", class, [plan, …]]         a named tuple
    ["instance", class, [name, …], [plan, …]]
    ["whole", k, plan]                  the k-th leaf is a container whose parts are leaves as well
    ["again", k]                        the same object as the k-th leaf
    ["empty", class]
    ["value", Keyed]                    a known value

The generated function is Python code with one line per container: a call with twenty arrays in a list of dicts costs 2 µs, not 90.
"""

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hovis.arguments.signature import Signature
from hovis.engine.state.type_lookup import slots_of
from hovis.engine.trace import Fixed, Leaf, Part, Structure
from hovis.front.autotuner import LARGER, SMALL, Contest
from hovis.ir.model import Param
from hovis.ir.naming import is_name
from hovis.lattice import Refined, Type
from hovis.lattice.constants import ATOMS, constant_key
from hovis_xla.abi.argument_specs import NUMBERS, is_known, is_mutable
from hovis_xla.abi.call_entry import BAILED, leaf_tests
from hovis_xla.abi.signature import Keyed
from hovis_xla.emit.values import Num, num_of_type

#: A function from the arguments to their leaves; it returns None if they do not match.
Taker = Callable[..., tuple[Any, ...] | None]

_SIZED: Final = frozenset({list, tuple, dict, set, str, bytes})
_CLASSES: Final = {"list": list, "tuple": tuple, "dict": dict}
_IDENTICAL: Final = frozenset({bool, type(None), type(Ellipsis)})


@dataclass(frozen=True, slots=True)
class Head:
    """Properties of an argument that a call can test without looking into it.

    ``known``: its value, if that is known; ``tests``: conditions that hold for arguments that are much larger, with ``{0}`` for the name.
    """

    cls: type
    mutable: bool
    known: Keyed | None
    is_simple: bool
    tests: tuple[str, ...] = ()

    @staticmethod
    def of(value: Any, known: Keyed | None) -> "Head":
        """Return the head of an argument."""
        simple = type(value) is np.ndarray or issubclass(type(value), (np.generic, *NUMBERS)) or is_known(value)
        tests: tuple[str, ...] = ()
        if type(value) is np.ndarray:
            tests = (f"{{0}}.ndim != {value.ndim}", f"{{0}}.size > {LARGER * value.size + SMALL}")
        elif type(value) in _SIZED:
            tests = (f"len({{0}}) > {LARGER * len(value) + SMALL}",)
        return Head(type(value), is_mutable(value), known, simple, tests)

    def shallow(self, name: str) -> list[str]:
        """Return the conditions that hold if the argument with this name is much larger."""
        return [test.format(name) for test in self.tests]


def plan_of(signature: Signature) -> list[Any] | None:
    """Return one plan for each unknown argument, or None if some part has no plan (for example, a leaf with several possible values)."""
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
        return ["leaf", order.get(id(part.param)), tested(part.param)]
    if not isinstance(part, Structure):
        raise _NoPlan
    if id(part.param) in order:
        return ["whole", order[id(part.param)], _container_plan(part, order)]
    return _container_plan(part, order)


def tested(param: Param) -> Num | Refined | type | None:
    """Return what an argument is tested against: a ``Num``, refined facts or a class, or None if it is not tested."""
    kind = param.type
    return num_of_type(kind, param.dims) or (kind.cls if type(kind) is Type else kind if isinstance(kind, Refined) else None)


def _container_plan(part: Structure, order: dict[int, int]) -> list[Any]:
    parts = [_plan(p, order) for p in part.parts]
    if part.kind == "instance":
        return ["instance", part.cls, list(part.keys), parts]
    if _CLASSES.get(part.kind) is part.cls:
        return ["dict", list(part.keys), parts] if part.kind == "dict" else [part.kind, parts]
    if part.kind != "tuple":
        raise _NoPlan
    return ["named", part.cls, parts]


def taker(plans: Sequence[list[Any]], checked: bool) -> Taker:
    """Generate the function from the arguments to their leaves. ``checked``: does it test structure and known values? Otherwise the cache key
    has ensured them.
    """
    writer = Writer(checked, "None")
    names = writer.take_all(plans)
    return writer.function(names, f"return {writer.all_leaves()}")


def quick_entry(
    plans: Sequence[list[Any]],
    tests: Sequence[str],
    scope: dict[str, Any],
    enter: Callable[..., Any] | None,
    call: tuple[Any, list[Any]],
    trusting: bool = False,
    watch: tuple[Contest, Callable[..., Any]] | None = None,
) -> Callable[..., Any]:
    """Generate the function of a whole call. It returns BAILED if the arguments do not match the plans, or the tests fail.

    It calls ``enter`` with the leaves, or, if that is None, ``call``: a callable, and the places of its arguments, some of which are passed by name.
    Leaves are tested here unless ``enter`` tests them (it does not if it is ``trusting``).  ``tests``: conditions, over ``a0``, ``a1`` … and
    ``scope``, that lead to BAILED.  ``watch``: a contest, and a function that is told of calls that take longer than the contest's ``alert``, and
    that does the call after ``stays`` calls.
    """
    writer = Writer(True, "BAILED", everything=enter is None or trusting)
    writer.scope.update(scope, BAILED=BAILED)
    names = [f"a{k}" for k in range(len(plans))]
    for name, plan in zip(names, plans, strict=True):
        writer.take(name, plan)
    for test in tests:
        writer.refuse(test)
    if enter is not None:
        writer.scope["call"] = enter
        calls = f"call(*{writer.all_leaves()})" if len(writer.leaves) > 250 else f"call{writer.all_leaves(True)}"
    else:
        writer.scope["call"], places = call
        by_name = ", ".join(f"{name!r}: {names[k]}" for k, name in places if isinstance(name, str) and not is_name(name))
        plain = [f"{name}={names[k]}" if isinstance(name, str) else names[k] for k, name in places if not isinstance(name, str) or is_name(name)]
        calls = f"call({', '.join([*plain, *([f'**{{{by_name}}}'] if by_name else [])])})"
    return writer.calling(names, calls, watch)


class Writer:
    """Writes the Python code that takes arguments apart, plan by plan."""

    def __init__(self, checked: bool, misfit: str, everything: bool = False) -> None:
        self.checked = checked
        self.misfit = misfit
        #: are all leaves tested, even those that the callee could test?
        self.everything = everything
        self.scope: dict[str, Any] = {"constant_key": constant_key, "ndarray": np.ndarray}
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

    def take_all(self, plans: Sequence[list[Any]]) -> list[str]:
        """Write the lines that take every argument apart, and return the names of the arguments."""
        names = [self.name() for _ in plans]
        for name, plan in zip(names, plans, strict=True):
            self.take(name, plan)
        return names

    def all_leaves(self, arguments: bool = False) -> str:
        leaves = [self.leaves[k] for k in sorted(self.leaves)]
        return f"({', '.join(leaves)})" if arguments else f"({''.join(leaf + ', ' for leaf in leaves)})"

    def function(self, names: list[str], last: str) -> Callable[..., Any]:
        exec(f"def take({', '.join(names)}):\n" + "\n".join("    " + line for line in [*self.lines, last]), self.scope)
        take: Callable[..., Any] = self.scope["take"]
        return take

    def calling(self, names: list[str], calls: str, watch: tuple[Contest, Callable[..., Any]] | None) -> Callable[..., Any]:
        """Generate the function that returns the value of the expression ``calls``. If ``watch`` is given, the function reports a call that
        takes longer than the ``alert`` of the contest, or that comes after as many calls as the contest ``stays``.
        """
        if watch is None:
            return self.function(names, f"return {calls}")
        contest, late = watch
        self.scope["late"] = late
        if contest.stays:
            self.scope["tick"] = itertools.repeat(None, contest.stays).__next__
            self.lines += ["try: tick()", f"except StopIteration: return late(({''.join(f'{name}, ' for name in names)}))"]
        if contest.alert == math.inf:
            return self.function(names, f"return {calls}")
        self.scope.update(clock=time.perf_counter, contest=contest)
        self.lines += ["start = clock()", f"found = {calls}", "taken = clock() - start", "if taken > contest.alert: late(None, taken)"]
        return self.function(names, "return found")

    def refuse(self, condition: str) -> None:
        if self.checked:
            self.lines.append(f"if {condition}: return {self.misfit}")

    def take(self, name: str, plan: list[Any]) -> None:
        """Write the lines that take apart the value with this name."""
        kind = plan[0]
        if kind == "leaf":
            self._leaf(name, plan[1], plan[2])
        elif kind == "value":
            self._value(name, plan[1])
        elif kind == "whole":
            self.leaves[plan[1]] = name
            self.take(name, plan[2])
        elif kind == "again":
            self.refuse(f"{name} is not {self.leaves[plan[1]]}")
        elif kind == "empty":
            self.refuse(f"type({name}) is not {self.constant(plan[1])} or {name}")
        else:
            self._container(name, kind, plan)

    def _leaf(self, name: str, place: int | None, wanted: Num | Refined | type | None) -> None:
        if place is not None:
            self.leaves[place] = name
        if place is not None and not self.everything:
            return
        if isinstance(wanted, Num):
            self.refuse(" or ".join(leaf_tests(name, wanted, self.constant)))
        elif isinstance(wanted, Refined):
            self.refuse(f"not {self.constant(wanted.fits)}({name})")
        elif wanted is not None:
            self.refuse(f"type({name}) is not {self.constant(wanted)}")

    def _value(self, name: str, known: Keyed) -> None:
        value = known.value
        if type(value) in _IDENTICAL or (type(value) not in ATOMS and type(value) is not tuple):
            self.refuse(f"{name} is not {self.constant(value)}")
        elif type(value) in (int, str, bytes):
            self.refuse(f"type({name}) is not {type(value).__name__} or {name} != {self.constant(value)}")
        else:
            self.refuse(f"constant_key({name}) != {self.constant(known.key)}")

    def _container(self, name: str, kind: str, plan: list[Any]) -> None:
        parts = plan[-1]
        cls = self.constant(plan[1]) if kind in ("named", "instance") else kind
        self.refuse(f"type({name}) is not {cls}" + ("" if kind == "instance" else f" or len({name}) != {len(parts)}"))
        inner = [self.name() for _ in parts]
        wanted = any(map(self._wanted, parts))
        if kind == "instance":
            self._attributes(name, plan, inner, wanted)
        else:
            if kind == "dict":
                keys = tuple(plan[1])
                plain = all(type(k) is str for k in keys)
                self.refuse(f"tuple({name}) != {self.constant(keys)}" if plain else f"constant_key(tuple({name})) != {self.constant(constant_key(keys))}")
            if inner and wanted:
                self.lines.append(f"{', '.join(inner)}, = {name}{'.values()' if kind == 'dict' else ''}")
        if wanted:
            for one, part in zip(inner, parts, strict=True):
                self.take(one, part)

    def _attributes(self, name: str, plan: list[Any], inner: list[str], wanted: bool) -> None:
        """Write the lines that read the attributes of an instance from its dictionary or its slots, and reject an instance with other
        attributes.
        """
        _, cls, names, _ = plan
        slots = slots_of(cls) or {}
        if cls.__dictoffset__:
            named = [one for one, attribute in zip(inner, names, strict=True) if attribute not in slots]
            self.refuse(f"tuple({name}.__dict__) != {self.constant(tuple(k for k in names if k not in slots))}")
            if named and wanted:
                self.lines.append(f"{', '.join(named)}, = {name}.__dict__.values()")
        for attribute, slot in slots.items():
            taken = f"{self.constant(slot.__get__)}({name})"
            if attribute in names:
                self.lines += [f"try: {inner[names.index(attribute)]} = {taken}", f"except AttributeError: return {self.misfit}"]
            else:
                self.lines += [f"try: {taken}", "except AttributeError: pass", f"else: return {self.misfit}"]

    def _wanted(self, plan: list[Any]) -> bool:
        """Does the plan need any code: a test, or a leaf to read?"""
        if plan[0] in ("leaf", "value", "again", "empty"):
            return self.checked or (plan[0] == "leaf" and plan[1] is not None)
        return self.checked or plan[0] == "whole" or any(map(self._wanted, plan[-1]))
