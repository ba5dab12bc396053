"""The Trick: a value that is one of a few constants, and chooses, is compared with each of them, and is known on each branch.

An interpreter's guest program that calls and returns keeps return addresses on a stack.  If these had to be dropped from the keys,
because a guest function is called from many places, the address that is popped is one of those that were joined.  In the same
way, the next state of an automaton is one of those that its table has for the key.
"""

import operator
from typing import TYPE_CHECKING, Any

from hovis.engine.entries.keys import Keys
from hovis.engine.state.frames_and_heap import State, substitute
from hovis.engine.state.values import STRONG, Dyn, Known
from hovis.ir.model import Block, Branch, Edge, Effect, Jump, Op
from hovis.lattice import Const, Type
from hovis.lattice.constants import PLAIN, same_constant

if TYPE_CHECKING:
    from hovis.engine.machine.machine import Machine
    from hovis.engine.merge.merging import Merger


def choosing(keys: Keys, site: Any, state: State) -> Dyn | None:
    """Return a value of state that is one of a few constants, in a slot that belongs into the keys of site and is not joined anywhere; else
    None.
    """
    if keys.final is None:
        keys.final = {path for forced in keys.tables.forced.values() for path, strength in forced.items() if strength == STRONG}
    if keys.final or keys.tables.looked_up:
        for path in keys.wanted_at(site):
            if path not in keys.final:
                value = keys.value_at(state, path)
                if type(value) is Dyn and value.among:
                    return value
    return None


def dispatch(merger: "Merger", edge: Edge, state: State, value: Dyn) -> None:
    """Compare value with each of the constants that it may be, and arrive once for each."""
    choices = value.among
    assert choices is not None
    machine = merger.machine
    here, machine.state = machine.state, state
    location = machine.location()
    machine.state = here
    for choice in choices[:-1]:
        exact = type(choice) in PLAIN and value.type == Type(type(choice))
        test = Op(operator.eq if exact else same_constant, (value.value, Const(choice)), (), Type(bool), None, Effect.PURE, location)
        block, rest = Block((), [test]), Block()
        edge.block, edge.args = block, ()
        equal, other = Edge(block), Edge(rest)
        block.terminator = Branch(test, equal, other, location)
        edge = Edge(rest)
        rest.terminator = Jump(edge, location)
        known = state.fork()
        substitute(known, value.value, Known(choice))
        merger.edge(equal, known)
    substitute(state, value.value, Known(choices[-1]))
    merger.edge(edge, state)


def choose(m: "Machine", at: int = 0) -> None:
    """Compare, at START, each parameter that is one of a few constants with these, and follow each case."""
    if at == len(m.entry.choices):
        m.leave(m.block, m.state)
        return
    slot, choices = m.entry.choices[at]
    unknown = m.state.frames[0].locals[slot]
    assert unknown is not None
    for choice in choices[:-1]:
        equal = m.emit(same_constant, [unknown, Known(choice)], type=Type(bool), effect=Effect.PURE)
        block, state = m.block, m.state
        yes, no = Block(), Block()
        block.terminator = Branch(equal.value, Edge(yes), Edge(no), m.location())
        m.block, m.state = yes, state.fork()
        m.state.frames[0].locals[slot] = Known(choice)
        choose(m, at + 1)
        m.block, m.state = no, state
    m.state.frames[0].locals[slot] = Known(choices[-1])
    choose(m, at + 1)
