"""The arguments of a command: literals, expressions of spec names, and files; nothing else is evaluated."""

import ast
import json
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import hovis
from hovis.arguments.spec_parts import is_spec
from hovis.command_line.program_files import Refused, named
from hovis.lattice import Either

#: Names that an argument may use, besides literals.
SPECS: Final[dict[str, object]] = {
    name: getattr(hovis, name)
    for name in (
        "Any", "Array", "Bool", "Bytes", "Complex", "Float", "Instance", "Int", "NoneType", "OneOf", "Str", "const",
        "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "complex64", "complex128",
    )
}  # fmt: skip
SPECS.update((cls.__name__, cls) for cls in (int, float, bool, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, slice, object, type))
SPECS.update((name, getattr(typing, name)) for name in ("Annotated", "Callable", "Iterable", "Iterator", "Literal", "Mapping", "Optional", "Sequence", "Union"))
#: Those of them that may be called.
MAKERS: Final = ("Array", "Instance", "OneOf", "const")

#: Error messages show only the beginning and the end of longer arguments (characters).
LONGEST: Final = 200


def parse_argument(text: str) -> tuple[str | None, object]:
    """Return the name of an argument, or None, and its spec.

    >>> parse_argument("n=[Int, const(3)]")
    ('n', [Int, const(3)])
    """
    name, equals, rest = text.partition("=")
    if equals and name.isidentifier():
        return name, parse_spec(rest)
    return None, parse_spec(text)


def parse_spec(text: str) -> object:
    """Read a literal, an expression of public spec names, or ``@`` and a file that holds the value; raise Refused for anything else."""
    if text.strip().startswith("@"):
        return hovis.const(_held(text.strip()[1:]))
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _Reader(text).read(tree)
    except (SyntaxError, ValueError) as error:
        raise Refused(f"the argument {cut(text)} is not a Python expression: {error.args[0]}") from None
    except (RecursionError, MemoryError):
        raise Refused(f"the argument {cut(text)} is nested too deep") from None


def cut(text: str) -> str:
    """Quote an argument for an error message, shortened if it is long."""
    return repr(text) if len(text) <= LONGEST else repr(text[: LONGEST // 2]) + "…" + repr(text[-LONGEST // 4 :])


def _held(target: str) -> object:
    """Read the value that a file holds: JSON, a global of a Python file, or else its text."""
    if ".py:" in target:
        return named(target)
    path = Path(target)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"there is no file {target!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Refused(f"{target!r} is not a text in UTF-8") from None
    except ValueError as error:
        raise Refused(f"{target!r} is not a valid file name: {error}") from None
    if path.suffix != ".json":
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise Refused(f"{target!r} is not JSON: {error}") from None
    except RecursionError:
        raise Refused(f"{target!r} is nested too deep") from None


class _Reader:
    """Evaluates the syntax tree of one argument."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in SPECS:
                return SPECS[name]
            case ast.Tuple(elts=parts):
                return tuple(map(self.read, parts))
            case ast.List(elts=parts):
                return list(map(self.read, parts))
            case ast.Set(elts=parts):
                return self._made(lambda: set(map(self.read, parts)))
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return self._made(lambda: {self.read(k): self.read(v) for k, v in zip(keys, values, strict=True) if k is not None})
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._either(node, self.read(left), self.read(right))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()) | ast.BinOp():
                return self._number(node)
            case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in SPECS:
                whole: Any = SPECS[name]
                return self._made(lambda: whole[self._shape(inner)])
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in MAKERS:
                return self._call(name, args, keywords)
        raise self._refusal(node)

    def _number(self, node: ast.expr) -> object:
        """Evaluate ``-1`` or ``2 + 3j``; no other arithmetic is allowed."""
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise self._refusal(node) from None

    def _either(self, node: ast.expr, left: Any, right: Any) -> object:
        """Build the spec of one of two kinds; two known values are refused, as OneOf is for these."""
        if not is_spec(left) and not is_spec(right):
            raise self._refusal(node)
        try:
            return left | right
        except TypeError:  # as for lists, which have no |
            return Either((left, right))

    def _shape(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Tuple):
            return tuple(map(self._shape, node.elts))
        if isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None:
            return slice(None)
        return self.read(node)

    def _call(self, name: str, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> object:
        maker: Any = SPECS[name]
        given = [self.read(a) for a in args]
        named = {k.arg: self.read(k.value) for k in keywords if k.arg is not None}
        return self._made(lambda: maker(*given, **named))

    def _made(self, make: Callable[[], object]) -> object:
        try:
            return make()
        except (Refused, RecursionError):
            raise
        except Exception as error:
            raise Refused(f"the argument {cut(self.text)}: {error}") from None

    def _refusal(self, node: ast.expr) -> Refused:
        part = ast.get_source_segment(self.text.strip(), node) or self.text
        if isinstance(node, ast.Name):
            return Refused(f"the argument {cut(self.text)}: {part!r} is not a spec; a string needs Python quotes as well: \"'{part}'\"")
        return Refused(f"the argument {cut(self.text)}: {cut(part)} is neither a literal nor an expression of spec names, and nothing else is evaluated")
