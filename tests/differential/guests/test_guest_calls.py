"""Guest functions: return addresses on a guest's stack, where what is popped is one of a few constants ("The Trick")."""
import operator
import random

import pytest

import hovis
from hovis import Int, const


def tuples(code, x, y):
    """Call frames as tuples in a list of their own."""
    frames, stack, pc, local = [], [x, y], 0, [0, 0]
    while True:
        op, arg = code[pc]
        pc += 1
        if op == "const":
            stack.append(arg)
        elif op == "get":
            stack.append(local[arg])
        elif op == "set":
            local[arg] = stack.pop()
        elif op == "add":
            stack.append(stack.pop() + stack.pop())
        elif op == "mul":
            stack.append(stack.pop() * stack.pop() % 9973)
        elif op == "less":
            b, a = stack.pop(), stack.pop()
            stack.append(a < b)
        elif op == "branch":
            if not stack.pop():
                pc = arg
        elif op == "call":
            frames.append((pc, local))
            pc, local = arg, [0, 0]
        elif op == "return":
            if not frames:
                return stack.pop()
            pc, local = frames.pop()


def apart(code, x, y):
    """Return addresses apart from locals, and a pc that moves on after the instruction."""
    rets, held, stack, pc, local = [], [], [x, y], 0, [0, 0]
    while True:
        op, arg = code[pc]
        if op == "const":
            stack.append(arg)
        elif op == "get":
            stack.append(local[arg])
        elif op == "set":
            local[arg] = stack.pop()
        elif op == "add":
            stack.append(stack.pop() + stack.pop())
        elif op == "mul":
            stack.append(stack.pop() * stack.pop() % 9973)
        elif op == "less":
            b, a = stack.pop(), stack.pop()
            stack.append(a < b)
        elif op == "branch":
            if not stack.pop():
                pc = arg
                continue
        elif op == "call":
            rets.append(pc)
            held.append(local)
            pc, local = arg, [0, 0]
            continue
        elif op == "return":
            if not rets:
                return stack.pop()
            pc, local = rets.pop(), held.pop()
        pc += 1


def mixed(code, x, y):
    """Return addresses and locals on the stack of values."""
    stack, pc, local = [x, y], 0, [0, 0]
    while True:
        op, arg = code[pc]
        pc += 1
        if op == "const":
            stack.append(arg)
        elif op == "get":
            stack.append(local[arg])
        elif op == "set":
            local[arg] = stack.pop()
        elif op == "add":
            stack.append(stack.pop() + stack.pop())
        elif op == "mul":
            stack.append(stack.pop() * stack.pop() % 9973)
        elif op == "less":
            b, a = stack.pop(), stack.pop()
            stack.append(a < b)
        elif op == "branch":
            if not stack.pop():
                pc = arg
        elif op == "call":
            passed = stack.pop()
            stack += [local, pc, passed]
            pc, local = arg, [0, 0]
        elif op == "return":
            result = stack.pop()
            if not stack:
                return result
            pc, local = stack.pop(), stack.pop()
            stack.append(result)


class Frame:
    def __init__(self, back_to, local):
        self.back_to, self.local = back_to, local


class Machine:
    """Frames as objects, an instruction a method."""

    def __init__(self, code, *stack):
        self.code, self.pc, self.frames, self.stack, self.local = code, 0, [], list(stack), [0, 0]

    def do_const(self, arg):
        self.stack.append(arg)

    def do_get(self, arg):
        self.stack.append(self.local[arg])

    def do_set(self, arg):
        self.local[arg] = self.stack.pop()

    def do_add(self, arg):
        self.stack.append(self.stack.pop() + self.stack.pop())

    def do_mul(self, arg):
        self.stack.append(self.stack.pop() * self.stack.pop() % 9973)

    def do_less(self, arg):
        b, a = self.stack.pop(), self.stack.pop()
        self.stack.append(a < b)

    def do_branch(self, arg):
        if not self.stack.pop():
            self.pc = arg

    def do_call(self, arg):
        self.frames.append(Frame(self.pc, self.local))
        self.pc, self.local = arg, [0, 0]

    def do_return(self, arg):
        if not self.frames:
            self.pc = None
            return
        frame = self.frames.pop()
        self.pc, self.local = frame.back_to, frame.local

    def run(self):
        while self.pc is not None:
            op, arg = self.code[self.pc]
            self.pc += 1
            getattr(self, "do_" + op)(arg)
        return self.stack.pop()


def objects(code, x, y):
    return Machine(code, x, y).run()


def assembled(main, *functions):
    """Code with the places of the functions put in; ``("branch", n)`` goes n instructions on."""
    places, code = [], [*main]
    for function in functions:
        places.append(len(code))
        code += function
    return [(op, places[arg] if op == "call" else k + arg if op == "branch" else arg) for k, (op, arg) in enumerate(code)]


HEAD = [("set", 1), ("set", 0)]
LEAF = [("set", 0), ("get", 0), ("const", 50), ("less", None), ("branch", 5), ("get", 0), ("const", 7), ("add", None), ("return", None),
        ("get", 0), ("const", 3), ("mul", None), ("return", None)]  # fmt: skip


def nested(levels, calls):
    """A function in each level calls that in the next one so many times."""
    main = [*HEAD, ("get", 0), ("call", 0), ("get", 1), ("add", None), ("call", 0), ("return", None)]
    middle = [[("set", 0), ("get", 0), *[("call", k + 1), ("const", k + 1), ("add", None)] * calls, ("return", None)] for k in range(levels - 1)]
    return assembled(main, *middle, LEAF)


def under_conditions():
    """One function, called on three ways of which the arguments choose one, then on all."""
    main = [*HEAD, ("get", 0), ("const", 9), ("less", None), ("branch", 6), ("get", 1), ("call", 0), ("set", 1), ("const", 0), ("branch", 5),
            ("get", 0), ("call", 0), ("call", 0), ("set", 1), ("get", 0), ("get", 1), ("call", 0), ("add", None), ("return", None)]  # fmt: skip
    return assembled(main, LEAF)


FACTORIAL = assembled(
    [*HEAD, ("get", 0), ("call", 0), ("return", None)],
    [("set", 0), ("get", 0), ("const", 1), ("less", None), ("branch", 3), ("const", 1), ("return", None),
     ("get", 0), ("const", -1), ("add", None), ("call", 0), ("get", 0), ("mul", None), ("return", None)],
)  # fmt: skip
FIBONACCI = assembled(
    [*HEAD, ("get", 0), ("call", 0), ("return", None)],
    [("set", 0), ("get", 0), ("const", 2), ("less", None), ("branch", 3), ("get", 0), ("return", None),
     ("get", 0), ("const", -1), ("add", None), ("call", 0), ("get", 0), ("const", -2), ("add", None), ("call", 0), ("add", None), ("return", None)],
)  # fmt: skip

MACHINES = [tuples, apart, mixed, objects]
CALLS = [(x, y) for x in (-3, 5, 9, 49, 50) for y in (0, 3, 51)]


def same(machine, code, calls):
    residual = hovis.specialize(machine, const(code), Int, Int)
    assert not residual.trace.fallback, residual.trace.reasons
    for args in calls:
        assert residual(*args) == machine(code, *args)
    return residual.trace


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("levels", [4, 5, 7])
def test_functions_that_are_called_from_many_places_are_there_once(machine, levels):
    trace = same(machine, nested(levels, 3), CALLS)
    # 3 ** levels ways lead to the last function
    assert len(trace.ops) < 12 * levels and len(trace.blocks) < 10 * levels
    assert not {op.callee for op in trace.ops} & {list.append, list.pop, getattr}
    assert sum(op.callee is operator.mul for op in trace.ops) == 1


@pytest.mark.parametrize("machine", MACHINES)
def test_a_few_calls_are_followed_each_on_its_own(machine):
    trace = same(machine, nested(2, 2), CALLS)
    # what is popped is known on each way: nothing is compared
    assert not {op.callee for op in trace.ops} & {list.append, list.pop, operator.eq}
    trace = same(machine, under_conditions(), CALLS)
    assert not {op.callee for op in trace.ops} & {list.append, list.pop, operator.eq}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("code", [FACTORIAL, FIBONACCI])
def test_recursion_of_a_guest(machine, code):
    trace = same(machine, code, [(n, 1) for n in range(9)])
    assert len(trace.ops) < 400


def drawn(rng):
    """Functions that call later ones, some under a condition, from any depth."""
    count = rng.randrange(3, 6)

    def body(k, length):
        code = [*HEAD, ("get", 0)] if k < 0 else [("set", 0), ("get", 0)]
        for _ in range(length):
            code += rng.choice([
                [("const", rng.randrange(5)), (rng.choice(("add", "mul")), None)],
                [("set", 1), ("get", 1), ("get", 1), ("const", rng.randrange(60)), ("less", None), ("branch", 3), ("const", 7), ("add", None)],
                [("get", rng.randrange(2)), ("add", None)],
            ])  # fmt: skip
            if k + 1 < count:
                call = "call", rng.randrange(k + 1, count)
                asked = [("set", 1), ("get", 1), ("get", 1), ("const", rng.randrange(40)), ("less", None), ("branch", 2), call]
                code += rng.choice([asked, [call], [call]])
        return [*code, ("return", None)]

    return assembled(body(-1, 3), *[body(k, rng.randrange(2, 4)) for k in range(count)])


@pytest.mark.parametrize("seed", range(4))
def test_drawn_call_graphs(seed):
    code = drawn(random.Random(seed))
    for machine in MACHINES:
        residual = hovis.specialize(machine, const(code), Int, Int)
        for args in CALLS:
            assert residual(*args) == machine(code, *args)
            assert hovis.evaluate(residual.trace, *args) == machine(code, *args)


def renamed(code, x):
    """Names as return addresses."""
    at, back, total = "main", [], 0
    while at != "end":
        step, work, to = code[at]
        total = total * 2 + work if x > total else total - work
        if step == "call":
            back.append(to[1])
            at = to[0]
        elif step == "back":
            at = back.pop()
        else:
            at = to
    return total


def test_names_as_return_addresses():
    code = {"main": ("go", 1, "c0"), "leaf": ("back", 3, None)}
    for k in range(60):
        code[f"c{k}"] = "call", k, (f"f{k % 4}", f"c{k + 1}")
    code["c60"] = "go", 2, "end"
    for k in range(4):
        code[f"f{k}"] = "call", k, ("leaf", f"g{k}")
        code[f"g{k}"] = "back", 5, None
    residual = hovis.specialize(renamed, const(code), Int)
    for x in (-5, 0, 10, 10**6, 10**30):
        assert residual(x) == renamed(code, x)


def wandering(table, n):
    """What is looked up is another number in each round, none of a few."""
    total, at = 0, 0
    for _ in range(n):
        total += len(table.get(at, ()))
        at = at + 7 if total % 2 else at + 1
    return total


def test_a_key_that_is_never_the_same():
    table = {k: "x" * (k % 5) for k in range(0, 50, 3)}
    residual = hovis.specialize(wandering, const(table), Int)
    for n in (0, 1, 40):
        assert residual(n) == wandering(table, n)
