"""Branches: follow known conditions, branch on unknown ones, and narrow the tested values on each side."""

import operator
from typing import Any, Final

from hovis.engine.environment.folded_branches import Folded, begins
from hovis.engine.machine import unwinding
from hovis.engine.machine.machine import Machine
from hovis.engine.state.frames_and_heap import STOP, State, substitute
from hovis.engine.state.specialization_tables import Joined, Restart
from hovis.engine.state.values import TEST, WEAK, Dyn, Known, Labels, Ref, V, labels_of
from hovis.ir.model import Block, Branch, Edge, Location, Op
from hovis.ir.operations import END, UNBOUND
from hovis.lattice import ANY, Const, Type, Union, contains
from hovis.lattice import Any as AnyType
from hovis.lattice.constants import PLAIN
from hovis.lattice.inspection import is_a

_SINGLETONS = (None, True, False, Ellipsis, NotImplemented, END, UNBOUND)


def identical(m: Machine, a: V, b: V) -> Known | None:
    """Return the result of ``a is b``, or None if it is unknown."""
    a, b = m.resolve(a), m.resolve(b)
    if not m.tables.tuples_seen and (isinstance(a, Dyn) or isinstance(b, Dyn)) and _may_be_copies(m, a, b):
        m.tables.tuples_seen = True
        raise Restart("tuples")
    if isinstance(a, Ref) and isinstance(b, Ref):
        if a.aid == b.aid:
            return Known(True, labels_of(a, b))
        one, other = m.state.heap[a.aid], m.state.heap[b.aid]
        if one.kind == other.kind == "method":
            return None
        if one.cls is other.cls is tuple and not m.tables.tuples_seen:
            m.tables.tuples_seen = True
            raise Restart("tuples")
        return Known(False, labels_of(a, b)) if one.node is None or other.node is None else None
    if isinstance(a, Known) and isinstance(b, Known):
        same = a.value is b.value
        if not same and type(a.value) is type(b.value) and type(a.value) in (int, float, str, bytes, tuple, complex, frozenset) and a.value == b.value:
            return None
        labels = labels_of(a, b)
        if not same and any(x.value is END or x.value is UNBOUND for x in (a, b)):
            # a join records whether a value may be one of these (maybe_end, maybe_unbound), so the difference need not stay known
            return Known(False)
        if labels:
            m.mark(labels, TEST)
        return Known(same, labels)
    if isinstance(a, Ref) or isinstance(b, Ref):
        ref, other_value = (a, b) if isinstance(a, Ref) else (b, a)
        assert isinstance(ref, Ref)
        obj = m.state.heap[ref.aid]
        if obj.node is None or (isinstance(other_value, Known) and not _could_be(Type(obj.cls), other_value.value)):
            # nothing outside can be a virtual object
            return Known(False, labels_of(ref))
        return None
    return _by_type(a, b)


def _may_be_copies(m: Machine, a: V, b: V) -> bool:
    """Is one value a tuple, and may the other be one? Then they may be copies of one tuple, made at a control-flow merge (see join_states)."""
    kinds = [m.type_of(value) for value in (a, b)]
    told = [Type(tuple) in (kind.members if isinstance(kind, Union) else (kind,)) for kind in kinds]
    return any(told) and all(one or isinstance(kind, AnyType) for one, kind in zip(told, kinds, strict=True))


def _by_type(a: V, b: V) -> Known | None:
    if isinstance(a, Dyn) and isinstance(b, Dyn):
        return None
    dyn, known = (a, b) if isinstance(a, Dyn) else (b, a)
    if not isinstance(dyn, Dyn) or not isinstance(known, Known):
        return None
    value = known.value
    if (value is END and not dyn.maybe_end) or (value is UNBOUND and not dyn.maybe_unbound):
        return Known(False)
    declines = value is NotImplemented and isinstance(dyn.value, Op) and dyn.value.callee in _ANSWERED
    if declines or not _could_be(dyn.type, value) or (is_a(value, type) and _of_another_class(dyn.value, value)):
        return Known(False)
    if isinstance(dyn.type, Type) and dyn.type.cls is type(None) and value is None:
        return Known(True)
    return None


#: Operators that never return NotImplemented: if both operands decline, they raise, or fall back on identity.
_ANSWERED: Final = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.lt, operator.le, operator.gt, operator.ge,
     operator.eq, operator.ne)
)  # fmt: skip


def _of_another_class(asked: Any, cls: type) -> bool:
    """Is asked ``type(x)`` of an x that is certainly no direct instance of cls?"""
    if not isinstance(asked, Op) or asked.callee is not type or len(asked.args) != 1:
        return False
    kind = getattr(asked.args[0], "type", ANY)
    members = kind.members if isinstance(kind, Union) else (kind,)
    return all(isinstance(t, Type) and t.cls is not cls for t in members)


def _could_be(kind: Any, value: object) -> bool:
    """May a value of this type be the object value?"""
    return contains(kind, value)


def decide(m: Machine, value: V, jump_if: bool, target: int) -> int | None:
    """Branch on an exact bool: jump to target if it is jump_if."""
    frame = m.frame
    if isinstance(value, Known):
        if value.labels:
            m.mark(value.labels, WEAK)
        jumps = value.value is jump_if
        _record_folded(m, target if not jumps else frame.pc + 1, value.labels)
        return target if jumps else None
    assert isinstance(value, Dyn), value
    merges, head = m.tables.merge.setdefault(frame.ctx, set()), frame.code.head_tests.get(frame.pc)
    if head is not None and head not in merges:  # a loop should have one test, at its header, and no copy of it before the loop
        merges.add(head)
        raise Joined([entry for entry in m.went_past.pop((frame.ctx, head), ()) if entry is not m.entry])
    if value.lost:
        m.mark(value.lost, TEST if _chooses(value.value) else WEAK)
    next_pc = frame.pc + 1
    m.meet(len(m.state.frames) - 1, next_pc, target)
    merges.add(next_pc)
    merges.add(target)
    location, at = m.location(), frame.pc
    true = m.state
    false = true.fork()
    true.frames[-1].pc = target if jump_if else next_pc
    false.frames[-1].pc = next_pc if jump_if else target
    narrow(true, value.value, True)
    narrow(false, value.value, False)
    if m.assumptions is not None and true.world < 2:
        told = m.assumptions.decides(value, frame.code, true.frames[-1].pc, false.frames[-1].pc)
        if told is not None:
            m.assume_unreached(false if told else true)
    return _branch(m, value, true, false, location, at)


def _branch(m: Machine, cond: Dyn, true: State, false: State, location: Location | None, at: int | None = None) -> int:
    """Branch on an unknown condition at location, by the instruction ``at``: both sides are followed, the true one first.

    But if one of them is a detour to the other, the direct one is followed first: then it is known which values the rest of the
    program uses when the detour arrives there with other values.
    """
    block = m.block
    yes, no = Edge(block), Edge(block)
    block.terminator = Branch(cond.value, yes, no, location)
    ways = [(no, false), (yes, true)]
    if _is_detour(true, false):
        ways.reverse()
    for edge, state in ways:
        _go_on(m, edge, state, at)
    return STOP


def _is_detour(way: State, direct: State) -> bool:
    """Does ``way`` lead, forward and without a loop, to the point where ``direct`` already is?"""
    frame, other = way.frames[-1], direct.frames[-1]
    code, pc, at = frame.code, frame.pc, other.pc
    if frame.ctx != other.ctx or pc >= at or code.meet(pc, at) != at:
        return False
    return not any(pc <= head < at for head in code.loop_heads)


def split(m: Machine, cond: Dyn, false: State) -> None:
    """Branch on an unknown condition within an instruction: the chain continues where cond is true; the state false is followed later."""
    yes, no = Edge(Block()), Edge(m.block)
    m.block.terminator = Branch(cond.value, yes, no, m.location())
    m.block = yes.block
    (ctx, at), frame = m.here(), false.frames[-1]
    _go_on(m, no, false, at if frame.ctx == ctx else None)


def _go_on(m: Machine, edge: Edge, state: State, at: int | None) -> None:
    """Lead an edge of a branch to where state is, polling for signals if it jumps back there from the instruction ``at``."""
    if at is not None and state.frames[-1].pc < at and unwinding.polls(m, state, at):
        edge.block = Block()
        m.leave(unwinding.poll(m, edge.block, state, at), state)
    else:
        m.edge(edge, state)


def header(m: Machine) -> bool:
    """Make this instruction a merge point. False: the chain came from elsewhere, or has made a real object here, and ends here."""
    ctx, pc = m.here()
    m.tables.merge.setdefault(ctx, set()).add(pc)
    if m.entry.site == m.state.site() and m.steps == 1 and not (m.block.ops and _has_materialized(m)):
        return True
    m.leave(m.block, m.state)
    return False


def _has_materialized(m: Machine) -> bool:
    """Has the chain made a virtual object of its entry's state real? (It may also have tested a class, which the entry would not know again.)"""
    return any(obj.node is None and aid in m.state.heap and m.state.heap[aid].node is not None for aid, obj in m.entry.state.heap.items())


def _record_folded(m: Machine, other: int, labels: Labels) -> None:
    """Record that the branch at hand was decided by known values, and does not lead to other."""
    frame = m.frame
    if frame.code.filename.startswith(m.package):
        return
    told: tuple[Any, ...] = ()
    if m.environment.recent:
        first = begins(frame.code, frame.pc)
        told = tuple(key for key, stood in m.environment.recent if any(ctx == frame.ctx and first <= pc <= frame.pc for ctx, pc in stood))
    m.entry.folded[frame.ctx, frame.pc, other] = Folded(frame.code, frame.pc, other, labels, told)


def _chooses(cond: Any) -> bool:
    """Is cond a test for equality, identity or membership, which selects a case, and not an ordering comparison, which counts?"""
    while isinstance(cond, Op) and cond.callee is operator.not_:
        cond = cond.args[0]
    return isinstance(cond, Op) and cond.callee in (operator.eq, operator.ne, operator.contains, operator.is_, operator.is_not)


def narrow(state: State, cond: Any, truth: bool) -> None:
    """Narrow the values that the condition tested, given its truth, everywhere in state."""
    if isinstance(cond, Op):
        rule = _NARROWING.get(cond.callee) if not isinstance(cond.callee, Op) else None
        if rule is not None:
            rule(state, cond, truth)
    if not isinstance(cond, Const):
        substitute(state, cond, Known(truth))


def _not(state: State, cond: Op, truth: bool) -> None:
    narrow(state, cond.args[0], not truth)


def _is(state: State, cond: Op, truth: bool) -> None:
    a, b = cond.args
    if isinstance(b, Const) and any(b.value is s for s in _SINGLETONS) and not isinstance(a, Const):
        if truth:
            substitute(state, a, Known(b.value))
        elif b.value is END:
            _retype(state, a, without(getattr(a, "type", ANY), Type(type(END))), always=True)
        else:
            _remove(state, a, Type(type(b.value)) if b.value is None or b.value is UNBOUND else None)
    elif truth and isinstance(b, Const) and is_a(b.value, type) and isinstance(a, Op) and a.callee is type:
        _retype(state, a.args[0], Type(b.value))


def _is_not(state: State, cond: Op, truth: bool) -> None:
    _is(state, cond, not truth)


def _remove(state: State, value: Any, kind: Any) -> None:
    """Remove kind from the union type of value, which is known not to be of it; None: do nothing."""
    if kind is None:
        return
    held = getattr(value, "type", None)
    _retype(state, value, without(held, kind))


def without(held: Any, kind: Any) -> Any:
    """Return a Union without one of its members, and any other type unchanged."""
    if isinstance(held, Union) and kind in held.members:
        rest = held.members - {kind}
        return next(iter(rest)) if len(rest) == 1 else Union(rest)
    return held


def _retype(state: State, value: Any, kind: Any, always: bool = False) -> None:
    if isinstance(value, Const):
        return
    held = getattr(value, "type", None)
    if held == kind and not always:
        return
    substitute(state, value, Dyn(value, kind))


def _isinstance(state: State, cond: Op, truth: bool) -> None:
    value, classes = cond.args
    held = getattr(value, "type", None)
    if not isinstance(held, Union) or not isinstance(classes, Const):
        return
    fits = {t for t in held.members if isinstance(t, Type) and _instance_of(t.cls, classes.value)}
    rest = fits if truth else held.members - fits
    if rest and len(rest) < len(held.members):
        _retype(state, value, next(iter(rest)) if len(rest) == 1 else Union(frozenset(rest)))


def _instance_of(cls: type, classes: Any) -> bool:
    try:
        return issubclass(cls, classes)
    except TypeError:
        return False


def _equal(state: State, cond: Op, truth: bool) -> None:
    a, b = cond.args
    if not truth or isinstance(a, Const):
        a, b = b, a
    if not truth or not isinstance(b, Const) or isinstance(a, Const) or isinstance(getattr(a, "type", None), AnyType):
        return
    kind = type(b.value)
    exact = getattr(a, "type", None) == Type(kind)
    if exact and (kind in PLAIN or (kind is float and b.value != 0)):
        substitute(state, a, Known(b.value))


def _not_equal(state: State, cond: Op, truth: bool) -> None:
    _equal(state, cond, not truth)


_NARROWING: dict[Any, Any] = {
    operator.not_: _not,
    operator.is_: _is,
    operator.is_not: _is_not,
    operator.eq: _equal,
    operator.ne: _not_equal,
    isinstance: _isinstance,
}
