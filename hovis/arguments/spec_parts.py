"""Conversion of specs to the parts that the engine takes: an unknown leaf, a known value, or a structure of parts."""

import ast
import dataclasses
import re
import types
import typing
from collections.abc import Callable
from typing import Any as Anything
from typing import Final

import hovis.arguments.specs
from hovis.arguments.specs import Array, DType, Empty, Instance, OneOf, Promotable, Spec, is_named_tuple
from hovis.arguments.type_hints import ADVICE, is_hint, of_class, of_hint, resolved
from hovis.engine.trace import Fixed, Leaf, Part, Structure
from hovis.errors import SpecError, said
from hovis.ir.model import Operand, Param
from hovis.lattice import ANY, BOTTOM, AbstractValue, Bottom, Const, Either, Items, Partial, Refined, Some, Type, Union, join
from hovis.lattice import Array as ArrayType
from hovis.lattice.constants import ATOMS, constant_key

#: Function that turns a dtype into the lattice type of an array; the NumPy library supplies it.
ArrayMaker = Callable[[Anything, int, str], ArrayType]

#: A string that may have been meant as a spec: ``float64[3]``, ``int | None``.
_SUBSCRIPT: Final = re.compile(r"\s*[A-Za-z_][\w.]*\s*(\[|\|)[^\n]{1,200}")
_NAMES: Final = frozenset(
    [*hovis.arguments.specs.__all__, *typing.__all__, *(name for name, held in vars(hovis.arguments.specs).items() if isinstance(held, DType))]
    + ["None", "np", "numpy", "typing", "hovis", "ndarray", "NDArray"]
    + [cls.__name__ for cls in (int, float, bool, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, type)]
)


def is_spec(value: object) -> bool:
    """Is value a spec, or a container that holds one?"""
    return _is_spec(value, set(), (type,))


def _is_spec(value: object, seen: set[int], classes: tuple[type, ...] = ()) -> bool:
    """Is value a spec, or does it hold one in an object that is not in ``seen``? Instances of ``classes`` count as specs, too."""
    kind = type(value)
    if kind in ATOMS:
        return False
    if isinstance(value, (AbstractValue, Spec, Either, Promotable, Empty, *classes)) or is_hint(value):
        return True
    if kind in (list, tuple) or (issubclass(kind, tuple) and is_named_tuple(kind)):
        return _is_new(value, seen) and any(_is_spec(item, seen, classes) for item in value)  # type: ignore[attr-defined]
    if kind is dict:
        return _is_new(value, seen) and any(_is_spec(item, seen, classes) for item in value.values())  # type: ignore[attr-defined]
    if not _is_record(value):
        return False
    return _is_new(value, seen) and any(_is_spec(field, seen, classes) and not _is_class(field) for field in vars(value).values())


def _is_new(value: object, seen: set[int]) -> bool:
    """Add value to ``seen``; return whether it was not there."""
    if id(value) in seen:
        return False
    seen.add(id(value))
    return True


def _is_record(value: object) -> bool:
    """Is value an instance of a dataclass whose fields are in its ``__dict__``?"""
    kind = type(value)
    return dataclasses.is_dataclass(kind) and kind.__dictoffset__ != 0 and kind.__getattribute__ is object.__getattribute__


def _is_class(field: object) -> bool:
    """Is field a class or a hint? In a field of an instance these are ordinary values."""
    return isinstance(field, type) or is_hint(field)


def part_of(spec: object, name: str, make_array: ArrayMaker, items: bool = True) -> Part:
    """Convert the spec of an argument to a Part. items: are items of declared classes tested on entry, rather than where they are read?"""
    if type(spec) is str and _means_a_spec(spec):
        raise SpecError(f"{said(spec)} is a string that reads like a spec: write it without quotes; {ADVICE}")
    if any((base.__module__, base.__name__) == ("numpy", "dtype") for base in type(spec).__mro__):
        raise SpecError(f"{spec!r} is a dtype without a shape: write hovis.Array({str(spec)!r}, shape) for an array; {ADVICE}")
    try:
        return _Maker(make_array, items).part(spec, name)
    except RecursionError:
        raise SpecError(f"a spec must not contain itself or be nested too deeply; {ADVICE}") from None


def annotated(function: types.FunctionType, name: str) -> Anything:
    """Return the spec of a parameter's annotation, or None if it has no annotation."""
    if name not in function.__annotations__:
        return None
    hint = resolved(function, name)
    try:
        return hint if isinstance(hint, list | tuple | dict) and is_spec(hint) else of_hint(hint)
    except SpecError as wrong:
        raise SpecError(f"the annotation {said(function.__annotations__[name])} can't be used: {wrong}; give a spec, or hovis.Any") from None


def _means_a_spec(text: str) -> bool:
    if not _SUBSCRIPT.fullmatch(text):
        return False
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return isinstance(tree.body, ast.Subscript | ast.BinOp) and names <= _NAMES


class _Maker:
    """Converts specs to parts."""

    def __init__(self, make_array: ArrayMaker, items: bool) -> None:
        self.make_array = make_array
        self.items = items

    def part(self, spec: Anything, name: str) -> Part:
        if isinstance(spec, Const):
            return Fixed(spec.value)
        if isinstance(spec, AbstractValue):
            return self._of_lattice(spec, name)
        if isinstance(spec, Spec):
            return self._of_spec(spec, name)
        if isinstance(spec, Either):
            return self._either(spec.alternatives, name)
        if isinstance(spec, Promotable):
            return Leaf(Param(Type(spec.cls), None, name), promotable=True)
        if isinstance(spec, Empty):
            return Structure(spec.kind.__name__, spec.kind, (), (), Param(Type(spec.kind), None, name))
        if is_hint(spec):
            return self.part(of_hint(spec), name)
        if isinstance(spec, type):
            found = of_class(spec)
            return Leaf(Param(found, None, name)) if isinstance(found, AbstractValue) else self.part(found, name)
        return self._structure(spec, name) if is_spec(spec) else Fixed(spec)

    def _of_lattice(self, spec: AbstractValue, name: str) -> Part:
        if isinstance(spec, Refined) and spec.told is None:
            told = f"hovis.Refined({spec.cls.__name__}, {spec.facts!r})"
            raise SpecError(f"{told} can't be the spec of an argument: it needs a function that computes the facts of a value")
        if isinstance(spec, Bottom):
            raise SpecError("Bottom can't be the spec of an argument: it stands for no value")
        if isinstance(spec, Partial):
            kinds: dict[type, str] = {tuple: "tuple", list: "list", dict: "dict"}
            parts = tuple(self.part(p, f"{name}_{k}") for k, p in zip(spec.keys, spec.parts, strict=True))
            keys = () if spec.cls in (tuple, list) else spec.keys
            return Structure(kinds.get(spec.cls, "instance"), spec.cls, keys, parts, Param(Type(spec.cls), None, name))
        return Leaf(Param(_tested(spec, self.items), None, name))

    def _of_spec(self, spec: Spec, name: str) -> Part:
        if isinstance(spec, Array):
            dims: tuple[Operand, ...] = tuple(Const(d if isinstance(d, int) else None) for d in spec.shape)
            return Leaf(Param(self._array(spec), dims, name))
        if isinstance(spec, OneOf):
            if any(_is_spec(value, set()) for value in spec.values):  # classes are values here
                return self._either(spec.values, name)
            return _choice(spec.values, name)
        if isinstance(spec, Instance):
            parts = tuple(self.part(s, f"{name}_{k}") for k, s in spec.fields.items())
            return Structure("instance", spec.cls, tuple(spec.fields), parts, Param(Type(spec.cls), None, name))
        assert isinstance(spec, DType)
        raise SpecError(f"{spec!r} needs a shape, such as {spec!r}[3, :] or {spec!r}[()]; for a scalar, give the class numpy.{spec!r}")

    def _either(self, alternatives: tuple[object, ...], name: str) -> Part:
        """Build the part of one of several alternatives: a choice if all of them are known values, else a leaf with the join of their types."""
        parts = [_known_if_none(self.part(alternative, name)) for alternative in alternatives]
        values: list[object] = []
        kind: AbstractValue = BOTTOM
        for part in parts:
            if isinstance(part, Fixed):
                values.append(part.value)
            elif isinstance(part, Leaf):
                values += part.choices
            kind = join(kind, _kind(part))
        if all(isinstance(part, Fixed) or (isinstance(part, Leaf) and part.choices) for part in parts):
            return _choice(tuple(values), name)
        return Leaf(Param(_tested(kind, self.items), None, name))

    def _array(self, spec: Array) -> ArrayType:
        try:
            return self.make_array(spec.dtype, len(spec.shape), spec.layout)
        except (TypeError, ValueError) as error:
            raise SpecError(f"{said(spec)}: {error}") from None

    def _structure(self, spec: Anything, name: str) -> Part:
        kind = type(spec)
        whole = Param(Type(kind), None, name)
        if _is_record(spec):
            fields = vars(spec)
            parts = tuple(Fixed(s) if _is_class(s) else self.part(s, f"{name}_{k}") for k, s in fields.items())
            return Structure("instance", kind, tuple(fields), parts, whole)
        if kind is dict:
            parts = tuple(self.part(s, f"{name}_{k}") for k, s in spec.items())
            return Structure("dict", dict, tuple(spec), parts, whole)
        parts = tuple(self.part(s, f"{name}_{k}") for k, s in enumerate(spec))
        return Structure("list" if kind is list else "tuple", kind, (), parts, whole)


def _known_if_none(part: Part) -> Part:
    """Replace an unknown value of class NoneType by the known value None."""
    return Fixed(None) if isinstance(part, Leaf) and part.param.type == Type(type(None)) else part


def _choice(values: tuple[object, ...], name: str) -> Part:
    """Build a leaf that is one of a few known values, without duplicates."""
    once = tuple({constant_key(value): value for value in values}.values())
    kind: AbstractValue = BOTTOM
    for value in once:
        kind = join(kind, Type(type(value)))
    return Leaf(Param(kind, None, name), choices=once)


def _kind(part: Part) -> AbstractValue:
    """Return the type of all values that fit a part."""
    if isinstance(part, Fixed):
        return Type(type(part.value))
    assert isinstance(part, Leaf | Structure)
    return part.param.type


def _tested(kind: AbstractValue, items: bool) -> AbstractValue:
    """Weaken a type to what an argument can be tested for; what can only be inferred is dropped."""
    if isinstance(kind, Some):
        return ANY
    if isinstance(kind, Items) and not items:
        return kind.untested()
    if isinstance(kind, Union):
        found: AbstractValue = BOTTOM
        for member in kind.members:
            found = join(found, Type(member.cls) if isinstance(member, Refined) and member.told is None else _tested(member, items))
        return found
    return kind


__all__ = ["annotated", "is_spec", "part_of"]
