"""The kernels of kernels/signals.py, written by hand in jax."""
import jax.numpy as jnp
from jax import lax

from .core import by_hand


@by_hand(0)
def stockham_fft(K, x, y):
    n = 2**K
    y = x
    for step in range(K):
        left = 2**step
        right = n // (2 * left)
        twiddle = jnp.exp(-2j * jnp.pi * jnp.arange(2)[:, None] * jnp.arange(left) / (2 * left))
        blocks = y.reshape(left, 2, right).transpose(1, 0, 2) * twiddle[:, :, None]
        y = jnp.stack([blocks[0] + blocks[1], blocks[0] - blocks[1]]).reshape(n)
    return y


@by_hand()
def deriche(alpha, img):
    k = (1.0 - jnp.exp(-alpha)) ** 2 / (1.0 + alpha * jnp.exp(-alpha) - jnp.exp(2.0 * alpha))
    a1, a2, a3, a4 = k, k * jnp.exp(-alpha) * (alpha - 1.0), k * jnp.exp(-alpha) * (alpha + 1.0), -k * jnp.exp(-2.0 * alpha)
    b1, b2 = 2.0 ** (-alpha), -jnp.exp(-2.0 * alpha)

    def down(x):
        """Filter along the first axis in both directions."""
        zero = jnp.zeros(x.shape[1])

        def forward(carry, now):
            before, y, older = carry
            new = a1 * now + a2 * before + b1 * y + b2 * older
            return (now, new, y), new

        def back(carry, now):
            one, two, y, older = carry
            new = a3 * one + a4 * two + b1 * y + b2 * older
            return (now, one, new, y), new

        return lax.scan(forward, (zero,) * 3, x)[1] + lax.scan(back, (zero,) * 4, x, reverse=True)[1]

    return down(down(img.T).T)


@by_hand(1)
def histogram(x, bins):
    low, high = x.min(), x.max()
    k = ((x - low) / (high - low) * bins).astype(jnp.int64)
    return jnp.zeros(bins, jnp.int64).at[jnp.minimum(k, bins - 1)].add(1), low, high


@by_hand()
def min_max(x):
    return x.min(), x.max()


@by_hand()
def blur(image, weights):
    padded = jnp.pad(image, 1, mode="edge")
    n, m = image.shape
    return sum(weights[i, j] * padded[i : i + n, j : j + m] for i in range(3) for j in range(3))


@by_hand()
def exponential_mean(x, alpha):
    def step(mean, value):
        mean = alpha * value + (1 - alpha) * mean
        return mean, mean

    return jnp.concatenate([x[:1], lax.scan(step, x[0], x[1:])[1]])


@by_hand()
def fir(x, taps):
    return jnp.convolve(x, taps, mode="valid")
