"""Two interpreters for Brainfuck: once the program is known, nothing of the interpreter remains in the residual.

    python examples/brainfuck.py
"""
import hovis

PROGRAM = "[->>+<<]>[->+<]"

#: Adds cell 0 to cell 1.
ADDITION = "[->+<]"
#: Writes a word.
HELLO = "+++++++++[>++++++++>+++++++++++>++++<<<-]>.>++++++++++++.+++++++.-------------.++++++++++.>---."
#: Writes the squares of the numbers 1 to n, where n is the number in cell 0; each square is computed as a sum of odd numbers.
SQUARES = ">>+<<[->>[-<+>>+<]>[-<+>]<++<.<]"
#: Writes n Fibonacci numbers, where n is the number in cell 0.
FIBONACCI = ">>+<<[->.>[-<+>>+<]<[->+<]>>[-<<+>>]<<<]"
#: Copies its input to its output and adds 13 to each character.
SHIFT = ",[+++++++++++++.,]"


def jump_table(program):
    """Map the position of each bracket to the position of its matching bracket."""
    table, open_at = {}, []
    for pc, c in enumerate(program):
        if c == "[":
            open_at.append(pc)
        elif c == "]":
            table[pc] = open_at.pop()
            table[table[pc]] = pc
    return table


def run_flat(program, table, tape):
    """Run a program in one loop over an explicit program counter; return the tape."""
    pc = at = 0
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


def run_text(program, table, tape, data):
    """Run a program with input and output: `data` is an iterator of numbers, the result is the list of numbers written."""
    pc = at = 0
    out = []
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
        elif c == ".":
            out.append(tape[at])
        elif c == ",":
            tape[at] = next(data, 0)
        elif c == "[":
            if tape[at] == 0:
                pc = table[pc]
        elif c == "]":
            if tape[at] != 0:
                pc = table[pc]
        pc += 1
    return out


def parse(program):
    """Parse a program into nested tuples: a loop is the tuple of the commands in its body."""
    body, outer = [], []
    for c in program:
        if c == "[":
            outer.append(body)
            body = []
        elif c == "]":
            loop = tuple(body)
            body = outer.pop()
            body.append(loop)
        else:
            body.append(c)
    return tuple(body)


def run_tree(node, at, tape):
    """Run a parsed program by recursion over the tree; return the position of the head on the tape."""
    for part in node:
        if isinstance(part, tuple):
            while tape[at] != 0:
                at = run_tree(part, at, tape)
        elif part == "+":
            tape[at] += 1
        elif part == "-":
            tape[at] -= 1
        elif part == ">":
            at += 1
        elif part == "<":
            at -= 1
    return at


def compile_flat(program):
    return hovis.specialize(run_flat, program, jump_table(program), list)


def compile_text(program):
    return hovis.specialize(run_text, program, jump_table(program), list)


def compile_tree(program):
    return hovis.specialize(run_tree, parse(program), 0, list)


def add_by_hand(tape):
    while tape[0] != 0:
        tape[0] -= 1
        tape[1] += 1
    return tape


def squares_by_hand(tape, data):
    out = []
    tape[2] += 1
    while tape[0] != 0:
        tape[0] -= 1
        tape[1] += tape[2]
        tape[2] += 2
        out.append(tape[1])
    return out


def fibonacci_by_hand(tape, data):
    out = []
    tape[2] += 1
    while tape[0] != 0:
        tape[0] -= 1
        out.append(tape[1])
        tape[1], tape[2] = tape[2], tape[1] + tape[2]
    return out


def main():
    print("The program", PROGRAM, "to the flat interpreter:")
    print(hovis.trace(run_flat, PROGRAM, jump_table(PROGRAM), list))
    flat, tree = [3, 4, 5], [3, 4, 5]
    compile_flat(PROGRAM)(flat)
    compile_tree(PROGRAM)(tree)
    print(f"[3, 4, 5] becomes {flat}; through the tree, {tree}")
    assert flat == tree == run_flat(PROGRAM, jump_table(PROGRAM), [3, 4, 5])
    print("The sum of 12 and 10**30, which nobody waits for:", compile_flat(ADDITION)([10**30, 12]))
    print("A word:", "".join(map(chr, compile_text(HELLO)([0] * 4, iter(())))))
    print("Squares:", compile_text(SQUARES)([10, 0, 0, 0], iter(())))
    print("Fibonacci numbers:", compile_text(FIBONACCI)([10, 0, 0, 0], iter(())))
    print("Shifted by 13:", "".join(map(chr, compile_text(SHIFT)([0], map(ord, "Ubivf")))))


if __name__ == "__main__":
    main()
