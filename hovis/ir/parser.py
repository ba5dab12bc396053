"""From text back to a Function.  It looks names up and evaluates nothing.

``parse(show(function, full=True), names_of(function))`` is function again.  A text without ``full`` can be parsed as
well, but does not tell all: where effects are not written out, ``!`` reads as opaque and its absence as pure.
"""

import ast
import contextlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hovis.base import own_code
from hovis.errors import ParseError
from hovis.ir import naming, operations
from hovis.ir.model import CAUGHT, Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Operand, Param, Raise, Return, Terminator
from hovis.lattice import ANY, BOTTOM, AbstractValue, Array, Const, Items, Partial, Type, Untested, join
from hovis.lattice.values import PUBLIC_NAMES

own_code.leave_as_calls(__file__)

# possessive, so that what goes on for long and is no number after all is gone over once
_REAL = r"(?>[0-9]++\.?+[0-9]*+(?:e[+-]?[0-9]++)?+|inf|nan)"
_NUMBER = rf"(?:0x[0-9a-f]++|{_REAL}(?![\w.]))"
_IMAGINARY = rf"{_REAL}j(?!\w)"
#: What ``repr`` writes.
_ESCAPE = r"\\(?:[\\'\"ntr]|x[0-9a-f]{2}|u[0-9a-f]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4})"
_TOKENS: Final = re.compile(
    rf"""
      (?P<space>\s+)
    | (?P<comment>\#\s.*)
    | (?P<string>b?'(?:[^'\\]++|{_ESCAPE})*+'|b?"(?:[^"\\]++|{_ESCAPE})*+")
    | (?P<complex>\(-?{_NUMBER}[+-]{_IMAGINARY}\)|-?{_IMAGINARY})
    | (?P<number>-?{_NUMBER})
    | (?P<symbol>\((?:is\ not|is|[-+*/%@<>=!&|^]++)\))
    | (?P<value>%err|%[0-9]++)
    | (?P<object>\#[0-9]++)
    | (?P<name>[\w.<>]+)
    | (?P<mark>::|[()\[\]{{}},:=!|?…])
    """,
    re.VERBOSE,
)
_WORDS: Final[dict[str, object]] = {
    **{repr(value): value for value in (None, True, False, Ellipsis, NotImplemented, operations.END, operations.UNBOUND)},
}
_CLASSES: Final = {name: cls for cls, name in PUBLIC_NAMES.items()}
_SHAPED: Final[dict[str, Callable[..., object]]] = {"range": range, "slice": slice}
#: How deep constants and types may be nested.
DEEPEST: Final = 100


def parse(text: str, names: Mapping[str, object] | None = None) -> Function:
    """The Function that text shows; callables, classes and ``#0`` are looked up in names, then in what is imported.

    Raises ParseError where the text is not that of a Function; whether the Function is in order, ``verify`` says.

    >>> parse("1: (%1 :: const(double), %2 :: Int)\\n  %3 = (+)(%2, %2) :: Int\\n  return %3").type
    Int
    """
    if not isinstance(text, str):
        raise ParseError(f"the text of a Function is a str, not {type(text).__name__}")
    try:
        sections = _sections(text)
        parsers = [_FunctionParser(section, names or {}) for section in sections]
        table = {parser.function.name: parser.function for parser in parsers}
        if len(table) < len(parsers):
            raise ParseError("two Functions have the same name")
        for parser in parsers:
            parser.functions = table
            parser.declare()
        for parser in parsers:
            parser.fill()
    except RecursionError:
        raise ParseError("constants or types are nested too deep") from None
    return parsers[0].function


@dataclass(slots=True)
class _Section:
    """The lines of one Function: its headline, and the blocks as (number, header, body)."""

    headline: str | None = None
    blocks: list[tuple[int, str, list[str]]] = field(default_factory=list)


def _short(message: str) -> str:
    return message if len(message) <= 300 else f"{message[:150]} … {message[-150:]}"


def _literal(kind: str, text: str) -> object:
    """A text in quotes, or a number."""
    if kind == "string":
        return ast.literal_eval(text)
    if kind == "complex":
        return complex(text)
    return float(text) if re.search(r"[.en]", text) and "0x" not in text else int(text, 0)


def _sections(text: str) -> list[_Section]:
    found: list[_Section] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("guard "):
            continue
        header = re.match(r"([0-9]{1,9}):(.*)", line)
        if line.startswith("fn "):
            found.append(_Section(line))
        elif header:
            if not found:
                found.append(_Section())
            found[-1].blocks.append((int(header[1]), header[2].strip(), []))
        elif line[0] == " " and found and found[-1].blocks:
            found[-1].blocks[-1][2].append(stripped)
        else:
            raise ParseError(f"this is no line of a Function: {line[:200]!r}")
    if not found or not all(section.blocks for section in found):
        raise ParseError("a Function has at least one block")
    return found


# ------------------------------------------------------------------------------------------------- a line


class _Line:
    """The tokens of a line, read one after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            match = _TOKENS.match(text, at)
            if match is None or match.lastgroup is None:
                raise ParseError(f"{text[at:at + 40]!r} is not understood in {text[:200]!r}")
            if match.lastgroup not in ("space", "comment"):
                self.tokens.append((match.lastgroup, match[0]))
            at = match.end()
        self.at = 0
        self.depth = 0

    def deeper(self) -> None:
        """One level down in a constant or a type."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error("constants or types are nested too deep")

    def peek(self, ahead: int = 0) -> str:
        """The next token, empty at the end."""
        at = self.at + ahead
        return self.tokens[at][1] if at < len(self.tokens) else ""

    def kind(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at][0] if at < len(self.tokens) else "end"

    def next(self) -> str:
        text = self.peek()
        self.at += 1
        return text

    def take(self, *texts: str) -> bool:
        """Step over these tokens, if they come next."""
        if all(self.peek(k) == text for k, text in enumerate(texts)):
            self.at += len(texts)
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise self.error(f"{text!r} expected, not {self.peek()!r}")

    def error(self, message: str) -> ParseError:
        return ParseError(f"{_short(message)} in {self.text[:200]!r}")


# ------------------------------------------------------------------------------------------------- a function


class _FunctionParser:
    """One Function: first its values and blocks are declared, then filled in."""

    def __init__(self, section: _Section, names: Mapping[str, object]) -> None:
        self.section = section
        self.names = names
        self.functions: Mapping[str, Function] = {}
        self.values: dict[str, Operand] = {"%err": CAUGHT}
        self.blocks = {number: Block() for number, _, _ in section.blocks}
        if len(self.blocks) < len(section.blocks):
            raise ParseError("two blocks have the same number")
        self.function = Function(self._name(), list(self.blocks.values()))
        self._arrays: list[tuple[Param | Op, list[Any]]] = []

    def _name(self) -> str:
        text = self.section.headline or self.section.blocks[0][1]
        match = re.match(r"fn ([^(\s]+)\(" if self.section.headline else r"\(%1 :: const\(([\w.<>]+)\)", text)
        return match[1] if match else "function"

    def declare(self) -> None:
        """Make all values, so that they can be used before their line."""
        used = self._used()
        for number, header, body in self.section.blocks:
            block = self.blocks[number]
            if block is self.function.blocks[0] and self.section.headline:
                block.params = self._headline(self.section.headline)
            elif header:
                first = block is self.function.blocks[0] and not self.section.headline
                block.params = self._params(_Line(header), used if first else None)
            for text in body:
                match = re.match(r"(%\d+) = ", text)
                if match:
                    self._define(match[1], Op(None, ()))

    def _used(self) -> set[str]:
        """The numbers that occur outside the entry's header."""
        texts = [text for _, _, body in self.section.blocks for text in body] + [header for _, header, _ in self.section.blocks[1:]]
        return {token for text in texts for kind, token in _Line(text).tokens if kind == "value"}

    def _define(self, number: str, value: Param | Op) -> None:
        if number in self.values:
            raise ParseError(f"{number} is defined twice")
        self.values[number] = value

    def _headline(self, text: str) -> tuple[Param, ...]:
        line = _Line(text)
        while line.peek() != "(":
            if line.kind() == "end":
                raise line.error("'(' expected")
            line.next()
        params = self._params(line, None)
        if line.take("::"):
            self.function.type = self._type(line)[0]
        self.function.is_generator = line.take("(", "generator", ")")
        return params

    def _params(self, line: _Line, used: set[str] | None) -> tuple[Param, ...]:
        """The parameters in a header.  Given used: those of the numbered known ones that occur in it are parameters too."""
        params: list[Param] = []
        line.expect("(")
        while not line.take(")"):
            self._declared(line, params, used)
            if not line.take(","):
                line.expect(")")
                break
        return tuple(params)

    def _declared(self, line: _Line, params: list[Param], used: set[str] | None) -> AbstractValue:
        number = line.next()
        line.expect("::")
        at, before = len(params), len(params)
        type, dims = self._type(line, params, used)
        known = isinstance(type, Const | Partial) or len(params) > before
        if used is None or not known or number in used:
            param = Param(type)
            self._define(number, param)
            params.insert(at, param)
            self._arrays.append((param, dims))
        return type

    # --------------------------------------------------------------------------------------------- bodies

    def fill(self) -> None:
        """Read the bodies."""
        for value, dims in self._arrays:
            value.dims = self._dims(dims)
        for number, _, body in self.section.blocks:
            block = self.blocks[number]
            lines = [_Line(text) for text in body]
            for k, line in enumerate(lines):
                closed: object = block.terminator
                if closed is not None:
                    if not (isinstance(closed, Branch) and k == len(lines) - 1):
                        raise line.error("the block has ended before this line")
                    continue
                self._line(block, line, lines[k + 1] if k + 1 < len(lines) else None)
            if not isinstance(block.terminator, Terminator):
                raise ParseError(f"block {number} does not end with a terminator")
        if not self.section.headline:
            returned = [b.terminator.value for b in self.function.blocks if isinstance(b.terminator, Return)]
            found: AbstractValue = BOTTOM
            for result in returned:
                found = join(found, result if isinstance(result, Const) else getattr(result, "type", ANY))
            self.function.type = found

    def _line(self, block: Block, line: _Line, following: _Line | None) -> None:
        if line.kind() == "value":
            self._op(block, line)
        elif line.take("br"):
            edge = self._edge(line)
            if not line.take("unless"):
                block.terminator = Jump(edge)
            else:
                cond = self._operand(line)
                if following is None or not following.take("br"):
                    raise line.error("the other edge has to follow on the next line")
                block.terminator = Branch(cond, self._edge(following), edge)
        elif line.take("return"):
            block.terminator = Return(self._operand(line))
        elif line.peek() in ("raise", "reraise"):
            again = line.next() == "reraise"
            block.terminator = Raise(self._operand(line), again)
        else:
            raise line.error("an op or a terminator expected")
        if line.kind() != "end":
            raise line.error(f"{line.peek()!r} is too much")

    def _op(self, block: Block, line: _Line) -> None:
        op = self._value(line)
        line.expect("=")
        if not isinstance(op, Op) or op.callee is not None:
            raise line.error("an op has a line and a number of its own")
        op.callee = self._callee(line)
        op.effect = Effect.OPAQUE if line.take("!") else Effect.PURE
        op.args, op.kwargs = self._arguments(line)
        if line.take("::"):
            op.type, dims = self._type(line)
            op.dims = self._dims(dims)
        if line.take("{"):
            op.effect = Effect.PURE
            while not line.take("}"):
                name = line.next().upper()
                if name not in Effect.__members__:
                    raise line.error(f"there is no effect {name.lower()!r}")
                op.effect |= Effect[name]
        if line.take(",", "br"):
            ok = self._edge(line)
            line.expect(",")
            line.expect("or")
            block.terminator = Invoke(op, ok, self._edge(line))
        else:
            block.ops.append(op)

    def _arguments(self, line: _Line) -> tuple[tuple[Operand, ...], tuple[tuple[str, Operand], ...]]:
        args: list[Operand] = []
        kwargs: list[tuple[str, Operand]] = []
        line.expect("(")
        while not line.take(")"):
            if line.peek(1) == "=":
                name = line.next()
                line.next()
                kwargs.append((name, self._operand(line)))
            else:
                args.append(self._operand(line))
            if not line.take(","):
                line.expect(")")
                break
        return tuple(args), tuple(kwargs)

    def _edge(self, line: _Line) -> Edge:
        number = line.next()
        block = self.blocks.get(int(number)) if re.fullmatch(r"[0-9]{1,9}", number) else None
        if block is None:
            raise line.error(f"there is no block {number!r}")
        args, named = self._arguments(line) if line.peek() == "(" else ((), ())
        if named:
            raise line.error("a block is given nothing by name")
        return Edge(block, args)

    # --------------------------------------------------------------------------------------------- operands

    def _callee(self, line: _Line) -> object:
        if line.kind() == "value":
            return self._value(line)
        return self._named(line, line.next())

    def _named(self, line: _Line, name: str) -> object:
        if name in self.functions:
            return self.functions[name]
        found = naming.lookup(name, self.names)
        if found is naming.MISSING:
            raise line.error(f"nothing is known by the name {name!r} (give it in names),")
        return found

    def _value(self, line: _Line) -> Any:
        number = line.next()
        if number not in self.values:
            raise line.error(f"{number} is not defined")
        return self.values[number]

    def _operand(self, line: _Line) -> Operand:
        if line.kind() == "value":
            found: Operand = self._value(line)
            return found
        return Const(self._constant(line))

    def _constant(self, line: _Line) -> object:
        """A known value as it stands among operands."""
        kind, text = line.kind(), line.next()
        if kind in ("string", "complex", "number"):
            try:
                return _literal(kind, text)
            except (ValueError, SyntaxError, MemoryError) as error:
                raise line.error(f"{text[:40]!r} is no constant ({error.args[0] if error.args else ''})") from None
        if kind == "object":
            return self._named(line, text)
        if text == "(":
            return self._tuple(line)
        if text in _WORDS:
            return _WORDS[text]
        if text in ("np.True_", "np.False_"):
            return self._of_numpy(line, text)
        if text == "const":
            line.expect("(")
            found = self._named(line, line.next())
            line.expect(")")
            return found
        if line.kind() == "complex" and line.peek()[0] == "(":
            return self._constructed(line, text, (complex(line.next()),))
        if line.take("("):
            return self._constructed(line, text, self._tuple(line))
        raise line.error(f"{text!r} is no constant")

    def _tuple(self, line: _Line) -> tuple[object, ...]:
        """The rest of a tuple, behind its parenthesis."""
        items: list[object] = []
        line.deeper()
        while not line.take(")"):
            items.append(self._constant(line))
            if not line.take(","):
                line.expect(")")
                break
        line.depth -= 1
        return tuple(items)

    def _constructed(self, line: _Line, name: str, args: tuple[object, ...]) -> object:
        """A range, a slice or a scalar of NumPy."""
        if name in _SHAPED:
            make = _SHAPED[name]
        elif name.startswith("np.") and name[3:].rstrip("_") in naming.NUMPY_SCALARS and len(args) == 1 and isinstance(args[0], int | float | complex):
            make = self._of_numpy(line, name)
        else:
            raise line.error(f"{name!r} is no constant")
        numpy: Any = sys.modules.get("numpy")
        try:
            with numpy.errstate(all="ignore") if numpy is not None else contextlib.nullcontext():
                return make(*args)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise line.error(f"{name} can't be made of this ({error})") from None

    def _of_numpy(self, line: _Line, name: str) -> Any:
        found = getattr(sys.modules.get("numpy"), name.removeprefix("np."), None)
        if found is None:
            raise line.error(f"{name!r} is nothing of NumPy's, or NumPy is not imported")
        return found

    # --------------------------------------------------------------------------------------------- types

    def _dims(self, dims: list[Any]) -> tuple[Operand, ...] | None:
        """The dimensions of an array, None if none is known."""
        if all(dim is None for dim in dims):
            return None
        for dim in dims:
            if isinstance(dim, str) and dim not in self.values:
                raise ParseError(f"{dim}, the size of an array, is not defined")
        return tuple(self.values[dim] if isinstance(dim, str) else Const(dim) for dim in dims)

    def _type(self, line: _Line, params: list[Param] | None = None, used: set[str] | None = None) -> tuple[AbstractValue, list[Any]]:
        """A lattice element, and the dimensions if it is an array; leaves that are declared inside go to params."""
        found, dims = self._member(line, params, used)
        while line.take("|"):
            found, dims = join(found, self._member(line, params, used)[0]), []
        return (Untested(found), []) if line.take("?") else (found, dims)

    def _member(self, line: _Line, params: list[Param] | None, used: set[str] | None) -> tuple[AbstractValue, list[Any]]:
        text = line.peek()
        if text in ("(", "[", "{"):
            line.deeper()
            found = self._container(line, params, used)
            line.depth -= 1
            return found, []
        if line.take("const", "("):
            named = line.kind() == "symbol" or (line.kind() == "name" and line.peek(1) == ")" and line.peek() not in _WORDS)
            value = self._named(line, line.next()) if named else self._constant(line)
            line.expect(")")
            return Const(value), []
        line.next()
        if text in ("Any", "Bottom"):
            return (ANY if text == "Any" else BOTTOM), []
        if line.take("["):
            holder = naming.lookup(text, self.names)
            return (self._items(line, holder), []) if isinstance(holder, type) and holder.__module__ == "builtins" else self._array(line, text)
        cls: Any = _CLASSES.get(text) or self._named(line, text)
        if not isinstance(cls, type):
            raise line.error(f"{text!r} is no class")
        if line.peek() == "(" and (line.peek(1) == ")" or line.peek(2) == "="):  # else it is a generator's headline
            line.next()
            line.deeper()
            keys, parts = self._fields(line, params, used)
            line.depth -= 1
            return Partial(cls, keys, parts), []
        return Type(cls), []

    def _items(self, line: _Line, cls: type) -> Items:
        """The rest of ``dict[Str, Float]`` or ``tuple[Int, ...]``, behind the bracket."""
        line.deeper()
        kinds = [self._type(line)[0]]
        if line.take(",") and not line.take("..."):
            kinds.append(self._type(line)[0])
        line.expect("]")
        line.depth -= 1
        return Items(cls, kinds[-1], kinds[0] if len(kinds) > 1 else None)

    def _array(self, line: _Line, name: str) -> tuple[AbstractValue, list[Any]]:
        """The rest of ``float64[3, %4, :, layout=C]``, behind the bracket."""
        dtype = self._dtype(line, name)
        dims: list[Any] = []
        facets: dict[str, Any] = {}
        while not line.take("]"):
            text = line.next()
            if line.take("="):
                facets[text] = self._facet(line, text)
            elif re.fullmatch(r"%[0-9]+|:|[0-9]{1,18}", text):
                dims.append(text if text[0] == "%" else None if text == ":" else int(text))
            else:
                raise line.error(f"{text!r} is no dimension")
            if not line.take(","):
                line.expect("]")
                break
        cls = facets["cls"] if "cls" in facets else getattr(sys.modules.get("numpy"), "ndarray", None)
        if not isinstance(cls, type):
            raise line.error(f"{cls!r} is no class of arrays")
        return Array(cls, dtype, len(dims), facets.get("layout", ""), facets.get("place")), dims

    def _dtype(self, line: _Line, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        numpy: Any = sys.modules.get("numpy")
        try:
            return numpy.dtype(name)
        except Exception:
            raise line.error(f"{name!r} is no dtype") from None

    def _facet(self, line: _Line, name: str) -> Any:
        text = line.next()
        if name == "layout" and text in ("C", "F"):
            return text
        if name in ("cls", "place"):
            return self._named(line, text)
        raise line.error(f"{name}={text} says nothing of an array")

    def _container(self, line: _Line, params: list[Param] | None, used: set[str] | None) -> AbstractValue:
        opening = line.next()
        if opening == "{":
            keys: list[object] = []
            parts: list[AbstractValue] = []
            while not line.take("}"):
                keys.append(self._constant(line))
                line.expect(":")
                parts.append(self._part(line, params, used))
                line.take(",")
            return Partial(dict, keys, parts)
        parts = []
        closing = ")" if opening == "(" else "]"
        while not line.take(closing):
            parts.append(self._part(line, params, used))
            line.take(",")
        return Partial(tuple if opening == "(" else list, range(len(parts)), parts)

    def _fields(self, line: _Line, params: list[Param] | None, used: set[str] | None) -> tuple[list[object], list[AbstractValue]]:
        keys: list[object] = []
        parts: list[AbstractValue] = []
        while not line.take(")"):
            keys.append(line.next())
            line.expect("=")
            parts.append(self._part(line, params, used))
            line.take(",")
        return keys, parts

    def _part(self, line: _Line, params: list[Param] | None, used: set[str] | None) -> AbstractValue:
        if line.kind() == "value" and params is not None:
            return self._declared(line, params, used)
        return self._type(line, params, used)[0]
