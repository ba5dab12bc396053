"""The environment that was read while tracing: guards, and where the residual looks at it again.

A fold that reads a global, a cell, an attribute, a class or what a known container holds is a *guard*.  Those that are
read before the first opaque call are tested on entry; after an opaque call the residual looks again (``unchanged`` in
the IR) before it relies on anything more.  Where something has changed it goes on in a world in which nothing of the
environment is folded (docs: "Opaque calls and the frozen environment").
"""

import gc
from collections.abc import Callable, Iterable
from operator import is_
from types import CellType, FunctionType
from typing import Any, Final, NamedTuple

from hovis.engine.logs import fate
from hovis.ir.operations import UNBOUND
from hovis.lattice.constants import is_immutable, same_constant

_HEAP_TYPE: Final = 1 << 9
_IMMUTABLE_TYPE: Final = 1 << 8


class Guard(NamedTuple):
    """A read of the environment that was folded: ``holder`` by ``name`` gave ``value``.

    item      a dictionary by key (UNBOUND: it has no such key)     index     a list by index
    items     all that a list, set or tuple holds                    dict      all that a dictionary holds
    slot      an instance by the name of a slot
    class     a class by name: the dictionaries along its MRO, and what stands there      bases     its MRO
    type      the class of an instance                               cell      the contents of a cell
    function  the code and the defaults of a function
    names     the name and the qualified name of a function
    asked     an abstract class about another class: that one, and the answer
    logs      a logger by a level: what becomes of what it is given
    """

    kind: str
    holder: Any
    name: Any
    value: Any


class Consulted(Exception):
    """The environment was asked where it cannot be relied upon; ``always`` if it changes too often to be folded at all."""

    def __init__(self, always: bool = False) -> None:
        self.always = always


class Look:
    """Where the residual looks at the environment again: the keys of the guards that are relied upon from there on.

    hold says whether they hold: a function, which becomes that of the guards where it is called first.
    """

    __slots__ = ("guards", "hold", "keys")

    def __init__(self) -> None:
        self.keys: set[Any] = set()
        self.guards: tuple[Guard, ...] = ()
        self.hold: FunctionType = FunctionType(_first.__code__, globals(), "hold", (self,))

    def __repr__(self) -> str:
        return f"<{len(self.guards)} guards>"


def _first(look: Look) -> bool:
    """The first call of what says whether guards hold: the next ones are of the test itself."""
    made: Any = compile_guards(look.guards)
    hold = look.hold
    hold.__defaults__, hold.__code__ = made.__defaults__, made.__code__
    return hold()  # type: ignore[no-any-return]


def can_change(cls: type) -> bool:
    """Can somebody assign to attributes of this class?"""
    return bool(cls.__flags__ & _HEAP_TYPE) and not cls.__flags__ & _IMMUTABLE_TYPE


def places(cls: type, name: str) -> tuple[tuple[dict[str, Any], object], ...]:
    """Where an attribute of a class stands: the dictionaries along the MRO, down to the one that has it."""
    found: list[tuple[dict[str, Any], object]] = []
    for base in cls.__mro__:
        there = vars(base)
        if can_change(base):
            found.append((_dictionary(base), there.get(name, UNBOUND)))
        if name in there:
            break
    return tuple(found)


# ------------------------------------------------------------------------------------------------- testing guards


class _Writer:
    """The tests of guards as Python text: what they compare are defaults of parameters, the fastest of variables."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.tests: list[str] = []
        self.written: set[Any] = set()

    def name(self, value: object) -> str:
        found = self.names.get(id(value))
        if found is None:
            found = self.names[id(value)] = f"v{len(self.names)}"
            self.scope[found] = value
        return found

    def same(self, read: str, value: object) -> str:
        """Identity; numbers and strings have none that anybody could see."""
        test = f"{read} is {self.name(value)}"
        if value is None or type(value) is bool or not is_immutable(value):
            return test
        return f"({test} or {self.name(same_constant)}({read}, {self.name(value)}))"

    def item(self, held: dict[Any, Any], key: Any, value: object) -> None:
        """One key of one dictionary."""
        place = id(held), key if isinstance(key, str) else (type(key), id(key))
        if place not in self.written:
            self.written.add(place)
            at = repr(key) if type(key) is str else self.name(key)
            self.tests.append(f"{at} not in {self.name(held)}" if value is UNBOUND else self.same(f"{self.name(held)}[{at}]", value))

    def write(self, guard: Guard) -> None:
        kind, holder, name, value = guard
        if kind == "item":
            self.item(holder, name, value)
        elif kind == "class":
            for held, found in value:
                self.item(held, name, found)
        elif kind == "slot":
            self.tests.append(self.same(f"{self.name(getattr)}({self.name(holder)}, {name!r}, {self.name(UNBOUND)})", value))
        elif kind == "index":
            self.tests.append(f"len({self.name(holder)}) > {name} and " + self.same(f"{self.name(holder)}[{name}]", value))
        elif kind == "function":
            at, (code, defaults, named) = self.name(holder), value
            self.tests.append(f"{at}.__code__ is {self.name(code)} and {at}.__defaults__ is {self.name(defaults)}")
            self.tests.append(f"{at}.__kwdefaults__ is {self.name(named)}")
        elif kind == "names":
            at, (plain, qualified) = self.name(holder), value
            self.tests.append(f"{at}.__name__ == {plain!r} and {at}.__qualname__ == {qualified!r}")
        elif kind == "asked":
            cls, answer = value
            self.tests.append(f"{'' if answer else 'not '}{self.name(issubclass)}({self.name(cls)}, {self.name(holder)})")
        elif kind == "logs":
            self.tests.append(f"{self.name(fate)}({self.name(holder)}, {name}) == {value!r}")
        elif kind in ("items", "dict"):
            check = _same_items if kind == "items" else _same_pairs
            self.tests.append(f"{self.name(check)}({self.name(holder)}, {self.name(value)})")
        else:
            read = {"type": f"type({self.name(holder)})", "bases": f"{self.name(holder)}.__mro__", "cell": f"{self.name(_contents)}({self.name(holder)})"}
            self.tests.append(self.same(read[kind], value) if kind == "cell" else f"{read[kind]} is {self.name(value)}")


def compile_guards(guards: Iterable[Guard]) -> Callable[[], bool]:
    """A function that says whether all guards hold."""
    writer = _Writer()
    for guard in guards:
        writer.write(guard)
    if not writer.tests:
        return _always
    parameters = ", ".join(f"{name}={name}" for name in writer.scope)
    lines = ["  if not (" + " and ".join(writer.tests[k : k + 16]) + "): return False" for k in range(0, len(writer.tests), 16)]
    text = f"def holds({parameters}):\n try:\n" + "\n".join(lines) + "\n  return True\n except LookupError:\n  return False"
    exec(text, writer.scope)
    holds: Callable[[], bool] = writer.scope["holds"]
    return holds


def failing(guards: Iterable[Guard]) -> list[Guard]:
    """The guards that do not hold."""
    return [guard for guard in guards if not compile_guards([guard])()]


def _always() -> bool:
    return True


def _dictionary(cls: type) -> dict[str, Any]:
    """The dictionary behind the proxy that a class shows of it (to read, never to write)."""
    held: Any = next(iter(gc.get_referents(vars(cls))), None)
    return held if type(held) is dict else vars(cls)  # type: ignore[return-value]


def _same_items(now: Any, then: tuple[Any, ...]) -> bool:
    return len(now) == len(then) and all(map(is_, now, then))


def _same_pairs(now: dict[Any, Any], then: tuple[tuple[Any, ...], tuple[Any, ...]]) -> bool:
    keys, values = then
    return len(now) == len(keys) and all(map(is_, now, keys)) and all(map(is_, now.values(), values))


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def contents(held: Any) -> "tuple[str, Any, Any] | None":
    """The guard of all that a known container holds: kind, holder and value; None if its class guards enough."""
    if isinstance(held, list | set | frozenset | tuple):
        return "items", held, tuple(held)
    if isinstance(held, dict):
        return "dict", held, (tuple(held), tuple(held.values()))
    if isinstance(held, CellType):
        return "cell", held, _contents(held)
    return None


# ------------------------------------------------------------------------------------------------- where it is relied upon


def spread(entries: Iterable[Any], looks: Iterable[set[Any]]) -> None:
    """What is relied upon behind an edge is relied upon before it, back to where the residual looks, or to the entry.

    looks: the keys that are relied upon there; those of all between are left as they are.
    """
    behind: dict[int, list[set[Any]]] = {}
    for entry in entries:
        for (_, target, _), reads in (*zip(entry.exits, entry.tails, strict=True), *zip(entry.calls, entry.call_tails, strict=True)):
            behind.setdefault(id(reads), []).append(target.reads)
    for keys in looks:
        seen, todo = {id(keys)}, [keys]
        while todo:
            for reads in behind.get(id(todo.pop()), ()):
                if id(reads) not in seen:
                    seen.add(id(reads))
                    todo.append(reads)
                    keys |= reads
