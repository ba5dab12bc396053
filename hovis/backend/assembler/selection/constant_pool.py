"""The constants, attribute names and closure cells of one code object, and which objects may be constants of it."""

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, FunctionType, MethodDescriptorType, ModuleType
from typing import Final

from hovis.backend.assembler.encode import unique
from hovis.backend.tracebacks import Tracebacks, Trim, Untrim
from hovis.bytecode.instructions import NO_VALUE
from hovis.ir import operations as ops
from hovis.ir.model import Function
from hovis.ir.operations import PACKAGE


class Pool:
    """Constants, attribute names and closure cells of one code object."""

    def __init__(self, cell_of: Callable[[object], CellType], variables: set[str]) -> None:
        # a string as the first constant would be taken for the docstring
        self.constants: list[object] = [None]
        self.names: list[str] = []
        self.cells: list[CellType] = []
        self.cell_names: list[str] = []
        self.taken = variables
        self._cell_of = cell_of
        self._constant_at: dict[object, int] = {(type(None), None): 0}
        self._name_at: dict[str, int] = {}
        self._cell_at: dict[int, int] = {}

    def constant(self, value: object) -> int:
        """Return the index of a plain constant. Floats are distinguished by identity: nan, -0.0."""
        kind = type(value)
        key: object = (kind, value) if kind in _KEYED else id(value)
        at = self._constant_at.get(key)
        if at is None:
            at = self._constant_at[key] = len(self.constants)
            self.constants.append(value)
        return at

    def name(self, name: str) -> int:
        """Return the index of an attribute name."""
        at = self._name_at.setdefault(name, len(self.names))
        if at == len(self.names):
            self.names.append(name)
        return at

    def cell(self, value: object) -> int:
        """Return the index of a closure cell that holds exactly this object."""
        at = self._cell_at.get(id(value))
        if at is None:
            at = self._cell_at[id(value)] = len(self.cells)
            kind = type(value)
            name = getattr(value, "name" if issubclass(kind, Function) else "__name__", None) if issubclass(kind, (Function, *_NAMED)) else None
            self.cell_names.append(NO_VALUE if value is ops.UNBOUND else unique(name if isinstance(name, str) else type(value).__name__, self.taken))
            self.cells.append(self._cell_of(value))
        return at

    def user_cell(self, cell: CellType, name: str | None) -> int | None:
        """Add a closure cell of the user's under its own name (None: any free name) and return its index; None if the name is taken or no
        identifier.
        """
        if name is None:
            name = unique("cell", self.taken)
        elif name in self.taken or not name.isidentifier():
            return None
        self.taken.add(name)
        self.cell_names.append(name)
        self.cells.append(cell)
        return len(self.cells) - 1


def is_permanent(value: object) -> bool:
    """Does value live as long as the interpreter, or is it a short tuple of plain values and permanent classes?

    A permanent value is stored among the constants, which saves copying a cell in every call.  The garbage collector does not
    traverse code objects: a value that could refer back to the residual must not be a constant.
    """
    if type(value) is type:
        return not value.__flags__ & _HEAP_TYPE
    if type(value) is BuiltinFunctionType:
        return isinstance(value.__self__, ModuleType) and value.__self__.__name__ in sys.stdlib_module_names
    if type(value) is MethodDescriptorType:
        return not value.__objclass__.__flags__ & _HEAP_TYPE or value.__objclass__.__module__ in sys.stdlib_module_names
    if type(value) is tuple:
        return len(value) <= _LONGEST and all(type(part) in PLAIN or (type(part) is type and is_permanent(part)) for part in value)
    return type(value) in _LISTENERS or (type(value) is FunctionType and _is_own(value))


def _is_own(fn: FunctionType) -> bool:
    """Is fn a function of hovis itself that holds only permanent and plain values? (The test of guards holds other objects, in its defaults.)"""
    held = (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values())
    return fn.__code__.co_filename.startswith(PACKAGE) and not fn.__closure__ and all(type(value) in PLAIN or is_permanent(value) for value in held)


#: Classes of the objects that repair tracebacks: they hold source locations only.
_LISTENERS: Final = (Tracebacks, Trim, Untrim)
#: Maximal length of a tuple whose items are checked.
_LONGEST: Final = 16
#: Py_TPFLAGS_HEAPTYPE
_HEAP_TYPE: Final = 1 << 9

_KEYED: Final = frozenset({int, bool, str, bytes, type(None), type(...)})
PLAIN: Final = _KEYED | {float, complex}
_NAMED: Final = (type, type(len), type(lambda: 0), type(str.join), type(sys), type(type.__call__))
