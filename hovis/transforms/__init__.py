"""F4: Functions run, and turned into other Functions.  They know nothing of bytecode."""

from hovis.transforms.interpret import Interpreter, evaluate

__all__ = ["Interpreter", "evaluate"]
