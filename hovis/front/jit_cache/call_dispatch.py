"""Dispatch of calls: the function that a jitted object runs when it is called.

CPython finds it in the slot ``__call__`` of the object (slot_tp_call in Objects/typeobject.c). It is generated for the residuals that can be chosen by
the classes of the arguments: it tests these, then the guards, and calls the residual.  All other calls go to the function itself for as long as is
said, and then to :meth:`Jitted.dispatch`.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final
from weakref import ref

from hovis.backend.tracebacks import hide
from hovis.base import own_code
from hovis.front.jit_cache.variants import Variant

own_code.leave_as_calls(__file__)

#: Maximal number of residuals that are told apart by generated code.
MOST: Final = 8
#: The default of the parameters.
_MISSING: Final = object()

Types = tuple[type, ...]
Otherwise = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def compile_dispatch(chosen: Sequence[tuple[Types, Variant]], otherwise: Otherwise) -> Callable[..., Any]:
    """Return a function that calls the first residual whose classes of arguments are those of the call and whose guards hold; ``otherwise`` if there is
    none.
    """
    outer = _compiled(tuple([len(types) for types, _ in chosen]))
    made: Callable[..., Any] = outer(_MISSING, hide, otherwise, *[part for types, variant in chosen for part in (variant, variant.call, *types)])
    return made


def go_on(owner: Any, function: Callable[..., Any], count: list[int]) -> Otherwise:
    """Return what does all other calls: count[0] times the function itself, then the owner, which is not kept alive."""
    owned = ref(owner)

    def otherwise(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if count[0] > 0:
            count[0] -= 1
        elif (made := owned()) is not None:
            return made.dispatch(args, kwargs)
        return function(*args, **kwargs)

    return otherwise


@functools.lru_cache(maxsize=64)
def _compiled(counts: tuple[int, ...]) -> Callable[..., Any]:
    """Return a function that makes such functions, for residuals with these numbers of arguments."""
    most = max(counts, default=0)
    names = [f"p{k}" for k in range(most)]
    tests, free = "", []
    for number, count in enumerate(counts):
        classes = [f"c{number}_{k}" for k in range(count)]
        free += [f"v{number}", f"f{number}", *classes]
        fits = [f"type({name}) is {cls}" for name, cls in zip(names, classes, strict=False)]
        fits += [f"{name} is missing" for name in names[count:]]
        test = " and ".join([*fits, f"(holds := v{number}.holds)()"])
        tests += f"    if {test}:\n     return f{number}({', '.join(names[:count])})\n"
    given = f"tuple([p for p in ({', '.join(names)},) if p is not missing]) + rest" if names else "rest"
    text = (
        f"def outer({', '.join(['missing', 'hide', 'otherwise', *free])}):\n"
        f" def call({''.join(f'{name}=missing, ' for name in names)}{'/, ' if names else ''}*rest, **named):\n"
        f"  try:\n"
        + (f"   if not rest and not named:\n{tests}" if counts else "")
        + f"   return otherwise({given}, named)\n"
        "  except BaseException:\n"
        "   hide()\n"
        "   raise\n"
        " return call\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(text, __file__, "exec"), scope)
    made: Callable[..., Any] = scope["outer"]
    return made
