"""Assembling a Function into a Python function.

The stages: ``flow`` computes liveness, ``linear`` selects the instructions of each op, ``slots`` allocates locals to results,
the ``emitter`` lays out the blocks with their jumps, moves and handlers, and ``encode`` builds the code object.
"""

from collections.abc import Mapping, Sequence, Set
from types import CellType, CodeType, FunctionType
from typing import Any

from hovis.backend.assembler.encode import NOWHERE, make_code, unique
from hovis.backend.assembler.layout.block_layout import Emitter
from hovis.backend.assembler.liveness import Flow, may_finalize
from hovis.backend.assembler.make_function import make_function
from hovis.backend.assembler.register_allocation import Slots
from hovis.backend.assembler.selection.constant_pool import Pool
from hovis.backend.assembler.selection.instruction_selection import Linear
from hovis.backend.assembler.stack_carried import carry
from hovis.backend.assembler.traceback_marks import Marks
from hovis.base import deadline
from hovis.bytecode.instructions import Position
from hovis.bytecode.versions import UNREADABLE
from hovis.ir.model import Function, callees
from hovis.ir.origins import Origins, origins_of


def assemble(
    function: Function,
    namespace: dict[str, Any],
    *,
    parameters: Sequence[str] | None = None,
    defaults: tuple[object, ...] | None = None,
    kwdefaults: Mapping[str, object] | None = None,
    name: str | None = None,
    qualname: str | None = None,
    module: str | None = None,
    doc: str | None = None,
    positional_only: int = 0,
    keyword_only: int = 0,
    star: bool = False,
    double_star: bool = False,
    lasting: Set[str] = frozenset(),
    mends: bool = True,
) -> FunctionType:
    """Assemble function into a Python function.

    ``parameters`` are the names of its params; the last ``keyword_only`` of them are keyword-only, followed
    by ``*args`` if ``star`` and ``**kwargs`` if ``double_star``.  Parameters in ``lasting`` hold their arguments until the function ends.
    mends: repair tracebacks that pass through the function; a function that is only traced again does not need that.
    """
    assert UNREADABLE is None, UNREADABLE
    assembler = _Assembler(namespace, set(map(id, callees(function))), mends)
    made = assembler.compile(function, parameters, (positional_only, keyword_only, star, double_star), name, qualname, lasting, (defaults, kwdefaults))
    plain = not (keyword_only or star or double_star)
    if plain and id(function) in assembler.cells:
        assembler.cells[id(function)].cell_contents = made
    assembler.finish()
    if module is not None:
        made.__module__ = module
    made.__doc__ = doc
    return made


class _Assembler:
    """The closure cells of one call of ``assemble``; residual functions are compiled once each."""

    def __init__(self, namespace: dict[str, Any], called: Set[int], mends: bool = True) -> None:
        self.namespace = namespace
        self.mends = mends
        #: ids of the Functions that are called: other Functions are ordinary constants
        self.called = called
        self.cells: dict[int, CellType] = {}
        self.functions: list[Function] = []

    def cell_of(self, value: object) -> CellType:
        """Return the cell that holds value; for a called Function, the cell that will hold the compiled function."""
        cell = self.cells.get(id(value))
        if cell is None:
            if id(value) in self.called and isinstance(value, Function):
                cell = CellType()
                self.functions.append(value)
            else:
                cell = CellType(value)
            self.cells[id(value)] = cell
        return cell

    def finish(self) -> None:
        """Compile the Functions that are called."""
        for function in self.functions:  # the list grows during the loop
            cell = self.cells[id(function)]
            try:
                cell.cell_contents  # noqa: B018
            except ValueError:
                cell.cell_contents = self.compile(function)

    def compile(
        self,
        function: Function,
        parameters: Sequence[str] | None = None,
        shape: tuple[int, int, bool, bool] = (0, 0, False, False),
        name: str | None = None,
        qualname: str | None = None,
        lasting: Set[str] = frozenset(),
        defaults: tuple[tuple[object, ...] | None, Mapping[str, object] | None] = (None, None),
    ) -> FunctionType:
        """Compile one Function; the Functions that it calls are compiled by ``finish``."""
        if parameters is None:
            parameters = [param.name or f"p{k}" for k, param in enumerate(function.params)]
        assert len(parameters) == len(function.params), "one name for each parameter"
        taken: set[str] = set()
        variables = [unique(given, taken, given=True) for given in parameters]
        flow = Flow(function)
        pool = Pool(self.cell_of, taken)
        marks = Marks(function, flow, self.mends)
        linear = Linear(flow, pool, self.namespace, marks.watched, marks.trimmed)
        marks.ruled = linear.rules
        deadline.check()
        code = {block: linear.block(block) for block in flow.order}
        deadline.check()
        stay = {param for param, given in zip(function.params, parameters, strict=True) if given in lasting and may_finalize(param.type)}
        carried = carry(flow, linear, code)
        slots = Slots(flow, code, variables, taken, stay)
        deadline.check()
        emitter = Emitter(flow, linear, code, slots, marks, carried)
        emitter.moves.clears = dict.fromkeys(stay, False)
        emitter.run()
        deadline.check()
        if not self.mends:
            pool.constant(Origins())
        made = _code(function, emitter, shape, name, qualname)
        return make_function(made, self.namespace, tuple(pool.cells), *defaults)


def _code(function: Function, emitter: Emitter, shape: tuple[int, int, bool, bool], name: str | None, qualname: str | None) -> CodeType:
    positional_only, keyword_only, star, double_star = shape
    at = function.location
    qualname = qualname or (at.function if at is not None else function.name)
    first_line = at.first_line if at is not None else 1
    fallback: Position = (first_line, first_line, None, None)

    def position(place: object) -> Position:
        if place is NOWHERE:
            return NOWHERE
        chain = emitter.marks.outline(place)
        return (chain[0].line, chain[0].end_line, chain[0].col, chain[0].end_col) if chain else fallback

    names, cell_names = emitter.slots.names, emitter.pool.cell_names
    if function.is_generator:
        # the frame of a suspended generator can be inspected: its locals must not look like variables of the user
        names, cell_names = [f".{k}" for k in range(len(names))], [f".{name.lstrip('.')}" for name in cell_names]
    count = len(function.params) - keyword_only - star - double_star
    # OPTIMIZED, NEWLOCALS, VARARGS, VARKEYWORDS, NESTED, GENERATOR (Include/cpython/code.h)
    flags = 3 | star << 2 | double_star << 3 | bool(emitter.pool.cells) << 4 | function.is_generator << 5
    code, starts = make_code(
        emitter.asm,
        emitter.pool.constants,
        emitter.pool.names,
        names,
        cell_names,
        (count, positional_only, keyword_only),
        flags,
        at.file if at is not None else "<hovis>",
        name or qualname.rpartition(".")[2],
        qualname,
        first_line,
        position,
    )
    if emitter.mending is not None:
        emitter.mending.fill(starts, emitter.asm.places, emitter.marks.inner)
    origins = origins_of(code)
    if origins is not None:
        origins.fill(starts, emitter.asm.places, emitter.marks.outline)
    return code
