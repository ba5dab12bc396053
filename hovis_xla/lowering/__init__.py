"""Lowering of a Function to a StableHLO module: control flow, calls, arrays, exceptions."""
