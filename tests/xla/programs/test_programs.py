"""Whole programs: what make demo shows, and what users write."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check

pytestmark = pytest.mark.xla


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


def relu(x):
    return np.maximum(x, 0.0)


ACTIVATIONS = {"gelu": gelu, "relu": relu}


def layer_norm(x, scale, shift):
    mean = x.mean(axis=-1, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * scale + shift


def rms_norm(x, scale, shift):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * scale


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(x, w, heads):
    t, d = x.shape
    q, k, v = [(x @ w[name]).reshape(t, heads, d // heads).transpose(1, 0, 2) for name in ("q", "k", "v")]
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(d // heads)
    mask = np.tril(np.ones_like(scores[0]))
    scores = np.where(mask > 0, scores, -1e9)
    return (softmax(scores) @ v).transpose(1, 0, 2).reshape(t, d) @ w["o"]


def transformer(x, params, config):
    norm = layer_norm if config["norm"] == "layer" else rms_norm
    for layer in params["layers"]:
        x = x + attention(norm(x, layer["s1"], layer["b1"]), layer, config["heads"])
        h = ACTIVATIONS[config["activation"]](norm(x, layer["s2"], layer["b2"]) @ layer["up"])
        x = x + h @ layer["down"]
    return x


def make_params(rng, layers, d):
    def layer():
        w = {name: rng.normal(size=(d, d)) / d**0.5 for name in ("q", "k", "v", "o")}
        w.update(up=rng.normal(size=(d, 4 * d)) / d**0.5, down=rng.normal(size=(4 * d, d)) / (4 * d) ** 0.5)
        w.update(s1=np.ones(d), b1=np.zeros(d), s2=np.ones(d), b2=np.zeros(d))
        return w

    return {"layers": [layer() for _ in range(layers)]}


@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_a_transformer_from_a_configuration(norm, activation):
    rng = np.random.default_rng(0)
    params = make_params(rng, 2, 16)
    x = rng.normal(size=(6, 16))
    config = {"norm": norm, "activation": activation, "heads": 4}
    f = hovis_xla.jit(transformer, static="config", strict=True)
    agree(transformer, f, x, params, config)
    text = f.lower(x, params, config).as_text()
    assert "dot_general" in text
    assert "stablehlo.while" not in text


def test_logistic_regression():
    def train(X, y, steps, rate):
        w = np.zeros(X.shape[1])
        for _ in range(steps):
            p = 1.0 / (1.0 + np.exp(-(X @ w)))
            w = w - rate * (X.T @ (p - y)) / len(y)
        return w

    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 4))
    check(train, (X, (X[:, 0] > 0).astype(float), 20, 0.5))


def test_runge_kutta():
    def lorenz(x, y, z, steps, h):
        for _ in range(steps):
            dx, dy, dz = 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z
            x, y, z = x + h * dx, y + h * dy, z + h * dz
        return x, y, z

    check(lorenz, (1.0, 1.0, 1.0, 100, 0.001))


def test_methods_and_decorated_functions():
    class Model:
        def __init__(self, w):
            self.w = w

        @hovis_xla.jit
        def predict(self, x):
            return x @ self.w

    m = Model(np.arange(6.0).reshape(3, 2))
    assert np.allclose(m.predict(np.ones(3)), np.ones(3) @ m.w)


def test_a_global_that_changes_is_seen():
    scope = {"np": np, "k": 2.0}
    exec("def f(x):\n    return x * k\n", scope)
    f = hovis_xla.jit(scope["f"], strict=True)
    assert f(np.ones(2))[0] == 2.0
    scope["k"] = 3.0
    assert f(np.ones(2))[0] == 3.0


def test_keywords_and_defaults():
    def f(x, scale=2.0, *, shift=0.0):
        return x * scale + shift

    g = hovis_xla.jit(f, strict=True)
    assert g(1.5) == 3.0
    assert g(1.5, scale=3.0) == 4.5
    assert g(1.5, 3.0, shift=1.0) == 5.5


def test_the_executable_can_be_looked_at():
    import hovis

    f = hovis_xla.jit(lambda x: np.sin(x) + 1)
    low = f.lower(np.ones(3))
    assert "stablehlo.sine" in low.as_text()
    c = low.compile()
    assert np.allclose(c(np.ones(3)), np.sin(1) + 1)
    assert "sine" in c.as_text()
    assert c.cost_analysis()
    assert len(c.serialize()) > 100
    trace = hovis.trace(lambda x: x * 2, hovis.Float)
    assert hovis_xla.compile(trace)(1.5) == 3.0
    assert f.cache_info()["made"] == 0
    f(np.ones(3))
    f.clear_cache()
    assert f.cache_info()["kept"] == 0
    assert "has not been called" in f.explain()


def test_bad_options():
    with pytest.raises(ValueError, match="int_overflow"):
        hovis_xla.jit(lambda x: x, int_overflow="explode")
    with pytest.raises(TypeError):
        hovis_xla.jit(lambda x: x, static="y")


def test_an_index_beside_a_slice_does_not_become_known():
    f = hovis_xla.jit(lambda a, j: a[1:, j] + 0, strict=True)
    for j in range(5):
        agree(lambda a, j: a[1:, j] + 0, f, np.arange(20.0).reshape(4, 5), j)
    assert f.cache_info()["made"] == 1


def test_a_number_that_sizes_an_array():
    """It becomes known, for a few values; then the function is Python."""
    def f(n, x):
        return np.zeros(n) + x

    g = hovis_xla.jit(f)
    for n in (2, 3, 2, 3):
        agree(f, g, n, 1.5)
    assert "XLA executable" in g.explain()
    assert g.cache_info()["made"] == 2
    for n in range(4, 16):
        agree(f, g, n, 1.5)
    assert g.cache_info()["made"] < 12
