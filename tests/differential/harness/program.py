"""One random program: its source, calls of its `f`, and the knowledge about each argument."""
from __future__ import annotations

import collections
import dataclasses
import functools
import json
import linecache
import math
import sys
import types
import typing
import warnings
import zlib
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, TypeVar, Union

import hovis
from tests.differential.harness.choices import Choices, Seeded

SCALARS = (int, float, bool, str, type(None), bytes, complex)


@dataclass
class Program:
    """The source of a module with a function `f`, calls of it, and the knowledge about its arguments.

    given    for each parameter, what is known: const (the value), type (its class), Any (nothing), partial (the structure, some leaves), hint (of `typing`)
    calls    each argument as an expression, evaluated to new objects for each use
    shared   two parameters that are the same object
    changes  statements for the module, run between the calls: for jit only, since specialize treats the state that it reads as constant
    """
    source: str
    parameters: list[str]
    given: list[str]
    calls: list[list[str]]
    shared: tuple[int, int] | None = None
    changes: list[str] = field(default_factory=list)

    @property
    def file(self) -> str:
        return f"<program {zlib.crc32(self.source.encode()):08x}>"

    @property
    def static(self) -> list[bool]:
        return [how == "const" for how in self.given]

    def module(self) -> dict[str, Any]:
        """Execute the source as a new module; return its globals."""
        module = sys.modules["program"] = types.ModuleType("program")      # dataclasses look the module up there
        exec(_compiled(self.source, self.file), vars(module))
        return vars(module)

    def arguments(self, module: dict[str, Any], call: int, frozen: bool = True) -> list[Any]:
        """Evaluate the arguments of a call to new objects; if frozen, known arguments are those of the first call."""
        texts = [self.calls[0][i] if known and frozen else self.calls[call][i] for i, known in enumerate(self.static)]
        made = [eval(text, dict(module), {"nan": math.nan, "inf": math.inf}) for text in texts]
        if self.shared:
            made[self.shared[1]] = made[self.shared[0]]
        return made

    def specs(self, arguments: list[Any]) -> list[Any]:
        known: dict[str, Any] = {"const": hovis.const, "type": type, "Any": lambda _: hovis.Any, "partial": structure}
        return [hint(value, Seeded(text)) if how == "hint" else known[how](value) for how, value, text in zip(self.given, arguments, self.calls[0])]

    def hinted(self) -> Program:
        """Return the same program with hints for the parameters given as type or Any."""
        return dataclasses.replace(self, given=["hint" if how in ("type", "Any") else how for how in self.given], shared=None)

    def annotate(self, fn: Any, arguments: list[Any]) -> bool:
        """Annotate the parameters given as hint with hints that fit these arguments; return whether there are any."""
        fn.__annotations__ = {name: hint(value, Seeded(text)) for how, name, value, text in zip(self.given, self.parameters, arguments, self.calls[0]) if how == "hint"}
        return bool(fn.__annotations__)

    def mutable_known(self, arguments: list[Any]) -> bool:
        """Could a call mutate a known argument?"""
        return any(type(value) not in (*SCALARS, types.FunctionType, type) for how, value in zip(self.given, arguments) if how == "const")

    def change(self, module: dict[str, Any], call: int) -> None:
        """Execute the change of the module before this call, if there is one."""
        if 0 < call <= len(self.changes):
            exec(self.changes[call - 1], module)

    def dump(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def load(cls, text: str) -> Program:
        program = cls(**json.loads(text))
        program.shared = tuple(program.shared) if program.shared else None      # type: ignore[assignment]
        return program

    def __repr__(self) -> str:
        split = ", ".join(f"{p}: {how}" for p, how in zip(self.parameters, self.given))
        calls = "\n".join(f"# f({', '.join(call)})" + (f"; then {self.changes[k]}" if k < len(self.changes) else "") for k, call in enumerate(self.calls))
        return f"\n{self.source}\n# {split}; shared: {self.shared}\n{calls}\n"


@functools.lru_cache(16)
def _compiled(source: str, file: str) -> types.CodeType:
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)       # such as for "0 is None", which random programs contain
        return compile(source, file, "exec")


OTHER = (int, str, float, bool, None, list[int], dict[str, int], tuple[int, ...], collections.deque[int], Literal["a", 1], typing.Callable[[int], int])


def hint(value: Any, choices: Choices) -> Any:
    """Draw a type hint that fits the value, at least nearly: for arguments that do not fit, the original runs."""
    def of(x: Any, depth: int) -> Any:
        made = plainly(x, depth)
        kind = choices.number(0, 11)
        if kind == 0:
            return Optional[made]
        if kind in (1, 2):
            return Union[(made, *(choices.pick(OTHER) for _ in range(choices.number(1, 2))))]
        if kind == 3:
            return Annotated[made, "told"]
        if kind == 4:
            return NewType("New", made)
        if kind == 5:
            return TypeVar("T", bound=made)
        if kind == 6 and type(x) in (int, str, bool, bytes, type(None)):
            return Literal[(x, *choices.pick(((), (None,), (1, "b"))))]
        return choices.pick((hovis.Any, typing.Any, object, typing.Hashable, TypeVar("U"))) if kind == 7 and depth else made

    def plainly(x: Any, depth: int) -> Any:
        kind = type(x)
        if kind in (list, set, frozenset, collections.deque) and depth < 3 and not choices.chance(15):
            return kind[among(x, depth)]
        if kind is dict and depth < 3:
            if x and all(type(key) is str and key.isidentifier() for key in x) and choices.chance(40):
                return TypedDict("Row", {key: of(item, depth + 1) for key, item in x.items()}, total=choices.chance(80))     # type: ignore[operator]
            return dict[among(x, depth), among(x.values(), depth)]      # type: ignore[misc]
        if kind is tuple and depth < 3:
            return tuple[among(x, depth), ...] if choices.chance(50) else tuple[tuple(of(item, depth + 1) for item in x)]       # type: ignore[misc]
        return None if x is None else kind

    def among(items: Any, depth: int) -> Any:
        """Return a hint for the items: for all of them, or for the first only."""
        some = list(items)[:1 if choices.chance(30) else None]
        return Union[tuple(of(item, depth + 1) for item in some)] if some else choices.pick(OTHER)

    return of(value, 0)


def structure(value: Any) -> Any:
    """Return the spec of values of this structure: containers are known, leaves by their classes, every third leaf by its value."""
    met: set[int] = set()

    def spec(x: Any, depth: int) -> Any:
        kind = type(x)
        if kind in SCALARS:
            return hovis.const(x) if zlib.crc32(repr(x).encode()) % 3 == 0 else kind
        if depth > 3 or id(x) in met:
            return kind
        met.add(id(x))
        if kind in (list, tuple) and x:
            return kind(spec(item, depth + 1) for item in x)
        if kind is dict and x and all(type(k) in SCALARS for k in x):
            return {k: spec(item, depth + 1) for k, item in x.items()}
        if type(getattr(x, "__dict__", None)) is dict and not isinstance(x, (type, types.FunctionType)) and kind.__module__ == "program":
            return hovis.Instance(kind, **{k: spec(item, depth + 1) for k, item in vars(x).items()})
        return kind
    return type(value) if type(value) in SCALARS else spec(value, 0)
