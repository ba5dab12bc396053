"""A stack machine with functions: with the program known, guest loops become loops and guest calls become calls of the residual.

    python examples/vm.py
"""
from enum import Enum, auto

import hovis


class Op(Enum):
    PUSH = auto()
    LOAD = auto()
    STORE = auto()
    ADD = auto()
    SUB = auto()
    MUL = auto()
    LESS = auto()
    JUMP = auto()
    UNLESS = auto()
    CALL = auto()
    RETURN = auto()


def assemble(text):
    """Assemble a program: a dict from function names to instructions (op, argument)."""
    functions, code, labels = {}, [], {}
    for line in text.strip().splitlines():
        words = line.split()
        if words[0] == "def":
            code, labels = [], {}
            functions[words[1]] = code, labels
        elif words[0].endswith(":"):
            labels[words[0][:-1]] = len(code)
        else:
            code.append(words)
    return {name: tuple(_instruction(words, labels) for words in code) for name, (code, labels) in functions.items()}


def _instruction(words, labels):
    op = Op[words[0].upper()]
    argument = words[1] if len(words) > 1 else None
    if op in (Op.JUMP, Op.UNLESS):
        return op, labels[argument]
    return op, int(argument) if op is Op.PUSH else argument


def run(program, name, arguments):
    """Call a function of the program; the arguments are the initial stack, the topmost last."""
    code = program[name]
    stack, names = list(arguments), {}
    pc = 0
    while True:
        op, argument = code[pc]
        pc += 1
        match op:
            case Op.PUSH:
                stack.append(argument)
            case Op.LOAD:
                stack.append(names[argument])
            case Op.STORE:
                names[argument] = stack.pop()
            case Op.ADD | Op.SUB | Op.MUL | Op.LESS:
                right, left = stack.pop(), stack.pop()
                stack.append(ARITHMETIC[op](left, right))
            case Op.JUMP:
                pc = argument
            case Op.UNLESS:
                if not stack.pop():
                    pc = argument
            case Op.CALL:
                stack.append(run(program, argument, [stack.pop()]))
            case Op.RETURN:
                return stack.pop()


ARITHMETIC = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.LESS: lambda a, b: a < b,
}

PROGRAM = assemble("""
def main
    store n
    push 0
    store total
  loop:
    push 0
    load n
    less
    unless done
    load total
    load n
    call square
    add
    store total
    load n
    push 1
    sub
    store n
    jump loop
  done:
    load total
    load n
    push 10
    add
    call fib
    add
    return
def square
    store x
    load x
    load x
    mul
    return
def fib
    store n
    load n
    push 2
    less
    unless more
    load n
    return
  more:
    load n
    push 1
    sub
    call fib
    load n
    push 2
    sub
    call fib
    add
    return
""")


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def by_hand(n):
    """The same program in Python."""
    total = 0
    while n > 0:
        total += n * n
        n -= 1
    return total + fib(n + 10)


def main(program, n):
    return run(program, "main", [n])


def specialized():
    """The residual: a function of n."""
    return hovis.specialize(main, hovis.const(PROGRAM), int)


if __name__ == "__main__":
    residual = specialized()
    print(residual.trace.source())
    assert residual(50) == main(PROGRAM, 50) == by_hand(50)
    print(residual(50))
