"""The subscripts of ``np.einsum``: the label of each dimension of each operand, and the labels of the result.

A label is a letter, an integer (where subscripts are lists), or ``(Ellipsis, k)`` for the k-th dimension from the right
among the dimensions that an ellipsis stands for.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hovis.library.numpy.types import shapes
from hovis.library.numpy.types.shapes import Dim, Shape

Label = Any
Labels = tuple[Label, ...]


class Terms(NamedTuple):
    """The labels of each operand and of the result."""

    inputs: tuple[Labels, ...]
    output: Labels


def split(text: str) -> tuple[list[list[Any]], list[Any] | None]:
    """Return the labels of the operands and of the result as written, an ellipsis as one label; None for the result if it is not written.

    >>> split("...ij, jk -> k")
    ([[Ellipsis, 'i', 'j'], ['j', 'k']], ['k'])
    """
    plain = text.replace(" ", "").replace("...", "…")
    left, arrow, right = plain.partition("->")
    inputs = [[Ellipsis if c == "…" else c for c in term] for term in left.split(",")]
    return inputs, [Ellipsis if c == "…" else c for c in right] if arrow else None


def parse(inputs: Sequence[Sequence[Any]], output: Sequence[Any] | None, ranks: Sequence[int]) -> Terms | None:
    """Return the Terms for operands of these ranks, or None if the labels do not fit."""
    if len(inputs) != len(ranks):
        return None
    terms: list[Labels] = []
    for term, rank in zip(inputs, ranks, strict=True):
        rest = rank - len(term) + 1
        if term.count(Ellipsis) > 1 or rest < 0 or (Ellipsis not in term and rest != 1):
            return None
        dots = [(Ellipsis, k) for k in range(rest - 1, -1, -1)]
        terms.append(tuple(x for label in term for x in (dots if label is Ellipsis else [label])))
    used = [x for term in terms for x in term]
    if not all(isinstance(x, int | tuple) or (isinstance(x, str) and x.isalpha()) for x in used):
        return None
    most = max((x[1] + 1 for x in used if isinstance(x, tuple)), default=0)
    all_dots = [(Ellipsis, k) for k in range(most - 1, -1, -1)]
    if output is None:
        once = sorted(x for x in set(used) if not isinstance(x, tuple) and used.count(x) == 1)
        return Terms(tuple(terms), (*all_dots, *once))
    found = tuple(x for label in output for x in (all_dots if label is Ellipsis else [label]))
    fits = len(set(found)) == len(found) and set(found) <= set(used) and (Ellipsis in output or not all_dots)
    return Terms(tuple(terms), found) if fits else None


def sizes(terms: Terms, operands: Sequence[Shape]) -> dict[Label, Dim]:
    """Return the dimension of each label; a dimension of 1 broadcasts against any other."""
    found: dict[Label, Dim] = {}
    for labels, shape in zip(terms.inputs, operands, strict=True):
        for label, dim in zip(labels, shape, strict=True):
            found[label] = shapes.broadcast_dim(found.get(label, 1), dim)
    return found


__all__ = ["Label", "Labels", "Terms", "parse", "sizes", "split"]
