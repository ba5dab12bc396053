"""A function's push and pull against differences: in random directions, of all arguments that are real or complex at once."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import hovis
from hovis.backend.assembler.assemble import assemble
from hovis.ir.model import Op, Return
from hovis.ir.operations import make_tuple
from hovis.passes import pipeline
from hovis.transforms.forward.jvp import forward
from hovis.transforms.reverse.sweep import reverse

STEP = 1e-6
#: Of a complex step, whose square is nothing beside 1.
IMAGINARY = 1e-20


def differentiable(x: Any) -> bool:
    """Is it a number or an array that something can be differentiated in?"""
    return x.dtype.kind in "fc" if isinstance(x, np.ndarray | np.generic) else isinstance(x, float | complex)


def spec_of(x: Any) -> Any:
    """What is known of an argument: of what is no number, all."""
    if isinstance(x, np.ndarray):
        return hovis.Array(x.dtype, x.shape)
    return type(x) if differentiable(x) else hovis.const(x)


def outputs_of(function: Any) -> int:
    """How many results there are; 0: one that is no tuple."""
    ends = [b.terminator for b in function.blocks if isinstance(b.terminator, Return)]
    value = ends[0].value if ends else None
    return len(value.args) if isinstance(value, Op) and value.callee is make_tuple else 0


def drawn_like(x: Any, random: Any) -> Any:
    """A direction, or a cotangent."""
    shape = np.shape(x)
    found = random.normal(size=shape)
    if np.iscomplexobj(x):
        found = found + 1j * random.normal(size=shape)
    return np.asarray(found, np.asarray(x).dtype) if isinstance(x, np.ndarray) else type(x)(found)


def flat(y: Any) -> list[Any]:
    return list(y) if isinstance(y, tuple) else [y]


def product(a: Any, b: Any) -> float:
    """The real inner product."""
    return float(np.real(np.sum(np.conjugate(a) * b)))


def check(f: Callable[..., Any], args: Sequence[Any], seed: int = 0, tolerance: float = 1e-5) -> None:
    """f's derivatives at args against central differences, and against a complex step where f is analytic."""
    random = np.random.default_rng(seed)
    wanted = [k for k, x in enumerate(args) if differentiable(x)]
    fixed = {name: hovis.const(one.default) for name, one in inspect.signature(f).parameters.items() if one.default is not one.empty}
    traced = hovis.trace(f, *map(spec_of, args), **fixed).passes()
    function = traced.function
    count = outputs_of(function)
    unknown = [args[k] for k in wanted]
    y = f(*args)
    changing = [k for k, one in enumerate(flat(y)) if differentiable(np.asarray(one))]
    assert changing, "nothing changes"
    directions = [drawn_like(x, random) for x in unknown]

    def moved(by: float) -> list[Any]:
        given = list(args)
        for k, d in zip(wanted, directions, strict=True):
            given[k] = args[k] + by * d
        return flat(f(*given))

    up, down = moved(STEP), moved(-STEP)
    change = [(np.asarray(a) - np.asarray(b)) / (2 * STEP) if k in changing else None for k, (a, b) in enumerate(zip(up, down, strict=True))]
    places = list(range(len(unknown)))
    pull = assemble(pipeline.run(reverse(function, places, count, True), "default", verify=True), {})
    seeds = [drawn_like(one, random) if differentiable(np.asarray(one)) else np.zeros(np.shape(one)) for one in flat(y)]
    found = pull(*unknown, *seeds)
    same(found[: len(flat(y))], flat(y))
    cotangents = found[len(flat(y)) :]
    for x, g in zip(unknown, cotangents, strict=True):
        assert type(g) is type(x), f"{type(g)} for {type(x)}"
        assert np.shape(g) == np.shape(x), f"{np.shape(g)} for {np.shape(x)}"
        assert np.asarray(g).dtype == np.asarray(x).dtype
    expected = sum(product(s, c) for s, c in zip(seeds, change, strict=True) if c is not None)
    by_pull = sum(product(g, d) for g, d in zip(cotangents, directions, strict=True))
    assert np.isclose(by_pull, expected, rtol=tolerance, atol=tolerance * 10), f"pull: {by_pull} for {expected}"
    push = assemble(pipeline.run(forward(function, places), "default", verify=True), {})
    value, tangents = push(*unknown, *directions)
    same(flat(value), flat(y))
    for t, c in zip(flat(tangents) if count else [tangents], change, strict=True):
        if c is not None:
            assert np.shape(t) == np.shape(c), f"push: {np.shape(t)} for {np.shape(c)}"
            assert np.allclose(t, c, rtol=tolerance, atol=tolerance * 10), f"push: {t} for {c}"
    exact = complex_step(f, args, wanted, directions)
    if exact is not None:
        for t, c, e in zip(flat(tangents) if count else [tangents], change, exact, strict=True):
            if c is not None and e is not None:
                assert np.allclose(t, e, rtol=1e-10, atol=1e-12 * (1.0 + np.max(np.abs(e), initial=0.0))), f"push: {t} for {e} by a complex step"


def check_again(f: Callable[..., Any], args: Sequence[Any], seed: int = 0, tolerance: float = 1e-4) -> None:
    """The derivative of f's pull at args, by reverse and by forward mode, against differences of it."""
    random = np.random.default_rng(seed)
    wanted = [k for k, x in enumerate(args) if differentiable(x)]
    fixed = {name: hovis.const(one.default) for name, one in inspect.signature(f).parameters.items() if one.default is not one.empty}
    function = hovis.trace(f, *map(spec_of, args), **fixed).passes().function
    unknown, places = [args[k] for k in wanted], list(range(len(wanted)))
    y = flat(f(*args))
    seeds = [drawn_like(one, random) if differentiable(np.asarray(one)) else np.zeros(np.shape(one)) for one in y]
    directions, others = [drawn_like(x, random) for x in unknown], [drawn_like(x, random) for x in unknown]
    pulling = without(pipeline.run(reverse(function, places, outputs_of(function), True, True), "default", verify=True), len(y))
    pull = assemble(pulling, {})
    up, down = [pull(*[x + h * d for x, d in zip(unknown, directions, strict=True)], *seeds) for h in (STEP * 10, -STEP * 10)]
    change = [(np.asarray(a) - np.asarray(b)) / (20 * STEP) for a, b in zip(up, down, strict=True)]
    size = 1.0 + max(np.max(np.abs(c), initial=0.0) for c in change)
    again = assemble(pipeline.run(reverse(pulling, places, len(unknown), True), "default", verify=True), {})
    found = sum(product(g, d) for g, d in zip(again(*unknown, *seeds, *others)[len(unknown) :], directions, strict=True) if g is not None)
    expected = sum(product(u, c) for u, c in zip(others, change, strict=True))
    assert np.isclose(found, expected, rtol=tolerance, atol=tolerance * size), f"pull of the pull: {found} for {expected}"
    push = assemble(pipeline.run(forward(pulling, places), "default", verify=True), {})
    for t, c in zip(push(*unknown, *seeds, *directions)[1] or [0.0] * len(change), change, strict=True):
        assert np.allclose(0.0 if t is None else t, c, rtol=tolerance, atol=tolerance * size), f"push of the pull: {t} for {c}"


def without(function: Any, count: int) -> Any:
    """A function whose tuples begin later."""
    for block in function.blocks:
        if isinstance(block.terminator, Return):
            made = block.terminator.value
            block.ops.append(Op(make_tuple, made.args[count:], type=made.type))
            block.terminator = Return(block.ops[-1])
    return pipeline.run(function, "default", verify=True)


def complex_step(f: Callable[..., Any], args: Sequence[Any], wanted: Sequence[int], directions: Sequence[Any]) -> list[Any] | None:
    """The changes of real results by a step in the imaginary direction, exact to rounding; None where f is not analytic, or not of complex numbers."""
    if any(np.iscomplexobj(args[k]) for k in wanted):
        return None

    def moved(by: complex) -> list[Any]:
        given = list(args)
        for k, d in zip(wanted, directions, strict=True):
            given[k] = args[k] + by * d
        return flat(f(*given))

    try:
        across, up, down = moved(STEP * 1j), moved(STEP), moved(-STEP)
        exact = moved(IMAGINARY * 1j)
    except (TypeError, ValueError, OverflowError, np.linalg.LinAlgError):
        return None
    found: list[Any] = []
    for a, b, c, e in zip(across, up, down, exact, strict=True):
        # what is analytic changes alike in both directions
        alike = np.iscomplexobj(a) and np.allclose(np.imag(a) / STEP, (np.asarray(b) - np.asarray(c)) / (2 * STEP), rtol=1e-4, atol=1e-5)
        found.append(np.imag(e) / IMAGINARY if alike and not np.iscomplexobj(b) else None)
    return found if any(one is not None for one in found) else None


def same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    """The values are those of the function itself."""
    for a, b in zip(found, expected, strict=True):
        assert np.array_equal(a, b, equal_nan=np.asarray(b).dtype.kind in "fc"), f"{a} for {b}"



