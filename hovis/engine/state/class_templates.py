"""Templates: the representation of classes that the traced code defines, while tracing (see class_statement).

A class statement makes a new class each time it runs, so no class that exists while tracing is the class of the program.  It is
represented by a *template*, a real class with the same name, bases and layout, whose attributes are *tokens*: look-ups along
the MRO, ``isinstance`` and ``except`` work on it as on any class.  The value that a token stands for is in the heap, in the
object of kind "class" that belongs to the template: its cells are the values of the real class's namespace.  Neither templates nor tokens
get into the residual: wherever an operand is needed, the real class (or the value read from its cells) is built.
"""

import abc
import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from hovis.engine.state.values import Known, Ref, V, relabel
from hovis.ir.model import edges
from hovis.lattice import RAISED, AbstractValue, Const, Partial, Type, Union, join

if TYPE_CHECKING:
    from hovis.engine.state.heap import VObj
    from hovis.ir.model import Function


class Template:
    """The template of a class that the traced code defines.

    cls      the template itself
    aid      the number of its object in the heap: negative, and the same in all states
    site     where the class statement stands, and its index among the classes of this statement that are alive at the same time
    body     the code object of the class's body
    data     the names whose values are plain data, which is read and written in the heap
    checked  the names in data whose values are unknown, and tested at run time to be plain
    open     the names whose meaning may change (see class_attributes)
    added    how many open names, the last keys, did not exist when the class was made
    named    the names on whose values ``__set_name__`` has been called: a real class gets these attributes only after it is made
    quiet    whether ``__init_subclass__`` has been called: the real class is then made without calling it
    kept     keeps every token alive, because tokens are identified by their ids
    """

    __slots__ = ("added", "aid", "body", "checked", "cls", "data", "kept", "named", "open", "quiet", "site", "tokens")

    def __init__(self, cls: type, aid: int, site: Any, body: Any, names: "Names", added: int, quiet: bool) -> None:
        self.cls = cls
        self.aid = aid
        self.site = site
        self.body = body
        self.data = frozenset(names.data)
        self.checked = frozenset(names.checked)
        self.open = frozenset(names.open)
        self.named = frozenset(names.named)
        self.quiet = quiet
        self.added = added
        self.kept: list[object] = [cls]
        self.tokens: dict[Any, object] = {}


class Names:
    """Facts about the names of a class that is under construction."""

    __slots__ = ("checked", "data", "named", "open")

    def __init__(self) -> None:
        self.data: set[str] = set()
        self.checked: set[str] = set()
        self.open: set[str] = set()
        self.named: dict[str, None] = {}


class Token:
    """The meaning of a token: a template (name is None), or the content of a template's cell for name; path leads to a cell inside that cell."""

    __slots__ = ("name", "path", "template")

    def __init__(self, template: Template, name: str | None = None, path: tuple[int, ...] = ()) -> None:
        self.template = template
        self.name = name
        self.path = path


class Datum:
    """The token for a class attribute that is not a descriptor: its value is in the heap."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<the class attribute {self.name}>"


class _Mark:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


#: In a cell of a real class: other code may have written to the attribute, which has to be read from the real class.
CHANGED: Final = _Mark("CHANGED")

#: In a cell of a class: the class itself has no attribute of this name.
MISSING: Final = _Mark("MISSING")

#: The key of a class's last cell: CHANGED there means that unknown code may have changed the class itself, its methods and bases.
WRITTEN: Final = "<written>"


def is_mark(value: V) -> bool:
    return isinstance(value, Known) and type(value.value) is _Mark


#: All tokens of all traces in progress, by id.
ALL: Final[dict[int, Token]] = {}


def of(value: object) -> Token | None:
    """Return the Token of value, or None if value is not a token."""
    return ALL.get(id(value))


def template_of(value: object) -> Template | None:
    """Return the Template whose class value is, or None if value is not a template."""
    found = ALL.get(id(value))
    return found.template if found is not None and found.name is None else None


def actual(heap: "dict[int, VObj]", value: V) -> V:
    """Return the value that a token stands for; return templates and all other values unchanged."""
    if type(value) is not Known:
        return value
    found = ALL.get(id(value.value))
    if found is None or found.name is None:
        return value
    obj = heap[found.template.aid]
    cell = obj.cells[obj.find(found.name)]
    for step in found.path:
        assert isinstance(cell, Ref)
        cell = heap[cell.aid].cells[step]
    return relabel(cell, value.labels)


def parts(heap: "dict[int, VObj]", obj: "VObj", cells: tuple[V, ...] | None = None) -> list[int]:
    """Return the heap numbers of the objects that obj consists of, and of the classes that it mentions. cells: used in place of those of obj."""
    cells = obj.cells if cells is None else cells
    found = [cell.aid for cell in cells if isinstance(cell, Ref)]
    if ALL:
        named: list[object] = [obj.cls, *(cell.value for cell in cells if type(cell) is Known)]
        if obj.kind == "dict" or obj.kind == "set":
            named += obj.keys
        elif obj.kind == "class":
            named += obj.extra.cls.__bases__
        for value in named:
            token = ALL.get(id(value))
            if token is not None and token.template.aid in heap:
                found.append(token.template.aid)
    return found


def is_written(heap: "dict[int, VObj]", cls: type) -> Template | None:
    """Return the first template among cls and its bases that unknown code may have changed, or None."""
    for base in cls.__mro__:
        template = template_of(base)
        if template is not None and template.aid in heap and is_mark(heap[template.aid].cells[-1]):
            if heap[template.aid].cells[-1].value is CHANGED:  # type: ignore[union-attr]
                return template
    return None


def forgotten(obj: "VObj", opaque: bool) -> "VObj":
    """Return the object of an escaped class after a possible write to its attributes. opaque: unknown code, which may change anything, ran."""
    data = obj.extra.data | obj.extra.open
    if opaque:
        data |= {WRITTEN}
    if not data:
        return obj
    return obj.replace(cells=tuple(Known(CHANGED) if name in data else cell for name, cell in zip(obj.keys, obj.cells, strict=True)))


def retire(templates: Iterable[Template]) -> None:
    """Remove the tokens of these templates at the end of the trace, and detach the templates from their bases, which list them as subclasses."""
    for template in templates:
        for held in template.kept:
            ALL.pop(id(held), None)
        bases = template.cls.__bases__
        if all(base.__module__ == "builtins" for base in bases):
            continue
        for nobody in _nobodies(template.cls):
            # a base of the same layout; if there is none, the template is removed when it is garbage-collected
            with contextlib.suppress(TypeError):
                template.cls.__bases__ = (nobody,)
                break


class _Nobody:
    """The base class of retired templates."""


class _AbstractNobody(abc.ABC):  # noqa: B024
    """The base class of retired templates that are ABCs."""


def _nobodies(cls: type) -> list[type]:
    """Return the classes that can be the base of a retired template."""
    root = next((base for base in cls.__mro__[:-1] if base.__module__ == "builtins"), None)
    return [_Nobody, _AbstractNobody] if root is None else [type("_Nobody", (root,), {})]


# ------------------------------------------------------------------------------------------------- types


def alive(kind: AbstractValue, classes: tuple[int, ...]) -> AbstractValue:
    """Return kind if all templates that it mentions are in classes; otherwise generalize it to RAISED, SOME or ANY."""
    return join(kind, RAISED) if ALL and any(aid not in classes for aid in mentioned(kind)) else kind


def mentioned(kind: AbstractValue) -> set[int]:
    """Return the heap numbers of the templates in a type."""
    if isinstance(kind, Union):
        return set().union(*map(mentioned, kind.members))
    if isinstance(kind, Partial):
        return set().union(_number(kind.cls), *map(mentioned, kind.parts))
    if isinstance(kind, Const):
        return _number(kind.value) | _number(type(kind.value))
    return _number(kind.cls) if isinstance(kind, Type) else set()


def _number(value: object) -> set[int]:
    found = ALL.get(id(value))
    return set() if found is None else {found.template.aid}


# ------------------------------------------------------------------------------------------------- the end of the trace


def scrub(functions: "Iterable[Function]") -> list[Template]:
    """Remove templates from the types in the traced functions; return the templates that occur anywhere else in them."""
    if not ALL:
        return []
    leaked: list[Template] = []
    for function in functions:
        function.type = alive(function.type, ())
        for block in function.blocks:
            for param in block.params:
                param.type = alive(param.type, ())
            for op in block.all_ops():
                op.type = alive(op.type, ())
                leaked += _leaks(op.callee)
                for operand in (*op.args, *(value for _, value in op.kwargs), *(op.dims or ())):
                    leaked += _leaks(operand)
            for operand in _passed(block.terminator):
                leaked += _leaks(operand)
    return leaked


def _passed(terminator: Any) -> list[Any]:
    """Return the operands of a terminator, and the arguments of its edges."""
    found = [getattr(terminator, name) for name in ("cond", "value") if hasattr(terminator, name)]
    for edge in edges(terminator):
        found += edge.args
    return found


def _leaks(value: object) -> list[Template]:
    held = value.value if isinstance(value, Const) else value
    if isinstance(held, tuple | frozenset):
        return [template for part in held for template in _leaks(part)]
    found = ALL.get(id(held))
    return [] if found is None else [found.template]
