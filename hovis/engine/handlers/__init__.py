"""Handlers of the normalized instructions, one for each (hovis/bytecode/instructions.py says what each does to the stack).

A handler takes the machine and the argument of the instruction.  It returns None to continue with the next instruction, a
number to jump there, SWITCH if frames were pushed or popped, STOP if the chain has ended.
"""

from hovis.engine.handlers import control_flow, data, functions
from hovis.engine.machine.handler_table import HANDLERS

__all__ = ["HANDLERS", "control_flow", "data", "functions"]
