"""Looking for signals (``poll``) where it is of no use, or means nothing.

A poll stands for the jump back of a loop: where no way leads back to it there is none, and one in each round is enough.  CPython looks for
signals as a call ends, too: where that is the only way for it to raise, it is ``INTERRUPTED``.  What is compiled, differentiated or batched
looks for signals nowhere.
"""

from hovis.ir import operations
from hovis.ir.analysis.control_flow import successors
from hovis.ir.model import CAUGHT, Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Operand, Return, callees, edges
from hovis.ir.operations import poll
from hovis.lattice import Const
from hovis.passes.rewriting import TRACES_EXCEPTION, Pass, drop_error_edge, drop_unreached, is_one_of


def is_poll(block: Block) -> bool:
    """Does a block end with a look for signals?"""
    return isinstance(block.terminator, Invoke) and block.terminator.op.callee is poll


def is_interrupted(block: Block) -> bool:
    """Does a block end with a call out of which nothing but a handler of signals raises?"""
    return isinstance(block.terminator, Invoke) and bool(block.terminator.op.effect & Effect.INTERRUPTED)


def polling(function: Function) -> list[Block]:
    """The blocks that end with a look for signals."""
    return [block for block in function.blocks if is_poll(block)]


def _poll_elimination(function: Function) -> bool:
    """Eliminate redundant polls for signals.

    Looks for signals that happen once, or in a round in which there is another.
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
    """Does a way lead from one block to another that goes through none of the others?"""
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
    """Where a block goes on that ends with a look for signals."""
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
    """Take all looks for signals out of function, and of what it calls, in place; were there any?"""
    found = [_unpoll(one, polling(one)) | _call_completion(one) for one in callees(function)]
    return any(found)


def _call_completion(function: Function) -> bool:
    """Let calls that cannot raise themselves complete without a look for signals.

    A handler of signals that raises as they end is heard of later: what is compiled is not interrupted.
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

    Looks for signals at whose loops Ctrl-C may as well be heard of later: handlers let it through, and what they do is done in the end, too.
    """
    return _unpoll(function, [block for block in polling(function) if _lets_through(block)])


poll_delay = Pass(_poll_delay)


def _lets_through(block: Block) -> bool:
    """Is a KeyboardInterrupt that comes out of the poll at the end of block raised again in the end, whatever its handlers do?"""
    assert isinstance(block.terminator, Invoke)
    todo = [block.terminator.error]
    seen: set[Block] = set()
    interrupts: set[Operand] = {CAUGHT}
    while todo:
        edge = todo.pop()
        interrupts.update(param for param, arg in zip(edge.block.params, edge.args, strict=True) if arg in interrupts)
        if edge.block is block:
            return False  # it is handled, and the loop goes on
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
    """Is one of the classes that a handler asks for derived from KeyboardInterrupt?  The program's own handler of signals may raise that."""
    return any(isinstance(cls, type) and issubclass(cls, KeyboardInterrupt) for cls in (classes if isinstance(classes, tuple) else (classes,)))
