"""Dispatch of calls: the function that a jitted object runs when it is called.

CPython finds it in the slot ``__call__`` of the object (slot_tp_call in Objects/typeobject.c). It is generated for the residuals that can be chosen by
the classes of the arguments: it tests these, then the guards, and calls the residual.  All other calls go to the function itself for as long as is
said, and then to :meth:`Jitted.dispatch`.
"""

import functools
from collections.abc import Callable, Sequence
from types import CellType, FunctionType
from typing import Any, Final
from weakref import ref

from hovis.backend.tracebacks import hide
from hovis.base import own_code
from hovis.front.jit_cache.variants import Variant

own_code.leave_as_calls(__file__)

#: Maximal number of residuals that are told apart by generated code, and of parameters that it has besides ``*rest``.
MOST: Final = 8
WIDEST: Final = 16
#: The default of the parameters.
_MISSING: Final = object()

Types = tuple[type, ...]


def compile_dispatch(owner: Any, function: Callable[..., Any], waits: CellType, chosen: Sequence[tuple[Types, Variant]]) -> Callable[..., Any]:
    """Return a function that calls the first residual whose classes of arguments are those of the call and whose guards hold.

    If there is none, it calls the function itself, as many times as `waits` contains an iterator for, and then the owner's ``dispatch``; the owner is
    not kept alive.
    """
    counts = tuple([len(types) for types, _ in chosen])
    usual = function.__code__.co_argcount if type(function) is FunctionType else 0
    outer = _compiled(counts, min(max((usual, *counts)), WIDEST))
    made: FunctionType = outer(_MISSING, hide, function, None, ref(owner), *[part for types, variant in chosen for part in (variant, variant.call, *types)])
    cells = tuple([waits if name == "waits" else cell for name, cell in zip(made.__code__.co_freevars, made.__closure__ or (), strict=True)])
    return FunctionType(made.__code__, globals(), made.__name__, made.__defaults__, cells)


_TEXT: Final = """
def outer({free}):
 def call({parameters}*rest, **named):
  try:
{tests}
   for _ in waits:
    if {all_given}:
     return function({names})
    return function(*{given}, **named)
   made = owner()
   return function(*{given}, **named) if made is None else made.dispatch({given}, named)
  except BaseException:
   hide()
   raise
 return call
"""


@functools.lru_cache(maxsize=64)
def _compiled(counts: tuple[int, ...], width: int) -> Callable[..., Any]:
    """Return a function that makes such functions, with `width` parameters, for residuals with these numbers of arguments."""
    names = [f"p{k}" for k in range(width)]
    free, tests = ["missing", "hide", "function", "waits", "owner"], []
    for number, count in enumerate(counts):
        classes = [f"c{number}_{k}" for k in range(count)]
        free += [f"v{number}", f"f{number}", *classes]
        fits = [f"type({name}) is {cls}" for name, cls in zip(names, classes, strict=False)]
        fits += [f"{name} is missing" for name in names[count:]]
        if not number:
            tests.append("   if not rest and not named:")
        tests += [f"    if {' and '.join([*fits, f'(holds := v{number}.holds)()'])}:", f"     return f{number}({', '.join(names[:count])})"]
    text = _TEXT.format(
        free=", ".join(free),
        parameters="".join([f"{name}=missing, " for name in names]) + "/, " * bool(names),
        tests="\n".join(tests),
        all_given=f"{names[-1]} is not missing and not rest and not named" if names else "not rest and not named",
        names=", ".join(names),
        given=f"(*[p for p in ({', '.join(names)},) if p is not missing], *rest)" if names else "rest",
    )
    scope: dict[str, Any] = {}
    exec(compile(text, __file__, "exec"), scope)
    made: Callable[..., Any] = scope["outer"]
    return made
