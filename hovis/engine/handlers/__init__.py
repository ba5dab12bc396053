"""One handler a normalised instruction (hovis/bytecode/instructions.py says what each does to the stack).

A handler takes the machine and the instruction's argument.  It returns None to go on with the next instruction, a
number to jump, SWITCH if frames were pushed or popped, STOP if the chain has ended.
"""

from hovis.engine.handlers import control_flow, data, functions
from hovis.engine.machine.handler_table import HANDLERS

__all__ = ["HANDLERS", "control_flow", "data", "functions"]
