"""Derivatives of contractions: matrix products, einsum, and functions defined by them."""

import operator
from typing import Any

import numpy as np

from hovis.library.numpy.adjoints.tangents import conjugate, depth, fitted, in_a_row, rank_of, shape_of
from hovis.library.tables.derivatives import defined, linear, multilinear, pull, push


def swapped(x: Any) -> Any:
    """Return the conjugate transpose of a matrix or a stack of matrices."""
    return conjugate(np.swapaxes(x, -1, -2))


def _matmul_left(g: Any, y: Any, a: Any, b: Any) -> Any:
    if b.ndim == 1:
        return fitted(np.expand_dims(g, -1) * conjugate(b), a) if a.ndim > 1 else fitted(g * conjugate(b), a)
    if a.ndim == 1:
        return fitted(np.matmul(conjugate(b), np.expand_dims(g, -1))[..., 0], a)
    return fitted(np.matmul(g, swapped(b)), a)


def _matmul_right(g: Any, y: Any, a: Any, b: Any) -> Any:
    if a.ndim == 1:
        if b.ndim == 1:
            return fitted(g * conjugate(a), b)
        return fitted(np.expand_dims(conjugate(a), -1) * np.expand_dims(g, -2), b)
    if b.ndim == 1:
        return fitted(np.matmul(swapped(a), np.expand_dims(g, -1))[..., 0], b)
    if b.ndim == 2 and a.ndim > 2:
        # b is the same matrix in the whole batch: one contraction in place of a sum of products
        rows = list(range(a.ndim - 1))
        return fitted(np.tensordot(conjugate(a), g, axes=(rows, rows)), b)
    return fitted(np.matmul(swapped(a), g), b)


multilinear((np.matmul, operator.matmul), _matmul_left, _matmul_right)


def _letters(n: int, start: int = 0) -> str:
    return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[start : start + n]


def _explicit(subscripts: str, operands: Any) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result, with ellipses expanded to labels."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    most = 0
    for term, x in zip(terms, operands, strict=True):
        if "..." in term:
            most = max(most, depth(x) - len(term) + 3)
    used = set(subscripts)
    spare = [c for c in _letters(52) if c not in used][:most]
    found = []
    for term, x in zip(terms, operands, strict=True):
        if "..." in term:
            n = depth(x) - len(term) + 3
            term = term.replace("...", "".join(spare[most - n :]))
        found.append(term)
    if not arrow:
        labels = sorted(set(left) - {",", "."})
        right = ("..." if most else "") + "".join([c for c in labels if left.count(c) == 1])
    return found, right.replace("...", "".join(spare))


def _as_text(given: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Convert operands that alternate with lists of axis numbers to a string of subscripts and the operands."""
    count = len(given) // 2
    written = ",".join([_labels(given[2 * k + 1]) for k in range(count)])
    if len(given) % 2:
        written = written + "->" + _labels(given[-1])
    return written, [given[2 * k] for k in range(count)]


def _labels(axes: Any) -> str:
    return "".join(["..." if axis is Ellipsis else _letters(1, axis) for axis in axes])


def _einsum(k: int, g: Any, y: Any, subscripts: Any, *operands: Any, **named: Any) -> Any:
    if not isinstance(subscripts, str):
        written, arrays = _as_text((subscripts, *operands))
        return _einsum(k // 2 + 1, g, y, written, *arrays, **named)
    at = k - 1
    terms, result = _explicit(subscripts, operands)
    x, own = operands[at], terms[at]
    others = [j for j in range(len(operands)) if j != at]
    have = set(result)
    for j in others:
        have |= set(terms[j])
    # a label that is in no other operand and not in the result becomes an operand of ones; a repeated label becomes a diagonal
    once = "".join([c for j, c in enumerate(own) if c not in own[:j]])
    sizes = {}
    for label, size in zip(own, shape_of(x), strict=True):
        sizes[label] = size
    lonely = [c for c in once if c not in have]
    inputs = [result, *[terms[j] for j in others], *lonely]
    given = [g, *[conjugate(operands[j]) for j in others], *[np.ones(sizes[c]) for c in lonely]]
    found = np.einsum(",".join(inputs) + "->" + once, *given)
    if len(once) < len(own):
        masks = []
        for j, label in enumerate(own):
            first = own.index(label)
            if first < j:
                shape = [sizes[label] if i in (first, j) else 1 for i in range(len(own))]
                masks.append(np.reshape(np.eye(sizes[label]), shape))
        found = np.reshape(found, [x.shape[j] if own.index(c) == j else 1 for j, c in enumerate(own)])
        for mask in masks:
            found = found * mask
    return fitted(found, x)


def _einsum_push(k: int, t: Any, y: Any, subscripts: Any, *operands: Any, **named: Any) -> Any:
    if not isinstance(subscripts, str):
        written, arrays = _as_text((subscripts, *operands))
        return _einsum_push(k // 2 + 1, t, y, written, *arrays, **named)
    return np.einsum(subscripts, *operands[: k - 1], t, *operands[k:], **named)


pull(np.einsum, every=_einsum)
push(np.einsum, every=_einsum_push)

# ------------------------------------------------------------------------------------------------- functions defined by other contractions


def _axes(a: Any, b: Any, axes: Any) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        return list(range(a.ndim - axes, a.ndim)), list(range(axes))
    first, second = axes
    left = [first] if isinstance(first, int) else list(first)
    right = [second] if isinstance(second, int) else list(second)
    return [k % a.ndim for k in left], [k % b.ndim for k in right]


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """``np.tensordot`` as a matrix product."""
    left, right = _axes(a, b, axes)
    keep_a = [k for k in range(a.ndim) if k not in left]
    keep_b = [k for k in range(b.ndim) if k not in right]
    size = 1
    for k in left:
        size = size * a.shape[k]
    rows, columns = [a.shape[k] for k in keep_a], [b.shape[k] for k in keep_b]
    flat_a = np.reshape(np.transpose(a, [*keep_a, *left]), (count(rows), size))
    flat_b = np.reshape(np.transpose(b, [*right, *keep_b]), (size, count(columns)))
    return np.reshape(np.matmul(flat_a, flat_b), [*rows, *columns])


def count(sizes: Any) -> int:
    """Return the product of sizes."""
    found = 1
    for size in sizes:
        found = found * size
    return found


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """``np.dot``."""
    if rank_of(a) == 0 or rank_of(b) == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return np.matmul(a, b)
    return tensordot(a, b, ([a.ndim - 1], [max(b.ndim - 2, 0)]))


def inner(a: Any, b: Any) -> Any:
    """``np.inner``."""
    if rank_of(a) == 0 or rank_of(b) == 0:
        return a * b
    return tensordot(a, b, ([a.ndim - 1], [b.ndim - 1]))


def kron(a: Any, b: Any) -> Any:
    """``np.kron``."""
    if rank_of(a) == 0 or rank_of(b) == 0:
        return a * b
    n = max(a.ndim, b.ndim)
    left, right = (1,) * (n - a.ndim) + a.shape, (1,) * (n - b.ndim) + b.shape
    wide = [size for k in range(n) for size in (left[k], 1)]
    tall = [size for k in range(n) for size in (1, right[k])]
    return np.reshape(np.reshape(a, wide) * np.reshape(b, tall), [left[k] * right[k] for k in range(n)])


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """``np.cross`` of vectors of length 3, or of length 2 (where the result is the third component)."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    last = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    if a.shape[-1] == 2 and b.shape[-1] == 2:
        return last
    x = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    y = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    return np.moveaxis(np.stack((x, y, last), axis=-1), -1, axisc)


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """``np.convolve`` as a product with shifted copies."""
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    wide = np.concatenate((np.zeros(m - 1), a, np.zeros(m - 1)))
    at = np.reshape(np.arange(n + m - 1), (n + m - 1, 1)) + np.arange(m)
    full = np.matmul(wide[at], np.flip(v, 0))
    if mode == "full":
        return full
    if mode == "same":
        first = (m - 1) // 2
        return full[first : first + n]
    return full[m - 1 : n]


defined((np.dot, np.ndarray.dot), dot, parameters="a b out")
defined(np.inner, inner)
defined(np.vdot, lambda a, b: np.sum(conjugate(np.reshape(a, (-1,))) * np.reshape(b, (-1,))))
defined(np.outer, lambda a, b, out=None: np.expand_dims(in_a_row(a), 1) * in_a_row(b), parameters="a b")
defined(np.tensordot, tensordot)
defined(np.kron, kron)
defined((np.cross, np.linalg.cross), cross)
defined(np.convolve, convolve)
defined(np.correlate, lambda a, v, mode="valid": _correlate(a, v, mode))
defined((np.vecdot, np.linalg.vecdot), lambda a, b, **named: np.sum(conjugate(a) * b, axis=named.get("axis", -1)))
if hasattr(np, "matvec"):
    defined(np.matvec, lambda a, b: np.matmul(a, np.expand_dims(b, -1))[..., 0])
    defined(np.vecmat, lambda a, b: np.matmul(np.expand_dims(conjugate(a), -2), b)[..., 0, :])
defined(np.linalg.matmul, lambda a, b: np.matmul(a, b))
defined(np.linalg.outer, lambda a, b: np.reshape(a, (-1, 1)) * np.reshape(b, (-1,)))
defined(np.linalg.tensordot, lambda a, b, axes=2: tensordot(a, b, axes))


def _correlate(a: Any, v: Any, mode: str) -> Any:
    if v.shape[0] > a.shape[0]:
        return np.flip(conjugate(convolve(v, np.flip(conjugate(a), 0), mode)), 0)
    return convolve(a, np.flip(conjugate(v), 0), mode)


def _trace(g: Any, y: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    rows, columns = a.shape[axis1], a.shape[axis2]
    shape = [1] * a.ndim
    shape[axis1], shape[axis2] = rows, columns
    mask = np.eye(rows, columns, offset)
    if axis1 % a.ndim > axis2 % a.ndim:
        mask = mask.T
    wide = np.expand_dims(g, (axis1 % a.ndim, axis2 % a.ndim)) if isinstance(g, np.ndarray) and g.ndim else g
    return wide * np.reshape(mask, shape)


linear((np.trace, np.ndarray.trace), _trace)
linear(np.linalg.trace, lambda g, y, a, *, offset=0, dtype=None: _trace(g, y, a, offset, -2, -1))
