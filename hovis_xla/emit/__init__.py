"""Emission of StableHLO: the builder, the operand types, array locations and memory in SSA form."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)
