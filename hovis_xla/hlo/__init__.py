"""Passes over modules of StableHLO."""

from hovis.base import own_code

own_code.leave_as_calls(*__path__)
