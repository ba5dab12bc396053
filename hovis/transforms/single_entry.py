"""Make loops reducible: a loop with several entries gets one entry block, with a parameter that says where to continue."""

from hovis.ir.analysis.control_flow import Dominators, operands, predecessors
from hovis.ir.analysis.strongly_connected import entries_of_a_cycle
from hovis.ir.builder import INT, go_by_number
from hovis.ir.model import Block, Caught, Edge, Function, Jump, Op, Operand, Param, Value, edges
from hovis.lattice import Const
from hovis.passes.rewriting import replace_in
from hovis.transforms.ssa_variables import Variable, Variables, absent


def one_entry(function: Function) -> None:
    """Give one cycle with several entries a single entry block, through which all edges into it lead."""
    entries = entries_of_a_cycle(function)
    assert entries, "there is a cycle with several entries"
    _through_one(function, entries)
    _mend(function)


def _through_one(function: Function, entries: list[Block]) -> None:
    incoming = predecessors(function)
    chosen = Param(INT)
    params = {entry: tuple(Param(p.type, p.dims, p.name) for p in entry.params) for entry in entries}
    front = Block((chosen, *(p for entry in entries for p in params[entry])))
    for k, entry in enumerate(entries):
        for _, edge in incoming[entry]:
            # a caught exception is the first argument of its error edge
            caught = tuple(Param(p.type) for arg, p in zip(edge.args, entry.params, strict=True) if isinstance(arg, Caught))
            between = Block(caught)
            given: tuple[Operand, ...] = (*caught, *edge.args[len(caught) :])
            args: list[Operand] = [Const(k)]
            for other in entries:
                args += given if other is entry else [_missing(between, p) for p in params[other]]
            between.terminator = Jump(Edge(front, tuple(args)))
            edge.block, edge.args = between, edge.args[: len(caught)]
            function.blocks.append(between)
    go_by_number(function, front, chosen, [Edge(entry, params[entry]) for entry in entries])


def _missing(block: Block, param: Param) -> Operand:
    return absent(Variable(param.type, absent, None, param.dims), block)


def _mend(function: Function) -> None:
    """Restore SSA form: pass a value along the edges to uses that its definition does not dominate any more."""
    dom = Dominators(function)
    home: dict[Value, Block] = {}
    for block in function.blocks:
        home.update(dict.fromkeys([*block.params, *block.all_ops()], block))
    variables = Variables()
    for block in function.blocks:
        for edge in edges(block.terminator):
            variables.ways[edge.block] = variables.ways.get(edge.block, 0) + 1
    for block in function.blocks:
        for edge in edges(block.terminator):
            variables.link(block, edge)
    of: dict[Value, Variable] = {}
    for block in list(function.blocks):
        far = {v for v in operands(block) if isinstance(v, Param | Op) and not dom.dominates(home[v], block)}
        for value in far:
            if value not in of:
                of[value] = variable = Variable(value.type, absent, None, value.dims, value.name)
                variables.write(variable, home[value], value)
        replace_in(block, {v: variables.value(of[v], block) for v in far})
    for block in function.blocks:
        values: list[Value] = [*block.params, *block.all_ops()]
        for value in values:
            if value.dims and any(isinstance(dim, Param | Op) and not dom.dominates(home.get(dim, block), block) for dim in value.dims):
                value.dims = tuple(dim if isinstance(dim, Const) else Const(None) for dim in value.dims)
    variables.settle()
