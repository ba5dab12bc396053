"""Emission of StableHLO: the builder, the operand types, array locations and memory in SSA form."""
