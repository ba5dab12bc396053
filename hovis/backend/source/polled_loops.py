"""Loops with a handler around their back edges that catches exceptions of signal handlers.

The text of such a loop is inside the handler's try statement, because Python checks for signals at every back edge of the text.  The
arguments of the handler then have to be those of the preceding ``poll``: they are kept in variables that are not overwritten on the back edge.
"""

from dataclasses import dataclass, field

from hovis.ir.analysis.control_flow import Dominators, Incoming, Loop, liveness, natural_loops, predecessors, reverse_postorder
from hovis.ir.model import CAUGHT, Block, Function, Invoke, Operand, Param, Value
from hovis.lattice import Const
from hovis.passes.cfg.signal_polls import is_poll
from hovis.passes.rewriting import replace_in


def give_to_handlers(function: Function) -> None:
    """Pass a value of a polled loop that the handler around its polls reads as a param of the landing, where nothing else behind the landing
    reads the value.
    """
    if not any(map(is_poll, function.blocks)):
        return
    dom, live = Dominators(function), liveness(function)
    incoming = predecessors(function)
    home = homes(function)
    for loop in natural_loops(function, dom).loops:
        for landing in landings(loop):
            behind = set(reverse_postorder(landing))
            own = {block for block in behind if dom.dominates(landing, block)}
            for value in [value for value in live[landing] if home[value] in loop.blocks]:
                if any(value in live[block] for block in behind - own):
                    continue
                param = Param(value.type, None, value.name)
                new: dict[Value, Operand] = {value: param}
                for block in own:
                    replace_in(block, new)
                landing.params = (*landing.params, param)
                for edge in (edge for source, edge in incoming[landing] if source in dom):
                    edge.args = (*edge.args, value)
                live[landing].discard(value)


def homes(function: Function) -> dict[Value, Block]:
    """Return the block in which each value is defined."""
    found: dict[Value, Block] = {}
    for block in function.blocks:
        found.update(dict.fromkeys(block.params, block))
        found.update(dict.fromkeys(block.all_ops(), block))
    return found


def landings(loop: Loop) -> list[Block]:
    """Return the landings, outside of loop, of exceptions of its polls."""
    found = [block.terminator.error.block for block in loop.blocks if isinstance(block.terminator, Invoke) and is_poll(block)]
    return [block for block in dict.fromkeys(found) if block not in loop.blocks]


@dataclass(slots=True)
class Kept:
    """The params of handlers of a loop's polls (given), which are not written to on the back edges; apart: params of the loop header that can't
    share a variable with these.
    """

    blocks: set[Block]
    given: set[Value] = field(default_factory=set)
    apart: dict[Value, set[Value]] = field(default_factory=dict)


def kept_on_the_way_back(function: Function) -> dict[Block, Kept]:
    """Compute the Kept of each polled loop, by loop header."""
    if not any(map(is_poll, function.blocks)):
        return {}
    incoming = predecessors(function)
    found: dict[Block, Kept] = {}
    for loop in natural_loops(function).loops:
        back = [(source, edge) for source, edge in incoming[loop.header] if source in loop.blocks]
        kept = Kept(set(loop.blocks))
        for block in _last_polls(loop, [source for source, _ in back], incoming):
            assert isinstance(block.terminator, Invoke)
            error = block.terminator.error
            for param, arg in zip(error.block.params, error.args, strict=True):
                if arg is CAUGHT or error.block in loop.blocks:
                    continue
                kept.given.add(param)
                for k, head in enumerate(loop.header.params):
                    if not all(edge.args[k] is arg or (isinstance(arg, Const) and edge.args[k] == arg) for _, edge in back):
                        kept.apart.setdefault(head, set()).add(param)
        if kept.given:
            found[loop.header] = kept
    return found


def _last_polls(loop: Loop, latches: list[Block], incoming: Incoming) -> list[Block]:
    """Return the polls after which there is no other one on the way to the back edge."""
    found, seen, todo = [], set[Block](), list(latches)
    while todo:
        block = todo.pop()
        if block in seen or block not in loop.blocks:
            continue
        seen.add(block)
        if is_poll(block):
            found.append(block)
        elif block is not loop.header:
            todo += [source for source, _ in incoming[block]]
    return found
