"""Golden texts: Python functions and, in comments below each, the output of hovis for them.

    def double(x):
        return x + x

    #: trace double(Int)
    #: run (2) (x=-5) (2**100)
    # 1: (%1 :: const(double), %2 :: Int)
    #   %3 = (+)(%2, %2) :: Int
    #   return %3

`#: trace f(…)`, `#: passes f(…)` (after the default passes) and `#: return_type f(…)` name the function and its specs; the
comment lines that follow are the text expected, the same on every Python. `#: run` gives unknown arguments, one
parenthesised group for each call: the residual, `hovis.evaluate` and the original must agree on each. A text without a run is
an error, unless no argument is unknown: then it is run once without arguments.
"""
from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "cases"
DIRECTIVE = re.compile(r"#: (?P<verb>trace|passes|return_type|run)\b ?(?P<rest>.*)")
SPEC_NAMES = ("Int", "Float", "Bool", "Complex", "Str", "Bytes", "NoneType", "Any", "Array", "OneOf", "Instance", "const",
              "float64", "float32", "int64", "int32")


@dataclass
class Golden:
    path: Path
    line: int                  # line of the directive, counted from 0
    verb: str
    call: str                  # "pow(Int, const(3))"
    runs: list[str]            # ["(2)", "(x=-5)"]
    expected: list[str]
    start: int                 # the expected text is lines[start:stop]
    stop: int

    @property
    def name(self) -> str:
        return f"{self.path.stem}:{self.verb} {self.call}"

    @property
    def where(self) -> str:
        return f"{self.path.name}:{self.line + 1}"


def read(path: Path) -> list[Golden]:
    lines = path.read_text().splitlines()
    found: list[Golden] = []
    at = 0
    while at < len(lines):
        match = DIRECTIVE.fullmatch(lines[at])
        at += 1
        if match is None:
            continue
        if match["verb"] == "run":
            raise ValueError(f"{path.name}:{at}: a run stands under the text it runs")
        golden = Golden(path, at - 1, match["verb"], match["rest"].strip(), [], [], at, at)
        while at < len(lines) and (run := DIRECTIVE.fullmatch(lines[at])) and run["verb"] == "run":
            golden.runs += _parentheses(run["rest"])
            at += 1
        golden.start = at
        while at < len(lines) and lines[at].startswith("#") and not lines[at].startswith("#:"):
            golden.expected.append(lines[at][2:])
            at += 1
        golden.stop = at
        found.append(golden)
    return found


def _parentheses(text: str) -> list[str]:
    """Split a text into its top-level parenthesised groups: "(1, (2, 3)) (x=4)" -> ["(1, (2, 3))", "(x=4)"]; strings may not hold parentheses."""
    groups, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "([{":
            if depth == 0:
                start = i
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                groups.append(text[start:i + 1])
    return groups


def bless(golden: Golden, text: str) -> None:
    lines = golden.path.read_text().splitlines()
    old = read(golden.path)
    now = next(g for g in old if g.verb == golden.verb and g.call == golden.call and g.runs == golden.runs)   # the lines above may have changed their number
    lines[now.start:now.stop] = [f"# {line}".rstrip() for line in text.splitlines()]
    golden.path.write_text("\n".join(lines) + "\n")


def load(path: Path) -> ModuleType:
    name = f"golden_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


# ---------------------------------------------------------------------------------------------- calls


@dataclass
class Known:
    """Stands for `const(v)`, so that the arguments of the original and the specs result from the same evaluation."""
    value: Any


class Call:
    """A function and its specs as written in a directive, evaluated again for each instance: two instances share no object."""

    def __init__(self, module: ModuleType, hovis: Any, text: str) -> None:
        names = {"np": np, **vars(module), **{n: getattr(hovis, n) for n in SPEC_NAMES if hasattr(hovis, n)}, "const": Known}
        name, _, rest = text.partition("(")
        self.fn = eval(name, names)
        self.args, self.keywords = eval(f"_arguments({rest}", {**names, "_arguments": lambda *a, **k: (a, k)})
        self.hovis = hovis
        self.leaves = list(_leaves(inspect.signature(self.fn).bind_partial(*self.args, **self.keywords)))

    def trace(self) -> Any:
        return self.hovis.trace(self.fn, *map(self._spec, self.args), **{k: self._spec(v) for k, v in self.keywords.items()})

    def return_type(self) -> Any:
        return self.hovis.return_type(self.fn, *map(self._spec, self.args), **{k: self._spec(v) for k, v in self.keywords.items()})

    def unknown(self) -> list[str]:
        return [name for name, spec, _ in self.leaves if is_unknown(spec)]

    def known(self) -> list[Any]:
        return [plain(spec) for _, spec, _ in self.leaves if not is_unknown(spec)]

    def original(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the original, given the residual's arguments."""
        given = iter(args)
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for name, spec, kind in self.leaves:
            value = plain(spec) if not is_unknown(spec) else kwargs[name] if name in kwargs else next(given)
            if kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD):
                named[name] = value
            else:
                positional.append(value)
        return self.fn(*positional, **named)

    def _spec(self, value: Any) -> Any:
        if isinstance(value, Known):
            return self.hovis.const(value.value)
        if type(value) in (list, tuple):
            return type(value)(map(self._spec, value))
        return {k: self._spec(v) for k, v in value.items()} if type(value) is dict else value


def _leaves(bound: inspect.BoundArguments) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, spec and kind of each parameter of the residual: the items of `*args` and `**kwargs` one by one."""
    for name, parameter in bound.signature.parameters.items():
        if name not in bound.arguments:
            if parameter.default is parameter.empty and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                yield name, object, parameter.kind       # no spec: Any
        elif parameter.kind is parameter.VAR_POSITIONAL:
            yield from ((f"*{i}", spec, parameter.kind) for i, spec in enumerate(bound.arguments[name]))
        elif parameter.kind is parameter.VAR_KEYWORD:
            yield from ((key, spec, parameter.kind) for key, spec in bound.arguments[name].items())
        else:
            yield name, bound.arguments[name], parameter.kind


def is_unknown(spec: Any) -> bool:
    if isinstance(spec, Known):
        return False
    if isinstance(spec, type) or type(spec).__module__.partition(".")[0] == "hovis":
        return True
    if type(spec) in (list, tuple):
        return any(map(is_unknown, spec))
    return type(spec) is dict and any(map(is_unknown, spec.values()))


def plain(spec: Any) -> Any:
    """Return the value of a known spec, with which the original is called."""
    if isinstance(spec, Known):
        return spec.value
    return spec        # a container without unknown leaves is a known value, and the trace was given this same object


def arguments(module: ModuleType, run: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return eval(f"_arguments{run}", {"np": np, **vars(module), "_arguments": lambda *a, **k: (a, k)})
