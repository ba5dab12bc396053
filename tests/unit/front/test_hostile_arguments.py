"""Every public name, called with what it is not for: errors of hovis, or TypeError and ValueError; and what an object itself raises."""
from __future__ import annotations

import functools
import sys

import numpy as np
import pytest

import hovis
from hovis.errors import HovisError

hovis_xla = pytest.importorskip("hovis_xla")


class OwnError(Exception):
    """What an object raises that is asked anything."""


class Raises:
    def __refuse(self, *args, **kwargs):
        raise OwnError

    __eq__ = __hash__ = __bool__ = __repr__ = __str__ = __len__ = __iter__ = __index__ = __getitem__ = __contains__ = __format__ = __call__ = __refuse


class RaisesAnywhere:
    def __getattribute__(self, name):
        raise OwnError


class Meta(type):
    def __eq__(cls, other):
        raise OwnError

    def __repr__(cls):
        raise OwnError

    __hash__ = type.__hash__


class OfMeta(metaclass=Meta):
    pass


def square(x):
    return x * x


@functools.cache
def hostile():
    ring: list = []
    ring.append(ring)
    mapping: dict = {}
    mapping["a"] = mapping
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    return {
        "None": None, "raises": Raises(), "raises anywhere": RaisesAnywhere(), "raises inside": (Raises(),), "ring": ring, "mapping": mapping, "deep": deep,
        "huge": 10**5000, "negative": -1, "text": "text", "zero": "\x00", "surrogate": "\ud800", "empty": "", "bytes": b"x", "class": int, "metaclass": OfMeta,
        "instance": OfMeta(), "nan": float("nan"), "array": np.zeros(3), "objects": np.array([None, 1], object), "dict": {1: 2}, "set": {1}, "module": sys,
        "function": square, "builtin": len, "spec": hovis.Int, "array spec": hovis.float64[3], "options": hovis.options(),
        "hint": list[int], "...": ..., "True": True, "()": (), "generator": (k for k in ()),
    }  # fmt: skip


#: Nested deeper than Python's own stack (or a number too long to be shown): where data is gone through one by one, this is Python's answer, too.
NESTED = ("ring", "mapping", "deep")
THROUGH_DATA = ("grad", "value_and_grad", "jvp", "vjp", "linearize", "stop_gradient", "vmap", "evaluate")


def tried(name, how, make):
    """What make gives; anything but a refusal in good order is a fault."""
    try:
        return make()
    except (HovisError, OwnError):
        return None
    except (TypeError, ValueError) as error:
        assert "4300" not in str(error) or name in THROUGH_DATA, (name, how)
        return None
    except OSError:
        assert name == "load"
        return None
    except RecursionError:
        assert name in THROUGH_DATA and how in NESTED, (name, how)
        return None
    except Exception as error:
        raise AssertionError(f"{name} of {how}: {type(error).__name__}") from error


PUBLIC = [(module, name) for module in (hovis, hovis_xla) for name in sorted(module.__all__) if callable(getattr(module, name))]


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=lambda part: getattr(part, "__name__", part))
def test_positional_arguments(module, name):
    public = getattr(module, name)
    if isinstance(public, type) and issubclass(public, BaseException):
        return
    for how, value in hostile().items():
        for args in ((value,), (square, value), (value, value), (square, hovis.Int, value)):
            tried(name, how, lambda args=args: public(*args))


OPTIONS = [
    (hovis.trace, "library"), (hovis.trace, "annotations"), (hovis.trace, "x"), (hovis.specialize, "annotations"), (hovis.jit, "static"), (hovis.jit, "strict"),
    (hovis.jit, "fuel"), (hovis.jit, "seconds"), (hovis.jit, "nothing"), (hovis.grad, "argnums"), (hovis.vmap, "in_axes"), (hovis.vmap, "out_axes"),
    (hovis_xla.jit, "static"), (hovis_xla.jit, "target"), (hovis_xla.jit, "int_overflow"), (hovis_xla.jit, "debug_nans"), (hovis_xla.jit, "nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("public", "option"), OPTIONS, ids=lambda part: part if isinstance(part, str) else f"{part.__module__}.{part.__name__}")
def test_options(public, option):
    for how, value in hostile().items():
        made = tried(public.__name__, how, lambda value=value: public(square, **{option: value}))
        if callable(made) and public not in (hovis.trace, hovis.specialize):
            tried(public.__name__, how, lambda made=made: made(2.0))


@pytest.mark.parametrize("option", ["library", "passes", "fuel", "annotations", "seconds", "nothing"])
def test_options_for_tracing(option):
    for how, value in hostile().items():
        made = tried("options", how, lambda value=value: hovis.options(**{option: value}))
        if made is not None:
            residual = tried("options", how, lambda made=made: made.specialize(square, hovis.Int))
            assert residual is None or residual(3) == 9


def test_traces_and_their_parts():
    traced = hovis.trace(square, hovis.Int)
    for how, value in hostile().items():
        for method in (traced.passes, traced, traced.compile(), hovis.explain, hovis.jit(square).trace, hovis_xla.jit(square, target="python").lower):
            tried(str(method), how, lambda method=method, value=value: method(value))
        for binary in (lambda a, b: a | b, lambda a, b: b | a):
            for spec in (hovis.Int, hovis.float64[3], hovis.OneOf(1), hovis.Int | [1]):
                tried("|", how, lambda binary=binary, spec=spec, value=value: hovis.trace(square, binary(spec, value)))
        tried("[]", how, lambda value=value: hovis.float64[value])
        tried("[]", how, lambda value=value: hovis.trace(square, hovis.float64[value]))
        tried("Array", how, lambda value=value: hovis.trace(square, hovis.Array(value, 3)))
        tried("Instance", how, lambda value=value: hovis.trace(square, hovis.Instance(OfMeta, x=value)))
        tried("names", how, lambda value=value: hovis.parse("1: (%1 :: Int)\n  return %1", value))
