"""Code that turned out not to fit into statements: calls whose exceptions no single try can catch, and loops with several entries."""

from bisect import bisect
from collections.abc import Mapping, Sequence
from operator import itemgetter

from hovis.backend.source.legalize import MAX_TAIL, catch, is_error, twin
from hovis.ir.analysis.control_flow import natural_loops, predecessors, reverse_postorder
from hovis.ir.analysis.strongly_connected import entries_of_a_cycle
from hovis.ir.builder import go_by_number
from hovis.ir.model import CAUGHT, Block, Edge, Function, Invoke, Jump, Param, Raise
from hovis.ir.operations import enter_handler
from hovis.lattice import ANY, Const, Type
from hovis.passes.rewriting import MAY_RAISE, effect_of


class Cut(Exception):
    """Raised if the ops of this block, without its terminator, have to stand before a try."""


class Apart(Exception):
    """Raised if the calls whose exceptions this block catches can't stand in one try."""


def landings_apart(function: Function, landing: Block) -> None:
    """Split landing into several handlers, which continue at the common one: one for each run of calls with no others in between, or one for
    each call if there is only one run.
    """
    order = {block: k for k, block in enumerate(reverse_postorder(function.blocks[0]))}
    into = [(source, edge) for source, edge in predecessors(function)[landing] if source in order and is_error(source, edge)]
    errors = sorted(((order[source], edge) for source, edge in into), key=itemgetter(0))
    runs = _runs(function, order, errors)
    for run in runs if len(runs) > 1 else [[edge] for _, edge in errors]:
        caught = Param(ANY, None, "error")
        then = twin(function, landing) if len(landing.ops) <= MAX_TAIL and isinstance(landing.terminator, Raise) else landing
        own = Block((caught,), [], Jump(Edge(then, tuple(caught if a is CAUGHT else a for a in run[0].args))))
        function.blocks.append(own)
        for edge in run:
            edge.block, edge.args = own, (CAUGHT,)
    if landing.ops and landing.ops[0].callee is enter_handler:
        catch(function, landing, 0)


def _runs(function: Function, order: Mapping[Block, int], errors: Sequence[tuple[int, Edge]]) -> list[list[Edge]]:
    """Group error edges into runs: edges with the same arguments, from calls in the same loop, with nothing in between that may raise and is not
    caught in the same way.
    """
    loops = natural_loops(function).loops
    inner: dict[Block, int] = {}
    for k, loop in sorted(enumerate(loops), key=lambda item: -len(item[1].blocks)):
        inner.update(dict.fromkeys(loop.blocks, k))
    mine = {at for at, _ in errors}
    others = (block for block, at in order.items() if isinstance(block.terminator, Invoke) and at not in mine)
    between = sorted(order[block] for block in {*others, *(b for b in order if any(effect_of(op) & MAY_RAISE for op in b.ops))})
    blocks = list(order)
    found: list[list[Edge]] = []
    last: object = None
    for at, edge in errors:
        carried = tuple(("const", id(a.value)) if isinstance(a, Const) else id(a) for a in edge.args)
        key = inner.get(blocks[at]), carried, bisect(between, at)
        if key == last:
            found[-1].append(edge)
        else:
            found.append([edge])
        last = key
    return found


def reducible(function: Function) -> None:
    """Give each loop with several entries a single one, which gets a number that says where to continue."""
    if not natural_loops(function).reducible:
        _one_entry(function, entries_of_a_cycle(function))
        reducible(function)


def _one_entry(function: Function, entries: list[Block]) -> None:
    incoming = predecessors(function)
    for entry in entries:
        if any(is_error(source, edge) for source, edge in incoming[entry]):
            raise Apart(entry)
    which = Param(Type(int), None, "at")
    places = {entry: tuple(Param(p.type, None, p.name) for p in entry.params) for entry in entries}
    head = Block((which, *(p for params in places.values() for p in params)))
    for k, entry in enumerate(entries):
        for _, edge in incoming[entry]:
            carried = [edge.args if other is entry else (Const(None),) * len(params) for other, params in places.items()]
            edge.block, edge.args = head, (Const(k), *(a for args in carried for a in args))
    go_by_number(function, head, which, [Edge(entry, places[entry]) for entry in entries])
