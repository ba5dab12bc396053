"""How specs bind to parameters, and how a residual takes its arguments from a call (CPython: initialize_locals)."""

import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from hovis.base import own_code
from hovis.base.function_wrapper import Wrapper
from hovis.engine.trace import Fixed, Fresh, Leaf, Part, Structure
from hovis.errors import SpecError, said
from hovis.ir.model import Function, Param
from hovis.ir.naming import is_name
from hovis.lattice import ANY, Type

own_code.leave_as_calls(__file__)

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
#: The order of a code object's parameters (Objects/codeobject.c): ``*args`` comes after the keyword-only parameters.
_ORDER: Final = {kind: k for k, kind in enumerate((inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD), 1)}


class Unknown:
    """One unknown argument of the residual: its name, kind, default, and Part.

    taken   names that can't be keys of ``**kwargs``, because they are names of parameters that are known
    """

    __slots__ = ("default", "kind", "name", "part", "taken")

    def __init__(self, name: str, part: Part, kind: Any, default: Any, taken: tuple[str, ...] = ()) -> None:
        self.taken = taken
        self.name = name
        self.part = part
        self.kind = kind
        self.default = default


class Signature:
    """The parts of all parameters, in the order of the code's locals, and the parameters of the residual."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.unknown: list[Unknown] = []
        self.positional: list[Part] = []
        self.keywords: dict[str, Part] = {}
        self.kept: list[Param] = []
        self.bound = False
        self.star: Leaf | None = None
        self.double_star: Leaf | None = None

    @staticmethod
    def of(
        fn: Any,
        function: types.FunctionType | None,
        specs: tuple[Any, ...],
        named: dict[str, Any],
        part_of: Callable[[Any, str], Part],
        closed: bool = False,
        annotated: Callable[[str], Any] | None = None,
    ) -> "Signature":
        """Bind specs as a call binds arguments.

        closed: there are no other arguments than these; annotated: returns the spec for a parameter that got none, or None.
        """
        if function is None:
            return _of_builtin(fn, specs, named, part_of)
        return _Binder(function, specs, dict(named), part_of, closed, annotated).bind()

    def names(self) -> list[tuple[Any, str]]:
        """Return the position (None: by name only) and the name by which a call of the original passes each unknown argument.

        ``*args`` and ``**kwargs`` are left out: if they are unknown, they are empty.
        """
        places = {id(part): k for k, part in enumerate(self.positional, -self.bound)}
        by_position = inspect.Parameter.POSITIONAL_ONLY
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return [(places.get(id(u.part)), "" if u.kind is by_position else u.name) for u in self.unknown if u.kind not in variadic]

    def leaf_params(self) -> list[Param]:
        """Return the Params of all unknown parts in order; a container precedes its contents."""
        return [p for part in self.parts for p in _params(part)]

    def renamed(self, old: tuple[Param, ...], new: tuple[Param, ...]) -> "Signature":
        """Return the same signature over ``new``, the Params of a Function that a pass made, in place of ``old``."""
        names = {id(a): b for a, b in zip(old, new, strict=True)}
        made = {id(part): _renamed(part, names) for part in self.parts}
        # arguments inside *args and **kwargs are in the list of positionals as well
        for part in self.parts:
            if isinstance(part, Fresh):
                fresh = made[id(part)]
                assert isinstance(fresh, Fresh)
                made.update((id(a), b) for a, b in zip(part.parts, fresh.parts, strict=True))
        other = Signature()
        other.bound = self.bound
        other.parts = [made[id(p)] for p in self.parts]
        other.positional = [made[id(p)] for p in self.positional]
        other.keywords = {k: made[id(p)] for k, p in self.keywords.items()}
        other.unknown = [Unknown(u.name, made[id(u.part)], u.kind, u.default, u.taken) for u in self.unknown]
        other.star = made[id(self.star)] if self.star else None  # type: ignore[assignment]
        other.double_star = made[id(self.double_star)] if self.double_star else None  # type: ignore[assignment]
        other.kept = [names.get(id(p), p) for p in self.kept]
        return other

    def replace(self, replaced: dict[int, Param]) -> None:
        """Replace the Params of the parts by those in ``replaced``, where it has one for the id of the old Param."""
        for part in self.parts:
            for holder in _holders(part):
                holder.param = replaced.get(id(holder.param), holder.param)

    def drop_unused_wholes(self, function: Function) -> None:
        """Remove unused parameters from the Function: containers that are never used as a whole, and unused contents of wrappers."""
        used = set()
        for block in function.blocks:
            for op in block.all_ops():
                used |= {id(v) for v in op.operands()}
            terminator = block.terminator
            used |= {id(getattr(terminator, n)) for n in ("value", "cond") if hasattr(terminator, n)}
            for name in ("edge", "true", "false", "ok", "error"):
                if hasattr(terminator, name):
                    used |= {id(a) for a in getattr(terminator, name).args}
        unused = {id(p) for part in self.parts for p in _no_values(part) if id(p) not in used}
        function.blocks[0].params = tuple(p for p in function.blocks[0].params if id(p) not in unused)
        self.kept = list(function.blocks[0].params)

    def wholes(self) -> None:
        """Take every unknown argument as a whole, for a call of the original."""
        for u in self.unknown:
            if isinstance(u.part, Structure):
                leaf = Leaf(u.part.param)
                self.parts = [_instead(p, u.part, leaf) for p in self.parts]
                self.positional = [leaf if p is u.part else p for p in self.positional]
                self.keywords = {k: leaf if p is u.part else p for k, p in self.keywords.items()}
                u.part = leaf
        self.kept = self.leaf_params()


def _instead(part: Part, old: Part, new: Part) -> Part:
    """Return the part with ``new`` in place of ``old``, also inside a ``Fresh`` (the arguments in ``*args`` or ``**kwargs``)."""
    if isinstance(part, Fresh):
        return Fresh(part.keys, tuple([_instead(inner, old, new) for inner in part.parts]))
    return new if part is old else part


def _holders(part: Part) -> Iterator[Any]:
    if isinstance(part, Leaf | Structure):
        yield part
    if isinstance(part, Structure | Fresh):
        for inner in part.parts:
            yield from _holders(inner)


def _params(part: Part) -> Iterator[Param]:
    for holder in _holders(part):
        yield holder.param


def _no_values(part: Part, in_wrapper: bool = False) -> Iterator[Param]:
    """Yield the Params of the parts that exist only to be looked into or called: containers, and the contents of wrappers."""
    if isinstance(part, Leaf | Structure):
        kind = part.param.type
        in_wrapper = in_wrapper or (isinstance(kind, Type) and issubclass(kind.cls, Wrapper))
        if isinstance(part, Structure) or in_wrapper:
            yield part.param
    if isinstance(part, Structure | Fresh):
        for inner in part.parts:
            yield from _no_values(inner, in_wrapper)


def _renamed(part: Part, names: dict[int, Param]) -> Part:
    if isinstance(part, Fixed):
        return part
    if isinstance(part, Leaf):
        return Leaf(names.get(id(part.param), part.param), part.promotable, part.choices)
    inner = tuple(_renamed(p, names) for p in part.parts)
    if isinstance(part, Fresh):
        return Fresh(part.keys, inner)
    return Structure(part.kind, part.cls, part.keys, inner, names.get(id(part.param), part.param))


class _Binder:
    """Binds one list of specs to the parameters of a function."""

    def __init__(
        self,
        function: types.FunctionType,
        specs: tuple[Any, ...],
        named: dict[str, Any],
        part_of: Callable[[Any, str], Part],
        closed: bool,
        annotated: Callable[[str], Any] | None,
    ) -> None:
        self.function = function
        self.annotated = annotated
        self.closed = closed
        self.specs = list(specs)
        self.named = named
        self.part_of = part_of
        self.out = Signature()
        self.plain: list[str] = []
        self.names: list[str] = []
        #: parameters that may be passed by name
        self.by_name: list[str] = []

    def bind(self) -> Signature:
        parameters = own_signature(self.function).parameters.values()
        plain = [p for p in parameters if p.kind in _POSITIONAL]
        keyword_only = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
        self.plain, self.names = [p.name for p in plain], [p.name for p in plain + keyword_only]
        self.by_name = [p.name for p in plain + keyword_only if p.kind is not inspect.Parameter.POSITIONAL_ONLY]
        star = next((p for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
        double = next((p for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD), None)
        for p in plain:
            if self.specs:
                if p.name in self.named and p.kind is not inspect.Parameter.POSITIONAL_ONLY:
                    raise SpecError(f"{self.function.__qualname__} got two specs for its parameter {p.name!r}")
                self._given(p, self.specs.pop(0))
            elif p.name in self.named and p.kind is not inspect.Parameter.POSITIONAL_ONLY:
                self._given(p, self.named.pop(p.name))
            else:
                self._missing(p)
        for p in keyword_only:
            if p.name in self.named:
                self._given(p, self.named.pop(p.name))
            else:
                self._missing(p)
        self._rest(star, double)
        self.out.unknown.sort(key=lambda u: _ORDER.get(u.kind, 0))
        return self.out

    def _given(self, p: inspect.Parameter, spec: Any) -> None:
        part = self.part_of(spec, p.name)
        self.out.parts.append(part)
        self._place(p, part)
        if not isinstance(part, Fixed):
            self.out.unknown.append(Unknown(p.name, part, p.kind, p.default))

    def _missing(self, p: inspect.Parameter) -> None:
        spec = self.annotated(p.name) if self.annotated is not None else None
        self._given(p, ANY if spec is None else spec)

    def _place(self, p: inspect.Parameter, part: Part) -> None:
        if p.kind is inspect.Parameter.KEYWORD_ONLY:
            self.out.keywords[p.name] = part
        else:
            self.out.positional.append(part)

    def _rest(self, star: inspect.Parameter | None, double: inspect.Parameter | None) -> None:
        """Bind the specs beyond the parameters to ``*args`` and ``**kwargs``; raise SpecError if the function has none."""
        name = self.function.__qualname__
        if self.specs and star is None:
            raise SpecError(f"{name} takes {_listed(self.plain)}, so there is no parameter for the spec {said(self.specs[0])}")
        if self.named and double is None:
            raise SpecError(f"{name} has no parameter {next(iter(self.named))!r}; it has {_listed(self.names)}")
        if star is not None:
            self._star(star)
        if double is not None:
            self._double(double)

    def _star(self, star: inspect.Parameter) -> None:
        if not self.specs and not self.closed:
            leaf = Leaf(Param(Type(tuple), None, star.name))
            self.out.star = leaf
            self.out.parts.append(leaf)
            self.out.unknown.append(Unknown(star.name, leaf, star.kind, inspect.Parameter.empty))
            return
        parts = tuple(self.part_of(s, f"{star.name}_{k}") for k, s in enumerate(self.specs))
        for k, part in enumerate(parts):
            self.out.positional.append(part)
            if not isinstance(part, Fixed):
                self.out.unknown.append(Unknown(f"{star.name}_{k}", part, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty))
        self.out.parts.append(Fresh(None, parts))

    def _double(self, double: inspect.Parameter) -> None:
        if not self.named and not self.closed:
            leaf = Leaf(Param(Type(dict), None, double.name))
            self.out.double_star = leaf
            self.out.parts.append(leaf)
            unknown = {u.name for u in self.out.unknown}
            taken = tuple(name for name in self.by_name if name not in unknown)
            self.out.unknown.append(Unknown(double.name, leaf, double.kind, inspect.Parameter.empty, taken))
            return
        parts = tuple(self.part_of(s, k) for k, s in self.named.items())
        for key, part in zip(self.named, parts, strict=True):
            self.out.keywords[key] = part
            if not isinstance(part, Fixed):
                # a key that is not a valid identifier in the text of a residual can only be passed by position
                kind = inspect.Parameter.KEYWORD_ONLY if is_name(key) else inspect.Parameter.POSITIONAL_OR_KEYWORD
                self.out.unknown.append(Unknown(key, part, kind, inspect.Parameter.empty))
        self.out.parts.append(Fresh(tuple(self.named), parts))


def own_signature(function: types.FunctionType) -> inspect.Signature:
    """Return the signature of the function's own code, ignoring ``__wrapped__`` and any ``__signature__`` that was set on it."""
    plain = types.FunctionType(function.__code__, {}, "", function.__defaults__, function.__closure__)
    plain.__kwdefaults__ = function.__kwdefaults__
    try:
        return inspect.signature(plain)
    except ValueError as error:  # no source code causes this, but a code object can be given any names
        raise SpecError(f"{function.__qualname__} has a parameter whose name is not valid: {error}") from None


def _listed(names: list[str]) -> str:
    """Return the number of parameters and their names, for a message."""
    if not names:
        return "no parameters"
    return f"{len(names)} parameter{'' if len(names) == 1 else 's'} ({', '.join(names)})"


def _of_builtin(fn: Any, specs: tuple[Any, ...], named: dict[str, Any], part_of: Callable[[Any, str], Part]) -> Signature:
    """Build the signature of a callable without Python code, to which all arguments are passed on."""
    out = Signature()
    for k, spec in enumerate(specs):
        part = part_of(spec, f"arg{k}")
        out.parts.append(part)
        out.positional.append(part)
        if not isinstance(part, Fixed):
            out.unknown.append(Unknown(f"arg{k}", part, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty))
    for key, spec in named.items():
        part = part_of(spec, key)
        out.parts.append(part)
        out.keywords[key] = part
        if not isinstance(part, Fixed):
            out.unknown.append(Unknown(key, part, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty))
    if not specs and not named:
        _whatever(out)
    return out


def _whatever(out: Signature) -> None:
    for name, kind, cls in (("args", inspect.Parameter.VAR_POSITIONAL, tuple), ("kwargs", inspect.Parameter.VAR_KEYWORD, dict)):
        leaf = Leaf(Param(Type(cls), None, name))
        out.parts.append(leaf)
        out.unknown.append(Unknown(name, leaf, kind, inspect.Parameter.empty))
        if cls is tuple:
            out.star = leaf
        else:
            out.double_star = leaf


__all__ = ["Signature", "Unknown"]
