"""Interpreters of the usual kinds, and guest programs of growing size for them, which scaling.py specializes.

Each function that makes one returns ``fn, specs, arguments``: an interpreter, the specs of its arguments, and values for the unknown ones.
"""

import enum
import random

from hovis import Any, Float, Int, Str, const

# ------------------------------------------------------------------------------------------------- a stack machine with a program counter and tuples


def stack_machine(program, x, y):
    pc, stack, regs = 0, [], [x, y, 0, 0]
    while True:
        op, arg = program[pc]
        pc += 1
        if op == "push":
            stack.append(arg)
        elif op == "load":
            stack.append(regs[arg])
        elif op == "store":
            regs[arg] = stack.pop()
        elif op == "add":
            b = stack.pop()
            a = stack.pop()
            stack.append(a + b)
        elif op == "sub":
            b = stack.pop()
            a = stack.pop()
            stack.append(a - b)
        elif op == "mul":
            b = stack.pop()
            a = stack.pop()
            stack.append(a * b % 1000003)
        elif op == "jump":
            pc = arg
        elif op == "jz":
            if stack.pop() == 0:
                pc = arg
        elif op == "jneg":
            if stack.pop() < 0:
                pc = arg
        elif op == "halt":
            return regs[2]


def stack_program(n):
    """Draw straight-line arithmetic, with occasional unknown branches and counting loops."""
    rng, out = random.Random(n), []
    while len(out) < n:
        kind = rng.randrange(4)
        r = rng.randrange(4)
        if kind <= 1:
            out += [("load", 2), ("load", r), ("push", rng.randrange(100)), (rng.choice(("add", "sub", "mul")), None), ("sub", None), ("store", 2)]
        elif kind == 2:
            at = len(out)
            out += [("load", r), ("push", rng.randrange(50)), ("sub", None), ("jneg", at + 8),
                    ("load", 2), ("push", 3), ("add", None), ("store", 2)]
        else:
            at = len(out) + 2
            out += [("push", rng.randrange(2, 9)), ("store", 3), ("load", 2), ("load", r), ("add", None), ("store", 2),
                    ("load", 3), ("push", 1), ("sub", None), ("store", 3), ("load", 3), ("jz", at + 11), ("jump", at)]
    return [*out, ("halt", None)]


def stack(n):
    """A stack machine with a flat program counter, instructions as tuples, jumps and loops."""
    return stack_machine, (const(tuple(stack_program(n))), Int, Int), (17, 4)


# ------------------------------------------------------------------------------------------------- a register machine with handlers in a dict


def op_move(regs, a, b, c):
    regs[a] = regs[b]


def op_add(regs, a, b, c):
    regs[a] = regs[b] + regs[c]


def op_mul(regs, a, b, c):
    regs[a] = regs[b] * regs[c] % 65537


def op_const(regs, a, b, c):
    regs[a] = b


def op_less(regs, a, b, c):
    return a if regs[b] < regs[c] else None


def op_goto(regs, a, b, c):
    return a


HANDLERS = {"move": op_move, "add": op_add, "mul": op_mul, "const": op_const, "less": op_less, "goto": op_goto}


def register_machine(program, x, y):
    regs = {"a": x, "b": y, "c": 0, "d": 0, "e": 1}
    pc = 0
    while pc < len(program):
        name, a, b, c = program[pc]
        to = HANDLERS[name](regs, a, b, c)
        pc = pc + 1 if to is None else to
    return regs["c"]


def register_program(n):
    rng, out = random.Random(n), []
    while len(out) < n:
        kind, r, s = rng.randrange(5), rng.choice("abcd"), rng.choice("abcd")
        if kind <= 2:
            out += [("const", "d", rng.randrange(99), None), (rng.choice(("add", "mul")), "d", r, s), ("add", "c", "c", "d")]
        elif kind == 3:
            out += [("less", len(out) + 3, r, s), ("add", "c", "c", "a"), ("mul", "c", "c", "b")]
        else:
            at = len(out) + 1
            out += [("const", "d", 0, None), ("add", "d", "d", "e"), ("add", "c", "c", "d"), ("less", at, "d", "a")]
    return out


def registers(n):
    """A register machine with handlers in a dict and named registers."""
    return register_machine, (const(register_program(n)), Int, Int), (7, 5)


# ------------------------------------------------------------------------------------------------- opcodes of an enum, dispatched by match


class Opcode(enum.IntEnum):
    LOAD = 1
    ADD = 2
    SUB = 3
    JUMP = 4
    JUMP_IF = 5
    STORE = 6
    STOP = 7


def match_machine(code, x, y):
    acc, memory, pc = 0, [x, y, 0, 0], 0
    while True:
        match code[pc]:
            case (Opcode.LOAD, at):
                acc = memory[at]
            case (Opcode.ADD, at):
                acc += memory[at]
            case (Opcode.SUB, at):
                acc -= memory[at]
            case (Opcode.STORE, at):
                memory[at] = acc
            case (Opcode.JUMP, to):
                pc = to
                continue
            case (Opcode.JUMP_IF, to):
                if acc > 0:
                    pc = to
                    continue
            case (Opcode.STOP,):
                return acc
        pc += 1


def match_program(n):
    rng, out = random.Random(n), []
    while len(out) < n:
        r, s = rng.randrange(4), rng.randrange(4)
        out += [(Opcode.LOAD, r), (Opcode.SUB, s), (Opcode.ADD, 2), (Opcode.STORE, 2)]
        if not rng.randrange(3):
            out += [(Opcode.SUB, r), (Opcode.JUMP_IF, len(out) + 4), (Opcode.ADD, s), (Opcode.STORE, 3)]
    return [*out, (Opcode.STOP,)]


def enums(n):
    """A machine with opcodes of an enumeration, dispatched by match."""
    return match_machine, (const(match_program(n)), Int, Int), (3, 4)


# ------------------------------------------------------------------------------------------------- brainfuck


def brainfuck_machine(program, jumps, x):
    tape, at, pc, out = [0] * 16, 0, 0, []
    tape[0] = x
    while pc < len(program):
        op = program[pc]
        if op == ">":
            at += 1
        elif op == "<":
            at -= 1
        elif op == "+":
            tape[at] = (tape[at] + 1) & 255
        elif op == "-":
            tape[at] = (tape[at] - 1) & 255
        elif op == ".":
            out.append(tape[at])
        elif op == "[":
            if tape[at] == 0:
                pc = jumps[pc]
        elif op == "]":
            if tape[at] != 0:
                pc = jumps[pc]
        pc += 1
    return out


def brainfuck_program(n):
    """Make a sequence of loops that move a number to the next cell and add to it; each loop starts at the cell where the last one ended."""
    rng, out = random.Random(n), []
    at = 0
    while len(out) < n:
        step, back = (">", "<") if at < 14 and rng.randrange(2) else ("<", ">") if at else (">", "<")
        out += [*"[-", step, "+", back, "]", step, *("+" * rng.randrange(4))]
        at += 1 if step == ">" else -1
    return "".join(out) + "."


def brackets(program):
    opened, jumps = [], {}
    for k, op in enumerate(program):
        if op == "[":
            opened.append(k)
        elif op == "]":
            jumps[k] = opened.pop()
            jumps[jumps[k]] = k
    return jumps


def brainfuck(n):
    """Brainfuck with a flat program counter."""
    program = brainfuck_program(n)
    return brainfuck_machine, (const(program), const(brackets(program)), Int), (5,)


# ------------------------------------------------------------------------------------------------- a syntax tree, walked by a visitor


class Number:
    def __init__(self, value):
        self.value = value


class Name:
    def __init__(self, id):
        self.id = id


class Binary:
    def __init__(self, op, left, right):
        self.op, self.left, self.right = op, left, right


class If:
    def __init__(self, test, body, orelse):
        self.test, self.body, self.orelse = test, body, orelse


class While:
    def __init__(self, test, body):
        self.test, self.body = test, body


class Assign:
    def __init__(self, target, value):
        self.target, self.value = target, value


class Evaluator:
    def __init__(self, env):
        self.env = env

    def visit(self, node):
        return getattr(self, "visit_" + type(node).__name__)(node)

    def visit_Number(self, node):
        return node.value

    def visit_Name(self, node):
        return self.env[node.id]

    def visit_Binary(self, node):
        left, right = self.visit(node.left), self.visit(node.right)
        if node.op == "+":
            return left + right
        if node.op == "-":
            return left - right
        if node.op == "<":
            return left < right
        return left * right % 10007

    def visit_Assign(self, node):
        self.env[node.target] = self.visit(node.value)

    def visit_If(self, node):
        for statement in node.body if self.visit(node.test) else node.orelse:
            self.visit(statement)

    def visit_While(self, node):
        while self.visit(node.test):
            for statement in node.body:
                self.visit(statement)


def walk(tree, x, y):
    evaluator = Evaluator({"x": x, "y": y, "z": 0, "i": 0})
    for statement in tree:
        evaluator.visit(statement)
    return evaluator.env["z"]


def tree(n):
    """Draw a syntax tree of about n nodes: assignments, ifs and loops of nested expressions."""
    rng, made, out = random.Random(n), 0, []

    def expression(depth):
        nonlocal made
        made += 1
        if not depth or not rng.randrange(3):
            return Name(rng.choice("xyz")) if rng.randrange(2) else Number(rng.randrange(50))
        return Binary(rng.choice("+-*"), expression(depth - 1), expression(depth - 1))

    def assignment():
        nonlocal made
        made += 1
        return Assign("z", expression(3))

    while made < n:
        kind = rng.randrange(4)
        if kind < 2:
            out.append(assignment())
        elif kind == 2:
            out.append(If(Binary("<", Name("z"), expression(1)), [assignment()], [assignment()]))
            made += 3
        else:
            step = Assign("i", Binary("+", Name("i"), Number(1)))
            out += [Assign("i", Number(0)), While(Binary("<", Name("i"), Name("x")), [assignment(), step])]
            made += 10
    return out


def visitor(n):
    """A visitor over a large tree."""
    return walk, (const(tree(n)), Int, Int), (3, 5)


# ------------------------------------------------------------------------------------------------- closures compiled from trees


def compile_node(node):
    kind = type(node)
    if kind is Number:
        return lambda env: node.value
    if kind is Name:
        return lambda env: env[node.id]
    if kind is Assign:
        value = compile_node(node.value)

        def assign(env):
            env[node.target] = value(env)

        return assign
    if kind is If:
        test, body, orelse = compile_node(node.test), [compile_node(s) for s in node.body], [compile_node(s) for s in node.orelse]

        def choose(env):
            for statement in body if test(env) else orelse:
                statement(env)

        return choose
    if kind is While:
        test, body = compile_node(node.test), [compile_node(s) for s in node.body]

        def loop(env):
            while test(env):
                for statement in body:
                    statement(env)

        return loop
    left, right = compile_node(node.left), compile_node(node.right)
    if node.op == "+":
        return lambda env: left(env) + right(env)
    if node.op == "-":
        return lambda env: left(env) - right(env)
    if node.op == "<":
        return lambda env: left(env) < right(env)
    return lambda env: left(env) * right(env) % 10007


def compiled_and_run(tree, x, y):
    env = {"x": x, "y": y, "z": 0, "i": 0}
    for statement in tree:
        compile_node(statement)(env)
    return env["z"]


def run_closures(statements, x, y):
    env = {"x": x, "y": y, "z": 0, "i": 0}
    for statement in statements:
        statement(env)
    return env["z"]


def closures(n):
    """Closures that are compiled from a tree while specializing."""
    return compiled_and_run, (const(tree(n)), Int, Int), (3, 5)


def threaded(n):
    """Closures that are compiled from a tree before specializing."""
    return run_closures, (const([compile_node(s) for s in tree(n)]), Int, Int), (3, 5)


# ------------------------------------------------------------------------------------------------- guest functions, call frames


def frame_machine(code, x, y):
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


def frame_program(n):
    """Draw a main program that calls small functions, each from several call sites; some functions call others."""
    rng, functions = random.Random(n), max(2, n // 40)
    code = [("set", 1), ("set", 0)]
    for _ in range(2 * functions):
        code += [("get", rng.randrange(2)), ("call", -rng.randrange(functions)), ("get", 0), ("add", None), ("set", rng.randrange(2))]
    code += [("get", 0), ("return", None)]
    at = []
    for k in range(functions):
        base = len(code)
        at.append(base)
        code += [("set", 0), ("get", 0), ("const", k + 1), ("mul", None), ("set", 1), ("get", 1), ("const", 50), ("less", None), ("branch", base + 13),
                 ("get", 1), ("const", 7), ("add", None), ("set", 1), ("get", 1)]
        if k and not k % 3:
            code.append(("call", -rng.randrange(k)))
        code.append(("return", None))
    return [(op, at[-arg]) if op == "call" else (op, arg) for op, arg in code]


def frames(n):
    """Guest functions, with call frames in a list."""
    return frame_machine, (const(frame_program(n)), Int, Int), (3, 5)


# ------------------------------------------------------------------------------------------------- a finite automaton


def automaton_machine(table, accepting, text):
    state = 0
    for character in text:
        state = table[state].get(character, -1)
        if state < 0:
            return False
    return state in accepting


def automaton(n):
    """A finite automaton with n states and about three transitions from each."""
    rng = random.Random(n)
    table = [{**{c: rng.randrange(n) for c in rng.sample("abcdefgh", 2)}, "x": (k + 1) % n} for k in range(n)]
    return automaton_machine, (const(table), const(frozenset(range(0, n, 7))), Str), ("xxx",)


# ------------------------------------------------------------------------------------------------- a JSON schema


def validate(schema, value, path):
    errors = []
    kind = schema.get("type")
    if kind == "object":
        if not isinstance(value, dict):
            return [path + ": not an object"]
        for name in schema.get("required", ()):
            if name not in value:
                errors.append(path + ": lacks " + name)
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                errors += validate(inner, value[name], path + "/" + name)
    elif kind == "integer":
        if not isinstance(value, int) or isinstance(value, bool):
            return [path + ": not an integer"]
        if "minimum" in schema and value < schema["minimum"]:
            errors.append(path + ": too small")
        if "maximum" in schema and value > schema["maximum"]:
            errors.append(path + ": too large")
    elif kind == "string":
        if not isinstance(value, str):
            return [path + ": not a string"]
        if "maxLength" in schema and len(value) > schema["maxLength"]:
            errors.append(path + ": too long")
    elif kind == "array":
        if not isinstance(value, list):
            return [path + ": not an array"]
        for k, item in enumerate(value):
            errors += validate(schema["items"], item, path + "/" + str(k))
    return errors


def check(schema, value):
    return validate(schema, value, "")


def schema(n):
    """A JSON schema: n properties, in objects of about ten."""
    rng = random.Random(n)

    def leaf():
        kind = rng.randrange(3)
        if not kind:
            return {"type": "integer", "minimum": rng.randrange(5), "maximum": 100}
        return {"type": "string", "maxLength": rng.randrange(9, 30)} if kind == 1 else {"type": "array", "items": {"type": "string", "maxLength": 9}}

    def group(k):
        names = [f"p{k}_{j}" for j in range(10)]
        return {"type": "object", "required": names[:3], "properties": {name: leaf() for name in names}}

    whole = {"type": "object", "required": ["g0"], "properties": {f"g{k}": group(k) for k in range(n // 10)}}
    return check, (const(whole), Any), ({"g0": {"p0_0": 3}},)


# ------------------------------------------------------------------------------------------------- decision trees


def predict(trees, row):
    total = 0.0
    for node in trees:
        while isinstance(node, tuple):
            feature, limit, left, right = node
            node = left if row[feature] <= limit else right
        total += node
    return total


def forest(n):
    """Decision trees of depth 5 with n inner nodes in all."""
    rng = random.Random(n)

    def made(depth):
        if not depth:
            return rng.random()
        return rng.randrange(8), rng.random(), made(depth - 1), made(depth - 1)

    return predict, (const([made(5) for _ in range(max(1, n // 31))]), [Float] * 8), ([rng.random() for _ in range(8)],)


#: All guest programs.
GUESTS = (stack, registers, enums, brainfuck, visitor, closures, threaded, frames, automaton, schema, forest)
