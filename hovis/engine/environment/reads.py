"""What the traced code reads of its environment, and writes to it: guards, and what is thawed (see guards)."""

from collections import deque
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from hovis.engine.environment.folded_branches import RECENT, may_be_told
from hovis.engine.environment.footprints import MOST_PLACES, Footprint
from hovis.engine.environment.guards import Consulted, Guard, can_change, contents, dictionary_of, places
from hovis.engine.environment.points_to import WHOLE
from hovis.engine.state import class_templates, type_lookup
from hovis.engine.state.specialization_tables import Restart, Tables
from hovis.engine.state.values import Known, V
from hovis.ir.model import Effect
from hovis.ir.operations import UNBOUND
from hovis.lattice import inline_attributes
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine

#: What calls of a known function rely on, by kinds of guards.
_CALLED_BY: Final = {"function": ("__code__",), "defaults": ("__defaults__", "__kwdefaults__")}


_SETATTR: Final = object.__dict__["__setattr__"]
_DELATTR: Final = object.__dict__["__delattr__"]


class Environment:
    """What a machine has read of the environment, and what of that the residual relies on.

    frozen          as it is now it will stay: nothing is tested
    guards, reads   what is relied upon; of these, what since the residual last looked
    volatile        what changed too often to be relied upon once more
    """

    def __init__(self, machine: "Machine", tables: Tables, frozen: bool) -> None:
        self.machine = machine
        self.tables = tables
        self.frozen = frozen
        self.read_static: set[Any] = set()
        self.static_objects: dict[int, Any] = {}
        #: what of each: the names of attributes, or WHOLE (see aliased_stores)
        self.static_parts: dict[int, tuple[object, set[object]]] = {}
        self.guards: dict[Any, Guard] = {}
        #: what classes were asked for, whether or not it is relied upon
        self.asked: dict[Any, Guard] = {}
        self.volatile: frozenset[Any] = frozenset()
        self.reads: set[Any] = set()
        #: the same that might tell a loop to end; and what of it the chain has read last, with where its frames stood (see environment_loops)
        self.told: set[Any] = set()
        #: all that the chain has read
        self.all_reads: set[Any] = set()
        self.recent: deque[tuple[Any, list[tuple[int, int]]]] = deque(maxlen=RECENT)
        #: what of it somebody else is to change while a loop runs (see environment_loops)
        self.timely: set[Any] = set()
        #: what is relied upon before anything is traced: the function is what it was
        self.granted: set[Any] = set()

    def static(self, value: V, item: "tuple[str, Any, Any, Any] | None" = None) -> bool:
        """Is value a known object whose contents may be read now?  Says that they have been: all, or one item (a guard)."""
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
        """An attribute of a known object was read (or is not there), an item of a container, or all of it."""
        if not self.frozen:
            return  # guards see to what else is stored
        if type(held) is CellType:
            name = "cell_contents"
        found = self.static_parts.get(id(held))
        if found is None:
            self.static_parts[id(held)] = held, {name}
        else:
            found[1].add(name)

    def guard(self, kind: str, holder: Any, name: Any, value: Any) -> None:
        """The residual relies on this: holder by this name is value (see guards.Guard)."""
        if class_templates.ALL and class_templates.of(holder) is not None:
            return
        key = (kind, id(holder), name)
        self._tell(key, holder, value)
        if self.frozen:
            for part in _CALLED_BY.get(kind, ()):
                self.read_part(holder, part)
            if kind == "item" and "__builtins__" in holder:
                self.read_part(holder, name)
            if key in self.volatile:
                raise Consulted(always=True)
            return
        if key not in self.guards:
            self.guards[key] = Guard(kind, holder, name, value)
        self._rely(key)

    def item(self, held: dict[Any, Any], name: str) -> Any:
        """What a dictionary of the environment holds by name, which is relied upon; UNBOUND if it is not there, or is to be read at run time."""
        value = held.get(name, UNBOUND)
        place = id(held), name
        thawed = id(held) in self.tables.thawed or place in self.tables.thawed_globals or ("item", *place) in self.volatile
        if value is UNBOUND or thawed or self.machine.state.world == 2:
            return UNBOUND
        self.read_static |= {("global", *place), id(held)}
        self.guard("item", held, name, value)
        return value

    def relies_on(self, fn: Any, footprint: Footprint) -> bool:
        """May what a library function gave be taken for what it gives, if all that it reads stays as it is?  Says that it is."""
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
            self.guards[key] = Guard("library", fn, None, footprint)    # it has grown
        self.guard("library", fn, None, footprint)
        return True

    def _tell(self, key: Any, holder: Any, value: Any) -> None:
        """This was read; a loop may depend on it."""
        self.all_reads.add(key)
        if may_be_told(key[0], holder, key[2], value):
            self.told.add(key)
            self.recent.append((key, [(frame.ctx, frame.pc) for frame in self.machine.state.frames]))

    def effect_of_read(self, key: Any) -> Effect:
        """What a read of the environment is that is left to the residual."""
        return Effect.READS | Effect.RAISES | Effect.CLOCK if key in self.timely else Effect.READS | Effect.RAISES

    def doubts(self) -> bool:
        """Does it take a look to rely on the environment, which only pays for what becomes known by it?

        What is compiled for something else than Python has no use for ops that are opaque.
        """
        return self.machine.state.world == 1 and not self.machine.known_sizes

    def _rely(self, key: Any) -> None:
        if self.machine.state.world or key in self.volatile:
            raise Consulted(key in self.volatile)
        self.reads.add(key)

    def _volatile(self, held: Any, item: "tuple[str, Any, Any, Any] | None") -> bool:
        """Does what is to be read change too often to be folded?"""
        places = id(held), id(type_lookup.attribute_place(held))
        if item is None:
            return any(at in places for _, at, _ in self.volatile)
        if (item[0], id(item[1]), item[2]) in self.volatile:
            return True
        return any((kind, at, None) in self.volatile for kind in ("items", "dict", "cell") for at in places)

    def drop_guards(self, cls: type, name: str) -> None:
        """The traced code itself writes to an attribute of cls: nobody relies on it any more."""
        held = dictionary_of(cls)
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
        """A class was asked for an attribute (see type_lookup)."""
        if class_templates.ALL and class_templates.of(cls) is not None:
            if name != "__del__":
                self.trust(cls)
            for base in cls.__mro__:
                if class_templates.of(base) is None:
                    self.looked_up(base, name)
            return
        if can_change(cls) and not cls.__module__.startswith("hovis."):
            key = ("class", id(cls), name)
            if self.tables.thawed_attributes and self._is_thawed(cls, name):
                return
            if key not in self.asked:
                self.asked[key] = Guard("class", cls, name, places(cls, name))
            guard = self.asked[key]
            self._tell(key, cls, guard.value)
            if self.frozen:
                if key in self.volatile:
                    raise Consulted(always=True)
                return
            self.guards[key] = guard
            self._rely(key)
            self.guard("bases", cls, None, cls.__mro__)

    def _is_thawed(self, cls: type, name: str) -> bool:
        """Does the traced code write where cls has an attribute from, or where it would hide it?"""
        for base in cls.__mro__:
            if (id(base), name) in self.tables.thawed_attributes:
                return True
            if name in vars(base):
                return False
        return False

    def trust(self, cls: type) -> None:
        """What is known of a class of the trace is used: where unknown code may have changed it, the class has to be a real one (a restart)."""
        template = class_templates.is_written(self.machine.state.heap, cls) if class_templates.ALL else None
        if template is not None:
            self.tables.real_classes.setdefault(template.body, "it gets to code that is not known, which may change it")
            raise Restart("class")

    def is_subclass(self, cls: type, classes: Any) -> bool:
        """issubclass: what the classes are derived from, or what a class that can be asked has to say (see type_lookup.asked)."""
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
        """Is cls derived from one of classes?  Somebody may change that by assigning to ``__bases__``."""
        self.trust(cls)
        if not self.frozen and can_change(cls):
            for base in cls.__mro__ if class_templates.ALL and class_templates.of(cls) is not None else (cls,):
                self.guard("bases", base, None, base.__mro__)
        return not set(type_lookup.flat(classes)).isdisjoint(cls.__mro__)

    def _answered(self, cls: type, base: type, answer: bool) -> None:
        """An abstract class may be told of others that are its subclasses."""
        if not self.frozen and not (class_templates.ALL and class_templates.of(cls) is not None):
            self.guard("asked", base, id(cls), (cls, answer))

    def thaw(self, value: object) -> None:
        """A static object is written to: from now on its contents are read at run time."""
        if any(id(held) in self.read_static for held in self.thaw_later(value)):
            raise Restart("thaw")

    def thaw_attribute(self, holder: object, name: str) -> None:
        """An attribute of a static object is written to: from now on it is read at run time, and the others of the object are not."""
        tables = self.tables
        if id(holder) in tables.thawed:
            return
        if name in ("__class__", "__dict__") or not self._keeps_alone(holder, name):
            self.thaw(holder)
            return
        place = type_lookup.attribute_place(holder)
        if not tables.stores(holder, place, name):
            tables.stored.setdefault(id(place), (holder, place, set()))[2].add(name)
            # nobody relies on it any more, and nobody keeps what it was: that is to end where it is replaced
            self.guards.pop(("attribute", id(holder), name), None)
            self.guards.pop(("item", id(place), name), None)
            if id(holder) in self.read_static or id(place) in self.read_static:
                raise Restart("thaw")

    def _is_stored(self, held: object, item: "tuple[str, Any, Any, Any] | None") -> bool:
        """Does the traced code store what is to be read of a known object, or something of it where all is?  (Two objects may have one dictionary.)"""
        name = None if item is None or type(held) is dict else item[2]
        return self.tables.stores(held, type_lookup.attribute_place(held), name)

    def _keeps_alone(self, holder: object, name: str) -> bool:
        """Is a store of an attribute into an object no more than that, and has nobody asked for all of its attributes?"""
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
        """The same, for the next trace; what is thawed by that."""
        # the dictionary of an object may have been read by itself (that of a module: as the globals of its functions)
        places = {id(held): held for held in (value, type_lookup.attribute_place(value), self.tables.owners.get(id(value)))}
        thawed = {at: held for at, held in places.items() if at not in self.tables.thawed and not is_immutable(held)}
        self.tables.thawed.update(thawed)
        return list(thawed.values())

    def opened(self, value: object, held: dict[str, Any]) -> None:
        """The program has an object's dictionary now: what was read of the object may be stored into there."""
        self.tables.owners[id(held)] = value
        if id(value) in self.tables.stored or id(held) in self.tables.stored:
            self.thaw(value)
        if id(value) in self.read_static:
            self.read_static.add(id(held))

    def leave_function(self, fn: FunctionType) -> bool:
        """What a known function does when it is called is changed: from now on it is called as it is; False: it is so already."""
        known = fn.__code__ in self.tables.not_entered
        self.tables.not_entered.setdefault(fn.__code__, "its code or its defaults are changed by the traced code")
        return not known

    def thaw_item(self, container: object, key: object) -> None:
        """A known container is written to by key: of the globals of a module only that name is thawed."""
        if type(container) is dict and type(key) is str and "__name__" in container and "__builtins__" in container:
            self.thaw_global(container, key)
        else:
            self.thaw(container)

    def thaw_global(self, namespace: dict[str, Any], name: str) -> None:
        """A global is written to: from now on it is read at run time."""
        place = id(namespace), name
        if place not in self.tables.thawed_globals:
            self.tables.thawed_globals.add(place)
            if ("global", *place) in self.read_static or id(namespace) in self.read_static:
                raise Restart("thaw")
