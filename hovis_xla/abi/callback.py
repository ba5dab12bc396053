"""Calls of the host by a program: the callee, and how its arguments are built from what the program passes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hovis_xla.emit.values import ARRAY, PYTHON_OF, Num

#: How the host builds an object: ``("leaf", k)``, ``("known", value)``, ``("either", k)``, ``("oneof", k, trees)`` or
#: ``("build", callee, trees, number)``; ``number`` is the same wherever one and the same object stands. A result consists of
#: ``("leaf", k)``, ``("known", value)`` and ``("build", class, parts)``.
Tree = tuple[Any, ...]


@dataclass(eq=False)
class Callback:
    """A call of ``fn`` by a program, with numbers and arrays of the types ``nums``.

    ``args``: how the arguments are built from these; the last are keyword arguments with these ``names``. ``failures``: exceptions that abort the run.
    """

    fn: Callable[..., Any]
    args: Sequence[Tree]
    names: Sequence[str]
    nums: Sequence[Num]
    failures: list[BaseException] = field(default_factory=list, kw_only=True)

    def arguments(self, values: Sequence[np.ndarray[Any, Any]]) -> tuple[list[Any], dict[str, Any]]:
        """Build the arguments from what the program passes. Arrays are read-only and live as long as the call."""
        return arguments(self.args, self.names, list(map(to_python, self.nums, values)))


def to_python(num: Num, value: np.ndarray[Any, Any]) -> Any:
    """Convert an array from XLA to the array, NumPy scalar or Python number that ``num`` describes."""
    if num.kind == ARRAY:
        return value
    scalar = np.array(value)[()]
    return PYTHON_OF[num.dtype](scalar) if num.kind == "python" else scalar


def arguments(args: Sequence[Tree], names: Sequence[str], given: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Build positional and keyword arguments from the numbers and arrays ``given``."""
    built: dict[object, Any] = {}
    made = [_built(tree, given, built) for tree in args]
    count = len(made) - len(names)
    return made[:count], dict(zip(names, made[count:], strict=True))


def _built(tree: Tree, given: Sequence[Any], built: dict[object, Any]) -> Any:
    match tree:
        case ("leaf", at):
            return given[at]
        case ("known", value):
            return value
        case ("either", at):
            return given[at] if given[at + 1] else given[at].item()
        case ("oneof", at, trees):
            return _built(trees[int(given[at])], given, built)
        case ("build", callee, parts, number):
            if number not in built:
                built[number] = callee(*(_built(p, given, built) for p in parts))
            return built[number]
    raise AssertionError(tree)
