"""Every public name is there, is exported once, and has a docstring."""
from __future__ import annotations

import importlib
import inspect
import pkgutil
import types

import pytest

import hovis

NAMES = """
trace specialize return_type jit options evaluate explain parse
const Int Float Bool Complex Str Bytes NoneType Any Array float64 float32 OneOf Instance
Interpreter primitive Library static dynamic unroll boundary
""".split()
TRACE = "params results blocks ops functions consts guards fallback type compile source show passes".split()
XLA = "jit compile load".split()


@pytest.mark.parametrize("name", NAMES)
def test_hovis_has(name):
    assert hasattr(hovis, name)
    assert name in hovis.__all__


@pytest.mark.parametrize("name", XLA)
def test_hovis_xla_has(name):
    hovis_xla = pytest.importorskip("hovis_xla")
    assert hasattr(hovis_xla, name)
    assert name in hovis_xla.__all__


@pytest.mark.parametrize("name", TRACE)
def test_a_trace_has(name):
    def double(x):
        return x + x
    assert hasattr(hovis.trace(double, hovis.Int), name)


def test_nothing_is_exported_twice_and_nothing_else_is_public():
    assert len(hovis.__all__) == len(set(hovis.__all__))
    stray = [name for name, value in vars(hovis).items()
             if not name.startswith("_") and name not in hovis.__all__ and not isinstance(value, types.ModuleType)]
    assert not stray


def test_public_names_are_documented():
    bare = [name for name in hovis.__all__ if (callable(value := getattr(hovis, name)) or inspect.isclass(value)) and not inspect.getdoc(value)]
    assert not bare


def test_every_module_has_a_docstring():
    bare = [module.name for module in pkgutil.walk_packages(hovis.__path__, "hovis.") if not module.name.endswith("__main__")
            and not importlib.import_module(module.name).__doc__]
    assert not bare
