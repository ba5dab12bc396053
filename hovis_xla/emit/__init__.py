"""Emission of StableHLO: the builder, values and their locations, memory as SSA."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)
