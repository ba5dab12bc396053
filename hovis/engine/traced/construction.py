"""Construction of instances and classes, written in Python, which the engine traces through (CPython: type_call, type_new)."""

from typing import Any

from hovis.engine.traced.slot_protocols import Method
from hovis.ir.operations import inherits, type_name


def _wraps() -> bool:
    """Does an error in ``__set_name__`` become a RuntimeError (else it gets a note)?"""

    class Failing:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyError

    try:
        type("A", (), {"a": Failing()})
    except KeyError:
        return False
    except RuntimeError:
        pass
    return True


_WRAPS = _wraps()


def defined(cls: type, naming: tuple[tuple[Method, Any, str], ...], init: Method | None, named: dict[str, Any]) -> type:
    """The end of type_new: call ``__set_name__`` of the values in the namespace, and ``__init_subclass__`` of the bases."""
    for method, value, name in naming:
        try:
            method(value, cls, name)
        except BaseException as error:
            told = f"Error calling __set_name__ on '{type_name(value)}' instance {name!r} in '{cls.__name__}'"
            if _WRAPS:
                raise RuntimeError(told) from error
            error.add_note(told)
            raise
    if init is not None:
        init(cls, **named)
    return cls


def construct(instance: Any, init: Method, /, *args: Any, **kwargs: Any) -> Any:
    """type_call after ``object.__new__``."""
    result = init(instance, *args, **kwargs)
    if result is not None:
        raise TypeError(f"__init__() should return None, not '{type_name(result)}'")
    return instance


def construct_new(cls: type, new: Method, /, *args: Any, **kwargs: Any) -> Any:
    """type_call with a ``__new__`` written in Python and no ``__init__`` of its own."""
    return new(cls, *args, **kwargs)


def construct_both(cls: type, new: Method, /, *args: Any, **kwargs: Any) -> Any:
    """type_call with a ``__new__`` written in Python and an ``__init__``."""
    made = new(cls, *args, **kwargs)
    if inherits(made, cls):
        return construct(made, type(made).__init__, *args, **kwargs)
    return made


def construct_fixed(hold: Method, base: type, init: Method | None, cls: type, /, *args: Any, **kwargs: Any) -> Any:
    """type_call of a class whose instances hold one fixed value of a builtin class."""
    if len(args) > (3 if base is str else 2 if base is int else 1):
        return base.__new__(cls, *args, **kwargs)      # its error message may differ from that of a call of the base
    # a class with an ``__init__`` may take keyword arguments that tuple_new and float_new do not accept
    inside = base(*args) if init is not None and (base is tuple or base is float) else base(*args, **kwargs)
    instance = hold(cls, inside)
    return instance if init is None else construct(instance, init, *args, **kwargs)


def fill_list(plain: bool, inside: list[Any], /, *args: Any, **named: Any) -> None:
    """list___init__.

    plain: the class has no ``__new__`` of its own, which might take more arguments than that of list.
    """
    if plain and named:
        raise TypeError("list() takes no keyword arguments")
    if len(args) > 1:
        raise TypeError(f"list expected at most 1 argument, got {len(args)}")
    inside.clear()
    for iterable in args:
        inside.extend(iterable)


def fill_dict(inside: dict[Any, Any], /, *args: Any, **named: Any) -> None:
    """dict_init."""
    if len(args) > 1:
        raise TypeError(f"dict expected at most 1 argument, got {len(args)}")
    inside.update(*args, **named)
