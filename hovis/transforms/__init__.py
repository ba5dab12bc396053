"""F4: execution of Functions, and transformation of Functions into others, independent of bytecode."""

from hovis.base import own_code
from hovis.transforms.interpreter import Interpreter, evaluate

__all__ = ["Interpreter", "evaluate"]

own_code.are_interpreters(*__path__)
