"""The rules of hovis.library.numpy against NumPy itself: contains(rule(types of args), fn(*args)), and the dims with it."""
import builtins
import operator
import warnings

import numpy as np
import pytest

from hovis.ir.model import Effect
from hovis.lattice import ANY, Array, Const, Partial, Type, contains
from hovis.library.core import Library, Primitive
from hovis.library.numpy import ATTRIBUTE_DIMS, ATTRIBUTES, NUMPY, numpy_over
from hovis.library.numpy.rules import ufuncs
from hovis.library.numpy.types.shapes import UNKNOWN, Facts


class C:
    """A known argument."""

    def __init__(self, value):
        self.value = value


def abstract(value):
    if isinstance(value, C):
        return Const(value.value)
    if isinstance(value, np.ndarray):
        return Array(np.ndarray, value.dtype, value.ndim)
    if isinstance(value, (tuple, list)):
        return Partial(type(value), range(len(value)), map(abstract, value))
    return Type(type(value))


def facts(value):
    t = abstract(value)
    if isinstance(value, C):
        return Facts(t, np.shape(value.value) if isinstance(value.value, np.ndarray) else (), value.value)
    if isinstance(value, (tuple, list)):
        parts = tuple(map(facts, value))
        known = tuple(p.value for p in parts) if all(p.known for p in parts) and isinstance(value, tuple) else UNKNOWN
        return Facts(t, None, known, parts)
    return Facts(t, np.shape(value))


def concrete(value):
    if isinstance(value, C):
        return value.value
    if isinstance(value, (tuple, list)):
        return type(value)(map(concrete, value))
    return value


f8, f4 = np.arange(1.0, 7).reshape(2, 3), np.arange(1, 4, dtype="f4")
i4, u1, b1, c8 = np.arange(3, dtype="i4"), np.array([1, 2, 250], "u1"), np.array([True, False, True]), np.array([1 + 2j, 3, 4], "c8")
z0, sq = np.array(2.5), np.array([[4.0, 1], [1, 3]])
OPERANDS = [f8, f4, i4, u1, b1, c8, z0, np.float64(2), np.float32(3), np.int8(2), np.bool_(True), 2, 1.5, True, 1j]

CASES = [
    *((fn, x) for fn in (np.sin, np.exp, np.isnan, np.logical_not, np.square, operator.neg, operator.abs, np.floor, np.sign) for x in OPERANDS),
    *((fn, x, y) for fn in (operator.add, operator.truediv, operator.lt, operator.pow, np.maximum, np.arctan2) for x in OPERANDS for y in OPERANDS),
    *((fn, i4, C(3)) for fn in (operator.floordiv, operator.mod, operator.and_, operator.lshift)),
    *((fn, x) for fn in (int, float, bool, complex, operator.truth, operator.not_) for x in (z0, np.float64(2), np.int8(3), np.array([3]))),
    (round, np.float64(2.5)), (round, np.float64(2.5), C(1)), (builtins.max, np.float64(1), np.float64(2)), (divmod, i4, C(2)),
    *((fn, x) for fn in (np.sum, np.prod, np.mean, np.std, np.max, np.all, np.argmax, np.cumsum, np.ndarray.sum, np.ndarray.mean, np.add.reduce) for x in (f8, f4, i4, b1)),
    *((fn, f8, C(a)) for fn in (np.sum, np.mean, np.min, np.argmin, np.cumsum, np.ndarray.sum, np.median, np.add.reduce) for a in (0, 1, -1)),
    (np.sum, f8, C((0, 1))), (np.sort, f8), (np.argsort, f8, C(0)), (np.ndarray.item, z0),
    (np.reshape, f8, C((3, 2))), (np.reshape, f8, C(-1)), (np.ndarray.reshape, f8, C(3), C(-1)), (np.ndarray.reshape, f8, (3, C(2))), (np.ravel, f8),
    (np.transpose, f8), (np.transpose, f8, C((1, 0))), (np.swapaxes, f8, C(0), C(1)), (np.expand_dims, f8, C(1)), (np.expand_dims, f4, C(-1)),
    (np.squeeze, np.ones((1, 3)), C(0)), (np.broadcast_to, f4, C((2, 3))), (np.concatenate, [f8, f8]), (np.concatenate, (f8, f8), C(1)), (np.stack, [f4, f4], C(1)),
    (np.hstack, [f4, f4]), (np.vstack, [f4, i4]), (np.tril, sq), (np.roll, f4, C(1)), (np.repeat, f4, C(2)), (np.tile, f4, C((2, 2))), (np.diag, f4), (np.diag, sq),
    (np.copy, f8), (np.shape, f8), (len, f8), (np.size, f8), (np.atleast_2d, f4), (np.moveaxis, f8, C(0), C(1)),
    *((operator.getitem, f8, i) for i in (C(0), C((0, 1)), 1, (1, C(2)), (1, C(slice(None))), C(slice(0, 1)), C(Ellipsis), C((Ellipsis, None)), C((Ellipsis, 0, 0)), C(None), np.int64(1))),
    (operator.getitem, f8, C((slice(None), slice(None, None, -1)))), (operator.getitem, f4, np.array([0, 2])), (operator.getitem, f4, b1), (operator.getitem, f8, (np.array([0, 1]), 1)),
    (np.take, f4, np.array([[0, 1]])), (np.take, f8, C(1), C(0)), (np.nonzero, f8), (np.searchsorted, f4, 2.0), (np.searchsorted, f4, f8, C("right")),
    (np.matmul, sq, sq), (operator.matmul, f8, f4), (np.dot, f8, f4), (np.dot, f4, f4), (np.outer, f4, f4), (np.einsum, C("ij,j->i"), f8, f4), (np.einsum, C("ij->"), f8),
    (np.linalg.norm, f8), (np.linalg.norm, f8, C(None), C(0)), (np.linalg.inv, sq), (np.linalg.solve, sq, np.ones(2)), (np.linalg.det, sq), (np.linalg.cholesky, sq),
    (np.linalg.svd, sq), (np.linalg.slogdet, sq), (np.trace, sq), (np.tensordot, sq, sq), (np.inner, f4, f4), (np.kron, f4, f4),
    (np.zeros, C((2, 3))), (np.zeros, C(4)), (np.zeros, 4), (np.ones, (2, C(3))), (np.full, C((2,)), 1.5), (np.full, C(2), C(3)), (np.zeros_like, i4), (np.full_like, f4, 2),
    (np.arange, C(5)), (np.arange, 5), (np.arange, C(0), C(10), C(3)), (np.arange, 0.0, 1.0, 0.25), (np.linspace, 0.0, 1.0, C(7)), (np.eye, C(3)), (np.identity, C(2)),
    (np.array, [1.5, 2]), (np.array, [[1, C(2)], [3, 4]]), (np.array, [f4, f4]), (np.asarray, f8), (np.array, 2.0), (np.where, b1, f4, 0.0), (np.where, b1, i4, 2.5), (np.clip, f8, C(2), C(3.5)),
    (np.clip, i4, C(None), C(1)), (np.ndarray.clip, f4, 1.0, 2.0), (np.ndarray.astype, f8, C(np.int32)), (np.ndarray.astype, f8, C(float)), (np.float32, 2), (np.int64, i4), (np.bool_, 3.0),
    (np.float64.astype, np.float64(2), C("i4")), (np.real, c8), (np.round, f8), (np.round, f8, C(1)), (np.isclose, f8, f8), (np.angle, c8),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{getattr(c[0], '__qualname__', c[0])}({', '.join(repr(abstract(a)) for a in c[1:])})")
def test_the_rule_contains_what_numpy_gives(case):
    fn, *args = case
    row = NUMPY.primitives[fn]
    found = row.result(*map(abstract, args))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = fn(*map(concrete, args))
        except TypeError:
            assert found is None or (row.effect if isinstance(row.effect, Effect) else row.effect(*map(abstract, args))) & Effect.RAISES
            return
    if found is None:
        mine = any(isinstance(a, (np.ndarray, np.generic)) for a in map(concrete, args))
        assert not mine or fn in (operator.pow,) or fn in (builtins.complex, int, float) or isinstance(value, (int, float, complex)), f"nothing said of {value!r}"
        return
    assert contains(found, value), (found, value)
    if row.dims is not None and isinstance(value, np.ndarray):
        dims = row.dims.rule(*map(facts, args))
        if dims is not None:
            assert len(dims) == value.ndim
            assert all(d is None or d == n for d, n in zip(dims, value.shape)), (dims, value.shape)


def test_axis_and_keepdims_by_name():
    sums = NUMPY.primitives[np.sum].result
    assert repr(sums(abstract(f8), axis=Const(0), keepdims=Const(True))) == "float64[:, :]"
    assert repr(sums(abstract(f8), axis=Const(None))) == "float64"
    assert sums(abstract(f8), axis=Type(int)) is None
    assert sums(abstract(f8), out=abstract(f8)) is None


def test_what_is_not_numpys_gets_no_answer():
    for fn in ufuncs.OPERATORS:
        types = [Type(int)] * ufuncs.OPERATORS[fn].nin
        assert NUMPY.primitives[fn].result(*types) is None
    assert NUMPY.primitives[operator.add].result(abstract(f8), ANY) is None
    assert NUMPY.primitives[operator.add].result(abstract(f8), Type(str)) is None
    assert NUMPY.primitives[operator.getitem].result(Type(list), Type(int)) is None
    assert NUMPY.primitives[np.sin].result(Array(np.ndarray, np.dtype(object), 1)) is None


def test_numpy_over_asks_both():
    python = Library("python", {operator.add: Primitive(operator.add, lambda a, b: Type(int) if a == b == Type(int) else None)})
    both = numpy_over(python).primitives[operator.add]
    assert both.result(Type(int), Type(int)) == Type(int)
    assert both.effect(Type(int), Type(int)) == 0
    assert repr(both.result(abstract(f4), Type(float))) == "float32[:]"
    assert both.effect(abstract(f4), Type(float)) != 0
    assert both.fold(1, 2) is True
    assert both.fold(f4, 2) is False
    assert both.fold(np.float32(1), 2) is True


def test_attributes():
    for name in ("shape", "ndim", "size", "dtype", "T", "real", "imag"):
        for value in (f8, c8, np.float32(2), np.complex64(1j)):
            found = ATTRIBUTES[(np.ndarray if isinstance(value, np.ndarray) else np.generic), name](abstract(value))
            assert found is not None
            assert contains(found[0], getattr(value, name)), (name, value)
    assert ATTRIBUTES[np.ndarray, "T"](Type(list)) is None
    assert ATTRIBUTE_DIMS[np.ndarray, "T"]((2, "n")) == ("n", 2)
