"""The text of a Function (docs: the IR).  ``str(function)`` is this text.

Values are numbered in the order in which they appear.  Each line refers to the object that it shows, so that the verifier can
write a complaint under the offending line.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hovis.ir import naming
from hovis.ir.model import CAUGHT, MARKED, Block, Branch, Caught, Edge, Effect, Function, Invoke, Jump, Location, Op, Operand, Param, Raise, Return, callees
from hovis.lattice import AbstractValue, Array, Const, Partial, Refined, Type, Union
from hovis.lattice.values import PUBLIC_NAMES, member_order

#: Longer constants are shortened in ``str``.
CONSTANT_WIDTH: Final = 60

_NAME = re.compile(r"[\w.<>]+|\([^\w\s]+\)|\(is( not)?\)")
_RESERVED: Final = frozenset({*PUBLIC_NAMES.values(), "Any", "Bottom", "const", "fn", "br", "raise", "reraise", "return"})


@dataclass(frozen=True, slots=True)
class Given:
    """A partially known argument in the header of a Trace; ``whole`` is the parameter for the container, if that is used as a whole."""

    structure: Any
    whole: Param | None = None


def show(
    function: Function | Sequence[Function],
    *,
    params: Sequence[Any] | None = None,
    locations: bool | str = False,
    full: bool = False,
    guards: bool = False,
) -> str:
    """The text of a Function and of the residual functions that it calls.

    params     the items that the first header lists in place of the entry's parameters: Param, Const, or structures of them
    locations  show the source location of each line; "relative": line numbers relative to that of the ``def``
    full       nothing is shortened, and everything that ``parse`` needs is included
    """
    return "\n".join(text for _, text in Printer(function, params, locations, full, guards).lines())


def names_of(function: Function | Sequence[Function], params: Sequence[Any] | None = None) -> dict[str, object]:
    """The names that ``parse(show(function, full=True), names)`` needs: the object behind each name in that text."""
    printer = Printer(function, params, full=True)
    for _ in printer.lines():
        pass
    return {
        text: value for text, value in printer.claims.items() if not isinstance(value, Function) and naming.lookup(text, {}) is not value
    }


class Printer:
    """Prints one or more Functions."""

    def __init__(
        self,
        function: Function | Sequence[Function],
        params: Sequence[Any] | None = None,
        locations: bool | str = False,
        full: bool = False,
        guards: bool = False,
    ) -> None:
        self.functions = callees(function) if isinstance(function, Function) else list(function)
        self.params = None if params is None else [item if isinstance(item, Param | Given) else Given(item) for item in params]
        self.locations = locations
        self.full = full
        self.guards = guards
        self.claims: dict[str, object] = {}
        self._objects: dict[int, str] = {}
        self._functions: dict[int, str] = {}
        called = {id(op.callee) for one in self.functions for op in one.ops() if isinstance(op.callee, Function)}
        for k, one in enumerate(self.functions):
            name = self._function_name(one)
            if k or params is None or id(one) in called:
                self.claims[name] = one
        self._numbers: dict[object, int] = {}
        self._blocks: dict[Block, int] = {}

    # --------------------------------------------------------------------------------------------- functions

    def lines(self) -> Iterator[tuple[object, str]]:
        """Yield the lines, each with the object that it shows: a Function, a Block, an Op, a terminator, or None."""
        for k, function in enumerate(self.functions):
            if k:
                yield None, ""
            for shown, text in self._function(function, first=k == 0):
                yield shown, naming.printable(text)  # names may contain any characters

    def _function(self, function: Function, first: bool) -> Iterator[tuple[object, str]]:
        header = self.params if first else None
        self._number(function, header)
        if self.guards:
            for guard in function.guards:
                yield None, f"guard {guard}"
        headed = not first or (self.full and header is None)
        if headed:
            yield function, self._headline(function)
        for block in function.blocks:
            if block is not function.blocks[0]:
                yield block, self._header(block.params, block)
            elif headed:
                yield block, "1:"
            else:
                yield block, self._header(block.params if header is None else self._listed(function, header), block)
            for op in block.ops:
                yield op, self._located(f"  {self._op(op)}", op.location)
            yield from self._terminator(block.terminator)

    def _function_name(self, function: Function) -> str:
        """Return the name of a residual function; a second function of the same name gets a number."""
        found = self._functions.get(id(function))
        if found is None:
            taken = set(self._functions.values())
            found, k = function.name, 2
            while found in taken:
                # a function specialized to known arguments is named .1 from the beginning, and its number replaces that
                found, k = f"{function.name.removesuffix('.1')}.{k}", k + 1
            self._functions[id(function)] = found
        return found

    def _headline(self, function: Function) -> str:
        text = f"fn {self._function_name(function)}({', '.join(map(self._declared, function.params))})"
        if self.full:
            text += f" :: {self.type(function.type)}"
        return text + (" (generator)" if function.is_generator else "")

    def _header(self, params: Iterable[Any], block: Block) -> str:
        declared = ", ".join(map(self._declared, params))
        return f"{self._blocks[block]}: ({declared})" if declared else f"{self._blocks[block]}:"

    @staticmethod
    def _listed(function: Function, header: Sequence[Any]) -> list[Any]:
        """Return the items in the header of a Trace, followed by the entry parameters that it does not mention."""
        mentioned = {id(param) for param in _leaves(header)}
        return [*header, *(param for param in function.params if id(param) not in mentioned)]

    def _number(self, function: Function, header: Sequence[Any] | None) -> None:
        """Number the values in the order in which they are printed."""
        numbers = self._numbers = {}
        self._blocks = {block: k for k, block in enumerate(function.blocks, 1)}
        if header is not None:
            for item in self._listed(function, header):
                self._number_header(item)
        for block in function.blocks:
            for value in (*block.params, *block.all_ops()):
                if value not in numbers:
                    numbers[value] = len(numbers) + 1

    def _number_header(self, item: Any, top: bool = True) -> None:
        if isinstance(item, Given):
            if top or item.whole is not None:
                self._numbers[item.whole or _Slot(item)] = len(self._numbers) + 1
            self._number_header(item.structure, False)
        elif isinstance(item, Param):
            self._numbers.setdefault(item, len(self._numbers) + 1)
        for part in _parts(item):
            self._number_header(part, False)

    def _declared(self, item: Any, top: bool = True) -> str:
        """Return the text of a parameter in a header."""
        if isinstance(item, Given):
            number = f"%{self._numbers[item.whole or _Slot(item)]} :: " if top or item.whole else ""
            if top and isinstance(item.structure, Const) and (name := naming.name_of(item.structure.value)):
                return f"{number}const({name})"
            return number + self._structure(item.structure)
        if isinstance(item, Param):
            return f"{self.operand(item)} :: {self.type(item.type, item.dims)}"
        return self._structure(item)

    def _structure(self, item: Any) -> str:
        if isinstance(item, Param | Given):
            return self._declared(item, False)
        if isinstance(item, Partial):
            item = _Frame(item.cls, item.keys, item.parts)
        if isinstance(item, _Frame):
            return self._frame(item.cls, item.keys, [self._structure(part) for part in item.parts])
        if isinstance(item, Mapping):
            return self._frame(dict, tuple(item), [self._structure(part) for part in item.values()])
        if isinstance(item, list | tuple):
            return self._frame(type(item), (), [self._structure(part) for part in item])
        return self.type(item) if isinstance(item, AbstractValue) else str(item)

    # --------------------------------------------------------------------------------------------- lines

    def _op(self, op: Op) -> str:
        callee = self._callee(op.callee)
        args = [self.operand(arg) for arg in op.args]
        args += [f"{name}={self.operand(arg)}" for name, arg in op.kwargs]
        mark = "!" if op.effect & MARKED else ""
        text = f"{self.operand(op)} = {callee}{mark}({', '.join(args)}) :: {self.type(op.type, op.dims)}"
        if self.full and op.effect:
            text += f" {{{' '.join(flag.name.lower() for flag in Effect if flag & op.effect and flag.name)}}}"
        return text

    def _terminator(self, terminator: Any) -> Iterator[tuple[object, str]]:
        texts: list[str]
        match terminator:
            case Jump():
                texts = [f"br {self._edge(terminator.edge)}"]
            case Branch():
                texts = [f"br {self._edge(terminator.false)} unless {self.operand(terminator.cond)}", f"br {self._edge(terminator.true)}"]
            case Invoke():
                texts = [f"{self._op(terminator.op)}, br {self._edge(terminator.ok)}, or {self._edge(terminator.error)}"]
            case Return():
                texts = [f"return {self.operand(terminator.value)}"]
            case Raise():
                texts = [f"{'reraise' if terminator.again else 'raise'} {self.operand(terminator.value)}"]
            case _:
                texts = ["(no terminator)"]
        location = terminator.op.location if isinstance(terminator, Invoke) else getattr(terminator, "location", None)
        for text in texts:
            yield terminator, self._located("  " + text, location)
            location = None

    def _edge(self, edge: Edge) -> str:
        args = f" ({', '.join(map(self.operand, edge.args))})" if edge.args else ""
        return f"{self._blocks.get(edge.block, '?')}{args}"

    def _located(self, text: str, location: Location | None) -> str:
        if not self.locations or location is None:
            return text
        relative = self.locations == "relative"
        return f"{text}  # {' ← '.join(_place(at, relative) for at in location.chain())}"

    # --------------------------------------------------------------------------------------------- values

    def operand(self, operand: Operand) -> str:
        """Return the text of an operand: ``%3``, ``1``, ``const(f)``, ``%err``."""
        if isinstance(operand, Const):
            return self.constant(operand.value)
        if isinstance(operand, Caught):
            return repr(CAUGHT)
        return f"%{self._numbers.get(operand, '?')}"

    def _callee(self, callee: object) -> str:
        if isinstance(callee, Param | Op):
            return self.operand(callee)
        if isinstance(callee, Function):
            return self._function_name(callee)
        return self._symbol(callee) or self._object(callee)

    def constant(self, value: object) -> str:
        """Return the text of a known value among the operands."""
        text = naming.literal(value) if self.full else naming.literal(_shortened(value))
        if text is None:
            if type(value) is Function:
                return f"const({self._function_name(value)})"
            symbol = self._symbol(value)
            return f"const({symbol})" if symbol else self._object(value)
        return text if self.full or len(text) <= CONSTANT_WIDTH else text[: CONSTANT_WIDTH - 1] + "…"

    def _symbol(self, value: object) -> str | None:
        """Return the name of a callable or module, or None if it has none; in a full text the name stands for this object only."""
        name = naming.name_of(value)
        if name is None or not self.full:
            return name
        if not _NAME.fullmatch(name) or name in _RESERVED:
            return None
        return name if self.claims.setdefault(name, value) is value else None

    def _object(self, value: object) -> str:
        """Return the text of any other object: a number (``#0``), by identity."""
        found = self._objects.get(id(value))
        if found is None:
            found = self._objects[id(value)] = f"#{len(self._objects)}"
            self.claims[found] = value
        return found

    # --------------------------------------------------------------------------------------------- types

    def type(self, type: AbstractValue, dims: tuple[Operand, ...] | None = None) -> str:
        """Return the text of a lattice element, for an array with its dimensions."""
        if isinstance(type, Const):
            text = self.constant(type.value)
            return text if text.startswith("const(") else f"const({text})"
        if isinstance(type, Union):
            return " | ".join(sorted(map(self.type, type.members), key=member_order))
        if isinstance(type, Array):
            return self._array(type, dims)
        if isinstance(type, Refined) and type.told is not None and not self.full:
            return repr(type)
        if isinstance(type, Type):
            return self._class(type.cls)
        if isinstance(type, Partial):
            return self._frame(type.cls, type.keys, [self.type(part) for part in type.parts])
        return repr(type)

    def _class(self, cls: Any) -> str:
        public = PUBLIC_NAMES.get(cls)
        if public or not self.full:
            return public or cls.__qualname__
        name: str = cls.__qualname__
        if _NAME.fullmatch(name) and name not in _RESERVED and self.claims.setdefault(name, cls) is cls:
            return name
        return self._object(cls)

    def _array(self, type: Array, dims: tuple[Operand, ...] | None) -> str:
        shown = [":"] * type.rank if dims is None else [self._dimension(dim) for dim in dims]
        if self.full:
            shown += [f"layout={type.layout}"] if type.layout else []
            shown += [f"cls={self._object(type.cls)}"] if type.cls.__name__ != "ndarray" else []
            shown += [f"place={self._object(type.place)}"] if type.place is not None else []
        dtype = str(type.dtype)
        if self.full and not dtype.isidentifier():
            dtype = self._object(type.dtype)
        return f"{dtype}[{', '.join(shown)}]"

    def _dimension(self, dim: Operand | None) -> str:
        return ":" if dim is None or (isinstance(dim, Const) and dim.value is None) else self.operand(dim)

    def _frame(self, cls: Any, keys: Sequence[Any], parts: list[str]) -> str:
        """Return the text of a container whose parts are already printed."""
        if cls is tuple:
            return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        if cls is list:
            return f"[{', '.join(parts)}]"
        if cls is dict:
            return "{" + ", ".join(f"{self.constant(key)}: {part}" for key, part in zip(keys, parts, strict=True)) + "}"
        return f"{self._class(cls)}({', '.join(f'{key}={part}' for key, part in zip(keys, parts, strict=True))})"


@dataclass(frozen=True, slots=True)
class _Frame:
    """A Partial whose parts may be Params."""

    cls: type
    keys: tuple[object, ...]
    parts: tuple[Any, ...]


class _Slot:
    """A dictionary key for an item of a header, by identity."""

    __slots__ = ("item",)

    def __init__(self, item: object) -> None:
        self.item = item

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Slot) and self.item is other.item

    def __hash__(self) -> int:
        return id(self.item)


def _parts(item: Any) -> Iterable[Any]:
    if isinstance(item, Partial | _Frame):
        return item.parts
    if isinstance(item, Mapping):
        return item.values()
    return item if isinstance(item, list | tuple) else ()


def _leaves(header: Iterable[Any]) -> Iterator[Param]:
    for item in header:
        if isinstance(item, Given):
            if item.whole is not None:
                yield item.whole
            yield from _leaves([item.structure])
        elif isinstance(item, Param):
            yield item
        else:
            yield from _leaves(_parts(item))


def _shortened(value: object) -> object:
    """Return a constant that prints the same up to the cut, but faster."""
    kind = type(value)
    if kind is str or kind is bytes:
        return value[: 2 * CONSTANT_WIDTH]  # type: ignore[index]
    if kind is tuple:
        assert isinstance(value, tuple)
        return tuple(map(_shortened, value[:CONSTANT_WIDTH]))
    return value


def _place(location: Location, relative: bool) -> str:
    name = re.split(r"[\\/]", location.file)[-1]
    if location.line is None:
        return name
    if relative:
        return f"{location.function}:+{location.line - location.first_line}"
    return f"{name}:{location.line}"
