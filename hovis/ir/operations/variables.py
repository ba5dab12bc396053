"""Variables: globals, cells, the dict of ``locals()``, imports; and the lifetime of the values of variables."""

import builtins
import functools
import types
from typing import Any, Final

from hovis.ir.operations.sentinels import END, UNBOUND

#: The class of what ``lazy import`` binds until it is read; None before 3.15.
LAZY: Final[type | None] = getattr(types, "LazyImportType", None)


def load_global(namespace: dict[str, Any], name: str) -> object:
    """A global, else a builtin, else NameError (LOAD_GLOBAL)."""
    found = namespace.get(name, END)
    if found is END:
        scope = namespace.get("__builtins__", builtins)
        found = (scope if isinstance(scope, dict) else vars(scope)).get(name, END)
    if found is END:
        raise NameError(f"name {name!r} is not defined", name=name)
    return found if LAZY is None or type(found) is not LAZY else types.FunctionType(_reader(name), namespace)()


@functools.lru_cache(maxsize=256)
def _reader(name: str) -> types.CodeType:
    """Return the code of a function that returns a global: CPython imports what is to be imported when it is read (PEP 810)."""
    scope: dict[str, Any] = {}
    exec(f"def read(): return {name}", scope)
    code: types.CodeType = scope["read"].__code__
    return code


def load_build_class() -> object:
    """The function that class statements call, or NameError (LOAD_BUILD_CLASS)."""
    found: object = vars(builtins).get("__build_class__", END)
    if found is END:
        raise NameError("__build_class__ not found")
    return found


def store_global(namespace: dict[str, Any], name: str, value: object) -> None:
    """STORE_GLOBAL."""
    namespace[name] = value


def delete_global(namespace: dict[str, Any], name: str) -> None:
    """DELETE_GLOBAL."""
    if name not in namespace:
        raise NameError(f"name {name!r} is not defined", name=name)
    del namespace[name]


def load_name(names: dict[str, Any], namespace: dict[str, Any], name: str) -> object:
    """A name of a class body, else a global, else a builtin (LOAD_NAME)."""
    return names[name] if name in names else load_global(namespace, name)


def load_name_or_cell(names: dict[str, Any], cell: types.CellType, name: str) -> object:
    """A name of a class body, else a variable of an enclosing function (LOAD_FROM_DICT_OR_DEREF)."""
    return names[name] if name in names else cell_get(cell, name, True)


def delete_name(names: dict[str, Any], name: str) -> None:
    """DELETE_NAME."""
    if name not in names:
        raise NameError(f"name {name!r} is not defined", name=name)
    del names[name]


def cell_get(cell: types.CellType, name: str, free: bool) -> object:
    """The contents of a cell, NameError if it is empty (LOAD_DEREF)."""
    try:
        found: object = cell.cell_contents
    except ValueError:
        found = UNBOUND
    return check_bound(found, name, free)


def cell_set(cell: types.CellType, value: object) -> None:
    """STORE_DEREF; with UNBOUND, DELETE_DEREF of a bound cell."""
    if value is UNBOUND:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def unbound(name: str, free: bool) -> NameError:
    """The exception for reading a local (or, if free, a variable of an enclosing function) that has no value."""
    if free:
        return NameError(f"cannot access free variable {name!r} where it is not associated with a value in enclosing scope", name=name)
    return UnboundLocalError(f"cannot access local variable {name!r} where it is not associated with a value")


def check_bound(value: object, name: str, free: bool = False) -> object:
    """value; if it is UNBOUND, raise the NameError for the variable."""
    if value is UNBOUND:
        raise unbound(name, free)
    return value


def cell_contents(cell: types.CellType) -> object:
    """The contents of a cell, UNBOUND if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def refresh_locals(scope: dict[str, object] | None, names: tuple[str, ...], *values: object) -> dict[str, object]:
    """The dict of ``locals()`` with current values, or a new one."""
    found = {} if scope is None else scope
    for name, value in zip(names, values, strict=True):
        if value is UNBOUND:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def unchanged(environment: Any) -> bool:
    """Do the facts that were folded from the environment still hold? Checked again after an opaque call."""
    held: bool = environment.hold()
    return held


def drop(value: object) -> None:
    """Mark the end of the lifetime of value: the residual does not hold it any longer."""


def meet() -> None:
    """Mark a point where paths of an interpreted program meet: hovis merges its own paths there, if it traces the interpreter."""


def keep(value: object) -> None:
    """Mark that an exception leaves the residual: its traceback holds the frame, which holds value."""


def import_name(namespace: dict[str, Any], name: str, fromlist: tuple[str, ...] | None, level: int) -> object:
    """IMPORT_NAME."""
    scope = namespace.get("__builtins__", builtins)
    importer = scope["__import__"] if isinstance(scope, dict) else scope.__import__
    return importer(name, namespace, None, fromlist, level)


def import_from(module: Any, name: str) -> object:
    """IMPORT_FROM (``import_from`` of CPython's Python/ceval.c)."""
    scope: dict[str, Any] = {"__builtins__": {"__import__": lambda *_: module}}
    exec(_FROM.replace(co_names=tuple(name if known == "item" else known for known in _FROM.co_names)), scope)
    return scope["found"]


_FROM: Final = compile("from _ import item as found", "<hovis>", "exec")
