"""Parser for the text form of a Function. It looks names up and evaluates nothing.

``parse(show(function, full=True), names_of(function))`` reconstructs function.  A text without ``full`` can be parsed as
well, but information is missing: where effects are not written out, ``!`` is read as opaque, and no ``!`` as pure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hovis.base import own_code
from hovis.errors import ParseError
from hovis.ir.lexer import Line
from hovis.ir.model import CAUGHT, Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Operand, Param, Raise, Return, Terminator
from hovis.ir.value_parser import ValueParser
from hovis.lattice import ANY, BOTTOM, AbstractValue, Const, Partial, join

own_code.leave_as_calls(__file__)


def parse(text: str, names: Mapping[str, object] | None = None) -> Function:
    """The Function that text shows; callables, classes and ``#0`` are looked up in names, then in imported modules.

    Raises ParseError if the text is not that of a Function; ``verify`` checks whether the Function is valid.

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
            raise ParseError(f"this is not a line of a Function: {line[:200]!r}")
    if not found or not all(section.blocks for section in found):
        raise ParseError("a Function needs at least one block")
    return found


# ------------------------------------------------------------------------------------------------- a function


class _FunctionParser(ValueParser):
    """Parser of one Function: first its values and blocks are declared, then they are filled in."""

    def __init__(self, section: _Section, names: Mapping[str, object]) -> None:
        self.section = section
        super().__init__(names)
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
        """Create all values, so that they can be used before the line that defines them."""
        used = self._used()
        for number, header, body in self.section.blocks:
            block = self.blocks[number]
            if block is self.function.blocks[0] and self.section.headline:
                block.params = self._headline(self.section.headline)
            elif header:
                first = block is self.function.blocks[0] and not self.section.headline
                block.params = self._params(Line(header), used if first else None)
            for text in body:
                match = re.match(r"(%\d+) = ", text)
                if match:
                    self._define(match[1], Op(None, ()))

    def _used(self) -> set[str]:
        """Return the value numbers (``%3``) that occur outside the entry's header."""
        texts = [text for _, _, body in self.section.blocks for text in body] + [header for _, header, _ in self.section.blocks[1:]]
        return {token for text in texts for kind, token in Line(text).tokens if kind == "value"}

    def _define(self, number: str, value: Param | Op) -> None:
        if number in self.values:
            raise ParseError(f"{number} is defined twice")
        self.values[number] = value

    def _headline(self, text: str) -> tuple[Param, ...]:
        line = Line(text)
        while line.peek() != "(":
            if line.kind() == "end":
                raise line.error("'(' expected")
            line.next()
        params = self._params(line, None)
        if line.take("::"):
            self.function.type = self.read_type(line)[0]
        self.function.is_generator = line.take("(", "generator", ")")
        return params

    def _params(self, line: Line, used: set[str] | None) -> tuple[Param, ...]:
        """Read the parameters in a header. If `used` is given, a known value is a parameter only if its number is in `used`."""
        params: list[Param] = []
        line.expect("(")
        while not line.take(")"):
            self.declared(line, params, used)
            if not line.take(","):
                line.expect(")")
                break
        return tuple(params)

    def declared(self, line: Line, params: list[Param], used: set[str] | None) -> AbstractValue:
        number = line.next()
        line.expect("::")
        at, before = len(params), len(params)
        type, dims = self.read_type(line, params, used)
        known = isinstance(type, Const | Partial) or len(params) > before
        if used is None or not known or number in used:
            param = Param(type)
            self._define(number, param)
            params.insert(at, param)
            self._arrays.append((param, dims))
        return type

    # --------------------------------------------------------------------------------------------- bodies

    def fill(self) -> None:
        """Read the bodies of the blocks."""
        for value, dims in self._arrays:
            value.dims = self._dims(dims)
        for number, _, body in self.section.blocks:
            block = self.blocks[number]
            lines = [Line(text) for text in body]
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

    def _line(self, block: Block, line: Line, following: Line | None) -> None:
        if line.kind() == "value":
            self._op(block, line)
        elif line.take("br"):
            edge = self._edge(line)
            if not line.take("unless"):
                block.terminator = Jump(edge)
            else:
                cond = self._operand(line)
                if following is None or not following.take("br"):
                    raise line.error("the other edge of the branch has to follow on the next line")
                block.terminator = Branch(cond, self._edge(following), edge)
        elif line.take("return"):
            block.terminator = Return(self._operand(line))
        elif line.peek() in ("raise", "reraise"):
            again = line.next() == "reraise"
            block.terminator = Raise(self._operand(line), again)
        else:
            raise line.error("an op or a terminator expected")
        if line.kind() != "end":
            raise line.error(f"{line.peek()!r} is unexpected")

    def _op(self, block: Block, line: Line) -> None:
        op = self._value(line)
        line.expect("=")
        if not isinstance(op, Op) or op.callee is not None:
            raise line.error("an op needs a line and a number of its own")
        op.callee = self._callee(line)
        op.effect = Effect.OPAQUE if line.take("!") else Effect.PURE
        op.args, op.kwargs = self._arguments(line)
        if line.take("::"):
            op.type, dims = self.read_type(line)
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

    def _arguments(self, line: Line) -> tuple[tuple[Operand, ...], tuple[tuple[str, Operand], ...]]:
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

    def _edge(self, line: Line) -> Edge:
        number = line.next()
        block = self.blocks.get(int(number)) if re.fullmatch(r"[0-9]{1,9}", number) else None
        if block is None:
            raise line.error(f"there is no block {number!r}")
        args, named = self._arguments(line) if line.peek() == "(" else ((), ())
        if named:
            raise line.error("a block takes no arguments by name")
        return Edge(block, args)

    # --------------------------------------------------------------------------------------------- operands

    def _callee(self, line: Line) -> object:
        if line.kind() == "value":
            return self._value(line)
        return self.named(line, line.next())

    def _value(self, line: Line) -> Any:
        number = line.next()
        if number not in self.values:
            raise line.error(f"{number} is not defined")
        return self.values[number]

    def _operand(self, line: Line) -> Operand:
        if line.kind() == "value":
            found: Operand = self._value(line)
            return found
        return Const(self.constant(line))

    def _dims(self, dims: list[Any]) -> tuple[Operand, ...] | None:
        """Return the dimensions of an array, or None if none is known."""
        if all(dim is None for dim in dims):
            return None
        for dim in dims:
            if isinstance(dim, str) and dim not in self.values:
                raise ParseError(f"{dim}, the size of an array, is not defined")
        return tuple(self.values[dim] if isinstance(dim, str) else Const(dim) for dim in dims)
