"""Two interpreters for one small language: with the program known, neither is left in the residual.

    python examples/brainfuck.py
"""
import hovis

PROGRAM = "[->>+<<]>[->+<]"


def jump_table(program):
    """Where each bracket's partner is."""
    table, open_at = {}, []
    for pc, c in enumerate(program):
        if c == "[":
            open_at.append(pc)
        elif c == "]":
            table[pc] = open_at.pop()
            table[table[pc]] = pc
    return table


def run_flat(program, table, tape):
    """One loop over an explicit program counter."""
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


def parse(program):
    """A tree of tuples: a loop is the tuple of what it repeats."""
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
    """Recursion over the tree; the result is where the head stands."""
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


def compile_tree(program):
    return hovis.specialize(run_tree, parse(program), 0, list)


def main():
    print("The program", PROGRAM, "to the flat interpreter:")
    print(hovis.trace(run_flat, PROGRAM, jump_table(PROGRAM), list))
    flat, tree = [3, 4, 5], [3, 4, 5]
    compile_flat(PROGRAM)(flat)
    compile_tree(PROGRAM)(tree)
    print(f"[3, 4, 5] becomes {flat}; through the tree, {tree}")
    assert flat == tree == run_flat(PROGRAM, jump_table(PROGRAM), [3, 4, 5])


if __name__ == "__main__":
    main()
