"""Instruction selection: the stack code of each op, and the constants, names and cells that it uses."""
