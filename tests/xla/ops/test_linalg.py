"""np.linalg: norms and powers compiled, decompositions by NumPy itself, with its named tuples and its errors."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check
from tests.xla.ops.test_contractions import array

A = array(4, 4)
S = A @ A.T + np.eye(4)
STACK = array(2, 3, 3) + 3 * np.eye(3)


def decompositions(a, s, t):
    lin = np.linalg
    return (
        lin.det(a), lin.slogdet(a), lin.inv(a), lin.cholesky(s), lin.cholesky(s, upper=True), lin.eigh(s), lin.eigh(s, "U"), lin.eigvalsh(s),
        lin.qr(t), lin.qr(t.T), lin.qr(t, "r"), lin.qr(t, mode="complete"), lin.qr(t, mode="raw"), lin.svd(t), lin.svd(t, full_matrices=False),
        lin.svd(t, compute_uv=False), lin.svdvals(t), lin.pinv(t), lin.pinv(s, hermitian=True), lin.matrix_rank(t), lin.cond(a), lin.cond(a, 1),
        lin.cond(a, "fro"), lin.tensorsolve(a, t[:, 0]), lin.tensorinv(a, ind=1), a + 1.0,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_decompositions(dtype):
    s = S.astype(dtype)
    check(decompositions, (array(4, 4, dtype=dtype), s, array(4, 3, dtype=dtype)), exact=True)


def test_of_integers_and_stacks():
    def fn(a, b):
        lin = np.linalg
        return lin.det(a), lin.inv(b), lin.eigh(b @ b.transpose(0, 2, 1)), lin.svd(b), lin.qr(b), lin.slogdet(b), lin.solve(b, b[..., :1]), lin.matrix_rank(b)

    check(fn, (np.array([[2, 1], [1, 3]]), STACK))


def test_named_tuples_are_those_of_numpy():
    def fields(a):
        made = np.linalg.eigh(a + a.T)
        w, v = made
        u, s, vh = np.linalg.svd(a)
        return made, w * made.eigenvalues, v @ np.diag(made[0]) @ made[1].T, len(made), np.linalg.qr(a).R, (u * s) @ vh, np.linalg.slogdet(a).logabsdet

    jitted = check(fields, A, S)
    assert type(jitted(A)[0]) is type(np.linalg.eigh(A))


def test_solve():
    def fn(a, b, v):
        x = np.linalg.solve(a, b)
        return x, np.linalg.solve(a, v), np.linalg.solve(a.T, x[:, 0]), np.linalg.solve(a[None], b), np.linalg.lstsq(a[:, :2], v), np.linalg.lstsq(a[:2], b[:2], rcond=None)[0]

    check(fn, (A, array(4, 2), array(4)), (S, array(4, 2), array(4)))
    check(fn, (A.astype("f4"), array(4, 2), array(4, dtype="f4")))
    check(fn, (A + 1j * S, array(4, 2), array(4)))


def test_errors_are_numpys():
    def solve(a, b):
        return np.linalg.solve(a * 1.0, b) + 1

    def chol(a):
        return np.linalg.cholesky(a * 1.0) + 1

    def inv(a):
        return np.linalg.inv(a * 1.0) + 1

    cases = [(solve, (A, A[0]), (A * 0, A[0])), (chol, (S,), (-S,)), (inv, (A,), (np.ones((4, 4)),))]
    for fn, good, bad in cases:
        jitted = hovis_xla.jit(fn)
        agree(fn, jitted, *good)
        assert "one XLA executable" in jitted.explain()
        agree(fn, jitted, *bad)
    for fn, bad in [(inv, A[:2]), (inv, A[0]), (chol, A[:2]), (solve, A)]:
        agree(fn, hovis_xla.jit(fn), bad, *([array(3)] if fn is solve else []))


def test_a_matrix_without_full_rank():
    def fn(a, b):
        return np.linalg.lstsq(a * 2.0, b)

    jitted = hovis_xla.jit(fn)
    for a in (array(5, 3), np.ones((5, 3)), array(5, 3)):
        agree(fn, jitted, a, array(5))


def test_eigenvalues_that_are_real_or_complex():
    def fn(a):
        return np.linalg.eigvals(a * 2.0), np.linalg.eig(a * 2.0).eigenvectors

    for a in (A, S, A + 1j * S):
        agree(fn, hovis_xla.jit(fn), a)


def test_in_loops():
    def newton(a, n):
        x = np.zeros(4)
        for i in range(n):
            w, v = np.linalg.eigh(a + i * np.eye(4))
            x = np.linalg.solve(a + np.diag(x * x), w) + v[0]
        return x

    check(newton, (S, 4), (S, 0))


def test_powers_and_chains():
    def fn(a, b, v):
        power = np.linalg.matrix_power
        return (
            power(a, 0), power(a, 1) + 0, power(a, 2), power(a, 3), power(a, 5), power(a, 10), power(a, -2), np.linalg.multi_dot([a, b]),
            np.linalg.multi_dot([a, b, b.T]), np.linalg.multi_dot([v, a, b]), np.linalg.multi_dot([a, b, b[0]]), np.linalg.multi_dot([v, a, b, b[0]]),
        )  # fmt: skip

    check(fn, (A, array(4, 2), array(4)))

    def by(a, n):
        return np.linalg.matrix_power(a, n) + 1

    check(by, (A, 3), (A, 0), (np.arange(9).reshape(3, 3), 4))
    agree(by, hovis_xla.jit(by), np.arange(1, 5).reshape(2, 2), -2)


def norms_of_vectors(x):
    norm, inf = np.linalg.norm, np.inf
    return (
        norm(x), norm(x, keepdims=True), *[norm(x, o, -1) for o in (None, 1, 2, 3, -1, 0, 0.5, inf, -inf)], norm(x, 2, 0, True), norm(x, axis=0),
        norm(x, ord=1, axis=0, keepdims=True), np.linalg.vector_norm(x), np.linalg.vector_norm(x, ord=1, keepdims=True), np.linalg.vector_norm(x, axis=-1, ord=3),
    )  # fmt: skip


def norms_of_matrices(x):
    norm, inf = np.linalg.norm, np.inf
    return (
        *[norm(x, o, (0, 1)) for o in (None, "fro", 1, -1, inf, -inf, 2, -2, "nuc")], norm(x, 1, (1, 0)), norm(x, inf, (-1, 0), keepdims=True),
        np.linalg.matrix_norm(x), np.linalg.matrix_norm(x, ord=1), np.linalg.matrix_norm(x, ord=inf, keepdims=True), np.linalg.vector_norm(x, axis=(0, 1)),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i4", "?"])
def test_norms(dtype):
    check(norms_of_vectors, array(5, dtype=dtype), array(3, 4, dtype=dtype), array(2, 3, 2, dtype=dtype))
    check(norms_of_matrices, array(3, 4, dtype=dtype), array(3, 4, 2, dtype=dtype))


def test_norms_of_nothing_and_of_nan():
    def fn(x):
        return np.linalg.norm(x), np.linalg.norm(x, 1, 0), np.linalg.norm(x, axis=0)

    check(fn, np.zeros((0, 3)), np.array([[np.nan, -0.0], [np.inf, 1.0]]))
    for bad in (3, "bad"):
        wrong = eval(f"lambda x: np.linalg.norm(x, {bad!r}, (0, 1))", {"np": np})
        agree(wrong, hovis_xla.jit(wrong), A)
