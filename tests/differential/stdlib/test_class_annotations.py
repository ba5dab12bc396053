"""`typing.get_type_hints` of known classes: what a text that is a name means."""
import sys
import types
import typing

import pytest

import hovis

TEXT = """
from __future__ import annotations
Eggs, Spam, late = int, str, float

class Plain:
    x: Eggs
    y: int

class Own:
    Eggs = bytes
    int = complex
    x: Eggs          # the module's
    y: int           # the class's own
    z: str

class Below(Own):
    w: int           # the builtin
"""
GENERIC = """
class Generic[Eggs, **Spam]:
    x: Eggs
    y: Spam
    z: late
"""


@pytest.fixture
def module():
    made = types.ModuleType("annotated")
    sys.modules[made.__name__] = made
    exec(compile(TEXT + (GENERIC if sys.version_info >= (3, 12) else ""), "annotated.py", "exec", dont_inherit=True), vars(made))
    yield made
    del sys.modules[made.__name__]


@pytest.mark.parametrize("name", ["Plain", "Own", "Below", "Generic"])
@pytest.mark.parametrize("way", [hovis.jit, hovis.specialize], ids=["jit", "specialize"])
def test_names_of_the_module_the_class_and_type_parameters(module, name, way):
    cls = getattr(module, name, None)
    if cls is None:
        pytest.skip("type parameters came with Python 3.12")

    def hints():
        return typing.get_type_hints(cls)

    assert way(hints)() == hints()


def test_names_that_the_class_gets_later(module):
    def hints():
        return typing.get_type_hints(cls)

    cls, residual = module.Plain, hovis.jit(hints)
    assert residual() == {"x": int, "y": int}
    cls.int = list
    assert residual() == hints() == {"x": int, "y": list}
    if sys.version_info >= (3, 12):
        cls, residual = module.Generic, hovis.jit(hints)
        assert residual() == hints()
        cls.__type_params__ = ()
        assert residual() == hints() == {"x": int, "y": str, "z": float}
