"""F4: Functions run, and turned into other Functions.  They know nothing of bytecode."""

from hovis.base import own_code
from hovis.transforms.interpreter import Interpreter, evaluate

__all__ = ["Interpreter", "evaluate"]

own_code.are_interpreters(*__path__)
