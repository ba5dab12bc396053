"""An evaluator of symbolic expressions, written as visitor classes: with the expression known, the residual is that expression in Python.

    python examples/expressions.py
"""
import math

import hovis


class Expression:
    def __add__(self, other):
        return Binary("+", self, lift(other))

    def __mul__(self, other):
        return Binary("*", self, lift(other))

    def __sub__(self, other):
        return Binary("-", self, lift(other))

    def __pow__(self, other):
        return Binary("**", self, lift(other))

    def __truediv__(self, other):
        return Binary("/", self, lift(other))

    def accept(self, visitor):
        raise NotImplementedError(type(self).__name__)


class Number(Expression):
    def __init__(self, value):
        self.value = value

    def accept(self, visitor):
        return visitor.number(self)


class Symbol(Expression):
    def __init__(self, name):
        self.name = name

    def accept(self, visitor):
        return visitor.symbol(self)


class Binary(Expression):
    def __init__(self, operator, left, right):
        self.operator, self.left, self.right = operator, left, right

    def accept(self, visitor):
        return visitor.binary(self)


class Call(Expression):
    def __init__(self, name, argument):
        self.name, self.argument = name, argument

    def accept(self, visitor):
        return visitor.call(self)


def lift(value):
    return value if isinstance(value, Expression) else Number(value)


class Evaluator:
    """Computes the value of an expression from the values of its symbols."""

    def __init__(self, values):
        self.values = values

    def number(self, node):
        return node.value

    def symbol(self, node):
        try:
            return self.values[node.name]
        except KeyError:
            raise NameError(f"no value for {node.name}") from None

    def binary(self, node):
        left, right = node.left.accept(self), node.right.accept(self)
        match node.operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/":
                return left / right
            case "**":
                return left**right

    def call(self, node):
        return FUNCTIONS[node.name](node.argument.accept(self))


FUNCTIONS = {"sin": math.sin, "exp": math.exp, "sqrt": math.sqrt}


def evaluate(expression, **values):
    return expression.accept(Evaluator(values))


X, Y = Symbol("x"), Symbol("y")
EXPRESSION = Call("sin", X * 2 + Y) * Call("exp", Number(0) - X**2) / (Y * Y + 1) + Call("sqrt", X * X + Y * Y)


def at(expression, x, y):
    return evaluate(expression, x=x, y=y)


def by_hand(x, y):
    """The same expression in Python."""
    return math.sin(x * 2 + y) * math.exp(0 - x**2) / (y * y + 1) + math.sqrt(x * x + y * y)


def specialized():
    """The residual: a function of x and y."""
    return hovis.specialize(at, hovis.const(EXPRESSION), float, float)


if __name__ == "__main__":
    residual = specialized()
    print(residual.trace.source())
    assert residual(0.5, -2.0) == at(EXPRESSION, 0.5, -2.0) == by_hand(0.5, -2.0)
    print(residual(0.5, -2.0))
