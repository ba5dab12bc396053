"""Operations that create objects and fill containers."""

import contextlib
import functools
import importlib
import itertools
import types
from collections.abc import Callable, Iterable
from typing import Any

from hovis.ir.operations.sentinels import END, UNBOUND
from hovis.ir.operations.variables import cell_get
from hovis.ir.operations.wording import NO_DICT, NO_ITERABLE, NO_KEYS, NO_MAPPING, TELLS_FUNCTION, complaint, type_name


def make_tuple(*items: object) -> tuple[object, ...]:
    """A tuple of the items."""
    return items


def make_list(*items: object) -> list[object]:
    """A new list of the items."""
    return list(items)


def make_set(*items: object) -> set[object]:
    """A new set of the items."""
    return set(items)


def make_dict(*keys_and_values: object) -> dict[object, object]:
    """A new dict of key, value, key, value, …"""
    return dict(zip(keys_and_values[::2], keys_and_values[1::2], strict=True))


def make_object(cls: type, names: tuple[str, ...], *values: object) -> object:
    """An instance of cls with these attributes, made without running any code of the class."""
    instance: object = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(instance, name, value)
    return instance


def make_stored(cls: type, names: tuple[str, ...], held: Any, *values: object) -> object:
    """An instance of cls, a subclass of a builtin class, with the contents of held and these attributes, made without running any code of the
    class.
    """
    base = type(held)
    instance: Any = base.__new__(cls, held)
    if base is list or base is dict:
        base.__init__(instance, held)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(instance, name, value)
    return instance


def make_template(strings: tuple[str, ...], interpolations: tuple[Any, ...]) -> object:
    """BUILD_TEMPLATE: the template string with these parts (PEP 750)."""
    parts = itertools.chain.from_iterable(itertools.zip_longest(strings, interpolations, fillvalue=""))
    made: object = importlib.import_module("string.templatelib").Template(*parts)
    return made


def make_cell(contents: object) -> types.CellType:
    """A closure cell; empty if contents is UNBOUND."""
    return types.CellType() if contents is UNBOUND else types.CellType(contents)


def make_function(
    code: types.CodeType,
    namespace: dict[str, Any],
    name: str,
    qualname: str,
    defaults: tuple[object, ...] | None,
    kwdefaults: dict[str, object] | None,
    annotations: object,
    *cells: types.CellType,
) -> types.FunctionType:
    """The function that MAKE_FUNCTION makes (CPython: Python/bytecodes.c)."""
    made = types.FunctionType(code, namespace, name, defaults, cells or None)
    made.__qualname__ = qualname
    if kwdefaults:
        made.__kwdefaults__ = kwdefaults
    if isinstance(annotations, types.FunctionType):
        made.__annotate__ = annotations  # type: ignore[attr-defined]
        return made
    if isinstance(annotations, tuple):
        annotations = dict(zip(annotations[::2], annotations[1::2], strict=True))
    if annotations:
        made.__annotations__ = annotations  # type: ignore[assignment]
    return made


def is_plain(value: object) -> bool:
    """Is value, as an attribute of a class, a plain value: does its class define no descriptor method?"""
    return not any(name in base.__dict__ for base in type(value).__mro__ for name in ("__get__", "__set__", "__delete__", "__set_name__"))


def make_class(meta: type, name: str, bases: tuple[type, ...], names: tuple[str, ...], *values: object) -> type:
    """The class that a class statement makes from the namespace that its body has filled."""
    made: type = meta(name, bases, dict(zip(names, values, strict=True)))
    return made


class _Quiet:
    """A temporary first base of a class under construction: it prevents the call of ``__init_subclass__`` of the other bases."""

    def __init_subclass__(cls, **_: object) -> None:
        """Do nothing."""


class _QuietSlots:
    """`_Quiet` for classes whose instances have no dictionary."""

    __slots__ = ()

    def __init_subclass__(cls, **_: object) -> None:
        """Do nothing."""


def make_class_quietly(meta: type, name: str, bases: tuple[type, ...], names: tuple[str, ...], *values: object) -> type:
    """`make_class` without the call of ``__init_subclass__``, which has already been made."""
    first: type = _Quiet if any(base.__dictoffset__ for base in bases) else _QuietSlots
    made: type = meta(name, (first, *bases), dict(zip(names, values, strict=True)))
    made.__bases__ = bases
    return made


def finish_class(meta: type, name: str, bases: tuple[type, ...], namespace: dict[str, Any], cell: types.CellType | None, named: dict[str, Any]) -> type:
    """The part of ``__build_class__`` after the body has run, for a class of plain bases."""
    made: type = meta(name, bases, namespace, **named)
    if cell is not None and cell_get(cell, "__class__", True) is not made:
        raise TypeError(f"__class__ set to {cell.cell_contents!r} defining {name!r} as {made!r}")
    return made


def bind(function: Callable[..., object], instance: object) -> types.MethodType:
    """A bound method."""
    return types.MethodType(function, instance)


def make_key(compare: Callable[[Any, Any], Any], value: object) -> object:
    """``functools.cmp_to_key(compare)``, or, if value is given (it is not END), the key that this makes of it."""
    made = functools.cmp_to_key(compare)
    return made if value is END else made(value)


def list_extend(items: list[object], iterable: Iterable[object]) -> None:
    """LIST_EXTEND: ``[*iterable]``, whose error message differs from that of ``list.extend``."""
    if not hasattr(type(iterable), "__iter__") and not hasattr(type(iterable), "__getitem__"):
        raise TypeError(complaint(NO_ITERABLE, iterable))
    items.extend(iterable)


def arrange(keys: list[Any], items: list[object], reverse: bool) -> list[object]:
    """The items in the order of their keys: the result of ``sorted(items, key=…)`` where keys are the results of the key function."""
    return [items[k] for k in sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)]


def dict_merge(target: dict[object, object], mapping: Any, function: Any) -> None:
    """DICT_MERGE: ``f(**mapping)``, which raises TypeError for a key that is given twice."""
    keys = mapping.keys() if hasattr(mapping, "keys") else _not_a_mapping(function, mapping)
    iterator = None
    with contextlib.suppress(TypeError):
        iterator = iter(keys)
    if iterator is None:
        raise TypeError(complaint(NO_KEYS, mapping, keys))
    for key in iterator:
        if key in target:
            raise TypeError(f"{_called(function)} got multiple values for keyword argument {key!r}")
        target[key] = mapping[key]


def _not_a_mapping(function: Any, mapping: Any) -> Any:
    if not TELLS_FUNCTION:
        raise TypeError(complaint(NO_MAPPING, mapping))
    raise TypeError(f"{_called(function)} argument after ** must be a mapping, not {type_name(mapping)}")


def _called(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    module = getattr(function, "__module__", None)
    if name is None:
        return str(function)
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"


def dict_update(target: dict[object, object], mapping: Any) -> None:
    """DICT_UPDATE: ``{**mapping}``."""
    if not hasattr(mapping, "keys"):
        raise TypeError(complaint(NO_DICT, mapping))
    target.update(mapping)
