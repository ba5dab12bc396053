"""Loop-invariant code motion, and sinking of ops to the only path that uses them.

Only pure ops move: they have no effect, raise nothing, and have the same result wherever they are executed.
"""

import operator as o
from typing import Final

from hovis.ir.analysis.control_flow import Dominators, Loop, natural_loops, operands, predecessors
from hovis.ir.model import Block, Edge, Effect, Function, Jump, Op, Operand, Param, Value, edges
from hovis.lattice import Array, Const, Type
from hovis.passes.rewriting import Pass
from hovis.passes.scalar.instcombine import is_exact

#: Classes whose instances nobody distinguishes by identity.
_VALUES: Final = frozenset({int, bool, float, complex, str, bytes, type(None)})


def is_movable(op: Op) -> bool:
    """May op be executed elsewhere, any number of times?"""
    if op.effect != Effect.PURE or isinstance(op.callee, Function | Param | Op):
        return False
    return _is_value(op)


def _is_value(value: Op | Param) -> bool:
    return isinstance(value.type, Type) and not isinstance(value.type, Array) and value.type.cls in _VALUES


def _lets_wait(op: Op) -> bool:
    """Can the operands of op be kept alive until op is executed later? The end of an object's lifetime may be observable, but not if the object
    is made of plain values alone.
    """
    taken = [value for value in op.operands() if isinstance(value, Op | Param)]
    return all(isinstance(value.type, Array) or _is_value(value) or (isinstance(value, Op) and _is_made_of_values(value)) for value in taken)


def _is_made_of_values(op: Op) -> bool:
    return not op.effect & ~Effect.RAISES and all(isinstance(value, Const) or (isinstance(value, Op | Param) and _is_value(value)) for value in op.operands())


# ------------------------------------------------------------------------------------------------- hoisting


def _licm(function: Function) -> bool:
    """Hoist loop-invariant ops in front of the loop.

    A computation whose operands no iteration changes is done once, in the preheader of the loop.
    """
    dom = Dominators(function)
    found = natural_loops(function, dom)
    if not found.loops or not found.reducible:
        return False
    home: dict[Operand, Block] = {}
    for block in function.blocks:
        values: list[Value] = [*block.params, *block.all_ops()]
        home.update((value, block) for value in values)
    changed = False
    for loop in found.loops:
        moved = _invariant(loop, home, dom)
        if moved:
            front = _front(function, loop)
            # a new preheader is not in dom yet; it belongs to the same enclosing loops as the block that enters it
            within, incoming = front, predecessors(function)
            while within not in dom.number:
                within = incoming[within][0][0]
            for op in moved:
                home[op].ops.remove(op)
                home[op] = within
            front.ops += moved
            changed = True
    return changed


licm = Pass(_licm, ways=True)


def _invariant(loop: Loop, home: dict[Operand, Block], dom: Dominators) -> list[Op]:
    """Collect the loop-invariant ops that every iteration executes, in order."""
    moved: list[Op] = []
    stays = set(moved)
    for block in sorted(loop.blocks, key=dom.number.__getitem__):
        if not all(dom.dominates(block, latch) for latch in loop.latches):
            continue
        # an op that the first iteration may not reach is not hoisted, as that may be wasted work, unless it is cheap
        sure = all(dom.dominates(block, b) for b in loop.blocks if _leaves(b, loop))
        for op in block.ops:
            if is_movable(op) and (sure or _is_little(op)) and all(home.get(v) not in loop.blocks or v in stays for v in op.operands()) and not op.dims:
                moved.append(op)
                stays.add(op)
    return moved


def _is_little(op: Op) -> bool:
    """Is op arithmetic on numbers that cannot take long?"""
    return op.callee in _LITTLE and all(is_exact(arg, int, float, bool) for arg in op.args)


#: Shifts and powers may take long.
_LITTLE: Final = frozenset({o.add, o.sub, o.mul, o.neg, o.and_, o.or_, o.xor, o.lt, o.le, o.gt, o.ge, o.eq, o.ne, o.not_})


def _leaves(block: Block, loop: Loop) -> bool:
    return any(edge.block not in loop.blocks for edge in edges(block.terminator))


def _front(function: Function, loop: Loop) -> Block:
    """Return the preheader of a loop; add one if there is none."""
    into = [(source, edge) for source, edge in predecessors(function)[loop.header] if source not in loop.blocks]
    if len(into) == 1 and isinstance(into[0][0].terminator, Jump):
        return into[0][0]
    params = tuple(Param(p.type, None, p.name) for p in loop.header.params)
    front = Block(params, [], Jump(Edge(loop.header, params)))
    for _, edge in into:
        edge.block = front
    function.blocks.append(front)
    return front


# ------------------------------------------------------------------------------------------------- sinking


def _sinking(function: Function) -> bool:
    """Sink ops to the only path that uses them.

    An op that only one path needs is executed on that path: nearer to its use, and not where its result is unused.
    """
    users: dict[Value, list[Block]] = {}
    for block in function.blocks:
        for v in operands(block):
            if isinstance(v, Op):
                users.setdefault(v, []).append(block)
        values: list[Value] = [*block.params, *block.all_ops()]
        for one in values:
            for v in one.dims or ():
                if isinstance(v, Op):
                    users.setdefault(v, []).append(block)
    candidates = [(block, op) for block in function.blocks for op in block.ops if op in users and block not in users[op] and is_movable(op) and _lets_wait(op)]
    if not candidates:
        return False
    dom = Dominators(function)
    loops = natural_loops(function, dom)
    if not loops.reducible:
        return False
    changed = False
    for block, op in reversed(candidates):
        to = _common(users[op], dom)
        # not into a loop, where it would be executed in every iteration
        while to is not block and loops.innermost.get(to) is not loops.innermost.get(block):
            to = dom.order[dom.parent[dom.number[to]]]
        if to is block or block in users[op]:
            continue
        block.ops.remove(op)
        at = next((k for k, other in enumerate(to.ops) if op in other.operands()), len(to.ops))
        to.ops.insert(at, op)
        for v in op.operands():
            if isinstance(v, Op) and v in users:
                users[v].remove(block)
                users[v].append(to)
        changed = True
    return changed


sinking = Pass(_sinking, ways=True)


def _common(blocks: list[Block], dom: Dominators) -> Block:
    """Return the nearest common dominator of these blocks."""
    found = dom.number[blocks[0]]
    for block in blocks[1:]:
        k = dom.number[block]
        while found != k:
            if found > k:
                found = dom.parent[found]
            else:
                k = dom.parent[k]
    return dom.order[found]
