"""An interpreter for an interpreter: a small Lisp in Python, a stack machine in that Lisp, and a program for the machine.

With the Lisp program and the machine code known, both levels of interpretation are gone: the residual is the program.

    python examples/tower.py
"""
import operator

import hovis

# ------------------------------------------------------------------------------------------- a Lisp, in Python

PRIMITIVES = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "=": operator.eq,
    "<": operator.lt,
    "nth": operator.getitem,
    "cons": lambda *pair: pair,
    "head": lambda pair: pair[0],
    "tail": lambda pair: pair[1],
}


def read(text):
    """Parse a text into its expressions: nested tuples of names, numbers and strings."""
    stack = [[]]
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            stack.append([])
        elif word == ")":
            done = tuple(stack.pop())
            stack[-1].append(done)
        else:
            stack[-1].append(int(word) if word.lstrip("-").isdigit() else word)
    return stack[0]


def load(text):
    """Load the functions of a Lisp program: a dict from names to parameters and body."""
    return {name: (parameters, body) for _, (name, *parameters), body in read(text)}


def evaluate(expression, names, functions):
    """Evaluate an expression; a call in tail position is a jump."""
    while True:
        match expression:
            case int():
                return expression
            case str():
                return names[expression]
            case ("quote", value):
                return value
            case ("if", test, then, otherwise):
                expression = then if evaluate(test, names, functions) else otherwise
            case ("let", name, value, body):
                names = {**names, name: evaluate(value, names, functions)}
                expression = body
            case (name, *arguments):
                values = [evaluate(argument, names, functions) for argument in arguments]
                if name in PRIMITIVES:
                    return PRIMITIVES[name](*values)
                parameters, expression = functions[name]
                names = dict(zip(parameters, values))


# ------------------------------------------------------------------------------------------- a stack machine, in Lisp

MACHINE = load("""
(define (run code pc stack)
  (let word (nth code pc)
    (if (= word (quote halt)) (head stack)
    (if (= word (quote push)) (run code (+ pc 2) (cons (nth code (+ pc 1)) stack))
    (if (= word (quote pick)) (run code (+ pc 2) (cons (pick (nth code (+ pc 1)) stack) stack))
    (if (= word (quote swap)) (run code (+ pc 1) (cons (head (tail stack)) (cons (head stack) (tail (tail stack)))))
    (if (= word (quote jump)) (run code (nth code (+ pc 1)) stack)
    (if (= word (quote zero)) (run code (if (= (head stack) 0) (nth code (+ pc 1)) (+ pc 2)) (tail stack))
      (run code (+ pc 1) (cons (apply word (head (tail stack)) (head stack)) (tail (tail stack))))))))))))

(define (pick depth stack)
  (if (= depth 0) (head stack) (pick (- depth 1) (tail stack))))

(define (apply word left right)
  (if (= word (quote add)) (+ left right)
  (if (= word (quote sub)) (- left right)
    (* left right))))
""")

# ------------------------------------------------------------------------------------------- a program, for the machine


def assemble(text):
    """Assemble a program into a sequence of words; labels become positions in it."""
    words, labels = [], {}
    for word in text.split():
        if word.endswith(":"):
            labels[word[:-1]] = len(words)
        else:
            words.append(word)
    return tuple(labels[word] if word in labels else int(word) if word.isdigit() else word for word in words)


#: The sum of the squares up to the number on the stack.
PROGRAM = assemble("""
    push 0
  loop:
    pick 1  zero done
    pick 1  pick 2  mul  add
    swap  push 1  sub  swap
    jump loop
  done:
    halt
""")


def main(machine, code, n):
    call = ("run", ("quote", code), 0, ("cons", "n", 0))
    return evaluate(call, {"n": n}, machine)


def by_hand(n):
    """The same program in Python."""
    total = 0
    while n != 0:
        total += n * n
        n -= 1
    return total


def specialized():
    """The residual: a function of n."""
    return hovis.specialize(main, hovis.const(MACHINE), hovis.const(PROGRAM), int)


if __name__ == "__main__":
    residual = specialized()
    print(residual.trace.source())
    assert residual(50) == main(MACHINE, PROGRAM, 50) == by_hand(50)
    print(residual(50))
