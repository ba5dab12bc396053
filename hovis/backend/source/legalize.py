"""Preparation of a Function to be written as statements: operations that no single statement of Python can do are split into steps.

Afterwards each block ends where a statement would, landings are reached by exceptions only, the exception being handled at each
place is unique, and loops have one entry.
"""

from collections.abc import Callable
from typing import Any, Final

from hovis.ir.analysis.control_flow import predecessors, reverse_postorder
from hovis.ir.model import CAUGHT, Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Operand, Param, Raise, Return, Value, callees, edges
from hovis.ir.operations import caught_at, enter_handler, leave_handler, passed, raise_now, raised, stop_iteration_error
from hovis.lattice import ANY, Const
from hovis.passes.cfg.simplify_cfg import simplify_cfg
from hovis.passes.cfg.tail_merging import merge_landings
from hovis.passes.rewriting import MAY_RAISE, copy, effect_of, replaced, sees_handled, substitute
from hovis.passes.scalar.trivial_phis import trivial_phis


def handling_again(exception: object) -> None:
    """Raise exception, to have it handled (again) from here on."""
    raise exception  # type: ignore[misc]


def raise_as_it_is(exception: BaseException) -> None:
    """``raise exception``, without a change of its context."""
    context = exception.__context__
    try:
        raise exception
    finally:
        exception.__context__ = context


def history(exception: BaseException) -> tuple[object, object]:
    """Return the state that raising exception once more would change."""
    return exception.__traceback__, exception.__context__


def with_history(exception: BaseException, known: Any) -> None:
    """Restore the state given by ``history``, as if exception had not been raised once more."""
    exception.__traceback__, exception.__context__ = known


def prepare(function: Function) -> None:
    """Change function, a private copy, to make each part that has to be a statement of its own a block of its own."""
    _without_tracing(function)
    while _one_depth(function):
        pass
    _own_tails(function)
    _one_handler(function)
    for block in list(function.blocks):
        _split(function, block, _raised_at)
    _landings(function)
    incoming = predecessors(function)
    for block in list(function.blocks):
        if not all(is_error(source, edge) for source, edge in incoming.get(block, ())):
            _split(function, block, lambda block, k: block.ops[k].callee is enter_handler)
    for block in dict.fromkeys(edge.block for _, edge in error_edges(function)):
        _bare(function, block)
    function.blocks[:] = reverse_postorder(function.blocks[0])


def with_common_landings(function: Function) -> Function | None:
    """Return a copy in which calls whose exceptions are handled in the same way share a landing, or None if there are no such calls."""
    made = copy(function)
    changed = False
    for one in callees(made):
        _without_tracing(one)
        while merge_landings(one) | simplify_cfg.rewrite(one):
            changed = True
    return made if changed else None


def _without_tracing(function: Function) -> None:
    """Remove the ops that mark where tracebacks begin and end in the user's code: the text has lines of its own."""
    traced: dict[Value, Operand] = {}
    for block in function.blocks:
        traced |= {op: op.args[0] for op in block.ops if op.callee is caught_at or op.callee is passed}
        block.ops = [op for op in block.ops if op not in traced]
        for op in block.ops:
            if op.callee is stop_iteration_error:
                op.args = op.args[:1]
    substitute(function, traced)


def _one_depth(function: Function) -> bool:
    """Duplicate a block that is reached with different numbers of open handlers (it raises, which ends them all); return whether there was one."""
    depth = {function.blocks[0]: 0}
    for block in reverse_postorder(function.blocks[0]):
        after = depth[block] + sum((op.callee is enter_handler) - (op.callee is leave_handler) for op in block.ops)
        for edge in edges(block.terminator):
            if depth.setdefault(edge.block, after) != after:
                edge.block = twin(function, edge.block)
                return True
    return False


def twin(function: Function, block: Block) -> Block:
    """Add a copy of block, with the same successors, to function and return it."""
    twin = Block(tuple(Param(p.type, p.dims, p.name) for p in block.params))
    new: dict[Value, Operand] = dict(zip(block.params, twin.params, strict=True))
    for op in block.all_ops():
        copied = Op(op.callee, replaced(op.args, new), tuple((k, replaced((v,), new)[0]) for k, v in op.kwargs), op.type, None, op.effect, op.location, op.name)
        if isinstance(op.callee, Param | Op) and op.callee in new:
            found = new[op.callee]
            copied.callee = found.value if isinstance(found, Const) else found
        new[op] = copied
        if op in block.ops:
            twin.ops.append(copied)

    def edge(found: Edge) -> Edge:
        return Edge(found.block, replaced(found.args, new))

    match block.terminator:
        case Jump():
            twin.terminator = Jump(edge(block.terminator.edge))
        case Branch():
            twin.terminator = Branch(replaced((block.terminator.cond,), new)[0], edge(block.terminator.true), edge(block.terminator.false))
        case Invoke():
            call = new[block.terminator.op]
            assert isinstance(call, Op)
            twin.terminator = Invoke(call, edge(block.terminator.ok), edge(block.terminator.error))
        case Return():
            twin.terminator = Return(replaced((block.terminator.value,), new)[0])
        case Raise():
            twin.terminator = Raise(replaced((block.terminator.value,), new)[0], block.terminator.again)
    function.blocks.append(twin)
    return twin


#: Maximal number of ops of a handler's end that is copied for each path to it.
MAX_TAIL: Final = 3
#: Maximal number of copies of such ends in one function.
MAX_TAILS: Final = 200


def _own_tails(function: Function) -> None:
    """Duplicate a block where handled exceptions meet only to be raised again, or for their handling to end: each path gets its own."""
    if not any(op.callee is enter_handler for op in function.ops()):
        return
    todo, made = [block for block in function.blocks if _is_tail(block)], 0
    while todo and made < MAX_TAILS:
        block = todo.pop()
        into = predecessors(function)[block]
        for source, edge in into[1:]:
            edge.block = twin(function, block)
            made += 1
            if _is_tail(source):
                todo.append(source)
    if made:
        trivial_phis.rewrite(function)


def _is_tail(block: Block) -> bool:
    if not any(op.callee is leave_handler for op in block.ops):
        return isinstance(block.terminator, Raise) and block.terminator.again and not block.ops
    silent = all(op.callee is leave_handler or effect_of(op) == Effect.PURE for op in block.ops)
    return silent and len(block.ops) <= MAX_TAIL and isinstance(block.terminator, Jump | Return | Raise)


#: The open handlers at a place: for each the ``enter_handler``, or (block, index) if the block begins to handle its own exception param.
_Handled = list[Op | tuple[Block, int]]


def _one_handler(function: Function) -> None:
    """Where paths that handle different exceptions meet, end their handlers on each edge, pass the exception as a param, and begin to handle it
    again in the block.
    """
    order = reverse_postorder(function.blocks[0])
    if not any(op.callee is enter_handler for block in order for op in block.ops):
        return
    firsts: dict[Block, int] = {}
    handled = _handled(order, firsts)
    while (found := _unlike(order, handled)) is not None:
        block, first = found
        firsts[block] = min(first, firsts.get(block, first))
        handled = _handled(order, firsts)
    caught = {(block, k): Param(ANY, None, "error") for block, first in firsts.items() for k in range(first, len(handled[block]))}

    def value(of: Op | tuple[Block, int]) -> Operand:
        return of.args[0] if isinstance(of, Op) else caught[of]

    incoming = predecessors(function)
    behind = {block: _handled_behind(block, handled[block]) for block in order}
    for block, first in firsts.items():
        for source, edge in incoming[block]:
            if source in behind and edge.block is block:
                _end_before(function, source, edge, [value(of) for of in behind[source][first:]])
        mine = [caught[block, k] for k in range(first, len(handled[block]))]
        block.params += tuple(mine)
        block.ops[:0] = [Op(enter_handler, (param,), (), ANY, None, Effect.WRITES) for param in mine]


def _handled(order: list[Block], firsts: dict[Block, int]) -> dict[Block, _Handled]:
    """Find the exceptions that are being handled at the start of each block, along the first path to it; a block in firsts has its own from that
    index on.
    """
    found: dict[Block, _Handled] = {order[0]: []}
    for block in order:
        for edge in edges(block.terminator):
            to = edge.block
            if to not in found:
                after = _handled_behind(block, found[block])
                first = firsts.get(to, len(after))
                found[to] = [*after[:first], *((to, k) for k in range(first, len(after)))]
    return found


def _unlike(order: list[Block], handled: dict[Block, _Handled]) -> tuple[Block, int] | None:
    """Find a block where paths that handle different exceptions meet, and the index of the first handler in which they differ, or None."""
    for block in order:
        after = _handled_behind(block, handled[block])
        for edge in edges(block.terminator):
            for k, (a, b) in enumerate(zip(handled[edge.block], after, strict=True)):
                if a != b and a != (edge.block, k):
                    return edge.block, k
    return None


def _end_before(function: Function, source: Block, edge: Edge, handled: list[Operand]) -> None:
    """Insert a block on edge that ends the innermost handlers and passes on the exceptions that they handled."""
    own: tuple[Param, ...] = (Param(ANY, None, "error"),) if is_error(source, edge) else ()
    given = tuple(own[0] if a is CAUGHT else a for a in edge.args)
    leaves = [Op(leave_handler, (), (), ANY, None, Effect.WRITES) for _ in handled]
    way = Block(own, leaves, Jump(Edge(edge.block, (*given, *handled))))
    function.blocks.append(way)
    edge.block, edge.args = way, (CAUGHT,) if own else ()


def _handled_behind(block: Block, handled: _Handled) -> _Handled:
    """Return the ``enter_handler`` of each handler that is open at the end of block."""
    found = list(handled)
    for op in block.ops:
        if op.callee is enter_handler:
            found.append(op)
        elif op.callee is leave_handler:
            found.pop()
    return found


def is_error(source: Block, edge: Edge) -> bool:
    return isinstance(source.terminator, Invoke) and edge is source.terminator.error


def _raised_at(block: Block, k: int) -> bool:
    """Does the k-th op raise an exception that is caught right here, or begin to handle one that comes from elsewhere?"""
    op = block.ops[k]
    return op.callee is raised or (op.callee is enter_handler and not (k == 0 and op.args[0] in block.params))


def _split(function: Function, block: Block, catches: Callable[[Block, int], bool]) -> None:
    """Split block where a handler ends, and where one begins that no call leads to (catches finds these)."""
    for k, op in enumerate(block.ops):
        if op.callee is leave_handler and not _only_raises(block, k + 1) and (k + 1 < len(block.ops) or not isinstance(block.terminator, Jump)):
            rest = cut(function, block, k + 1)
            block.terminator = Jump(Edge(rest))
            return _split(function, rest, catches)
        if catches(block, k):
            rest = catch(function, block, k)
            return _split(function, rest, _raised_at)
    if isinstance(block.terminator, Invoke) and any(effect_of(op) & MAY_RAISE for op in block.ops):
        last = max(k for k, op in enumerate(block.ops) if effect_of(op) & MAY_RAISE)
        block.terminator = Jump(Edge(cut(function, block, last + 1)))
    return None


def catch(function: Function, block: Block, k: int) -> Block:
    """Let a call raise the exception that the k-th op raises, or begins to handle; the rest of the block, which is returned, catches it."""
    op = block.ops[k]
    rest = cut(function, block, k)
    caught = Param(ANY, None, "error")
    rest.params = (caught,)
    if op.callee is raised:
        rest.ops.pop(0)
        substitute(function, {op: caught})
        callee: Any = raise_now
    else:
        before = Op(history, op.args, (), ANY, None, Effect.READS, op.location)
        block.ops.append(before)
        enter = Op(enter_handler, (caught,), (), op.type, None, op.effect, op.location)
        rest.ops[:1] = [enter, Op(with_history, (caught, before), (), ANY, None, Effect.WRITES, op.location)]
        callee = handling_again
    nowhere = Block((), [], Raise(Const(None)))
    function.blocks.append(nowhere)
    call = Op(callee, op.args, (), ANY, None, Effect.RAISES | Effect.WRITES, op.location)
    block.terminator = Invoke(call, Edge(nowhere), Edge(rest, (CAUGHT,)))
    return rest


def _only_raises(block: Block, k: int) -> bool:
    end = block.terminator
    return isinstance(end, Raise) and end.again and all(op.callee is leave_handler for op in block.ops[k:])


def cut(function: Function, block: Block, k: int) -> Block:
    """Move the ops from the k-th on, and the terminator, to a new block and return it."""
    rest = Block((), block.ops[k:], block.terminator)
    block.ops = block.ops[:k]
    function.blocks.append(rest)
    return rest


def error_edges(function: Function) -> list[tuple[Block, Edge]]:
    return [(block, edge) for block in function.blocks for edge in edges(block.terminator) if is_error(block, edge)]


def caught_places(edge: Edge) -> tuple[int, ...]:
    """Return the indices of a landing's params that receive the caught exception."""
    return tuple(k for k, value in enumerate(edge.args) if value is CAUGHT)


def _landings(function: Function) -> None:
    """Make each landing reachable by exceptions alone, with the exception in one param: error edges with the same arguments share a landing."""
    for target, sources in predecessors(function).items():
        errors = [edge for block, edge in sources if is_error(block, edge)]
        places = {caught_places(edge) for edge in errors}
        if not errors or (len(errors) == len(sources) and len(places) == 1 and max(map(len, places)) <= 1):
            continue
        shared: dict[Any, Block] = {}
        for edge in errors:
            key = tuple(("const", id(a.value)) if isinstance(a, Const) else id(a) for a in edge.args)
            landing = shared.get(key)
            if landing is None:
                caught = Param(ANY, None, "error")
                args = tuple(caught if a is CAUGHT else a for a in edge.args)
                landing = shared[key] = Block((caught,), [], Jump(Edge(target, args)))
                function.blocks.append(landing)
            edge.block, edge.args = landing, (CAUGHT,)


def _bare(function: Function, block: Block) -> None:
    """Move ops that could observe that they stand in an except clause, and must not stand in one, out of the landing."""
    if block.ops and block.ops[0].callee is enter_handler:
        return
    raises = isinstance(block.terminator, Raise) and not block.terminator.again
    if raises or any(op.callee is not leave_handler and sees_handled(op) for op in block.all_ops()):
        block.terminator = Jump(Edge(cut(function, block, 0)))
