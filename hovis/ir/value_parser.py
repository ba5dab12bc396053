"""Parser for constants and types in the text form of the IR."""

import abc
import contextlib
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from hovis.base import own_code
from hovis.ir import naming, operations
from hovis.ir.lexer import Line, literal
from hovis.ir.model import Function, Param
from hovis.lattice import ANY, BOTTOM, AbstractValue, Array, Const, Items, Partial, Type, Untested, join
from hovis.lattice.values import PUBLIC_NAMES

own_code.leave_as_calls(__file__)

_WORDS: Final[dict[str, object]] = {
    **{repr(value): value for value in (None, True, False, Ellipsis, NotImplemented, operations.END, operations.UNBOUND)},
}
#: Printed names of NumPy's bools; they are looked up only if NumPy has been imported.
_TRUTHS: Final = ("np.True_", "np.False_")
_CLASSES: Final = {name: cls for cls, name in PUBLIC_NAMES.items()}
_SHAPED: Final[dict[str, Callable[..., object]]] = {"range": range, "slice": slice}


class ValueParser(abc.ABC):
    """Reads constants and types; callables and classes are looked up in names."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self.names = names
        self.functions: Mapping[str, Function] = {}

    @abc.abstractmethod
    def declared(self, line: Line, params: list[Param], used: set[str] | None) -> AbstractValue:
        """Read a parameter that is declared in the place of a type, and return its type."""

    def named(self, line: Line, name: str) -> object:
        if name in self.functions:
            return self.functions[name]
        found = naming.lookup(name, self.names)
        if found is naming.MISSING:
            raise line.error(f"the name {name!r} is unknown (pass it in names),")
        return found

    def constant(self, line: Line) -> object:
        """Read a known value, as it is written among operands."""
        kind, text = line.kind(), line.next()
        if kind in ("string", "complex", "number"):
            try:
                return literal(kind, text)
            except (ValueError, SyntaxError, MemoryError) as error:
                raise line.error(f"{text[:40]!r} is not a constant ({error.args[0] if error.args else ''})") from None
        if kind == "object":
            return self.named(line, text)
        if text == "(":
            return self._tuple(line)
        if text in _WORDS:
            return _WORDS[text]
        if text in _TRUTHS:
            return self._of_numpy(line, text)
        if text == "const":
            line.expect("(")
            found = self.named(line, line.next())
            line.expect(")")
            return found
        if line.kind() == "complex" and line.peek()[0] == "(":
            return self._constructed(line, text, (complex(line.next()),))
        if line.take("("):
            return self._constructed(line, text, self._tuple(line))
        raise line.error(f"{text!r} is not a constant")

    def _tuple(self, line: Line) -> tuple[object, ...]:
        """Read the rest of a tuple, after its opening parenthesis."""
        items: list[object] = []
        line.deeper()
        while not line.take(")"):
            items.append(self.constant(line))
            if not line.take(","):
                line.expect(")")
                break
        line.depth -= 1
        return tuple(items)

    def _constructed(self, line: Line, name: str, args: tuple[object, ...]) -> object:
        """Construct a range, a slice or a NumPy scalar."""
        if name in _SHAPED:
            make = _SHAPED[name]
        elif name.startswith("np.") and name[3:].rstrip("_") in naming.NUMPY_SCALARS and len(args) == 1 and isinstance(args[0], int | float | complex):
            make = self._of_numpy(line, name)
        else:
            raise line.error(f"{name!r} is not a constant")
        numpy: Any = sys.modules.get("numpy")
        try:
            with numpy.errstate(all="ignore") if numpy is not None else contextlib.nullcontext():
                return make(*args)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise line.error(f"{name} can't be constructed from these arguments ({error})") from None

    def _of_numpy(self, line: Line, name: str) -> Any:
        found = getattr(sys.modules.get("numpy"), name.removeprefix("np."), None)
        if found is None:
            raise line.error(f"{name!r} is not a name of NumPy, or NumPy is not imported")
        return found

    # --------------------------------------------------------------------------------------------- types

    def read_type(self, line: Line, params: list[Param] | None = None, used: set[str] | None = None) -> tuple[AbstractValue, list[Any]]:
        """Read a lattice element, and its dimensions if it is an array; parameters that are declared inside are appended to params."""
        found, dims = self._member(line, params, used)
        while line.take("|"):
            found, dims = join(found, self._member(line, params, used)[0]), []
        return (Untested(found), []) if line.take("?") else (found, dims)

    def _member(self, line: Line, params: list[Param] | None, used: set[str] | None) -> tuple[AbstractValue, list[Any]]:
        text = line.peek()
        if text in ("(", "[", "{"):
            line.deeper()
            found = self._container(line, params, used)
            line.depth -= 1
            return found, []
        if line.take("const", "("):
            named = line.kind() == "symbol" or (line.kind() == "name" and line.peek(1) == ")" and line.peek() not in (*_WORDS, *_TRUTHS))
            value = self.named(line, line.next()) if named else self.constant(line)
            line.expect(")")
            return Const(value), []
        line.next()
        if text in ("Any", "Bottom"):
            return (ANY if text == "Any" else BOTTOM), []
        if line.take("["):
            holder = naming.lookup(text, self.names)
            return (self._items(line, holder), []) if isinstance(holder, type) and holder.__module__ == "builtins" else self._array(line, text)
        cls: Any = _CLASSES.get(text) or self.named(line, text)
        if not isinstance(cls, type):
            raise line.error(f"{text!r} is not a class")
        if line.peek() == "(" and (line.peek(1) == ")" or line.peek(2) == "="):  # else the parenthesis belongs to the headline of a generator
            line.next()
            line.deeper()
            keys, parts = self._fields(line, params, used)
            line.depth -= 1
            return Partial(cls, keys, parts), []
        return Type(cls), []

    def _items(self, line: Line, cls: type) -> Items:
        """Read the rest of ``dict[Str, Float]`` or ``tuple[Int, ...]``, after the bracket."""
        line.deeper()
        kinds = [self.read_type(line)[0]]
        if line.take(",") and not line.take("..."):
            kinds.append(self.read_type(line)[0])
        line.expect("]")
        line.depth -= 1
        return Items(cls, kinds[-1], kinds[0] if len(kinds) > 1 else None)

    def _array(self, line: Line, name: str) -> tuple[AbstractValue, list[Any]]:
        """Read the rest of ``float64[3, %4, :, layout=C]``, after the bracket."""
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
                raise line.error(f"{text!r} is not a dimension")
            if not line.take(","):
                line.expect("]")
                break
        cls = facets["cls"] if "cls" in facets else getattr(sys.modules.get("numpy"), "ndarray", None)
        if not isinstance(cls, type):
            raise line.error(f"{cls!r} is not a class of arrays")
        return Array(cls, dtype, len(dims), facets.get("layout", ""), facets.get("place")), dims

    def _dtype(self, line: Line, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        numpy: Any = sys.modules.get("numpy")
        try:
            return numpy.dtype(name)
        except Exception:
            raise line.error(f"{name!r} is not a dtype") from None

    def _facet(self, line: Line, name: str) -> Any:
        text = line.next()
        if name == "layout" and text in ("C", "F"):
            return text
        if name in ("cls", "place"):
            return self.named(line, text)
        raise line.error(f"{name}={text} is not a property of an array")

    def _container(self, line: Line, params: list[Param] | None, used: set[str] | None) -> AbstractValue:
        opening = line.next()
        if opening == "{":
            keys: list[object] = []
            parts: list[AbstractValue] = []
            while not line.take("}"):
                keys.append(self.constant(line))
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

    def _fields(self, line: Line, params: list[Param] | None, used: set[str] | None) -> tuple[list[object], list[AbstractValue]]:
        keys: list[object] = []
        parts: list[AbstractValue] = []
        while not line.take(")"):
            keys.append(line.next())
            line.expect("=")
            parts.append(self._part(line, params, used))
            line.take(",")
        return keys, parts

    def _part(self, line: Line, params: list[Param] | None, used: set[str] | None) -> AbstractValue:
        if line.kind() == "value" and params is not None:
            return self.declared(line, params, used)
        return self.read_type(line, params, used)[0]
