"""Construction of templates: the class that a traced class statement makes, and the signature that determines it."""

import types
from collections.abc import Hashable
from typing import Any, Final

from hovis.engine.machine.constant_folding import NO_CONSTANT, reify
from hovis.engine.machine.machine import Machine
from hovis.engine.objects import functions
from hovis.engine.objects.attribute_presence import presence
from hovis.engine.objects.class_attributes import WRAPPERS, is_special, plain
from hovis.engine.state.class_templates import ALL, Datum, Names, Template, Token
from hovis.engine.state.heap import VObj
from hovis.engine.state.type_lookup import FUNCTION, special
from hovis.engine.state.values import Dyn, Known, Ref, V
from hovis.ir import operations as ops
from hovis.lattice.constants import constant_key


class NotPlain(Exception):
    """No template can be made; args: the reason."""


def init_subclass(bases: list[Any]) -> Any:
    """Return the ``__init_subclass__`` that a class with these bases calls; None if it is that of object, which does nothing."""
    for cls in _behind(bases):
        found = cls.__dict__.get("__init_subclass__")
        if found is not None:
            return None if cls is object else found.__func__ if isinstance(found, classmethod) else found
    return None


def _behind(bases: list[Any]) -> list[Any]:
    """Compute the MRO of a class with these bases, without the class itself (mro_implementation); it is empty if there is none."""
    rows = [list(base.__mro__) for base in bases] + [list(bases)]
    found: list[Any] = []
    while any(rows):
        rows = [row for row in rows if row]
        first = next((row[0] for row in rows if not any(row[0] in other[1:] for other in rows)), None)
        if first is None:
            return []
        found.append(first)
        rows = [[cls for cls in row if cls is not first] for row in rows]
    return found


#: The name of the cell that is filled with the namespace of the class; what a body leaves for ``type.__new__`` alone.
CLASS_DICT: Final = "__classdictcell__"
CELLS: Final = frozenset({"__classcell__", CLASS_DICT})


class Signature:
    """Computes the signature of a template: equal namespaces give the same template when a place is traced again."""

    def __init__(self, m: Machine, meta: type, opened: tuple[str, ...]) -> None:
        self.m = m
        self.meta = meta
        self.seen: dict[int, str] = {}
        self.names = Names()
        self.names.open.update(opened)

    def of(self, name: str, value: V) -> Hashable:
        value = self.m.resolve(value)
        cls = self.m.class_of(value)
        if self.meta is not type and self._may_be_abstract(value):
            raise NotPlain(f"its attribute {name} may be abstract")
        if cls is not None and special(cls, "__set_name__"):
            if is_special(name) or name in self.names.open or not isinstance(value, Ref) or self.m.obj(value, "instance") is None:
                raise NotPlain(f"its attribute {name} has a __set_name__")
            self.names.named[name] = None
            return "named", id(cls)
        if name in CELLS:
            return "cell"
        if name == "__subclasshook__":
            raise NotPlain("it has a __subclasshook__")
        if name in self.names.open:
            return "open"
        if not is_special(name) or name == "__annotations__":
            if plain(self.m, value):
                self.names.data.add(name)
                return "data"
            if cls is None and isinstance(value, Dyn) and not self.m.catching():
                self.names.data.add(name)
                self.names.checked.add(name)
                return "data"
        if isinstance(value, Known):
            return constant_key(value.value)
        if isinstance(value, Ref):
            return self._of_object(name, value)
        raise NotPlain(f"its attribute {name} is not known")

    def _may_be_abstract(self, value: V) -> bool:
        """Does the value have something that ABCMeta would ask for, and for which the template has no answer?"""
        if isinstance(value, Ref) and self.m.state.heap[value.aid].kind in ("function", *WRAPPERS):
            return False
        known = isinstance(value, Known) and isinstance(value.value, (FUNCTION, type, *WRAPPERS.values()))
        return not known and presence(self.m, value, "__isabstractmethod__") is not False

    def _of_object(self, name: str, value: Ref) -> Hashable:
        if value.aid in self.seen:
            return "same", self.seen[value.aid]
        self.seen[value.aid] = name
        obj = self.m.state.heap[value.aid]
        if obj.kind == "function":
            return "function", id(obj.extra[0].code), functions.is_abstract(self.m, obj)
        if obj.kind in WRAPPERS:
            return obj.kind, tuple(self._part(cell) for cell in obj.cells)
        if is_special(name):
            constant = reify(self.m, value)
            if constant is not NO_CONSTANT:
                return type(constant).__name__, repr(constant)
        elif obj.kind == "instance":
            return "instance", id(obj.cls)
        raise NotPlain(f"its attribute {name} is neither a function nor a constant")

    def _part(self, value: V) -> Hashable:
        value = self.m.resolve(value)
        obj = self.m.obj(value, "function")
        if obj is not None:
            return "function", id(obj.extra[0].code), functions.is_abstract(self.m, obj)
        if isinstance(value, Known):
            return constant_key(value.value)
        raise NotPlain("one of its methods is not known")


class Maker:
    """Builds one template."""

    def __init__(self, m: Machine, names: Names) -> None:
        self.m = m
        self.names = names
        self.made: dict[int, object] = {}
        self.found: list[tuple[object, str, tuple[int, ...]]] = []

    def make(self, meta: Any, name: str, bases: tuple[type, ...], namespace: VObj, body: types.CodeType, site: Any) -> Template:
        scope: dict[str, Any] = {}
        for key, cell in zip(namespace.keys, namespace.cells, strict=True):
            if key not in CELLS:
                scope[key] = self.token(key, self.m.resolve(cell))
        added = [key for key in self.m.tables.open_names.get(body, ()) if key not in scope]
        for key in added:
            scope[key] = self._keep(Datum(key), key)
        quiet = init_subclass(list(bases)) is not None
        cls = self._make(meta, name, bases, scope, quiet)
        number = -1 - len(self.m.tables.templates)
        template = Template(cls, number, site, body, self.names, len(added), quiet)
        ALL[id(cls)] = Token(template)
        for held, where, path in self.found:
            template.kept.append(held)
            ALL[id(held)] = Token(template, where, path)
        return template

    def _make(self, meta: Any, name: str, bases: tuple[type, ...], scope: dict[str, Any], quiet: bool) -> type:
        later = {key: scope[key] for key in self.names.named}
        try:
            names, values = tuple(scope), [None if key in later else value for key, value in scope.items()]
            cls = (ops.make_class_quietly if quiet else ops.make_class)(meta, name, bases, names, *values)
        except (TypeError, ValueError) as error:
            raise NotPlain(f"making it raises {type(error).__name__}") from None
        for key, value in later.items():
            setattr(cls, key, value)
        return cls

    def token(self, name: str, value: V) -> Any:
        if name in self.names.data or name in self.names.open:
            return self._keep(Datum(name), name)
        if isinstance(value, Ref):
            if value.aid not in self.made:
                self.made[value.aid] = self._object(name, value)
            return self.made[value.aid]
        assert isinstance(value, Known)
        return value.value

    def _object(self, name: str, value: Ref) -> Any:
        obj = self.m.state.heap[value.aid]
        if obj.kind == "function":
            return self._keep(functions.twin(self.m, obj), name)
        if obj.kind in WRAPPERS:
            parts = [self._part(name, (k,), cell) for k, cell in enumerate(obj.cells)]
            return self._keep(WRAPPERS[obj.kind](*parts), name)
        if obj.kind == "instance":
            return self._keep(object.__new__(obj.cls), name)
        return reify(self.m, value)

    def _part(self, name: str, path: tuple[int, ...], value: V) -> Any:
        value = self.m.resolve(value)
        if isinstance(value, Known):
            return value.value
        assert isinstance(value, Ref)
        return self._keep(functions.twin(self.m, self.m.state.heap[value.aid]), name, path)

    def _keep(self, held: Any, name: str, path: tuple[int, ...] = ()) -> Any:
        self.found.append((held, name, path))
        return held
