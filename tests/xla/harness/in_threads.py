"""Run in a process of its own: eight threads start at a barrier, call jitted functions, and compare with the plain functions.

    python in_threads.py first|changed|mixed seed
"""
import random
import sys
import threading
import traceback

import numpy as np

import hovis
import hovis_xla

THREADS = 8
SCALE = 2.0
STEPS = {"double": lambda x: 2.0 * x, "square": lambda x: x * x}


def sums(x, n):
    for k in range(n):
        x = x * 0.5 + SCALE * k
        if x.sum() > 1e6:
            break
    return x


def counts(a, b):
    total = 0
    for k in range(b):
        total += a * k
    return total * SCALE


def stored(x, n):
    for k in range(1, len(x)):
        x[k] = x[k - 1] * 0.5 + n
    return x


def named(x, n):
    for name in ("double", "square"):
        x = STEPS[name](x)
    return {"x": x, "n": n}


def in_pieces(x, n):
    found = []
    for k in range(n):
        y = x * k + 1.0
        found.append(str(float(y.sum())))
    return found


def squares(x, n):
    return (x * x * SCALE).sum() / (n + 1)


PLAIN = [sums, stored, named, in_pieces]
ERRORS = []


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b if isinstance(a, list) else type(a) is type(b) and np.allclose(a, b)


def check(jitted, plain, *args):
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    found, wanted = jitted(*args), plain(*copies)
    assert same(found, wanted), (plain, args, found, wanted)


def together(work):
    """Run `work` in all threads; no thread starts before all are ready."""
    gate = threading.Barrier(THREADS)

    def run(k):
        gate.wait()
        try:
            work(k)
        except BaseException:
            ERRORS.append(traceback.format_exc())

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def first():
    """Each thread has its own function: the singletons of the process are created concurrently."""
    functions = [hovis_xla.jit(lambda x, n, k=k: sums(x, n) + k, target="xla") for k in range(THREADS)]
    together(lambda k: check(functions[k], lambda x, n: sums(x, n) + k, np.ones(5) * k, 3))


def changed():
    """Call the same function for the first time in all threads, and again after a folded global has changed."""
    global SCALE
    compiled, residual, slope = hovis_xla.jit(sums, target="xla"), hovis.jit(counts), hovis.grad(squares)

    def work(k):
        check(compiled, sums, np.ones(5) * k, 3)
        check(residual, counts, k, 5)
        check(slope, lambda x, n: 2 * x * SCALE / (n + 1), np.ones(5) * k, 3)

    for round in range(3):
        SCALE = float(round)
        together(work)


def mixed(seed):
    """Call all kinds of functions in random order, with arguments of random sizes."""
    functions = [(hovis_xla.jit(plain, target=target), plain) for plain in PLAIN for target in (None, "xla", "python")]
    functions += [(hovis.jit(plain), plain) for plain in PLAIN]

    def work(k):
        draw = random.Random(f"{seed} {k}")
        for _ in range(12):
            jitted, plain = draw.choice(functions)
            check(jitted, plain, np.arange(draw.randint(1, 24)) * 0.25 + k, draw.randint(0, 5))

    together(work)


if __name__ == "__main__":
    sys.setswitchinterval(1e-5)
    kind, seed = sys.argv[1], int(sys.argv[2])
    {"first": first, "changed": changed, "mixed": lambda: mixed(seed)}[kind]()
    sys.exit("\n".join([f"{len(ERRORS)} of {THREADS} threads failed", ERRORS[0]]) if ERRORS else 0)
