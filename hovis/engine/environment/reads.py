"""The environment as the traced code reads and writes it: guards, and what is thawed, that is, read at run time (see guards)."""

from collections import Counter, deque
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from hovis.engine.environment.fixed_facts import FixedFacts
from hovis.engine.environment.folded_branches import RECENT, may_be_told
from hovis.engine.environment.footprints import MOST_PLACES, Footprint
from hovis.engine.environment.guards import Consulted, Guard, can_change, contents, places
from hovis.engine.environment.points_to import WHOLE
from hovis.engine.state import class_templates, type_lookup
from hovis.engine.state.specialization_tables import Restart, Tables
from hovis.engine.state.values import Known, V
from hovis.ir.model import Effect
from hovis.ir.operations import LAZY, UNBOUND
from hovis.lattice import inline_attributes
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine

#: The attributes of a known function that calls of it rely on, by kinds of guards.
_CALLED_BY: Final = {"function": ("__code__",), "defaults": ("__defaults__", "__kwdefaults__")}


_SETATTR: Final = object.__dict__["__setattr__"]
_DELATTR: Final = object.__dict__["__delattr__"]


class Environment:
    """The reads of the environment by a machine, and those of them that the residual relies on.

    frozen          the environment is assumed never to change: nothing is tested
    guards          the guards that the residual relies on, by key
    reads           the keys of those that it relies on since its last look
    volatile        the keys of reads that changed too often to be relied upon again
    """

    def __init__(self, machine: "Machine", tables: Tables, frozen: bool) -> None:
        self.machine = machine
        self.tables = tables
        self.frozen = frozen
        self.read_static: set[Any] = set()
        self.static_objects: dict[int, Any] = {}
        #: the parts of each object that were read: names of attributes, or WHOLE (see aliased_stores)
        self.static_parts: dict[int, tuple[object, set[object]]] = {}
        self.guards: dict[Any, Guard] = {}
        #: what needs no test, if the environment is not frozen as a whole
        self.fixed: FixedFacts | None = None
        #: what is not tested, since it is taken as unchanged
        self.assumed: dict[Any, Guard] = {}
        #: lookups of class attributes, whether or not they are relied upon
        self.asked: dict[Any, Guard] = {}
        #: the number of all lookups of each, and of those where only a data descriptor would make a difference
        self._lookups: Counter[Any] = Counter()
        self._for_descriptors: Counter[Any] = Counter()
        self.volatile: frozenset[Any] = frozenset()
        self.reads: set[Any] = set()
        #: the keys of reads that might tell a loop to end (see environment_loops)
        self.told: set[Any] = set()
        #: the keys of all reads of the chain
        self.all_reads: set[Any] = set()
        #: the latest reads in ``told``, with the call string and instruction of each frame at that time
        self.recent: deque[tuple[Any, list[tuple[int, int]]]] = deque(maxlen=RECENT)
        #: the keys of reads that another thread or a signal handler is expected to change while a loop runs (see environment_loops)
        self.timely: set[Any] = set()
        #: the keys that are relied upon before anything is traced: that the function is unchanged
        self.granted: set[Any] = set()

    def static(self, value: V, item: "tuple[str, Any, Any, Any] | None" = None) -> bool:
        """Is value a known object whose contents may be read now? If it is, record the read: of all its contents, or of one item (a guard)."""
        if isinstance(value, Known) and id(value.value) not in self.tables.thawed:
            if not is_immutable(value.value):
                if class_templates.ALL and class_templates.of(value.value) is not None:
                    return True
                if self.machine.state.world == 2 or (self.volatile and self._volatile(value.value, item)):
                    return False
                if self.tables.stored and self._is_stored(value.value, item):
                    return False
                self.read_static.add(id(value.value))
                self.static_objects[id(value.value)] = value.value
                self.read_part(value.value, WHOLE if item is None else item[2])
                if item is not None:
                    self.guard(*item)
                else:
                    self._guard_contents(value.value)
            return True
        return False

    def read_part(self, held: object, name: object) -> None:
        """Record that an attribute of a known object (or that it is missing), an item of a container, or all of it was read."""
        if not self.frozen:
            return  # the environment is not frozen: guards detect the stores
        if type(held) is CellType:
            name = "cell_contents"
        found = self.static_parts.get(id(held))
        if found is None:
            self.static_parts[id(held)] = held, {name}
        else:
            found[1].add(name)

    def guard(self, kind: str, holder: Any, name: Any, value: Any) -> None:
        """Record that the residual relies on a read: holder by this name is value (see guards.Guard)."""
        if class_templates.ALL and class_templates.of(holder) is not None:
            return
        key = (kind, id(holder), name)
        self._tell(key, holder, value)
        if self.is_fixed(kind, holder, name, value):
            for part in _CALLED_BY.get(kind, ()):
                self.read_part(holder, part)
            if kind == "item" and "__builtins__" in holder:
                self.read_part(holder, name)
            if key in self.volatile:
                raise Consulted(always=True)
            if key not in self.assumed:
                self.assumed[key] = Guard(kind, holder, name, value)
            return
        if key not in self.guards:
            self.guards[key] = Guard(kind, holder, name, value)
        self._rely(key)

    def all_assumed(self) -> tuple[Guard, ...]:
        """Return what is relied on without a test."""
        return *self.assumed.values(), *(guard for guard in self.asked.values() if not self._is_thawed(guard.holder, guard.name))

    def is_fixed(self, kind: str, holder: Any, name: Any, value: Any) -> bool:
        """Is this read (see Guard) taken as unchanged without a test?"""
        return self.frozen or (self.fixed is not None and self.machine.state.world < 2 and self.fixed.cover(kind, holder, name, value))

    def item(self, held: dict[Any, Any], name: str) -> Any:
        """Return what a dictionary of the environment holds by name, and rely on it; UNBOUND if it is missing, or has to be read at run time."""
        value = held.get(name, UNBOUND)
        place = id(held), name
        thawed = id(held) in self.tables.thawed or place in self.tables.thawed_globals or ("item", *place) in self.volatile
        if value is UNBOUND or thawed or self.machine.state.world == 2 or type(value) is LAZY:
            return UNBOUND
        self.read_static |= {("global", *place), id(held)}
        self.guard("item", held, name, value)
        return value

    def relies_on(self, fn: Any, footprint: Footprint) -> bool:
        """May the result of a library function be folded as long as all that it has read stays unchanged? If it may, record that the residual
        relies on this.
        """
        key = ("library", id(fn), None)
        touched = footprint.touched
        if self.machine.state.world == 2 or key in self.volatile or not (self.frozen or footprint.places <= MOST_PLACES):
            return False
        thawed = self.tables
        if not (touched.isdisjoint(thawed.thawed) and touched.isdisjoint(thawed.stored)):
            return False
        if any(("global", *place) in touched for place in thawed.thawed_globals):
            return False
        if any(at in footprint.classes for at, _ in thawed.thawed_attributes):
            return False
        self.read_static |= touched
        known = self.guards.get(key)
        if known is not None and known.value is not footprint:
            self.guards[key] = Guard("library", fn, None, footprint)    # the footprint has grown
        self.guard("library", fn, None, footprint)
        return True

    def _tell(self, key: Any, holder: Any, value: Any) -> None:
        """Record a read on which the end of a loop may depend."""
        self.all_reads.add(key)
        if may_be_told(key[0], holder, key[2], value):
            self.told.add(key)
            self.recent.append((key, [(frame.ctx, frame.pc) for frame in self.machine.state.frames]))

    def effect_of_read(self, key: Any) -> Effect:
        """Return the effect of a read of the environment that stays in the residual."""
        return Effect.READS | Effect.RAISES | Effect.CLOCK if key in self.timely else Effect.READS | Effect.RAISES

    def doubts(self) -> bool:
        """Would relying on the environment here need a look first, which only pays if something becomes known by it?

        A residual that is not compiled for Python has no use for opaque ops.
        """
        return self.machine.state.world == 1 and not self.machine.known_sizes and self.fixed is None

    def _rely(self, key: Any) -> None:
        if self.machine.state.world or key in self.volatile:
            raise Consulted(key in self.volatile)
        self.reads.add(key)

    def _volatile(self, held: Any, item: "tuple[str, Any, Any, Any] | None") -> bool:
        """Does the item, or the object held, change too often to be folded?"""
        places = id(held), id(type_lookup.attribute_place(held))
        if item is None:
            return any(at in places for _, at, _ in self.volatile)
        if (item[0], id(item[1]), item[2]) in self.volatile:
            return True
        return any((kind, at, None) in self.volatile for kind in ("items", "dict", "cell") for at in places)

    def drop_guards(self, cls: type, name: str) -> None:
        """Drop the guards on an attribute of cls that the traced code itself writes."""
        held = inline_attributes.dictionary_of(cls)
        for key, guard in list(self.guards.items()):
            read = [at for at, _ in guard.value] if guard.kind == "class" else [guard.holder] if guard.kind == "kinds" else []
            if guard.name == name and any(at is held for at in read):
                del self.guards[key]

    def _guard_contents(self, held: Any) -> None:
        inner = None if is_a(held, list | dict | type | ModuleType) else type_lookup.own_dict(held)
        held = held if inner is None else inner
        for kind in ("items", "dict", "cell"):
            key = (kind, id(held), None)
            if key in self.guards:
                self._tell(key, held, self.guards[key].value)
                self._rely(key)
                return
        found = contents(held)
        if found is not None:
            self.guard(found[0], found[1], None, found[2])

    def looked_up(self, cls: type, name: str) -> None:
        """Record that an attribute of a class was looked up (see type_lookup)."""
        if class_templates.ALL and class_templates.of(cls) is not None:
            if name != "__del__":
                self.trust(cls)
            for base in cls.__mro__:
                if class_templates.of(base) is None:
                    self.looked_up(base, name)
            return
        if can_change(cls) and not cls.__module__.startswith("hovis."):
            key = ("class", id(cls), name)
            self._lookups[key] += 1
            if self.tables.thawed_attributes and self._is_thawed(cls, name):
                return
            if key not in self.asked:
                self.asked[key] = Guard("class", cls, name, places(cls, name))
            guard = self.asked[key]
            self._tell(key, cls, guard.value)
            if self.is_fixed(*guard):
                if key in self.volatile:
                    raise Consulted(always=True)
                return
            self.guards[key] = guard
            self._rely(key)
            self.guard("bases", cls, None, cls.__mro__)

    def looked_for_descriptor(self, cls: type, name: str) -> None:
        """Record that the latest lookup has found nothing in the class, and that only a data descriptor would have made a difference: the instance
        has the attribute, or gets it.
        """
        self._for_descriptors["class", id(cls), name] += 1

    def descriptors_only(self) -> set[Any]:
        """Return the keys in ``asked`` for which ``looked_for_descriptor`` holds in all lookups."""
        return {key for key, count in self._for_descriptors.items() if self._lookups[key] == count}

    def _is_thawed(self, cls: type, name: str) -> bool:
        """Does the traced code write the attribute in the class from which cls inherits it, or in one that precedes it in the MRO?"""
        for base in cls.__mro__:
            if (id(base), name) in self.tables.thawed_attributes:
                return True
            if name in vars(base):
                return False
        return False

    def trust(self, cls: type) -> None:
        """Record that knowledge about a class of the trace is used. If unknown code may have changed the class, it has to be a real one (a
        restart).
        """
        template = class_templates.is_written(self.machine.state.heap, cls) if class_templates.ALL else None
        if template is not None:
            self.tables.real_classes.setdefault(template.body, "it is passed to unknown code, which may change it")
            raise Restart("class")

    def is_subclass(self, cls: type, classes: Any) -> bool:
        """``issubclass``, by the MRO, or by the answers of classes that define ``__subclasscheck__`` (see type_lookup.asked)."""
        asked, derived = type_lookup.asked(classes), self.derives(cls, classes)
        if derived and not asked:
            return True
        for base in asked:
            if issubclass(cls, base):
                self._answered(cls, base, True)
                return True
            self._answered(cls, base, False)
        return derived

    def derives(self, cls: type, classes: Any) -> bool:
        """Is cls derived from one of classes? Guards its MRO, as ``__bases__`` can be assigned."""
        self.trust(cls)
        if not self.frozen and can_change(cls):
            for base in cls.__mro__ if class_templates.ALL and class_templates.of(cls) is not None else (cls,):
                self.guard("bases", base, None, base.__mro__)
        return not set(type_lookup.flat(classes)).isdisjoint(cls.__mro__)

    def _answered(self, cls: type, base: type, answer: bool) -> None:
        """Guard the answer of an abstract class, as other subclasses can be registered with it."""
        if not self.frozen and not (class_templates.ALL and class_templates.of(cls) is not None):
            self.guard("asked", base, id(cls), (cls, answer))

    def thaw(self, value: object) -> None:
        """Thaw a static object that is written: from now on its contents are read at run time."""
        if any(id(held) in self.read_static for held in self.thaw_later(value)):
            raise Restart("thaw")

    def thaw_attribute(self, holder: object, name: str) -> None:
        """Thaw one attribute of a static object that is written: from now on it is read at run time; the other attributes stay known."""
        tables = self.tables
        if id(holder) in tables.thawed:
            return
        if name in ("__class__", "__dict__") or not self._keeps_alone(holder, name):
            self.thaw(holder)
            return
        place = type_lookup.attribute_place(holder)
        if not tables.stores(holder, place, name):
            tables.stored.setdefault(id(place), (holder, place, set()))[2].add(name)
            # nothing relies on the attribute any more; without the guards nothing keeps the old value alive, whose life has to end when it is replaced
            self.guards.pop(("attribute", id(holder), name), None)
            self.guards.pop(("item", id(place), name), None)
            if id(holder) in self.read_static or id(place) in self.read_static:
                raise Restart("thaw")

    def _is_stored(self, held: object, item: "tuple[str, Any, Any, Any] | None") -> bool:
        """Does the traced code store what is to be read of a known object, or any of it if all is read? (Two objects may share one dictionary.)"""
        name = None if item is None or type(held) is dict else item[2]
        return self.tables.stores(held, type_lookup.attribute_place(held), name)

    def _keeps_alone(self, holder: object, name: str) -> bool:
        """Does a store of this attribute only change the attribute itself, and has the program not asked for the dictionary of the object?"""
        cls, place = type(holder), type_lookup.attribute_place(holder)
        if place is None or id(place) in self.tables.thawed or id(place) in self.tables.owners:
            return False
        if not type_lookup.is_python_class(cls) or any(held is holder for held in self.tables.owners.values()):
            return False
        found = inline_attributes.in_class(cls, name)
        if found is not inline_attributes.ABSENT and inline_attributes.in_class(type(found), "__set__") is not inline_attributes.ABSENT:
            return False
        return inline_attributes.in_class(cls, "__setattr__") is _SETATTR and inline_attributes.in_class(cls, "__delattr__") is _DELATTR

    def thaw_later(self, value: object) -> list[object]:
        """Thaw a static object for the next trace; return the objects that were thawed by this."""
        # the dictionary of an object may have been read on its own (that of a module: as the globals of its functions)
        places = {id(held): held for held in (value, type_lookup.attribute_place(value), self.tables.owners.get(id(value)))}
        thawed = {at: held for at, held in places.items() if at not in self.tables.thawed and not is_immutable(held)}
        self.tables.thawed.update(thawed)
        return list(thawed.values())

    def opened(self, value: object, held: dict[str, Any]) -> None:
        """Record that the program has got the dictionary of an object: known attributes may be stored through it."""
        self.tables.owners[id(held)] = value
        if id(value) in self.tables.stored or id(held) in self.tables.stored:
            self.thaw(value)
        if id(value) in self.read_static:
            self.read_static.add(id(held))

    def leave_function(self, fn: FunctionType) -> bool:
        """Record that the code or defaults of a known function change: from now on it is called, not inlined. False if it was recorded before."""
        known = fn.__code__ in self.tables.not_entered
        self.tables.not_entered.setdefault(fn.__code__, "its code or its defaults are changed by the traced code")
        return not known

    def thaw_item(self, container: object, key: object) -> None:
        """Thaw a known container that is written by key; for the globals of a module, only that name."""
        if type(container) is dict and type(key) is str and "__name__" in container and "__builtins__" in container:
            self.thaw_global(container, key)
        else:
            self.thaw(container)

    def thaw_global(self, namespace: dict[str, Any], name: str) -> None:
        """Thaw a global that is written: from now on it is read at run time."""
        place = id(namespace), name
        if place not in self.tables.thawed_globals:
            self.tables.thawed_globals.add(place)
            if ("global", *place) in self.read_static or id(namespace) in self.read_static:
                raise Restart("thaw")
