"""Loops whose exit depends on the environment: another thread, or a signal handler, is expected to end them.

    while not STOP:
        k += 1

A read of the environment is folded and relied upon (see ``guards``), so no iteration of a loop in the residual would repeat it.  If the
read decides whether such a loop ends, it is made volatile: it is repeated in each iteration.  Loops that are known to end, and those that
are unrolled completely, are left as they are.
"""

from collections import Counter
from collections.abc import Iterator
from types import BuiltinFunctionType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any, Final

from hovis.engine.entries.entry import Entry
from hovis.engine.entries.keys import PATHS, SHIFT
from hovis.engine.environment.folded_branches import Folded
from hovis.engine.state.values import Known, each
from hovis.ir.analysis.strongly_connected import components
from hovis.ir.model import Block, Edge, Effect, Invoke, Jump, Op, Return, Terminator, edges
from hovis.ir.operations import enter_handler, leave_handler, poll, raise_now
from hovis.lattice.constants import PLAIN

#: Effects that a loop which only waits does not have.
_DOING: Final = Effect.OPAQUE | Effect.IO | Effect.WRITES | Effect.RAISES
#: Operations that begin and end handlers, and the poll for signals: a loop that only waits may contain them (it may wait for a signal).
_HANDLING: Final = (enter_handler, leave_handler, poll)

if TYPE_CHECKING:
    from hovis.engine.worklist import Engine


def learn(engine: "Engine") -> bool:
    """Find the reads of the environment that have to be volatile and the loop headers that have to poll, in the loops of a trace. Return whether
    any were not known before.
    """
    entries = engine.keys.all()
    if not any(entry.all_reads or entry.passed for entry in entries):
        return False
    loops = _loops(entries)
    volatile = {key for loop in loops for key in _deciding(engine, loop)} - engine.environment.volatile
    polled = {head for loop in loops for entry in loop for head in entry.passed} - engine.tables.polled
    engine.environment.volatile |= volatile
    engine.environment.timely |= volatile
    engine.tables.polled |= polled
    return bool(volatile or polled)


def _deciding(engine: "Engine", loop: set[Entry]) -> set[Any]:
    """Find the reads of the environment, by the keys of guards, that decide whether a loop ends which may be endless."""
    if not any(entry.all_reads for entry in loop):
        return set()
    told = {key for entry in loop for key in entry.told}
    endless = not any(_leaves(entry, loop) for entry in loop)
    if endless and _spins(loop):
        return {key for entry in loop for key in entry.all_reads}
    if engine.environment.frozen and not (endless and told):
        return set()
    leaving = [branch for entry in loop for branch in entry.folded.values() if branch.leaves(endless) or (branch.told and branch.assigns())]
    constants = {branch: _constants(engine, branch) for branch in leaving}
    keys = {key for branch in leaving if not constants[branch] for key in branch.told}
    renewed = any(_is_renewed(engine, owner, path, loop) for found in constants.values() for owner, path in found)
    if not renewed and all(constants.values()):
        return set()  # no branch leaves the loop, or all are decided by constants that are the same in each iteration
    return keys if not renewed and (keys or not endless) else told


def _spins(loop: set[Entry]) -> bool:
    """Does a loop without an exit only wait for something?

    A loop that prints, stores or may raise does something: it is meant to run forever, or an exception ends it.  A loop with iterations that
    consist of several iterations of the source loop is the loop of a guest program in an interpreter: it is meant to run forever as well.
    """
    done = (op for entry in loop for block in _blocks(entry) for op in block.all_ops() if not _raises_within(block.terminator, op, loop))
    return _is_one_round(loop) and not any(op.effect & _DOING and op.callee not in _HANDLING for op in done)


def _raises_within(end: Terminator, op: Op, loop: set[Entry]) -> bool:
    """Is op the raising of an exception that the loop itself catches?"""
    if not isinstance(end, Invoke) or op is not end.op:
        return False
    landing = end.error.block.terminator
    ways = [id(end.error), *([id(landing.edge)] if isinstance(landing, Jump) else [])]
    caught = any(id(edge) in ways and to in loop for entry in loop for edge, to, _ in entry.exits)
    return caught and (op.callee is raise_now or _is_exception(op.callee))


def _is_exception(callee: Any) -> bool:
    """Is callee an exception class whose instances are made by C code alone?"""
    makers = (WrapperDescriptorType, BuiltinFunctionType)
    return type(callee) is type and issubclass(callee, BaseException) and all(isinstance(made, makers) for made in (callee.__init__, callee.__new__))


def _is_one_round(loop: set[Entry]) -> bool:
    """Is one iteration of the loop one iteration of the outermost source loop that it comes from?"""
    outer = min((entry.state.frames for entry in loop), key=len)[-1]
    passed: Counter[int] = Counter()
    for entry in loop:
        passed.update({pc: count for (ctx, pc), count in entry.heads.items() if ctx == outer.ctx})
    return bool(passed) and passed[min(passed)] == 1


def _constants(engine: "Engine", branch: Folded) -> list[tuple[Entry, int]]:
    """Find the constants that keep iterations apart and by which branch was decided: pairs of an entry that begins with such a constant, and the
    path of its slot.
    """
    labels = [(engine.keys.label_owner[(label >> SHIFT) - 1], label & PATHS) for label in each(branch.labels)]
    held = [(owner, path, engine.keys.value_at(owner.state, path)) for owner, path in labels]
    return [(owner, path) for owner, path, value in held if isinstance(value, Known) and type(value.value) in PLAIN]


def _is_renewed(engine: "Engine", owner: Entry, path: int, loop: set[Entry]) -> bool:
    """Does the loop assign a constant to the slot path of its entry owner that is not computed from the old one, and may have been read?"""
    for entry in loop:
        for _, to, state in entry.exits:
            value = engine.keys.value_at(state, path) if to is owner else None
            if isinstance(value, Known) and not any(label & PATHS == path for label in each(value.labels)):
                return True
    return False


def _loops(entries: list[Entry]) -> list[set[Entry]]:
    """Find the loops: strongly connected components of entries."""

    def following(entry: Entry) -> list[Entry]:
        return [to for _, to, _ in entry.exits]

    return [set(part) for part in components(entries, following) if len(part) > 1 or part[0] in following(part[0])]


def _blocks(entry: Entry) -> Iterator[Block]:
    """Yield the blocks of an entry, up to where other entries begin. Blocks that only an exception reaches are not included."""
    exits = {id(edge) for edge, _, _ in entry.exits}
    seen: set[Block] = {entry.block}
    todo = [entry.block]
    while todo:
        block = todo.pop()
        yield block
        for edge in _ways(block.terminator):
            if id(edge) not in exits and edge.block not in seen:
                seen.add(edge.block)
                todo.append(edge.block)


def _ways(end: Terminator) -> tuple[Edge, ...]:
    """Return the edges out of a block, other than exception edges."""
    return (end.ok,) if isinstance(end, Invoke) else edges(end)


def _leaves(entry: Entry, loop: set[Entry]) -> bool:
    """Does entry have a way out of the loop, other than by an exception?"""
    targets = {id(edge): to for edge, to, _ in entry.exits}
    for block in _blocks(entry):
        if isinstance(block.terminator, Return):
            return True
        outside = [to for edge in _ways(block.terminator) if (to := targets.get(id(edge), entry)) not in loop]
        if any(_returns(to, loop) for to in outside):
            return True
    return False


def _returns(entry: Entry, loop: set[Entry]) -> bool:
    """Does a path outside of the loop lead from entry to anything but an exception: to a return, or to where paths meet?"""
    seen, todo = {entry}, [entry]
    while todo:
        at = todo.pop()
        if any(isinstance(block.terminator, Return) for block in _blocks(at)):
            return True
        for to in (to for _, to, _ in at.exits if to not in loop):
            if to in seen:
                return True
            seen.add(to)
            todo.append(to)
    return False
