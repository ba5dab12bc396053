"""Find which known objects a value of the residual may be: a flow-insensitive and context-insensitive points-to analysis.

A loaded value may be any object that can be reached from the constants from which it is computed, or any value that was stored anywhere.
"""

import functools
import gc
import operator
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from hovis.engine.environment.footprints import names_in
from hovis.engine.environment.guards import Guard
from hovis.engine.environment.object_contents import contents
from hovis.engine.state.type_lookup import attribute_place, is_python_class, lookup, own_dict
from hovis.engine.state.values import IN_PLACE
from hovis.ir import operations as ops
from hovis.ir.analysis.strongly_connected import components
from hovis.ir.model import Effect, Function, Op, Operand, Param, Raise, Return, edges
from hovis.ir.operations import UNBOUND
from hovis.lattice import Const, Type, inline_attributes
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a

#: Stands for a whole object, where what is read or stored is not a single attribute that is known by name.
WHOLE: Final = object()
#: The most objects that are followed; beyond, a store may modify any object that was read.
MOST: Final = 50_000


#: Effects of ops that may store.
WRITES: Final = (Effect.WRITES | Effect.OPAQUE).value
#: Stores of an attribute by its name.
BY_NAME: Final = frozenset(map(id, (setattr, delattr, object.__setattr__, object.__delattr__)))
#: Operators that store into their first operand; then, with the ops that do so as well.
OPERATORS: Final = frozenset(map(id, (*IN_PLACE, operator.iconcat, operator.setitem, operator.delitem)))
INTO_FIRST: Final = OPERATORS | frozenset(map(id, (ops.list_extend, ops.dict_update, ops.dict_merge, ops.cell_set)))
_CALLS: Final = frozenset({"apply", "apply_positional", "apply_all", "begun", "yield_", "yield_from"})
#: Functions that store nothing themselves, and run no other code than the hooks that the classes of their operands define.
READERS: Final = frozenset(
    id(fn)
    for fn in (
        *(fn for fn in vars(operator).values() if callable(fn) and fn is not operator.call),
        *(getattr(ops, name) for name in ops.__all__ if name not in _CALLS),
        *(getattr, hasattr, iter, next, len, repr, str, bool, hash, isinstance, issubclass, callable, format, type, id, print),
    )
    if id(fn) not in INTO_FIRST
)
#: Functions whose result is a new object.
NEW: Final = frozenset(
    map(id, (ops.make_tuple, ops.make_list, ops.make_set, ops.make_dict, ops.make_object, ops.make_stored, ops.make_cell, ops.make_function, ops.bind))
) | frozenset(map(id, (ops.make_exception, sorted, list.copy, dict.copy, set.copy)))
#: Functions that keep their operands where others can load them.
KEEPERS: Final = BY_NAME | INTO_FIRST | NEW


def is_proxy(value: object) -> bool:
    """Is value a known weak proxy, whose referent is unknown?"""
    return isinstance(value, Const) and type(value.value) in weakref.ProxyTypes


class Values:
    """The values of a residual: the source of each, and the objects that constants lead to."""

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
        #: maps the names of attributes and globals to the values that are stored there (WHOLE: stores by unknown names)
        self.stored: dict[object, list[Operand]] = {}
        for op in self.ops:
            if id(op.callee) in BY_NAME or op.callee is ops.store_global:
                self.stored.setdefault(name_in(op), []).extend(op.args[2:])
        ends = [(function, block.terminator) for function in functions for block in function.blocks]
        self.returned: dict[Function, list[Operand]] = {function: [] for function in functions}
        for function, end in ends:
            if isinstance(end, Return):
                self.returned[function].append(end.value)
        self._given_away = [one for op in self.ops for one in keeps(op)] + [end.value for _, end in ends if isinstance(end, Raise)]
        #: memo of ``_named``: the values that an op may give, if it reads by a name
        self._by_name: dict[Op, list[Operand] | None] = {}
        #: the constants and unknown values that the bits of masks stand for
        self._numbered: list[Operand] = []
        self._places: dict[int, int] = {}
        self._reached: dict[tuple[int, bool], set[int] | None] = {}
        self._leads: dict[int, set[int] | None] = {}

    def _pass(self, params: Iterable[Param], args: Iterable[Operand]) -> None:
        for param, arg in zip(params, args, strict=False):
            self.sources.setdefault(param, []).append(arg)

    def reached_from(self, target: Operand, handed: bool) -> set[int] | None:
        """Return the ids of the known objects that target may be; None: it may be any. handed: only those that the residual itself has given
        away.
        """
        key = self._mask(target, self._identities), handed
        if key not in self._reached:
            self._reached[key] = self._reached_by(*key)
        return self._reached[key]

    def _reached_by(self, mask: int, handed: bool) -> set[int] | None:
        known, loaded = self._told(mask)
        if any(map(is_proxy, self._in(mask))):
            return None
        if handed:
            # also indirectly, through objects that the residual has made or was given
            return known | self._handed
        if not loaded:
            return known
        # the arguments of the residual are tested on entry: no object that was read can be reached from them
        reached = self._led_to(self._union(loaded, self._origins) | self._kept)
        return None if reached is None else known | reached

    def _led_to(self, mask: int) -> set[int] | None:
        if mask not in self._leads:
            self._leads[mask] = reached_by(self._in(mask))
        return self._leads[mask]

    @functools.cached_property
    def _handed(self) -> set[int]:
        """The ids of the known objects that the residual stores or gives away."""
        return self._told(self._union(self._given_away, self._identities))[0]

    @functools.cached_property
    def _kept(self) -> int:
        """The mask of the constants from which the values are computed that the residual stores or gives away."""
        return self._union(self._given_away, self._origins)

    def _told(self, mask: int) -> tuple[set[int], list[Operand]]:
        """Return the ids of the known objects in a mask, and the values in it that may be unknown objects."""
        ones = list(self._in(mask))
        return {id(one.value) for one in ones if isinstance(one, Const)}, [one for one in ones if not isinstance(one, Const)]

    def _in(self, mask: int) -> Iterator[Operand]:
        while mask:
            lowest = mask & -mask
            yield self._numbered[lowest.bit_length() - 1]
            mask ^= lowest

    def _place(self, value: Operand) -> int:
        """Return the bit of a constant or a value in masks, assigning one if it has none."""
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
        """For each value, the mask of the constants and loaded values that it may be."""

        def itself(value: Op | Param) -> bool:
            if isinstance(value, Op):
                return not is_new(value) and self._named(value) is None
            return value not in self.sources and value not in self.given

        return self._solve(lambda value: self.sources.get(value, ()) if isinstance(value, Param) else self._held_by_name(value), itself)

    @functools.cached_property
    def _origins(self) -> dict[Op | Param, int]:
        """For each value, the mask of the constants from which it is computed, the calls of unknown code, and the reads of classes."""
        return self._solve(
            lambda value: self.sources.get(value, ()) if isinstance(value, Param) else self._loaded_from(value),
            lambda value: runs_code_of(value) or is_class_of(value),
        )

    def _solve(self, following: Callable[[Op | Param], Iterable[Operand]], itself: Callable[[Op | Param], bool]) -> dict[Op | Param, int]:
        """Compute for each value the mask of the constants that it leads to by following, and of the values for which itself holds."""
        masks: dict[Op | Param, int] = {}
        every: list[Op | Param] = [*self.ops, *self.sources, *self.given]
        leads = {value: list(following(value)) for value in every}
        values: dict[Op | Param, list[Op | Param]]
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
        """May target be the dictionary of an object?"""
        held = self._in(self._mask(target, self._identities))
        return any(op.callee is vars or (op.callee is getattr and name_in(op) in (WHOLE, "__dict__")) for op in held if isinstance(op, Op))

    def _behind(self, values: Iterable[Operand]) -> Iterator[Operand]:
        """Yield everything that values may be, through block parameters, attributes and globals: constants, and values whose source is not known
        by name.
        """
        todo = list(values)
        seen: dict[int, Operand] = {}
        while todo:
            value = todo.pop()
            if id(value) not in seen:
                seen[id(value)] = value
                yield value
                todo += self.sources.get(value, ()) if isinstance(value, Param) else self._held_by_name(value) if isinstance(value, Op) else ()

    def _loaded_from(self, op: Op) -> Iterable[Operand]:
        """Return the values of which the result of op may be a part."""
        named = self._named(op)
        if named is not None:
            return named
        found = [*parts(op), op.callee if isinstance(op.callee, (Op, Param)) else Const(op.callee)]
        if op.callee is getattr:
            found += self._held_by_classes(op.args[0], op.args[1])
        elif (op.callee is ops.make_object or op.callee is ops.make_stored) and isinstance(op.args[0], Const):
            found += map(Const, class_contents(op.args[0].value))  # type: ignore[arg-type]
        return found

    def _held_by_classes(self, of: Operand, name: Operand) -> Iterator[Const]:
        """Yield the values that classes hold by this name, for all classes that the operand (of) may be an instance of."""
        for guard in self.asked:
            if not isinstance(name, Const) or guard.name == name.value:
                yield from (Const(held) for _, held in guard.value if held is not UNBOUND)
        if isinstance(name, Const) and isinstance(of, (Op, Param)) and isinstance(of.type, Type) and (held := lookup(of.type.cls, str(name.value))) is not None:
            yield Const(held)

    def _held_by_name(self, op: Op) -> Iterable[Operand]:
        return self._named(op) or ()

    def _named(self, op: Op) -> list[Operand] | None:
        """Return all values that op may give if it reads an attribute or a global (the initial one, and those that the residual stores) or calls
        a function of the residual; None if op is another operation, or these cannot be told.
        """
        if op in self._by_name:
            return self._by_name[op]
        self._by_name[op] = None
        if isinstance(op.callee, Function):
            self._by_name[op] = self.returned.get(op.callee)
        elif op.callee is getattr or op.callee is ops.load_global:
            self._by_name[op] = self._contents(*op.args)
        return self._by_name[op]

    def _contents(self, of: Operand, name: Operand, *default: Operand) -> list[Operand] | None:
        if not isinstance(name, Const) or WHOLE in self.stored:
            return None
        found = [*default, *self.stored.get(name.value, ())]
        for value in self._behind([of]):
            told = value in self.sources and value not in self.given if isinstance(value, Param) else isinstance(value, Op) and self._named(value) is not None
            held = [] if told else own_contents(value, str(name.value))
            if held is None:
                return None
            found += held
        return found


def own_contents(of: Operand, name: str) -> list[Operand] | None:
    """Return what a known or newly made object holds by name itself, if its class has nothing by that name; None if this cannot be told."""
    if isinstance(of, Const):
        held = of.value if type(of.value) is dict else attribute_place(of.value)
        if held is None or (type(of.value) is not dict and lookup(type(of.value), name) is not None):
            return None
        found = held.get(name, UNBOUND) if type(held) is dict else inline_attributes.read(held, name, UNBOUND)
        return None if found is UNBOUND else [Const(found)]
    if not isinstance(of, Op) or of.callee is not ops.make_object:
        return None
    cls, names, *values = of.args
    if not isinstance(cls, Const) or not isinstance(names, Const) or lookup(cls.value, name) is not None:  # type: ignore[arg-type]
        return None
    return [value for key, value in zip(names.value, values, strict=True) if key == name]  # type: ignore[call-overload]


def name_in(op: Op) -> object:
    """Return the name by which an op reads or stores something; WHOLE if it is unknown, or there is none."""
    name = op.args[1] if len(op.args) > 1 else None
    return name.value if isinstance(name, Const) and type(name.value) is str else WHOLE


def is_new(op: Op) -> bool:
    """Is the result a new object, which nobody else has?"""
    return id(op.callee) in NEW or (type(op.callee) is type and not isinstance(lookup(op.callee, "__new__"), types.FunctionType | staticmethod))


def parts(op: Op) -> Iterable[Operand]:
    """Return the operands that may be a part of the result: not the class of a new object, and of a function's globals only those that its code
    names.
    """
    if op.callee is ops.make_object or op.callee is ops.make_stored:
        return op.args[1:]
    if op.callee is ops.make_function and isinstance(op.args[0], Const) and isinstance(op.args[1], Const):
        code, namespace = op.args[0].value, op.args[1].value
        if isinstance(code, types.CodeType) and isinstance(namespace, dict):
            return (*op.args[2:], *map(Const, named_globals(code, namespace)))
    return op.operands()


def is_call(value: Op | Param) -> bool:
    """Is value the result of a call of unknown code?"""
    if not isinstance(value, Op) or not value.effect._value_ & Effect.OPAQUE._value_:
        return False
    return id(value.callee) not in READERS and id(value.callee) not in KEEPERS and not isinstance(value.callee, types.MethodDescriptorType)


def runs_code_of(value: Op | Param) -> bool:
    """May the op that gives value run unknown code, if only a hook of a class?"""
    return isinstance(value, Op) and bool(value.effect._value_ & Effect.OPAQUE._value_) and (id(value.callee) in READERS or is_call(value))


def is_class_of(value: Op | Param) -> bool:
    """Does value give the class of an object?"""
    if not isinstance(value, Op):
        return False
    return value.callee is type or (value.callee is getattr and name_in(value) == "__class__")


def keeps(op: Op) -> Iterable[Operand]:
    """Return the operands that op puts where others may load them from."""
    callee = id(op.callee)
    if callee in NEW:
        # through a bound method its object can be reached, but the function can only be called
        return op.args[1:] if op.callee is ops.bind else parts(op)
    if callee in KEEPERS or type(op.callee) is types.MethodDescriptorType:
        return op.args[1:] if op.effect._value_ & WRITES else ()
    return op.operands() if is_call(op) else ()


def reached_by(origins: Iterable[Operand]) -> set[int] | None:
    """Collect the ids of all objects that can be reached from these constants and the results of these calls; None if there are too many to look
    at, or any may be.
    """
    found: dict[int, object] = {}
    todo: list[object] = []
    classes: set[type] = set()
    called = hooked = asked = False
    for one in origins:
        if isinstance(one, Const):
            todo.append(one.value)
        elif isinstance(one, Op):
            called |= is_call(one)
            hooked |= runs_code_of(one)
            asked |= is_class_of(one)
    while todo:
        held = todo.pop()
        if id(held) not in found and not is_immutable(held):
            found[id(held)] = held
            todo += led_to(held, called)
            if hooked and type(held) in (map, filter):
                todo += (one for fn in gc.get_referents(held) if is_a(fn, types.FunctionType) for one in named_globals(fn.__code__, fn.__globals__))
            if type(held) not in classes:
                classes.add(type(held))
                todo += class_contents(type(held))
                if hooked:
                    todo += (one for hook in hooks(type(held)) for one in named_globals(hook.__code__, hook.__globals__))
                if asked:
                    found.update((id(base), base) for base in type(held).__mro__)
            if len(found) > MOST or type(held) in weakref.ProxyTypes:
                return None
    return set(found)


def led_to(held: Any, called: bool) -> Iterable[object]:
    """Return the objects that an object leads to directly; called: functions among them may be called, and may return their globals."""
    if is_a(held, types.ModuleType | types.CodeType | types.BuiltinFunctionType):
        return ()
    if is_a(held, type):
        return class_contents(held)
    if type(held) is dict and "__builtins__" in held:
        return ()  # the globals of a module, whose stores are found by name
    if is_a(held, types.FunctionType):
        names = named_globals(held.__code__, held.__globals__) if called else ()
        return (held.__closure__, held.__defaults__, held.__kwdefaults__, held.__dict__, *names)
    if is_a(held, weakref.ref):
        return (weakref.ref.__call__(held), *contents(held))
    if is_a(held, types.GeneratorType):
        return (*gc.get_referents(held), *named_globals(held.gi_code, held.gi_frame.f_globals if held.gi_frame is not None else {}))
    # if CPython creates dictionaries of instances lazily (PUT_OFF), an existing one is among contents
    inner = None if inline_attributes.PUT_OFF else own_dict(held)
    return [one for one in (*contents(held), inner) if one is not type(held)]


def hooks(cls: type) -> Iterator[types.FunctionType]:
    """Yield the functions of a class that are called by operations on an instance: special methods and properties."""
    for base in cls.__mro__ if is_python_class(cls) else ():
        for name, held in vars(base).items():
            if is_a(held, property):
                yield from (fn for fn in (held.fget, held.fset, held.fdel) if is_a(fn, types.FunctionType))
            elif is_a(held, types.FunctionType) and name.startswith("__"):
                yield held


def class_contents(cls: type) -> tuple[object, ...]:
    """Return the mutable class attributes that instances of a class can reach."""
    contents = (held for base in cls.__mro__ if is_python_class(base) for held in vars(base).values())
    return tuple(held for held in contents if not is_a(held, types.FunctionType | types.GetSetDescriptorType) and not is_immutable(held))


def named_globals(code: types.CodeType, namespace: dict[str, Any]) -> Iterator[object]:
    """Yield the globals that code, including the functions nested in it, names."""
    return (namespace[name] for name in names_in(code) if name in namespace)
