"""Random programs that are mapped over lanes, held against a Python loop over these.

``python -m tests.transforms.harness.fuzz_vmap --programs 1000 --seed 7`` draws so many; a few are a test.  A program has straight code,
branches and loops in which lanes part, numbers of Python's and NumPy's, stores, ``try``, indexing, linear algebra, closures,
lanes within lanes and gradients.  It is mapped over axes that are drawn, too; compared are values, dtypes, shapes, errors,
warnings, and what it does to its arguments.
"""

import argparse
import copy
import random
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import hovis
import hovis_xla
from hovis.errors import DerivativeError, TransformError
from tests.transforms.harness.drawing_vmap import HEADER, Drawing

SECONDS = 60
LANES = 4


class Odd(Exception):  # noqa: N818
    """What is wrong with a program."""


class Late(Odd):
    """It takes too long."""


# ------------------------------------------------------------------------------------------------- what it means


def leaves(tree: Any) -> list[Any]:
    """What is in a tree, in order."""
    if isinstance(tree, dict):
        return [one for item in tree.values() for one in leaves(item)]
    return [one for item in tree for one in leaves(item)] if isinstance(tree, list | tuple) else [tree]


def with_leaves(tree: Any, new: list[Any]) -> Any:
    """The same tree of other things, which are taken from the front of a list."""
    if isinstance(tree, dict):
        return {key: with_leaves(item, new) for key, item in tree.items()}
    return type(tree)([with_leaves(item, new) for item in tree]) if isinstance(tree, list | tuple) else new.pop(0)


def each_axis(axes: Any, tree: Any) -> list[Any]:
    """The axis of each leaf."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(leaves(tree))
    if isinstance(axes, dict):
        return [one for key, item in tree.items() for one in each_axis(axes[key], item)]
    return [one for part, item in zip(axes, tree, strict=True) for one in each_axis(part, item)]


def looped(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """What ``hovis.vmap`` gives, by definition."""

    def call(*args: Any) -> Any:
        given = leaves(args)
        axes = each_axis(in_axes if isinstance(in_axes, tuple | list) else (in_axes,) * len(args), args)
        lanes = next(leaf.shape[axis] for leaf, axis in zip(given, axes, strict=True) if axis is not None)
        found = []
        for k in range(lanes):
            ours = [leaf if axis is None else np.moveaxis(leaf, axis, 0)[k] for leaf, axis in zip(given, axes, strict=True)]
            # as it is when the lane is done: an array that all lanes store into is another one behind each
            found.append(copy.deepcopy(fn(*with_leaves(args, ours))))
        stacked = [np.stack(parts) for parts in zip(*map(leaves, found), strict=True)]
        return with_leaves(found[0], [np.moveaxis(x, 0, axis) for x, axis in zip(stacked, each_axis(out_axes, found[0]), strict=True)])

    return call


# ------------------------------------------------------------------------------------------------- comparing


def outcome(fn: Callable[..., Any], args: Any) -> tuple[Any, list[str]]:
    """What a call gives or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result: Any = fn(*args)
        except Late:
            raise
        except Exception as error:
            result = error
    return result, [str(one.message) for one in told if issubclass(one.category, RuntimeWarning)]


def near(got: Any, want: Any, what: str, tolerance: float) -> None:
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        raise Odd(f"{what}: {got.dtype}{got.shape} instead of {want.dtype}{want.shape}")
    rough = 1e-4 if want.dtype in (np.float32, np.complex64) else tolerance
    if not (np.allclose(got, want, rough, rough, equal_nan=True) if want.dtype.kind in "fc" else np.array_equal(got, want)):
        raise Odd(f"{what}: {got} instead of {want}")


def same(fn: Any, args: Any, in_axes: Any = 0, out_axes: Any = 0, *, jit: bool = False, tolerance: float = 1e-9, reference: Any = None) -> str:
    """Whether vmap(fn) does what a loop does: 'right', 'raises', 'warns' or an error that says what is wrong."""
    ours, others = copy.deepcopy(args), copy.deepcopy(args)
    want, warned = outcome(looped(reference or fn, in_axes, out_axes), ours)
    mapped = hovis.vmap(fn, in_axes, out_axes)
    got, leaked = outcome(hovis_xla.jit(mapped) if jit else mapped, others)
    if isinstance(got, TransformError):
        raise got
    if isinstance(want, DerivativeError):
        return "no derivative"
    if isinstance(want, Exception) or isinstance(got, Exception):
        if isinstance(want, ValueError) and "same shape" in str(want):
            return "raises"
        # what has stored into its arguments is not done again, to find the words of the first lane
        again = not jit and all(np.array_equal(a, b, equal_nan=True) for a, b in zip(leaves(ours), leaves(args), strict=True))
        if type(got) is not type(want) or (str(got) != str(want) and again):
            raise Odd(f"{got!r} instead of {want!r}") from (got if isinstance(got, Exception) else None)
        return "raises"
    if leaked and not warned:
        raise Odd(f"warns: {leaked}")
    if len(leaves(got)) != len(leaves(want)):
        raise Odd(f"{got} instead of {want}")
    for k, (a, b) in enumerate(zip(leaves(got), leaves(want), strict=True)):
        near(a, b, f"result {k}", tolerance)
    for k, (a, b) in enumerate(zip(leaves(others), leaves(ours), strict=True)):
        near(a, b, f"argument {k}", tolerance)
    return "warns" if warned else "right"


# ------------------------------------------------------------------------------------------------- programs


def arguments(r: Any) -> list[Any]:
    """One lane's arguments: a number, an array, a matrix, an int, and a tree."""
    tree = {"p": r.normal(), "w": r.normal(size=3), "f": np.float32(r.normal()), "g": r.normal(size=3).astype(np.float32), "l": [r.normal(), int(r.integers(-2, 5))]}
    return [r.normal(), r.normal(size=3), r.normal(size=(2, 3)), int(r.integers(0, 4)), tree]


def axes_of(choose: Any, shape: tuple[int, ...]) -> Any:
    """Over which axis a leaf is mapped."""
    return None if choose(4) == 0 else 0 if choose(2) else choose(len(shape) + 1) - (0 if choose(2) else len(shape) + 1)


def drawn(seed: int) -> tuple[str, list[Any], Any, Any, str]:
    """A program, its arguments, the axes, and how it is mapped."""
    chooser = random.Random(seed)
    choose = chooser.randrange
    drawing = Drawing(choose)
    text = drawing.program(2 + choose(10))
    r = np.random.default_rng(seed)
    lanes = [arguments(r) for _ in range(LANES)]
    axes = [axes_of(choose, np.shape(leaf)) for leaf in leaves(lanes[0])]
    axes[choose(2)] = 0
    given = []
    for at, (axis, *values) in enumerate(zip(axes, *map(leaves, lanes), strict=True)):
        dtype = np.int64 if isinstance(values[0], int) else np.asarray(values[0]).dtype
        given.append(values[0] if axis is None else np.moveaxis(np.array(values, dtype), 0, axis))
        axes[at] = axis
    in_axes = tuple(with_leaves(lanes[0], axes))
    out_axes = choose(3) and 0 or [-1 if choose(2) else 0 for _ in drawing.returned]
    out = tuple(out_axes) if isinstance(out_axes, list) else out_axes
    return text, with_leaves(lanes[0], given), in_axes, out, drawing.mode


def functions(text: str) -> tuple[Any, Any]:
    """The function of a program, with lanes within it as hovis does them, and one after the other."""
    found = []
    for vmap in (hovis.vmap, looped):
        scope: dict[str, Any] = {"__name__": "drawn", "vmap": vmap}
        exec(compile(HEADER + text, "<drawn>", "exec"), scope)
        found.append(scope["f"])
    return found[0], found[1]


def compare(seed: int, *, jit: bool = False) -> str:
    """As :func:`same`, of the program that a seed draws."""
    text, args, in_axes, out_axes, mode = drawn(seed)
    fn, reference = functions(text)
    if mode == "grad":
        # the gradient of the number that comes first
        fn, reference = (hovis.grad(lambda *a, f=f: f(*a)[0] * 1.0) for f in (fn, reference))
        out_axes = 0
        if in_axes[0] is None:
            in_axes = (0, *in_axes[1:])
            args = [np.linspace(-1.0, 1.0, LANES), *args[1:]]
    with np.errstate(all="warn"):
        return same(fn, args, in_axes, out_axes, jit=jit, reference=reference, tolerance=1e-6 if mode == "grad" else 1e-9)


def late(*_: object) -> None:
    raise Late(f"more than {SECONDS} seconds")


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jit", type=int, default=0, help="of so many programs one is compiled, too")
    parser.add_argument("--only", type=int, default=None, help="the program of this seed")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, late)
    counts: dict[str, int] = {}
    seeds = [options.only] if options.only is not None else [options.seed * 1_000_003 + k for k in range(options.programs)]
    for seed in seeds:
        for jit in (False, True) if options.jit and seed % options.jit == 0 else (False,):
            signal.alarm(SECONDS)
            try:
                said = compare(seed, jit=jit)
            except TransformError as error:
                said = f"refused {str(error).splitlines()[0]}"
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
            signal.alarm(0)
            kind = said if said in ("right", "raises", "warns", "no derivative") else "refused" if said.startswith("refused") else "wrong"
            counts[kind] = counts.get(kind, 0) + 1
            if kind in ("wrong", "refused"):
                text, args, in_axes, out_axes, mode = drawn(seed)
                print(f"--- program {seed}{' jit' * jit}: {said}" + (f"\n{text}# {mode}, in_axes={in_axes}, out_axes={out_axes}" if kind == "wrong" else ""), flush=True)
    print(counts)
    return 1 if "wrong" in counts else 0


if __name__ == "__main__":
    sys.exit(main())
