"""Arguments of transforms that do not fit: the message says what was given, and what is taken."""
import numpy as np
import pytest

import hovis
from hovis import SpecError


def square(x):
    return x * x


@pytest.mark.parametrize("call", [
    lambda: hovis.grad(3), lambda: hovis.jacfwd(3), lambda: hovis.jacrev(3), lambda: hovis.hessian(3), lambda: hovis.vmap(3), lambda: hovis.vjp(3, 1.0),
    lambda: hovis.jvp(3, (1.0,), (1.0,)), lambda: hovis.linearize(3, 1.0), lambda: hovis.checkpoint(3), lambda: hovis.inverse(3),
])  # fmt: skip
def test_what_is_no_function(call):
    with pytest.raises(SpecError, match="takes a callable, not int"):
        call()


@pytest.mark.parametrize("argnums", [1.5, None, (), {0}])
def test_argnums_that_name_nothing(argnums):
    for transform in (hovis.grad, hovis.jacfwd, hovis.jacrev):
        with pytest.raises(SpecError, match="argnums"):
            transform(square, argnums)


def test_arguments_of_jvp_that_are_no_tuple():
    with pytest.raises(SpecError, match="the arguments as one tuple"):
        hovis.jvp(square, 1.0, 1.0)


@pytest.mark.parametrize("around", [lambda fn: fn, hovis.jit], ids=["plain", "jit"])
@pytest.mark.parametrize(("call", "message"), [
    (lambda x: hovis.jvp(square, (x,), (np.ones(3),)), r"the tangent of a number is a number, not an array of shape \(3,\)"),
    (lambda x: hovis.jvp(square, (x,), ("1.5",)), "not the string '1.5'"),
    (lambda x: hovis.linearize(square, x)[1]("a"), "not the string 'a'"),
    (lambda x: hovis.vjp(square, x)[1](np.ones(3)), r"not an array of shape \(3,\)"),
    (lambda x: hovis.vjp(square, x)[1](), "takes one argument, the cotangent of the result, but got 0"),
    (lambda x: hovis.vjp(square, x)[1](1.0, 2.0), "but got 2"),
])  # fmt: skip
def test_tangents_and_cotangents_of_another_shape(call, message, around):
    with pytest.raises(TypeError, match=message):
        around(call)(2.0)


def test_what_is_no_class_of_trees():
    with pytest.raises(SpecError, match="takes a class, not 3"):
        hovis.register_pytree(3, lambda x: ((), None), lambda extra, children: None)
