"""Guest programs of some size: the interpretation is gone, and what is left grows as they do.  Counted in ops and blocks."""
import copy
import operator
import sys
from pathlib import Path

import pytest

import hovis
from hovis import Int, const
from hovis.engine.trace import Fixed
from hovis.lattice import Const

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

import guests  # noqa: E402

#: What only the interpretation does: containers of the interpreter's own, and looking at the guest program.
MACHINERY = {list.append, list.pop, operator.getitem, operator.setitem, getattr, isinstance}


def specialized(maker, n):
    fn, specs, values = maker(n)
    residual = hovis.specialize(fn, *specs)
    assert not residual.trace.fallback, residual.trace.reasons
    given = iter(copy.deepcopy(values))
    whole = [part.value if isinstance(part, Fixed) else next(given) for part in residual.trace.signature.parts]
    assert residual(*copy.deepcopy(values)) == fn(*whole)
    return residual.trace


@pytest.mark.parametrize("maker", [guests.stack, guests.registers, guests.enums, guests.brainfuck, guests.visitor, guests.threaded, guests.frames, guests.forest])
def test_what_is_left_grows_as_the_guest_program(maker):
    small, large = specialized(maker, 120), specialized(maker, 360)
    assert len(large.ops) <= 4 * len(small.ops) + 40
    assert large.stats["instructions"] <= 5 * small.stats["instructions"] + 40_000
    kept = {op.callee for op in large.ops if not isinstance(op.callee, hovis.ir.Op)}
    assert not kept & (MACHINERY - ({operator.getitem} if maker is guests.forest else set()))


@pytest.mark.parametrize("maker", [guests.stack, guests.registers, guests.enums, guests.brainfuck, guests.closures, guests.frames])
def test_a_program_of_a_thousand_operations_is_not_left(maker):
    assert len(specialized(maker, 1000).ops) < 2000


def test_a_schema_of_a_hundred_properties():
    trace = specialized(guests.schema, 100)
    # each property is asked for by its name
    asked = {op.args[1].value for op in trace.ops if op.callee is operator.contains and isinstance(op.args[1], Const)}
    assert len({name for name in asked if str(name).startswith("p")}) == 100


def counter_machine(program, x):
    """Registers in a list, tests for zero."""
    regs, pc = [x, 0, 0, 0], 0
    while pc < len(program):
        op, r, to = program[pc]
        pc += 1
        if op == "inc":
            regs[r] += 1
        elif op == "dec":
            regs[r] -= 1
        elif op == "jz" and regs[r] == 0:
            pc = to
        elif op == "jmp":
            pc = to
    return regs


def test_a_number_that_is_counted_and_tested_leaves_the_keys_of_all_places():
    move = [("jz", 0, 5), ("dec", 0, 0), ("inc", 1, 0), ("inc", 2, 0), ("jmp", 0, 0)]
    program = [(op, r, to + 5 * k) for k in range(4) for op, r, to in move]
    program += [("jz", 1, 24), ("dec", 1, 0), ("inc", 3, 0), ("jmp", 0, 20)]
    residual = hovis.specialize(counter_machine, const(program), Int)
    assert len(residual.trace.blocks) < 40
    for x in (0, 1, 40):
        assert residual(x) == counter_machine(program, x)


def deep_machine(program, x):
    stack = []
    for op, arg in program:
        if op == "push":
            stack.append(arg)
        elif op == "x":
            stack.append(x)
        elif op == "pick":
            stack.append(arg if stack.pop() > 0 else -arg)
        else:
            stack.append(stack.pop() + stack.pop())
    return stack.pop()


def test_a_guest_stack_is_as_deep_as_its_deepest_expression():
    program = [("x", None), ("pick", 1)] * 20 + [("add", None)] * 19
    program = [(op, k) for k, (op, _) in enumerate(program)]
    residual = hovis.specialize(deep_machine, const(program), Int)
    kept = {op.callee for op in residual.trace.ops}
    assert not kept & MACHINERY
    assert [residual(x) for x in (0, 1)] == [deep_machine(program, x) for x in (0, 1)]


def hopeless(table, x):
    """The key has another value in each round, and is looked for in known data."""
    n = total = 0
    while total < x:
        n += 1
        total += table.get(n * n % 1009, 1) + n
    return total


def test_what_never_comes_to_new_places_is_given_up_soon():
    table = {k * k % 1009: "unlike" if k < 2 else k for k in range(3, 40)}
    trace = hovis.trace(hopeless, const(table), Int)
    assert trace.stats.get("instructions", 0) < 600_000
    residual = hovis.specialize(hopeless, const(table), Int)
    assert [residual(x) for x in (0, 5, 500)] == [hopeless(table, x) for x in (0, 5, 500)]
