"""The end of a trace: compute the arguments of every edge and call, and collect the blocks of each function."""

from collections import deque

from hovis.base import deadline
from hovis.engine.entries.entry import Entry
from hovis.engine.environment import guards
from hovis.engine.machine import materialize
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.specialization_tables import GiveUp
from hovis.engine.state.values import Dyn, Known, Ref
from hovis.engine.worklist import Engine
from hovis.ir.model import Block, Edge, Function, Jump, Op, Operand, Param, edges
from hovis.ir.operations import UNBOUND
from hovis.lattice import Const


def finish(engine: Engine) -> list[Function]:
    """Resolve all edges, and return the functions reachable from START, each with its blocks."""
    start = engine.keys.start
    engine.lent = {}
    functions: list[Function] = []
    done: set[Entry] = set()
    owned: set[int] = set()
    todo = deque([start])
    while todo:
        root = todo.popleft()
        if root in done:
            continue
        done.add(root)
        function = root.function
        assert function is not None
        function.blocks, function.type = blocks(engine, root, todo), root.result
        functions.append(function)
        before = len(owned)
        owned.update(map(id, function.blocks))
        if len(owned) < before + len(function.blocks):
            raise GiveUp("two residual functions share a basic block")  # a call of the original function is better than a wrong residual
    start.reads |= engine.environment.granted
    if not engine.environment.frozen:
        guards.spread(engine.keys.all(), [start.reads, *(look.keys for look in engine.looks)])
        place = {key: k for k, key in enumerate(engine.environment.guards)}
        for look in engine.looks:
            look.guards = tuple(engine.environment.guards[key] for key in sorted(look.keys & place.keys(), key=place.__getitem__))
    return functions


def blocks(engine: Engine, root: Entry, todo: "deque[Entry]") -> list[Block]:
    blocks: list[Block] = []
    seen: set[Entry] = {root}
    stack = [root]
    while stack:
        entry = stack.pop()
        deadline.check()
        seal(engine, entry)
        blocks += _chain_blocks(entry.block)
        for op, target, state in entry.calls:
            built = Block()
            op.args = arguments(engine, target, state, built)
            if built.ops:
                _put_before(op, built.ops, entry.block)
            todo.append(target)
        for edge, target, state in entry.exits:
            blocks += resolve(engine, edge, target, state)
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return blocks


def seal(engine: Engine, entry: Entry) -> None:
    """Fix the parameters of an entry's block: only those that its state still uses are kept."""
    if not entry.sealed:
        entry.sealed = True
        found = dyns(entry.state)
        used = {id(v.value) for v in found}
        nodes = {id(o.node) for o in entry.state.heap.values() if o.node is not None}
        entry.block.params = tuple(p for p in entry.params.values() if id(p) in used or id(p) in nodes)
        for value in found:
            if isinstance(value.value, Param):
                value.value.type = value.type
                if value.dims and value.value.dims is None:
                    value.value.dims = tuple(Const(d.value) if isinstance(d, Known) else Const(None) for d in value.dims)


def dyns(state: State) -> list[Dyn]:
    """Collect the `Dyn` values of state, which the residual computes."""
    roots = [v for _, v in state.roots() if type(v) is Dyn]
    return roots + [c for o in state.heap.values() if not o.bulk for c in o.cells if type(c) is Dyn]


def resolve(engine: Engine, edge: Edge, target: Entry, state: State) -> list[Block]:
    """Set the target block and the arguments of edge. Return the blocks that had to be inserted on the edge."""
    between = Block()
    args = arguments(engine, target, state, between)
    if between.ops:
        edge.block, edge.args = between, ()
        between.terminator = Jump(Edge(target.block, args))
        return [between]
    edge.block, edge.args = target.block, args
    return []


def arguments(engine: Engine, target: Entry, state: State, between: Block | None) -> tuple[Operand, ...]:
    """Compute the arguments for the parameters of target's block when state arrives there. Virtual objects that have to be real are materialized
    in the block ``between``.
    """
    seal(engine, target)
    engine.state, engine.block = state, between or Block()
    paths = engine.tables.paths
    found: dict[int, Operand] = {}
    theirs = dict(state.roots())
    queue = deque((paths[name], value, theirs.get(name)) for name, value in target.state.roots())
    seen: set[int] = set()
    while queue:
        path, wanted, value = queue.popleft()
        if isinstance(wanted, Dyn):
            param = target.params.get(path)
            if param is not None:
                found[id(param)] = Const(UNBOUND) if value is None else engine.operand(value)
        elif isinstance(wanted, Ref) and wanted.aid not in seen:
            seen.add(wanted.aid)
            assert isinstance(value, Ref)
            mine, yours = target.state.heap[wanted.aid], state.heap[value.aid]
            if mine.node is not None:
                found[id(mine.node)] = materialize.materialize(engine, value.aid)
            if not (mine.bulk and mine.cells is yours.cells):
                queue.extend(zip(paths.cells(path, mine), mine.cells, yours.cells, strict=False))
    return tuple(found[id(param)] for param in target.block.params)


def _put_before(call: Op, made: list[Op], first: Block) -> None:
    """Insert the ops ``made``, which build the arguments of call, right before call."""
    for block in _chain_blocks(first):
        if any(op is call for op in block.ops):
            at = next(k for k, op in enumerate(block.ops) if op is call)
            block.ops[at:at] = made
        elif getattr(block.terminator, "op", None) is call:
            block.ops += made


def _chain_blocks(first: Block) -> list[Block]:
    """Collect the blocks of one chain: first, its continuations and the landing pads of its Invokes (no exit edge is resolved yet)."""
    found, todo = [], [first]
    seen: set[int] = set()
    while todo:
        block = todo.pop(0)
        if id(block) not in seen:
            seen.add(id(block))
            found.append(block)
            todo += [edge.block for edge in edges(block.terminator)]
    return found
