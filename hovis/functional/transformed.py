"""Functions that are made of other functions: called as they are by residual Python, traced through in what is traced itself."""

import dis
import functools
import types
from collections.abc import Callable
from typing import Any, Final

from hovis.arguments.spec_parts import is_spec
from hovis.arguments.specs import Any as Unknown
from hovis.base.function_wrapper import Alike, Held, Wrapper, take_names
from hovis.base.once import COMPILER
from hovis.engine.calls.inline_python import call_function
from hovis.engine.machine.call_results import finish, opaque
from hovis.engine.machine.machine import Machine
from hovis.engine.state.budget import LEAVABLE
from hovis.engine.state.type_lookup import bound_parts
from hovis.engine.state.values import Dyn, Known
from hovis.front import tracing
from hovis.front.jit import Jitted
from hovis.front.jit_cache.cache_keys import Key, is_alike
from hovis.functional.argument_types import looked_at
from hovis.functional.nested_transforms import APPLYING, EAGER
from hovis.ir.operations import UNBOUND, make_cell, make_function
from hovis.lattice import Const
from hovis.lattice.constants import ATOMS
from hovis.library.standard import STANDARD
from hovis.transforms.record.call_kinds import FOLLOWING, Following
from hovis.transforms.record.recorder import is_recorded


class Transformed(Wrapper, Following):
    """A function that was made of another one.

    ``derived(args, kwargs)`` says what a call gives, in Python that is traced through.  It does so by ``of``, if there is one:
    ``how`` is all that was chosen and is known, ``data`` what else it was made of.
    """

    __slots__ = ("__dict__", "__weakref__", "_eager", "data", "fn", "how")

    #: by what name users know what has made it
    called = "derived"
    by_itself = False
    #: where it is traced, ``*args`` and ``**kwargs`` are what there are specs for
    takes_no_more = True

    def __init__(self, fn: Any, how: tuple[Any, ...] = (), data: tuple[Any, ...] = ()) -> None:
        self.fn, self.how, self.data = fn, how, data
        self._eager: Any = None

    def derived(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call with these arguments gives."""
        return type(self).of(self.how, self.fn, self.data, args, kwargs)

    #: the same for functions that are made again, with what they close over (see Eager)
    of: Any = None

    def carried_out(self, eager: "Eager", args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives where nothing is traced, by its residual."""
        return eager(*args, **kwargs)

    def eager(self) -> Callable[..., Any]:
        """What does its calls where nothing is traced."""

        def of(how: Any, fn: Any, data: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return self.derived(args, kwargs)

        return functools.partial(Eager(of, (), self.fn, False), (), ())

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return applied(self, args, kwargs)

    def is_told(self, is_known: Callable[[Any], bool]) -> bool:
        return _is_told(self.how, is_known) and _is_made(self.fn, is_known)

    @property
    def naming(self) -> str:
        return f"{self.called}({{}})"

    def made_again(self, name: str) -> Any:
        return _again, (type(self), self.fn, self.how, self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.fn!r}>"


def _is_told(chosen: Any, is_known: Callable[[Any], bool]) -> bool:
    """Is what was chosen, down to all of its parts?"""
    return all(_is_told(x, is_known) for x in chosen) if type(chosen) is tuple else type(chosen) in ATOMS or is_known(chosen)


def _is_made(fn: Any, is_known: Callable[[Any], bool]) -> bool:
    """Is a function told from others, or all that it is made of?"""
    bound = bound_parts(fn)
    if bound is not None:
        return _is_made(next(iter(bound.values())), is_known)
    return is_known(fn) or (isinstance(fn, Transformed) and fn.is_told(is_known))


def _again(kind: type[Transformed], fn: Any, how: tuple[Any, ...], data: tuple[Any, ...]) -> Transformed:
    """One that is unpickled."""
    made = kind.__new__(kind)
    Transformed.__init__(made, fn, how, data)
    take_names(made, fn)
    return made


def applied(transformed: Transformed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call gives: here by residual Python, in a trace and for what is recorded by what ``derived`` says."""
    if is_recorded(args, kwargs, transformed.data):
        return transformed.derived(args, kwargs)
    if transformed.of is None:
        eager = transformed._eager
        if eager is None:
            eager = transformed._eager = transformed.eager()
        return eager(*args, **kwargs)
    fn = transformed.fn
    held = closed_over(fn)
    key = type(transformed), transformed.how, _known_as(fn) if held is None else (Held(fn.__code__), Held(fn.__globals__), Held(fn.__defaults__ or None))
    eager = _eager.get(key)
    if eager is None:
        with COMPILER:
            while len(_eager) >= KEPT:
                del _eager[next(iter(_eager))]
            stays = fn.calls_alike() if is_alike(fn) else fn
            eager = _eager.setdefault(key, Eager(type(transformed).of, transformed.how, stays, held is not None))
    return transformed.carried_out(eager, (held or (), transformed.data, *args), kwargs)


def _known_as(fn: Any) -> Any:
    """The key of a function: what was made of the same in the same way, and goes by the same name, is the same."""
    if is_alike(fn):
        return Alike(fn)
    if isinstance(fn, Transformed) and not fn.data and _is_told(fn.how, _is_nothing):
        return type(fn), fn.how, getattr(fn, "__qualname__", None), Held(fn.fn) if is_alike(fn.fn) else _known_as(fn.fn)
    return Held(fn)


def _is_nothing(value: Any) -> bool:
    return False


#: Functions whose residuals are kept.
KEPT: Final = 512
_eager: dict[Any, "Eager"] = {}


def closed_over(fn: Any) -> tuple[Any, ...] | None:
    """What a function closes over; None if that is not for it alone to read."""
    if type(fn) is not types.FunctionType or fn.__kwdefaults__ or fn.__dict__ or _rebinds(fn.__code__):
        return None
    try:
        held = tuple([cell.cell_contents for cell in fn.__closure__ or ()])
    except ValueError:
        return None
    # a residual's mark for what has no value would be none, where it is a value
    return None if any(value is UNBOUND for value in held) else held


def _rebinds(code: types.CodeType) -> bool:
    """Does it, or a function in it, bind a variable of an enclosing function anew?"""
    if any(i.opname in ("STORE_DEREF", "DELETE_DEREF") and i.argval in code.co_freevars for i in dis.get_instructions(code)):
        return True
    return any(_rebinds(inner) for inner in code.co_consts if isinstance(inner, types.CodeType))


class Eager(Jitted):
    """Residual Python of a transformed function, kept by what its arguments are, down to their leaves.

    again: the function is made again with what it closes over, which is an argument like others; so one residual is for all
    functions that a piece of code makes.
    """

    has_plain = False

    def __init__(self, derived: Callable[..., Any], how: Any, fn: Any, again: bool) -> None:
        if again:
            code, namespace, name, qualname, defaults = fn.__code__, fn.__globals__, fn.__name__, fn.__qualname__, fn.__defaults__

            def call(held: Any, data: Any, /, *args: Any, **kwargs: Any) -> Any:
                made = make_function(code, namespace, name, qualname, defaults, None, (), *[make_cell(x) for x in held])
                return derived(how, made, data, args, kwargs)
        else:

            def call(held: Any, data: Any, /, *args: Any, **kwargs: Any) -> Any:
                return derived(how, fn, data, args, kwargs)

        EAGER.add(call.__code__)
        super().__init__(call, (), tracing.Options(frozen=False))

    def traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tracing.Trace | None:
        """The Trace of the residual that does calls with arguments like these."""
        variant = self._variants.get(self._key(args, kwargs))
        return None if variant is None else variant.trace

    def _looked_at(self, args: tuple[Any, ...], kwargs: dict[str, Any], part: int) -> tuple[list[Any], dict[str, Any]]:
        """Of each argument its part of the key (0) or its spec (1)."""
        held = [_captured(x, (0, k), self._policy)[part] for k, x in enumerate(args[0])]
        found = [tuple(held), *[looked_at(a, (k,), self._policy)[part] for k, a in enumerate(args[1:], 1)]]
        return found, {name: looked_at(v, (name,), self._policy)[part] for name, v in kwargs.items()}

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Key:
        found, named = self._looked_at(args, kwargs, 0)
        return Key((*found, *named.items()))

    def _specs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return self._looked_at(args, kwargs, 1)

    def _widen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._count_numbers(args, kwargs)


def _captured(value: Any, path: Any, policy: Any) -> tuple[Any, Any]:
    """As an argument; what nothing would be known of is known."""
    key, spec = looked_at(value, path, policy)
    return (key, spec) if (is_spec(spec) and spec is not Unknown) or isinstance(spec, Const) else (("value", Held(value)), Const(value))


def here(transformed: Transformed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call gives in a trace."""
    return transformed.derived(args, kwargs)


def _applied(m: Machine, args: list[Any], named: dict[str, Any]) -> Any:
    transformed, given, keywords = args
    cls = m.class_of(m.resolve(transformed))
    if cls is None or isinstance(given, Dyn) or isinstance(keywords, Dyn):
        return None
    if cls.derived.__code__ in m.tables.not_entered:  # type: ignore[attr-defined]
        return finish(m, opaque(m, applied, args), "value")
    return call_function(m, Known(here), here, args, {})


STANDARD.actions[applied] = _applied
STANDARD.actions[take_names] = lambda m, args, named: Known(None)
APPLYING.add(Transformed.derived.__code__)
FOLLOWING.update((applied, Transformed.__call__))
LEAVABLE.add(Transformed.__call__.__code__)
