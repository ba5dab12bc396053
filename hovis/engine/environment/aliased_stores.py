"""Find the known objects into which the residual may store without naming them.

The trace takes for granted what known objects hold, and reads at run time those that the traced code stores into by name.  The
residual may come to a known object by another way: out of a list, dict or object that it puts known ones into, out of a
known table at an unknown place, as the result of a call.  Where it stores into something that is not known, or calls what
is not known with it, all known objects that it may be are read at run time, which takes another trace.

This is a points-to analysis without flow and context.  A value that was loaded may be whatever the constants lead to from which
it is computed, or whatever was stored anywhere; stores distinguish objects by class and by the name of the attribute.
"""

import functools
import gc
import operator
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from hovis.engine.environment.guards import Guard, can_change
from hovis.engine.state.type_lookup import has_dict, is_python_class, lookup, own_dict, slots_of
from hovis.ir import operations as ops
from hovis.ir.analysis.strongly_connected import components
from hovis.ir.model import Effect, Function, Op, Operand, Param, Raise, Return, edges
from hovis.ir.operations import UNBOUND
from hovis.lattice import AbstractValue, Const, Partial, Type, Union
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a

#: Stands for all of an object, where not one attribute of it was read or is stored.
WHOLE: Final = object()
#: So many objects are looked at; where there are more, all that was read may be meant.
MOST: Final = 50_000

#: What was read of known objects: by id, the object, and the names of attributes (or WHOLE).
Reads = Mapping[int, tuple[object, set[object]]]

_WRITES: Final = (Effect.WRITES | Effect.OPAQUE).value
_BY_NAME: Final = frozenset(map(id, (setattr, delattr, object.__setattr__, object.__delattr__)))
_IN_PLACE: Final = ("iadd", "iand", "iconcat", "ifloordiv", "ilshift", "imod", "imul", "imatmul", "ior", "ipow", "irshift", "isub", "itruediv", "ixor")
_OPERATORS: Final = frozenset(id(getattr(operator, name)) for name in (*_IN_PLACE, "setitem", "delitem"))
_INTO_FIRST: Final = _OPERATORS | frozenset(map(id, (ops.list_extend, ops.dict_update, ops.dict_merge, ops.cell_set)))
_CALLS: Final = frozenset({"apply", "apply_positional", "apply_all", "begun", "yield_", "yield_from"})
#: They store nothing themselves; what they run is what the classes of their operands have for them.
_READERS: Final = frozenset(
    id(fn)
    for fn in (
        *(fn for fn in vars(operator).values() if callable(fn) and fn is not operator.call),
        *(getattr(ops, name) for name in ops.__all__ if name not in _CALLS),
        *(getattr, hasattr, iter, next, len, repr, str, bool, hash, isinstance, issubclass, callable, format, type, id, print),
    )
    if id(fn) not in _INTO_FIRST
)
#: What they ask the classes of their operands for; the others, for any special method.
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
#: By code that they run, objects are made and unmade.
_UNASKED: Final = frozenset(("__init__", "__new__", "__init_subclass__", "__class_getitem__", "__set_name__", "__del__"))
#: What they give is new.
_NEW: Final = frozenset(
    map(id, (ops.make_tuple, ops.make_list, ops.make_set, ops.make_dict, ops.make_object, ops.make_stored, ops.make_cell, ops.make_function))
) | frozenset(map(id, (ops.make_exception, sorted, list.copy, dict.copy, set.copy)))
#: They keep what they are given for others to load.
_KEEPERS: Final = _BY_NAME | _INTO_FIRST | _NEW
#: Methods of builtin containers that store nothing.
_READING: Final = frozenset(
    ("copy", "count", "difference", "fromkeys", "get", "index", "intersection", "isdisjoint", "issubset", "issuperset", "items", "keys", "union", "values")
)


class Found(NamedTuple):
    """What is to be read at run time: known objects, attributes of classes, and globals of modules."""

    objects: list[object]
    attributes: list[tuple[type, str]]
    globals: list[tuple[dict[str, Any], str]]


def find(functions: Iterable[Function], reads: Reads, asked: Iterable[Guard]) -> Found:
    """Find what was read and may be meant by a store into something unknown: known objects, and attributes that known classes were asked for."""
    values = _Values(list(functions), [guard for guard in asked if guard.kind == "class"])
    candidates = _Candidates(reads, values)
    objects: dict[int, object] = {}
    attributes: set[tuple[type, str]] = set()
    variables: dict[tuple[int, str], tuple[dict[str, Any], str]] = {}
    for op in values.ops:
        if op.effect._value_ & _WRITES:
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
    """What was read, by what stores may mean it as far as class and name tell."""

    def __init__(self, reads: Reads, values: "_Values") -> None:
        self.values = values
        self.reads = [(held, parts) for held, parts in reads.values() if not _is_namespace(held)]
        self.spaces: list[tuple[Any, set[Any]]] = [(held, parts) for held, parts in reads.values() if _is_namespace(held)]
        self.names: dict[str, set[type]] = {}
        #: unknown code is not taken to change methods
        self.methods: set[str] = set()
        for guard in values.asked:
            if not (guard.name.startswith("__") and guard.name.endswith("__")):
                self.names.setdefault(guard.name, set()).update(base for base in guard.holder.__mro__ if can_change(base))
                if any(is_a(held, types.FunctionType | staticmethod | classmethod | property) for _, held in guard.value):
                    self.methods.add(guard.name)
        self.found: dict[object, tuple[list[object], list[tuple[type, str]]]] = {}

    def namespaces(self, store: "_Store") -> list[tuple[int, dict[str, Any], str]]:
        """The globals that a store by name into a module, or by key into its dictionary, may mean, each with the id of that."""
        if store.unknown or not store.fits(dict):
            return []
        found = []
        for held, parts in self.spaces if _may_be(store.kind, {}) or _may_be(store.kind, sys) else ():
            module = sys.modules.get(held.get("__name__", ""))
            at = id(module) if store.fits is _has_attributes else id(held)
            found += [(at, held, name) for name in parts if name is not WHOLE and store.name in (name, WHOLE)]
        return found

    def of(self, store: "_Store") -> tuple[list[object], list[tuple[type, str]]]:
        """The objects that a store may mean, and the attributes of classes."""
        owned = store.fits(dict) and self.values.is_dictionary(store.target)
        key = store.name, store.fits, store.kind, owned, store.unknown
        if key not in self.found:
            objects = [held for held, parts in self.reads if store.is_of(parts) and store.may_mean(held, owned)]
            classes = []
            if store.fits is _has_attributes or (store.unknown and store.fits is _any):
                named = {name: ones for name, ones in self.names.items() if store.name in (name, WHOLE) and not (store.unknown and name in self.methods)}
                classes = [(cls, name) for name, ones in named.items() for cls in ones if _may_be(store.kind, cls)]
            self.found[key] = objects, classes
        return self.found[key]


def _is_namespace(held: object) -> bool:
    """Is it the dictionary of a module?"""
    return type(held) is dict and "__builtins__" in held


@functools.lru_cache(maxsize=256)
def _having(special: str) -> Callable[[type], bool]:
    return lambda cls: lookup(cls, special) is not None


@functools.lru_cache(maxsize=256)
def _running(specials: tuple[str, ...] | None, attribute: object) -> Callable[[type], bool]:
    """Classes that run code where they are asked for special methods (None: for any), or for an attribute (None: for none; WHOLE: for any)."""

    def runs(cls: type) -> bool:
        if not is_python_class(cls):
            return False
        if attribute is not None and any(map(_runs_code, [lookup(cls, attribute)] if type(attribute) is str else _class_contents(cls))):
            return True
        if specials is not None:
            return any(type(lookup(cls, name)) is types.FunctionType for name in specials)
        held = (one for base in cls.__mro__ if is_python_class(base) for one in vars(base).items())
        return any(type(one) is types.FunctionType and name.startswith("__") and name not in _UNASKED for name, one in held)

    return runs


def _runs_code(found: object) -> bool:
    """Does what stands in a class run code where the attribute is read or stored?"""
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
    """Something is stored into what target is: the attribute ``name``, or WHOLE, into an object of a class that ``fits``; by unknown code or not."""

    __slots__ = ("fits", "kind", "name", "target", "unknown")

    def __init__(self, target: Operand, name: object = WHOLE, fits: Callable[[type], bool] = _any, unknown: bool = False) -> None:
        self.target = target
        self.kind = getattr(target, "type", None)
        self.name = name
        self.fits = fits
        self.unknown = unknown

    def is_of(self, parts: set[object]) -> bool:
        """Is one of these parts of an object stored?"""
        return self.name is WHOLE or self.name in parts or WHOLE in parts

    def may_mean(self, held: object, owned: bool) -> bool:
        """May an object be meant?  owned: or by its dictionary."""
        cls = type(held)
        return (self.fits(cls) and _may_be(self.kind, held)) or (owned and has_dict(cls))


def _has_attributes(cls: type) -> bool:
    """May instances be given attributes?  (The dictionary of an object may have been read by itself.)"""
    return cls is dict or cls is types.CellType or has_dict(cls) or slots_of(cls) != {}


def _stores(op: Op) -> Iterator[_Store]:
    """What op may store into; what is known by name is seen to while tracing."""
    callee = id(op.callee)
    into = op.args[0] if op.args and _is_unknown(op.args[0]) else None
    if op.effect._value_ & Effect.OPAQUE._value_ and (callee in _READERS or callee in _BY_NAME or callee in _OPERATORS):
        fits = _running(_ASKING.get(callee), _asked_for(op))
        for target in filter(_is_unknown, op.operands()):
            yield _Store(target, fits=fits, unknown=True)
    if callee in _BY_NAME:
        if into is not None:
            name = op.args[1]
            yield _Store(into, name.value if type(name) is Const else WHOLE, _has_attributes)
    elif callee in _INTO_FIRST:
        if into is not None:
            yield _Store(into, fits=_having(f"__{_name(op)}__") if callee in _OPERATORS else _any)
    elif isinstance(op.callee, types.MethodDescriptorType | types.WrapperDescriptorType):
        if into is not None:
            yield _Store(into, fits=_derived_from(op.callee.__objclass__))
    elif _is_call(op):
        if isinstance(op.callee, Op) and (method := _method(op.callee)) is not None:
            yield _Store(*method)
        for target in (*op.operands(), *([op.callee] if isinstance(op.callee, (Op, Param)) else [])):
            if _is_unknown(target):
                yield _Store(target, unknown=True)


def _asked_for(op: Op) -> object:
    """The attribute that an op reads or stores; WHOLE: any, None: none."""
    if id(op.callee) not in _BY_NAME and op.callee is not getattr and op.callee is not hasattr:
        return None
    name = op.args[1] if len(op.args) > 1 else None
    return name.value if isinstance(name, Const) and type(name.value) is str else WHOLE


def _is_proxy(value: object) -> bool:
    """Is it a known weak proxy, which stands for nobody knows what?"""
    return isinstance(value, Const) and type(value.value) in weakref.ProxyTypes


def _is_unknown(value: Operand) -> bool:
    return isinstance(value, (Op, Param)) or _is_proxy(value)


def _name(op: Op) -> str:
    return str(getattr(op.callee, "__name__", ""))


def _method(called: Op) -> tuple[Operand, object, Callable[[type], bool]] | None:
    """What a method of something unknown stores into if it is that of a builtin container."""
    if called.callee is getattr and len(called.args) == 2 and _is_unknown(called.args[0]) and isinstance(called.args[1], Const):
        name = str(called.args[1].value)
        return (called.args[0], WHOLE, _with_builtin(name)) if name not in _READING else None
    return None


def _may_be(kind: AbstractValue | None, held: object) -> bool:
    """May something of this kind be this object?"""
    if isinstance(kind, Const):
        return kind.value is held
    if isinstance(kind, Union):
        return any(_may_be(one, held) for one in kind.members)
    if isinstance(kind, Type | Partial):
        return kind.cls is type(held)
    return True


class _Values:
    """The values of a residual: where each comes from, and what constants lead to."""

    def __init__(self, functions: list[Function], asked: list[Guard]) -> None:
        self.asked = asked
        self.ops = [op for function in functions for op in function.ops()]
        self.given = frozenset(functions[0].params)
        self.sources: dict[Param, list[Operand]] = {}
        for function in functions:
            for block in function.blocks:
                for edge in edges(block.terminator):
                    self._pass(edge.block.params, edge.args)
        for op in self.ops:
            if isinstance(op.callee, Function):
                self._pass(op.callee.params, op.args)
        #: by the names of attributes and globals, what is stored there (WHOLE: by names that are not known)
        self.stored: dict[object, list[Operand]] = {}
        for op in self.ops:
            if id(op.callee) in _BY_NAME or op.callee is ops.store_global:
                self.stored.setdefault(op.args[1].value if isinstance(op.args[1], Const) else WHOLE, []).extend(op.args[2:])
        ends = [(function, block.terminator) for function in functions for block in function.blocks]
        self.returned: dict[Function, list[Operand]] = {function: [] for function in functions}
        for function, end in ends:
            if isinstance(end, Return):
                self.returned[function].append(end.value)
        self._given_away = [one for op in self.ops for one in _keeps(op)] + [end.value for _, end in ends if isinstance(end, Raise)]
        self._asked: dict[Op, list[Operand] | None] = {}
        #: constants, and values of which cannot be told what they are, by their places in masks
        self._numbered: list[Operand] = []
        self._places: dict[int, int] = {}
        self._reached: dict[tuple[int, bool], set[int] | None] = {}
        self._leads: dict[int, set[int] | None] = {}

    def _pass(self, params: Iterable[Param], args: Iterable[Operand]) -> None:
        for param, arg in zip(params, args, strict=False):
            self.sources.setdefault(param, []).append(arg)

    def reached_from(self, target: Operand, handed: bool) -> set[int] | None:
        """The ids of the known objects that a value may be; None: it may be any.  handed: only those that the residual itself has given away."""
        key = self._mask(target, self._identities), handed
        if key not in self._reached:
            self._reached[key] = self._reached_by(*key)
        return self._reached[key]

    def _reached_by(self, mask: int, handed: bool) -> set[int] | None:
        known, loaded = self._told(mask)
        if any(map(_is_proxy, self._in(mask))):
            return None
        if not loaded:
            return known
        if handed:
            return known | self._handed
        # what is given to the residual is looked at on entry: it leads to none of the objects that were read
        reached = self._led_to(self._union(loaded, self._origins) | self._kept)
        return None if reached is None else known | reached

    def _led_to(self, mask: int) -> set[int] | None:
        if mask not in self._leads:
            self._leads[mask] = _reached(self._in(mask))
        return self._leads[mask]

    @functools.cached_property
    def _handed(self) -> set[int]:
        """The ids of the known objects that are put somewhere."""
        return self._told(self._union(self._given_away, self._identities))[0]

    @functools.cached_property
    def _kept(self) -> int:
        """The constants from which that is computed which is put somewhere."""
        return self._union(self._given_away, self._origins)

    def _told(self, mask: int) -> tuple[set[int], list[Operand]]:
        """The ids of the known objects in a mask, and the values of which cannot be told what they are."""
        ones = list(self._in(mask))
        return {id(one.value) for one in ones if isinstance(one, Const)}, [one for one in ones if not isinstance(one, Const)]

    def _in(self, mask: int) -> Iterator[Operand]:
        while mask:
            lowest = mask & -mask
            yield self._numbered[lowest.bit_length() - 1]
            mask ^= lowest

    def _place(self, value: Operand) -> int:
        """The bit of a constant, or of a value, in masks."""
        key = id(value.value if isinstance(value, Const) else value)
        if key not in self._places:
            self._places[key] = len(self._numbered)
            self._numbered.append(value)
        return 1 << self._places[key]

    def _mask(self, value: Operand, masks: dict[Op | Param, int]) -> int:
        return masks[value] if isinstance(value, (Op, Param)) and value in masks else self._place(value)

    def _union(self, values: Iterable[Operand], masks: dict[Op | Param, int]) -> int:
        return functools.reduce(operator.or_, (self._mask(value, masks) for value in values), 0)

    @functools.cached_property
    def _identities(self) -> dict[Op | Param, int]:
        """By value, which constants it may be, and which loaded values."""

        def itself(value: Op | Param) -> bool:
            if isinstance(value, Op):
                return not _is_new(value) and self._named(value) is None
            return value not in self.sources and value not in self.given

        return self._solve(lambda value: self.sources.get(value, ()) if isinstance(value, Param) else self._held_by_name(value), itself)

    @functools.cached_property
    def _origins(self) -> dict[Op | Param, int]:
        """By value, the constants from which it is computed, calls of unknown code, and questions for classes."""
        return self._solve(
            lambda value: self.sources.get(value, ()) if isinstance(value, Param) else self._loaded_from(value),
            lambda value: _runs(value) or _is_class_of(value),
        )

    def _solve(self, following: Callable[[Op | Param], Iterable[Operand]], itself: Callable[[Op | Param], bool]) -> dict[Op | Param, int]:
        """By value, the constants that it leads to, and the values that stand for themselves."""
        masks: dict[Op | Param, int] = {}
        values: dict[Op | Param, list[Op | Param]]
        every: list[Op | Param] = [*self.ops, *self.sources, *self.given]
        leads = {value: list(following(value)) for value in every}
        values = {value: [one for one in ones if isinstance(one, (Op, Param)) and one in leads] for value, ones in leads.items()}
        for group in components(values, values.__getitem__):
            mask = 0
            for value in group:
                if itself(value):
                    mask |= self._place(value)
                for one in leads[value]:
                    if not isinstance(one, (Op, Param)) or one in masks or one not in leads:
                        mask |= self._mask(one, masks)
            masks.update(dict.fromkeys(group, mask))
        return masks

    def is_dictionary(self, target: Operand) -> bool:
        """May a value be the dictionary of an object?"""
        return any(op.callee is vars or (op.callee is getattr and not (isinstance(op.args[1], Const) and op.args[1].value != "__dict__"))
                   for op in self._in(self._mask(target, self._identities)) if isinstance(op, Op))  # fmt: skip

    def _behind(self, values: Iterable[Operand]) -> Iterator[Operand]:
        """What values may be: constants, and what is not told by a name."""
        todo = list(values)
        seen: dict[int, Operand] = {}
        while todo:
            value = todo.pop()
            if id(value) not in seen:
                seen[id(value)] = value
                yield value
                todo += self.sources.get(value, ()) if isinstance(value, Param) else self._held_by_name(value) if isinstance(value, Op) else ()

    def _loaded_from(self, op: Op) -> Iterable[Operand]:
        """What the result of op may be a part of."""
        named = self._named(op)
        if named is not None:
            return named
        found = [*_parts(op), op.callee if isinstance(op.callee, (Op, Param)) else Const(op.callee)]
        if op.callee is getattr:
            found += self._held_by_classes(op.args[0], op.args[1])
        elif (op.callee is ops.make_object or op.callee is ops.make_stored) and isinstance(op.args[0], Const):
            found += map(Const, _class_contents(op.args[0].value))  # type: ignore[arg-type]
        return found

    def _held_by_classes(self, of: Operand, name: Operand) -> Iterator[Const]:
        """What classes hold by the name that something is asked for whose class may be one of them."""
        for guard in self.asked:
            if not isinstance(name, Const) or guard.name == name.value:
                yield from (Const(held) for _, held in guard.value if held is not UNBOUND)
        if isinstance(name, Const) and isinstance(of, (Op, Param)) and isinstance(of.type, Type) and (held := lookup(of.type.cls, str(name.value))) is not None:
            yield Const(held)

    def _held_by_name(self, op: Op) -> Iterable[Operand]:
        return self._named(op) or ()

    def _named(self, op: Op) -> list[Operand] | None:
        """What an attribute or a global holds, at first or by a store of the residual, or a function returns; None: op gives something else."""
        if op in self._asked:
            return self._asked[op]
        self._asked[op] = None
        if isinstance(op.callee, Function):
            self._asked[op] = self.returned.get(op.callee)
        elif op.callee is getattr or op.callee is ops.load_global:
            self._asked[op] = self._contents(*op.args)
        return self._asked[op]

    def _contents(self, of: Operand, name: Operand, *default: Operand) -> list[Operand] | None:
        if not isinstance(name, Const) or WHOLE in self.stored:
            return None
        found = [*default, *self.stored.get(name.value, ())]
        for value in self._behind([of]):
            told = value in self.sources and value not in self.given if isinstance(value, Param) else isinstance(value, Op) and self._named(value) is not None
            held = [] if told else _own(value, str(name.value))
            if held is None:
                return None
            found += held
        return found


def _own(of: Operand, name: str) -> list[Operand] | None:
    """What a known object, or one that is made, holds by name, if its class has nothing by that name; None: that is not so simple."""
    if isinstance(of, Const):
        held = of.value if type(of.value) is dict else own_dict(of.value)
        simple = held is not None and name in held and (held is of.value or lookup(type(of.value), name) is None)
        return [Const(held[name])] if simple and held is not None else None
    if not isinstance(of, Op) or of.callee is not ops.make_object:
        return None
    cls, names, *values = of.args
    if not isinstance(cls, Const) or not isinstance(names, Const) or lookup(cls.value, name) is not None:  # type: ignore[arg-type]
        return None
    return [value for key, value in zip(names.value, values, strict=True) if key == name]  # type: ignore[call-overload]


def _is_new(op: Op) -> bool:
    """Is the result an object that nobody else has?"""
    return id(op.callee) in _NEW or (type(op.callee) is type and not isinstance(lookup(op.callee, "__new__"), types.FunctionType | staticmethod))


def _parts(op: Op) -> Iterable[Operand]:
    """The operands that may be a part of the result: not the class of a new object, and of a function's globals those that its code names."""
    if op.callee is ops.make_object or op.callee is ops.make_stored:
        return op.args[1:]
    if op.callee is ops.make_function and isinstance(op.args[0], Const) and isinstance(op.args[1], Const):
        code, namespace = op.args[0].value, op.args[1].value
        if isinstance(code, types.CodeType) and isinstance(namespace, dict):
            return (*op.args[2:], *map(Const, _named_globals(code, namespace)))
    return op.operands()


def _is_call(value: Op | Param) -> bool:
    """Is it what code gives that is not looked into?"""
    if not isinstance(value, Op) or not value.effect._value_ & Effect.OPAQUE._value_:
        return False
    return id(value.callee) not in _READERS and id(value.callee) not in _KEEPERS and not isinstance(value.callee, types.MethodDescriptorType)


def _runs(value: Op | Param) -> bool:
    """May it run code that is not looked into, be it only a hook?"""
    return isinstance(value, Op) and bool(value.effect._value_ & Effect.OPAQUE._value_) and (id(value.callee) in _READERS or _is_call(value))


def _is_class_of(value: Op | Param) -> bool:
    """Is it the class of something?"""
    if not isinstance(value, Op):
        return False
    return value.callee is type or (value.callee is getattr and isinstance(value.args[1], Const) and value.args[1].value == "__class__")


def _keeps(op: Op) -> Iterable[Operand]:
    """What of its operands op puts where others may load it from."""
    callee = id(op.callee)
    if callee in _NEW:
        return _parts(op)
    if callee in _KEEPERS or type(op.callee) is types.MethodDescriptorType:
        return op.args[1:] if op.effect._value_ & _WRITES else ()
    return op.operands() if _is_call(op) else ()


def _reached(origins: Iterable[Operand]) -> set[int] | None:
    """The ids of all that somebody gets at who has these constants, and what these calls give; None: of more than can be looked at."""
    found: dict[int, object] = {}
    todo: list[object] = []
    classes: set[type] = set()
    called = asked = False
    for one in origins:
        if isinstance(one, Const):
            todo.append(one.value)
        elif isinstance(one, Op):
            called |= _runs(one)
            asked |= _is_class_of(one)
    while todo:
        held = todo.pop()
        if id(held) not in found and not is_immutable(held):
            found[id(held)] = held
            todo += _led_to(held, called)
            if type(held) not in classes:
                classes.add(type(held))
                todo += _class_contents(type(held))
                if asked:
                    found.update((id(base), base) for base in type(held).__mro__)
            if len(found) > MOST or type(held) in weakref.ProxyTypes:
                return None
    return set(found)


def _led_to(held: Any, called: bool) -> Iterable[object]:
    """What an object leads to at once; called: functions are called, and may give what their globals are."""
    if is_a(held, types.ModuleType | types.CodeType | types.BuiltinFunctionType):
        return ()
    if is_a(held, type):
        return _class_contents(held)
    if type(held) is dict and "__builtins__" in held:
        return ()  # the globals of a module, which are stored to by name
    if is_a(held, types.FunctionType):
        names = _named_globals(held.__code__, held.__globals__) if called else ()
        return (held.__closure__, held.__defaults__, held.__kwdefaults__, held.__dict__, *names)
    if is_a(held, weakref.ref):
        return (weakref.ref.__call__(held), *gc.get_referents(held))
    if is_a(held, types.GeneratorType):
        return (*gc.get_referents(held), *_named_globals(held.gi_code, held.gi_frame.f_globals if held.gi_frame is not None else {}))
    inner = own_dict(held)
    return [one for one in (*gc.get_referents(held), inner) if one is not type(held)]


def _class_contents(cls: type) -> tuple[object, ...]:
    """What instances of a class find in it that can be stored into."""
    contents = (held for base in cls.__mro__ if is_python_class(base) for held in vars(base).values())
    return tuple(held for held in contents if not is_a(held, types.FunctionType | types.GetSetDescriptorType) and not is_immutable(held))


def _named_globals(code: types.CodeType, namespace: dict[str, Any]) -> Iterator[object]:
    """The globals that code names, and that of the functions that are made in it."""
    yield from (namespace[name] for name in code.co_names if name in namespace)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _named_globals(constant, namespace)
