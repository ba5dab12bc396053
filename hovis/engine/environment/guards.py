"""Guards, which record reads of the environment that were folded while tracing, and looks, where the residual tests them again.

If the trace folds a read of a global, a cell, an attribute, a class or the contents of a known container, it records a *guard*.
Guards of reads before the first opaque call are tested on entry; after an opaque call the residual looks again (``unchanged``
in the IR) before it relies on any further read.  If something has changed, it continues in a world in which nothing of the
environment is folded (docs: "Opaque calls and the frozen environment").
"""

import abc
import collections.abc
from collections import defaultdict
from collections.abc import Callable, Iterable
from operator import is_
from types import CellType, FunctionType
from typing import Any, Final, NamedTuple

from hovis.engine.environment import guard_words
from hovis.engine.environment.logging_calls import fate
from hovis.ir.operations import END, LAZY, UNBOUND
from hovis.ir.operations.wording import raises
from hovis.lattice import inline_attributes
from hovis.lattice.constants import is_immutable, same_constant

#: Flags of classes (CPython: Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE).
_HEAP_TYPE: Final = 1 << 9
_IMMUTABLE_TYPE: Final = 1 << 8

#: The most items of a list that are compared one by one, without a call.
MOST_INLINE: Final = 8
#: The most items of a container that a look compares; a container with more items is read at run time.
MOST_COMPARED: Final = 1000


class Guard(NamedTuple):
    """A read of the environment that was folded to a constant: ``holder`` by ``name`` gave ``value``.

    item      a dictionary by key (UNBOUND: it has no such key)     index     a list by index
    items     the whole contents of a list, set or tuple             dict      the whole contents of a dictionary
    slot      an instance by the name of a slot
    attribute an attribute of an instance by name, whatever dictionary it has (UNBOUND: the instance itself has none; the class has none, or a method)
    class     a class attribute by name: the dictionaries along the MRO, and the value in each      bases     the MRO of a class
    kinds     a dictionary by key: the class of the value is one of these
    type      the class of an instance                               cell      the contents of a cell
    function  the code of a function                         defaults  the default values of its parameters
    names     the name and the qualified name of a function
    asked     an abstract class about another class: that class, and the answer of ``issubclass``
    logs      a logger by a level: the effect of a call (see logging_calls)
    library   a function that was called while tracing: its footprint (see footprints)
    """

    kind: str
    holder: Any
    name: Any
    value: Any


class Probe(NamedTuple):
    """A test of the environment that takes an instruction or two; it also fails if the place that it reads is missing.

    how      item: ``holder[name] is value``        absent: ``name not in holder``
             attribute: ``holder.name is value``    class: ``type(holder) is value``    kind: ``type(holder[name]) is value``
             bound: ``holder.name is not holder.name``, which is true of a method of the class, as each read binds it again
             plain attribute, plain bound: the same tests, but read by ``object.__getattribute__``, bypassing the hooks of the class
    """

    how: str
    holder: Any
    name: Any
    value: Any


class Consulted(Exception):
    """Raised when the environment is read where it cannot be relied upon; ``always`` if it changes too often to be folded at all."""

    def __init__(self, always: bool = False) -> None:
        self.always = always


class Look:
    """A place where the residual tests the environment again: the keys of the guards that are relied upon from there on.

    ``hold`` is a function that tells whether these guards hold; its first call replaces its code by the compiled test.
    """

    __slots__ = ("guards", "hold", "keys")

    def __init__(self) -> None:
        self.keys: set[Any] = set()
        self.guards: tuple[Guard, ...] = ()
        self.hold: FunctionType = FunctionType(_first.__code__, globals(), "hold", (self,))

    def __repr__(self) -> str:
        return f"<{len(self.guards)} guards>"

    def probes(self) -> list[Probe] | None:
        """Return the probes to test, or None if not all guards have quick ones. A guard of a number or string may hold although its probe, which
        compares identities, fails.
        """
        found: list[Probe] = []
        for guard in in_order(self.guards):
            probes = _probes(guard)
            if probes is None:
                return None
            found += probes
        return found


def _first(look: Look) -> bool:
    """Compile the guards of a look into its function ``hold``, which this is the initial code of, and test them."""
    made: Any = compile_guards(look.guards)
    hold = look.hold
    hold.__defaults__, hold.__code__ = made.__defaults__, made.__code__
    return hold()  # type: ignore[no-any-return]


def can_change(cls: type) -> bool:
    """Can attributes of this class be assigned?"""
    return bool(cls.__flags__ & _HEAP_TYPE) and not cls.__flags__ & _IMMUTABLE_TYPE


def places(cls: type, name: str) -> tuple[tuple[dict[str, Any], object], ...]:
    """Return the places where a class attribute is looked up: the dictionaries along the MRO that can change, down to the one that has it, each
    with the value there.
    """
    found: list[tuple[dict[str, Any], object]] = []
    for base in cls.__mro__:
        there = vars(base)
        if can_change(base):
            found.append((inline_attributes.dictionary_of(base), there.get(name, UNBOUND)))
        if name in there:
            break
    return tuple(found)


# ------------------------------------------------------------------------------------------------- testing guards


def _probes(guard: Guard) -> list[Probe] | None:
    """Return the probes of a guard, or None if it has none."""
    kind, holder, name, value = guard
    if kind == "item":
        return None if type(holder) is defaultdict else [_item(holder, name, value)]
    if kind == "class":
        return [_item(held, name, found) for held, found in value]
    if kind == "index":
        return [Probe("item", holder, name, value)]
    if kind == "attribute":
        return _own_attribute(holder, name, value)
    if kind == "kinds" and len(value) == 1:
        return [Probe("kind", holder, name, value[0])]
    if kind == "function":
        return [Probe("attribute", holder, "__code__", value)]
    if kind == "defaults":
        return [Probe("attribute", holder, at, held) for at, held in zip(("__defaults__", "__kwdefaults__"), value, strict=True)]
    if kind == "bases":
        return [] if _has_its_bases_for_good(holder) else [Probe("attribute", holder, "__mro__", value)]
    if kind == "type":
        return [Probe("class", holder, None, value)]
    if kind == "cell" and value is not UNBOUND:
        return [Probe("attribute", holder, "cell_contents", value)]
    return None


def _own_attribute(holder: Any, name: str, value: object) -> list[Probe] | None:
    """Return the probe of an instance attribute, or None if there is none; other guards test before it that the class has not changed."""
    cls = type(holder)
    how = "" if name.isidentifier() and not inline_attributes.has_hook(cls) else "plain "
    if value is not UNBOUND:
        return [Probe(how + "attribute", holder, name, value)]
    return [Probe(how + "bound", holder, name, None)] if inline_attributes.binds(inline_attributes.in_class(cls, name)) else None


def _item(held: dict[Any, Any], key: Any, value: object) -> Probe:
    return Probe("absent", held, key, None) if value is UNBOUND else Probe("item", held, key, value)


class _Alone: ...


class _Base: ...


#: Does CPython forbid assigning to the ``__bases__`` of a class that is derived from object alone (until 3.14)?
_KEEPS_BASES: Final = raises(lambda: setattr(_Alone, "__bases__", (_Base,)))


def _has_its_bases_for_good(cls: type) -> bool:
    """Whether CPython forbids assigning to the ``__bases__`` of a class because it is derived from object alone (``compatible_for_assignment``)."""
    return _KEEPS_BASES and type(cls) is type and cls.__mro__ == (cls, object)


#: Abstract classes whose answers depend on the class that is asked for, and on what is registered, alone.
_ABSTRACT: Final = frozenset(held for held in vars(collections.abc).values() if isinstance(held, type))


class _Writer:
    """Writes the tests of guards as Python text. The values to compare are defaults of parameters, as local variables are the fastest to read."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.tests: list[str] = []
        self.written: set[Any] = set()

    def name(self, value: object) -> str:
        found = self.names.get(id(value))
        if found is None:
            name = f"v{len(self.names)}"
            # what is held by a name itself would be imported as soon as the name is read
            found = self.names[id(value)] = name if type(value) is not LAZY else f"{name}[0]"
            self.scope[name] = value if type(value) is not LAZY else [value]
        return found

    def same(self, read: str, value: object) -> str:
        """Return the text of a test for identity, or for equality too if value is a number or string, whose identity is not observable."""
        test = f"{read} is {self.name(value)}"
        if value is None or type(value) is bool or not is_immutable(value):
            return test
        return f"({test} or {self.name(same_constant)}({read}, {self.name(value)}))"

    def probe(self, probe: Probe) -> None:
        how, holder, name, value = probe
        place = how, id(holder), name if isinstance(name, str) else (type(name), id(name))
        if place in self.written:
            return
        self.written.add(place)
        at = repr(name) if type(name) is str else self.name(name)
        if how == "absent":
            self.tests.append(f"{at} not in {self.name(holder)}")
        elif how == "item":
            self.tests.append(self.same(f"{self.name(holder)}[{at}]", value))
        elif how == "kind":
            self.tests.append(f"type({self.name(holder)}[{at}]) is {self.name(value)}")
        elif how.endswith(("attribute", "bound")):
            plain = how.startswith("plain ")
            read = f"{self.name(inline_attributes.plain)}({self.name(holder)}, {at})" if plain else f"{self.name(holder)}.{name}"
            self.tests.append(f"{read} is not {read}" if how.endswith("bound") else self.same(read, value))
        else:
            self.tests.append(f"type({self.name(holder)}) is {self.name(value)}")

    def write(self, guard: Guard) -> None:
        probes = _probes(guard)
        if probes is not None:
            for probe in probes:
                self.probe(probe)
            return
        kind, holder, name, value = guard
        if kind == "item":  # subscription would call the factory
            self.tests.append(self.same(f"{self.name(dict.get)}({self.name(holder)}, {self.name(name)}, {self.name(UNBOUND)})", value))
        elif kind == "slot":
            self.tests.append(self.same(f"{self.name(getattr)}({self.name(holder)}, {name!r}, {self.name(UNBOUND)})", value))
        elif kind == "attribute":
            self.tests.append(self.same(f"{self.name(_attribute_of)}({self.name(holder)}, {name!r})", value))
        elif kind == "names":
            at, (plain, qualified) = self.name(holder), value
            self.tests.append(f"{at}.__name__ == {plain!r} and {at}.__qualname__ == {qualified!r}")
        elif kind == "asked":
            cls, answer = value
            test = f"{'' if answer else 'not '}{self.name(issubclass)}({self.name(cls)}, {self.name(holder)})"
            if not can_change(cls) and holder in _ABSTRACT:  # as long as no class is registered anywhere, the answer stays
                test = f"({self.name(abc.get_cache_token)}() == {abc.get_cache_token()} or {test})"
            self.tests.append(test)
        elif kind == "logs":
            self.tests.append(f"{self.name(fate)}({self.name(holder)}, {name}) == {value!r}")
        elif kind == "kinds":
            self.tests.append(f"any(type({self.name(holder)}[{name!r}]) is kind for kind in {self.name(value)})")
        elif kind == "library":
            for part in value.guards:
                self.write(part)
        elif kind == "cell":
            self.tests.append(f"{self.name(contents_of)}({self.name(holder)}) is {self.name(UNBOUND)}")
        elif kind == "items" and type(holder) in (list, tuple) and len(value) <= MOST_INLINE:
            at = self.name(holder)
            self.tests += [f"len({at}) == {len(value)}", *(f"{at}[{k}] is {self.name(one)}" for k, one in enumerate(value))]
        else:
            check = _same_items if kind == "items" else _same_pairs
            self.tests.append(f"{self.name(check)}({self.name(holder)}, {self.name(value)})")


def compile_guards(guards: Iterable[Guard]) -> Callable[[], bool]:
    """Compile a function that tells whether all guards hold."""
    ordered = in_order(guards)
    whole = _compile(ordered)
    return guard_words.compiled(ordered, whole, _compile)


def _compile(guards: Iterable[Guard]) -> Callable[[], bool]:
    writer = _Writer()
    for guard in guards:
        writer.write(guard)
    if not writer.tests:
        return _always
    parameters = ", ".join(f"{name}={name}" for name in writer.scope)
    lines = ["  if not (" + " and ".join(writer.tests[k : k + 16]) + "): return False" for k in range(0, len(writer.tests), 16)]
    text = f"def holds({parameters}):\n try:\n" + "\n".join(lines) + "\n  return True\n except (LookupError, ValueError, AttributeError):\n  return False"
    exec(text, writer.scope)
    holds: Callable[[], bool] = writer.scope["holds"]
    return holds


def in_order(guards: Iterable[Guard]) -> list[Guard]:
    """Return the guards with those of attributes last: reading attributes runs no user code as long as the classes are unchanged."""
    return sorted(guards, key=lambda guard: guard.kind == "attribute")


def failing(guards: Iterable[Guard]) -> list[Guard]:
    """Return the guards that do not hold. If any other guard fails, attributes are not read, as a changed class may run code for them."""
    ordered = in_order(guards)
    found = [guard for guard in ordered if guard.kind != "attribute" and not compile_guards([guard])()]
    return found or [guard for guard in ordered if guard.kind == "attribute" and not compile_guards([guard])()]


def _attribute_of(holder: object, name: str) -> object:
    """Return an attribute of an instance if reading it runs no code; otherwise END, which it cannot have been."""
    return inline_attributes.read(holder, name, UNBOUND) if inline_attributes.can_read(type(holder), name) else END


def _always() -> bool:
    return True


def _same_items(now: Any, then: tuple[Any, ...]) -> bool:
    return len(now) == len(then) and all(map(is_, now, then))


def _same_pairs(now: dict[Any, Any], then: tuple[tuple[Any, ...], tuple[Any, ...]]) -> bool:
    keys, values = then
    return len(now) == len(keys) and all(map(is_, now, keys)) and all(map(is_, now.values(), values))


def contents_of(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def contents(held: Any) -> "tuple[str, Any, Any] | None":
    """Return the guard of the whole contents of a known container, as kind, holder and value; None if a guard of its class is enough."""
    if isinstance(held, list | set):
        return "items", held, tuple(held)
    if isinstance(held, dict):
        return "dict", held, (tuple(held), tuple(held.values()))
    if isinstance(held, CellType):
        return "cell", held, contents_of(held)
    return None


# ------------------------------------------------------------------------------------------------- which guards a look tests


def too_large(looks: Iterable[Look]) -> set[Any]:
    """Collect the keys of guards that would make a look compare a container of more than MOST_COMPARED items."""
    guards = (guard for look in looks for guard in look.guards if guard.kind in ("items", "dict"))
    return {(kind, id(held), name) for kind, held, name, _ in guards if len(held) > MOST_COMPARED}


def spread(entries: Iterable[Any], looks: Iterable[set[Any]]) -> None:
    """Propagate the keys that are relied upon backward over edges and calls, up to the previous look or the entry.

    looks: the sets of keys that are relied upon at looks, which are extended in place; the sets of the entries in between stay as they are.
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
