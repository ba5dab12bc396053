"""Stand-ins for the callable objects of functools and operator.

(CPython: Modules/_functoolsmodule.c, Modules/_operator.c.)
"""

import functools
import operator
from typing import Any, Final

from hovis.ir import operations
from hovis.ir.operations.wording import message_of
from hovis.library.core import Library, acted, bare
from hovis.library.stdlib.iterators import MISSING, same

CALLABLES: Final = Library("callables")


# ------------------------------------------------------------------------------------------------- partial


@CALLABLES.model(functools.partial, makes=True, eager=True)
def partial(function: Any, /, *args: Any, **keywords: Any) -> Any:
    kind: Any = type(function)
    if kind is functools.partial:
        if not acted(function):
            return functools.partial.__new__(functools.partial, function, *args, **keywords)
        if bare(function):
            args = function.arguments + args
            keywords = {**function.named, **keywords}
            function = function.function
    if not callable(function):
        raise TypeError("the first argument must be callable")
    return Partial(function, args, keywords)


@CALLABLES.stand(
    functools.partial,
    functools.partial,
    "function *arguments **named",
    frozen=True,
    dictionary=True,
    opened=lambda p: (p.func, p.args, p.keywords),
)
class Partial:
    def __init__(self, function: Any, arguments: Any, named: Any) -> None:
        self.function = function
        self.arguments = arguments
        self.named = named

    @property
    def func(self) -> Any:
        return self.function

    @property
    def args(self) -> Any:
        return self.arguments

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        return self.function(*self.arguments, *args, **{**self.named, **named})


# ------------------------------------------------------------------------------------------------- operator


@CALLABLES.stand(operator.itemgetter, operator.itemgetter, "*items", frozen=True, eager=True, opened=lambda g: (g.__reduce__()[1],))
class Itemgetter:
    def __init__(self, item: Any, /, *items: Any) -> None:
        self.items = (item, *items)

    def __call__(self, obj: Any, /) -> Any:
        if len(self.items) == 1:
            return obj[self.items[0]]
        return (*[obj[item] for item in self.items],)


@CALLABLES.stand(operator.attrgetter, operator.attrgetter, "*names", frozen=True, eager=True, opened=lambda g: (g.__reduce__()[1],))
class Attrgetter:
    def __init__(self, attr: Any, /, *attrs: Any) -> None:
        names = (attr, *attrs)
        for name in names:
            if not isinstance(name, str):
                raise TypeError("attribute name must be a string")
        self.names = names

    def __call__(self, obj: Any, /) -> Any:
        if len(self.names) == 1:
            return _attribute(obj, self.names[0])
        return (*[_attribute(obj, name) for name in self.names],)


def _attribute(obj: Any, path: str) -> Any:
    for name in path.split("."):
        obj = getattr(obj, name)
    return obj


def _open_methodcaller(caller: Any) -> Any:
    made, args = caller.__reduce__()
    return (args[0], args[1:], {}) if made is operator.methodcaller else (made.args[0], args, made.keywords)


@CALLABLES.stand(operator.methodcaller, operator.methodcaller, "name *arguments **named", frozen=True, eager=True, opened=_open_methodcaller)
class Methodcaller:
    def __init__(self, name: Any, /, *args: Any, **kwargs: Any) -> None:
        if not isinstance(name, str):
            raise TypeError("method name must be a string")
        self.name = name
        self.arguments = args
        self.named = kwargs

    def __call__(self, obj: Any, /) -> Any:
        return getattr(obj, self.name)(*self.arguments, **self.named)


@CALLABLES.model(operator.countOf)
def count_of(a: Any, b: Any, /) -> int:
    count = 0
    for item in a:
        if same(item, b):
            count += 1
    return count


_NOT_IN: Final = message_of(lambda: operator.indexOf((), 1))


@CALLABLES.model(operator.indexOf)
def index_of(a: Any, b: Any, /) -> int:
    index = 0
    for item in a:
        if same(item, b):
            return index
        index += 1  # noqa: SIM113 (models call no other models)
    raise ValueError(_NOT_IN)


# ------------------------------------------------------------------------------------------------- cmp_to_key


@CALLABLES.model(functools.cmp_to_key, makes=True, eager=True)
def cmp_to_key(mycmp: Any) -> Any:
    return Key(mycmp, MISSING)


_MAKER: Final[Any] = functools.cmp_to_key(lambda a, b: 0)
_KEY: Final = type(_MAKER)
_OTHER: Final = message_of(lambda: _MAKER(1) < 3)


@CALLABLES.stand(_KEY, operations.make_key, "compare value", frozen=True)
class Key:
    """The result of ``functools.cmp_to_key``, and the keys that it makes."""

    def __init__(self, compare: Any, value: Any) -> None:
        self.compare = compare
        self.value = value

    @property
    def obj(self) -> Any:
        return None if self.value is MISSING else self.value

    def __call__(self, obj: Any) -> Any:
        return Key(self.compare, obj)

    def __lt__(self, other: Any) -> Any:
        return _compared(self, other) < 0

    def __gt__(self, other: Any) -> Any:
        return _compared(self, other) > 0

    def __le__(self, other: Any) -> Any:
        return _compared(self, other) <= 0

    def __ge__(self, other: Any) -> Any:
        return _compared(self, other) >= 0

    def __eq__(self, other: Any) -> Any:
        return _compared(self, other) == 0

    def __ne__(self, other: Any) -> Any:
        return _compared(self, other) != 0

    __hash__ = None  # type: ignore[assignment]


def _compared(a: Any, b: Any) -> Any:
    if type(b) is not _KEY:
        raise TypeError(_OTHER)
    if a.value is MISSING or b.value is MISSING:
        raise AttributeError("object")
    return a.compare(a.value, b.value)
