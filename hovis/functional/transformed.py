"""Functions made from other functions: a call runs residual Python outside of a trace, and is traced through inside a trace."""

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
    """A function made from another function.

    ``derived(args, kwargs)`` computes the result of a call, in Python that is traced through.  It calls ``of``, if there is one:
    ``how`` are the choices of the user, which are known, and ``data`` the other values that it was made from.
    """

    __slots__ = ("__dict__", "__weakref__", "_eager", "data", "fn", "how")

    #: the public name of the transform that has made it
    called = "derived"
    by_itself = False
    #: if it is traced, ``*args`` and ``**kwargs`` hold just the arguments for which there are specs
    takes_no_more = True

    def __init__(self, fn: Any, how: tuple[Any, ...] = (), data: tuple[Any, ...] = ()) -> None:
        self.fn, self.how, self.data = fn, how, data
        self._eager: Any = None

    def derived(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call with these arguments."""
        return type(self).of(self.how, self.fn, self.data, args, kwargs)

    #: as ``derived``, but a static function: for functions that are made again from the values that they close over (see Eager)
    of: Any = None

    def carried_out(self, eager: "Eager", args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call outside of a trace by its residual."""
        return eager(*args, **kwargs)

    def eager(self) -> Callable[..., Any]:
        """Return the callable that runs calls outside of a trace."""

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
    """Are all parts of the choices `chosen` constants, or known by `is_known`?"""
    return all(_is_told(x, is_known) for x in chosen) if type(chosen) is tuple else type(chosen) in ATOMS or is_known(chosen)


def _is_made(fn: Any, is_known: Callable[[Any], bool]) -> bool:
    """Can the function, or everything that it is made from, be distinguished from others?"""
    bound = bound_parts(fn)
    if bound is not None:
        return _is_made(next(iter(bound.values())), is_known)
    return is_known(fn) or (isinstance(fn, Transformed) and fn.is_told(is_known))


def _again(kind: type[Transformed], fn: Any, how: tuple[Any, ...], data: tuple[Any, ...]) -> Transformed:
    """Rebuild a transformed function that is unpickled."""
    made = kind.__new__(kind)
    Transformed.__init__(made, fn, how, data)
    take_names(made, fn)
    return made


def applied(transformed: Transformed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call: by residual Python; in a trace, and for arguments that are being recorded, by ``derived``."""
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
    """Return the key of a function: equal for functions made from the same function in the same way and with the same name."""
    if is_alike(fn):
        return Alike(fn)
    if isinstance(fn, Transformed) and not fn.data and _is_told(fn.how, _is_nothing):
        return type(fn), fn.how, getattr(fn, "__qualname__", None), Held(fn.fn) if is_alike(fn.fn) else _known_as(fn.fn)
    return Held(fn)


def _is_nothing(value: Any) -> bool:
    return False


#: Maximal number of functions whose residuals are kept.
KEPT: Final = 512
_eager: dict[Any, "Eager"] = {}


def closed_over(fn: Any) -> tuple[Any, ...] | None:
    """Return the values that a function closes over, or None if they can't be passed as arguments instead (some function rebinds a variable, a
    cell is empty, or fn is no plain function).
    """
    if type(fn) is not types.FunctionType or fn.__kwdefaults__ or fn.__dict__ or _rebinds(fn.__code__):
        return None
    try:
        held = tuple([cell.cell_contents for cell in fn.__closure__ or ()])
    except ValueError:
        return None
    # UNBOUND marks a missing value in a residual; as an argument it would be an ordinary value
    return None if any(value is UNBOUND for value in held) else held


def _rebinds(code: types.CodeType) -> bool:
    """Does the code, or that of a nested function, rebind a variable of an enclosing function?"""
    if any(i.opname in ("STORE_DEREF", "DELETE_DEREF") and i.argval in code.co_freevars for i in dis.get_instructions(code)):
        return True
    return any(_rebinds(inner) for inner in code.co_consts if isinstance(inner, types.CodeType))


class Eager(Jitted):
    """Residual Python of a transformed function, cached by its arguments, down to their leaves.

    again: the function is made again from its code and the values that it closes over, which are arguments like any others; so one
    residual serves all functions with the same code.
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
        """Return the Trace of the residual for calls with arguments like these, or None if there is none yet."""
        variant = self._variants.get(self._key(args, kwargs))
        return None if variant is None else variant.trace

    def _looked_at(self, args: tuple[Any, ...], kwargs: dict[str, Any], part: int) -> tuple[list[Any], dict[str, Any]]:
        """Return for each argument its part of the key (part 0) or its spec (part 1)."""
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
    """Return the key part and the spec of a captured value, like those of an argument; a value whose spec would be unknown is a known constant."""
    key, spec = looked_at(value, path, policy)
    return (key, spec) if (is_spec(spec) and spec is not Unknown) or isinstance(spec, Const) else (("value", Held(value)), Const(value))


def here(transformed: Transformed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call in a trace."""
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
