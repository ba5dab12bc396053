"""The callables of the IR that Python itself has no name for.

Each is an ordinary function whose body *is* its meaning: ``evaluate`` calls it, the assembler may know a shorter
instruction sequence.  They print by their bare name.
"""

import builtins
import contextlib
import functools
import itertools
import operator
import os
import sys
import types
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final


class _Sentinel:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


#: Where hovis itself lives.
PACKAGE: Final = str(Path(__file__).resolve().parent.parent) + os.sep

#: What ``next(iterator, END)`` gives when the iterator is exhausted.
END: Final = _Sentinel("END")

#: The contents of a local or a cell that is not bound.
UNBOUND: Final = _Sentinel("UNBOUND")


# ------------------------------------------------------------------------------------------------- building


def make_tuple(*items: object) -> tuple[object, ...]:
    """A tuple of the items."""
    return items


def make_list(*items: object) -> list[object]:
    """A new list of the items."""
    return list(items)


def make_set(*items: object) -> set[object]:
    """A new set of the items."""
    return set(items)


def make_dict(*keys_and_values: object) -> dict[object, object]:
    """A new dict of key, value, key, value, …"""
    return dict(zip(keys_and_values[::2], keys_and_values[1::2], strict=True))


def make_object(cls: type, names: tuple[str, ...], *values: object) -> object:
    """An instance of cls with these attributes, made without running any code of the class."""
    instance: object = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(instance, name, value)
    return instance


def make_cell(contents: object) -> types.CellType:
    """A closure cell; empty if contents is UNBOUND."""
    return types.CellType() if contents is UNBOUND else types.CellType(contents)


def make_function(
    code: types.CodeType,
    namespace: dict[str, Any],
    name: str,
    qualname: str,
    defaults: tuple[object, ...] | None,
    kwdefaults: dict[str, object] | None,
    annotations: object,
    *cells: types.CellType,
) -> types.FunctionType:
    """What MAKE_FUNCTION makes (CPython: Python/bytecodes.c)."""
    made = types.FunctionType(code, namespace, name, defaults, cells or None)
    made.__qualname__ = qualname
    if kwdefaults:
        made.__kwdefaults__ = kwdefaults
    if isinstance(annotations, tuple):
        annotations = dict(zip(annotations[::2], annotations[1::2], strict=True))
    if annotations:
        made.__annotations__ = annotations  # type: ignore[assignment]
    return made


def is_plain(value: object) -> bool:
    """Is value, as an attribute of a class, just a value: has its class none of the methods of a descriptor?"""
    return not any(name in base.__dict__ for base in type(value).__mro__ for name in ("__get__", "__set__", "__delete__", "__set_name__"))


def make_class(meta: type, name: str, bases: tuple[type, ...], names: tuple[str, ...], *values: object) -> type:
    """The class that a class statement makes of what its body has left in the namespace."""
    made: type = meta(name, bases, dict(zip(names, values, strict=True)))
    return made


class _Quiet:
    """The first base of a class while it is made: it keeps ``__init_subclass__`` of the others from being called."""

    def __init_subclass__(cls, **_: object) -> None:
        """Nothing."""


class _QuietSlots:
    """The same for classes whose instances have no dictionary."""

    __slots__ = ()

    def __init_subclass__(cls, **_: object) -> None:
        """Nothing."""


def make_class_quietly(meta: type, name: str, bases: tuple[type, ...], names: tuple[str, ...], *values: object) -> type:
    """The same without ``__init_subclass__``, which has been called."""
    first: type = _Quiet if any(base.__dictoffset__ for base in bases) else _QuietSlots
    made: type = meta(name, (first, *bases), dict(zip(names, values, strict=True)))
    made.__bases__ = bases
    return made


def finish_class(meta: type, name: str, bases: tuple[type, ...], namespace: dict[str, Any], cell: types.CellType | None, named: dict[str, Any]) -> type:
    """What ``__build_class__`` does when the body has run, for a class of plain bases."""
    made: type = meta(name, bases, namespace, **named)
    if cell is not None and cell_get(cell, "__class__", True) is not made:
        raise TypeError(f"__class__ set to {cell.cell_contents!r} defining {name!r} as {made!r}")
    return made


def bind(function: Callable[..., object], instance: object) -> types.MethodType:
    """A bound method."""
    return types.MethodType(function, instance)


# ------------------------------------------------------------------------------------------------- variables


def load_global(namespace: dict[str, Any], name: str) -> object:
    """A global, else a builtin, else NameError (LOAD_GLOBAL)."""
    found = namespace.get(name, END)
    if found is END:
        scope = namespace.get("__builtins__", builtins)
        found = (scope if isinstance(scope, dict) else vars(scope)).get(name, END)
    if found is END:
        raise NameError(f"name {name!r} is not defined", name=name)
    return found


def store_global(namespace: dict[str, Any], name: str, value: object) -> None:
    """STORE_GLOBAL."""
    namespace[name] = value


def delete_global(namespace: dict[str, Any], name: str) -> None:
    """DELETE_GLOBAL."""
    if name not in namespace:
        raise NameError(f"name {name!r} is not defined", name=name)
    del namespace[name]


def load_name(names: dict[str, Any], namespace: dict[str, Any], name: str) -> object:
    """A name of a class body, else a global, else a builtin (LOAD_NAME)."""
    return names[name] if name in names else load_global(namespace, name)


def load_name_or_cell(names: dict[str, Any], cell: types.CellType, name: str) -> object:
    """A name of a class body, else a variable of an enclosing function (LOAD_FROM_DICT_OR_DEREF)."""
    return names[name] if name in names else cell_get(cell, name, True)


def delete_name(names: dict[str, Any], name: str) -> None:
    """DELETE_NAME."""
    if name not in names:
        raise NameError(f"name {name!r} is not defined", name=name)
    del names[name]


def cell_get(cell: types.CellType, name: str, free: bool) -> object:
    """The contents of a cell, NameError if it is empty (LOAD_DEREF)."""
    found: object = UNBOUND
    with contextlib.suppress(ValueError):
        found = cell.cell_contents
    return check_bound(found, name, free)


def cell_set(cell: types.CellType, value: object) -> None:
    """STORE_DEREF; with UNBOUND, DELETE_DEREF of a bound cell."""
    if value is UNBOUND:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def unbound(name: str, free: bool) -> NameError:
    """The exception of reading a local (or, if free, a variable of an enclosing function) that has no value."""
    if free:
        return NameError(f"cannot access free variable {name!r} where it is not associated with a value in enclosing scope", name=name)
    return UnboundLocalError(f"cannot access local variable {name!r} where it is not associated with a value")


def check_bound(value: object, name: str, free: bool = False) -> object:
    """value, or the NameError of a variable that is UNBOUND."""
    if value is UNBOUND:
        raise unbound(name, free)
    return value


def cell_contents(cell: types.CellType) -> object:
    """The contents of a cell, UNBOUND if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def refresh_locals(scope: dict[str, object] | None, names: tuple[str, ...], *values: object) -> dict[str, object]:
    """The dict of ``locals()`` brought up to date, or a new one."""
    found = {} if scope is None else scope
    for name, value in zip(names, values, strict=True):
        if value is UNBOUND:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def unchanged(environment: Any) -> bool:
    """Does what was folded of the environment still hold?  Asked again after an opaque call."""
    held: bool = environment.hold()
    return held


def drop(value: object) -> None:
    """The end of the life of value here: the residual holds it no longer."""


def keep(value: object) -> None:
    """An exception leaves the residual: its traceback holds the frame, and that holds value."""


# ------------------------------------------------------------------------------------------------- calls


def apply(function: Callable[..., object], args: Iterable[object], kwargs: Mapping[str, object]) -> object:
    """``function(*args, **kwargs)``."""
    return function(*args, **kwargs)


def apply_positional(function: Callable[..., object], args: Iterable[object]) -> object:
    """``function(*args)``."""
    return function(*args)


def method_of(special: str, instance: object, message: str) -> object:
    """The special method of the type of instance, bound (``_PyObject_LookupSpecial``); TypeError if there is none."""
    for cls in type(instance).__mro__:
        if special in cls.__dict__:
            found = cls.__dict__[special]
            get = getattr(type(found), "__get__", None)
            return found if get is None else get(found, instance, type(instance))
    raise TypeError(message.format(type(instance).__name__))


_ENTER = "'{}' object does not support the context manager protocol"


def context_enter(manager: object) -> object:
    """The bound ``__enter__`` of a context manager (BEFORE_WITH)."""
    return method_of("__enter__", manager, _ENTER)


def context_exit(manager: object) -> object:
    """The bound ``__exit__`` of a context manager (BEFORE_WITH)."""
    return method_of("__exit__", manager, _ENTER + " (missed __exit__ method)")


# ------------------------------------------------------------------------------------------------- attributes


def lacks(instance: object, name: str) -> bool:
    """Has the instance itself nothing by that name (so that a method of its class is not hidden)?"""
    return name not in object.__getattribute__(instance, "__dict__")


def inherits(value: object, cls: type) -> bool:
    """Is cls the class of value or one above it, whatever these say of themselves (PyObject_TypeCheck)?"""
    return cls in type(value).__mro__


def own_attribute(instance: object, name: str) -> object:
    """What the instance itself has by that name."""
    return object.__getattribute__(instance, "__dict__")[name]
# ------------------------------------------------------------------------------------------------- generators


def yield_(value: object) -> object:
    """YIELD_VALUE, in a Function that is a generator: gives what is sent, raises what is thrown in."""
    raise RuntimeError("yield_ is for whoever runs a generator")


def yield_from(iterator: Any) -> object:
    """The whole of a ``yield from``, behind GET_YIELD_FROM_ITER: gives what the iterator returns."""
    raise RuntimeError("yield_from is for whoever runs a generator")


def yield_from_iter(iterable: Any) -> Iterator[object]:
    """GET_YIELD_FROM_ITER."""
    if isinstance(iterable, types.CoroutineType):
        raise TypeError("cannot 'yield from' a coroutine object in a non-coroutine generator")
    return iterable if isinstance(iterable, types.GeneratorType) else iter(iterable)


def begun(generator: Generator[object, object, object]) -> Generator[object, object, object]:
    """A new generator, advanced to where it stands."""
    next(generator)
    return generator


def ended_generator(name: str, qualname: str) -> Iterator[object]:
    """A generator that has come to its end."""
    made: Any = (item for item in "")
    made.__name__, made.__qualname__ = name, qualname
    next(made, None)
    return made  # type: ignore[no-any-return]


def throw_exit(generator: Generator[object, object, object]) -> object:
    """The half of ``generator.close()`` that may run the generator."""
    return generator.throw(GeneratorExit())


def in_context(exception: BaseException, context: BaseException | None) -> BaseException:
    """exception, with this ``__context__``."""
    exception.__context__ = context
    return exception


def raise_again(exception: BaseException) -> object:
    """RERAISE, as a call."""
    raise exception


def unraisable(exception: BaseException) -> None:
    """What becomes of an exception out of a finalizer (PyErr_WriteUnraisable)."""

    def finalized() -> Generator[None, None, None]:
        try:
            yield
        finally:
            raise exception

    next(finalized())


def make_key(compare: Callable[[Any, Any], Any], value: object) -> object:
    """``functools.cmp_to_key(compare)``; a key that this makes, if value is given (it is not END)."""
    made = functools.cmp_to_key(compare)
    return made if value is END else made(value)


# ------------------------------------------------------------------------------------------------- conversions


class _Answer:
    """Gives a result by a special method, so that CPython can say what it thinks of it."""

    def __init__(self, name: str, result: object) -> None:
        self.made = type("object", (), {name: lambda _: result})()


def converted(result: Any, name: str) -> int:
    """An int that ``__int__`` or ``__index__`` gave, if it is one (PyNumber_Long, PyNumber_Index)."""
    made: Any = _Answer(name, result).made
    return int(made) if name == "__int__" else operator.index(made)


def converted_to_float(result: Any, name: str) -> float:
    """A float that ``__float__`` gave, if it is one (PyNumber_Float)."""
    return float(type(name, (), {"__float__": lambda _: result})())


def converted_to_hash(result: Any) -> int:
    """An int that ``__hash__`` gave, if it is one (slot_tp_hash)."""
    if type(result) is int and -sys.maxsize <= result <= sys.maxsize:
        return -2 if result == -1 else result
    return hash(_Answer("__hash__", result).made)


# ------------------------------------------------------------------------------------------------- iteration


def unpack(iterable: Iterable[object], count: int) -> tuple[object, ...]:
    """Exactly count items, with CPython's own complaint otherwise (UNPACK_SEQUENCE)."""
    return _unpacker(count, -1)(iterable)


def unpack_star(iterable: Iterable[object], before: int, after: int) -> tuple[object, ...]:
    """before items, a list of the middle ones, after items (UNPACK_EX)."""
    return _unpacker(before, after)(iterable)


_unpackers: dict[tuple[int, int], Callable[[Iterable[object]], tuple[object, ...]]] = {}


def is_iterator(value: object) -> bool:
    """Can value be stepped (PyIter_Check)?"""
    return any("__next__" in cls.__dict__ for cls in type(value).__mro__)


def _unpacker(before: int, after: int) -> Callable[[Iterable[object]], tuple[object, ...]]:
    """A function that does the real unpacking assignment, so that errors are CPython's, word by word."""
    found = _unpackers.get((before, after))
    if found is None:
        names = [f"a{k}" for k in range(before)]
        if after >= 0:
            names += ["*rest", *(f"b{k}" for k in range(after))]
        target = ", ".join(names) + ("," if len(names) == 1 else "") if names else "()"
        result = f"({', '.join(n.lstrip('*') for n in names)}{',' if names else ''})"
        scope: dict[str, Any] = {}
        exec(f"def unpacking(iterable):\n    {target if names else '[]'} = iterable\n    return {result}", scope)
        found = _unpackers[before, after] = scope["unpacking"]
    return found


def make_iterator(source: Any, position: int) -> object:
    """``iter(source)`` of a list, tuple, str or bytes that has been stepped to position (-1: exhausted)."""
    iterator = iter(source)
    if position < 0:
        iterator.__setstate__(len(source))
        for _ in iterator:
            pass
    elif position:
        iterator.__setstate__(position)
    return iterator


def make_reverse_iterator(sequence: Any, index: int) -> object:
    """``reversed(sequence)`` of a list, tuple, str or bytes whose next item is at index (-1: exhausted)."""
    iterator: Any = reversed(sequence)
    if index < len(sequence) - 1:
        iterator.__setstate__(index)
    return iterator


def make_range_iterator(current: int, stop: int, step: int) -> object:
    """The iterator of a range whose next item is current."""
    return iter(range(current, stop, step))


def make_dict_iterator(source: dict[Any, Any], position: int, view: str, size: int = -1) -> object:
    """``iter(source.keys())``, ``.values()`` or ``.items()``, stepped to position (-1: exhausted).

    If the dict had another size when it began (size), its next step raises, as that of the real one does.
    """
    if position >= 0 and 0 <= size != len(source):
        stale: dict[Any, Any] = dict(source)
        iterator = iter(getattr(stale, view)())
        stale[END] = stale
        return iterator
    iterator = iter(getattr(source, view)())
    for _ in range(len(source) if position < 0 else position):
        next(iterator)
    if position < 0:
        next(iterator, None)
    return iterator


def resume_dict_iterator(source: dict[Any, Any], position: int, size: int, view: str) -> object:
    """The iterator of a dict stepped to position, about to be stepped again: RuntimeError if the dict has another size now."""
    if len(source) != size:
        raise RuntimeError("dictionary changed size during iteration")
    return make_dict_iterator(source, position, view)


# ------------------------------------------------------------------------------------------------- exceptions


def raised(exception: object) -> BaseException:
    """The exception that ``raise exception`` raises here, with its context set."""
    try:
        raise exception  # type: ignore[misc]
    except BaseException as caught:
        return caught


def make_exception(cls: Any, args: tuple[object, ...], names: tuple[str, ...] = (), *values: object) -> BaseException:
    """An exception with these arguments and attributes, made without running any code of the class."""
    made: BaseException = cls.__new__(cls, *args)
    for name, value in zip(names, values, strict=True):
        BaseException.__setattr__(made, name, value)
    return made


def caught_at(exception: BaseException, depth: int) -> BaseException:
    """exception, caught in an inlined call so deep: its traceback has no entries of the calls around that (yet)."""
    return exception


def passed(exception: BaseException, depth: int) -> BaseException:
    """exception, that leaves inlined calls for one so deep: its traceback gets the entries of those it passes."""
    return exception


def with_cause(exception: BaseException, cause: BaseException | None) -> BaseException:
    """exception with its ``__cause__`` set, as ``raise exception from cause`` does first."""
    exception.__cause__ = cause
    return exception


def with_attribute(exception: BaseException, name: str, value: object) -> BaseException:
    """exception with an attribute set, by no code of its class."""
    BaseException.__setattr__(exception, name, value)
    return exception


def with_note(exception: BaseException, note: str) -> BaseException:
    """exception with one note more."""
    exception.add_note(note)
    return exception


def raise_current() -> None:
    """A bare ``raise``."""
    raise


def raise_now(exception: object) -> None:
    """``raise exception``."""
    raise exception  # type: ignore[misc]


def raise_from(exception: object, cause: object) -> None:
    """``raise exception from cause``."""
    raise exception from cause  # type: ignore[misc]


def stop_iteration_error(exception: BaseException) -> BaseException:
    """What leaves a generator: exception, or the RuntimeError that stands for a StopIteration (PEP 479)."""
    if not isinstance(exception, StopIteration):
        return exception
    made = RuntimeError("generator raised StopIteration")
    made.__cause__ = made.__context__ = exception
    return made


def exception_matches(exception: object, classes: Any) -> bool:
    """``except classes:`` (CHECK_EXC_MATCH): by the MRO alone, without ``__instancecheck__``."""
    found = False
    for cls in classes if isinstance(classes, tuple) else (classes,):
        if not isinstance(cls, type) or not issubclass(cls, BaseException):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")
        found = found or cls in type(exception).__mro__
    return found


def group_matches(exception: Any, classes: Any) -> tuple[object, object]:
    """``except* classes:`` (CHECK_EG_MATCH): what is left of exception, and the group of what matches; None for nothing."""
    flat = classes if isinstance(classes, tuple) else (classes,)
    if not all(isinstance(cls, type) and issubclass(cls, BaseException) for cls in flat):
        raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    if any(issubclass(cls, BaseExceptionGroup) for cls in flat):
        raise TypeError("catching ExceptionGroup with except* is not allowed. Use except instead.")
    if exception is None:
        return None, None
    if exception_matches(exception, classes):
        return None, exception if isinstance(exception, BaseExceptionGroup) else BaseExceptionGroup("", [exception])
    if isinstance(exception, BaseExceptionGroup):
        match, rest = exception.split(classes)
        return rest, match
    return exception, None


def prepare_reraise(original: BaseException, raised: list[BaseException | None]) -> object:
    """What is to be raised behind the clauses of an ``except*`` (PREP_RERAISE_STAR), None for nothing."""
    if not isinstance(original, BaseExceptionGroup):
        return raised[0] if raised else None
    found = [one for one in raised if one is not None]
    again = [one for one in found if _same_metadata(one, original)]
    new = [one for one in found if not _same_metadata(one, original)]
    leaves = {id(leaf) for one in again for leaf in _leaves(one)}
    rest = original.split(lambda one: id(one) in leaves)[0] if leaves else None
    if not new:
        return rest
    if rest is not None:
        new.append(rest)
    return new[0] if len(new) == 1 else BaseExceptionGroup("", new)


def _same_metadata(a: BaseException, b: BaseException) -> bool:
    """Is a part of the group b, raised again?"""
    if not isinstance(a, BaseExceptionGroup):
        return False
    names = ("__traceback__", "__cause__", "__context__", "__notes__")
    return all(getattr(a, name, None) is getattr(b, name, None) for name in names)


def _leaves(exception: BaseException) -> Iterable[BaseException]:
    if isinstance(exception, BaseExceptionGroup):
        for inner in exception.exceptions:
            yield from _leaves(inner)
    else:
        yield exception


def enter_handler(exception: BaseException) -> None:
    """From here on exception is being handled (PUSH_EXC_INFO).  Meaning: the interpreter's and the assembler's."""
    raise TypeError("enter_handler has no meaning outside a Function")


def leave_handler() -> None:
    """The end of the handling that the last ``enter_handler`` began (POP_EXCEPT)."""
    raise TypeError("leave_handler has no meaning outside a Function")


def current_exception() -> BaseException | None:
    """The exception that is being handled, as a bare ``raise`` sees it."""
    raise TypeError("current_exception has no meaning outside a Function")


def traceback_of(exception: BaseException) -> types.TracebackType | None:
    """``exception.__traceback__`` as ``__exit__`` is given it."""
    return exception.__traceback__


# ------------------------------------------------------------------------------------------------- warnings


def warn_at(message: Any, category: Any, source: object, namespace: dict[str, Any], file: str, line: int) -> None:
    """``warnings.warn`` as from a place in the module with these globals (warnings_warn of Python/_warnings.c)."""
    if isinstance(message, Warning):
        category = type(message)
    elif category is None:
        category = UserWarning
    if not (isinstance(category, type) and issubclass(category, Warning)):
        raise TypeError(f"category must be a Warning subclass, not '{type(category).__name__}'")
    registry = namespace.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, file, line, namespace.get("__name__") or "<string>", registry, None, source)


def warn_above(message: Any, category: Any, source: object, level: int) -> None:
    """``warnings.warn`` as from so many levels above the residual; hovis itself is none of them."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and level:
        frame = frame.f_back
        level -= frame is not None and not frame.f_code.co_filename.startswith(PACKAGE)
    if frame is None:
        warnings.warn(message, category, 1_000_000, source)
    else:
        warn_at(message, category, source, frame.f_globals, frame.f_code.co_filename, frame.f_lineno)


# ------------------------------------------------------------------------------------------------- text and imports


def format_value(value: object, spec: str = "") -> str:
    """FORMAT_VALUE: ``format(value, spec)``, but nothing is called for an exact str without spec."""
    return value if type(value) is str and not spec else format(value, spec)


def join_strings(*parts: str) -> str:
    """BUILD_STRING."""
    return "".join(parts)


def import_name(namespace: dict[str, Any], name: str, fromlist: tuple[str, ...] | None, level: int) -> object:
    """IMPORT_NAME."""
    scope = namespace.get("__builtins__", builtins)
    importer = scope["__import__"] if isinstance(scope, dict) else scope.__import__
    return importer(name, namespace, None, fromlist, level)


def import_from(module: Any, name: str) -> object:
    """IMPORT_FROM (``import_from`` of CPython's Python/ceval.c)."""
    scope: dict[str, Any] = {"__builtins__": {"__import__": lambda *_: module}}
    exec(f"from _ import {name} as found", scope)
    return scope["found"]


# ------------------------------------------------------------------------------------------------- containers


def match_at(pattern: Any, text: Any, index: int) -> Any:
    """The match at an index of all that pattern finds in text."""
    return next(itertools.islice(pattern.finditer(text), index, None))


def list_extend(items: list[object], iterable: Iterable[object]) -> None:
    """LIST_EXTEND: ``[*iterable]``, whose complaint differs from that of ``list.extend``."""
    if not hasattr(type(iterable), "__iter__") and not hasattr(type(iterable), "__getitem__"):
        raise TypeError(f"Value after * must be an iterable, not {type(iterable).__name__}")
    items.extend(iterable)


def arrange(keys: list[Any], items: list[object], reverse: bool) -> list[object]:
    """The items in the order of their keys: what ``sorted(items, key=…)`` gives where keys are what key gave."""
    return [items[k] for k in sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)]


def dict_merge(target: dict[object, object], mapping: Any, function: Any) -> None:
    """DICT_MERGE: ``f(**mapping)``, which refuses a key twice."""
    for key in mapping.keys() if hasattr(mapping, "keys") else _not_a_mapping(function, mapping):
        if key in target:
            raise TypeError(f"{_called(function)} got multiple values for keyword argument {key!r}")
        target[key] = mapping[key]


def _not_a_mapping(function: Any, mapping: Any) -> Any:
    raise TypeError(f"{_called(function)} argument after ** must be a mapping, not {type(mapping).__name__}")


def _called(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    module = getattr(function, "__module__", None)
    if name is None:
        return str(function)
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"


def dict_update(target: dict[object, object], mapping: Any) -> None:
    """DICT_UPDATE: ``{**mapping}``."""
    if not hasattr(mapping, "keys"):
        raise TypeError(f"{type(mapping).__name__!r} object is not a mapping")
    target.update(mapping)


# ------------------------------------------------------------------------------------------------- match


def match_sequence(subject: object) -> bool:
    """MATCH_SEQUENCE: the flag of the type."""
    return bool(type(subject).__flags__ & (1 << 5))


def match_mapping(subject: object) -> bool:
    """MATCH_MAPPING: the flag of the type."""
    return bool(type(subject).__flags__ & (1 << 6))


def match_class(subject: object, cls: Any, count: int, names: tuple[str, ...]) -> tuple[object, ...] | None:
    """MATCH_CLASS: the attributes that a class pattern asks for, None if it does not match."""
    scope: dict[str, Any] = {"cls": cls}
    patterns = [f"a{k}" for k in range(count)] + [f"{name}=b{k}" for k, name in enumerate(names)]
    found = [f"a{k}" for k in range(count)] + [f"b{k}" for k in range(len(names))]
    key = (count, names)
    code = _class_patterns.get(key)
    if code is None:
        shown = f"({', '.join(found)}{',' if found else ''})"
        text = f"def matching(subject):\n match subject:\n  case cls({', '.join(patterns)}):\n   return {shown}\n return None"
        code = _class_patterns[key] = compile(text, "<match>", "exec")
    exec(code, scope)
    result: tuple[object, ...] | None = scope["matching"](subject)
    return result


_class_patterns: dict[Any, types.CodeType] = {}


def match_keys(subject: Any, keys: tuple[object, ...]) -> tuple[object, ...] | None:
    """MATCH_KEYS: the values of these keys, None if one is missing."""
    seen: set[object] = set()
    found = []
    for key in keys:
        if key in seen:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        seen.add(key)
        value = subject.get(key, END)
        if value is END:
            return None
        found.append(value)
    return tuple(found)


def apply_all(function: Any, star: Iterable[object], double: Mapping[str, object] | None, names: tuple[str, ...], *values: object) -> object:
    """``function(*values, *star, **named, **double)``, the last of the values being named."""
    count = len(values) - len(names)
    named = dict(zip(names, values[count:], strict=True))
    return function(*values[:count], *star, **named, **(double or {}))
