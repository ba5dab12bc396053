"""Class statements (CPython: builtin___build_class__ in Python/bltinmodule.c, type_new in Objects/typeobject.c).

The body is traced as a frame whose namespace is a dict of the trace.  From that namespace the statement makes an object of kind
"class" in the heap, and a template (see class_templates), which the rest of the engine treats as the class.  The real class is
made by ``make_class`` if and where it escapes.  Making a template runs no user code; where that is not
possible, the statement stays a call of ``__build_class__``, or of the metaclass.
"""

import abc
import types
from typing import Any, Final

from hovis.bytecode.normalize import CLASS_BODY
from hovis.engine.calls.argument_binding import Callee, bind
from hovis.engine.machine.call_results import AFTER, finish, opaque
from hovis.engine.machine.machine import Machine
from hovis.engine.names.variables import inner_writes
from hovis.engine.objects.class_attributes import plain
from hovis.engine.objects.template_making import CLASS_DICT, Maker, NotPlain, Signature, init_subclass
from hovis.engine.state import class_templates
from hovis.engine.state.class_templates import MISSING, WRITTEN, Template
from hovis.engine.state.frames_and_heap import SWITCH, Frame
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.type_lookup import FUNCTION, special
from hovis.engine.state.values import NONE, UNBOUND_VALUE, Dyn, Known, Ref, V
from hovis.engine.traced import construction
from hovis.ir import operations as ops
from hovis.ir.model import Block, Branch, Edge, Effect, Op
from hovis.lattice import Type
from hovis.lattice.inspection import is_a

BUILD: Final = __build_class__
#: Maximum number of classes made by one statement that are alive at the same time; further ones are left to CPython.
MAX_ALIVE: Final = 32


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
    made = init_subclass([base.value for base in args[2:] if isinstance(base, Known)])
    if made is None and len(kwargs) > (meta is not None):
        return "it has keyword arguments"
    return None if made is None or type(made) is FUNCTION else "its __init_subclass__ is not a Python function"


def _quiet(meta: object) -> bool:
    """Does this metaclass only make the class? (ABCMeta also inspects which methods are abstract.)"""
    return meta is type or meta is abc.ABCMeta


def _enter(m: Machine, args: list[V], kwargs: dict[str, V]) -> int:
    """Enter the class body, with its namespace on top of the stack of the current frame."""
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
    """Make the class after its body has run; the result of the body is the ``__class__`` cell or None."""
    cell, namespace, bases, name, function, named = (m.pop() for _ in range(6))
    obj, held, body, told = m.obj(namespace, "dict"), m.obj(bases, "tuple"), m.obj(function, "function"), m.obj(name, "tuple")
    assert told is not None
    name, meta = told.cells
    assert isinstance(name, Known)
    assert isinstance(meta, Known)
    try:
        if held is None or body is None or obj is None or obj.node is not None or not all(type(key) is str for key in obj.keys):
            raise NotPlain("its namespace is not known")
        obj = _without_namespace(m, obj, body.extra[0].code)
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
    """Add special methods from a decorator to a class that was just made: raise Restart to make it with them; True: it has them; False: it is
    older.

    (In any other case, a class whose special methods change is left to CPython.)
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
    """Make the class from the namespace that its body has left."""
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
        raise NotPlain("too many classes that it makes are alive at once")
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
        # the program lists the subclasses of a class: they have to be real
        m.operand(made)
    return made


def _announce(m: Machine, made: Known, named: V) -> int | None:
    """Call ``__set_name__`` and ``__init_subclass__``; the call returns the class. None if there is nothing to call."""
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
    init = Known(init_subclass(list(template.cls.__bases__))) if template.quiet else NONE
    model = construction.defined
    return m.call(Known(model), [made, m.new(VObj("tuple", tuple, tuple(naming))), init, named], {}, "value")


def _check(m: Machine, made: Known) -> None:
    """Test that class attributes with unknown values are plain; where a test fails, nothing is assumed."""
    token = class_templates.of(made.value)
    assert token is not None
    obj = m.state.heap[token.template.aid]
    for name in obj.keys:
        value = obj.cells[obj.find(name)]
        if name in token.template.checked and isinstance(value, Dyn) and not plain(m, value):
            is_plain = m.emit(ops.is_plain, [value], type=Type(bool), effect=Effect.PURE)
            _otherwise(m, is_plain, made, token.template)


def _otherwise(m: Machine, is_plain: Dyn, made: Known, template: Template) -> None:
    """Build the path on which an attribute is a descriptor: the class is real, and its attributes are read at run time."""
    yes, no, state = Block(), Block(), m.state
    m.block.terminator = Branch(is_plain.value, Edge(yes), Edge(no), m.location())
    m.block, m.state = no, state.fork()
    m.state.world = 2
    real = m.operand(made)
    if isinstance(real, Op):
        # the attribute may have a __set_name__, which runs user code
        real.effect = Effect.OPAQUE
        m.home().effect |= Effect.OPAQUE  # type: ignore[attr-defined]
    m.forget()
    m.state.frames[-1].pc += 1
    m.state.heap[template.aid] = class_templates.forgotten(m.state.heap[template.aid], opaque=True)
    m.leave(m.block, m.state)
    m.block, m.state = yes, state


def _without_namespace(m: Machine, obj: VObj, body: types.CodeType) -> VObj:
    """Let the ``__classdict__`` cell be empty, which is filled with the namespace of the class when that is made real (type_new_set_classdictcell);
    return the namespace without it if nothing reads it. Annotations are not made in the trace.
    """
    if CLASS_DICT not in obj.keys:
        return obj
    readers = [one for one in body.co_consts if type(one) is types.CodeType and "__classdict__" in one.co_freevars]
    index = obj.keys.index(CLASS_DICT)
    cell = obj.cells[index]
    if not readers:
        return obj.without(index)
    if not isinstance(cell, Ref) or any(one.co_name != "__annotate__" for one in readers):
        raise NotPlain("its namespace is read later")
    m.put(cell, m.state.heap[cell.aid].replace(cells=(UNBOUND_VALUE,)))
    return obj


def _fill_class_cell(m: Machine, obj: VObj, made: Known) -> None:
    if "__classcell__" in obj.keys:
        ref = obj.cells[obj.keys.index("__classcell__")]
        assert isinstance(ref, Ref)
        cell = m.state.heap[ref.aid]
        # the cell stays constant, unless a method assigns to __class__, which is very unusual
        written = "__class__" in inner_writes(obj.extra.body)
        m.put(ref, cell.replace(cells=(made,), extra=None if written else "frozen"))
