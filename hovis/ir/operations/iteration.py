"""Iterators and generators, started or not, and unpacking."""

import itertools
import types
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from hovis.ir.operations.sentinels import END


def yield_(value: object) -> object:
    """YIELD_VALUE, in a Function that is a generator: returns the value that is sent, or raises the exception that is thrown in."""
    raise RuntimeError("yield_ has no meaning outside a running generator")


def yield_from(iterator: Any) -> object:
    """A whole ``yield from``, after GET_YIELD_FROM_ITER: returns the return value of the iterator."""
    raise RuntimeError("yield_from has no meaning outside a running generator")


def yield_rest(iterator: Any) -> object:
    """A ``yield from`` that has begun: yields None, which nobody receives, and continues with the value that is sent, or the exception that is
    thrown in.
    """
    raise RuntimeError("yield_rest has no meaning outside a running generator")


def going_on(iterator: Any) -> Generator[object, object, object]:
    """Yield None, then the remaining items of an iterator: a ``yield from`` of this generator is a yield_rest."""
    item = None
    while True:
        try:
            sent = yield item
        except GeneratorExit:
            if hasattr(iterator, "close"):
                iterator.close()
            raise
        except BaseException as thrown:
            throw = getattr(iterator, "throw", None)
            if throw is None:
                raise
            try:
                item = throw(thrown)
            except StopIteration as stop:
                return stop.value
        else:
            try:
                item = next(iterator) if sent is None else iterator.send(sent)
            except StopIteration as stop:
                return stop.value


def yield_from_iter(iterable: Any) -> Iterator[object]:
    """GET_YIELD_FROM_ITER."""
    if isinstance(iterable, types.CoroutineType):
        raise TypeError("cannot 'yield from' a coroutine object in a non-coroutine generator")
    return iterable if isinstance(iterable, types.GeneratorType) else iter(iterable)


def begun(generator: Generator[object, object, object]) -> Generator[object, object, object]:
    """A new generator, advanced to the point where it has to stand."""
    next(generator)
    return generator


def ended_generator(name: str, qualname: str, code: types.CodeType | None = None) -> Generator[object, object, object]:
    """A finished generator with these names and this code (None: some code with these names)."""
    if code is None:
        code = going_on.__code__.replace(co_name=name, co_qualname=qualname)
    function = types.FunctionType(code, {}, name, None, tuple(types.CellType() for _ in code.co_freevars))
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    made: Any = function(*((),) * code.co_argcount, **dict.fromkeys(named))  # since 3.15, a generator expression makes an iterator of its argument first
    made.__qualname__ = qualname
    made.close()
    return made  # type: ignore[no-any-return]


def throw_exit(generator: Generator[object, object, object]) -> object:
    """The part of ``generator.close()`` that may run the generator."""
    return generator.throw(GeneratorExit())


def unpack(iterable: Iterable[object], count: int) -> tuple[object, ...]:
    """Exactly count items; CPython's own error if there are more or fewer (UNPACK_SEQUENCE)."""
    return _unpacker(count, -1)(iterable)


def unpack_star(iterable: Iterable[object], before: int, after: int) -> tuple[object, ...]:
    """The first `before` items, a list of the middle ones, the last `after` items (UNPACK_EX)."""
    return _unpacker(before, after)(iterable)


_unpackers: dict[tuple[int, int], Callable[[Iterable[object]], tuple[object, ...]]] = {}


def is_iterator(value: object) -> bool:
    """Is value an iterator (PyIter_Check)?"""
    return any("__next__" in cls.__dict__ for cls in type(value).__mro__)


def _unpacker(before: int, after: int) -> Callable[[Iterable[object]], tuple[object, ...]]:
    """Return a function that executes a real unpacking assignment, whose error messages are exactly CPython's."""
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
    """``iter(source)`` of a container, advanced to position (-1: exhausted)."""
    iterator = iter(source)
    if isinstance(source, dict | set | frozenset):
        next(itertools.islice(iterator, position, position), None)
    elif position < 0:
        iterator.__setstate__(len(source))
        for _ in iterator:
            pass
    elif position:
        iterator.__setstate__(position)
    return iterator


def make_chain(active: object, source: object) -> object:
    """Return an ``itertools.chain`` that has begun: of what is left of the iterator active, if it is not None, and of the iterables that the iterator
    source yields.
    """
    begun = () if active is None else (_Begun(active),)
    return itertools.chain.from_iterable(itertools.chain(begun, _Begun(source)))


class _Begun:
    """An iterable whose iterator is one that exists already: its ``__iter__``, which may be that of the user, is not called once more."""

    __slots__ = ("_iterator",)

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def __iter__(self) -> Any:
        return self._iterator


def make_reverse_iterator(sequence: Any, index: int) -> object:
    """``reversed(sequence)`` of a list, tuple, str or bytes whose next item is at index (-1: exhausted)."""
    iterator: Any = reversed(sequence)
    if index < len(sequence) - 1:
        iterator.__setstate__(index)
    return iterator


def make_range_iterator(current: int, stop: int, step: int) -> object:
    """The iterator of a range whose next item is current."""
    return iter(range(current, stop, step))


def range_step(step: int) -> int:
    """The step of a range, which may not be zero."""
    range(0, 0, step)
    return step


def range_goes_on(current: int, stop: int, step: int) -> bool:
    """Is current still within the range, so that the iteration continues with it?"""
    return current < stop if step > 0 else current > stop


def make_dict_iterator(source: dict[Any, Any], position: int, view: str, size: int = -1) -> object:
    """``iter(source.keys())``, ``.values()`` or ``.items()``, advanced to position (-1: exhausted).

    If the dict had another size when the iteration began (``size``), the next step raises, as that of the real iterator does.
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
    """The iterator of a dict at position, which is about to be advanced: RuntimeError if the size of the dict has changed."""
    if len(source) != size:
        raise RuntimeError("dictionary changed size during iteration")
    return make_dict_iterator(source, position, view)


def match_at(pattern: Any, text: Any, index: int) -> Any:
    """The match number index among all matches of pattern in text."""
    return next(itertools.islice(pattern.finditer(text), index, None))
