"""Derivatives of Fourier transforms, interpolation, polynomials, and finite differences."""

from typing import Any

import numpy as np

from hovis.errors import Declined
from hovis.library.numpy.adjoints.tangents import choose, fitted, rank_of
from hovis.library.tables.derivatives import absent, constant, defined, linear, pull, push

# ------------------------------------------------------------------------------------------------- Fourier transforms

_OPPOSITE: dict[str | None, Any] = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _resized(g: Any, x: Any, axis: int) -> Any:
    """Truncate g, or pad it with zeros, along an axis to the length of x."""
    n, have = x.shape[axis], g.shape[axis]
    if have > n:
        return np.take(g, np.arange(n), axis=axis)
    if have < n:
        shape = [n - have if k == axis % g.ndim else size for k, size in enumerate(g.shape)]
        return np.concatenate((g, np.zeros(shape)), axis=axis)
    return g


def _transform(back: Any) -> Any:
    """Make the pull of a Fourier transform with the adjoint transform ``back``, under the opposite normalization."""

    def rule(g: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        return fitted(_resized(back(g, axis=axis, norm=_OPPOSITE[norm]), a, axis), a)

    return rule


linear(np.fft.fft, _transform(np.fft.ifft))
linear(np.fft.ifft, _transform(np.fft.fft))


def _weights(n: int, shape: Any, axis: int, doubled: float) -> Any:
    """Return the weights of a half spectrum: 1 for the first and (for an even n) the middle frequency, ``doubled`` for the others."""
    half = n // 2 + 1
    found = choose((np.arange(half) == 0) | ((np.arange(half) == n // 2) & (n % 2 == 0)), 1.0, doubled)
    return np.reshape(found, [half if k == axis % len(shape) else 1 for k in range(len(shape))])


def _rfft(g: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    size = a.shape[axis] if n is None else n
    return fitted(_resized(np.fft.irfft(g * _weights(size, g.shape, axis, 0.5), size, axis, _OPPOSITE[norm]), a, axis), a)


def _irfft(g: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    size = y.shape[axis]
    return fitted(_resized(np.fft.rfft(g, size, axis, _OPPOSITE[norm]) * _weights(size, y.shape, axis, 2.0), a, axis), a)


linear(np.fft.rfft, _rfft)
linear(np.fft.irfft, _irfft)
defined(np.fft.hfft, lambda a, n=None, axis=-1, norm=None: np.fft.irfft(np.conjugate(a), n, axis, _OPPOSITE[norm]))
defined(np.fft.ihfft, lambda a, n=None, axis=-1, norm=None: np.conjugate(np.fft.rfft(a, n, axis, _OPPOSITE[norm])))


def _axes(a: Any, s: Any, axes: Any) -> list[int]:
    if axes is not None:
        return list(axes)
    return list(range(-len(s), 0)) if s is not None else list(range(-a.ndim, 0))


def _each(one: Any, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Apply a transform along several axes, the last one first."""
    along = _axes(a, s, axes)
    for k in range(len(along) - 1, -1, -1):
        a = one(a, None if s is None else s[k], along[k], norm)
    return a


defined(np.fft.fftn, lambda a, s=None, axes=None, norm=None: _each(np.fft.fft, a, s, axes, norm))
defined(np.fft.ifftn, lambda a, s=None, axes=None, norm=None: _each(np.fft.ifft, a, s, axes, norm))
defined(np.fft.fft2, lambda a, s=None, axes=(-2, -1), norm=None: _each(np.fft.fft, a, s, axes, norm))
defined(np.fft.ifft2, lambda a, s=None, axes=(-2, -1), norm=None: _each(np.fft.ifft, a, s, axes, norm))


def _real(a: Any, s: Any, axes: Any, norm: Any) -> Any:
    along = _axes(a, s, axes)
    a = np.fft.rfft(a, None if s is None else s[-1], along[-1], norm)
    return _each(np.fft.fft, a, None if s is None else s[:-1], along[:-1], norm)


def _inverse_real(a: Any, s: Any, axes: Any, norm: Any) -> Any:
    along = _axes(a, s, axes)
    for k in range(len(along) - 1):
        a = np.fft.ifft(a, None if s is None else s[k], along[k], norm)
    return np.fft.irfft(a, None if s is None else s[-1], along[-1], norm)


defined(np.fft.rfftn, lambda a, s=None, axes=None, norm=None: _real(a, s, axes, norm))
defined(np.fft.rfft2, lambda a, s=None, axes=(-2, -1), norm=None: _real(a, s, axes, norm))
defined(np.fft.irfftn, lambda a, s=None, axes=None, norm=None: _inverse_real(a, s, axes, norm))
defined(np.fft.irfft2, lambda a, s=None, axes=(-2, -1), norm=None: _inverse_real(a, s, axes, norm))
linear(np.fft.fftshift, lambda g, y, a, axes=None: np.fft.ifftshift(g, axes))
linear(np.fft.ifftshift, lambda g, y, a, axes=None: np.fft.fftshift(g, axes))
constant(np.fft.fftfreq, np.fft.rfftfreq)

# ------------------------------------------------------------------------------------------------- interpolation


def _array(x: Any) -> Any:
    return np.array(x) if isinstance(x, list | tuple) else x


def interpolated(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """``np.interp``, written as linear interpolation on the piece that contains each point."""
    x, xp, fp = _array(x), _array(xp), _array(fp)
    if period is not None:
        # as in NumPy: map all points into one period, sort them, and add a point of the adjacent period at either end
        period = abs(period)
        x, xp = np.mod(x, period), np.mod(xp, period)
        order = np.argsort(xp)
        xp, fp, left, right = xp[order], fp[order], None, None
        xp, fp = np.concatenate((xp[-1:] - period, xp, xp[:1] + period)), np.concatenate((fp[-1:], fp, fp[:1]))
    last = xp.shape[0] - 1
    at = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, max(last - 1, 0))
    after = np.minimum(at + 1, last)
    low, width = xp[at], xp[after] - xp[at]
    # in a piece of width 0, which only the last one may be, the value at its end is taken
    found = fp[at] + (fp[after] - fp[at]) * choose(width > 0, (x - low) / choose(width > 0, width, 1.0), 1.0)
    found = choose(x < xp[0], fp[0] if left is None else left, found)
    return choose(x > xp[-1], fp[-1] if right is None else right, found)


defined(np.interp, interpolated, parameters="x xp fp left right period")

# ------------------------------------------------------------------------------------------------- polynomials


def polyval(p: Any, x: Any) -> Any:
    """``np.polyval`` by Horner's rule."""
    found = x * 0.0 + p[0]
    for k in range(1, len(p)):
        found = found * x + p[k]
    return found


def _aligned(a: Any, n: int) -> Any:
    return np.concatenate((np.zeros(n - a.shape[0]), a)) if a.shape[0] < n else a


defined(np.polyval, polyval)
defined(np.polyadd, lambda a, b: _aligned(a, max(a.shape[0], b.shape[0])) + _aligned(b, max(a.shape[0], b.shape[0])))
defined(np.polysub, lambda a, b: _aligned(a, max(a.shape[0], b.shape[0])) - _aligned(b, max(a.shape[0], b.shape[0])))
defined(np.polymul, lambda a, b: np.convolve(a, b))


def _polyder(p: Any, m: int = 1) -> Any:
    for _ in range(m):
        p = p[:-1] * np.arange(p.shape[0] - 1, 0, -1)
    return p


def _polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    if k is not None:
        raise Declined("the derivative of np.polyint is only known without constants of integration")
    for _ in range(m):
        p = np.concatenate((p / np.arange(p.shape[0], 0, -1), np.zeros(1)))
    return p


defined(np.polyder, _polyder)
defined(np.polyint, _polyint)


def _polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: bool = False) -> Any:
    if full or cov:
        raise Declined("the derivative of np.polyfit is only known for the coefficients")
    powers = np.vander(x, deg + 1)
    if w is not None:
        powers, y = powers * np.expand_dims(w, -1), y * (w if y.ndim == 1 else np.expand_dims(w, -1))
    return np.matmul(np.linalg.pinv(powers), y)


defined(np.polyfit, _polyfit, parameters="x y deg rcond full w cov")

# ------------------------------------------------------------------------------------------------- differences


def gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """``np.gradient``; a spacing is a number, or the coordinates along an axis."""
    axes = list(range(f.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    found = []
    for j, k in enumerate(axes):
        h = 1.0 if not spacing else spacing[0] if len(spacing) == 1 else spacing[j]
        row = np.moveaxis(f, k, 0)
        steps = (row[1:] - row[:-1]) / 1.0
        if isinstance(h, list | tuple) or rank_of(h):
            widths = np.reshape(np.diff(_array(h)), [-1] + [1] * (f.ndim - 1))
            steps, before, after = steps / widths, widths[:-1], widths[1:]
            inner = (after * steps[:-1] + before * steps[1:]) / (before + after)
            first, last = (before / (before + after))[:1], (after / (before + after))[-1:]
        else:
            steps = steps / h
            inner, first, last = (steps[:-1] + steps[1:]) * 0.5, 0.5, 0.5
        ends = steps[:1], steps[-1:]
        if edge_order == 2:
            ends = ends[0] - first * (steps[1:2] - steps[:1]), ends[1] + last * (steps[-1:] - steps[-2:-1])
        found.append(np.moveaxis(np.concatenate((ends[0], inner, ends[1])), 0, k))
    return found[0] if len(found) == 1 else tuple(found)


defined(np.gradient, gradient)
pull(np.unwrap, lambda g, y, p, *rest, **named: g)
push(np.unwrap, lambda t, y, p, *rest, **named: t)
absent("the length of its result depends on values", np.polydiv)
absent("the roots of a polynomial have no order", np.roots, np.poly)
