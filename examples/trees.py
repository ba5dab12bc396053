"""A predictor that walks gradient-boosted trees: with the model known, only nested comparisons and additions remain.

    python examples/trees.py
"""
from dataclasses import dataclass

import hovis


@dataclass(frozen=True)
class Leaf:
    value: float


@dataclass(frozen=True)
class Split:
    feature: int
    threshold: float
    missing_left: bool
    left: "Split | Leaf"
    right: "Split | Leaf"


@dataclass(frozen=True)
class Model:
    base: float
    rate: float
    trees: tuple


def goes_left(split, value):
    if value is None:
        return split.missing_left
    return value < split.threshold


def predict(model, row):
    """Return the prediction for a row: a list of numbers, None for missing values."""
    total = model.base
    for tree in model.trees:
        node = tree
        while isinstance(node, Split):
            node = node.left if goes_left(node, row[node.feature]) else node.right
        total += model.rate * node.value
    return total


MODEL = Model(
    base=0.5,
    rate=0.1,
    trees=(
        Split(0, 3.5, True, Split(1, 1.0, False, Leaf(-1.0), Leaf(0.25)), Leaf(2.0)),
        Split(2, 10.0, False, Leaf(0.5), Split(0, 7.25, False, Leaf(1.5), Leaf(-2.5))),
        Split(1, -2.0, True, Leaf(3.0), Leaf(-0.125)),
    ),
)

ROWS = [[1.0, 0.0, 4.0], [5.0, 2.0, 11.0], [None, -3.0, None], [8.0, None, 12.5]]


def by_hand(row):
    """The same model, written as an expert would."""
    total = 0.5
    x = row[0]
    if True if x is None else x < 3.5:
        x = row[1]
        if False if x is None else x < 1.0:
            total += -0.1
        else:
            total += 0.025
    else:
        total += 0.2
    x = row[2]
    if False if x is None else x < 10.0:
        total += 0.05
    else:
        x = row[0]
        if False if x is None else x < 7.25:
            total += 0.1 * 1.5
        else:
            total += -0.25
    x = row[1]
    if True if x is None else x < -2.0:
        total += 0.1 * 3.0
    else:
        total += -0.0125
    return total


def specialized():
    """The residual: a function of the row alone."""
    return hovis.specialize(predict, hovis.const(MODEL), hovis.Any)


if __name__ == "__main__":
    residual = specialized()
    print(residual.trace.source())
    for row in ROWS:
        assert residual(row) == predict(MODEL, row) == by_hand(row)
        print(row, residual(row))
