"""A transformer block in plain NumPy whose layers, activation and norms come from a configuration.

The configuration is read with dictionary lookups, string comparisons and loops over lists, in the usual style;
nothing here depends on hovis. With the configuration known, only array operations remain.

    python examples/transformer.py
"""
import numpy as np

CONFIG = {
    "heads": 4,
    "norm": "rms",
    "layers": [
        {"kind": "attention", "causal": True},
        {"kind": "mlp", "activation": "gelu"},
        {"kind": "attention", "causal": True},
        {"kind": "mlp", "activation": "relu"},
    ],
}


def parameters(config, width, seed=0):
    rng = np.random.default_rng(seed)

    def matrix(rows, columns):
        return rng.normal(size=(rows, columns)) / np.sqrt(rows)

    made = []
    for layer in config["layers"]:
        weights = {"scale": np.ones(width), "shift": np.zeros(width)}
        if layer["kind"] == "attention":
            weights |= {name: matrix(width, width) for name in ("query", "key", "value", "out")}
        else:
            weights |= {"up": matrix(width, 4 * width), "down": matrix(4 * width, width)}
        made.append(weights)
    return made


def layer_norm(x, w):
    centered = x - np.mean(x, axis=-1, keepdims=True)
    return centered / np.sqrt(np.mean(centered * centered, axis=-1, keepdims=True) + 1e-5) * w["scale"] + w["shift"]


def rms_norm(x, w):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5) * w["scale"]


NORMS = {"layer": layer_norm, "rms": rms_norm}


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def relu(x):
    return np.maximum(x, 0.0)


ACTIVATIONS = {"gelu": gelu, "relu": relu}


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def attention(x, w, heads, causal):
    length, width = x.shape
    size = width // heads
    outputs = []
    for h in range(heads):
        part = slice(h * size, (h + 1) * size)
        q, k, v = x @ w["query"][:, part], x @ w["key"][:, part], x @ w["value"][:, part]
        scores = q @ np.transpose(k) / np.sqrt(size)
        if causal:
            scores = scores + np.triu(np.full((length, length), -1e9), 1)
        outputs.append(softmax(scores) @ v)
    return np.concatenate(outputs, axis=-1) @ w["out"]


def mlp(x, w, activation):
    return ACTIVATIONS[activation](x @ w["up"]) @ w["down"]


def block(x, params, config):
    norm = NORMS[config["norm"]]
    for layer, w in zip(config["layers"], params):
        y = norm(x, w)
        if layer["kind"] == "attention":
            y = attention(y, w, config["heads"], layer["causal"])
        elif layer["kind"] == "mlp":
            y = mlp(y, w, layer["activation"])
        else:
            raise ValueError(f"unknown layer {layer['kind']!r}")
        x = x + y
    return x


def main():
    import hovis_xla

    params = parameters(CONFIG, width=64)
    x = np.random.default_rng(1).normal(size=(32, 64))
    compiled = hovis_xla.jit(block)
    expected, got = block(x, params, CONFIG), compiled(x, params, CONFIG)
    print(compiled.explain())
    print("largest difference from NumPy:", float(np.max(np.abs(expected - got))))
    assert np.allclose(expected, got, rtol=1e-9, atol=1e-9)


if __name__ == "__main__":
    main()
