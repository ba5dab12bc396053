"""A scalar autograd engine of small objects, trained through hovis: the objects dissolve, and one compiled step remains.

Each number of the computation is a ``Value`` that knows what it was made of and, as a closure, how to hand its slope on to
that. ``backward`` calls the closures from the end to the beginning. Nothing in here knows of hovis until ``main``.

    python examples/micrograd.py
"""
import itertools
import math

import numpy as np


class Value:
    """A number, its slope, and what it was made of."""

    def __init__(self, data, parents=()):
        self.data = data
        self.slope = 0.0
        self.parents = parents
        self.waits_for = 0
        for parent in parents:
            parent.waits_for += 1
        self.hand_on = lambda: None

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        made = Value(self.data + other.data, (self, other))

        def hand_on():
            self.slope += made.slope
            other.slope += made.slope

        made.hand_on = hand_on
        return made

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        made = Value(self.data * other.data, (self, other))

        def hand_on():
            self.slope += other.data * made.slope
            other.slope += self.data * made.slope

        made.hand_on = hand_on
        return made

    def __pow__(self, power):
        made = Value(self.data**power, (self,))

        def hand_on():
            self.slope += power * self.data ** (power - 1) * made.slope

        made.hand_on = hand_on
        return made

    def tanh(self):
        made = Value(math.tanh(self.data), (self,))

        def hand_on():
            self.slope += (1.0 - made.data**2) * made.slope

        made.hand_on = hand_on
        return made

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -other

    __radd__, __rmul__ = __add__, __mul__

    def backward(self):
        """The slope of this value in all that it was made of: each hands on when all that it is in have done so."""
        self.slope = 1.0
        ready = [self]
        while ready:
            value = ready.pop()
            value.hand_on()
            for parent in value.parents:
                parent.waits_for -= 1
                if parent.waits_for == 0:
                    ready.append(parent)


class Neuron:
    def __init__(self, weights, bias, bent):
        self.weights, self.bias, self.bent = weights, bias, bent

    def __call__(self, inputs):
        total = sum((w * x for w, x in zip(self.weights, inputs)), self.bias)
        return total.tanh() if self.bent else total


class Network:
    """Layers of neurons, the last one straight; its weights are taken from a list of numbers, in order."""

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
    """One step of gradient descent on all examples: the new numbers, and the loss before."""
    network = Network(SIZES, numbers)
    loss = sum([(network(x) - y) ** 2 for x, y in zip(xs, ys)]) * (1.0 / len(xs))
    loss.backward()
    return [value.data - rate * value.slope for value in network.values], loss.data


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
