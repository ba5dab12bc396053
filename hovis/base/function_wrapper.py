"""Wrappers: callables that stand for a function and behave like one. They have names and a docstring, bind to instances, and are pickled by
name.

A wrapper keeps its own data in slots, because ``functools.wraps`` copies the whole ``__dict__`` from one function to another.
"""

import functools
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

_COPIED: Final = frozenset({*functools.WRAPPER_ASSIGNMENTS, "__wrapped__"})


class _Asked:
    """A descriptor: the attribute is ``of(wrapper)``, unless the wrapper was given another value for it."""

    def __init__(self, of: Callable[["Wrapper"], Any]) -> None:
        self.of = of

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, made: "Wrapper | None", owner: type) -> Any:
        if made is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self.name!r}")
        return self.of(made)


def _of_function(name: str) -> _Asked:
    """Make a descriptor for an attribute of functions, read from the function that the wrapper stands for."""

    def of(made: "Wrapper") -> Any:
        fn = made.made_from()
        if made.naming == "{}" and isinstance(fn, types.FunctionType | Wrapper):
            return getattr(fn, name)
        raise AttributeError(f"{type(made).__name__!r} object has no attribute {name!r}", name=name, obj=made)

    return _Asked(of)


class Held:
    """A known object that is compared by identity; the key that contains it keeps it alive."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return f"Held({type(self.value).__name__})"


class Alike:
    """Key for the behavior of the calls of a wrapper: equal for wrappers that are interchangeable."""

    __slots__ = ("parts", "value")

    def __init__(self, value: Any) -> None:
        self.value: Wrapper = value
        self.parts = type(value), *map(_told, value.made_of() or (value,))

    def kept(self) -> "Alike":
        """Return an equal key that later changes of the wrapper do not affect."""
        made = Alike.__new__(Alike)
        made.value, made.parts = self.value.calls_alike(), self.parts
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return str(getattr(self.value, "__qualname__", self.value.__name__))


def _told(part: Any) -> Any:
    """Convert a component of a wrapper to a key that is equal for equal components."""
    kind = type(part)
    if kind is tuple:
        return tuple([_told(one) for one in part])
    if kind is str or part is None:
        return part
    if issubclass(kind, Wrapper) and part.made_of() is not None:
        return Alike(part)
    return (kind, _told(part.__func__), Held(part.__self__)) if kind is types.MethodType else Held(part)


class Wrapper:
    """A callable that is made of a function, ``made_from()``."""

    # no __getattr__: it would slow down every attribute access
    __slots__ = ()
    #: is it a known value by identity, as functions are?
    by_itself = True
    #: does it print under the name of the function?
    goes_by_name = True
    if TYPE_CHECKING:
        # it is in the instance's dictionary, except for wrappers that are made in a trace
        __qualname__: str
    # the attributes by which inspect recognizes a function (inspect._signature_is_functionlike)
    __code__ = _of_function("__code__")
    __defaults__ = _of_function("__defaults__")
    __kwdefaults__ = _of_function("__kwdefaults__")

    @property
    def naming(self) -> str:
        """The format string that makes its name from the name of the function."""
        return "{}"

    def is_told(self, is_known: Callable[[Any], bool]) -> bool:
        """Is the wrapper identified by its components, so that another one with the same components is interchangeable? is_known: can a value be
        distinguished from others?
        """
        return False

    def made_of(self) -> tuple[Any, ...] | None:
        """Return the components that determine its calls, if wrappers with equal components are interchangeable; None if it is identified by
        itself, or by its attributes.
        """
        return None

    def calls_alike(self) -> Any:
        """Return a wrapper that keeps the present behavior of this one, even if this one gets other rules later."""
        return self

    def made_from(self) -> Any:
        """Return the function that it is made of."""
        return self.fn  # type: ignore[attr-defined]

    @_Asked
    def __wrapped__(self) -> Any:
        return self.made_from()

    @_Asked
    def __name__(self) -> str:
        return self.naming.format(_name_of(self.made_from(), "__name__"))

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)  # type: ignore[arg-type]

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle by name if the name leads to this object; else by what it is made of."""
        name = str(getattr(self, "__qualname__", self.__name__))
        return name if _found(self, name) else self.made_again(name)

    def made_again(self, name: str) -> Any:
        """As ``__reduce_ex__``, for a wrapper that is not found by its name."""
        return name


def _found(made: object, qualname: str) -> bool:
    """Is ``made`` the object that its module has under this qualified name?"""
    found: Any = sys.modules.get(getattr(made, "__module__", None) or "")
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found is made


def _name_of(fn: Any, name: str) -> str:
    """Return the name of fn, or of its class if it has none."""
    return getattr(fn, name, None) or type(fn).__name__


def take_names(made: Any, fn: Any) -> None:
    """Copy the names, the docstring and the attributes of ``fn`` to ``made``, as ``functools.wraps`` does. Not used in a trace, where nobody
    sees them.
    """
    own: dict[str, Any] = {}
    for name in functools.WRAPPER_ASSIGNMENTS:
        try:
            own[name] = getattr(fn, name)
        except AttributeError:
            pass
    naming = made.naming
    own["__name__"], own["__qualname__"] = naming.format(_name_of(fn, "__name__")), naming.format(_name_of(fn, "__qualname__"))
    own["__wrapped__"] = fn
    if more := getattr(fn, "__dict__", None):
        own.update((name, value) for name, value in more.items() if name not in _COPIED and not hasattr(type(made), name))
    made.__dict__.update(own)
