"""Handlers of calls, and of instructions that make functions, classes and modules."""

import builtins
import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any, Final

from hovis.bytecode.normalize import ANNOTATE_NAMED_LATER, normalize
from hovis.engine.call import call
from hovis.engine.control import raising, unpacking
from hovis.engine.machine.call_results import finish, opaque
from hovis.engine.machine.handler_table import handles
from hovis.engine.machine.machine import Machine
from hovis.engine.names import variables
from hovis.engine.state.heap import VObj
from hovis.engine.state.values import NONE, Known, Ref, V
from hovis.ir import operations as ops
from hovis.ir.model import Effect

# ------------------------------------------------------------------------------------------------- calls


@handles("Call")
def call_(m: Machine, arg: Any) -> int | None:
    count, names = arg
    named = m.popn(len(names)) if names else ()
    m.given = args = m.popn(count)
    return call(m, m.pop(), args, dict(zip(names, named, strict=True)) if names else {})


@handles("CallEx")
def call_ex(m: Machine, has_kwargs: bool) -> int | None:
    kwargs = m.pop() if has_kwargs else None
    args = m.pop()
    callee = m.pop()
    items = unpacking.items_in_sight(m, args)
    named = m.obj(kwargs, "dict") if kwargs is not None else None
    if items is not None and (kwargs is None or (named is not None and all(type(k) is str for k in named.keys))):
        m.given = items
        return call(m, callee, items, dict(zip(named.keys, named.cells, strict=True)) if named else {})
    if kwargs is None:
        return finish(m, opaque(m, ops.apply_positional, [callee, args]), "value")
    return finish(m, opaque(m, ops.apply, [callee, args, kwargs]), "value")


@handles("MakeFunction")
def make_function(m: Machine, attrs: tuple[str, ...]) -> None:
    code = m.pop()
    assert isinstance(code, Known)
    values = dict(zip(attrs, m.popn(len(attrs)), strict=True))
    inner = normalize(code.value)  # type: ignore[arg-type]
    cells = _closure(m, values.get("closure"))
    fixed = (values.get("defaults", NONE), values.get("kwdefaults", NONE), values.get("annotations", NONE))
    extra = (inner, m.frame.namespace, inner.name, inner.qualname)
    m.push(m.new(VObj("function", type(make_function), (*fixed, *cells), extra=extra)))


def _closure(m: Machine, closure: V | None) -> tuple[V, ...]:
    if closure is None:
        return ()
    obj = m.obj(closure, "tuple")
    assert obj is not None
    return obj.cells


#: The cells of a function with its attributes. The annotations are a tuple of names and values, or what makes them (3.14).
_FIXED: Final = {"defaults": 0, "kwdefaults": 1, "annotations": 2, "annotate": 2}


@handles("SetFunctionAttr")
def set_function_attr(m: Machine, name: str) -> None:
    function, value = m.pop(), m.pop()
    assert isinstance(function, Ref)
    obj = m.state.heap[function.aid]
    if name == "closure":
        obj = obj.replace(cells=(*obj.cells[:3], *_closure(m, value)))
    else:
        obj = obj.with_cell(_FIXED[name], value)
    if name == "annotate" and ANNOTATE_NAMED_LATER and isinstance(value, Ref):
        maker = m.state.heap[value.aid]
        m.put(value, maker.replace(extra=(*maker.extra[:3], f"{obj.extra[3]}.{maker.extra[2]}")))
    m.put(function, obj)
    m.push(function)


@handles("BuildClass")
def build_class(m: Machine, _: Any) -> int | None:
    scope = variables.builtins_of(m.frame.namespace)
    found = builtins.__build_class__ if m.frame.code.filename.startswith(m.package) else m.environment.item(scope, "__build_class__")
    if found is not ops.UNBOUND:
        m.push(Known(found))
        return None
    if scope is not vars(builtins):
        return raising.give_up(m, "a class statement with builtins of its own")
    m.push(m.emit(ops.load_build_class, [], effect=Effect.READS | Effect.RAISES))
    return None


@handles("Import")
def import_(m: Machine, name: str) -> int | None:
    fromlist, level = m.pop(), m.pop()
    if isinstance(level, Known) and isinstance(fromlist, Known):
        absolute = _absolute(m, name, level.value) if level.value else name  # type: ignore[arg-type]
        module = None if absolute is None else _imported(m, absolute, fromlist.value)  # type: ignore[arg-type]
        if module is not None:
            m.push(Known(module))
            return None
    args = [Known(m.frame.namespace), Known(name), fromlist, level]
    m.push(m.emit(ops.import_name, args))
    return None


def _absolute(m: Machine, name: str, level: int) -> str | None:
    """Return the absolute name of a module that is imported by a relative one (resolve_name in Python/import.c), or None if it is not certain."""
    package, spec = (m.environment.item(m.frame.namespace, part) for part in ("__package__", "__spec__"))
    if type(package) is not str or type(spec) is not ModuleSpec or type(spec.name) is not str:
        return None
    parent = spec.name if spec.submodule_search_locations is not None else spec.name.rpartition(".")[0]
    parts = package.split(".")
    if parent != package or not package or level > len(parts):
        return None
    return ".".join([*parts[: len(parts) - level + 1], *([name] if name else [])])


def _imported(m: Machine, name: str, fromlist: tuple[str, ...] | None) -> object:
    """Return the module that an import gives, if nothing has to be loaded for it (PyImport_ImportModuleLevelObject); else None."""
    scope = m.frame.namespace.get("__builtins__", builtins)
    if m.environment.item(scope if isinstance(scope, dict) else vars(scope), "__import__") is not _IMPORT:
        return None
    modules = [m.environment.item(sys.modules, part) for part in dict.fromkeys((name, name if fromlist else name.partition(".")[0]))]
    for module in modules:
        if not isinstance(module, types.ModuleType) or getattr(vars(module).get("__spec__"), "_initializing", False):
            return None
    if fromlist:
        held = vars(modules[0])
        # if it is a package, submodules may have to be loaded
        if type(modules[0]) is not types.ModuleType or ("__path__" in held and any(part not in held for part in fromlist)):
            return None
        if "__getattr__" in held and "__path__" not in held and name.partition(".")[0] not in sys.stdlib_module_names:
            return None  # ``__getattr__`` is called for ``__path__`` (_handle_fromlist of Lib/importlib/_bootstrap.py), visibly if it is user code
    return modules[-1]


_IMPORT: Final = builtins.__import__


@handles("ImportFrom")
def import_from(m: Machine, name: str) -> int | None:
    module = m.frame.stack[-1]
    if isinstance(module, Known) and type(module.value) is types.ModuleType:
        value = m.environment.item(vars(module.value), name)
        if value is not ops.UNBOUND:
            m.push(Known(value))
            return None
    m.push(m.emit(ops.import_from, [module, Known(name)]))
    return None
