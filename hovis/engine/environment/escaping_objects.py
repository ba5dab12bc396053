"""Escape analysis of known objects: find those that the residual gives to unknown code, and all that can be reached from these.

If the traced code stores attributes of a known object by name, the object's other attributes stay known (``Tables.stored``) as long as
the object does not escape; if it escapes, unknown code may store any of them.
"""

import gc
import operator
import sys
import types
import weakref
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from typing import Any, Final

from hovis.engine.environment.footprints import names_in
from hovis.engine.environment.object_contents import MOST, contents
from hovis.engine.environment.points_to import named_globals
from hovis.engine.state.type_lookup import attribute_place, is_python_class
from hovis.ir.model import VALUES, Block, Effect, Function, Op, Raise, Return, edges
from hovis.ir.operations import drop, is_method_of, keep, keeps, lacks, make_function
from hovis.lattice import Const, inline_attributes
from hovis.lattice.inspection import is_a

#: Operations that read or store one attribute by its name, and those that only use the identity or class of their operand.  By id.
_BY_NAME: Final = frozenset(map(id, (getattr, setattr, delattr, object.__setattr__, object.__delattr__, lacks)))
_ASKING: Final = frozenset(map(id, (type, isinstance, operator.is_, operator.is_not, id, drop, keep, keeps, is_method_of)))
#: Classes of objects that hold nothing.
_LEAVES: Final = frozenset({int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented), range, types.CodeType})
#: Names by which a function can reach objects that its code does not name.
_ANYTHING: Final = frozenset({"__globals__", "_getframe", "currentframe", "eval", "exec", "gc", "globals"})
#: How an object is reached: it is passed itself, another object (or its class) holds it, or the code of a function names it.  A function that another
#: function names is followed only if it is in the same module, and likewise the functions of a class: the others would lead to everything.
_GIVEN: Final = 0
_HELD: Final = 1
_NAMED: Final = 2


def escaping(functions: Sequence[Function], stored: Collection[int]) -> Set[int] | None:
    """Return which of the known objects and dictionaries with these ids escape; None if any object may escape.

    stored: the ids.  If blocks pass one of these objects on, that is no escape: :mod:`aliased_stores` finds what happens to it.
    """
    ops = [op for function in functions for op in function.ops()]
    if any(_reaches_anything(op.callee) for op in ops):
        return None
    search = _Search(stored)
    for op in ops:
        search.add(_given(op), _GIVEN)
    passed_on = [value for function in functions for block in function.blocks for value in _passed_on(block, function is not functions[0])]
    search.add([value for value in passed_on if id(value) not in stored and id(attribute_place(value)) not in stored], _GIVEN)
    return search.found if search.run() else None


class _Search:
    """Finds everything that can be reached from some objects, until all of the objects that are asked about have been found."""

    def __init__(self, wanted: Collection[int]) -> None:
        self.wanted, self.found = wanted, set[int]()
        #: objects to follow, with how they are reached and the namespace; those that functions name are followed after all others
        self.todo: list[tuple[Any, int, Any]] = []
        self.named: list[tuple[Any, int, Any]] = []
        #: the objects that have been reached, by id; and their ids, by how they are reached and the namespace: an object is followed again if it may
        #: lead further when it is reached in another way
        self.reached: dict[int, object] = {}
        self.ways: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        #: the classes of which instances have been reached, and how
        self.classes: set[tuple[type, int, int]] = set()

    def add(self, objects: Iterable[object], how: int, namespace: Any = None) -> None:
        """Add objects that are reached in this way; namespace: the globals of the function that names them, if one does."""
        todo = self.named if how is _NAMED else self.todo
        known = self.ways[how, id(namespace)]
        todo += [(one, how, namespace) for one in objects if type(one) not in _LEAVES and id(one) not in known]

    def run(self) -> bool:
        """Follow all objects; False if nothing can be said about where they lead."""
        while (self.todo or self.named) and len(self.found) < len(self.wanted):
            one, how, namespace = (self.todo or self.named).pop()
            cls = type(one)
            is_class = issubclass(cls, type)
            known = self.ways[how if is_class else max(how, _HELD), id(namespace)]
            if id(one) in known or (how is _NAMED and not is_class and id(one) in self.ways[_HELD, id(None)]):
                continue
            known.add(id(one))
            if _is_namespace(one):
                if how is _GIVEN:
                    return False  # it leads to everything
                continue
            if is_class and not is_python_class(one):
                continue
            self.reached[id(one)] = one
            if id(one) in self.wanted:
                self.found.add(id(one))
            if len(self.reached) > MOST or cls in weakref.ProxyTypes:
                return False  # any object may escape: the referent of a proxy cannot be found out
            if cls is types.FunctionType and not self._follow_function(one, how, namespace):
                return False
            if issubclass(cls, weakref.ref):
                self.add([weakref.ref.__call__(one)], how, namespace)
            if is_class:
                self.add(_of_class(one, how, namespace), max(how, _HELD), namespace)
                continue
            self.add(contents(one) if cls is not types.FunctionType else _of_function(one), max(how, _HELD), namespace)
            if is_python_class(cls):
                self._follow_instance(one, max(how, _HELD), namespace)
        return True

    def _follow_function(self, function: types.FunctionType, how: int, namespace: Any) -> bool:
        """Add what a function names, unless it is only named itself, by a function of another module; False if it may reach anything."""
        if how is _NAMED and function.__globals__ is not namespace:
            return True
        if how is not _NAMED and _reaches_anything(function):
            return False
        self.add(_named(function.__code__, function.__globals__, function.__closure__ or ()), _NAMED, function.__globals__)
        return True

    def _follow_instance(self, one: object, how: int, namespace: Any) -> None:
        """Add the attributes of an instance, and those of its class, unless another instance of the class has been reached in this way."""
        self.add([attribute_place(one)], how, namespace)
        way = type(one), how, id(namespace)
        if way not in self.classes:
            self.classes.add(way)
            self.add([held for base in type(one).__mro__ if is_python_class(base) for held in vars(base).values()], how, namespace)


def _of_function(function: types.FunctionType) -> Iterator[object]:
    """Yield what a function holds, but of the builtins only those that its code names, and no globals (see ``_follow_function``): they would lead to
    everything.
    """
    builtin: Any = vars(types.FunctionType)["__builtins__"].__get__(function)
    yield from (part for part in contents(function) if part is not builtin and part is not function.__globals__)
    yield from named_globals(function.__code__, builtin)


def _of_class(cls: type, how: int, namespace: Any) -> Iterable[object]:
    """Return the attribute values that a class holds. For a class of another module that is only reached indirectly, leave out its functions,
    which lead to everything in that module.
    """
    own = how is _GIVEN or (namespace is not None and namespace.get("__name__") == cls.__module__)
    return [held for base in cls.__mro__ if is_python_class(base) for held in vars(base).values() if own or type(held) is not types.FunctionType]


def _is_namespace(one: object) -> bool:
    """Is an object a module, or the namespace of one?"""
    if type(one) is dict:
        name = one.get("__name__")
        module = sys.modules.get(name) if type(name) is str else None
        return is_a(module, types.ModuleType) and attribute_place(module) is one
    return is_a(one, types.ModuleType)


def _reaches_anything(callee: object) -> bool:
    """May a callable reach objects that are neither passed to it nor named by its code?"""
    if any(callee is one for one in (eval, exec, globals)):
        return True
    return type(callee) is types.FunctionType and not _is_of_hovis(callee) and not _ANYTHING.isdisjoint(names_in(callee.__code__))


def _is_of_hovis(callee: object) -> bool:
    return type(callee) is types.FunctionType and str(callee.__globals__.get("__package__")).split(".")[0] == "hovis"


def _passed_on(block: Block, returned: bool) -> Iterator[object]:
    """Yield the known objects that a block passes to other blocks, raises or (if returned) returns."""
    end = block.terminator
    operands = [value for edge in edges(end) for value in edge.args]
    if isinstance(end, Raise) or (returned and isinstance(end, Return)):
        operands.append(end.value)
    for value in operands:
        if type(value) is Const:
            yield value.value


def _given(op: Op) -> Iterator[object]:
    """Yield the known objects that an operation passes to a callee or stores, and the one that it may release (whose finalizer runs then)."""
    operands, opaque = op.args, bool(op.effect & Effect.OPAQUE)
    if not opaque and id(op.callee) in _ASKING:
        return
    if opaque and type(op.callee) not in VALUES and not isinstance(op.callee, Function) and not _is_of_hovis(op.callee):
        yield op.callee
    if len(operands) > 1 and type(operands[0]) is type(operands[1]) is Const:
        yield _there_is(operands[0].value, operands[1].value)
        if op.callee is make_function:
            yield from _named(operands[0].value, operands[1].value)
    if not opaque and id(op.callee) in _BY_NAME:
        operands = operands[1:]
    for operand in (*operands, *(value for _, value in op.kwargs)):
        if type(operand) is Const:
            yield operand.value


def _there_is(holder: Any, name: object) -> object:
    """Return what an object or a dictionary has by a name, which an operation reads or replaces; None if there is nothing, or reading it could
    run code.
    """
    if type(name) is not str:
        return None
    if type(holder) is dict:
        return holder.get(name)
    return inline_attributes.read(holder, name, None) if is_python_class(type(holder)) and inline_attributes.can_read(type(holder), name) else None


def _named(code: Any, namespace: Any, cells: Iterable[types.CellType] = ()) -> Iterator[object]:
    """Yield the globals that code names, the contents of its cells, and the globals that it names in the modules among these."""
    held = [*named_globals(code, namespace), *gc.get_referents(*cells)]
    yield from iter(held)
    for one in held:
        if type(one) is types.ModuleType:
            yield from named_globals(code, vars(one))
