"""A language model of the shape of GPT-2 in plain NumPy: twelve layers, parameters in dicts, a configuration, and a loop that generates text.

The weights are random, so the generated text is meaningless; the code is written as one writes such a model to be read.
Only ``main`` uses hovis.

    python examples/gpt.py
"""
import numpy as np

CONFIG = {"n_layer": 12, "n_head": 4, "n_embd": 32, "n_ctx": 24, "n_vocab": 96}


def parameters(config, seed=0):
    rng = np.random.default_rng(seed)
    width = config["n_embd"]

    def linear(rows, columns):
        return {"w": 0.3 * rng.normal(size=(rows, columns)) / np.sqrt(rows), "b": 0.01 * rng.normal(size=columns)}

    def norm():
        return {"scale": 1.0 + 0.1 * rng.normal(size=width), "shift": 0.1 * rng.normal(size=width)}

    def layer():
        return {
            "norm_1": norm(),
            "attention": {"project": linear(width, 3 * width), "out": linear(width, width)},
            "norm_2": norm(),
            "mlp": {"up": linear(width, 4 * width), "down": linear(4 * width, width)},
        }

    return {
        "tokens": rng.normal(size=(config["n_vocab"], width)),
        "places": 0.1 * rng.normal(size=(config["n_ctx"], width)),
        "layers": [layer() for _ in range(config["n_layer"])],
        "norm": norm(),
    }


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def normalize(x, scale, shift, eps=1e-5):
    mean, variance = np.mean(x, axis=-1, keepdims=True), np.var(x, axis=-1, keepdims=True)
    return scale * (x - mean) / np.sqrt(variance + eps) + shift


def linear(x, w, b):
    return x @ w + b


def attend(q, k, v, mask):
    return softmax(q @ k.T / np.sqrt(q.shape[-1]) + mask) @ v


def self_attention(x, project, out, n_head):
    q, k, v = (np.split(part, n_head, axis=-1) for part in np.split(linear(x, **project), 3, axis=-1))
    mask = (1.0 - np.tri(x.shape[0])) * -1e10
    heads = [attend(*qkv, mask) for qkv in zip(q, k, v)]
    return linear(np.hstack(heads), **out)


def mlp(x, up, down):
    return linear(gelu(linear(x, **up)), **down)


def layer(x, norm_1, attention, norm_2, mlp_weights, n_head):
    x = x + self_attention(normalize(x, **norm_1), **attention, n_head=n_head)
    return x + mlp(normalize(x, **norm_2), **mlp_weights)


def gpt(ids, params, config):
    """Return the scores (logits) of the next token at each position."""
    x = params["tokens"][ids] + params["places"][: len(ids)]
    for weights in params["layers"]:
        named = {("mlp_weights" if name == "mlp" else name): value for name, value in weights.items()}
        x = layer(x, **named, n_head=config["n_head"])
    return normalize(x, **params["norm"]) @ params["tokens"].T


def generate(ids, params, config, count):
    """Return the prompt and ``count`` more tokens, each the most likely one; attention is causal, so later positions have no influence."""
    text = np.zeros(config["n_ctx"], dtype=np.int64)
    length = len(ids)
    text[:length] = ids
    for _ in range(count):
        scores = gpt(text, params, config)
        text[length] = np.argmax(scores[length - 1])
        length += 1
    return text[:length]


def calls():
    """Return each function with the arguments of its example call."""
    params, prompt = parameters(CONFIG), np.array([5, 17, 42, 8])
    return [(gpt, (prompt, params, CONFIG)), (generate, (prompt, params, CONFIG, 12))]


def main():
    import hovis_xla

    for fn, args in calls():
        compiled = hovis_xla.jit(fn)
        expected, got = fn(*args), compiled(*args)
        print(f"{fn.__name__}: largest difference from NumPy {np.max(np.abs(expected - got))}")
        print("   ", compiled.explain().splitlines()[0])
        assert np.allclose(expected, got, rtol=1e-9, atol=1e-9)


if __name__ == "__main__":
    main()
