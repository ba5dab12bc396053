"""Sums of products: matmul, dot, einsum and the rest, against NumPy."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check, stays_python

rng = np.random.default_rng(5)


def array(*shape, dtype="f8"):
    kind = np.dtype(dtype).kind
    if kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if kind == "b":
        return rng.random(shape) > 0.5
    return rng.normal(size=shape).astype(dtype) if kind == "f" else rng.integers(-9 if kind == "i" else 0, 9, shape).astype(dtype)


def products(a, b):
    v, w = a[0], b[:, 0]
    return (
        a @ b, a @ w, v @ b, v @ w, np.matmul(b, a), np.dot(a, b), np.dot(v, w), np.inner(a, b.T), np.inner(a, w), np.outer(v, w), np.outer(a, b),
        np.vdot(v, w), np.tensordot(a, b, 1), np.tensordot(a, b, axes=([0, 1], [1, 0])), np.tensordot(a, b, axes=(1, 0)), np.tensordot(v, w, 0),
        np.tensordot(a, b, axes=([-1], [-2])), np.kron(a, b), np.kron(v, b), np.vecdot(a, b.T), np.vecdot(a, b.T, axis=0), np.matvec(a, w),
        np.vecmat(w, b), a.dot(b), a.T @ b.T, (b.T @ a.T).T @ b.T, np.linalg.matmul(a, b), np.linalg.vecdot(a, b.T), np.linalg.outer(v, w),
        np.linalg.tensordot(a, b, axes=1), a.T @ a,
    )  # fmt: skip


@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("f4", "f8"), ("i8", "i8"), ("i4", "u1"), ("?", "?"), ("c16", "c16"), ("f8", "c8"), ("?", "i2")])
def test_products(dtypes):
    check(products, (array(3, 4, dtype=dtypes[0]), array(4, 3, dtype=dtypes[1])))


def test_products_with_numbers():
    def fn(a, x, n):
        return np.dot(a, x), np.dot(2, a), np.inner(a, n), np.outer(a, 3.0), np.dot(a, a[0, 0]), np.kron(a, 2), np.kron(n, a)

    check(fn, (array(2, 3, dtype="f4"), 2.5, 3), (array(2, 3, dtype="f4"), 0.5, -3))


def test_batches_broadcast():
    def fn(a, b, m, v):
        return (
            a @ b, a @ m, a @ v, m.T @ b, v @ np.swapaxes(a, 1, 2), np.matmul(a[:, None], b), np.dot(a, m), np.dot(m.T, a.transpose(0, 2, 1)), np.dot(a, v),
            np.inner(a, m.T), np.matvec(a, v), np.vecdot(a, v), np.tensordot(a, b, axes=([2, 0], [1, 0])), np.linalg.matmul(a, b),
        )  # fmt: skip

    check(fn, (array(5, 2, 3), array(5, 3, 4), array(3, 4), array(3)), (array(1, 2, 3), array(1, 3, 4), array(3, 4), array(3)))


def test_of_nothing():
    def fn(a, b):
        return a @ b, np.dot(b, a), np.einsum("ij,jk->", a, b), np.kron(a, b), np.inner(a, a), np.trace(b @ a)

    check(fn, (array(2, 0), array(0, 2)), (array(0, 3), array(3, 0)))


def test_what_does_not_fit_raises():
    for fn, args in [
        (lambda a: a @ a, (array(2, 3),)),
        (lambda a: np.einsum("ij,jk->ik", a, a), (array(2, 3),)),
        (lambda a: np.tensordot(a, a, 1), (array(2, 3),)),
        (lambda a: np.vecdot(a, a[:, :2]), (array(2, 3),)),
        (lambda a: np.einsum("ijk->i", a), (array(2, 3),)),
        (lambda a: np.trace(a), (array(3),)),
    ]:
        stays_python(fn, *args)


def einsums(a, b, s, v):
    return (
        np.einsum("ij,jk->ik", a, b), np.einsum("ij,jk", a, b), np.einsum("ij,jk->ki", a, b), np.einsum("ii", s), np.einsum("ii->i", s) * 2, np.einsum("ij->", a),
        np.einsum("ji", a) * 2, np.einsum("ij->i", a), np.einsum("i,i", v, v), np.einsum("i,j->ij", v, a[0]), np.einsum("ij,ij->i", a, a),
        np.einsum("ij,jk,kl->il", a, b, a), np.einsum("ij,jk,kl->il", a, b, a, optimize=True), np.einsum("ij,kj->ik", a, a, optimize="greedy"),
        np.einsum("ii,ij->j", s, a), np.einsum(a, [0, 1], b, [1, 2], [0, 2]), np.einsum(a, [0, 1], b, [1, 2]), np.einsum("ij,ij,ij->", a, a, a),
        np.einsum("IJ,Jk->kI", a, b), np.einsum(" i j , j k ", a, b), np.einsum("i,->i", v, 2), np.einsum("ij,j", a[:, :1], a[0]), np.einsum("i->", v),
        np.einsum(a, [0, ...], v, [0]), np.einsum("...,...", v, 3),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "i4", "c16", "?"])
def test_einsum(dtype):
    check(einsums, (array(3, 4, dtype=dtype), array(4, 3, dtype=dtype), array(3, 3, dtype=dtype), array(3, dtype=dtype)))


def test_einsum_with_ellipsis():
    def fn(q, k, m, s):
        return (
            np.einsum("bhqd,bhkd->bhqk", q, k), np.einsum("...qd,...kd->...qk", q, k), np.einsum("...ij,...jk", q, m), np.einsum("i...->...", q),
            np.einsum("...i->...", q), np.einsum("...ii->...i", s) + 0, np.einsum("b...,b...->b...", q, q), np.einsum("...i,i->...", q, m[:, 0]),
            np.einsum("bhqd,dk,hk->bq", q, m, m[:3]),
        )  # fmt: skip

    check(fn, (array(2, 3, 4, 5), array(2, 3, 6, 5), array(5, 4), array(2, 3, 3)))


def test_einsum_of_one_operand_may_be_a_view():
    def fn(a):
        x = a * 1.0
        y = np.einsum("ij->ji", x)
        y[0, 1] = 7.0
        return x, y

    agree(fn, hovis_xla.jit(fn), array(2, 3))


def test_a_transposed_operand_is_not_transposed():
    def fn(x, v, w):
        return x.T @ v, x.T @ w, np.einsum("ij->ji", x) @ w, w.T @ x, x.transpose(1, 0) @ w

    jitted = check(fn, (array(30, 4), array(30), array(30, 2)))
    text = jitted.lower(array(30, 4), array(30), array(30, 2)).as_text()
    assert [line for line in text.splitlines() if "dot_general" in line]
    assert all("[0] x [0]" in line for line in text.splitlines() if "dot_general" in line), text


def test_diagonals():
    def fn(a, t):
        return (
            np.trace(a), np.trace(a, 1), a.trace(offset=-1), np.trace(t, axis1=1, axis2=2), np.trace(t, 1, 2, 0), np.linalg.trace(t), np.trace(a, dtype=np.float32),
            np.diagonal(a) + 1, np.diagonal(a, 2) + 1, np.diagonal(a, -2) + 1, np.diagonal(a, 9) + 1, a.diagonal(-9) + 1, t.diagonal(0, 1, 2) + 1,
            np.diagonal(t, -1, 0, 2) + 1, np.linalg.diagonal(t, offset=1) + 1, np.linalg.trace(t, offset=-1),
        )  # fmt: skip

    check(fn, (array(5, 3), array(2, 3, 4)), (array(3, 5), array(4, 1, 2)), (array(0, 3), array(1, 1, 1)))
    check(fn, (array(3, 3, dtype="i1"), array(2, 2, 2, dtype="?")))


def test_cross_products_along_other_axes():
    def fn(a, b):
        return np.cross(a, b, axis=0), np.linalg.cross(a, b, axis=0), np.cross(a.T, b, axisa=1, axisb=0, axisc=0), np.cross(a, b.T, 0, 1, -1)

    a, b = np.random.default_rng(0).normal(size=(2, 3, 5))
    agree(fn, hovis_xla.jit(fn, strict=True), a, b)



def test_cross():
    def fn(a, b):
        return np.cross(a, b), np.cross(a[0], b), np.linalg.cross(a, b), np.cross(a[:, None], b)

    check(fn, (array(4, 3), array(4, 3)))
    check(fn, (array(4, 3, dtype="i4"), array(4, 3, dtype="f4")))


def test_in_place():
    def fn(a, b):
        x = a.copy()
        x @= b
        a @= b
        return x, a

    jitted = check(fn, (array(3, 3), array(3, 3)), (array(2, 3, 3), array(3, 3)))
    check(fn, (array(2, 2, dtype="f4"), array(2, 2)))
    a, b = array(3, 3), array(3, 3)
    wanted = a @ b
    assert jitted(a, b)[1] is a
    assert np.allclose(a, wanted)
    for bad in ((array(3, 2), array(2, 3)), (array(3), array(3, 3)), (array(2, 2, dtype="i4"), array(2, 2))):
        agree(fn, hovis_xla.jit(fn), *bad)


@pytest.mark.parametrize("n", [1, 2])
def test_sums_begin_with_zero(n):
    a, b = np.full((3, n), -0.0), np.ones((n, 3))

    def signs(a, b):
        products = a @ b, a[None] @ b, np.dot(a, b), np.einsum("ij,jk->ik", a, b), np.einsum("ij,ij->ij", a, b.T), np.einsum("ij,ij,jk->ik", a, a, b)
        return [np.copysign(1.0, x) for x in (*products, np.einsum("ij->ji", a))]

    check(signs, (a, b))


def test_products_of_batches_are_no_more_than_dots():
    text = hovis_xla.jit(lambda a, b: a @ b, target="xla").lower(array(4, 3, 5), array(5, 2)).as_text()
    assert "dot_general" in text and "compare" not in text
