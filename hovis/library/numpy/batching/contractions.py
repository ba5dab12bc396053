"""Batched products of vectors and matrices."""

import operator
from typing import Any, Final

import numpy as np

from hovis.library.numpy.batching.base import rank
from hovis.library.tables.batching import batched

_LETTERS: Final = "abcdefghijklmnopqrstuvwxy"


@batched(operator.matmul, np.matmul)
def _matmul(lanes: int, which: tuple[bool, ...], a: Any, b: Any) -> Any:
    ranks = rank(a, which[0]), rank(b, which[1])
    if ranks == (1, 1):
        return np.einsum(f"{'z' * which[0]}k,{'z' * which[1]}k->z", a, b)
    most = max(*ranks, 2)
    if ranks[0] == 1:
        return np.matmul(_lifted(a[..., None, :], which[0], most), b)[..., 0, :]
    if ranks[1] == 1:
        return np.matmul(a, _lifted(b[..., None], which[1], most))[..., 0]
    return np.matmul(_lifted(a, which[0], most), _lifted(b, which[1], most))


def _lifted(x: Any, batched: bool, most: int) -> Any:
    """Insert axes behind the batch axis of x, to make its matrices broadcast against operands of rank ``most`` per lane."""
    if not batched:
        return x
    return np.reshape(x, x.shape[:1] + (1,) * (most + 1 - x.ndim) + x.shape[1:])


def _summed(lanes: int, which: tuple[bool, ...], a: Any, b: Any, over: int, at: int) -> Any:
    """Contract axis ``over`` of a with axis ``at`` of b in each lane; in the result the axes of a come first."""
    ours, others = _LETTERS[: rank(a, which[0])], _LETTERS[12 : 12 + rank(b, which[1])]
    others = others[:at] + ours[over] + others[at + 1 :]
    found = ours.replace(ours[over], "") + others.replace(ours[over], "")
    return np.einsum(f"{'z' * which[0]}{ours},{'z' * which[1]}{others}->z{found}", a, b)


@batched(np.dot, np.ndarray.dot)
def _dot(lanes: int, which: tuple[bool, ...], a: Any, b: Any) -> Any:
    ranks = rank(a, which[0]), rank(b, which[1])
    if min(ranks) == 0:
        a, b = (np.reshape(x, x.shape + (1,) * max(ranks)) if r == 0 and flag else x for x, r, flag in zip((a, b), ranks, which, strict=True))
        return a * b
    return _summed(lanes, which, a, b, ranks[0] - 1, max(ranks[1] - 2, 0))


@batched(np.inner)
def _inner(lanes: int, which: tuple[bool, ...], a: Any, b: Any) -> Any:
    return _summed(lanes, which, a, b, rank(a, which[0]) - 1, rank(b, which[1]) - 1)


@batched(np.outer)
def _outer(lanes: int, which: tuple[bool, ...], a: Any, b: Any) -> Any:
    ours = np.reshape(a, (lanes, -1)) if which[0] else np.ravel(a)
    others = np.reshape(b, (lanes, -1)) if which[1] else np.ravel(b)
    return ours[..., :, None] * others[..., None, :]


@batched(np.vdot)
def _vdot(lanes: int, which: tuple[bool, ...], a: Any, b: Any) -> Any:
    ours = np.reshape(a, (lanes, -1)) if which[0] else np.ravel(a)
    others = np.reshape(b, (lanes, -1)) if which[1] else np.ravel(b)
    return np.einsum(f"{'z' * which[0]}k,{'z' * which[1]}k->z", np.conjugate(ours), others)


@batched(np.einsum)
def _einsum(lanes: int, which: tuple[bool, ...], form: str, *operands: Any) -> Any:
    inputs, arrow, result = form.replace(" ", "").partition("->")
    if not arrow:
        names = inputs.replace(",", "")
        result = "".join([name for name in sorted(set(names)) if names.count(name) == 1])
    lane = next(name for name in "ZYXWVU" if name not in form)
    ours = ",".join([lane * flag + one for one, flag in zip(inputs.split(","), which[1:], strict=True)])
    return np.einsum(f"{ours}->{lane}{result}", *operands)


@batched(np.linalg.solve)
def _solve(lanes: int, which: tuple[bool, ...], a: Any, b: Any) -> Any:
    most = max(rank(a, which[0]), rank(b, which[1]))
    if rank(b, which[1]) == 1:
        return np.linalg.solve(_lifted(a, which[0], most), _lifted(b[..., None], which[1], most))[..., 0]
    return np.linalg.solve(_lifted(a, which[0], most), _lifted(b, which[1], most))
