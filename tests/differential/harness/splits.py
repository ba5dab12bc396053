"""A function under every split of its arguments into known and unknown, compared with CPython: values, output, warnings with positions, tracebacks.

`check` specializes for each split of the arguments into known and typed, for nothing known, and by `hovis.jit`.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import hovis
from tests.differential.harness.compare import Outcome, _drain, _Picture, difference, fresh, limit

_HERE = __file__
_TYPED = (int, float, str, bool, bytes, list, dict, tuple)


def chain(error: BaseException | None, seen: frozenset[int] = frozenset()) -> Any:
    """Describe an exception with the entries of its traceback (functions, lines, columns), and its cause and context in the same way."""
    if error is None or id(error) in seen:
        return None
    seen |= {id(error)}
    entries, at = [], error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if code.co_filename != _HERE:
            position = list(code.co_positions())[at.tb_lasti // 2] if at.tb_lasti >= 0 else ()
            entries.append((code.co_filename, code.co_qualname, at.tb_lineno, position[2:]))
        at = at.tb_next
    more = [getattr(error, name, None) for name in ("__notes__", "name")]
    return type(error).__name__, entries, *more, chain(error.__cause__, seen), chain(error.__context__, seen)


def observe(call: Callable[..., Any], args: Any) -> tuple[Outcome, Any]:
    """Return the outcome as of `compare.observe`, but for all exceptions, and the chain of the exception or None."""
    out, picture, raised = io.StringIO(), _Picture(), None
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), limit(20):
        warnings.simplefilter("always")
        try:
            value: Any = ("returned", picture(_drain(call(*args))))
        except (Exception, KeyboardInterrupt, SystemExit, GeneratorExit, BaseExceptionGroup) as error:
            if type(error).__module__.partition(".")[0] == "hovis":
                raise
            value, raised = ("raised", picture(error)), chain(error)
    told = tuple(f"{w.category.__name__}: {w.message}, {w.filename}:{w.lineno}" for w in caught)
    return Outcome(value, picture(args), out.getvalue(), told), raised


def splits(count: int) -> list[str]:
    """Return the splits as strings with a letter for each argument: k (known), t (type known), a (nothing known)."""
    found = {"k" * count, "t" * count, "a" * count}
    if count in (2, 3):
        found |= {"".join(mask) for mask in itertools.product("kt", repeat=count)}
    return sorted(found)


def _spec(value: Any, how: str) -> Any:
    if how == "k":
        return hovis.const(value)
    return type(value) if how == "t" and type(value) in _TYPED else hovis.Any


def check(fn: Callable[..., Any], calls: Iterable[Any], whole: bool = False, only: tuple[str, ...] = ()) -> None:
    """Check that fn does the same under every split for each of calls (tuples of arguments); whole: it may be one call of the original.

    only: check just these splits (not every stack of managers has to be traced a dozen times).
    """
    jitted = hovis.jit(fn)
    for call in calls:
        args = call if isinstance(call, tuple) else (call,)
        wanted = observe(fn, fresh(args))
        for mask in only or splits(len(args)):
            given = fresh(args)
            residual = hovis.specialize(fn, *(_spec(value, how) for value, how in zip(given, mask, strict=True)))
            assert whole or not residual.trace.fallback, (mask, args, residual.trace.reasons)
            unknown = [value for value, how in zip(given, mask, strict=True) if how != "k"]
            _same(wanted, observe(lambda *_, r=residual, u=unknown: r(*u), given), f"{fn.__name__} {mask} {args}")
        if not only:
            _same(wanted, observe(jitted, fresh(args)), f"{fn.__name__} jit {args}")


def _same(wanted: tuple[Outcome, Any], got: tuple[Outcome, Any], told: str) -> None:
    seen = difference(wanted[0], got[0])
    assert not seen, f"{told}\n{seen}"
    assert wanted[1] == got[1], told
