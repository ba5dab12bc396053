"""Find the known objects into which the residual may store without naming them.

The trace relies on the contents of known objects; objects that the traced code stores into by name are read at run time.
The residual may reach a known object in another way: by loading it from a list, dict or object into which it put known ones,
by an unknown index into a known table, or as the result of a call.  Where it stores into an unknown object, or passes one to an
unknown callee, all known objects that this may be are read at run time, which takes another trace.

Stores are matched with objects by class and attribute name; :mod:`points_to` finds which objects a value may be.
"""

import functools
import operator
import sys
import types
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from hovis.engine.environment.guards import Guard, can_change
from hovis.engine.environment.points_to import (
    BY_NAME,
    INTO_FIRST,
    OPERATORS,
    READERS,
    WHOLE,
    WRITES,
    Values,
    class_contents,
    is_call,
    is_proxy,
    name_in,
)
from hovis.engine.state.type_lookup import has_dict, is_python_class, lookup, slots_of
from hovis.ir.model import Effect, Function, Op, Operand, Param
from hovis.lattice import AbstractValue, Const, Partial, Type, Union
from hovis.lattice.constants import ATOMS
from hovis.lattice.inspection import is_a

#: Reads of known objects: maps the id to the object and the names of the attributes that were read (or WHOLE).
Reads = Mapping[int, tuple[object, set[object]]]
#: The special methods of their operands' classes that these functions may call; all other functions may call any special method.
_ASKING: Final[dict[int, tuple[str, ...]]] = {
    id(fn): tuple([f"__{name}__" for name in names.split()])
    for fn, names in {
        getattr: "getattribute getattr", hasattr: "getattribute getattr", setattr: "setattr", delattr: "delattr",
        object.__setattr__: "", object.__delattr__: "", next: "next", iter: "iter getitem", len: "len", repr: "repr", str: "str repr", bool: "bool len",
        hash: "hash", callable: "", id: "", type: "", operator.is_: "", operator.is_not: "", isinstance: "getattribute instancecheck class",
        operator.eq: "eq", operator.ne: "ne eq", operator.lt: "lt gt", operator.gt: "lt gt", operator.le: "le ge", operator.ge: "le ge",
        operator.getitem: "getitem", operator.truth: "bool len", operator.not_: "bool len", operator.contains: "contains iter getitem eq next",
    }.items()
}  # fmt: skip
#: Stores by a key.
_BY_KEY: Final = frozenset(map(id, (operator.setitem, operator.delitem)))
#: Special methods that run only when objects or classes are created or destroyed.
_UNASKED: Final = frozenset(("__init__", "__new__", "__init_subclass__", "__class_getitem__", "__set_name__", "__del__"))
#: Methods of builtin containers that store nothing.
_READING: Final = frozenset(
    ("copy", "count", "difference", "fromkeys", "get", "index", "intersection", "isdisjoint", "issubset", "issuperset", "items", "keys", "union", "values")
)


class Found(NamedTuple):
    """The known objects, attributes of classes, and globals of modules that have to be read at run time."""

    objects: list[object]
    attributes: list[tuple[type, str]]
    globals: list[tuple[dict[str, Any], str]]


def find(functions: Iterable[Function], reads: Reads, asked: Mapping[Any, Guard], descriptors_only: Container[Any] = ()) -> Found:
    """Find what was read and may be modified by a store into an unknown object: known objects, module globals, and attributes that known classes
    were asked for.

    descriptors_only: the keys in asked where only a data descriptor would make a difference. Unknown code is assumed not to add one.
    """
    values = Values(list(functions), list(asked.values()))
    candidates = _Candidates(reads, values, [guard for key, guard in asked.items() if key not in descriptors_only])
    objects: dict[int, object] = {}
    attributes: set[tuple[type, str]] = set()
    variables: dict[tuple[int, str], tuple[dict[str, Any], str]] = {}
    for op in values.ops:
        if op.effect._value_ & WRITES:
            for store in _stores(op):
                meant, classes = candidates.of(store)
                spaces = candidates.namespaces(store)
                if meant or classes or spaces:
                    reached = values.reached_from(store.target, store.unknown)
                    objects.update((id(held), held) for held in meant if reached is None or id(held) in reached)
                    attributes.update((cls, name) for cls, name in classes if reached is None or id(cls) in reached)
                    for at, held, name in spaces:
                        if reached is None or at in reached:
                            variables[id(held), name] = held, name
    return Found(list(objects.values()), list(attributes), list(variables.values()))


class _Candidates:
    """The known objects, class attributes and globals that were read, searched for those that a store may modify as far as class and attribute
    name tell.
    """

    def __init__(self, reads: Reads, values: Values, changeable: Iterable[Guard]) -> None:
        self.values = values
        self.reads = [(held, parts) for held, parts in reads.values() if not _is_namespace(held)]
        self.spaces: list[tuple[Any, set[Any]]] = [(held, parts) for held, parts in reads.values() if _is_namespace(held)]
        #: by the name of an attribute: the classes in which it was looked up, and those of them in which unknown code may change it
        self.names, self.changeable = _classes(values.asked), _classes(changeable)
        #: names of methods and the like, which unknown code is assumed not to change
        self.methods: set[str] = set()
        for guard in values.asked:
            if guard.name in self.names:
                if any(is_a(held, types.FunctionType | staticmethod | classmethod | property) for _, held in guard.value):
                    self.methods.add(guard.name)
        self.found: dict[object, tuple[list[object], list[tuple[type, str]]]] = {}

    def namespaces(self, store: "_Store") -> list[tuple[int, dict[str, Any], str]]:
        """Return the globals that a store by attribute name into a module, or by key into its dictionary, may modify: the id of the object
        stored into, the dictionary, and the name.
        """
        if store.unknown or not store.fits(dict):
            return []
        found = []
        for held, parts in self.spaces:
            module = sys.modules.get(held.get("__name__", ""))
            target = module if store.fits is _has_attributes else held
            if not _may_be(store.kind, target):
                continue
            at = id(target)
            told = store.key if _is_plain(store.key) else store.name
            found += [(at, held, name) for name in parts if name is not WHOLE and told in (name, WHOLE)]
        return found

    def of(self, store: "_Store") -> tuple[list[object], list[tuple[type, str]]]:
        """Return the known objects that a store may modify, and the attributes of classes."""
        owned = store.fits(dict) and self.values.is_dictionary(store.target)
        key = store.name, store.fits, store.kind, owned, store.unknown
        if key not in self.found:
            objects = [held for held, parts in self.reads if store.is_of(parts) and store.may_mean(held, owned)]
            classes = []
            if store.fits is _has_attributes or (store.unknown and store.fits is _any):
                every = {name: ones for name, ones in self.changeable.items() if name not in self.methods} if store.unknown else self.names
                named = {name: ones for name, ones in every.items() if store.name in (name, WHOLE)}
                classes = [(cls, name) for name, ones in named.items() for cls in ones if _may_be(store.kind, cls)]
            self.found[key] = objects, classes
        return self.found[key]


def _classes(asked: Iterable[Guard]) -> dict[str, set[type]]:
    """Return the classes in which each attribute was looked up, by its name."""
    found: dict[str, set[type]] = {}
    for guard in asked:
        if not (guard.name.startswith("__") and guard.name.endswith("__")):
            found.setdefault(guard.name, set()).update(base for base in guard.holder.__mro__ if can_change(base))
    return found


def _is_plain(key: object) -> bool:
    """Does comparing a key with a text run no code of the user? False for WHOLE, which stands for any key."""
    return key is not WHOLE and (type(key) in ATOMS or (is_python_class(type(key)) and lookup(type(key), "__eq__") is object.__eq__))


def _is_namespace(held: object) -> bool:
    """Is held the dictionary of a module?"""
    return type(held) is dict and "__builtins__" in held


@functools.lru_cache(maxsize=256)
def _having(special: str) -> Callable[[type], bool]:
    return lambda cls: lookup(cls, special) is not None


@functools.lru_cache(maxsize=256)
def _running(specials: tuple[str, ...] | None, attribute: object) -> Callable[[type], bool]:
    """Return a predicate: whether a class runs Python code when an instance is asked for one of the special methods (None: for any), or for an
    attribute (None: for none; WHOLE: for any).
    """

    def runs(cls: type) -> bool:
        if not is_python_class(cls):
            return False
        if attribute is not None and any(map(_runs_code, [lookup(cls, attribute)] if type(attribute) is str else class_contents(cls))):
            return True
        if specials is not None:
            return any(type(lookup(cls, name)) is types.FunctionType for name in specials)
        held = (one for base in cls.__mro__ if is_python_class(base) for one in vars(base).items())
        return any(type(one) is types.FunctionType and name.startswith("__") and name not in _UNASKED for name, one in held)

    return runs


def _runs_code(found: object) -> bool:
    """Whether a class attribute with the value found runs code when it is read or stored through an instance."""
    return is_a(found, property) or any(type(lookup(type(found), name)) is types.FunctionType for name in ("__get__", "__set__", "__delete__"))


@functools.lru_cache(maxsize=256)
def _derived_from(owner: type) -> Callable[[type], bool]:
    return lambda cls: issubclass(cls, owner)


@functools.lru_cache(maxsize=256)
def _with_builtin(method: str) -> Callable[[type], bool]:
    return lambda cls: isinstance(lookup(cls, method), types.MethodDescriptorType | types.WrapperDescriptorType)


def _any(cls: type) -> bool:
    return True


class _Store:
    """A store into an object that target may be: of the attribute ``name``, or WHOLE, if the class of the object satisfies ``fits``; ``unknown``
    if unknown code does it.
    """

    __slots__ = ("fits", "key", "kind", "name", "target", "unknown")

    def __init__(
        self, target: Operand, name: object = WHOLE, fits: Callable[[type], bool] = _any, unknown: bool = False, kind: Any = WHOLE, key: Any = WHOLE
    ) -> None:
        self.target = target
        #: the key of the item that is stored, if it is known
        self.key = key
        #: the type of the object that is stored into; None: it may be any object that can be reached from target
        self.kind = getattr(target, "type", None) if kind is WHOLE else kind
        self.name = name
        self.fits = fits
        self.unknown = unknown

    def is_of(self, parts: set[object]) -> bool:
        """Does the store modify one of these parts of an object?"""
        return self.name is WHOLE or self.name in parts or WHOLE in parts

    def may_mean(self, held: object, owned: bool) -> bool:
        """May the store modify held? owned: also if held is an object that has a ``__dict__``, as the store may be into that."""
        cls = type(held)
        if self.unknown and cls is types.FunctionType:
            return False  # unknown code is assumed not to change functions
        return (self.fits(cls) and _may_be(self.kind, held)) or (owned and has_dict(cls))


def _has_attributes(cls: type) -> bool:
    """Can attributes of instances of cls be stored? (True for dict: the dictionary of an object may have been read on its own.)"""
    return cls is dict or cls is types.CellType or has_dict(cls) or slots_of(cls) != {}


def _stores(op: Op) -> Iterator[_Store]:
    """Yield the stores that op may do; stores into objects known by name are handled while tracing."""
    callee = id(op.callee)
    into = op.args[0] if op.args and _is_unknown(op.args[0]) else None
    if op.effect._value_ & Effect.OPAQUE._value_ and (callee in READERS or callee in BY_NAME or callee in OPERATORS):
        fits = _running(_ASKING.get(callee), _asked_for(op))
        for target in filter(_is_unknown, op.operands()):
            yield _Store(target, fits=fits, unknown=True)
    if callee in BY_NAME:
        if into is not None:
            yield _Store(into, name_in(op), _has_attributes)
    elif callee in INTO_FIRST:
        if into is not None:
            key = op.args[1].value if callee in _BY_KEY and isinstance(op.args[1], Const) else WHOLE
            yield _Store(into, fits=_having(f"__{_name(op)}__") if callee in OPERATORS else _any, key=key)
    elif isinstance(op.callee, types.MethodDescriptorType | types.WrapperDescriptorType):
        if into is not None:
            yield _Store(into, fits=_derived_from(op.callee.__objclass__))
    elif is_call(op):
        if isinstance(op.callee, Op) and (method := _method(op.callee)) is not None:
            yield _Store(*method)
        for target in (*op.operands(), *([op.callee] if isinstance(op.callee, (Op, Param)) else [])):
            if _is_unknown(target) and not _holds_nothing(target):
                yield _Store(target, unknown=True, kind=None)


def _asked_for(op: Op) -> object:
    """Return the name of the attribute that an op reads or stores; WHOLE: any, None: none."""
    if id(op.callee) not in BY_NAME and op.callee is not getattr and op.callee is not hasattr:
        return None
    return name_in(op)


def _is_unknown(value: Operand) -> bool:
    return isinstance(value, (Op, Param)) or is_proxy(value)


def _holds_nothing(value: Operand) -> bool:
    """Whether the type of a value shows that no other objects can be reached through it."""
    kind = getattr(value, "type", None)
    return isinstance(kind, Type) and kind.cls in ATOMS


def _name(op: Op) -> str:
    return str(getattr(op.callee, "__name__", ""))


def _method(called: Op) -> tuple[Operand, object, Callable[[type], bool]] | None:
    """Return the store (target, name, ``fits``) that calling a method of an unknown object does if it is the method of a builtin container; None
    if called is no such method, or one that stores nothing.
    """
    if called.callee is getattr and len(called.args) == 2 and _is_unknown(called.args[0]) and isinstance(called.args[1], Const):
        name = str(called.args[1].value)
        return (called.args[0], WHOLE, _with_builtin(name)) if name not in _READING else None
    return None


def _may_be(kind: AbstractValue | None, held: object) -> bool:
    """May a value of this kind be the object held?"""
    if isinstance(kind, Const):
        return kind.value is held
    if isinstance(kind, Union):
        return any(_may_be(one, held) for one in kind.members)
    if isinstance(kind, Type | Partial):
        return kind.cls is type(held)
    return True
