"""What hovis must show: structure that dissolves, decisions that join, interpreters that vanish."""


def pow(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r

#: return_type pow(Float, Int)
#: run (2.0, 3) (2.0, 0) (float("nan"), 2)
# Int | Float

#: trace pow(1, Int)
#: run (5) (0) (-1)

#: passes pow(1, Int)
#: run (5) (0) (-1)
# 1: (%1 :: const(pow), %2 :: const(1), %3 :: Int)
#   return 1

#: trace pow(Int, const(100000))
#: run (1) (-1) (0)


def fact(n):
    if n == 0:
        return 1
    return n * fact(n - 1)

#: trace fact(Int)
#: run (0) (1) (20)

#: return_type fact(Int)
#: run (5)
# Int


def env_loop(n, x):
    env = {"n": n, "r": 1}
    while env["n"] > 0:
        env["n"] -= 1
        env["r"] *= x
    return env["r"]

#: trace env_loop(Int, Int)
#: run (5, 2) (0, 9) (-1, 1)


def lower(env, by):
    env["n"] -= by


def env_helper(n, by):
    env = {"n": n}
    if env["n"] > by:
        lower(env, by)
    if env["n"] < 0:
        env["n"] = 0
    return env["n"]

#: trace env_helper(Int, Int)
#: run (5, 2) (1, 2) (-4, 0) (3, -2)


class Machine:
    __slots__ = ("state", "steps")

    def __init__(self):
        self.state = 0
        self.steps = 0


def slots(flag, x):
    m = Machine()
    if flag:
        m.state = x
    else:
        m.state = -x
    m.steps += 1
    return m.state + m.steps

#: trace slots(Bool, Int)
#: run (True, 3) (False, 3)


def chosen(flag):
    return 1 if flag else 2


def joins(flag):
    return chosen(flag) + 10

#: trace joins(Bool)
#: run (True) (False)


# -------------------------------------------------------------------------------- interpreters


def jumps(program):
    table, stack = {}, []
    for at, c in enumerate(program):
        if c == "[":
            stack.append(at)
        elif c == "]":
            table[at] = stack.pop()
            table[table[at]] = at
    return table


def flat(program, table, tape):
    pc = 0
    at = 0
    while pc < len(program):
        c = program[pc]
        if c == "+":
            tape[at] += 1
        elif c == "-":
            tape[at] -= 1
        elif c == ">":
            at += 1
        elif c == "<":
            at -= 1
        elif c == "[":
            if tape[at] == 0:
                pc = table[pc]
        elif c == "]":
            if tape[at] != 0:
                pc = table[pc]
        pc += 1
    return tape

MOVES = "[->>+<<]>[->+<]"
NESTED = "[->[->>+<<]>>[-<+<+>>]<<<]"

#: trace flat("++", {}, list)
#: run ([0]) ([40])

#: trace flat(MOVES, jumps(MOVES), list)
#: run ([3, 4, 5]) ([0, 0, 0])

#: trace flat(NESTED, jumps(NESTED), list)
#: run ([3, 4, 0, 0, 0]) ([0, 1, 0, 0, 0])


def parse(program):
    """A tree: characters, and tuples for loops."""
    body, stack = [], []
    for c in program:
        if c == "[":
            stack.append(body)
            body = []
        elif c == "]":
            loop = tuple(body)
            body = stack.pop()
            body.append(loop)
        else:
            body.append(c)
    return tuple(body)


def tree(node, at, tape):
    for part in node:
        if isinstance(part, tuple):
            while tape[at] != 0:
                at = tree(part, at, tape)
        elif part == "+":
            tape[at] += 1
        elif part == "-":
            tape[at] -= 1
        elif part == ">":
            at += 1
        elif part == "<":
            at -= 1
    return at

#: trace tree(parse("++"), 0, list)
#: run ([0]) ([40])

#: trace tree(parse(MOVES), 0, list)
#: run ([3, 4, 5]) ([0, 0, 0])

#: trace tree(parse(NESTED), 0, list)
#: run ([3, 4, 0, 0, 0]) ([0, 1, 0, 0, 0])
