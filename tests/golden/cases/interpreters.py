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
# 1: (%1 :: const(pow), %2 :: const(1), %3 :: Int)
#   br 2 (%3)
# 2: (%4 :: Int)
#   %5 = (>)(%4, 0) :: Bool
#   br 4 unless %5
#   br 3
# 3:
#   %6 = (-)(%4, 1) :: Int
#   br 2 (%6)
# 4:
#   return 1

#: passes pow(1, Int)
#: run (5) (0) (-1)
# 1: (%1 :: const(pow), %2 :: const(1), %3 :: Int)
#   return 1

#: trace pow(Int, const(100000))
#: run (1) (-1) (0)
# 1: (%1 :: const(pow), %2 :: Int, %3 :: const(100000))
#   br 2 (100000, 1)
# 2: (%4 :: Int, %5 :: Int)
#   %6 = (>)(%4, 0) :: Bool
#   br 4 unless %6
#   br 3
# 3:
#   %7 = (-)(%4, 1) :: Int
#   %8 = (*)(%5, %2) :: Int
#   br 2 (%7, %8)
# 4:
#   return %5


def fact(n):
    if n == 0:
        return 1
    return n * fact(n - 1)

#: trace fact(Int)
#: run (0) (1) (20)
# 1: (%1 :: const(fact), %2 :: Int)
#   %3 = (==)(%2, 0) :: Bool
#   br 3 unless %3
#   br 2
# 2:
#   return 1
# 3:
#   %4 = (-)(%2, 1) :: Int
#   %5 = fact(%4) :: Int
#   %6 = (*)(%2, %5) :: Int
#   return %6

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
# 1: (%1 :: const(env_loop), %2 :: Int, %3 :: Int)
#   br 2 (%2, 1)
# 2: (%4 :: Int, %5 :: Int)
#   %6 = (>)(%4, 0) :: Bool
#   br 4 unless %6
#   br 3
# 3:
#   %7 = (-)(%4, 1) :: Int
#   %8 = (*)(%5, %3) :: Int
#   br 2 (%7, %8)
# 4:
#   return %5


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
# 1: (%1 :: const(env_helper), %2 :: Int, %3 :: Int)
#   %4 = (>)(%2, %3) :: Bool
#   br 3 (%2) unless %4
#   br 2
# 2:
#   %5 = (-)(%2, %3) :: Int
#   br 3 (%5)
# 3: (%6 :: Int)
#   %7 = (<)(%6, 0) :: Bool
#   br 4 (%6) unless %7
#   br 4 (0)
# 4: (%8 :: Int)
#   return %8


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
# 1: (%1 :: const(slots), %2 :: Bool, %3 :: Int)
#   br 2 unless %2
#   br 3 (%3)
# 2:
#   %4 = neg(%3) :: Int
#   br 3 (%4)
# 3: (%5 :: Int)
#   %6 = (+)(%5, 1) :: Int
#   return %6


def chosen(flag):
    return 1 if flag else 2


def joins(flag):
    return chosen(flag) + 10

#: trace joins(Bool)
#: run (True) (False)
# 1: (%1 :: const(joins), %2 :: Bool)
#   br 2 (2) unless %2
#   br 2 (1)
# 2: (%3 :: Int)
#   %4 = (+)(%3, 10) :: Int
#   return %4


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
# 1: (%1 :: const(flat), %2 :: const('++'), %3 :: const(#0), %4 :: list)
#   %5 = getitem(%4, 0) :: Any
#   %6 = (+=)!(%5, 1) :: Any
#   %7 = setitem!(%4, 0, %6) :: None
#   %8 = getitem(%4, 0) :: Any
#   %9 = (+=)!(%8, 1) :: Any
#   %10 = setitem!(%4, 0, %9) :: None
#   return %4

#: trace flat(MOVES, jumps(MOVES), list)
#: run ([3, 4, 5]) ([0, 0, 0])
# 1: (%1 :: const(flat), %2 :: const('[->>+<<]>[->+<]'), %3 :: const(#0), %4 :: list)
#   %5 = getitem(%4, 0) :: Any
#   %6 = (==)!(%5, 0) :: Any
#   %7 = bool!(%6) :: Bool
#   br 2 unless %7
#   br 3
# 2:
#   %8 = getitem(%4, 0) :: Any
#   %9 = (-=)!(%8, 1) :: Any
#   %10 = setitem!(%4, 0, %9) :: None
#   %11 = getitem(%4, 2) :: Any
#   %12 = (+=)!(%11, 1) :: Any
#   %13 = setitem!(%4, 2, %12) :: None
#   %14 = getitem(%4, 0) :: Any
#   %15 = (!=)!(%14, 0) :: Any
#   %16 = bool!(%15) :: Bool
#   br 3 unless %16
#   br 2
# 3:
#   %17 = getitem(%4, 1) :: Any
#   %18 = (==)!(%17, 0) :: Any
#   %19 = bool!(%18) :: Bool
#   br 4 unless %19
#   br 5
# 4:
#   %20 = getitem(%4, 1) :: Any
#   %21 = (-=)!(%20, 1) :: Any
#   %22 = setitem!(%4, 1, %21) :: None
#   %23 = getitem(%4, 2) :: Any
#   %24 = (+=)!(%23, 1) :: Any
#   %25 = setitem!(%4, 2, %24) :: None
#   %26 = getitem(%4, 1) :: Any
#   %27 = (!=)!(%26, 0) :: Any
#   %28 = bool!(%27) :: Bool
#   br 5 unless %28
#   br 4
# 5:
#   return %4

#: trace flat(NESTED, jumps(NESTED), list)
#: run ([3, 4, 0, 0, 0]) ([0, 1, 0, 0, 0])
# 1: (%1 :: const(flat), %2 :: const('[->[->>+<<]>>[-<+<+>>]<<<]'), %3 :: const(#0), %4 :: list)
#   %5 = getitem(%4, 0) :: Any
#   %6 = (==)!(%5, 0) :: Any
#   %7 = bool!(%6) :: Bool
#   br 2 unless %7
#   br 7
# 2:
#   %8 = getitem(%4, 0) :: Any
#   %9 = (-=)!(%8, 1) :: Any
#   %10 = setitem!(%4, 0, %9) :: None
#   %11 = getitem(%4, 1) :: Any
#   %12 = (==)!(%11, 0) :: Any
#   %13 = bool!(%12) :: Bool
#   br 3 unless %13
#   br 4
# 3:
#   %14 = getitem(%4, 1) :: Any
#   %15 = (-=)!(%14, 1) :: Any
#   %16 = setitem!(%4, 1, %15) :: None
#   %17 = getitem(%4, 3) :: Any
#   %18 = (+=)!(%17, 1) :: Any
#   %19 = setitem!(%4, 3, %18) :: None
#   %20 = getitem(%4, 1) :: Any
#   %21 = (!=)!(%20, 0) :: Any
#   %22 = bool!(%21) :: Bool
#   br 4 unless %22
#   br 3
# 4:
#   %23 = getitem(%4, 3) :: Any
#   %24 = (==)!(%23, 0) :: Any
#   %25 = bool!(%24) :: Bool
#   br 5 unless %25
#   br 6
# 5:
#   %26 = getitem(%4, 3) :: Any
#   %27 = (-=)!(%26, 1) :: Any
#   %28 = setitem!(%4, 3, %27) :: None
#   %29 = getitem(%4, 2) :: Any
#   %30 = (+=)!(%29, 1) :: Any
#   %31 = setitem!(%4, 2, %30) :: None
#   %32 = getitem(%4, 1) :: Any
#   %33 = (+=)!(%32, 1) :: Any
#   %34 = setitem!(%4, 1, %33) :: None
#   %35 = getitem(%4, 3) :: Any
#   %36 = (!=)!(%35, 0) :: Any
#   %37 = bool!(%36) :: Bool
#   br 6 unless %37
#   br 5
# 6:
#   %38 = getitem(%4, 0) :: Any
#   %39 = (!=)!(%38, 0) :: Any
#   %40 = bool!(%39) :: Bool
#   br 7 unless %40
#   br 2
# 7:
#   return %4


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
# 1: (%1 :: const(tree), %2 :: const(('+', '+')), %3 :: const(0), %4 :: list)
#   %5 = getitem(%4, 0) :: Any
#   %6 = (+=)!(%5, 1) :: Any
#   %7 = setitem!(%4, 0, %6) :: None
#   %8 = getitem(%4, 0) :: Any
#   %9 = (+=)!(%8, 1) :: Any
#   %10 = setitem!(%4, 0, %9) :: None
#   return 0

#: trace tree(parse(MOVES), 0, list)
#: run ([3, 4, 5]) ([0, 0, 0])
# 1: (%1 :: const(tree), %2 :: const((('-', '>', '>', '+', '<', '<'), '>', ('-', '>', '+', '<'))), %3 :: const(0), %4 :: list)
#   br 2
# 2:
#   %5 = getitem(%4, 0) :: Any
#   %6 = (!=)!(%5, 0) :: Any
#   %7 = bool!(%6) :: Bool
#   br 4 unless %7
#   br 3
# 3:
#   %8 = getitem(%4, 0) :: Any
#   %9 = (-=)!(%8, 1) :: Any
#   %10 = setitem!(%4, 0, %9) :: None
#   %11 = getitem(%4, 2) :: Any
#   %12 = (+=)!(%11, 1) :: Any
#   %13 = setitem!(%4, 2, %12) :: None
#   br 2
# 4:
#   %14 = getitem(%4, 1) :: Any
#   %15 = (!=)!(%14, 0) :: Any
#   %16 = bool!(%15) :: Bool
#   br 6 unless %16
#   br 5
# 5:
#   %17 = getitem(%4, 1) :: Any
#   %18 = (-=)!(%17, 1) :: Any
#   %19 = setitem!(%4, 1, %18) :: None
#   %20 = getitem(%4, 2) :: Any
#   %21 = (+=)!(%20, 1) :: Any
#   %22 = setitem!(%4, 2, %21) :: None
#   br 4
# 6:
#   return 1

#: trace tree(parse(NESTED), 0, list)
#: run ([3, 4, 0, 0, 0]) ([0, 1, 0, 0, 0])
# 1: (%1 :: const(tree), %2 :: const((('-', '>', ('-', '>', '>', '+', '<', '<'), '>', '>', ('-',…), %3 :: const(0), %4 :: list)
#   br 2
# 2:
#   %5 = getitem(%4, 0) :: Any
#   %6 = (!=)!(%5, 0) :: Any
#   %7 = bool!(%6) :: Bool
#   br 8 unless %7
#   br 3
# 3:
#   %8 = getitem(%4, 0) :: Any
#   %9 = (-=)!(%8, 1) :: Any
#   %10 = setitem!(%4, 0, %9) :: None
#   br 4
# 4:
#   %11 = getitem(%4, 1) :: Any
#   %12 = (!=)!(%11, 0) :: Any
#   %13 = bool!(%12) :: Bool
#   br 6 unless %13
#   br 5
# 5:
#   %14 = getitem(%4, 1) :: Any
#   %15 = (-=)!(%14, 1) :: Any
#   %16 = setitem!(%4, 1, %15) :: None
#   %17 = getitem(%4, 3) :: Any
#   %18 = (+=)!(%17, 1) :: Any
#   %19 = setitem!(%4, 3, %18) :: None
#   br 4
# 6:
#   %20 = getitem(%4, 3) :: Any
#   %21 = (!=)!(%20, 0) :: Any
#   %22 = bool!(%21) :: Bool
#   br 2 unless %22
#   br 7
# 7:
#   %23 = getitem(%4, 3) :: Any
#   %24 = (-=)!(%23, 1) :: Any
#   %25 = setitem!(%4, 3, %24) :: None
#   %26 = getitem(%4, 2) :: Any
#   %27 = (+=)!(%26, 1) :: Any
#   %28 = setitem!(%4, 2, %27) :: None
#   %29 = getitem(%4, 1) :: Any
#   %30 = (+=)!(%29, 1) :: Any
#   %31 = setitem!(%4, 1, %30) :: None
#   br 6
# 8:
#   return 0
