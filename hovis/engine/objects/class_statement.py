"""Class statements (CPython: builtin___build_class__ in Python/bltinmodule.c, type_new in Objects/typeobject.c).

The body is traced as a frame over a namespace that is a dict of the trace.  What it leaves becomes an object of kind
"class" in the heap, and a template (see class_templates) which the rest of the engine takes for the class.  The real class is
made by ``make_class`` if and where it escapes.  Making a template runs no code of the user's; where that cannot be
done, the statement stays a call of ``__build_class__``, or of the metaclass.
"""

import abc
import types
from collections.abc import Hashable
from typing import Any, Final

from hovis.bytecode.normalize import CLASS_BODY
from hovis.engine.calls.inline_python import Callee, bind
from hovis.engine.machine.call_results import AFTER, finish, opaque
from hovis.engine.machine.constant_folding import _MISSING, reify
from hovis.engine.machine.machine import SWITCH, Machine
from hovis.engine.names.variables import inner_writes
from hovis.engine.objects import functions
from hovis.engine.objects.attribute_get import presence
from hovis.engine.objects.class_attributes import WRAPPERS, is_special, plain
from hovis.engine.state import class_templates
from hovis.engine.state.class_templates import ALL, MISSING, WRITTEN, Datum, Names, Template, Token
from hovis.engine.state.frames_and_heap import Frame
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.type_lookup import FUNCTION, special
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V
from hovis.engine.traced import slot_protocols
from hovis.ir import operations as ops
from hovis.ir.model import Block, Branch, Edge, Effect, Op
from hovis.lattice import Type
from hovis.lattice.constants import constant_key
from hovis.lattice.inspection import is_a

BUILD: Final = __build_class__
#: Classes of one statement that are alive at the same time; beyond, they are left to CPython.
MAX_ALIVE: Final = 32


class NotPlain(Exception):
    """No template can be made; args: why."""


def statement(m: Machine, args: list[V], kwargs: dict[str, V], mode: str) -> int | None:
    """``__build_class__(body, name, *bases, **kwargs)``."""
    why = _why_not(m, args, kwargs)
    if why is None and mode == "value":
        return _enter(m, args, kwargs)
    if why:
        m.reason(f"the class was left as it is: {why}")
    return finish(m, opaque(m, BUILD, args, kwargs), mode)


def _why_not(m: Machine, args: list[V], kwargs: dict[str, V]) -> str | None:
    body = m.obj(args[0], "function") if len(args) >= 2 else None
    if body is None or not isinstance(args[1], Known) or type(args[1].value) is not str:
        return ""
    code = body.extra[0]
    if code.code in m.tables.real_classes:
        return m.tables.real_classes[code.code]
    if code.code in m.tables.not_entered:
        return m.tables.not_entered[code.code]
    if code.unsupported not in (None, CLASS_BODY):
        return str(code.unsupported)
    meta = kwargs.get("metaclass")
    if meta is not None and not (isinstance(meta, Known) and _quiet(meta.value)):
        return "it has a metaclass"
    for base in args[2:]:
        if not isinstance(base, Known) or not is_a(base.value, type):
            return "a base class is not known"
        if not _quiet(type(base.value)):
            return f"the metaclass of {base.value.__name__} is not type"
    made = _init_subclass([base.value for base in args[2:] if isinstance(base, Known)])
    if made is None and len(kwargs) > (meta is not None):
        return "it has keyword arguments"
    return None if made is None or type(made) is FUNCTION else "its __init_subclass__ is no function"


def _quiet(meta: object) -> bool:
    """Does this metaclass do nothing but make the class?  (ABCMeta sees which methods are abstract, too.)"""
    return meta is type or meta is abc.ABCMeta


def _init_subclass(bases: list[Any]) -> Any:
    """The ``__init_subclass__`` that a class of these bases calls; None: that of object, which does nothing."""
    for cls in _behind(bases):
        found = cls.__dict__.get("__init_subclass__")
        if found is not None:
            return None if cls is object else found.__func__ if isinstance(found, classmethod) else found
    return None


def _behind(bases: list[Any]) -> list[Any]:
    """The MRO of a class of these bases, without itself (mro_implementation); nothing if there is none."""
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


def _enter(m: Machine, args: list[V], kwargs: dict[str, V]) -> int:
    """Run the body, its namespace being on top of the stack of this frame."""
    callee, name, *bases = args
    known = Callee.of(m, callee, None)
    slots = bind(m, known, [], {})
    assert slots is not None
    caller = m.frame
    ctx = m.tables.contexts[caller.ctx, caller.pc, known.code]
    m.homes.setdefault(ctx, m.homes[m.state.frames[0].ctx])
    named = {key: value for key, value in kwargs.items() if key != "metaclass"}
    given = m.new(VObj("dict", dict, tuple(named.values()), tuple(named)))
    metas: list[object] = [type(base.value) for base in bases if isinstance(base, Known)]
    metas += [meta.value for key, meta in kwargs.items() if key == "metaclass" and isinstance(meta, Known)]
    name = m.new(VObj("tuple", tuple, (name, Known(abc.ABCMeta if abc.ABCMeta in metas else type))))
    caller.stack += [given, callee, name, m.new(VObj("tuple", tuple, tuple(bases))), m.new(VObj("dict", dict))]
    m.state.frames.append(Frame(known.code, ctx, slots, known.namespace, "class_body", callee))
    return SWITCH


def _after_body(m: Machine) -> int | None:
    """The body has run: its result is the ``__class__`` cell or None."""
    cell, namespace, bases, name, function, named = (m.pop() for _ in range(6))
    obj, held, body, told = m.obj(namespace, "dict"), m.obj(bases, "tuple"), m.obj(function, "function"), m.obj(name, "tuple")
    assert told is not None
    name, meta = told.cells
    assert isinstance(name, Known)
    assert isinstance(meta, Known)
    try:
        if held is None or body is None or obj is None or obj.node is not None or not all(type(key) is str for key in obj.keys):
            raise NotPlain("its namespace is not known")
        made = _define(m, meta.value, body.extra[0].code, str(name.value), held.cells, obj)
        status = _announce(m, made, named)
        if status is None:
            m.push(made)
            _check(m, made)
        return status
    except NotPlain as why:
        m.reason(f"the class was left as it is: {why}")
    return finish(m, opaque(m, ops.finish_class, [meta, name, bases, namespace, cell, named]), "value")


AFTER["class_body"] = _after_body


def complete(m: Machine, template: Template, methods: tuple[tuple[str, Any], ...]) -> bool:
    """A decorator that adds special methods to a class that has just been made: it is made with them; False: it is older.

    (A class whose special methods change is left to CPython otherwise.)
    """
    if m.tables.added_methods.get(template.body) == methods:
        return True
    ctx, pc = template.site[0]
    if template.quiet or template.body in m.tables.added_methods or m.here() != (ctx, pc + 1):
        return False
    m.tables.added_methods[template.body] = methods
    raise Restart("class")


# ------------------------------------------------------------------------------------------------- templates


def _define(m: Machine, meta: Any, body: types.CodeType, name: str, bases: tuple[V, ...], namespace: VObj) -> Known:
    """The class that a body has left in its namespace."""
    classes = tuple(base.value for base in bases if isinstance(base, Known) and is_a(base.value, type))
    for completed, method in m.tables.added_methods.get(body, ()):
        namespace = namespace.with_new(completed, Known(method))
    opened = m.tables.open_names.get(body, ())
    signature = Signature(m, meta, opened)
    parts = tuple((key, signature.of(key, cell)) for key, cell in zip(namespace.keys, namespace.cells, strict=True))
    taken = {m.state.heap[aid].extra.site for aid in m.state.classes}
    here, count = m.here(), 0
    while (here, count) in taken:
        count += 1
    if count >= MAX_ALIVE:
        raise NotPlain("there are too many of it")
    key = (here, count), meta, name, tuple(map(id, classes)), parts, opened
    template = m.tables.templates.get(key)
    if template is None:
        template = Maker(m, signature.names).make(meta, name, classes, namespace, body, (here, count))
        m.tables.templates[key] = template
    added = tuple(one for one in opened if one not in namespace.keys)
    cells = (*namespace.cells, *[Known(MISSING)] * len(added), Known(MISSING))
    obj = VObj("class", type(template.cls), cells, (*namespace.keys, *added, WRITTEN), extra=template)
    m.state.heap[template.aid] = obj
    m.state.classes += (template.aid,)
    made = Known(template.cls)
    _fill_class_cell(m, obj, made)
    if m.tables.eager_classes:
        # somebody lists the subclasses of a class
        m.operand(made)
    return made


def _announce(m: Machine, made: Known, named: V) -> int | None:
    """``__set_name__`` and ``__init_subclass__`` are called; the class is what that leaves.  None: there are none."""
    template = class_templates.template_of(made.value)
    assert template is not None
    if not template.named and not template.quiet:
        return None
    obj = m.state.heap[template.aid]
    naming: list[V] = []
    for name in obj.keys:
        if name in template.named:
            value = obj.cells[obj.find(name)]
            cls = m.class_of(m.resolve(value))
            assert cls is not None
            naming.append(m.new(VObj("tuple", tuple, (Known(special(cls, "__set_name__")), value, Known(name)))))
    init = Known(_init_subclass(list(template.cls.__bases__))) if template.quiet else NONE
    model = slot_protocols.defined
    return m.call(Known(model), [made, m.new(VObj("tuple", tuple, tuple(naming))), init, named], {}, "value")


def _check(m: Machine, made: Known) -> None:
    """An attribute that is given an unknown value is taken to be plain: a test, behind which nothing is assumed."""
    token = class_templates.of(made.value)
    assert token is not None
    obj = m.state.heap[token.template.aid]
    for name in obj.keys:
        value = obj.cells[obj.find(name)]
        if name in token.template.checked and isinstance(value, Dyn) and not plain(m, value):
            is_plain = m.emit(ops.is_plain, [value], type=Type(bool), effect=Effect.PURE)
            _otherwise(m, is_plain, made, token.template)


def _otherwise(m: Machine, is_plain: Dyn, made: Known, template: Template) -> None:
    """The way on where an attribute is a descriptor: the class is real, and its attributes are asked for."""
    yes, no, state = Block(), Block(), m.state
    m.block.terminator = Branch(is_plain.value, Edge(yes), Edge(no), m.location())
    m.block, m.state = no, state.fork()
    m.state.world = 2
    real = m.operand(made)
    if isinstance(real, Op):
        # it may have a __set_name__
        real.effect = Effect.OPAQUE
        m.home().effect |= Effect.OPAQUE  # type: ignore[attr-defined]
    m.forget()
    m.state.frames[-1].pc += 1
    m.state.heap[template.aid] = class_templates.forgotten(m.state.heap[template.aid], opaque=True)
    m.leave(m.block, m.state)
    m.block, m.state = yes, state


def _fill_class_cell(m: Machine, obj: VObj, made: Known) -> None:
    if "__classcell__" in obj.keys:
        ref = obj.cells[obj.keys.index("__classcell__")]
        assert isinstance(ref, Ref)
        cell = m.state.heap[ref.aid]
        # nobody assigns to __class__ but for the sake of it
        written = "__class__" in inner_writes(obj.extra.body)
        m.put(ref, cell.replace(cells=(made,), extra=None if written else "frozen"))


class Signature:
    """What a template is made after: equal namespaces give the same template when a place is traced again."""

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
            raise NotPlain(f"{name} may be abstract")
        if cls is not None and special(cls, "__set_name__"):
            if is_special(name) or name in self.names.open or not isinstance(value, Ref) or self.m.obj(value, "instance") is None:
                raise NotPlain(f"{name} has a __set_name__")
            self.names.named[name] = None
            return "named", id(cls)
        if name == "__classcell__":
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
        raise NotPlain(f"what {name} is, is not known")

    def _may_be_abstract(self, value: V) -> bool:
        """Is there something that ABCMeta asks, and the template could not answer?"""
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
            if constant is not _MISSING:
                return type(constant).__name__, repr(constant)
        elif obj.kind == "instance":
            return "instance", id(obj.cls)
        raise NotPlain(f"{name} is not plain")

    def _part(self, value: V) -> Hashable:
        value = self.m.resolve(value)
        obj = self.m.obj(value, "function")
        if obj is not None:
            return "function", id(obj.extra[0].code), functions.is_abstract(self.m, obj)
        if isinstance(value, Known):
            return constant_key(value.value)
        raise NotPlain("a method of it is not known")


class Maker:
    """Makes one template."""

    def __init__(self, m: Machine, names: Names) -> None:
        self.m = m
        self.names = names
        self.made: dict[int, object] = {}
        self.found: list[tuple[object, str, tuple[int, ...]]] = []

    def make(self, meta: Any, name: str, bases: tuple[type, ...], namespace: VObj, body: types.CodeType, site: Any) -> Template:
        scope: dict[str, Any] = {}
        for key, cell in zip(namespace.keys, namespace.cells, strict=True):
            if key != "__classcell__":
                scope[key] = self.token(key, self.m.resolve(cell))
        added = [key for key in self.m.tables.open_names.get(body, ()) if key not in scope]
        for key in added:
            scope[key] = self._keep(Datum(key), key)
        quiet = _init_subclass(list(bases)) is not None
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
            raise NotPlain(f"it raises {type(error).__name__}") from None
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
