"""Transforms of transforms: of jitted functions, of loops that store, and in programs that are recorded."""

from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.transforms.record.recorder import follow, pushed_python, recorded_python

AT = np.array([1.0, 0.8, 1.1])


def stored(x: Any) -> Any:
    a = np.zeros(4)
    a[0] = x
    for i in range(1, 4):
        a[i] = a[i - 1] * x + 0.5
    return np.sum(a * a)


def grown(x: Any) -> Any:
    a = np.zeros(8)
    a[0] = x
    i = 1
    while i < 8 and a[i - 1] < 3.0:
        a[i] = a[i - 1] * 1.4 + x * x * 0.1
        i += 1
    return np.sum(a)


def slope(f: Any, x: float) -> Any:
    return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5


@pytest.mark.parametrize("compiled", [hovis.jit, hovis_xla.jit])
def test_jitted_functions_are_gone_into(compiled: Any) -> None:
    cube = compiled(lambda x: x * x * x)

    class Model:
        @compiled
        def loss(self, x: Any) -> Any:
            return cube(x) * 2.0

    assert hovis.grad(cube)(2.0) == 12.0
    assert hovis_xla.jit(hovis.grad(cube))(2.0) == 12.0
    assert hovis.grad(lambda x: Model().loss(x))(2.0) == 24.0
    assert np.array_equal(hovis.vmap(cube)(AT), AT**3)
    assert [op.callee.__name__ for op in hovis.trace(lambda x: cube(x), hovis.Float).ops] == ["mul", "mul"]


def test_what_is_watched_stays_a_call() -> None:
    watched = hovis_xla.jit(lambda x: x * x, debug_nans=True)
    assert all(op.callee.__name__ != "mul" for op in hovis.trace(lambda x: watched(x), hovis.Float).ops)


@pytest.mark.parametrize("f", [stored, grown])
def test_pushes_of_pushes_of_what_is_stored(f: Any) -> None:
    def once(x: Any) -> Any:
        return hovis.linearize(f, x)[1](1.0)

    assert abs(hovis.linearize(once, 1.3)[1](1.0) - slope(hovis.grad(f), 1.3)) < 1e-5


def test_rules_of_ones_own_in_loops_that_store() -> None:
    def inner(x: Any) -> Any:
        return grown(x) * 0.1

    own = hovis.custom_jvp(inner)
    own.defjvp(lambda args, tangents: (inner(args[0]), hovis.jvp(inner, args, (1.0,))[1] * tangents[0]))
    assert abs(hovis.grad(own)(1.3) - slope(inner, 1.3)) < 1e-6


def _in_lanes(x: Any) -> Any:
    return np.sum(hovis.vmap(lambda v: hovis.grad(grown)(v))(x * AT))


def _columns(x: Any) -> Any:
    return np.sum(hovis.jacfwd(lambda v: v * v * v[0])(x * AT))


def _linearized(x: Any) -> Any:
    return hovis.linearize(lambda v: v * v * v, x)[1](1.0)


def _pulled(x: Any) -> Any:
    return hovis.vjp(lambda v: v * v * v, x)[1](2.0)[0]


def _checkpointed(x: Any) -> Any:
    return hovis.grad(hovis.checkpoint(lambda v: v * v * v))(x)


def _compiled(x: Any) -> Any:
    return hovis_xla.jit(lambda v: v * v * v)(x)


@pytest.mark.parametrize("program", [_in_lanes, _columns, _linearized, _pulled, _checkpointed, _compiled])
def test_recorded_programs_apply_transforms(program: Any) -> None:
    def run(x: Any) -> Any:
        return follow(program, (x,), {})

    assert abs(recorded_python(run, 1, 0)(1.3)[1] - slope(program, 1.3)) < 1e-5
    assert abs(pushed_python(run, 1)(1.3, 1.0)[1] - slope(program, 1.3)) < 1e-5


def test_the_push_of_a_list_of_arrays_in_a_recorded_program() -> None:
    def program(x: Any) -> Any:
        rows = [x * AT, AT, x * x * AT]
        return np.sum(np.stack(rows, axis=-1) * np.arange(9.0).reshape(3, 3))

    def twice(x: Any) -> Any:
        return pushed_python(lambda v: follow(program, (v,), {}), 1)(x, 1.0)[1]

    assert abs(twice(1.3) - slope(program, 1.3)) < 1e-6
    assert abs(recorded_python(lambda v: twice(v), 1, 0)(1.3)[1] - slope(twice, 1.3)) < 1e-6


def settled(x: Any) -> Any:
    y, k = x, 0
    while np.sum(y * y) > 0.01 and k < 5:
        y = y * 0.9 + 0.05 * np.sin(y[::-1])
        k += 1
    return y


@pytest.mark.parametrize("jacobian", [hovis.jacfwd, hovis.jacrev])
def test_jacobians_of_loops_go_in_all_directions_together(jacobian: Any) -> None:
    of = jacobian(settled)
    want = np.stack([slope(lambda t, e=e: settled(AT + t * e), 0.0) for e in np.eye(3)], axis=-1)
    assert np.allclose(of(AT), want, atol=1e-8)
    compiled = hovis_xla.jit(of, target="xla")
    assert np.allclose(compiled(AT), want, atol=1e-8)
    assert "one XLA executable" in compiled.explain()


def test_pieces_are_not_given_what_there_is_not() -> None:
    class Odd:
        __slots__ = ("__weakref__",)

    def program(x: Any) -> Any:
        return hovis.jacrev(settled)(x), repr(Odd())[:1]

    compiled = hovis_xla.jit(program)
    for x in (AT, AT * 0.0, AT):
        assert np.allclose(compiled(x)[0], hovis.jacrev(settled)(x))
