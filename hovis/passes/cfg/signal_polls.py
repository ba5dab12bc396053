"""Eliminate polls for signals (``poll``) that are redundant or have no meaning.

A poll stands for the backward jump of a loop: it is removed where no path leads back to it, and one in each iteration is enough.  CPython
polls for signals at the end of a call, too: a call that can raise for that reason alone is ``INTERRUPTED``.  Functions that are compiled,
differentiated or batched do not poll for signals at all.
"""

from hovis.ir import operations
from hovis.ir.analysis.control_flow import successors
from hovis.ir.model import CAUGHT, Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Operand, Return, callees, edges
from hovis.ir.operations import poll
from hovis.lattice import Const
from hovis.passes.rewriting import TRACES_EXCEPTION, Pass, drop_error_edge, drop_unreached, is_one_of


def is_poll(block: Block) -> bool:
    """Does the block end with a poll for signals?"""
    return isinstance(block.terminator, Invoke) and block.terminator.op.callee is poll


def is_interrupted(block: Block) -> bool:
    """Does the block end with a call that raises only what a signal handler raises?"""
    return isinstance(block.terminator, Invoke) and bool(block.terminator.op.effect & Effect.INTERRUPTED)


def polling(function: Function) -> list[Block]:
    """Collect the blocks that end with a poll for signals."""
    return [block for block in function.blocks if is_poll(block)]


def _poll_elimination(function: Function) -> bool:
    """Eliminate redundant polls for signals.

    A poll is redundant if it is executed only once, or if there is another poll in each iteration.
    """
    kept = polling(function)
    spare = []
    for block in reversed(kept[:]):
        others = {other for other in kept if other is not block}
        if not _leads(on(block).block, block, others):
            kept.remove(block)
            spare.append(block)
    return _unpoll(function, spare)


poll_elimination = Pass(_poll_elimination, ways=True)


def _leads(first: Block, to: Block, others: set[Block]) -> bool:
    """Is there a path from first to another block that goes through none of the others?"""
    seen, todo = {first}, [first]
    while todo:
        block = todo.pop()
        if block is to:
            return True
        for after in successors(block) if block not in others else ():
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return False


def on(block: Block) -> Edge:
    """Return the edge that is taken when the poll at the end of a block raises nothing."""
    assert isinstance(block.terminator, Invoke)
    return block.terminator.ok


def _unpoll(function: Function, blocks: list[Block]) -> bool:
    for block in blocks:
        assert isinstance(block.terminator, Invoke)
        block.terminator = Jump(block.terminator.ok, block.terminator.op.location)
    if blocks:
        drop_unreached(function)
    return bool(blocks)


def without_polls(function: Function) -> bool:
    """Remove all polls for signals from function and its callees, in place; return whether there were any."""
    found = [_unpoll(one, polling(one)) | _call_completion(one) for one in callees(function)]
    return any(found)


def _call_completion(function: Function) -> bool:
    """Let calls that cannot raise themselves complete without polling for signals.

    An exception raised by a signal handler as one of these calls ends is delivered later: compiled code is not interrupted.
    """
    looks = [block for block in polling(function) if is_interrupted(block)]
    changed = _unpoll(function, looks)
    for block in function.blocks:
        if is_interrupted(block):
            drop_error_edge(block)
            block.ops[-1].effect &= ~Effect.RAISES
            changed = True
        for op in block.ops:
            op.effect &= ~Effect.INTERRUPTED
    if changed:
        drop_unreached(function)
    return changed


call_completion = Pass(_call_completion, ways=True)


def _poll_delay(function: Function) -> bool:
    """Eliminate polls for signals that may be delivered later.

    These are polls in loops where Ctrl-C may as well be delivered later: the handlers there let it through, and what they do is done in the end in any case.
    """
    return _unpoll(function, [block for block in polling(function) if _lets_through(block)])


poll_delay = Pass(_poll_delay)


def _lets_through(block: Block) -> bool:
    """Is a KeyboardInterrupt from the poll at the end of block always raised again in the end, whatever its handlers do?"""
    assert isinstance(block.terminator, Invoke)
    todo = [block.terminator.error]
    seen: set[Block] = set()
    interrupts: set[Operand] = {CAUGHT}
    while todo:
        edge = todo.pop()
        interrupts.update(param for param, arg in zip(edge.block.params, edge.args, strict=True) if arg in interrupts)
        if edge.block is block:
            return False  # the interrupt is handled, and the loop continues
        if edge.block in seen:
            continue
        seen.add(edge.block)
        for op in edge.block.ops:
            if is_one_of(op.callee, TRACES_EXCEPTION) and op.args[0] in interrupts:
                interrupts.add(op)
        match edge.block.terminator:
            case Return():
                return False
            case Branch(Op(callee=operations.exception_matches, args=(error, Const(value=classes)))) as branch if error in interrupts:
                matches = operations.exception_matches(KeyboardInterrupt(), classes)
                todo += ([branch.true] if matches or _are_narrower(classes) else []) + ([] if matches else [branch.false])
            case end:
                todo += edges(end)
    return True


def _are_narrower(classes: object) -> bool:
    """Is one of the classes that a handler catches derived from KeyboardInterrupt? The program's own signal handler may raise that."""
    return any(isinstance(cls, type) and issubclass(cls, KeyboardInterrupt) for cls in (classes if isinstance(classes, tuple) else (classes,)))
