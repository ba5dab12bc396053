"""Alias checks: which arguments have to be distinguished from the objects that were folded.

An argument that *is* a folded object could be mutated under that other name.  The analysis follows what the residual does with an
argument: if all methods of the folded objects that it would call are C code that only reads, or are absent
(``row[0]`` of an object without ``__getitem__`` raises), no test is needed.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import GetSetDescriptorType, MethodDescriptorType, WrapperDescriptorType
from typing import Any, Final

from hovis.engine.environment.guards import can_change
from hovis.engine.state.type_lookup import attribute_place
from hovis.ir import operations as ops
from hovis.ir.model import Block, Effect, Function, Op, Operand, Param, callees, edges
from hovis.lattice import AbstractValue, Const, Type, Union, inline_attributes
from hovis.lattice import Any as AnyType
from hovis.lattice.inspection import is_a

#: Classes whose special methods are known to have no other effects.
_PLAIN: Final = frozenset({object, list, dict, tuple, set, frozenset, int, float, bool, complex, str, bytes, bytearray, range})
#: An op without any of these effects writes to no object.
_ACTS: Final = Effect.WRITES | Effect.OPAQUE | Effect.IO | Effect.RANDOM | Effect.CLOCK
#: No mutable object can be reached from values of these classes.
_SCALARS: Final = frozenset({int, float, bool, complex, str, bytes, type(None), range})

#: Dictionaries with more keys are not searched for the names of attributes.
MOST_KEYS: Final = 64


def _readers() -> dict[int, tuple[tuple[str, ...], ...]]:
    """Return, per callee, the special methods that it may call on each operand."""
    found: dict[int, tuple[tuple[str, ...], ...]] = {}
    key = ("__index__", "__hash__", "__eq__")
    found[id(operator.getitem)] = (("__getitem__", "__missing__"), key)
    found[id(operator.contains)] = (("__contains__", "__iter__", "__getitem__"), key)
    for name, mirrored in (("lt", "gt"), ("le", "ge"), ("eq", "eq"), ("ne", "ne")):
        compared = (f"__{name}__", f"__{mirrored}__", "__eq__")
        found[id(getattr(operator, name))] = found[id(getattr(operator, mirrored))] = (compared, compared)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"):
        names = (f"__{name}__", f"__r{name}__")
        found[id(getattr(operator, f"__{name}__"))] = (names, names)
        found[id(getattr(operator, f"__i{name}__"))] = ((f"__i{name}__", *names), names)
    for callee in (bool, operator.truth, operator.not_):
        found[id(callee)] = (("__bool__", "__len__"),)
    found[id(len)] = (("__len__",),)
    found[id(iter)] = (("__iter__", "__getitem__"),)
    found[id(str)] = found[id(repr)] = (("__str__", "__repr__"),)
    found[id(ops.format_value)] = (("__format__", "__str__", "__repr__"), ())
    return found


#: All these callees live as long as their modules.
_READERS: Final = _readers()


def stands_apart(params: Iterable[Param], function: Function, static: tuple[object, ...]) -> Iterator[tuple[Callable[[Any], bool], Param]]:
    """Yield a test, with the param, for each argument that may alias a folded object; ``held`` of a test are the objects that it could be."""
    if not static or not any(op.effect & (Effect.WRITES | Effect.OPAQUE) for op in function.ops()):
        return
    uses = _Uses(function)
    places = [(held, attribute_place(held)) for held in static if can_change(type(held))]
    #: writing to the ``__dict__`` of a folded instance changes its attributes, even if the dictionary is created later
    static = (*static, *(place for held, place in places if place is not None and place is not held))
    inline = {id(held): held for held, place in places if place is held}
    for param in params:
        held = [s for s in static if _fits(param.type, type(s))]
        lacking = list(inline.values()) if _fits(param.type, dict) else []
        if (held or lacking) and uses.may_write(param, [*held, *map(_dictionary_to_be, lacking)]):
            yield _test(held, lacking), param


def _dictionary_to_be(instance: object) -> dict[str, Any]:
    """Return what the dictionary of an instance that has none would hold; if that is unknown, a dict with an object that could be written to."""
    found = inline_attributes.listed(instance)
    return {"": instance} if found is None else found


def _test(held: Sequence[object], lacking: Sequence[object]) -> Callable[[Any], bool]:
    """Return a test of a value: is it none of held, nor the dictionary of one of lacking, which had none when they were folded?"""
    ids = {id(s): s for s in held}
    attributes = [(instance, inline_attributes.listed(instance)) for instance in lacking]
    names = frozenset(name for _, listed in attributes for name in listed or ())
    nameless = [instance for instance, listed in attributes if not listed]

    def no_dictionary(value: Any) -> bool:
        if type(value) is not dict:
            return True
        # the dictionary of an instance holds its attributes
        others = nameless if 0 < len(value) <= MOST_KEYS and names.isdisjoint(value) else lacking
        return not others or inline_attributes.are_elsewhere(value, others)

    def apart(value: Any) -> bool:
        return id(value) not in ids and no_dictionary(value)

    apart.held, apart.ids, apart.no_dictionary = tuple(held), ids, no_dictionary if lacking else None  # type: ignore[attr-defined]
    return apart


def _fits(kind: AbstractValue, cls: type) -> bool:
    return isinstance(kind, AnyType | Union) or (isinstance(kind, Type) and kind.cls is cls)


class _Uses:
    """The uses of each value: ops (with the operand's index), and the params of blocks that it is passed to. ``may_write`` follows it into
    called Functions.
    """

    def __init__(self, function: Function) -> None:
        self.ops: dict[Operand, list[tuple[Op, int]]] = {}
        self.params: dict[Operand, list[Param]] = {}
        for one in callees(function):
            for block in one.blocks:
                self._scan(block)

    def _scan(self, block: Block) -> None:
        for op in block.all_ops():
            for k, value in enumerate(op.operands()):
                if not isinstance(value, Const):
                    self.ops.setdefault(value, []).append((op, k))
        for edge in edges(block.terminator):
            for param, value in zip(edge.block.params, edge.args, strict=True):
                if not isinstance(value, Const):
                    self.params.setdefault(value, []).append(param)

    def may_write(self, param: Param, held: list[object]) -> bool:
        """Could the residual write to one of held if param were that object?"""
        seen: set[Operand] = set()
        todo: list[tuple[Operand, bool]] = [(param, True)]
        while todo:
            value, itself = todo.pop()
            if value in seen:
                continue
            seen.add(value)
            todo += [(other, itself) for other in self.params.get(value, ())]
            for op, k in self.ops.get(value, ()):
                if isinstance(op.callee, Function) and not op.kwargs:
                    todo.append((op.callee.params[k], itself))
                    leads = True
                else:
                    asked = _asked(op, k) if itself else None
                    leads = asked is None or any(_leads(s, name) for s in held for name in asked)
                    if op.effect & _ACTS and (asked is None or not all(_reads(type(s), name) for s in held for name in asked)):
                        return True
                if leads and not (isinstance(op.type, Type) and op.type.cls in _SCALARS):
                    todo.append((op, False))
        return False


def _asked(op: Op, k: int) -> tuple[str, ...] | None:
    """Return the special methods that op may call on its operand number k; None if it may do anything."""
    names = _READERS.get(id(op.callee))
    if names is None or op.kwargs or len(op.args) > len(names):
        return None
    return names[k]


def _leads(held: object, name: str) -> bool:
    """May the special method of this name return an object that could be written to? The items of a dict of numbers and strings can't be."""
    if name == "__getitem__" and type(held) is dict and all(type(item) in _SCALARS for item in held.values()):
        return False
    return _finds(type(held), name) is not None


def _finds(cls: type, name: str) -> object | None:
    return next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), None)


def _reads(cls: type, name: str) -> bool:
    """Is this special method of a folded object absent, or C code that writes to nothing and passes the object to nobody?"""
    found: Any = _finds(cls, name)
    if found is None:
        return True
    if name == "__hash__" or (name[2] == "i" and name not in _NOT_IN_PLACE):
        # an object used as a key becomes part of the KeyError, and of the dict
        return False
    return is_a(found, WrapperDescriptorType | MethodDescriptorType | GetSetDescriptorType) and found.__objclass__ in _PLAIN


_NOT_IN_PLACE: Final = ("__index__", "__iter__")
