"""np.fft against NumPy."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check
from tests.xla.ops.test_contractions import array


def along_one(x):
    f = np.fft
    return (
        f.fft(x), f.fft(x, 6), f.fft(x, 3, 0), f.fft(x, norm="ortho"), f.fft(x, norm="forward"), f.fft(x, n=5, axis=-2, norm="backward"),
        f.ifft(x), f.ifft(x, 6), f.ifft(x, 1), f.ifft(x, norm="ortho"), f.ifft(x, norm="forward", axis=0),
        f.irfft(x), f.irfft(x, 5), f.irfft(x, 12, 0), f.irfft(x, norm="ortho"), f.irfft(x, norm="forward"),
        f.hfft(x), f.hfft(x, 5, norm="ortho"), f.hfft(x, norm="forward"), f.hfft(x, axis=0),
    )  # fmt: skip


def of_reals(x):
    f = np.fft
    return (
        f.rfft(x), f.rfft(x, 6), f.rfft(x, 3, 0), f.rfft(x, norm="ortho"), f.rfft(x, norm="forward"), f.ihfft(x), f.ihfft(x, 5, norm="ortho"),
        f.ihfft(x, axis=0, norm="forward"), f.rfft2(x), f.rfft2(x, (3, 5)), f.rfftn(x, axes=(1, 0), norm="ortho"), f.rfftn(x, axes=(0, 0)),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "c8", "i4", "?"])
def test_along_one_axis(dtype):
    x = array(4, 5, dtype=dtype)
    check(along_one, x)
    if np.dtype(dtype).kind != "c":
        check(of_reals, x)


@pytest.mark.parametrize("dtype", ["f8", "c8", "i4"])
def test_along_several(dtype):
    def fn(x):
        f = np.fft
        return (
            f.fft2(x), f.ifft2(x, norm="ortho"), f.fftn(x), f.ifftn(x, norm="forward"), f.fft2(x, (3, 7)), f.fftn(x, (4, 2), axes=(0, 1)), f.fftn(x, axes=(2, 0)),
            f.ifftn(x, (2, -1), (-1, 0)), f.fftn(x, axes=(1,)), f.irfft2(x), f.irfftn(x, norm="ortho"), f.irfftn(x, (3, 5), (2, 0)), f.irfft2(x, (2, -1)),
            f.fftn(x, axes=(0, 0)), f.irfftn(x, axes=(1, 1)),
        )  # fmt: skip

    check(fn, array(2, 3, 4, dtype=dtype), array(3, 2, 3, dtype=dtype))


def test_shifts_and_frequencies():
    def fn(x, n, d):
        f = np.fft
        return (
            f.fftshift(x), f.ifftshift(x), f.fftshift(x, 0), f.ifftshift(x, axes=(1,)), f.fftshift(x, (0, 1)), f.fftfreq(n), f.rfftfreq(n), f.fftfreq(5, 0.1) + 1,
            f.fftfreq(n, d), f.rfftfreq(n, d),
        )  # fmt: skip

    check(fn, (array(4, 5), 6, 0.25), (array(1, 3), 7, 2.0))


def test_a_length_that_is_a_number():
    def fn(x, n):
        return np.fft.fft(x, n), np.fft.irfft(np.fft.rfft(x, n), n)

    check(fn, (array(10), 4), (array(10), 13), (array(10), 4))


def test_what_raises():
    for text in ("fft(x, 0)", "rfft(x)", "fft(x, axis=3)", "fft(x, norm='bad')", "fftn(x, (2,), axes=(0, 1))", "irfft(x[:, :1])", "fft(x[:, :0])"):
        fn = eval(f"lambda x: np.fft.{text}", {"np": np})
        agree(fn, hovis_xla.jit(fn), array(2, 3, dtype="c16"))


def test_a_spectral_solver():
    def poisson(f):
        n = f.shape[0]
        k = 2 * np.pi * np.fft.fftfreq(n, 1.0 / n)
        k2 = k[:, None] ** 2 + k[None, :] ** 2
        k2[0, 0] = 1.0
        u = np.fft.fft2(f) / -k2
        u[0, 0] = 0.0
        return np.real(np.fft.ifft2(u))

    check(poisson, array(16, 16), array(9, 9))
