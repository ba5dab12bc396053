"""Conversion of type hints to specs: hints of ``typing``, ``collections.abc`` and NumPy, and the annotations of a function.

A hint means exact classes, as specs do.  A hint that many classes fit (an abstract class, a protocol, an unbound type variable) means unknown.
The types of items are relied on only where they can be tested: the items of ``tuple[int, str]`` and the values of a
TypedDict on entry, the classes of the items of a ``list[int]`` where the items are read (``engine/control/tested_items``).
"""

import functools
import inspect
import types
import typing
from collections.abc import Iterable
from typing import Any, Final

from hovis.arguments.specs import Array, Bool, Empty, NoneType, OneOf, Spec, Str
from hovis.errors import SpecError, said
from hovis.ir.naming import NUMPY_SCALARS
from hovis.lattice import ANY, AbstractValue, Either, Items, Type, Union, join
from hovis.lattice import Array as ArrayType

_MODULES: Final = ("typing", "typing_extensions")
_ALIASES: Final = (types.GenericAlias, types.UnionType)
#: Modules of the generic classes whose arguments have to be hints.
_CONTAINERS: Final = ("builtins", "collections")

ADVICE: Final = "write hovis.const(…) around it if the object itself is the known value"


def is_hint(value: object) -> bool:
    """Is value a type hint? (Classes do not count.)"""
    kind = type(value)
    if value is typing.Union or kind is typing.ForwardRef:
        return True  # a class, and of a module of its own, since 3.14
    return issubclass(kind, _ALIASES) or (kind.__module__ in _MODULES and not issubclass(kind, type))


def of_hint(hint: object) -> Any:
    """Return the spec that a hint or a class stands for; a spec is returned as it is.

    >>> of_hint(int | None), of_hint(tuple[int, str]), of_hint(list[int]), of_hint(typing.Literal["a", 1])
    (Int | None, (Int, Str), list[Int], OneOf('a', 1))
    """
    return _Reader(frozenset()).read(hint)


def of_class(cls: type) -> Any:
    """Return the spec that a class stands for: exactly this class, or unknown if only its subclasses have instances."""
    return _Reader(frozenset()).of_class(cls)


class _Reader:
    """Converts a hint to a spec; ``inside`` has the ids of the aliases and typed dicts that are being expanded."""

    def __init__(self, inside: frozenset[int]) -> None:
        self.inside = inside

    def read(self, hint: Any) -> Any:
        if hint is None:
            return NoneType
        if hint is object:
            return ANY
        if is_hint(hint):
            return self._of_hint(hint, typing.get_origin(hint), typing.get_args(hint))
        if isinstance(hint, type):
            return self.of_class(hint)
        if isinstance(hint, AbstractValue | Spec | Either):
            return hint
        raise SpecError(f"{said(hint)} in a type hint is neither a class nor a hint")

    def of_class(self, cls: Any) -> Any:
        if typing.is_typeddict(cls):
            return self._of_typed_dict(cls)
        # typing's own classes, such as IO, stand for classes that are not derived from them
        if cls.__module__ in _MODULES or inspect.isabstract(cls) or cls.__dict__.get("_is_protocol"):
            return ANY
        return Type(cls)

    def _of_hint(self, hint: Any, origin: Any, args: tuple[Any, ...]) -> Any:
        name = getattr(origin or hint, "_name", None)
        if origin in (typing.Union, types.UnionType):
            return _either([self.read(arg) for arg in args])
        if origin is typing.Literal:
            return OneOf(*args)
        if origin is typing.Annotated:
            return next((told for told in hint.__metadata__ if isinstance(told, AbstractValue | Spec | Either)), None) or self.read(args[0])
        if args and name in ("ClassVar", "Final", "Required", "NotRequired", "ReadOnly"):
            return self.read(args[0])
        if args and name in ("TypeGuard", "TypeIs"):
            return Bool
        if isinstance(origin, type):
            return self._of_generic(hint, origin, args)
        if origin is None or hasattr(type(origin), "__value__"):
            return self._of_name(hint, origin or hint, name)
        raise SpecError(f"the hint {said(hint)} does not describe an argument: give the class, or hovis.Any")

    def _of_name(self, hint: Any, origin: Any, name: str | None) -> Any:
        """Return the spec of a type variable, a new type, an alias or another name."""
        if hasattr(type(origin), "__value__"):
            return self._of_alias(origin)
        if isinstance(hint, typing.NewType):
            return self.read(hint.__supertype__)
        if isinstance(hint, typing.TypeVar):
            return self._of_variable(hint)
        if isinstance(hint, typing.ForwardRef):
            raise SpecError(f"{hint.__forward_arg__!r} is a name that can't be resolved here: write the class itself (annotations=True resolves annotations)")
        if type(hint).__name__ in ("ParamSpec", "ParamSpecArgs", "ParamSpecKwargs") or name == "Self":
            return ANY
        if name == "LiteralString":
            return Str
        raise SpecError(f"the hint {said(hint)} does not describe an argument: give the class, or hovis.Any; {ADVICE}")

    def _of_alias(self, alias: Any) -> Any:
        if id(alias) in self.inside:
            return ANY
        try:
            value = alias.__value__
        except Exception as error:
            raise SpecError(f"the value of the alias {said(alias)} can't be determined: {_told(error)}") from None
        return _Reader(self.inside | {id(alias)}).read(value)

    def _of_variable(self, variable: Any) -> Any:
        try:
            bound, constraints = variable.__bound__, variable.__constraints__
        except Exception as error:
            raise SpecError(f"the bound of the type variable {said(variable)} can't be determined: {_told(error)}") from None
        if constraints:
            return _either([self.read(one) for one in constraints])
        return ANY if bound is None else self.read(bound)

    def _of_generic(self, hint: Any, origin: Any, args: tuple[Any, ...]) -> Any:
        if origin.__module__ in _CONTAINERS:
            for arg in args:
                _check(hint, arg)
        if origin is tuple:
            return self._of_tuple(hint, args)
        if (found := self._of_items(origin, args)) is not None:
            return found
        if origin is type:
            return Type(type(args[0]) if args and isinstance(args[0], type) and args[0] is not Any else type)
        if (origin.__module__, origin.__name__) == ("numpy", "ndarray"):
            return _of_array(origin, args)
        return self.of_class(origin)

    def _of_items(self, origin: Any, args: tuple[Any, ...]) -> Items | None:
        """Return the spec of a builtin container whose item classes the hint gives, or None if it does not."""
        count = 2 if origin is dict else 1 if origin in (list, set, frozenset) else 0
        found = [self._classes(arg) for arg in args] if count and len(args) == count else [None]
        return None if None in found else Items(origin, found[-1], found[0] if count == 2 else None)  # type: ignore[arg-type]

    def _classes(self, arg: Any) -> AbstractValue | None:
        """Return the classes that items may have, or None if the hint does not give all of them."""
        if arg is not None and not isinstance(arg, type) and not is_hint(arg):
            return None
        try:
            spec = self.read(arg)
        except SpecError:
            return None
        if isinstance(spec, tuple | dict | Empty):
            spec = Type(spec.kind if isinstance(spec, Empty) else type(spec))
        if isinstance(spec, Items):
            return spec
        members = spec.members if isinstance(spec, Union) else (spec,)
        if not all(isinstance(member, Type) and not isinstance(member, ArrayType) for member in members):
            return None
        found: list[AbstractValue] = [Type(member.cls) for member in members if isinstance(member, Type)]
        return functools.reduce(join, found)

    def _of_tuple(self, hint: Any, args: tuple[Any, ...]) -> Any:
        if len(args) == 2 and args[1] is Ellipsis and (item := self._classes(args[0])) is not None:
            return Items(tuple, item)
        if type(hint).__name__ == "_TupleType" or Ellipsis in args or any(map(_is_unpacked, args)):
            return Type(tuple)
        return tuple([self.read(arg) for arg in args]) or Empty(tuple)

    def _of_typed_dict(self, cls: Any) -> Any:
        """Return a dict of specs, in this order, if all keys are required; else the spec of any dict."""
        if id(cls) in self.inside or cls.__optional_keys__:
            return Type(dict)
        try:
            fields = typing.get_type_hints(cls, include_extras=True)
        except Exception as error:
            raise SpecError(f"the annotations of {cls.__qualname__} can't be resolved: {_told(error)}; give {{key: spec, …}}, or dict") from None
        reader = _Reader(self.inside | {id(cls)})
        return {key: reader.read(field) for key, field in fields.items()} or Empty(dict)


def _either(specs: list[Any]) -> Any:
    """Return the spec of one of several kinds, in its shortest form."""
    found = specs[0]
    for spec in specs[1:]:
        found = found | spec if isinstance(found, AbstractValue) else Either((found, spec))
    return found


def _check(hint: Any, arg: Any) -> None:
    """Raise SpecError if ``arg``, the type of a container's items, is not a hint. (It is not relied on here.)"""
    if not (arg is None or arg is Ellipsis or isinstance(arg, type | str | AbstractValue | Spec | Either) or is_hint(arg)):
        raise SpecError(f"{said(arg)} in the hint {said(hint)} is neither a class nor a hint; {ADVICE}")


def _is_unpacked(arg: Any) -> bool:
    return bool(getattr(arg, "__unpacked__", False)) or getattr(typing.get_origin(arg), "_name", None) == "Unpack" or type(arg).__name__ == "TypeVarTuple"


def _of_array(cls: type, args: tuple[Any, ...]) -> Any:
    """Return the spec of an array with the dtype and rank of the hint, or of any array if it does not give them."""
    shape, dtype = args if len(args) == 2 else (Any, Any)
    scalar = next(iter(typing.get_args(dtype)), None)
    sizes = typing.get_args(shape) if typing.get_origin(shape) is tuple else (Ellipsis,)
    if not isinstance(scalar, type) or scalar.__module__ != "numpy" or scalar.__name__.rstrip("_") not in NUMPY_SCALARS:
        return Type(cls)
    if Ellipsis in sizes or any(map(_is_unpacked, sizes)):
        return Type(cls)
    return Array(scalar.__name__.rstrip("_"), tuple(map(_size, sizes)))


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _size(hint: Any) -> int | None:
    values = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    return values[0] if len(values) == 1 and type(values[0]) is int and values[0] >= 0 else None


# ------------------------------------------------------------------------------------------------- annotations


def resolved(function: types.FunctionType, name: str) -> Any:
    """Return the annotation of a parameter, evaluated if it is a string. No other annotation is evaluated."""
    note = function.__annotations__[name]
    variables = getattr(function, "__type_params__", ())
    holder = types.SimpleNamespace(__annotations__={name: note}, __type_params__=variables)
    try:
        return typing.get_type_hints(holder, function.__globals__, dict(_around(function, variables)), include_extras=True)[name]
    except Exception as error:
        raise SpecError(f"the annotation {said(note)} can't be resolved: {_told(error)}; give a spec, or hovis.Any") from None


def _around(function: types.FunctionType, variables: Iterable[Any]) -> Iterable[tuple[str, Any]]:
    """Yield the names, with values, that an annotation may use besides globals: the variables around the function, and its type parameters."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue
    for variable in variables:
        yield variable.__name__, variable


__all__ = ["ADVICE", "is_hint", "of_class", "of_hint", "resolved"]
