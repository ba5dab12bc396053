"""Lowering of a Function to a StableHLO module: control flow, calls, arrays, exceptions."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)
