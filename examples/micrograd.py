"""A scalar autograd engine of small objects, specialized by hovis: the objects are scalar-replaced, and one compiled training step remains.

The engine is the usual one: each number of the computation is a ``Value`` with the set of its operands and a closure that
propagates its gradient to them. ``backward`` sorts the values topologically, by recursion with a set of the values already
visited, and calls the closures in reverse order. Only ``main`` uses hovis.

    python examples/micrograd.py
"""
import itertools
import math

import numpy as np


class Value:
    """A number, its gradient, and the operands from which it was computed."""

    def __init__(self, data, made_of=()):
        self.data = data
        self.grad = 0.0
        self._backward = lambda: None
        self._prev = set(made_of)

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other))

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other))

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def __pow__(self, power):
        out = Value(self.data**power, (self,))

        def _backward():
            self.grad += power * self.data ** (power - 1) * out.grad

        out._backward = _backward
        return out

    def relu(self):
        out = Value(0.0 if self.data < 0 else self.data, (self,))

        def _backward():
            self.grad += (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def tanh(self):
        out = Value(math.tanh(self.data), (self,))

        def _backward():
            self.grad += (1.0 - out.data**2) * out.grad

        out._backward = _backward
        return out

    def backward(self):
        """Compute the gradients of this value with respect to all values from which it was computed."""
        order = []
        visited = set()

        def build(value):
            if value not in visited:
                visited.add(value)
                for child in value._prev:
                    build(child)
                order.append(value)

        build(self)
        self.grad = 1.0
        for value in reversed(order):
            value._backward()

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -other

    def __truediv__(self, other):
        return self * other**-1

    __radd__, __rmul__ = __add__, __mul__

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"


class Neuron:
    def __init__(self, weights, bias, bent):
        self.weights, self.bias, self.bent = weights, bias, bent

    def __call__(self, inputs):
        total = sum((w * x for w, x in zip(self.weights, inputs)), self.bias)
        return total.tanh() if self.bent else total


class Network:
    """Layers of neurons, the last one linear; the weights are taken from the list `numbers`, in order."""

    def __init__(self, sizes, numbers):
        self.values = [Value(number) for number in numbers]
        rest = iter(self.values)
        self.layers = []
        for width, count in itertools.pairwise(sizes):
            bent = len(self.layers) < len(sizes) - 2
            self.layers.append([Neuron([next(rest) for _ in range(width)], next(rest), bent) for _ in range(count)])

    def __call__(self, inputs):
        for layer in self.layers:
            inputs = [neuron(inputs) for neuron in layer]
        return inputs[0]


def step(numbers, xs, ys, rate):
    """Do one step of gradient descent on all examples: the new numbers, and the loss before the step."""
    network = Network(SIZES, numbers)
    loss = sum([(network(x) - y) ** 2 for x, y in zip(xs, ys)]) * (1.0 / len(xs))
    loss.backward()
    for value in network.values:
        value.data -= rate * value.grad
    return [value.data for value in network.values], loss.data


SIZES = [2, 3, 1]
XS, YS = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [-1.0, 1.0, 1.0, -1.0]


def numbers_of(sizes, seed=4):
    count = sum((width + 1) * following for width, following in itertools.pairwise(sizes))
    return np.random.default_rng(seed).normal(size=count).tolist()


def main():
    import hovis_xla

    compiled = hovis_xla.jit(step, target="xla")
    numbers, others = numbers_of(SIZES), numbers_of(SIZES)
    for k in range(200):
        numbers, loss = compiled(numbers, XS, YS, 0.1)
        if k < 20:
            others, expected = step(others, XS, YS, 0.1)
            assert abs(loss - expected) < 1e-9
        if k % 40 == 0:
            print(f"step {k}: loss {loss:.6f}")
    print(f"loss {loss:.6f}")
    print(compiled.explain())
    assert loss < 0.01


if __name__ == "__main__":
    main()
