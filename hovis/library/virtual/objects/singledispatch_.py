"""Actions for the decisions of ``singledispatch`` by the class of its argument (CPython: Lib/functools.py)."""

import abc
import builtins
import functools
import sys
import types
import typing
from typing import Any, Final

from hovis.engine.machine.call_results import opaque
from hovis.engine.machine.machine import Machine
from hovis.engine.objects import functions
from hovis.engine.state import class_templates
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import ABSENT, find
from hovis.engine.state.values import FALSE, NONE, TRUE, Known, Ref, V, labels_of, relabel
from hovis.ir.operations import UNBOUND
from hovis.lattice.inspection import attribute, is_a
from hovis.library.core import Action
from hovis.library.virtual.base import VIRTUAL, Args, Named, action, use

_DISPATCH: Final[Any] = functools.singledispatch(lambda x: None).dispatch
_FIND: Final[Any] = functools._find_impl  # type: ignore[attr-defined]


def dispatch(m: Machine, args: Args, named: Named) -> Any:
    """Return the function for a known class; the dispatch cache is filled only at run time."""
    if len(args) != 2 or named:
        return None
    callee, cls = args[0], m.resolve(args[1])
    if not isinstance(cls, Known) or not is_a(cls.value, type):
        return opaque(m, callee, [cls])
    classes, functions = _registry(m, callee)
    try:
        chosen = _FIND(cls.value, {key: key for key in classes})
    except RuntimeError:
        chosen = None
    if chosen not in classes:
        return opaque(m, callee, [cls])
    use(m, cls)
    return relabel(functions[classes.index(chosen)], labels_of(cls))


def _registry(m: Machine, callee: V) -> tuple[list[Any], list[V]]:
    """Return the classes that are known to be registered, and their functions."""
    at = _DISPATCH.__code__.co_freevars.index("registry")
    if isinstance(callee, Known):
        held = callee.value.__closure__[at].cell_contents  # type: ignore[attr-defined]
        return ([*held], [Known(fn) for fn in held.values()]) if m.environment.static(Known(held)) else ([], [])
    function = m.obj(callee, "function")
    cell = m.obj(function.closure[at], "cell") if function is not None else None
    known = m.obj(cell.cells[0], "dict") if cell is not None else None
    return ([], []) if known is None else ([*known.keys], [*known.cells])


def _can_register(of_class: Known) -> Action:
    """Make the action for the tests of ``register``: whether its argument is a class (with the answer of_class) or a union of classes. A
    function is neither; its annotations are used.
    """

    def rule(m: Machine, args: Args, named: Named) -> Any:
        asked = m.resolve(args[1]) if len(args) == 2 and not named else NONE
        if isinstance(asked, Known) and is_a(asked.value, type):
            return of_class
        return FALSE if m.class_of(asked) is types.FunctionType else None

    return rule


@action(typing.get_type_hints, counts=(1, 1))
def type_hints(m: Machine, args: Args, named: Named) -> Any:
    """``typing.get_type_hints``, where the annotations are classes."""
    if isinstance(args[0], Known) and type(args[0].value) in (type, abc.ABCMeta):
        return _hints_of_class(m, args[0])
    obj = m.obj(args[0], "function")
    if obj is None or not isinstance(args[0], Ref) or functions.get(m, args[0], obj, "__no_type_check__") is not ABSENT:
        return None
    found = functions.get(m, args[0], obj, "__annotations__")
    told = m.obj(found, "dict") if found is not functions.UNKNOWN else None
    if told is None or not all(isinstance(c, Known) and type(c.value) in (type, abc.ABCMeta, type(None)) for c in told.cells):
        return None
    hints = tuple(Known(type(None)) if isinstance(c, Known) and c.value is None else c for c in told.cells)
    return m.new(VObj("dict", dict, hints, told.keys))


def _hints_of_class(m: Machine, cls: Known) -> Any:
    """Return the hints of a known class and its bases if all are classes; else None."""
    hints: dict[str, Any] = {}
    kind: Any = cls.value
    if class_templates.template_of(kind) is not None or "__no_type_check__" in dir(kind):
        return None
    for base in reversed(kind.__mro__):
        find(base, "__annotations__")  # this adds a guard
        told = vars(base).get("__annotations__", {})
        if type(told) is not dict or not m.environment.static(Known(told)):
            return None
        hints.update((name, _named_class(m, base, x)) for name, x in told.items())
    if not all(type(x) in (type, abc.ABCMeta, type(None)) for x in hints.values()):
        return None
    use(m, cls)
    cells = tuple(Known(type(None) if x is None else x, cls.labels) for x in hints.values())
    return m.new(VObj("dict", dict, cells, tuple(hints)), cls.labels)


def _named_class(m: Machine, cls: type, hint: Any) -> Any:
    """Return the value of a string annotation that is a plain name, from the module of cls. Any other annotation is returned unchanged, and so
    is a name in the class's own namespace.
    """
    module = sys.modules.get(cls.__module__)
    if type(hint) is not str or not hint.isidentifier() or module is None:
        return hint
    find(cls, hint), find(cls, "__type_params__")  # these add guards
    params = vars(cls).get("__type_params__", ())
    if hint in vars(cls) or type(params) is not tuple or any(hint == attribute(param, "__name__") for param in params):
        return hint
    for namespace in (vars(module), vars(builtins)):
        if id(namespace) in m.tables.thawed or (id(namespace), hint) in m.tables.thawed_globals:
            return hint
        m.environment.read_static |= {("global", id(namespace), hint), id(namespace)}
        found = namespace.get(hint, UNBOUND)
        m.environment.guard("item", namespace, hint, found)
        if found is not UNBOUND:
            return found
    return hint


#: The code objects of the functions nested in ``functools.singledispatch``, by name.
_INNER: Final = {code.co_name: code for code in functools.singledispatch.__code__.co_consts if isinstance(code, types.CodeType)}
_ACTIONS: Final = {"dispatch": dispatch, "_is_valid_dispatch_type": _can_register(TRUE), "_is_union_type": _can_register(FALSE)}
VIRTUAL.codes.update((id(_INNER[name]), action) for name, action in _ACTIONS.items() if name in _INNER)
