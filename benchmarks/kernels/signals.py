"""Transforms, filters, histograms, images."""
import numpy as np

from .core import kernel


def complex_vector(rng, log):
    n = 2**log
    return log, rng.normal(size=n) + 1j * rng.normal(size=n), np.zeros(n, dtype=np.complex128)


@kernel(complex_vector, 5, 12)
def stockham_fft(K, x, y):
    """Radix-2 Stockham FFT; the permutation is a transposition instead of bit reversal."""
    n = 2**K
    i, j = np.mgrid[0:2, 0:2]
    dft = np.exp(-2j * np.pi * i * j / 2)
    y[:] = x
    for step in range(K):
        left = 2**step
        right = n // (2 * left)
        k, m = np.mgrid[0:2, 0:left]
        twiddle = np.exp(-2j * np.pi * k * m / (2 * left))
        blocks = np.transpose(np.reshape(y, (left, 2, right)), (1, 0, 2))
        blocks = blocks * np.reshape(twiddle, (2, left, 1))
        mixed = dft @ np.reshape(blocks, (2, left * right))
        y[:] = np.reshape(mixed, n)


@kernel(complex_vector, 5, 12)
def radix_two_fft(K, x, y):
    """Radix-2 FFT: a permutation by bit reversal, then butterflies in place."""
    n = 1 << K
    for i in range(n):
        r = 0
        for b in range(K):
            if i >> b & 1:
                r |= 1 << (K - 1 - b)
        y[r] = x[i]
    half = 1
    while half < n:
        turn = np.exp(-1j * np.pi * np.arange(half) / half)
        for start in range(0, n, 2 * half):
            even = y[start : start + half].copy()
            odd = y[start + half : start + 2 * half] * turn
            y[start : start + half] = even + odd
            y[start + half : start + 2 * half] = even - odd
        half *= 2


@kernel(lambda rng, n: (0.25, rng.normal(size=(n, n + 3))), 8, 150)
def deriche(alpha, img):
    """The Deriche filter: a recursive, Gaussian-like filter along both axes in both directions."""
    k = (1.0 - np.exp(-alpha)) * (1.0 - np.exp(-alpha)) / (1.0 + alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    c1 = c2 = 1
    y1 = np.empty_like(img)
    y1[:, 0] = a1 * img[:, 0]
    y1[:, 1] = a1 * img[:, 1] + a2 * img[:, 0] + b1 * y1[:, 0]
    for j in range(2, img.shape[1]):
        y1[:, j] = a1 * img[:, j] + a2 * img[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2 = np.empty_like(img)
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * img[:, -1]
    for j in range(img.shape[1] - 3, -1, -1):
        y2[:, j] = a3 * img[:, j + 1] + a4 * img[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    out = c1 * (y1 + y2)
    y1[0, :] = a5 * out[0, :]
    y1[1, :] = a5 * out[1, :] + a6 * out[0, :] + b1 * y1[0, :]
    for i in range(2, img.shape[0]):
        y1[i, :] = a5 * out[i, :] + a6 * out[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a7 * out[-1, :]
    for i in range(img.shape[0] - 3, -1, -1):
        y2[i, :] = a7 * out[i + 1, :] + a8 * out[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    out[:] = c2 * (y1 + y2)
    return out


@kernel(lambda rng, n: (rng.normal(size=n), 10), 60, 20000)
def histogram(x, bins):
    """A histogram with bins of equal width, in an explicit loop."""
    low, high = x.min(), x.max()
    counts = np.zeros(bins, dtype=np.int64)
    for v in x:
        k = int((v - low) / (high - low) * bins)
        if k == bins:
            k -= 1
        counts[k] += 1
    return counts, low, high


@kernel(lambda rng, n: (rng.normal(size=n), rng.uniform(size=n), 8), 60, 20000)
def weighted_histogram(x, weights, bins):
    edges = np.linspace(x.min(), x.max(), bins + 1)
    at = np.minimum(np.searchsorted(edges, x, side="right") - 1, bins - 1)
    totals = np.zeros(bins)
    np.add.at(totals, at, weights)
    return totals, edges


@kernel(lambda rng, n: (rng.normal(size=n),), 20, 20000)
def min_max(x):
    least = most = x[0]
    for k in range(1, len(x)):
        if x[k] < least:
            least = x[k]
        elif x[k] > most:
            most = x[k]
    return least, most


@kernel(lambda rng, n: (rng.uniform(size=(n, n)), np.array([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]) / 16.0), 8, 120)
def blur(image, weights):
    """A convolution written as a sum of shifted images; the border repeats."""
    padded = np.pad(image, 1, mode="edge")
    out = np.zeros_like(image)
    n, m = image.shape
    for i in range(3):
        for j in range(3):
            out += weights[i, j] * padded[i : i + n, j : j + m]
    return out


@kernel(lambda rng, n: (rng.normal(size=n), 0.3), 20, 20000)
def exponential_mean(x, alpha):
    out = np.empty_like(x)
    out[0] = x[0]
    for k in range(1, x.shape[0]):
        out[k] = alpha * x[k] + (1 - alpha) * out[k - 1]
    return out


@kernel(lambda rng, n: (rng.normal(size=n), rng.normal(size=5)), 20, 2000)
def fir(x, taps):
    """A FIR filter, one window at a time."""
    m = len(taps)
    y = np.zeros(len(x) - m + 1)
    for k in range(len(y)):
        y[k] = np.dot(x[k : k + m], taps[::-1])
    return y


@kernel(lambda rng, n: (rng.integers(0, 256, (n, n)).astype(np.uint8),), 10, 100)
def equalize(image):
    """Histogram equalisation of an 8-bit image."""
    counts = np.bincount(image.ravel(), minlength=256)
    total = counts.cumsum()
    least = total[total > 0][0]
    table = np.round((total - least) / max(image.size - least, 1) * 255).astype(np.uint8)
    image[:] = table[image]
