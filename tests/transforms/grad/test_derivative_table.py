"""The table of derivatives: every row against differences, and every callable of the library has a row or a reason."""

import itertools
import math
import operator
import warnings
from typing import Any

import numpy as np
import pytest

import hovis
from hovis.ir.model import Return
from hovis.lattice import Const
from hovis.library.numpy import NUMPY
from hovis.library.numpy.adjoints import tangents
from hovis.transforms.derivative_rules import ROWS
from tests.transforms.harness.cases import CASES
from tests.transforms.harness.checking import check, check_again, complex_step, differentiable

STORES = {
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow, operator.imatmul, operator.iand,
    operator.ior, operator.ixor, operator.ilshift, operator.irshift, operator.setitem, np.ndarray.fill, np.ndarray.sort,
    np.copyto, np.fill_diagonal, np.put, np.ndarray.put, np.place, np.put_along_axis, np.putmask, np.ufunc.at,
}  # fmt: skip


def _name(fn: Any) -> str:
    return str(getattr(fn, "__qualname__", None) or fn.__name__)


@pytest.mark.parametrize(("row", "fn", "args"), CASES, ids=[f"{k}-{_name(row)}" for k, (row, _, _) in enumerate(CASES)])
def test_a_row(row: Any, fn: Any, args: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(fn, args)


#: Second derivatives of these are recorded: the pull adds at places that may be the same, or to numbers in a container, or goes
#: through complex matrices of an unknown kind.
RECORDED_TWICE = {np.convolve, np.correlate, np.polymul, np.interp, np.polyval, np.linalg.eig, np.linalg.eigvals, getattr(math, "sumprod", None)}
_FIRST = {id(ROWS.of(row)): k for k, (row, _, _) in reversed([*enumerate(CASES)]) if row not in RECORDED_TWICE}


@pytest.mark.parametrize("k", sorted(_FIRST.values()), ids=lambda k: f"{k}-{_name(CASES[k][0])}")
def test_a_row_again(k: int) -> None:
    """One operand form of each row, differentiated twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_again(*CASES[k][1:])


@pytest.mark.parametrize("k", [k for k, (row, _, _) in enumerate(CASES) if row is np.prod or row is np.cumprod])
def test_products_again(k: int) -> None:
    """Where there are zeros the product of all others is one of several cases."""
    check_again(*CASES[k][1:])


def test_second_derivatives_of_products_of_zeros() -> None:
    for zeros in range(4):
        x = np.array([0.0, 0.0, 0.0, 2.0, 3.0])
        x[zeros:3] = 1.5
        expected = [[0.0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(5)] for i in range(5)]
        assert np.allclose(hovis.hessian(np.prod)(x), expected)


def test_through_a_block_that_asks_for_calm() -> None:
    def f(x: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.log(x) * x
        return np.sum(y)

    x = np.array([1.0, 2.0])
    assert np.allclose(hovis.grad(f)(x), np.log(x) + 1.0)
    assert np.allclose(hovis.hessian(f)(x), np.diag(1.0 / x))
    assert np.allclose(hovis.vmap(f)(np.stack([x, 2.0 * x])), [f(x), f(2.0 * x)])


#: Results that are no numbers, in-place operations (which are those of the operators), and what is random.
def _needs_none(fn: Any) -> bool:
    if isinstance(getattr(fn, "__self__", None), np.ufunc) or fn in STORES:
        # methods of one ufunc are those of all; what writes is no matter of rows
        return True
    if str(getattr(fn, "__module__", "")).startswith("hovis.") and fn not in ROWS.absent:
        # what the transforms themselves write
        return True
    module = str(getattr(fn, "__module__", None) or getattr(getattr(fn, "__objclass__", None), "__module__", ""))
    name = _name(fn)
    return name.startswith(("Generator.", "RandomState.", "array2string", "array_repr", "array_str", "random", "r_", "c_")) or module.startswith("numpy.random")


def test_every_function_of_numpy_has_a_row_or_a_reason() -> None:
    missing = [_name(fn) for fn in NUMPY.primitives if callable(fn) and not _needs_none(fn) and ROWS.of(fn) is None and fn not in ROWS.absent]
    assert not missing, f"{len(missing)} without: {sorted(missing)}"


#: What only the transforms write.
UNCALLED = {"make_tuple", "make_list", "fitted_like", "afresh", "check_bound", "updated", "float.__float__"}
#: Differences of numbers of so few digits say nothing.
ROUGH = {"float16", "float32", "complex64"}


def test_each_row_is_checked() -> None:
    """A row without a case fails here; several callables may have one row."""
    checked = {id(ROWS.rows[row]) for row, _, _ in CASES if row in ROWS.rows}
    missing = [_name(fn) for fn in ROWS if not ROWS.rows[fn].constant and id(ROWS.rows[fn]) not in checked and _name(fn) not in UNCALLED | ROUGH]
    assert not missing, f"{len(missing)} not checked: {sorted(missing)}"


@pytest.mark.parametrize("fn", [np.exp, np.tanh, np.matmul, np.linalg.solve, np.cumprod, np.var, np.sqrt, np.prod, np.einsum, np.linalg.inv], ids=_name)
def test_what_is_analytic_is_held_against_a_complex_step(fn: Any) -> None:
    cases = [(f, args) for row, f, args in CASES if row is fn and not any(np.iscomplexobj(x) for x in args)]
    steps = [complex_step(f, args, [k for k, x in enumerate(args) if differentiable(x)], [np.ones(np.shape(x)) for x in args if differentiable(x)]) for f, args in cases]
    assert any(step is not None for step in steps)


def test_what_has_no_row_says_where() -> None:
    with pytest.raises(hovis.DerivativeError, match=r"polydiv.*test_derivative_table.py:\d+.*custom_vjp"):
        hovis.grad(lambda x: np.sum(np.polydiv(x, np.array([1.0, 2.0]))[0]))(np.ones(4))




def _unpadded(x: Any) -> Any:
    return np.sum(np.pad(x, 1, mode=lambda row, width, axis, extra: None))


def _recorded(x: Any) -> Any:
    return np.sum(next(iter([np.pad(x, 1, mode=lambda row, width, axis, extra: None)])))


def _reduced(x: Any) -> Any:
    return np.hypot.reduce(x)


@pytest.mark.parametrize("f", [_unpadded, _recorded, _reduced], ids=_name)
def test_a_row_that_declines_says_where_and_what_it_is_for(f: Any) -> None:
    for derived in (lambda: hovis.grad(f)(np.ones(4)), lambda: hovis.jvp(f, (np.ones(4),), (np.ones(4),))):
        with pytest.raises(hovis.DerivativeError, match=r"the derivative of .*test_derivative_table.py:\d+.*custom_vjp"):
            derived()


def test_widths_of_a_padding_that_are_no_tuples() -> None:
    x = np.arange(6.0).reshape(2, 3)
    expected = hovis.grad(lambda x: np.sum(np.pad(x, ((0, 0), (1, 2)), "edge") ** 2))(x)
    for widths in ({-1: (1, 2)}, np.array([[0, 0], [1, 2]])):
        assert np.array_equal(hovis.grad(lambda x, widths=widths: np.sum(np.pad(x, widths, "edge") ** 2))(x), expected)


_ASKED_ABOUT = [
    2.5, 2, True, 1j, np.float64(1.5), np.float32(1.5), np.int64(3), np.complex128(1j), np.zeros(()), np.zeros(3), np.zeros(3, np.float32),
    np.zeros((2, 3)), np.zeros((3, 2)), np.zeros((2, 3), complex), np.zeros((2, 3), int), np.asfortranarray(np.zeros((2, 3))),
]  # fmt: skip


def _spec(value: Any) -> Any:
    return hovis.Array(value.dtype, value.shape) if isinstance(value, np.ndarray) else type(value)


@pytest.mark.parametrize("fn", [tangents.is_array, tangents.is_complex, tangents.shape_of], ids=_name)
def test_what_rules_ask_of_an_operand_is_answered_as_it_is(fn: Any) -> None:
    for value in _ASKED_ABOUT:
        end = hovis.trace(fn, _spec(value)).function.blocks[0].terminator
        assert isinstance(end, Return)
        assert end.value == Const(fn(value)), value


def test_a_cotangent_that_fits_is_of_the_type_and_the_shape() -> None:
    for g, x in itertools.product(_ASKED_ABOUT, repeat=2):
        said = hovis.trace(lambda g, x: (tangents.fits(g, x),), _spec(g), _spec(x))(g, x)[0]
        assert said == tangents.fits(g, x), (g, x)


def test_a_cotangent_of_which_the_shape_is_not_known_may_not_fit() -> None:
    for g, x in ((np.zeros((2, 3)), np.zeros((2, 3))), (np.zeros((2, 3)), np.zeros((1, 3)))):
        for shape in ((None, 3), (2, None), (None, None)):
            told = hovis.trace(lambda g, x: (tangents.fits(g, x),), hovis.Array(np.float64, shape), _spec(x))
            assert not told(g, x)[0]
