"""Exceptions that are caught in compiled code: only their class is known."""

import builtins
from collections.abc import Callable
from typing import Any, Final

from hovis.ir import operations
from hovis.lattice.inspection import is_a
from hovis_xla.emit.values import Known, NotLowerable, Operand, Raised, Struct, raised
from hovis_xla.ops.scalar.python_numbers import L, Row


def cls_of(x: Operand) -> type[BaseException] | None:
    return x.value.cls if isinstance(x, Known) and is_a(x.value, Raised) else None


def _matches(low: L, x: Operand, classes: Operand) -> Operand | None:
    cls = cls_of(x)
    wanted = classes.parts if isinstance(classes, Struct) and classes.callee is operations.make_tuple else (classes,)
    if cls is None or not all(isinstance(c, Known) for c in wanted):
        return None
    flat = [one for c in wanted if isinstance(c, Known) for one in (c.value if is_a(c.value, tuple) else (c.value,))]
    if not all(isinstance(one, type) and issubclass(one, BaseException) for one in flat):
        raise NotLowerable("an except clause with a value that is not an exception class")
    return Known(any(one in cls.__mro__ for one in flat))


def _same(low: L, x: Operand) -> Operand | None:
    return x if cls_of(x) is not None else None


def make(low: L, cls: type[BaseException], args: list[Operand]) -> Operand | None:
    """Lower ``ValueError(…)``. The arguments are not kept, therefore the exception must not escape."""
    return raised(cls) if type(cls) is type and cls.__init__ in _PLAIN and cls.__new__ in _PLAIN else None


_PLAIN: Final[tuple[Any, ...]] = tuple(
    {getattr(cls, name) for cls in vars(builtins).values() if isinstance(cls, type) and issubclass(cls, BaseException) for name in ("__init__", "__new__")}
)


def _made(low: L, cls: Operand, *rest: Operand) -> Operand | None:
    return raised(cls.value) if isinstance(cls, Known) and is_a(cls.value, type) and issubclass(cls.value, BaseException) else None


def _type(low: L, x: Operand) -> Operand | None:
    cls = cls_of(x)
    return None if cls is None else Known(cls)


def _isinstance(low: L, x: Operand, classes: Operand) -> Operand | None:
    cls = cls_of(x)
    return None if cls is None or not isinstance(classes, Known) else Known(issubclass(cls, classes.value))


def _nothing(low: L, *rest: Operand) -> Operand:
    return Known(None)


#: Tried before the rows for the same callables in ``python_numbers``.
SOONER: Final[dict[Callable[..., Any], Row]] = {
    operations.exception_matches: _matches, operations.raised: _same, operations.enter_handler: _nothing, operations.leave_handler: _nothing,
    operations.make_exception: _made, type: _type, isinstance: _isinstance,
}  # fmt: skip
